//! Whether the DaemonSet's own controller still rolls out a revision, while rolldeck only looks on.
//!
//! The controller has replaced the last old pod long before the last new pod serves. Pods that are all at the revision therefore do not
//! show that its rollout is over. As with `kubectl rollout status`, the rollout goes on while a new pod has never been Ready. A console
//! that saw the rollout going on also takes nodes for lost by it that served in between, as long as more nodes are down than the budget
//! allows. A console that looks for the first time cannot tell these nodes from nodes that are down on any other day.

use std::time::Duration;

use super::{Assessment, Assessor};
use crate::engine::model::Str;
use crate::engine::model::facts::{NodeFact, PodFact, RevisionFact};
use crate::engine::rules::clocks::by_server;
use crate::engine::view::PodEntry;
use crate::engine::view::restarts::kubelet_says_ready;

/// A kubelet dates `Ready=False` when it begins with a pod. A change later than this after the pod was made means that the pod was Ready in
/// between. If a pod was Ready only within this time and its node is lost, the statuses of its containers still say so.
const BEGINS_WITHIN: Duration = Duration::from_secs(60);

/// The revision that the DaemonSet's own controller was seen to roll out, until every node serves.
#[derive(Clone, Debug, Default)]
pub(super) struct ControllersRollout(Option<Str>);

impl Assessment {
    /// Takes note of whether the DaemonSet's own controller rolls out `target`. `looks_on`: no rollout of rolldeck's has begun.
    /// `replaces`: nothing is recorded, and the update strategy is `RollingUpdate`. `max_unavailable`: how many nodes it may take down.
    pub(crate) fn follow_controller(
        &mut self,
        target: Option<&Str>,
        (looks_on, replaces): (bool, bool),
        max_unavailable: impl FnOnce(&Self) -> u32,
    ) {
        let seen = self.controllers_rollout.0.take().filter(|seen| looks_on && Some(seen) == target);
        let fleet = || self.rows().filter(|row| row.in_fleet);
        let rolls = looks_on && replaces && fleet().any(|row| row.old || row.at_target && row.never_served);
        let lost = || fleet().filter(|row| row.at_target && !row.available).count();
        let goes_on = seen.is_some() && !rolls && lost() > max_unavailable(self) as usize;
        self.controllers_rollout.0 = target.filter(|_| rolls || goes_on).cloned();
    }

    /// Whether the DaemonSet's own controller rolls out the target, or has done so and not every node serves yet.
    pub(crate) fn controller_rolls_out(&self) -> bool {
        self.controllers_rollout.0.is_some()
    }
}

impl Assessor<'_> {
    /// Whether a pod came with a rollout of its revision and has never been Ready. Its node is older than that rollout, so that the pod was not made
    /// for a node that joined. A rollout is never older than the youngest revision that was there when it made its pods, even if it goes back to an older
    /// revision.
    pub(super) fn never_served(&self, node: Option<&NodeFact>, pod: Option<&PodEntry>) -> bool {
        let Some(pod) = pod.map(|pod| &pod.fact).filter(|pod| !kubelet_says_ready(pod)) else { return false };
        let Some(own) = pod.revision.as_ref().and_then(|hash| self.view.revision(hash)) else { return false };
        // The API server writes whole seconds. Of revisions that are as old as the pod, those with a smaller number than its own were there before.
        let earlier = |revision: &RevisionFact| revision.created_at < pod.created_at || revision.number <= own.number;
        let was_there = |revision: &&RevisionFact| revision.created_at <= pod.created_at && earlier(revision);
        let revisions = || self.view.own_revisions().filter(was_there);
        let begun_after = revisions().map(|revision| revision.created_at).max();
        let joined = node.and_then(|node| node.created_at);
        let is_older = joined.zip(begun_after).is_some_and(|(joined, begun_after)| joined <= begun_after);
        // The first revision replaces nothing: a DaemonSet that is deployed is rolled out to nobody who was served before.
        let replaces = revisions().nth(1).is_some();
        is_older && replaces && was_never_ready(pod, node.and_then(|node| node.clock_skew_millis))
    }
}

/// Whether a pod has never been Ready since it was made. `skew`: by how many milliseconds its node's clock is ahead of the server's.
pub(crate) fn was_never_ready(pod: &PodFact, skew: Option<i64>) -> bool {
    let changed = pod.ready_since.map(|at| by_server(at, skew));
    !kubelet_says_ready(pod) && changed.is_none_or(|at| at <= pod.created_at + BEGINS_WITHIN)
}

#[cfg(test)]
mod tests {
    use crate::engine::fake_cluster::{FakeCluster, FakeConsole, template};
    use crate::engine::model::command::Command;
    use crate::engine::report::snapshot::Phase;

    /// The cascade at its end: every old pod is gone, and no new one serves.
    fn lost_all() -> FakeCluster {
        let mut fake = FakeCluster::rolling(6, 2);
        fake.wait(1_000);
        fake.set_template(template("agent:v2"));
        fake.reconcile();
        fake.slow = true;
        for node in (1..=6).map(|nth| format!("n{nth}")) {
            fake.remove_pod(&node);
            fake.create_pod(&node);
        }
        fake
    }

    #[test]
    fn its_controller_has_replaced_every_pod_and_none_serves_yet() {
        let mut fake = lost_all();
        let mut console = FakeConsole::open(&fake, "ops");
        let snapshot = console.snapshot(&fake);
        assert_eq!((&snapshot.phase, snapshot.progress()), (&Phase::Native, "0 of 6 updated".into()));
        assert_eq!(snapshot.budget.to_string(), "down 6 of 2: 6 by its controller");

        // Nodes go down with their pods, and the brake does not change whose doing it was.
        (1..=3).for_each(|nth| fake.set_node_ready(&format!("n{nth}"), false));
        assert_eq!(
            console.snapshot(&fake).budget.to_string(),
            "down 6 of 2: 3 by its controller, 3 suspect (fell later)"
        );
        console.ask(&mut fake, Command::Pause { why: None }).unwrap();
        assert_eq!(
            console.snapshot(&fake).budget.to_string(),
            "down 6 of 2: 3 by its controller, 3 suspect (fell later)"
        );
    }

    #[test]
    fn it_is_over_once_all_have_served_and_what_is_lost_later_is_lost_by_itself() {
        let mut fake = lost_all();
        let mut console = FakeConsole::open(&fake, "ops");
        assert_eq!(console.snapshot(&fake).phase, Phase::Native);
        fake.wait(100);
        (2..=6).for_each(|nth| fake.set_ready(&format!("n{nth}"), true));
        assert_eq!(console.snapshot(&fake).phase, Phase::Native, "n1 has never been ready");
        fake.wait(100);
        (1..=4).for_each(|nth| fake.set_ready(&format!("n{nth}"), nth == 1));
        assert_eq!(console.snapshot(&fake).phase, Phase::Native, "three are lost again");
        assert_eq!(
            FakeConsole::open(&fake, "late").snapshot(&fake).phase,
            Phase::Idle,
            "which only who saw it can tell"
        );
        fake.set_ready("n2", true);
        assert_eq!(console.snapshot(&fake).phase, Phase::Idle, "no more than its budget allows");
        fake.set_ready("n4", false);
        let snapshot = console.snapshot(&fake);
        assert_eq!(
            (&snapshot.phase, snapshot.budget.to_string()),
            (&Phase::Idle, "down 0 of 2 + 2 by themselves".into())
        );
    }

    #[test]
    fn what_is_lost_within_a_minute_of_its_first_start_and_what_is_deployed_for_the_first_time_is_no_rollout() {
        let mut fake = FakeCluster::rolling(3, 2);
        fake.wait(30);
        fake.set_node_ready("n1", false);
        assert_eq!(FakeConsole::open(&fake, "ops").snapshot(&fake).phase, Phase::Idle);
        fake.slow = true;
        fake.remove_pod("n2");
        fake.create_pod("n2");
        assert_eq!(FakeConsole::open(&fake, "ops").snapshot(&fake).phase, Phase::Idle);
    }

    /// A revision that is gone back to is older than nodes that joined since, and its rollout is not.
    #[test]
    fn its_controller_goes_back_to_a_revision_that_is_older_than_a_node() {
        let mut fake = FakeCluster::rolling(3, 2);
        fake.wait(1_000);
        fake.add_nodes(["n4".into()]);
        fake.wait(1_000);
        fake.set_template(template("agent:v2"));
        fake.reconcile();
        fake.wait(1_000);
        fake.set_template(template("agent:v1"));
        fake.reconcile();
        fake.slow = true;
        fake.remove_pod("n4");
        fake.create_pod("n4");
        let snapshot = FakeConsole::open(&fake, "ops").snapshot(&fake);
        assert_eq!(
            (&snapshot.phase, snapshot.budget.to_string()),
            (&Phase::Native, "down 1 of 2: 1 by its controller".into())
        );
    }

    #[test]
    fn a_node_that_joins_is_no_rollout() {
        let mut fake = FakeCluster::rolling(3, 2);
        let mut console = FakeConsole::open(&fake, "ops");
        fake.wait(1_000);
        fake.slow = true;
        fake.add_nodes(["n4".into()]);
        assert_eq!(console.snapshot(&fake).phase, Phase::Idle);
    }
}
