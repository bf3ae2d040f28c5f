//! Writes JSON straight into bytes, so that a list of 15,000 objects needs no tree of values in between.

use serde::Serialize;
use serde_json::Value;

/// A JSON object that is being written.
pub(super) struct ObjectWriter<'a> {
    out: &'a mut Vec<u8>,
    first: bool,
}

/// Writes one object.
pub(super) fn object(out: &mut Vec<u8>, write: impl FnOnce(&mut ObjectWriter<'_>)) {
    out.push(b'{');
    write(&mut ObjectWriter { out, first: true });
    out.push(b'}');
}

/// Writes any value.
pub(super) fn value(out: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) {
    let start = out.len();
    if serde_json::to_writer(&mut *out, value).is_err() {
        // This fails only for maps whose keys are no strings, and there are none here. A half-written value must not stay in the bytes.
        out.truncate(start);
        out.extend_from_slice(b"null");
    }
}

impl ObjectWriter<'_> {
    fn key(&mut self, key: &str) {
        if !std::mem::replace(&mut self.first, false) {
            self.out.push(b',');
        }
        value(self.out, key);
        self.out.push(b':');
    }

    /// Writes a field.
    pub(super) fn put(&mut self, key: &str, field: &(impl Serialize + ?Sized)) {
        self.key(key);
        value(self.out, field);
    }

    /// Writes a field that is text; leaves it out when empty.
    pub(super) fn put_text(&mut self, key: &str, text: &str) {
        if !text.is_empty() {
            self.put(key, text);
        }
    }

    /// Writes a field, if there is a value for it.
    pub(super) fn put_some(&mut self, key: &str, field: Option<impl Serialize>) {
        if let Some(field) = field {
            self.put(key, &field);
        }
    }

    /// Writes JSON text as a field.
    pub(super) fn put_raw(&mut self, key: &str, json: &[u8]) {
        self.key(key);
        self.out.extend_from_slice(json);
    }

    /// Writes an object as a field.
    pub(super) fn object(&mut self, key: &str, write: impl FnOnce(&mut ObjectWriter<'_>)) {
        self.key(key);
        object(self.out, write);
    }

    /// Writes a list of objects as a field; leaves it out when empty.
    pub(super) fn objects<T>(
        &mut self,
        key: &str,
        items: impl IntoIterator<Item = T>,
        mut write: impl FnMut(T, &mut ObjectWriter<'_>),
    ) {
        let mut items = items.into_iter().peekable();
        if items.peek().is_none() {
            return;
        }
        self.key(key);
        self.out.push(b'[');
        let mut first = true;
        for item in items {
            if !std::mem::replace(&mut first, false) {
                self.out.push(b',');
            }
            object(self.out, |object| write(item, object));
        }
        self.out.push(b']');
    }

    /// Writes all pairs as an object; leaves it out when there is none.
    pub(super) fn pairs<'p>(&mut self, key: &str, pairs: impl IntoIterator<Item = (&'p str, &'p str)>) {
        let mut pairs = pairs.into_iter().peekable();
        if pairs.peek().is_some() {
            self.object(key, |object| pairs.for_each(|(key, value)| object.put(key, value)));
        }
    }

    /// Writes all fields of `rest`, when it is an object.
    pub(super) fn spread(&mut self, rest: &Value) {
        for (key, field) in rest.as_object().into_iter().flatten() {
            self.put(key, field);
        }
    }
}
