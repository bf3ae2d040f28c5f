//! The words by which causes are recognised, in one table. Kubelets, runtimes and registries give no codes for these
//! (docs/kubernetes.md, *Why a pod is not healthy*).
//!
//! The tests fail until a new cause is in the table, or is named there as one that is found otherwise.

use crate::engine::model::cause::CauseKind;
#[cfg(test)]
use crate::engine::model::facts::{ContainerFact, ContainerState, PodFact};
#[cfg(test)]
use crate::engine::model::template::ContainerRole;

/// Where words are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TextSource {
    /// The reason of the condition `PodScheduled`, where it is false.
    PodReason,
    /// The reason for which a container waits.
    WaitingReason,
    /// The message of a container that waits because its image could not be pulled.
    PullMessage,
    /// The reason for which a container ended with an error.
    EndReason,
    /// The reason of a kubelet's Event on a pod that has not begun.
    StartEventReason,
    /// The message of an Event of the DaemonSet's controller: a pod that could not be created. It quotes the API server.
    CreationMessage,
}

/// In each source the first entry that matches decides. A reason matches if it is one of the words; a message matches if it
/// contains one of them, in upper or lower case.
const TABLE: [(TextSource, CauseKind, &[&str]); 23] = [
    (TextSource::PodReason, CauseKind::Unschedulable, &["Unschedulable"]),
    (TextSource::WaitingReason, CauseKind::ImagePull, &["ErrImagePull", "ImagePullBackOff", "ImageInspectError"]),
    (TextSource::WaitingReason, CauseKind::ImageNetwork, &["RegistryUnavailable"]),
    (TextSource::WaitingReason, CauseKind::ImageName, &["InvalidImageName"]),
    (TextSource::WaitingReason, CauseKind::ImageNeverPull, &["ErrImageNeverPull"]),
    (TextSource::WaitingReason, CauseKind::ImageDenied, &["SignatureValidationFailed"]),
    (TextSource::WaitingReason, CauseKind::Config, &["CreateContainerConfigError"]),
    (
        TextSource::WaitingReason,
        CauseKind::ContainerStart,
        &["CreateContainerError", "RunContainerError", "PreStartHookError", "PostStartHookError", "PreCreateHookError"],
    ),
    (TextSource::WaitingReason, CauseKind::CrashLoop, &["CrashLoopBackOff"]),
    (TextSource::PullMessage, CauseKind::ImageDisk, &["no space left on device", "disk quota exceeded"]),
    // Not the bare number: digests contain it.
    (
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
    (TextSource::PullMessage, CauseKind::ImagePlatform, &["no match for platform", "exec format error"]),
    (
        TextSource::PullMessage,
        CauseKind::ImageDenied,
        &[
            "unauthorized",
            "forbidden",
            "denied",
            "failed to authorize",
            "insufficient_scope",
            "no basic auth credentials",
            "may require authorization",
        ],
    ),
    (
        TextSource::PullMessage,
        CauseKind::ImageNotFound,
        &["not found", "manifest unknown", "notfound", "does not exist"],
    ),
    (
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
    (TextSource::EndReason, CauseKind::OutOfMemory, &["OOMKilled"]),
    (TextSource::EndReason, CauseKind::ContainerStart, &["StartError", "ContainerCannotRun"]),
    (TextSource::StartEventReason, CauseKind::VolumeMount, &["FailedMount", "FailedAttachVolume", "FailedMapVolume"]),
    (TextSource::StartEventReason, CauseKind::PodSandbox, &["FailedCreatePodSandBox", "NetworkNotReady"]),
    (
        TextSource::CreationMessage,
        CauseKind::AdmissionRefused,
        &["validatingadmissionpolicy", "mutatingadmissionpolicy", "admission webhook", "denied the request"],
    ),
    (
        TextSource::CreationMessage,
        CauseKind::QuotaExceeded,
        &["exceeded quota", "failed quota", "insufficient quota", "for quota"],
    ),
    (
        TextSource::CreationMessage,
        CauseKind::CreationForbidden,
        &["forbidden", "violates podsecurity", "cannot create resource", "unauthorized"],
    ),
    (TextSource::CreationMessage, CauseKind::PodInvalid, &[" is invalid"]),
];

/// The cause that `text` from this source means; `None` for words that are in no entry.
pub(crate) fn recognise(source: TextSource, text: &str) -> Option<CauseKind> {
    let is_message = match source {
        TextSource::PullMessage | TextSource::CreationMessage => true,
        TextSource::PodReason | TextSource::WaitingReason | TextSource::EndReason | TextSource::StartEventReason => {
            false
        }
    };
    let lower = if is_message { text.to_lowercase() } else { String::new() };
    let matches = |word: &&str| if is_message { lower.contains(word) } else { text == *word };
    let mut entries = TABLE.iter().filter(|(of, ..)| *of == source);
    entries.find(|(_, _, words)| words.iter().any(matches)).map(|(_, cause, _)| *cause)
}

#[cfg(test)]
impl TextSource {
    /// Whether it is read off an Event of a pod that has not begun. What is told there ends with a note (`view/start_notes.rs`) and not
    /// with the pod's statuses.
    fn tells_of_a_start(self) -> bool {
        match self {
            Self::StartEventReason => true,
            Self::PodReason
            | Self::WaitingReason
            | Self::PullMessage
            | Self::EndReason
            // Of pods that are not there yet.
            | Self::CreationMessage => false,
        }
    }

    /// Whether it says how a container ended.
    fn tells_how_a_container_ended(self) -> bool {
        match self {
            Self::EndReason => true,
            Self::PodReason
            | Self::WaitingReason
            | Self::PullMessage
            | Self::StartEventReason
            | Self::CreationMessage => false,
        }
    }

    /// A pod whose fact says `word` in this source; `None` where no fact of a pod does.
    pub(crate) fn pod_that_says(self, word: &str) -> Option<PodFact> {
        let with = |state| {
            let container = ContainerFact {
                name: "agent".into(),
                role: ContainerRole::Main,
                image_present: false,
                state,
                last_end: None,
                last_exit: None,
                restarts: 0,
                ready: false,
            };
            Some(PodFact { containers: vec![container], ..PodFact::default() })
        };
        match self {
            Self::PodReason => {
                Some(PodFact { node: Some("n1".into()), reason: Some(word.into()), ..PodFact::default() })
            }
            Self::WaitingReason => with(ContainerState::Waiting { reason: word.into(), message: None }),
            Self::PullMessage => {
                with(ContainerState::Waiting { reason: "ErrImagePull".into(), message: Some(word.into()) })
            }
            Self::EndReason => with(ContainerState::Terminated { reason: word.into(), exit_code: 1, message: None }),
            // Notes of Events have it: a test in `engine/tests/waits.rs` tells an Event with each word.
            Self::StartEventReason => None,
            // There is no pod: a test in `view/creation.rs` tells a refusal with each word.
            Self::CreationMessage => None,
        }
    }
}

/// The table, word by word.
#[cfg(test)]
pub(crate) fn all_words() -> impl Iterator<Item = (TextSource, CauseKind, &'static str)> {
    TABLE.into_iter().flat_map(|(source, cause, words)| words.iter().map(move |word| (source, cause, *word)))
}

/// What Events tell of pods that have not begun, word by word.
#[cfg(test)]
pub(crate) fn told_of_starts() -> impl Iterator<Item = (TextSource, CauseKind, &'static str)> {
    all_words().filter(|(source, ..)| source.tells_of_a_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a cause is recognised by words; the others follow from states, times and exit codes.
    fn is_found_by_words(cause: CauseKind) -> bool {
        match cause {
            CauseKind::ImageNotFound
            | CauseKind::ImageDenied
            | CauseKind::ImageRateLimited
            | CauseKind::ImagePlatform
            | CauseKind::ImageName
            | CauseKind::ImageNeverPull
            | CauseKind::ImageNetwork
            | CauseKind::ImageDisk
            | CauseKind::ImagePull
            | CauseKind::VolumeMount
            | CauseKind::PodSandbox
            | CauseKind::Config
            | CauseKind::ContainerStart
            | CauseKind::CrashLoop
            | CauseKind::OutOfMemory
            | CauseKind::Unschedulable
            | CauseKind::AdmissionRefused
            | CauseKind::QuotaExceeded
            | CauseKind::CreationForbidden
            | CauseKind::PodInvalid => true,
            // The pod's phase; its containers run; a crash loop of an init container; a message that is not in the table; nothing happens; time.
            CauseKind::Rejected
            | CauseKind::NotReady
            | CauseKind::InitFailure
            | CauseKind::NotCreated
            | CauseKind::ControllerIdle
            | CauseKind::StuckTerminating
            | CauseKind::HeldByFinalizers
            | CauseKind::Deadline
            | CauseKind::NodeDown => false,
        }
    }

    #[test]
    fn every_cause_that_is_found_by_words_is_in_the_table() {
        for cause in CauseKind::ALL {
            let listed = TABLE.iter().any(|(_, listed, _)| *listed == cause);
            assert_eq!(listed, is_found_by_words(cause), "{cause:?}");
        }
    }

    /// Otherwise the trouble would stay when its note ends, or would end with a note that nobody writes.
    #[test]
    fn what_an_event_tells_of_a_start_is_known_to_end_with_it() {
        for cause in CauseKind::ALL {
            let in_events = told_of_starts().any(|(_, told, _)| told == cause);
            assert_eq!(in_events, cause.told_of().is_some(), "{cause:?}: `ToldBy::Event`, or else an entry of Events");
        }
    }

    /// Otherwise trouble that statuses or other objects tell, for as long as it is so, would end with a note that nobody wrote of it.
    #[test]
    fn what_only_an_event_tells_is_recognised_in_events_of_a_start_alone() {
        for (source, cause, word) in all_words().filter(|(_, cause, _)| cause.told_of().is_some()) {
            assert!(source.tells_of_a_start(), "{cause:?} is `ToldBy::Event`, and is recognised in {source:?}: {word}");
        }
    }

    /// Otherwise a pod that restarts too often would fail with `CrashLoop`, whatever its container said of its end.
    #[test]
    fn a_cause_that_the_end_of_a_container_tells_fails_its_node_under_its_own_name() {
        for (source, cause, word) in all_words().filter(|(source, ..)| source.tells_how_a_container_ended()) {
            let fails_by_itself = cause.grace().is_some() || cause.says_why_it_restarts();
            assert!(fails_by_itself, "{cause:?} of {source:?} ({word}): give it a grace, or `says_why_it_restarts`");
        }
    }

    #[test]
    fn no_entry_hides_behind_an_earlier_one() {
        for (source, cause, words) in TABLE {
            for word in words {
                assert_eq!(recognise(source, word), Some(cause), "{source:?}: {word}");
            }
        }
    }

    #[test]
    fn a_reason_is_the_whole_word_and_a_message_contains_it() {
        assert_eq!(recognise(TextSource::WaitingReason, "ErrImagePullSomething"), None);
        assert_eq!(
            recognise(TextSource::PullMessage, "HTTP 429: Too Many Requests"),
            Some(CauseKind::ImageRateLimited)
        );
    }

    #[test]
    fn a_digest_is_no_answer_of_a_registry() {
        let message = "failed to extract layer sha256:04291f4d: no space left on device";
        assert_eq!(recognise(TextSource::PullMessage, message), Some(CauseKind::ImageDisk));
        let message = "failed to extract layer sha256:04291f4d: unpigz: corrupted";
        assert_eq!(recognise(TextSource::PullMessage, message), None);
    }
}
