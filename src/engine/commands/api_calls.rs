//! The API calls of a command, as its preview lists them.

use super::resolved::Resolved;
use crate::engine::assess::plan::Limits;
use crate::engine::machine::Engine;
use crate::engine::model::command::{Command, SENT_BY_THE_NEXT};
use crate::engine::model::config::Role;
use crate::engine::model::record::lease_name;
use crate::engine::model::time::Timestamp;
use crate::engine::model::{Str, person_of};
use crate::engine::rules::commands::Writes;

impl Engine {
    pub(super) fn calls_in_words(
        &self,
        command: &Command,
        resolved: &Resolved,
        nodes: &[Str],
        limits: &Limits,
        now: Timestamp,
    ) -> Vec<String> {
        let name = &self.config().name;
        let lease = lease_name(name);
        let mut calls = Vec::new();
        if !resolved.edits.is_empty() {
            let verb = if self.lock.resource_version().is_some() { "PUT" } else { "POST" };
            let part = if let Command::Prewarm(_) = command { "pre-warm" } else { "record" };
            calls.push(format!("{verb} leases/{lease} ({part})"));
        }
        let writes = command.writes();
        let drives = matches!(command, Command::Drive(_));
        let restores = drives && self.recorded_intent().is_some_and(|intent| intent.releasing.is_some());
        // Without a rollout, driving only pre-warms.
        let of_rollout = !drives || (self.is_recorded() && !restores);
        let may_adopt = writes.may_adopt() && of_rollout && self.rolled_by_its_controller_anyway(command).is_none();
        let adopts = resolved.brake || (resolved.drive && !self.is_adopted() && may_adopt);
        if adopts {
            calls.push(format!("PATCH daemonsets/{name} (updateStrategy OnDelete, original saved)"));
        }
        match writes {
            // Somebody else may have brought the template there already.
            Writes::Template if resolved.change.is_none() => {}
            Writes::Template if resolved.edits.iter().any(|edit| self.leaves_the_template(edit)) => {}
            Writes::Template => calls.push(format!("PATCH daemonsets/{name} (template)")),
            Writes::OriginalStrategy if self.release_only_drops_a_record() => {}
            Writes::OriginalStrategy => calls.push(format!("PATCH daemonsets/{name} (updateStrategy restored)")),
            Writes::WholeRollout if restores => {
                calls.push(format!("PATCH daemonsets/{name} (updateStrategy restored)"));
            }
            Writes::Prewarm | Writes::Nothing | Writes::Record | Writes::OnDelete | Writes::WholeRollout => {}
        }
        if let (Command::Prewarm(asked), false) = (command, resolved.edits.is_empty()) {
            calls.extend(self.prewarming_calls(asked, &resolved.edits, limits, now));
        }
        if !nodes.is_empty() {
            let goes_back = matches!(command.inner(), Command::Undo { .. });
            if !goes_back && self.has_to_try_a_pod(&self.intent()) {
                calls.push("POST pods, dry run: whether a pod of the new template would be admitted".to_owned());
            }
            calls.push(format!("DELETE pods, one by one, uid-guarded{}", self.who_deletes(command, resolved, now)));
        }
        calls
    }

    /// Who sends the deletions, where that is not this process: ` (sent by ada@bastion-3, who holds the lease)`.
    fn who_deletes(&self, command: &Command, resolved: &Resolved, now: Timestamp) -> String {
        // Whoever pre-warms drives.
        let begins = match command.inner() {
            Command::Drive(_) | Command::Prewarm(_) => true,
            _ => resolved.drive && self.config().role == Role::Driver,
        };
        if begins || self.lock.holds() {
            return String::new();
        }
        match self.lock.living_other(now) {
            Some(holder) => format!(" (sent by {}, who holds the lease)", person_of(holder)),
            None if self.lock.is_unseen() => " (sent by whoever drives)".to_owned(),
            None => SENT_BY_THE_NEXT.to_owned(),
        }
    }
}
