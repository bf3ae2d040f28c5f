//! The previews of pre-warming name the calls that are made: each is compared with what is sent once the command is given.

use super::prewarm::requiring;
use crate::engine::fake_cluster::{FakeCluster, FakeConsole};
use crate::engine::model::Str;
use crate::engine::model::command::{Command, Early, PrewarmCommand, Step, Takeover};
use crate::engine::model::config::Role;
use crate::engine::model::danger::Danger;
use crate::engine::model::effect::EffectErrorKind;
use crate::engine::model::facts::{ContainerState, ListedImage};
use crate::engine::model::person_of;
use crate::engine::model::prewarm::{PrewarmLimits, PrewarmMethod, PrewarmNodes, PrewarmSource};
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::record::Direction;
use crate::engine::model::settings::{Limit, Pace, Tuning};
use crate::engine::model::time::UtcTime;
use std::time::Duration;

pub(super) const TIMED_OUT: &str = "failed to pull and unpack image: dial tcp 10.0.0.1:443: i/o timeout";
const NOT_FOUND: &str = "failed to resolve reference \"agent:v2\": agent:v2: not found";

pub(super) fn start_on(tag: &str, nodes: PrewarmNodes) -> PrewarmCommand {
    let images = [("agent".to_owned(), format!("agent:{tag}").parse().unwrap())].into();
    let limits = PrewarmLimits { max_pulling: Limit::At(IntOrPercent::Int(2)), ..PrewarmLimits::default() };
    PrewarmCommand::Start { source: PrewarmSource::Images(images), nodes, limits, method: PrewarmMethod::Pods }
}

pub(super) fn start(tag: &str) -> PrewarmCommand {
    start_on(tag, PrewarmNodes::All)
}

/// Six nodes without the image.
pub(super) fn six() -> (FakeCluster, FakeConsole) {
    let mut fake = FakeCluster::rolling(6, 1);
    fake.holds_images = false;
    let console = FakeConsole::open(&fake, "ops");
    (fake, console)
}

/// On the same, `agent:v2` is pre-warmed: it is on n1, the registry had none for n2, and n3 and n4 pull.
pub(super) fn under_way() -> (FakeCluster, FakeConsole) {
    let (mut fake, mut console) = six();
    give(&mut fake, &mut console, start("v2"));
    fake.warm_arrives("n1");
    fake.warm_fails("n2", NOT_FOUND);
    console.run_for(&mut fake, 3);
    assert_eq!(fake.warm_nodes(), ["n1", "n3", "n4"]);
    (fake, console)
}

pub(super) fn give(fake: &mut FakeCluster, console: &mut FakeConsole, command: PrewarmCommand) {
    console.ask(fake, Command::Prewarm(command)).unwrap();
}

/// What the lines of the preview of a command say of this.
fn lines_with(console: &mut FakeConsole, fake: &FakeCluster, command: &Command, words: &str) -> Vec<String> {
    console.hear(fake);
    let effects = console.engine.preview(command, fake.now).unwrap().effects;
    effects.into_iter().filter(|line| line.contains(words)).collect()
}

fn require_images(fake: &mut FakeCluster, console: &mut FakeConsole) {
    console.ask(fake, Command::Tune(Tuning { require_image: Some(true), ..Tuning::default() })).unwrap();
}

/// A node that the rollout took down, and that does not serve, does not wait for its images: nor does the preview say so.
#[test]
fn the_images_of_a_node_that_the_rollout_took_down_do_not_come_first() {
    let (mut fake, mut console) = six();
    fake.broken.push("agent:v2".into());
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 5);
    console.run_for(&mut fake, 5);
    assert_eq!(fake.deleted, ["n1".into()]);
    console.set_image(&mut fake, "agent:v3");
    require_images(&mut fake, &mut console);
    let step = |count| Command::Step(Step::Updated(IntOrPercent::Int(count)));
    let mut first = |count| lines_with(&mut console, &fake, &step(count), "come");
    assert_eq!(first(1), [""; 0], "n1 goes at once");
    let said = "Its image comes first: 1 node does not have it, and no pod is replaced before its node has.";
    assert_eq!(first(2), [said], "n2");
    // Nor does it wait for an operator's request that does not bring them.
    give(&mut fake, &mut console, start("v9"));
    console.hear(&fake);
    let warned = console.engine.preview(&step(2), fake.now).unwrap().warnings;
    assert!(warned.iter().any(|warning| warning.contains(": 5 nodes wait for them until")), "{warned:?}");
}

/// Whoever pre-warms while the partition lets no node go drives, and lets none go either; one that it lets go is named before.
#[test]
fn the_preview_of_whoever_would_drive_says_whether_a_node_of_the_rollout_is_in_line() {
    let (mut fake, mut console) = six();
    console.set_image(&mut fake, "agent:v2");
    console.ask(&mut fake, Command::StopDriving).unwrap();
    let ahead = Command::Prewarm(start("v2"));
    let previewed = |fake: &mut FakeCluster| {
        let mut other = FakeConsole::open(fake, "bob");
        other.run(fake);
        other.engine.preview(&ahead, fake.now).unwrap()
    };
    let none = previewed(&mut fake);
    let says = "This process becomes the driver; no node of the rollout is in line now.";
    assert!(none.effects.iter().any(|line| line == says), "{:?}", none.effects);
    assert!(none.nodes.is_empty() && none.danger < Danger::Serious, "{:?}", none.danger);
    FakeConsole::open_as(&fake, "eve", Role::OneShot)
        .ask(&mut fake, Command::Step(Step::Updated(IntOrPercent::Int(2))))
        .unwrap();
    let two = previewed(&mut fake);
    assert!(!two.effects.iter().any(|line| line == says), "{:?}", two.effects);
    assert_eq!((two.nodes.len(), two.danger), (2, Danger::Serious), "{:?}", two.effects);
}

/// What is cancelled on the way back does not begin again.
#[test]
fn a_cancellation_on_the_way_back_does_not_say_that_pre_warming_begins_again() {
    let (mut fake, mut console) = six();
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 4);
    console.run_for(&mut fake, 20);
    require_images(&mut fake, &mut console);
    give(&mut fake, &mut console, start("v2"));
    let cancel = Command::Prewarm(PrewarmCommand::Cancel);
    let again = "It begins again on nodes that may be updated: the rollout requires their images.";
    assert_eq!(lines_with(&mut console, &fake, &cancel, "begins again"), [again]);
    console.ask(&mut fake, Command::Undo { to: None }).unwrap();
    assert_eq!(console.snapshot(&fake).direction, Direction::Back);
    assert_eq!(lines_with(&mut console, &fake, &cancel, "begins again"), [""; 0]);
}

/// Pods that pre-warm the template's images are deleted with another template, and the preview says how many; those of images that were named
/// stay, because they are still asked for.
#[test]
fn another_template_says_which_pods_that_pre_warm_are_deleted() {
    let (mut fake, mut console) = six();
    console.set_image(&mut fake, "agent:v2");
    let PrewarmCommand::Start { nodes, limits, method, .. } = start("v2") else { panic!() };
    give(&mut fake, &mut console, PrewarmCommand::Start { source: PrewarmSource::Template, nodes, limits, method });
    console.run_for(&mut fake, 3);
    assert_eq!(fake.warm_nodes().len(), 2);
    let image = |tag: &str| Command::SetImage([("agent".to_owned(), format!("agent:{tag}").parse().unwrap())].into());
    let said = |console: &mut FakeConsole, fake: &FakeCluster, command: &Command| {
        let effects = console.engine.preview(command, fake.now).unwrap().effects;
        effects.into_iter().find(|line| line.contains("pre-warm"))
    };
    let both = "2 pods that pre-warm are deleted: they have images that the template does not need any more.";
    for command in [image("v3"), Command::Undo { to: None }] {
        let says = said(&mut console, &fake, &command).unwrap_or_default();
        assert!(says.starts_with(both), "{command:?}: {says}");
    }
    let of_before = fake.warm.values().next().unwrap().images.clone();
    console.ask(&mut fake, image("v3")).unwrap();
    console.run_for(&mut fake, 10);
    assert!(fake.warm.values().all(|warm| warm.images != of_before), "they are deleted");
    let (fake, mut console) = under_way();
    assert_eq!(said(&mut console, &fake, &image("v2")), None, "named images are still to be brought");
}

/// Of two limits of pulls the preview of a step says whose the one is that holds for it.
#[test]
fn a_step_says_whose_limit_of_pulls_it_names() {
    let (mut fake, mut console) = six();
    console.set_image(&mut fake, "agent:v2");
    let said = |console: &mut FakeConsole, fake: &FakeCluster| {
        console.engine.preview(&Command::Step(Step::Updated(IntOrPercent::Int(3))), fake.now).unwrap().effects.join(" ")
    };
    let before = said(&mut console, &fake);
    assert!(before.contains("1 pulling at a time") && !before.contains("pre-warming"), "{before}");
    give(&mut fake, &mut console, start("v2"));
    console.run_for(&mut fake, 3);
    let with_another = said(&mut console, &fake);
    let whose = "1 pulling at a time (the rollout's limits; pre-warming has its own: 2 pulling)";
    assert!(with_another.contains(whose), "{with_another}");
}

/// Who pre-warms beside a rollout that nobody drives carries that on: the preview names the nodes, and is confirmed as what replaces pods.
#[test]
fn a_rollout_that_nobody_drives_goes_on_and_the_preview_names_its_nodes() {
    let mut fake = FakeCluster::rolling(6, 4);
    fake.slow = true;
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 0);
    console.ask(&mut fake, Command::StopDriving).unwrap();
    drop(console);
    fake.wait(30);
    let started = fake.deleted.clone();
    let mut next = FakeConsole::open(&fake, "eve");
    next.run(&mut fake);
    for command in [start("v3"), start("v2")] {
        let preview = next.engine.preview(&Command::Prewarm(command), fake.now).unwrap();
        let in_line = 6 - started.len();
        let goes_on = format!(
            "It also carries on the rollout, as nobody drives, and replaces pods: {in_line} nodes are in line, and wait: \
             4 nodes are being updated (n1, n2, n3, …), and 4 may be down at once."
        );
        assert!(preview.effects[0].starts_with(&goes_on), "{:?}", preview.effects);
        assert!(!preview.effects.concat().contains("replaces no pod"), "{:?}", preview.effects);
        assert_eq!((preview.nodes.len(), preview.danger), (6 - started.len(), Danger::Serious));
        assert!(preview.calls.iter().any(|call| call.starts_with("DELETE pods, one by one")), "{:?}", preview.calls);
    }
    let named = next.engine.preview(&Command::Prewarm(start("v3")), fake.now).unwrap().nodes;
    give(&mut fake, &mut next, start("v3"));
    next.run_for(&mut fake, 5);
    started.iter().for_each(|node| fake.set_ready(node, true));
    next.run_for(&mut fake, 60);
    assert_eq!(
        fake.deleted.get(started.len()),
        named.first(),
        "and so it does: {:?}",
        next.snapshot(&fake).nodes.iter().map(|node| (node.state, node.hold.clone())).collect::<Vec<_>>()
    );

    // Paused, or for who does not drive, nothing goes.
    next.ask(&mut fake, Command::Pause { why: None }).unwrap();
    next.ask(&mut fake, Command::StopDriving).unwrap();
    drop(next);
    fake.wait(30);
    let mut kim = FakeConsole::open(&fake, "kim");
    kim.run(&mut fake);
    let paused = kim.engine.preview(&Command::Prewarm(start("v4")), fake.now).unwrap();
    assert!(paused.nodes.is_empty(), "{:?}", paused.effects);
    assert!(paused.effects.concat().contains("that replaces no pod of the DaemonSet."), "{:?}", paused.effects);
}

/// The preview names the nodes that pull, in the order in which they then do, and none that has the images or that a command leaves alone.
#[test]
fn the_nodes_that_pull_are_named_in_their_order() {
    let (mut fake, mut console) = six();
    let pulls_on = |console: &mut FakeConsole, fake: &FakeCluster, asked: PrewarmCommand| {
        console.hear(fake);
        console.engine.preview(&Command::Prewarm(asked), fake.now).unwrap().pulls_on.to_vec()
    };
    let all = ["n1", "n2", "n3", "n4", "n5", "n6"].map(Str::from);
    assert_eq!(pulls_on(&mut console, &fake, start("v2")), all);
    assert_eq!(pulls_on(&mut console, &fake, start_on("v2", PrewarmNodes::Node("n3".into()))), all[2..3]);
    give(&mut fake, &mut console, start("v2"));
    console.run_for(&mut fake, 3);
    assert_eq!(fake.warm_nodes(), ["n1", "n2"], "the first of them");
    // n1 has the image, the registry had none for n2, and n3 and n4 pull: what failed is tried last.
    let (fake, mut console) = under_way();
    let [_, n2, _, _, n5, n6] = all;
    assert_eq!(pulls_on(&mut console, &fake, start("v2")), [n5.clone(), n6.clone(), n2.clone()]);
    assert_eq!(pulls_on(&mut console, &fake, PrewarmCommand::Retry), [n5, n6, n2]);
    assert_eq!(pulls_on(&mut console, &fake, PrewarmCommand::Pause), [""; 0].map(Str::from));
    assert_eq!(pulls_on(&mut console, &fake, PrewarmCommand::Cancel), [""; 0].map(Str::from));
    let step = console.engine.preview(&Command::Drive(Takeover::IfFree), fake.now).unwrap();
    assert!(step.pulls_on.is_empty(), "only what is asked for with the command");
}

/// A node whose update pulls the target's images pulls another image for pre-warming afterwards; the target's own it has by then.
#[test]
fn a_node_whose_update_pulls_has_its_turn_later() {
    let (mut fake, mut console) = six();
    fake.slow = true;
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 5);
    console.run_for(&mut fake, 3);
    assert_eq!(fake.deleted.len(), 1, "one node pulls for its update");
    let moving = fake.deleted[0].clone();
    let calls = |console: &mut FakeConsole, asked: PrewarmCommand| {
        console.engine.preview(&Command::Prewarm(asked), fake.now).unwrap().calls[1..].to_vec()
    };
    let on_each = |nodes| format!("POST pods, one on each of {nodes} nodes; DELETE each once its node is updated");
    assert_eq!(calls(&mut console, start("v3")), [on_each(6)]);
    assert_eq!(calls(&mut console, start("v2")), [on_each(5)], "its update brings these");
    let here = PrewarmNodes::Node(moving);
    let one = "POST pods, one on 1 node; DELETE it once its node is updated";
    assert_eq!(calls(&mut console, start_on("v3", here.clone())), [one]);
    assert_eq!(calls(&mut console, start_on("v2", here)), Vec::<String>::new());
}

#[test]
fn the_limit_that_holds_is_named() {
    let (mut fake, mut console) = six();
    let says = |console: &mut FakeConsole, fake: &FakeCluster, max: Limit, per_site: Limit| {
        let PrewarmCommand::Start { source, nodes, method, .. } = start("v2") else { unreachable!() };
        let limits = PrewarmLimits { max_pulling: max, max_pulling_per_site: per_site, ..PrewarmLimits::default() };
        let command = Command::Prewarm(PrewarmCommand::Start { source, nodes, limits, method });
        let effects = console.engine.preview(&command, fake.now).unwrap().effects;
        effects.into_iter().find(|line| line.contains("pull") && line.contains("at a time")).unwrap()
    };
    let at = |nodes| Limit::At(IntOrPercent::Int(nodes));
    let none = Limit::Default;
    let said = says(&mut console, &fake, none, none);
    assert_eq!(said, "At most 1 node pulls at a time, updates included (as many as may be down).");
    let said = says(&mut console, &fake, at(4), at(2));
    assert_eq!(said, "At most 4 nodes pull at a time, of each site at most 2, updates included.");
    console.set_image(&mut fake, "agent:v2");
    console.ask(&mut fake, Command::Tune(Tuning { max_pulling: Some(at(3)), ..Tuning::default() })).unwrap();
    let said = says(&mut console, &fake, none, none);
    assert_eq!(said, "At most 3 nodes pull at a time, updates included (the rollout's limit).");
    let said = says(&mut console, &fake, at(5), none);
    assert_eq!(said, "At most 3 nodes pull at a time, updates included (the rollout's limit; 5 are asked for).");
}

#[test]
fn an_image_that_the_registry_does_not_have_is_warned_of() {
    let warnings = |console: &mut FakeConsole, fake: &FakeCluster, tag| {
        console.engine.preview(&Command::Prewarm(start(tag)), fake.now).unwrap().warnings
    };
    let said = "image not found: agent:v2 could not be pulled on n2. The other nodes ask the same registry for it.";
    // By a pod for pre-warming.
    let (fake, mut console) = under_way();
    assert_eq!(warnings(&mut console, &fake, "v2"), [said]);
    assert_eq!(warnings(&mut console, &fake, "v3"), Vec::<String>::new());
    // By an update.
    let (mut fake, mut console) = six();
    fake.slow = true;
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 5);
    console.run_for(&mut fake, 3);
    assert_eq!(warnings(&mut console, &fake, "v2"), Vec::<String>::new());
    let node = fake.deleted[0].clone();
    fake.change_pod(&node, |pod| {
        let container = &mut pod.containers[0];
        container.image_present = false;
        container.state = ContainerState::Waiting { reason: "ErrImagePull".into(), message: Some(NOT_FOUND.into()) };
    });
    console.run_for(&mut fake, 3);
    assert_eq!(warnings(&mut console, &fake, "v2"), [said.replace("n2", &node)]);
    assert_eq!(warnings(&mut console, &fake, "v3"), Vec::<String>::new());
}

/// A retry where nothing failed would do nothing. Only who drives knows what it holds back after a failure.
#[test]
fn a_retry_where_nothing_failed_is_refused() {
    let (mut fake, mut console) = six();
    give(&mut fake, &mut console, start("v2"));
    fake.warm_arrives("n1");
    console.run_for(&mut fake, 3);
    let retry = Command::Prewarm(PrewarmCommand::Retry);
    let refused = console.engine.preview(&retry, fake.now).unwrap_err().to_string();
    assert_eq!(refused, "nothing failed, so nothing is tried again (1 of 6 present, 2 pulling, 3 waiting)");
    assert!(console.ask(&mut fake, retry.clone()).is_err());
    let mut one_shot = FakeConsole::open_as(&fake, "ada", Role::OneShot);
    one_shot.run(&mut fake);
    let preview = one_shot.engine.preview(&retry, fake.now).unwrap();
    assert!(preview.effects[0].starts_with("No pull is seen to have failed."), "{:?}", preview.effects);
    assert_eq!(preview.calls, ["PUT leases/rolldeck-agent (pre-warm)"]);
}

/// A rollout that halted because its image cannot be pulled holds its pull slots: pre-warming another image waits for them.
#[test]
fn what_holds_the_slots_is_said() {
    let (mut fake, mut console) = six();
    fake.broken.push("agent:v2".into());
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 5);
    console.run_for(&mut fake, 30);
    let node = fake.deleted[0].clone();
    let snapshot = console.snapshot(&fake);
    assert_eq!(snapshot.budget_and_slots(), "down 1 of 1: 1 ours, pull slots 1 of 1 (1 fails)");
    let mut paced = snapshot;
    paced.settings.budgets.pace = Pace::Auto;
    assert!(
        paced.budget_and_slots().ends_with("pull slots 1 of 1 (1 fails), pace auto"),
        "{}",
        paced.budget_and_slots()
    );
    let PrewarmCommand::Start { source, nodes, method, .. } = start("v3") else { unreachable!() };
    let asked = PrewarmCommand::Start { source, nodes, limits: PrewarmLimits::default(), method };
    let waits = format!(
        "waits for pull slots: the halted rollout holds 1, and there are 1; those of nodes whose pull fails ({node}) stay taken until these \
         get an image that can be pulled: roll back, or another image; a larger --max-pulling lets pre-warming go on beside them"
    );
    let preview = console.engine.preview(&Command::Prewarm(asked.clone()), fake.now).unwrap();
    assert!(preview.effects.contains(&format!("At first it {waits}.")), "{:?}", preview.effects);
    give(&mut fake, &mut console, asked);
    console.run_for(&mut fake, 3);
    let snapshot = console.snapshot(&fake);
    assert_eq!(snapshot.prewarming_waits().as_ref(), Some(&waits));
    assert_eq!(snapshot.prewarm.unwrap().counts.pulling, 0);
    // With room beside them it moves, and says nothing.
    give(&mut fake, &mut console, start("v3"));
    console.run_for(&mut fake, 3);
    let snapshot = console.snapshot(&fake);
    assert_eq!(snapshot.prewarming_waits(), None);
    assert_eq!(
        snapshot.budget_and_slots(),
        "down 1 of 1: 1 ours, pull slots 2 in use (1 fails, 1 pre-warms): updates up to 1, pre-warm up to 2"
    );
    // Where nobody drives, that is what it waits for.
    console.ask(&mut fake, Command::StopDriving).unwrap();
    console.run_for(&mut fake, 1);
    let waits = console.snapshot(&fake).prewarming_waits();
    assert_eq!(waits.as_deref(), Some("nobody pre-warms: no further node begins to pull"));
}

/// Kubelets do not break off a pull: after a roll back the slot stays taken, and it is said by what.
#[test]
fn a_slot_that_a_roll_back_leaves_taken_is_named() {
    let (mut fake, mut console) = six();
    let nodes: Vec<_> = fake.nodes.keys().cloned().collect();
    for node in &nodes {
        fake.change_pod(node, |pod| pod.containers[0].image_present = true);
        fake.change_node(node, |node| node.images = [ListedImage { name: "agent:v1".into(), bytes: 1 }].into());
    }
    fake.slow = true;
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 5);
    console.run_for(&mut fake, 3);
    let node = fake.deleted[0].clone();
    assert_eq!(console.snapshot(&fake).budget_and_slots(), "down 1 of 1: 1 ours, pull slots 1 of 1");
    fake.undeletable.insert(node, EffectErrorKind::Forbidden);
    console.ask(&mut fake, Command::Undo { to: None }).unwrap();
    console.run_for(&mut fake, 1);
    let said = console.snapshot(&fake).budget_and_slots();
    assert!(said.ends_with("pull slots 1 of 1 (1 still pulls what is no longer the target)"), "{said}");
    let node = fake.deleted[0].clone();
    fake.change_pod(&node, |pod| {
        pod.containers[0].state = ContainerState::Waiting { reason: "ImagePullBackOff".into(), message: None }
    });
    console.run_for(&mut fake, 1);
    let said = console.snapshot(&fake).budget_and_slots();
    assert!(said.ends_with("pull slots 1 of 1 (1 fails on what is no longer the target)"), "{said}");
}

#[test]
fn a_second_pause_says_that_it_is_paused_already() {
    let (mut fake, mut console) = under_way();
    give(&mut fake, &mut console, PrewarmCommand::Pause);
    let mut eve = FakeConsole::open_as(&fake, "eve", Role::OneShot);
    fake.wait(60);
    eve.run(&mut fake);
    let pause = Command::Prewarm(PrewarmCommand::Pause);
    let preview = eve.engine.preview(&pause, fake.now).unwrap();
    let at = UtcTime { at: fake.now - Duration::from_secs(60), now: fake.now };
    assert_eq!(preview.effects[0], format!("It is paused already, by ops@bastion at {at}."));
    assert_eq!(eve.ask(&mut fake, pause).unwrap(), "pre-warming is paused already, and stays so");
    eve.run_for(&mut fake, 1);
    let paused = eve.snapshot(&fake).prewarm.unwrap().request.paused.unwrap();
    assert_eq!(person_of(&paused.by), "ops@bastion", "it is paused since the first");
    // A request for the same images lifts it.
    let effects = eve.engine.preview(&Command::Prewarm(start("v2")), fake.now).unwrap().effects;
    let lifts = format!("Lifts the pause of pre-warming, by ops@bastion at {at}.");
    assert!(effects.contains(&lifts), "{effects:?}");
}

#[test]
fn without_a_rollout_there_is_no_step_whose_nodes_could_be_meant() {
    let mut fake = FakeCluster::rolling(4, 1);
    let mut console = FakeConsole::open_as(&fake, "ops", Role::OneShot);
    console.run(&mut fake);
    for nodes in [PrewarmNodes::LetGo, PrewarmNodes::StepAhead] {
        let refused = console.engine.preview(&Command::Prewarm(start_on("v2", nodes)), fake.now).unwrap_err();
        assert!(refused.to_string().contains("there is no step whose nodes could be meant"), "{refused}");
    }
}

/// What ends or stands still with a release, or with the driver, is said with it.
#[test]
fn a_release_and_a_driver_that_stops_say_what_becomes_of_pre_warming() {
    let effects = |console: &mut FakeConsole, fake: &FakeCluster, command: &Command| {
        console.engine.preview(command, fake.now).unwrap().effects
    };
    let (mut fake, mut console) = six();
    console.ask(&mut fake, Command::Adopt).unwrap();
    let (release, stop) = (Command::Release(Early::Accept), Command::StopDriving);
    let ends = "Pre-warming ends with it: its pods are deleted.".to_owned();
    assert!(!effects(&mut console, &fake, &release).contains(&ends));
    assert_eq!(effects(&mut console, &fake, &stop)[0], "Nothing more is replaced until somebody drives again.");
    give(&mut fake, &mut console, start("v2"));
    console.run_for(&mut fake, 3);
    assert!(effects(&mut console, &fake, &release).contains(&ends));
    let stands = "Nothing more is replaced, and none is pre-warmed, until somebody drives again.";
    assert_eq!(effects(&mut console, &fake, &stop)[0], stands);
    console.ask(&mut fake, release).unwrap();
    console.run_for(&mut fake, 10);
    assert!(fake.warm.is_empty(), "and so it does");
}

/// Who only pre-warms holds the lease, and replaces no pod: the DaemonSet's own controller does, before and after.
#[test]
fn who_only_pre_warms_is_not_said_to_drive() {
    let (mut fake, mut console) = under_way();
    console.run(&mut fake);
    assert_eq!(console.snapshot(&fake).driving().to_string(), "you pre-warm, its controller drives");
    let stop = console.engine.preview(&Command::StopDriving, fake.now).unwrap().effects;
    let goes_on = "Its own controller replaces pods, as before; a pause stops that.";
    assert_eq!(stop, ["Pre-warming stops until somebody drives again.", goes_on]);
    let mut eve = FakeConsole::open_as(&fake, "eve", Role::OneShot);
    for _ in 0..20 {
        console.run_for(&mut fake, 1);
        eve.run(&mut fake);
    }
    let holder = console.snapshot(&fake).identity;
    assert_eq!(eve.snapshot(&fake).driving().to_string(), format!("{holder} pre-warms, its controller drives"));
    console.ask(&mut fake, Command::Adopt).unwrap();
    console.run_for(&mut fake, 10);
    assert_eq!(console.snapshot(&fake).driving().to_string(), "you drive");
    let stop = console.engine.preview(&Command::StopDriving, fake.now).unwrap().effects;
    assert_eq!(stop[0], "Nothing more is replaced, and none is pre-warmed, until somebody drives again.");
}

/// Its pulls take the same slots: a rollout that is under way goes on later.
#[test]
fn that_another_image_keeps_the_rollout_waiting_is_said_before() {
    let (mut fake, mut console) = requiring(None);
    let says = |console: &mut FakeConsole, fake: &FakeCluster, tag: &str| {
        let command = Command::Prewarm(start_on(tag, PrewarmNodes::All));
        let effects = console.engine.preview(&command, fake.now).unwrap().effects;
        effects.iter().any(|line| line.contains("waits for pull slots meanwhile"))
    };
    assert!(says(&mut console, &fake, "v3"));
    assert!(!says(&mut console, &fake, "v2"), "the rollout needs it");
    console.ask(&mut fake, Command::Step(Step::Partition(IntOrPercent::Int(20)))).unwrap();
    console.run_for(&mut fake, 1);
    assert!(!says(&mut console, &fake, "v3"), "nothing may go");
}

#[test]
fn where_all_nodes_have_the_images_it_says_how_many_they_are() {
    let (mut fake, mut console) = six();
    let begins = Command::Prewarm(start("v2"));
    let already = |console: &mut FakeConsole, fake: &FakeCluster, command: &Command| {
        lines_with(console, fake, command, " already: there is nothing to pull now.")
    };
    assert_eq!(already(&mut console, &fake, &begins), [""; 0]);
    give(&mut fake, &mut console, start("v2"));
    for node in ["n1", "n2", "n3", "n4", "n5", "n6"] {
        assert_eq!(already(&mut console, &fake, &begins), [""; 0], "{node}");
        fake.warm_arrives(node);
        console.run_for(&mut fake, 5);
    }
    assert_eq!(
        already(&mut console, &fake, &begins),
        ["All 6 nodes have agent:v2 already: there is nothing to pull now."]
    );
    assert_eq!(lines_with(&mut console, &fake, &begins, "pulls agent:v2"), [""; 0]);
    let one = Command::Prewarm(start_on("v2", PrewarmNodes::Node("n3".into())));
    assert_eq!(already(&mut console, &fake, &one), ["n3 has agent:v2 already: there is nothing to pull now."]);
}

/// Found by a newcomer: pre-warming had ended, another image was set, and all nodes of a thin link pulled it.
#[test]
fn a_new_template_says_which_nodes_pull_it_by_pre_warming_that_goes_on() {
    let mut fake = FakeCluster::rolling(20, 1);
    fake.holds_images = false;
    let mut console = FakeConsole::open(&fake, "ops");
    console.engine.command(super::prewarm::start(PrewarmSource::Template, PrewarmNodes::All, 2), fake.now).unwrap();
    console.run_for(&mut fake, 5);
    let v3 = Command::SetImage([("agent".to_owned(), "agent:v3".parse().unwrap())].into());
    let warned = |console: &mut FakeConsole, fake: &FakeCluster| {
        let warnings = console.engine.preview(&v3, fake.now).unwrap().warnings;
        warnings.into_iter().find(|line| line.starts_with("Pre-warming of the template's images"))
    };
    let says = "Pre-warming of the template's images, which ops@bastion asked for, goes on with the new ones: 20 nodes pull agent:v3, whether a step lets them \
                go or not, until it is cancelled.";
    assert_eq!(warned(&mut console, &fake).as_deref(), Some(says));
    console.engine.command(Command::Prewarm(PrewarmCommand::Cancel), fake.now).unwrap();
    console.run_for(&mut fake, 5);
    assert_eq!(warned(&mut console, &fake), None);
}

/// Whoever rolls back leaves the request for pre-warming as it is, in the name of who made it: what it brings from then on is said before.
#[test]
fn a_roll_back_says_what_becomes_of_pre_warming() {
    let undo = Command::Undo { to: None };
    let begun = |source: PrewarmSource, updated: u32| {
        let (mut fake, mut console) = six();
        console.set_image(&mut fake, "agent:v2");
        console.partition(&mut fake, 6 - updated);
        console.run_for(&mut fake, 30);
        assert_eq!(fake.at("hash2"), updated as usize);
        let mut ben = FakeConsole::open_as(&fake, "ben", Role::OneShot);
        ben.ask(&mut fake, super::prewarm::start(source, PrewarmNodes::All, 2)).unwrap();
        console.run_for(&mut fake, 5);
        (fake, console)
    };
    for source in [PrewarmSource::Template, super::prewarm::image("v2")] {
        let (mut fake, mut console) = begun(source, 0);
        let says = "Pre-warming that ben@bastion asked for ends with it: no pod is to be replaced, so that the DaemonSet is handed back at once.";
        assert_eq!(lines_with(&mut console, &fake, &undo, "Pre-warming"), [says]);
        console.ask(&mut fake, undo.clone()).unwrap();
        console.run_for(&mut fake, 30);
        assert_eq!((fake.warm_nodes().len(), console.snapshot(&fake).prewarm.is_none()), (0, true));
    }
    let (fake, mut console) = begun(PrewarmSource::Template, 1);
    let says = "Pre-warming that ben@bastion asked for goes on with the images of that revision, until it is cancelled, or this roll back is complete and the DaemonSet \
                is handed back: 1 node pulls agent:v1.";
    assert_eq!(lines_with(&mut console, &fake, &undo, "Pre-warming"), [says]);

    let (mut fake, mut console) = begun(PrewarmSource::Template, 0);
    console.keep(&mut fake);
    let says = "Pre-warming that ben@bastion asked for has nothing left to bring: its nodes have agent:v1 already.";
    assert_eq!(lines_with(&mut console, &fake, &undo, "Pre-warming"), [says]);
    console.ask(&mut fake, undo.clone()).unwrap();
    console.run_for(&mut fake, 5);
    assert!(fake.warm_nodes().is_empty(), "nothing is brought where each node runs it: {:?}", fake.warm_nodes());

    let (mut fake, mut console) = begun(super::prewarm::image("v2"), 1);
    let says = "Pre-warming that ben@bastion asked for goes on with agent:v2, until it is cancelled, or this roll back is complete and the DaemonSet is handed back.";
    assert_eq!(lines_with(&mut console, &fake, &undo, "Pre-warming"), [says]);
    console.keep(&mut fake);
    let kept = "Pre-warming that ben@bastion asked for goes on with agent:v2, until it is cancelled or the DaemonSet is handed back.";
    assert_eq!(lines_with(&mut console, &fake, &undo, "Pre-warming"), [kept]);
    console.ask(&mut fake, Command::Prewarm(PrewarmCommand::Pause)).unwrap();
    assert_eq!(lines_with(&mut console, &fake, &undo, "Pre-warming"), [""; 0], "it brings nothing");
}
