//! The forms that are filled in before a write: the step, the image, the nodes, the revision.

use crossterm::event::KeyCode;
use tui_input::Input;

use super::budget::BudgetField;
use super::drift::DriftChoice;
use super::field::{Handled, field};
use super::image::ImageForm;
use super::prewarm::PrewarmForm;
use super::selector::{Canary, label_doubt};
use super::tune::TuneForm;

use crate::engine::model::Str;
use crate::engine::model::command::{Command, PrewarmCommand, Step};
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::record::Direction;
use crate::engine::model::settings::Setting;
use crate::engine::report::snapshot::Snapshot;
use crate::engine::report::snapshot::{NodeView, RevisionView};
use crate::tui::daemonset_ref::DaemonSetRef;
use crate::tui::key::Key;
use crate::tui::prompt::paste;

/// A form.
#[derive(Debug)]
pub(crate) enum Form {
    /// Nothing to fill in.
    Plain {
        title: &'static str,
        command: Command,
    },
    Pause {
        why: Input,
    },
    Step(StepForm),
    Image(ImageForm),
    Canary(Canary),
    Undo(Undo),
    Adopt(AdoptForm),
    Tune(TuneForm),
    Prewarm(Box<PrewarmForm>),
    /// Quits although these rollouts are driven from here.
    Quit(Vec<DaemonSetRef>),
    /// Allows writes on a protected context, whose name has to be typed.
    Arm {
        context: Str,
        typed: Input,
    },
    /// Goes to another cluster although these rollouts are driven from here.
    SwitchContext {
        context: Str,
        driven: Vec<DaemonSetRef>,
    },
}

impl Form {
    pub(crate) fn title(&self) -> &'static str {
        match self {
            Self::Plain { title, .. } => title,
            Self::Pause { .. } => "Pause",
            Self::Step(_) => "Step",
            Self::Image(_) => "New image",
            Self::Canary(_) => "Canary nodes",
            Self::Undo(form) => form.verb(None),
            Self::Adopt(_) => "Adopt",
            Self::Tune(form) if form.begins => "Begin a new record",
            Self::Tune(form) if form.only_confirms() => "Confirm the limits",
            Self::Tune(_) => "Limits",
            Self::Prewarm(_) => "Pre-warm",
            Self::Quit(_) => "Quit",
            Self::Arm { .. } => "Arm",
            Self::SwitchContext { .. } => "Other cluster",
        }
    }

    /// The text on the button that confirms.
    pub(crate) fn verb(&self) -> &'static str {
        match self {
            Self::Plain { title, .. } => title,
            Self::Pause { .. } => "Pause now",
            Self::Step(_) => "Start step",
            Self::Image(_) => "Set image",
            Self::Canary(form) if form.lifts && form.input.value().trim().is_empty() => "Lift selector",
            Self::Canary(_) => "Select",
            Self::Undo(form) => form.verb(None),
            Self::Adopt(_) => "Adopt",
            Self::Tune(form) if form.begins => "Begin a new record",
            Self::Tune(form) if form.only_confirms() => "Confirm",
            Self::Tune(_) => "Change",
            Self::Prewarm(_) => "Pre-warm",
            Self::Quit(_) => "Quit",
            Self::Arm { .. } => "Arm",
            Self::SwitchContext { .. } => "Go there",
        }
    }

    pub(crate) fn has_fields(&self) -> bool {
        match self {
            Self::Plain { .. } | Self::Quit(_) | Self::SwitchContext { .. } => false,
            Self::Pause { .. }
            | Self::Arm { .. }
            | Self::Step(_)
            | Self::Image(_)
            | Self::Canary(_)
            | Self::Undo(_)
            | Self::Adopt(_)
            | Self::Tune(_)
            | Self::Prewarm(_) => true,
        }
    }

    /// Whether the command may be confirmed before its preview has arrived.
    pub(crate) fn never_waits(&self) -> bool {
        match self {
            Self::Plain { command, .. } => is_safety(command),
            Self::Pause { .. } | Self::Arm { .. } => true,
            Self::Step(_)
            | Self::Image(_)
            | Self::Canary(_)
            | Self::Undo(_)
            | Self::Adopt(_)
            | Self::Tune(_)
            | Self::Prewarm(_)
            | Self::Quit(_)
            | Self::SwitchContext { .. } => false,
        }
    }

    /// The command of the form in its present state.
    ///
    /// # Errors
    /// Says what is missing or wrong.
    pub(crate) fn command(&self, snapshot: &Snapshot) -> Result<Command, String> {
        match self {
            Self::Plain { command, .. } => Ok(command.clone()),
            Self::Pause { why } => {
                let why = why.value().trim();
                Ok(Command::Pause { why: (!why.is_empty()).then(|| why.to_owned()) })
            }
            Self::Step(form) => form.command(),
            Self::Image(form) => form.command(),
            Self::Canary(form) => form.command(snapshot),
            Self::Undo(form) => form.command(),
            Self::Adopt(form) => Ok(Command::Adopt.under(form.drift.tuning().and(form.budget.tuning()?))),
            Self::Tune(form) => form.command(),
            Self::Prewarm(form) => form.command(),
            Self::Quit(_) | Self::SwitchContext { .. } | Self::Arm { .. } => Err(String::new()),
        }
    }

    pub(crate) fn key(&mut self, key: Key, snapshot: Option<&Snapshot>) -> Handled {
        match self {
            Self::Plain { .. } | Self::Quit(_) | Self::SwitchContext { .. } => Handled::No,
            Self::Pause { why } => field(why, key),
            Self::Arm { typed, .. } => field(typed, key),
            Self::Step(form) => form.key(key),
            Self::Image(form) => form.key(key),
            Self::Canary(form) => form.key(key, snapshot),
            Self::Undo(form) => form.key(key),
            Self::Adopt(form) => form.key(key),
            Self::Tune(form) => form.key(key),
            Self::Prewarm(form) => form.key(key, snapshot),
        }
    }

    /// A probable mistake in a valid command: a selector or a label that no node has, or a step before the present one is done.
    pub(crate) fn doubt(&self, snapshot: &Snapshot) -> Option<String> {
        match self {
            Self::Canary(form) => form.doubt(snapshot),
            Self::Prewarm(form) => form.doubt(snapshot),
            Self::Step(form) => form.doubt(snapshot),
            Self::Tune(form) => {
                let row = form.rows.iter().find(|row| row.setting == Setting::SiteLabel)?;
                Some(row).filter(|row| row.is_changed()).and_then(|row| label_doubt(row.text(), snapshot))
            }
            Self::Plain { .. }
            | Self::Pause { .. }
            | Self::Image(_)
            | Self::Undo(_)
            | Self::Adopt(_)
            | Self::Arm { .. }
            | Self::SwitchContext { .. }
            | Self::Quit(_) => None,
        }
    }

    /// Takes pasted text. Tells whether a field took it.
    pub(crate) fn paste(&mut self, text: &str) -> bool {
        let input = match self {
            Self::Pause { why } => why,
            Self::Arm { typed, .. } => typed,
            Self::Step(form) => match form.field() {
                Some(input) => input,
                None => return false,
            },
            Self::Image(form) => match form.field() {
                Some(input) => input,
                None => return false,
            },
            Self::Adopt(form) if form.budget.required => &mut form.budget.input,
            Self::Canary(form) => &mut form.input,
            Self::Tune(form) => match form.field() {
                Some(input) => input,
                None => return false,
            },
            Self::Prewarm(form) => match form.field() {
                Some(input) => input,
                None => return false,
            },
            Self::Plain { .. } | Self::Undo(_) | Self::Adopt(_) | Self::Quit(_) | Self::SwitchContext { .. } => {
                return false;
            }
        };
        paste(input, text);
        true
    }
}

/// The settings under which a DaemonSet is adopted.
#[derive(Debug)]
pub(crate) struct AdoptForm {
    pub(crate) drift: DriftChoice,
    pub(crate) budget: BudgetField,
}

impl AdoptForm {
    pub(crate) fn of(snapshot: &Snapshot) -> Self {
        Self { drift: DriftChoice::of(snapshot), budget: BudgetField::of(snapshot) }
    }

    fn key(&mut self, key: Key) -> Handled {
        match self.drift.key(key) {
            Handled::No if self.budget.required => field(&mut self.budget.input, key),
            handled => handled,
        }
    }
}

/// The target of a step: the next step, back, or a number.
#[derive(Debug, Default)]
pub(crate) struct StepForm {
    pub(crate) choice: StepChoice,
    pub(crate) updated: Input,
    pub(crate) keep: Input,
}

/// The lines of the step form.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum StepChoice {
    #[default]
    Next,
    Back,
    Updated,
    Keep,
}

impl StepChoice {
    pub(crate) const ALL: [Self; 4] = [Self::Next, Self::Back, Self::Updated, Self::Keep];

    fn moved(self, by: isize) -> Self {
        let at = Self::ALL.iter().position(|one| *one == self).unwrap_or(0);
        let to = at.saturating_add_signed(by).min(Self::ALL.len() - 1);
        Self::ALL[to]
    }
}

impl StepForm {
    /// The form as `:step` fills it in.
    ///
    /// # Errors
    /// The text is not a step: the error lists what it can be.
    pub(crate) fn to(text: &str) -> Result<Self, String> {
        match text {
            "" | "next" => Ok(Self::default()),
            "back" => Ok(Self { choice: StepChoice::Back, ..Self::default() }),
            text => match text.parse::<IntOrPercent>() {
                Ok(_) => {
                    let updated = Input::new(text.to_owned());
                    Ok(Self { choice: StepChoice::Updated, updated, ..Self::default() })
                }
                Err(why) => Err(format!("{why}; or `next`, or `back`")),
            },
        }
    }

    /// The form as `:partition` fills it in.
    pub(crate) fn keeping(text: &str) -> Self {
        Self { choice: StepChoice::Keep, keep: Input::new(text.to_owned()), ..Self::default() }
    }

    /// Says that the present step is not done, and that it goes on: who presses the key twice would open the whole fleet. A step that is
    /// typed is meant. As long as no node is updated, the preview says so, and asks to look first. A roll back has no steps.
    fn doubt(&self, snapshot: &Snapshot) -> Option<String> {
        let (counts, allowed) = (snapshot.counts, snapshot.plan.allowed.min(snapshot.counts.nodes));
        let moves = |node: &NodeView| node.eligible && node.state.is_moving();
        let goes_on = || counts.next > 0 || snapshot.nodes.iter().any(moves);
        let steps = self.choice == StepChoice::Next && snapshot.direction == Direction::Forward;
        let is_open = steps && (1..allowed).contains(&counts.updated) && goes_on();
        is_open.then(|| format!("the present step is not done: {} of {allowed} nodes are updated", counts.updated))
    }

    fn command(&self) -> Result<Command, String> {
        let quantity = |input: &Input, what: &str| {
            if input.value().trim().is_empty() {
                return Err(format!("type {what}: a number, or a percentage such as 25%"));
            }
            input.value().parse::<IntOrPercent>()
        };
        Ok(Command::Step(match self.choice {
            StepChoice::Next => Step::Next,
            StepChoice::Back => Step::Back,
            StepChoice::Updated => Step::Updated(quantity(&self.updated, "how many nodes shall be updated in all")?),
            StepChoice::Keep => Step::Partition(quantity(&self.keep, "how many pods stay at the old revision")?),
        }))
    }

    fn has_no_number(&mut self) -> bool {
        self.field().is_none_or(|input| input.value().is_empty())
    }

    fn field(&mut self) -> Option<&mut Input> {
        match self.choice {
            StepChoice::Updated => Some(&mut self.updated),
            StepChoice::Keep => Some(&mut self.keep),
            StepChoice::Next | StepChoice::Back => None,
        }
    }

    fn key(&mut self, key: Key) -> Handled {
        let chosen = match key.code {
            KeyCode::Up => Some(self.choice.moved(-1)),
            KeyCode::Down => Some(self.choice.moved(1)),
            // In a number that is begun a letter is a mistake: it is kept, so that the number is refused and no other one is read.
            KeyCode::Char('j') if self.has_no_number() => Some(self.choice.moved(1)),
            KeyCode::Char('k') if self.has_no_number() => Some(self.choice.moved(-1)),
            _ => None,
        };
        if let Some(chosen) = chosen {
            let turned = chosen != self.choice;
            self.choice = chosen;
            return if turned { Handled::Changed } else { Handled::Yes };
        }
        // A digit begins a number, and goes to the first line that takes one.
        if matches!(key.code, KeyCode::Char('0'..='9')) && self.field().is_none() {
            self.choice = StepChoice::Updated;
        }
        self.field().map_or(Handled::No, |input| field(input, key))
    }
}

/// Which revision to go back to.
#[derive(Debug)]
pub(crate) struct Undo {
    /// The revisions that can be gone back to, newest first.
    pub(crate) revisions: Vec<RevisionView>,
    /// For each of them: how many fields other than images differ from the revision before it.
    pub(crate) other_fields: Vec<usize>,
    /// For each of them: whether it was made after the present one.
    later: Vec<bool>,
    pub(crate) chosen: usize,
    /// The reason why no revision is chosen at first.
    pub(crate) unchosen: Option<String>,
}

const ROLL_BACK: &str = "Roll back";
const ROLL_OUT: &str = "Roll out";

/// The reason why no roll back is possible.
pub(crate) const NO_OTHER_REVISION: &str = "the cluster keeps no other revision to go back to: I sets an image";

impl Undo {
    /// The revisions that can be gone back to, newest first. The target is one of them while the template is another one, as where somebody else
    /// changed it.
    pub(crate) fn revisions(snapshot: &Snapshot) -> Vec<RevisionView> {
        let target = snapshot.to.as_ref().map(|revision| &revision.hash);
        let template = snapshot.template_revision.as_ref();
        let in_force = target.filter(|target| template.is_none_or(|template| template == *target));
        let other = |revision: &&RevisionView| revision.number.is_some() && Some(&revision.hash) != in_force;
        snapshot.revisions.iter().filter(other).cloned().collect()
    }

    /// The form as `:undo` fills it in. The initial choice is the revision to which a roll back without a named revision goes.
    ///
    /// # Errors
    /// There is no revision to go back to, or the named one does not exist.
    pub(crate) fn new(snapshot: &Snapshot, to: &str) -> Result<Self, String> {
        let revisions = Self::revisions(snapshot);
        if revisions.is_empty() {
            return Err(NO_OTHER_REVISION.into());
        }
        let before = |revision: &RevisionView| {
            // They are listed newest first.
            snapshot.revisions.iter().find(|one| one.number.is_some() && one.number < revision.number)
        };
        let others = |revision: &RevisionView| before(revision).and_then(|before| revision.other_fields(before));
        let other_fields = revisions.iter().map(|revision| others(revision).unwrap_or_default()).collect();
        let present = snapshot.template_revision.as_ref().or(snapshot.to.as_ref().map(|revision| &revision.hash));
        let present = snapshot.revisions.iter().find(|revision| Some(&revision.hash) == present);
        let made_at = present.and_then(|revision| revision.created_at);
        let is_later = |revision: &RevisionView| made_at.is_some() && revision.created_at > made_at;
        let later = revisions.iter().map(is_later).collect();
        if to.is_empty() {
            let place = |usual: &Str| revisions.iter().position(|revision| revision.hash == *usual).unwrap_or(0);
            let (chosen, unchosen) = match &snapshot.roll_back {
                Ok(usual) => (place(usual), None),
                Err(why) if why.asks_for_a_revision() => {
                    (0, Some(format!("{why}; choose where to go with the arrows")))
                }
                Err(why) => return Err(why.to_string()),
            };
            return Ok(Self { revisions, other_fields, later, chosen, unchosen });
        }
        let number = to.parse::<i64>().ok();
        let found = revisions.iter().position(|revision| revision.number == number && number.is_some());
        let chosen = found.ok_or_else(|| {
            let known: Vec<String> = revisions.iter().filter_map(|one| Some(one.number?.to_string())).collect();
            let are = if known.len() == 1 { "is" } else { "are" };
            format!("there is no revision `{to}` to go back to; there {are} {}", known.join(", "))
        })?;
        Ok(Self { revisions, other_fields, later, chosen, unchosen: None })
    }

    /// What it does: it goes back only to a revision that is not later than the present one. `leads_later`: as the preview says, if there is one.
    pub(crate) fn verb(&self, leads_later: Option<bool>) -> &'static str {
        let is_later = leads_later
            .unwrap_or_else(|| self.unchosen.is_none() && self.later.get(self.chosen).is_some_and(|later| *later));
        if is_later { ROLL_OUT } else { ROLL_BACK }
    }

    fn command(&self) -> Result<Command, String> {
        if let Some(why) = &self.unchosen {
            return Err(why.clone());
        }
        let number = self.revisions.get(self.chosen).and_then(|revision| revision.number);
        number.map(|number| Command::Undo { to: Some(number) }).ok_or_else(|| "choose a revision".into())
    }

    fn key(&mut self, key: Key) -> Handled {
        let first = self.unchosen.is_some();
        let chosen = match key.code {
            // The first key only shows the current choice.
            KeyCode::Up | KeyCode::Char('k') | KeyCode::Down | KeyCode::Char('j') if first => self.chosen,
            KeyCode::Up | KeyCode::Char('k') => self.chosen.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => (self.chosen + 1).min(self.revisions.len() - 1),
            KeyCode::Home => 0,
            KeyCode::End => self.revisions.len() - 1,
            _ => return Handled::No,
        };
        let changed = chosen != self.chosen || first;
        self.chosen = chosen;
        self.unchosen = None;
        if changed { Handled::Changed } else { Handled::Yes }
    }
}

/// Whether a command can never take a Pod down. Such a command works while read-only, and need not wait for its preview.
pub(crate) fn is_safety(command: &Command) -> bool {
    match command {
        Command::Pause { .. } | Command::StopDriving | Command::EndDriving { .. } | Command::GiveUpDriving { .. } => {
            true
        }
        // Other pre-warm commands go on making Pods, or delete them: the application stays untouched, but the link may be loaded.
        Command::Prewarm(asked) => matches!(asked, PrewarmCommand::Pause),
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
