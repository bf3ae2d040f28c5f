//! One node: its power, network, heartbeat, watch news, and pods.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::engine::model::Str;
use crate::engine::model::facts::ConditionStatus;
use crate::engine::model::time::Timestamp;

use super::super::scenario::{FleetFault, NodeSetup, NodeSpec};
use super::env::{Env, WakeReason};
use super::images::Images;
use super::notes::{Note, Notes};
use super::pull_queue::Pulls;
use super::worker::Worker;
use super::{AssignedPod, BOOT, HEARTBEAT, KubeletAction};

/// A lost request is tried again after about this long.
const RETRY: (u64, u64) = (2_000, 9_000);
/// A status or a delete is sent again if the API server does not show it after this long.
const ECHO: Duration = Duration::from_secs(8);

/// Whether a machine runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Power {
    /// Its kubelet runs.
    On,
    /// The machine is off, or boots.
    Off,
    /// The machine is gone for good.
    Gone,
}

/// Whether a machine reaches the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Connectivity {
    /// The machine reaches the network.
    Up,
    /// The machine is cut off.
    Cut,
}

/// Whether readiness probes can pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Probes {
    /// The probes pass once the application is ready.
    Pass,
    /// The probes fail.
    Fail,
}

/// The watch's last news of a pod.
#[derive(Debug)]
enum WatchedPod {
    Pod(AssignedPod),
    Gone,
}

/// The `DiskPressure` condition.
#[derive(Clone, Copy, Debug)]
pub(super) struct Disk {
    pub(super) full: ConditionStatus,
    pub(super) since: Timestamp,
}

/// The content of the last node status.
#[derive(Clone, Copy, Debug)]
pub(super) struct Posted {
    pub(super) at: Timestamp,
    /// How often the images had changed then.
    pub(super) images: u32,
    pub(super) disk: ConditionStatus,
    pub(super) ready: ConditionStatus,
}

#[derive(Debug)]
pub(super) struct Kubelet {
    pub(super) index: usize,
    pub(super) name: Str,
    pub(super) ip: Str,
    pub(super) link: usize,
    pub(super) power: Power,
    pub(super) network: Connectivity,
    pub(super) probes: Probes,
    /// Counts the runs of the kubelet.
    pub(super) epoch: u32,
    pub(super) pods: BTreeMap<Str, Worker>,
    pub(super) pulls: Pulls,
    pub(super) images: Images,
    /// The node's `Ready` condition as the API server has it.
    pub(super) seen_ready: ConditionStatus,
    pub(super) spec: NodeSpec,
    inbox: BTreeMap<Str, WatchedPod>,
    notes: Notes,
    /// The machine's clock minus the true time, in milliseconds. Only the times that it writes show it: the machine waits by the true time.
    clock_offset: i64,
    /// The instant since which the node is ready, by the machine's clock.
    pub(super) ready_since: Timestamp,
    /// Until when the kubelet says that the node is not ready, by the true time.
    not_ready_until: Timestamp,
    pub(super) disk: Disk,
    pub(super) posted: Posted,
    /// When the machine sends lost requests again; one time for all of them.
    flush_at: Option<Timestamp>,
    pods_started: u32,
}

impl Kubelet {
    pub(super) fn new(index: usize, setup: &NodeSetup, link: usize, env: &mut Env) -> Self {
        let images = setup.images.iter().map(|image| {
            let bytes = env.image(image).map_or(1_000_000, |known| known.image.bytes);
            (image.clone(), bytes)
        });
        let (high, low) = (index / 250 % 250, index % 250 + 1);
        Self {
            index,
            name: setup.spec.name.clone(),
            ip: format!("10.{}.{high}.{low}", link % 250).into(),
            link,
            power: Power::On,
            network: Connectivity::Up,
            probes: Probes::Pass,
            epoch: 0,
            pods: BTreeMap::new(),
            pulls: Pulls::default(),
            images: Images::of(images),
            seen_ready: ConditionStatus::True,
            spec: setup.spec.clone(),
            inbox: BTreeMap::new(),
            notes: Notes::default(),
            clock_offset: 0,
            ready_since: env.now,
            not_ready_until: env.now,
            disk: Disk { full: ConditionStatus::False, since: env.now },
            posted: Posted { at: env.now, images: 0, disk: ConditionStatus::False, ready: ConditionStatus::True },
            flush_at: None,
            pods_started: 0,
        }
    }

    /// Joins the cluster: the machine registers, and begins to renew its Lease at a moment of its own.
    pub(super) fn join(&mut self, env: &mut Env) {
        self.register(env);
        env.actions.push(KubeletAction::RenewLease { node: self.name.clone(), at: self.dated(env.now) });
        let phase = env.millis(0, 9_999);
        env.wake_in(phase, self.index, WakeReason::Heartbeat { epoch: self.epoch });
    }

    /// The instant as the machine's clock shows it.
    pub(super) fn dated(&self, at: Timestamp) -> Timestamp {
        Timestamp::from_millis(at.millis().saturating_add(self.clock_offset))
    }

    pub(super) fn wake(&mut self, what: WakeReason, env: &mut Env) {
        match what {
            WakeReason::Boot { epoch } if epoch == self.epoch => self.boot(env),
            WakeReason::PullEnds { serial } if self.power == Power::On => self.end_pull(serial, env),
            WakeReason::Heartbeat { epoch } if epoch == self.epoch && self.power == Power::On => self.beat(env),
            WakeReason::Inbox if self.hears() => self.read_inbox(env),
            WakeReason::Pod(uid) if self.power == Power::On => self.look_at(&uid, env),
            WakeReason::Readiness if self.power == Power::On => self.tell_readiness(env),
            WakeReason::Flush if self.power == Power::On => self.flush(env),
            _ => {}
        }
    }

    /// Whether its kubelet runs and reaches the API server.
    pub(super) fn hears(&self) -> bool {
        self.power == Power::On && self.network == Connectivity::Up
    }

    /// Whether a request gets through at this moment.
    pub(super) fn gets_through(&self, env: &mut Env) -> bool {
        let loss = env.links[self.link].loss();
        self.hears() && (loss <= 0.0 || env.rng.f64() >= loss)
    }

    /// Renews the Lease, and sends what has changed or got lost.
    fn beat(&mut self, env: &mut Env) {
        env.wake_in(HEARTBEAT, self.index, WakeReason::Heartbeat { epoch: self.epoch });
        if self.disk.full == ConditionStatus::True {
            self.make_room(env.now);
        }
        if !self.gets_through(env) {
            return;
        }
        env.actions.push(KubeletAction::RenewLease { node: self.name.clone(), at: self.dated(env.now) });
        // Another writer has changed what it had told.
        let overwritten = self.seen_ready != self.posted.ready;
        if overwritten {
            self.ready_since = self.dated(env.now);
        }
        if overwritten || self.has_news(env.now) {
            self.post_status(env);
        }
        self.reconcile(env);
    }

    /// What the kubelet says of its node by itself.
    pub(super) fn readiness(&self, now: Timestamp) -> ConditionStatus {
        if now < self.not_ready_until { ConditionStatus::False } else { ConditionStatus::True }
    }

    /// A process on the node has made it not ready, for so long.
    pub(super) fn node_is_not_ready_for(&mut self, lasts: Duration, env: &mut Env) {
        self.not_ready_until = self.not_ready_until.max(env.now + lasts);
        env.wake_at(self.not_ready_until, self.index, WakeReason::Readiness);
        self.tell_readiness(env);
    }

    /// A kubelet tells a change of its node's readiness at once. What does not get through is told with the next heartbeat.
    fn tell_readiness(&mut self, env: &mut Env) {
        if self.readiness(env.now) == self.posted.ready {
            return;
        }
        self.ready_since = self.dated(env.now);
        if self.gets_through(env) {
            self.post_status(env);
        }
    }

    /// Sends again what the API server does not show: statuses that another writer overwrote, deletes that got lost.
    fn reconcile(&mut self, env: &mut Env) {
        let (now, dated) = (env.now, self.dated(env.now));
        for worker in self.pods.values_mut() {
            let overwritten = worker.published.is_some() && worker.seen.ready != worker.ready;
            if overwritten && now.since(worker.published_at) >= ECHO {
                worker.touch(dated);
            }
            if worker.removal_sent_at.is_some_and(|at| now.since(at) >= ECHO) {
                worker.removal_sent_at = None;
            }
        }
        self.flush(env);
    }

    /// Sends the statuses that have not been sent.
    fn flush(&mut self, env: &mut Env) {
        let unsent: Vec<Str> =
            self.pods.iter().filter(|(_, worker)| worker.has_unsent()).map(|(uid, _)| uid.clone()).collect();
        for uid in unsent {
            self.look_at(&uid, env);
        }
    }

    pub(super) fn retry_soon(&mut self, env: &mut Env) {
        if self.hears() && self.flush_at.is_none_or(|at| at <= env.now) {
            let at = env.now + env.millis(RETRY.0, RETRY.1);
            self.flush_at = Some(at);
            env.wake_at(at, self.index, WakeReason::Flush);
        }
    }

    pub(super) fn take_in_pod(&mut self, seen: AssignedPod, env: &mut Env) {
        // The echo of the kubelet's own write needs no second look; only the pod's template and its deletion do.
        if self.hears()
            && !self.inbox.contains_key(&seen.uid)
            && let Some(worker) = self.pods.get_mut(&seen.uid)
            && worker.seen.deletion == seen.deletion
            && worker.seen.template == seen.template
        {
            worker.seen.ready = seen.ready;
            return;
        }
        self.inbox.insert(seen.uid.clone(), WatchedPod::Pod(seen));
        self.read_soon(env);
    }

    pub(super) fn see_pod_gone(&mut self, uid: &Str, env: &mut Env) {
        self.inbox.insert(uid.clone(), WatchedPod::Gone);
        self.read_soon(env);
    }

    fn read_soon(&self, env: &mut Env) {
        if self.hears() {
            let after = env.millis(10, 60);
            env.wake_in(after, self.index, WakeReason::Inbox);
        }
    }

    fn read_inbox(&mut self, env: &mut Env) {
        for (uid, seen) in std::mem::take(&mut self.inbox) {
            match seen {
                WatchedPod::Pod(seen) => match self.pods.get_mut(&uid) {
                    Some(worker) => worker.see(seen),
                    None => {
                        self.pods_started += 1;
                        let ip = format!(
                            "10.{}.{}.{}",
                            128 + self.index / 250 % 100,
                            self.index % 250,
                            self.pods_started % 250 + 2
                        );
                        let worker = Worker::new(seen, ip.into(), self.disk.full, (env.now, self.dated(env.now)));
                        self.pods.insert(uid.clone(), worker);
                    }
                },
                WatchedPod::Gone => {
                    self.cancel_pulls(&uid, env);
                    self.pods.remove(&uid);
                    self.notes.forget(&uid);
                }
            }
            self.look_at(&uid, env);
        }
    }

    pub(super) fn suffer(&mut self, fault: &FleetFault, env: &mut Env) {
        match fault {
            FleetFault::PowerOff(_) if self.power == Power::On => self.power_off(Power::Off, env),
            // The machine is booting: it does not come up.
            FleetFault::PowerOff(_) => self.epoch += 1,
            FleetFault::Leave(_) if self.power != Power::Gone => self.power_off(Power::Gone, env),
            FleetFault::PowerOn(_) if self.power == Power::Off => {
                self.epoch += 1;
                let after = env.about(BOOT);
                env.wake_in(after, self.index, WakeReason::Boot { epoch: self.epoch });
            }
            FleetFault::Cut(_) if self.network == Connectivity::Up => {
                self.network = Connectivity::Cut;
                self.stall_pulls(env);
            }
            FleetFault::Restore(_) if self.network == Connectivity::Cut => {
                self.network = Connectivity::Up;
                self.read_soon(env);
                // A booting machine sends its heartbeat once it is up.
                if self.power == Power::On {
                    let after = env.millis(200, 3_000);
                    self.epoch += 1;
                    env.wake_in(after, self.index, WakeReason::Heartbeat { epoch: self.epoch });
                }
            }
            FleetFault::ProbesFail(_) => self.probe(Probes::Fail, env),
            FleetFault::ProbesPass(_) => self.probe(Probes::Pass, env),
            FleetFault::DiskFull(_) => {
                self.disk = Disk { full: ConditionStatus::True, since: self.dated(env.now) };
                self.make_room(env.now);
            }
            FleetFault::DiskFree(_) => self.disk = Disk { full: ConditionStatus::False, since: self.dated(env.now) },
            FleetFault::Clock { offset_millis, .. } => self.clock_offset = *offset_millis,
            FleetFault::EvictAll(_) if self.power == Power::On => {
                for uid in self.pods.keys().cloned().collect::<Vec<_>>() {
                    self.evict(&uid, env);
                }
            }
            // The machine is in that state already, or is off.
            FleetFault::PowerOn(_)
            | FleetFault::Leave(_)
            | FleetFault::Cut(_)
            | FleetFault::Restore(_)
            | FleetFault::EvictAll(_)
            // The fault does not concern an existing machine.
            | FleetFault::Join(_)
            | FleetFault::Link { .. }
            | FleetFault::Registry { .. }
            | FleetFault::LimitPulls { .. }
            | FleetFault::Publish(_) => {}
        }
    }

    /// Removes images that no container uses, because the disk is full.
    fn make_room(&mut self, now: Timestamp) {
        if self.power == Power::On {
            let in_use = self.pods.values().flat_map(Worker::images_in_use).cloned().collect();
            self.images.collect(&in_use, now);
        }
    }

    fn power_off(&mut self, power: Power, env: &mut Env) {
        self.power = power;
        self.epoch += 1;
        self.drop_pulls(env);
        for worker in self.pods.values_mut() {
            worker.lose_power();
        }
    }

    /// The kubelet is up: it reads the news that it missed, and starts every container again.
    fn boot(&mut self, env: &mut Env) {
        if self.power != Power::Off {
            return;
        }
        self.power = Power::On;
        let dated = self.dated(env.now);
        self.ready_since = dated;
        if self.hears() {
            self.register(env);
        } else {
            self.posted.at = Timestamp::default();
        }
        for worker in self.pods.values_mut() {
            worker.restart_all(dated);
        }
        env.wake_in(Duration::ZERO, self.index, WakeReason::Heartbeat { epoch: self.epoch });
        env.wake_in(Duration::ZERO, self.index, WakeReason::Inbox);
        for uid in self.pods.keys().cloned().collect::<Vec<_>>() {
            env.wake_in(Duration::ZERO, self.index, WakeReason::Pod(uid));
        }
    }

    fn probe(&mut self, probes: Probes, env: &mut Env) {
        self.probes = probes;
        // Probes run every few seconds, each container at its own time.
        for uid in self.pods.keys().cloned().collect::<Vec<_>>() {
            let after = env.millis(100, 1_000);
            env.wake_in(after, self.index, WakeReason::Pod(uid));
        }
    }

    pub(super) fn note(&mut self, note: Note<'_>, env: &mut Env) {
        if self.hears() {
            let dated = self.dated(env.now);
            self.notes.record(note, &self.name, dated, env);
        }
    }

    pub(super) fn has(&self, image: &str) -> bool {
        self.images.has(image)
    }

    pub(super) fn image_id(&self, image: &str) -> Option<&Str> {
        self.images.id(image)
    }

    pub(super) fn serves(&self, pod: &str) -> bool {
        self.power == Power::On && self.pods.values().any(|worker| *worker.seen.name == *pod && worker.ready)
    }
}
