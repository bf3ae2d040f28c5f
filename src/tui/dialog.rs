//! The dialog in which a write is filled in, previewed and confirmed.
//!
//! ```text
//!  form ──(changes)──► question to the driver ──► preview ──► confirmation ──► command
//!    danger none, bounded   enter on the form
//!    danger serious         enter on the button
//!    danger beyond          the DaemonSet's name, typed
//! ```
//!
//! Where there is nothing to fill in, every dialog puts the focus first on the button that changes nothing: a surplus enter does nothing.
//!
//! Every dialog moves the focus in the same order: `tab` goes from the fields to the name (if it has to be typed), to the
//! action, to cancel, and back. The arrows move through the lines of a form. A probable mistake, such as a selector that
//! matches no node, is confirmed like a serious command.
//!
//! What is confirmed is what was read: if others change what an open dialog lets happen, it says so, and the next enter only acknowledges that. The
//! same holds while the preview is asked for again.
//!
//! Before the preview has arrived only a pause and the end of driving can be confirmed, because they take nothing down.

pub(crate) mod budget;
mod drift;
mod field;
pub(crate) mod form;
pub(crate) mod image;
mod meanwhile;
mod preview_inputs;
pub(crate) mod prewarm;
mod selector;
pub(crate) mod tune;

use crossterm::event::KeyCode;
use tui_input::Input;

pub(crate) use self::budget::BudgetField;
pub(crate) use self::drift::DriftChoice;
use self::field::Handled;
pub(crate) use self::form::{AdoptForm, Form, StepForm, Undo, is_safety};
pub(crate) use self::image::{ImageForm, OfferedImage, known_images};
use self::meanwhile::PreviewRead;
use self::preview_inputs::PreviewInputs;
pub(crate) use self::prewarm::PrewarmForm;
pub(crate) use self::selector::Canary;
pub(crate) use self::tune::TuneForm;
use super::daemonset_ref::DaemonSetRef;
use super::key::Key;
use super::prompt::edit;
use crate::engine::model::Str;
use crate::engine::model::command::{Command, Preview};
use crate::engine::model::danger::Danger;
use crate::engine::report::snapshot::Snapshot;

/// In the dialog of a roll back: pre-warms the revision instead.
pub(crate) const PREWARM: Key = Key::char('W');

/// The keys of all dialogs with their effects, for the help.
pub(crate) const KEYS: [(&str, &str); 7] = [
    ("tab", "from the fields to the action, to cancel, and back to the fields; shift-tab the other way"),
    ("up down", "from line to line of a form; left right: switch a line, or choose between action and cancel"),
    ("right", "at the end of a text: completes it with what is listed below it"),
    ("enter", "does it; what can break more is done only on the action, or once the name is typed"),
    ("esc", "cancels: nothing is changed"),
    ("pgup pgdn", "more of what it would do"),
    ("?", "this help, except where text is typed; the dialog is shown again once it is closed"),
];

/// The number of lines that a page key scrolls.
const PAGE: isize = 4;

/// The reason why enter does nothing in a dialog that asks for the name of the DaemonSet.
const NAME_FIRST: &str = "nothing is done: the name that the dialog asks for has to be typed first";

/// A dialog.
#[derive(Debug)]
pub(crate) struct Dialog {
    pub(crate) target: DaemonSetRef,
    pub(crate) form: Form,
    pub(crate) answer: PreviewState,
    pub(crate) focus: Focus,
    /// The name typed to confirm a command that exceeds the budget.
    pub(crate) typed: Input,
    /// The number of lines by which the text is scrolled from its initial position, which depends on the focus.
    pub(crate) scroll: isize,
    /// The dialog was opened on the list of DaemonSets: cancelling it leads back there.
    pub(crate) is_from_list: bool,
    /// A probable mistake in a form that makes a valid command.
    pub(crate) doubt: Option<String>,
    /// The focus was moved by a key, so a preview that arrives does not move it.
    moved: bool,
    /// The number of the question that was asked again after an answer.
    again: Option<u64>,
    /// A preview has replaced a refusal without a key press, and no key was pressed since: the preview may be unread.
    replaced_refusal: bool,
    /// The state on which the last answer depends, as of the question.
    preview_inputs: Option<PreviewInputs>,
    /// What an operator was shown first, or has acknowledged since.
    read: Option<PreviewRead>,
    /// What the present preview lets happen that is not what was read; empty if nothing.
    pub(crate) meanwhile: Vec<String>,
    /// It was acknowledged.
    is_acknowledged: bool,
}

/// The knowledge about what the command would do.
#[derive(Debug)]
pub(crate) enum PreviewState {
    /// The form makes no command yet; the text says why.
    Incomplete(String),
    /// The driver was asked; the number of the question.
    Asking(u64),
    /// The driver's answer.
    Preview(Box<Preview>),
    /// The command would be refused; the text says why.
    Refused(String),
}

/// The part of the dialog that receives keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Focus {
    Form,
    Name,
    Cancel,
    Go,
}

/// The effect of a key on a dialog.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DialogEvent {
    /// The key has no effect outside the dialog.
    None,
    /// The command changed: its preview is to be asked for again.
    Changed,
    /// The dialog is to be closed without doing anything.
    Cancelled,
    /// The command is to be done.
    Confirmed,
    /// Enter did nothing; the text says why, and which key to press.
    NotYet(&'static str),
    /// The key is not used where the focus is.
    Unused,
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
            scroll: 0,
            is_from_list: false,
            doubt: None,
            moved: false,
            again: None,
            replaced_refusal: false,
            preview_inputs: None,
            read: None,
            meanwhile: Vec::new(),
            is_acknowledged: false,
        }
    }

    /// A question about the console, which concerns no DaemonSet.
    pub(crate) fn on_console(form: Form) -> Self {
        Self::new(DaemonSetRef { namespace: "".into(), name: "".into() }, form)
    }

    /// Asks whether to quit although this stops the rollouts that are driven from here.
    pub(crate) fn quit(target: DaemonSetRef, driven: Vec<DaemonSetRef>) -> Self {
        Self::new(target, Form::Quit(driven))
    }

    /// The command of the form in its present state.
    ///
    /// # Errors
    /// Says what is missing or wrong.
    pub(crate) fn command(&self, snapshot: &Snapshot) -> Result<Command, String> {
        self.form.command(snapshot)
    }

    /// Notes a probable mistake in the form in its present state.
    pub(crate) fn look_for_mistakes(&mut self, snapshot: &Snapshot) {
        self.doubt = self.form.doubt(snapshot);
    }

    /// Takes in the driver's answer to question `serial`. The answer to an earlier question is dropped.
    pub(crate) fn answered(&mut self, serial: u64, answer: Result<Box<Preview>, String>) {
        let asked = match self.answer {
            PreviewState::Asking(asked) => Some(asked),
            PreviewState::Refused(_) | PreviewState::Preview(_) => self.again,
            PreviewState::Incomplete(_) => None,
        };
        if asked != Some(serial) {
            return;
        }
        // After a refusal the focus stays: an enter typed while the refusal is read must not confirm.
        let first = matches!(self.answer, PreviewState::Asking(_));
        let before = self.danger();
        self.replaced_refusal = matches!(self.answer, PreviewState::Refused(_)) && answer.is_ok();
        self.again = None;
        self.answer = match answer {
            Ok(preview) => PreviewState::Preview(preview),
            Err(why) => PreviewState::Refused(why),
        };
        self.compare(first);
        if first && !self.moved && !self.form.has_fields() {
            self.focus = self.safe_focus();
        }
        // An enter typed while a milder answer is read must not confirm this one.
        if before.is_some() && self.danger() > before && self.focus == Focus::Go {
            self.focus = self.safe_focus();
        }
    }

    /// Compares the preview that has arrived with what was read. The `first` answer to a question of the operator's own is what is read.
    fn compare(&mut self, first: bool) {
        if first {
            (self.read, self.is_acknowledged) = (None, false);
            self.meanwhile.clear();
        }
        let (PreviewState::Preview(preview), Some(danger)) = (&self.answer, self.danger()) else { return };
        let Some(inputs) = self.preview_inputs.clone() else { return };
        let now = PreviewRead::of(preview, danger, inputs);
        match &self.read {
            None => self.read = Some(now),
            Some(read) => {
                let changed = read.changed_to(&now, &self.form);
                if changed.is_empty() && self.is_acknowledged {
                    return;
                }
                self.is_acknowledged = false;
                self.meanwhile = changed;
            }
        }
    }

    /// Notes that what the dialog shows now was looked at.
    fn acknowledge(&mut self) {
        if let (PreviewState::Preview(preview), Some(danger), Some(inputs)) =
            (&self.answer, self.danger(), self.preview_inputs.clone())
        {
            self.read = Some(PreviewRead::of(preview, danger, inputs));
            self.is_acknowledged = true;
        }
    }

    /// The reason why this enter must not confirm: what it would do is not what was read, or is not known. A rollout that only goes on is no reason.
    fn is_unread(&mut self, snapshot: Option<&Snapshot>) -> Option<&'static str> {
        if !self.waits() || self.focus == Focus::Cancel || !matches!(self.answer, PreviewState::Preview(_)) {
            return None;
        }
        let others_changed = match (&self.read, snapshot.map(PreviewInputs::of)) {
            (Some(read), Some(now)) => read.others_changed(&now),
            _ => true,
        };
        if self.again.is_some() && others_changed {
            return Some("something has changed: it is being asked what it would do now");
        }
        if self.meanwhile.is_empty() || self.is_acknowledged {
            return None;
        }
        self.acknowledge();
        Some("it has changed meanwhile: look at what it would do, then press enter again")
    }

    /// The command to give: what the preview shows, if that is known more exactly than the form has it.
    ///
    /// # Errors
    /// Says what is missing or wrong in the form.
    pub(crate) fn confirmed_command(&self, snapshot: &Snapshot) -> Result<Command, String> {
        let command = self.command(snapshot)?;
        Ok(match &self.answer {
            PreviewState::Preview(preview) => preview.pinned.as_deref().cloned().unwrap_or(command),
            _ => command,
        })
    }

    /// Whether the answer may no longer hold and the question was not asked again since: the answer was a refusal, or others
    /// changed the state on which it depends.
    pub(crate) fn may_be_asked_again(&self, snapshot: &Snapshot) -> bool {
        let is_old = match self.answer {
            PreviewState::Refused(_) => true,
            PreviewState::Preview(_) => self.preview_inputs != Some(PreviewInputs::of(snapshot)),
            PreviewState::Incomplete(_) | PreviewState::Asking(_) => false,
        };
        is_old && self.again.is_none()
    }

    /// Notes the state under which the question is asked.
    pub(crate) fn is_asked_under(&mut self, snapshot: &Snapshot) {
        self.preview_inputs = Some(PreviewInputs::of(snapshot));
    }

    /// Notes that question `serial` asks again after an answer.
    pub(crate) fn asks_again(&mut self, serial: u64) {
        self.again = Some(serial);
    }

    /// The danger of the command, if it is known.
    pub(crate) fn danger(&self) -> Option<Danger> {
        let least = if self.doubt.is_some() { Danger::Serious } else { Danger::None };
        match &self.answer {
            PreviewState::Preview(preview) => Some(preview.danger.max(least)),
            _ => None,
        }
    }

    /// Where the focus is put for the confirmation: on the button that changes nothing, or where the name is typed.
    fn safe_focus(&self) -> Focus {
        match self.danger() {
            Some(Danger::ExceedsBudget) => Focus::Name,
            Some(Danger::None | Danger::Bounded | Danger::Serious) | None => Focus::Cancel,
        }
    }

    /// Whether the command waits for its preview. One that is asked for on the list of DaemonSets does, because until then nothing is
    /// known of its DaemonSet: a pause may turn out to be an emergency brake.
    pub(crate) fn waits(&self) -> bool {
        self.is_from_list || !self.form.never_waits()
    }

    /// Whether the command can be confirmed now.
    ///
    /// # Errors
    /// Says what is awaited or missing.
    pub(crate) fn ready(&self) -> Result<(), String> {
        if let Form::Arm { context, typed } = &self.form {
            let named = typed.value().trim() == &**context;
            return if named { Ok(()) } else { Err(format!("type the context's name to arm: {context}")) };
        }
        match &self.answer {
            PreviewState::Preview(_) if self.danger() == Some(Danger::ExceedsBudget) && !self.named() => {
                Err(format!("type the DaemonSet's name to confirm: {}", self.target.name))
            }
            PreviewState::Preview(_) => Ok(()),
            PreviewState::Asking(_) if !self.waits() => Ok(()),
            PreviewState::Asking(_) => Err("asking what it would do…".into()),
            PreviewState::Incomplete(_) if matches!(self.form, Form::Quit(_) | Form::SwitchContext { .. }) => Ok(()),
            PreviewState::Incomplete(why) | PreviewState::Refused(why) => Err(why.clone()),
        }
    }

    fn named(&self) -> bool {
        self.typed.value().trim() == &*self.target.name
    }

    /// The places of the focus, in order.
    fn places(&self) -> Vec<Focus> {
        let form = self.form.has_fields().then_some(Focus::Form);
        let name = (self.danger() == Some(Danger::ExceedsBudget)).then_some(Focus::Name);
        form.into_iter().chain(name).chain([Focus::Go, Focus::Cancel]).collect()
    }

    fn move_focus(&mut self, steps: isize) {
        let places = self.places();
        let at = places.iter().position(|place| *place == self.focus).unwrap_or(0);
        let len = isize::try_from(places.len()).unwrap_or(1);
        let next = (isize::try_from(at).unwrap_or(0) + steps).rem_euclid(len);
        self.focus = places[usize::try_from(next).unwrap_or(0)];
        self.moved = true;
    }

    /// The revision that this key asks to pre-warm, in the dialog of a roll back.
    pub(crate) fn revision_to_prewarm(&self, key: Key) -> Option<Str> {
        match &self.form {
            Form::Undo(form) if self.focus != Focus::Name && key == PREWARM => {
                form.revisions.get(form.chosen).map(|revision| revision.hash.clone())
            }
            _ => None,
        }
    }

    /// Takes a key.
    pub(crate) fn key(&mut self, key: Key, snapshot: Option<&Snapshot>) -> DialogEvent {
        match key.code {
            KeyCode::Esc => return DialogEvent::Cancelled,
            // The view knows the end of the text, and limits the scrolling.
            KeyCode::PageDown => {
                self.scroll = self.scroll.saturating_add(PAGE);
                return DialogEvent::None;
            }
            KeyCode::PageUp => {
                self.scroll = self.scroll.saturating_sub(PAGE);
                return DialogEvent::None;
            }
            _ => {}
        }
        // An enter typed while the refusal is read must not confirm the preview that has replaced it.
        let unread = std::mem::take(&mut self.replaced_refusal) && self.waits();
        if unread && key.code == KeyCode::Enter && self.focus != Focus::Cancel {
            return DialogEvent::NotYet("it is not refused any more: look at what it would do, then press enter again");
        }
        if key.code == KeyCode::Enter
            && let Some(why) = self.is_unread(snapshot)
        {
            return DialogEvent::NotYet(why);
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
                self.scroll = 0;
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
                _ => DialogEvent::Unused,
            },
        }
    }

    /// Enter on a form confirms a bounded command. A more dangerous command is confirmed on its button, or by the name that
    /// the dialog asks for: a second enter must neither confirm the command nor drop the typed text.
    fn confirm_form(&mut self) -> DialogEvent {
        match self.danger() {
            None if !self.waits() && self.ready().is_ok() => DialogEvent::Confirmed,
            None => self.not_yet(),
            Some(Danger::None | Danger::Bounded) => DialogEvent::Confirmed,
            Some(Danger::Serious) => DialogEvent::NotYet("look at what it would do: tab, then enter does it"),
            Some(Danger::ExceedsBudget) => {
                self.focus = self.safe_focus();
                self.moved = true;
                DialogEvent::None
            }
        }
    }

    /// Enter before the preview has arrived. Missing input is given in the form, so the form gets the focus.
    fn not_yet(&mut self) -> DialogEvent {
        match self.answer {
            PreviewState::Asking(_) => DialogEvent::NotYet("what it would do is not known yet: press enter again"),
            // The dialog says what is missing, or why it is wrong.
            PreviewState::Incomplete(_) => {
                self.focus = Focus::Form;
                DialogEvent::NotYet("nothing is done: something is missing, as the dialog says")
            }
            PreviewState::Refused(_) => DialogEvent::NotYet("nothing is done: it would be refused, as the dialog says"),
            PreviewState::Preview(_) => DialogEvent::NotYet(NAME_FIRST),
        }
    }

    fn name_key(&mut self, key: Key) -> DialogEvent {
        match key.code {
            KeyCode::Enter if self.named() => DialogEvent::Confirmed,
            KeyCode::Enter => DialogEvent::NotYet(NAME_FIRST),
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
            KeyCode::Enter => self.not_yet(),
            KeyCode::Left | KeyCode::Char('h') => {
                self.focus = Focus::Go;
                self.moved = true;
                DialogEvent::None
            }
            KeyCode::Right | KeyCode::Char('l') => {
                self.focus = Focus::Cancel;
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
            _ => DialogEvent::Unused,
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

    /// The name of the form.
    pub(crate) fn title(&self) -> &'static str {
        match (&self.form, &self.answer) {
            (Form::Undo(form), PreviewState::Preview(preview)) => form.verb(Some(preview.leads_later)),
            (form, _) => form.title(),
        }
    }

    /// The text on the button that confirms.
    pub(crate) fn verb(&self) -> &'static str {
        match &self.form {
            Form::Undo(_) => self.title(),
            form => form.verb(),
        }
    }

    /// Whether it changes a DaemonSet, and is no question about the console.
    pub(crate) fn is_about_a_daemonset(&self) -> bool {
        !matches!(self.form, Form::Quit(_) | Form::SwitchContext { .. } | Form::Arm { .. })
    }

    /// The nodes that the preview names.
    pub(crate) fn nodes(&self) -> &[Str] {
        match &self.answer {
            PreviewState::Preview(preview) => &preview.nodes,
            _ => &[],
        }
    }
}
