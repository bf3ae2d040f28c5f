//! A command that cannot be written to the Lease is shown as not sent, by the console that asked and by the driver.

use std::time::Duration;

use rolldeck::driver::Session;
use rolldeck::engine::model::command::Command;
use rolldeck::engine::model::config::Role;
use rolldeck::engine::model::driver::DriverView;
use rolldeck::engine::model::unsent::UnsentKind;
use rolldeck::engine::report::snapshot::Phase;
use rolldeck::sim::api::ApiFailure;

use super::rollout::{Cluster, image, open, until, updated};

/// An observing console asks for a pause while nobody can write to the Lease: the driver is not paused, and the observer shows that the pause was not
/// sent.
#[tokio::test(flavor = "multi_thread")]
async fn a_pause_that_does_not_arrive_is_shown_as_not_sent_until_it_does() {
    let cluster = Cluster::start().await;
    let (session, others) = (cluster.session().await, cluster.session().await);
    let driver = open(&session).await;
    driver.command(image("registry.example/agent:v2")).await.unwrap();
    let watcher = others.open("edge", "agent", Role::Driver);
    until(&watcher, "it sees who drives", |is| matches!(is.driver, DriverView::Other { .. })).await;
    until(&watcher, "held", |is| is.phase == Phase::Held).await;

    cluster.inject("update", "leases", u32::MAX, ApiFailure::Unavailable);
    let pausing = tokio::spawn({
        let watcher = watcher.clone();
        async move { watcher.command(Command::Pause { why: None }).await }
    });
    let shown = until(&watcher, "it is said to be not sent", |is| is.not_sent().is_some()).await;
    let unsent = shown.not_sent().unwrap();
    assert_eq!(unsent.kind, UnsentKind::Pause);
    assert!(unsent.why.as_ref().is_some_and(|why| why.contains("unable to handle the request")), "{unsent:?}");
    assert_eq!(shown.phase, Phase::Held, "nobody has paused anything");
    assert!(shown.doing().to_string().starts_with("held; pause NOT SENT "), "{}", shown.doing());
    assert!(!pausing.is_finished(), "it is tried again and again");
    assert!(driver.snapshot().unsent.is_empty() && !matches!(driver.snapshot().phase, Phase::Paused(_)));

    cluster.server.clear_faults();
    tokio::time::timeout(Duration::from_secs(60), pausing).await.unwrap().unwrap().unwrap();
    let shown = watcher.snapshot();
    assert!(matches!(shown.phase, Phase::Paused(_)) && shown.unsent.is_empty(), "{:?}", shown.phase);
    until(&driver, "the driver knows", |is| matches!(is.phase, Phase::Paused(_))).await;
    driver.command(updated(8)).await.unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(cluster.most_down(), 0, "paused");
}
