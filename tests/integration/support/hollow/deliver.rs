//! Sends one action of a kubelet to the API server.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::json;

use rolldeck::engine::model::Str;
use rolldeck::engine::model::time::Timestamp;
use rolldeck::sim::world::kubelet::{KubeletAction, LEASE_NAMESPACE};
use rolldeck::sim::world::object::{EventBody, Object};

use super::client::{BodyKind, Client, ClientError};
use super::clock::FastClock;
use super::partial::PartialMeta;
use super::wire;

/// A node's facts beyond those of its kubelet.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct NodeFacts {
    /// Its uid, once it is registered.
    pub(super) uid: Option<Str>,
    /// Whether its Lease is there.
    pub(super) lease: LeasePresence,
}

/// Whether a node's Lease exists, as far as the hollow nodes know.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum LeasePresence {
    /// No request has shown it yet.
    #[default]
    Unknown,
    /// The Lease exists, with the node as its owner.
    There,
}

/// Sends the write that `action` asks for. Facts of the node that the answer tells go into `facts`. `manager` is the name of kubelets in `managedFields` of
/// nodes ([`HollowOptions::manager`](super::HollowOptions::manager)).
///
/// # Errors
/// An object that is gone or replaced meanwhile is no error: nothing is left to write to.
pub(super) async fn deliver(
    client: &Client,
    action: &KubeletAction,
    facts: &mut NodeFacts,
    clock: FastClock,
    manager: &str,
) -> Result<(), ClientError> {
    let done = match action {
        KubeletAction::Register(object) => register(client, object, facts, clock, manager).await,
        KubeletAction::NodeStatus { node, conditions, images } => {
            let patch = wire::node_status(conditions, images, clock);
            let path = format!("/api/v1/nodes/{node}/status?fieldManager={manager}");
            client.write(BodyKind::Strategic, &path, &patch).await.map(drop)
        }
        KubeletAction::RenewLease { node, at } => renew(client, node, *at, facts, clock).await,
        KubeletAction::PodStatus { namespace, name, uid, status } => {
            let path = format!("/api/v1/namespaces/{namespace}/pods/{name}/status");
            client.write(BodyKind::Strategic, &path, &wire::pod_status(uid, status, clock)).await.map(drop)
        }
        KubeletAction::RemovePod { namespace, name, uid } => {
            let path = format!("/api/v1/namespaces/{namespace}/pods/{name}");
            let options = json!({"gracePeriodSeconds": 0, "preconditions": {"uid": &**uid}});
            client.write(BodyKind::Delete, &path, &options).await.map(drop)
        }
        KubeletAction::Event { namespace, name, body } => record(client, namespace, name, body, clock).await,
    };
    match done {
        Err(ClientError::NotFound | ClientError::Conflict) => Ok(()),
        done => done,
    }
}

#[derive(Deserialize)]
struct NameOnly {
    metadata: PartialMeta,
}

fn uid(answer: &Bytes) -> Option<Str> {
    serde_json::from_slice::<NameOnly>(answer).ok().map(|object| object.metadata.uid)
}

/// Creates the node, or takes over the existing one, as a kubelet does that starts again.
async fn register(
    client: &Client,
    object: &Object,
    facts: &mut NodeFacts,
    clock: FastClock,
    manager: &str,
) -> Result<(), ClientError> {
    let Some(node) = object.node() else { return Ok(()) };
    let nodes = format!("/api/v1/nodes?fieldManager={manager}");
    let created = client.write(BodyKind::Create, &nodes, &wire::node(object, node, clock)).await;
    let answer = match created {
        Err(ClientError::Conflict) => {
            let path = format!("/api/v1/nodes/{}", object.meta.name);
            client.write(BodyKind::Strategic, &path, &wire::node_again(object)).await?;
            let status = wire::node_status(&node.conditions, &node.images, clock);
            client.write(BodyKind::Strategic, &format!("{path}/status?fieldManager={manager}"), &status).await?
        }
        created => created?,
    };
    facts.uid = uid(&answer);
    Ok(())
}

async fn renew(
    client: &Client,
    node: &str,
    at: Timestamp,
    facts: &mut NodeFacts,
    clock: FastClock,
) -> Result<(), ClientError> {
    let leases = format!("/apis/coordination.k8s.io/v1/namespaces/{LEASE_NAMESPACE}/leases");
    let lease = wire::lease(node, facts.uid.as_deref(), at, clock);
    if facts.lease == LeasePresence::There {
        // The Lease has its owner already.
        let renewal = json!({"spec": lease["spec"]});
        match client.write(BodyKind::Merge, &format!("{leases}/{node}"), &renewal).await {
            Err(ClientError::NotFound) => facts.lease = LeasePresence::Unknown,
            done => return done.map(drop),
        }
    }
    match client.write(BodyKind::Create, &leases, &lease).await {
        Err(ClientError::Conflict) => drop(client.write(BodyKind::Merge, &format!("{leases}/{node}"), &lease).await?),
        // The API server creates the namespace of Leases a moment after it has come up.
        Err(ClientError::NotFound) => {
            return Err(ClientError::Later { after: None, why: format!("no {LEASE_NAMESPACE} yet") });
        }
        created => drop(created?),
    }
    facts.lease = LeasePresence::There;
    Ok(())
}

async fn record(
    client: &Client,
    namespace: &str,
    name: &str,
    body: &EventBody,
    clock: FastClock,
) -> Result<(), ClientError> {
    let events = format!("/api/v1/namespaces/{namespace}/events");
    if body.count > 1 {
        match client.write(BodyKind::Merge, &format!("{events}/{name}"), &wire::event_again(body, clock)).await {
            Err(ClientError::NotFound) => {}
            done => return done.map(drop),
        }
    }
    client.write(BodyKind::Create, &events, &wire::event(name, body, clock)).await.map(drop)
}
