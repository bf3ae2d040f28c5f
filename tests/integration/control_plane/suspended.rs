//! A driver's process is suspended for longer than its Lease lasts, as by Ctrl-Z in its terminal, and then goes on.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;

use super::fixture::DS;
use super::played::{PlayedNodes, V1, V2};

/// For how long a Lease lasts that nobody renews.
const LEASE: Duration = Duration::from_secs(15);

/// While the first driver is suspended, a second one takes the Lease. The first one goes on in the middle of that: it takes no node down, says who drives,
/// and ends with the rollout.
#[test]
fn a_driver_that_was_suspended_takes_no_node_down_where_another_drives_by_now() {
    let Some(made) = PlayedNodes::new("suspended-taken", 8) else { return };
    made.roll_out_to("1");
    made.operator.ok(&["step", DS, "--to", "100%", "--yes"]);
    let mut first = made.drive();
    made.until("the next node is down", |made| made.kubelet.count(V2) >= 2);
    first.signal(Signal::STOP);
    let silent = Instant::now();
    made.until("its Lease has run out", |made| made.said(&["status", DS]).contains("its driver is silent"));
    println!("seen to be silent after {:.1?}", silent.elapsed());
    let mut second = made.drive();
    let before = made.kubelet.count(V2);
    made.until("the second one has updated a node", |made| made.kubelet.count(V2) > before);
    first.signal(Signal::CONT);
    assert!(second.end().success(), "{}", second.seen());
    assert!(first.end().success(), "{}", first.seen());
    println!("{}\n{}", first.seen(), second.seen());
    let (_, woken) = first.seen().split_once("you drove: the lease ran out").expect("it says that it drives no more");
    assert!(woken.contains(" drives\n") && !woken.contains("you drive it now"), "{woken}");
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
    driver.until("the lease ran out");
    std::thread::sleep(Duration::from_secs(10));
    assert_eq!(old(&made), left, "{}", driver.seen());
    made.kubelet.sleep_on(&[]);
    assert!(driver.end().success(), "{}", driver.seen());
    println!("{}", driver.seen());
    assert_eq!((made.kubelet.count(V2), made.kubelet.most_down()), (8, 2));
}
