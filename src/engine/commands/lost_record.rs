//! With which limits a record begins in place of one that is gone, or that cannot be read any more.

use crate::engine::assess::plan::Limits;
use crate::engine::machine::Engine;
use crate::engine::machine::lost_record::BEGAN_WITHOUT;
use crate::engine::model::Str;
use crate::engine::model::command::Command;
use crate::engine::model::settings::{Setting, SettingRole, Settings};

/// The settings that such a command tells where they are as by default, too: what is taken down at once, and what halts that although nobody set it.
fn told_by_default() -> Vec<Setting> {
    let gates = Settings::default().gates;
    let halts = |setting: &Setting| matches!(setting.about().role, SettingRole::Halts(gate) if !gate.is_off(&gates));
    let limits = [Setting::MaxUnavailable, Setting::MaxPulling, Setting::Soak];
    limits.into_iter().chain(Setting::ALL.iter().copied().filter(halts)).collect()
}

impl Engine {
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
