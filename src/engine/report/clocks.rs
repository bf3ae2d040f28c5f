//! The words about clocks that differ.

use std::sync::Arc;

use std::fmt;

use super::snapshot::{NodeView, Snapshot};
use crate::engine::model::clocks::{ClockOff, NodeClocks};
use crate::engine::rules::clocks::NOTABLE_MILLIS;

impl NodeClocks {
    pub(crate) fn of(nodes: &[Arc<NodeView>]) -> Self {
        let mut clocks = Self::default();
        for node in nodes {
            clocks.counted_unavailable += u32::from(node.counted_unavailable_until.is_some());
            let Some(millis) = node.notable_clock() else { continue };
            clocks.off += 1;
            if clocks.worst.as_ref().is_none_or(|(_, worst)| worst.saturating_abs() < millis.saturating_abs()) {
                clocks.worst = Some((node.name.clone(), millis));
            }
        }
        clocks
    }
}

impl NodeView {
    /// By how many milliseconds the node's clock is off, if that is enough to be shown.
    pub fn notable_clock(&self) -> Option<i64> {
        self.clock_skew_millis.filter(|millis| millis.saturating_abs() >= NOTABLE_MILLIS)
    }
}

/// The API server's clock and ours are shown to differ from this difference on. It is smaller than that for nodes, as it is measured better.
pub const NOTABLE_HERE_MILLIS: i64 = 2_000;

/// The words about clocks that differ; empty where they agree.
#[derive(Clone, Copy, Debug)]
pub struct Clocks<'a>(&'a Snapshot);

impl Snapshot {
    /// The words about clocks that differ: `clock here 3m behind the API server's; clock of ipc-7 5m ahead`. Empty where they agree.
    pub fn clocks(&self) -> Clocks<'_> {
        Clocks(self)
    }

    /// Our clock minus the API server's, in milliseconds, if that is enough to be shown.
    pub fn notable_clock_here(&self) -> Option<i64> {
        let here = self.skew_millis.map(i64::saturating_neg);
        here.filter(|millis| millis.saturating_abs() >= NOTABLE_HERE_MILLIS)
    }
}

impl Clocks<'_> {
    /// Whether no clock differs enough to be shown.
    pub fn is_empty(self) -> bool {
        self.0.notable_clock_here().is_none() && self.0.node_clocks.worst.is_none()
    }
}

impl fmt::Display for Clocks<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NodeClocks { off, worst, counted_unavailable } = &self.0.node_clocks;
        let mut gap = "";
        if let Some(millis) = self.0.notable_clock_here() {
            let of = if millis < 0 { "" } else { " of" };
            write!(f, "clock here {}{of} the API server's", ClockOff(millis))?;
            gap = "; ";
        }
        if let Some((node, millis)) = worst {
            match off {
                1 => write!(f, "{gap}clock of {node} {}", ClockOff(*millis))?,
                off => write!(f, "{gap}clocks of {off} nodes off, {node} {}", ClockOff(*millis))?,
            }
            gap = "; ";
        }
        match counted_unavailable {
            0 => Ok(()),
            1 => write!(f, "{gap}its controller counts 1 available pod as unavailable"),
            counted_unavailable => {
                write!(f, "{gap}its controller counts {counted_unavailable} available pods as unavailable")
            }
        }
    }
}
