//! Bringing one action of a kubelet to the API server.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::json;

use crate::engine::model::Str;
use crate::engine::model::time::Timestamp;
use crate::sim::world::kubelet::{Action, LEASE_NAMESPACE};
use crate::sim::world::object::{EventBody, Object};

use super::client::{Client, Trouble, Write};
use super::clock::Clock;
use super::lean::Meta;
use super::wire;

/// By this name `managedFields` knows kubelets; when they write is how their clocks are measured.
const MANAGER: &str = "fieldManager=kubelet";

/// What is known of a node besides what its kubelet knows.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct NodeFacts {
    /// Its uid, once it is registered.
    pub(super) uid: Option<Str>,
    /// Whether its Lease is there.
    pub(super) lease: Lease,
}

/// Whether a node's Lease is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Lease {
    /// Nobody has looked.
    #[default]
    Unknown,
    /// It is, with the node as its owner.
    There,
}

/// Writes what `action` asks for. What it learns of the node goes into `facts`.
///
/// # Errors
/// What is gone or replaced meanwhile is none: there is nothing left to write to.
pub(super) async fn deliver(
    client: &Client,
    action: &Action,
    facts: &mut NodeFacts,
    clock: Clock,
) -> Result<(), Trouble> {
    let done = match action {
        Action::Register(object) => register(client, object, facts, clock).await,
        Action::NodeStatus { node, conditions, images } => {
            let patch = wire::node_status(conditions, images, clock);
            let path = format!("/api/v1/nodes/{node}/status?{MANAGER}");
            client.write(Write::Strategic, &path, &patch).await.map(drop)
        }
        Action::RenewLease { node, at } => renew(client, node, *at, facts, clock).await,
        Action::PodStatus { namespace, name, uid, status } => {
            let path = format!("/api/v1/namespaces/{namespace}/pods/{name}/status");
            client.write(Write::Strategic, &path, &wire::pod_status(uid, status, clock)).await.map(drop)
        }
        Action::RemovePod { namespace, name, uid } => {
            let path = format!("/api/v1/namespaces/{namespace}/pods/{name}");
            let options = json!({"gracePeriodSeconds": 0, "preconditions": {"uid": &**uid}});
            client.write(Write::Delete, &path, &options).await.map(drop)
        }
        Action::Event { namespace, name, body } => record(client, namespace, name, body, clock).await,
    };
    match done {
        Err(Trouble::NotFound | Trouble::Conflict) => Ok(()),
        done => done,
    }
}

#[derive(Deserialize)]
struct Named {
    metadata: Meta,
}

fn uid(answer: &Bytes) -> Option<Str> {
    serde_json::from_slice::<Named>(answer).ok().map(|object| object.metadata.uid)
}

/// Creates the node, or takes over the one that is there, as a kubelet does that starts again.
async fn register(client: &Client, object: &Object, facts: &mut NodeFacts, clock: Clock) -> Result<(), Trouble> {
    let Some(node) = object.node() else { return Ok(()) };
    let nodes = format!("/api/v1/nodes?{MANAGER}");
    let created = client.write(Write::Create, &nodes, &wire::node(object, node, clock)).await;
    let answer = match created {
        Err(Trouble::Conflict) => {
            let path = format!("/api/v1/nodes/{}", object.meta.name);
            client.write(Write::Strategic, &path, &wire::node_again(object)).await?;
            let status = wire::node_status(&node.conditions, &node.images, clock);
            client.write(Write::Strategic, &format!("{path}/status?{MANAGER}"), &status).await?
        }
        created => created?,
    };
    facts.uid = uid(&answer);
    Ok(())
}

async fn renew(client: &Client, node: &str, at: Timestamp, facts: &mut NodeFacts, clock: Clock) -> Result<(), Trouble> {
    let leases = format!("/apis/coordination.k8s.io/v1/namespaces/{LEASE_NAMESPACE}/leases");
    let lease = wire::lease(node, facts.uid.as_deref(), at, clock);
    if facts.lease == Lease::There {
        // Who owns it has been said.
        let renewal = json!({"spec": lease["spec"]});
        match client.write(Write::Merge, &format!("{leases}/{node}"), &renewal).await {
            Err(Trouble::NotFound) => facts.lease = Lease::Unknown,
            done => return done.map(drop),
        }
    }
    match client.write(Write::Create, &leases, &lease).await {
        Err(Trouble::Conflict) => drop(client.write(Write::Merge, &format!("{leases}/{node}"), &lease).await?),
        // The API server creates the namespace a moment after it has come up.
        Err(Trouble::NotFound) => return Err(Trouble::Later { after: None, why: format!("no {LEASE_NAMESPACE} yet") }),
        created => drop(created?),
    }
    facts.lease = Lease::There;
    Ok(())
}

async fn record(client: &Client, namespace: &str, name: &str, body: &EventBody, clock: Clock) -> Result<(), Trouble> {
    let events = format!("/api/v1/namespaces/{namespace}/events");
    if body.count > 1 {
        match client.write(Write::Merge, &format!("{events}/{name}"), &wire::event_again(body, clock)).await {
            Err(Trouble::NotFound) => {}
            done => return done.map(drop),
        }
    }
    client.write(Write::Create, &events, &wire::event(name, body, clock)).await.map(drop)
}
