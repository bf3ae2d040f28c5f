//! Tracks which manager wrote which field (`metadata.managedFields`), and carries out server-side apply, which depends on that.
//!
//! The world's objects do not have this list; it is kept beside them, for objects that are written through the API. The rules are those
//! of structured-merge-diff, a library that exists only in Go. Its API versions are left out, because every kind here has one.
//!
//! - An update takes the ownership of the fields that it changes from all other managers. It never conflicts.
//! - An apply owns the fields that it names. A field that the manager named before and no longer names is removed, unless another
//!   manager owns it too.
//! - An apply that would change fields of other managers conflicts, unless it is forced.

use serde_json::{Map, Value, json};

use crate::engine::model::Str;
use crate::engine::model::time::Timestamp;

use super::fieldset::{FieldSet, Path, in_words, is_item, item_step, remove_at, value_at};
use super::schema::{ListKind, OBJECT, Schema};
use super::status::ApiRefusal;

/// The kind of write by which a manager owns fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Operation {
    Apply,
    Update,
}

/// Whether an apply takes over fields that other managers own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Force {
    Yes,
    No,
}

/// The manager of a write, the part of the object that it writes, and its time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Write<'a> {
    pub(super) manager: &'a str,
    pub(super) api_version: &'static str,
    /// `status`, or empty.
    pub(super) subresource: &'static str,
    pub(super) now: Timestamp,
}

#[derive(Clone, Debug)]
struct ManagerEntry {
    manager: Str,
    operation: Operation,
    api_version: &'static str,
    subresource: &'static str,
    at: Timestamp,
    fields: FieldSet,
}

/// The managers of one object and the fields that each of them owns.
#[derive(Clone, Debug, Default)]
pub(super) struct Managed(Vec<ManagerEntry>);

impl Managed {
    /// The managers of an object of which only some `owners` are known: each owns the fields under the path beside it.
    pub(super) fn from_owners(
        object: &Value,
        owners: &[(Option<&Str>, &[&str])],
        api_version: &'static str,
        at: Timestamp,
    ) -> Self {
        let all = FieldSet::of(object, &OBJECT);
        let mut managed = Self::default();
        for (owner, root) in owners {
            let Some(owner) = owner else { continue };
            let fields = all.below(&[root]);
            match managed.0.iter_mut().find(|entry| entry.manager == **owner) {
                Some(entry) => fields.paths().iter().for_each(|path| entry.fields.insert(path)),
                None => managed.0.push(ManagerEntry {
                    manager: (*owner).clone(),
                    operation: Operation::Update,
                    api_version,
                    subresource: "",
                    at,
                    fields,
                }),
            }
        }
        managed
    }

    /// Reads the `metadata.managedFields` that a client sends. Entries without fields are dropped, so a list with one empty entry clears
    /// everything, as in Kubernetes.
    pub(super) fn from_json(list: &Value, api_version: &'static str) -> Self {
        let entries = list.as_array().into_iter().flatten().filter_map(|entry| {
            let fields =
                entry.get("fieldsV1").filter(|fields| fields.as_object().is_some_and(|map| !map.is_empty()))?;
            Some(ManagerEntry {
                manager: entry["manager"].as_str().unwrap_or_default().into(),
                operation: if entry["operation"] == "Apply" { Operation::Apply } else { Operation::Update },
                api_version,
                subresource: if entry["subresource"] == "status" { "status" } else { "" },
                at: entry["time"].as_str().and_then(|at| Timestamp::parse(at).ok()).unwrap_or_default(),
                fields: FieldSet::from_json(fields),
            })
        });
        Self(entries.collect())
    }

    /// Writes the list as `metadata.managedFields`.
    pub(super) fn to_json(&self) -> Value {
        self.0
            .iter()
            .map(|entry| {
                let operation = match entry.operation {
                    Operation::Apply => "Apply",
                    Operation::Update => "Update",
                };
                let mut json = json!({
                    "manager": &*entry.manager, "operation": operation, "apiVersion": entry.api_version,
                    "time": entry.at.to_rfc3339(), "fieldsType": "FieldsV1", "fieldsV1": entry.fields.to_json(),
                });
                if !entry.subresource.is_empty() {
                    json["subresource"] = entry.subresource.into();
                }
                json
            })
            .collect()
    }

    fn entry(&mut self, operation: Operation, write: Write<'_>) -> &mut ManagerEntry {
        let is_it = |entry: &ManagerEntry| {
            &*entry.manager == write.manager && entry.operation == operation && entry.subresource == write.subresource
        };
        let found = self.0.iter().position(is_it).unwrap_or_else(|| {
            self.0.push(ManagerEntry {
                manager: write.manager.into(),
                operation,
                api_version: write.api_version,
                subresource: write.subresource,
                at: write.now,
                fields: FieldSet::default(),
            });
            self.0.len() - 1
        });
        &mut self.0[found]
    }

    /// Notes a create, update or patch that changed the object from `before` to `after`.
    pub(super) fn note_update(&mut self, before: &Value, after: &Value, write: Write<'_>) {
        let (old, new) = (tracked(before, write.subresource), tracked(after, write.subresource));
        let (old_fields, new_fields) = (FieldSet::of(&old, &OBJECT), FieldSet::of(&new, &OBJECT));
        let same = |path: &Path| is_item(path) || value_at(&old, path) == value_at(&new, path);
        let changed: Vec<Path> =
            new_fields.paths().into_iter().filter(|path| !(old_fields.contains(path) && same(path))).collect();
        let removed: Vec<Path> = old_fields.paths().into_iter().filter(|path| !new_fields.contains(path)).collect();
        if changed.is_empty() && removed.is_empty() {
            return;
        }
        for entry in &mut self.0 {
            removed.iter().chain(&changed).for_each(|path| entry.fields.remove(path));
        }
        if !changed.is_empty() {
            let own = self.entry(Operation::Update, write);
            changed.iter().for_each(|path| own.fields.insert(path));
            own.at = write.now;
        }
        self.0.retain(|entry| !entry.fields.is_empty());
    }

    /// Applies `config` to `live`, returns the merged object, and notes which manager owns which field now.
    ///
    /// # Errors
    /// 409 when the apply is not forced and would change fields that other managers own.
    pub(super) fn apply(
        &mut self,
        live: &Value,
        config: &Value,
        force: Force,
        write: Write<'_>,
    ) -> Result<Value, ApiRefusal> {
        let wanted = tracked(config, write.subresource);
        let fields = FieldSet::of(&wanted, &OBJECT);
        let differs = |path: &Path| !is_item(path) && value_at(live, path) != value_at(&wanted, path);
        let disputed: Vec<Path> = fields.paths().into_iter().filter(differs).collect();
        let mine = |entry: &ManagerEntry| &*entry.manager == write.manager && entry.operation == Operation::Apply;
        if force == Force::No {
            self.check_conflicts(&disputed, mine)?;
        }
        let before = self.0.iter().find(|entry| mine(entry)).map(|entry| entry.fields.clone()).unwrap_or_default();
        for entry in &mut self.0 {
            disputed.iter().for_each(|path| entry.fields.remove(path));
        }
        let mut merged = merge(live.clone(), wanted, &OBJECT);
        let given_up: Vec<Path> = before.paths().into_iter().filter(|path| !fields.contains(path)).collect();
        // Outer paths come before inner ones, so that a list item that no other manager owns is removed whole while its key still finds it.
        for path in &given_up {
            let step: Vec<&str> = path.iter().map(String::as_str).collect();
            let others = self.0.iter().filter(|entry| !mine(entry)).any(|entry| entry.fields.touches(&step));
            if !others && !fields.touches(&step) {
                remove_at(&mut merged, path);
            }
        }
        let own = self.entry(Operation::Apply, write);
        own.at = write.now;
        own.fields = fields;
        self.0.retain(|entry| !entry.fields.is_empty());
        Ok(merged)
    }

    fn check_conflicts(&self, disputed: &[Path], mine: impl Fn(&ManagerEntry) -> bool) -> Result<(), ApiRefusal> {
        let mut causes = Vec::new();
        let mut words = Vec::new();
        for entry in self.0.iter().filter(|entry| !mine(entry)) {
            let subresource = match entry.subresource {
                "" => String::new(),
                subresource => format!(" with subresource \"{subresource}\""),
            };
            let using = match entry.operation {
                Operation::Update => format!(" using {}", entry.api_version),
                Operation::Apply => String::new(),
            };
            let with = format!("\"{}\"{subresource}{using}", entry.manager);
            let owned: Vec<String> =
                disputed.iter().filter(|path| entry.fields.contains(path)).map(|path| in_words(path)).collect();
            causes.extend(owned.iter().map(|field| {
                json!({"reason": "FieldManagerConflict", "message": format!("conflict with {with}"), "field": field})
            }));
            match owned.as_slice() {
                [] => {}
                [one] => words.push(format!("conflict with {with}: {one}")),
                several => words.push(format!("conflicts with {with}:\n- {}", several.join("\n- "))),
            }
        }
        match causes.len() {
            0 => Ok(()),
            1 => Err(ApiRefusal::apply_conflict(format!("Apply failed with 1 conflict: {}", words.concat()), &causes)),
            many => {
                let message = format!("Apply failed with {many} conflicts: {}", words.join("\n"));
                Err(ApiRefusal::apply_conflict(message, &causes))
            }
        }
    }
}

/// The tracked part of an object: without the fields that the server sets, and without the one of spec and status that is not written.
fn tracked(object: &Value, subresource: &str) -> Value {
    const SERVERS: [&str; 12] = [
        "name",
        "generateName",
        "namespace",
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "managedFields",
        "selfLink",
        "$patch",
    ];
    let Some(object) = object.as_object() else { return Value::Null };
    let mut kept: Map<String, Value> = object.clone();
    if subresource == "status" {
        kept.retain(|key, _| key == "status");
        return Value::Object(kept);
    }
    kept.retain(|key, value| !matches!(key.as_str(), "apiVersion" | "kind" | "status") && !value.is_null());
    if let Some(metadata) = kept.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|key, _| !SERVERS.contains(&key.as_str()));
        if metadata.is_empty() {
            kept.remove("metadata");
        }
    }
    Value::Object(kept)
}

fn merge(live: Value, config: Value, schema: &'static Schema) -> Value {
    let (Value::Object(mut live), Value::Object(config)) = (live, config) else { return Value::Null };
    for (name, wanted) in config {
        let inner = schema.inner(&name);
        let merged = match (live.remove(&name), wanted) {
            (old, Value::Null) => old.unwrap_or_default(),
            (Some(old @ Value::Object(_)), new @ Value::Object(_)) if !schema.is_atomic_object(&name) => {
                merge(old, new, inner)
            }
            (Some(Value::Array(old)), Value::Array(new)) => {
                Value::Array(merge_list(old, new, schema.list(&name), inner))
            }
            (_, new) => new,
        };
        live.insert(name, merged);
    }
    Value::Object(live)
}

fn merge_list(mut live: Vec<Value>, config: Vec<Value>, kind: ListKind, schema: &'static Schema) -> Vec<Value> {
    let keys = match kind {
        ListKind::Atomic => return config,
        ListKind::Set => {
            for item in config {
                if !live.contains(&item) {
                    live.push(item);
                }
            }
            return live;
        }
        ListKind::Map { apply_keys, .. } => apply_keys,
    };
    let same = |a: &Value, b: &Value| item_step(a, keys) == item_step(b, keys);
    for item in config {
        match live.iter_mut().find(|candidate| same(candidate, &item)) {
            Some(found) => *found = merge(std::mem::take(found), item, schema),
            None => live.push(item),
        }
    }
    live
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by(manager: &str, secs: i64) -> Write<'_> {
        let now = Timestamp::from_millis(secs * 1000);
        Write { manager, api_version: "apps/v1", subresource: "", now }
    }

    fn daemon_set(image: &str, strategy: &str) -> Value {
        json!({
            "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "agent", "labels": {"team": "edge"}},
            "spec": {
                "template": {"spec": {"containers": [{"name": "agent", "image": image}]}},
                "updateStrategy": {"type": strategy},
            },
            "status": {"numberReady": 3},
        })
    }

    impl Managed {
        fn owns(&self, manager: &str, root: &[&str]) -> bool {
            self.0.iter().any(|entry| &*entry.manager == manager && entry.fields.touches(root))
        }
    }

    const TEMPLATE: [&str; 2] = ["f:spec", "f:template"];
    const STRATEGY: [&str; 2] = ["f:spec", "f:updateStrategy"];

    #[test]
    fn an_update_takes_what_it_changes_and_nothing_else() {
        let mut managed = Managed::default();
        managed.note_update(&json!({}), &daemon_set("agent:1", "RollingUpdate"), by("kubectl-create", 1));
        managed.note_update(
            &daemon_set("agent:1", "RollingUpdate"),
            &daemon_set("agent:2", "RollingUpdate"),
            by("kubectl-set", 2),
        );
        managed.note_update(
            &daemon_set("agent:2", "RollingUpdate"),
            &daemon_set("agent:2", "OnDelete"),
            by("rolldeck", 3),
        );
        assert!(managed.owns("rolldeck", &STRATEGY) && !managed.owns("rolldeck", &TEMPLATE));
        assert!(!managed.owns("kubectl-create", &STRATEGY));
        let json = managed.to_json();
        assert_eq!(
            json[1],
            json!({
                "manager": "kubectl-set", "operation": "Update", "apiVersion": "apps/v1", "time": "1970-01-01T00:00:02Z",
                "fieldsType": "FieldsV1",
                "fieldsV1": {"f:spec": {"f:template": {"f:spec": {"f:containers": {"k:{\"name\":\"agent\"}": {"f:image": {}}}}}}},
            })
        );
        assert!(!json.to_string().contains("numberReady"), "status is a subresource's");
    }

    #[test]
    fn what_is_written_reads_the_same() {
        let mut managed = Managed::default();
        managed.note_update(&json!({}), &daemon_set("agent:1", "RollingUpdate"), by("kubectl-create", 1));
        managed
            .apply(
                &daemon_set("agent:1", "OnDelete"),
                &json!({"metadata": {"labels": {"a": "1"}}}),
                Force::No,
                by("gitops", 2),
            )
            .unwrap();
        let json = managed.to_json();
        assert_eq!(Managed::from_json(&json, "apps/v1").to_json(), json);
        assert_eq!(Managed::from_json(&json!([{}]), "apps/v1").to_json(), json!([]));
    }

    #[test]
    fn an_apply_owns_what_it_names_and_removes_what_it_no_longer_names() {
        let mut managed = Managed::default();
        let first = json!({"metadata": {"labels": {"a": "1", "b": "2"}}, "spec": {"minReadySeconds": 5}});
        let live = managed.apply(&daemon_set("agent:1", "OnDelete"), &first, Force::No, by("gitops", 1)).unwrap();
        assert_eq!(live["metadata"]["labels"], json!({"team": "edge", "a": "1", "b": "2"}));
        let second = json!({"metadata": {"labels": {"a": "1"}}});
        let live = managed.apply(&live, &second, Force::No, by("gitops", 2)).unwrap();
        assert_eq!(live["metadata"]["labels"], json!({"team": "edge", "a": "1"}));
        assert_eq!(live["spec"].get("minReadySeconds"), None);
        assert_eq!(live["spec"]["updateStrategy"], json!({"type": "OnDelete"}), "what it never owned stays");
    }

    #[test]
    fn an_apply_over_anothers_field_conflicts_unless_forced() {
        let mut managed = Managed::default();
        let live = daemon_set("agent:1", "RollingUpdate");
        managed.note_update(&json!({}), &live, by("kubectl-create", 1));
        let config = json!({"spec": {"template": {"spec": {"containers": [{"name": "agent", "image": "agent:2"}]}}}});
        let refusal = managed.apply(&live, &config, Force::No, by("gitops", 2)).unwrap_err().status();
        assert_eq!(
            refusal["message"],
            "Apply failed with 1 conflict: conflict with \"kubectl-create\" using apps/v1: \
             .spec.template.spec.containers[name=\"agent\"].image"
        );
        assert_eq!(refusal["details"]["causes"][0]["reason"], "FieldManagerConflict");
        let same = json!({"spec": {"updateStrategy": {"type": "RollingUpdate"}}});
        managed.apply(&live, &same, Force::No, by("friend", 2)).unwrap();
        assert!(managed.owns("friend", &STRATEGY) && managed.owns("kubectl-create", &STRATEGY), "agreed: both own it");
        let live = managed.apply(&live, &config, Force::Yes, by("gitops", 3)).unwrap();
        assert_eq!(live["spec"]["template"]["spec"]["containers"][0]["image"], "agent:2");
        assert!(!managed.to_json()[0]["fieldsV1"].to_string().contains("f:image"));
    }

    #[test]
    fn a_list_item_that_others_own_too_stays() {
        let mut managed = Managed::default();
        let live = json!({"spec": {"template": {"spec": {"containers": []}}}});
        let containers = |items: Value| json!({"spec": {"template": {"spec": {"containers": items}}}});
        let first = containers(json!([{"name": "a", "image": "a:1"}, {"name": "b", "image": "b:1"}]));
        let live = managed.apply(&live, &first, Force::No, by("one", 1)).unwrap();
        let resources = containers(json!([{"name": "b", "imagePullPolicy": "Always"}]));
        let live = managed.apply(&live, &resources, Force::No, by("two", 2)).unwrap();
        let live = managed.apply(&live, &containers(json!([{"name": "a", "image": "a:1"}])), Force::No, by("one", 3));
        let containers = &live.unwrap()["spec"]["template"]["spec"]["containers"];
        assert_eq!(*containers, json!([{"name": "a", "image": "a:1"}, {"name": "b", "imagePullPolicy": "Always"}]));
    }
}
