//! A control plane with two API servers behind a load balancer: one server stops answering, or its cache is behind the other's.

use std::time::{Duration, Instant};

use super::fixture::{DS, GOOD, NODES};
use super::outage::{OutageFixture, Worst};
use crate::support::control_plane::OtherApiServer;
use crate::support::line::{Line, server_of};
use crate::support::program::text;

#[test]
fn an_api_server_that_stops_answering_delays_a_rollout_until_the_other_one_is_asked() {
    let Some(mut fixture) = OutageFixture::new() else { return };
    let other = OtherApiServer::start(&fixture.plane, &fixture.plane.etcd());
    let balancer = Line::to(other.address(), Duration::ZERO);
    let first = server_of(fixture.operator.kubeconfig());
    fixture.operator.use_kubeconfig(balancer.kubeconfig(fixture.operator.kubeconfig()));
    let worst = Worst::watch(&fixture.plane);
    let mut drive = fixture.operator.drive(DS, &["--image", &format!("agent={}", GOOD[1]), "--to", "100%"]);
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
    assert_eq!((fixture.serving(GOOD[1]), worst.end() <= 2), (NODES, true));
}

/// Half of the driver's connections lead to a server whose cache is always some time behind. It shows an earlier state, and the driver notices that.
#[test]
fn an_api_server_whose_cache_is_behind_changes_nothing_but_the_time_it_takes() {
    let Some(mut fixture) = OutageFixture::new() else { return };
    let slow = Line::to(&fixture.plane.etcd(), Duration::ZERO);
    let behind = OtherApiServer::start(&fixture.plane, &slow.address());
    slow.set_round_trip(Duration::from_millis(400));
    let first = server_of(fixture.operator.kubeconfig());
    let balancer = Line::to(&first, Duration::ZERO);
    balancer.lead_to(&[&first, behind.address()]);
    fixture.operator.use_kubeconfig(balancer.kubeconfig(fixture.operator.kubeconfig()));
    let worst = Worst::watch(&fixture.plane);
    let began = Instant::now();
    let mut drive = fixture.operator.drive(DS, &["--image", &format!("agent={}", GOOD[1]), "--to", "100%"]);
    let end = drive.end();
    let errors = drive.errors();
    println!("{}{errors}", drive.seen());
    assert!(end.success(), "{end}");
    println!("{NODES} of {NODES} after {:.1?}", began.elapsed());
    assert_eq!((fixture.serving(GOOD[1]), worst.end() <= 2), (NODES, true));

    // The server is still further behind and cannot answer some lists: `status` does not take a missing list for an empty one.
    balancer.lead_to(&[behind.address()]);
    slow.set_round_trip(Duration::from_secs(3));
    let said = text(&fixture.operator.run(&["status", DS]));
    println!("{said}");
    let cannot = said.contains("cannot read from the cluster") && said.contains("is behind the cluster's state");
    assert!(said.contains("20 of 20 available") || cannot, "{said}");
}
