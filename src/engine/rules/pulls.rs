//! The kubelets' reports on image pulls (docs/kubernetes.md, *Image pulls*), and how pulls compare with those of other nodes.
//!
//! The words of events change between versions. The reason of an event and the container that it names tell what happened. The words give only
//! figures, and why a pull failed.

use std::time::Duration;

use super::recognise::{TextSource, recognise};
use crate::engine::model::Str;
use crate::engine::model::cause::CauseKind;
use crate::engine::model::facts::{ContainerFact, ContainerState, PodFact};
use crate::engine::model::pull::{FinishedPull, PeerScope, PullFailure, UsualPull};
use crate::engine::model::template::VOLUME;

/// Pulls are compared within a site once this many of its nodes have finished.
pub(crate) const SITE_PEERS: u32 = 3;
/// This many peers must have finished before a pull is called slow.
const SLOW_PEERS: u32 = 4;
/// A pull is slow if it takes at least this many times the median of its peers (and [`SLOW_BY`] longer).
const SLOW_TIMES: u32 = 3;
/// A slow pull takes at least this much longer than the median of its peers, so that pulls of a moment are never called slow.
const SLOW_BY: Duration = Duration::from_secs(5);

/// Whether every container's image is known to be on the node; false until the kubelet has reported. A kubelet pulls the image volumes of a pod
/// before it starts a container, so their images are there then as well.
pub(crate) fn images_present(pod: &PodFact) -> bool {
    !pod.containers.is_empty() && pod.containers.iter().all(|container| container.image_present)
}

/// Whether the pod's status shows that the image for `user` is there. `user` is as in [`NeededImage::user`].
///
/// [`NeededImage::user`]: crate::engine::model::template::NeededImage::user
pub(crate) fn has_image_of(pod: &PodFact, user: &str) -> bool {
    if user.starts_with(VOLUME) {
        return images_present(pod);
    }
    pod.containers.iter().any(|container| container.image_present && &*container.name == user)
}

/// The meaning of an event with the reason `Pulled`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PulledEvent {
    /// The image was pulled; with the duration, if the words give it.
    Came(Option<FinishedPull>),
    /// It was there already.
    WasThere,
}

/// Reads the words of an event with the reason `Pulled`, of any version.
pub(crate) fn pulled(message: &str) -> PulledEvent {
    match after_image(message) {
        Some(rest) if rest.trim_start().starts_with("already present") => PulledEvent::WasThere,
        rest => PulledEvent::Came(rest.and_then(figures)),
    }
}

/// The figures in `in 2.1s (3.4s including waiting). Image size: 1024 bytes.`, as far as the text has them.
fn figures(rest: &str) -> Option<FinishedPull> {
    let rest = rest.trim_start().strip_prefix("in ")?;
    let transfer = go_duration(rest.split_whitespace().next()?)?;
    let waited = rest.split_once('(').and_then(|(_, rest)| rest.split_once(" including waiting"));
    let took = waited.and_then(|(took, _)| go_duration(took)).unwrap_or(transfer);
    let size = rest.split_once("Image size: ").and_then(|(_, rest)| rest.split_once(" bytes"));
    Some(FinishedPull { took, transfer, bytes: size.and_then(|(bytes, _)| bytes.parse().ok()) })
}

/// The image that the words of an event name: in quotes, after the first `image`.
pub(crate) fn image_in(message: &str) -> Option<&str> {
    message.split_once("image \"")?.1.split_once('"').map(|(image, _)| image)
}

fn after_image(message: &str) -> Option<&str> {
    message.split_once("image \"")?.1.split_once('"').map(|(_, rest)| rest)
}

/// A duration as Go prints it: `350ms`, `2.1s`, `1m3.25s`, `1h2m3s`.
fn go_duration(text: &str) -> Option<Duration> {
    let mut rest = text.trim_end_matches(['.', ',', ')']);
    let mut secs = 0.0;
    while !rest.is_empty() {
        let unit_at = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, unit) = rest.split_at(unit_at);
        let unit_ends = unit.find(|c: char| c.is_ascii_digit()).unwrap_or(unit.len());
        let (unit, after) = unit.split_at(unit_ends);
        let factor = match unit {
            "h" => 3600.0,
            "m" => 60.0,
            "s" => 1.0,
            "ms" => 1e-3,
            "µs" | "μs" | "us" => 1e-6,
            "ns" => 1e-9,
            _ => return None,
        };
        secs += number.parse::<f64>().ok()? * factor;
        rest = after;
    }
    (!text.is_empty()).then(|| Duration::try_from_secs_f64(secs).ok())?
}

/// Why a pull failed, by the words of runtimes and registries.
pub(crate) fn failure_of(message: &str) -> PullFailure {
    recognise(TextSource::PullMessage, "", message).and_then(CauseKind::pull_failure).unwrap_or(PullFailure::Other)
}

/// Why the image of a waiting container cannot be had, with the kubelet's words.
pub(crate) fn waits_for_image(container: &ContainerFact) -> Option<(PullFailure, Str)> {
    let ContainerState::Waiting { reason, message } = &container.state else { return None };
    let message = message.as_ref().unwrap_or(reason);
    let cause = waits_by(reason, message)?;
    Some((cause.pull_failure()?, message.clone()))
}

/// The cause for which a container waits, by reason and message. Reasons that stand for any failed pull are told apart by the message.
pub(crate) fn waits_by(reason: &str, message: &str) -> Option<CauseKind> {
    match recognise(TextSource::Waiting, reason, message)? {
        any @ (CauseKind::ImagePull | CauseKind::ImageNetwork) => {
            Some(recognise(TextSource::PullMessage, "", message).unwrap_or(any))
        }
        cause => Some(cause),
    }
}

/// Median and quartiles of finished pulls; `None` where there are none. Sorts `took`.
pub(crate) fn usual(took: &mut [Duration], scope: PeerScope) -> Option<UsualPull> {
    took.sort_unstable();
    let peers = u32::try_from(took.len()).unwrap_or(u32::MAX);
    let quartiles = (percentile(took, 25)?, percentile(took, 75)?);
    Some(UsualPull { median: percentile(took, 50)?, quartiles, peers, scope })
}

/// The shortest of the durations that this percentage of them (1 to 100) does not exceed; `None` where there are none. `sorted` is in ascending order.
pub(crate) fn percentile(sorted: &[Duration], percent: usize) -> Option<Duration> {
    sorted.get((sorted.len() * percent).div_ceil(100).saturating_sub(1)).copied()
}

/// By which factor a pull exceeds its peers' median, if it is slow.
pub(crate) fn times_slower(took: Duration, usual: UsualPull) -> Option<u32> {
    let slow = usual.peers >= SLOW_PEERS
        && took >= usual.median.saturating_mul(SLOW_TIMES)
        && took >= usual.median.saturating_add(SLOW_BY);
    let times = took.as_millis() / usual.median.as_millis().max(1);
    slow.then(|| u32::try_from(times).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn came(transfer_ms: u64, took_ms: u64, bytes: Option<u64>) -> PulledEvent {
        let (took, transfer) = (Duration::from_millis(took_ms), Duration::from_millis(transfer_ms));
        PulledEvent::Came(Some(FinishedPull { took, transfer, bytes }))
    }

    #[test]
    fn what_every_version_says_of_a_finished_pull() {
        for (message, want) in [
            (r#"Successfully pulled image "r.example/agent:v2""#, PulledEvent::Came(None)),
            (r#"Successfully pulled image "r.example/agent:v2" in 1.23s"#, came(1_230, 1_230, None)),
            (r#"Successfully pulled image "r.example/agent:v2" in 1m3.25s"#, came(63_250, 63_250, None)),
            (
                r#"Successfully pulled image "r.example/agent:v2" in 2.1s (3.4s including waiting)"#,
                came(2_100, 3_400, None),
            ),
            (
                r#"Successfully pulled image "agent" in 350ms (1h2m3s including waiting). Image size: 412345678 bytes."#,
                came(350, 3_723_000, Some(412_345_678)),
            ),
            (
                r#"(combined from similar events): Successfully pulled image "agent" in 1.5s (1.5s including waiting). Image size: 7 bytes."#,
                came(1_500, 1_500, Some(7)),
            ),
            (r#"Container image "r.example/agent:v2" already present on machine"#, PulledEvent::WasThere),
            (
                r#"Container image "agent:v2" already present on machine and can be accessed by the pod"#,
                PulledEvent::WasThere,
            ),
            ("pulled", PulledEvent::Came(None)),
            (r#"Successfully pulled image "agent" in no time"#, PulledEvent::Came(None)),
        ] {
            assert_eq!(pulled(message), want, "{message}");
        }
    }

    #[test]
    fn the_image_that_an_event_names() {
        for (message, want) in [
            (r#"Pulling image "r.example:5000/agent:v2""#, Some("r.example:5000/agent:v2")),
            (r#"Failed to pull image "agent:v2": rpc error: desc = "x""#, Some("agent:v2")),
            (r#"Back-off pulling image "agent:v2""#, Some("agent:v2")),
            (r#"Container image "agent:v2" is not present with pull policy of Never"#, Some("agent:v2")),
            ("Error: ErrImagePull", None),
        ] {
            assert_eq!(image_in(message), want, "{message}");
        }
    }

    #[test]
    fn durations_as_go_prints_them() {
        for (text, want) in [
            ("0s", Some(0)),
            ("350ms", Some(350)),
            ("2.1s", Some(2_100)),
            ("1m0s", Some(60_000)),
            ("1h0m0.5s", Some(3_600_500)),
            ("250µs", Some(0)),
            ("", None),
            ("12", None),
            ("3 parsecs", None),
        ] {
            assert_eq!(go_duration(text).map(|span| span.as_millis()), want, "{text}");
        }
    }

    #[test]
    fn why_a_pull_failed() {
        for (message, want) in [
            (
                r#"failed to resolve reference "r.example/agent:v2": r.example/agent:v2: not found"#,
                PullFailure::NotFound,
            ),
            ("manifest unknown: manifest unknown", PullFailure::NotFound),
            ("pull access denied, repository does not exist or may require authorization", PullFailure::Unauthorized),
            ("unexpected status from HEAD request: 401 Unauthorized", PullFailure::Unauthorized),
            ("unexpected status from HEAD request: 429 Too Many Requests", PullFailure::RateLimited),
            ("pull QPS exceeded", PullFailure::RateLimited),
            ("no match for platform in manifest", PullFailure::Platform),
            ("failed to extract layer sha256:aa: write /x: no space left on device: unknown", PullFailure::Disk),
            (r#"failed to do request: Head "https://r.example/v2/": dial tcp: i/o timeout"#, PullFailure::Network),
            ("dial tcp: lookup r.example: no such host", PullFailure::Network),
            ("net/http: TLS handshake timeout", PullFailure::Network),
            ("x509: certificate signed by unknown authority", PullFailure::Network),
            (r#"Back-off pulling image "agent:v2""#, PullFailure::Other),
            ("Error: ErrImagePull", PullFailure::Other),
        ] {
            assert_eq!(failure_of(message), want, "{message}");
        }
    }

    #[test]
    fn what_a_container_that_waits_for_its_image_says() {
        for (reason, message, want) in [
            ("ErrImagePull", Some("manifest unknown"), Some((PullFailure::NotFound, "manifest unknown"))),
            ("RegistryUnavailable", Some("down"), Some((PullFailure::Network, "down"))),
            ("RegistryUnavailable", Some("too many requests"), Some((PullFailure::RateLimited, "too many requests"))),
            ("ImagePullBackOff", None, Some((PullFailure::Other, "ImagePullBackOff"))),
            ("InvalidImageName", Some("bad"), Some((PullFailure::InvalidName, "bad"))),
            ("ErrImageNeverPull", Some("never"), Some((PullFailure::NeverPulled, "never"))),
            ("SignatureValidationFailed", Some("unsigned"), Some((PullFailure::Unauthorized, "unsigned"))),
            ("ContainerCreating", None, None),
            ("CrashLoopBackOff", Some("not found"), None),
        ] {
            let container = ContainerFact::in_state(ContainerState::Waiting {
                reason: reason.into(),
                message: message.map(Str::from),
            });
            let waits = waits_for_image(&container);
            assert_eq!(waits.as_ref().map(|(why, message)| (*why, &**message)), want, "{reason}");
        }
    }

    #[test]
    fn the_median_and_what_is_slow() {
        let secs = |secs: &[u64]| -> Vec<Duration> { secs.iter().copied().map(Duration::from_secs).collect() };
        assert_eq!(usual(&mut [], PeerScope::Site), None);
        let one = usual(&mut secs(&[9]), PeerScope::Fleet).unwrap();
        assert_eq!((one.median.as_secs(), one.peers), (9, 1));
        let five = usual(&mut secs(&[30, 10, 20, 50, 40]), PeerScope::Site).unwrap();
        assert_eq!((five.median.as_secs(), five.quartiles.0.as_secs(), five.quartiles.1.as_secs()), (30, 20, 40));
        assert_eq!(times_slower(Duration::from_secs(185), five), Some(6));
        assert_eq!(times_slower(Duration::from_secs(89), five), None, "less than three times");
        assert_eq!(times_slower(Duration::from_secs(600), one), None, "one peer is no measure");
        let quick = usual(&mut secs(&[1, 1, 1, 1]), PeerScope::Site).unwrap();
        assert_eq!(times_slower(Duration::from_secs(4), quick), None, "a few seconds");
    }
}
