//! A write, from what is asked to its confirmation.
//!
//! ```text
//!  form ──(changes)──► question to the driver ──► preview ──► confirmed in proportion ──► command
//!    none, bounded   enter
//!    serious         the buttons, with the focus on Cancel
//!    beyond          the DaemonSet's name, typed
//! ```
//!
//! While the answer is awaited nothing but a pause can be confirmed: pausing never waits.

pub(crate) mod budget;
pub(crate) mod form;
pub(crate) mod tune;

use crossterm::event::KeyCode;
use tui_input::Input;

pub(crate) use self::budget::BudgetField;
use self::form::Handled;
pub(crate) use self::form::{AdoptForm, Canary, DriftChoice, Form, Image, StepForm, Undo};
pub(crate) use self::tune::TuneForm;
use super::key::Key;
use super::model::DaemonSetRef;
use super::palette::edit;
use crate::engine::model::Str;
use crate::engine::model::command::{Command, Danger, Preview};
use crate::engine::report::snapshot::Snapshot;

/// A dialog.
#[derive(Debug)]
pub(crate) struct Dialog {
    pub(crate) target: DaemonSetRef,
    pub(crate) form: Form,
    pub(crate) answer: Answer,
    pub(crate) focus: Focus,
    /// What was typed to confirm what goes beyond the budget.
    pub(crate) typed: Input,
    /// The first line of the preview that is seen.
    pub(crate) top: usize,
    /// The person has moved the focus: it stays where it is.
    moved: bool,
    /// The number of the question whether a refusal still stands.
    again: Option<u64>,
}

/// What is known of what it would do.
#[derive(Debug)]
pub(crate) enum Answer {
    /// The form is not filled in so that it could be asked.
    Incomplete(String),
    /// Asked; the question's number.
    Asking(u64),
    /// This is what it would do.
    Preview(Preview),
    /// It would be refused.
    Refused(String),
}

/// Where the keyboard goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Focus {
    Form,
    Name,
    Cancel,
    Go,
}

/// What a key did to a dialog.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    Stay,
    /// The command changed: ask again.
    Ask,
    Close,
    /// Do it.
    Go,
}

impl Dialog {
    pub(crate) fn new(target: DaemonSetRef, form: Form) -> Self {
        let focus = if form.has_fields() { Focus::Form } else { Focus::Cancel };
        Self {
            target,
            form,
            answer: Answer::Incomplete(String::new()),
            focus,
            typed: Input::default(),
            top: 0,
            moved: false,
            again: None,
        }
    }

    /// Asks whether to quit although rollouts then stop moving.
    pub(crate) fn quit(target: DaemonSetRef, driven: Vec<DaemonSetRef>) -> Self {
        Self::new(target, Form::Quit(driven))
    }

    /// The command as the form stands.
    ///
    /// # Errors
    /// Says what is missing or wrong.
    pub(crate) fn command(&self, snapshot: &Snapshot) -> Result<Command, String> {
        self.form.command(snapshot)
    }

    /// The driver's answer to question `serial`; one that was overtaken is dropped.
    pub(crate) fn answered(&mut self, serial: u64, answer: Result<Preview, String>) {
        let asked = match self.answer {
            Answer::Asking(asked) => Some(asked),
            Answer::Refused(_) => self.again,
            Answer::Incomplete(_) | Answer::Preview(_) => None,
        };
        if asked != Some(serial) {
            return;
        }
        // What was refused is being read: the focus does not move to where enter would do it.
        let first = matches!(self.answer, Answer::Asking(_));
        self.again = None;
        self.answer = match answer {
            Ok(preview) => Answer::Preview(preview),
            Err(why) => Answer::Refused(why),
        };
        if first && !self.moved && !self.form.has_fields() {
            self.focus = self.safe_focus();
        }
    }

    /// Whether it would have been refused when it was last asked, and nobody asks again yet.
    pub(crate) fn may_be_asked_again(&self) -> bool {
        matches!(self.answer, Answer::Refused(_)) && self.again.is_none()
    }

    /// Question `serial` is whether the refusal still stands.
    pub(crate) fn asks_again(&mut self, serial: u64) {
        self.again = Some(serial);
    }

    /// How much it can break, as far as known.
    pub(crate) fn danger(&self) -> Option<Danger> {
        match &self.answer {
            Answer::Preview(preview) => Some(preview.danger),
            _ => None,
        }
    }

    /// Where confirming begins: on the button that does it only where that is safe.
    fn safe_focus(&self) -> Focus {
        match self.danger() {
            Some(Danger::None | Danger::Bounded) => Focus::Go,
            Some(Danger::Beyond) => Focus::Name,
            Some(Danger::Serious) | None => Focus::Cancel,
        }
    }

    /// Whether it can be done now.
    ///
    /// # Errors
    /// Says what is awaited or missing.
    pub(crate) fn ready(&self) -> Result<(), String> {
        match &self.answer {
            Answer::Preview(_) if self.danger() == Some(Danger::Beyond) && !self.named() => {
                Err(format!("type the DaemonSet's name to confirm: {}", self.target.name))
            }
            Answer::Preview(_) => Ok(()),
            Answer::Asking(_) if self.form.never_waits() => Ok(()),
            Answer::Asking(_) => Err("asking what it would do…".into()),
            Answer::Incomplete(_) if matches!(self.form, Form::Quit(_)) => Ok(()),
            Answer::Incomplete(why) | Answer::Refused(why) => Err(why.clone()),
        }
    }

    fn named(&self) -> bool {
        self.typed.value().trim() == &*self.target.name
    }

    /// The places that the keyboard can go to, in order.
    fn places(&self) -> Vec<Focus> {
        let form = self.form.has_fields().then_some(Focus::Form);
        let name = (self.danger() == Some(Danger::Beyond)).then_some(Focus::Name);
        form.into_iter().chain(name).chain([Focus::Cancel, Focus::Go]).collect()
    }

    fn move_focus(&mut self, steps: isize) {
        let places = self.places();
        let at = places.iter().position(|place| *place == self.focus).unwrap_or(0);
        let len = isize::try_from(places.len()).unwrap_or(1);
        let next = (isize::try_from(at).unwrap_or(0) + steps).rem_euclid(len);
        self.focus = places[usize::try_from(next).unwrap_or(0)];
        self.moved = true;
    }

    /// Takes a key.
    pub(crate) fn key(&mut self, key: Key, snapshot: Option<&Snapshot>) -> Outcome {
        match key.code {
            KeyCode::Esc => return Outcome::Close,
            KeyCode::PageDown => {
                self.top = self.top.saturating_add(5);
                return Outcome::Stay;
            }
            KeyCode::PageUp => {
                self.top = self.top.saturating_sub(5);
                return Outcome::Stay;
            }
            _ => {}
        }
        match self.focus {
            Focus::Form => self.form_key(key, snapshot),
            Focus::Name => self.name_key(key),
            Focus::Cancel | Focus::Go => self.button_key(key),
        }
    }

    fn form_key(&mut self, key: Key, snapshot: Option<&Snapshot>) -> Outcome {
        match self.form.key(key, snapshot) {
            Handled::Changed => {
                self.top = 0;
                self.typed = Input::default();
                Outcome::Ask
            }
            Handled::Yes => Outcome::Stay,
            Handled::No => match key.code {
                KeyCode::Tab => {
                    self.move_focus(1);
                    Outcome::Stay
                }
                KeyCode::BackTab => {
                    self.move_focus(-1);
                    Outcome::Stay
                }
                KeyCode::Enter => self.confirm_form(),
                _ => Outcome::Stay,
            },
        }
    }

    /// Enter on a form: what is bounded is done, what is more is asked again.
    fn confirm_form(&mut self) -> Outcome {
        match self.danger() {
            None if self.form.never_waits() && self.ready().is_ok() => Outcome::Go,
            None => Outcome::Stay,
            Some(Danger::None | Danger::Bounded) => Outcome::Go,
            Some(Danger::Serious | Danger::Beyond) => {
                self.focus = self.safe_focus();
                self.moved = true;
                Outcome::Stay
            }
        }
    }

    fn name_key(&mut self, key: Key) -> Outcome {
        match key.code {
            KeyCode::Enter if self.named() => Outcome::Go,
            KeyCode::Tab | KeyCode::Down => {
                self.move_focus(1);
                Outcome::Stay
            }
            KeyCode::BackTab | KeyCode::Up => {
                self.move_focus(-1);
                Outcome::Stay
            }
            _ => {
                edit(&mut self.typed, key);
                Outcome::Stay
            }
        }
    }

    fn button_key(&mut self, key: Key) -> Outcome {
        match key.code {
            KeyCode::Enter if self.focus == Focus::Cancel => Outcome::Close,
            KeyCode::Enter if self.ready().is_ok() => Outcome::Go,
            KeyCode::Left | KeyCode::Char('h') => {
                self.focus = Focus::Cancel;
                self.moved = true;
                Outcome::Stay
            }
            KeyCode::Right | KeyCode::Char('l') => {
                self.focus = Focus::Go;
                self.moved = true;
                Outcome::Stay
            }
            KeyCode::Tab | KeyCode::Down => {
                self.move_focus(1);
                Outcome::Stay
            }
            KeyCode::BackTab | KeyCode::Up => {
                self.move_focus(-1);
                Outcome::Stay
            }
            KeyCode::Char('q') => Outcome::Close,
            _ => Outcome::Stay,
        }
    }

    /// Takes pasted text.
    pub(crate) fn paste(&mut self, text: &str) -> Outcome {
        match self.focus {
            Focus::Form if self.form.paste(text) => Outcome::Ask,
            Focus::Name => {
                super::palette::paste(&mut self.typed, text);
                Outcome::Stay
            }
            _ => Outcome::Stay,
        }
    }

    /// The nodes that the preview names.
    pub(crate) fn nodes(&self) -> &[Str] {
        match &self.answer {
            Answer::Preview(preview) => &preview.nodes,
            _ => &[],
        }
    }
}
