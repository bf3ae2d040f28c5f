//! Writes: create, update, patch, delete, evict, bind.
//!
//! ```text
//!   body ─ JSON ─ defaults ─ parse ─▶ store.create / update ─▶ managed fields
//!   patch ─ (object as JSON) ─ patched ┘
//! ```
//!
//! An object is read, patched and stored under one lock of the world, so that it cannot change in between.

use std::sync::Arc;

use axum::response::Response;
use http::StatusCode;
use serde_json::{Value, json};

use crate::engine::model::facts::ConditionStatus;
use crate::sim::world::error::{ApiError, FieldError};
use crate::sim::world::kind::{Kind, ResourceScope};
use crate::sim::world::object::{Body, Condition, Object, conditions};
use crate::sim::world::store::{DeleteOptions, Deleted, Propagation};
use crate::sim::world::write::{Mode, WriteOptions, WrittenPart};

use super::codec::{parse, to_value};
use super::defaults;
use super::managed::{Force, Managed, Write};
use super::managed_fields::without_kubelet;
use super::patch::{self, PatchKind};
use super::request::{ApiRequest, ObjectPath};
use super::select::Selection;
use super::shared::{Shared, WorldAccess};
use super::status::{Answer, ApiRefusal, json_response, success};
use super::view::{self, Format, ListMeta, ObjectView};

/// Answers a create.
pub(super) fn create(shared: &Shared, path: &ObjectPath, request: &ApiRequest) -> Answer {
    let mode = mode(request)?;
    let mut value = request.json()?;
    place(path, &mut value)?;
    defaults::on_create(path.kind, &mut value);
    let object = parse(path.kind, value, None)?;
    let view = shared.with_world(|mut access| commit_new(&mut access, object, mode, request))?;
    answer_with(StatusCode::CREATED, shared, &view, request)
}

fn commit_new(
    access: &mut WorldAccess<'_>,
    mut object: Object,
    mode: Mode,
    request: &ApiRequest,
) -> Answer<ObjectView> {
    let by = WriteOptions { manager: request.manager(), mode };
    access.time.created(&mut object);
    let created = access.world.create(object, by)?;
    let mut managed = Managed::default();
    managed.note_update(&Value::Null, &to_value(&created, None), write_by(access, &created, "", request));
    Ok(settle(access, &created, managed, mode))
}

/// The view of a written object. Its managed fields are kept unless the write was a dry run or the object is an event.
fn settle(access: &mut WorldAccess<'_>, object: &Arc<Object>, managed: Managed, mode: Mode) -> ObjectView {
    // The managed fields of events are not kept: there are thousands of events, and no client reads theirs.
    if mode == Mode::Commit && object.kind() != Kind::Event {
        access.managed_fields.note(access.world.store(), object, managed);
        return access.view(object);
    }
    let managed = managed.to_json().to_string().into_bytes();
    ObjectView { object: access.time.object(object), managed: Some(managed.into()) }
}

fn write_by<'r>(
    access: &WorldAccess<'_>,
    object: &Object,
    subresource: &'static str,
    request: &'r ApiRequest,
) -> Write<'r> {
    let api_version = object.kind().api_version();
    Write { manager: request.manager(), api_version, subresource, now: access.time.of(access.world.now()) }
}

/// Answers an update of an object or of its status.
pub(super) fn update(shared: &Shared, path: &ObjectPath, request: &ApiRequest) -> Answer {
    let mode = mode(request)?;
    let mut value = request.json()?;
    place(path, &mut value)?;
    let view = shared.with_world(|mut access| {
        let before = Arc::clone(access.store().find(path.kind, &path.namespace, &path.name)?);
        replace(&mut access, path, &before, value, mode, request)
    })?;
    answer_with(StatusCode::OK, shared, &view, request)
}

fn replace(
    access: &mut WorldAccess<'_>,
    path: &ObjectPath,
    before: &Arc<Object>,
    mut value: Value,
    mode: Mode,
    request: &ApiRequest,
) -> Answer<ObjectView> {
    let known = access.managed_fields.managed(before);
    let asked = value["metadata"].as_object_mut().and_then(|metadata| metadata.remove("managedFields"));
    // A client may replace the managed fields, as kubectl does when an object moves from client-side to server-side apply.
    let asked = asked.filter(|asked| !asked.is_null()).map(|asked| without_kubelet(asked, before));
    let rewritten = asked.filter(|asked| *asked != known.to_json());
    let mut noted = match &rewritten {
        Some(asked) => Managed::from_json(asked, path.kind.api_version()),
        None => known,
    };
    let shown = to_value(before, None);
    defaults::on_update(path.kind, &shown, &mut value);
    let object = parse(path.kind, value, Some(before))?;
    let (part, subresource) = part(path);
    let by = WriteOptions { manager: request.manager(), mode };
    let after = access.world.update(object, part, by)?;
    if Arc::ptr_eq(before, &after) && rewritten.is_none() {
        return Ok(access.view(&after));
    }
    let by = write_by(access, &after, subresource, request);
    noted.note_update(&shown, &to_value(&after, None), by);
    Ok(settle(access, &after, noted, mode))
}

fn part(path: &ObjectPath) -> (WrittenPart, &'static str) {
    if path.subresource == "status" { (WrittenPart::Status, "status") } else { (WrittenPart::Main, "") }
}

/// Answers a patch, of the object or of its status.
pub(super) fn patch(shared: &Shared, path: &ObjectPath, request: &ApiRequest) -> Answer {
    let mode = mode(request)?;
    let kind = PatchKind::of(&request.content_type)?;
    let patch = patch::read(kind, &request.body)?;
    if kind == PatchKind::Apply {
        return apply(shared, path, request, patch, mode);
    }
    let view = shared.with_world(|mut access| {
        let before = Arc::clone(access.store().find(path.kind, &path.namespace, &path.name)?);
        // The patch is applied to the stored object, whose times are those of the world, not to the served one.
        let managed = access.managed_fields.json_of(&before, &before);
        let value = patch::patched(kind, to_value(&before, managed.as_deref()), patch)?;
        check_place(path, &value)?;
        replace(&mut access, path, &before, value, mode, request).map_err(ApiRefusal::of_patch)
    })?;
    answer_with(StatusCode::OK, shared, &view, request)
}

/// Answers a server-side apply.
fn apply(shared: &Shared, path: &ObjectPath, request: &ApiRequest, mut config: Value, mode: Mode) -> Answer {
    if request.query.get("fieldManager").is_none() {
        let message =
            "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required for apply patch";
        return Err(ApiRefusal::unprocessable(message));
    }
    if !config["metadata"]["managedFields"].is_null() {
        return Err(ApiRefusal::bad_request("metadata.managedFields must be nil"));
    }
    place(path, &mut config)?;
    let force = if request.query.is_set("force") { Force::Yes } else { Force::No };
    let (code, view) = shared.with_world(|mut access| {
        let before = access.store().get(path.kind, &path.namespace, &path.name).map(Arc::clone);
        let Some(before) = before else {
            if !path.subresource.is_empty() {
                return Err(ApiError::not_found(path.kind, &path.name).into());
            }
            return apply_new(&mut access, path, &config, request, mode).map(|view| (StatusCode::CREATED, view));
        };
        let mut managed = access.managed_fields.managed(&before);
        let (part, subresource) = part(path);
        let by = write_by(&access, &before, subresource, request);
        let shown = to_value(&before, None);
        let mut merged = managed.apply(&shown, &config, force, by)?;
        if let Some(version) = config["metadata"].get("resourceVersion") {
            merged["metadata"]["resourceVersion"] = version.clone();
        }
        defaults::on_update(path.kind, &shown, &mut merged);
        let object = parse(path.kind, merged, Some(&before))?;
        let by = WriteOptions { manager: request.manager(), mode };
        let after = access.world.update(object, part, by)?;
        Ok((StatusCode::OK, settle(&mut access, &after, managed, mode)))
    })?;
    answer_with(code, shared, &view, request)
}

fn apply_new(
    access: &mut WorldAccess<'_>,
    path: &ObjectPath,
    config: &Value,
    request: &ApiRequest,
    mode: Mode,
) -> Answer<ObjectView> {
    let mut value = config.clone();
    defaults::on_create(path.kind, &mut value);
    let object = parse(path.kind, value, None)?;
    let by = WriteOptions { manager: request.manager(), mode };
    let created = access.world.create(object, by)?;
    let mut managed = Managed::default();
    let by = write_by(access, &created, "", request);
    managed.apply(&json!({}), config, Force::Yes, by)?;
    Ok(settle(access, &created, managed, mode))
}

/// Answers a delete.
pub(super) fn delete(shared: &Shared, path: &ObjectPath, request: &ApiRequest) -> Answer {
    let (options, mode) = delete_options(&request.json()?, request)?;
    let (view, gone) = shared.with_world(|mut access| {
        let deleted = delete_one(&mut access, path.kind, &path.namespace, &path.name, &options, mode, request)?;
        let gone = matches!(deleted, Deleted::Gone(_));
        Ok::<_, ApiRefusal>((access.view(deleted.object()), gone))
    })?;
    // The answer to the delete of a pod is the pod; the answer for any other kind is only a `Status`.
    if gone && path.kind != Kind::Pod {
        let meta = &view.object.meta;
        return Ok(json_response(StatusCode::OK, &success(path.kind, &meta.name, Some(&meta.uid))));
    }
    answer_with(StatusCode::OK, shared, &view, request)
}

fn delete_one(
    access: &mut WorldAccess<'_>,
    kind: Kind,
    namespace: &str,
    name: &str,
    options: &DeleteOptions,
    mode: Mode,
    request: &ApiRequest,
) -> Answer<Deleted> {
    let by = WriteOptions { manager: request.manager(), mode };
    Ok(access.world.delete((kind, namespace, name), options, by)?)
}

/// Answers the delete of all objects that are selected.
pub(super) fn delete_collection(shared: &Shared, path: &ObjectPath, request: &ApiRequest) -> Answer {
    let (options, mode) = delete_options(&request.json()?, request)?;
    let selection = Selection::of(path.kind, &path.namespace, "", &request.query)?;
    if path.kind.words().scope == ResourceScope::Namespaced && path.namespace.is_empty() {
        return Err(ApiRefusal::method_not_allowed());
    }
    let (views, version) = shared.with_world(|mut access| {
        let selected = access.store().list(path.kind).filter(|object| selection.matches(object));
        let names: Vec<_> = selected.map(|object| object.meta.name.clone()).collect();
        let mut views = Vec::with_capacity(names.len());
        for name in names {
            let deleted = delete_one(&mut access, path.kind, &path.namespace, &name, &options, mode, request)?;
            views.push(access.view(deleted.object()));
        }
        Ok::<_, ApiRefusal>((views, access.store().revision()))
    })?;
    let meta = ListMeta { version, ..ListMeta::default() };
    Ok(view::list(path.kind, &meta, views, Format::of(&request.accept, &request.query), shared.now()))
}

/// Answers an eviction. There are no disruption budgets here, so it is a delete.
pub(super) fn evict(shared: &Shared, path: &ObjectPath, request: &ApiRequest) -> Answer {
    let body = request.json()?;
    if body["metadata"]["name"].as_str().is_some_and(|name| name != path.name) {
        return Err(ApiRefusal::bad_request("name in URL does not match name in Eviction object"));
    }
    let (options, mode) = delete_options(&body["deleteOptions"], request)?;
    shared.with_world(|mut access| {
        delete_one(&mut access, path.kind, &path.namespace, &path.name, &options, mode, request)
    })?;
    let done = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
    Ok(json_response(StatusCode::CREATED, &done))
}

/// Answers a binding, with which a scheduler other than the world's own assigns a pod to a node.
pub(super) fn bind(shared: &Shared, path: &ObjectPath, request: &ApiRequest) -> Answer {
    let mode = mode(request)?;
    let body = request.json()?;
    let Some(node) = body["target"]["name"].as_str().filter(|node| !node.is_empty()) else {
        let cause = FieldError::required("target.name", "Required value");
        return Err(ApiError::invalid(Kind::Pod, &path.name, vec![cause]).into());
    };
    shared.with_world(|access| {
        let now = access.world.now();
        let mut object = Object::clone(access.store().find(Kind::Pod, &path.namespace, &path.name)?);
        if let Body::Pod(pod) = &mut object.body {
            pod.node = Some(node.into());
            let scheduled = Condition {
                kind: conditions::POD_SCHEDULED.into(),
                status: ConditionStatus::True,
                since: now,
                heartbeat_at: None,
                reason: None,
                message: None,
            };
            pod.status.conditions = scheduled.replaced_in(&pod.status.conditions);
        }
        access.world.update(object, WrittenPart::Binding, WriteOptions { manager: request.manager(), mode })
    })?;
    let done = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
    Ok(json_response(StatusCode::CREATED, &done))
}

/// Answers the finalisation of a namespace with the unchanged namespace, because nothing here waits for it.
pub(super) fn finalize(shared: &Shared, path: &ObjectPath, request: &ApiRequest) -> Answer {
    let view = shared.with_world(|access| {
        let object = access.store().find(path.kind, &path.namespace, &path.name)?;
        Ok::<_, ApiError>(access.view(object))
    })?;
    answer_with(StatusCode::OK, shared, &view, request)
}

fn answer_with(code: StatusCode, shared: &Shared, view: &ObjectView, request: &ApiRequest) -> Answer<Response> {
    Ok(view::one(code, view, Format::of(&request.accept, &request.query), shared.now()))
}

/// Whether the request asks for a dry run.
fn mode(request: &ApiRequest) -> Answer<Mode> {
    dry_run(request.query.all("dryRun"))
}

fn dry_run<'a>(values: impl Iterator<Item = &'a str>) -> Answer<Mode> {
    let mut mode = Mode::Commit;
    for value in values {
        match value {
            "All" => mode = Mode::DryRun,
            "" => {}
            other => {
                let message = format!("dryRun: Unsupported value: \"{other}\": supported values: \"All\"");
                return Err(ApiRefusal::unprocessable(message));
            }
        }
    }
    Ok(mode)
}

/// Fills in the name and namespace of the path; refuses an object that contradicts the path.
fn place(path: &ObjectPath, value: &mut Value) -> Answer<()> {
    if !value.is_object() {
        return Err(ApiRefusal::bad_request("the object provided is unrecognized: an object is needed in the body"));
    }
    if !value["metadata"].is_object() {
        value["metadata"] = json!({});
    }
    let metadata = &mut value["metadata"];
    if !path.name.is_empty() && metadata["name"].as_str().unwrap_or_default().is_empty() {
        metadata["name"] = path.name.as_str().into();
    }
    if path.kind.words().scope == ResourceScope::Namespaced
        && metadata["namespace"].as_str().unwrap_or_default().is_empty()
    {
        metadata["namespace"] = path.namespace.as_str().into();
    }
    check_place(path, value)
}

fn check_place(path: &ObjectPath, value: &Value) -> Answer<()> {
    let metadata = &value["metadata"];
    let name = metadata["name"].as_str().unwrap_or_default();
    if !path.name.is_empty() && name != path.name {
        return Err(ApiRefusal::bad_request(format!(
            "the name of the object ({name}) does not match the name on the URL ({})",
            path.name
        )));
    }
    let namespace = metadata["namespace"].as_str().unwrap_or_default();
    if namespace != path.namespace {
        return Err(ApiRefusal::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    Ok(())
}

/// Reads `DeleteOptions` from the body and the query; the query takes precedence.
fn delete_options(body: &Value, request: &ApiRequest) -> Answer<(DeleteOptions, Mode)> {
    let query = &request.query;
    let grace = match query.get("gracePeriodSeconds") {
        Some(_) => query.number("gracePeriodSeconds")?,
        None => body["gracePeriodSeconds"].as_u64(),
    };
    let policy = query.get("propagationPolicy").or(body["propagationPolicy"].as_str()).unwrap_or_default();
    let orphan = query.is_set("orphanDependents") || body["orphanDependents"].as_bool() == Some(true);
    let propagation = match policy {
        "" if orphan => Propagation::Orphan,
        "" | "Background" => Propagation::Background,
        "Foreground" => Propagation::Foreground,
        "Orphan" => Propagation::Orphan,
        other => {
            let message = format!(
                "propagationPolicy: Unsupported value: \"{other}\": supported values: \"Background\", \"Foreground\", \"Orphan\""
            );
            return Err(ApiRefusal::unprocessable(message));
        }
    };
    let preconditions = &body["preconditions"];
    let version = preconditions["resourceVersion"].as_str().filter(|version| !version.is_empty());
    let version = version.map(|version| {
        version.parse().map_err(|error| ApiRefusal::bad_request(format!("resourceVersion `{version}`: {error}")))
    });
    let options = DeleteOptions {
        grace_secs: grace.map(|secs| u32::try_from(secs).unwrap_or(u32::MAX)),
        uid: preconditions["uid"].as_str().filter(|uid| !uid.is_empty()).map(Into::into),
        resource_version: version.transpose()?,
        propagation,
    };
    let listed = body["dryRun"].as_array().into_iter().flatten().filter_map(Value::as_str);
    Ok((options, dry_run(query.all("dryRun").chain(listed))?))
}
