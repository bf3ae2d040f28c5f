//! Reads the log of a container, for as long as a front end shows it.
//!
//! ```text
//!   GET …/pods/POD/log?follow ──chunks──▶ RecentBytes (at most 1 MiB; the oldest go) ──10 times a second──▶ LogNews
//!        ▲ ended, broken, not started yet │
//!        └───── since the last line ──────┘
//! ```
//!
//! Reading never waits for the front end: a container that writes faster than a screen can show costs a bounded amount of
//! memory, and dropped bytes are counted.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until};

use super::clip::clip;
use super::failure::Failure;
use super::http::{ByteStream, Http, path_segment, with_query};
use crate::engine::model::Str;
use crate::engine::model::container_log::{ContainerLine, LOG_LINE, LogNews, LogRun, LogSource, LogState};
use crate::engine::model::time::Timestamp;

/// How long an answer may take to begin.
const TIMEOUT: Duration = Duration::from_secs(15);
/// How many of the last lines are asked for.
const TAIL: &str = "2000";
/// The most bytes that wait to be shown, and how many stay when there are more.
const MOST: usize = 1024 * 1024;
const KEPT: usize = MOST / 2;
/// The interval between deliveries.
const EVERY: Duration = Duration::from_millis(100);
/// The wait between the end of a log and the next attempt to continue it: at first, and at most.
const AGAIN: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(5));

/// Reads until the receiver is dropped, or until nothing more can come. Must be called inside a tokio runtime.
pub(super) fn read(http: Http, source: LogSource) -> mpsc::Receiver<LogNews> {
    let (out, receiver) = mpsc::channel(1);
    let mut reader = LogReader { http, source, out, read_to: None, next_at: Instant::now() };
    tokio::spawn(async move {
        let out = reader.out.clone();
        tokio::select! {
            () = out.closed() => {}
            () = reader.run() => {}
        }
    });
    receiver
}

struct LogReader {
    http: Http,
    source: LogSource,
    out: mpsc::Sender<LogNews>,
    /// The time of the last line in nanoseconds since 1970, if lines carry a time.
    read_to: Option<i128>,
    /// When the next delivery is due.
    next_at: Instant,
}

impl LogReader {
    async fn run(&mut self) {
        let mut pause = AGAIN.0;
        loop {
            let before = self.read_to;
            let state = match self.http.bytes(&self.path(), TIMEOUT).await {
                Ok(stream) => self.follow(stream).await,
                Err(failure) => state_of(&failure),
            };
            let over = !matches!(state, LogState::Waiting(_));
            if self.out.send(LogNews { state, ..LogNews::default() }).await.is_err() || over {
                return;
            }
            pause = if self.read_to == before { (pause * 2).min(AGAIN.1) } else { AGAIN.0 };
            sleep(pause).await;
        }
    }

    fn path(&self) -> String {
        let LogSource { namespace, pod, container, run } = &self.source;
        let path = format!("/api/v1/namespaces/{}/pods/{}/log", path_segment(namespace), path_segment(pod));
        let since = self.read_to.and_then(|nanos| jiff::Timestamp::from_nanosecond(nanos).ok());
        let since = since.map(|at| at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
        let which = match (run, &since) {
            (LogRun::Previous, _) => ("previous", "true"),
            (LogRun::Current, _) => ("follow", "true"),
        };
        let from = since.as_ref().map_or(("tailLines", TAIL), |since| ("sinceTime", since.as_str()));
        with_query(&path, &[("container", container), ("timestamps", "true"), which, from])
    }

    /// Delivers the stream until it ends, and returns the resulting state.
    async fn follow(&mut self, mut stream: ByteStream) -> LogState {
        let mut recent = RecentBytes::default();
        // The state "following" is news, even if no line comes.
        let mut unsaid = true;
        let ended = loop {
            let waits = unsaid || recent.has_line();
            tokio::select! {
                biased;
                () = sleep_until(self.next_at), if waits && Instant::now() < self.next_at => {}
                permit = self.out.clone().reserve_owned(), if waits && Instant::now() >= self.next_at => {
                    let Ok(permit) = permit else { return LogState::Ended };
                    permit.send(self.news(&recent.take_lines()));
                    unsaid = false;
                    self.next_at = Instant::now() + EVERY;
                }
                chunk = stream.next() => match chunk {
                    Ok(Some(chunk)) => recent.take_in(&chunk),
                    Ok(None) => break None,
                    Err(failure) => break Some(failure),
                },
            }
        };
        let news = self.news(&recent.take_all());
        if !news.lines.is_empty() && self.out.send(news).await.is_err() {
            return LogState::Ended;
        }
        match (self.source.run, ended) {
            (LogRun::Previous, None) => LogState::Ended,
            (LogRun::Current, None) => {
                LogState::Waiting("it ended: the container does not run; its next run is followed".into())
            }
            (_, Some(failure)) => LogState::Waiting(failure.to_string().into()),
        }
    }

    /// The lines in `taken` that were not delivered before.
    fn news(&mut self, taken: &DeliveredBytes) -> LogNews {
        let read_to = self.read_to;
        let lines = taken.bytes.split(|byte| *byte == b'\n').filter_map(|line| {
            let (nanos, line) = parse(line)?;
            if nanos.is_some() && nanos <= read_to {
                return None;
            }
            self.read_to = self.read_to.max(nanos);
            Some(line)
        });
        LogNews { lines: lines.collect(), skipped_bytes: taken.skipped, state: LogState::Following }
    }
}

/// The state that follows from a refusal. If the reason may pass by itself, the reader waits.
fn state_of(failure: &Failure) -> LogState {
    let words: Str = failure.to_string().into();
    match failure.code() {
        Some(403) => LogState::Forbidden(words),
        Some(404 | 405) => LogState::Failed(words),
        Some(401) => LogState::Failed(words),
        // With 400, the container has not started, or has no previous run.
        _ => LogState::Waiting(words),
    }
}

/// The last received bytes that are not delivered yet.
#[derive(Debug, Default)]
struct RecentBytes {
    bytes: Vec<u8>,
    /// How many earlier bytes were dropped since the last delivery.
    skipped: u64,
    /// The rest of a line whose beginning was dropped is dropped too.
    in_dropped_line: bool,
}

/// Bytes that are ready for delivery.
#[derive(Debug, Default)]
struct DeliveredBytes {
    bytes: Vec<u8>,
    skipped: u64,
}

impl RecentBytes {
    fn take_in(&mut self, mut chunk: &[u8]) {
        if self.in_dropped_line {
            let rest = memchr::memchr(b'\n', chunk).map_or(chunk.len(), |end| end + 1);
            self.in_dropped_line = rest == chunk.len() && !chunk.ends_with(b"\n");
            self.skipped += rest as u64;
            chunk = &chunk[rest..];
        }
        self.bytes.extend_from_slice(chunk);
        if self.bytes.len() > MOST {
            let from = self.bytes.len() - KEPT;
            let end_of_line = memchr::memchr(b'\n', &self.bytes[from..]).map(|end| from + end + 1);
            self.in_dropped_line = end_of_line.is_none();
            let drop_to = end_of_line.unwrap_or(self.bytes.len());
            self.bytes.drain(..drop_to);
            self.skipped += drop_to as u64;
        }
    }

    fn has_line(&self) -> bool {
        self.skipped > 0 || memchr::memchr(b'\n', &self.bytes).is_some()
    }

    /// All whole lines; the beginning of the next one stays.
    fn take_lines(&mut self) -> DeliveredBytes {
        let end = memchr::memrchr(b'\n', &self.bytes).map_or(0, |end| end + 1);
        let rest = self.bytes.split_off(end);
        DeliveredBytes { bytes: std::mem::replace(&mut self.bytes, rest), skipped: std::mem::take(&mut self.skipped) }
    }

    /// All bytes: text without a line end is a line at the end of a log.
    fn take_all(&mut self) -> DeliveredBytes {
        DeliveredBytes { bytes: std::mem::take(&mut self.bytes), skipped: std::mem::take(&mut self.skipped) }
    }
}

/// A line for display and its time in nanoseconds; `None` for the empty rest after the last line end.
fn parse(line: &[u8]) -> Option<(Option<i128>, ContainerLine)> {
    if line.is_empty() {
        return None;
    }
    // The line begins with the time; the limit leaves room for sequences that are removed.
    let line = &line[..line.len().min(4 * LOG_LINE)];
    let line = String::from_utf8_lossy(line);
    let (at, text) = match line.split_once(' ').unwrap_or((&line, "")) {
        (time, text) if time.parse::<jiff::Timestamp>().is_ok() => (time.parse::<jiff::Timestamp>().ok(), text),
        _ => (None, &*line),
    };
    let text = anstream::adapter::strip_str(text).to_string();
    let text = clip(text.trim_end_matches('\r'), LOG_LINE).into_owned().into_boxed_str();
    let shown = at.map(|at| Timestamp::from_millis(at.as_millisecond()));
    Some((at.map(jiff::Timestamp::as_nanosecond), ContainerLine { at: shown, text }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(taken: &DeliveredBytes) -> Vec<String> {
        let lines = taken.bytes.split(|byte| *byte == b'\n');
        lines.filter_map(parse).map(|(_, line)| line.text.to_string()).collect()
    }

    #[test]
    fn lines_are_whole_however_they_arrive() {
        let mut recent = RecentBytes::default();
        recent.take_in(b"2026-11-23T07:43:38.5Z one\n2026-11-23T07:43:39Z t");
        assert_eq!(texts(&recent.take_lines()), ["one"]);
        assert!(!recent.has_line());
        recent.take_in(b"wo\n2026-11-23T07:43:40Z\nno time\n\nlast");
        assert_eq!(texts(&recent.take_lines()), ["two", "", "no time"]);
        assert_eq!(texts(&recent.take_all()), ["last"]);
    }

    #[test]
    fn a_flood_keeps_its_last_lines_and_counts_the_rest() {
        let mut recent = RecentBytes::default();
        let line = format!("{}\n", "x".repeat(99));
        let mut came = 0;
        for _ in 0..100_000 {
            recent.take_in(line.as_bytes());
            came += line.len();
            assert!(recent.bytes.len() <= MOST && recent.bytes.capacity() <= 4 * MOST);
        }
        let taken = recent.take_lines();
        assert_eq!(taken.skipped as usize + taken.bytes.len(), came);
        assert!(taken.bytes.len() >= KEPT / 2 && taken.bytes.starts_with(b"xxx"), "{}", taken.bytes.len());
        assert_eq!(taken.bytes.len() % line.len(), 0, "only whole lines");
    }

    #[test]
    fn a_line_without_an_end_is_dropped_and_the_next_one_is_not() {
        let mut recent = RecentBytes::default();
        for _ in 0..64 {
            recent.take_in(&[b'x'; 64 * 1024]);
            assert!(recent.bytes.len() <= MOST);
        }
        recent.take_in(b"the end of it\nand one more\n");
        let taken = recent.take_lines();
        assert_eq!(texts(&taken), ["and one more"]);
        assert_eq!(taken.skipped as usize, 64 * 64 * 1024 + "the end of it\n".len());
    }

    #[test]
    fn a_line_is_text_of_a_bounded_length() {
        let (at, line) = parse(b"2026-11-23T07:43:38.123456789Z \x1b[31mred\x1b[0m\x07 \xff").unwrap();
        assert_eq!((at.unwrap() % 1_000_000_000, &*line.text), (123_456_789, "red \u{fffd}"));
        assert_eq!(line.at.unwrap().to_rfc3339(), "2026-11-23T07:43:38Z");
        let long = format!("2026-11-23T07:43:38Z {}", "y".repeat(100_000));
        let (_, line) = parse(long.as_bytes()).unwrap();
        assert!(line.text.len() <= LOG_LINE && line.text.ends_with('…'));
    }

    #[test]
    fn what_may_change_by_itself_is_waited_for() {
        let state = |code: u16, message: &str| {
            let (reason, message) = (String::new(), message.to_owned());
            state_of(&Failure::Refused { code, reason, message, retry_after: None })
        };
        let starting = "container \"agent\" in pod \"x\" is waiting to start: ContainerCreating";
        assert_eq!(state(400, starting), LogState::Waiting(starting.into()));
        let none = "previous terminated container \"agent\" in pod \"x\" not found";
        assert_eq!(state(400, none), LogState::Waiting(none.into()), "the present run may end");
        assert!(matches!(state(403, "no"), LogState::Forbidden(_)));
        assert!(matches!(state(404, "pods \"x\" not found"), LogState::Failed(_)));
        assert!(matches!(state(500, "dial tcp: connection refused"), LogState::Waiting(_)), "its kubelet is away");
    }
}
