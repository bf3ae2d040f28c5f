//! Request bodies in Kubernetes' protobuf envelope, as typed client-go sends them since 0.33 (kubectl 1.33).
//!
//! ```text
//!   "k8s\0"  Unknown { 1: TypeMeta { 1: apiVersion, 2: kind }, 2: raw: the message }
//! ```
//!
//! This module knows only the messages that such clients post here, from tables of field numbers in Kubernetes' `generated.proto` files.
//! A protobuf library would need generated types of every message. Answers are always JSON, which these clients accept.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value, json};

use crate::engine::model::time::Timestamp;

const MAGIC: &[u8] = b"k8s\0";

/// The type of a field.
#[derive(Clone, Copy, Debug)]
enum Type {
    Text,
    Number,
    Flag,
    Texts,
    /// `map<string, string>`.
    Pairs,
    /// `map<string, bytes>`: base64 in JSON.
    Blobs,
    /// `metav1.Time` and `MicroTime`.
    Time,
    Message(&'static [WireField]),
    Messages(&'static [WireField]),
}

type WireField = (u64, &'static str, Type);

use Type::{Blobs, Flag, Message, Messages, Number, Pairs, Text, Texts, Time};

const META: &[WireField] = &[
    (1, "name", Text),
    (2, "generateName", Text),
    (3, "namespace", Text),
    (5, "uid", Text),
    (6, "resourceVersion", Text),
    (7, "generation", Number),
    (8, "creationTimestamp", Time),
    (9, "deletionTimestamp", Time),
    (10, "deletionGracePeriodSeconds", Number),
    (11, "labels", Pairs),
    (12, "annotations", Pairs),
    (13, "ownerReferences", Messages(OWNER)),
    (14, "finalizers", Texts),
];

const OWNER: &[WireField] = &[
    (1, "kind", Text),
    (3, "name", Text),
    (4, "uid", Text),
    (5, "apiVersion", Text),
    (6, "controller", Flag),
    (7, "blockOwnerDeletion", Flag),
];

const DELETE_OPTIONS: &[WireField] = &[
    (1, "gracePeriodSeconds", Number),
    (2, "preconditions", Message(&[(1, "uid", Text), (2, "resourceVersion", Text)])),
    (3, "orphanDependents", Flag),
    (4, "propagationPolicy", Text),
    (5, "dryRun", Texts),
];

const REFERENCE: &[WireField] = &[
    (1, "kind", Text),
    (2, "namespace", Text),
    (3, "name", Text),
    (4, "uid", Text),
    (5, "apiVersion", Text),
    (6, "resourceVersion", Text),
    (7, "fieldPath", Text),
];

const RESOURCE_ATTRIBUTES: &[WireField] = &[
    (1, "namespace", Text),
    (2, "verb", Text),
    (3, "group", Text),
    (4, "version", Text),
    (5, "resource", Text),
    (6, "subresource", Text),
    (7, "name", Text),
];

const LEASE_SPEC: &[WireField] = &[
    (1, "holderIdentity", Text),
    (2, "leaseDurationSeconds", Number),
    (3, "acquireTime", Time),
    (4, "renewTime", Time),
    (5, "leaseTransitions", Number),
];

const EVENT: &[WireField] = &[
    (1, "metadata", Message(META)),
    (2, "involvedObject", Message(REFERENCE)),
    (3, "reason", Text),
    (4, "message", Text),
    (5, "source", Message(&[(1, "component", Text), (2, "host", Text)])),
    (6, "firstTimestamp", Time),
    (7, "lastTimestamp", Time),
    (8, "count", Number),
    (9, "type", Text),
    (10, "eventTime", Time),
    (12, "action", Text),
    (14, "reportingComponent", Text),
    (15, "reportingInstance", Text),
];

fn message(kind: &str) -> Option<&'static [WireField]> {
    Some(match kind {
        "DeleteOptions" => DELETE_OPTIONS,
        "Eviction" => &[(1, "metadata", Message(META)), (2, "deleteOptions", Message(DELETE_OPTIONS))],
        "Binding" => &[(1, "metadata", Message(META)), (2, "target", Message(REFERENCE))],
        "SelfSubjectAccessReview" => &[
            (1, "metadata", Message(META)),
            (
                2,
                "spec",
                Message(&[
                    (1, "resourceAttributes", Message(RESOURCE_ATTRIBUTES)),
                    (2, "nonResourceAttributes", Message(&[(1, "path", Text), (2, "verb", Text)])),
                ]),
            ),
        ],
        "SelfSubjectRulesReview" => &[(1, "metadata", Message(META)), (2, "spec", Message(&[(1, "namespace", Text)]))],
        "SelfSubjectReview" => &[(1, "metadata", Message(META))],
        "Namespace" => &[
            (1, "metadata", Message(META)),
            (2, "spec", Message(&[(1, "finalizers", Texts)])),
            (3, "status", Message(&[(1, "phase", Text)])),
        ],
        "ServiceAccount" => &[(1, "metadata", Message(META))],
        "ConfigMap" => {
            &[(1, "metadata", Message(META)), (2, "data", Pairs), (3, "binaryData", Blobs), (4, "immutable", Flag)]
        }
        "Secret" => &[
            (1, "metadata", Message(META)),
            (2, "data", Blobs),
            (3, "type", Text),
            (4, "stringData", Pairs),
            (5, "immutable", Flag),
        ],
        "Lease" => &[(1, "metadata", Message(META)), (2, "spec", Message(LEASE_SPEC))],
        "Event" => EVENT,
        _ => return None,
    })
}

/// Whether a body is in the envelope.
pub(super) fn is_protobuf(body: &[u8]) -> bool {
    body.starts_with(MAGIC)
}

/// Reads a body as JSON.
///
/// # Errors
/// Says why the body cannot be read.
pub(super) fn to_json(body: &[u8]) -> Result<Value, String> {
    let envelope = body.strip_prefix(MAGIC).ok_or("the body has no Kubernetes protobuf envelope")?;
    let (mut types, mut raw) = (Value::Null, &[][..]);
    for field in MessageReader(envelope) {
        match field? {
            (1, WireType::Bytes(bytes)) => types = read(bytes, &[(1, "apiVersion", Text), (2, "kind", Text)])?,
            (2, WireType::Bytes(bytes)) => raw = bytes,
            _ => {}
        }
    }
    let kind = types["kind"].as_str().unwrap_or_default();
    let Some(fields) = message(kind) else {
        return Err(format!("protobuf bodies of kind `{kind}` are not understood here; send JSON"));
    };
    let mut value = read(raw, fields)?;
    for key in ["apiVersion", "kind"] {
        value[key] = types[key].clone();
    }
    Ok(value)
}

fn read(bytes: &[u8], fields: &[WireField]) -> Result<Value, String> {
    let mut object = Map::new();
    for field in MessageReader(bytes) {
        let (number, wire) = field?;
        let Some((_, name, kind)) = fields.iter().find(|(candidate, ..)| *candidate == number) else { continue };
        let list = |object: &mut Map<String, Value>, item: Value| {
            if let Value::Array(items) = object.entry(*name).or_insert_with(|| json!([])) {
                items.push(item);
            }
        };
        match (*kind, wire) {
            (Text, WireType::Bytes(bytes)) => {
                object.insert((*name).into(), text(bytes)?.into());
            }
            (Number, WireType::Varint(number)) => {
                object.insert((*name).into(), number.cast_signed().into());
            }
            (Flag, WireType::Varint(number)) => {
                object.insert((*name).into(), (number != 0).into());
            }
            (Texts, WireType::Bytes(bytes)) => list(&mut object, text(bytes)?.into()),
            (Messages(inner), WireType::Bytes(bytes)) => list(&mut object, read(bytes, inner)?),
            (Message(inner), WireType::Bytes(bytes)) => {
                object.insert((*name).into(), read(bytes, inner)?);
            }
            (Time, WireType::Bytes(bytes)) => {
                object.insert((*name).into(), time(bytes)?);
            }
            (Pairs | Blobs, WireType::Bytes(bytes)) => {
                let (key, value) = pair(bytes)?;
                let value = if matches!(kind, Blobs) { BASE64_STANDARD.encode(value) } else { text(value)? };
                object.entry(*name).or_insert_with(|| json!({}))[key] = value.into();
            }
            _ => return Err(format!("field {number} ({name}) has an unexpected wire type")),
        }
    }
    Ok(Value::Object(object))
}

fn text(bytes: &[u8]) -> Result<String, String> {
    std::str::from_utf8(bytes).map(str::to_owned).map_err(|error| format!("text that is not UTF-8: {error}"))
}

fn pair(bytes: &[u8]) -> Result<(String, &[u8]), String> {
    let (mut key, mut value) = (String::new(), &[][..]);
    for field in MessageReader(bytes) {
        match field? {
            (1, WireType::Bytes(bytes)) => key = text(bytes)?,
            (2, WireType::Bytes(bytes)) => value = bytes,
            _ => {}
        }
    }
    Ok((key, value))
}

/// An empty message is the zero time, which JSON writes as null.
fn time(bytes: &[u8]) -> Result<Value, String> {
    let (mut secs, mut nanos) = (None, 0);
    for field in MessageReader(bytes) {
        match field? {
            (1, WireType::Varint(number)) => secs = Some(number.cast_signed()),
            (2, WireType::Varint(number)) => nanos = number.cast_signed(),
            _ => {}
        }
    }
    let at = |secs: i64| Timestamp::from_millis(secs.saturating_mul(1000) + nanos / 1_000_000);
    // Go's zero time lies in the year 1.
    Ok(secs.filter(|secs| *secs > -62_135_596_800).map_or(Value::Null, |secs| at(secs).to_rfc3339_micros().into()))
}

enum WireType<'a> {
    Varint(u64),
    Bytes(&'a [u8]),
    /// Fixed-width numbers: none of the messages here has any.
    Other,
}

/// Walks the fields of a message.
struct MessageReader<'a>(&'a [u8]);

impl<'a> MessageReader<'a> {
    fn varint(&mut self) -> Result<u64, String> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let Some((byte, rest)) = self.0.split_first() else { return Err("the message ends early".into()) };
            self.0 = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err("a number of more than 64 bits".into())
    }

    fn bytes(&mut self, length: u64) -> Result<&'a [u8], String> {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let Some((taken, rest)) = self.0.split_at_checked(length) else { return Err("the message ends early".into()) };
        self.0 = rest;
        Ok(taken)
    }

    fn field(&mut self) -> Result<(u64, WireType<'a>), String> {
        let key = self.varint()?;
        let wire = match key & 7 {
            0 => WireType::Varint(self.varint()?),
            1 => self.bytes(8).map(|_| WireType::Other)?,
            2 => {
                let length = self.varint()?;
                WireType::Bytes(self.bytes(length)?)
            }
            5 => self.bytes(4).map(|_| WireType::Other)?,
            other => return Err(format!("wire type {other} is not known")),
        };
        Ok((key >> 3, wire))
    }
}

impl<'a> Iterator for MessageReader<'a> {
    type Item = Result<(u64, WireType<'a>), String>;
    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.0 = &[];
        }
        Some(field)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        let mut field = vec![number << 3 | 2, u8::try_from(bytes.len()).unwrap()];
        field.extend_from_slice(bytes);
        field
    }

    fn envelope(api_version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
        let types = [field(1, api_version.as_bytes()), field(2, kind.as_bytes())].concat();
        [MAGIC.to_vec(), field(1, &types), field(2, raw), field(3, b""), field(4, b"")].concat()
    }

    #[test]
    fn reads_delete_options() {
        let preconditions = [field(1, b"uid-1"), field(2, b"77")].concat();
        let raw = [vec![1 << 3, 0], field(2, &preconditions), field(4, b"Background"), field(5, b"All")].concat();
        let body = envelope("v1", "DeleteOptions", &raw);
        assert!(is_protobuf(&body));
        let want = json!({
            "apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0,
            "preconditions": {"uid": "uid-1", "resourceVersion": "77"},
            "propagationPolicy": "Background", "dryRun": ["All"],
        });
        assert_eq!(to_json(&body), Ok(want));
    }

    #[test]
    fn reads_what_kubectl_auth_can_i_asks() {
        let attributes = [field(1, b"edge"), field(2, b"delete"), field(3, b""), field(5, b"pods")].concat();
        let raw = [field(1, &field(8, b"")), field(2, &field(1, &attributes)), field(3, &[8, 0])].concat();
        let read = to_json(&envelope("authorization.k8s.io/v1", "SelfSubjectAccessReview", &raw)).unwrap();
        assert_eq!(read["metadata"]["creationTimestamp"], Value::Null);
        let want = json!({"namespace": "edge", "verb": "delete", "group": "", "resource": "pods"});
        assert_eq!(read["spec"]["resourceAttributes"], want);
    }

    #[test]
    fn reads_maps_times_and_bytes() {
        let label = [field(1, b"app"), field(2, b"agent")].concat();
        let at = [vec![8], vec![0xb8, 0xdd, 0xc7, 0xc9, 0x06]].concat();
        let meta = [field(1, b"x"), field(11, &label), field(8, &at)].concat();
        let data = [field(1, b"key"), field(2, b"value")].concat();
        let read = to_json(&envelope("v1", "Secret", &[field(1, &meta), field(2, &data)].concat())).unwrap();
        assert_eq!(read["metadata"]["labels"], json!({"app": "agent"}));
        assert!(read["metadata"]["creationTimestamp"].as_str().unwrap().starts_with("2025-"), "{read}");
        assert_eq!(read["data"]["key"], "dmFsdWU=");
    }

    #[test]
    fn refuses_what_it_does_not_know_and_what_is_cut_short() {
        assert!(to_json(&envelope("apps/v1", "Deployment", b"")).unwrap_err().contains("`Deployment`"));
        let body = envelope("v1", "DeleteOptions", &field(4, b"Background"));
        for length in MAGIC.len() + 1..body.len() {
            let _ = to_json(&body[..length]);
        }
        assert!(to_json(&body[..body.len() - 6]).is_err());
    }
}
