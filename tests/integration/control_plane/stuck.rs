//! Nobody reads the driver's output, on real controllers: a signal still ends the driver, and the driver stops driving by itself.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::fixture::{DS, GOOD, RolloutFixture, assert_within_budget};
use crate::support::program::Operator;
use crate::support::unread::{GONE_WITHIN, Unread};

/// One pod every four seconds: the test would see a driver that goes on, within the seconds for which it watches.
const SLOWLY: [&str; 6] = ["--to", "100%", "--max-unavailable", "1", "--soak", "3s"];
/// The witness may see a deletion this long after it was sent.
const SENT: Duration = Duration::from_secs(2);

fn drive(operator: &Operator) -> Unread<'_> {
    let image = format!("agent={}", GOOD[1]);
    Unread::drive(operator, DS, &[&["--image", &image], &SLOWLY[..]].concat())
}

#[test]
fn stuck_output_does_not_keep_a_signal_from_ending_it() {
    let Some(fixture) = RolloutFixture::new("stuck-signal") else { return };
    let (began, operator) = (Instant::now(), fixture.operator());
    let mut drive = drive(&operator);
    drive.until_stuck();
    drive.signal(Signal::TERM);
    let signalled = Instant::now();
    assert_eq!(drive.gone().code(), Some(143));
    assert!(signalled.elapsed() < GONE_WITHIN, "it took {:?}", signalled.elapsed());
    let gone = Instant::now();
    let (before, after) = drive.until_given_back();
    assert!((1..19).contains(&before) && after == 0, "{before} deleted before the lease was given back, {after} after");
    std::thread::sleep(Duration::from_secs(6));
    let late = fixture.witness.deletes_since(gone + SENT);
    assert!(late.is_empty(), "deleted after its end: {late:?}");
    assert_within_budget(&fixture, began);
}

#[test]
fn stuck_output_stops_the_driving() {
    let Some(fixture) = RolloutFixture::new("stuck-stops") else { return };
    let (began, operator) = (Instant::now(), fixture.operator());
    let mut drive = drive(&operator);
    drive.until_stuck();
    let (before, after) = drive.until_given_back();
    let stopped = Instant::now();
    assert!((1..19).contains(&before) && after == 0, "{before} deleted before it stopped, {after} after");
    let status = operator.status(DS).0;
    assert_eq!(status["driverStopped"]["why"], "nobody took its output", "{status}");
    std::thread::sleep(Duration::from_secs(8));
    let late = fixture.witness.deletes_since(stopped + SENT);
    assert!(late.is_empty(), "deleted after it stopped driving: {late:?}");
    let (said, status) = drive.read();
    assert!(said.contains("driving was stopped, and nothing was started since"), "{said}");
    assert_eq!(status.code(), Some(1));
    assert_within_budget(&fixture, began);
}
