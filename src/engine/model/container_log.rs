//! Logs of containers, as far as they are shown: which log, its lines, and how far it has been read.

use super::Str;
use super::shell::{shell_flag, shell_word};
use super::time::Timestamp;

/// The most bytes of a line that are shown. Container runtimes cut lines at 16 KiB, and the API server joins them again.
pub const LOG_LINE: usize = 4 * 1024;

/// Which log is read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogSource {
    /// The pod's namespace.
    pub namespace: Str,
    /// The pod.
    pub pod: Str,
    /// The container.
    pub container: Str,
    /// The run of the container whose log is read.
    pub run: LogRun,
}

/// Which run of a container.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogRun {
    /// The present run and those that follow; while the container waits to be started again, the run that ended.
    Current,
    /// The run before.
    Previous,
}

impl LogSource {
    /// The command that prints the same log, quoted for a shell. `cluster` holds the flags that lead to the cluster, quoted already.
    /// `None` if a name cannot be pasted safely.
    pub fn kubectl(&self, cluster: &str) -> Option<String> {
        let Self { namespace, pod, container, run } = self;
        let previous = match run {
            LogRun::Current => "",
            LogRun::Previous => " --previous",
        };
        let (namespace, pod) = (shell_flag("-n", namespace)?, shell_word(pod)?);
        let container = shell_flag("-c", container)?;
        let cluster = if cluster.is_empty() { String::new() } else { format!("{cluster} ") };
        Some(format!("kubectl {cluster}logs {namespace} {pod} {container}{previous}"))
    }
}

/// A line of a log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ContainerLine {
    /// When the runtime took it in; `None` where the line does not say.
    pub at: Option<Timestamp>,
    /// In at most [`LOG_LINE`] bytes, without characters that steer a terminal.
    pub text: Box<str>,
}

/// The part of a log that was read since the last time.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LogNews {
    /// Lines, oldest first.
    pub lines: Vec<ContainerLine>,
    /// How many bytes before these lines were not kept: they came faster than they can be shown.
    pub skipped_bytes: u64,
    /// How reading goes on.
    pub state: LogState,
}

/// How far the reading of a log has come.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum LogState {
    /// It was asked for.
    #[default]
    Opening,
    /// Lines come as they are written.
    Following,
    /// There is nothing to read yet, in the API server's words; it is asked again.
    Waiting(Str),
    /// It ended, and nothing more will come.
    Ended,
    /// It cannot be read: why.
    Failed(Str),
    /// It may not be read: `pods/log` is not permitted.
    Forbidden(Str),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_can_be_pasted() {
        let mut source = LogSource {
            namespace: "edge".into(),
            pod: "agent-x1".into(),
            container: "agent".into(),
            run: LogRun::Current,
        };
        assert_eq!(
            source.kubectl("--as ada --context prod").unwrap(),
            "kubectl --as ada --context prod logs -n edge agent-x1 -c agent"
        );
        source.run = LogRun::Previous;
        assert_eq!(source.kubectl("").unwrap(), "kubectl logs -n edge agent-x1 -c agent --previous");
        source.pod = "a\nb".into();
        assert_eq!(source.kubectl(""), None);
    }
}
