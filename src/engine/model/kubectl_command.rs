//! Commands of kubectl that are offered for pasting.

use super::Str;
use super::container_log::LogSource;
use super::shell::{shell_flag, shell_word};

/// A command of kubectl, without the flags that say which cluster is meant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum KubectlCommand {
    /// Prints a log.
    Log(LogSource),
    /// Prints what is known of a pod.
    Pod {
        /// What of it.
        reads: PodReading,
        /// The pod's namespace.
        namespace: Str,
        /// The pod.
        pod: Str,
    },
    /// Prints a DaemonSet with its Events.
    DescribeDaemonSet {
        /// Its namespace.
        namespace: Str,
        /// Its name.
        name: Str,
    },
    /// Prints a node with the requests of all its pods.
    DescribeNode {
        /// The node.
        node: Str,
    },
    /// Takes all finalizers off a pod.
    DropFinalizers {
        /// The pod's namespace.
        namespace: Str,
        /// The pod.
        pod: Str,
    },
}

/// What a command prints of a pod.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PodReading {
    /// Its Events.
    Events,
    /// The pod in words.
    Description,
    /// The pod as the API server has it.
    Yaml,
}

impl KubectlCommand {
    /// The command, quoted for a shell. `cluster` holds the flags that lead to the cluster, quoted already. `None` if a name cannot be
    /// pasted safely.
    pub fn line(&self, cluster: &str) -> Option<String> {
        let kubectl = if cluster.is_empty() { "kubectl".to_owned() } else { format!("kubectl {cluster}") };
        match self {
            Self::Log(source) => source.kubectl(cluster),
            Self::Pod { reads, namespace, pod } => {
                let (namespace, pod) = (shell_flag("-n", namespace)?, shell_word(pod)?);
                Some(match reads {
                    PodReading::Events => format!("{kubectl} events {namespace} --for pod/{pod}"),
                    PodReading::Description => format!("{kubectl} describe pod {namespace} {pod}"),
                    PodReading::Yaml => format!("{kubectl} get pod {namespace} {pod} -o yaml"),
                })
            }
            Self::DescribeDaemonSet { namespace, name } => {
                let (namespace, name) = (shell_flag("-n", namespace)?, shell_word(name)?);
                Some(format!("{kubectl} describe daemonset {namespace} {name}"))
            }
            Self::DescribeNode { node } => Some(format!("{kubectl} describe node {}", shell_word(node)?)),
            Self::DropFinalizers { namespace, pod } => {
                let (namespace, pod) = (shell_flag("-n", namespace)?, shell_word(pod)?);
                let patch = r#"'{"metadata":{"finalizers":null}}'"#;
                Some(format!("{kubectl} patch pod {namespace} {pod} --type merge -p {patch}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::model::container_log::LogRun;

    #[test]
    fn commands_name_the_cluster_and_quote_what_they_are_about() {
        let (namespace, pod): (Str, Str) = ("edge".into(), "agent-x".into());
        let drop = KubectlCommand::DropFinalizers { namespace: namespace.clone(), pod: pod.clone() };
        assert_eq!(
            drop.line("--context prod").as_deref(),
            Some(
                r#"kubectl --context prod patch pod -n edge agent-x --type merge -p '{"metadata":{"finalizers":null}}'"#
            )
        );
        let reads = [PodReading::Events, PodReading::Description, PodReading::Yaml];
        let lines = reads.map(|reads| {
            KubectlCommand::Pod { reads, namespace: namespace.clone(), pod: pod.clone() }
                .line("--context prod")
                .unwrap()
        });
        assert_eq!(
            lines,
            [
                "kubectl --context prod events -n edge --for pod/agent-x",
                "kubectl --context prod describe pod -n edge agent-x",
                "kubectl --context prod get pod -n edge agent-x -o yaml"
            ]
        );
        let daemonset = KubectlCommand::DescribeDaemonSet { namespace: namespace.clone(), name: "agent".into() };
        assert_eq!(daemonset.line("").as_deref(), Some("kubectl describe daemonset -n edge agent"));
        let node = KubectlCommand::DescribeNode { node: "ipc 1".into() };
        assert_eq!(node.line("").as_deref(), Some("kubectl describe node 'ipc 1'"));
        let log = LogSource { namespace, pod, container: "setup".into(), run: LogRun::Previous };
        assert_eq!(
            KubectlCommand::Log(log).line("").as_deref(),
            Some("kubectl logs -n edge agent-x -c setup --previous")
        );
    }
}
