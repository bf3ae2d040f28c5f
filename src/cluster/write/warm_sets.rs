//! StatefulSets for pre-warming: their listing, creation and deletion.

use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Writer, error, read};
use crate::cluster::failure::Failure;
use crate::cluster::http::with_query;
use crate::cluster::partial::{EventWire, Interner, set_owner};
use crate::engine::model::Str;
use crate::engine::model::effect::{Done, Outcome};
use crate::engine::model::facts::{ClusterEvent, WarmSetFact};
use crate::engine::model::prewarm::{PREWARM, PREWARM_IMAGES, PREWARM_REQUEST};
use crate::engine::model::time::Timestamp;
use crate::engine::rules::warm_set::nodes_of;

/// The StatefulSets of a writer's namespace.
pub(super) struct WarmSetWriter<'a> {
    pub(super) writer: &'a Writer,
    pub(super) path: String,
}

#[derive(Deserialize)]
struct EventList<'a> {
    #[serde(borrow, default)]
    items: Vec<EventWire<'a>>,
}

impl WarmSetWriter<'_> {
    pub(super) async fn list(&self) -> Outcome {
        let what = "list statefulsets";
        let failed = |failure| error(what, &failure);
        let path = with_query(&self.path, &[("labelSelector", PREWARM)]);
        let body = self.writer.get(&path).await.and_then(|body| read(&body)).map_err(failed)?;
        let items = body["items"].as_array().map(Vec::as_slice).unwrap_or_default();
        let mut sets: Vec<WarmSetFact> = items.iter().filter_map(fact).collect();
        // The status of a StatefulSet does not contain the reason why it makes no pod.
        let lacks = |set: &Value| {
            set["status"]["replicas"].as_u64().unwrap_or(0) < set["spec"]["replicas"].as_u64().unwrap_or(0)
        };
        if items.iter().any(lacks) {
            let refusals = self.refusals().await;
            for set in &mut sets {
                let of_it = refusals.iter().filter(|event| event.object == set.uid);
                set.refused = of_it.max_by_key(|event| event.at).map(|event| event.message.clone());
            }
        }
        Ok(Done::WarmSets(sets))
    }

    /// Events about pods that could not be made. If they cannot be read, only these refusals are unknown.
    async fn refusals(&self) -> Vec<ClusterEvent> {
        let path = format!("/api/v1/namespaces/{}/events", self.writer.namespace);
        let about = "involvedObject.kind=StatefulSet,reason=FailedCreate";
        let Ok(body) = self.writer.get(&with_query(&path, &[("fieldSelector", about)])).await else {
            return Vec::new();
        };
        let list = serde_json::from_slice::<EventList<'_>>(&body);
        let mut interner = Interner::default();
        list.map(|list| list.items.iter().map(|event| event.fact(&mut interner)).collect()).unwrap_or_default()
    }

    pub(super) async fn create(&self, name: &str, set: &Value, not_after: Timestamp) -> Outcome {
        let what = format!("create statefulset {name}");
        if self.writer.http.clock().now() > not_after {
            return Err(error(&what, &Failure::TooLate));
        }
        let mut object = set.clone();
        let owner = set["metadata"]["labels"][PREWARM].as_str().unwrap_or_default();
        set_owner(&mut object, self.writer.workload.api_kind(), &self.writer.name, owner);
        let made = self.writer.send(Method::POST, (&self.path, "application/json"), &object, Some(not_after)).await;
        let uid = |body: &[u8]| {
            let answer: Value = serde_json::from_slice(body).ok()?;
            answer["metadata"]["uid"].as_str().map(Str::from)
        };
        made.map(|body| Done::WarmSetCreated { uid: uid(&body) }).map_err(|failure| error(&what, &failure))
    }

    /// Deletes a StatefulSet. The garbage collector deletes its pods, which have no other owner.
    pub(super) async fn delete(&self, name: &str, uid: &str) -> Outcome {
        let what = format!("delete statefulset {name}");
        let path = format!("{}/{name}", self.path);
        let options = json!({
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": {"uid": uid},
            "propagationPolicy": "Background",
        });
        let answer = self.writer.send(Method::DELETE, (&path, "application/json"), &options, None).await;
        answer.map(|_| Done::WarmSetDeleted).map_err(|failure| error(&what, &failure))
    }
}

fn fact(set: &Value) -> Option<WarmSetFact> {
    let metadata = &set["metadata"];
    let text = |value: &Value| value.as_str().map(Str::from);
    Some(WarmSetFact {
        name: text(&metadata["name"])?,
        uid: text(&metadata["uid"])?,
        daemonset: text(&metadata["labels"][PREWARM])?,
        images: text(&metadata["labels"][PREWARM_IMAGES])?,
        request: text(&metadata["labels"][PREWARM_REQUEST])?,
        nodes: nodes_of(set),
        deleting: metadata["deletionTimestamp"].is_string(),
        refused: None,
    })
}
