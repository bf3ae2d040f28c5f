//! The choice of nodes: a label selector, its completions, and the number of nodes that it matches.

use std::collections::BTreeMap;

use tui_input::Input;

use super::field::{Handled, complete, field};
use crate::engine::model::command::Command;
use crate::engine::model::labels::Selector;
use crate::engine::model::site::SiteLabel;
use crate::engine::report::snapshot::{NodeView, Snapshot};
use crate::tui::key::Key;
use crate::tui::words::nearest;

/// The number of labels that are suggested for a label that no node has.
const NEAR: usize = 2;

/// Which nodes may be updated.
#[derive(Debug)]
pub(crate) struct Canary {
    pub(crate) input: Input,
    /// There is a selector that can be lifted.
    pub(super) lifts: bool,
}

impl Canary {
    pub(crate) fn new(selector: &str) -> Self {
        Self { input: Input::new(selector.to_owned()), lifts: false }
    }

    /// The form with a selector in force; an empty selector lifts it.
    #[must_use]
    pub(crate) fn lifting(self, lifts: bool) -> Self {
        Self { lifts, ..self }
    }

    /// The selector as typed.
    ///
    /// # Errors
    /// Says where it does not parse.
    pub(crate) fn selector(&self) -> Result<Selector, String> {
        self.input.value().trim().parse()
    }

    /// The nodes that would be allowed, out of how many.
    pub(crate) fn matching<'a>(&self, snapshot: &'a Snapshot) -> Result<(Vec<&'a NodeView>, usize), String> {
        let selector = self.selector()?;
        let mut nodes: Vec<&NodeView> =
            snapshot.nodes.iter().filter(|node| node.eligible && selector.matches(&node.labels)).collect();
        nodes.sort_by(|a, b| natord::compare(&a.name, &b.name));
        Ok((nodes, snapshot.nodes.iter().filter(|node| node.eligible).count()))
    }

    pub(super) fn command(&self, snapshot: &Snapshot) -> Result<Command, String> {
        let selector = self.selector()?;
        if selector.is_empty() {
            return match snapshot.plan.selector {
                Some(_) => Ok(Command::Select(None)),
                None => Err("type a label selector, such as canary=true; right completes".into()),
            };
        }
        if snapshot.plan.selector.as_ref() == Some(&selector) {
            return Err(format!("{selector} is in force: change it, or ctrl-u empties the field to lift it"));
        }
        Ok(Command::Select(Some(selector)))
    }

    /// Completions: label keys, or the values of the typed key, each with the number of nodes that have it.
    pub(crate) fn completions(&self, snapshot: &Snapshot) -> Vec<(String, usize)> {
        let clause = self.input.value().rsplit(',').next().unwrap_or_default().trim_start();
        let mut found: BTreeMap<&str, usize> = BTreeMap::new();
        let nodes = snapshot.nodes.iter().filter(|node| node.eligible);
        let (start, texts): (&str, Vec<&str>) = match clause.split_once('=') {
            Some((key, value)) => {
                let key = key.trim_end_matches(['!', ' ']);
                let values = nodes.filter_map(|node| node.labels.get(key).map(|value| &**value));
                (value.trim_start_matches(['=', ' ']), values.collect())
            }
            None => (clause, nodes.flat_map(|node| node.labels.iter().map(|(key, _)| &**key)).collect()),
        };
        // A complete value needs no completion; a complete key still needs its `=`.
        let is_complete = |text: &str| clause.contains('=') && text == start;
        for text in texts.into_iter().filter(|text| text.starts_with(start) && !is_complete(text)) {
            *found.entry(text).or_default() += 1;
        }
        found.into_iter().map(|(text, nodes)| (text.to_owned(), nodes)).collect()
    }

    pub(super) fn key(&mut self, key: Key, snapshot: Option<&Snapshot>) -> Handled {
        let typed = self.input.value();
        let clause_at = typed.rfind(',').map_or(0, |comma| comma + 1);
        let clause = &typed[clause_at..];
        let value_at = clause.rfind('=').map_or(clause.len() - clause.trim_start().len(), |equals| equals + 1);
        let (head, is_key) = (typed[..clause_at + value_at].to_owned(), !clause.contains('='));
        let texts = || {
            let found = snapshot.map(|snapshot| self.completions(snapshot)).unwrap_or_default();
            let ending = if found.len() == 1 && is_key { "=" } else { "" };
            found.into_iter().map(|(text, _)| format!("{head}{text}{ending}")).collect()
        };
        let mut input = self.input.clone();
        let handled = if complete(&mut input, key, texts) { Handled::Changed } else { field(&mut input, key) };
        self.input = input;
        handled
    }

    /// The reason why the selector is probably a mistake: nodes exist, but it matches none.
    pub(super) fn doubt(&self, snapshot: &Snapshot) -> Option<String> {
        let (nodes, all) = self.matching(snapshot).ok()?;
        (nodes.is_empty() && all > 0).then(|| format!("matches 0 of {all} nodes"))
    }
}

/// The reason why a label's key is probably a mistake: nodes exist, but none has it.
pub(super) fn label_doubt(key: &str, snapshot: &Snapshot) -> Option<String> {
    key.parse::<SiteLabel>().ok()?;
    let eligible = || snapshot.nodes.iter().filter(|node| node.eligible);
    let all = eligible().count();
    let with = eligible().filter(|node| node.labels.get(key).is_some()).count();
    (with == 0 && all > 0).then(|| {
        let mut labels: BTreeMap<&str, usize> = BTreeMap::new();
        for (label, _) in eligible().flat_map(|node| node.labels.iter()) {
            *labels.entry(label).or_default() += 1;
        }
        let near = nearest(key, labels.keys().copied(), NEAR);
        let near: Vec<String> = near.into_iter().map(|label| format!("{label} ({})", labels[label])).collect();
        let near = if near.is_empty() { String::new() } else { format!("; nearest to it: {}", near.join(", ")) };
        format!("the label `{key}` matches 0 of {all} nodes{near}")
    })
}
