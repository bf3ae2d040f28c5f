//! Converts the times of a world that runs faster or slower than real time into real time when its objects are served.
//!
//! ```text
//!   world  start ─────────────── 60 s of pulling ──────────────▶   at 12 times the speed
//!   served start ── 5 s ──▶                                        and so it is seen: a cluster that is quick
//! ```
//!
//! So every client can compare a served time with its own clock. Times before the start are served unchanged. Times that clients write
//! into Leases are also served unchanged.

use std::sync::Arc;
use std::time::Duration;

use crate::engine::model::Str;
use crate::engine::model::facts::ContainerState;
use crate::engine::model::time::Timestamp;
use crate::sim::world::kubelet::words;
use crate::sim::world::object::{Body, Condition, ContainerStatus, EventBody, LastExit, Meta, Object};

/// The conversion between the times of a world and the served times.
#[derive(Clone, Copy, Debug)]
pub(super) struct ServedTime {
    start: Timestamp,
    speed: f64,
}

impl ServedTime {
    /// The conversion for a world that began to run at `start`. Times are not converted if the world is slower than 0.01 times or faster
    /// than 10,000 times real time.
    pub(super) fn new(start: Timestamp, speed: f64) -> Self {
        Self { start, speed: if (0.01..=10_000.0).contains(&speed) { speed } else { 1.0 } }
    }

    fn is_real(&self) -> bool {
        (self.speed - 1.0).abs() < 1e-9
    }

    /// Converts a time of the world to the served time.
    pub(super) fn of(&self, at: Timestamp) -> Timestamp {
        if self.is_real() || at <= self.start {
            return at;
        }
        self.start + at.since(self.start).div_f64(self.speed)
    }

    /// Converts a served time, as clients name it, to the time of the world.
    pub(super) fn in_world(&self, at: Timestamp) -> Timestamp {
        if self.is_real() || at <= self.start {
            return at;
        }
        self.start + at.since(self.start).mul_f64(self.speed)
    }

    /// Converts the times of a stored object to served times.
    pub(super) fn object(&self, object: &Arc<Object>) -> Arc<Object> {
        if self.is_real() {
            return Arc::clone(object);
        }
        let mut served = Object::clone(object);
        self.meta(&mut served.meta);
        match &mut served.body {
            Body::Pod(pod) => {
                pod.status.started_at = pod.status.started_at.map(|at| self.of(at));
                pod.status.conditions = self.conditions(&pod.status.conditions);
                pod.status.containers = pod.status.containers.iter().map(|status| self.container(status)).collect();
            }
            Body::Node(node) => {
                node.reported_at = node.reported_at.map(|at| self.of(at));
                node.conditions = self.conditions(&node.conditions);
            }
            Body::Event(event) => self.event(event),
            Body::DaemonSet(_) | Body::ControllerRevision(_) | Body::Lease(_) | Body::Other(..) => {}
        }
        Arc::new(served)
    }

    /// Converts the times of an object that a client creates to times of the world.
    pub(super) fn created(&self, object: &mut Object) {
        if let Body::Event(event) = &mut object.body {
            (event.first_at, event.last_at) = (self.in_world(event.first_at), self.in_world(event.last_at));
        }
    }

    fn meta(&self, meta: &mut Meta) {
        meta.created_at = self.of(meta.created_at);
        if let Some(deletion) = &mut meta.deletion {
            deletion.at = self.of(deletion.at);
            // Clients compute the start of a deletion as its end minus the grace period, so the grace period is converted too.
            let grace = f64::from(deletion.grace_secs) / self.speed;
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
            (deletion.grace_secs = grace.round() as u32);
        }
    }

    fn conditions(&self, conditions: &[Condition]) -> Arc<[Condition]> {
        let served = |condition: &Condition| Condition {
            since: self.of(condition.since),
            heartbeat_at: condition.heartbeat_at.map(|at| self.of(at)),
            ..condition.clone()
        };
        conditions.iter().map(served).collect()
    }

    fn container(&self, status: &ContainerStatus) -> ContainerStatus {
        let mut served = status.clone();
        if let ContainerState::Running { since } = &mut served.fact.state {
            *since = since.map(|at| self.of(at));
        }
        served.last_exit = served.last_exit.map(|exit| LastExit {
            started_at: self.of(exit.started_at),
            finished_at: self.of(exit.finished_at),
            ..exit
        });
        served
    }

    fn event(&self, event: &mut EventBody) {
        (event.first_at, event.last_at) = (self.of(event.first_at), self.of(event.last_at));
        if let Some(message) = self.pulled(&event.message) {
            event.message = message;
        }
    }

    /// Converts the durations in `Successfully pulled image "…" in 58s (60s including waiting).`; `None` for any other message.
    fn pulled(&self, message: &str) -> Option<Str> {
        let (head, rest) =
            message.rsplit_once("\" in ").filter(|_| message.starts_with("Successfully pulled image"))?;
        let (pull, rest) = rest.split_once(" (")?;
        let (waited, rest) = rest.split_once(" including waiting)")?;
        let took = |text: &str| Some(words::go(read_go(text)?.div_f64(self.speed)));
        Some(format!("{head}\" in {} ({} including waiting){rest}", took(pull)?, took(waited)?).into())
    }
}

/// Reads a duration that [`words::go`] wrote.
fn read_go(text: &str) -> Option<Duration> {
    if let Some(millis) = text.strip_suffix("ms") {
        return millis.parse().ok().map(Duration::from_millis);
    }
    let (hours, rest) = text.split_once('h').unwrap_or(("0", text));
    let (minutes, rest) = rest.split_once('m').unwrap_or(("0", rest));
    let seconds: f64 = rest.strip_suffix('s')?.parse().ok()?;
    let whole = 3_600 * hours.parse::<u64>().ok()? + 60 * minutes.parse::<u64>().ok()?;
    Some(Duration::from_secs(whole) + Duration::try_from_secs_f64(seconds).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::world::object::{DeletionMark, Pod};

    fn at(secs: i64) -> Timestamp {
        Timestamp::from_millis(1_000 * secs)
    }

    #[test]
    fn what_lasts_a_minute_lasts_five_seconds_at_twelve_times_the_speed() {
        let time = ServedTime::new(at(1_000), 12.0);
        assert_eq!(time.of(at(1_060)), at(1_005));
        assert_eq!(time.in_world(at(1_005)), at(1_060));
        assert_eq!(time.of(at(400)), at(400), "ten minutes before it began are ten minutes");
        let event = EventBody {
            first_at: at(1_120),
            last_at: at(1_180),
            reason: "Pulled".into(),
            message: words::pulled("r.example/agent:v2", Duration::from_secs(58), Duration::from_secs(60), 7).into(),
            ..EventBody::default()
        };
        let object = |body| Arc::new(Object { meta: Meta { created_at: at(1_120), ..Meta::default() }, body });
        let served = time.object(&object(Body::Event(event.clone())));
        assert_eq!(served.meta.created_at, at(1_010));
        let Body::Event(shown) = &served.body else { panic!("{served:?}") };
        assert_eq!((shown.first_at, shown.last_at), (at(1_010), at(1_015)));
        let said =
            "Successfully pulled image \"r.example/agent:v2\" in 4.833s (5s including waiting). Image size: 7 bytes.";
        assert_eq!(&*shown.message, said);
        for as_it_is in [ServedTime::new(at(1_000), 1.0), ServedTime::new(at(1_000), 1e-6)] {
            let original = object(Body::Event(event.clone()));
            assert!(Arc::ptr_eq(&as_it_is.object(&original), &original));
        }
    }

    #[test]
    fn durations_are_read_as_they_are_written() {
        for millis in [0, 350, 1_250, 63_000, 60_000, 3_723_004] {
            let span = Duration::from_millis(millis);
            assert_eq!(read_go(&words::go(span)), Some(span), "{}", words::go(span));
        }
        assert_eq!(read_go("soon"), None);
    }

    #[test]
    fn a_pod_that_goes_began_to_go_when_it_did() {
        let time = ServedTime::new(at(1_000), 10.0);
        let deletion = Some(DeletionMark { at: at(1_130), grace_secs: 30 });
        let meta = Meta { created_at: at(900), deletion, ..Meta::default() };
        let served = time.object(&Arc::new(Object { meta, body: Body::Pod(Pod::default()) }));
        let shown = served.meta.deletion.unwrap();
        assert_eq!((shown.at, shown.grace_secs), (at(1_013), 3));
    }
}
