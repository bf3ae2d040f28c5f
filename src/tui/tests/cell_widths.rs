//! The columns of the list of nodes are as wide as what they can show: every value of a column is gone through, so that none is cut.

use std::time::Duration;

use super::fixtures::{ago, node, noon, running};
use crate::engine::model::cause::{Cause, CauseKind};
use crate::engine::model::node::{Blame, ImageState, NodeState};
use crate::engine::model::prewarm::{PrewarmState, PrewarmWait};
use crate::engine::model::pull::{PeerScope, UsualPull};
use crate::engine::model::time::ShortDuration;
use crate::engine::report::snapshot::pull_words::PullEstimate;
use crate::engine::report::snapshot::{NodeView, Snapshot};
use crate::tui::columns::nodes::{NODE_COLUMNS, NodeCell, NodeTable};
use crate::tui::columns::widths;
use crate::tui::words::width;

/// Every state of an image: the compiler asks for a new one here.
fn image_states() -> Vec<ImageState> {
    let next = |state: ImageState| match state {
        ImageState::Unknown => Some(ImageState::Present),
        ImageState::Present => Some(ImageState::Pulling { since: ago(200) }),
        ImageState::Pulling { .. } => Some(ImageState::Failed),
        ImageState::Failed => Some(ImageState::Absent),
        ImageState::Absent => None,
    };
    std::iter::successors(Some(ImageState::Unknown), |state| next(*state)).collect()
}

/// Every state of pre-warming: the compiler asks for a new one here.
fn prewarm_states() -> Vec<PrewarmState> {
    let failed = || PrewarmState::Failed {
        cause: Cause { kind: CauseKind::ImageNotFound, container: None, message: None },
        times: 1,
        again_at: None,
    };
    let next = |state: &PrewarmState| match state {
        PrewarmState::Waiting(_) => Some(PrewarmState::Queued),
        PrewarmState::Queued => Some(PrewarmState::Silent { since: ago(20) }),
        PrewarmState::Silent { .. } => Some(PrewarmState::Pulling { since: ago(20) }),
        PrewarmState::Pulling { .. } => Some(PrewarmState::Present),
        PrewarmState::Present => Some(failed()),
        PrewarmState::Failed { .. } => None,
    };
    std::iter::successors(Some(PrewarmState::Waiting(PrewarmWait::Next)), next).collect()
}

/// Pulls that take as long as half of them do, a little longer, and up to a day instead of two seconds.
fn estimates(usual: UsualPull) -> impl Iterator<Item = String> {
    let elapsed = [0, 1, 30, 59, 61, 90, 600, 3_600, 86_400];
    elapsed.into_iter().map(move |secs| PullEstimate { elapsed: Duration::from_secs(secs), usual }.short())
}

/// What a cell can show, in cells.
fn widest(cell: NodeCell) -> usize {
    match cell {
        NodeCell::Text(text) => width(&text),
        NodeCell::Sign(_, words) if words.is_empty() => 1,
        NodeCell::Sign(_, words) => 2 + width(&words),
        NodeCell::Estimate(_, _, usual) => estimates(usual).map(|words| 2 + width(&words)).max().unwrap_or(0),
        NodeCell::Age(since) => width(&ShortDuration(noon().since(since)).to_string()),
        NodeCell::Why => 0,
    }
}

/// No value of this column is cut, however wide the terminal is.
fn nothing_is_cut(name: &str, views: &[NodeView], table: &NodeTable) {
    let at = NODE_COLUMNS.iter().position(|column| column.name == name).unwrap();
    let mut shown = Vec::new();
    for terminal in 40..=240 {
        let cells = widths(NODE_COLUMNS, table, terminal)[at];
        for view in views.iter().filter(|_| cells > 0) {
            let (cell, _) = (NODE_COLUMNS[at].cell)(view, table, cells);
            let needed = widest(cell);
            assert!(needed <= cells, "{name}: {needed} cells in {cells}, {:?} {:?}", view.state, view.image);
        }
        shown.push(cells);
    }
    assert!(shown.iter().any(|cells| *cells > 0));
}

#[test]
fn every_state_of_a_node_fits_its_column() {
    let blames = [None, Some(Blame::Suspect), Some(Blame::Rollout)];
    let view = |state: NodeState, blame: Option<Blame>| NodeView { state, blame, ..node("ipc-001") };
    let views: Vec<NodeView> =
        NodeState::ALL.into_iter().flat_map(|state| blames.map(|blame| view(state, blame))).collect();
    for view in views {
        let table = NodeTable::of(&Snapshot { nodes: [view.clone()].into_iter().collect(), ..running() });
        nothing_is_cut("state", &[view], &table);
    }
}

#[test]
fn every_state_of_an_image_fits_its_column() {
    let median = Duration::from_secs(2);
    let usual = UsualPull { median, quartiles: (median, median), peers: 9, scope: PeerScope::Fleet };
    let mut views = Vec::new();
    for image in image_states() {
        for prewarm in prewarm_states().into_iter().map(Some).chain([None]) {
            let prewarm = prewarm.map(Into::into);
            let view = NodeView { image, prewarm, ..node("ipc-001") };
            views.push(NodeView { usual_pull: Some(usual.into()), ..view.clone() });
            views.push(view);
        }
    }
    nothing_is_cut("image", &views, &NodeTable::of(&running()));
    nothing_is_cut("image", &views, &NodeTable::of(&super::pull_states::snapshot()));
}

#[test]
fn every_age_fits_its_column() {
    let days = |days: u64| Duration::from_secs(days * 86_400);
    let ages = (0..200_000).step_by(997).map(Duration::from_secs).chain((0..4_000).step_by(37).map(days));
    for age in ages.chain([days(999), days(1_000), days(10_000)]) {
        let view = NodeView { since: Some(noon() - age), ..node("ipc-001") };
        let table = NodeTable::of(&Snapshot { at: noon(), nodes: [view.clone()].into_iter().collect(), ..running() });
        nothing_is_cut("since", &[view], &table);
    }
}
