//! Budgets and gates, a line each: the present value, and its meaning on this fleet. Only changed lines are written.

use crossterm::event::KeyCode;
use tui_input::Input;

use super::field::{Handled, field, turns};
use crate::engine::model::command::Command;
use crate::engine::model::settings::Setting;
use crate::engine::model::settings::Tuning;
use crate::engine::report::snapshot::{Alarm, Snapshot};
use crate::tui::key::Key;

/// The meaning of `text` on this fleet.
pub(crate) fn meaning(setting: Setting, text: &str, snapshot: &Snapshot) -> String {
    let meaning = setting.meaning(text, snapshot.counts.nodes);
    let as_it_is = setting == Setting::MaxUnavailable && snapshot.settings.budgets.max_unavailable.is_default();
    if as_it_is && text == setting.value(&snapshot.settings) {
        format!("{meaning}: {}", snapshot.budget.max_unavailable)
    } else {
        meaning
    }
}

/// A line, as it was and as it is typed.
#[derive(Debug)]
pub(crate) struct SettingLine {
    pub(crate) setting: Setting,
    pub(crate) input: Input,
    was: String,
}

impl SettingLine {
    pub(crate) fn text(&self) -> &str {
        self.input.value().trim()
    }

    pub(crate) fn is_changed(&self) -> bool {
        self.text() != self.was
    }

    /// Whether the value is typed; otherwise keys switch between a few words.
    pub(crate) fn is_typed(&self) -> bool {
        self.setting.kind().choices.is_empty()
    }

    /// Switches to the next word, or back to the one before.
    fn turn(&mut self, key: Key) {
        let words = self.setting.kind().choices;
        let at = words.iter().position(|word| *word == self.text()).unwrap_or(0);
        let back = matches!(key.code, KeyCode::Left | KeyCode::Char('h'));
        let to = if back { at + words.len() - 1 } else { at + 1 };
        if let Some(word) = words.iter().cycle().nth(to) {
            self.input = Input::new((*word).to_owned());
        }
    }
}

/// The form.
#[derive(Debug)]
pub(crate) struct TuneForm {
    pub(crate) rows: Vec<SettingLine>,
    pub(crate) chosen: usize,
    /// Whether the limits of an earlier record are unknown: if no line was changed, the limits shown are then confirmed as they are.
    confirms: bool,
    /// Whether a record begins with these limits, because none is left or the one that is there was of an earlier DaemonSet.
    pub(crate) begins: bool,
    /// No key was typed on this line yet: the first one replaces the text.
    fresh: bool,
}

impl TuneForm {
    /// The form as `:tune` fills it in: `max-unavailable=5 on-drift=enforce`.
    ///
    /// # Errors
    /// A named setting does not exist: the error lists those that do.
    pub(crate) fn new(snapshot: &Snapshot, changes: &str) -> Result<Self, String> {
        let row = |setting: &Setting| {
            let was = setting.value(&snapshot.settings);
            SettingLine { setting: *setting, input: Input::new(was.clone()), was }
        };
        let mut form = Self {
            rows: Setting::ALL.iter().map(row).collect(),
            chosen: 0,
            confirms: snapshot.limits_are_lost(),
            begins: snapshot.alarms.iter().any(|alarm| {
                matches!(alarm, Alarm::RecordMissing | Alarm::RecordUnreadable { .. } | Alarm::ForeignRecord { .. })
            }),
            fresh: true,
        };
        for change in changes.split_whitespace() {
            let (name, text) = change.split_once('=').unwrap_or((change, ""));
            let name = name.trim_start_matches("--");
            let Some(at) = form.rows.iter().position(|row| row.setting.name() == name) else {
                let known = form.rows.iter().map(|row| row.setting.name()).collect::<Vec<_>>().join(", ");
                return Err(format!("there is no `{name}` to tune; there are {known}"));
            };
            form.chosen = at;
            if !text.is_empty() {
                form.rows[at].input = Input::new(text.to_owned());
            }
        }
        Ok(form)
    }

    /// Whether the limits are confirmed as they are: those of a record that was begun anew, of which no value changes.
    pub(crate) fn only_confirms(&self) -> bool {
        self.confirms && !self.begins && !self.rows.iter().any(SettingLine::is_changed)
    }

    pub(crate) fn command(&self) -> Result<Command, String> {
        let mut tuning = Tuning::default();
        let any_changed = self.rows.iter().any(SettingLine::is_changed);
        let asked = |row: &&SettingLine| row.is_changed() || (self.confirms && !any_changed);
        for row in self.rows.iter().filter(asked) {
            let change = row.setting.read(row.text()).map_err(|why| format!("{}: {why}", row.setting.name()))?;
            tuning = tuning.and(change);
        }
        if tuning.is_empty() {
            return Err("nothing changes: up and down choose a line, type a value, left and right switch".into());
        }
        Ok(Command::Tune(tuning))
    }

    /// The text field of the chosen line, if it has one.
    pub(crate) fn field(&mut self) -> Option<&mut Input> {
        let row = &mut self.rows[self.chosen];
        row.is_typed().then_some(&mut row.input)
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
        if row.is_typed() {
            if std::mem::take(&mut self.fresh) && key.text().is_some() {
                row.input = Input::default();
            }
            field(&mut row.input, key)
        } else if turns(key) {
            row.turn(key);
            Handled::Changed
        } else {
            Handled::No
        }
    }
}
