//! Rollouts over long lines: the API server answers after 0.6, 1 or 2 s, or so late that the driver starts nothing.

use std::time::{Duration, Instant};

use super::fixture::{DS, GOOD, NODES, RolloutFixture, assert_within_budget};
use crate::support::line::{Line, server_of};
use crate::support::program::Operator;

/// A fixture, and an operator whose requests take `round_trip`.
fn at_the_end_of(name: &str, round_trip: Duration) -> Option<(RolloutFixture, Line, Operator)> {
    let fixture = RolloutFixture::new(name)?;
    let mut operator = fixture.operator();
    let line = Line::to(&server_of(operator.kubeconfig()), round_trip);
    operator.use_kubeconfig(line.kubeconfig(operator.kubeconfig()));
    Some((fixture, line, operator))
}

fn image() -> String {
    format!("agent={}", GOOD[1])
}

fn a_whole_rollout(name: &str, round_trip: Duration) {
    let Some((fixture, _line, operator)) = at_the_end_of(name, round_trip) else { return };
    let began = Instant::now();
    let image = image();
    let flags = ["--image", &image, "--to", "100%", "--max-unavailable", "4"];
    let mut drive = operator.drive(DS, &flags);
    drive.until("20 of 20");
    let ended = drive.end();
    println!("{round_trip:?} away: {NODES} of {NODES} after {:.1?}", began.elapsed());
    assert_eq!(ended.code(), Some(0), "{}", drive.seen());
    let worst = fixture.witness.worst_since(began);
    assert!(worst <= 4, "{worst} nodes were down at once");
    let daemon_set = fixture.daemon_set();
    assert_eq!(daemon_set["spec"]["updateStrategy"]["type"], "RollingUpdate", "it was handed back");
}

#[test]
fn a_rollout_completes_600_ms_away() {
    a_whole_rollout("far600", Duration::from_millis(600));
}

#[test]
fn a_rollout_completes_one_second_away() {
    a_whole_rollout("far1000", Duration::from_secs(1));
}

#[test]
fn a_rollout_completes_two_seconds_away() {
    a_whole_rollout("far2000", Duration::from_secs(2));
}

/// The round trip jumps from 100 ms to 1.8 s and back during a rollout, as if image pulls filled the line.
#[test]
fn a_rollout_completes_while_the_distance_jumps() {
    let Some((fixture, line, operator)) = at_the_end_of("swells", Duration::from_millis(100)) else { return };
    let began = Instant::now();
    let image = image();
    let mut drive = operator.drive(DS, &["--image", &image, "--to", "100%"]);
    drive.until(": updated, ");
    std::thread::scope(|scope| {
        let ended = scope.spawn(|| drive.end().code());
        for round in 0.. {
            if ended.is_finished() {
                break;
            }
            let round_trip = if round / 20 % 2 == 0 { 1_800 } else { 100 };
            line.set_round_trip(Duration::from_millis(round_trip));
            std::thread::sleep(Duration::from_millis(500));
        }
        assert_eq!(ended.join().unwrap(), Some(0));
    });
    println!("100 ms to 1.8 s away: {NODES} of {NODES} after {:.1?}", began.elapsed());
    assert_within_budget(&fixture, began);
}

/// Beyond the greatest round trip the driver starts nothing; the driver, `status` and JSON say why.
#[test]
fn beyond_the_bound_nothing_is_started_and_the_reason_is_shown() {
    let Some((fixture, line, operator)) = at_the_end_of("beyond", Duration::from_millis(300)) else { return };
    let image = image();
    operator.ok(&["set-image", DS, &image, "--yes"]);
    line.set_round_trip(Duration::from_millis(2_900));
    let began = Instant::now();
    let mut drive = operator.drive(DS, &["--to", "100%"]);
    drive.until("too far to drive from here");
    assert!(drive.seen().contains("control-plane host"), "{}", drive.seen());
    assert!(fixture.witness.deletes_since(began).is_empty(), "nothing was started");
    // With a shorter round trip the rollout goes on by itself.
    line.set_round_trip(Duration::from_millis(300));
    drive.until("20 of 20");
    let status = operator.status(DS).0;
    let measured = status["apiRoundTripMillis"].as_u64().unwrap();
    // A busy machine adds to the round trip; beyond 2.5 s the driver would start nothing again.
    assert!((300..2_500).contains(&measured), "{measured}");
}

/// An operator near by pauses while the driver is two seconds away.
#[test]
fn a_pause_takes_effect_in_time_though_the_driver_is_two_seconds_away() {
    let Some((fixture, _line, operator)) = at_the_end_of("bites", Duration::from_secs(2)) else { return };
    let image = image();
    let mut drive = operator.drive(DS, &["--image", &image, "--to", "100%", "--max-unavailable", "4"]);
    drive.until(": updated, ");
    let near = fixture.operator();
    near.ok(&["pause", DS]);
    let paused_at = Instant::now();
    std::thread::sleep(Duration::from_secs(12));
    // A deletion is sent at most 3.5 s after its proof, and arrives half a round trip later.
    let within = Duration::from_millis(4_700);
    let late: Vec<Duration> =
        fixture.witness.deletes_since(paused_at + within).iter().map(|delete| delete.at - paused_at).collect();
    assert!(late.is_empty(), "pods were deleted {late:?} after the pause");
    drive.until("paused");
}
