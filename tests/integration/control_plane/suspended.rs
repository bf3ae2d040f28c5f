//! A driver's process is suspended for longer than its Lease lasts, as by Ctrl-Z in its terminal, and then goes on.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;

use super::fixture::DS;
use super::played::{PlayedNodes, V1, V2};

/// For how long a Lease lasts that nobody renews.
const LEASE: Duration = Duration::from_secs(15);

/// While the first driver is suspended, a second one drives, and its operator stops it on purpose. The first one goes on, and must not drive: nobody expects
/// that nodes go down again.
#[test]
fn a_driver_that_was_suspended_does_not_drive_again_once_another_has_driven_and_stopped() {
    let Some(made) = PlayedNodes::new("suspended-taken", 8) else { return };
    made.roll_out_to("1");
    made.operator.ok(&["step", DS, "--to", "100%", "--yes"]);
    let mut first = made.drive();
    made.until("the next node is down", |made| made.kubelet.count(V2) >= 2);
    first.signal(Signal::STOP);
    let silent = Instant::now();
    made.until("its Lease has run out", |made| made.said(&["status", DS]).contains("nobody is seen driving"));
    println!("seen to be silent after {:.1?}", silent.elapsed());
    let mut second = made.drive();
    made.until("the second one has updated a node", |made| made.kubelet.count(V2) >= 4);
    second.signal(Signal::INT);
    println!("the second one ended with {:?}", second.end().code());
    made.until("what it had begun is done", |made| made.kubelet.running().len() == 8);
    let before = made.kubelet.running();
    first.signal(Signal::CONT);
    let (code, errors) = (first.end().code(), first.errors());
    println!("{}{errors}", first.seen());
    assert_eq!(code, Some(7));
    assert!(errors.contains("has driven since"), "{errors}");
    assert!(!first.seen().contains("by somebody else"), "{}", first.seen());
    std::thread::sleep(Duration::from_secs(5));
    assert_eq!((made.kubelet.running(), made.kubelet.most_down()), (before, 1));
    made.operator.ok(&["drive", DS, "--timeout", "120s", "--yes"]);
    assert_eq!((made.kubelet.count(V2), made.kubelet.most_down()), (8, 1));
}

/// Nobody drives meanwhile, and somebody deletes the pods of two nodes. The driver takes the Lease anew, and takes no further node down before these two
/// are up: what it saw before its suspension does not count.
#[test]
fn a_driver_that_was_suspended_looks_again_before_it_takes_a_node_down() {
    let Some(made) = PlayedNodes::new("suspended-alone", 8) else { return };
    made.roll_out_to("1");
    made.operator.ok(&["step", DS, "--to", "100%", "--yes"]);
    let mut driver = made.drive();
    made.until("the driver has updated a node", |made| made.kubelet.count(V2) >= 2);
    driver.signal(Signal::STOP);
    made.until("what it had begun is done", |made| made.kubelet.running().len() == 8);
    let old = |made: &PlayedNodes| -> Vec<String> {
        made.kubelet.running().into_iter().filter(|(_, (image, _))| image == V1).map(|(node, _)| node).collect()
    };
    let gone: Vec<String> = old(&made).into_iter().take(2).collect();
    made.kubelet.sleep_on(&gone.iter().map(String::as_str).collect::<Vec<_>>());
    for pod in made.sandbox.pods() {
        if gone.iter().any(|node| pod["spec"]["nodeName"] == json!(node)) {
            let name = pod["metadata"]["name"].as_str().expect("a name");
            made.sandbox.admin().delete(&made.sandbox.path("pods", name)).ok();
        }
    }
    made.until("two are down", |made| made.kubelet.running().len() == 6);
    let left = old(&made);
    std::thread::sleep(LEASE + Duration::from_secs(5));
    driver.signal(Signal::CONT);
    // That its Lease had run out is printed only if a picture of the rollout is taken before it has the Lease anew.
    driver.until("down 2 of 1");
    std::thread::sleep(Duration::from_secs(10));
    assert_eq!(old(&made), left, "{}", driver.seen());
    made.kubelet.sleep_on(&[]);
    assert!(driver.end().success(), "{}", driver.seen());
    println!("{}", driver.seen());
    assert_eq!((made.kubelet.count(V2), made.kubelet.most_down()), (8, 2));
}

/// Somebody deletes the Lease meanwhile. The limits and the partition of the rollout are gone with it: the driver takes no node down, and ends.
#[test]
fn a_driver_that_was_suspended_ends_where_its_record_was_deleted_meanwhile() {
    let Some(made) = PlayedNodes::new("suspended-deleted", 6) else { return };
    made.roll_out_to("1");
    made.operator.ok(&["step", DS, "--to", "100%", "--yes"]);
    let mut driver = made.drive();
    made.until("the driver has updated a node", |made| made.kubelet.count(V2) >= 2);
    driver.signal(Signal::STOP);
    // A deletion that is on its way reaches the API server, and then the kubelet, a little later.
    std::thread::sleep(Duration::from_secs(2));
    let none_goes =
        |made: &PlayedNodes| made.sandbox.pods().iter().all(|pod| pod["metadata"]["deletionTimestamp"].is_null());
    made.until("what it had begun is done", |made| none_goes(made) && made.kubelet.running().len() == 6);
    made.sandbox.admin().delete(&made.sandbox.path("leases.coordination.k8s.io", "rolldeck-agent")).ok();
    let before = made.kubelet.running();
    std::thread::sleep(LEASE + Duration::from_secs(5));
    driver.signal(Signal::CONT);
    let (code, errors) = (driver.end().code(), driver.errors());
    println!("{}{errors}", driver.seen());
    assert_eq!(code, Some(1));
    assert!(errors.contains("the Lease of the rollout was deleted"), "{errors}");
    assert_eq!(made.kubelet.running(), before);
}

/// A second one completes the rollout meanwhile, and somebody begins the next one, which nobody drives yet. Nor does the first one, which nobody asked to.
#[test]
fn a_driver_that_was_suspended_does_not_drive_a_rollout_that_has_begun_since() {
    let Some(made) = PlayedNodes::new("suspended-over", 6) else { return };
    made.roll_out_to("1");
    made.operator.ok(&["step", DS, "--to", "100%", "--yes"]);
    let mut first = made.drive();
    made.until("the next node is down", |made| made.kubelet.count(V2) >= 2);
    first.signal(Signal::STOP);
    made.until("its Lease has run out", |made| made.said(&["status", DS]).contains("nobody is seen driving"));
    made.operator.ok(&["drive", DS, "--timeout", "120s", "--yes"]);
    assert_eq!(made.kubelet.count(V2), 6);
    made.operator.ok(&["set-image", DS, &format!("agent={V1}"), "--yes"]);
    made.operator.ok(&["step", DS, "--to", "100%", "--yes"]);
    first.signal(Signal::CONT);
    let (code, errors) = (first.end().code(), first.errors());
    println!("{}{errors}", first.seen());
    assert_eq!(code, Some(7));
    // What its watch of Leases still has is told to it in one go, or the record of the second one, too.
    let words = ["another rollout has begun since", "has driven since"];
    assert!(words.iter().any(|words| errors.contains(words)), "{errors}");
    std::thread::sleep(Duration::from_secs(5));
    assert_eq!((made.kubelet.count(V2), made.kubelet.most_down()), (6, 1));
}
