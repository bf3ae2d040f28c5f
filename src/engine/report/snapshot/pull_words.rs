//! The words for image pulls: their states, the evidence for these, why pulls failed, how they compare with others.
//!
//! An estimate carries `~` and tells how many nodes it comes from.

use std::fmt;
use std::time::Duration;

use super::{NodeView, Snapshot};
use crate::engine::model::Str;
use crate::engine::model::estimate::whole_secs;
use crate::engine::model::image::version_of;
use crate::engine::model::prewarm::PrewarmState;
use crate::engine::model::pull::{
    Evidence, FinishedPull, ImagePull, ImageSummary, NodePull, PeerScope, PrewarmPulls, PullCounts, PullFailure,
    PullState, PullSummary, SlowPull, UsualPull,
};
use crate::engine::model::time::{ShortDuration, Timestamp};
use crate::engine::rules::pulls::times_slower;

impl fmt::Display for PullState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Unknown => "unknown",
            Self::Absent => "absent",
            Self::Queued => "queued",
            Self::Pulling { .. } => "pulling",
            Self::Present { .. } => "present",
            Self::Failed { .. } => "failed",
        })
    }
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ImageId => "its container's status says so",
            Self::PulledEvent => "its kubelet pulled it",
            Self::AlreadyPresent => "it was there already",
            Self::NodeStatus => "its node lists it",
            Self::WarmPod => "pre-warmed",
        })
    }
}

impl fmt::Display for PullFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::NotFound => "not found",
            Self::Unauthorized => "unauthorized",
            Self::RateLimited => "rate limit",
            Self::Platform => "not for this platform",
            Self::Network => "network",
            Self::Disk => "disk full",
            Self::InvalidName => "invalid name",
            Self::NeverPulled => "absent, pull forbidden",
            Self::Other => "pull fails",
        })
    }
}

/// A size as a person reads it: `412 MB`, `1.2 GB`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Size(pub u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0..1_000_000 => write!(f, "{} kB", self.0.div_ceil(1_000)),
            1_000_000..1_000_000_000 => write!(f, "{} MB", self.0 / 1_000_000),
            _ => write!(f, "{}.{} GB", self.0 / 1_000_000_000, self.0 / 100_000_000 % 10),
        }
    }
}

/// A rate in words: `11 MB/s`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PullRate(pub u64);

impl fmt::Display for PullRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            // Small numbers get one decimal place.
            rate @ 1_000_000..10_000_000 => write!(f, "{}.{} MB/s", rate / 1_000_000, rate / 100_000 % 10),
            rate => write!(f, "{}/s", Size(rate)),
        }
    }
}

/// How long a pull takes, wherever that is told: in seconds up to ten minutes, because pulls are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span(pub Duration);

/// Shorter spans are told in seconds.
const FINE: Duration = Duration::from_secs(600);

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 < FINE {
            true => write!(f, "{}s", whole_secs(self.0).as_secs()),
            false => write!(f, "{}", ShortDuration(self.0)),
        }
    }
}

impl fmt::Display for FinishedPull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pulled in {}", Span(self.took))?;
        // The difference is the time that the pull waited for other pulls of its node.
        if self.took.saturating_sub(self.transfer) >= Duration::from_secs(1) {
            write!(f, " ({} without waiting)", Span(self.transfer))?;
        }
        self.bytes.map_or(Ok(()), |bytes| write!(f, ", {}", Size(bytes)))
    }
}

impl PeerScope {
    fn median(self) -> &'static str {
        match self {
            Self::Site => "the median of its site",
            Self::Fleet => "the median of all nodes",
        }
    }
}

/// How long a pull is expected to take: `~60s, from 7 peers`.
impl fmt::Display for UsualPull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "~{}, from {}", Span(self.median), Peers(*self))
    }
}

/// Whether a pull takes longer than such pulls usually do, in the whole seconds in which both are told.
fn is_late(elapsed: Duration, usual: UsualPull) -> bool {
    elapsed.as_secs() > whole_secs(usual.median).as_secs()
}

/// Fewer finished pulls than this tell how long one took, and not that another is late: they may have had the link for themselves.
const TELLING: u32 = 3;

struct Peers(UsualPull);

impl fmt::Display for Peers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(UsualPull { peers, scope, .. }) = self;
        match (scope, peers) {
            (PeerScope::Site, _) => write!(f, "{peers} peers"),
            (PeerScope::Fleet, 1) => f.write_str("1 node"),
            (PeerScope::Fleet, _) => write!(f, "{peers} nodes of all sites"),
        }
    }
}

/// The progress of a running pull: `40s of est. 60s (7 peers)`. A pull that takes longer than usual: `95s, late (~60s, 7 peers)`. A slow one:
/// `360s, 6× the median of its site (~60s)`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PullEstimate {
    /// For how long the pull has run.
    pub elapsed: Duration,
    /// How long such a pull usually takes.
    pub usual: UsualPull,
}

impl PullEstimate {
    /// The same for a narrow column: `est. 66%`; `late` once the pull takes longer than usual, because its progress cannot be told then; `6×` for a slow
    /// pull.
    pub fn short(self) -> String {
        let Self { elapsed, usual } = self;
        match times_slower(elapsed, usual) {
            Some(times) => format!("{times}×"),
            None if is_late(elapsed, usual) && usual.peers < TELLING => ShortDuration(elapsed).to_string(),
            None if is_late(elapsed, usual) => "late".to_owned(),
            // No pull is known to be complete before its kubelet says so.
            None => format!("est. {}%", (elapsed.as_millis() * 100 / usual.median.as_millis().max(1)).min(99)),
        }
    }
}

impl fmt::Display for PullEstimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { elapsed, usual } = *self;
        // Both spans in the same unit.
        let span = |span: Duration| match elapsed.max(usual.median) {
            longest if longest < FINE => Span(span).to_string(),
            _ => ShortDuration(span).to_string(),
        };
        let (elapsed_span, median) = (span(Duration::from_secs(elapsed.as_secs())), span(usual.median));
        match times_slower(elapsed, usual) {
            Some(times) => write!(f, "{elapsed_span}, {times}× {} (~{median})", usual.scope.median()),
            None if !is_late(elapsed, usual) => write!(f, "{elapsed_span} of est. {median} ({})", Peers(usual)),
            None if usual.peers < TELLING => write!(f, "{elapsed_span} (~{median}, {})", Peers(usual)),
            None => write!(f, "{elapsed_span}, late (~{median}, {})", Peers(usual)),
        }
    }
}

impl fmt::Display for SlowPull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { node, image, took, .. } = self;
        write!(f, "{node}: {} ({} for {})", self.compared(), Span(*took), version_of(image))
    }
}

impl SlowPull {
    /// How much slower the pull was: `6× the median of its site`.
    pub fn compared(&self) -> String {
        format!("{}× {}", self.times, self.scope.median())
    }
}

impl fmt::Display for PullCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { present, pulling, failed, absent, unknown } = *self;
        let all = present + pulling + failed + absent + unknown;
        write!(f, "present on {present} of {all}")?;
        for (count, words) in [(pulling, "pulling"), (failed, "failed"), (absent, "absent"), (unknown, "not known")] {
            if count > 0 {
                write!(f, ", {count} {words}")?;
            }
        }
        Ok(())
    }
}

/// How large an image is and how long it takes: `r.example/agent:v2, 412 MB, took ~58s on 20 nodes: hall-a ~50s`.
impl fmt::Display for ImageSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.image)?;
        self.bytes.map_or(Ok(()), |bytes| write!(f, ", {}", Size(bytes)))?;
        let Some(fleet) = self.fleet else { return Ok(()) };
        let plural = if fleet.peers == 1 { "" } else { "s" };
        write!(f, ", took ~{} on {} node{plural}", Span(fleet.median), fleet.peers)?;
        let named: Vec<_> = self.sites.iter().filter(|(site, _)| !site.is_empty()).collect();
        for (nth, (site, usual)) in named.iter().take(SITES).enumerate() {
            write!(f, "{} {site} ~{}", if nth == 0 { ":" } else { "," }, Span(usual.median))?;
        }
        if named.len() > SITES { f.write_str(" …") } else { Ok(()) }
    }
}

/// How many slow pulls have a line each.
const SLOWEST: usize = 3;

/// How many sites a line names at most.
const SITES: usize = 5;

impl PullSummary {
    /// The lines that say how pulls go: counts, sizes and durations of each image, the slowest pulls each on a line, and the other slow ones on another.
    pub fn lines(&self) -> Vec<String> {
        let tells = |image: &&ImageSummary| image.bytes.is_some() || image.fleet.is_some();
        let images = self.images.iter().filter(tells).map(ToString::to_string);
        let (slowest, others) = self.slow.split_at(self.slow.len().min(SLOWEST));
        let others: Vec<_> = others.iter().map(|slow| format!("{} {}×", slow.node, slow.times)).collect();
        let others = (!others.is_empty()).then(|| format!("slow, too: {}", others.join(", ")));
        let slow = slowest.iter().map(|slow| format!("slow: {slow}")).chain(others);
        let PullCounts { unknown, .. } = self.counts;
        let counts = (self.counts != PullCounts { unknown, ..PullCounts::default() }).then(|| self.counts.to_string());
        counts.into_iter().chain(images).chain(slow).collect()
    }
}

impl PrewarmPulls {
    /// The lines that say how pulls go: sizes and durations of each image, slow pulls.
    pub fn lines(&self) -> Vec<String> {
        let Self { images, slow, .. } = self;
        PullSummary { images: images.clone(), slow: slow.clone(), ..PullSummary::default() }.lines()
    }

    /// How long the image usually takes that a node of this site pulls now: the first that has not arrived.
    pub fn usual(&self, node: &str, site: &str) -> Option<UsualPull> {
        let has_come = |image: &&ImageSummary| self.on(node).any(|pull| pull.image == image.image);
        self.images.iter().find(|image| !has_come(image))?.usual(site)
    }

    /// The duration of a node's pulls and how they compare: `pulled in 58s, 412 MB, 6× the median of its site`. For a running pull, its progress:
    /// `40s of est. 58s (7 peers)`.
    pub fn words(&self, node: &NodeView, at: Timestamp) -> Option<String> {
        match node.prewarm.as_deref() {
            Some(PrewarmState::Pulling { since }) => {
                let usual = self.usual(&node.name, &node.site)?;
                Some(PullEstimate { elapsed: at.since(*since), usual }.to_string())
            }
            Some(PrewarmState::Present) => {
                let named = self.on(&node.name).map(|NodePull { image, pull, .. }| {
                    let usual = self.images.iter().find(|known| known.image == *image)?.usual(&node.site);
                    let times = usual.and_then(|usual| Some((times_slower(pull.transfer, usual)?, usual.scope)));
                    let slow = times.map(|(times, scope)| format!(", {times}× {}", scope.median()));
                    Some(format!("{pull}{}", slow.unwrap_or_default()))
                });
                Some(named.flatten().collect::<Vec<_>>().join("; ")).filter(|words| !words.is_empty())
            }
            _ => None,
        }
    }
}

impl Snapshot {
    /// How long the image usually takes that pre-warming brings to this node now. Once the template has the image too, its pulls are among those of the
    /// target.
    pub fn usual_prewarm_pull(&self, node: &NodeView) -> Option<UsualPull> {
        let prewarm = self.prewarm.as_ref()?;
        let is_here = |image: &Str| {
            let mut here = node.images.iter().filter(|pull| matches!(pull.state, PullState::Present { .. }));
            here.any(|pull| pull.image == *image)
        };
        let of_target = || {
            let pulls = prewarm.images.iter().find(|image| !is_here(image))?;
            self.pulls.usual(pulls, &node.site)
        };
        prewarm.pulls.usual(&node.name, &node.site).or_else(of_target)
    }
}

impl ImagePull {
    /// The state of the pull as of `at`, with the usual duration of such a pull where that is given.
    pub fn words(&self, at: Timestamp, usual: Option<UsualPull>) -> String {
        let state = &self.state;
        match state {
            PullState::Unknown | PullState::Absent => state.to_string(),
            PullState::Queued => "queued: after another image of its pod".to_owned(),
            PullState::Pulling { since } => {
                let elapsed = at.since(*since);
                match usual {
                    Some(usual) => format!("{state}, {}", PullEstimate { elapsed, usual }),
                    None => format!("{state} for {}", Span(Duration::from_secs(elapsed.as_secs()))),
                }
            }
            PullState::Present { pull: Some(pull), .. } => format!("{state}, {pull}"),
            PullState::Present { by, .. } => format!("{state}: {by}"),
            PullState::Failed { why, message: None } => format!("{state}: {why}"),
            PullState::Failed { why, message: Some(message) } => format!("{state}: {why}: {message}"),
        }
    }
}

impl NodeView {
    /// The image that explains best why the node waits: one whose pull failed, else one that is being pulled, else one that is missing.
    pub fn telling_image(&self) -> Option<&ImagePull> {
        let rank = |pull: &&ImagePull| match pull.state {
            PullState::Failed { .. } => 0,
            PullState::Pulling { .. } => 1,
            PullState::Absent => 2,
            PullState::Queued => 3,
            PullState::Unknown => 4,
            PullState::Present { .. } => 5,
        };
        self.images.iter().min_by_key(rank)
    }

    /// For how long an image is being pulled, as of `at`.
    pub fn pulling_for(&self, at: Timestamp) -> Option<Duration> {
        self.images.iter().find_map(|pull| match pull.state {
            PullState::Pulling { since } => Some(at.since(since)),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::model::template::ImageUse;

    /// Whoever tells how long a pull takes, rounds in the same way.
    #[test]
    fn what_is_being_pulled_and_what_a_story_tells_are_in_seconds() {
        use crate::engine::model::node::NodeState;
        use crate::engine::report::story::NodeChange;
        let at = Timestamp::from_millis(200_000);
        let pulling = ImagePull {
            container: "agent".into(),
            image: "agent:v2".into(),
            usage: ImageUse::Main,
            state: PullState::Pulling { since: Timestamp::from_millis(105_000) },
        };
        assert_eq!(pulling.words(at, None), "pulling for 95s");
        let after = Some(Duration::from_millis(94_700));
        let (from, to) = (Some(NodeState::Pulling), NodeState::Starting);
        let pulled = NodeChange::State {
            from,
            to,
            after,
            down: None,
            why: None,
            recovers: false,
            again: false,
            in_update: false,
        };
        assert_eq!(pulled.to_string(), "pulled in 95s");
    }

    fn usual(peers: u32, scope: PeerScope) -> UsualPull {
        let secs = Duration::from_secs;
        UsualPull { median: secs(58), quartiles: (secs(50), secs(70)), peers, scope }
    }

    fn words(state: PullState, usual: Option<UsualPull>) -> String {
        let (container, image) = ("agent".into(), "r.example/agent:v2".into());
        let pull = ImagePull { container, usage: ImageUse::Main, image, state };
        pull.words(Timestamp::from_millis(100_000), usual)
    }

    #[test]
    fn what_is_said_of_a_pull() {
        let pulling = |secs: i64| PullState::Pulling { since: Timestamp::from_millis(100_000 - secs * 1_000) };
        let present = |by, pull| PullState::Present { by, pull };
        let pull = |took, transfer, bytes| {
            Some(FinishedPull { took: Duration::from_secs(took), transfer: Duration::from_secs(transfer), bytes })
        };
        let failed = |why, message: Option<&str>| PullState::Failed { why, message: message.map(Into::into) };
        for (state, peers, want) in [
            (pulling(40), None, "pulling for 40s"),
            (pulling(40), Some(usual(7, PeerScope::Site)), "pulling, 40s of est. 58s (7 peers)"),
            (pulling(40), Some(usual(1, PeerScope::Fleet)), "pulling, 40s of est. 58s (1 node)"),
            (pulling(40), Some(usual(9, PeerScope::Fleet)), "pulling, 40s of est. 58s (9 nodes of all sites)"),
            (pulling(360), Some(usual(7, PeerScope::Site)), "pulling, 360s, 6× the median of its site (~58s)"),
            (pulling(95), Some(usual(7, PeerScope::Site)), "pulling, 95s, late (~58s, 7 peers)"),
            (pulling(95), Some(usual(2, PeerScope::Fleet)), "pulling, 95s (~58s, 2 nodes of all sites)"),
            (present(Evidence::ImageId, None), None, "present: its container's status says so"),
            (present(Evidence::ImageId, pull(14, 14, Some(412_345_678))), None, "present, pulled in 14s, 412 MB"),
            (present(Evidence::PulledEvent, pull(14, 4, None)), None, "present, pulled in 14s (4s without waiting)"),
            (present(Evidence::AlreadyPresent, None), None, "present: it was there already"),
            (present(Evidence::NodeStatus, None), None, "present: its node lists it"),
            (failed(PullFailure::Disk, None), None, "failed: disk full"),
            (failed(PullFailure::NotFound, Some("manifest unknown")), None, "failed: not found: manifest unknown"),
            (PullState::Queued, None, "queued: after another image of its pod"),
            (PullState::Absent, None, "absent"),
            (PullState::Unknown, None, "unknown"),
        ] {
            assert_eq!(words(state, peers), want);
        }
    }

    /// Of spans below a second, too, only a pull that is told to take longer is called late.
    #[test]
    fn a_pull_is_late_in_the_seconds_that_are_told() {
        let usual = UsualPull { median: Duration::from_millis(160), ..usual(8, PeerScope::Site) };
        let told = |millis: u64| {
            let estimate = PullEstimate { elapsed: Duration::from_millis(millis), usual };
            (estimate.to_string(), estimate.short())
        };
        for (millis, words, short) in [
            (100, "0s of est. 1s (8 peers)", "est. 62%"),
            (900, "0s of est. 1s (8 peers)", "est. 99%"),
            (1_900, "1s of est. 1s (8 peers)", "est. 99%"),
            (2_000, "2s, late (~1s, 8 peers)", "late"),
        ] {
            assert_eq!(told(millis), (words.to_owned(), short.to_owned()), "{millis} ms");
        }
    }

    #[test]
    fn sizes_and_summaries_are_said_in_few_words() {
        for (bytes, want) in [(700, "1 kB"), (412_345_678, "412 MB"), (1_250_000_000, "1.2 GB")] {
            assert_eq!(Size(bytes).to_string(), want);
        }
        let summary = PullSummary {
            counts: PullCounts { present: 7, pulling: 2, failed: 1, absent: 0, unknown: 10 },
            images: [ImageSummary {
                image: "r.example/agent:v2".into(),
                bytes: Some(412_345_678),
                fleet: Some(usual(9, PeerScope::Fleet)),
                sites: vec![("hall-a".into(), usual(5, PeerScope::Site)), ("hall-b".into(), usual(4, PeerScope::Site))],
            }]
            .into(),
            slow: [SlowPull {
                node: "ipc-037".into(),
                image: "r.example/agent:v2".into(),
                took: Duration::from_secs(350),
                times: 6,
                scope: PeerScope::Site,
            }]
            .into(),
        };
        assert_eq!(
            summary.lines(),
            [
                "present on 7 of 20, 2 pulling, 1 failed, 10 not known",
                "r.example/agent:v2, 412 MB, took ~58s on 9 nodes: hall-a ~58s, hall-b ~58s",
                "slow: ipc-037: 6× the median of its site (350s for v2)",
            ]
        );
        let many: Vec<_> =
            (0..5).map(|n| SlowPull { node: format!("n{n}").into(), ..summary.slow[0].clone() }).collect();
        let slow = |of: &[SlowPull]| PullSummary { slow: of.into(), ..PullSummary::default() }.lines();
        assert_eq!(slow(&many[..3]).len(), 3);
        assert_eq!(slow(&many)[2..], ["slow: n2: 6× the median of its site (350s for v2)", "slow, too: n3 6×, n4 6×"]);
    }
}
