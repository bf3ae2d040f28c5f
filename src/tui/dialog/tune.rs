//! Budgets and gates, a line each: what is written there now, and what it comes to. Only what was changed is asked for.

use crossterm::event::KeyCode;
use tui_input::Input;

use super::form::{Handled, field};
use crate::engine::model::command::Command;
use crate::engine::model::quantity::{IntOrPercent, Rounding};
use crate::engine::model::record::{Finish, OnDrift, OnFailure};
use crate::engine::model::tuning::{Limit, Span, Tuning};
use crate::engine::report::snapshot::Snapshot;
use crate::tui::key::Key;

/// One line of the form. The names are those of the command line's flags.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Setting {
    MaxUnavailable,
    MaxPulling,
    Strict,
    FailureThreshold,
    ProgressDeadline,
    MaxRestarts,
    Soak,
    SuspectGrace,
    OnFailure,
    OnDrift,
    Finish,
}

impl Setting {
    pub(crate) const ALL: [Self; 11] = [
        Self::MaxUnavailable,
        Self::MaxPulling,
        Self::Strict,
        Self::FailureThreshold,
        Self::ProgressDeadline,
        Self::MaxRestarts,
        Self::Soak,
        Self::SuspectGrace,
        Self::OnFailure,
        Self::OnDrift,
        Self::Finish,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::MaxUnavailable => "max-unavailable",
            Self::MaxPulling => "max-pulling",
            Self::Strict => "strict",
            Self::FailureThreshold => "failure-threshold",
            Self::ProgressDeadline => "progress-deadline",
            Self::MaxRestarts => "max-restarts",
            Self::Soak => "soak",
            Self::SuspectGrace => "suspect-grace",
            Self::OnFailure => "on-failure",
            Self::OnDrift => "on-drift",
            Self::Finish => "finish",
        }
    }

    /// What it can be, where that is a handful of words.
    pub(crate) fn choices(self) -> Option<[&'static str; 2]> {
        match self {
            Self::Strict => Some(["false", "true"]),
            Self::OnFailure => Some(["halt", "rollback"]),
            Self::OnDrift => Some(["report", "enforce"]),
            Self::Finish => Some(["release", "keep"]),
            _ => None,
        }
    }

    /// As it is now.
    fn of(self, snapshot: &Snapshot) -> String {
        let Snapshot { budgets, gates, on_drift, finish, .. } = snapshot;
        let limit = |limit: Option<IntOrPercent>| limit.map_or(Limit::Default, Limit::At).to_string();
        match self {
            Self::MaxUnavailable => limit(budgets.max_unavailable),
            Self::MaxPulling => limit(budgets.max_pulling),
            Self::Strict => budgets.strict.to_string(),
            Self::FailureThreshold => gates.failure_threshold.to_string(),
            Self::ProgressDeadline => Span(gates.progress_deadline_secs).to_string(),
            Self::MaxRestarts => gates.max_restarts.to_string(),
            Self::Soak => Span(gates.soak_secs).to_string(),
            Self::SuspectGrace => Span(gates.suspect_grace_secs).to_string(),
            Self::OnFailure => gates.on_failure.to_string(),
            Self::OnDrift => on_drift.to_string(),
            Self::Finish => finish.to_string(),
        }
    }

    /// Asks for `text`.
    fn put(self, text: &str, tuning: &mut Tuning) -> Result<(), String> {
        let at_second = |words: [&str; 2]| text == words[1];
        let choice = self.choices();
        if let Some(words) = choice.filter(|words| !words.contains(&text)) {
            return Err(format!("`{text}` is neither `{}` nor `{}`", words[0], words[1]));
        }
        let second = choice.is_some_and(at_second);
        match self {
            Self::MaxUnavailable => tuning.max_unavailable = Some(text.parse()?),
            Self::MaxPulling => tuning.max_pulling = Some(text.parse()?),
            Self::Strict => tuning.strict = Some(second),
            Self::FailureThreshold => tuning.failure_threshold = Some(text.parse()?),
            Self::ProgressDeadline => tuning.progress_deadline_secs = Some(Span::parse(text)?.0),
            Self::MaxRestarts => {
                let number =
                    text.parse().map_err(|_not_a_number| format!("`{text}` is not a count: write `2`, or `0`"));
                tuning.max_restarts = Some(number?);
            }
            Self::Soak => tuning.soak_secs = Some(Span::parse(text)?.0),
            Self::SuspectGrace => tuning.suspect_grace_secs = Some(Span::parse(text)?.0),
            Self::OnFailure => tuning.on_failure = Some(if second { OnFailure::RollBack } else { OnFailure::Halt }),
            Self::OnDrift => tuning.on_drift = Some(if second { OnDrift::EnforceOnDelete } else { OnDrift::Report }),
            Self::Finish => tuning.finish = Some(if second { Finish::Keep } else { Finish::Release }),
        }
        Ok(())
    }

    /// What `text` comes to on this fleet.
    pub(crate) fn meaning(self, text: &str, snapshot: &Snapshot) -> String {
        let nodes = snapshot.counts.nodes;
        let count = |limit: IntOrPercent| limit.of(nodes, Rounding::Up);
        let second = self.choices().is_some_and(|words| text == words[1]);
        match self {
            Self::MaxUnavailable => match text.parse() {
                Ok(Limit::At(limit)) => format!("{} of {nodes} nodes may be down", count(limit)),
                Ok(Limit::Default) if snapshot.budgets.max_unavailable.is_none() => {
                    format!("as the DaemonSet says: {}", snapshot.budget.max_unavailable)
                }
                Ok(Limit::Default) => "as the DaemonSet says".to_owned(),
                Err(_) => "3, 10% or default".to_owned(),
            },
            Self::MaxPulling => match text.parse() {
                Ok(Limit::At(limit)) => format!("{} of {nodes} nodes may pull", count(limit)),
                Ok(Limit::Default) => "as many as may be down".to_owned(),
                Err(_) => "3, 10% or default".to_owned(),
            },
            Self::Strict if second => "every node that is down is charged".to_owned(),
            Self::Strict => "what the rollout took down is charged".to_owned(),
            Self::FailureThreshold => match text.parse() {
                Ok(limit) => format!("{} failed of {nodes} nodes", count(limit).max(1)),
                Err(_) => "3 or 10%".to_owned(),
            },
            Self::ProgressDeadline => "to become available, or it failed".to_owned(),
            Self::MaxRestarts => "more than that, and it failed".to_owned(),
            Self::Soak => "ready before it counts as available".to_owned(),
            Self::SuspectGrace => "down after its update, and it failed".to_owned(),
            Self::OnFailure if second => "go back to where it came from".to_owned(),
            Self::OnFailure => "start nothing more".to_owned(),
            Self::OnDrift => drift_meaning(if second { OnDrift::EnforceOnDelete } else { OnDrift::Report }).to_owned(),
            Self::Finish if second => "stay adopted at the end".to_owned(),
            Self::Finish => "back to its controller at the end".to_owned(),
        }
    }
}

/// What each answer to a strategy that is set back does.
pub(crate) fn drift_meaning(on_drift: OnDrift) -> &'static str {
    match on_drift {
        OnDrift::Report => "pause, say who set it back",
        OnDrift::EnforceOnDelete => "set OnDelete again at once",
    }
}

/// A line, as it was and as it is typed.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) setting: Setting,
    pub(crate) input: Input,
    was: String,
}

impl Row {
    pub(crate) fn text(&self) -> &str {
        self.input.value().trim()
    }

    pub(crate) fn is_changed(&self) -> bool {
        self.text() != self.was
    }
}

/// The form.
#[derive(Debug)]
pub(crate) struct TuneForm {
    pub(crate) rows: Vec<Row>,
    pub(crate) chosen: usize,
    /// Nothing was typed on this line yet: what is typed first replaces what is there.
    fresh: bool,
}

impl TuneForm {
    /// The form as `:tune` fills it in: `max-unavailable=5 on-drift=enforce`.
    ///
    /// # Errors
    /// Says what can be tuned.
    pub(crate) fn new(snapshot: &Snapshot, changes: &str) -> Result<Self, String> {
        let rows = Setting::ALL.map(|setting| {
            let was = setting.of(snapshot);
            Row { setting, input: Input::new(was.clone()), was }
        });
        let mut form = Self { rows: rows.into(), chosen: 0, fresh: true };
        for change in changes.split_whitespace() {
            let (name, text) = change.split_once('=').unwrap_or((change, ""));
            let name = name.trim_start_matches("--");
            let Some(at) = form.rows.iter().position(|row| row.setting.name() == name) else {
                let known = Setting::ALL.map(Setting::name).join(", ");
                return Err(format!("there is no `{name}` to tune; there are {known}"));
            };
            form.chosen = at;
            if !text.is_empty() {
                form.rows[at].input = Input::new(text.to_owned());
            }
        }
        Ok(form)
    }

    pub(crate) fn command(&self) -> Result<Command, String> {
        let mut tuning = Tuning::default();
        for row in self.rows.iter().filter(|row| row.is_changed()) {
            row.setting.put(row.text(), &mut tuning).map_err(|why| format!("{}: {why}", row.setting.name()))?;
        }
        if tuning.is_empty() {
            return Err("change a line: up and down choose it, type a value, left and right switch".into());
        }
        Ok(Command::Tune(tuning))
    }

    /// The text field that is chosen, if it is one.
    pub(crate) fn field(&mut self) -> Option<&mut Input> {
        let row = &mut self.rows[self.chosen];
        row.setting.choices().is_none().then_some(&mut row.input)
    }

    pub(crate) fn key(&mut self, key: Key) -> Handled {
        let chosen = match key.code {
            KeyCode::Up => self.chosen.saturating_sub(1),
            KeyCode::Down => (self.chosen + 1).min(self.rows.len() - 1),
            _ => return self.value_key(key),
        };
        self.chosen = chosen;
        self.fresh = true;
        Handled::Yes
    }

    fn value_key(&mut self, key: Key) -> Handled {
        let row = &mut self.rows[self.chosen];
        match row.setting.choices() {
            Some(words) if turns(key) => {
                let at = usize::from(row.text() == words[0]);
                row.input = Input::new(words[at].to_owned());
                Handled::Changed
            }
            Some(_) => Handled::No,
            None => {
                if std::mem::take(&mut self.fresh) && key.text().is_some() {
                    row.input = Input::default();
                }
                field(&mut row.input, key)
            }
        }
    }
}

/// Whether a key switches between two words.
pub(super) fn turns(key: Key) -> bool {
    matches!(key.code, KeyCode::Left | KeyCode::Right | KeyCode::Char(' ' | 'h' | 'l'))
}
