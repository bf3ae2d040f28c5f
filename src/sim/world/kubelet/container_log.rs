//! The logs of simulated containers, and the run whose log a kubelet gives out.
//!
//! Nothing is stored: the lines follow from the beginning and the end of a run, which the pod's status tells. So a kubelet knows as much as a real
//! one, which keeps the logs of the present run and of the one before.

use std::time::Duration;

use super::super::object::{ContainerStatus, Pod};
use crate::engine::model::facts::ContainerState;
use crate::engine::model::image::version_of;
use crate::engine::model::time::Timestamp;

/// The time from one line of a running process to the next.
const EVERY: Duration = Duration::from_secs(10);

/// One run of a container.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoggedRun {
    version: String,
    started_at: Timestamp,
    /// When it ended, and its exit code; `None` while it runs.
    ended: Option<(Timestamp, i32)>,
}

impl LoggedRun {
    /// The run whose log a kubelet gives out: the present one, or the one that ended, while the container waits to be started again; with `previous`,
    /// the run before.
    ///
    /// # Errors
    /// No such run exists, or none yet; in the API server's words (HTTP 400).
    pub fn of(pod: &str, body: &Pod, container: &str, previous: bool) -> Result<Self, String> {
        let of_name = |status: &&ContainerStatus| *status.fact.name == *container;
        let Some(status) = body.status.containers.iter().find(of_name) else {
            return Err(format!("container \"{container}\" in pod \"{pod}\" is waiting to start: ContainerCreating"));
        };
        let version = version_of(&status.image).to_owned();
        let last = status.last_exit.map(|exit| Self {
            version: version.clone(),
            started_at: exit.started_at,
            ended: Some((exit.finished_at, exit.code)),
        });
        match (&status.fact.state, previous) {
            (_, true) => {
                last.ok_or_else(|| format!("previous terminated container \"{container}\" in pod \"{pod}\" not found"))
            }
            (ContainerState::Running { since }, false) => {
                Ok(Self { version, started_at: since.unwrap_or_default(), ended: None })
            }
            (ContainerState::Terminated { exit_code, .. }, false) => {
                // The status that the world keeps has no times of a run that is over for good.
                let at = body.status.started_at.unwrap_or_default();
                Ok(last.unwrap_or(Self { version, started_at: at, ended: Some((at, *exit_code)) }))
            }
            (ContainerState::Waiting { reason, .. }, false) => last.ok_or_else(|| {
                let why = match &**reason {
                    "ErrImagePull" | "ImagePullBackOff" => "trying and failing to pull image",
                    other => other,
                };
                format!("container \"{container}\" in pod \"{pod}\" is waiting to start: {why}")
            }),
        }
    }

    /// Whether the run goes on.
    pub fn goes_on(&self) -> bool {
        self.ended.is_none()
    }

    /// The run's lines later than `after` and no later than `until`; of them the last `most`, oldest first.
    pub fn lines(&self, after: Option<Timestamp>, until: Timestamp, most: usize) -> Vec<(Timestamp, String)> {
        let end = self.ended.map_or(until, |(at, _)| at.min(until));
        let mut lines = Vec::new();
        for (nth, text) in self.first_words().into_iter().enumerate() {
            lines.push((self.started_at + Duration::from_millis(300 * nth as u64), text));
        }
        let cycles = end.since(self.started_at).as_millis() / EVERY.as_millis();
        let cycles = u64::try_from(cycles).unwrap_or(u64::MAX);
        for cycle in cycles.saturating_sub(most as u64) + 1..=cycles {
            let at = Timestamp::from_millis(
                self.started_at
                    .millis()
                    .saturating_add(i64::try_from(EVERY.as_millis() as u64 * cycle).unwrap_or(i64::MAX)),
            );
            lines.push((
                at,
                format!("level=info msg=\"cycle done\" cycle={cycle} points=128 took={}ms", 20 + cycle % 23),
            ));
        }
        lines.retain(|(at, _)| self.ended.is_none_or(|(ended, _)| *at < ended));
        if let Some((at, code)) = self.ended {
            lines.extend(last_words(code).iter().map(|text| (at, (*text).to_owned())));
        }
        lines.retain(|(at, _)| *at <= until && after.is_none_or(|after| *at > after));
        lines.drain(..lines.len().saturating_sub(most));
        lines
    }

    fn first_words(&self) -> Vec<String> {
        // The runtime never started the process: nobody wrote anything.
        if matches!(self.ended, Some((_, 128))) {
            return Vec::new();
        }
        vec![
            format!("level=info msg=\"starting\" version={}", self.version),
            "level=info msg=\"configuration read\" file=/etc/agent/agent.yaml".to_owned(),
            "level=info msg=\"listening\" address=:9100".to_owned(),
        ]
    }
}

/// The lines that a process writes before it ends with this code.
fn last_words(code: i32) -> &'static [&'static str] {
    match code {
        0 => &["level=info msg=\"stopping: SIGTERM\""],
        // A killed process writes no last line.
        128 | 137 | 255 => &[],
        _ => &[
            "level=error msg=\"cannot open serial port\" device=/dev/ttyS1 error=\"no such file or directory\"",
            "level=fatal msg=\"no device to read from, giving up\"",
        ],
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::super::object::{LastExit, PodStatus};
    use super::*;
    use crate::engine::model::facts::ContainerFact;

    fn at(secs: i64) -> Timestamp {
        Timestamp::from_millis(secs * 1_000)
    }

    fn pod(state: ContainerState, last_exit: Option<LastExit>) -> Pod {
        let fact = ContainerFact { image_present: true, ..ContainerFact::in_state(state) };
        let status = ContainerStatus { fact, image: "agent:v2".into(), image_id: None, last_exit };
        Pod { status: PodStatus { containers: Arc::new([status]), ..PodStatus::default() }, ..Pod::default() }
    }

    fn run(body: &Pod, previous: bool) -> Result<LoggedRun, String> {
        LoggedRun::of("agent-x", body, "agent", previous)
    }

    #[test]
    fn a_crash_leaves_its_last_lines() {
        let waits = ContainerState::Waiting { reason: "CrashLoopBackOff".into(), message: None };
        let crashed = pod(waits, Some(LastExit { code: 1, started_at: at(100), finished_at: at(125) }));
        let current = run(&crashed, false).unwrap();
        assert_eq!(run(&crashed, true), Ok(current.clone()), "the run that ended is the one before the next");
        let lines = current.lines(None, at(500), 100);
        assert!(lines[0].1.contains("version=v2") && lines.last().unwrap().1.contains("giving up"), "{lines:?}");
        assert_eq!(lines.last().unwrap().0, at(125));
        assert_eq!(current.lines(Some(at(125)), at(500), 100), []);
        assert_eq!(current.lines(None, at(500), 2).len(), 2);
        assert!(!current.goes_on());
    }

    #[test]
    fn a_running_container_goes_on_writing() {
        let running = pod(ContainerState::Running { since: Some(at(100)) }, None);
        let current = run(&running, false).unwrap();
        let first = current.lines(None, at(115), 100);
        let then = current.lines(first.last().map(|(at, _)| *at), at(131), 100);
        let texts: Vec<&str> = then.iter().map(|(_, text)| &text[..36]).collect();
        assert_eq!(texts, ["level=info msg=\"cycle done\" cycle=2 ", "level=info msg=\"cycle done\" cycle=3 "]);
        assert_eq!(current.lines(None, at(10_000_000), 50).len(), 50, "a long run costs no more");
        assert!(current.goes_on());
        assert_eq!(
            run(&running, true),
            Err("previous terminated container \"agent\" in pod \"agent-x\" not found".to_owned())
        );
    }

    #[test]
    fn what_has_not_started_has_no_log() {
        let waits = |reason: &str| pod(ContainerState::Waiting { reason: reason.into(), message: None }, None);
        assert!(
            run(&waits("ContainerCreating"), false).unwrap_err().ends_with("is waiting to start: ContainerCreating")
        );
        assert!(run(&waits("ImagePullBackOff"), false).unwrap_err().ends_with("trying and failing to pull image"));
    }
}
