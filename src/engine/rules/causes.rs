//! The consequences of each cause, in one table: a new cause needs an entry for each, and the compiler asks for it.

use std::time::Duration;

use crate::engine::model::cause::CauseKind;
use crate::engine::model::pull::PullFailure;

/// The consequences of a cause.
#[derive(Clone, Copy, Debug)]
struct CauseConsequences {
    /// How long a new pod may have the cause before it counts as failed; `None` if only restarts or the progress deadline decide. The time runs from
    /// when the pod got into trouble of any cause, so it may be over when this cause shows.
    grace: Option<Duration>,
    /// The new revision itself may be wrong: no serving pod is replaced until that is clear.
    speaks_against_revision: bool,
    /// What it says of the image; `None` if the cause does not concern the image.
    image: Option<ImageConsequences>,
    /// The source of the cause, which determines how long the cause can be seen.
    told_by: ToldBy,
    /// It may result from the pressure that its node's kubelet reports, which is then shown as evidence.
    comes_of_pressure: bool,
    /// A starting pod has it in the ordinary course: by itself it is no trouble.
    ordinary_at_start: bool,
    /// A pod that restarts too often fails with this cause. With any other cause it fails with a crash loop.
    says_why_it_restarts: bool,
    /// How the words for the pod's wait combine with it.
    pod_wait: PodWaitWords,
    /// Its message may name a resource that the node lacks; the pods that hold it are then read and shown.
    names_what_is_lacking: bool,
}

/// The consequences of a cause that concerns the image.
#[derive(Clone, Copy, Debug)]
struct ImageConsequences {
    /// Its verdict on the image.
    verdict: ImageVerdict,
    /// The kind of pull failure.
    failure: PullFailure,
    /// The nodes that cannot get the image because of it.
    fails_on: ImageFailsOn,
}

/// The nodes that cannot get an image because of a cause.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ImageFailsOn {
    /// The node that shows the cause. Another node may get the image.
    OneNode,
    /// Every node, whichever shows the cause: the reference is invalid, or the registry refuses the image to all.
    AllNodes,
}

/// How the words for a pod's wait combine with its cause.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PodWaitWords {
    /// They are left out: the cause says why the pod waits.
    LeftOut,
    /// They follow the cause.
    Added,
    /// They replace the cause, which says only that the pod waits.
    Instead,
    /// They replace the cause where it has no message.
    InsteadIfUnexplained,
}

/// The source of a cause.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ToldBy {
    /// The watched objects, for as long as the cause lasts.
    Objects,
    /// A pod that its kubelet ended (phase Failed). Its controller deletes such a pod at once, so the cause is reported as soon as it is seen.
    EndedPod,
    /// An Event of the DaemonSet's controller about a pod that it could not create. It tells nothing more until it tries again.
    Controller,
    /// Only an Event, about this part of a pod's start. The pod's statuses do not show when the cause ends.
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
    /// Whether the Event that a volume is attached ends an earlier report of this part.
    pub(crate) fn ends_when_a_volume_is_attached(self) -> bool {
        match self {
            Self::Volumes => true,
            Self::Sandbox => false,
        }
    }

    /// Whether a newer Event of a pull, of any container or image volume of the pod, ends an earlier report of this part.
    pub(crate) fn ends_when_a_pull_begins(self) -> bool {
        match self {
            // A kubelet pulls once volumes are mounted and the sandbox is there.
            Self::Volumes | Self::Sandbox => true,
        }
    }
}

/// The verdict of a cause on the image that it concerns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ImageVerdict {
    /// The registry was asked for the image and refused it.
    Refused,
    /// The registry will give the image later: too many images are asked for at once.
    Limited,
    /// The registry could not be reached. Nothing is known of the image.
    Unreachable,
    /// The node has no room for the image. Nothing is known of the image itself.
    NoRoom,
    /// The image could not be pulled, for an unknown reason.
    Unexplained,
    /// The kubelet cannot use the image, or may not pull it.
    Unusable,
}

impl CauseKind {
    fn consequences(self) -> CauseConsequences {
        let of = |grace_secs: Option<u64>,
                  speaks_against_revision: bool,
                  image: Option<ImageConsequences>,
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
        let of_image = |grace_secs, verdict, failure, fails_on| {
            let image = ImageConsequences { verdict, failure, fails_on };
            of(grace_secs, against, Some(image), ToldBy::Objects, of_else)
        };
        let (on_one, on_all) = (ImageFailsOn::OneNode, ImageFailsOn::AllNodes);
        match self {
            Self::ImageName => of_image(Some(0), ImageVerdict::Unusable, PullFailure::InvalidName, on_all),
            Self::ImageNeverPull => of_image(Some(0), ImageVerdict::Unusable, PullFailure::NeverPulled, on_one),
            Self::ImagePlatform => of_image(Some(0), ImageVerdict::Refused, PullFailure::Platform, on_one),
            Self::ImageNotFound => of_image(Some(5), ImageVerdict::Refused, PullFailure::NotFound, on_all),
            Self::ImageDenied => of_image(Some(5), ImageVerdict::Refused, PullFailure::Unauthorized, on_all),
            // An unreachable registry says nothing of the image. Nothing that serves is replaced meanwhile, so waiting costs nothing, and the rollout
            // goes on by itself once the image arrives. A full disk says nothing of it either: it concerns the node, whose kubelet makes room or
            // evicts.
            Self::ImageNetwork => of_image(None, ImageVerdict::Unreachable, PullFailure::Network, on_one),
            Self::ImageDisk => of_image(None, ImageVerdict::NoRoom, PullFailure::Disk, on_one),
            Self::ImagePull => of_image(None, ImageVerdict::Unexplained, PullFailure::Other, on_one),
            Self::ImageRateLimited => of_image(None, ImageVerdict::Limited, PullFailure::RateLimited, on_one),
            Self::AdmissionRefused | Self::QuotaExceeded | Self::CreationForbidden | Self::PodInvalid => {
                of(Some(5), against, None, ToldBy::Controller, of_else)
            }
            Self::Config | Self::ContainerStart => of(Some(20), against, None, ToldBy::Objects, of_else),
            Self::Rejected => of(Some(20), against, None, ToldBy::EndedPod, of_else),
            // As of a full disk: the kubelet makes room, and its controller makes another pod. The revision may be why the node is short of
            // something, so nothing that serves is replaced meanwhile. Evictions count as restarts do.
            Self::Evicted => of(None, against, None, ToldBy::EndedPod, of_pressure),
            // Its controller makes another pod by itself, once the pause after the pods that it lost is over.
            Self::NodeShutdown => of(None, unrelated, None, ToldBy::EndedPod, of_else),
            Self::NotCreated => CauseConsequences {
                pod_wait: PodWaitWords::InsteadIfUnexplained,
                ..of(Some(60), against, None, ToldBy::Controller, of_else)
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
            // Nothing more is taken down for a pod that no scheduler would place.
            Self::SchedulerIdle => CauseConsequences {
                pod_wait: PodWaitWords::Instead,
                ..of(None, against, None, ToldBy::Objects, of_else)
            },
            // The writer of that condition is no part of the template, and may take its time.
            Self::NodeDown | Self::ReadinessGate => of(None, unrelated, None, ToldBy::Objects, of_else),
            Self::StuckTerminating => CauseConsequences {
                pod_wait: PodWaitWords::Added,
                ..of(None, unrelated, None, ToldBy::Objects, of_else)
            },
            // The words for the pod's wait name the finalizers.
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

    /// How long a new pod may be in this trouble before it counts as failed; `None` if only restarts or the deadline decide.
    pub fn grace(self) -> Option<Duration> {
        self.consequences().grace
    }

    /// Whether this speaks against the new revision itself, so that no serving pod is replaced until that is clear.
    pub fn speaks_against_revision(self) -> bool {
        self.consequences().speaks_against_revision
    }

    /// Whether a starting pod has this in the ordinary course, so that by itself it is no trouble.
    pub fn is_ordinary_at_start(self) -> bool {
        self.consequences().ordinary_at_start
    }

    /// Whether a pod that restarts too often fails with this cause, instead of with a crash loop.
    pub(crate) fn says_why_it_restarts(self) -> bool {
        self.consequences().says_why_it_restarts
    }

    /// The part of a pod's start that it concerns, if only an Event tells it, so that the pod's statuses do not show when it ends.
    pub(crate) fn told_of(self) -> Option<StartPart> {
        match self.consequences().told_by {
            ToldBy::Event(part) => Some(part),
            ToldBy::Objects | ToldBy::EndedPod | ToldBy::Controller => None,
        }
    }

    /// Whether a pod that has ended tells it, which its controller deletes and replaces by another one.
    pub(crate) fn is_told_by_ended_pod(self) -> bool {
        self.consequences().told_by == ToldBy::EndedPod
    }

    /// Whether the DaemonSet's controller tells it, each time that it tries to create the pod.
    pub(crate) fn is_told_by_controller(self) -> bool {
        self.consequences().told_by == ToldBy::Controller
    }

    /// Whether a timeline reports it as soon as it is seen: a pod that its kubelet ended is soon gone. Any other cause that fails the node within
    /// seconds is reported with the failure.
    pub(crate) fn is_told_at_once(self) -> bool {
        let CauseConsequences { grace, told_by, .. } = self.consequences();
        match told_by {
            ToldBy::EndedPod => true,
            ToldBy::Objects | ToldBy::Controller | ToldBy::Event(_) => grace.is_none(),
        }
    }

    /// Whether it may result from the pressure that its node's kubelet reports.
    pub(crate) fn comes_of_pressure(self) -> bool {
        self.consequences().comes_of_pressure
    }

    /// How the words for the pod's wait combine with it.
    pub(crate) fn pod_wait_words(self) -> PodWaitWords {
        self.consequences().pod_wait
    }

    /// Whether its message may name a resource that the node lacks.
    pub(crate) fn names_what_is_lacking(self) -> bool {
        self.consequences().names_what_is_lacking
    }

    /// Whether it is about the image.
    pub(crate) fn is_about_the_image(self) -> bool {
        self.consequences().image.is_some()
    }

    /// The kind of pull failure, if it concerns the image.
    pub(crate) fn pull_failure(self) -> Option<PullFailure> {
        self.consequences().image.map(|image| image.failure)
    }

    /// Whether no node can get the image because of it, so that a few nodes that show it tell of all.
    pub(crate) fn keeps_the_image_from_all_nodes(self) -> bool {
        self.consequences().image.is_some_and(|image| image.fails_on == ImageFailsOn::AllNodes)
    }

    fn image_verdict(self) -> Option<ImageVerdict> {
        self.consequences().image.map(|image| image.verdict)
    }

    /// Whether the registry was asked for the image and refused it.
    pub(crate) fn is_the_registrys_verdict(self) -> bool {
        self.image_verdict() == Some(ImageVerdict::Refused)
    }

    /// Whether the registry answered that too many images are asked for.
    pub(crate) fn is_the_registrys_limit(self) -> bool {
        self.image_verdict() == Some(ImageVerdict::Limited)
    }

    /// Whether it says only that a pull failed, so that an earlier message about the same pull says more.
    pub(crate) fn says_only_that_a_pull_failed(self) -> bool {
        self.image_verdict() == Some(ImageVerdict::Unexplained)
    }

    /// Whether many nodes that pull at once cause it, or make it worse.
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
    use crate::engine::model::occupancy::lacking_resources;

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
        CauseKind::Evicted,
        CauseKind::NodeShutdown,
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

    /// A message of each cause that names what its node has too little of.
    const NAMES_WHAT_IS_LACKING: &[(CauseKind, &str)] =
        &[(CauseKind::Unschedulable, "0/3 nodes are available: 1 Insufficient cpu.")];

    /// The pods that hold what a node lacks are read for these causes: `lacking_resources` has to find it in the message.
    #[test]
    fn what_a_message_names_as_lacking_is_found_in_it() {
        for cause in CauseKind::ALL {
            let message =
                NAMES_WHAT_IS_LACKING.iter().find(|(listed, _)| *listed == cause).map(|(_, message)| *message);
            let found = message.is_some_and(|message| !lacking_resources(message).is_empty());
            assert_eq!(cause.names_what_is_lacking(), found, "{cause:?}");
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
