//! Watches: each change is sent as one line of JSON when it happens.
//!
//! ```text
//!   (initial state as ADDED, a bookmark when asked for) ─▶ changes since the cursor ─▶ wait ─▶ …
//!                                                             └ log cut: ERROR 410, end    └ time is up: end
//! ```
//!
//! A watch holds only a cursor into the log of its kind, so it costs nothing while nothing changes. An object that enters the selection
//! is sent as ADDED. An object that leaves the selection is sent as DELETED, in its last state inside.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::response::Response;
use futures::stream;
use http::{HeaderValue, header};
use serde_json::{Value, json};
use tokio::sync::watch::Receiver;
use tokio::time::Instant;

use crate::sim::world::error::ApiError;
use crate::sim::world::kind::Kind;
use crate::sim::world::object::Object;
use crate::sim::world::store::{ChangeKind, StoreChange};

use super::json::{ObjectWriter, object};
use super::request::{ApiRequest, ObjectPath};
use super::select::Selection;
use super::shared::{Cut, Shared};
use super::status::{Answer, ApiRefusal};
use super::view::{Columns, Format, ObjectView, write_one};

/// The time between two bookmarks, which tell a client the version that its watch has reached.
const BOOKMARK_EVERY: Duration = Duration::from_secs(60);
/// How long a watch lasts unless the client says so.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(40 * 60);
/// The largest number of changes in one piece.
const MOST_AT_ONCE: usize = 512;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Bookmarks {
    Wanted,
    Unwanted,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum WatchPhase {
    /// The initial state is being sent.
    Initial,
    /// The bookmark that ends the initial state is sent next.
    InitialEnd,
    Live,
    Over,
}

struct ApiWatch {
    shared: Arc<Shared>,
    kind: Kind,
    selection: Selection,
    format: Format,
    columns: Columns,
    bookmarks: Bookmarks,
    phase: WatchPhase,
    initial: std::vec::IntoIter<ObjectView>,
    /// The version up to which everything was sent.
    cursor: u64,
    until: Instant,
    bookmark_at: Instant,
    changed: Receiver<u64>,
    cut: Receiver<Cut>,
    stalled: Receiver<Vec<Kind>>,
}

/// Answers a watch.
pub(super) fn watch(shared: &Arc<Shared>, path: &ObjectPath, request: &ApiRequest) -> Answer {
    let query = &request.query;
    let selection = Selection::of(path.kind, &path.namespace, &path.name, query)?;
    let version = query.number("resourceVersion")?.unwrap_or_default();
    let bookmarks = if query.is_set("allowWatchBookmarks") { Bookmarks::Wanted } else { Bookmarks::Unwanted };
    let initial_events = query.get("sendInitialEvents").map(|_| query.is_set("sendInitialEvents"));
    check_options(initial_events, query.get("resourceVersionMatch"), bookmarks)?;
    let with_state = initial_events.unwrap_or(version == 0);
    // Subscribe before reading the state: a change in between then wakes the watch, instead of being missed, and the cursor skips it.
    let (changed, cut) = (shared.changes(path.kind), shared.cuts());
    let (initial, cursor) = shared.with_world(|access| {
        let store = access.store();
        let now = store.revision();
        if with_state {
            let wanted = store.list(path.kind).filter(|object| selection.matches(object));
            return Ok((wanted.map(|object| access.view(object)).collect(), now));
        }
        let from = if version == 0 { now } else { version };
        // A version larger than the current one must come from an earlier run of this server.
        if from > now {
            return Err(ApiRefusal::from(ApiError::expired(from, now)));
        }
        store.changes_since(path.kind, from)?;
        Ok((Vec::new(), from))
    })?;
    let timeout = query.number("timeoutSeconds")?.map_or(DEFAULT_TIMEOUT, Duration::from_secs);
    let watch = ApiWatch {
        shared: Arc::clone(shared),
        kind: path.kind,
        selection,
        format: Format::of(&request.accept, query),
        columns: Columns::Written,
        bookmarks,
        phase: match (with_state, initial_events) {
            (true, Some(true)) => WatchPhase::InitialEnd,
            (true, _) => WatchPhase::Initial,
            (false, _) => WatchPhase::Live,
        },
        initial: initial.into_iter(),
        cursor,
        until: Instant::now() + timeout,
        bookmark_at: Instant::now() + BOOKMARK_EVERY,
        changed,
        cut,
        stalled: shared.stalls(),
    };
    let pieces = stream::unfold(watch, |mut watch| async move { watch.next().await.map(|piece| (piece, watch)) });
    let mut response = Response::new(Body::from_stream(pieces));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}

fn check_options(initial_events: Option<bool>, version_match: Option<&str>, bookmarks: Bookmarks) -> Answer<()> {
    let refuse = |why: &str| Err(ApiRefusal::unprocessable(format!("ListOptions.meta.k8s.io \"\" is invalid: {why}")));
    match (initial_events, version_match) {
        (None, None) => Ok(()),
        (None, Some(_)) => refuse(
            "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
        ),
        (Some(_), Some("NotOlderThan")) if bookmarks == Bookmarks::Wanted || initial_events == Some(false) => Ok(()),
        (Some(_), Some("NotOlderThan")) => {
            refuse("sendInitialEvents: Forbidden: sendInitialEvents requires allowWatchBookmarks")
        }
        (Some(_), _) => refuse(
            "resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
        ),
    }
}

/// The reasons for which an open watch wakes.
enum Woken {
    Changed,
    Bookmark,
    TimeIsUp,
    Cut(Cut),
    /// The set of stalled kinds was set.
    Stall,
}

impl ApiWatch {
    /// Whether the watch is stalled: it stays open and sends no changes, like a cache of the API server that has stopped following.
    fn stands_still(&self) -> bool {
        self.stalled.borrow().contains(&self.kind)
    }

    async fn next(&mut self) -> Option<Result<Bytes, std::io::Error>> {
        let mut out = Vec::new();
        loop {
            match self.phase {
                WatchPhase::Over => return None,
                WatchPhase::Initial | WatchPhase::InitialEnd if self.initial.len() > 0 => {
                    let views: Vec<ObjectView> = self.initial.by_ref().take(MOST_AT_ONCE).collect();
                    views.iter().for_each(|view| self.write(&mut out, "ADDED", view));
                }
                WatchPhase::Initial => self.phase = WatchPhase::Live,
                WatchPhase::InitialEnd => {
                    self.write_bookmark(&mut out, json!({"annotations": {"k8s.io/initial-events-end": "true"}}));
                    self.phase = WatchPhase::Live;
                }
                WatchPhase::Live if self.stands_still() => {}
                WatchPhase::Live => self.write_changes(&mut out),
            }
            if !out.is_empty() {
                return Some(Ok(out.into()));
            }
            if self.phase != WatchPhase::Live {
                continue;
            }
            match self.wait().await {
                Woken::Changed | Woken::Stall => {}
                Woken::Bookmark => {
                    self.bookmark_at = Instant::now() + BOOKMARK_EVERY;
                    self.write_bookmark(&mut out, json!({}));
                    return Some(Ok(out.into()));
                }
                Woken::TimeIsUp => {
                    self.phase = WatchPhase::Over;
                    if self.bookmarks == Bookmarks::Wanted {
                        self.write_bookmark(&mut out, json!({}));
                        return Some(Ok(out.into()));
                    }
                }
                Woken::Cut(Cut::Expired) => {
                    self.phase = WatchPhase::Over;
                    write_error(&mut out, ApiError::expired(self.cursor, self.cursor + 1));
                    return Some(Ok(out.into()));
                }
                Woken::Cut(Cut::Broken) => {
                    self.phase = WatchPhase::Over;
                    return Some(Err(std::io::Error::other("the watch was cut off")));
                }
            }
        }
    }

    async fn wait(&mut self) -> Woken {
        let still = self.stands_still();
        let bookmarks = self.bookmarks == Bookmarks::Wanted && !still;
        tokio::select! {
            biased;
            // `changed` cannot fail, because the sender lives in `shared`, which this watch holds.
            _ = self.cut.changed() => Woken::Cut(*self.cut.borrow()),
            _ = self.stalled.changed() => Woken::Stall,
            _ = self.changed.changed(), if !still => Woken::Changed,
            () = tokio::time::sleep_until(self.until), if !still => Woken::TimeIsUp,
            () = tokio::time::sleep_until(self.bookmark_at), if bookmarks => Woken::Bookmark,
        }
    }

    /// Writes the changes since the cursor, or an error if the log no longer reaches back to the cursor.
    fn write_changes(&mut self, out: &mut Vec<u8>) {
        self.changed.mark_unchanged();
        let (kind, cursor) = (self.kind, self.cursor);
        let changes = self.shared.with_world(|access| {
            let store = access.store();
            let changes: Vec<StoreChange> = store.changes_since(kind, cursor)?.take(MOST_AT_ONCE).cloned().collect();
            let reached = if changes.len() < MOST_AT_ONCE { Some(store.revision()) } else { None };
            let views = changes.into_iter().map(|mut change| {
                let view = access.view(&change.object);
                // An object that leaves the selection is sent in its state before, so that state needs served times too.
                change.before = change.before.map(|before| access.time.object(&before));
                (change, view)
            });
            Ok::<_, ApiError>((views.collect::<Vec<_>>(), reached))
        });
        match changes {
            Err(error) => {
                self.phase = WatchPhase::Over;
                write_error(out, error);
            }
            Ok((changes, reached)) => {
                for (change, view) in &changes {
                    if let Some((event, view)) = seen_through(&self.selection, change, view) {
                        self.write(out, event, &view);
                    }
                }
                let last = changes.last().map(|(change, _)| change.version());
                self.cursor = reached.or(last).unwrap_or(self.cursor);
                if reached.is_none() {
                    self.changed.mark_changed();
                }
            }
        }
    }

    fn write(&mut self, out: &mut Vec<u8>, event: &str, view: &ObjectView) {
        let mut shown = Vec::with_capacity(4096);
        write_one(&mut shown, view, self.format, self.shared.now(), self.columns);
        self.columns = Columns::LeftOut;
        line(out, event, |o| o.put_raw("object", &shown));
    }

    fn write_bookmark(&self, out: &mut Vec<u8>, extra: Value) {
        let words = self.kind.words();
        let mut metadata = json!({"resourceVersion": self.cursor.to_string(), "creationTimestamp": null});
        if let (Some(metadata), Value::Object(extra)) = (metadata.as_object_mut(), extra) {
            metadata.extend(extra);
        }
        let bookmark = match self.format {
            Format::Objects => {
                json!({"kind": words.kind, "apiVersion": self.kind.api_version(), "metadata": metadata})
            }
            Format::Metadata => {
                json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata})
            }
            Format::Table(_) => {
                let object =
                    json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata});
                json!({
                    "kind": "Table", "apiVersion": "meta.k8s.io/v1", "columnDefinitions": null,
                    "metadata": {"resourceVersion": self.cursor.to_string()},
                    "rows": [{"cells": [], "object": object}],
                })
            }
        };
        line(out, "BOOKMARK", |o| o.put("object", &bookmark));
    }
}

fn line(out: &mut Vec<u8>, event: &str, write: impl FnOnce(&mut ObjectWriter<'_>)) {
    object(out, |o| {
        o.put("type", event);
        write(o);
    });
    out.push(b'\n');
}

fn write_error(out: &mut Vec<u8>, error: ApiError) {
    line(out, "ERROR", |o| o.put("object", &ApiRefusal::from(error).status()));
}

/// The type and the object of a change, for a client that watches only a selection; `None` if the change lies outside it.
fn seen_through(selection: &Selection, change: &StoreChange, view: &ObjectView) -> Option<(&'static str, ObjectView)> {
    let was = change.before.as_ref().filter(|before| selection.matches(before));
    let is = change.kind != ChangeKind::Deleted && selection.matches(&change.object);
    match (was, is) {
        (None, true) => Some(("ADDED", view.clone())),
        (Some(_), true) => Some(("MODIFIED", view.clone())),
        (Some(_), false) if change.kind == ChangeKind::Deleted => Some(("DELETED", view.clone())),
        // The object left the selection: its last state inside is sent, with the version at which it left.
        (Some(before), false) => {
            let mut last = Object::clone(before);
            last.meta.resource_version = change.version();
            Some(("DELETED", ObjectView { object: Arc::new(last), managed: view.managed.clone() }))
        }
        (None, false) => None,
    }
}
