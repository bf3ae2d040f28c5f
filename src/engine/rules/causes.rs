//! What follows from each cause, in one table: whoever adds a cause decides all of it here, and the compiler asks for it.

use std::time::Duration;

use crate::engine::model::cause::CauseKind;
use crate::engine::model::pull::PullFailure;

/// What follows from a cause.
#[derive(Clone, Copy, Debug)]
struct CauseConsequences {
    /// After how long a new pod that has it counts as failed; `None`: only restarts or the progress deadline tell. It counts from when
    /// the pod got into trouble of whatever cause, so that it may be over when this cause shows.
    grace: Option<Duration>,
    /// The new revision itself may be what is wrong: nothing that serves is replaced until it is clear.
    speaks_against_revision: bool,
    /// What it says of the image, and what is wrong with the pull; `None`: it is not about the image.
    image: Option<(ImageVerdict, PullFailure)>,
    /// What tells it, and so for how long it can be seen.
    told_by: ToldBy,
    /// It may come of what its node's kubelet reports pressure of: that is shown as evidence.
    comes_of_pressure: bool,
    /// A pod that starts has it in the ordinary course: by itself it is no trouble.
    ordinary_at_start: bool,
    /// A pod that restarts too often fails with this cause, instead of with the crash loop that any other ends in.
    says_why_it_restarts: bool,
    /// What becomes of the words for what the pod waits for.
    pod_wait: PodWaitWords,
    /// Its message may name what the node has too little of: then it is read and shown which pods hold it.
    names_what_is_lacking: bool,
}

/// What becomes of the words for what a pod waits for where its cause is said.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PodWaitWords {
    /// They are left out: the cause says why it waits.
    LeftOut,
    /// They follow the cause.
    Added,
    /// They stand instead of the cause, which says only that it waits.
    Instead,
    /// They stand instead of the cause where that has no message.
    InsteadIfUnexplained,
}

/// What tells a cause.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ToldBy {
    /// The objects that are watched, for as long as it is so.
    Objects,
    /// A pod that its kubelet ended (phase Failed). Its controller deletes such a pod at once, and it is told as soon as it is seen.
    EndedPod,
    /// Only an Event, of this part of a pod's start: it ends without a word in the pod's statuses.
    Event(StartPart),
}

/// A part of a pod's start that its statuses call `ContainerCreating` all the while.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StartPart {
    /// Its volumes are attached and mounted.
    Volumes,
    /// Its sandbox is set up, with its network.
    Sandbox,
}

impl StartPart {
    /// Whether the Event that a volume is attached ends what was told of it before.
    pub(crate) fn ends_when_a_volume_is_attached(self) -> bool {
        match self {
            Self::Volumes => true,
            Self::Sandbox => false,
        }
    }

    /// Whether a newer Event of a pull, of whichever container or image volume of the pod, ends what was told of it before.
    pub(crate) fn ends_when_a_pull_begins(self) -> bool {
        match self {
            // A kubelet pulls once volumes are mounted and the sandbox is there.
            Self::Volumes | Self::Sandbox => true,
        }
    }
}

/// What a cause says of the image that it is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ImageVerdict {
    /// The registry was asked for it, and has answered that it will not give it.
    Refused,
    /// The registry gives it later: too many ask for images at once.
    Limited,
    /// The registry could not be reached, which says nothing of the image.
    Unreachable,
    /// The node has no room for it, which says nothing of the image.
    NoRoom,
    /// It could not be pulled, and nothing tells why.
    Unexplained,
    /// The kubelet cannot use it, or may not pull it.
    Unusable,
}

impl CauseKind {
    fn consequences(self) -> CauseConsequences {
        let of = |grace_secs: Option<u64>,
                  speaks_against_revision: bool,
                  image: Option<(ImageVerdict, PullFailure)>,
                  told_by: ToldBy,
                  comes_of_pressure: bool| CauseConsequences {
            grace: grace_secs.map(Duration::from_secs),
            speaks_against_revision,
            image,
            told_by,
            comes_of_pressure,
            ordinary_at_start: false,
            says_why_it_restarts: false,
            pod_wait: PodWaitWords::LeftOut,
            names_what_is_lacking: false,
        };
        let (against, unrelated) = (true, false);
        let (of_pressure, of_else) = (true, false);
        let of_image =
            |grace_secs, verdict, failure| of(grace_secs, against, Some((verdict, failure)), ToldBy::Objects, of_else);
        match self {
            Self::ImageName => of_image(Some(0), ImageVerdict::Unusable, PullFailure::InvalidName),
            Self::ImageNeverPull => of_image(Some(0), ImageVerdict::Unusable, PullFailure::NeverPulled),
            Self::ImagePlatform => of_image(Some(0), ImageVerdict::Refused, PullFailure::Platform),
            Self::ImageNotFound => of_image(Some(5), ImageVerdict::Refused, PullFailure::NotFound),
            Self::ImageDenied => of_image(Some(5), ImageVerdict::Refused, PullFailure::Unauthorized),
            // A registry that cannot be reached says nothing of the image. Nothing that serves is replaced meanwhile, so waiting costs
            // nothing, and the rollout goes on by itself once the image comes.
            // So does a full disk: it speaks of the node, and its kubelet makes room or evicts.
            Self::ImageNetwork => of_image(None, ImageVerdict::Unreachable, PullFailure::Network),
            Self::ImageDisk => of_image(None, ImageVerdict::NoRoom, PullFailure::Disk),
            Self::ImagePull => of_image(None, ImageVerdict::Unexplained, PullFailure::Other),
            Self::ImageRateLimited => of_image(None, ImageVerdict::Limited, PullFailure::RateLimited),
            Self::AdmissionRefused | Self::QuotaExceeded | Self::CreationForbidden | Self::PodInvalid => {
                of(Some(5), against, None, ToldBy::Objects, of_else)
            }
            Self::Config | Self::ContainerStart => of(Some(20), against, None, ToldBy::Objects, of_else),
            Self::Rejected => of(Some(20), against, None, ToldBy::EndedPod, of_pressure),
            Self::NotCreated => CauseConsequences {
                pod_wait: PodWaitWords::InsteadIfUnexplained,
                ..of(Some(60), against, None, ToldBy::Objects, of_else)
            },
            // Attaching and mounting take minutes in the ordinary course, and kubelets complain meanwhile.
            Self::VolumeMount => of(None, against, None, ToldBy::Event(StartPart::Volumes), of_else),
            Self::PodSandbox => of(None, unrelated, None, ToldBy::Event(StartPart::Sandbox), of_else),
            Self::CrashLoop | Self::ControllerIdle | Self::Deadline => {
                of(None, against, None, ToldBy::Objects, of_else)
            }
            Self::OutOfMemory | Self::InitFailure => {
                CauseConsequences { says_why_it_restarts: true, ..of(None, against, None, ToldBy::Objects, of_else) }
            }
            Self::Unschedulable => {
                CauseConsequences { names_what_is_lacking: true, ..of(None, unrelated, None, ToldBy::Objects, of_else) }
            }
            // Nothing more is taken down for a pod that nobody would place.
            Self::SchedulerIdle => CauseConsequences {
                pod_wait: PodWaitWords::Instead,
                ..of(None, against, None, ToldBy::Objects, of_else)
            },
            // Whoever sets that condition is no part of the template, and may take its time.
            Self::NodeDown | Self::ReadinessGate => of(None, unrelated, None, ToldBy::Objects, of_else),
            Self::StuckTerminating => CauseConsequences {
                pod_wait: PodWaitWords::Added,
                ..of(None, unrelated, None, ToldBy::Objects, of_else)
            },
            // What the pod waits for names the finalizers.
            Self::HeldByFinalizers => CauseConsequences {
                pod_wait: PodWaitWords::Instead,
                ..of(None, unrelated, None, ToldBy::Objects, of_else)
            },
            Self::NotReady => CauseConsequences {
                ordinary_at_start: true,
                pod_wait: PodWaitWords::Instead,
                ..of(None, unrelated, None, ToldBy::Objects, of_else)
            },
        }
    }

    /// How long a new pod may be in this trouble before it counts as failed; `None`: only restarts or the deadline tell.
    pub fn grace(self) -> Option<Duration> {
        self.consequences().grace
    }

    /// Whether this speaks against the new revision itself, so that nothing serving is replaced until it is clear.
    pub fn speaks_against_revision(self) -> bool {
        self.consequences().speaks_against_revision
    }

    /// Whether a pod that starts has this in the ordinary course, so that by itself it is no trouble.
    pub fn is_ordinary_at_start(self) -> bool {
        self.consequences().ordinary_at_start
    }

    /// Whether a pod that restarts too often fails with this cause, instead of with a crash loop.
    pub(crate) fn says_why_it_restarts(self) -> bool {
        self.consequences().says_why_it_restarts
    }

    /// The part of a pod's start that it speaks of where only an Event tells it, so that it ends without a word in the pod's statuses.
    pub(crate) fn told_of(self) -> Option<StartPart> {
        match self.consequences().told_by {
            ToldBy::Event(part) => Some(part),
            ToldBy::Objects | ToldBy::EndedPod => None,
        }
    }

    /// Whether a timeline tells it as soon as it is seen. Otherwise, where it fails the node within seconds, it is told then: until
    /// then a pod that its kubelet ended is gone.
    pub(crate) fn is_told_at_once(self) -> bool {
        let CauseConsequences { grace, told_by, .. } = self.consequences();
        match told_by {
            ToldBy::EndedPod => true,
            ToldBy::Objects | ToldBy::Event(_) => grace.is_none(),
        }
    }

    /// Whether it may come of what its node's kubelet reports pressure of.
    pub(crate) fn comes_of_pressure(self) -> bool {
        self.consequences().comes_of_pressure
    }

    /// What becomes of the words for what the pod waits for.
    pub(crate) fn pod_wait_words(self) -> PodWaitWords {
        self.consequences().pod_wait
    }

    /// Whether its message may name what the node has too little of.
    pub(crate) fn names_what_is_lacking(self) -> bool {
        self.consequences().names_what_is_lacking
    }

    /// Whether it is about the image.
    pub(crate) fn is_about_the_image(self) -> bool {
        self.consequences().image.is_some()
    }

    /// What it says of a pull, where it is about the image.
    pub(crate) fn pull_failure(self) -> Option<PullFailure> {
        self.consequences().image.map(|(_, failure)| failure)
    }

    fn image_verdict(self) -> Option<ImageVerdict> {
        self.consequences().image.map(|(verdict, _)| verdict)
    }

    /// Whether the registry was asked for the image, and has answered that it will not give it.
    pub(crate) fn is_the_registrys_verdict(self) -> bool {
        self.image_verdict() == Some(ImageVerdict::Refused)
    }

    /// Whether the registry answers that too many images are asked for.
    pub(crate) fn is_the_registrys_limit(self) -> bool {
        self.image_verdict() == Some(ImageVerdict::Limited)
    }

    /// Whether it says only that a pull failed: what was said before of the same pull says more.
    pub(crate) fn says_only_that_a_pull_failed(self) -> bool {
        self.image_verdict() == Some(ImageVerdict::Unexplained)
    }

    /// Whether it comes of many nodes that pull at once, or is made worse by them.
    pub(crate) fn is_milder_with_fewer_pulls(self) -> bool {
        self.image_verdict().is_some_and(|verdict| match verdict {
            ImageVerdict::Limited | ImageVerdict::Unreachable => true,
            ImageVerdict::Refused | ImageVerdict::NoRoom | ImageVerdict::Unexplained | ImageVerdict::Unusable => false,
        })
    }

    /// Whether the image could not be pulled for a reason that says nothing of the image: the network, a limit, a full disk.
    pub(crate) fn leaves_the_image_open(self) -> bool {
        self.image_verdict().is_some_and(|verdict| match verdict {
            ImageVerdict::Limited | ImageVerdict::Unreachable | ImageVerdict::NoRoom | ImageVerdict::Unexplained => {
                true
            }
            ImageVerdict::Refused | ImageVerdict::Unusable => false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Why each cause fails its node as soon as it is seen, or by a word of an Event, where nothing but a newer Event ends it.
    const FAILS_AT_ONCE: &[(CauseKind, &str)] = &[
        (CauseKind::ImageName, "no retry makes another name of it"),
        (CauseKind::ImageNeverPull, "its kubelet does not fetch it, however long it waits"),
        (CauseKind::ImagePlatform, "the registry has answered, and the image stays what it is"),
    ];

    /// A grace of a cause that an Event tells begins anew with every retry of the kubelet, and one of 0 cannot be taken back.
    #[test]
    fn every_cause_that_fails_its_node_at_once_has_a_reason_to() {
        let fails = |cause: CauseKind| match (cause.grace(), cause.told_of()) {
            (None, _) => false,
            (Some(_), Some(_)) => true,
            (Some(grace), None) => grace.is_zero(),
        };
        for cause in CauseKind::ALL {
            let why = FAILS_AT_ONCE.iter().find(|(listed, _)| *listed == cause);
            assert_eq!(fails(cause), why.is_some(), "{cause:?}: `FAILS_AT_ONCE` says why, of these and of no other");
            assert!(why.is_none_or(|(_, why)| !why.is_empty()), "{cause:?}");
        }
    }

    /// Of these the answer to each question that has a default was found to be the default.
    const AS_BY_DEFAULT: &[CauseKind] = &[
        CauseKind::ImageName,
        CauseKind::ImageNeverPull,
        CauseKind::ImagePlatform,
        CauseKind::ImageNotFound,
        CauseKind::ImageDenied,
        CauseKind::ImageNetwork,
        CauseKind::ImageDisk,
        CauseKind::ImagePull,
        CauseKind::ImageRateLimited,
        CauseKind::AdmissionRefused,
        CauseKind::QuotaExceeded,
        CauseKind::CreationForbidden,
        CauseKind::PodInvalid,
        CauseKind::Config,
        CauseKind::ContainerStart,
        CauseKind::Rejected,
        CauseKind::VolumeMount,
        CauseKind::PodSandbox,
        CauseKind::CrashLoop,
        CauseKind::ControllerIdle,
        CauseKind::Deadline,
        CauseKind::NodeDown,
        CauseKind::ReadinessGate,
    ];

    #[test]
    fn no_cause_has_a_default_unasked() {
        for cause in CauseKind::ALL {
            let CauseConsequences {
                ordinary_at_start,
                says_why_it_restarts,
                pod_wait,
                names_what_is_lacking,
                // Each row of the table says them.
                grace: _,
                speaks_against_revision: _,
                image: _,
                told_by: _,
                comes_of_pressure: _,
            } = cause.consequences();
            let differs =
                ordinary_at_start || says_why_it_restarts || pod_wait != PodWaitWords::LeftOut || names_what_is_lacking;
            assert_eq!(
                AS_BY_DEFAULT.contains(&cause),
                !differs,
                "{cause:?}: does a pod that starts have it in the ordinary course, does one that restarts too often fail with it, are the \
                 words for what the pod waits for said beside it, does its message name what its node has too little of? If nothing \
                 of that, it stands in `AS_BY_DEFAULT`"
            );
        }
    }

    /// Otherwise `starting_state` (`assess/rows/state.rs`) would call a node *pulling* whose pod has not come that far: it asks whether
    /// the trouble is about the image, and no container says that a pull failed.
    #[test]
    fn no_cause_that_only_an_event_tells_is_about_the_image() {
        for cause in CauseKind::ALL {
            assert!(cause.told_of().is_none() || !cause.is_about_the_image(), "{cause:?}");
        }
    }
}
