//! Partial types: they contain only the fields that rules read, borrowed from the line on which the object came.
//!
//! A typed Pod takes 96 KB of heap. A partial Pod takes none until it becomes a fact of a few hundred bytes. An [`Interner`]
//! shares strings that repeat over a fleet (node names, revision hashes, images, label keys and values).
//!
//! A field that is `null` or missing on the wire is absent here. Objects are not validated, because that is the API server's
//! task: a field whose type changes in a future version must not make all objects of a kind unreadable. Single objects (the
//! DaemonSet, its revisions, the Lease) are read from `serde_json::Value`, because parts of them are kept verbatim.

mod daemonset;
mod event;
mod fleet_revision;
mod inspection;
mod lease;
mod node;
mod occupancy;
mod pod;
mod revision;

#[cfg(test)]
mod hostile;

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

pub use daemonset::PartialDaemonSet;
pub(super) use daemonset::{FleetWire, daemonset_fact};
pub(super) use event::{EventWire, REVISION_KIND, SOURCE};
pub(super) use fleet_revision::FleetRevisionWire;
pub use fleet_revision::PartialRevision;
pub(super) use inspection::{node_inspection, pod_events, pod_inspection};
pub(super) use lease::{lease_fact, lease_object, set_owner};
pub(super) use node::{NodeWire, Wanted};
pub(super) use occupancy::{lacking, node_occupancy};
pub(super) use pod::PodWire;
pub(super) use revision::revision_fact;

use super::clip::{clip, clip_name};
use crate::engine::model::Str;
use crate::engine::model::time::Timestamp;

/// A string of the wire, borrowed unless it contained escapes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Text<'a>(Cow<'a, str>);

impl std::ops::Deref for Text<'_> {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

/// A derived `Cow` would copy inside an `Option`.
impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Borrowed;
        impl<'de> Visitor<'de> for Borrowed {
            type Value = Text<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Borrowed(text)))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
            fn visit_string<E: de::Error>(self, text: String) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(text)))
            }
        }
        deserializer.deserialize_str(Borrowed)
    }
}

/// A number of the wire, brought into the range of `T`: too small numbers become the smallest `T`, too large ones the
/// largest, and a fraction is cut off. A value that is not a number cannot be read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(super) struct Clamped<T>(pub(super) T);

macro_rules! clamped {
    ($($number:ty),*) => {$(
        impl<'de> Deserialize<'de> for Clamped<$number> {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let number = deserializer.deserialize_any(AnyNumber)?;
                let out_of_range = if number < 0 { <$number>::MIN } else { <$number>::MAX };
                Ok(Self(<$number>::try_from(number).unwrap_or(out_of_range)))
            }
        }
    )*};
}

clamped!(i32, u32, u64);

/// Reads a number of any type.
struct AnyNumber;

impl Visitor<'_> for AnyNumber {
    type Value = i128;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number")
    }
    fn visit_u64<E: de::Error>(self, number: u64) -> Result<i128, E> {
        Ok(number.into())
    }
    fn visit_i64<E: de::Error>(self, number: i64) -> Result<i128, E> {
        Ok(number.into())
    }
    #[expect(clippy::cast_possible_truncation, reason = "this cast stays within the range of its type")]
    fn visit_f64<E: de::Error>(self, number: f64) -> Result<i128, E> {
        Ok(number as i128)
    }
}

/// The metadata of an object of which there are many.
#[derive(Deserialize, Default, Debug)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct MetaWire<'a> {
    #[serde(borrow)]
    pub(super) name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) namespace: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) uid: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) resource_version: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) creation_timestamp: Option<Text<'a>>,
}

impl MetaWire<'_> {
    pub(super) fn version(&self) -> &str {
        text(&self.resource_version)
    }
}

/// `text`, or the empty string.
pub(super) fn text<'a>(text: &'a Option<Text<'_>>) -> &'a str {
    text.as_deref().unwrap_or_default()
}

/// A text for people in at most `limit` bytes; `None` if it is empty.
pub(super) fn words(text: &Option<Text<'_>>, limit: usize) -> Option<Str> {
    text.as_deref().map(|text| clip(text, limit)).filter(|text| !text.is_empty()).map(Str::from)
}

/// `text` as an instant; `None` if it is not one.
pub(super) fn instant(text: &Option<Text<'_>>) -> Option<Timestamp> {
    Timestamp::parse(text.as_deref()?).ok()
}

/// The part of `object` at `pointer`, taken out of it; `null` when there is none.
fn take(object: &mut Value, pointer: &str) -> Value {
    object.pointer_mut(pointer).map(Value::take).unwrap_or_default()
}

/// A text for people in `value`, in at most `limit` bytes; `None` if it is empty.
fn words_of(value: &Value, limit: usize) -> Option<Str> {
    value.as_str().map(|text| clip(text, limit)).filter(|text| !text.is_empty()).map(Str::from)
}

/// The name of a process or of an object in `value`, if there is one.
fn name_of(value: &Value) -> Option<Str> {
    value.as_str().filter(|name| !name.is_empty()).map(|name| Str::from(clip_name(name)))
}

/// The string in `value`; `None` if it is empty.
fn str_of(value: &Value) -> Option<Str> {
    value.as_str().filter(|text| !text.is_empty()).map(Str::from)
}

fn instant_of(value: &Value) -> Option<Timestamp> {
    Timestamp::parse(value.as_str()?).ok()
}

fn count_of(value: &Value) -> u32 {
    value.as_u64().and_then(|count| u32::try_from(count).ok()).unwrap_or(0)
}

/// The uid of the owner that controls an object.
fn controller_of(metadata: &Value) -> Option<Str> {
    let owners = metadata["ownerReferences"].as_array()?;
    owners.iter().find(|owner| owner["controller"] == true).and_then(|owner| str_of(&owner["uid"]))
}

/// Strings that repeat over a fleet, each stored once.
#[derive(Debug, Default)]
pub(super) struct Interner {
    known: HashSet<Str>,
    sweep_at: usize,
}

impl Interner {
    /// The shared string with the content of `text`.
    pub(super) fn intern(&mut self, text: &str) -> Str {
        if let Some(known) = self.known.get(text) {
            return known.clone();
        }
        if self.known.len() >= self.sweep_at.max(1_024) {
            // Strings that no fact uses any more are dropped, as nodes come and go.
            self.known.retain(|known| Arc::strong_count(known) > 1);
            self.sweep_at = self.known.len() * 2;
        }
        let new = Str::from(text);
        self.known.insert(new.clone());
        new
    }

    /// How many strings it holds.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.known.len()
    }

    /// As [`Interner::intern`], for a text for people: in at most `limit` bytes.
    pub(super) fn words(&mut self, text: &str, limit: usize) -> Str {
        self.intern(&clip(text, limit))
    }

    /// As [`Interner::words`]; `None` if there is no text.
    pub(super) fn optional_words(&mut self, text: &Option<Text<'_>>, limit: usize) -> Option<Str> {
        let words = clip(text.as_deref()?, limit);
        (!words.is_empty()).then(|| self.intern(&words))
    }

    /// As [`Interner::intern`]; `None` if there is no text.
    pub(super) fn option(&mut self, text: &Option<Text<'_>>) -> Option<Str> {
        let text = text.as_deref().filter(|text| !text.is_empty())?;
        Some(self.intern(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn borrows_what_has_no_escapes() {
        let meta: MetaWire<'_> = serde_json::from_str(r#"{"name":"a","uid":"b\n","namespace":null,"x":{}}"#).unwrap();
        assert!(matches!(meta.name, Some(Text(Cow::Borrowed("a")))));
        assert_eq!(text(&meta.uid), "b\n");
        assert_eq!(meta.namespace, None);
    }

    #[test]
    fn a_number_out_of_range_is_brought_into_it() {
        let count = |text: &str| serde_json::from_str::<Clamped<u32>>(text).map(|Clamped(number)| number).ok();
        assert_eq!(["7", "-1", "4294967296", "2.9", "-1e99"].map(count), [7, 0, u32::MAX, 2, 0].map(Some));
        assert_eq!(["\"7\"", "true", "{}"].map(count), [None; 3], "no number");
        assert_eq!(serde_json::from_str::<Clamped<u64>>("99999999999999999999").unwrap(), Clamped(u64::MAX));
        assert_eq!(serde_json::from_str::<Clamped<i32>>("-3000000000").unwrap(), Clamped(i32::MIN));
    }

    #[test]
    fn an_interner_shares_and_forgets() {
        let mut interner = Interner::default();
        let kept = interner.intern("kept");
        assert!(Arc::ptr_eq(&kept, &interner.intern("kept")));
        for nth in 0..5_000 {
            interner.intern(&format!("passing-{nth}"));
        }
        assert!(interner.known.len() < 2_100, "{}", interner.known.len());
        assert!(Arc::ptr_eq(&kept, &interner.intern("kept")));
    }
}
