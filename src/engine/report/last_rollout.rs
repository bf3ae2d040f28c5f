//! How the last rollout ended, as the remaining Events tell it: its record is gone by then.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use super::snapshot::{Phase, Snapshot};
use crate::engine::machine::lost_record::BEGAN_WITHOUT;
use crate::engine::model::person_of;
use crate::engine::model::record::Direction;
use crate::engine::model::rollout_event::{EventOutcome, RolloutEvent, RolloutEventKind};
use crate::engine::model::time::{Timestamp, UtcTime};

/// How long after a roll back is complete the command that asked for it may be told as done.
const UNDO_REPORTED_WITHIN: Duration = Duration::from_secs(10);

/// The last rollout: `last rollout complete`, `last rollout rolled back`, `last rollout released before it was reported complete`, `last rollout released without its
/// record, how far it was is not known`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LastRollout {
    /// When it ended.
    pub at: Timestamp,
    /// How it ended.
    pub ended: RolloutEnd,
}

/// How a rollout ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum RolloutEnd {
    /// Every node was at the target.
    Complete,
    /// Every node was at the revision that the roll back led to.
    RolledBack,
    /// The DaemonSet was handed back before a driver reported that every node was at the target: its own controller did the rest, if anything was left.
    ReleasedEarly,
    /// The DaemonSet was handed back after its record was deleted, so nobody could tell whether every node was at the target.
    NotKnown,
}

impl fmt::Display for LastRollout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.ended {
            RolloutEnd::Complete => "last rollout complete",
            RolloutEnd::RolledBack => "last rollout rolled back",
            RolloutEnd::ReleasedEarly => "last rollout released before it was reported complete",
            RolloutEnd::NotKnown => "last rollout released without its record, how far it was is not known",
        })
    }
}

impl Snapshot {
    /// How the last rollout of rolldeck ended, as far as Events still tell; `None` while one is under way.
    pub fn last_rollout(&self) -> Option<LastRollout> {
        if self.phase != Phase::Idle {
            return None;
        }
        // An action that was refused changed nothing.
        let done = self.timeline.iter().filter(|event| event.outcome == EventOutcome::Done);
        let mut events: Vec<_> = done.collect();
        events.sort_by_key(|event| event.at);
        let (mut last, mut under_way): (Option<LastRollout>, bool) = (None, false);
        let mut is_lost = false;
        for event in events {
            if let Some(direction) = event.facts().complete {
                let ended = match direction {
                    Direction::Forward => RolloutEnd::Complete,
                    Direction::Back => RolloutEnd::RolledBack,
                };
                last = Some(LastRollout { at: event.at, ended });
                (under_way, is_lost) = (false, false);
                continue;
            }
            let is_told =
                |last: LastRollout| last.ended == RolloutEnd::RolledBack && event.at <= last.at + UNDO_REPORTED_WITHIN;
            match event.reason() {
                "RolloutRecordDeleted" | "RolloutRecordUnreadable" => is_lost = true,
                // Where no node was updated yet, the roll back is complete before the process that was asked for it knows that it was made.
                "RolloutUndone" if last.is_some_and(is_told) => {}
                // A step records the rollout anew.
                "RolloutUndone"
                | "RolloutRollingBack"
                | "RolloutImageSet"
                | "RolloutTemplateChanged"
                | "RolloutStepped"
                | "RolloutHalted" => {
                    (under_way, is_lost) = (true, false);
                }
                "RolloutReleased" if is_lost => {
                    last = Some(LastRollout { at: event.at, ended: RolloutEnd::NotKnown });
                    (under_way, is_lost) = (false, false);
                }
                // A rollout that is released once it is complete has ended before.
                "RolloutReleased" if under_way => {
                    last = Some(LastRollout { at: event.at, ended: RolloutEnd::ReleasedEarly });
                    under_way = false;
                }
                _ => {}
            }
        }
        last
    }

    /// Whether the last rollout was rolled back, and that was complete at `since` or later. Where no node was updated yet, no snapshot may have shown
    /// that it led back.
    pub fn was_rolled_back_since(&self, since: Timestamp) -> bool {
        self.last_rollout().is_some_and(|last| last.ended == RolloutEnd::RolledBack && last.at >= since)
    }
}

impl Snapshot {
    /// Who rolled back last, until `until`, and for rolldeck itself why: `by ben@bastion`, `by rolldeck itself: crash loop on 2 nodes (n1, n2)`.
    /// `None` if no event tells.
    pub fn rolled_back_by(&self, until: Timestamp) -> Option<String> {
        let events = || self.timeline.iter().rev().filter(|event| event.outcome == EventOutcome::Done);
        let back = events().find(|event| event.at <= until && event.rolls_back())?;
        if !back.rolls_back_by_itself() {
            return back.person().map(|person| format!("by {person}"));
        }
        // Both are told at once; as Events they are told by the second, in any order.
        let halts = events().filter(|event| event.at <= back.at + Duration::from_secs(1));
        let why = halts.into_iter().find_map(RolloutEvent::halt_in_words).map(|why| format!(": {why}"));
        Some(format!("by rolldeck itself{}", why.unwrap_or_default()))
    }

    /// Who rolled the last rollout back, and why, if that is how it ended and an event tells.
    pub fn last_rolled_back_by(&self) -> Option<String> {
        let last = self.last_rollout().filter(|last| last.ended == RolloutEnd::RolledBack)?;
        // The command may be told as done only after that.
        self.rolled_back_by(last.at + UNDO_REPORTED_WITHIN)
    }
}

impl Snapshot {
    /// The pause of a rollout whose record is gone, as the remaining Events tell it: `it was paused by ada@console-3 at 03:12 UTC (Event)`. `None` if
    /// none is told, or if what followed lifted it.
    pub(super) fn pause_by_events(&self) -> Option<String> {
        let mut events: Vec<_> = self.timeline.iter().filter(|event| event.outcome == EventOutcome::Done).collect();
        events.sort_by_key(|event| event.at);
        let (mut pause, mut is_lost) = (None, false);
        for event in events {
            // It records the rollout anew, without the pause, whether or not the deletion of the earlier record is told.
            if event.said.as_deref().is_some_and(|said| said.contains(BEGAN_WITHOUT)) {
                (pause, is_lost) = (None, false);
            }
            match event.reason() {
                "RolloutPaused" => (pause, is_lost) = (Some(event), false),
                "RolloutResumed" | "RolloutReleased" | "RolloutComplete" => pause = None,
                "RolloutRecordDeleted" | "RolloutRecordUnreadable" => is_lost = true,
                // They record the rollout anew, without the pause.
                "RolloutAdopted" | "RolloutStepped" | "RolloutTuned" if is_lost => (pause, is_lost) = (None, false),
                _ => {}
            }
        }
        let pause = pause?;
        let (who, source) = match &pause.kind {
            RolloutEventKind::Reported { identity, .. } => (Some(person_of(identity)), " (Event)"),
            _ => (pause.by.as_deref(), ""),
        };
        let by = who.map(|who| format!(" by {who}")).unwrap_or_default();
        Some(format!("it was paused{by} at {}{source}", UtcTime { at: pause.at, now: self.at }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::fake_cluster::{FakeCluster, FakeConsole};
    use crate::engine::model::command::{Command, Early};
    use crate::engine::model::config::Role;
    use crate::engine::model::settings::{Gates, OnFailure};

    /// Another rollout was complete before; its controller rolled out what this one had left.
    #[test]
    fn a_rollout_that_was_released_early_is_the_last_one() {
        let mut fake = FakeCluster::rolling(4, 1);
        let mut console = FakeConsole::open(&fake, "ops");
        console.set_image(&mut fake, "agent:v2");
        console.partition(&mut fake, 0);
        console.run_for(&mut fake, 120);
        let ended = |console: &mut FakeConsole, fake: &FakeCluster| {
            console.snapshot(fake).last_rollout().map(|last| last.ended)
        };
        assert_eq!(ended(&mut console, &fake), Some(RolloutEnd::Complete), "and released after that");
        console.set_image(&mut fake, "agent:v3");
        console.partition(&mut fake, 3);
        console.run_for(&mut fake, 30);
        let refused = console.ask(&mut fake, Command::Release(Early::Refuse));
        assert!(refused.is_err(), "{refused:?}");
        assert_eq!(ended(&mut console, &fake), None, "it is under way");
        console.ask(&mut fake, Command::Release(Early::Accept)).unwrap();
        for node in ["n1", "n2", "n3", "n4"] {
            fake.remove_pod(node);
            fake.create_pod(node);
        }
        console.run_for(&mut fake, 30);
        assert_eq!(console.snapshot(&fake).phase, Phase::Idle);
        let last = console.snapshot(&fake).last_rollout().unwrap();
        assert_eq!(last.to_string(), "last rollout released before it was reported complete");
    }

    /// Somebody rolls back before any node was updated: all nodes are at the revision at once, often in the same instant.
    #[test]
    fn a_rollout_that_is_rolled_back_before_its_first_node_is_the_last_one() {
        let mut fake = FakeCluster::rolling(4, 1);
        let mut joe = FakeConsole::open(&fake, "joe");
        joe.set_image(&mut fake, "agent:v2");
        joe.run_for(&mut fake, 20);
        let mut ada = FakeConsole::open_as(&fake, "ada", Role::OneShot);
        // It is settled once the driver has carried it out.
        ada.ask(&mut fake, Command::Undo { to: None }).unwrap_err();
        while ada.settled.is_empty() {
            joe.hear(&fake);
            joe.run_for(&mut fake, 1);
            ada.hear(&fake);
            ada.run(&mut fake);
        }
        joe.hear(&fake);
        joe.run_for(&mut fake, 30);
        let mut snapshot = joe.snapshot(&fake);
        assert_eq!(snapshot.last_rollout().unwrap().to_string(), "last rollout rolled back");
        // With the Events of both.
        snapshot.timeline = snapshot.timeline.iter().chain(&ada.happened).cloned().collect();
        assert_eq!(snapshot.last_rollout().unwrap().to_string(), "last rollout rolled back");
        assert_eq!(snapshot.last_rolled_back_by().as_deref(), Some("by ada@bastion"));
    }

    #[test]
    fn why_rolldeck_rolled_back_by_itself_is_told_by_its_own_events_and_by_those_of_others() {
        let mut fake = FakeCluster::rolling(10, 2);
        fake.broken.push("agent:bad".into());
        let mut console = FakeConsole::open(&fake, "ops");
        let gates = Gates { on_failure: OnFailure::RollBack, ..Gates::default() };
        console.ask(&mut fake, Command::Tune(gates.into())).unwrap();
        console.set_image(&mut fake, "agent:bad");
        console.partition(&mut fake, 0);
        console.run_for(&mut fake, 120);
        let mut snapshot = console.snapshot(&fake);
        assert_eq!(snapshot.last_rollout().unwrap().ended, RolloutEnd::RolledBack);
        let why = "by rolldeck itself: image not found on 2 nodes (n1, n2)";
        assert_eq!(snapshot.last_rolled_back_by().as_deref(), Some(why));
        let as_events = |event: &RolloutEvent| {
            let (reason, identity) = (event.reason().into(), "ops@bastion/1".into());
            let kind =
                RolloutEventKind::Reported { reason, identity, event: "agent.1".into(), severity: event.severity() };
            let said = Some(format!("{} (by ops@bastion)", event.kind).into());
            RolloutEvent { kind, said, by: None, ..event.clone() }
        };
        let told = snapshot.timeline.iter().filter(|event| event.by.is_none());
        snapshot.timeline = told.map(as_events).collect();
        assert_eq!(snapshot.last_rolled_back_by().as_deref(), Some(why));
    }
}
