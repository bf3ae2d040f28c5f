//! The states that stand before a command is given, and that end with it or go on: a pause, a halt, a roll back.

use crate::engine::machine::Engine;
use crate::engine::model::command::Command;
use crate::engine::model::node::NodeState;
use crate::engine::model::record::{Change, Direction, Intent, Paused};
use crate::engine::model::settings::Finish;
use crate::engine::model::time::ShortDuration;

impl Engine {
    /// The states that `command` ends, or leaves as they are although an operator may expect otherwise, one sentence per line. `after`
    /// is the intent once the command is recorded.
    pub(super) fn ends_in_words(&self, command: &Command, after: &Intent) -> Vec<String> {
        let before = self.intent();
        let halted = self.is_halted(&before);
        let mut lines = Vec::new();
        if let Some(paused) =
            before.paused.as_ref().filter(|_| ends_a_pause(command, after) && *command != Command::Resume)
        {
            lines.push(format!("The {}.", self.lifted_in_words(paused)));
        }
        match command {
            // A roll back says itself what it ends.
            Command::Undo { .. } if !after.change.as_ref().is_some_and(Change::begins_steps) => {}
            Command::SetImage(_) | Command::Undo { .. } => {
                lines.extend(halted.then(|| "The halt ends: it was about the template until now.".to_owned()));
                lines.extend(self.roll_back_that_ends(&before));
                lines.extend(self.rollout_that_ends(&before));
            }
            Command::Pause { .. } => lines.extend(self.halting_gate(&before).map(|gate| {
                let (why, accepted) = (self.halt_why(), gate.accepted_in_words());
                format!(
                    "It is halted already ({why}): no node was going to be updated. A resume ends both, and accepts {accepted}."
                )
            })),
            Command::Adopt
            | Command::Prewarm(_)
            | Command::Step(_)
            | Command::Select(_)
            | Command::Resume
            | Command::Release(_)
            | Command::Tune(_)
            | Command::Tuned { .. }
            | Command::Drive(_)
            | Command::StopDriving
            | Command::EndDriving { .. } | Command::GiveUpDriving { .. } => {}
        }
        lines
    }

    /// `pause by bob@bastion 3m ago (the link is down) is lifted`.
    pub(super) fn lifted_in_words(&self, paused: &Paused) -> String {
        let ago = ShortDuration(self.now.since(paused.at));
        let why = paused.why.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
        format!("pause by {} {ago} ago{why} is lifted", paused.by)
    }

    /// The pause by a person that `command` lifts beside its own purpose, and that has to be agreed to: see [`Preview::lifts_pause`].
    ///
    /// An operator who rolls back is in a hurry: the roll back may end a pause of their own at once, unless somebody else has given a reason
    /// for it. So may a release, which ends everything that is recorded. An operator who changes the image may have forgotten the pause.
    ///
    /// [`Preview::lifts_pause`]: crate::engine::model::command::Preview::lifts_pause
    pub(super) fn lifts_pause(&self, command: &Command, after: &Intent) -> Option<Paused> {
        let paused = self.intent().paused.filter(|paused| ends_a_pause(command, after) && !paused.is_by_rolldeck())?;
        match command {
            Command::Resume => None,
            Command::Undo { .. } if after.change.as_ref().is_some_and(Change::begins_steps) => Some(paused),
            Command::Undo { .. } | Command::Release(_) if paused.by == self.actor() && !paused.others => None,
            _ => Some(paused),
        }
    }

    /// Whether it is adopted and nothing else: no rollout has begun, and no node has another template than the present one.
    pub(super) fn only_adopted(&self) -> bool {
        self.progress.started_at.is_none() && self.has_nothing_to_roll(&self.intent())
    }

    /// What a pause stops.
    pub(super) fn pause_stops_in_words(&self) -> String {
        match self.only_adopted() {
            true => "Nothing is rolled out now. The pause keeps the next rollout from beginning: `set-image` lifts it, and only if that is confirmed.",
            false => "No update starts until resumed. Pods being replaced now finish.",
        }
        .to_owned()
    }

    /// What is left of a rollout under `intent` whose nodes all have the new pod; `None` where one has not. A pod may be new and not count as updated
    /// yet: it soaks, or it is in trouble.
    pub(super) fn all_at_target_in_words(&self, intent: &Intent) -> Option<String> {
        let fleet = self.retargeted(intent);
        let rows = || fleet.rows().filter(|row| row.in_fleet);
        if rows().any(|row| !row.at_target) {
            return None;
        }
        let (all, left) = (rows().count(), rows().filter(|row| !row.available).count());
        let soak = rows().filter(|row| row.state == NodeState::Soaking).count();
        Some(match left {
            0 if intent.finish == Finish::Release && self.progress.started_at.is_some() => {
                "Every node is updated: nothing is left to update, and whoever drives hands the DaemonSet back."
                    .to_owned()
            }
            0 if self.only_adopted() => {
                "Nothing is rolled out: every node has the present template, and the DaemonSet stays adopted until it is released."
                    .to_owned()
            }
            0 => "Every node is updated: nothing is left to do, and the DaemonSet stays adopted until it is released."
                .to_owned(),
            left => {
                let soak = if soak == 0 { String::new() } else { format!(" ({soak} soaking)") };
                format!(
                    "Every node has the new pod, so none is replaced; {left} of {all} do not count as updated yet{soak}, and the \
                     rollout is not complete before they do."
                )
            }
        })
    }

    /// A rollout that another template ends before every node is updated.
    fn rollout_that_ends(&self, before: &Intent) -> Option<String> {
        let under_way = self.is_recorded() && self.progress.started_at.is_some() && before.change.is_none();
        if !under_way || before.direction() == Direction::Back {
            return None;
        }
        // Somebody else may have changed the template meanwhile: the updated nodes are those at the rollout's own target.
        let (updated, left) = (self.count_rows(|row| row.committed), self.count_rows(|row| !row.committed));
        // A pod that soaks serves, although the budget counts its node.
        let down = match self.count_rows(|row| !row.available) {
            0 => String::new(),
            1 => "; 1 of all nodes is down".to_owned(),
            down => format!("; {down} of all nodes are down"),
        };
        let stays = match &before.selector {
            Some(selector) => format!("budgets, gates and the selector `{selector}` stay"),
            None => "budgets and gates stay".to_owned(),
        };
        (left > 0).then(|| {
            format!(
                "The rollout until now ends ({updated} updated or on the way, {left} not{down}): its partition and its steps begin anew, {stays}."
            )
        })
    }

    /// A roll back that another template ends before every node is back.
    fn roll_back_that_ends(&self, before: &Intent) -> Option<String> {
        if before.direction() == Direction::Forward || !self.is_recorded() {
            return None;
        }
        let number = before.back_to.as_ref().and_then(|hash| self.view.revision(hash)).map(|revision| revision.number);
        let to = number.map(|number| format!(" to revision {number}")).unwrap_or_default();
        let left = self.count_rows(|row| row.in_fleet && !row.at_target);
        match left {
            0 => None,
            1 => Some(format!("The roll back{to} ends: 1 node is not back yet, and keeps what it runs until a step.")),
            left => Some(format!(
                "The roll back{to} ends: {left} nodes are not back yet, and keep what they run until a step."
            )),
        }
    }
}

/// Whether `command`, after which the intent is `after`, ends a pause. A release leaves the pause in the record, and drops both.
fn ends_a_pause(command: &Command, after: &Intent) -> bool {
    after.paused.is_none() || matches!(command, Command::Release(_))
}
