//! The remedies for each cause.

use super::OfferedCommand;
use super::titles::{image_of, injected, pulled_instead, revision_of};
use crate::engine::model::Str;
use crate::engine::model::cause::{Cause, CauseKind};
use crate::engine::model::container_log::{LogRun, LogSource};
use crate::engine::model::image::registry_of;
use crate::engine::model::kubectl_command::{KubectlCommand, PodReading};
use crate::engine::model::pod_wait::PodWait;
use crate::engine::report::advice::{Advice, RemedyAct};
use crate::engine::report::snapshot::{NodeView, RevisionView, Snapshot};

/// For this many finalizers at most, the text says who takes them off.
const OWNERS: usize = 3;

/// The remedies for the cause of a node, most fitting first.
pub(super) fn of(cause: &Cause, node: &NodeView, snapshot: &Snapshot) -> Vec<Advice> {
    if let Some(container) = injected(cause, node, snapshot) {
        return vec![
            Advice::says(format!(
                "find who adds {container} to pods as they are created (a mutating webhook or policy), and correct it there"
            )),
            "leave revision and image as they are: pods of every revision get it, so that neither a roll back nor another image helps".into(),
        ];
    }
    if let Some(advice) = is_left_behind(cause, node, snapshot) {
        return vec![advice];
    }
    if let Some(mirror) = image_of(cause, node, snapshot).and_then(|image| pulled_instead(cause, image)) {
        let look = format!(
            "look at {}, and whether it has this image: a mutating webhook or policy lets pods pull from there",
            registry_of(mirror)
        );
        return vec![Advice::says(look), another_image()];
    }
    if let (CauseKind::HeldByFinalizers, Some(PodWait::Finalizers(finalizers))) = (cause.kind, node.pod_wait.as_deref())
    {
        return finalizers.iter().take(OWNERS).map(|finalizer| owner_of(finalizer).into()).collect();
    }
    about(cause.kind)
}

/// Commands for the remedies, and for a closer look.
pub(super) fn commands(cause: &Cause, node: &NodeView, snapshot: &Snapshot) -> Vec<OfferedCommand> {
    let namespace = snapshot.namespace.clone();
    let (Some(pod), false) = (&node.pod, cause.kind == CauseKind::NodeDown) else {
        return vec![look_at_what_lacks_a_pod(cause.kind, node, snapshot)];
    };
    let first = match (cause.kind, &cause.container) {
        (CauseKind::CrashLoop | CauseKind::InitFailure | CauseKind::OutOfMemory, Some(container)) => {
            Some(log(container, pod, node, snapshot))
        }
        (CauseKind::HeldByFinalizers, _) => {
            let text = format!(
                "only where that controller is gone for good, because what it was to clean up then stays: let the pod of {} go",
                node.name
            );
            Some(OfferedCommand { text, command: KubectlCommand::DropFinalizers { namespace, pod: pod.clone() } })
        }
        _ => None,
    };
    first.into_iter().chain([describe(pod, node, snapshot)]).collect()
}

/// Commands for a closer look at a pod that restarts: the logs of each of its containers that the template names.
pub(super) fn restarts(node: &NodeView, snapshot: &Snapshot) -> Vec<OfferedCommand> {
    let Some(pod) = &node.pod else { return Vec::new() };
    let images = revision_of(node, snapshot).map_or(&[][..], |revision| &revision.images);
    let logs = images.iter().map(|(container, _)| log(container, pod, node, snapshot));
    logs.chain([describe(pod, node, snapshot)]).collect()
}

fn log(container: &Str, pod: &Str, node: &NodeView, snapshot: &Snapshot) -> OfferedCommand {
    // A kubelet has a previous run only of a container that it has started again.
    let run = if node.restarts > 0 { LogRun::Previous } else { LogRun::Current };
    let (namespace, pod, container) = (snapshot.namespace.clone(), pod.clone(), container.clone());
    let text = format!("what {container} wrote on {}", node.name);
    OfferedCommand { text, command: KubectlCommand::Log(LogSource { namespace, pod, container, run }) }
}

/// The command that shows the API server's view of a pod, with its Events.
fn describe(pod: &Str, node: &NodeView, snapshot: &Snapshot) -> OfferedCommand {
    let (reads, namespace, pod) = (PodReading::Description, snapshot.namespace.clone(), pod.clone());
    let text = format!("more of the pod of {}, with its Events", node.name);
    OfferedCommand { text, command: KubectlCommand::Pod { reads, namespace, pod } }
}

/// The command for where there is no pod to look at, or its node does not answer for it.
fn look_at_what_lacks_a_pod(kind: CauseKind, node: &NodeView, snapshot: &Snapshot) -> OfferedCommand {
    match kind {
        CauseKind::NodeDown => describe_node(node),
        _ => OfferedCommand {
            text: "more of the DaemonSet, with its Events".to_owned(),
            command: KubectlCommand::DescribeDaemonSet {
                namespace: snapshot.namespace.clone(),
                name: snapshot.name.clone(),
            },
        },
    }
}

/// The command that shows the API server's view of a node.
pub(super) fn describe_node(node: &NodeView) -> OfferedCommand {
    let text = format!("more of {}, with its conditions", node.name);
    OfferedCommand { text, command: KubectlCommand::DescribeNode { node: node.name.clone() } }
}

/// The remedy for a pod at another revision than the target that fails: the target replaces it. `None` where the cause is an image that the target
/// needs, too.
fn is_left_behind(cause: &Cause, node: &NodeView, snapshot: &Snapshot) -> Option<Advice> {
    let target = snapshot.to.as_ref().filter(|_| snapshot.adopted && !node.at_target)?;
    let (revision, container) = (revision_of(node, snapshot)?, cause.container.as_ref()?);
    let image = |revision: &RevisionView| {
        revision.images.iter().find(|(name, _)| name == container).map(|(_, image)| image.clone())
    };
    if cause.kind.is_about_the_image() && image(revision) == image(target) {
        return None;
    }
    let left = Advice::says(format!("let what is still of {} ", revision.called()));
    let replaced = Advice::says(format!(": {} replaces it then", target.called()));
    Some(left.then(Advice::asks("be updated", RemedyAct::LetGo)).then(replaced))
}

/// The remedy for an image that no node gets.
pub(super) fn another_image() -> Advice {
    Advice::asks("give the DaemonSet an image that is there", RemedyAct::SetImage).or(Advice::roll_back())
}

/// The owner that takes a finalizer off.
fn owner_of(finalizer: &Str) -> String {
    match &**finalizer {
        "foregroundDeletion" | "orphan" => {
            format!("the garbage collector of kube-controller-manager takes {finalizer} off: look whether it runs")
        }
        "batch.kubernetes.io/job-tracking" => {
            format!("the Job controller of kube-controller-manager takes {finalizer} off: look whether it runs")
        }
        named => match named.split_once('/') {
            Some((domain, _)) => {
                format!("the controller of {domain} takes {finalizer} off: look whether it runs, and what it waits for")
            }
            None => format!("whoever set {finalizer} takes it off: look for a controller that knows it"),
        },
    }
}

/// The remedies for a cause, most fitting first.
pub(super) fn about(kind: CauseKind) -> Vec<Advice> {
    let say = |words: &'static str| Advice::says(words);
    match kind {
        CauseKind::ImageNotFound => vec![say("correct the name or the tag, or push the image"), another_image()],
        CauseKind::ImageDenied => vec![
            say(
                "check imagePullSecrets of the template and of its service account, and whether the registry lets them read",
            ),
            say("check the name of the image, too: some registries answer so for one that is not there"),
        ],
        CauseKind::ImageRateLimited => {
            vec![
                say("wait: it is pulled again by itself"),
                Advice::asks("lower how many pull at once", RemedyAct::LimitPulls)
                    .or(say("pull from a mirror of your own")),
            ]
        }
        CauseKind::ImagePlatform => {
            vec![
                say("build the image for the architecture of the node"),
                say("leave such nodes out by a node selector"),
            ]
        }
        CauseKind::ImageName => {
            vec![Advice::asks("correct the name of the image in the template", RemedyAct::SetImage)]
        }
        CauseKind::ImageNeverPull => vec![say("bring the image onto the node, or change imagePullPolicy: Never")],
        CauseKind::ImageNetwork => vec![
            say("check from the node whether the registry can be reached: link, name server, proxy, certificate"),
            say("then wait: it is pulled again by itself"),
        ],
        CauseKind::ImageDisk => vec![
            say("free disk space on the node, where its runtime keeps images, or enlarge that file system"),
            say("then wait: it is pulled again by itself"),
        ],
        CauseKind::ImagePull => vec![
            say("look at the container runtime of the node and at the registry, as the message says"),
            say("then wait: it is pulled again by itself"),
        ],
        CauseKind::VolumeMount => vec![
            say(
                "make the ConfigMap, Secret, claim or path that the message names, or correct its name in the template",
            ),
            say(
                "look, where it is a volume of a driver, whether the driver's pod runs on the node, and whether another node still has the volume",
            ),
        ],
        CauseKind::PodSandbox => vec![
            say("look at the pod of the network plugin on the node: it configures CNI and gives out addresses"),
            say("look at the container runtime of the node, where the message names a reserved name or a timeout"),
        ],
        CauseKind::Config => vec![say("make the ConfigMap, Secret or key that the message names, or correct its name")],
        CauseKind::ContainerStart => vec![
            say("correct command, mounts or security settings as the message says"),
            say("look at the container runtime of the node"),
        ],
        CauseKind::CrashLoop => vec![say("read the log of the run before"), Advice::roll_back()],
        CauseKind::InitFailure => {
            vec![
                say("read what it wrote last: nothing after it starts until it ends well"),
                say("correct it").or(Advice::roll_back()),
            ]
        }
        CauseKind::OutOfMemory => vec![say("raise the memory limit, or make it need less"), Advice::roll_back()],
        CauseKind::NotReady => {
            vec![say("look at the readiness probe and at the log: a container without a probe is ready once it runs")]
        }
        CauseKind::ReadinessGate => vec![say(
            "look at the controller that sets the condition which the message names: its containers are ready, and no kubelet sets that condition",
        )],
        CauseKind::Unschedulable => vec![
            say("free what the message names on the node, or lower the requests of the template"),
            say("give it a priority class, with which it takes the place of pods that matter less"),
        ],
        CauseKind::SchedulerIdle => vec![say(
            "look at kube-scheduler: it has not looked at this pod, or has lost its lease; with a `schedulerName` in the template, at that scheduler",
        )],
        CauseKind::Rejected => vec![
            say(
                "free what the message names on the node, or lower the requests of the template; its controller makes another pod by itself",
            ),
            say("look at the node: what runs there, and its labels"),
        ],
        CauseKind::Evicted => vec![
            say("free what its node is short of; its controller makes another pod by itself"),
            say("look at what the pod uses: a kubelet evicts those first that use more than they request"),
            say(
                "give it requests that fit its use, or a critical priority class (`system-node-critical`), with which it is evicted last",
            ),
        ],
        CauseKind::NodeShutdown => vec![say(
            "wait: once the node is up its controller makes another pod, after a pause that grows with each pod that it lost there, to 15 minutes at most",
        )],
        CauseKind::AdmissionRefused => {
            vec![say("change the template or the policy that the message names"), Advice::roll_back()]
        }
        CauseKind::QuotaExceeded => vec![say("raise the namespace's ResourceQuota, or free what it counts")],
        CauseKind::CreationForbidden => vec![say(
            "correct what the message names: make the service account or the PriorityClass that is missing, or change the Pod Security level of the namespace",
        )],
        CauseKind::PodInvalid => vec![say("correct the template as the message says"), Advice::roll_back()],
        CauseKind::NotCreated => {
            vec![say("look at the Events on the DaemonSet: its controller says there why it makes no pod")]
        }
        CauseKind::ControllerIdle => {
            vec![say("look at kube-controller-manager: it does not act on this DaemonSet, or has lost its lease")]
        }
        CauseKind::StuckTerminating => vec![
            say(
                "look whether the node answers, as its kubelet has not ended it, and at the Events for a volume that is not unmounted",
            ),
            say("delete it by force only when the node is gone for good"),
        ],
        CauseKind::HeldByFinalizers => vec![say("look at the controllers that set them: each takes its own off")],
        CauseKind::Deadline => vec![
            say("look at its log and its Events"),
            Advice::asks("raise the progress deadline", RemedyAct::RaiseDeadline).or(Advice::roll_back()),
        ],
        CauseKind::NodeDown => vec![
            say("look at the node: power, link, kubelet"),
            say(
                "wait for it: rolldeck replaces no pod there meanwhile; the DaemonSet's own controller, where it rolls, does",
            ),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An arrow stands before each: what follows it is something to do.
    #[test]
    fn each_remedy_is_something_to_do() {
        let tells = ["it ", "its ", "a ", "or ", "some ", "of ", "neither ", "rolldeck ", "where "];
        for kind in CauseKind::ALL {
            for text in about(kind).iter().map(ToString::to_string) {
                assert!(!tells.iter().any(|word| text.starts_with(word)), "{kind:?}: {text}");
            }
        }
    }

    /// The cause has several reasons, which only the message tells apart.
    #[test]
    fn what_to_do_about_a_forbidden_pod_fits_whatever_the_message_names() {
        let said = about(CauseKind::CreationForbidden)[0].to_string();
        for reason in ["what the message names", "service account", "PriorityClass", "Pod Security"] {
            assert!(said.contains(reason), "{said}");
        }
    }

    /// What rolldeck does of it is an act: a remedy that says so in mere words would be shown without its key.
    #[test]
    fn what_rolldeck_does_of_a_remedy_is_an_act() {
        let all: Vec<Advice> = CauseKind::ALL.into_iter().flat_map(about).collect();
        for (words, act, times) in [
            ("image", RemedyAct::SetImage, 2),
            ("roll back", RemedyAct::RollBack, 7),
            ("lower how many pull", RemedyAct::LimitPulls, 1),
            ("deadline", RemedyAct::RaiseDeadline, 1),
        ] {
            let asks = |advice: &&Advice| advice.acts().any(|asked| asked == act);
            assert_eq!(all.iter().filter(asks).count(), times, "{act:?}");
            assert!(all.iter().filter(asks).all(|advice| advice.to_string().contains(words)), "{act:?}");
        }
        let rolls_back = |advice: &&Advice| advice.to_string().contains("roll back");
        assert!(all.iter().filter(rolls_back).all(|advice| advice.acts().any(|act| act == RemedyAct::RollBack)));
    }
}
