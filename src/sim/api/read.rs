//! Get and list.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::response::Response;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use http::StatusCode;
use serde::{Deserialize, Serialize};

use crate::engine::model::Str;
use crate::sim::world::error::{ApiError, Reason};
use crate::sim::world::kind::Kind;
use crate::sim::world::object::Object;

use super::request::{ApiRequest, ObjectPath};
use super::select::Selection;
use super::shared::{Shared, WorldAccess};
use super::status::{Answer, ApiRefusal};
use super::view::{self, Format, ListMeta, ObjectView};

/// Answers a get.
pub(super) fn get(shared: &Shared, path: &ObjectPath, request: &ApiRequest) -> Answer {
    let view = shared.with_world(|access| {
        check_version(&access, request.query.number("resourceVersion")?)?;
        let object = access.store().find(path.kind, &path.namespace, &path.name)?;
        Ok::<_, ApiRefusal>(access.view(object))
    })?;
    Ok(view::one(StatusCode::OK, &view, Format::of(&request.accept, &request.query), shared.now()))
}

/// Refuses a version of the future: only this store makes versions, so waiting for one would be of no use.
fn check_version(access: &WorldAccess<'_>, asked: Option<u64>) -> Answer<()> {
    let current = access.store().revision();
    match asked {
        Some(asked) if asked > current => Err(ApiRefusal::too_large_version(asked, current)),
        _ => Ok(()),
    }
}

/// The continue token of a list: the version whose state the list shows, and the key after which the next page begins.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
struct Token {
    rv: u64,
    namespace: String,
    name: String,
}

impl Token {
    fn read(text: &str) -> Answer<Self> {
        let refuse =
            |error: &dyn std::fmt::Display| ApiRefusal::bad_request(format!("continue key is not valid: {error}"));
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(text).map_err(|error| refuse(&error))?;
        serde_json::from_slice(&bytes).map_err(|error| refuse(&error))
    }

    fn write(&self) -> String {
        BASE64_URL_SAFE_NO_PAD.encode(serde_json::json!(self).to_string())
    }
}

/// Answers a list.
pub(super) fn list(shared: &Shared, path: &ObjectPath, request: &ApiRequest) -> Answer {
    let query = &request.query;
    let selection = Selection::of(path.kind, &path.namespace, &path.name, query)?;
    let version = query.number("resourceVersion")?;
    let token = query.get("continue").map(Token::read).transpose()?;
    check_match(query.get("resourceVersionMatch"), version, token.is_some())?;
    if token.is_some() && version.is_some_and(|version| version != 0) {
        return Err(ApiRefusal::bad_request("specifying resource version is not allowed when using continue"));
    }
    // A list that may be of any version (0) comes in one piece, as from the API server's cache.
    let limit = if version == Some(0) { None } else { query.number("limit")?.filter(|limit| *limit > 0) };
    let limit = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let exact = version.filter(|_| query.get("resourceVersionMatch") == Some("Exact"));
    let (views, meta) = shared.with_world(|access| {
        check_version(&access, version)?;
        page(&access, path.kind, &selection, limit, token.as_ref(), exact)
    })?;
    Ok(view::list(path.kind, &meta, views, Format::of(&request.accept, query), shared.now()))
}

fn check_match(asked: Option<&str>, version: Option<u64>, continues: bool) -> Answer<()> {
    let refuse = |why: &str| {
        let message = format!("ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: {why}");
        Err(ApiRefusal::unprocessable(message))
    };
    match (asked, version) {
        (None, _) => Ok(()),
        (Some(_), _) if continues => refuse("Forbidden: resourceVersionMatch is forbidden when continue is provided"),
        (Some(_), None) => refuse("Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided"),
        (Some("Exact"), Some(0)) => {
            refuse("Forbidden: resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"")
        }
        (Some("Exact" | "NotOlderThan"), _) => Ok(()),
        (Some(other), _) => {
            refuse(&format!("Unsupported value: \"{other}\": supported values: \"Exact\", \"NotOlderThan\""))
        }
    }
}

type StoreKey<'k> = (&'k Str, &'k Str);

/// One page of a list. All pages of a list show the state at the version of the first page.
fn page(
    access: &WorldAccess<'_>,
    kind: Kind,
    selection: &Selection,
    limit: usize,
    token: Option<&Token>,
    exact: Option<u64>,
) -> Answer<(Vec<ObjectView>, ListMeta)> {
    let store = access.store();
    let version = token.map(|token| token.rv).or(exact).unwrap_or(store.revision());
    // The objects that have changed since that version, as they were then; `None`: the object did not exist.
    let mut then: BTreeMap<StoreKey<'_>, Option<&Arc<Object>>> = BTreeMap::new();
    if version != store.revision() {
        let changes = store.changes_since(kind, version).map_err(|error| match error.reason {
            Reason::Expired if token.is_some() => ApiError::new(
                Reason::Expired,
                "The provided continue parameter is too old to display a consistent list result. You must start a new \
                 list without the continue parameter.",
            ),
            _ => error,
        })?;
        for change in changes {
            let meta = &change.object.meta;
            then.entry((&meta.namespace, &meta.name)).or_insert(change.before.as_ref());
        }
    }
    let now: Box<dyn Iterator<Item = &Arc<Object>>> = match selection.namespace() {
        "" => Box::new(store.list(kind)),
        namespace => Box::new(store.list_in(kind, namespace)),
    };
    let unchanged = now.filter(|object| !then.contains_key(&(&object.meta.namespace, &object.meta.name)));
    let mut objects: Vec<&Arc<Object>> = unchanged.chain(then.values().copied().flatten()).collect();
    let key = |object: &Arc<Object>| (object.meta.namespace.clone(), object.meta.name.clone());
    if !then.is_empty() {
        objects.sort_by_key(|object| key(object));
    }
    if let Some(token) = token {
        let after = |object: &Arc<Object>| {
            (&*object.meta.namespace, &*object.meta.name) <= (token.namespace.as_str(), token.name.as_str())
        };
        objects.drain(..objects.partition_point(|object| after(object)));
    }
    let mut views = Vec::new();
    let mut left = objects.into_iter().filter(|object| selection.matches(object)).peekable();
    while views.len() < limit {
        let Some(object) = left.next() else { break };
        views.push(access.view(object));
    }
    let mut meta = ListMeta { version, ..ListMeta::default() };
    if left.peek().is_some()
        && let Some(last) = views.last()
    {
        let (namespace, name) = key(&last.object);
        meta.next = Some(Token { rv: version, namespace: namespace.to_string(), name: name.to_string() }.write());
        meta.remaining = (!selection.is_narrowed()).then(|| left.count());
    }
    Ok((views, meta))
}

/// Answers a read of a collection with a watch if the query asks for one, otherwise with a list.
pub(super) fn collection(shared: &Arc<Shared>, path: &ObjectPath, request: &ApiRequest) -> Answer<Response> {
    if request.query.is_set("watch") { super::watch::watch(shared, path, request) } else { list(shared, path, request) }
}
