//! Strategic merge patches: JSON merge patches that merge keyed lists by key, with the directives `$patch`, `$retainKeys`,
//! `$setElementOrder/…` and `$deleteFromPrimitiveList/…`.
//!
//! The rules are those of `k8s.io/apimachinery/pkg/util/strategicpatch`, its oddities included. A directive `replace` ends the merge for
//! its object; `null` deletes; elements of keyed lists that the patch does not name stay. No library has these rules.

use std::cmp::Ordering;

use serde_json::{Map, Value};

use super::schema::{ListKind, Schema};

const DIRECTIVE: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const DELETE_FROM: &str = "$deleteFromPrimitiveList/";
const ELEMENT_ORDER: &str = "$setElementOrder/";

type JsonMap = Map<String, Value>;

/// Why a patch cannot be applied.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(super) enum PatchError {
    /// A directive has the wrong form.
    #[error("{0}")]
    Format(String),
    /// The patch contradicts itself or its object. The API server answers 500 to this.
    #[error("{0}")]
    Content(String),
}

/// Applies `patch` to `original`.
///
/// # Errors
/// Says why the patch cannot be applied.
pub(super) fn apply(original: JsonMap, patch: JsonMap, schema: &'static Schema) -> Result<JsonMap, PatchError> {
    merge_object(original, patch, schema)
}

fn merge_object(mut original: JsonMap, mut patch: JsonMap, schema: &'static Schema) -> Result<JsonMap, PatchError> {
    if let Some(directive) = patch.remove(DIRECTIVE) {
        return match directive.as_str() {
            Some("replace") => Ok(patch),
            Some("delete") => Ok(JsonMap::new()),
            Some("merge") => merge_object(original, patch, schema),
            _ => Err(PatchError::Content(format!("unknown patch type found: {directive}"))),
        };
    }
    if let Some(keep) = patch.remove(RETAIN_KEYS) {
        retain_keys(&mut original, &patch, &keep)?;
    }
    let orders = take_prefixed(&mut patch, ELEMENT_ORDER)?;
    let deletions = take_prefixed(&mut patch, DELETE_FROM)?;
    for (name, gone) in deletions {
        if let Some(Value::Array(items)) = original.get_mut(&name) {
            items.retain(|item| !gone.contains(item));
        }
    }
    for (name, order) in orders {
        let Some((server, merged)) = merge_for_order(&mut original, &mut patch, &name, &order, schema)? else {
            continue;
        };
        original.insert(name.clone(), Value::Array(in_order(merged, &order, &server, schema.list(&name))));
    }
    for (name, value) in patch {
        if value.is_null() {
            original.remove(&name);
            continue;
        }
        let merged = match (original.remove(&name), value) {
            (Some(Value::Object(old)), Value::Object(new)) => {
                Value::Object(merge_object(old, new, schema.inner(&name))?)
            }
            (Some(Value::Array(old)), Value::Array(new)) => Value::Array(merge_list(old, new, &name, schema)?),
            (_, new) => without_directives(new),
        };
        original.insert(name, merged);
    }
    Ok(original)
}

/// A list before and after a patch.
type BeforeAndAfter = (Vec<Value>, Vec<Value>);

/// Takes the list that `order` is for out of `original` and `patch` and merges it. Returns the original list and the merged one.
fn merge_for_order(
    original: &mut JsonMap,
    patch: &mut JsonMap,
    name: &str,
    order: &[Value],
    schema: &'static Schema,
) -> Result<Option<BeforeAndAfter>, PatchError> {
    if schema.list(name) == ListKind::Atomic {
        return Ok(None);
    }
    let items = match patch.remove(name) {
        None => None,
        Some(Value::Array(items)) => Some(items),
        // The patch deletes the list or sets a value that is no list: there is nothing to order.
        Some(other) => {
            patch.insert(name.to_owned(), other);
            return Ok(None);
        }
    };
    check_order(items.as_deref().unwrap_or_default(), order, schema.list(name), name)?;
    let server = match original.remove(name) {
        Some(Value::Array(server)) => server,
        Some(other) => {
            original.insert(name.to_owned(), other);
            return Ok(None);
        }
        None => Vec::new(),
    };
    if server.is_empty() && items.is_none() {
        return Ok(None);
    }
    let merged = merge_list(server.clone(), items.unwrap_or_default(), name, schema)?;
    Ok(Some((server, merged)))
}

/// Merges a list. Items that the patch names come in the patch's order; items that only the server has stay where they were.
fn merge_list(
    mut original: Vec<Value>,
    mut patch: Vec<Value>,
    name: &str,
    schema: &'static Schema,
) -> Result<Vec<Value>, PatchError> {
    let kind = schema.list(name);
    let merged = match kind {
        ListKind::Atomic => return Ok(patch.into_iter().map(without_directives).collect()),
        ListKind::Set => {
            let new: Vec<Value> = patch.iter().filter(|item| !original.contains(item)).cloned().collect();
            original.iter().cloned().chain(new).collect()
        }
        ListKind::Map { merge_key, .. } => {
            match without_special(&mut original, patch, merge_key)? {
                Special::Replaced(items) => return Ok(items),
                Special::Merged(items) => patch = items,
            }
            merge_keyed(original.clone(), patch.clone(), merge_key, schema.inner(name))?
        }
    };
    Ok(in_order(merged, &patch, &original, kind))
}

/// The work that is left once the directives among a list's items are carried out.
enum Special {
    /// These items replace the list.
    Replaced(Vec<Value>),
    /// These items are to be merged into the list.
    Merged(Vec<Value>),
}

/// Carries out the directives among the items of a patch.
fn without_special(original: &mut Vec<Value>, patch: Vec<Value>, merge_key: &str) -> Result<Special, PatchError> {
    let mut plain = Vec::with_capacity(patch.len());
    let mut replace = false;
    for item in patch {
        let Value::Object(mut item) = item else {
            let got = format!("expected an object with `{merge_key}` in a list of objects, got {item}");
            return Err(PatchError::Content(got));
        };
        let directive = item.remove(DIRECTIVE);
        match directive.as_ref().map(|directive| directive.as_str().unwrap_or_default()) {
            None | Some("merge") => plain.push(Value::Object(item)),
            Some("replace") => {
                replace = true;
                if !item.is_empty() {
                    plain.push(Value::Object(item));
                }
            }
            Some("delete") => {
                let Some(key) = item.get(merge_key) else { return Err(missing_key(&item, merge_key)) };
                original.retain(|candidate| candidate.get(merge_key) != Some(key));
            }
            Some(other) => return Err(PatchError::Content(format!("unknown patch type found: {other}"))),
        }
    }
    Ok(if replace {
        Special::Replaced(plain.into_iter().map(without_directives).collect())
    } else {
        Special::Merged(plain)
    })
}

fn merge_keyed(
    mut original: Vec<Value>,
    patch: Vec<Value>,
    merge_key: &str,
    schema: &'static Schema,
) -> Result<Vec<Value>, PatchError> {
    for item in patch {
        let Value::Object(item) = item else { continue };
        let Some(key) = item.get(merge_key) else { return Err(missing_key(&item, merge_key)) };
        match original.iter_mut().find(|candidate| candidate.get(merge_key) == Some(key)) {
            Some(Value::Object(found)) => *found = merge_object(std::mem::take(found), item, schema)?,
            _ => original.push(without_directives(Value::Object(item))),
        }
    }
    Ok(original)
}

fn missing_key(item: &JsonMap, merge_key: &str) -> PatchError {
    PatchError::Content(format!(
        "map: {} does not contain declared merge key: {merge_key}",
        Value::Object(item.clone())
    ))
}

/// Removes the fields of `original` that `keep` (`$retainKeys`) does not list.
fn retain_keys(original: &mut JsonMap, patch: &JsonMap, keep: &Value) -> Result<(), PatchError> {
    let Some(keep) = keep.as_array() else {
        return Err(PatchError::Format(format!("{RETAIN_KEYS} must be a list of field names")));
    };
    let kept = |name: &str| keep.iter().any(|key| key.as_str() == Some(name));
    if let Some((name, _)) = patch.iter().find(|(name, value)| !value.is_null() && !kept(name)) {
        return Err(PatchError::Format(format!("{RETAIN_KEYS} does not list `{name}`, which the patch sets")));
    }
    original.retain(|name, _| kept(name));
    Ok(())
}

/// Takes the directives `prefix/<field>` out of a patch.
fn take_prefixed(patch: &mut JsonMap, prefix: &str) -> Result<Vec<(String, Vec<Value>)>, PatchError> {
    let names: Vec<String> = patch.keys().filter(|key| key.starts_with(prefix)).cloned().collect();
    let mut found = Vec::with_capacity(names.len());
    for name in names {
        match patch.remove(&name) {
            Some(Value::Array(items)) => found.push((name[prefix.len()..].to_owned(), items)),
            _ => return Err(PatchError::Format(format!("`{name}` must be a list"))),
        }
    }
    Ok(found)
}

/// The value that identifies an element of a list.
fn identity(item: &Value, kind: ListKind) -> &Value {
    match kind {
        ListKind::Map { merge_key, .. } => item.get(merge_key).unwrap_or(item),
        ListKind::Atomic | ListKind::Set => item,
    }
}

fn position(items: &[Value], item: &Value, kind: ListKind) -> Option<usize> {
    items.iter().position(|candidate| identity(candidate, kind) == identity(item, kind))
}

/// Refuses a patch whose items do not come in the order that the patch asks for.
fn check_order(items: &[Value], order: &[Value], kind: ListKind, name: &str) -> Result<(), PatchError> {
    let mut last = 0;
    for item in items.iter().filter(|item| item.get(DIRECTIVE).is_none()) {
        match position(&order[last..], item, kind) {
            Some(found) => last += found,
            None => {
                return Err(PatchError::Content(format!(
                    "The order in patch list:\n{}\n doesn't match {ELEMENT_ORDER}{name} list:\n{}\n",
                    Value::Array(items.to_vec()),
                    Value::Array(order.to_vec())
                )));
            }
        }
    }
    Ok(())
}

/// Sorts `merged`: items named in `order` come in that order; items that only the server has stay where the server had them.
fn in_order(merged: Vec<Value>, order: &[Value], server: &[Value], kind: ListKind) -> Vec<Value> {
    let (mut ordered, server_only): (Vec<_>, Vec<_>) =
        merged.into_iter().partition(|item| position(order, item, kind).is_some());
    ordered.sort_by_key(|item| position(order, item, kind));
    let mut ordered = ordered.into_iter().peekable();
    let mut server_only = server_only.into_iter().peekable();
    let mut sorted = Vec::new();
    while let (Some(theirs), Some(ours)) = (server_only.peek(), ordered.peek()) {
        let before = match (position(server, theirs, kind), position(server, ours, kind)) {
            (Some(theirs), Some(ours)) => theirs.cmp(&ours),
            _ => Ordering::Greater,
        };
        sorted.extend(if before == Ordering::Less { server_only.next() } else { ordered.next() });
    }
    sorted.extend(server_only);
    sorted.extend(ordered);
    sorted
}

/// A new value of a patch without its directives and nulls.
fn without_directives(value: Value) -> Value {
    match value {
        Value::Object(object) => Value::Object(
            object
                .into_iter()
                .filter(|(name, value)| !value.is_null() && !name.starts_with('$'))
                .map(|(name, value)| (name, without_directives(value)))
                .collect(),
        ),
        Value::Array(items) => Value::Array(
            items
                .into_iter()
                .filter(|item| match (item.get(DIRECTIVE).and_then(Value::as_str), item.as_object()) {
                    (Some("delete"), _) => false,
                    (Some(_), Some(object)) => object.len() > 1,
                    _ => true,
                })
                .map(without_directives)
                .collect(),
        ),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::super::schema::OBJECT;
    use super::*;
    use serde_json::json;

    fn patched(original: Value, patch: Value) -> Result<Value, PatchError> {
        let (Value::Object(original), Value::Object(patch)) = (original, patch) else { panic!("objects only") };
        apply(original, patch, &OBJECT).map(Value::Object)
    }

    /// `(the rule that the case shows, original, patch, result)`; each result is the one of Kubernetes' own server.
    fn cases() -> Vec<(&'static str, Value, Value, Value)> {
        let pod = |spec: Value| json!({"spec": spec});
        vec![
            (
                "objects merge field by field, null deletes",
                json!({"metadata": {"labels": {"a": "1", "b": "2"}}}),
                json!({"metadata": {"labels": {"b": null, "c": "3"}}}),
                json!({"metadata": {"labels": {"a": "1", "c": "3"}}}),
            ),
            (
                "a null for what is not there does nothing",
                json!({"metadata": {"labels": {"a": "1"}}}),
                json!({"metadata": {"annotations": {"x": null}, "labels": {"z": null}}}),
                json!({"metadata": {"labels": {"a": "1"}, "annotations": {}}}),
            ),
            (
                "containers merge by name and keep the rest of themselves",
                pod(
                    json!({"containers": [{"name": "a", "image": "a:1", "args": ["x"]}, {"name": "b", "image": "b:1"}]}),
                ),
                pod(json!({"containers": [{"name": "a", "image": "a:2"}]})),
                pod(
                    json!({"containers": [{"name": "a", "image": "a:2", "args": ["x"]}, {"name": "b", "image": "b:1"}]}),
                ),
            ),
            (
                "an element of a keyed list that is new comes before what only the server has",
                pod(json!({"containers": [{"name": "a"}]})),
                pod(json!({"containers": [{"name": "b", "image": "b:1"}]})),
                pod(json!({"containers": [{"name": "b", "image": "b:1"}, {"name": "a"}]})),
            ),
            (
                "$patch: delete removes an element",
                pod(json!({"containers": [{"name": "a"}, {"name": "b"}]})),
                pod(json!({"containers": [{"name": "a", "$patch": "delete"}]})),
                pod(json!({"containers": [{"name": "b"}]})),
            ),
            (
                "$patch: delete of an element that is not there does nothing",
                pod(json!({"containers": [{"name": "b"}]})),
                pod(json!({"containers": [{"name": "a", "$patch": "delete"}]})),
                pod(json!({"containers": [{"name": "b"}]})),
            ),
            (
                "$patch: replace in a list replaces the list",
                pod(json!({"containers": [{"name": "a"}, {"name": "b"}]})),
                pod(json!({"containers": [{"name": "c"}, {"$patch": "replace"}]})),
                pod(json!({"containers": [{"name": "c"}]})),
            ),
            (
                "$patch: replace in an object replaces the object: how `kubectl rollout undo` restores a template",
                json!({"spec": {"template": {"metadata": {"labels": {"a": "1"}}, "spec": {"containers": [{"name": "a", "image": "2"}], "hostNetwork": true}}, "minReadySeconds": 5}}),
                json!({"spec": {"template": {"$patch": "replace", "spec": {"containers": [{"name": "a", "image": "1"}]}}}}),
                json!({"spec": {"template": {"spec": {"containers": [{"name": "a", "image": "1"}]}}, "minReadySeconds": 5}}),
            ),
            (
                "$patch: delete in an object empties it",
                json!({"metadata": {"labels": {"a": "1"}}}),
                json!({"metadata": {"labels": {"$patch": "delete"}}}),
                json!({"metadata": {"labels": {}}}),
            ),
            (
                "$patch: merge says what happens anyway",
                json!({"metadata": {"labels": {"a": "1"}}}),
                json!({"metadata": {"labels": {"$patch": "merge", "b": "2"}}}),
                json!({"metadata": {"labels": {"a": "1", "b": "2"}}}),
            ),
            (
                "tolerations are atomic",
                pod(json!({"tolerations": [{"key": "a"}, {"key": "b"}]})),
                pod(json!({"tolerations": [{"key": "c"}]})),
                pod(json!({"tolerations": [{"key": "c"}]})),
            ),
            (
                "ports merge by containerPort, env by name, volumeMounts by mountPath",
                pod(
                    json!({"containers": [{"name": "a", "ports": [{"containerPort": 80, "name": "web"}], "env": [{"name": "A", "value": "1"}], "volumeMounts": [{"mountPath": "/x", "name": "v"}]}]}),
                ),
                pod(
                    json!({"containers": [{"name": "a", "ports": [{"containerPort": 80, "name": "http"}, {"containerPort": 81}], "env": [{"name": "B", "value": "2"}], "volumeMounts": [{"mountPath": "/x", "name": "w"}]}]}),
                ),
                pod(
                    json!({"containers": [{"name": "a", "ports": [{"containerPort": 80, "name": "http"}, {"containerPort": 81}], "env": [{"name": "B", "value": "2"}, {"name": "A", "value": "1"}], "volumeMounts": [{"mountPath": "/x", "name": "w"}]}]}),
                ),
            ),
            (
                "conditions merge by type",
                json!({"status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "X", "status": "True"}]}}),
                json!({"status": {"conditions": [{"type": "Ready", "status": "False"}]}}),
                json!({"status": {"conditions": [{"type": "Ready", "status": "False"}, {"type": "X", "status": "True"}]}}),
            ),
            (
                "finalizers are a set",
                json!({"metadata": {"finalizers": ["a", "b"]}}),
                json!({"metadata": {"finalizers": ["b", "c"]}}),
                json!({"metadata": {"finalizers": ["a", "b", "c"]}}),
            ),
            (
                "$deleteFromPrimitiveList takes out of a set",
                json!({"metadata": {"finalizers": ["a", "b", "c"]}}),
                json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["a", "z"]}}),
                json!({"metadata": {"finalizers": ["b", "c"]}}),
            ),
            (
                "$setElementOrder orders what the patch knows, the server's own stays where it was",
                pod(json!({"containers": [{"name": "a"}, {"name": "sidecar"}, {"name": "b"}]})),
                pod(
                    json!({"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}], "containers": [{"name": "a", "image": "2"}]}),
                ),
                pod(json!({"containers": [{"name": "sidecar"}, {"name": "b"}, {"name": "a", "image": "2"}]})),
            ),
            (
                "$setElementOrder with nothing to change",
                pod(json!({"containers": [{"name": "a"}, {"name": "b"}]})),
                pod(json!({"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}]})),
                pod(json!({"containers": [{"name": "b"}, {"name": "a"}]})),
            ),
            (
                "$setElementOrder and a deletion, as `kubectl apply` writes it",
                pod(json!({"containers": [{"name": "a"}, {"name": "b"}, {"name": "c"}]})),
                pod(
                    json!({"$setElementOrder/containers": [{"name": "a"}, {"name": "c"}], "containers": [{"name": "c", "image": "2"}, {"name": "b", "$patch": "delete"}]}),
                ),
                pod(json!({"containers": [{"name": "a"}, {"name": "c", "image": "2"}]})),
            ),
            (
                "$setElementOrder of a set",
                json!({"metadata": {"finalizers": ["a", "b", "c"]}}),
                json!({"metadata": {"$setElementOrder/finalizers": ["c", "d", "a"], "finalizers": ["d"]}}),
                json!({"metadata": {"finalizers": ["b", "c", "d", "a"]}}),
            ),
            (
                "$retainKeys drops what it does not name, as when a volume's source changes",
                pod(json!({"volumes": [{"name": "v", "emptyDir": {"medium": "Memory"}}]})),
                pod(
                    json!({"volumes": [{"name": "v", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/x"}}]}),
                ),
                pod(json!({"volumes": [{"name": "v", "hostPath": {"path": "/x"}}]})),
            ),
            (
                "the strategy of a DaemonSet has no retainKeys: the old block stays",
                json!({"spec": {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}}}}),
                json!({"spec": {"updateStrategy": {"type": "OnDelete"}}}),
                json!({"spec": {"updateStrategy": {"type": "OnDelete", "rollingUpdate": {"maxUnavailable": 1}}}}),
            ),
            (
                "another type replaces: a count becomes a percentage",
                json!({"spec": {"updateStrategy": {"rollingUpdate": {"maxUnavailable": 1}}}}),
                json!({"spec": {"updateStrategy": {"rollingUpdate": {"maxUnavailable": "10%"}}}}),
                json!({"spec": {"updateStrategy": {"rollingUpdate": {"maxUnavailable": "10%"}}}}),
            ),
            (
                "what is new is taken without its directives",
                json!({}),
                json!({"spec": {"template": {"$patch": "replace", "spec": {"containers": [{"name": "a"}]}}}}),
                json!({"spec": {"template": {"spec": {"containers": [{"name": "a"}]}}}}),
            ),
        ]
    }

    #[test]
    fn merges_as_the_api_server_does() {
        for (what, original, patch, want) in cases() {
            assert_eq!(patched(original, patch), Ok(want), "{what}");
        }
    }

    #[test]
    fn refuses_patches_that_make_no_sense() {
        let pod = json!({"spec": {"containers": [{"name": "a"}], "volumes": [{"name": "v", "emptyDir": {}}]}});
        for (patch, why) in [
            (json!({"spec": {"containers": [{"image": "x"}]}}), "does not contain declared merge key: name"),
            (json!({"spec": {"containers": [{"$patch": "delete"}]}}), "does not contain declared merge key: name"),
            (json!({"spec": {"$patch": "swap"}}), "unknown patch type"),
            (json!({"spec": {"containers": ["a"]}}), "expected an object"),
            (json!({"spec": {"$setElementOrder/containers": "a"}}), "must be a list"),
            (
                json!({"spec": {"$setElementOrder/containers": [{"name": "a"}], "containers": [{"name": "b"}]}}),
                "doesn't match $setElementOrder/containers",
            ),
            (
                json!({"spec": {"volumes": [{"name": "v", "$retainKeys": ["name"], "hostPath": {}}]}}),
                "does not list `hostPath`",
            ),
        ] {
            let refusal = patched(pod.clone(), patch).unwrap_err().to_string();
            assert!(refusal.contains(why), "{refusal}");
        }
    }
}
