//! An Event of the cluster about a pod or a DaemonSet.

use serde::Deserialize;

use super::{Clamped, Interner, MetaWire, Text, instant, text};
use crate::cluster::clip::{MESSAGE, NAME, clip, clip_name};
use crate::engine::model::facts::Severity;
use crate::engine::model::facts::{ClusterEvent, ReportedBy};
use crate::engine::model::time::Timestamp;

/// `source.component` of the Events that rolldeck writes: what `kubectl describe` shows under "From".
pub(in crate::cluster) const SOURCE: &str = "rolldeck";
/// The kind of the object that such an Event names as related.
pub(in crate::cluster) const REVISION_KIND: &str = "ControllerRevision";
/// `source.component` of the Events that a kubelet writes.
const KUBELET: &str = "kubelet";

/// An event of the wire (`core/v1`).
#[derive(Deserialize, Default, Debug)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct EventWire<'a> {
    #[serde(borrow)]
    pub(crate) metadata: MetaWire<'a>,
    #[serde(borrow)]
    pub(crate) involved_object: Involved<'a>,
    #[serde(borrow)]
    related: Option<Related<'a>>,
    #[serde(borrow)]
    source: Option<Source<'a>>,
    #[serde(borrow)]
    reporting_instance: Option<Text<'a>>,
    #[serde(borrow, rename = "type")]
    kind: Option<Text<'a>>,
    #[serde(borrow)]
    reason: Option<Text<'a>>,
    #[serde(borrow)]
    message: Option<Text<'a>>,
    count: Option<Clamped<u32>>,
    #[serde(borrow)]
    first_timestamp: Option<Text<'a>>,
    #[serde(borrow)]
    last_timestamp: Option<Text<'a>>,
    #[serde(borrow)]
    event_time: Option<Text<'a>>,
    #[serde(borrow)]
    series: Option<Series<'a>>,
}

/// The object that an Event is about.
#[derive(Deserialize, Default, Debug)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Involved<'a> {
    #[serde(borrow)]
    pub(crate) name: Option<Text<'a>>,
    #[serde(borrow)]
    uid: Option<Text<'a>>,
    #[serde(borrow)]
    field_path: Option<Text<'a>>,
}

/// The other object that an Event is about.
#[derive(Deserialize, Default, Debug)]
#[serde(default)]
struct Related<'a> {
    #[serde(borrow)]
    kind: Option<Text<'a>>,
    #[serde(borrow)]
    name: Option<Text<'a>>,
}

#[derive(Deserialize, Default, Debug)]
#[serde(default)]
struct Source<'a> {
    #[serde(borrow)]
    component: Option<Text<'a>>,
    #[serde(borrow)]
    host: Option<Text<'a>>,
}

#[derive(Deserialize, Default, Debug)]
#[serde(default, rename_all = "camelCase")]
struct Series<'a> {
    count: Option<Clamped<u32>>,
    #[serde(borrow)]
    last_observed_time: Option<Text<'a>>,
}

impl EventWire<'_> {
    /// The uid of the object that the Event is about.
    pub(crate) fn about(&self) -> &str {
        text(&self.involved_object.uid)
    }

    pub(crate) fn fact(&self, interner: &mut Interner) -> ClusterEvent {
        let series = self.series.as_ref();
        ClusterEvent {
            version: self.metadata.version().parse().ok(),
            // Of thousands of pods each has its own uid, which the view shares with the pod: it is not interned.
            object: self.about().into(),
            node: self.node().map(|node| interner.intern(&clip_name(node))),
            container: container(text(&self.involved_object.field_path)).map(|name| interner.intern(name)),
            reason: interner.words(text(&self.reason), NAME),
            message: clip(text(&self.message), MESSAGE).into(),
            at: self.at(),
            first_at: instant(&self.first_timestamp),
            count: self.count.or(series.and_then(|series| series.count)).map_or(1, |Clamped(count)| count.max(1)),
            reported_by: self.reported_by(),
        }
    }

    /// The node of the kubelet that wrote the Event.
    fn node(&self) -> Option<&str> {
        let source = self.source.as_ref().filter(|source| text(&source.component) == KUBELET)?;
        let host = text(&source.host);
        let node = if host.is_empty() { text(&self.reporting_instance) } else { host };
        (!node.is_empty()).then_some(node)
    }

    /// The author of the Event, if it is a rolldeck process.
    fn reported_by(&self) -> Option<Box<ReportedBy>> {
        let ours = self.source.as_ref().is_some_and(|source| text(&source.component) == SOURCE);
        ours.then(|| {
            Box::new(ReportedBy {
                event: clip_name(text(&self.metadata.name)).into(),
                identity: clip_name(text(&self.reporting_instance)).into(),
                severity: if text(&self.kind) == "Warning" { Severity::Warning } else { Severity::Normal },
                revision: self.related_revision().map(|hash| clip_name(hash).into()),
            })
        })
    }

    /// The hash of the ControllerRevision that is named as related: its name is that of its DaemonSet, and the hash.
    fn related_revision(&self) -> Option<&str> {
        let related = self.related.as_ref().filter(|related| text(&related.kind) == REVISION_KIND)?;
        let hash = text(&related.name).strip_prefix(text(&self.involved_object.name))?.strip_prefix('-')?;
        (!hash.is_empty()).then_some(hash)
    }

    /// The time of the last occurrence. The scheduler leaves the old fields empty, the kubelet the new ones.
    fn at(&self) -> Timestamp {
        let series = self.series.as_ref().and_then(|series| instant(&series.last_observed_time));
        // Events of rolldeck never repeat, and only `eventTime` has milliseconds.
        let ours = self.reported_by().and_then(|_| instant(&self.event_time));
        series
            .or(ours)
            .or_else(|| instant(&self.last_timestamp))
            .or_else(|| instant(&self.event_time))
            .or_else(|| instant(&self.first_timestamp))
            .or_else(|| instant(&self.metadata.creation_timestamp))
            .unwrap_or_default()
    }
}

/// The container in `spec.containers{name}` or `spec.initContainers{name}`.
fn container(field_path: &str) -> Option<&str> {
    let (_, rest) = field_path.split_once('{')?;
    rest.strip_suffix('}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> ClusterEvent {
        serde_json::from_str::<EventWire<'_>>(json).unwrap().fact(&mut Interner::default())
    }

    #[test]
    fn a_kubelets_event_becomes_a_fact() {
        let event = read(
            r#"{"metadata":{"name":"agent-x7k2p.18","resourceVersion":"4711","creationTimestamp":"2026-11-20T08:00:00Z"},
            "involvedObject":{"kind":"Pod","name":"agent-x7k2p","uid":"u1","fieldPath":"spec.containers{agent}"},
            "reason":"Pulling","message":"Pulling image \"agent:v2\"","source":{"component":"kubelet","host":"ipc-1"},
            "firstTimestamp":"2026-11-20T08:00:00Z","lastTimestamp":"2026-11-20T08:05:00Z","count":3,"eventTime":null}"#,
        );
        assert_eq!((&*event.object, event.container.as_deref()), ("u1", Some("agent")));
        assert_eq!((&*event.reason, event.count), ("Pulling", 3));
        assert_eq!((event.version, event.node.as_deref()), (Some(4711), Some("ipc-1")));
        assert_eq!(&*event.message, "Pulling image \"agent:v2\"");
        assert_eq!(event.at.to_rfc3339(), "2026-11-20T08:05:00Z");
    }

    #[test]
    fn an_event_of_another_rolldeck() {
        let event = read(
            r#"{"metadata":{"name":"agent.1","creationTimestamp":"2026-11-20T08:00:00Z"},"type":"Warning",
            "involvedObject":{"kind":"DaemonSet","name":"agent","uid":"ds"},"source":{"component":"rolldeck"},
            "reportingComponent":"rolldeck.io/console","reportingInstance":"eve@bastion/1f00c3a9","reason":"RolloutHalted",
            "related":{"apiVersion":"apps/v1","kind":"ControllerRevision","name":"agent-7c9f","namespace":"edge"},"message":"halted","firstTimestamp":"2026-11-20T08:00:00Z","lastTimestamp":"2026-11-20T08:00:00Z",
            "eventTime":"2026-11-20T08:00:00.123000Z","count":1}"#,
        );
        let reported = event.reported_by.unwrap();
        assert_eq!(
            (&*reported.event, &*reported.identity, reported.severity),
            ("agent.1", "eve@bastion/1f00c3a9", Severity::Warning)
        );
        assert_eq!(reported.revision.as_deref(), Some("7c9f"));
        assert_eq!(event.at.to_rfc3339_micros(), "2026-11-20T08:00:00.123000Z");
    }

    /// Anybody who may create Events can name any object.
    #[test]
    fn an_event_that_names_no_revision_of_its_daemonset_is_about_none() {
        for related in [
            r#"{"kind":"Pod","name":"agent-7c9f"}"#,
            r#"{"kind":"ControllerRevision","name":"other-7c9f"}"#,
            r#"{"kind":"ControllerRevision","name":"agent-"}"#,
            r#"{"kind":"ControllerRevision"}"#,
            "null",
        ] {
            let event = read(&format!(
                r#"{{"involvedObject":{{"name":"agent","uid":"ds"}},"source":{{"component":"rolldeck"}},"related":{related}}}"#
            ));
            assert_eq!(event.reported_by.unwrap().revision, None, "{related}");
        }
    }

    #[test]
    fn a_schedulers_event_becomes_a_fact() {
        let event = read(
            r#"{"metadata":{"creationTimestamp":"2026-11-20T08:00:00Z"},"involvedObject":{"uid":"u1"},
            "reason":"FailedScheduling","firstTimestamp":null,"lastTimestamp":null,"eventTime":"2026-11-20T08:00:01.5Z",
            "series":{"count":7,"lastObservedTime":"2026-11-20T08:09:00.000001Z"}}"#,
        );
        assert_eq!((event.count, event.container.is_none()), (7, true));
        assert_eq!(event.at.to_rfc3339(), "2026-11-20T08:09:00Z");
    }
}
