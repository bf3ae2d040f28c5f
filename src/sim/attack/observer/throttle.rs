//! P6 after a registry answered 429: for a while no pod for pre-warming may be made, because every tried pull counts.

use std::time::Duration;

use super::Observer;
use crate::engine::model::Str;
use crate::engine::model::facts::ContainerState;
use crate::engine::model::prewarm::Prewarm;
use crate::engine::model::record::By;
use crate::engine::model::time::Timestamp;
use crate::sim::world::object::Object;
use crate::sim::world::store::StoreChange;

/// The time for which no pull may be tried. A driver waits 30 s from the first time it sends the deletion of the refused pod. It sends a
/// lost deletion again after 5 s, so five deletions may be lost.
const WAITS: Duration = Duration::from_secs(4);
/// A refusal that comes sooner than this after another one may be for a pull that was on its way; such a refusal begins no wait.
const APART: Duration = Duration::from_secs(310);

/// The refusals of a registry that serves no more pulls.
#[derive(Debug, Default)]
pub(super) struct RegistryThrottle {
    /// When a pod whose pull for pre-warming the registry refused was last deleted.
    refused_at: Option<Timestamp>,
    judged: Option<Judged>,
}

/// A refusal after which no pull may be tried for a while.
#[derive(Debug)]
struct Judged {
    since: Timestamp,
    slack: Duration,
    /// The request for pre-warming and the request to try again, if any. Another request ends the wait.
    request: (By, Option<By>),
    /// Since when the driver of that time drove. Another driver knows nothing of the refusal.
    driver_since: Timestamp,
    /// Since when the present driver drives.
    drives_since: Timestamp,
}

impl RegistryThrottle {
    /// Says that a pod was made although no pull may be tried now.
    pub(super) fn is_ignored(&self, asked: &[&Prewarm], at: Timestamp) -> Option<String> {
        let judged = self.judged.as_ref()?;
        let same = asked.iter().all(|asked| (asked.by.clone(), asked.retried.clone()) == judged.request);
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
    /// Takes in the deletion of a pod for pre-warming whose pull the registry refused. The pod has no grace period, so it is gone at once
    /// unless a finalizer keeps it.
    pub(super) fn throttle_begins(&mut self, change: &StoreChange, by_set: bool) {
        let before = change.before.as_ref().is_some_and(|before| before.meta.is_deleting());
        if by_set || before || !change.object.meta.is_deleting() || !is_throttled(&change.object) {
            return;
        }
        let at = change.at;
        let apart = self.throttle.refused_at.replace(at).is_none_or(|last| last + APART < at);
        // A pod that is no longer needed is deleted too, perhaps before any console knows of the refusal.
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
                request: (asked.by.clone(), asked.retried.clone()),
                driver_since: since,
                drives_since: since,
            });
        }
    }

    /// Takes in since when the present driver drives.
    pub(super) fn throttle_is_of_driver(&mut self) {
        let since = self.driver.as_ref().map(|driver| driver.since);
        if let Some(judged) = &mut self.throttle.judged {
            judged.drives_since = since.unwrap_or_default();
        }
    }
}

/// Whether the pod's status says that the registry serves no more pulls.
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
