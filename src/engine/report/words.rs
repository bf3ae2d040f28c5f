//! The sentences that the parts of a snapshot make: who drives, what it does now, the budget, the plan, the change.
//!
//! Console, command line and JSON show these same words. They are `Display`, so nothing is allocated unless it is drawn.
//!
//! ```text
//! running · you drive                                     Doing · Driving
//! v1.8.2 → v1.9.0   rev 14 → 15                           Change · Numbers
//! down 2 of 2: 1 ours, 1 suspect + 3 by themselves             BudgetView
//! step 2 of 4: 12 of 120 may be updated, partition 108    PlanView
//! ```

use std::fmt;
use std::time::Duration;

use super::snapshot::{ImageChange, Phase, PlanView, RevisionView, Snapshot, WatchView};
use crate::engine::model::budget::{BudgetView, Replacer};
use crate::engine::model::driver::DriverView;
use crate::engine::model::event::{SkippedObjects, WatchHealth};
use crate::engine::model::facts::StrategyKind;
use crate::engine::model::image::{hidden_by_versions, version_of};
use crate::engine::model::node::{Blame, NodeState};
use crate::engine::model::person_of;
use crate::engine::model::prewarm::PrewarmMethod;
use crate::engine::model::record::{Direction, Paused};
use crate::engine::model::settings::{
    Finish, NodeOrder, OnDrift, OnFailure, Policies, PrewarmAhead, Secs, Setting, Settings,
};
use crate::engine::model::time::{ShortDuration, Timestamp};
use crate::engine::model::wait::Wait;

impl Snapshot {
    /// What the rollout does now, with who and why: `paused by ops 2h ago: link down`.
    pub fn doing(&self) -> Doing<'_> {
        Doing(self)
    }

    /// Who replaces pods: `you drive`, `its controller drives`, …
    pub fn driving(&self) -> DrivingWords<'_> {
        DrivingWords(self)
    }

    /// What is being changed, as briefly as it can be told apart: `v1.8.2 → v1.9.0`.
    pub fn change(&self) -> ChangeWords<'_> {
        ChangeWords(self)
    }

    /// The numbers of the two revisions: `rev 14 → 15`.
    pub fn numbers(&self) -> Numbers<'_> {
        Numbers(self)
    }

    /// When it has failed and what then: `halts at 1 failed: not available in 10m or more than 2 restarts; …`.
    pub fn gating(&self) -> Gating<'_> {
        Gating(self)
    }

    /// How fresh the view is, worst watch first: `live`, `pods not seen for 12s: …`.
    pub fn freshness(&self) -> FreshnessWords<'_> {
        FreshnessWords(self)
    }

    /// How far it is: `31 of 120 updated`; where nothing is rolled out `117 of 120 available`; while it is loaded `967 nodes so far`.
    pub fn progress(&self) -> String {
        let Snapshot { counts, .. } = self;
        match self.phase {
            Phase::Loading if counts.nodes == 1 => "1 node so far".to_owned(),
            Phase::Loading => format!("{} nodes so far", counts.nodes),
            Phase::Idle => format!("{} of {} available", counts.available, counts.nodes),
            _ => format!("{} of {} updated", counts.updated, counts.nodes),
        }
    }

    /// The phase in one word or two, where it goes to counts: `running`, and on the way back `rolling back`.
    pub fn phase_word(&self) -> String {
        match (&self.phase, self.direction) {
            (Phase::Running, Direction::Back) => "rolling back".to_owned(),
            (phase, _) => phase.to_string(),
        }
    }

    /// Whether partition, selector and gates are in force: a rollout is recorded, although it may not have begun, and is not being handed back.
    pub fn has_plan(&self) -> bool {
        match self.phase {
            Phase::Releasing(_) => false,
            Phase::Loading | Phase::Idle | Phase::Native => self.started_at.is_some(),
            Phase::Preparing | Phase::Held | Phase::Running | Phase::Paused(_) | Phase::Halted | Phase::Complete => {
                true
            }
        }
    }

    /// The plan in one line. On the way back it does not count.
    pub fn plan_in_words(&self) -> String {
        match self.direction {
            Direction::Forward => match self.counts.leaked {
                0 => self.plan.to_string(),
                leaked => format!("{}; {leaked} updated, not selected", self.plan),
            },
            Direction::Back => "a roll back goes to every node: partition, steps and selector do not count".to_owned(),
        }
    }

    /// The budget, and once a rollout is recorded how many pull slots are taken and by what: `down 2 of 2: 2 ours, pull slots 1 of 2`.
    pub fn budget_and_slots(&self) -> String {
        let budget = &self.budget;
        match self.started_at {
            Some(_) => match self.prewarm_limit() {
                Some(limit) => {
                    let (most, by) = (budget.max_pulling, budget.holders_of_slots());
                    format!("{budget}, pull slots {}{by}: updates up to {most}, pre-warm up to {limit}", budget.pulling)
                }
                None => format!("{budget}, pull slots {}", budget.slots_in_words()),
            },
            None => budget.to_string(),
        }
    }

    /// `pull slots 2 of 2`; where pre-warming has another limit than the rollout, both: `pull slots 4: updates up to 2, pre-warm up to 8`.
    pub fn pull_slots(&self) -> String {
        let (pulling, most) = (self.budget.pulling, self.budget.max_pulling);
        match self.prewarm_limit() {
            Some(limit) => format!("pull slots {pulling}: updates up to {most}, pre-warm up to {limit}"),
            None => format!("pull slots {pulling} of {most}"),
        }
    }

    /// How many may pull for pre-warming by pods, where that goes on and is not the limit of the rollout.
    pub fn prewarm_limit(&self) -> Option<u32> {
        let view = self.prewarm.as_ref()?;
        let by_pods = view.request.method == PrewarmMethod::Pods && view.request.cancelled.is_none();
        let goes_on = by_pods && view.error.is_none() && view.counts.present < view.counts.nodes;
        (goes_on && view.limit != self.budget.max_pulling).then_some(view.limit)
    }

    /// Who paused it, how long ago and why, also where it has halted besides: `paused by ops@bastion 3m ago: the link is down`.
    pub fn pause_in_words(&self) -> Option<String> {
        let words = |paused: &Paused| {
            let ago = ShortDuration(self.at.since(paused.at));
            let why = paused.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
            format!("paused by {} {ago} ago{why}", paused.by)
        };
        match &self.phase {
            Phase::Paused(paused) => Some(words(paused)),
            _ => self.paused.as_ref().map(words),
        }
    }

    /// What is waited for, how long already, or how much longer: `rate: 20 deletions/s, 110 wait, 6s left`.
    pub fn waiting<'a>(&'a self, wait: &'a Wait) -> Waiting<'a> {
        Waiting(self.at, wait)
    }

    /// When the rollout to the present target began: with the record, or later under the same record, where somebody sets another image or rolls
    /// back. Where the record does not say when, not before the target's revision was made.
    pub fn target_began(&self) -> Option<Timestamp> {
        let made = self.to.as_ref().filter(|_| self.direction == Direction::Forward).and_then(|to| to.created_at);
        Some(self.started_at?.max(made.unwrap_or_default()).max(self.retargeted_at.unwrap_or_default()))
    }

    /// Whether there is something being rolled out: a target that differs from what nodes have.
    pub fn has_change(&self) -> bool {
        match (&self.from, &self.to) {
            (Some(from), Some(to)) => from.hash != to.hash,
            _ => false,
        }
    }
}

/// See [`Snapshot::doing`].
#[derive(Clone, Copy, Debug)]
pub struct Doing<'a>(&'a Snapshot);

impl fmt::Display for Doing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(snapshot) = self;
        match &snapshot.phase {
            Phase::Paused(_) => f.write_str(&snapshot.pause_in_words().unwrap_or_default())?,
            Phase::Halted => {
                match &snapshot.halt {
                    Some(halt) => write!(f, "halted {} ago: {}", ShortDuration(snapshot.at.since(halt.at)), halt.why)?,
                    None => f.write_str("halted")?,
                }
                if let Some(paused) = snapshot.pause_in_words() {
                    write!(f, "; {paused}")?;
                }
            }
            Phase::Running => {
                f.write_str(&snapshot.phase_word())?;
                // Whoever looks once cannot see whether it is dead.
                if snapshot.has_silent_driver() {
                    f.write_str(", its driver is silent")?;
                }
            }
            Phase::Preparing => match &snapshot.requested_change {
                Some(asked) => write!(f, "preparing: {asked} is asked for, not made yet")?,
                None => f.write_str("preparing")?,
            },
            Phase::Releasing(by) if !by.is_rolldeck() => {
                write!(f, "releasing, as {} asked {} ago", by.by, ShortDuration(snapshot.at.since(by.at)))?;
                if snapshot.has_silent_driver() {
                    f.write_str(", its driver is silent")?;
                }
            }
            Phase::Complete if snapshot.release_waits() => f.write_str("complete, the release waits")?,
            Phase::Idle => {
                let down = snapshot.nodes.iter().filter(|node| node.state == NodeState::NodeDown).count();
                let unavailable = snapshot.counts.nodes.saturating_sub(snapshot.counts.available) as usize;
                let nodes = |count: usize| if count == 1 { "node" } else { "nodes" };
                f.write_str("idle")?;
                if down > 0 {
                    write!(f, ", {down} {} down", nodes(down))?;
                }
                match (down, unavailable.saturating_sub(down)) {
                    (_, 0) => {}
                    (0, others) => write!(f, ", {others} {} unavailable", nodes(others))?,
                    (_, others) => write!(f, ", {others} more unavailable")?,
                }
            }
            phase => write!(f, "{phase}")?,
        }
        match snapshot.not_sent() {
            Some(unsent) => {
                write!(f, "; {} NOT SENT {}, retrying", unsent.kind, ShortDuration(snapshot.at.since(unsent.since)))
            }
            None => Ok(()),
        }
    }
}

/// See [`Snapshot::waiting`].
#[derive(Clone, Copy, Debug)]
pub struct Waiting<'a>(Timestamp, &'a Wait);

impl fmt::Display for Waiting<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(now, wait) = self;
        write!(f, "{wait}")?;
        if let Wait::Rate { waiting, .. } = wait {
            write!(f, ", {waiting} {}", if *waiting == 1 { "waits" } else { "wait" })?;
        }
        match (wait.since(), wait.until()) {
            (Some(since), _) => write!(f, ", for {}", ShortDuration(now.since(since))),
            // The second that has begun counts.
            (_, Some(until)) => write!(f, ", {} left", ShortDuration(until.since(*now) + Duration::from_millis(999))),
            (None, None) => Ok(()),
        }
    }
}

/// See [`Snapshot::driving`].
#[derive(Clone, Copy, Debug)]
pub struct DrivingWords<'a>(&'a Snapshot);

impl fmt::Display for DrivingWords<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(snapshot) = self;
        let ago = |at: &Timestamp| ShortDuration(snapshot.at.since(*at));
        match &snapshot.driver {
            DriverView::Unknown => f.write_str("who drives is not known"),
            DriverView::Nobody if snapshot.strategy == StrategyKind::RollingUpdate => {
                f.write_str("its controller drives")
            }
            DriverView::Nobody => match &snapshot.driver_stopped {
                Some(stopped) => {
                    write!(f, "nobody drives: {} stopped {} ago: {}", stopped.by, ago(&stopped.at), stopped.why)
                }
                None => f.write_str("nobody drives"),
            },
            DriverView::You { lapsed: true, .. } => f.write_str("you drove: the lease ran out"),
            DriverView::You { lapsed: false, .. } if snapshot.only_prewarms() => {
                f.write_str("you pre-warm, its controller drives")
            }
            DriverView::You { lapsed: false, .. } => f.write_str("you drive"),
            DriverView::Waiting { holder: Some(holder) } => {
                write!(f, "waiting for {holder} to hand over, or for its lease to run out")
            }
            DriverView::Waiting { holder: None } => f.write_str("waiting for the lease"),
            DriverView::Unconfirmed { holder, renewed_at } => {
                // Without what tells processes apart: when is what matters, and headers are narrow.
                let person = person_of(holder);
                match renewed_at {
                    Some(at) => write!(f, "{person} drove {} ago by its clock", ago(at)),
                    None => write!(f, "{person} drives, or did"),
                }
            }
            DriverView::Other { holder, .. } if snapshot.only_prewarms() => {
                write!(f, "{holder} pre-warms, its controller drives")
            }
            DriverView::Other { holder, .. } => write!(f, "{holder} drives"),
            DriverView::Lost { holder, renewed_at: Some(at), .. } => {
                write!(f, "nobody drives: {holder} drove last, {} ago by its clock", ago(at))
            }
            DriverView::Lost { holder, renewal_observed_at, renewed_at: None } => {
                write!(f, "nobody drives: {holder} was last seen {} ago", ago(renewal_observed_at))
            }
        }
    }
}

/// See [`Snapshot::change`].
#[derive(Clone, Copy, Debug)]
pub struct ChangeWords<'a>(&'a Snapshot);

impl fmt::Display for ChangeWords<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(snapshot) = self;
        let changes = &snapshot.image_changes;
        match changes.as_slice() {
            [] if snapshot.has_change() => f.write_str("template changed, same images"),
            [] => match &snapshot.to {
                // Of a roll back, too: what is left behind is on no node any more, or never was on one that is seen.
                Some(revision) => write!(f, "{}", VersionWords(revision)),
                None => f.write_str("?"),
            },
            [change] => write_versions(f, change),
            changes => {
                for (nth, change) in changes.iter().enumerate() {
                    if nth > 0 {
                        f.write_str(", ")?;
                    }
                    write!(f, "{}: ", change.container)?;
                    write_versions(f, change)?;
                }
                Ok(())
            }
        }
    }
}

fn write_versions(f: &mut fmt::Formatter<'_>, change: &ImageChange) -> fmt::Result {
    let (from, to) = (change.from.as_deref(), change.to.as_deref());
    match (from, to) {
        (Some(from), Some(to)) if hidden_by_versions(from, to) => {
            write!(f, "{from} → {to}")
        }
        (from, to) => {
            write!(f, "{} → {}", from.map_or("none", version_of), to.map_or("none", version_of))
        }
    }
}

/// A revision's images as versions: `v1.9.0`, or `agent v2, proxy v1` where there are several.
#[derive(Clone, Copy, Debug)]
pub struct VersionWords<'a>(pub &'a RevisionView);

impl fmt::Display for VersionWords<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.images.as_slice() {
            [] => f.write_str("?"),
            [(_, image)] => f.write_str(version_of(image)),
            images => {
                for (nth, (container, image)) in images.iter().enumerate() {
                    write!(f, "{}{container} {}", if nth > 0 { ", " } else { "" }, version_of(image))?;
                }
                Ok(())
            }
        }
    }
}

/// See [`Snapshot::numbers`].
#[derive(Clone, Copy, Debug)]
pub struct Numbers<'a>(&'a Snapshot);

impl fmt::Display for Numbers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(snapshot) = self;
        let number = |revision: &Option<RevisionView>| match revision.as_ref().and_then(|revision| revision.number) {
            Some(number) => number.to_string(),
            None => "?".to_owned(),
        };
        if snapshot.has_change() {
            write!(f, "rev {} → {}", number(&snapshot.from), number(&snapshot.to))
        } else {
            write!(f, "rev {}", number(&snapshot.to))
        }
    }
}

/// The gates that [`Gating`] tells in words of their own. Any other is told by its name.
const IN_OTHER_WORDS: [Setting; 7] = [
    Setting::FailureThreshold,
    Setting::ProgressDeadline,
    Setting::MaxRestarts,
    Setting::Soak,
    Setting::SuspectGrace,
    Setting::RequireImage,
    Setting::OnFailure,
];

/// See [`Snapshot::gating`].
#[derive(Clone, Copy, Debug)]
pub struct Gating<'a>(&'a Snapshot);

impl fmt::Display for Gating<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Every setting is told here or shown elsewhere: the budgets have a line of their own.
        let Settings { budgets: _, gates, policies } = &self.0.settings;
        // The steps are on a line of their own.
        let Policies { steps: _, prewarm, on_drift, order, finish } = *policies;
        let then = match gates.on_failure {
            OnFailure::Halt => "halts",
            OnFailure::RollBack => "rolls back",
        };
        if self.0.direction == Direction::Back {
            return f.write_str("none on the way back: nothing soaks, and nothing halts it");
        }
        write!(f, "{then} at {} failed: not available in {}", gates.failure_threshold, gates.progress_deadline_secs)?;
        write!(f, ", more than {} restarts or its node down for {}", gates.max_restarts, gates.suspect_grace_secs)?;
        // Those that have no words of their own here, where they are not as by default.
        let others = Setting::gates().filter(|gate| !IN_OTHER_WORDS.contains(gate));
        for gate in others.filter(|gate| gate.is_changed_in(&self.0.settings)) {
            write!(f, "; {}", gate.in_words(&self.0.settings))?;
        }
        if gates.require_image {
            f.write_str("; images are brought to a node first")?;
        }
        f.write_str(match prewarm {
            PrewarmAhead::Off => "",
            PrewarmAhead::Step => "; images are brought one step ahead",
            PrewarmAhead::All => "; images are brought to all nodes at once",
        })?;
        if gates.soak_secs > Secs(0) {
            write!(f, "; soaks {}", gates.soak_secs)?;
        }
        f.write_str(match on_drift {
            OnDrift::Report => "; strategy drift is reported",
            OnDrift::EnforceOnDelete => "; OnDelete is enforced",
        })?;
        f.write_str(match order {
            NodeOrder::Name => "",
            NodeOrder::BySite => "; one site after the other",
            NodeOrder::Spread => "; a node of each site in turn",
        })?;
        match finish {
            Finish::Release => Ok(()),
            Finish::Keep => f.write_str("; kept at the end"),
        }
    }
}

/// See [`Snapshot::freshness`].
#[derive(Clone, Copy, Debug)]
pub struct FreshnessWords<'a>(&'a Snapshot);

impl fmt::Display for FreshnessWords<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(snapshot) = self;
        let mut said = false;
        for WatchView { watched, health, .. } in &snapshot.watches {
            let comma = if said { "; " } else { "" };
            match health {
                WatchHealth::Live => continue,
                WatchHealth::Loading => write!(f, "{comma}{watched} loading")?,
                WatchHealth::Down { since, why } => {
                    write!(f, "{comma}{watched} not seen for {}: {why}", ShortDuration(snapshot.at.since(*since)))?;
                }
                WatchHealth::Lagging { since, why } => {
                    write!(f, "{comma}{watched} as of {} ago: {why}", ShortDuration(snapshot.at.since(*since)))?;
                }
                WatchHealth::Forbidden { .. } => write!(f, "{comma}{watched} n/a (forbidden)")?,
            }
            said = true;
        }
        if said { Ok(()) } else { f.write_str("live") }
    }
}

impl fmt::Display for SkippedObjects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { count, first } = self;
        match count {
            0 | 1 => write!(f, "1 skipped: {first}"),
            count => write!(f, "{count} skipped; the first: {first}"),
        }
    }
}

impl BudgetView {
    /// The word for a blame, the same in the budget line and in each row.
    pub fn called(&self, blame: Blame) -> &'static str {
        match (blame, self.replaced_by) {
            (Blame::Rollout, Replacer::Rolldeck) => "ours",
            (Blame::Rollout, Replacer::Controller) => "by its controller",
            (Blame::Rollout, Replacer::Both) => "ours or its controller's",
            (Blame::Suspect, _) => "suspect",
            (Blame::Node, _) => "not by the rollout",
            (Blame::PreExisting, _) => "pre-existing",
        }
    }

    /// Nodes that are down and not charged to the rollout.
    pub fn not_ours(&self) -> u32 {
        self.node + self.pre_existing
    }
}

/// The budget, term by term: `down 2 of 2: 1 ours, 1 suspect + 3 by themselves`.
impl fmt::Display for BudgetView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "down {} of {}", self.charged, self.max_unavailable)?;
        let ours = [(self.rollout, Blame::Rollout), (self.suspect, Blame::Suspect)];
        let others = [(self.node, Blame::Node), (self.pre_existing, Blame::PreExisting)];
        let mut lead = ": ";
        let charged = ours.iter().chain(others.iter().filter(|_| self.strict));
        for (count, blame) in charged.filter(|(count, _)| *count > 0) {
            write!(f, "{lead}{count} {}", self.called(*blame))?;
            // How it came that more are down than may be.
            if self.charged > self.max_unavailable {
                match (blame, self.replaced_by) {
                    (Blame::Rollout, Replacer::Rolldeck) if self.restarted > 0 => {
                        write!(f, " ({} crashed once ready)", self.restarted)?;
                    }
                    (Blame::Suspect, _) => f.write_str(" (fell later)")?,
                    (Blame::Rollout | Blame::Node | Blame::PreExisting, _) => {}
                }
            }
            lead = ", ";
        }
        if !self.strict && self.not_ours() > 0 {
            let alone = if self.not_ours() == 1 { "by itself" } else { "by themselves" };
            write!(f, " + {} {alone}", self.not_ours())?;
        }
        Ok(())
    }
}

/// The plan in one line: `step 2 of 4: 12 may be updated, partition 108, only canary=true (3 nodes)`.
impl fmt::Display for PlanView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(step) = self.step {
            write!(f, "step {} of {}: ", step + 1, self.steps.len())?;
        }
        write!(f, "{} may be updated, partition {}", self.allowed, self.keep)?;
        if let Some(selector) = &self.selector {
            let nodes = if self.selected == 1 { "node" } else { "nodes" };
            write!(f, ", only {selector} ({} {nodes})", self.selected)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::fake_cluster::{FakeCluster, FakeConsole};
    use crate::engine::model::quantity::IntOrPercent;
    use crate::engine::model::settings::SettingRole;

    /// Where a setting is told that the sentence about gates leaves out; `None`: the sentence tells it.
    fn told_elsewhere(setting: Setting) -> Option<&'static str> {
        match (setting, setting.about().role) {
            (Setting::Steps, _) => Some("the plan has a line of its own"),
            (_, SettingRole::Limits) => Some("the budgets have lines of their own"),
            _ => None,
        }
    }

    #[test]
    fn a_setting_that_is_not_as_by_default_is_seen_in_the_sentence_about_gates() {
        let fake = FakeCluster::rolling(1, 1);
        let mut snapshot = FakeConsole::open(&fake, "ops").snapshot(&fake);
        snapshot.settings = Settings::default();
        let usual = snapshot.gating().to_string();
        for setting in Setting::ALL {
            snapshot.settings = Settings::default();
            setting.another().apply_to(&mut snapshot.settings);
            let said = snapshot.gating().to_string();
            assert_eq!(said == usual, told_elsewhere(*setting).is_some(), "{setting:?}: {said}");
        }
    }

    #[test]
    fn the_budget_is_said_term_by_term() {
        let budget =
            BudgetView { max_unavailable: 2, rollout: 1, suspect: 1, node: 3, charged: 2, ..Default::default() };
        assert_eq!(budget.to_string(), "down 2 of 2: 1 ours, 1 suspect + 3 by themselves");
        let strict = BudgetView { strict: true, charged: 5, ..budget };
        assert_eq!(strict.to_string(), "down 5 of 2: 1 ours, 1 suspect (fell later), 3 not by the rollout");
        assert_eq!(BudgetView { max_unavailable: 2, ..Default::default() }.to_string(), "down 0 of 2");
        let native = BudgetView { replaced_by: Replacer::Controller, ..budget };
        assert_eq!(native.to_string(), "down 2 of 2: 1 by its controller, 1 suspect + 3 by themselves");
    }

    #[test]
    fn the_plan_is_said_with_its_selector() {
        let plan = PlanView {
            steps: vec![IntOrPercent::Int(1), IntOrPercent::Percent(100)],
            step: Some(0),
            keep: 19,
            allowed: 1,
            selector: Some("canary=true".parse().unwrap()),
            selected: 3,
            ..PlanView::default()
        };
        assert_eq!(plan.to_string(), "step 1 of 2: 1 may be updated, partition 19, only canary=true (3 nodes)");
    }

    #[test]
    fn a_change_of_registry_is_not_said_as_no_change() {
        struct Say(ImageChange);
        impl fmt::Display for Say {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write_versions(f, &self.0)
            }
        }
        let change = |from: Option<&str>, to: Option<&str>| {
            Say(ImageChange { container: "agent".into(), from: from.map(Into::into), to: to.map(Into::into) })
                .to_string()
        };
        assert_eq!(change(Some("a.example/agent:v1"), Some("a.example/agent:v2")), "v1 → v2");
        assert_eq!(change(Some("a/agent:v1"), Some("b/agent:v1")), "a/agent:v1 → b/agent:v1");
        assert_eq!(change(None, Some("b/agent:v1")), "none → v1");
    }
}
