//! Reads the fields of JSON objects. A field of the wrong shape is refused with an error that names it, as by the API server's
//! decoder.

use serde_json::{Map, Value};

use crate::engine::model::Str;
use crate::engine::model::labels::Labels;
use crate::engine::model::time::Timestamp;
use crate::sim::world::kind::Kind;

use super::super::status::{Answer, ApiRefusal};

/// The fields of one JSON object, taken out one by one. Nulls count as absent; the fields that nobody took are the rest.
pub(super) struct FieldReader {
    pub(super) map: Map<String, Value>,
    kind: Kind,
    path: String,
}

impl FieldReader {
    pub(super) fn new(value: Value, kind: Kind, path: String) -> Answer<Self> {
        match value {
            Value::Object(map) => Ok(Self { map, kind, path }),
            Value::Null => Ok(Self { map: Map::new(), kind, path }),
            other => Err(mismatch(kind, &path, &other, "an object")),
        }
    }

    fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    pub(super) fn take(&mut self, key: &str) -> Option<Value> {
        self.map.remove(key).filter(|value| !value.is_null())
    }

    pub(super) fn with<T>(
        &mut self,
        key: &str,
        what: &str,
        read: impl FnOnce(&Value) -> Option<T>,
    ) -> Answer<Option<T>> {
        let Some(value) = self.take(key) else { return Ok(None) };
        match read(&value) {
            Some(read) => Ok(Some(read)),
            None => Err(mismatch(self.kind, &self.path_of(key), &value, what)),
        }
    }

    pub(super) fn text(&mut self, key: &str) -> Answer<Option<Str>> {
        self.with(key, "a string", |value| value.as_str().map(Str::from))
    }

    pub(super) fn flag(&mut self, key: &str) -> Answer<bool> {
        Ok(self.with(key, "true or false", Value::as_bool)?.unwrap_or_default())
    }

    pub(super) fn integer(&mut self, key: &str) -> Answer<Option<i64>> {
        self.with(key, "an integer", Value::as_i64)
    }

    pub(super) fn count(&mut self, key: &str) -> Answer<Option<u32>> {
        self.with(key, "an integer of at least 0", |value| u32::try_from(value.as_u64()?).ok())
    }

    pub(super) fn time(&mut self, key: &str) -> Answer<Option<Timestamp>> {
        self.with(key, "an RFC 3339 time", |value| Timestamp::parse(value.as_str()?).ok())
    }

    pub(super) fn object(&mut self, key: &str) -> Answer<Self> {
        let value = self.take(key).unwrap_or_default();
        Self::new(value, self.kind, self.path_of(key))
    }

    pub(super) fn list(&mut self, key: &str) -> Answer<Vec<Self>> {
        let path = self.path_of(key);
        let items = match self.take(key) {
            None => Vec::new(),
            Some(Value::Array(items)) => items,
            Some(other) => return Err(mismatch(self.kind, &path, &other, "a list")),
        };
        items.into_iter().enumerate().map(|(at, item)| Self::new(item, self.kind, format!("{path}[{at}]"))).collect()
    }

    pub(super) fn texts(&mut self, key: &str) -> Answer<Vec<Str>> {
        let texts = self.with(key, "a list of strings", |value| {
            value.as_array()?.iter().map(|item| item.as_str().map(Str::from)).collect()
        })?;
        Ok(texts.unwrap_or_default())
    }

    pub(super) fn pairs(&mut self, key: &str) -> Answer<Labels> {
        let pairs = self.with(key, "an object of strings", |value| {
            let pairs = value.as_object()?.iter();
            pairs.map(|(key, value)| Some((Str::from(key.as_str()), Str::from(value.as_str()?)))).collect()
        })?;
        Ok(pairs.unwrap_or_default())
    }

    /// The fields that were not taken, without nulls.
    pub(super) fn rest(self) -> Value {
        let left: Map<_, _> = self.map.into_iter().filter(|(_, value)| !value.is_null()).collect();
        if left.is_empty() { Value::Null } else { Value::Object(left) }
    }
}

fn mismatch(kind: Kind, path: &str, value: &Value, want: &str) -> ApiRefusal {
    let words = kind.words();
    let place = if path.is_empty() { "the body" } else { path };
    let shown: String = value.to_string().chars().take(80).collect();
    ApiRefusal::bad_request(format!(
        "{} in version \"{}\" cannot be handled as a {}: json: cannot unmarshal {shown} at {place}, which is {want}",
        words.kind, words.version, words.kind
    ))
}
