//! The report as one self-contained HTML page: no script, no font, no picture from elsewhere.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::graph::Graph;
use super::{Handover, LEGEND, StoryLine, clean, headline, look};
use crate::engine::model::facts::Severity;
use crate::engine::report::diagnosis::Finding;
use crate::engine::report::node_story::clock_time;
use crate::engine::report::snapshot::NodeView;

const STYLE: &str = include_str!("page.css");

impl Handover {
    /// The whole report as a page.
    pub(crate) fn html(&self) -> String {
        let snapshot = &*self.snapshot;
        let title = clean(&format!("{}/{} on {}", snapshot.namespace, snapshot.name, self.context));
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    // The policy forbids scripts, so no text of a cluster can run one.
                    meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    title { "Rollout of " (title) }
                    style { (PreEscaped(STYLE)) }
                }
                body {
                    h1 { "Rollout of " (title) }
                    p.at { (snapshot.at) }
                    table.facts { @for (name, value) in self.facts() { tr { th { (name) } td { (value) } } } }
                    h2 { "What is wrong" }
                    (self.findings())
                    @if !self.next.is_empty() {
                        h2 { "How it can go on" }
                        @for next in &self.next { pre { (next.line) } }
                    }
                    h2 { "Over time" }
                    (self.graphs())
                    h2 { "Map" }
                    p.legend { (LEGEND) }
                    @for (site, nodes) in self.sites() { (self.site(&site, &nodes)) }
                    h2 { "What happened" }
                    (self.events())
                    h2 { "Every node" }
                    (self.nodes())
                    @if let Some(screen) = &self.screen { h2 { "The screen" } pre { (screen) } }
                    h2 { "About this report" }
                    ul { @for note in &self.notes { li { (note) } } }
                }
            }
        };
        page.into_string()
    }

    fn findings(&self) -> Markup {
        let wrong: Vec<&Finding> =
            self.diagnosis.findings.iter().filter(|finding| finding.severity == Severity::Warning).collect();
        html! {
            @if wrong.is_empty() { p { (self.nothing_wrong()) } }
            @for past in self.went_wrong() { p { (past) } }
            @for finding in wrong {
                section.finding {
                    h3 { (headline(finding, self.snapshot.at)) }
                    @if !finding.nodes.is_empty() { p.names { (clean(&finding.nodes.join(" "))) } }
                    @for evidence in &finding.evidence { pre { (clean(&evidence.to_string())) } }
                    @for held in &finding.held { p { (clean(held)) } }
                    @for remedy in &finding.remedies { p { "→ " (clean(&remedy.to_string())) } }
                }
            }
        }
    }

    fn graphs(&self) -> Markup {
        let Some(first) = self.progress.first() else { return html! { p { "Nothing is known of it." } } };
        let most = self.progress.iter().map(|point| point.nodes).max().unwrap_or(0);
        let limit = self.snapshot.budget.max_unavailable;
        let down: Vec<_> = self.progress.iter().filter_map(|point| Some((point.at, point.unavailable()?))).collect();
        let worst = down.iter().map(|(_, count)| *count).max().unwrap_or(0);
        let bad = self.lines.iter().filter(|line| line.node.is_none() && line.severity == Severity::Warning);
        let updated = Graph {
            title: "Nodes updated",
            class: "updated",
            from: first.at,
            to: self.snapshot.at,
            points: self.progress.iter().map(|point| (point.at, point.done())).collect(),
            most,
            limit: None,
            marks: bad.map(|line| (line.at, line.text.as_str())).collect(),
        };
        let unavailable = Graph {
            title: "Nodes unavailable",
            class: "unavailable",
            points: down.clone(),
            most: worst.max(limit).max(1),
            limit: Some(limit),
            marks: Vec::new(),
            ..updated
        };
        html! {
            h3 { "Nodes updated, of " (most) }
            @if let Some(unwatched) = self.unwatched() { p { (unwatched) } }
            (updated.svg())
            // A single point gives no graph.
            @if let [(_, now)] = down.as_slice() {
                p { "Now " (now) " nodes are unavailable, with a budget of " (limit) "." }
            } @else {
                h3 { "Nodes unavailable; the dashed line is the budget of now, " (limit) }
                (unavailable.svg())
            }
        }
    }

    fn site(&self, site: &str, nodes: &[&NodeView]) -> Markup {
        let updated = nodes.iter().filter(|node| node.is_updated_and_well()).count();
        html! {
            section.site {
                h3 { @if site.is_empty() { "no site" } @else { (clean(site)) } " " span { (updated) "/" (nodes.len()) } }
                div.cells {
                    @for node in nodes {
                        @let (sign, class) = look(node);
                        i class=(class) title=(clean(&format!("{}: {}", node.name, self.why(node)))) { (sign) }
                    }
                }
            }
        }
    }

    fn events(&self) -> Markup {
        html! {
            @if self.lines.is_empty() { p { "Nothing is known of it." } }
            table.events {
                @for StoryLine { at, who, node, text, severity, facts: _ } in &self.lines {
                    tr.bad[*severity == Severity::Warning] {
                        td { time datetime=(at) title=(at) { (clock_time(*at)) } }
                        td { @if let Some(subject) = node.as_ref().or(who.as_ref()) { (clean(subject)) } }
                        td { (text) }
                    }
                }
            }
        }
    }

    fn nodes(&self) -> Markup {
        html! {
            details {
                summary { (self.snapshot.nodes.len()) " nodes" }
                table.events {
                    tr { th { "node" } th { "site" } th { "rev" } th { "restarts" } th { "why" } }
                    @for node in self.snapshot.nodes.iter() {
                        tr {
                            td { (clean(&node.name)) }
                            td { (clean(&node.site)) }
                            td { @if let Some(number) = node.revision_number() { (number) } }
                            td { (node.restarts) }
                            td { (self.why(node)) }
                        }
                    }
                }
            }
        }
    }
}
