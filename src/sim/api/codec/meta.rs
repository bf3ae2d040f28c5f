//! `metadata`.

use crate::sim::world::object::{DeletionMark, Meta, Owner};

use super::super::json::ObjectWriter;
use super::super::status::{Answer, ApiRefusal};
use super::fields::FieldReader;

/// Reads `metadata`.
pub(super) fn parse(mut fields: FieldReader) -> Answer<Meta> {
    let version = fields.text("resourceVersion")?.unwrap_or_default();
    let resource_version = match &*version {
        "" | "0" => 0,
        text => text.parse().map_err(|error| ApiRefusal::bad_request(format!("resourceVersion `{text}`: {error}")))?,
    };
    let grace = fields.count("deletionGracePeriodSeconds")?;
    let deletion =
        fields.time("deletionTimestamp")?.map(|at| DeletionMark { at, grace_secs: grace.unwrap_or_default() });
    let owners = fields.list("ownerReferences")?.into_iter().map(|mut owner| {
        Ok(Owner {
            api_version: owner.text("apiVersion")?.unwrap_or_default(),
            kind: owner.text("kind")?.unwrap_or_default(),
            name: owner.text("name")?.unwrap_or_default(),
            uid: owner.text("uid")?.unwrap_or_default(),
            controller: owner.flag("controller")?,
            block_owner_deletion: owner.flag("blockOwnerDeletion")?,
        })
    });
    Ok(Meta {
        owners: owners.collect::<Answer<Vec<_>>>()?.into(),
        namespace: fields.text("namespace")?.unwrap_or_default(),
        name: fields.text("name")?.unwrap_or_default(),
        generate_name: fields.text("generateName")?.filter(|name| !name.is_empty()),
        uid: fields.text("uid")?.unwrap_or_default(),
        resource_version,
        generation: fields.integer("generation")?.unwrap_or_default(),
        created_at: fields.time("creationTimestamp")?.unwrap_or_default(),
        deletion,
        labels: fields.pairs("labels")?,
        annotations: fields.pairs("annotations")?,
        finalizers: fields.texts("finalizers")?.into(),
    })
}

/// Writes `metadata`, with `managed` (JSON text of a list) as its `managedFields`.
pub(super) fn render(o: &mut ObjectWriter<'_>, meta: &Meta, managed: Option<&[u8]>) {
    o.put_text("name", &meta.name);
    o.put_some("generateName", meta.generate_name.as_deref());
    o.put_text("namespace", &meta.namespace);
    o.put_text("uid", &meta.uid);
    if meta.resource_version != 0 {
        o.put("resourceVersion", &meta.resource_version.to_string());
    }
    if meta.generation != 0 {
        o.put("generation", &meta.generation);
    }
    o.put("creationTimestamp", &meta.created_at.to_rfc3339());
    if let Some(deletion) = meta.deletion {
        o.put("deletionTimestamp", &deletion.at.to_rfc3339());
        o.put("deletionGracePeriodSeconds", &deletion.grace_secs);
    }
    o.pairs("labels", meta.labels.iter().map(|(key, value)| (&**key, &**value)));
    o.pairs("annotations", meta.annotations.iter().map(|(key, value)| (&**key, &**value)));
    o.objects("ownerReferences", meta.owners.iter(), |owner, o| {
        o.put("apiVersion", &*owner.api_version);
        o.put("kind", &*owner.kind);
        o.put("name", &*owner.name);
        o.put("uid", &*owner.uid);
        if owner.controller {
            o.put("controller", &true);
        }
        if owner.block_owner_deletion {
            o.put("blockOwnerDeletion", &true);
        }
    });
    if !meta.finalizers.is_empty() {
        o.put("finalizers", &meta.finalizers);
    }
    if let Some(managed) = managed {
        o.put_raw("managedFields", managed);
    }
}
