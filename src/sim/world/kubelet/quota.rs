//! Registries that count pulls: each serves a number of pulls in any span of a given length, and answers all others with 429.

use std::collections::{BTreeMap, VecDeque};

use crate::engine::model::Str;
use crate::engine::model::image::registry_of;
use crate::engine::model::time::Timestamp;

use super::super::scenario::PullQuota;

/// The pulls that counting registries have served.
#[derive(Debug, Default)]
pub(super) struct PullQuotas(BTreeMap<Str, Served>);

#[derive(Debug)]
struct Served {
    quota: PullQuota,
    /// The times of the served pulls that still count, oldest first.
    at: VecDeque<Timestamp>,
}

impl PullQuotas {
    /// Makes a registry count by this quota from now on; `None`: it counts no more.
    pub(super) fn set(&mut self, registry: &Str, quota: Option<PullQuota>) {
        match quota {
            Some(quota) => {
                let at = self.0.remove(registry).map(|served| served.at).unwrap_or_default();
                self.0.insert(registry.clone(), Served { quota, at });
            }
            None => drop(self.0.remove(registry)),
        }
    }

    /// Whether the registry of an image serves one more pull. A refused pull does not count.
    pub(super) fn serves(&mut self, image: &str, now: Timestamp) -> bool {
        if self.0.is_empty() {
            return true;
        }
        let Some(served) = self.0.get_mut(registry_of(image).as_str()) else { return true };
        while served.at.front().is_some_and(|at| now.since(*at) >= served.quota.per) {
            served.at.pop_front();
        }
        let serves = served.at.len() < served.quota.pulls as usize;
        if serves {
            served.at.push_back(now);
        }
        serves
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn at(secs: u64) -> Timestamp {
        Timestamp::default() + Duration::from_secs(secs)
    }

    #[test]
    fn a_registry_serves_so_many_pulls_in_any_span_of_so_long() {
        let mut quotas = PullQuotas::default();
        quotas.set(&"docker.io".into(), Some(PullQuota { pulls: 2, per: Duration::from_secs(60) }));
        assert!(quotas.serves("agent:v1", at(0)) && quotas.serves("docker.io/team/agent:v1", at(50)));
        assert!(!quotas.serves("agent:v1", at(59)), "two in the last minute");
        assert!(quotas.serves("r.example/agent:v1", at(59)), "another registry does not count");
        assert!(quotas.serves("agent:v1", at(60)), "the first is a minute old; what was refused did not count");
        assert!(!quotas.serves("agent:v1", at(109)) && quotas.serves("agent:v1", at(110)));
        quotas.set(&"docker.io".into(), None);
        assert!((0..9).all(|_| quotas.serves("agent:v1", at(111))));
    }
}
