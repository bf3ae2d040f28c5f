//! A pause: who asked for it, why, and which settings were changed under it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{By, OURSELVES};
use crate::engine::model::Str;
use crate::engine::model::settings::{Setting, Settings, Tuning};
use crate::engine::model::time::{Timestamp, UtcTime};

/// Who paused, and why.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Paused {
    /// Who.
    pub by: Str,
    /// When, by their clock.
    pub at: Timestamp,
    /// Why, in their words or ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<Str>,
    /// Whether somebody other than `by` has given a reason since; `why` ends with that reason.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub others: bool,
    /// Whether the pause stopped the DaemonSet's own controller, which was replacing pods or might have been.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub brakes: bool,
    /// Hash of the revision of the template that somebody else made last, if `why` or an Event tells of it. `None` if the template was
    /// the target's throughout the pause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<Str>,
    /// The settings that were changed since the pause began and have another value now, by name. Whoever resumes is told of them: the rollout
    /// does not go on as it was paused.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tuned: BTreeMap<Str, TunedSince>,
}

/// A setting that was changed under a pause.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TunedSince {
    /// Its value when the pause began, as it is typed.
    pub before: Str,
    /// Who changed it last, and when by their clock.
    #[serde(flatten)]
    pub changed: By,
}

/// What the reason of a pause says behind the revision whose pods the API server would not admit.
pub(crate) const NOT_ADMITTED: &str = " would not be admitted";

/// With what the reason of a pause continues that took the place of one by rolldeck itself.
const BEFORE: &str = "before, rolldeck at ";

impl Paused {
    /// What the reason says of this pause by rolldeck itself, once an operator's takes its place: `before, rolldeck at 10:45 UTC: the template was changed`.
    /// `None` if it has no reason.
    pub(crate) fn as_before(&self, now: Timestamp) -> Option<String> {
        self.why.as_ref().map(|why| format!("{BEFORE}{}: {why}", UtcTime { at: self.at, now }))
    }

    /// The operator's own reason, and what was known of the pause by rolldeck that this one took the place of.
    pub(crate) fn own_reason(&self) -> (Option<&str>, Option<&str>) {
        let Some(why) = self.why.as_deref() else { return (None, None) };
        if why.starts_with(BEFORE) {
            return (None, Some(why));
        }
        let at = why.find(&format!("; {BEFORE}"));
        at.map_or((Some(why), None), |at| (Some(&why[..at]), Some(&why[at + 2..])))
    }

    /// Whether rolldeck itself paused the rollout because the API server would not admit a pod of its target.
    pub(crate) fn is_for_a_trial(&self) -> bool {
        self.is_by_rolldeck() && self.why.as_ref().is_some_and(|why| why.contains(NOT_ADMITTED))
    }

    /// A pause by one person, for a reason that has nothing to do with the template.
    pub fn new(by: Str, at: Timestamp, why: Option<Str>) -> Self {
        Self { by, at, why, others: false, brakes: false, template: None, tuned: BTreeMap::new() }
    }

    /// Whether rolldeck itself paused the rollout: somebody else changed the template or the strategy, a change was
    /// refused, or the pods of the target would be. An
    /// operator has to decide how the rollout goes on, as after a halt.
    pub fn is_by_rolldeck(&self) -> bool {
        *self.by == *OURSELVES
    }

    /// This pause instead of an earlier one, after which no resume came: settings that were changed since the earlier one stay noted.
    pub(crate) fn instead_of(self, earlier: Option<Self>) -> Self {
        match earlier {
            Some(earlier) => Self { tuned: earlier.tuned, ..self },
            None => self,
        }
    }

    /// Whether it differs from the other pause by more than the settings that were changed under it.
    pub(crate) fn is_another_than(&self, other: &Self) -> bool {
        *self != Self { tuned: self.tuned.clone(), ..other.clone() }
    }

    /// Notes a change of settings. Settings that are set by the command that pauses are not changed under the pause. A setting that has its
    /// earlier value again is not changed any more.
    pub(crate) fn note_tuned(&mut self, tuning: &Tuning, before: &Settings, by: &By) {
        if self.by == by.by && self.at == by.at {
            return;
        }
        let mut after = before.clone();
        tuning.apply_to(&mut after);
        for setting in tuning.changed(before) {
            let name = Str::from(setting.name());
            let first = self.tuned.get(&name).map(|known| known.before.clone());
            let first = first.unwrap_or_else(|| setting.value(before).into());
            if *first == *setting.value(&after) {
                self.tuned.remove(&name);
            } else {
                self.tuned.insert(name, TunedSince { before: first, changed: by.clone() });
            }
        }
    }

    /// The settings that were changed under the pause, each with what it was, in the order of the table.
    pub(crate) fn tuned_since(&self) -> impl Iterator<Item = (Setting, &TunedSince)> {
        Setting::ALL.iter().filter_map(|setting| Some((*setting, self.tuned.get(setting.name())?)))
    }
}
