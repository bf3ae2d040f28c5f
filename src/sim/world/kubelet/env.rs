//! The state that all kubelets share: the time, the agenda, the links, the registry, chance, and the list of actions.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use crate::engine::model::Str;
use crate::engine::model::image::repository_of;
use crate::engine::model::time::Timestamp;

use super::super::policy::tag_of;
use super::super::scenario::{PullError, RegistryImage, Site};
use super::KubeletAction;
use super::link::Link;
use super::quota::PullQuotas;

/// Why a kubelet wakes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum WakeReason {
    /// To renew its Lease and look at its node; ignored when the kubelet was restarted since.
    Heartbeat {
        /// The run of the kubelet.
        epoch: u32,
    },
    /// To read the news of its watches.
    Inbox,
    /// To look at a pod.
    Pod(Str),
    /// To end a pull; ignored when the pull was given up.
    PullEnds {
        /// The number of the pull.
        serial: u64,
    },
    /// To tell that its node is ready again.
    Readiness,
    /// To send lost requests again.
    Flush,
    /// To begin to run, after the machine's boot.
    Boot {
        /// The run of the kubelet.
        epoch: u32,
    },
}

/// An image that the registry knows.
#[derive(Clone, Debug)]
pub(super) struct KnownImage {
    pub(super) image: RegistryImage,
    /// The runtime's id of the image.
    pub(super) id: Str,
    /// How many images had this name before.
    earlier: u32,
}

#[derive(Debug)]
pub(super) struct Env {
    pub(super) now: Timestamp,
    pub(super) rng: fastrand::Rng,
    pub(super) actions: Vec<KubeletAction>,
    pub(super) links: Vec<Link>,
    pub(super) quotas: PullQuotas,
    images: BTreeMap<Str, KnownImage>,
    agenda: BinaryHeap<Reverse<(Timestamp, u64, usize, WakeReason)>>,
    serial: u64,
}

impl Env {
    pub(super) fn new(sites: &[Site], images: &[RegistryImage], seed: u64, now: Timestamp) -> Self {
        let mut env = Self {
            now,
            rng: fastrand::Rng::with_seed(seed),
            actions: Vec::new(),
            links: sites.iter().map(|site| Link::new(site, now)).collect(),
            quotas: PullQuotas::default(),
            images: BTreeMap::new(),
            agenda: BinaryHeap::new(),
            serial: 0,
        };
        for image in images {
            env.publish(image);
        }
        env
    }

    /// The index of a site's link; a node without a known site has a link of its own that is never thin.
    pub(super) fn site_of(&mut self, site: &Str) -> usize {
        if let Some(found) = self.links.iter().position(|link| link.site == *site) {
            return found;
        }
        let open = Site { name: site.clone(), bytes_per_sec: 125_000_000, floor_per_pull: 1 };
        self.links.push(Link::new(&open, self.now));
        self.links.len() - 1
    }

    pub(super) fn set_link(&mut self, site: &Str, bytes_per_sec: u64) {
        let now = self.now;
        if let Some(link) = self.links.iter_mut().find(|link| link.site == *site) {
            link.set_capacity(bytes_per_sec, now);
        }
    }

    /// The registry gets an image. An earlier image of this name keeps its digest and loses the name.
    pub(super) fn publish(&mut self, image: &RegistryImage) {
        let earlier = self.images.get(&image.name).map_or(0, |known| known.earlier + 1);
        let id = image_id(&image.name, earlier);
        self.images.insert(image.name.clone(), KnownImage { image: image.clone(), id, earlier });
    }

    pub(super) fn set_registry(&mut self, image: &Str, error: Option<PullError>) {
        if let Some(known) = self.images.get_mut(image) {
            known.image.error = error;
        }
    }

    /// The runtime's id of the image that a pull of this name gets now. A digest names the same image for ever, also after the tag before it has
    /// moved.
    pub(super) fn id_of(&self, name: &str) -> Option<Str> {
        let known = self.image(name)?;
        Some(match name.split_once('@') {
            Some((named, digest)) => format!("{}@{digest}", repository_of(named)).into(),
            None => known.id.clone(),
        })
    }

    pub(super) fn image(&self, name: &str) -> Option<&KnownImage> {
        // A digest names the image that its tag named when the digest was written.
        self.images.get(name).or_else(|| self.images.get(tag_of(name)))
    }

    /// A number that was not used before.
    pub(super) fn next_serial(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }

    pub(super) fn wake_in(&mut self, after: Duration, node: usize, what: WakeReason) {
        self.wake_at(self.now + after, node, what);
    }

    pub(super) fn wake_at(&mut self, at: Timestamp, node: usize, what: WakeReason) {
        let serial = self.next_serial();
        self.agenda.push(Reverse((at.max(self.now), serial, node, what)));
    }

    /// A random time between the two bounds in milliseconds: machines are never in step.
    pub(super) fn millis(&mut self, from: u64, to: u64) -> Duration {
        Duration::from_millis(self.rng.u64(from..=to))
    }

    /// `span`, up to a tenth longer or shorter.
    pub(super) fn about(&mut self, span: Duration) -> Duration {
        span.mul_f64(0.9 + 0.2 * self.rng.f64())
    }

    pub(super) fn next_at(&self) -> Option<Timestamp> {
        let agenda = self.agenda.peek().map(|Reverse((at, ..))| *at);
        self.links.iter().filter_map(Link::next_at).chain(agenda).min()
    }

    /// Takes the next thing that happens until `to`: agenda before links at the same instant, links in their order.
    pub(super) fn next_until(&mut self, to: Timestamp) -> Option<(Timestamp, usize, WakeReason)> {
        let agenda = self.agenda.peek().map(|Reverse((at, ..))| *at);
        let link = (0..self.links.len())
            .filter_map(|link| Some((self.links[link].next_at()?, link)))
            .min_by_key(|(at, link)| (*at, *link));
        match (agenda, link) {
            (Some(at), later) if at <= to && later.is_none_or(|(link_at, _)| at <= link_at) => {
                let Reverse((at, _, node, what)) = self.agenda.pop()?;
                Some((at, node, what))
            }
            (_, Some((at, link))) if at <= to => {
                let (node, serial) = self.links[link].finish(at)?;
                Some((at, node, WakeReason::PullEnds { serial }))
            }
            _ => None,
        }
    }
}

/// The runtime's id of the image that had `earlier` predecessors under its name: everywhere and always the same.
pub(super) fn image_id(name: &str, earlier: u32) -> Str {
    let part = |salt: u8| {
        let mut hasher = DefaultHasher::new();
        (salt, name).hash(&mut hasher);
        if earlier > 0 {
            earlier.hash(&mut hasher);
        }
        hasher.finish()
    };
    format!("{}@sha256:{:016x}{:016x}{:016x}{:016x}", repository_of(name), part(0), part(1), part(2), part(3)).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_names_the_same_image_when_its_tag_has_moved() {
        let image = RegistryImage::new("r.example/agent:v2", 1);
        let mut env = Env::new(&[], std::slice::from_ref(&image), 1, Timestamp::default());
        let ids =
            |env: &Env| ["r.example/agent:v2", "r.example/agent:v2@sha256:0a"].map(|name| env.id_of(name).unwrap());
        let [tag, digest] = ids(&env);
        assert_eq!(&*digest, "r.example/agent@sha256:0a");
        env.publish(&image);
        let [moved, still] = ids(&env);
        assert_ne!(moved, tag);
        assert_eq!(still, digest);
    }
}
