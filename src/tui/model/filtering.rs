//! The filter of the screen: reading it, applying it, completing it.

mod bookmark;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::{FleetPage, Model, Page, RolloutPage, RolloutScreen, ShownSnapshot};
use crate::driver::{Fleet, FleetRow};
use crate::engine::model::Str;
use crate::engine::model::presence::Presence;
use crate::engine::model::time::Timestamp;
use crate::engine::report::snapshot::{NodeView, Phase, Snapshot};
use crate::tui::columns::fleet::{FLEET_COLUMNS, FleetCell};
use crate::tui::columns::nodes::{NODE_COLUMNS, NodeCell, NodeTable, Sort, sort_rows};
use crate::tui::columns::{ColumnRow, fields};
use crate::tui::filter::{self, Filter, FilterRow, FilterSchema};
use crate::tui::hidden_nodes::HiddenNodes;
use crate::tui::prewarm::PrewarmList;
use crate::tui::revisions::RevisionScreen;
use crate::tui::timeline::Timeline;

/// The most different values of a column that are offered for completion.
const VALUES: usize = 10_000;

/// A node as a row of the table of nodes, as of `at`.
fn node_row<'a>(
    node: &'a NodeView,
    table: &'a NodeTable,
    at: Timestamp,
) -> ColumnRow<'a, NodeView, NodeTable, NodeCell> {
    // A Pod of unknown revision is neither at the target nor behind it.
    let is_new = node.revision.as_ref().map(|_| node.at_target);
    ColumnRow { columns: NODE_COLUMNS, row: node, page: table, labels: Some(&node.labels), is_new, at, known: None }
}

/// A DaemonSet as a row of the table of DaemonSets.
pub(super) fn fleet_row<'a>(row: &'a FleetRow, fleet: &'a Fleet) -> ColumnRow<'a, FleetRow, Fleet, FleetCell> {
    ColumnRow { columns: FLEET_COLUMNS, row, page: fleet, labels: None, is_new: None, at: fleet.at, known: None }
}

/// The texts in which words are searched, node by node: made once for a snapshot, so that a key press only compares.
#[derive(Debug, Default)]
pub(crate) struct SearchTexts {
    /// The snapshot to which the texts belong.
    of: Option<Arc<Snapshot>>,
    texts: Vec<String>,
}

impl SearchTexts {
    /// Makes the texts if the filter needs them and they are missing; drops them if the filter does not need them.
    fn update(&mut self, filter: &Filter, snapshot: &Arc<Snapshot>, nodes: &[Arc<NodeView>], table: &NodeTable) {
        if !filter.searches() {
            *self = Self::default();
        } else if self.of.as_ref().is_none_or(|known| !Arc::ptr_eq(known, snapshot)) {
            let text = |node: &Arc<NodeView>| node_row(node, table, snapshot.at).searched().into_owned();
            *self = Self { of: Some(snapshot.clone()), texts: nodes.iter().map(text).collect() };
        }
    }

    fn of(&self, index: u32) -> Option<&str> {
        self.texts.get(index as usize).map(String::as_str)
    }
}

impl RolloutPage {
    /// Recomputes the nodes that are shown, and their order.
    pub(crate) fn arrange(&mut self) {
        let Some(ShownSnapshot { snapshot, at, is_frozen: _ }) = self.shown().cloned() else { return };
        self.hidden = HiddenNodes::default();
        // The last snapshot still lists the nodes of a deleted DaemonSet, although none of them has its Pod any more.
        let nodes = if snapshot.daemonset == Presence::Absent { &[] } else { &snapshot.nodes[..] };
        if self.filter.is_all() && matches!(self.sort, Sort::Trouble) {
            self.search_texts = SearchTexts::default();
            if snapshot.phase != Phase::Loading {
                self.nodes.see_allowed(snapshot.plan.allowed);
            }
            self.nodes.arrange(nodes, at);
            // Until the listing is complete, nodes that become known look like nodes that change.
            if snapshot.phase == Phase::Loading {
                self.nodes.forget_changes();
            }
            return;
        }
        let clock = self.filtered_as_of.filter(|_| self.filter.tells_time()).unwrap_or(snapshot.at);
        let table = self.summary.table.as_of(snapshot.at);
        self.search_texts.update(&self.filter, &snapshot, nodes, &table);
        let passes = |index: u32, node: &NodeView| {
            let known = self.search_texts.of(index);
            self.filter.passes(&ColumnRow { known, ..node_row(node, &table, clock) })
        };
        let indices = (0u32..).zip(nodes).map(|(index, _)| index);
        let (mut rows, hidden): (Vec<u32>, Vec<u32>) =
            indices.partition(|index| passes(*index, &nodes[*index as usize]));
        self.hidden = HiddenNodes::of(hidden.into_iter().map(|index| &*nodes[index as usize]));
        sort_rows(self.sort, &mut rows, nodes);
        self.nodes.arrange_flat(rows);
    }

    /// Shows only nodes that pass. The selection stays on its node, or goes to the next one in the list that passes.
    fn show_what_passes(&mut self, filter: Filter) {
        self.filter = filter;
        self.nodes.go_home();
        self.arrange();
        let Some(shown) = self.shown().filter(|_| !self.filter.is_all()).cloned() else { return };
        let nodes = &shown.snapshot.nodes;
        let Some(hidden) = self.nodes.hidden_selection(nodes) else { return };
        let mut rows: Vec<u32> = self.nodes.indices().chain([hidden]).collect();
        rows.sort_unstable();
        sort_rows(self.sort, &mut rows, nodes);
        let Some(at) = rows.iter().position(|row| *row == hidden) else { return };
        let near = rows.get(at + 1).or_else(|| rows.get(at.checked_sub(1)?));
        if let Some(node) = near.and_then(|row| nodes.get(*row as usize)) {
            self.nodes.select_node(&node.name);
        }
    }

    /// Filters again if the filter asks about ages and a visible age has changed.
    pub(crate) fn pass_time(&mut self, now: super::Uptime) {
        let clock = self.shown().filter(|_| self.filter.tells_time()).map(|shown| shown.coarse_clock(now));
        if clock != self.filtered_as_of {
            self.filtered_as_of = clock;
            self.arrange();
        }
    }
}

/// The screens that a filter can apply to.
enum Filtered<'a> {
    Fleet(&'a FleetPage),
    Nodes(&'a RolloutPage),
    Timeline(&'a Timeline),
    Revisions(&'a RevisionScreen),
    Prewarm(&'a PrewarmList),
}

impl Model {
    fn filtered(&self) -> Option<Filtered<'_>> {
        match &self.page {
            Page::Fleet => self.fleet.as_ref().map(Filtered::Fleet),
            Page::Rollout(_) => self.rollout().map(|page| match &page.screen {
                RolloutScreen::Nodes => Filtered::Nodes(page),
                RolloutScreen::Timeline(timeline) => Filtered::Timeline(timeline),
                RolloutScreen::Revisions(revisions) => Filtered::Revisions(revisions),
                RolloutScreen::Prewarm(prewarm) => Filtered::Prewarm(prewarm),
            }),
        }
    }

    /// The filter of the screen.
    pub(crate) fn filter(&self) -> Option<&Filter> {
        Some(match self.filtered()? {
            Filtered::Fleet(page) => &page.filter,
            Filtered::Nodes(page) => &page.filter,
            Filtered::Timeline(timeline) => &timeline.filter,
            Filtered::Revisions(revisions) => revisions.shown_filter(),
            Filtered::Prewarm(prewarm) => &prewarm.filter,
        })
    }

    fn filter_schema(&self) -> FilterSchema<'_> {
        match self.filtered() {
            None => FilterSchema::default(),
            Some(Filtered::Fleet(_)) => FilterSchema { fields: fields(FLEET_COLUMNS), labelled: None },
            Some(Filtered::Nodes(page)) => {
                FilterSchema { fields: fields(NODE_COLUMNS), labelled: Some(page.shown_nodes()) }
            }
            Some(Filtered::Timeline(_)) => FilterSchema { fields: Timeline::fields(), labelled: None },
            Some(Filtered::Revisions(revisions)) => FilterSchema { fields: revisions.fields(), labelled: None },
            Some(Filtered::Prewarm(prewarm)) => {
                FilterSchema { fields: PrewarmList::fields(), labelled: Some(prewarm.nodes()) }
            }
        }
    }

    /// Shows only rows that pass `text`; on the page of a node, searches it.
    ///
    /// # Errors
    /// The text does not parse; the filter stays unchanged.
    pub(crate) fn set_filter(&mut self, text: &str) -> Result<(), String> {
        if let Some(page) = self.node_page_mut() {
            page.search = text.to_owned();
            return Ok(());
        }
        let expanded = bookmark::expanded(text, &self.bookmarks, self.marked())?;
        let filter = Filter::parse(&expanded, &self.filter_schema())?.shown_as(text);
        match &self.page {
            Page::Fleet => {
                if let Some(page) = &mut self.fleet {
                    page.filter = filter;
                    page.arrange();
                }
            }
            Page::Rollout(_) => {
                if let Some(page) = self.rollout_mut() {
                    match &mut page.screen {
                        RolloutScreen::Nodes => page.show_what_passes(filter),
                        RolloutScreen::Timeline(timeline) => {
                            timeline.filter = filter;
                            timeline.arrange();
                        }
                        RolloutScreen::Revisions(revisions) => revisions.set_filter(filter),
                        RolloutScreen::Prewarm(prewarm) => {
                            prewarm.filter = filter;
                            prewarm.arrange();
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// If the filter asks for marked nodes, applies it again to the present marks; shows all nodes if no node is marked.
    pub(crate) fn filter_by_new_marks(&mut self) {
        let page = self.rollout().filter(|page| page.lists_nodes() && bookmark::asks_for_marks(page.filter.text()));
        let Some(text) = page.map(|page| page.filter.text().to_owned()) else { return };
        if self.set_filter(&text).is_err()
            && let Some(page) = self.rollout_mut()
        {
            page.filter = Filter::default();
            page.arrange();
        }
    }

    /// The marked nodes of the open page.
    fn marked(&self) -> Option<&BTreeSet<Str>> {
        self.rollout().filter(|page| page.lists_nodes()).map(|page| &page.marked).filter(|marked| !marked.is_empty())
    }

    /// The completions of `text` as a filter of the screen, as whole filters.
    pub(crate) fn filter_completions(&self, text: &str) -> Vec<String> {
        if self.node_page().is_some() {
            return Vec::new();
        }
        let named = bookmark::completions(text, &self.bookmarks, self.marked());
        if !named.is_empty() {
            return named;
        }
        let schema = self.filter_schema();
        filter::completions(text, &schema, |name| self.values(&schema, name))
    }

    /// The values of a column or label, the most frequent first.
    fn values(&self, schema: &FilterSchema<'_>, name: &str) -> Vec<String> {
        let mut counts: HashMap<String, usize> = HashMap::new();
        let mut add = |value: Option<String>| {
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                *counts.entry(value).or_default() += 1;
            }
        };
        let value = |row: &dyn FilterRow, field: usize| row.shown(field).or_else(|| Some(row.words(field)));
        match (self.filtered(), schema.field(name)) {
            (Some(Filtered::Fleet(page)), Some(field)) => {
                page.fleet.rows.iter().for_each(|row| add(value(&fleet_row(row, &page.fleet), field)));
            }
            (Some(Filtered::Nodes(page)), Some(field)) => {
                let table = &page.summary.table;
                let at = page.shown().map(|shown| shown.snapshot.at).unwrap_or_default();
                page.shown_nodes().iter().for_each(|node| add(value(&node_row(node, table, at), field)));
            }
            (Some(Filtered::Nodes(page)), None) => {
                for node in page.shown_nodes() {
                    filter::label_values(&node.labels, name).for_each(|value| add(Some(value.to_string())));
                }
            }
            (Some(Filtered::Prewarm(prewarm)), Some(field)) => {
                prewarm.all_rows().for_each(|row| add(value(&row, field)));
            }
            (Some(Filtered::Prewarm(prewarm)), None) => {
                for node in prewarm.nodes() {
                    filter::label_values(&node.labels, name).for_each(|value| add(Some(value.to_string())));
                }
            }
            (Some(Filtered::Timeline(timeline)), Some(field)) => {
                timeline.all_rows().for_each(|row| add(value(row, field)));
            }
            (Some(Filtered::Revisions(revisions)), Some(field)) => {
                revisions.all_rows().for_each(|row| add(value(&row, field)));
            }
            _ => {}
        }
        let mut values: Vec<(String, usize)> = counts.into_iter().collect();
        values.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| natord::compare(&a.0, &b.0)));
        values.truncate(VALUES);
        values.into_iter().map(|(value, _)| value).collect()
    }
}
