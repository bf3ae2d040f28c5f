//! Completions for the arguments of actions: names of things that exist.

use crate::tui::columns::fleet::FleetSort;
use crate::tui::columns::nodes::Sort;
use crate::tui::copy::copyables;
use crate::tui::model::{Model, Page};
use crate::tui::node_map::block_labels;

pub(super) fn nothing(_: &Model) -> Vec<String> {
    Vec::new()
}

pub(super) fn theme_names(model: &Model) -> Vec<String> {
    model.themes.names().map(str::to_owned).collect()
}

pub(super) fn sort_names(model: &Model) -> Vec<String> {
    if model.page == Page::Fleet {
        return FleetSort::all().map(|sort| sort.name().to_owned()).collect();
    }
    Sort::all().map(|sort| sort.name().to_owned()).collect()
}

pub(super) fn glyph_names(_: &Model) -> Vec<String> {
    vec!["unicode".into(), "ascii".into()]
}

pub(super) fn copyable_names(model: &Model) -> Vec<String> {
    copyables(model).into_iter().map(|one| one.name.to_owned()).collect()
}

pub(super) fn step_names(_: &Model) -> Vec<String> {
    vec!["next".into(), "back".into()]
}

/// The DaemonSets of the fleet page.
pub(super) fn daemonsets(model: &Model) -> Vec<String> {
    let rows = model.fleet.iter().flat_map(|page| &page.fleet.rows);
    rows.map(|row| format!("{}/{}", row.namespace, row.name)).collect()
}

/// `all`, and the namespaces that were seen.
pub(super) fn namespaces(model: &Model) -> Vec<String> {
    std::iter::once("all".to_owned()).chain(model.namespaces.iter().map(|name| name.to_string())).collect()
}

/// The other contexts of the kubeconfig.
pub(super) fn contexts(model: &Model) -> Vec<String> {
    model.contexts.iter().filter(|name| **name != *model.context).cloned().collect()
}

/// The keys of labels by which the nodes can be told apart.
pub(super) fn node_labels(model: &Model) -> Vec<String> {
    model.rollout().map(|page| block_labels(page.shown_nodes())).unwrap_or_default()
}

/// The numbers of the revisions.
pub(super) fn revisions(model: &Model) -> Vec<String> {
    let revisions = model.rollout().and_then(|page| page.snapshot()).map(|snapshot| snapshot.revisions.clone());
    revisions.iter().flat_map(|all| all.iter()).filter_map(|one| Some(one.number?.to_string())).collect()
}
