//! The state that all requests share: the world under one lock, and the clock that drives it.
//!
//! ```text
//!   request ── with_world ──▶ lock ▸ advance to now ▸ read or write ▸ say which kinds changed ──▶ watches wake
//!   clock   ── sleeps until the world's next event, or until a write made an earlier one
//! ```
//!
//! No task polls: a task runs only when the world's next event is due or a client sends a request.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use crate::engine::model::time::Timestamp;
use crate::sim::world::World;
use crate::sim::world::kind::Kind;
use crate::sim::world::object::Object;
use crate::sim::world::store::Store;

use super::access::Users;
use super::faults::ApiFaults;
use super::managed_fields::ManagedFieldsStore;
use super::served_time::ServedTime;
use super::view::ObjectView;

/// How the world's time follows real time.
#[derive(Clone, Copy, Debug)]
struct ApiClock {
    origin: Instant,
    start: Timestamp,
    speed: f64,
}

impl ApiClock {
    fn now(&self) -> Timestamp {
        self.start + self.origin.elapsed().mul_f64(self.speed)
    }

    /// The real instant at which the world's time is `at`.
    fn instant(&self, at: Timestamp) -> Instant {
        // The world counts in milliseconds. Without this extra millisecond the clock would wake too early and then a second time.
        self.origin + at.since(self.start).div_f64(self.speed) + Duration::from_millis(1)
    }
}

#[derive(Debug)]
struct Guarded {
    world: World,
    managed_fields: ManagedFieldsStore,
    /// The version up to which watches have been woken.
    published: u64,
}

/// How all open watches are ended on demand.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Cut {
    /// Their connection breaks.
    #[default]
    Broken,
    /// Their clients are told that their version expired.
    Expired,
}

/// The state that all requests share.
#[derive(Debug)]
pub(super) struct Shared {
    guarded: Mutex<Guarded>,
    clock: ApiClock,
    time: ServedTime,
    changed: [watch::Sender<u64>; Kind::ALL.len()],
    rescheduled: Notify,
    cut: watch::Sender<Cut>,
    /// The kinds whose watches are stalled.
    stalled: watch::Sender<Vec<Kind>>,
    pub(super) users: Users,
    pub(super) faults: ApiFaults,
}

/// The world as one request sees it.
pub(super) struct WorldAccess<'a> {
    pub(super) world: &'a mut World,
    pub(super) managed_fields: &'a mut ManagedFieldsStore,
    pub(super) time: ServedTime,
}

impl WorldAccess<'_> {
    /// The world's objects.
    pub(super) fn store(&self) -> &Store {
        self.world.store()
    }

    /// The view of an object that clients get.
    pub(super) fn view(&self, object: &Arc<Object>) -> ObjectView {
        let served = self.time.object(object);
        ObjectView { managed: self.managed_fields.json_of(object, &served), object: served }
    }
}

impl Shared {
    pub(super) fn new(world: World, speed: f64, users: Users) -> Self {
        let clock = ApiClock { origin: Instant::now(), start: world.now(), speed };
        let time = ServedTime::new(clock.start, speed);
        let published = world.store().revision();
        Self {
            time,
            guarded: Mutex::new(Guarded { world, managed_fields: ManagedFieldsStore::default(), published }),
            clock,
            changed: std::array::from_fn(|_| watch::Sender::new(published)),
            rescheduled: Notify::new(),
            cut: watch::Sender::new(Cut::default()),
            stalled: watch::Sender::default(),
            users,
            faults: ApiFaults::default(),
        }
    }

    /// Lets `act` read or change the world as it is now.
    pub(super) fn with_world<T>(&self, act: impl FnOnce(WorldAccess<'_>) -> T) -> T {
        let (answer, rescheduled) = self.visit(act);
        if rescheduled {
            self.rescheduled.notify_one();
        }
        answer
    }

    /// As [`Shared::with_world`], but does not wake the clock: it returns whether the time of the world's next event changed.
    fn visit<T>(&self, act: impl FnOnce(WorldAccess<'_>) -> T) -> (T, bool) {
        let mut guarded = self.guarded.lock().unwrap_or_else(PoisonError::into_inner);
        let Guarded { world, managed_fields, published } = &mut *guarded;
        let due = world.next_at();
        world.advance(self.clock.now());
        let answer = act(WorldAccess { world, managed_fields, time: self.time });
        let rescheduled = world.next_at() != due;
        self.publish(world.store(), published);
        (answer, rescheduled)
    }

    fn publish(&self, store: &Store, published: &mut u64) {
        let since = std::mem::replace(published, store.revision());
        if since == *published {
            return;
        }
        for (kind, changed) in Kind::ALL.into_iter().zip(&self.changed) {
            if store.changes_since(kind, since).map_or(true, |mut changes| changes.next().is_some()) {
                changed.send_replace(*published);
            }
        }
    }

    /// The present, in the world's time.
    pub(super) fn world_now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The present, in served time.
    pub(super) fn now(&self) -> Timestamp {
        self.time.of(self.clock.now())
    }

    /// The conversion of the world's times to served times.
    pub(super) fn time(&self) -> ServedTime {
        self.time
    }

    /// A receiver that wakes when an object of this kind changes.
    pub(super) fn changes(&self, kind: Kind) -> watch::Receiver<u64> {
        let at = Kind::ALL.into_iter().position(|candidate| candidate == kind).unwrap_or_default();
        self.changed[at].subscribe()
    }

    /// A receiver that wakes when all watches are to be cut.
    pub(super) fn cuts(&self) -> watch::Receiver<Cut> {
        self.cut.subscribe()
    }

    /// A receiver that wakes when the set of stalled kinds is set.
    pub(super) fn stalls(&self) -> watch::Receiver<Vec<Kind>> {
        self.stalled.subscribe()
    }

    /// Stalls the watches of exactly these kinds from now on.
    pub(super) fn stall_watches(&self, kinds: &[Kind]) {
        self.stalled.send_replace(kinds.to_vec());
    }

    /// Ends all open watches.
    pub(super) fn cut_watches(&self, how: Cut) {
        self.cut.send_replace(how);
    }

    /// Lets the world's time pass, until the server ends.
    pub(super) async fn run_clock(self: Arc<Self>) {
        loop {
            let (next, _) = self.visit(|access| access.world.next_at());
            let rescheduled = self.rescheduled.notified();
            match next {
                Some(at) => {
                    tokio::select! {
                        () = tokio::time::sleep_until(self.clock.instant(at)) => {}
                        () = rescheduled => {}
                    }
                }
                None => rescheduled.await,
            }
        }
    }
}
