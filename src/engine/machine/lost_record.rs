//! A record that is gone, or that cannot be read any more, as this process saw it last; and the words by which Events about such a record are found.
//! `commands/lost_record.rs` says what else is known of it.

use super::Engine;
use crate::engine::model::person_of;
use crate::engine::model::record::Intent;
use crate::engine::model::settings::Setting;

/// What stands before the words for a lost record in an Event, by which others find them.
pub(crate) const IT_HAD: &str = "; it had ";

/// What a command says that begins a record without the earlier one, before the limits that it begins with.
pub(crate) const BEGAN_WITHOUT: &str = "began without a record: ";

impl Engine {
    /// The record that this process saw last, in words: `max-unavailable=5 soak=1m and the other defaults, led to revision 3, only nodes with
    /// zone=a, was paused by ada`. `None` if this process saw none.
    pub(crate) fn lost_record_as_seen(&self) -> Option<String> {
        let intent = self.lock.lost_intent()?;
        let mut words = vec![limits_of(intent)];
        let number = intent.target.as_ref().and_then(|hash| self.view.revision(hash)).map(|revision| revision.number);
        words.extend(number.map(|number| format!("led to revision {number}")));
        words.extend(intent.selector.as_ref().map(|selector| format!("only nodes with {selector}")));
        words.extend(intent.paused.as_ref().map(|paused| format!("was paused by {}", person_of(&paused.by))));
        Some(words.join(", "))
    }
}

/// The limits of an intent as they would be typed: `max-unavailable=5 soak=1m and the other defaults`.
fn limits_of(intent: &Intent) -> String {
    let settings = intent.settings();
    let set = Setting::ALL.iter().filter(|setting| setting.is_changed_in(&settings));
    let set: Vec<String> = set.map(|setting| format!("{}={}", setting.name(), setting.value(&settings))).collect();
    if set.is_empty() { "the default limits".to_owned() } else { format!("{} and the other defaults", set.join(" ")) }
}
