//! How the lists and objects of the served kinds merge: the `patchStrategy`, `patchMergeKey` and `listType` of
//! Kubernetes' API types, as far as these kinds use them.
//!
//! ```text
//! OBJECT ─ metadata ─ ownerReferences (by uid), finalizers (set)
//!        ├ spec     ─ template ─ spec ─ containers (by name) ─ env (by name), ports (by containerPort) …
//!        └ status   ─ conditions (by type), addresses (by type) …
//! ```
//!
//! A list that is not in the table is atomic: a patch replaces the whole list, for example tolerations.

/// How a list is merged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ListKind {
    /// A patch replaces the whole list.
    Atomic,
    /// A set of primitives.
    Set,
    /// Objects identified by `merge_key` in strategic merge patches and by all of `apply_keys` in server-side apply.
    Map {
        /// `patchMergeKey`.
        merge_key: &'static str,
        /// `listMapKey`s.
        apply_keys: &'static [&'static str],
    },
}

/// The special fields of one type. A field that is not named here is a plain value, a plain object or an atomic list.
#[derive(Debug)]
pub(super) struct Schema {
    fields: &'static [(&'static str, FieldSchema)],
}

#[derive(Debug)]
enum FieldSchema {
    Object(&'static Schema),
    /// An object that server-side apply treats as one value (`structType: atomic`).
    AtomicObject,
    List(ListKind, &'static Schema),
}

/// The schema of a field that the table does not name.
static PLAIN: Schema = Schema { fields: &[] };

impl Schema {
    /// The schema of the object under `name`, or of the elements of the list under `name`.
    pub(super) fn inner(&self, name: &str) -> &'static Schema {
        match self.find(name) {
            Some(FieldSchema::Object(schema) | FieldSchema::List(_, schema)) => schema,
            Some(FieldSchema::AtomicObject) | None => &PLAIN,
        }
    }

    /// How the list under `name` merges.
    pub(super) fn list(&self, name: &str) -> ListKind {
        match self.find(name) {
            Some(FieldSchema::List(kind, _)) => *kind,
            _ => ListKind::Atomic,
        }
    }

    /// Whether server-side apply treats the object under `name` as one value.
    pub(super) fn is_atomic_object(&self, name: &str) -> bool {
        matches!(self.find(name), Some(FieldSchema::AtomicObject))
    }

    fn find(&self, name: &str) -> Option<&'static FieldSchema> {
        self.fields.iter().find(|(field, _)| *field == name).map(|(_, field)| field)
    }
}

const fn by(merge_key: &'static str, apply_keys: &'static [&'static str], schema: &'static Schema) -> FieldSchema {
    FieldSchema::List(ListKind::Map { merge_key, apply_keys }, schema)
}

/// The schema of an object of any served kind. One table is enough, because the special fields of the kinds do not contradict each other.
pub(super) static OBJECT: Schema = Schema {
    fields: &[
        ("metadata", FieldSchema::Object(&METADATA)),
        ("spec", FieldSchema::Object(&SPEC)),
        ("status", FieldSchema::Object(&STATUS)),
        ("secrets", by("name", &["name"], &PLAIN)),
        ("involvedObject", FieldSchema::AtomicObject),
    ],
};

static METADATA: Schema = Schema {
    fields: &[
        ("ownerReferences", by("uid", &["uid"], &PLAIN)),
        ("finalizers", FieldSchema::List(ListKind::Set, &PLAIN)),
    ],
};

/// The schema of `spec` of pods, nodes, DaemonSets and Leases together; a DaemonSet's template has a pod's `spec` too.
static SPEC: Schema = Schema {
    fields: &[
        ("template", FieldSchema::Object(&TEMPLATE)),
        ("selector", FieldSchema::AtomicObject),
        ("nodeSelector", FieldSchema::AtomicObject),
        ("podCIDRs", FieldSchema::List(ListKind::Set, &PLAIN)),
        ("containers", by("name", &["name"], &CONTAINER)),
        ("initContainers", by("name", &["name"], &CONTAINER)),
        ("ephemeralContainers", by("name", &["name"], &CONTAINER)),
        ("volumes", by("name", &["name"], &PLAIN)),
        ("imagePullSecrets", by("name", &["name"], &PLAIN)),
        ("hostAliases", by("ip", &["ip"], &PLAIN)),
        ("topologySpreadConstraints", by("topologyKey", &["topologyKey", "whenUnsatisfiable"], &PLAIN)),
        ("resourceClaims", by("name", &["name"], &PLAIN)),
        ("schedulingGates", by("name", &["name"], &PLAIN)),
    ],
};

static TEMPLATE: Schema =
    Schema { fields: &[("metadata", FieldSchema::Object(&METADATA)), ("spec", FieldSchema::Object(&SPEC))] };

static CONTAINER: Schema = Schema {
    fields: &[
        ("env", by("name", &["name"], &PLAIN)),
        ("ports", by("containerPort", &["containerPort", "protocol"], &PLAIN)),
        ("volumeMounts", by("mountPath", &["mountPath"], &PLAIN)),
        ("volumeDevices", by("devicePath", &["devicePath"], &PLAIN)),
    ],
};

static STATUS: Schema = Schema {
    fields: &[
        ("conditions", by("type", &["type"], &PLAIN)),
        ("addresses", by("type", &["type"], &PLAIN)),
        ("podIPs", by("ip", &["ip"], &PLAIN)),
        ("hostIPs", by("ip", &["ip"], &PLAIN)),
    ],
};
