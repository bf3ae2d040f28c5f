//! The reference to a DaemonSet.

use crate::engine::model::Str;

/// A DaemonSet's namespace and name.
#[derive(Clone, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub(crate) struct DaemonSetRef {
    pub(crate) namespace: Str,
    pub(crate) name: Str,
}
