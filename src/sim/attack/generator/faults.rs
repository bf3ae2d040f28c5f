//! Faults of the world: machines, links, the registry, and writes of others through the API. Each is healed before the calm.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{Generator, LINKS};
use crate::engine::model::Str;
use crate::engine::model::facts::{StrategyKind, Taint};
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::template::TaintEffect;
use crate::sim::attack::case::DAEMON_SET;
use crate::sim::world::scenario::{ClusterFault, FleetFault, NodeSetup, NodeSpec, PullError};

impl Generator {
    /// Faults of the world, all healed before the calm.
    pub(super) fn faults(&mut self, nodes: &[Str]) {
        let count = if self.one_in(5) { 0 } else { self.rng.usize(0..9) };
        if self.one_in(4) {
            self.wrong_clocks(nodes);
        }
        for _ in 0..count {
            let at = self.secs(0..self.calm.as_secs());
            let until = (at + self.secs(1..120)).min(self.calm);
            let node = self.pick(nodes);
            match self.rng.u32(0..20) {
                0..=2 => self.add_until(at, until, FleetFault::Cut(node.clone()), FleetFault::Restore(node)),
                3 => self.add_until(at, until, FleetFault::PowerOff(node.clone()), FleetFault::PowerOn(node)),
                4 | 5 => {
                    for _ in 0..self.rng.u32(1..5) {
                        let node = self.pick(nodes);
                        self.add_until(at, until, FleetFault::ProbesFail(node.clone()), FleetFault::ProbesPass(node));
                    }
                }
                // A surging controller makes pods without end while the kubelet refuses them, and takes hours to remove the
                // failed ones.
                6 | 7 if self.surges => {}
                6 => self.add(at, FleetFault::EvictAll(node)),
                7 => self.add_until(at, until, FleetFault::DiskFull(node.clone()), FleetFault::DiskFree(node)),
                8 => self.slow_link(&node, at, until),
                9 => {
                    let image: Str = self.pick(&["agent:v1", "agent:v2", "agent:v3"]).into();
                    let error = Some(self.pick(&[PullError::Network, PullError::RateLimit]));
                    let serves = FleetFault::Registry { image: image.clone(), error: None };
                    self.add_until(at, until, FleetFault::Registry { image, error }, serves);
                }
                10 => self.join(at),
                11 => {
                    self.add(at, FleetFault::Leave(node.clone()));
                    // The manager of the machines deletes the node some time later.
                    self.add(until, ClusterFault::DeleteNode(node));
                }
                _ => self.write_of_others(node, at, until),
            }
        }
    }

    /// The clocks of some nodes are wrong, from the beginning or from a later time on.
    pub(super) fn wrong_clocks(&mut self, nodes: &[Str]) {
        for _ in 0..self.rng.usize(1..4) {
            let (node, offset_millis) = (self.pick(nodes), self.rng.i64(-600_000..600_000));
            let at = if self.one_in(2) { Duration::ZERO } else { self.secs(0..self.calm.as_secs()) };
            let right = FleetFault::Clock { node: node.clone(), offset_millis: 0 };
            self.add_until(at, self.calm, FleetFault::Clock { node, offset_millis }, right);
        }
    }

    pub(super) fn slow_link(&mut self, node: &Str, at: Duration, until: Duration) {
        let site: Str = if node.starts_with("na") { "a" } else { "b" }.into();
        let bytes_per_sec = self.rng.u64(20_000..500_000);
        let restored = self.pick(&LINKS);
        let slow = FleetFault::Link { site: site.clone(), bytes_per_sec };
        self.add_until(at, until, slow, FleetFault::Link { site, bytes_per_sec: restored });
    }

    pub(super) fn join(&mut self, at: Duration) {
        let labels = if self.one_in(3) { [("canary", "true")].into_iter().collect() } else { Default::default() };
        self.joined += 1;
        let name = Str::from(format!("na-9{}", self.joined));
        let spec = NodeSpec { name, site: "a".into(), labels, ..NodeSpec::default() };
        let images = if self.one_in(2) { vec!["agent:v1".into()] } else { Vec::new() };
        self.add(at, FleetFault::Join(Box::new(NodeSetup { spec, images })));
    }

    /// Writes that somebody else makes through the API.
    pub(super) fn write_of_others(&mut self, node: Str, at: Duration, until: Duration) {
        let daemon_set = Str::from(format!("{}/{}", DAEMON_SET.0, DAEMON_SET.1));
        match self.rng.u32(0..9) {
            0 | 1 => self.add(at, ClusterFault::DeletePods { daemon_set, node }),
            2 => {
                let value = if self.one_in(2) { "true" } else { "" };
                let labels = BTreeMap::from([("canary".to_owned(), value.to_owned())]);
                self.add(at, ClusterFault::Label { node, labels });
            }
            3 => self.add_until(at, until, ClusterFault::Cordon(node.clone()), ClusterFault::Uncordon(node)),
            4 => {
                let effect = self.pick(&[TaintEffect::NoSchedule, TaintEffect::NoExecute]);
                let taint = Taint { key: "dedicated".into(), value: "".into(), effect };
                let key = taint.key.clone();
                self.add_until(
                    at,
                    until,
                    ClusterFault::Taint { node: node.clone(), taint },
                    ClusterFault::Untaint { node, key },
                );
            }
            5 => self.drift(at),
            6 => {
                let image = self.pick(&["agent:v1", "agent:v2", "agent:v3"]);
                let images = BTreeMap::from([("agent".to_owned(), image.to_owned())]);
                self.add(at, ClusterFault::SetImages { daemon_set, images });
            }
            7 => {
                let (kind, max) = (StrategyKind::OnDelete, Some(IntOrPercent::Int(self.rng.u32(1..4))));
                self.add(at, ClusterFault::SetStrategy { daemon_set, kind, max_unavailable: max });
            }
            _ => {
                let namespace: Str = DAEMON_SET.0.into();
                let why = "exceeded quota: edge, requested: pods=1, used: pods=8, limited: pods=8".into();
                let refuse = ClusterFault::RefusePods { namespace: namespace.clone(), why };
                self.add_until(at, until, refuse, ClusterFault::AdmitPods { namespace });
            }
        }
    }

    /// A GitOps tool sets the strategy back: once, or again and again.
    pub(super) fn drift(&mut self, at: Duration) {
        let every = self.secs(5..60);
        let times = if self.one_in(3) { self.rng.u32(2..12) } else { 1 };
        let max_unavailable = self.one_in(2).then(|| IntOrPercent::Int(self.rng.u32(1..4)));
        for nth in 0..times {
            let when = at + every * nth;
            if when < self.calm {
                self.set_back(when, max_unavailable);
            }
        }
    }

    /// Adds the fault that somebody sets the strategy back to `RollingUpdate`.
    pub(super) fn set_back(&mut self, at: Duration, max_unavailable: Option<IntOrPercent>) {
        let daemon_set = Str::from(format!("{}/{}", DAEMON_SET.0, DAEMON_SET.1));
        self.add(at, ClusterFault::SetStrategy { daemon_set, kind: StrategyKind::RollingUpdate, max_unavailable });
    }

    /// Finalizers keep deleted pods, some for a moment, some until long after their grace.
    pub(super) fn pods_that_stay(&mut self, names: &[Str]) {
        let daemon_set = Str::from(format!("{}/{}", DAEMON_SET.0, DAEMON_SET.1));
        for _ in 0..self.rng.u32(1..4) {
            let node = self.pick(names);
            let (at, lasts) = (self.secs(0..self.calm.as_secs() / 2), self.secs(5..150));
            let finalizer = Str::from("example.com/hold");
            let add = ClusterFault::AddFinalizer {
                daemon_set: daemon_set.clone(),
                node: node.clone(),
                finalizer: finalizer.clone(),
            };
            let remove = ClusterFault::RemoveFinalizer { daemon_set: daemon_set.clone(), node, finalizer };
            self.add_until(at, (at + lasts).min(self.calm), add, remove);
        }
    }
}
