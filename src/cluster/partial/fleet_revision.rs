//! A ControllerRevision with the fields of the list of all DaemonSets: its owner, its number, its images.

use serde::Deserialize;

use super::{Text, text};
use crate::cluster::clip::clip_name;
use crate::engine::model::Str;

/// The images of a template.
#[derive(Deserialize, Default, Debug)]
#[serde(default)]
pub(crate) struct TemplateImages<'a> {
    #[serde(borrow)]
    spec: Option<PodImages<'a>>,
}

#[derive(Deserialize, Default, Debug)]
#[serde(default)]
struct PodImages<'a> {
    #[serde(borrow)]
    containers: Option<Vec<ImageOfContainer<'a>>>,
}

#[derive(Deserialize, Default, Debug)]
#[serde(default)]
struct ImageOfContainer<'a> {
    #[serde(borrow)]
    name: Option<Text<'a>>,
    #[serde(borrow)]
    image: Option<Text<'a>>,
}

impl TemplateImages<'_> {
    /// Container name and image, in the template's order; without init containers.
    pub(crate) fn images(&self) -> Vec<(Str, Str)> {
        let containers = self.spec.iter().flat_map(|spec| spec.containers.iter().flatten());
        let of = |part: &Option<Text<'_>>| Str::from(&*clip_name(text(part)));
        containers.map(|container| (of(&container.name), of(&container.image))).collect()
    }
}

/// A ControllerRevision of the wire.
#[derive(Deserialize, Default, Debug)]
#[serde(default)]
pub(crate) struct FleetRevisionWire<'a> {
    #[serde(borrow)]
    pub(crate) metadata: RevisionMeta<'a>,
    #[serde(borrow)]
    data: Option<RevisionData<'a>>,
    revision: i64,
}

#[derive(Deserialize, Default, Debug)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct RevisionMeta<'a> {
    #[serde(borrow)]
    name: Option<Text<'a>>,
    #[serde(borrow)]
    namespace: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) resource_version: Option<Text<'a>>,
    #[serde(borrow)]
    labels: Option<RevisionLabels<'a>>,
    #[serde(borrow)]
    owner_references: Option<Vec<RevisionOwner<'a>>>,
}

#[derive(Deserialize, Default, Debug)]
#[serde(default)]
struct RevisionLabels<'a> {
    #[serde(borrow, rename = "controller-revision-hash")]
    hash: Option<Text<'a>>,
}

#[derive(Deserialize, Default, Debug)]
#[serde(default)]
struct RevisionOwner<'a> {
    #[serde(borrow)]
    kind: Option<Text<'a>>,
    #[serde(borrow)]
    uid: Option<Text<'a>>,
    controller: bool,
}

#[derive(Deserialize, Default, Debug)]
#[serde(default)]
struct RevisionData<'a> {
    #[serde(borrow)]
    spec: Option<RevisionSpec<'a>>,
}

#[derive(Deserialize, Default, Debug)]
#[serde(default)]
struct RevisionSpec<'a> {
    #[serde(borrow)]
    template: Option<TemplateImages<'a>>,
}

/// One revision of a DaemonSet of a fleet.
#[derive(Clone, PartialEq, Debug)]
pub struct PartialRevision {
    /// The uid of the DaemonSet that controls it.
    pub daemonset_uid: Str,
    /// Its hash, as pods carry it.
    pub hash: Str,
    /// Its number. The controller gives the revision of the present template the highest one.
    pub number: i64,
    /// Its images: container name, image.
    pub images: Vec<(Str, Str)>,
}

impl FleetRevisionWire<'_> {
    /// The revision, if it belongs to a DaemonSet: StatefulSets have revisions too.
    pub(crate) fn partial(&self) -> Option<PartialRevision> {
        let owners = self.metadata.owner_references.iter().flatten();
        let owner = owners.into_iter().find(|owner| owner.controller && text(&owner.kind) == "DaemonSet")?;
        let template = self.data.as_ref().and_then(|data| data.spec.as_ref()?.template.as_ref());
        let label = self.metadata.labels.as_ref().map(|labels| text(&labels.hash)).unwrap_or_default();
        Some(PartialRevision {
            daemonset_uid: text(&owner.uid).into(),
            // The controller falls back to the name itself if the label is missing.
            hash: if label.is_empty() { text(&self.metadata.name) } else { label }.into(),
            number: self.revision,
            images: template.map(TemplateImages::images).unwrap_or_default(),
        })
    }

    pub(crate) fn key(&self) -> (Str, Str) {
        (text(&self.metadata.namespace).into(), text(&self.metadata.name).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_revision_of_a_daemonset_is_read_and_one_of_a_statefulset_is_not() {
        let read = |kind: &str| {
            let object = serde_json::json!({
                "kind": "ControllerRevision",
                "metadata": {
                    "name": "agent-7d9f8c6b5", "namespace": "edge",
                    "labels": {"controller-revision-hash": "7d9f8c6b5", "app": "agent"},
                    "ownerReferences": [{"kind": kind, "uid": "ds-uid", "controller": true, "name": "agent"}],
                },
                "data": {"spec": {"template": {"$patch": "replace", "spec": {
                    "containers": [{"name": "agent", "image": "registry.example/agent:v2", "env": []}, {"name": "proxy"}],
                    "initContainers": [{"name": "init", "image": "init:v9"}],
                }}}},
                "revision": 3,
            })
            .to_string();
            let wire: FleetRevisionWire<'_> = serde_json::from_str(&object).unwrap();
            assert_eq!(wire.key(), ("edge".into(), "agent-7d9f8c6b5".into()));
            wire.partial()
        };
        let want = PartialRevision {
            daemonset_uid: "ds-uid".into(),
            hash: "7d9f8c6b5".into(),
            number: 3,
            images: vec![("agent".into(), "registry.example/agent:v2".into()), ("proxy".into(), "".into())],
        };
        assert_eq!(read("DaemonSet"), Some(want));
        assert_eq!(read("StatefulSet"), None);
    }

    #[test]
    fn a_revision_without_most_of_its_fields_is_not_an_error() {
        let wire: FleetRevisionWire<'_> = serde_json::from_str(r#"{"metadata": {"name": "a"}, "data": null}"#).unwrap();
        assert_eq!(wire.partial(), None);
    }
}
