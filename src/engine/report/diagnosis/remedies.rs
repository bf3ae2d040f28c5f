//! The remedies for each cause.

use super::{OfferedCommand, injected, revision_of};
use crate::engine::model::Str;
use crate::engine::model::cause::{Cause, CauseKind};
use crate::engine::model::container_log::{LogRun, LogSource};
use crate::engine::model::kubectl_command::{KubectlCommand, PodReading};
use crate::engine::model::pod_wait::PodWait;
use crate::engine::report::snapshot::{NodeView, RevisionView, Snapshot};

/// For this many finalizers at most, the text says who takes them off.
const OWNERS: usize = 3;

/// The remedies for the cause of a node, most fitting first.
pub(super) fn of(cause: &Cause, node: &NodeView, snapshot: &Snapshot) -> Vec<String> {
    if let Some(container) = injected(cause, node, snapshot) {
        return vec![
            format!(
                "find who adds {container} to pods as they are created (a mutating webhook or policy), and correct it there"
            ),
            "leave revision and image as they are: pods of every revision get it, so that neither a roll back nor another image helps".to_owned(),
        ];
    }
    if let Some(text) = is_left_behind(cause, node, snapshot) {
        return vec![text];
    }
    if let (CauseKind::HeldByFinalizers, Some(PodWait::Finalizers(finalizers))) = (cause.kind, node.pod_wait.as_deref())
    {
        return finalizers.iter().take(OWNERS).map(owner_of).collect();
    }
    about(cause.kind).iter().map(|text| (*text).to_owned()).collect()
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
fn is_left_behind(cause: &Cause, node: &NodeView, snapshot: &Snapshot) -> Option<String> {
    let target = snapshot.to.as_ref().filter(|_| snapshot.adopted && !node.at_target)?;
    let (revision, container) = (revision_of(node, snapshot)?, cause.container.as_ref()?);
    let image = |revision: &RevisionView| {
        revision.images.iter().find(|(name, _)| name == container).map(|(_, image)| image.clone())
    };
    if cause.kind.is_about_the_image() && image(revision) == image(target) {
        return None;
    }
    Some(format!("let what is still of {} be updated: {} replaces it then", revision.called(), target.called()))
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
pub(super) fn about(kind: CauseKind) -> &'static [&'static str] {
    match kind {
        CauseKind::ImageNotFound => &[
            "correct the name or the tag, or push the image",
            "give the DaemonSet an image that is there, or roll back",
        ],
        CauseKind::ImageDenied => &[
            "check imagePullSecrets of the template and of its service account, and whether the registry lets them read",
            "check the name of the image, too: some registries answer so for one that is not there",
        ],
        CauseKind::ImageRateLimited => {
            &["wait: it is pulled again by itself", "lower how many pull at once, or pull from a mirror of your own"]
        }
        CauseKind::ImagePlatform => {
            &["build the image for the architecture of the node", "leave such nodes out by a node selector"]
        }
        CauseKind::ImageName => &["correct the name of the image in the template"],
        CauseKind::ImageNeverPull => &["bring the image onto the node, or change imagePullPolicy: Never"],
        CauseKind::ImageNetwork => &[
            "check from the node whether the registry can be reached: link, name server, proxy, certificate",
            "then wait: it is pulled again by itself",
        ],
        CauseKind::ImageDisk => &[
            "free disk space on the node, where its runtime keeps images, or enlarge that file system",
            "then wait: it is pulled again by itself",
        ],
        CauseKind::ImagePull => &[
            "look at the container runtime of the node and at the registry, as the message says",
            "then wait: it is pulled again by itself",
        ],
        CauseKind::VolumeMount => &[
            "make the ConfigMap, Secret, claim or path that the message names, or correct its name in the template",
            "look, where it is a volume of a driver, whether the driver's pod runs on the node, and whether another node still has the volume",
        ],
        CauseKind::PodSandbox => &[
            "look at the pod of the network plugin on the node: it configures CNI and gives out addresses",
            "look at the container runtime of the node, where the message names a reserved name or a timeout",
        ],
        CauseKind::Config => &["make the ConfigMap, Secret or key that the message names, or correct its name"],
        CauseKind::ContainerStart => &[
            "correct command, mounts or security settings as the message says",
            "look at the container runtime of the node",
        ],
        CauseKind::CrashLoop => &["read the log of the run before", "roll back"],
        CauseKind::InitFailure => {
            &["read what it wrote last: nothing after it starts until it ends well", "correct it, or roll back"]
        }
        CauseKind::OutOfMemory => &["raise the memory limit, or make it need less", "roll back"],
        CauseKind::NotReady => {
            &["look at the readiness probe and at the log: a container without a probe is ready once it runs"]
        }
        CauseKind::ReadinessGate => &[
            "look at the controller that sets the condition which the message names: its containers are ready, and no kubelet sets that condition",
        ],
        CauseKind::Unschedulable => &[
            "free what the message names on the node, or lower the requests of the template",
            "give it a priority class, with which it takes the place of pods that matter less",
        ],
        CauseKind::SchedulerIdle => &[
            "look at kube-scheduler: it has not looked at this pod, or has lost its lease; with a `schedulerName` in the template, at that scheduler",
        ],
        CauseKind::Rejected => &[
            "free what the kubelet lacks: disk, memory, pods; its controller makes another pod by itself",
            "look at the conditions of the node",
        ],
        CauseKind::AdmissionRefused => &["change the template or the policy that the message names", "roll back"],
        CauseKind::QuotaExceeded => &["raise the namespace's ResourceQuota, or free what it counts"],
        CauseKind::CreationForbidden => &[
            "make the service account that is missing, or change the Pod Security level of the namespace, as the message says",
        ],
        CauseKind::PodInvalid => &["correct the template as the message says", "roll back"],
        CauseKind::NotCreated => {
            &["look at the Events on the DaemonSet: its controller says there why it makes no pod"]
        }
        CauseKind::ControllerIdle => {
            &["look at kube-controller-manager: it does not act on this DaemonSet, or has lost its lease"]
        }
        CauseKind::StuckTerminating => &[
            "look whether the node answers, as its kubelet has not ended it, and at the Events for a volume that is not unmounted",
            "delete it by force only when the node is gone for good",
        ],
        CauseKind::HeldByFinalizers => &["look at the controllers that set them: each takes its own off"],
        CauseKind::Deadline => &["look at its log and its Events", "raise the progress deadline, or roll back"],
        CauseKind::NodeDown => &[
            "look at the node: power, link, kubelet",
            "wait for it: rolldeck replaces no pod there meanwhile; the DaemonSet's own controller, where it rolls, does",
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
            for text in about(kind) {
                assert!(!tells.iter().any(|word| text.starts_with(word)), "{kind:?}: {text}");
            }
        }
    }
}
