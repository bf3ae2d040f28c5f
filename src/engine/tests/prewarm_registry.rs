//! Pre-warming from a registry that limits pulls, or that has no such image.

use std::time::Duration;

use super::prewarm::{image, requiring, start, state, warming};
use crate::engine::fake_cluster::{FakeCluster, FakeConsole};
use crate::engine::model::command::{Command, PrewarmCommand, Step, Takeover};
use crate::engine::model::facts::Severity;
use crate::engine::model::node::ImageState;
use crate::engine::model::prewarm::{PrewarmNodes, PrewarmSource, PrewarmState, PrewarmWait};
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::settings::{PrewarmAhead, Tuning};
use crate::engine::report::diagnosis::{Diagnosis, Finding};
use crate::engine::report::remedies::Remedy;
use crate::engine::report::snapshot::Phase;
use crate::engine::report::story::{NodeMoment, Story};

const TOO_MANY_PULLS: &str =
    "429 Too Many Requests - Server message: toomanyrequests: You have reached your pull rate limit";

#[test]
fn a_registry_that_limits_pulls_is_asked_by_one_node_at_a_time_and_ever_more_seldom() {
    let (mut fake, mut console) = warming();
    fake.warm_fails("n1", TOO_MANY_PULLS);
    console.run_for(&mut fake, 1);
    fake.warm_fails("n2", TOO_MANY_PULLS);
    console.run_for(&mut fake, 25);
    assert!(fake.warm_nodes().is_empty(), "another would be refused as well: {:?}", fake.warm_nodes());
    let met = |again_at| PrewarmState::Waiting(PrewarmWait::RateLimited { node: "n1".into(), again_at });
    let PrewarmState::Waiting(PrewarmWait::RateLimited { again_at: Some(again), .. }) =
        state(&mut console, &fake, "n3")
    else {
        panic!("{:?}", state(&mut console, &fake, "n3"))
    };
    assert_eq!(state(&mut console, &fake, "n3"), met(Some(again)));
    assert!(again.since(fake.now) <= Duration::from_secs(5), "30 s after the refusal: {again:?}");
    console.run_for(&mut fake, 10);
    assert_eq!(fake.warm_nodes(), ["n3"], "one tries");
    assert_eq!(state(&mut console, &fake, "n4"), met(None));
    fake.warm_fails("n3", TOO_MANY_PULLS);
    console.run_for(&mut fake, 50);
    assert!(fake.warm_nodes().is_empty(), "{:?}", fake.warm_nodes());
    console.run_for(&mut fake, 15);
    assert_eq!(fake.warm_nodes(), ["n4"], "after twice as long");
    fake.warm_arrives("n4");
    console.run_for(&mut fake, 2);
    assert_eq!(fake.warm_nodes().len(), 3, "it serves again: two pull, as before");
}

#[test]
fn a_network_that_fails_is_not_taken_for_a_limit_of_the_registry() {
    let (mut fake, mut console) = warming();
    fake.warm_fails("n1", "dial tcp 10.0.0.1:443: i/o timeout");
    console.run_for(&mut fake, 2);
    assert_eq!(fake.warm_nodes(), ["n2", "n3"]);
}

#[test]
fn an_operator_who_asks_again_is_not_kept_waiting_by_the_limit_of_the_registry() {
    let (mut fake, mut console) = warming();
    fake.warm_fails("n1", TOO_MANY_PULLS);
    console.run_for(&mut fake, 5);
    assert_eq!(fake.warm_nodes(), ["n2"]);
    console.engine.command(Command::Prewarm(PrewarmCommand::Retry), fake.now).unwrap();
    console.run_for(&mut fake, 5);
    assert_eq!(fake.warm_nodes().len(), 2);
}

#[test]
fn a_verdict_of_the_registry_takes_no_slot_and_stands_until_somebody_says_again() {
    let (mut fake, mut console) = warming();
    fake.warm_fails("n1", "failed to resolve reference \"agent:v2\": agent:v2: not found");
    fake.warm_pulls("n2");
    console.run_for(&mut fake, 5);
    fake.warm_pulls("n3");
    console.run_for(&mut fake, 300);
    assert_eq!(fake.warm_nodes(), ["n2", "n3"], "its kubelet does not ask again and again");
    let PrewarmState::Failed { cause, again_at: None, .. } = state(&mut console, &fake, "n1") else { panic!() };
    assert!(cause.message.unwrap().contains("agent:v2: not found"), "its kubelet's words are kept");
    let made = fake.warm_made;
    console.engine.command(Command::Prewarm(PrewarmCommand::Retry), fake.now).unwrap();
    console.run_for(&mut fake, 5);
    assert_eq!(fake.warm_nodes(), ["n2", "n3"], "it takes a slot again, so it waits for one");
    fake.warm_arrives("n2");
    console.run_for(&mut fake, 5);
    assert_eq!((fake.warm_nodes(), fake.warm_made), (vec!["n1".into(), "n2".into(), "n3".into()], made + 1));
}

/// Whenever the registry gives the image again, whatever its answers were before, and however long kubelets take to end pods.
#[test]
fn no_more_nodes_may_pull_than_the_limit_allows_whenever_the_registry_comes_back() {
    let answers = [MISSING, TOO_MANY_PULLS, "dial tcp 10.0.0.1:443: i/o timeout", "no match for platform in manifest"];
    for (nth, back_after) in [20, 45, 90, 150].into_iter().enumerate() {
        let (mut fake, mut console) = warming();
        fake.hung = true;
        fake.warm_arrives("n1");
        let may_pull =
            |fake: &FakeCluster| fake.warm.values().filter(|warm| !warm.pod.containers[0].image_present).count();
        for second in 0..400 {
            console.run(&mut fake);
            assert!(may_pull(&fake) <= 2, "{nth}, {second}: {:?}", fake.warm_nodes());
            fake.wait(1);
            let there = fake.warm.values().filter(|warm| !warm.pod.containers[0].image_present);
            let there: Vec<_> = there.map(|it| (it.pod.clone(), it.pod.node.clone().unwrap())).collect();
            for (at, (pod, node)) in there.iter().enumerate() {
                if pod.deletion_at.is_some_and(|until| until + Duration::from_secs(3) < fake.now) {
                    fake.take_warm_pod(&pod.uid);
                } else if second < back_after {
                    fake.warm_fails(node, answers[(nth + second + at) % answers.len()]);
                } else if second % 4 == 0 {
                    fake.warm_arrives(node);
                }
            }
        }
        let counts = console.snapshot(&fake).prewarm.unwrap().counts;
        assert!(counts.present > 2 && counts.present + counts.failed == 20, "{counts:?}");
    }
}

/// Pre-warming of the template's images is asked for once, and not again with each image.
#[test]
fn what_the_registry_said_of_an_image_does_not_hold_for_the_next_one() {
    let (mut fake, mut console) = requiring(None);
    for node in ["n1", "n2", "n3"] {
        fake.warm_fails(node, MISSING);
    }
    console.run_for(&mut fake, 3);
    assert!(fake.warm_nodes().is_empty() && console.snapshot(&fake).prewarm.unwrap().unobtainable.is_some());
    console.set_image(&mut fake, "agent:v3");
    console.partition(&mut fake, 17);
    console.run_for(&mut fake, 3);
    assert_eq!(fake.warm_nodes(), ["n1", "n2", "n3"]);
    // Nor for whoever drives next, if somebody has set the image meanwhile.
    for node in ["n1", "n2", "n3"] {
        fake.warm_fails(node, MISSING);
    }
    console.run_for(&mut fake, 3);
    assert!(fake.warm_nodes().is_empty());
    drop(console);
    fake.wait(30);
    let mut next = FakeConsole::open(&fake, "eve");
    next.run_for(&mut fake, 20);
    next.ask(&mut fake, Command::Drive(Takeover::IfFree)).unwrap();
    next.run_for(&mut fake, 400);
    assert!(fake.warm_nodes().is_empty(), "it stands after a takeover, too: {:?}", fake.warm_nodes());
    next.set_image(&mut fake, "agent:v4");
    next.partition(&mut fake, 17);
    next.run_for(&mut fake, 3);
    assert_eq!(fake.warm_nodes(), ["n1", "n2", "n3"]);
}

const MISSING: &str = "failed to resolve reference \"agent:v2\": agent:v2: not found";

#[test]
fn nodes_that_need_an_image_which_cannot_be_pulled_say_so_and_offer_another() {
    let (mut fake, mut console) = requiring(None);
    assert_eq!(fake.warm_nodes(), ["n1", "n2", "n3"]);
    assert!(!console.snapshot(&fake).stands_for_lack_of_images(), "they are pulled");
    fake.warm_fails("n1", MISSING);
    fake.warm_fails("n2", MISSING);
    console.run_for(&mut fake, 2);
    assert_eq!(console.state(&fake, "n1").1, "image not on the node: its pull failed, image not found");
    let snapshot = console.snapshot(&fake);
    assert!(!snapshot.stands_for_lack_of_images(), "n3 pulls");
    let waits = "waits for 3 nodes: 2 without the image, image not found (n1, n2), 1 without the image yet (n3)";
    assert_eq!(snapshot.guidance().unwrap().waits, waits, "each reason has its own names");
    fake.warm_fails("n3", MISSING);
    console.run_for(&mut fake, 2);
    let snapshot = console.snapshot(&fake);
    assert!(snapshot.stands_for_lack_of_images() && fake.deleted.is_empty());
    assert_eq!(snapshot.phase, Phase::Held, "no node goes before somebody acts");
    assert!(console.engine.kept().failing.unwrap().lacks_images, "the list of all DaemonSets is told");
    let guidance = snapshot.guidance().unwrap();
    let waits = "waits for 3 nodes: without the image, image not found (n1, n2, n3)";
    let ways = [Remedy::SetImage, Remedy::Undo, Remedy::RetryPrewarm];
    assert_eq!((guidance.waits.as_str(), guidance.remedies.as_slice()), (waits, &ways[..]));
    assert!(snapshot.requires_what_it_prewarms(snapshot.prewarm.as_ref().unwrap()), "a cancellation helps nobody");
    // Three refusals: the registry is asked by no further node.
    console.partition(&mut fake, 16);
    console.run_for(&mut fake, 3);
    assert_eq!(console.state(&fake, "n4").1, "image not on the node: not pulled, image not found on other nodes");
    let snapshot = console.snapshot(&fake);
    assert!(snapshot.stands_for_lack_of_images());
    let waits = "waits for 4 nodes: without the image, image not found (n1, n2, n3, …)";
    assert_eq!(snapshot.guidance().unwrap().waits, waits, "one reason, on some of them and not tried on the other");
    // The same count, and the same word, in the list, on the pages of nodes and in the summary.
    let failed = snapshot.nodes.iter().filter(|node| node.image == ImageState::Failed).count();
    assert_eq!((failed, snapshot.pulls.counts.failed), (3, 3));
    // One finding.
    let diagnosis = Diagnosis::of(&snapshot);
    let of_images: Vec<&Finding> = diagnosis.findings.iter().filter(|it| it.title.contains("image")).collect();
    let [finding] = of_images[..] else { panic!("{of_images:#?}") };
    assert_eq!(
        (finding.title.as_str(), finding.nodes.len()),
        ("image not found: agent:v2, which the rollout requires", 4)
    );
    let said: Vec<String> = finding.remedies.iter().map(ToString::to_string).collect();
    let retry = "image not found on 3 nodes, and no node got it: no more is tried; correct the image or the pull secret, then retry";
    assert_eq!(said, [retry, "give the DaemonSet an image that is there, or roll back"], "a cancellation is in vain");
    // Who lets more go reads that images come first.
    let preview = console.engine.preview(&Command::Step(Step::Updated(IntOrPercent::Int(6))), fake.now).unwrap();
    let first = "Their images come first: 6 nodes do not have them, and no pod is replaced before its node has; to 4 of them they do not come by themselves: image not found.";
    assert!(preview.effects.iter().any(|line| line == first), "{preview:#?}");
    // A driver that is gone leaves the same advice behind.
    console.engine.command(Command::StopDriving, fake.now).unwrap();
    console.run_for(&mut fake, 3);
    let guidance = console.snapshot(&fake).guidance().unwrap();
    let missing = "nobody drives: 4 nodes may be updated, and nothing moves; 3 of them have no image: image not found";
    assert_eq!(guidance.waits, missing);
    assert_eq!(guidance.remedies, [Remedy::SetImage, Remedy::Undo, Remedy::Drive]);
}

#[test]
fn an_image_that_is_pulled_again_by_itself_is_no_standstill() {
    let (mut fake, mut console) = requiring(None);
    for node in ["n1", "n2", "n3"] {
        fake.warm_fails(node, "dial tcp 10.0.0.1:443: i/o timeout");
    }
    console.run_for(&mut fake, 1);
    let (_, why) = console.state(&fake, "n1");
    assert!(
        why.starts_with("image not on the node yet: its pull failed, ") && why.ends_with("is tried again"),
        "{why}"
    );
    assert!(!console.snapshot(&fake).stands_for_lack_of_images());
}

#[test]
fn pre_warming_of_others_that_keeps_the_rollouts_own_from_its_nodes_is_named() {
    let source = PrewarmSource::Template;
    let (mut fake, mut console) = requiring(Some(start(source.clone(), PrewarmNodes::Node("n9".into()), 3)));
    assert_eq!(fake.warm_nodes(), ["n9"]);
    let (_, why) = console.state(&fake, "n1");
    assert_eq!(why, "image not on the node: what ops@bastion pre-warms does not bring it");
    let snapshot = console.snapshot(&fake);
    assert!(!snapshot.stands_for_lack_of_images(), "that request may end");
    let remedies = [Remedy::PrewarmTarget { all: false }, Remedy::CancelPrewarm];
    assert_eq!(snapshot.guidance().unwrap().remedies, remedies);
    let again =
        Command::Tune(Tuning { require_image: Some(true), prewarm: Some(PrewarmAhead::All), ..Tuning::default() });
    let warned = console.engine.preview(&again, fake.now).unwrap().warnings;
    let said = "What ops@bastion pre-warms now does not bring the images of this rollout: 19 nodes wait for them until";
    assert!(warned.iter().any(|warning| warning.starts_with(said)), "{warned:?}");
    let other = Command::SetImage([("agent".to_owned(), "agent:v3".parse().unwrap())].into());
    let warned = console.engine.preview(&other, fake.now).unwrap().warnings;
    let said = "What ops@bastion pre-warms now does not bring the images of this rollout: 20 nodes wait for them until";
    assert!(warned.iter().any(|warning| warning.starts_with(said)), "{warned:?}");
    // Each of the two ways that are offered helps.
    for way in [start(source, PrewarmNodes::LetGo, 3), Command::Prewarm(PrewarmCommand::Cancel)] {
        console.engine.command(way, fake.now).unwrap();
        console.run_for(&mut fake, 10);
        assert_eq!(fake.warm_nodes(), ["n1", "n2", "n3"]);
        assert_eq!(console.state(&fake, "n1").1, "image not on the node yet");
        assert!(console.engine.preview(&again, fake.now).unwrap().warnings.is_empty());
    }
}

/// Nothing can move before somebody acts.
#[test]
fn a_rollout_whose_images_nobody_brings_is_held_once_what_is_pre_warmed_instead_is_over() {
    let (mut fake, mut console) = requiring(Some(start(PrewarmSource::Template, PrewarmNodes::Node("n9".into()), 3)));
    assert_ne!(console.snapshot(&fake).phase, Phase::Held);
    fake.warm_arrives("n9");
    console.run_for(&mut fake, 3);
    let snapshot = console.snapshot(&fake);
    assert_eq!(snapshot.phase, Phase::Held);
    assert!(snapshot.stands_for_lack_of_images() && snapshot.stands_for_images_that_nobody_brings());
    let guidance = snapshot.guidance().unwrap();
    assert!(guidance.waits.contains("which what ops@bastion pre-warms does not bring"), "{guidance:?}");
    assert_eq!(guidance.remedies, [Remedy::PrewarmTarget { all: false }, Remedy::CancelPrewarm]);
}

/// Somebody has paused pre-warming while nodes wait for their images: nothing moves before it goes on, and a retry would only delete pods.
#[test]
fn a_rollout_that_requires_images_is_held_while_pre_warming_is_paused() {
    let (mut fake, mut console) = requiring(None);
    console.ask(&mut fake, Command::Prewarm(PrewarmCommand::Pause)).unwrap();
    for node in ["n1", "n2", "n3"] {
        fake.warm_fails(node, "dial tcp 10.0.0.1:443: i/o timeout");
    }
    console.run_for(&mut fake, 3);
    let snapshot = console.snapshot(&fake);
    assert_eq!((&snapshot.phase, fake.deleted.len()), (&Phase::Held, 0));
    assert!(!snapshot.stands_for_images_that_nobody_brings(), "whoever paused it decides when it goes on");
    assert_eq!(snapshot.guidance().unwrap().remedies, [Remedy::ResumePrewarm]);
    let diagnosis = Diagnosis::of(&snapshot);
    let waits: Vec<&Finding> = diagnosis.findings.iter().filter(|it| it.title.contains("paused")).collect();
    let [finding] = waits[..] else { panic!("{waits:#?}") };
    assert_eq!(finding.title, "pre-warming is paused by ops@bastion: 3 nodes wait for their images");
    let refused = console.engine.command(Command::Prewarm(PrewarmCommand::Retry), fake.now).unwrap_err();
    assert_eq!(refused.to_string(), "ops@bastion has paused pre-warming: nothing is pulled before it goes on");
    console.ask(&mut fake, Command::Prewarm(PrewarmCommand::Resume)).unwrap();
    console.run_for(&mut fake, 60);
    assert!(!fake.warm_nodes().is_empty(), "they are pulled again");
    assert_ne!(console.snapshot(&fake).phase, Phase::Held);
}

/// The node's pod, which serves, tells nothing of it. A pull that is tried again and fails for the same cause is no news.
#[test]
fn the_story_of_a_node_says_that_its_image_could_not_be_pulled() {
    let (mut fake, mut console) = requiring(None);
    let mut story = Story::default();
    let mut look = |console: &mut FakeConsole, fake: &FakeCluster| -> Vec<(String, String, bool)> {
        story.observe(&console.snapshot(fake));
        let told = |moment: &NodeMoment| {
            (moment.node.to_string(), moment.change.to_string(), moment.change.severity() == Severity::Warning)
        };
        story.moments().map(told).filter(|(_, said, _)| said.contains("image could")).collect()
    };
    assert_eq!(look(&mut console, &fake), []);
    fake.warm_fails("n1", MISSING);
    console.run_for(&mut fake, 2);
    let said = |node: &str| {
        (node.to_owned(), "its image could not be pulled before its update: image not found".to_owned(), true)
    };
    assert_eq!(look(&mut console, &fake), [said("n1")]);
    console.engine.command(Command::Prewarm(PrewarmCommand::Retry), fake.now).unwrap();
    console.run_for(&mut fake, 5);
    assert_eq!(look(&mut console, &fake), [said("n1")]);
    fake.warm_fails("n1", MISSING);
    fake.warm_fails("n2", MISSING);
    console.run_for(&mut fake, 2);
    assert_eq!(look(&mut console, &fake), [said("n1"), said("n2")]);
}

/// A pull of an image that the rollout does not need says nothing of the rollout's own image: no text may read like that.
#[test]
fn the_failure_of_an_image_that_the_rollout_does_not_need_is_told_as_such() {
    let mut fake = FakeCluster::rolling(20, 3);
    fake.holds_images = false;
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.ask(&mut fake, start(image("v9"), PrewarmNodes::All, 2)).unwrap();
    console.run_for(&mut fake, 2);
    let mut story = Story::default();
    story.observe(&console.snapshot(&fake));
    fake.warm_fails("n1", MISSING);
    console.run_for(&mut fake, 2);
    let snapshot = console.snapshot(&fake);
    story.observe(&snapshot);
    let of = "pre-warming of agent:v9, not needed by this rollout,";
    let told: Vec<String> = story.moments().map(|moment| moment.change.to_string()).collect();
    assert!(told.contains(&format!("{of} failed: image not found")), "{told:#?}");
    let titles: Vec<String> = Diagnosis::of(&snapshot).findings.into_iter().map(|found| found.title).collect();
    assert!(titles.contains(&format!("{of} fails")), "{titles:#?}");
}

/// Whoever rolls back is not told that what is tried no more goes on.
#[test]
fn a_roll_back_says_of_named_images_that_cannot_be_had_that_nothing_more_is_brought() {
    let (mut fake, mut console) = warming();
    console.set_image(&mut fake, "agent:v3");
    console.partition(&mut fake, 19);
    console.run_for(&mut fake, 30);
    for _ in 0..3 {
        for node in fake.warm_nodes() {
            fake.warm_fails(&node, MISSING);
        }
        console.run_for(&mut fake, 3);
    }
    assert!(console.snapshot(&fake).prewarm.unwrap().unobtainable.is_some());
    let effects = console.engine.preview(&Command::Undo { to: None }, fake.now).unwrap().effects;
    let says = "Pre-warming that ops@bastion asked for brings nothing more: agent:v2 cannot be had (image not found).";
    assert!(effects.iter().any(|line| line == says), "{effects:?}");
}
