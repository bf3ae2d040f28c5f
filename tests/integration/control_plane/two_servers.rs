//! A control plane with two API servers behind a load balancer: one stops answering, or its cache is behind that of the other.

use std::time::{Duration, Instant};

use super::fixture::{DS, GOOD, NODES};
use super::outage::{Worst, Yard};
use crate::support::control_plane::OtherApiServer;
use crate::support::line::{Line, server_of};
use crate::support::program::text;

#[test]
fn an_api_server_that_stops_answering_delays_a_rollout_until_the_other_one_is_asked() {
    let Some(mut yard) = Yard::new() else { return };
    let other = OtherApiServer::start(&yard.plane, &yard.plane.etcd());
    let balancer = Line::to(other.address(), Duration::ZERO);
    let first = server_of(yard.operator.kubeconfig());
    yard.operator.use_kubeconfig(balancer.kubeconfig(yard.operator.kubeconfig()));
    let worst = Worst::watch(&yard.plane);
    let mut drive = yard.operator.drive(DS, &["--image", &format!("agent={}", GOOD[1]), "--to", "100%"]);
    drive.until_updated(4);
    other.pause();
    balancer.lead_to(&[&first]);
    let frozen = Instant::now();
    drive.until_updated(8);
    println!("8 nodes {:.1?} after it froze", frozen.elapsed());
    let end = drive.end();
    let errors = drive.errors();
    println!("{}{errors}", drive.seen());
    assert!(end.success(), "{end}");
    assert_eq!((yard.serving(GOOD[1]), worst.end() <= 2), (NODES, true));
}

/// Half of the driver's connections lead to a server that is always some time behind: what it shows was so, and the driver knows better.
#[test]
fn an_api_server_whose_cache_is_behind_changes_nothing_but_the_time_it_takes() {
    let Some(mut yard) = Yard::new() else { return };
    let slow = Line::to(&yard.plane.etcd(), Duration::ZERO);
    let behind = OtherApiServer::start(&yard.plane, &slow.address());
    slow.set_round_trip(Duration::from_millis(400));
    let first = server_of(yard.operator.kubeconfig());
    let balancer = Line::to(&first, Duration::ZERO);
    balancer.lead_to(&[&first, behind.address()]);
    yard.operator.use_kubeconfig(balancer.kubeconfig(yard.operator.kubeconfig()));
    let worst = Worst::watch(&yard.plane);
    let began = Instant::now();
    let mut drive = yard.operator.drive(DS, &["--image", &format!("agent={}", GOOD[1]), "--to", "100%"]);
    let end = drive.end();
    let errors = drive.errors();
    println!("{}{errors}", drive.seen());
    assert!(end.success(), "{end}");
    println!("{NODES} of {NODES} after {:.1?}", began.elapsed());
    assert_eq!((yard.serving(GOOD[1]), worst.end() <= 2), (NODES, true));

    // What it cannot tell at all, as it is still further behind, is not made up: a list that does not come is not an empty one.
    balancer.lead_to(&[behind.address()]);
    slow.set_round_trip(Duration::from_secs(3));
    let said = text(&yard.operator.run(&["status", DS]));
    println!("{said}");
    let cannot = said.contains("cannot read from the cluster") && said.contains("is behind the cluster's state");
    assert!(said.contains("20 of 20 available") || cannot, "{said}");
}
