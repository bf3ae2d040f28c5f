//! P6 where a registry answers 429: for a while no pod is made for pre-warming, because each pull that is tried counts.

use std::time::Duration;

use super::Observer;
use crate::engine::model::Str;
use crate::engine::model::facts::ContainerState;
use crate::engine::model::prewarm::Prewarm;
use crate::engine::model::record::By;
use crate::engine::model::time::Timestamp;
use crate::sim::world::object::Object;
use crate::sim::world::store::StoreChange;

/// For so long nothing is tried for sure. A driver waits for 30 s from when it first sends the deletion of the pod that was refused,
/// and one that is lost it sends again after 5 s: five of them may be lost.
const WAITS: Duration = Duration::from_secs(4);
/// A refusal that comes sooner after another one may be of a pull that was on its way, which begins no wait.
const APART: Duration = Duration::from_secs(310);

/// The registry serves no more pulls.
#[derive(Debug, Default)]
pub(super) struct RegistryThrottle {
    /// When it refused a pull for pre-warming last, as far as its driver must know.
    refused_at: Option<Timestamp>,
    judged: Option<Judged>,
}

/// A refusal after which nothing is tried for a while.
#[derive(Debug)]
struct Judged {
    since: Timestamp,
    slack: Duration,
    /// By when whoever asked for it, asked for it, and asked to try again: another request ends the wait.
    asked: (By, Option<By>),
    /// Who drove: another driver knows nothing of it.
    driver_since: Timestamp,
    /// Since when that driver drives, as of now.
    drives_since: Timestamp,
}

impl RegistryThrottle {
    /// A pod is made although nothing is to be tried now.
    pub(super) fn is_ignored(&self, asked: &[&Prewarm], at: Timestamp) -> Option<String> {
        let judged = self.judged.as_ref()?;
        let same = asked.iter().all(|asked| (asked.by.clone(), asked.retried.clone()) == judged.asked);
        let drives = judged.driver_since == judged.drives_since;
        let waits = judged.since + judged.slack < at && at < judged.since + WAITS;
        (same && drives && waits).then(|| {
            format!(
                "the registry refused a pull {} ms ago, because there were too many",
                at.since(judged.since).as_millis()
            )
        })
    }
}

impl Observer {
    /// Takes in that a pod for pre-warming is deleted because the registry refused its pull. It has no grace, so it is gone at once,
    /// unless a finalizer keeps it.
    pub(super) fn throttle_begins(&mut self, change: &StoreChange, by_set: bool) {
        let before = change.before.as_ref().is_some_and(|before| before.meta.is_deleting());
        if by_set || before || !change.object.meta.is_deleting() || !is_throttled(&change.object) {
            return;
        }
        let at = change.at;
        let apart = self.throttle.refused_at.replace(at).is_none_or(|last| last + APART < at);
        // A pod that nobody needs any more is deleted too, and may be before anybody knows of its refusal.
        let node = change.object.pod().and_then(|pod| self.nodes.get(pod.node.as_ref()?));
        let quiet = node.is_some_and(|node| node.changed_at.max(node.labels_since) + self.slack < at)
            && self.template_since + self.slack < at
            && self.records.at(at).count() == 1;
        let lately = self.prewarms.at(at).count() == 1;
        let asked = self.prewarms.now().and_then(Option::as_ref).filter(|asked| asked.cancelled.is_none());
        let driver = self.driver.as_ref().filter(|driver| driver.is_alive(at)).map(|driver| driver.since);
        if let (true, true, Some(asked), Some(since)) = (apart && quiet && lately, self.network_is_fine, asked, driver)
        {
            self.throttle.judged = Some(Judged {
                since: at,
                slack: self.slack,
                asked: (asked.by.clone(), asked.retried.clone()),
                driver_since: since,
                drives_since: since,
            });
        }
    }

    /// Takes in since when whoever drives does.
    pub(super) fn throttle_is_of_driver(&mut self) {
        let since = self.driver.as_ref().map(|driver| driver.since);
        if let Some(judged) = &mut self.throttle.judged {
            judged.drives_since = since.unwrap_or_default();
        }
    }
}

/// Whether its kubelet says that the registry serves no more pulls.
fn is_throttled(pod: &Object) -> bool {
    let says =
        |message: &Option<Str>| message.as_ref().is_some_and(|message| message.contains("429 Too Many Requests"));
    let fact = pod.pod_fact();
    fact.is_some_and(|fact| {
        fact.containers.iter().any(|container| match &container.state {
            ContainerState::Waiting { message, .. } => says(message),
            _ => false,
        })
    })
}
