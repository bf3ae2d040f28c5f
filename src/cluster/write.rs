//! Converts effects into API calls, and answers into outcomes.
//!
//! A write is sent once. If it was refused because the object had changed, the object is read again and passed to the engine
//! with the outcome, so that the engine decides on its present state.

#[cfg(test)]
mod tests;
mod warm_sets;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};

use self::warm_sets::WarmSetWriter;
use super::failure::Failure;
use super::http::{Call, Http, with_query};
use super::last_observed::LastObserved;
use super::partial::{Interner, PodWire, lease_fact, lease_object, set_owner};
use super::recorder::{self, Recorder};
use super::workload::PatchRequest;
use super::workload::SharedWorkload;
use crate::engine::model::Str;
use crate::engine::model::effect::{
    DaemonSetPatch, Done, Effect, EffectError, EffectErrorKind, LeaseWrite, MustStay, Outcome, WRITE_TIMEOUT,
};
use crate::engine::model::event::Event;
use crate::engine::model::facts::{DaemonSetFact, LeaseFact};
use crate::engine::model::prewarm::PREWARM;
use crate::engine::model::record::{CHANGE, lease_name};
use crate::engine::model::template::Template;
use crate::engine::model::time::Timestamp;
use crate::engine::model::version::is_older;
use crate::engine::rules::ownership::FIELD_MANAGER;

/// How long a change of the DaemonSet may wait for a connection. With `Timing::act` and the time for the answer, the sum
/// stays below the duration of the Lease: after that another driver may have written another change.
const PATCH_LEAVES_WITHIN: Duration = Duration::from_millis(2_500);

/// Carries out the writes of one rollout. Cheap to clone.
#[derive(Clone)]
pub struct Writer {
    http: Http,
    workload: SharedWorkload,
    shared: Arc<LastObserved>,
    namespace: Str,
    name: Str,
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").field("namespace", &self.namespace).field("name", &self.name).finish_non_exhaustive()
    }
}

/// The Lease as it was known when it was to be replaced.
struct LeaseVersion<'a> {
    uid: &'a str,
    version: &'a str,
}

/// The outcome of a write, and the objects that were read with it. The engine has to learn the objects before the outcome.
#[derive(Debug)]
pub struct Executed {
    /// The result of the write.
    pub outcome: Outcome,
    /// Objects from the server's answers.
    pub events: Vec<Event>,
}

impl Executed {
    fn only(outcome: Outcome) -> Self {
        Self { outcome, events: Vec::new() }
    }
}

impl Writer {
    pub(super) fn new(
        http: Http,
        workload: SharedWorkload,
        shared: Arc<LastObserved>,
        namespace: Str,
        name: Str,
    ) -> Self {
        Self { http, workload, shared, namespace, name }
    }

    /// Starts to write Events about the same DaemonSet, in the name of `identity`.
    pub fn recorder(&self, identity: Str) -> Recorder {
        let Self { http, workload, shared, namespace, name, .. } = self.clone();
        recorder::spawn(recorder::RecorderContext { http, workload, shared, namespace, name, identity })
    }

    /// Carries out the write that `effect` describes.
    pub async fn execute(&self, effect: &Effect) -> Executed {
        match effect {
            Effect::DeletePod { name, uid, node, not_after } => self.delete_pod(name, uid, node, *not_after).await,
            Effect::TryPod { pod } => self.try_pod(pod).await,
            Effect::CreateWarmPod { name, node, pod, not_after } => {
                self.create_warm_pod((name, node), pod, *not_after).await
            }
            Effect::DeleteWarmPod { name, uid, node, grace_secs } => {
                self.delete_warm_pod(name, uid, node, *grace_secs).await
            }
            Effect::ListWarmSets => Executed::only(self.warm_sets().list().await),
            Effect::CreateWarmSet { name, set, not_after } => {
                Executed::only(self.warm_sets().create(name, set, *not_after).await)
            }
            Effect::DeleteWarmSet { name, uid } => Executed::only(self.warm_sets().delete(name, uid).await),
            Effect::PatchDaemonSet { resource_version, patch } => self.patch_daemonset(resource_version, patch).await,
            Effect::WriteLease { resource_version: None, lease } => self.create_lease(lease).await,
            Effect::WriteLease { resource_version: Some(version), lease } => self.replace_lease(version, lease).await,
        }
    }

    async fn delete_pod(&self, pod: &str, uid: &str, node: &str, not_after: Timestamp) -> Executed {
        let what = format!("delete pod {pod} on {node}");
        if self.http.clock().now() > not_after {
            return Executed::only(Err(error(&what, &Failure::TooLate)));
        }
        let path = format!("/api/v1/namespaces/{}/pods/{pod}", self.namespace);
        let options = json!({
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": {"uid": uid},
            "propagationPolicy": "Background",
        });
        match self.send(Method::DELETE, (&path, "application/json"), &options, Some(not_after)).await {
            Ok(body) => {
                // The answer is the terminating pod, or a Status if the pod is gone already.
                let pod = serde_json::from_slice::<PodWire<'_>>(&body).ok();
                let pod = pod.map(|pod| pod.fact(&mut Interner::default()));
                let terminating = pod.filter(|pod| &*pod.uid == uid && pod.deletion_at.is_some());
                Executed {
                    outcome: Ok(Done::PodDeleted),
                    events: terminating.map(|pod| Event::Pod(Box::new(pod))).into_iter().collect(),
                }
            }
            Err(failure) => Executed::only(Err(error(&what, &failure))),
        }
    }

    /// Asks whether the pod would be admitted. It is owned as one that the controller makes.
    async fn try_pod(&self, pod: &Value) -> Executed {
        let what = format!("try a pod of {}", self.name);
        let mut object = pod.clone();
        if let Some(uid) = self.shared.daemonset.borrow().as_ref().map(|daemonset| daemonset.uid.clone()) {
            set_owner(&mut object, self.workload.api_kind(), &self.name, &uid);
            object["metadata"]["ownerReferences"][0]["controller"] = true.into();
        }
        let path = format!("/api/v1/namespaces/{}/pods", self.namespace);
        let path = with_query(&path, &[("dryRun", "All")]);
        let path = with_query(&path, &[("fieldManager", FIELD_MANAGER)]);
        let body = object.to_string().into_bytes();
        let call = Call { method: Method::POST, body, ..Call::get(&path, TRIAL_TIMEOUT) };
        let answer = self.http.call(call).await;
        Executed::only(answer.map(|_admitted| Done::PodAdmitted).map_err(|failure| error(&what, &failure)))
    }

    async fn create_warm_pod(&self, (name, node): (&str, &str), pod: &Value, not_after: Timestamp) -> Executed {
        let what = format!("create pre-warm pod {name} on {node}");
        if self.http.clock().now() > not_after {
            return Executed::only(Err(error(&what, &Failure::TooLate)));
        }
        let mut object = pod.clone();
        let owner = pod["metadata"]["labels"][PREWARM].as_str().unwrap_or_default();
        set_owner(&mut object, self.workload.api_kind(), &self.name, owner);
        let path = format!("/api/v1/namespaces/{}/pods", self.namespace);
        let made = self.send(Method::POST, (&path, "application/json"), &object, Some(not_after)).await;
        let made = made.and_then(|body| {
            let wire: PodWire<'_> =
                serde_json::from_slice(&body).map_err(|error| Failure::Malformed(error.to_string()))?;
            Ok(wire.made_warm_fact(&mut Interner::default()))
        });
        Executed::only(match made {
            Ok(fact) => Ok(Done::WarmPodCreated(Box::new(fact))),
            Err(failure) => Err(error(&what, &failure)),
        })
    }

    async fn delete_warm_pod(&self, pod: &str, uid: &str, node: &str, grace_secs: u32) -> Executed {
        let what = format!("delete pre-warm pod {pod} on {node}");
        let path = format!("/api/v1/namespaces/{}/pods/{pod}", self.namespace);
        let options = json!({
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "gracePeriodSeconds": grace_secs,
            "preconditions": {"uid": uid},
        });
        let answer = self.send(Method::DELETE, (&path, "application/json"), &options, None).await;
        Executed::only(answer.map(|_| Done::WarmPodDeleted).map_err(|failure| error(&what, &failure)))
    }

    async fn patch_daemonset(&self, resource_version: &str, patch: &DaemonSetPatch) -> Executed {
        let what = match patch {
            DaemonSetPatch::Adopt { .. } => format!("set OnDelete on daemonset {}", self.name),
            DaemonSetPatch::Template { .. } => format!("change the template of daemonset {}", self.name),
            DaemonSetPatch::ForgetChange => format!("remove annotation {CHANGE} of daemonset {}", self.name),
            DaemonSetPatch::Release { .. } => format!("restore the update strategy of daemonset {}", self.name),
        };
        let known = self.shared.daemonset.borrow().clone();
        let request = self.workload.patch(resource_version, patch, known.as_deref());
        let path = self.daemonset_path();
        let leave_by = match patch {
            // Setting `OnDelete` is right at any time, so it has no deadline.
            DaemonSetPatch::Adopt { .. } => None,
            DaemonSetPatch::Template { .. } | DaemonSetPatch::ForgetChange | DaemonSetPatch::Release { .. } => {
                Some(self.http.clock().now() + PATCH_LEAVES_WITHIN)
            }
        };
        let harmless = match patch.must_stay() {
            Some(part) => self.dry_run(&path, &request, leave_by, part).await,
            None => Ok(()),
        };
        let permitted = match harmless {
            // The dry run failed: nothing was written.
            Err(failure) if failure.kind().may_have_happened() => {
                return Executed::only(Err(EffectError { dry_run: true, ..unsent(&what, &failure) }));
            }
            answer => answer,
        };
        let dry_run = permitted.is_err();
        let answer = match permitted {
            Ok(()) => self.send(Method::PATCH, (&path, request.content_type), &request.body, leave_by).await,
            Err(failure) => Err(failure),
        };
        let failure = match answer.and_then(|body| self.daemonset(&body)) {
            Ok(fact) => return Executed::only(Ok(Done::DaemonSet(Box::new(fact)))),
            Err(failure) => failure,
        };
        // A JSON patch whose test fails is answered with 422, like an invalid patch: the object's version tells which it was.
        let kind = failure.kind();
        let mut error = EffectError { dry_run, ..error(&what, &failure) };
        if !matches!(kind, EffectErrorKind::Conflict | EffectErrorKind::Invalid) {
            return Executed::only(Err(error));
        }
        let Ok(fresh) = self.get(&path).await.and_then(|body| self.daemonset(&body)) else {
            return Executed::only(Err(error));
        };
        let changed = &*fresh.resource_version != resource_version;
        if changed {
            error.kind = EffectErrorKind::Conflict;
        }
        Executed { outcome: Err(error), events: vec![Event::DaemonSet(Box::new(fresh))] }
    }

    /// Sends a patch as a dry run (`dryRun=All`), and fails if admission would change a field that has to stay. The dry run
    /// passes if a webhook does not support dry runs, because the result is then unknown.
    async fn dry_run(
        &self,
        path: &str,
        request: &PatchRequest,
        leave_by: Option<Timestamp>,
        part: MustStay<'_>,
    ) -> Result<(), Failure> {
        let path = with_query(path, &[("dryRun", "All")]);
        let body = match self.send(Method::PATCH, (&path, request.content_type), &request.body, leave_by).await {
            Err(Failure::Refused { code: 400, message, .. }) if message.contains("does not support dry run") => {
                return Ok(());
            }
            answer => answer?,
        };
        stays(part, &self.workload.fact(read(&body)?).map_err(Failure::Malformed)?)
    }

    async fn create_lease(&self, write: &LeaseWrite) -> Executed {
        let what = format!("create lease {}", lease_name(&self.name));
        let made = async {
            let owner = self.owner().await?;
            let (api_version, kind) = self.workload.api_kind();
            let mut object = json!({"metadata": {"name": lease_name(&self.name), "namespace": &*self.namespace}});
            set_owner(&mut object, (api_version, kind), &self.name, &owner);
            lease_object(object, write).map_err(|error| Failure::Malformed(error.to_string()))
        };
        let object = match made.await {
            Ok(object) => object,
            Err(failure) => return Executed::only(Err(unsent(&what, &failure))),
        };
        let answer = self.send(Method::POST, (&self.leases_path(), "application/json"), &object, None).await;
        self.lease_written(&what, answer, None).await
    }

    async fn replace_lease(&self, resource_version: &str, write: &LeaseWrite) -> Executed {
        let what = format!("update lease {}", lease_name(&self.name));
        let path = format!("{}/{}", self.leases_path(), lease_name(&self.name));
        let base = match self.shared.lease_at(resource_version) {
            Some(base) => base,
            None => match self.get(&path).await.and_then(|body| read(&body)) {
                Ok(fresh) if fresh["metadata"]["resourceVersion"] == resource_version => fresh,
                Ok(fresh) => {
                    let fact = self.lease_fact(fresh);
                    let message = format!("{what}: it changed meanwhile").into();
                    let outcome = Err(EffectError { kind: EffectErrorKind::Conflict, message, dry_run: false });
                    return Executed { outcome, events: vec![Event::Lease(Box::new(fact))] };
                }
                Err(failure) => return Executed::only(Err(unsent(&what, &failure))),
            },
        };
        let mut object = match lease_object(base, write) {
            Ok(object) => object,
            Err(failure) => return Executed::only(Err(unsent(&what, &Failure::Malformed(failure.to_string())))),
        };
        // If an earlier DaemonSet of this name owned the Lease, the Lease would be deleted with that DaemonSet.
        if let Some(owner) = write.record.as_ref().and_then(|record| record.daemonset_uid.as_deref()) {
            set_owner(&mut object, self.workload.api_kind(), &self.name, owner);
        }
        let uid = object["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
        let answer = self.send(Method::PUT, (&path, "application/json"), &object, None).await;
        self.lease_written(&what, answer, Some(&LeaseVersion { uid: &uid, version: resource_version })).await
    }

    /// The outcome of a write of the Lease. `written`: the version that it was to replace.
    async fn lease_written(
        &self,
        what: &str,
        answer: Result<Bytes, Failure>,
        written: Option<&LeaseVersion<'_>>,
    ) -> Executed {
        let failure = match answer.and_then(|body| read(&body)) {
            Ok(lease) => return Executed::only(Ok(Done::Lease(Box::new(self.lease_fact(lease))))),
            Err(failure) => failure,
        };
        let error = error(what, &failure);
        if error.kind != EffectErrorKind::Conflict {
            return Executed::only(Err(error));
        }
        let path = format!("{}/{}", self.leases_path(), lease_name(&self.name));
        let events = match self.get(&path).await.and_then(|body| read(&body)) {
            Ok(fresh) => {
                self.compare(&fresh, written);
                vec![Event::Lease(Box::new(self.lease_fact(fresh)))]
            }
            Err(_) => Vec::new(),
        };
        Executed { outcome: Err(error), events }
    }

    /// Tells the session if the Lease is older than it was when it was `written`: then the state of the cluster went back to an earlier one, which a watch that
    /// goes on from a version of the time before does not show.
    fn compare(&self, lease: &Value, written: Option<&LeaseVersion<'_>>) {
        let is_it = |written: &&LeaseVersion<'_>| lease["metadata"]["uid"] == *written.uid;
        let version = lease["metadata"]["resourceVersion"].as_str().unwrap_or_default();
        if written.filter(is_it).is_some_and(|written| is_older(version, written.version)) {
            self.http.news().tell_restored();
        }
    }

    fn lease_fact(&self, lease: Value) -> LeaseFact {
        let fact = lease_fact(&lease);
        self.shared.lease_is(Some(lease));
        fact
    }

    fn daemonset(&self, body: &[u8]) -> Result<DaemonSetFact, Failure> {
        let fact = self.workload.fact(read(body)?).map_err(Failure::Malformed)?;
        self.shared.daemonset_is(&fact);
        Ok(fact)
    }

    fn warm_sets(&self) -> WarmSetWriter<'_> {
        WarmSetWriter { writer: self, path: format!("/apis/apps/v1/namespaces/{}/statefulsets", self.namespace) }
    }

    /// The uid of the DaemonSet, which owns the Lease.
    async fn owner(&self) -> Result<Str, Failure> {
        let known = self.shared.daemonset.borrow().as_ref().map(|daemonset| daemonset.uid.clone());
        match known {
            Some(uid) => Ok(uid),
            None => Ok(self.daemonset(&self.get(&self.daemonset_path()).await?)?.uid),
        }
    }

    fn daemonset_path(&self) -> String {
        format!("{}/{}", self.workload.collection(Some(&self.namespace)), self.name)
    }

    fn leases_path(&self) -> String {
        format!("/apis/coordination.k8s.io/v1/namespaces/{}/leases", self.namespace)
    }

    async fn get(&self, path: &str) -> Result<Bytes, Failure> {
        self.http.call(Call::get(path, WRITE_TIMEOUT)).await
    }

    async fn send(
        &self,
        method: Method,
        (path, content_type): (&str, &'static str),
        body: &Value,
        leave_by: Option<Timestamp>,
    ) -> Result<Bytes, Failure> {
        let managed;
        let path = if method == Method::DELETE {
            path
        } else {
            managed = with_query(path, &[("fieldManager", FIELD_MANAGER)]);
            &managed
        };
        let body = body.to_string().into_bytes();
        self.http.call(Call { method, content_type, body, leave_by, ..Call::get(path, WRITE_TIMEOUT) }).await
    }
}

/// How long a trial waits for its answer. It changes nothing, so that the lease does not limit it; an API server waits 10 s for a webhook by default, and then
/// says so.
const TRIAL_TIMEOUT: Duration = Duration::from_secs(15);

/// The differing images, or a description of another difference.
fn differences(from: &Template, to: &Template) -> String {
    let image = |of: &Template, name: &str| {
        of.containers().iter().find(|container| &*container.name == name).map(|container| container.image.clone())
    };
    let changed = to.containers().iter().filter_map(|container| {
        let had = image(from, &container.name)?;
        (had != container.image).then(|| format!("{}: {had} → {}", container.name, container.image))
    });
    let changed: Vec<String> = changed.collect();
    if changed.is_empty() { "not its images".to_owned() } else { changed.join(", ") }
}

fn read(body: &[u8]) -> Result<Value, Failure> {
    serde_json::from_slice(body).map_err(|error| Failure::Malformed(format!("the answer cannot be read: {error}")))
}

pub(super) fn error(what: &str, failure: &Failure) -> EffectError {
    let message = match failure.code() {
        Some(401) => format!("{what}: 401 {failure}: the API server does not accept the credentials"),
        _ => format!("{what}: {failure}"),
    };
    EffectError { kind: failure.kind(), message: message.into(), dry_run: false }
}

/// Fails if the stored object would differ in a field that has to stay.
fn stays(part: MustStay<'_>, stored: &DaemonSetFact) -> Result<(), Failure> {
    match part {
        _ if part.holds_in(stored) => Ok(()),
        MustStay::Template(template) => Err(Failure::MutatedByAdmission(differences(template, &stored.template))),
        MustStay::OnDelete => Err(Failure::HandedBackByAdmission),
    }
}

/// As [`error`], for a failure before the request was sent: nothing can have been done.
fn unsent(what: &str, failure: &Failure) -> EffectError {
    let mut error = error(what, failure);
    if error.kind.may_have_happened() {
        error.kind = EffectErrorKind::NotSent;
    }
    error
}
