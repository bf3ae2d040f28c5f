//! A record that is gone, or that cannot be read any more: what is still known of it, from this process's memory or from an Event of the process that drove, and
//! with which limits a new one begins.

use crate::engine::assess::plan::Limits;
use crate::engine::machine::Engine;
use crate::engine::machine::lost_record::{BEGAN_WITHOUT, IT_HAD};
use crate::engine::model::Str;
use crate::engine::model::command::Command;
use crate::engine::model::settings::{Setting, SettingRole, Settings};
use crate::engine::model::time::UtcTime;

/// The settings that such a command tells where they are as by default, too: what is taken down at once, and what halts that although nobody set it.
fn told_by_default() -> Vec<Setting> {
    let gates = Settings::default().gates;
    let halts = |setting: &Setting| matches!(setting.about().role, SettingRole::Halts(gate) if !gate.is_off(&gates));
    let limits = [Setting::MaxUnavailable, Setting::MaxPulling, Setting::Soak];
    limits.into_iter().chain(Setting::ALL.iter().copied().filter(halts)).collect()
}

impl Engine {
    /// What is known of the lost record, and how: `as this process saw last, it had …`, `as an Event of 12:03 UTC says, it had …`. An Event about an
    /// earlier record tells nothing of the lost one.
    pub(super) fn lost_record(&self) -> Option<String> {
        if let Some(seen) = self.lost_record_as_seen() {
            return Some(format!("as this process saw last, it had {seen}"));
        }
        let lost = self.event_log.kept().filter(|event| event.tells_of_a_lost_record());
        let (event, had) = lost
            .filter_map(|event| Some((event, event.said.as_ref()?.split_once(IT_HAD)?.1)))
            .max_by_key(|(event, _)| event.at)?;
        // A record that was begun later, and is lost by now, may have had other limits.
        if self.event_log.kept().any(|known| known.at > event.at && known.shows_a_record()) {
            return None;
        }
        // An Event also names the process that wrote it, at the end.
        let had = had.split_once(" (driven by ").map_or(had, |(had, _)| had);
        Some(format!("as an Event of {} says, it had {had}", UtcTime { at: event.at, now: self.now }))
    }

    /// What a command that begins a record without the earlier one says of it: its limits, what the earlier one had as far as that is known, and
    /// how the template differs from the one that was rolled out, as far as that is known.
    pub(super) fn begun_without_a_record(&self, command: &Command) -> String {
        let mut intent = self.intent_to_begin_with();
        intent.tune(&command.tuning());
        let in_force = Limits::of(&self.view, &intent, &self.assessment);
        let settings = intent.settings();
        let shown = |setting: &Setting| {
            let name = setting.name().replace('-', " ");
            match setting {
                setting if setting.is_changed_in(&settings) => setting.in_words(&settings),
                Setting::MaxUnavailable => format!("{name} {} (default)", in_force.max_unavailable),
                Setting::MaxPulling => format!("{name} {} (default)", in_force.max_pulling),
                setting => format!("{} (default)", setting.in_words(&settings)),
            }
        };
        let by_default = told_by_default();
        let changed = Setting::ALL.iter().filter(|setting| setting.is_changed_in(&settings));
        let others = changed.filter(|setting| !by_default.contains(setting));
        let limits: Vec<String> = by_default.iter().chain(others).map(shown).collect();
        let before = match self.lost_record() {
            Some(known) => known,
            None => "which limits it had is not known".to_owned(),
        };
        let mut words = format!("{BEGAN_WITHOUT}{}; {before}", limits.join(", "));
        let keeps_the_template = !matches!(command.inner(), Command::SetImage(_) | Command::Undo { .. });
        if let Some(changed) = self.template_since_the_lost_record().filter(|_| keeps_the_template) {
            words.push_str(&format!("; {changed}"));
        }
        words
    }

    /// The revision of the template, if the lost record led to another one: somebody has changed the template since, or while nobody drove.
    fn template_since_the_lost_record(&self) -> Option<String> {
        let target = self.lock.lost_intent()?.target.as_ref()?;
        let current = self.view.current().filter(|current| *current != target)?;
        let images: Vec<String> =
            self.view.images_changed(Some(target), Some(current)).iter().map(ToString::to_string).collect();
        let images = if images.is_empty() { String::new() } else { format!(" ({})", images.join(", ")) };
        let number =
            self.view.revision(current).map_or_else(Str::default, |revision| revision.number.to_string().into());
        Some(format!("the template was changed since: it leads to revision {number}{images} now"))
    }
}
