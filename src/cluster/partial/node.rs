//! The part of a node that rollouts need, without its fifty images and its heartbeats.
//!
//! A heartbeat is read only to measure the node's clock: the kubelet dates it, and the API server dates the same write in `managedFields`.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::{Clamped, Interner, Text, instant, text};
use crate::cluster::clip::{MESSAGE, NAME};
use crate::engine::model::Str;
use crate::engine::model::facts::{ConditionStatus, ListedImage, NodeFact, REPORTED_IMAGES, Taint};
use crate::engine::model::image::{normalized, repository_of};
use crate::engine::model::labels::Labels;
use crate::engine::model::node_details::{NodeDetail, NodeDetails};
use crate::engine::model::template::TaintEffect;
use crate::engine::model::time::Timestamp;

/// The repositories whose images are kept from the reports of nodes, in every form in which a kubelet may write them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Wanted(BTreeSet<String>);

impl Wanted {
    /// Adds the repositories of `images`. Returns whether any of them is new.
    pub(crate) fn add<'a>(&mut self, images: impl IntoIterator<Item = &'a Str>) -> bool {
        let before = self.0.len();
        for image in images {
            self.0.insert(repository_of(image).to_owned());
            let long = normalized(image);
            let long = repository_of(&long);
            self.0.insert(long.to_owned());
            if let Some(short) = long.strip_prefix("docker.io/") {
                self.0.insert(short.to_owned());
                if let Some(shorter) = short.strip_prefix("library/") {
                    self.0.insert(shorter.to_owned());
                    self.0.insert(format!("docker.io/{shorter}"));
                }
            }
        }
        self.0.len() > before
    }

    fn has(&self, image: &str) -> bool {
        self.0.contains(repository_of(image))
    }
}

/// A node of the wire.
#[derive(Deserialize, Default, Debug)]
#[serde(default)]
pub(crate) struct NodeWire<'a> {
    #[serde(borrow)]
    pub(crate) metadata: NodeMeta<'a>,
    #[serde(borrow)]
    spec: Option<Spec<'a>>,
    #[serde(borrow)]
    status: Option<Status<'a>>,
}

/// Metadata, with the fields that only nodes need.
#[derive(Deserialize, Default, Debug)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct NodeMeta<'a> {
    #[serde(borrow)]
    pub(crate) name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) resource_version: Option<Text<'a>>,
    #[serde(borrow)]
    labels: Option<Pairs<'a>>,
    #[serde(borrow)]
    creation_timestamp: Option<Text<'a>>,
    #[serde(borrow)]
    managed_fields: Option<KubeletWrites<'a>>,
}

/// A map of strings, in the order of the wire.
#[derive(Debug, Default)]
struct Pairs<'a>(Vec<(Text<'a>, Text<'a>)>);

impl<'de: 'a, 'a> Deserialize<'de> for Pairs<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Pairs<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map of strings")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut pairs = Vec::with_capacity(16);
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

/// The time of the kubelet's last write of its node's status in `managedFields`, by the API server's clock.
#[derive(Debug, Default)]
struct KubeletWrites<'a> {
    /// Whether the kubelet has written to the node in any way.
    by_kubelet: bool,
    status_at: Option<Text<'a>>,
}

/// One entry, without its list of fields.
#[derive(Deserialize, Default)]
#[serde(default)]
struct ManagedFieldsEntry<'a> {
    #[serde(borrow)]
    manager: Option<Text<'a>>,
    #[serde(borrow)]
    subresource: Option<Text<'a>>,
    #[serde(borrow)]
    time: Option<Text<'a>>,
}

impl<'de: 'a, 'a> Deserialize<'de> for KubeletWrites<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ByKubelet;
        impl<'de> Visitor<'de> for ByKubelet {
            type Value = KubeletWrites<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of field managers")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
                let mut written = KubeletWrites::default();
                while let Some(entry) = entries.next_element::<ManagedFieldsEntry<'de>>()? {
                    // Distributions that combine all components in one program use one name for all of them, which tells nothing.
                    if text(&entry.manager) != "kubelet" {
                        continue;
                    }
                    written.by_kubelet = true;
                    if text(&entry.subresource) == "status" {
                        written.status_at = entry.time;
                    }
                }
                Ok(written)
            }
        }
        deserializer.deserialize_seq(ByKubelet)
    }
}

#[derive(Deserialize, Default, Debug)]
#[serde(default)]
struct Spec<'a> {
    #[serde(borrow)]
    taints: Option<Vec<TaintWire<'a>>>,
    unschedulable: Option<bool>,
}

#[derive(Deserialize, Default, Debug)]
#[serde(default)]
struct TaintWire<'a> {
    #[serde(borrow)]
    key: Option<Text<'a>>,
    #[serde(borrow)]
    value: Option<Text<'a>>,
    #[serde(borrow)]
    effect: Option<Text<'a>>,
}

#[derive(Deserialize, Default, Debug)]
#[serde(default, rename_all = "camelCase")]
struct Status<'a> {
    #[serde(borrow)]
    conditions: Option<Vec<Condition<'a>>>,
    #[serde(borrow)]
    images: Option<Vec<NodeImageWire<'a>>>,
    #[serde(borrow)]
    node_info: Option<NodeInfo<'a>>,
}

/// The displayed part of `nodeInfo`.
#[derive(Debug)]
struct NodeInfo<'a>(Vec<(NodeDetail, Option<Text<'a>>)>);

impl<'de: 'a, 'a> Deserialize<'de> for NodeInfo<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NodeInfoVisitor;
        impl<'de> Visitor<'de> for NodeInfoVisitor {
            type Value = NodeInfo<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("what a node says of its machine")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut shown = Vec::with_capacity(NodeDetail::ALL.len());
                while let Some(key) = map.next_key::<Text<'de>>()? {
                    match NodeDetail::ALL.into_iter().find(|detail| detail.reported() == &*key) {
                        Some(detail) => shown.push((detail, map.next_value()?)),
                        None => drop(map.next_value::<IgnoredAny>()?),
                    }
                }
                Ok(NodeInfo(shown))
            }
        }
        deserializer.deserialize_map(NodeInfoVisitor)
    }
}

/// A condition.
#[derive(Deserialize, Default, Debug)]
#[serde(default, rename_all = "camelCase")]
struct Condition<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Text<'a>>,
    #[serde(borrow)]
    status: Option<Text<'a>>,
    #[serde(borrow)]
    last_transition_time: Option<Text<'a>>,
    #[serde(borrow)]
    last_heartbeat_time: Option<Text<'a>>,
    #[serde(borrow)]
    reason: Option<Text<'a>>,
    #[serde(borrow)]
    message: Option<Text<'a>>,
}

#[derive(Deserialize, Default, Debug)]
#[serde(default, rename_all = "camelCase")]
struct NodeImageWire<'a> {
    #[serde(borrow)]
    names: Option<Vec<Text<'a>>>,
    size_bytes: Option<Clamped<u64>>,
}

/// The conditions that make a kubelet refuse or evict pods.
const PRESSURES: [&str; 3] = ["DiskPressure", "MemoryPressure", "PIDPressure"];

impl NodeWire<'_> {
    /// The kubelet's last sign of life, by the node's clock.
    pub(crate) fn heartbeat_at(&self) -> Option<Timestamp> {
        instant(&self.status.as_ref()?.condition("Ready")?.last_heartbeat_time)
    }

    /// The kubelet's last write of the status, by the API server's clock; at first the write of the node itself.
    pub(crate) fn written_at(&self) -> Option<Timestamp> {
        let written = self.metadata.managed_fields.as_ref().filter(|written| written.by_kubelet)?;
        instant(if written.status_at.is_some() { &written.status_at } else { &self.metadata.creation_timestamp })
    }

    /// The fields that matter to a rollout, except version and clock.
    pub(crate) fn fact(&self, wanted: &Wanted, interner: &mut Interner) -> NodeFact {
        let none = Status::default();
        let status = self.status.as_ref().unwrap_or(&none);
        let ready = status.condition("Ready");
        let state = ready.map_or(ConditionStatus::Unknown, Condition::state);
        let pressure = PRESSURES.into_iter().find(|pressure| {
            status.condition(pressure).is_some_and(|condition| condition.state() == ConditionStatus::True)
        });
        let labels = self.metadata.labels.iter().flat_map(|labels| &labels.0);
        // The name of a node is also a label of it, as a rule, and of no other node: it is shared here and not interned.
        let name = Str::from(text(&self.metadata.name));
        let mut shared = |value: &str| if *value == *name { name.clone() } else { interner.intern(value) };
        let labels: Labels = labels.map(|(key, value)| (shared(key), shared(value))).collect();
        NodeFact {
            name,
            version: None,
            created_at: instant(&self.metadata.creation_timestamp),
            labels,
            taints: self.taints(interner),
            unschedulable: self.spec.as_ref().is_some_and(|spec| spec.unschedulable == Some(true)),
            ready: state,
            ready_since: ready.and_then(|ready| instant(&ready.last_transition_time)),
            not_ready_why: ready.and_then(|ready| match state {
                ConditionStatus::True => None,
                ConditionStatus::False => {
                    let message = interner.optional_words(&ready.message, MESSAGE);
                    message.or_else(|| interner.optional_words(&ready.reason, NAME))
                }
                ConditionStatus::Unknown => interner.optional_words(&ready.reason, NAME),
            }),
            pressure: pressure.map(|pressure| interner.intern(pressure)),
            images: status.images(wanted, interner),
            lists_all_images: status.images.as_ref().is_some_and(|images| (1..REPORTED_IMAGES).contains(&images.len())),
            clock_skew_millis: None,
            details: status.node_info.as_ref().map(|info| info.details(interner)).unwrap_or_default(),
        }
    }

    fn taints(&self, interner: &mut Interner) -> Vec<Taint> {
        let taints = self.spec.iter().flat_map(|spec| spec.taints.iter().flatten());
        taints
            .filter_map(|taint| {
                let effect = match text(&taint.effect) {
                    "NoSchedule" => TaintEffect::NoSchedule,
                    "PreferNoSchedule" => TaintEffect::PreferNoSchedule,
                    "NoExecute" => TaintEffect::NoExecute,
                    _ => return None,
                };
                let (key, value) = (interner.intern(text(&taint.key)), interner.intern(text(&taint.value)));
                Some(Taint { key, value, effect })
            })
            .collect()
    }
}

impl NodeInfo<'_> {
    fn details(&self, interner: &mut Interner) -> NodeDetails {
        let known = |detail| self.0.iter().find(|(known, _)| *known == detail).map(|(_, text)| text);
        NodeDetails::of(|detail| interner.optional_words(known(detail)?, NAME))
    }
}

impl Status<'_> {
    fn condition(&self, kind: &str) -> Option<&Condition<'_>> {
        self.conditions.iter().flatten().find(|condition| text(&condition.kind) == kind)
    }

    fn images(&self, wanted: &Wanted, interner: &mut Interner) -> Arc<[ListedImage]> {
        let bytes = |image: &NodeImageWire<'_>| image.size_bytes.unwrap_or_default().0;
        let listed = self.images.iter().flatten();
        let named = listed.flat_map(|image| image.names.iter().flatten().map(move |name| (name, bytes(image))));
        let mut kept: Vec<ListedImage> = named
            .filter(|(name, _)| wanted.has(name))
            .map(|(name, bytes)| ListedImage { name: interner.intern(name), bytes })
            .collect();
        // A kubelet lists images by size, and the sizes of the same images differ between reports.
        kept.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        kept.into()
    }
}

impl Condition<'_> {
    fn state(&self) -> ConditionStatus {
        match text(&self.status) {
            "True" => ConditionStatus::True,
            "False" => ConditionStatus::False,
            _ => ConditionStatus::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(images: &[&str]) -> Wanted {
        let mut wanted = Wanted::default();
        let images: Vec<Str> = images.iter().map(|image| Str::from(*image)).collect();
        wanted.add(&images);
        wanted
    }

    fn read(json: &str, wanted: &Wanted) -> NodeFact {
        serde_json::from_str::<NodeWire<'_>>(json).unwrap().fact(wanted, &mut Interner::default())
    }

    #[test]
    fn a_node_as_the_api_server_writes_it() {
        let node = read(include_str!("fixtures/node.json"), &wanted(&["registry.example/agent:v1"]));
        assert_eq!(&*node.name, "ipc-a-07");
        assert_eq!(node.labels.get("factory").map(|site| &**site), Some("north"));
        assert!(node.unschedulable);
        assert_eq!(node.ready, ConditionStatus::Unknown);
        assert_eq!(node.not_ready_why.as_deref(), Some("NodeStatusUnknown"));
        assert_eq!(node.pressure.as_deref(), Some("DiskPressure"));
        let taints: Vec<_> = node.taints.iter().map(|taint| (&*taint.key, taint.effect)).collect();
        assert_eq!(taints[0], ("node.kubernetes.io/unschedulable", TaintEffect::NoSchedule));
        assert_eq!(taints.len(), 2);
        let images: Vec<_> = node.images.iter().map(|image| &*image.name).collect();
        assert_eq!(images, ["registry.example/agent:v1", "registry.example/agent@sha256:bb"]);
    }

    #[test]
    fn the_name_of_a_node_is_shared_with_its_labels_and_not_interned() {
        let mut interner = Interner::default();
        let read = |interner: &mut Interner, json: &str| {
            serde_json::from_str::<NodeWire<'_>>(json).unwrap().fact(&Wanted::default(), interner)
        };
        let json = include_str!("fixtures/node.json");
        let node = read(&mut interner, json);
        assert!(std::sync::Arc::ptr_eq(&node.name, node.labels.get("kubernetes.io/hostname").unwrap()));
        let known = interner.len();
        let other = read(&mut interner, &json.replace("ipc-a-07", "ipc-a-08"));
        assert_eq!((&*other.name, interner.len()), ("ipc-a-08", known), "a further node adds none");
    }

    #[test]
    fn a_heartbeat_changes_nothing() {
        let beat = include_str!("fixtures/node.json");
        let later = beat.replace("2026-11-20T08:59:00Z", "2026-11-20T09:04:00Z").replace("\"48211\"", "\"48999\"");
        assert_ne!(beat, later);
        let wanted = wanted(&["agent"]);
        assert_eq!(read(beat, &wanted), read(&later, &wanted));
    }

    #[test]
    fn images_are_wanted_in_whatever_form_a_kubelet_writes_them() {
        let mut wanted = wanted(&["nginx:1.27", "team/agent"]);
        for image in ["docker.io/library/nginx:1.26", "nginx@sha256:aa", "docker.io/team/agent:v3"] {
            assert!(wanted.has(image), "{image}");
        }
        assert!(!wanted.has("docker.io/library/redis:7") && !wanted.has("registry.example/nginx:1"));
        assert!(!wanted.add([&Str::from("nginx:1.28")]), "same repository: no news");
        assert!(wanted.add([&Str::from("redis:7")]));
    }

    #[test]
    fn a_list_that_is_full_may_lack_what_is_there() {
        let listing = |images: usize| {
            let images = vec![r#"{"names": ["agent:v1"], "sizeBytes": 1}"#; images].join(",");
            read(
                &format!(r#"{{"metadata": {{"name": "n"}}, "status": {{"images": [{images}]}}}}"#),
                &wanted(&["agent"]),
            )
        };
        let all = [0, 1, 49, 50, 60].map(|images| listing(images).lists_all_images);
        assert_eq!(all, [false, true, true, false, false], "an empty list has not been made yet");
    }
}
