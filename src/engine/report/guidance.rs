//! The obstacle to a rollout that does not move, and what an operator can do about it and about alarms. The console's header, `status`, its JSON and
//! the advice after a command all use this module.
//!
//! ```text
//! held: no node may be updated yet                          step (1 node), choose canaries
//! held: all 12 nodes that may be updated are updated        step (48 nodes, 60 in total)
//! canary done, 3 of 3 (canary=true)                         lift the selector (frees 9 nodes)
//! waits for 3 nodes: 2 down (n7, n8), 1 cordoned (n9)
//! 2 nodes wait: without the image, image not found (n7, n8)
//! every node is updated; it is handed back once somebody drives     drive, release
//! 13 nodes wait while the new revision is in trouble        roll back, lower how many pull at once
//! loading: waits for pods, nodes
//! preparing for 14s: waits for its controller to observe generation 5 (at 4)
//! ```
//!
//! Only remedies that have an effect are offered: a step after which no further node could go is not.

use super::remedies::Remedy;
use super::snapshot::{Alarm, NodeView, Phase, Snapshot, WatchView};
use crate::engine::model::driver::DriverView;
use crate::engine::model::event::WatchHealth;
use crate::engine::model::first_names::first_names;
use crate::engine::model::hold::Hold;
use crate::engine::model::node::{Blame, NodeState};
use crate::engine::model::quantity::{Rounding, counted};
use crate::engine::model::record::Direction;
use crate::engine::model::settings::Finish;
use crate::engine::model::step_ahead::{NoStep, StepAhead};
use crate::engine::model::time::ShortDuration;
use crate::engine::rules::holds::{HoldEndedBy, HoldKind, HoldToldBy};

/// The obstacle to a rollout, and the remedies.
#[derive(Clone, PartialEq, Debug)]
pub struct Guidance {
    /// The obstacle, in words.
    pub waits: String,
    /// The remedies, most fitting first; empty where only time helps.
    pub remedies: Vec<Remedy>,
}

impl Snapshot {
    /// The obstacle to the rollout and the remedies. `None` where it moves, is over, or halted, which is an alarm.
    pub fn guidance(&self) -> Option<Guidance> {
        let driven = self.driver.is_driven();
        let drives = driven && !self.has_silent_driver();
        // The limits have to be settled first: a step would begin a record with other limits.
        if self.alarms.contains(&Alarm::RecordMissing) {
            let paused = self.pause_by_events().map(|paused| format!("; {paused}")).unwrap_or_default();
            let known = self.lost_record.as_ref().map(|known| format!("; {known}")).unwrap_or_default();
            return Some(Guidance { waits: format!("held: no record is left{paused}{known}"), remedies: Vec::new() });
        }
        if self.unreadable_record().is_some() {
            let waits = "held: the record cannot be read, and nothing is started before it can".to_owned();
            return Some(Guidance { waits, remedies: Vec::new() });
        }
        match &self.phase {
            Phase::Paused(paused) => {
                // To go on would give a failing revision to more nodes. Where the brake stopped a rollout that is not ours, it would leave the
                // failing pods as they are.
                // An alarm that offers the way back says so itself.
                let is_offered = |away: &Remedy| {
                    let offered = self.alarms.iter().flat_map(|alarm| self.remedies_of(alarm));
                    offered.into_iter().any(|offered| offered == *away || (offered.is_undo() && away.is_undo()))
                };
                let undo = (self.revision_fails() || paused.is_for_a_trial())
                    .then_some(self.away())
                    .filter(|away| !is_offered(away));
                let go_on = if self.started_at.is_some() { Remedy::Resume } else { Remedy::LiftPause };
                let remedies = undo.into_iter().chain([go_on]).collect();
                // An alarm says what its controller does meanwhile.
                let paused = self.pause_in_words().unwrap_or_default();
                Some(Guidance { waits: format!("{}{paused}", self.way()), remedies })
            }
            Phase::Releasing(by) if !by.is_rolldeck() => {
                let waits = match &self.blocked {
                    Some(blocked) => format!("{}: waits {}", self.doing(), blocked.by),
                    None => self.doing().to_string(),
                };
                Some(Guidance { waits, remedies: (!drives).then_some(Remedy::Drive).into_iter().collect() })
            }
            Phase::Preparing | Phase::Releasing(_) => {
                if let Some(changed) = self.template_of_others() {
                    // Whoever drives only pauses the rollout for that. Who was going back does not want what somebody else set meanwhile.
                    let remedy = match self.direction {
                        Direction::Forward => Some(Remedy::Resume),
                        Direction::Back => self.roll_back.is_ok().then_some(Remedy::Undo),
                    };
                    return Some(Guidance {
                        waits: format!("{changed}; nobody drives"),
                        remedies: remedy.into_iter().collect(),
                    });
                }
                let phase = &self.phase;
                let mut waits = match &self.blocked {
                    Some(blocked) => {
                        // A process that looks only once has not seen how long this lasts.
                        let lasts = self.at.since(blocked.since);
                        let lasts = (lasts.as_secs() > 0).then(|| format!(" for {}", ShortDuration(lasts)));
                        format!("{phase}{}: waits {}", lasts.unwrap_or_default(), blocked.by)
                    }
                    None => phase.to_string(),
                };
                // Only a driver makes the awaited write, and the one that is named may be gone.
                let silent = self.silent_driver();
                if let Some(silent) = &silent {
                    waits.push_str(&format!("; {silent}"));
                }
                let drive = (!driven || silent.is_some()).then_some(Remedy::Drive);
                Some(Guidance { waits, remedies: drive.into_iter().collect() })
            }
            Phase::Running if !driven => {
                let moves = self.nodes.iter().any(|node| node.state.is_moving());
                let waits = match moves {
                    true => "nobody drives: what is under way finishes, nothing more is started",
                    false => "nobody drives: nothing is started",
                };
                let waits = waits.into();
                // Whoever drives on takes the failing revision to its halt.
                let fails = self.direction == Direction::Forward && self.revision_fails();
                let undo = fails.then(|| self.away());
                let step = self.step_after_soaking().map(Remedy::Step);
                let remedies = undo.into_iter().chain(step).chain([Remedy::Drive]).collect();
                Some(Guidance { waits, remedies })
            }
            Phase::Running if matches!(self.driver, DriverView::Waiting { holder: None }) => {
                Some(Guidance { waits: "nobody drives yet: waits for the lease".into(), remedies: Vec::new() })
            }
            Phase::Running if let Some(waits) = self.silent_driver() => {
                Some(Guidance { waits, remedies: vec![Remedy::Drive] })
            }
            Phase::Running => {
                let first = self.held_by_trouble().or_else(|| self.all_wait()).or_else(|| self.wait_for_budget());
                first.or_else(|| self.some_lack_images())
            }
            Phase::Unknown => Some(Guidance { waits: self.doing().to_string(), remedies: Vec::new() }),
            Phase::Loading => self.loading_in_words().map(|waits| Guidance { waits, remedies: Vec::new() }),
            Phase::Held if self.alarms.contains(&Alarm::BeingDeleted) => Some(Guidance {
                waits: "it is being deleted: no node is updated any more".into(),
                remedies: Vec::new(),
            }),
            Phase::Held if self.stands_for_lack_of_images() => Some(self.wait_for_own()),
            Phase::Held if !drives && let Some(soaks) = self.soaks_in_words() => {
                let driver = self.silent_driver().unwrap_or_else(|| "nobody drives".to_owned());
                let step = self.step_after_soaking().map(Remedy::Step);
                let waits = format!("{driver}; held: {soaks}");
                Some(Guidance { waits, remedies: step.into_iter().chain([Remedy::Drive]).collect() })
            }
            Phase::Held => Some(self.held((!drives).then_some(Remedy::Drive))),
            Phase::Complete => self.not_handed_back(drives),
            Phase::Idle if self.adopted => Some(Guidance {
                waits: "adopted: its controller replaces no pod until it is handed back".into(),
                remedies: vec![Remedy::SetImage, Remedy::Release],
            }),
            // The alarm of a cascade offers the brake already.
            Phase::Native
                if self.counts.failed > 0
                    && !self.alarms.iter().any(|alarm| alarm.remedies().contains(&Remedy::Brake)) =>
            {
                Some(Guidance { waits: "its controller goes on, whatever fails".into(), remedies: vec![Remedy::Brake] })
            }
            _ => None,
        }
    }

    /// `template changed by kubectl-set`: somebody else changed the template, and no driver is there to pause the rollout for that. Nothing is
    /// prepared then.
    pub fn template_of_others(&self) -> Option<String> {
        let is_undriven = self.driver.is_nobody();
        if self.phase != Phase::Preparing || !is_undriven {
            return None;
        }
        self.alarms.iter().find_map(|alarm| match alarm {
            Alarm::TemplateChanged { by: Some(by), .. } => Some(format!("template changed by {by}")),
            Alarm::TemplateChanged { by: None, .. } => Some("template changed by others".to_owned()),
            _ => None,
        })
    }

    /// The step that is next once the updated nodes of a record that was begun anew have soaked. While the partition lets no further node go, a driver
    /// would move nothing.
    fn step_after_soaking(&self) -> Option<StepAhead> {
        let only_soaks = || self.nodes.iter().all(|node| !node.state.is_moving() || node.state == NodeState::Soaking);
        let ahead = self.plan.next.as_ref()?.as_ref().ok()?;
        (self.begun_anew.is_some() && self.counts.next == 0 && only_soaks()).then_some(*ahead)
    }

    /// `2 new pods have to stay ready for 60s before their nodes count as updated`: all that goes on where nobody drives and the partition lets no
    /// further node go.
    fn soaks_in_words(&self) -> Option<String> {
        let soaks = self.nodes.iter().filter(|node| node.eligible && node.state == NodeState::Soaking).count();
        let secs = self.settings.gates.soak_secs.0;
        if soaks == 0 || secs == 0 || self.counts.next > 0 || self.counts.failed > 0 {
            return None;
        }
        Some(match soaks {
            1 => format!("1 new pod has to stay ready for {secs}s before its node counts as updated"),
            soaks => format!("{soaks} new pods have to stay ready for {secs}s before their nodes count as updated"),
        })
    }

    /// Whether the driver should have renewed its lease by its own clock, and is not seen doing so.
    pub fn has_silent_driver(&self) -> bool {
        self.driver.is_silent(self.at)
    }

    /// A driver that should have renewed its lease by its own clock and is not seen doing so. A process that looks only once cannot tell more.
    pub(super) fn silent_driver(&self) -> Option<String> {
        self.has_silent_driver().then(|| format!("{}; if it has ended, nothing more is started", self.driving()))
    }

    /// `loading: waits for pods, nodes`.
    fn loading_in_words(&self) -> Option<String> {
        let waits = |watch: &&WatchView| match watch.health {
            WatchHealth::Loading => true,
            WatchHealth::Down { .. } => watch.watched.is_needed(),
            WatchHealth::Live | WatchHealth::Lagging { .. } | WatchHealth::Forbidden { .. } => false,
        };
        let loading = self.watches.iter().filter(waits);
        let kinds: Vec<String> = loading.map(|watch| watch.watched.to_string()).collect();
        (!kinds.is_empty()).then(|| format!("loading: waits for {}", kinds.join(", ")))
    }

    /// Guidance for a rollout that is over and keeps `OnDelete` until it is handed back. A driver hands it back by itself unless it is to keep it.
    fn not_handed_back(&self, driven: bool) -> Option<Guidance> {
        let (waits, remedies) = match self.settings.policies.finish {
            Finish::Release if driven => return None,
            Finish::Release => {
                ("every node is updated; it is handed back once somebody drives", vec![Remedy::Drive, Remedy::Release])
            }
            Finish::Keep => ("every node is updated; it stays adopted, as finish=keep says", vec![Remedy::Release]),
        };
        Some(Guidance { waits: waits.to_owned(), remedies })
    }

    /// How many nodes are held until `by` ends the hold.
    fn held_until(&self, by: HoldEndedBy) -> usize {
        self.nodes.iter().filter(|node| node.hold.as_ref().is_some_and(|hold| hold.ended_by() == by)).count()
    }

    /// Guidance for a rollout in which no serving pod is replaced while the new revision is in trouble somewhere.
    fn held_by_trouble(&self) -> Option<Guidance> {
        let held = self.held_until(HoldEndedBy::TroubleOver);
        let waits = match held {
            0 => return None,
            1 => "1 node waits while the new revision is in trouble".to_owned(),
            held => format!("{held} nodes wait while the new revision is in trouble"),
        };
        if self.fails_by_quota() {
            let waits = format!(
                "{waits}: raise the ResourceQuota, which an earlier revision needs as well; it then goes on by itself"
            );
            return Some(Guidance { waits, remedies: Vec::new() });
        }
        let is_milder =
            |node: &NodeView| node.cause.as_ref().is_some_and(|cause| cause.kind.is_milder_with_fewer_pulls());
        // The remedy offers half of what the limits let pull at once, so that it makes a difference; updates alone are never more than may be down.
        // The number of nodes that pull right now is not used, as the offer would change with each look.
        let most = match self.prewarm {
            Some(_) => self.budget.max_pulling,
            None => self.budget.max_pulling.min(self.budget.max_unavailable),
        };
        let limit = (most > 1 && self.nodes.iter().any(is_milder)).then_some(Remedy::LimitPulls { to: most / 2 });
        Some(Guidance { waits, remedies: [self.away()].into_iter().chain(limit).collect() })
    }

    /// Guidance for where nothing moves and each node left waits for something of its own, such as its image. `None` where an alarm gives the reason.
    fn all_wait(&self) -> Option<Guidance> {
        let is_left = |node: &&NodeView| node.eligible && node.state != NodeState::Updated;
        let mut left = self.nodes.iter().filter(is_left);
        let alone = |node: &NodeView| match &node.hold {
            Some(hold) => hold.told_by() == HoldToldBy::Nodes && hold.kind() != HoldKind::Next,
            None => matches!(node.state, NodeState::Failed | NodeState::NodeDown),
        };
        let in_the_way = |node: &NodeView| node.hold.as_ref().is_some_and(|hold| hold.kind() == HoldKind::InTheWay);
        let all = self.alarms.is_empty()
            && left.clone().any(in_the_way)
            && left.all(|node| !node.state.is_moving() && alone(node));
        all.then(|| self.wait_for_own())
    }

    /// What each node left that the partition lets go waits for.
    fn wait_for_own(&self) -> Guidance {
        let by_partition = |node: &NodeView| node.hold.as_ref().is_some_and(|hold| hold.kind() == HoldKind::Partition);
        let waits = self.left_in_words(|node| !by_partition(node));
        Guidance { waits, remedies: self.ways_to_images() }
    }

    /// Guidance for where nodes wait for images that do not arrive by themselves, also while others move.
    fn some_lack_images(&self) -> Option<Guidance> {
        let lacks = |node: &NodeView| node.image_wait().is_some_and(|wait| !wait.comes_by_itself());
        let waits = match self.left(lacks).len() {
            0 => return None,
            1 => "1 node waits".to_owned(),
            waiting => format!("{waiting} nodes wait"),
        };
        let waits = format!("{waits}: {}", self.causes_of(self.left(lacks).len(), lacks));
        Some(Guidance { waits, remedies: self.ways_to_images() })
    }

    /// Guidance for where nothing moves and the next node waits for nodes that are down to come back. If none of them will, an alarm says so instead.
    fn wait_for_budget(&self) -> Option<Guidance> {
        let of_budget = |node: &&NodeView| matches!(node.hold, Some(Hold::Budget { .. }));
        let waiting = self.nodes.iter().filter(of_budget).count();
        let is_moving = |node: &NodeView| node.eligible && node.state.is_moving() && !node.lost_readiness;
        if waiting == 0
            || self.budget.charged < self.budget.max_unavailable
            || !self.alarms.is_empty()
            || self.nodes.iter().any(is_moving)
        {
            return None;
        }
        let down = self.nodes.iter().filter(|node| node.eligible && node.blame.is_some());
        let named = first_names(down.map(|node| &*node.name));
        let (used, limit) = (self.budget.charged, self.budget.max_unavailable);
        let nodes = if waiting == 1 { "1 node waits" } else { &format!("{waiting} nodes wait") };
        let of_those = if named.is_empty() { named } else { format!(": until one is back of {named}") };
        Some(Guidance {
            waits: format!("{nodes}, as {used} are down and {limit} may be{of_those}"),
            remedies: Vec::new(),
        })
    }

    /// Why a rollout is held of which every node is updated: the partition keeps more nodes than the DaemonSet runs on.
    fn nodes_that_left_in_words(&self) -> Option<String> {
        let (nodes, updated) = (self.counts.nodes, self.counts.updated);
        let kept = self.plan.partition?.of(nodes, Rounding::Down);
        (updated == nodes && self.plan.keeps_more_than_there_are).then(|| {
            let now = if nodes == 1 { "1 node".to_owned() } else { format!("{nodes} nodes") };
            format!(
                "the partition keeps {kept} nodes, and the DaemonSet runs on {now} by now: the others were deleted, relabelled or tainted; \
                 a step to 100% ends the rollout without them"
            )
        })
    }

    /// Guidance for a rollout in which no further node may be updated as things stand.
    fn held(&self, drive: Option<Remedy>) -> Guidance {
        let whole = |node: &&NodeView| node.hold.as_ref().is_some_and(|hold| hold.told_by() == HoldToldBy::Held);
        if let Some(hold) = self.nodes.iter().find(whole).and_then(|node| node.hold.as_ref()) {
            // Another step would free more nodes, and still none of them would be updated.
            let nodes = match self.nodes.iter().filter(whole).count() {
                1 => "1 node".to_owned(),
                nodes => format!("{nodes} nodes"),
            };
            let missing = self.missing_undriven_in_words();
            let waits = format!("{hold}: {nodes} may be updated, and nothing moves{missing}");
            let remedy = match hold.ended_by() {
                HoldEndedBy::Driver => Some(Remedy::Drive),
                HoldEndedBy::TroubleOver
                | HoldEndedBy::NodeReady
                | HoldEndedBy::NodeOperator
                | HoldEndedBy::Turn
                | HoldEndedBy::Itself => None,
            };
            return Guidance { waits, remedies: self.ways_to_images().into_iter().chain(remedy).collect() };
        }
        let mut remedies: Vec<Remedy> = Vec::new();
        // No step is offered if an alarm says that the budget is used up: the nodes of another step would wait for the budget, too. None is offered
        // either if nodes fail and the halt waits only for its driver: a revision that fails is not given to more nodes.
        let fails = self.alarms.iter().any(|alarm| matches!(alarm, Alarm::HaltWaits { .. }));
        let used_up = self.alarms.iter().any(|alarm| matches!(alarm, Alarm::BudgetUsedUp { .. }));
        let full = self.full_budget_in_words().filter(|_| !used_up && !fails);
        let mut waits = match &self.plan.next {
            Some(Ok(_)) if used_up => "held: the budget is used up".to_owned(),
            Some(Ok(_)) if let Some(full) = &full => {
                let to = self.budget.charged.saturating_add(1);
                remedies.extend((self.counts.failed == 0).then_some(Remedy::RaiseBudget { to }));
                format!("{}; {full}", self.allowed_in_words())
            }
            Some(Ok(_)) if fails => self.allowed_in_words(),
            Some(Ok(ahead)) => {
                remedies.push(Remedy::Step(*ahead));
                if self.plan.allowed == 0 {
                    remedies.extend(self.plan.selector.is_none().then_some(Remedy::Select));
                }
                self.allowed_in_words()
            }
            Some(Err(NoStep::SelectionDone(done))) => {
                remedies.push(Remedy::LiftSelector { frees: done.lifting_frees });
                // The text says why the nodes left cannot go now. The rows tell it of nodes that can, or that are on their way.
                let stuck = done.moving == 0 && done.in_line == 0 && done.updated < done.selected;
                let left = stuck.then(|| self.left_by_cause(|node| done.selector.matches(&node.labels)));
                match left.filter(|left| !left.is_empty()) {
                    Some(left) => format!("{done}: {left}"),
                    None => done.to_string(),
                }
            }
            Some(Err(_)) => self.nodes_that_left_in_words().unwrap_or_else(|| self.left_in_words(|_| true)),
            None => "held".to_owned(),
        };
        if self.counts.failed > 0 {
            waits.push_str(&format!(", {}", self.failed_in_words()));
            remedies.extend((!used_up).then_some(self.away()));
        }
        if drive.is_some() {
            let driver = self.silent_driver().unwrap_or_else(|| "nobody drives".to_owned());
            waits = format!("{driver}; {waits}");
        }
        remedies.extend(drive);
        Guidance { waits, remedies }
    }

    /// `2 failed, 1 of them accepted`: an operator resumed past those, so no alarm names them any more.
    fn failed_in_words(&self) -> String {
        let failed = self.counts.failed;
        let accepted = self.nodes.iter().filter(|node| node.counts_as_failed() && node.accepted).count();
        match u32::try_from(accepted).unwrap_or(u32::MAX) {
            0 => format!("{failed} failed"),
            accepted if accepted >= failed => format!("{failed} failed, accepted"),
            accepted => format!("{failed} failed, {accepted} of them accepted"),
        }
    }

    /// `another step moves nothing while 2 are down and 2 may be (n1, n2)`: nodes that do not come back by themselves use up the budget, and no node
    /// that the partition keeps may go beside them.
    fn full_budget_in_words(&self) -> Option<String> {
        let (used, limit) = (self.budget.charged, self.budget.max_unavailable);
        let strict = self.settings.budgets.strict;
        let is_charged = |node: &&NodeView| match node.blame {
            Some(Blame::Rollout | Blame::Suspect) => node.eligible,
            Some(Blame::Node | Blame::PreExisting) => node.eligible && strict,
            None => false,
        };
        let charged: Vec<&NodeView> = self.nodes.iter().filter(is_charged).collect();
        // A node that is charged already costs nothing, wherever it stands in line.
        let goes_all_the_same = |node: &&NodeView| matches!(node.hold, Some(Hold::Partition { .. }));
        let seen = u32::try_from(charged.len()).is_ok_and(|seen| seen >= limit);
        let full = limit > 0
            && used >= limit
            && seen
            && !charged.iter().any(goes_all_the_same)
            && !self.nodes.iter().any(|node| node.eligible && node.state.is_moving());
        let named = first_names(charged.iter().map(|node| &*node.name));
        let (are, of_those) =
            (if used == 1 { "is" } else { "are" }, if named.is_empty() { named } else { format!(" ({named})") });
        full.then(|| format!("another step moves nothing while {used} {are} down and {limit} may be{of_those}"))
    }

    /// How many of the nodes that may be updated have been.
    fn allowed_in_words(&self) -> String {
        let (updated, allowed) = (self.counts.updated, self.plan.allowed);
        match (updated.min(allowed), allowed) {
            (_, 0) if self.counts.updated > 0 => "held: no further node may be updated".to_owned(),
            (_, 0) => "held: no node may be updated yet".to_owned(),
            // An operator stepped back, or somebody deleted pods that were to stay.
            (_, allowed) if self.counts.updated > allowed => {
                format!("held: no further node may be updated: {} are, and {allowed} may be", self.counts.updated)
            }
            (1, 1) => "held: the 1 node that may be updated is updated".to_owned(),
            (updated, allowed) if updated == allowed => {
                format!("held: all {allowed} nodes that may be updated are updated")
            }
            (updated, allowed) => format!("held: {updated} of {allowed} nodes that may be updated are updated"),
        }
    }

    /// `waits for n4: its node is not there, its old pod still is`.
    fn vanished_in_words(&self) -> Option<String> {
        let vanished = |node: &&NodeView| !node.eligible && node.ineligible.is_none() && !node.at_target;
        let names: Vec<&str> = self.nodes.iter().filter(vanished).map(|node| &*node.name).collect();
        match names.as_slice() {
            [] => None,
            [name] => Some(format!("waits for {name}: its node is not there, its old pod still is")),
            names => {
                let (count, named) = (names.len(), first_names(names.iter().copied()));
                Some(format!("waits for {count} nodes that are not there and whose old pods still are ({named})"))
            }
        }
    }

    /// The cordoned nodes that a held rollout waits for: no step moves the rollout on before one of them is uncordoned.
    pub fn waits_for_cordoned(&self) -> Vec<&NodeView> {
        let counts = |node: &NodeView| match &self.plan.next {
            Some(Err(NoStep::SelectionDone(done))) => done.selector.matches(&node.labels),
            Some(Err(_)) => true,
            Some(Ok(_)) | None => false,
        };
        if self.phase != Phase::Held {
            return Vec::new();
        }
        self.left(|node| node.hold == Some(Hold::Cordoned) && counts(node))
    }

    /// The nodes that count and are not updated.
    fn left(&self, counts: impl Fn(&NodeView) -> bool) -> Vec<&NodeView> {
        let is_left = |node: &&NodeView| node.eligible && node.state != NodeState::Updated && counts(node);
        self.nodes.iter().filter(is_left).collect()
    }

    /// `waits for 3 nodes: 2 down (n7, n8), 1 cordoned (n9)`; `waits for 2 nodes: down (n7, n8)`.
    fn left_in_words(&self, counts: impl Fn(&NodeView) -> bool) -> String {
        match self.left(&counts).len() {
            0 => self.vanished_in_words().unwrap_or_else(|| "every node is updated".to_owned()),
            left => format!("waits for {}: {}", counted(left, "node"), self.causes_of(left, counts)),
        }
    }

    /// [`Self::left_by_cause`] behind the number of all that are `left`: where one cause holds all of them, that number is not said again.
    fn causes_of(&self, left: usize, counts: impl Fn(&NodeView) -> bool) -> String {
        let causes = self.left_by_cause(counts);
        causes.strip_prefix(&format!("{left} ")).map(str::to_owned).unwrap_or(causes)
    }

    /// `2 down (n7, n8), 1 cordoned (n9)`; empty where none is left.
    fn left_by_cause(&self, counts: impl Fn(&NodeView) -> bool) -> String {
        let left = self.left(counts);
        if left.is_empty() {
            return String::new();
        }
        let mut causes: Vec<(String, Vec<&str>)> = Vec::new();
        for node in &left {
            let words = match (node.state, &node.hold) {
                (NodeState::NodeDown, _) => "down".to_owned(),
                (state, None) => state.to_string(),
                (state, Some(hold)) => match hold.ended_by() {
                    HoldEndedBy::NodeReady => "down".to_owned(),
                    HoldEndedBy::Turn => state.to_string(),
                    HoldEndedBy::TroubleOver
                    | HoldEndedBy::Driver
                    | HoldEndedBy::NodeOperator
                    | HoldEndedBy::Itself => hold.counted(),
                },
            };
            match causes.iter_mut().find(|(known, _)| *known == words) {
                Some((_, nodes)) => nodes.push(&node.name),
                None => causes.push((words, vec![&node.name])),
            }
        }
        let of_cause =
            |(words, nodes): (String, Vec<&str>)| format!("{} {words} ({})", nodes.len(), first_names(nodes));
        causes.into_iter().map(of_cause).collect::<Vec<_>>().join(", ")
    }
}
