//! `pods/log`: the output of a container, which the API server passes on from the kubelet.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::response::Response;
use futures::stream;
use http::{HeaderValue, header};

use super::request::{ApiRequest, ObjectPath};
use super::served_time::ServedTime;
use super::shared::Shared;
use super::status::{Answer, ApiRefusal};
use crate::engine::model::facts::ConditionStatus;
use crate::engine::model::time::Timestamp;
use crate::sim::world::kind::Kind;
use crate::sim::world::kubelet::LoggedRun;
use crate::sim::world::object::{Condition, conditions};

/// The time between two reads of a log that a client follows.
const LOOK: Duration = Duration::from_millis(250);
/// The largest number of lines in one piece of an answer.
const MOST: usize = 10_000;

/// The part of a log that a request asks for.
#[derive(Clone, Debug)]
struct LogRequest {
    namespace: String,
    pod: String,
    container: String,
    previous: bool,
    timestamps: bool,
    follow: bool,
    after: Option<Timestamp>,
    most: usize,
}

/// Answers a read of a log.
pub(super) fn read(shared: &Arc<Shared>, path: &ObjectPath, request: &ApiRequest) -> Answer<Response> {
    let query = &request.query;
    let wanted = LogRequest {
        namespace: path.namespace.clone(),
        pod: path.name.clone(),
        container: container(shared, path, query.get("container"))?,
        previous: query.is_set("previous"),
        timestamps: query.is_set("timestamps"),
        follow: query.is_set("follow"),
        after: since(shared, request)?,
        most: query.number("tailLines")?.map_or(MOST, |lines| usize::try_from(lines).unwrap_or(MOST).min(MOST)),
    };
    let run = wanted.run(shared)?;
    let until = shared.world_now();
    let first = run
        .as_ref()
        .map(|run| wanted.written(&run.lines(wanted.after, until, wanted.most), shared.time()))
        .unwrap_or_default();
    let goes_on = wanted.follow && run.as_ref().is_some_and(LoggedRun::goes_on);
    let state = (Arc::clone(shared), LogRequest { after: Some(until), most: MOST, ..wanted }, Some(first), goes_on);
    let pieces = stream::unfold(state, |(shared, wanted, first, goes_on)| async move {
        if let Some(first) = first {
            return Some((Ok(first), (shared, wanted, None, goes_on)));
        }
        if !goes_on {
            return None;
        }
        let (bytes, wanted, goes_on) = wanted.more(&shared).await;
        Some((Ok::<_, std::io::Error>(bytes), (shared, wanted, None, goes_on)))
    });
    let mut response = Response::new(Body::from_stream(pieces));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    Ok(response)
}

impl LogRequest {
    /// The run of the container that the request asks for; `None` while the pod is on no node.
    fn run(&self, shared: &Shared) -> Answer<Option<LoggedRun>> {
        shared.with_world(|access| {
            let object = access.store().find(Kind::Pod, &self.namespace, &self.pod)?;
            let Some(body) = object.pod().filter(|pod| pod.node.is_some()) else { return Ok(None) };
            let node = body.node.as_deref().unwrap_or_default();
            let reachable = access.store().find(Kind::Node, "", node).is_ok_and(|node| {
                let ready = node.node().and_then(|node| Condition::find(&node.conditions, conditions::READY));
                ready.is_some_and(|ready| ready.status != ConditionStatus::Unknown)
            });
            if !reachable {
                let ip = body.status.host_ip.as_deref().unwrap_or(node);
                let (namespace, pod, container) = (&self.namespace, &self.pod, &self.container);
                return Err(ApiRefusal::internal(format!(
                    "Get \"https://{ip}:10250/containerLogs/{namespace}/{pod}/{container}\": dial tcp {ip}:10250: i/o timeout"
                )));
            }
            let run = LoggedRun::of(&self.pod, body, &self.container, self.previous);
            run.map(Some).map_err(ApiRefusal::bad_request)
        })
    }

    /// Waits for more lines, up to the end of the run.
    async fn more(mut self, shared: &Shared) -> (Bytes, Self, bool) {
        let began = self.run(shared);
        loop {
            tokio::time::sleep(LOOK).await;
            let until = shared.world_now();
            // If the container restarted meanwhile, the run that the request now names is another one, and following ends.
            let now = self.run(shared).ok().flatten();
            let goes_on = now.is_some() && now == began.as_ref().ok().cloned().flatten();
            let lines = now.map(|run| run.lines(self.after, until, self.most)).unwrap_or_default();
            self.after = Some(until);
            let bytes = self.written(&lines, shared.time());
            if !bytes.is_empty() || !goes_on {
                return (bytes, self, goes_on);
            }
        }
    }

    fn written(&self, lines: &[(Timestamp, String)], time: ServedTime) -> Bytes {
        let stamped = |at: Timestamp, text: &str| {
            format!("{}.{:03}000000Z {text}\n", at.to_rfc3339().trim_end_matches('Z'), at.millis().rem_euclid(1_000))
        };
        let line = |(at, text): &(Timestamp, String)| match self.timestamps {
            true => stamped(time.of(*at), text),
            false => format!("{text}\n"),
        };
        lines.iter().map(line).collect::<String>().into()
    }
}

/// The container that the request names, or the pod's only container.
fn container(shared: &Shared, path: &ObjectPath, named: Option<&str>) -> Answer<String> {
    shared.with_world(|access| {
        let object = access.store().find(Kind::Pod, &path.namespace, &path.name)?;
        let template = object.pod().map(|pod| pod.template.clone()).unwrap_or_default();
        let names: Vec<&str> = template.containers().iter().map(|container| &*container.name).collect();
        match (named, names.as_slice()) {
            (Some(name), names) if names.contains(&name) => Ok(name.to_owned()),
            (Some(name), _) => {
                Err(ApiRefusal::bad_request(format!("container {name} is not valid for pod {}", path.name)))
            }
            (None, [only]) => Ok((*only).to_owned()),
            (None, names) => Err(ApiRefusal::bad_request(format!(
                "a container name must be specified for pod {}, choose one of: [{}]",
                path.name,
                names.join(" ")
            ))),
        }
    })
}

/// The instant after which lines are wanted. `sinceTime` is inclusive, so it gives the millisecond before.
fn since(shared: &Shared, request: &ApiRequest) -> Answer<Option<Timestamp>> {
    if let Some(seconds) = request.query.number("sinceSeconds")? {
        let back = i64::try_from(seconds.saturating_mul(1_000)).unwrap_or(i64::MAX);
        let from = Timestamp::from_millis(shared.now().millis().saturating_sub(back));
        return Ok(Some(shared.time().in_world(from)));
    }
    let parsed = request.query.get("sinceTime").map(Timestamp::parse).transpose();
    let parsed = parsed.map_err(|why| ApiRefusal::bad_request(format!("sinceTime: {why}")))?;
    Ok(parsed.map(|at| Timestamp::from_millis(shared.time().in_world(at).millis().saturating_sub(1))))
}
