//! Reads one node, its pod and the Events on that pod, for as long as a front end shows them.
//!
//! Every two seconds it sends three small requests, like one `kubectl describe`. If the scheduler finds the node too small
//! for the pod, it also lists the pods of that node now and then. Nothing is stored, and no rule uses the result.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::watch;
use tokio::time::sleep;

use super::failure::Failure;
use super::http::{Call, Http, path_segment, with_query};
use super::partial::{lacking, node_inspection, node_occupancy, pod_events, pod_inspection};
use crate::engine::model::Str;
use crate::engine::model::inspection::{Inspection, Reading};
use crate::engine::model::occupancy::NodeOccupancy;

/// How long an answer may take.
const TIMEOUT: Duration = Duration::from_secs(15);
/// The wait between the last answer and the next request.
const EVERY: Duration = Duration::from_secs(2);
/// How many Events are asked for.
const EVENTS: &str = "200";

/// How many pods of a node are asked for. A kubelet takes 110 by default.
const PODS: &str = "500";
/// The pods of the node are listed again every this many rounds, because the list is large.
const PODS_EVERY: u32 = 5;

/// The objects to read.
#[derive(Clone, Debug)]
pub(super) struct Inspected {
    pub(super) namespace: Str,
    pub(super) node: Str,
    /// `None`: the node has no pod.
    pub(super) pod: Option<Str>,
}

/// Reads until every receiver is dropped. Must be called inside a tokio runtime.
pub(super) fn inspect(http: Http, what: Inspected) -> watch::Receiver<Arc<Inspection>> {
    let (sender, receiver) = watch::channel(Arc::<Inspection>::default());
    tokio::spawn(async move {
        let again = async {
            for round in 0_u32.. {
                let known = sender.borrow().clone();
                let mut read = read(&http, &what, &known).await;
                read.occupancy = occupancy(&http, &what.node, &mut read, &known.occupancy, round).await;
                let read = Arc::new(read);
                sender.send_if_modified(|known| {
                    let changed = *known != read;
                    *known = read;
                    changed
                });
                sleep(EVERY).await;
            }
        };
        tokio::select! {
            () = sender.closed() => {}
            () = again => {}
        }
    });
    receiver
}

async fn read(http: &Http, what: &Inspected, known: &Inspection) -> Inspection {
    let namespace = path_segment(&what.namespace);
    let pod = async {
        let name = path_segment(what.pod.as_ref()?);
        Some(get(http, &format!("/api/v1/namespaces/{namespace}/pods/{name}")).await)
    };
    let events = async {
        let name = what.pod.as_ref()?;
        let fields = format!("involvedObject.kind=Pod,involvedObject.name={name}");
        let path = format!("/api/v1/namespaces/{namespace}/events");
        Some(get(http, &with_query(&path, &[("fieldSelector", &fields), ("limit", EVENTS)])).await)
    };
    let node = format!("/api/v1/nodes/{}", path_segment(&what.node));
    let (pod, events, node) = futures::join!(pod, events, get(http, &node));
    let mut stale = None;
    Inspection {
        pod: settle(pod, &known.pod, &mut stale, pod_inspection),
        events: settle(events, &known.events, &mut stale, |list| pod_events(&list)),
        node: settle(Some(node), &known.node, &mut stale, |node| node_inspection(&node)),
        occupancy: Reading::Absent,
        stale,
    }
}

/// The resources held by the node's pods, of those that the pod lacks there.
async fn occupancy(
    http: &Http,
    node: &str,
    read: &mut Inspection,
    known: &Reading<NodeOccupancy>,
    round: u32,
) -> Reading<NodeOccupancy> {
    let Some(pod) = read.pod.read().filter(|pod| !lacking(pod).is_empty()) else { return Reading::Absent };
    if let Reading::Read(_) | Reading::Failed(_) = known
        && !round.is_multiple_of(PODS_EVERY)
    {
        return known.clone();
    }
    // Pods that have ended hold no resources.
    let fields = format!("spec.nodeName={node},status.phase!=Succeeded,status.phase!=Failed");
    let path = with_query("/api/v1/pods", &[("fieldSelector", &fields), ("limit", PODS)]);
    let answer = get(http, &path).await;
    if let Err(failure) = &answer
        && failure.is_forbidden()
    {
        return Reading::Failed(format!("{failure}; it takes the right to list pods in all namespaces").into());
    }
    let mut stale = None;
    let settled = settle(Some(answer), known, &mut stale, |list| node_occupancy(&list, pod, read.node.read()));
    read.stale = read.stale.take().or(stale);
    settled
}

async fn get(http: &Http, path: &str) -> Result<Value, Failure> {
    let body = http.call(Call::get(path, TIMEOUT)).await?;
    serde_json::from_slice(&body).map_err(|error| {
        Failure::Malformed(format!("what came of {} is not JSON: {error}", path.split('?').next().unwrap_or_default()))
    })
}

/// The value after an answer. A value that could not be read again stays, unless reading it is no longer permitted.
fn settle<T: Clone>(
    answer: Option<Result<Value, Failure>>,
    known: &Reading<T>,
    stale: &mut Option<Str>,
    read: impl Fn(Value) -> T,
) -> Reading<T> {
    match (answer, known) {
        (None, _) => Reading::Absent,
        (Some(Ok(object)), _) => Reading::Read(read(object)),
        (Some(Err(failure)), _) if failure.code() == Some(404) => Reading::Absent,
        (Some(Err(failure)), Reading::Read(before)) if !failure.is_forbidden() => {
            *stale = Some(failure.to_string().into());
            Reading::Read(before.clone())
        }
        (Some(Err(failure)), _) => Reading::Failed(failure.to_string().into()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refused(code: u16) -> Option<Result<Value, Failure>> {
        let (reason, message) = (String::new(), format!("refused with {code}"));
        Some(Err(Failure::Refused { code, reason, message, retry_after: None }))
    }

    #[test]
    fn what_cannot_be_read_again_stays_and_says_so() {
        let mut stale = None;
        let name = |value: Value| value["name"].as_str().unwrap_or_default().to_owned();
        let pending = Reading::Pending;
        let known = settle(Some(Ok(json!({"name": "a"}))), &pending, &mut stale, name);
        assert_eq!((&known, &stale), (&Reading::Read("a".to_owned()), &None));
        assert_eq!(settle(refused(500), &known, &mut stale, name), known);
        assert_eq!(stale.take().as_deref(), Some("refused with 500"));
        assert_eq!(settle(refused(404), &known, &mut stale, name), Reading::Absent);
        assert_eq!(settle(refused(403), &known, &mut stale, name), Reading::Failed("refused with 403".into()));
        assert_eq!(settle(refused(500), &pending, &mut stale, name), Reading::Failed("refused with 500".into()));
        assert_eq!((settle(None, &known, &mut stale, name), stale), (Reading::Absent, None));
    }
}
