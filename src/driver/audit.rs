//! The local audit log: who did what, when, from where, one JSON object a line.
//!
//! ```text
//!  rollouts of this process ──▶ Entry ──▶ scrubbed ──▶ bounded queue ──▶ one thread ──▶ one write a line ──▶ file
//!                                                                            └──▶ what is wrong with it
//! ```
//!
//! It never stops or slows a rollout: what does not fit in the queue is counted and said in the log itself, and a file that
//! cannot be written is complained of, not waited for. It holds no secret: no template, no environment, no annotation, and
//! every text goes through [`scrub`].

mod file;
mod origin;
mod read;
pub(crate) mod scrub;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Weak};
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::{oneshot, watch};

use self::file::Lines;
pub(crate) use self::origin::{AuditedCluster, Origin, Place};
pub use self::read::{Filter, Line, LogError, read};
pub(crate) use self::scrub::Secrets;
use crate::engine::model::Str;
use crate::engine::model::rollout_event::{EventOutcome, RolloutEvent, Visibility};
use crate::engine::model::time::Timestamp;

/// As many lines may wait for a slow disk.
const WAITING: usize = 4_096;

/// Where the audit log is kept.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum AuditLog {
    /// Nowhere.
    #[default]
    Nowhere,
    /// In this file.
    File(PathBuf),
}

impl AuditLog {
    /// `$XDG_STATE_HOME/rolldeck/audit.jsonl`, else `~/.local/state/rolldeck/audit.jsonl`; nowhere without a home.
    pub fn usual() -> Self {
        let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        let state = state.or_else(|| Some(std::env::home_dir()?.join(".local").join("state")));
        state.map_or(Self::Nowhere, |state| Self::File(state.join("rolldeck").join("audit.jsonl")))
    }

    /// The file, where there is one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Nowhere => None,
            Self::File(path) => Some(path),
        }
    }
}

/// One line, before it is scrubbed.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Entry<'a> {
    time: Timestamp,
    identity: &'a str,
    from: &'a Place,
    cluster: &'a AuditedCluster,
    version: &'static str,
    namespace: &'a str,
    name: &'a str,
    /// Which person; absent when the rollout did it by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'a str>,
    what: String,
    #[serde(skip_serializing_if = "Value::is_null")]
    args: Value,
    result: EventOutcome,
    /// Ties `asked` to what came of it, together with `identity`.
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<u64>,
    /// Why it was refused or not done.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    /// A step on the way, which is on no timeline.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    detail: bool,
    words: String,
}

/// Whose log entries these are.
#[derive(Clone, Debug)]
pub(super) struct Subject {
    pub(super) origin: Arc<Origin>,
    pub(super) secrets: Secrets,
    pub(super) namespace: Str,
    pub(super) name: Str,
    pub(super) identity: Str,
}

impl Subject {
    /// The line for what happened.
    pub(super) fn line(&self, rollout_event: &RolloutEvent) -> Vec<u8> {
        let (what, mut args) = named(&rollout_event.kind);
        scrub_value(&mut args, &self.secrets);
        let done = matches!(rollout_event.outcome, EventOutcome::Asked | EventOutcome::Sent | EventOutcome::Done);
        let why = rollout_event.said.as_deref().filter(|_| !done);
        let entry = Entry {
            time: rollout_event.at,
            identity: &self.identity,
            from: &self.origin.from,
            cluster: &self.origin.cluster,
            version: env!("CARGO_PKG_VERSION"),
            namespace: &self.namespace,
            name: &self.name,
            by: rollout_event.by.as_deref(),
            what,
            args,
            result: rollout_event.outcome,
            command: rollout_event.command.map(|id| id.0),
            why: why.map(|why| self.secrets.scrub(why).into_owned()),
            detail: rollout_event.visibility == Visibility::Log,
            words: self.secrets.scrub(&rollout_event.to_string()).into_owned(),
        };
        let mut line = serde_json::to_vec(&entry).unwrap_or_default();
        line.push(b'\n');
        line
    }
}

/// Commands with one argument, and what it is called.
const ONE_ARGUMENT: [(&str, &str); 5] =
    [("setImage", "images"), ("step", "to"), ("select", "selector"), ("release", "early"), ("drive", "takeover")];

/// The machine name of what happened, and its arguments: always an object, or nothing.
fn named(what: &impl Serialize) -> (String, Value) {
    let value = serde_json::to_value(what).unwrap_or_default();
    match value {
        Value::String(name) => (name, Value::Null),
        Value::Object(fields) => match fields.into_iter().next() {
            Some((name, args @ (Value::Null | Value::Object(_))))
                if !ONE_ARGUMENT.iter().any(|(one, _)| *one == name) =>
            {
                (name, args)
            }
            Some((name, arg)) => {
                let key = ONE_ARGUMENT.iter().find(|(one, _)| *one == name).map_or("value", |(_, key)| key);
                (name, json!({ key: arg }))
            }
            None => Default::default(),
        },
        _ => Default::default(),
    }
}

fn scrub_value(value: &mut Value, secrets: &Secrets) {
    match value {
        Value::String(text) => {
            if let std::borrow::Cow::Owned(scrubbed) = secrets.scrub(text) {
                *text = scrubbed;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| scrub_value(item, secrets)),
        Value::Object(fields) => fields.values_mut().for_each(|field| scrub_value(field, secrets)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The log of this process. Cheap to clone; its thread ends with the last clone.
#[derive(Clone, Debug)]
pub(crate) struct Log {
    queue: SyncSender<Job>,
    lost: Arc<AtomicU64>,
    complaint: watch::Receiver<Option<Str>>,
}

#[derive(Debug)]
enum Job {
    Line(Vec<u8>),
    /// Everything before it is written, or cannot be.
    Flush(oneshot::Sender<()>),
}

impl Log {
    /// A log in `path`. The file is made when the first line is written.
    pub(crate) fn to(path: PathBuf) -> Self {
        let (queue, jobs) = sync_channel(WAITING);
        let lost = Arc::new(AtomicU64::new(0));
        let (said, complaint) = watch::channel(None);
        let counted = Arc::downgrade(&lost);
        let name = path.display().to_string();
        let thread = std::thread::Builder::new().name("audit log".to_owned());
        let writer_task =
            WriterTask { lines: Lines::new(path, file::LIMIT), name: name.clone(), said: said.clone(), lost: counted };
        if let Err(error) = thread.spawn(move || writer_task.work(&jobs)) {
            said.send_replace(Some(complaint_of(&name, &error)));
        }
        Self { queue, lost, complaint }
    }

    /// Hands over a line; returns at once.
    pub(super) fn write(&self, line: Vec<u8>) {
        if let Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) = self.queue.try_send(Job::Line(line)) {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until everything is written that was handed over, or at most so long.
    pub(super) async fn flushed(&self, within: Duration) {
        let (done, all) = oneshot::channel();
        if self.queue.try_send(Job::Flush(done)).is_ok() {
            let _ = tokio::time::timeout(within, all).await;
        }
    }

    /// What is wrong with it.
    pub(super) fn complaint(&self) -> watch::Receiver<Option<Str>> {
        self.complaint.clone()
    }
}

/// Who writes.
struct WriterTask {
    lines: Lines,
    name: String,
    said: watch::Sender<Option<Str>>,
    lost: Weak<AtomicU64>,
}

impl WriterTask {
    fn work(mut self, jobs: &Receiver<Job>) {
        while let Ok(job) = jobs.recv() {
            match job {
                Job::Line(line) => {
                    let written = self.own_up().and_then(|()| self.lines.append(&line));
                    self.tell(written.err());
                }
                Job::Flush(done) => {
                    // Whoever asked may have stopped waiting.
                    let _ = done.send(());
                }
            }
        }
    }

    /// Says how many lines did not fit in the queue.
    fn own_up(&mut self) -> std::io::Result<()> {
        let Some(lost) = self.lost.upgrade() else { return Ok(()) };
        let count = lost.swap(0, Ordering::Relaxed);
        if count == 0 {
            return Ok(());
        }
        let mut line = json!({"what": "linesLost", "args": {"count": count}}).to_string().into_bytes();
        line.push(b'\n');
        self.lines.append(&line)
    }

    fn tell(&self, error: Option<std::io::Error>) {
        let complaint = error.map(|error| complaint_of(&self.name, &error));
        self.said.send_if_modified(|said| {
            let news = *said != complaint;
            *said = complaint;
            news
        });
    }
}

fn complaint_of(name: &str, error: &std::io::Error) -> Str {
    format!("the audit log {name} cannot be written: {error}; `--audit-log FILE` names another").into()
}

#[cfg(test)]
mod hidden;
#[cfg(test)]
mod tests;
