//! An operator's edit that came too late: somebody else has changed the same setting since it was asked for.
//!
//! ```text
//!  ada: step to 50% ── NOT SENT ───────────────────── link is back ─▶ the record says 10% now: not made, and said
//!  bob:                        step back to 10% ─▶ saved
//! ```
//!
//! Without this rule the older request would win over the newer one, because it is written later: it would let nodes go that
//! bob has just held. Ada sees what the record says now, and asks again if she still wants it.

use std::borrow::Cow;

use super::edit::Edit;
use super::edits::{Edits, RequestedUnder};
use crate::engine::model::command::CommandId;
use crate::engine::model::labels::Selector;
use crate::engine::model::person_of;
use crate::engine::model::record::{Intent, Paused};
use crate::engine::model::settings::{Setting, Tuning};

impl Edits {
    /// The commands whose edits came too late for the record as it is saved now, each with the change that was made since it was asked for.
    /// `saved`: `None` if no rollout is recorded.
    pub(crate) fn overtaken(&self, saved: Option<&Intent>) -> Vec<(CommandId, String)> {
        let mut found: Vec<(CommandId, String)> = Vec::new();
        // A command is made as a whole: what is asked for after it is judged without all of its edits.
        while let Some(next) = self.next_overtaken(saved, &found) {
            found.push(next);
        }
        found
    }

    /// The first command that came too late and is not among `found`, whose edits are left out.
    fn next_overtaken(&self, saved: Option<&Intent>, found: &[(CommandId, String)]) -> Option<(CommandId, String)> {
        let mut intent = saved.map(Cow::Borrowed);
        let is_found = |command: CommandId| found.iter().any(|(known, _)| *known == command);
        for unsaved in self.iter().filter(|unsaved| !unsaved.command.is_some_and(is_found)) {
            // For the driver's own edits, `Edit::apply` checks whether they still hold.
            let before = match &unsaved.requested_under {
                RequestedUnder::NotRequested | RequestedUnder::NoRecord => None,
                RequestedUnder::Intent(before) | RequestedUnder::OwnRecord(before) => Some(&**before),
            };
            let begun = saved.is_some()
                && matches!(unsaved.requested_under, RequestedUnder::NoRecord | RequestedUnder::OwnRecord(_));
            let why = |command| Some((command, changed_since(&unsaved.edit, before, intent.as_deref(), begun)?));
            if let Some(why) = unsaved.command.and_then(why) {
                return Some(why);
            }
            unsaved.edit.apply(&mut intent);
        }
        None
    }
}

const OTHER_CHANGE: &str = "another change of the template was asked for";

/// The change that somebody else made since the edit was asked for, if it concerns what the edit sets. `before`: the intent that the
/// operator saw. `begun`: no rollout was recorded then, and somebody else has begun one since.
fn changed_since(edit: &Edit, before: Option<&Intent>, now: Option<&Intent>, begun: bool) -> Option<String> {
    let nothing = Intent::default();
    let ended = before.is_some() && now.is_none();
    let (before, now) = (before.unwrap_or(&nothing), now.unwrap_or(&nothing));
    match edit {
        // A change would begin another rollout, with other limits than its operator saw, and a roll back would take back one that is over.
        Edit::Partition { .. }
        | Edit::Select(_)
        | Edit::Resume { .. }
        | Edit::Tune { .. }
        | Edit::Change { .. }
        | Edit::Release { .. }
            if ended =>
        {
            Some("the rollout has ended".into())
        }
        // The edit would let nodes go to a template that its operator has not seen; a release has their controller do that.
        Edit::Partition { .. } | Edit::Select(_) | Edit::Resume { .. } | Edit::Release { .. } if begun => {
            Some(paused_anew(None, now.paused.as_ref()).unwrap_or_else(|| "a rollout was begun".into()))
        }
        Edit::Partition { .. } | Edit::Select(_) | Edit::Resume { .. } | Edit::Release { .. }
            if is_other_change(before, now, None) =>
        {
            Some(OTHER_CHANGE.into())
        }
        Edit::Partition { partition, .. } => {
            let changed = now.partition != before.partition && now.partition != *partition;
            changed.then(|| format!("the partition was set to {}", now.partition))
        }
        Edit::Select(selector) => {
            let changed = now.selector != before.selector && now.selector != *selector;
            changed.then(|| nodes_were_chosen(now.selector.as_ref()))
        }
        Edit::Change { id, change } if is_other_change(before, now, Some(id)) => {
            (now.change.as_ref() != Some(change)).then(|| OTHER_CHANGE.into())
        }
        // All of these lift a pause, and their operator has not seen the reason of a later one.
        Edit::Change { .. } | Edit::Resume { .. } | Edit::Release { .. } => {
            paused_anew(before.paused.as_ref(), now.paused.as_ref())
        }
        Edit::Tune { tuning, .. } => tuned_otherwise(tuning, before, now),
        // A pause is right at any time, and so is a request for the Lease. The other edits are the driver's own, or let no node go.
        Edit::Pause(_)
        | Edit::Handover(_)
        | Edit::Begin
        | Edit::BeginWith { .. }
        | Edit::ReplaceUnreadable(_)
        | Edit::Target { .. }
        | Edit::FirstTarget(_)
        | Edit::Refuse { .. }
        | Edit::GoBack { .. }
        | Edit::Hold(_)
        | Edit::HoldTemplate(_)
        | Edit::HoldPutBack(_)
        | Edit::Complete { .. }
        | Edit::CallOffRelease(_)
        | Edit::End
        | Edit::Prewarm(_) => None,
    }
}

fn nodes_were_chosen(selector: Option<&Selector>) -> String {
    match selector {
        Some(selector) => format!("the nodes with {selector} were chosen"),
        None => "all nodes were chosen".into(),
    }
}

fn paused_anew(before: Option<&Paused>, now: Option<&Paused>) -> Option<String> {
    let paused = now.filter(|now| before.is_none_or(|before| now.is_another_than(before)))?;
    let same = before.is_some_and(|before| (&before.by, before.at) == (&paused.by, paused.at));
    if let (true, Some(why)) = (same, &paused.why) {
        return Some(format!("another reason was given for the pause: {why}"));
    }
    let why = paused.why.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
    Some(format!("{} paused it{why}", person_of(&paused.by)))
}

/// Whether another change of the template than the one with the id `own` was asked for since, and perhaps made.
fn is_other_change(before: &Intent, now: &Intent, own: Option<&str>) -> bool {
    let of_request = |intent: &Intent| intent.request().and_then(|request| request.id);
    let of_outcome = |intent: &Intent| intent.outcome.as_ref().map(|outcome| outcome.id.clone());
    let known = [of_request(before), of_outcome(before), own.map(Into::into)];
    [of_request(now), of_outcome(now)].into_iter().filter(Option::is_some).any(|found| !known.contains(&found))
}

fn tuned_otherwise(tuning: &Tuning, before: &Intent, now: &Intent) -> Option<String> {
    let (was, is) = (before.settings(), now.settings());
    let mut wanted = is.clone();
    tuning.apply_to(&mut wanted);
    let changed = |setting: &Setting| {
        let value = setting.value(&is);
        (value != setting.value(&was) && value != setting.value(&wanted))
            .then(|| format!("{} was set to {value}", setting.name().replace('-', " ")))
    };
    tuning.named().collect::<Vec<_>>().iter().find_map(changed)
}
