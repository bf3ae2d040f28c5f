//! The ways of rolling out that are compared.

use std::fmt;

use crate::engine::model::quantity::IntOrPercent;

/// A way of rolling out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    /// The DaemonSet controller by itself, with this `maxUnavailable`.
    RollingUpdate(IntOrPercent),
    /// `OnDelete`: an operator deletes this many pods, and the next ones as soon as their successors are ready.
    OnDelete(usize),
    /// A StatefulSet of one pod per node pulls the image, one pod after the other; then follows a `RollingUpdate` with this `maxUnavailable`.
    StatefulSet(IntOrPercent),
    /// rolldeck with its default settings; all nodes are allowed at once.
    Rolldeck,
    /// rolldeck pre-warms all nodes, at most this many of each site at once, and updates a node only once it has its image.
    Prewarmed(u32),
    /// As `Prewarmed`, with `--pace auto`: each site begins with one pull at once, and has more, up to this many, as long as its link bears them.
    Paced(u32),
}

impl Method {
    /// All methods that are compared.
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
