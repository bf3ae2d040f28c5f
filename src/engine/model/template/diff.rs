//! The differences between two templates, field by field, under paths as people write them.
//!
//! ```text
//! containers[agent].env[LOG_LEVEL]: info → debug
//! containers[agent].resources.limits.memory: 128Mi → 256Mi
//! containers[side]: added, image side:v1
//! tolerations[node.kubernetes.io/disk-pressure:NoSchedule]: removed
//! ```
//!
//! Paths leave out `spec`. Elements of lists are matched as Kubernetes merges them: containers, volumes and variables by name, ports
//! by number and protocol, mounts by path, tolerations by all that they say. If a list has no such key, or names one twice, its equal
//! elements are matched in order, and the paths of its elements have their index.
//!
//! Two templates differ if and only if a difference is named here. A difference in order alone is named, too, because it gives a
//! DaemonSet another revision.

mod words;

use std::collections::{BTreeSet, HashMap};
use std::fmt::Display;

use serde::Serialize;
use serde_json::{Map, Value};

use super::Template;

/// The most pairs of elements of one list that are compared to find equal ones. Longer lists are compared by index, once the common
/// elements at both ends are taken off.
const PAIRS: usize = 40_000;

/// One field that differs.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FieldChange {
    /// The path of the field: `containers[agent].env[LOG_LEVEL]`.
    pub path: String,
    /// The edit of the field.
    #[serde(flatten)]
    pub edit: FieldEdit,
}

/// The edit of a field.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "camelCase", tag = "change")]
pub enum FieldEdit {
    /// The field was not there before.
    Added {
        /// Its present value.
        to: Value,
    },
    /// The field is no longer there.
    Removed {
        /// Its former value.
        from: Value,
    },
    /// The field has another value.
    Changed {
        /// Its former value.
        from: Value,
        /// Its present value.
        to: Value,
    },
    /// The elements of a list have another order.
    Reordered {
        /// The elements that both lists have, as paths name them, in the former order.
        from: Vec<String>,
        /// The same elements, in the present order.
        to: Vec<String>,
    },
}

/// The differences between two templates: images first, then by path. Empty if and only if the templates are equal.
///
/// The work grows with the size of both templates; for lists without a key it is bounded.
pub fn changes(from: &Template, to: &Template) -> Vec<FieldChange> {
    let mut found = Found::default();
    if from != to {
        found.values(&FieldPath::default(), from.json(), to.json());
    }
    found.0.sort_by_key(|change| !change.is_image());
    found.0
}

impl FieldChange {
    /// Whether it is the image of a container or of a volume.
    pub fn is_image(&self) -> bool {
        self.path.ends_with("].image") || self.path.ends_with("].image.reference")
    }
}

/// The path of a value, and the name of the field that holds it.
#[derive(Clone, Default)]
struct FieldPath {
    text: String,
    field: String,
}

impl FieldPath {
    /// A field of this object.
    fn field(&self, name: &str) -> Self {
        if self.text.is_empty() && name == "spec" {
            return Self::default();
        }
        let simple = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
        let text = match (simple, self.text.is_empty()) {
            (true, true) => name.to_owned(),
            (true, false) => format!("{}.{name}", self.text),
            (false, _) => format!("{}[{name}]", self.text),
        };
        Self { text, field: name.to_owned() }
    }

    /// An element of this list.
    fn element(&self, key: impl Display) -> Self {
        Self { text: format!("{}[{key}]", self.text), field: String::new() }
    }
}

#[derive(Default)]
struct Found(Vec<FieldChange>);

impl Found {
    fn note(&mut self, path: &FieldPath, edit: FieldEdit) {
        let path = if path.text.is_empty() { "template".to_owned() } else { path.text.clone() };
        self.0.push(FieldChange { path, edit });
    }

    fn values(&mut self, path: &FieldPath, from: &Value, to: &Value) {
        if from == to {
            return;
        }
        match (from, to) {
            (Value::Object(from), Value::Object(to)) => self.objects(path, from, to),
            (Value::Array(from), Value::Array(to)) => self.lists(path, from, to),
            _ => self.note(path, FieldEdit::Changed { from: from.clone(), to: to.clone() }),
        }
    }

    fn objects(&mut self, path: &FieldPath, from: &Map<String, Value>, to: &Map<String, Value>) {
        let names: BTreeSet<&String> = from.keys().chain(to.keys()).collect();
        for name in names {
            let path = path.field(name);
            match (from.get(name), to.get(name)) {
                (Some(from), Some(to)) => self.values(&path, from, to),
                (Some(from), None) => self.gone(&path, from),
                (None, Some(to)) => self.come(&path, to),
                (None, None) => {}
            }
        }
    }

    /// A field that was not there. If it has fields or elements of its own, each of them is named.
    fn come(&mut self, path: &FieldPath, to: &Value) {
        match to {
            Value::Object(fields) if !fields.is_empty() => self.objects(path, &Map::new(), fields),
            Value::Array(elements) if !elements.is_empty() && keys(&path.field, elements).is_some() => {
                self.lists(path, &[], elements);
            }
            _ => self.note(path, FieldEdit::Added { to: to.clone() }),
        }
    }

    /// A field that is no longer there.
    fn gone(&mut self, path: &FieldPath, from: &Value) {
        match from {
            Value::Object(fields) if !fields.is_empty() => self.objects(path, fields, &Map::new()),
            Value::Array(elements) if !elements.is_empty() && keys(&path.field, elements).is_some() => {
                self.lists(path, elements, &[]);
            }
            _ => self.note(path, FieldEdit::Removed { from: from.clone() }),
        }
    }

    fn lists(&mut self, path: &FieldPath, from: &[Value], to: &[Value]) {
        match (keys(&path.field, from), keys(&path.field, to)) {
            (Some(from_keys), Some(to_keys)) => self.keyed(path, (from, &from_keys), (to, &to_keys)),
            _ => self.in_order(path, from, to),
        }
    }

    fn keyed(
        &mut self,
        path: &FieldPath,
        (from, from_keys): (&[Value], &[String]),
        (to, to_keys): (&[Value], &[String]),
    ) {
        let before: HashMap<&String, &Value> = from_keys.iter().zip(from).collect();
        let after: HashMap<&String, &Value> = to_keys.iter().zip(to).collect();
        for (key, to) in to_keys.iter().zip(to) {
            let element = path.element(key);
            match before.get(key) {
                Some(from) => self.elements(&path.field, &element, from, to),
                None => self.note(&element, FieldEdit::Added { to: plain(&path.field, to) }),
            }
        }
        for (key, from) in from_keys.iter().zip(from).filter(|(key, _)| !after.contains_key(key)) {
            self.note(&path.element(key), FieldEdit::Removed { from: plain(&path.field, from) });
        }
        let from: Vec<String> = from_keys.iter().filter(|key| after.contains_key(key)).cloned().collect();
        let to: Vec<String> = to_keys.iter().filter(|key| before.contains_key(key)).cloned().collect();
        if from != to {
            self.note(path, FieldEdit::Reordered { from, to });
        }
    }

    /// Two elements with the same key. A variable that has a plain value on one side is one value.
    fn elements(&mut self, list: &str, path: &FieldPath, from: &Value, to: &Value) {
        if list == "env" && (plain_variable(from).is_some() || plain_variable(to).is_some()) {
            self.values(path, &plain(list, from), &plain(list, to));
        } else {
            self.values(path, from, to);
        }
    }

    /// A list whose elements have no key: equal elements at both ends are taken off, then as many as are equal in order.
    fn in_order(&mut self, path: &FieldPath, from: &[Value], to: &[Value]) {
        let head = from.iter().zip(to).take_while(|(a, b)| a == b).count();
        let tails = from[head..].iter().rev().zip(to[head..].iter().rev());
        let tail = tails.take_while(|(a, b)| a == b).count();
        let (from_end, to_end) = (from.len() - tail, to.len() - tail);
        let mut at = (head, head);
        let mut anchors: Vec<(usize, usize)> = common(&from[head..from_end], &to[head..to_end]);
        anchors.iter_mut().for_each(|(a, b)| (*a, *b) = (*a + head, *b + head));
        anchors.push((from_end, to_end));
        for (a, b) in anchors {
            self.replaced(path, (from, at.0..a), (to, at.1..b));
            at = (a + 1, b + 1);
        }
    }

    /// A stretch of a list in place of another.
    fn replaced(
        &mut self,
        path: &FieldPath,
        (from, from_range): (&[Value], std::ops::Range<usize>),
        (to, to_range): (&[Value], std::ops::Range<usize>),
    ) {
        let paired = from_range.len().min(to_range.len());
        for (a, b) in from_range.clone().zip(to_range.clone()) {
            self.values(&path.element(b), &from[a], &to[b]);
        }
        for a in from_range.skip(paired) {
            self.note(&path.element(a), FieldEdit::Removed { from: from[a].clone() });
        }
        for b in to_range.skip(paired) {
            self.note(&path.element(b), FieldEdit::Added { to: to[b].clone() });
        }
    }
}

/// Indices of as many elements as possible that both lists have in the same order. Too many pairs give none.
fn common(from: &[Value], to: &[Value]) -> Vec<(usize, usize)> {
    if from.is_empty() || to.is_empty() || from.len().saturating_mul(to.len()) > PAIRS {
        return Vec::new();
    }
    let width = to.len() + 1;
    let mut longest = vec![0_u32; (from.len() + 1) * width];
    for a in (0..from.len()).rev() {
        for b in (0..to.len()).rev() {
            longest[a * width + b] = if from[a] == to[b] {
                longest[(a + 1) * width + b + 1] + 1
            } else {
                longest[(a + 1) * width + b].max(longest[a * width + b + 1])
            };
        }
    }
    let (mut a, mut b, mut pairs) = (0, 0, Vec::new());
    while a < from.len() && b < to.len() {
        if from[a] == to[b] {
            pairs.push((a, b));
            (a, b) = (a + 1, b + 1);
        } else if longest[(a + 1) * width + b] >= longest[a * width + b + 1] {
            a += 1;
        } else {
            b += 1;
        }
    }
    pairs
}

/// The keys that tell the elements of this list apart; `None` if it has no such key, an element lacks it, or two share one.
fn keys(list: &str, elements: &[Value]) -> Option<Vec<String>> {
    let key: fn(&Value) -> Option<String> = match list {
        "containers"
        | "initContainers"
        | "ephemeralContainers"
        | "volumes"
        | "env"
        | "imagePullSecrets"
        | "schedulingGates"
        | "resourceClaims"
        | "claims"
        | "sysctls" => |element| text(element, "name"),
        "ports" => |element| {
            let port = element.get("containerPort")?.as_u64()?;
            Some(match element.get("protocol").and_then(Value::as_str) {
                None | Some("TCP") => port.to_string(),
                Some(protocol) => format!("{port}/{protocol}"),
            })
        },
        "volumeMounts" => |element| text(element, "mountPath"),
        "volumeDevices" => |element| text(element, "devicePath"),
        "items" => |element| text(element, "path"),
        "hostAliases" => |element| text(element, "ip"),
        "readinessGates" => |element| text(element, "conditionType"),
        "topologySpreadConstraints" => {
            |element| Some(format!("{} {}", text(element, "topologyKey")?, text(element, "whenUnsatisfiable")?))
        }
        "tolerations" => toleration,
        "add" | "drop" => |element| element.as_str().map(str::to_owned),
        _ => return None,
    };
    let keys: Vec<String> = elements.iter().map(key).collect::<Option<_>>()?;
    let distinct: BTreeSet<&String> = keys.iter().collect();
    (distinct.len() == keys.len()).then_some(keys)
}

fn text(element: &Value, field: &str) -> Option<String> {
    element.get(field).and_then(Value::as_str).map(str::to_owned)
}

/// The whole text of a toleration: `key=value:effect for 300s`; `*` if it names no key.
fn toleration(element: &Value) -> Option<String> {
    let fields = element.as_object()?;
    let field = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
    let mut words = if field("key").is_empty() { "*".to_owned() } else { field("key").to_owned() };
    if field("operator") != "Exists" {
        words.push_str(&format!("={}", field("value")));
    }
    if !field("effect").is_empty() {
        words.push_str(&format!(":{}", field("effect")));
    }
    if let Some(secs) = fields.get("tolerationSeconds") {
        words.push_str(&format!(" for {secs}s"));
    }
    Some(words)
}

/// The value of a variable that has nothing but a name and a value.
fn plain_variable(element: &Value) -> Option<&Value> {
    let fields = element.as_object().filter(|fields| fields.len() == 2 && fields.contains_key("name"))?;
    fields.get("value")
}

/// An element without the parts that its path says already.
fn plain(list: &str, element: &Value) -> Value {
    if list == "env"
        && let Some(value) = plain_variable(element)
    {
        return value.clone();
    }
    let mut element = element.clone();
    if let Some(fields) = element.as_object_mut() {
        let key = match list {
            "volumeMounts" => "mountPath",
            "volumeDevices" => "devicePath",
            "items" => "path",
            "hostAliases" => "ip",
            "ports" => "containerPort",
            "tolerations" | "topologySpreadConstraints" | "readinessGates" | "add" | "drop" => "",
            _ => "name",
        };
        fields.remove(key);
    }
    element
}

#[cfg(test)]
mod tests;
