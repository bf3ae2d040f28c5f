//! The ways of rolling out that are compared.

use std::fmt;

use crate::engine::model::quantity::IntOrPercent;

/// A way of rolling out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    /// The DaemonSet controller by itself, with this `maxUnavailable`.
    RollingUpdate(IntOrPercent),
    /// `OnDelete`: somebody deletes so many pods, and the next ones as soon as their successors are ready.
    OnDelete(usize),
    /// A StatefulSet of one pod per node, which are made one after the other, pulls the image; then a `RollingUpdate` with
    /// this `maxUnavailable`.
    StatefulSet(IntOrPercent),
    /// rolldeck with its default settings; all nodes are allowed at once.
    Rolldeck,
    /// The same, but rolldeck pre-warms all nodes, so many of each site at once, and updates a node only once it has its image.
    Prewarmed(u32),
    /// The same with so many at most, and `--pace auto`: each site begins with one, and has more as long as its link bears them.
    Paced(u32),
}

impl Method {
    /// All that are compared.
    pub const ALL: [Self; 7] = [
        Self::RollingUpdate(IntOrPercent::Int(2)),
        Self::RollingUpdate(IntOrPercent::Percent(10)),
        Self::OnDelete(10),
        Self::StatefulSet(IntOrPercent::Int(2)),
        Self::Rolldeck,
        Self::Prewarmed(2),
        Self::Paced(10),
    ];
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RollingUpdate(limit) => write!(f, "RollingUpdate, maxUnavailable {limit}"),
            Self::OnDelete(batch) => write!(f, "OnDelete, {batch} pods at a time by hand"),
            Self::StatefulSet(limit) => write!(f, "StatefulSet pulls, then RollingUpdate {limit}"),
            Self::Rolldeck => write!(f, "rolldeck, default settings"),
            Self::Prewarmed(at_once) => write!(f, "rolldeck pre-warms {at_once} per site, with gate"),
            Self::Paced(at_most) => write!(f, "rolldeck, pace auto, {at_most} per site at most"),
        }
    }
}
