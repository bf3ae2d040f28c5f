//! Sets of fields, as `metadata.managedFields` writes them (`FieldsV1`).
//!
//! ```text
//!   f:spec ─ f:template ─ f:spec ─ f:containers ─ k:{"name":"agent"} ─ f:image
//!                                                        field by name, list item by key, set item by value (v:"x")
//! ```

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::schema::{ListKind, Schema};

/// A path to a field: its steps as `FieldsV1` writes them.
pub(super) type Path = Vec<String>;

/// A set of fields.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct FieldSet {
    /// Whether the field at this place is itself in the set.
    member: bool,
    inner: BTreeMap<String, FieldSet>,
}

impl FieldSet {
    /// All fields that `value` sets.
    pub(super) fn of(value: &Value, schema: &'static Schema) -> Self {
        let mut set = Self::default();
        for (name, field) in value.as_object().into_iter().flatten() {
            set.inner.insert(format!("f:{name}"), Self::of_field(name, field, schema));
        }
        set
    }

    fn of_field(name: &str, field: &Value, schema: &'static Schema) -> Self {
        let inner = schema.inner(name);
        match field {
            Value::Object(map) if !map.is_empty() && !schema.is_atomic_object(name) => Self::of(field, inner),
            Value::Array(items) if !items.is_empty() => match schema.list(name) {
                ListKind::Atomic => Self::leaf(),
                ListKind::Set => {
                    let inner = items.iter().map(|item| (format!("v:{item}"), Self::leaf())).collect();
                    Self { member: false, inner }
                }
                ListKind::Map { apply_keys, .. } => {
                    let keyed = |item| (item_step(item, apply_keys), Self { member: true, ..Self::of(item, inner) });
                    Self { member: false, inner: items.iter().map(keyed).collect() }
                }
            },
            _ => Self::leaf(),
        }
    }

    fn leaf() -> Self {
        Self { member: true, inner: BTreeMap::new() }
    }

    /// Whether the set has no field.
    pub(super) fn is_empty(&self) -> bool {
        !self.member && self.inner.is_empty()
    }

    /// Whether the set has the field at `path` or any field below it.
    pub(super) fn touches(&self, path: &[&str]) -> bool {
        match path {
            [] => !self.is_empty(),
            [step, rest @ ..] => self.inner.get(*step).is_some_and(|inner| inner.touches(rest)),
        }
    }

    /// Whether the set has the field at `path` itself.
    pub(super) fn contains(&self, path: &[String]) -> bool {
        match path {
            [] => self.member,
            [step, rest @ ..] => self.inner.get(step).is_some_and(|inner| inner.contains(rest)),
        }
    }

    /// Adds the field at `path`.
    pub(super) fn insert(&mut self, path: &[String]) {
        match path {
            [] => self.member = true,
            [step, rest @ ..] => self.inner.entry(step.clone()).or_default().insert(rest),
        }
    }

    /// Removes the field at `path`; fields below it stay.
    pub(super) fn remove(&mut self, path: &[String]) {
        match path {
            [] => self.member = false,
            [step, rest @ ..] => {
                if let Some(inner) = self.inner.get_mut(step) {
                    inner.remove(rest);
                    if inner.is_empty() {
                        self.inner.remove(step);
                    }
                }
            }
        }
    }

    /// All fields of the set, outer before inner.
    pub(super) fn paths(&self) -> Vec<Path> {
        let (mut found, mut path) = (Vec::new(), Vec::new());
        self.collect(&mut path, &mut found);
        found
    }

    fn collect(&self, path: &mut Path, found: &mut Vec<Path>) {
        if self.member {
            found.push(path.clone());
        }
        for (step, inner) in &self.inner {
            path.push(step.clone());
            inner.collect(path, found);
            path.pop();
        }
    }

    /// The fields of the set at or below one of `roots`.
    pub(super) fn below(&self, roots: &[&[&str]]) -> Self {
        let mut kept = Self::default();
        for path in self.paths() {
            let under = |root: &&[&str]| path.iter().zip(root.iter()).filter(|(a, b)| a == b).count() == root.len();
            if roots.iter().any(under) {
                kept.insert(&path);
            }
        }
        kept
    }

    /// Reads `fieldsV1`.
    pub(super) fn from_json(fields: &Value) -> Self {
        let Some(fields) = fields.as_object().filter(|fields| !fields.is_empty()) else { return Self::leaf() };
        let inner = fields.iter().filter(|(step, _)| *step != ".");
        Self {
            member: fields.contains_key("."),
            inner: inner.map(|(step, inner)| (step.clone(), Self::from_json(inner))).collect(),
        }
    }

    /// Writes the set as `fieldsV1`.
    pub(super) fn to_json(&self) -> Value {
        let mut object = Map::new();
        if self.member && !self.inner.is_empty() {
            object.insert(".".into(), json!({}));
        }
        object.extend(self.inner.iter().map(|(step, inner)| (step.clone(), inner.to_json())));
        Value::Object(object)
    }
}

/// The step to an item of a keyed list.
pub(super) fn item_step(item: &Value, keys: &[&str]) -> String {
    let key: Map<String, Value> = keys
        .iter()
        .filter_map(|key| match (item.get(*key), *key) {
            (Some(value), _) => Some(((*key).to_owned(), value.clone())),
            // `protocol` is the only key with a default.
            (None, "protocol") => Some(("protocol".to_owned(), "TCP".into())),
            (None, _) => None,
        })
        .collect();
    format!("k:{}", Value::Object(key))
}

/// Whether a step leads to an item of a keyed list: such an item has no value of its own to compare.
pub(super) fn is_item(path: &[String]) -> bool {
    path.last().is_some_and(|step| step.starts_with("k:"))
}

fn is_keyed_by(item: &Value, step: &str) -> bool {
    let Some(Ok(Value::Object(key))) = step.strip_prefix("k:").map(serde_json::from_str) else { return false };
    let default = Value::from("TCP");
    key.iter().all(|(name, value)| match item.get(name) {
        Some(present) => present == value,
        None => name == "protocol" && *value == default,
    })
}

/// The value at `path`.
pub(super) fn value_at<'v>(value: &'v Value, path: &[String]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, step| {
        if let Some(name) = step.strip_prefix("f:") {
            value.get(name)
        } else if let Some(item) = step.strip_prefix("v:") {
            let item: Value = serde_json::from_str(item).ok()?;
            value.as_array()?.iter().find(|candidate| **candidate == item)
        } else {
            value.as_array()?.iter().find(|item| is_keyed_by(item, step))
        }
    })
}

/// Removes the value at `path`, and every parent that becomes empty by that.
pub(super) fn remove_at(value: &mut Value, path: &[String]) {
    let [step, rest @ ..] = path else { return };
    if let Some(name) = step.strip_prefix("f:") {
        let Some(object) = value.as_object_mut() else { return };
        if let (false, Some(inner)) = (rest.is_empty(), object.get_mut(name)) {
            remove_at(inner, rest);
            let emptied = inner.as_object().is_some_and(Map::is_empty) || inner.as_array().is_some_and(Vec::is_empty);
            if !emptied {
                return;
            }
        }
        object.remove(name);
    } else if let Some(items) = value.as_array_mut() {
        if rest.is_empty() {
            let wanted = step.strip_prefix("v:").and_then(|text| serde_json::from_str::<Value>(text).ok());
            items.retain(|item| Some(item) != wanted.as_ref() && !is_keyed_by(item, step));
        } else if let Some(item) = items.iter_mut().find(|item| is_keyed_by(item, step)) {
            remove_at(item, rest);
        }
    }
}

/// Writes a path as error messages do: `.spec.template.spec.containers[name="agent"].image`.
pub(super) fn in_words(path: &[String]) -> String {
    let step = |step: &String| {
        if let Some(name) = step.strip_prefix("f:") {
            return format!(".{name}");
        }
        if let Some(Ok(Value::Object(key))) = step.strip_prefix("k:").map(serde_json::from_str) {
            let pairs: Vec<String> = key.iter().map(|(name, value)| format!("{name}={value}")).collect();
            return format!("[{}]", pairs.join(","));
        }
        format!("[={}]", step.strip_prefix("v:").unwrap_or(step))
    };
    path.iter().map(step).collect()
}
