//! The words by which causes are recognised, in one table. Kubelets, runtimes and registries give no codes for these
//! (docs/kubernetes.md, *Why a pod is not healthy*).
//!
//! The tests fail until a new cause is in the table, or is named there as one that is found otherwise.

use crate::engine::model::cause::CauseKind;
#[cfg(test)]
use crate::engine::model::facts::{ContainerFact, ContainerState, PodFact, PodPhase};
use crate::engine::model::facts::{READINESS_GATES, says_more_than_the_code};

/// Where words are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TextSource {
    /// The condition `PodScheduled`, where it is false, or `Ready`, where only readiness gates are missing.
    Pod,
    /// Why a kubelet ended a pod or did not admit it: reason and message of a pod in phase Failed.
    EndedPod,
    /// Why a container waits.
    Waiting,
    /// The message of a container that waits because its image could not be pulled.
    PullMessage,
    /// The reason for which a container ended with an error. Its message is not kept once the container waits to be started again.
    EndReason,
    /// A kubelet's Event on a pod that has not begun.
    StartEvent,
    /// The message of an Event of the DaemonSet's controller: a pod that could not be created. It quotes the API server.
    CreationMessage,
}

/// What is recognised as a cause.
struct TextEntry {
    source: TextSource,
    cause: CauseKind,
    /// The reason is one of these; an empty list matches every reason.
    reasons: &'static [&'static str],
    /// The message contains one of these texts, which are in lower case; the message may be in any case. An empty list matches every message.
    says: &'static [&'static str],
}

/// What one of these reasons means, whatever the message says.
const fn reason(source: TextSource, cause: CauseKind, reasons: &'static [&'static str]) -> TextEntry {
    TextEntry { source, cause, reasons, says: &[] }
}

/// What is meant where the message contains one of these, each a piece of it as it stands there.
const fn message(source: TextSource, cause: CauseKind, says: &'static [&'static str]) -> TextEntry {
    TextEntry { source, cause, reasons: &[], says }
}

/// In each source the first entry that matches decides: where the message tells what a reason means, an entry with both stands before
/// the one of the reason alone.
static TABLE: &[TextEntry] = &[
    reason(TextSource::Pod, CauseKind::Unschedulable, &["Unschedulable"]),
    reason(TextSource::Pod, CauseKind::ReadinessGate, &[READINESS_GATES]),
    // How a kubelet ends its pods, and how it refuses new ones; the last is what kubelets before 1.22 said of both.
    reason(TextSource::EndedPod, CauseKind::NodeShutdown, &["Terminated", "NodeShutdown", "Shutdown"]),
    // The second: a kubelet ended it to make room for a critical pod.
    reason(TextSource::EndedPod, CauseKind::Evicted, &["Evicted", "Preempting"]),
    reason(TextSource::Waiting, CauseKind::ImagePull, &["ErrImagePull", "ImagePullBackOff", "ImageInspectError"]),
    reason(TextSource::Waiting, CauseKind::ImageNetwork, &["RegistryUnavailable"]),
    reason(TextSource::Waiting, CauseKind::ImageName, &["InvalidImageName"]),
    reason(TextSource::Waiting, CauseKind::ImageNeverPull, &["ErrImageNeverPull"]),
    reason(TextSource::Waiting, CauseKind::ImageDenied, &["SignatureValidationFailed"]),
    reason(TextSource::Waiting, CauseKind::Config, &["CreateContainerConfigError"]),
    reason(
        TextSource::Waiting,
        CauseKind::ContainerStart,
        &["CreateContainerError", "RunContainerError", "PreStartHookError", "PostStartHookError", "PreCreateHookError"],
    ),
    reason(TextSource::Waiting, CauseKind::CrashLoop, &["CrashLoopBackOff"]),
    message(TextSource::PullMessage, CauseKind::ImageDisk, &["no space left on device", "disk quota exceeded"]),
    // Not the bare number: digests contain it.
    message(
        TextSource::PullMessage,
        CauseKind::ImageRateLimited,
        &[
            "toomanyrequests",
            "too many requests",
            "pull qps exceeded",
            "status 429",
            "status: 429",
            "code 429",
            "code: 429",
        ],
    ),
    message(TextSource::PullMessage, CauseKind::ImagePlatform, &["no match for platform", "exec format error"]),
    message(
        TextSource::PullMessage,
        CauseKind::ImageDenied,
        &[
            "unauthorized",
            "forbidden",
            "denied",
            "insufficient_scope",
            "no basic auth credentials",
            "may require authorization",
        ],
    ),
    message(
        TextSource::PullMessage,
        CauseKind::ImageNotFound,
        &["not found", "manifest unknown", "notfound", "does not exist"],
    ),
    message(
        TextSource::PullMessage,
        CauseKind::ImageNetwork,
        &[
            "i/o timeout",
            "no such host",
            "server misbehaving",
            "name resolution",
            "connection refused",
            "connection reset",
            "connection timed out",
            "deadline exceeded",
            "handshake timeout",
            "x509:",
            "network is unreachable",
            "no route to host",
            "server gave http response",
            "unexpected eof",
            "\": eof",
            "broken pipe",
            "500 internal server error",
            "502 bad gateway",
            "503 service unavailable",
            "504 gateway time",
        ],
    ),
    // Behind what says why: that a registry's authority cannot be reached is no answer of it.
    message(TextSource::PullMessage, CauseKind::ImageDenied, &["failed to authorize"]),
    reason(TextSource::EndReason, CauseKind::OutOfMemory, &["OOMKilled"]),
    reason(TextSource::EndReason, CauseKind::ContainerStart, &["StartError", "ContainerCannotRun"]),
    reason(TextSource::StartEvent, CauseKind::VolumeMount, &["FailedMount", "FailedAttachVolume", "FailedMapVolume"]),
    reason(TextSource::StartEvent, CauseKind::PodSandbox, &["FailedCreatePodSandBox", "NetworkNotReady"]),
    message(
        TextSource::CreationMessage,
        CauseKind::AdmissionRefused,
        &["validatingadmissionpolicy", "mutatingadmissionpolicy", "admission webhook", "denied the request"],
    ),
    message(
        TextSource::CreationMessage,
        CauseKind::QuotaExceeded,
        &["exceeded quota", "failed quota", "insufficient quota", "for quota"],
    ),
    message(
        TextSource::CreationMessage,
        CauseKind::CreationForbidden,
        &["forbidden", "violates podsecurity", "cannot create resource", "unauthorized"],
    ),
    message(TextSource::CreationMessage, CauseKind::PodInvalid, &[" is invalid"]),
];

/// The cause that a reason and a message from this source mean; `None` for words that are in no entry. A source of messages has no
/// reason.
pub(crate) fn recognise(source: TextSource, reason: &str, message: &str) -> Option<CauseKind> {
    let mut lower = None;
    let mut says = |words: &[&str]| {
        let message = lower.get_or_insert_with(|| message.to_lowercase());
        words.iter().any(|word| message.contains(word))
    };
    let mut entries = TABLE.iter().filter(|entry| entry.source == source);
    let found = entries.find(|entry| {
        let TextEntry { reasons, says: words, .. } = entry;
        (reasons.is_empty() || reasons.contains(&reason)) && (words.is_empty() || says(words))
    });
    found.map(|entry| entry.cause)
}

/// Whether a container that waits for this reason, with this message, has its image: the trouble comes after the pull.
pub(crate) fn waits_with_its_image(reason: &str, message: Option<&str>) -> bool {
    recognise(TextSource::Waiting, reason, message.unwrap_or_default()).is_some_and(|cause| !cause.is_about_the_image())
}

/// Whether a container that ended for this reason had its image. One of a pod that was evicted ended for `ContainerStatusUnknown`,
/// which proves nothing.
pub(crate) fn has_begun(reason: &str) -> bool {
    let by_itself = !reason.is_empty() && !says_more_than_the_code(reason);
    by_itself || recognise(TextSource::EndReason, reason, "").is_some()
}

#[cfg(test)]
impl TextSource {
    /// Whether it is an Event of a pod that has not begun. What is told there ends with a note (`view/start_notes.rs`) and not
    /// with the pod's statuses.
    fn tells_of_a_start(self) -> bool {
        self == Self::StartEvent
    }

    /// A pod whose fact says this; `None` where no fact of a pod does.
    pub(crate) fn pod_that_says(self, reason: &str, message: &str) -> Option<PodFact> {
        let with = |state| {
            let container = ContainerFact::in_state(state);
            Some(PodFact { containers: vec![container], ..PodFact::default() })
        };
        let words = Some(message.into());
        match self {
            Self::Pod => Some(PodFact {
                node: Some("n1".into()),
                reason: Some(reason.into()),
                message: words,
                ..PodFact::default()
            }),
            Self::EndedPod => Some(PodFact {
                node: Some("n1".into()),
                phase: PodPhase::Failed,
                reason: Some(reason.into()),
                message: words,
                ..PodFact::default()
            }),
            Self::Waiting => with(ContainerState::Waiting { reason: reason.into(), message: words }),
            Self::PullMessage => with(ContainerState::Waiting { reason: "ErrImagePull".into(), message: words }),
            Self::EndReason => with(ContainerState::Terminated { reason: reason.into(), exit_code: 1, message: words }),
            // Notes of Events have it: a test in `engine/tests/waits.rs` tells each.
            Self::StartEvent => None,
            // There is no pod: a test in `view/creation.rs` tells a refusal with each word.
            Self::CreationMessage => None,
        }
    }
}

/// A reason and a message by which a cause is recognised.
#[cfg(test)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextWords {
    pub(crate) source: TextSource,
    pub(crate) cause: CauseKind,
    /// Empty where only the message tells.
    pub(crate) reason: &'static str,
    /// Empty where only the reason tells.
    pub(crate) message: &'static str,
}

/// The table, word by word.
#[cfg(test)]
pub(crate) fn all_words() -> impl Iterator<Item = TextWords> {
    TABLE.iter().flat_map(|TextEntry { source, cause, reasons, says }| {
        let reasons = if reasons.is_empty() { &[""] } else { *reasons };
        let says = if says.is_empty() { &[""] } else { *says };
        let each =
            move |reason| says.iter().map(move |message| TextWords { source: *source, cause: *cause, reason, message });
        reasons.iter().copied().flat_map(each)
    })
}

/// What Events tell of pods that have not begun, word by word.
#[cfg(test)]
pub(crate) fn told_of_starts() -> impl Iterator<Item = TextWords> {
    all_words().filter(|words| words.source.tells_of_a_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Causes that are not recognised by words: a pod that is not bound; the pod's phase; its containers run; a crash loop of an init container; a message that is
    /// not in the table; nothing happens; times; a node.
    const FOUND_OTHERWISE: [CauseKind; 10] = [
        CauseKind::SchedulerIdle,
        CauseKind::Rejected,
        CauseKind::NotReady,
        CauseKind::InitFailure,
        CauseKind::NotCreated,
        CauseKind::ControllerIdle,
        CauseKind::StuckTerminating,
        CauseKind::HeldByFinalizers,
        CauseKind::Deadline,
        CauseKind::NodeDown,
    ];

    #[test]
    fn every_cause_is_in_the_table_or_found_otherwise() {
        for cause in CauseKind::ALL {
            let listed = TABLE.iter().any(|entry| entry.cause == cause);
            assert_ne!(
                listed,
                FOUND_OTHERWISE.contains(&cause),
                "{cause:?}: either words, or one of `FOUND_OTHERWISE`"
            );
        }
    }

    /// What kubelets and API servers say, in full: of each entry that is told by a message one.
    const EXAMPLES: &[(TextSource, &str, &str, CauseKind)] = &[
        (
            TextSource::PullMessage,
            "",
            "failed to extract layer sha256:5f70: write /var/lib/containerd/7: no space left on device",
            CauseKind::ImageDisk,
        ),
        (
            TextSource::PullMessage,
            "",
            "rpc error: code = Unknown desc = failed to pull and unpack image \"r.example/agent:v2\": failed to copy: \
             httpReadSeeker: failed open: unexpected status code https://r.example/v2/agent/manifests/v2: 429 Too Many Requests - \
             Server message: toomanyrequests: You have reached your pull rate limit. You may increase the limit by authenticating \
             and upgrading: https://www.docker.com/increase-rate-limit",
            CauseKind::ImageRateLimited,
        ),
        (TextSource::PullMessage, "", "no match for platform in manifest: not found", CauseKind::ImagePlatform),
        (
            TextSource::PullMessage,
            "",
            "rpc error: code = Unknown desc = failed to pull and unpack image \"r.example/agent:v2\": failed to resolve reference \
             \"r.example/agent:v2\": pull access denied, repository does not exist or may require authorization: authorization \
             failed: no basic auth credentials",
            CauseKind::ImageDenied,
        ),
        (
            TextSource::PullMessage,
            "",
            "rpc error: code = NotFound desc = failed to pull and unpack image \"r.example/agent:v2\": failed to resolve reference \
             \"r.example/agent:v2\": r.example/agent:v2: not found",
            CauseKind::ImageNotFound,
        ),
        (
            TextSource::PullMessage,
            "",
            "rpc error: code = Unknown desc = failed to pull and unpack image \"r.example/agent:v2\": failed to resolve reference \
             \"r.example/agent:v2\": failed to do request: Head \"https://r.example/v2/agent/manifests/v2\": dial tcp: i/o timeout",
            CauseKind::ImageNetwork,
        ),
        (
            TextSource::PullMessage,
            "",
            "failed to pull and unpack image \"r.example/agent:v2\": failed to resolve reference \"r.example/agent:v2\": failed to \
             authorize: failed to fetch anonymous token: unexpected status from GET request to \
             https://r.example/oauth2/token?scope=repository%3Aagent%3Apull&service=r.example: 401 Unauthorized",
            CauseKind::ImageDenied,
        ),
        (
            TextSource::CreationMessage,
            "",
            "(combined from similar events): Error creating: admission webhook \"pods.example.com\" denied the request: unsigned \
             image",
            CauseKind::AdmissionRefused,
        ),
        (
            TextSource::CreationMessage,
            "",
            "Error creating: pods \"agent-8x2lq\" is forbidden: exceeded quota: edge, requested: pods=1, used: pods=8, limited: \
             pods=8",
            CauseKind::QuotaExceeded,
        ),
        (
            TextSource::CreationMessage,
            "",
            "Error creating: pods \"agent-\" is forbidden: error looking up service account edge/agent: serviceaccount \"agent\" \
             not found",
            CauseKind::CreationForbidden,
        ),
        (
            TextSource::CreationMessage,
            "",
            "Error creating: Pod \"agent-8x2lq\" is invalid: spec.containers[0].image: Required value",
            CauseKind::PodInvalid,
        ),
    ];

    /// A word of a message is a piece of it as it stands there, and what other words surround it in a real one may mean another cause.
    #[test]
    fn what_is_told_by_a_message_is_told_by_a_real_one() {
        for (source, reason, message, means) in EXAMPLES {
            assert_eq!(recognise(*source, reason, message), Some(*means), "{source:?} {reason}: {message}");
        }
        for TextEntry { source, cause, reasons, says } in TABLE.iter().filter(|entry| !entry.says.is_empty()) {
            let has_one = EXAMPLES.iter().any(|(of, reason, message, means)| {
                let message = message.to_lowercase();
                let is_asked = of == source && (reasons.is_empty() || reasons.contains(reason));
                is_asked && means == cause && says.iter().any(|word| message.contains(word))
            });
            assert!(has_one, "{source:?}, {cause:?}, {says:?}: `EXAMPLES` has no message with one of these words");
        }
    }

    /// Whoever looks up a reason finds what rolldeck makes of it.
    #[test]
    fn every_reason_is_in_the_document() {
        let document = include_str!("../../../docs/kubernetes.md");
        let section =
            document.split("\n## ").find(|section| section.starts_with("Why a pod is not healthy\n")).unwrap();
        let reasons = all_words().map(|words| words.reason).filter(|reason| !reason.is_empty());
        let missing: Vec<&str> = reasons.filter(|reason| !section.contains(&format!("`{reason}`"))).collect();
        assert!(missing.is_empty(), "docs/kubernetes.md, *Why a pod is not healthy*, has no {missing:?}");
    }

    /// Texts that have a word in common with what tells a cause by a message, and mean another cause, or none that is known: reason,
    /// message.
    const COUNTEREXAMPLES: &[(TextSource, &str, &str, Option<CauseKind>)] = &[
        (TextSource::PullMessage, "", "open /var/lib/containerd/tmp: device or resource busy", None),
        (TextSource::PullMessage, "", "failed to extract layer sha256:04291f4d: too many open files", None),
        (TextSource::PullMessage, "", "mismatched image rootfs and manifest layers for platform linux/amd64", None),
        (
            TextSource::PullMessage,
            "",
            "failed to authorize: failed to fetch anonymous token: Get \"https://auth.r.example/token\": dial tcp: lookup \
             auth.r.example: i/o timeout",
            Some(CauseKind::ImageNetwork),
        ),
        (
            TextSource::PullMessage,
            "",
            "tls: failed to verify certificate: x509: certificate signed by unknown authority",
            Some(CauseKind::ImageNetwork),
        ),
        (
            TextSource::PullMessage,
            "",
            "failed to resolve reference \"r.example/server-500:v2\": r.example/server-500:v2: not found",
            Some(CauseKind::ImageNotFound),
        ),
        (
            TextSource::CreationMessage,
            "",
            "Error creating: Internal error occurred: failed calling webhook \"pods.example.com\": failed to call webhook: Post \
             \"https://policy.edge.svc:443/\": context deadline exceeded",
            None,
        ),
        (
            TextSource::CreationMessage,
            "",
            "Error creating: pods \"quota-agent-8x2lq\" is forbidden: violates PodSecurity \"restricted:latest\": hostNetwork",
            Some(CauseKind::CreationForbidden),
        ),
        (
            TextSource::CreationMessage,
            "",
            "Error creating: Post \"https://10.0.0.1:6443/api/v1/namespaces/edge/pods\": dial tcp: cannot assign requested address",
            None,
        ),
        (TextSource::CreationMessage, "", "Error creating: invalid character '<' looking for beginning of value", None),
    ];

    /// Words that are too short or too common tell a cause that it is not. Whoever adds some says what they must not match.
    #[test]
    fn what_a_message_tells_it_tells_of_no_text_that_only_sounds_like_it() {
        for (source, reason, message, means) in COUNTEREXAMPLES {
            assert_eq!(recognise(*source, reason, message), *means, "{source:?} {reason}: {message}");
        }
        let parts = |text: &str| -> Vec<String> {
            let parts = text.split(|c: char| !c.is_alphanumeric()).filter(|part| part.len() > 2);
            parts.map(str::to_lowercase).collect()
        };
        for TextEntry { source, cause, reasons, says } in TABLE.iter().filter(|entry| !entry.says.is_empty()) {
            let has_one = COUNTEREXAMPLES.iter().any(|(of, reason, message, means)| {
                let others = parts(message);
                let sounds_like = says.iter().flat_map(|word| parts(word)).any(|part| others.contains(&part));
                let is_asked = of == source && (reasons.is_empty() || reasons.contains(reason));
                is_asked && *means != Some(*cause) && sounds_like
            });
            assert!(
                has_one,
                "{source:?}, {cause:?}, {says:?}: `COUNTEREXAMPLES` has no text that is close and means something else"
            );
        }
    }

    /// A reason alone stands for a cause only where nothing is told by its message, or behind that.
    #[test]
    fn no_word_of_a_message_is_recognised_under_another_reason() {
        for TextWords { source, cause, reason, message } in all_words().filter(|words| !words.message.is_empty()) {
            let others = all_words().filter(|other| other.source == source && other.reason != reason);
            for other in others.filter(|other| other.message.is_empty()) {
                let says_it_too =
                    all_words().any(|words| (words.source, words.cause, words.reason) == (source, cause, other.reason));
                if !says_it_too {
                    assert_eq!(recognise(source, other.reason, message), Some(other.cause), "{cause:?}: {message}");
                }
            }
        }
    }

    /// Otherwise the trouble would stay when its note ends, or would end with a note that nobody writes.
    #[test]
    fn what_an_event_tells_of_a_start_is_known_to_end_with_it() {
        for cause in CauseKind::ALL {
            let in_events = told_of_starts().any(|words| words.cause == cause);
            assert_eq!(in_events, cause.told_of().is_some(), "{cause:?}: `ToldBy::Event`, or else an entry of Events");
        }
    }

    /// Otherwise trouble that statuses or other objects tell, for as long as it is so, would end with a note that nobody wrote of it.
    #[test]
    fn what_only_an_event_tells_is_recognised_in_events_of_a_start_alone() {
        for words in all_words().filter(|words| words.cause.told_of().is_some()) {
            assert!(words.source.tells_of_a_start(), "{words:?}: its cause is `ToldBy::Event`");
        }
    }

    /// Otherwise a pod that restarts too often would fail with `CrashLoop`, whatever its container said of its end.
    #[test]
    fn a_cause_that_the_end_of_a_container_tells_fails_its_node_under_its_own_name() {
        for words in all_words().filter(|words| words.source == TextSource::EndReason) {
            let fails_by_itself = words.cause.grace().is_some() || words.cause.says_why_it_restarts();
            assert!(fails_by_itself, "{words:?}: give its cause a grace, or `says_why_it_restarts`");
        }
    }

    #[test]
    fn no_entry_hides_behind_an_earlier_one() {
        for TextWords { source, cause, reason, message } in all_words() {
            assert_eq!(recognise(source, reason, message), Some(cause), "{source:?}: {reason} {message}");
        }
    }

    #[test]
    fn a_reason_is_the_whole_word_and_a_message_contains_it() {
        assert_eq!(recognise(TextSource::Waiting, "ErrImagePullSomething", ""), None);
        assert_eq!(
            recognise(TextSource::PullMessage, "", "HTTP 429: Too Many Requests"),
            Some(CauseKind::ImageRateLimited)
        );
    }

    #[test]
    fn a_digest_is_no_answer_of_a_registry() {
        let message = "failed to extract layer sha256:04291f4d: no space left on device";
        assert_eq!(recognise(TextSource::PullMessage, "", message), Some(CauseKind::ImageDisk));
        let message = "failed to extract layer sha256:04291f4d: unpigz: corrupted";
        assert_eq!(recognise(TextSource::PullMessage, "", message), None);
    }
}
