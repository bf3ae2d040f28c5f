//! DaemonSets whose pods make their node NotReady for a moment when they are replaced: agents that restart the container runtime, or that set up its network.

use std::collections::BTreeMap;

use crate::engine::fake_cluster::{FakeCluster, FakeConsole};
use crate::engine::model::Str;
use crate::engine::model::cause::CauseKind;
use crate::engine::model::command::{Command, Takeover};
use crate::engine::model::hold::Hold;
use crate::engine::model::node::{Blame, NodeState};
use crate::engine::model::settings::Tuning;
use crate::engine::model::suspect::SuspectView;
use crate::engine::report::snapshot::{NodeView, Phase, Snapshot};
use crate::engine::report::story::Story;
use crate::engine::report::trouble::TroubleKind;

const SAYS: &str = "container runtime network not ready: cni plugin not initialized";

/// What becomes of a node whose pod is replaced.
#[derive(Clone, Copy, Default)]
struct Agent {
    /// It is not Ready from so many seconds after the new pod was created.
    after: u64,
    /// For so long.
    lasts: u64,
    /// Its kubelet is silent from so many seconds after that on.
    silent_after: Option<u64>,
}

/// A rollout of such an agent on twenty nodes with a budget of 2.
struct AgentRollout {
    fake: FakeCluster,
    console: FakeConsole,
    agent: Agent,
    known: Vec<Str>,
    /// The nodes whose agent began, with the second in which it did.
    began: BTreeMap<Str, u64>,
    second: u64,
    worst_down: usize,
}

impl AgentRollout {
    fn new(agent: Agent) -> Self {
        let mut fake = FakeCluster::rolling(20, 2);
        fake.defaults = Tuning::default();
        let mut console = FakeConsole::open(&fake, "ops");
        console.set_image(&mut fake, "agent:v2");
        let known = fake.pods.keys().cloned().collect();
        console.partition(&mut fake, 0);
        Self { fake, console, agent, known, began: BTreeMap::new(), second: 0, worst_down: 0 }
    }

    fn run_for(&mut self, secs: u64) -> Snapshot {
        for _ in 0..secs {
            self.console.run_for(&mut self.fake, 1);
            self.second += 1;
            let new = self.fake.pods.values().filter(|pod| !self.known.contains(&pod.uid));
            let new: Vec<(Str, Str)> = new.map(|pod| (pod.uid.clone(), pod.node.clone().unwrap())).collect();
            for (uid, node) in new {
                self.known.push(uid);
                self.began.insert(node, self.second);
            }
            let Agent { after, lasts, silent_after } = self.agent;
            for (node, began) in self.began.clone() {
                let since = self.second - began;
                if since == after {
                    self.fake.kubelet_tells(&node, Some(SAYS));
                } else if Some(since) == silent_after.map(|silent| after + silent) {
                    self.fake.set_node_ready(&node, false);
                } else if since == after + lasts {
                    if silent_after.is_some() {
                        self.fake.set_node_ready(&node, true);
                    } else {
                        self.fake.kubelet_tells(&node, None);
                    }
                    self.began.remove(&node);
                }
            }
            let budget = self.console.snapshot(&self.fake).budget;
            self.worst_down = self.worst_down.max((budget.rollout + budget.suspect) as usize);
        }
        self.console.snapshot(&self.fake)
    }
}

fn down(snapshot: &Snapshot) -> Vec<&NodeView> {
    snapshot.nodes.iter().filter(|node| node.state == NodeState::NodeDown).collect()
}

#[test]
fn an_agent_that_makes_its_node_not_ready_for_a_moment_is_rolled_out() {
    for after in [0, 1, 5] {
        let mut rollout = AgentRollout::new(Agent { after, lasts: 20, ..Agent::default() });
        let snapshot = rollout.run_for(900);
        let at = (rollout.fake.at("hash2"), &snapshot.phase, &snapshot.halt);
        assert_eq!(at, (20, &Phase::Idle, &None), "after {after}");
        assert_eq!(rollout.worst_down, 2, "the budget holds");
    }
}

#[test]
fn what_its_kubelet_says_is_shown_while_the_node_is_updated() {
    let mut rollout = AgentRollout::new(Agent { after: 3, lasts: 40, ..Agent::default() });
    let snapshot = rollout.run_for(20);
    let nodes = down(&snapshot);
    assert_eq!(nodes.len(), 2);
    assert!(matches!(nodes[0].suspect, Some(SuspectView::InUpdate { .. })), "{:?}", nodes[0].suspect);
    assert_eq!((nodes[0].blame, snapshot.budget.suspect), (Some(Blame::Suspect), 2), "charged to the budget");
    let name = nodes[0].name.clone();
    let (_, why) = rollout.console.state(&rollout.fake, &name);
    let (age, rest) = why.split_once(", ").unwrap();
    assert!(age.starts_with("NotReady for 1"), "{age}");
    assert_eq!(rest, "while it is updated; counts as failed in 4m");
    assert_eq!(TroubleKind::of(nodes[0]).map(|kind| kind.to_string()), Some("not Ready in its update".to_owned()));
    let cause = nodes[0].cause.as_ref().unwrap();
    assert_eq!(cause.message.as_deref(), Some(SAYS));
}

#[test]
fn one_that_does_not_come_back_fails_after_the_grace() {
    let mut rollout = AgentRollout::new(Agent { after: 3, lasts: 10_000, ..Agent::default() });
    let snapshot = rollout.run_for(290);
    assert_eq!(
        (&snapshot.phase, rollout.fake.at("hash2")),
        (&Phase::Running, 2),
        "no further node goes down beside them"
    );
    let snapshot = rollout.run_for(30);
    assert_eq!(snapshot.halt.unwrap().why, "node stays down with the new pod on 2 nodes".into());
}

/// Its pod was ready all the time.
#[test]
fn a_node_that_is_ready_again_has_been_updated_since_then() {
    let mut rollout = AgentRollout::new(Agent { after: 3, lasts: 40, ..Agent::default() });
    let snapshot = rollout.run_for(50);
    let updated: Vec<&NodeView> = snapshot.nodes.iter().filter(|node| node.state == NodeState::Updated).collect();
    assert_eq!(updated.len(), 2);
    let ages: Vec<u64> = updated.iter().map(|node| node.age(snapshot.at).unwrap().as_secs()).collect();
    assert!(ages.iter().all(|age| *age < 10), "{ages:?}");
}

/// The update has brought the machine down: two are enough to say so.
#[test]
fn machines_that_fall_silent_in_their_update_are_compared() {
    let mut rollout = AgentRollout::new(Agent { after: 3, lasts: 120, silent_after: Some(40) });
    let snapshot = rollout.run_for(60);
    let halt = snapshot.halt.unwrap();
    assert_eq!(
        halt.why,
        "updated nodes go down (2 of 2 nodes went down after their update, 0 of 18 before it, in 1m) on 2 nodes".into()
    );
}

/// The node was updated, and then it went down: whatever its kubelet says, that is compared.
#[test]
fn nodes_that_go_down_once_they_are_updated_are_compared() {
    let mut rollout = AgentRollout::new(Agent { after: 15, lasts: 20, ..Agent::default() });
    let snapshot = rollout.run_for(600);
    let halt = snapshot.halt.unwrap();
    assert!(halt.why.starts_with("updated nodes go down ("), "{}", halt.why);
    assert!(rollout.fake.at("hash2") <= 8, "{}", rollout.fake.at("hash2"));
}

/// Each further driver reads from the record what the one before has seen.
#[test]
fn the_next_driver_does_not_compare_them_either() {
    let mut rollout = AgentRollout::new(Agent { after: 3, lasts: 20, ..Agent::default() });
    for _ in 0..40 {
        rollout.run_for(20);
        rollout.fake.wait(20);
        rollout.console = FakeConsole::open(&rollout.fake, "ops");
        let _ = rollout.console.ask(&mut rollout.fake, Command::Drive(Takeover::Ask));
        let snapshot = rollout.console.snapshot(&rollout.fake);
        assert_eq!(snapshot.halt, None);
    }
    assert_eq!(rollout.fake.at("hash2"), 20);
}

/// Found by the attack, seed 15722: that its node is not Ready does not hide that the new pod crashes, since its kubelet goes on reporting.
#[test]
fn a_pod_that_crashes_holds_the_others_while_its_node_is_not_ready_too() {
    let mut fake = FakeCluster::rolling(20, 6);
    fake.defaults = Tuning::default();
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 19);
    console.run_for(&mut fake, 60);
    fake.kubelet_tells("n1", Some(SAYS));
    for _ in 0..2 {
        fake.crash("n1");
        console.run_for(&mut fake, 2);
        fake.restart("n1");
        console.run_for(&mut fake, 2);
    }
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 30);
    assert_eq!(fake.deleted.len(), 1, "no pod that serves is replaced beside one that restarted twice");
    let snapshot = console.snapshot(&fake);
    let hold = snapshot.nodes.iter().find(|node| &*node.name == "n2").unwrap().hold.clone();
    assert_eq!(hold, Some(Hold::Unproven { node: "n1".into(), cause: Some(CauseKind::CrashLoop) }));
    let (_, why) = console.state(&fake, "n1");
    assert!(why.ends_with("; exit 1, 2 restarts in 1m"), "{why}");
}

/// Each updated node does so: an alarm for each would hide the one that matters.
#[test]
fn the_timeline_tells_of_such_a_node_without_an_alarm() {
    let mut rollout = AgentRollout::new(Agent { after: 3, lasts: 20, silent_after: None });
    let mut story = Story::default();
    for _ in 0..120 {
        story.observe(&rollout.run_for(1));
    }
    let told: Vec<String> = story.of_node("n1").map(|moment| moment.change.to_string()).collect();
    let down = format!("node is not Ready in its update: {SAYS}");
    assert!(told.contains(&down) && told.iter().any(|told| told.starts_with("node is Ready again")), "{told:#?}");
    let of_note = story.of_node("n1").filter(|moment| moment.change.is_of_note());
    assert_eq!(of_note.map(|moment| moment.change.to_string()).collect::<Vec<_>>(), [""; 0], "{told:#?}");
    // One whose kubelet falls silent may be lost, and one that takes too long has failed.
    for (agent, secs) in [
        (Agent { after: 3, lasts: 60, silent_after: Some(10) }, 40),
        (Agent { after: 3, lasts: 10_000, ..Agent::default() }, 320),
    ] {
        let mut rollout = AgentRollout::new(agent);
        let mut story = Story::default();
        for _ in 0..secs {
            story.observe(&rollout.run_for(1));
        }
        let of_note = story.of_node("n1").filter(|moment| moment.change.is_of_note());
        let of_note: Vec<String> = of_note.map(|moment| moment.change.to_string()).collect();
        assert!(of_note.len() == 1 && of_note[0].starts_with("node is still not Ready"), "{of_note:#?}");
    }
}

/// A roll back asks of no node whether the update brought it down.
#[test]
fn a_roll_back_makes_no_alarm_of_nodes_that_are_not_ready_in_their_update() {
    let mut rollout = AgentRollout::new(Agent { after: 1, lasts: 60, silent_after: None });
    let mut story = Story::default();
    for _ in 0..15 {
        story.observe(&rollout.run_for(1));
    }
    let is_down = |story: &Story| story.of_node("n1").any(|moment| moment.change.to_string().contains("in its update"));
    assert!(is_down(&story));
    rollout.console.ask(&mut rollout.fake, Command::Undo { to: None }).unwrap();
    for _ in 0..15 {
        story.observe(&rollout.run_for(1));
    }
    let alarms = story.of_node("n1").filter(|moment| moment.change.to_string().contains("still not Ready"));
    assert_eq!(alarms.count(), 0);
}
