//! A DaemonSet that is adopted while nothing is rolled out.

use super::*;
use crate::engine::model::settings::Secs;
use crate::engine::model::template::Template;
use crate::engine::report::remedies::Remedy;

/// The soak time is a rollout's. A pod that somebody deletes while none goes on is available again once its controller says so.
#[test]
fn nothing_soaks_while_nothing_is_rolled_out() {
    let mut fake = FakeCluster::rolling(5, 2);
    fake.defaults = Tuning { soak_secs: Some(Secs(10)), ..Tuning::default() };
    let mut console = FakeConsole::open(&fake, "ada");
    console.ask(&mut fake, Command::Adopt).unwrap();
    console.run_for(&mut fake, 60);
    assert_eq!(console.snapshot(&fake).doing().to_string(), "idle");
    fake.slow = true;
    fake.remove_pod("n2");
    fake.create_pod("n2");
    console.run_for(&mut fake, 1);
    assert_eq!(console.snapshot(&fake).doing().to_string(), "idle, 1 node unavailable", "it starts");
    fake.set_ready("n2", true);
    console.run_for(&mut fake, 1);
    let snapshot = console.snapshot(&fake);
    assert_eq!((snapshot.doing().to_string().as_str(), snapshot.counts.available), ("idle", 5));
    assert_eq!(snapshot.settings.gates.soak_secs, Secs(10), "a rollout would soak for longer");

    // Once there is something to roll out, what has the new revision soaks, also before a step.
    console.set_image(&mut fake, "agent:v2");
    fake.remove_pod("n2");
    fake.create_pod("n2");
    console.run_for(&mut fake, 1);
    fake.set_ready("n2", true);
    console.run_for(&mut fake, 1);
    assert_eq!(console.state(&fake, "n2").0, NodeState::Soaking);
}

/// As `kubectl rollout restart` does, twice: what the nodes run is the way back, and not the template in between, which ran nowhere.
#[test]
fn back_from_templates_of_others_that_ran_nowhere_is_what_the_nodes_run() {
    let mut fake = FakeCluster::rolling(4, 1);
    let mut console = FakeConsole::open_as(&fake, "ada", Role::OneShot);
    console.ask(&mut fake, Command::Adopt).unwrap();
    console.run_for(&mut fake, 5);
    for restarted_at in ["09:00", "09:05"] {
        // The image stays, so that every node has the images of the template in between, too.
        fake.set_template(Template::from_json(json!({
            "metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": restarted_at}},
            "spec": {"containers": [{"name": "agent", "image": "agent:v1"}]},
        })));
        fake.reconcile();
        console.run_for(&mut fake, 5);
    }
    let preview = console.engine.preview(&Command::Undo { to: None }, fake.now).unwrap();
    assert_eq!(preview.title, "Roll back to revision 1");
    assert!(preview.nodes.is_empty(), "{preview:?}");
    let snapshot = console.snapshot(&fake);
    let roles: Vec<_> = snapshot.revisions.iter().map(|one| (one.number, snapshot.role_of(one))).collect();
    assert_eq!(roles, [(Some(3), Some("current")), (Some(2), None), (Some(1), Some("target of the rollout"))]);
}

/// As after another image: a step lets nodes go, and nobody drives, which `status` says and offers.
#[test]
fn who_resumes_with_a_template_of_others_is_offered_a_step_and_a_drive() {
    let mut fake = FakeCluster::rolling(4, 1);
    let mut console = FakeConsole::open_as(&fake, "ada", Role::OneShot);
    console.ask(&mut fake, Command::Adopt).unwrap();
    console.run_for(&mut fake, 5);
    fake.set_template(Template::from_json(json!({
        "metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": "09:00"}},
        "spec": {"containers": [{"name": "agent", "image": "agent:v1"}]},
    })));
    fake.reconcile();
    console.run_for(&mut fake, 5);
    assert_eq!(console.snapshot(&fake).guidance().unwrap().remedies, [Remedy::Resume]);
    console.ask(&mut fake, Command::Resume).unwrap();
    console.run_for(&mut fake, 5);
    let guidance = console.snapshot(&fake).guidance().unwrap();
    assert!(guidance.waits.starts_with("nobody drives; held: no node may be updated yet"), "{}", guidance.waits);
    assert!(matches!(guidance.remedies[..], [Remedy::Step(_), Remedy::Select, Remedy::Drive]), "{guidance:?}");
}

/// The answer and what is said of the present state stand one below the other: they do not say the same.
#[test]
fn who_adopts_what_is_adopted_is_told_once_what_that_means() {
    let mut fake = FakeCluster::rolling(4, 1);
    let mut console = FakeConsole::open_as(&fake, "ada", Role::OneShot);
    console.ask(&mut fake, Command::Adopt).unwrap();
    console.run_for(&mut fake, 5);
    let answer = console.ask(&mut fake, Command::Adopt).unwrap();
    let waits = console.snapshot(&fake).guidance().map(|guidance| guidance.waits).unwrap_or_default();
    assert_eq!(answer, "adopted already, nothing changed");
    assert_eq!(waits, "adopted: its controller replaces no pod until it is handed back");
}
