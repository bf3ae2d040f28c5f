//! Writes lines to the audit log on its own thread, so that a slow disk delays no rollout.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Weak};
use std::time::Duration;

use serde_json::json;
use tokio::sync::{oneshot, watch};

use super::file::{self, LogFile};
use crate::engine::model::Str;

/// How many lines may wait for a slow disk; further ones are counted and dropped.
pub(super) const WAITING: usize = 4_096;

/// The log of this process. Cheap to clone; its thread ends with the last clone.
#[derive(Clone, Debug)]
pub(crate) struct Log {
    queue: SyncSender<LogJob>,
    /// Lines that did not fit in the queue and are not reported yet.
    pub(super) lost: Arc<AtomicU64>,
    complaint: watch::Receiver<Option<Str>>,
}

#[derive(Debug)]
enum LogJob {
    Line(Vec<u8>),
    /// Answered once everything before it is written, or has failed.
    Flush(oneshot::Sender<()>),
}

impl Log {
    /// A log in the file `path`, which is created when the first line is written.
    pub(crate) fn to(path: PathBuf) -> Self {
        let (queue, jobs) = sync_channel(WAITING);
        let lost = Arc::new(AtomicU64::new(0));
        let (said, complaint) = watch::channel(None);
        let counted = Arc::downgrade(&lost);
        let name = path.display().to_string();
        let thread = std::thread::Builder::new().name("audit log".to_owned());
        let writer_task = WriterTask {
            lines: LogFile::new(path, file::LIMIT),
            name: name.clone(),
            said: said.clone(),
            lost: counted,
        };
        if let Err(error) = thread.spawn(move || writer_task.work(&jobs)) {
            said.send_replace(Some(complaint_of(&name, &error)));
        }
        Self { queue, lost, complaint }
    }

    /// Queues a line. Returns at once.
    pub(crate) fn write(&self, line: Vec<u8>) {
        if let Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) = self.queue.try_send(LogJob::Line(line)) {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until every line that was queued before is written, but not longer than `within`.
    pub(crate) async fn flushed(&self, within: Duration) {
        let (done, all) = oneshot::channel();
        if self.queue.try_send(LogJob::Flush(done)).is_ok() {
            let _ = tokio::time::timeout(within, all).await;
        }
    }

    /// Why lines cannot be written; `None` while they can.
    pub(crate) fn complaint(&self) -> watch::Receiver<Option<Str>> {
        self.complaint.clone()
    }
}

/// The thread that writes.
struct WriterTask {
    lines: LogFile,
    name: String,
    said: watch::Sender<Option<Str>>,
    lost: Weak<AtomicU64>,
}

impl WriterTask {
    fn work(mut self, jobs: &Receiver<LogJob>) {
        while let Ok(job) = jobs.recv() {
            match job {
                LogJob::Line(line) => {
                    let written = self.report_lost().and_then(|()| self.lines.append(&line));
                    self.tell(written.err());
                }
                LogJob::Flush(done) => {
                    // The receiver may be gone.
                    let _ = done.send(());
                }
            }
        }
    }

    /// Logs how many lines did not fit in the queue.
    fn report_lost(&mut self) -> std::io::Result<()> {
        let Some(lost) = self.lost.upgrade() else { return Ok(()) };
        let count = lost.swap(0, Ordering::Relaxed);
        if count == 0 {
            return Ok(());
        }
        let mut line = json!({"event": "linesLost", "args": {"count": count}}).to_string().into_bytes();
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
    format!("the audit log {name} cannot be written: {error}; `--audit-log FILE` names another, `none` keeps no log")
        .into()
}
