//! Events on the DaemonSet: `kubectl describe` shows who did what.
//!
//! ```text
//!  Note ──▶ bounded queue ──▶ one task: a token, one POST, at most three tries ──▶ Event
//!                                └──▶ what is wrong with it
//! ```
//!
//! Events are written at best effort, by Kubernetes' own rules: nothing waits for them, each is tried three times, and their rate is limited.
//! An Event that could not be written is still in the local audit log. Events are written as `core/v1` with both generations
//! of fields, so that every kubectl shows their age and source, and with `eventTime`, so that consoles can put them in
//! order.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep};

use super::failure::Failure;
use super::http::{Call, Http, with_query};
use super::last_observed::LastObserved;
use super::partial::{REVISION_KIND, SOURCE};
use super::workload::SharedWorkload;
use crate::engine::model::Str;
use crate::engine::model::effect::EffectErrorKind;
use crate::engine::model::facts::Severity;
use crate::engine::model::time::Timestamp;
use crate::engine::rules::rate::TokenBucket;

/// `reportingComponent`.
const REPORTER: &str = "rolldeck.io/console";
/// How many notes may wait.
const WAITING: usize = 64;
/// How many Events may be written at once after a quiet time.
const BURST: u32 = 25;
/// The time after which one more Event may be written. client-go's spam filter waits five minutes, which is too long for a
/// person who steps through a rollout.
const REFILL: Duration = Duration::from_secs(10);
const TRIES: u32 = 3;
const TIMEOUT: Duration = Duration::from_secs(5);
/// How long nothing is written after a 403. The wait ends because roles change.
const FORBIDDEN_FOR: Duration = Duration::from_secs(600);
/// The API server's limits for a message and for a reporting instance, in bytes.
const MESSAGE: usize = 1_024;
const INSTANCE: usize = 128;

/// The content of an Event.
#[derive(Clone, PartialEq, Debug)]
pub struct EventNote {
    /// The time of the event, by the clock of this process.
    pub at: Timestamp,
    /// Whether it is bad news.
    pub severity: Severity,
    /// A short, stable name in CamelCase.
    pub reason: String,
    /// The actor and the action. The text is cut if it is too long.
    pub message: String,
    /// The origin of the action; never cut.
    pub from: String,
    /// The hash of the revision that it is about, which the Event names as `related`.
    pub revision: Option<Str>,
}

/// Writes the Events of one rollout. It ends when the last clone is dropped.
#[derive(Clone, Debug)]
pub struct Recorder {
    queue: mpsc::Sender<RecorderJob>,
    dropped: Arc<AtomicU32>,
    complaint: watch::Receiver<Option<Str>>,
}

#[derive(Debug)]
enum RecorderJob {
    Note(EventNote),
    Done(oneshot::Sender<()>),
}

impl Recorder {
    /// Queues a note. Returns at once.
    pub fn record(&self, note: EventNote) {
        if self.queue.try_send(RecorderJob::Note(note)).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until every queued note is written or given up.
    pub async fn recorded(&self) {
        let (done, all) = oneshot::channel();
        if self.queue.send(RecorderJob::Done(done)).await.is_ok() {
            let _ = all.await;
        }
    }

    /// The reason why Events are not written.
    pub fn complaint(&self) -> watch::Receiver<Option<Str>> {
        self.complaint.clone()
    }
}

/// The values that all Events of one rollout share.
pub(super) struct RecorderContext {
    pub(super) http: Http,
    pub(super) workload: SharedWorkload,
    pub(super) shared: Arc<LastObserved>,
    pub(super) namespace: Str,
    pub(super) name: Str,
    /// The identity of this driver, as a Lease names it.
    pub(super) identity: Str,
}

/// Starts a recorder.
pub(super) fn spawn(scope: RecorderContext) -> Recorder {
    let (queue, jobs) = mpsc::channel(WAITING);
    let (said, complaint) = watch::channel(None);
    let dropped = Arc::new(AtomicU32::new(0));
    let task = RecorderTask {
        scope,
        said,
        dropped: dropped.clone(),
        throttle: EventRate::new(),
        forbidden_until: None,
        written: 0,
        unique: RandomState::new(),
    };
    tokio::spawn(task.work(jobs));
    Recorder { queue, dropped, complaint }
}

/// Gives one token per Event. Without a token the writer waits.
struct EventRate {
    tokens: TokenBucket,
    /// The bucket's time counts from this instant.
    began_at: Instant,
}

impl EventRate {
    fn new() -> Self {
        Self { tokens: TokenBucket::new(BURST, 1, REFILL), began_at: Instant::now() }
    }

    async fn take(&mut self) {
        let now = i64::try_from(self.began_at.elapsed().as_millis()).unwrap_or(i64::MAX);
        let now = Timestamp::from_millis(now);
        let ready_at = self.tokens.ready_at(1, now);
        if ready_at > now {
            sleep(ready_at.since(now)).await;
        }
        self.tokens.take(1, ready_at);
    }
}

struct RecorderTask {
    scope: RecorderContext,
    said: watch::Sender<Option<Str>>,
    dropped: Arc<AtomicU32>,
    throttle: EventRate,
    forbidden_until: Option<Instant>,
    written: u64,
    unique: RandomState,
}

impl RecorderTask {
    async fn work(mut self, mut jobs: mpsc::Receiver<RecorderJob>) {
        while let Some(job) = jobs.recv().await {
            match job {
                RecorderJob::Note(note) => self.write(&note).await,
                RecorderJob::Done(done) => {
                    // The receiver may be gone.
                    let _ = done.send(());
                }
            }
        }
    }

    async fn write(&mut self, note: &EventNote) {
        if self.forbidden_until.is_some_and(|until| Instant::now() < until) {
            return;
        }
        let Some(event) = self.event(note) else {
            // Without the DaemonSet's uid an Event cannot refer to it.
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        };
        self.throttle.take().await;
        let written = self.post(&event).await;
        self.forbidden_until = None;
        let complaint = match written {
            Ok(()) => None,
            Err(failure) => {
                if failure.kind() == EffectErrorKind::Forbidden {
                    self.forbidden_until = Some(Instant::now() + FORBIDDEN_FOR);
                }
                self.dropped.fetch_add(1, Ordering::Relaxed);
                Some(Str::from(format!("no Events on the DaemonSet: {failure}")))
            }
        };
        self.said.send_if_modified(|said| {
            let news = *said != complaint;
            *said = complaint;
            news
        });
    }

    async fn post(&self, event: &Value) -> Result<(), Failure> {
        let path = format!("/api/v1/namespaces/{}/events", self.scope.namespace);
        let path = with_query(&path, &[("fieldManager", SOURCE)]);
        let body = event.to_string().into_bytes();
        let mut tries = 0;
        loop {
            tries += 1;
            let call = Call { method: Method::POST, body: body.clone(), ..Call::get(&path, TIMEOUT) };
            let failure = match self.scope.http.call(call).await {
                Ok(_) => return Ok(()),
                Err(failure) => failure,
            };
            let wait = match failure.kind() {
                // The earlier attempt was written, and its answer was lost.
                EffectErrorKind::Conflict if tries > 1 => return Ok(()),
                EffectErrorKind::NotSent | EffectErrorKind::TooLate | EffectErrorKind::Unknown => {
                    Duration::from_secs(1 << tries)
                }
                EffectErrorKind::Throttled { retry_after_millis } => {
                    Duration::from_millis(retry_after_millis).min(REFILL)
                }
                _ => return Err(failure),
            };
            if tries >= TRIES {
                return Err(failure);
            }
            sleep(wait).await;
        }
    }

    fn event(&mut self, note: &EventNote) -> Option<Value> {
        let RecorderContext { workload, shared, namespace, name, identity, http, .. } = &self.scope;
        let uid = shared.daemonset.borrow().as_ref().map(|daemonset| daemonset.uid.clone())?;
        let (api_version, kind) = workload.api_kind();
        // The time is given by the API server's clock, which all readers share. Microseconds order the events within one millisecond.
        let skew = http.skew().borrow().unwrap_or_default();
        let at = Timestamp::from_millis(note.at.millis().saturating_add(skew));
        self.written += 1;
        let micros = at.to_rfc3339_micros();
        // A list that is sorted by name is also in the order of the events.
        let unique = self.unique.hash_one((identity, self.written));
        let stem = cut(name, 200).trim_end_matches(['.', '-']);
        let dropped = match self.dropped.swap(0, Ordering::Relaxed) {
            0 => String::new(),
            more => format!(" [{more} before this were not written]"),
        };
        let rest = format!("{}{dropped}", note.from);
        let message = match note.message.len() + rest.len() {
            ..=MESSAGE => note.message.clone(),
            _ => format!("{}…", cut(&note.message, MESSAGE.saturating_sub(rest.len() + '…'.len_utf8()))),
        };
        let mut event = json!({
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": format!("{stem}.{:011x}{:03x}{:08x}", at.millis(), self.written % 0x1000, unique & 0xffff_ffff), "namespace": &**namespace},
            "involvedObject": {
                "apiVersion": api_version, "kind": kind, "namespace": &**namespace, "name": &**name, "uid": &*uid,
            },
            "type": match note.severity { Severity::Normal => "Normal", Severity::Warning => "Warning" },
            "reason": note.reason,
            "message": format!("{message}{rest}"),
            "action": note.reason.strip_prefix("Rollout").unwrap_or(&note.reason),
            "source": {"component": SOURCE},
            "reportingComponent": REPORTER,
            "reportingInstance": cut(identity, INSTANCE),
            "eventTime": format!("{}{:03}Z", micros.get(..micros.len() - 4).unwrap_or_default(), self.written % 1_000),
            "firstTimestamp": at.to_rfc3339(),
            "lastTimestamp": at.to_rfc3339(),
            "count": 1,
        });
        // The controllers of DaemonSets and of Advanced DaemonSets name it so.
        if let Some(hash) = &note.revision {
            event["related"] = json!({
                "apiVersion": "apps/v1", "kind": REVISION_KIND, "namespace": &**namespace, "name": format!("{name}-{hash}"),
            });
        }
        Some(event)
    }
}

/// As much of `text` as fits in `bytes` bytes.
fn cut(text: &str, bytes: usize) -> &str {
    let mut end = text.len().min(bytes);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::native::Native;
    use super::super::scripted::{Says, ScriptedServer};
    use super::*;
    use crate::engine::model::facts::DaemonSetFact;

    fn note(message: &str) -> EventNote {
        EventNote {
            at: Timestamp::from_millis(1_800_000_000_123),
            severity: Severity::Warning,
            reason: "RolloutHalted".to_owned(),
            message: message.to_owned(),
            from: " (driven by ada@bastion)".to_owned(),
            revision: Some("7c9f".into()),
        }
    }

    async fn recorder(script: Vec<Says>) -> (Recorder, ScriptedServer) {
        let server = ScriptedServer::new(script).await;
        let shared = LastObserved::new();
        shared.daemonset_is(&DaemonSetFact { uid: "u1".into(), ..DaemonSetFact::default() });
        let scope = RecorderContext {
            http: server.http.clone(),
            workload: Arc::new(Native),
            shared,
            namespace: "edge".into(),
            name: "agent".into(),
            identity: "ada@bastion/1f00c3a9".into(),
        };
        (spawn(scope), server)
    }

    fn refused(code: u16) -> Says {
        Says::Json(code, json!({"kind": "Status", "message": "events is forbidden", "code": code}))
    }

    #[tokio::test]
    async fn an_event_is_what_kubectl_describe_shows() {
        let (recorder, server) = recorder(vec![Says::Json(201, json!({}))]).await;
        recorder.record(note("halted: image not found on 1 node (n1)"));
        recorder.recorded().await;
        let asked = server.requests();
        assert_eq!(asked[0].line, "POST /api/v1/namespaces/edge/events?fieldManager=rolldeck");
        let mut event = asked[0].body.clone();
        let name = event["metadata"]["name"].take();
        assert!(name.as_str().unwrap().starts_with("agent."), "{name}");
        assert_eq!(
            event,
            json!({
                "apiVersion": "v1", "kind": "Event", "metadata": {"name": null, "namespace": "edge"},
                "involvedObject": {
                    "apiVersion": "apps/v1", "kind": "DaemonSet", "namespace": "edge", "name": "agent", "uid": "u1",
                },
                "type": "Warning", "reason": "RolloutHalted", "action": "Halted",
                "message": "halted: image not found on 1 node (n1) (driven by ada@bastion)",
                "source": {"component": "rolldeck"}, "reportingComponent": "rolldeck.io/console",
                "reportingInstance": "ada@bastion/1f00c3a9", "count": 1,
                "eventTime": "2027-01-15T08:00:00.123001Z",
                "firstTimestamp": "2027-01-15T08:00:00Z", "lastTimestamp": "2027-01-15T08:00:00Z",
                "related": {
                    "apiVersion": "apps/v1", "kind": "ControllerRevision", "namespace": "edge", "name": "agent-7c9f",
                },
            })
        );
        assert_eq!(*recorder.complaint().borrow(), None);
    }

    #[tokio::test]
    async fn what_is_forbidden_is_complained_of_once_and_not_tried_again() {
        let (recorder, server) = recorder(vec![refused(403)]).await;
        for _ in 0..5 {
            recorder.record(note("halted"));
        }
        recorder.recorded().await;
        assert_eq!(server.requests().len(), 1);
        let complaint = recorder.complaint().borrow().clone().unwrap();
        assert_eq!(&*complaint, "no Events on the DaemonSet: events is forbidden");
    }

    #[tokio::test]
    async fn a_lost_answer_is_tried_again_and_written_once() {
        let (recorder, server) = recorder(vec![Says::HangsUp, refused(409)]).await;
        recorder.record(note("halted"));
        recorder.recorded().await;
        let asked = server.requests();
        assert_eq!(asked.len(), 2);
        assert_eq!(asked[0].body["metadata"]["name"], asked[1].body["metadata"]["name"], "the name is the same");
        assert_eq!(*recorder.complaint().borrow(), None);
    }

    #[tokio::test]
    async fn a_long_message_is_cut_but_not_from_where_and_what_was_left_out_is_owned_up_to() {
        let (recorder, server) = recorder(vec![refused(422), Says::Json(201, json!({}))]).await;
        recorder.record(note("first"));
        recorder.record(note(&"ä".repeat(900)));
        recorder.recorded().await;
        let message = server.requests()[1].body["message"].as_str().unwrap().to_owned();
        assert!(message.len() <= MESSAGE, "{}", message.len());
        assert!(message.ends_with("ä… (driven by ada@bastion) [1 before this were not written]"), "{message}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_is_free_and_then_there_is_one_every_ten_seconds() {
        let mut throttle = EventRate::new();
        let began = Instant::now();
        for _ in 0..BURST {
            throttle.take().await;
        }
        assert_eq!(began.elapsed(), Duration::ZERO);
        for _ in 0..3 {
            throttle.take().await;
        }
        assert_eq!(began.elapsed(), 3 * REFILL);
        tokio::time::sleep(10 * REFILL).await;
        let began = Instant::now();
        for _ in 0..10 {
            throttle.take().await;
        }
        assert_eq!(began.elapsed(), Duration::ZERO);
    }
}
