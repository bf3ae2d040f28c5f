//! A record that is gone, or that cannot be read any more: what is still known of it, from this process's memory or from Events of the process that drove, and
//! the words by which such Events are found.

use super::Engine;
use crate::engine::model::person_of;
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::record::Intent;
use crate::engine::model::rollout_event::{RolloutEvent, RolloutEventKind};
use crate::engine::model::settings::{Setting, Settings, Tuning};
use crate::engine::model::time::UtcTime;

/// What stands before the words for a lost record in an Event, by which others find them.
pub(crate) const IT_HAD: &str = "; it had ";

/// What stands before the limits of the record in the Event of a process that begins to drive.
const DRIVES_WITH: &str = ", with ";

/// What a command says that begins a record without the earlier one, before the limits that it begins with.
pub(crate) const BEGAN_WITHOUT: &str = "began without a record: ";

impl Engine {
    /// What a process says that begins to drive by a record: `drives the rollout now, with soak=1m and the other defaults`. Should the record be lost while
    /// nobody drives, nothing else in the cluster tells its limits.
    pub(crate) fn drives_with(&self, kind: &RolloutEventKind) -> Option<String> {
        let begins = matches!(kind, RolloutEventKind::LeaseAcquired | RolloutEventKind::LeaseTakenOver { .. });
        let intent = self.recorded_intent().filter(|_| begins)?;
        Some(format!("{kind}{DRIVES_WITH}{}", limits_of(&intent)))
    }

    /// What is known of the lost record, and how: `as this process saw last, it had …`, `as an Event of 12:03 UTC says, it had …`. An Event about an
    /// earlier record tells nothing of the lost one.
    pub(crate) fn lost_record(&self) -> Option<String> {
        if let Some(seen) = self.lost_record_as_seen() {
            return Some(format!("as this process saw last, it had {seen}"));
        }
        let lost = self.event_log.kept().filter(|event| event.tells_of_a_lost_record());
        let told = lost
            .filter_map(|event| Some((event, event.said.as_ref()?.split_once(IT_HAD)?.1)))
            .max_by_key(|(event, _)| event.at);
        let Some((event, had)) = told else { return self.limits_when_last_driven() };
        // A record that was begun later, and is lost by now, may have had other limits.
        if self.event_log.kept().any(|known| known.at > event.at && known.shows_a_record()) {
            return None;
        }
        // An Event also names the process that wrote it, at the end.
        let had = had.split_once(" (driven by ").map_or(had, |(had, _)| had);
        Some(format!("as an Event of {} says, it had {had}", UtcTime { at: event.at, now: self.now }))
    }

    /// The limits of the lost record, as the process told them that began to drive last, and as they were changed by commands since. Such a process was
    /// killed, or ended, before the record was lost. `None` where it told none, and where another record began after that.
    fn limits_when_last_driven(&self) -> Option<String> {
        let driven = self.event_log.kept().filter(|event| event.begins_to_drive()).max_by_key(|event| event.at)?;
        let (_, began) = driven.said.as_deref()?.rsplit_once(DRIVES_WITH)?;
        let since = self.event_log.kept().filter(|event| event.at > driven.at);
        let begins = |event: &RolloutEvent| {
            let anew = event.said.as_deref().is_some_and(|said| said.contains(BEGAN_WITHOUT));
            anew || event.releases()
        };
        if since.clone().any(|event| begins(event) || event.tells_of_a_lost_record()) {
            return None;
        }
        let tuned = |event: &RolloutEvent| event.said.as_deref().map(Tuning::of_changes).unwrap_or_default();
        let commands = since.filter(|event| event.shows_a_record() && !event.quotes_a_person());
        let mut settings = Settings::default();
        commands.fold(limits_at_the_beginning_of(began), |had, event| had.and(tuned(event))).apply_to(&mut settings);
        let at = UtcTime { at: driven.at, now: self.now };
        Some(format!("as whoever drove since {at} says in Events, it had {}", limits_in_words(&settings)))
    }

    /// The record that this process saw last, in words: `max-unavailable=5 soak=1m and the other defaults, led to revision 3 with partition 14, only nodes
    /// with zone=a, was paused by ada`. `None` if this process saw none.
    pub(crate) fn lost_record_as_seen(&self) -> Option<String> {
        let intent = self.lock.lost_intent()?;
        let mut words = vec![limits_of(intent)];
        let number = intent.target.as_ref().and_then(|hash| self.view.revision(hash)).map(|revision| revision.number);
        let step = match intent.partition {
            IntOrPercent::Percent(100) => ", before its first step".to_owned(),
            kept => format!(" with partition {kept}"),
        };
        words.extend(number.map(|number| format!("led to revision {number}{step}")));
        words.extend(intent.selector.as_ref().map(|selector| format!("only nodes with {selector}")));
        words.extend(intent.paused.as_ref().map(|paused| format!("was paused by {}", person_of(&paused.by))));
        Some(words.join(", "))
    }
}

/// What stands behind the limits that are not the defaults.
const OTHERS: &str = " and the other defaults";

/// The limits of an intent as they would be typed: `max-unavailable=5 soak=1m and the other defaults`.
fn limits_of(intent: &Intent) -> String {
    limits_in_words(&intent.settings())
}

fn limits_in_words(settings: &Settings) -> String {
    let set = Setting::ALL.iter().filter(|setting| setting.is_changed_in(settings));
    let set: Vec<String> = set.map(|setting| format!("{}={}", setting.name(), setting.value(settings))).collect();
    if set.is_empty() { "the default limits".to_owned() } else { format!("{}{OTHERS}", set.join(" ")) }
}

/// The limits, other than the defaults, with which such words begin. Behind them may be a selector, which may look like a setting.
fn limits_at_the_beginning_of(words: &str) -> Tuning {
    words.split_once(OTHERS).map(|(limits, _)| Tuning::of_typed(limits)).unwrap_or_default()
}

/// The limits, other than the defaults, that [`Engine::lost_record`] says the lost record had.
pub(crate) fn limits_it_had(known: &str) -> Tuning {
    known.split_once(" it had ").map(|(_, had)| limits_at_the_beginning_of(had)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_and_not_a_selector_that_looks_like_one() {
        for (had, limits) in [
            (
                "pace=auto soak=90s and the other defaults, led to revision 2, only nodes with strict=true",
                "pace=auto soak=90s",
            ),
            ("the default limits, led to revision 2, only nodes with strict=true", ""),
            ("pace=auto soak=9…", ""),
        ] {
            for known in
                ["as this process saw last, it had ", "as whoever drove since 12:03 UTC says in Events, it had "]
            {
                assert_eq!(limits_it_had(&format!("{known}{had}")).to_string(), limits, "{had}");
            }
        }
        assert!(
            limits_it_had("soak=90s and the other defaults").is_empty(),
            "these are not said to be of a lost record"
        );
    }
}
