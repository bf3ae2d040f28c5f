//! Fields of a record that this version does not know. A newer rolldeck wrote them, and this version keeps them when it writes the
//! record.
//!
//! They are kept as they were read, each with the object that it belongs to. A field of the record itself, of the intent, of the
//! progress or of a group of settings stays there, whatever becomes of the fields beside it. A field of an event (a pause, a request,
//! a halt) is dropped together with the event, so that it is not taken for a part of the next event.

use serde_json::{Map, Value};

/// Objects that exist once, for as long as the record exists.
const LASTING: [&[&str]; 6] =
    [&[], &["intent"], &["progress"], &["intent", "budgets"], &["intent", "gates"], &["progress", "drifts"]];
/// Fields that older versions wrote and no version writes any more, by the object they were in. They are dropped: an older
/// version that still reads them would take the outdated value for the present one.
const RETIRED: [(&[&str], &str); 1] = [(&["intent"], "direction")];
/// Field with the time of an event. It tells the event from the next one in the same place.
const AT: &str = "at";

/// All fields of one record that this rolldeck does not know.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct UnknownFields(Vec<UnknownField>);

/// One unknown field, as it was read.
#[derive(Clone, PartialEq, Debug)]
struct UnknownField {
    /// The object it belongs to, by the names on the way to it.
    parent: Vec<String>,
    name: String,
    value: Value,
    /// When the event happened to which the field belongs; `None` in an object that lasts.
    at: Option<Value>,
}

impl UnknownFields {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The fields that `read` has and `known` lacks. `known` is the same record with only the fields that we know.
    ///
    /// A known field is also among them if we leave it out because it says nothing, and `read` spells it out. That does no harm,
    /// because a field of our own always takes precedence.
    pub(super) fn of(read: &Value, known: &Value) -> Self {
        let mut fields = Self::default();
        if let (Value::Object(read), Value::Object(known)) = (read, known) {
            fields.collect(&mut Vec::new(), read, known);
        }
        fields
    }

    fn collect(&mut self, parent: &mut Vec<String>, read: &Map<String, Value>, known: &Map<String, Value>) {
        for (name, value) in read {
            match (known.get(name), value) {
                (Some(Value::Object(known)), Value::Object(read)) => {
                    parent.push(name.clone());
                    self.collect(parent, read, known);
                    parent.pop();
                }
                (Some(_), _) => {}
                _ if RETIRED.iter().any(|(of, retired)| *of == parent.as_slice() && retired == name) => {}
                (None, value) => {
                    let lasts = LASTING.iter().any(|lasting| *lasting == parent.as_slice());
                    let at = if lasts { None } else { known.get(AT).cloned() };
                    self.0.push(UnknownField { parent: parent.clone(), name: name.clone(), value: value.clone(), at });
                }
            }
        }
    }

    /// How many bytes they take.
    pub(super) fn size(&self) -> usize {
        let bytes = |field: &UnknownField| field.name.len() + super::size::bytes_of(&field.value) + 4;
        self.0.iter().map(bytes).sum()
    }

    /// Puts the fields back into their objects, as far as these are still there.
    pub(super) fn put_into(&self, record: &mut Value) {
        for field in &self.0 {
            let mut object = Some(&mut *record);
            for name in &field.parent {
                object = object.and_then(|object| object.get_mut(name));
            }
            let Some(object) = object.and_then(Value::as_object_mut) else { continue };
            if field.at.is_none() || field.at.as_ref() == object.get(AT) {
                object.entry(field.name.clone()).or_insert_with(|| field.value.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::super::{By, Halt, HaltingGate, IntOrPercent, Paused, Record};
    use super::*;
    use crate::engine::model::Str;
    use crate::engine::model::settings::Limit;
    use crate::engine::model::time::Timestamp;

    fn record() -> Record {
        let at = Timestamp::from_millis(1_800_000_000_000);
        let mut record = Record { version: Record::VERSION, ..Record::default() };
        record.daemonset_uid = Some("uid".into());
        record.intent.paused = Some(Paused::new("ops".into(), at, Some("lunch".into())));
        record.intent.budgets.max_unavailable = Limit::At(IntOrPercent::Int(3));
        record.progress.in_progress.insert("n1".into());
        record.progress.halt =
            Some(Halt::new(1, HaltingGate::default(), at, "image not found".into()).on(vec!["n1".into()]));
        record.progress.drifts.lately.push(at);
        record
    }

    /// What this rolldeck reads, edits and writes, as JSON.
    fn rewritten(text: &str, edit: impl FnOnce(&mut Record)) -> Value {
        let mut record = Record::parse(text).unwrap();
        edit(&mut record);
        serde_json::to_value(&record).unwrap()
    }

    fn edit(record: &mut Record) {
        record.intent.partition = IntOrPercent::Int(7);
        record.intent.gates.max_restarts = 9;
        record.intent.releasing = Some(By { by: "eve".into(), at: Timestamp::default() });
        record.progress.in_progress = [Str::from("n2")].into();
        record.write_ids.push("00c0ffee".into());
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "\\PC{0,12}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 16, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::btree_map("[a-z]{1,6}", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    /// An object of the record by a JSON pointer, and a field that a newer rolldeck may have put into it.
    fn field() -> impl Strategy<Value = (&'static str, String, Value)> {
        let parent = proptest::sample::select(vec![
            "",
            "/intent",
            "/progress",
            "/intent/budgets",
            "/intent/gates",
            "/intent/paused",
            "/progress/halt",
            "/progress/drifts",
        ]);
        // No field of ours begins like this.
        (parent, "new[A-Za-z]{1,8}", value())
    }

    proptest! {
        #[test]
        fn what_a_newer_rolldeck_wrote_survives_an_edit(fields in proptest::collection::vec(field(), 1..8)) {
            let mut newer = serde_json::to_value(record()).unwrap();
            for (parent, name, value) in &fields {
                newer.pointer_mut(parent).unwrap()[name] = value.clone();
            }
            let written = rewritten(&newer.to_string(), edit);
            for (parent, name, _) in &fields {
                let field = |record: &Value| record.pointer(parent).unwrap().get(name).cloned();
                prop_assert_eq!(field(&written), field(&newer), "{}/{}", parent, name);
            }
            // And what was edited is written.
            prop_assert_eq!(&written["intent"]["partition"], &json!(7));
            prop_assert_eq!(&written["progress"]["inProgress"], &json!(["n2"]));
            // Nothing is lost however often it is rewritten.
            prop_assert_eq!(rewritten(&written.to_string(), |_| {}), written);
        }
    }

    #[test]
    fn what_was_said_of_one_pause_is_not_said_of_the_next() {
        let mut newer = serde_json::to_value(record()).unwrap();
        newer["intent"]["paused"]["until"] = json!("tomorrow");
        newer["intent"]["quorum"] = json!(2);
        let text = newer.to_string();
        let resumed = rewritten(&text, |record| record.intent.paused = None);
        assert_eq!((resumed["intent"].get("paused"), &resumed["intent"]["quorum"]), (None, &json!(2)));
        let again = Paused::new("ops".into(), Timestamp::default(), None);
        let paused = rewritten(&text, |record| record.intent.paused = Some(again));
        assert_eq!(paused["intent"]["paused"].get("until"), None);
        assert_eq!(paused["intent"]["quorum"], 2);
    }

    /// `direction` was a mode of its own once: "back" switched the gates off.
    #[test]
    fn what_an_older_rolldeck_wrote_and_none_writes_any_more_is_dropped() {
        let written = rewritten(r#"{"version":1,"intent":{"direction":"back","quorum":2}}"#, |_| {});
        assert_eq!((written["intent"].get("direction"), &written["intent"]["quorum"]), (None, &json!(2)));
    }

    #[test]
    fn what_we_know_and_leave_out_is_no_secret_of_a_newer_rolldeck() {
        let spelt_out =
            r#"{"version":1,"intent":{"paused":null,"selector":null},"progress":{"inProgress":[]},"writeIds":[]}"#;
        let at = Timestamp::default();
        let written = rewritten(spelt_out, |record| {
            record.intent.paused = Some(Paused::new("ops".into(), at, None));
            record.progress.in_progress.insert("n1".into());
        });
        assert_eq!(written["intent"]["paused"]["by"], "ops");
        assert_eq!(written["progress"]["inProgress"], json!(["n1"]));
    }
}
