//! Nodes.

use std::sync::Arc;

use crate::engine::model::facts::Taint;
use crate::engine::model::template::TaintEffect;
use crate::sim::world::object::conditions::READY;
use crate::sim::world::object::{Condition, Node, NodeImage};

use super::super::json::ObjectWriter;
use super::super::status::{Answer, ApiRefusal};
use super::conditions;
use super::fields::FieldReader;

/// Reads a node that is to replace `before`.
pub(super) fn parse(fields: &mut FieldReader, before: Option<&Node>) -> Answer<Node> {
    let mut spec = fields.object("spec")?;
    let taints = spec.list("taints")?.into_iter().map(|mut taint| {
        Ok(Taint {
            key: taint.text("key")?.unwrap_or_default(),
            value: taint.text("value")?.unwrap_or_default(),
            effect: taint
                .with("effect", "NoSchedule, PreferNoSchedule or NoExecute", |effect| match effect.as_str()? {
                    "NoSchedule" => Some(TaintEffect::NoSchedule),
                    "PreferNoSchedule" => Some(TaintEffect::PreferNoSchedule),
                    "NoExecute" => Some(TaintEffect::NoExecute),
                    _ => None,
                })?
                .ok_or_else(|| ApiRefusal::bad_request("a taint needs an effect"))?,
        })
    });
    let taints = taints.collect::<Answer<Vec<_>>>()?.into();
    let unschedulable = spec.flag("unschedulable")?;
    let mut status = fields.object("status")?;
    let images = status.list("images")?.into_iter().map(|mut image| {
        let bytes = image.integer("sizeBytes")?.and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or_default();
        Ok(NodeImage { names: image.texts("names")?, bytes })
    });
    let conditions = conditions::parse(&mut status)?;
    // Clients are served whole seconds.
    let beat = |all: &[Condition]| Condition::find(all, READY)?.heartbeat_at.map(|at| at.millis().div_euclid(1_000));
    // A changed heartbeat was written by a client, not by the world's own kubelet, so the kubelet's report no longer counts;
    // `managedFields` names the client.
    let same = before.filter(|before| beat(&before.conditions) == beat(&conditions));
    Ok(Node {
        images: images.collect::<Answer<Vec<_>>>()?.into(),
        reported_at: same.and_then(|before| before.reported_at),
        conditions,
        unschedulable,
        taints,
        spec_rest: Arc::new(spec.rest()),
        status_rest: Arc::new(status.rest()),
    })
}

/// Writes `spec` and `status` of a node.
pub(super) fn render(o: &mut ObjectWriter<'_>, node: &Node) {
    o.object("spec", |o| {
        if node.unschedulable {
            o.put("unschedulable", &true);
        }
        o.objects("taints", node.taints.iter(), |taint, o| {
            o.put("key", &*taint.key);
            o.put_text("value", &taint.value);
            o.put("effect", effect_name(taint.effect));
        });
        o.spread(&node.spec_rest);
    });
    o.object("status", |o| {
        conditions::render(o, &node.conditions);
        o.objects("images", node.images.iter(), |image, o| {
            o.put("names", &image.names);
            o.put("sizeBytes", &image.bytes);
        });
        o.spread(&node.status_rest);
    });
}

fn effect_name(effect: TaintEffect) -> &'static str {
    match effect {
        TaintEffect::NoSchedule => "NoSchedule",
        TaintEffect::PreferNoSchedule => "PreferNoSchedule",
        TaintEffect::NoExecute => "NoExecute",
    }
}
