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
use super::daemonset_ref::DaemonSetRef;
use super::key::Key;
use super::prompt::edit;
use crate::engine::model::Str;
use crate::engine::model::command::{Command, Danger, Preview};
use crate::engine::snapshot::Snapshot;

/// A dialog.
#[derive(Debug)]
pub(crate) struct Dialog {
    pub(crate) target: DaemonSetRef,
    pub(crate) form: Form,
    pub(crate) answer: PreviewState,
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
pub(crate) enum PreviewState {
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
pub(crate) enum DialogEvent {
    /// Nothing that concerns anybody else.
    None,
    /// The command changed: its preview is to be asked for again.
    Changed,
    /// It is to be closed, and nothing done.
    Cancelled,
    /// The command is to be done.
    Confirmed,
}

impl Dialog {
    pub(crate) fn new(target: DaemonSetRef, form: Form) -> Self {
        let focus = if form.has_fields() { Focus::Form } else { Focus::Cancel };
        Self {
            target,
            form,
            answer: PreviewState::Incomplete(String::new()),
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
            PreviewState::Asking(asked) => Some(asked),
            PreviewState::Refused(_) => self.again,
            PreviewState::Incomplete(_) | PreviewState::Preview(_) => None,
        };
        if asked != Some(serial) {
            return;
        }
        // What was refused is being read: the focus does not move to where enter would do it.
        let first = matches!(self.answer, PreviewState::Asking(_));
        self.again = None;
        self.answer = match answer {
            Ok(preview) => PreviewState::Preview(preview),
            Err(why) => PreviewState::Refused(why),
        };
        if first && !self.moved && !self.form.has_fields() {
            self.focus = self.safe_focus();
        }
    }

    /// Whether it would have been refused when it was last asked, and nobody asks again yet.
    pub(crate) fn may_be_asked_again(&self) -> bool {
        matches!(self.answer, PreviewState::Refused(_)) && self.again.is_none()
    }

    /// Question `serial` is whether the refusal still stands.
    pub(crate) fn asks_again(&mut self, serial: u64) {
        self.again = Some(serial);
    }

    /// How much it can break, as far as known.
    pub(crate) fn danger(&self) -> Option<Danger> {
        match &self.answer {
            PreviewState::Preview(preview) => Some(preview.danger),
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
            PreviewState::Preview(_) if self.danger() == Some(Danger::Beyond) && !self.named() => {
                Err(format!("type the DaemonSet's name to confirm: {}", self.target.name))
            }
            PreviewState::Preview(_) => Ok(()),
            PreviewState::Asking(_) if self.form.never_waits() => Ok(()),
            PreviewState::Asking(_) => Err("asking what it would do…".into()),
            PreviewState::Incomplete(_) if matches!(self.form, Form::Quit(_)) => Ok(()),
            PreviewState::Incomplete(why) | PreviewState::Refused(why) => Err(why.clone()),
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
    pub(crate) fn key(&mut self, key: Key, snapshot: Option<&Snapshot>) -> DialogEvent {
        match key.code {
            KeyCode::Esc => return DialogEvent::Cancelled,
            KeyCode::PageDown => {
                self.top = self.top.saturating_add(5);
                return DialogEvent::None;
            }
            KeyCode::PageUp => {
                self.top = self.top.saturating_sub(5);
                return DialogEvent::None;
            }
            _ => {}
        }
        match self.focus {
            Focus::Form => self.form_key(key, snapshot),
            Focus::Name => self.name_key(key),
            Focus::Cancel | Focus::Go => self.button_key(key),
        }
    }

    fn form_key(&mut self, key: Key, snapshot: Option<&Snapshot>) -> DialogEvent {
        match self.form.key(key, snapshot) {
            Handled::Changed => {
                self.top = 0;
                self.typed = Input::default();
                DialogEvent::Changed
            }
            Handled::Yes => DialogEvent::None,
            Handled::No => match key.code {
                KeyCode::Tab => {
                    self.move_focus(1);
                    DialogEvent::None
                }
                KeyCode::BackTab => {
                    self.move_focus(-1);
                    DialogEvent::None
                }
                KeyCode::Enter => self.confirm_form(),
                _ => DialogEvent::None,
            },
        }
    }

    /// Enter on a form: what is bounded is done, what is more is asked again.
    fn confirm_form(&mut self) -> DialogEvent {
        match self.danger() {
            None if self.form.never_waits() && self.ready().is_ok() => DialogEvent::Confirmed,
            None => DialogEvent::None,
            Some(Danger::None | Danger::Bounded) => DialogEvent::Confirmed,
            Some(Danger::Serious | Danger::Beyond) => {
                self.focus = self.safe_focus();
                self.moved = true;
                DialogEvent::None
            }
        }
    }

    fn name_key(&mut self, key: Key) -> DialogEvent {
        match key.code {
            KeyCode::Enter if self.named() => DialogEvent::Confirmed,
            KeyCode::Tab | KeyCode::Down => {
                self.move_focus(1);
                DialogEvent::None
            }
            KeyCode::BackTab | KeyCode::Up => {
                self.move_focus(-1);
                DialogEvent::None
            }
            _ => {
                edit(&mut self.typed, key);
                DialogEvent::None
            }
        }
    }

    fn button_key(&mut self, key: Key) -> DialogEvent {
        match key.code {
            KeyCode::Enter if self.focus == Focus::Cancel => DialogEvent::Cancelled,
            KeyCode::Enter if self.ready().is_ok() => DialogEvent::Confirmed,
            KeyCode::Left | KeyCode::Char('h') => {
                self.focus = Focus::Cancel;
                self.moved = true;
                DialogEvent::None
            }
            KeyCode::Right | KeyCode::Char('l') => {
                self.focus = Focus::Go;
                self.moved = true;
                DialogEvent::None
            }
            KeyCode::Tab | KeyCode::Down => {
                self.move_focus(1);
                DialogEvent::None
            }
            KeyCode::BackTab | KeyCode::Up => {
                self.move_focus(-1);
                DialogEvent::None
            }
            KeyCode::Char('q') => DialogEvent::Cancelled,
            _ => DialogEvent::None,
        }
    }

    /// Takes pasted text.
    pub(crate) fn paste(&mut self, text: &str) -> DialogEvent {
        match self.focus {
            Focus::Form if self.form.paste(text) => DialogEvent::Changed,
            Focus::Name => {
                super::prompt::paste(&mut self.typed, text);
                DialogEvent::None
            }
            _ => DialogEvent::None,
        }
    }

    /// The nodes that the preview names.
    pub(crate) fn nodes(&self) -> &[Str] {
        match &self.answer {
            PreviewState::Preview(preview) => &preview.nodes,
            _ => &[],
        }
    }
}

/// Whether a command can only make things safer. Such a one works while read-only, and need not wait for its preview.
pub(crate) fn is_safety(command: &Command) -> bool {
    match command {
        Command::Pause { .. } | Command::StopDriving | Command::GiveUpDriving { .. } => true,
        Command::Adopt
        | Command::SetImage(_)
        | Command::Step(_)
        | Command::Select(_)
        | Command::Resume
        | Command::Undo { .. }
        | Command::Release(_)
        | Command::Tune(_)
        | Command::Tuned { .. }
        | Command::Drive(_) => false,
    }
}
