//! How many nodes a step or a selector lets be updated. A step after which no further node could go is neither offered nor
//! accepted. Before a selector is lifted, the preview says how many nodes may go at once then.
//!
//! Steps and partition count the whole fleet. Under a selector a step could therefore allow many more nodes than match the
//! selector; all of these would go at once when the selector is lifted. [`Step::Next`] never allows more nodes than the
//! selector leaves, and is refused where no further node could go.

use std::cmp::Ordering;

use super::resolved::Resolved;
use crate::engine::assess::plan::Limits;
use crate::engine::assess::rows::Row;
use crate::engine::lease::edit::Edit;
use crate::engine::machine::Engine;
use crate::engine::model::Str;
use crate::engine::model::command::{Command, Refusal, Step};
use crate::engine::model::config::Role;
use crate::engine::model::danger::Danger;
use crate::engine::model::labels::Selector;
use crate::engine::model::quantity::{IntOrPercent, counted};
use crate::engine::model::record::{Direction, Intent};
use crate::engine::model::step_ahead::{NoStep, SELECTOR_IGNORED};
use crate::engine::writes::pending::Needs;

/// What a preview says that a step or a selector does, one sentence per line.
pub(super) struct PreviewWords {
    pub(super) lines: Vec<String>,
    /// They say that nothing moves until the rollout is resumed.
    pub(super) until_resumed: bool,
}

impl PreviewWords {
    /// These lines, which say nothing of a pause or a halt.
    fn of(lines: Vec<String>) -> Self {
        Self { lines, until_resumed: false }
    }
}

/// Said of a rollout that is paused or halted.
pub(super) const UNTIL_RESUMED: &str = "nothing moves until it is resumed";

/// How many nodes are updated after a step: `2 nodes`, `10%`.
fn updated_in_total(step: &IntOrPercent) -> String {
    match step {
        IntOrPercent::Int(nodes) => counted(*nodes as usize, "node"),
        IntOrPercent::Percent(_) => step.to_string(),
    }
}

impl Engine {
    pub(super) fn resolve_step(&self, step: Step) -> Result<Resolved, Refusal> {
        // Said before anything about the present rollout: no other rollout changes it, and `drive` asks before it begins one.
        self.check_count(step)?;
        let intent = self.intent();
        if intent.direction() == Direction::Back {
            return Err(Refusal::NotNow(NoStep::GoingBack.to_string()));
        }
        // A step without a rollout makes no record: it would only say that something is being prepared. If a record is there already, the step is taken:
        // the process that wrote it may have been killed before the DaemonSet was adopted.
        if !self.is_recorded() && !self.has_rollout(&intent) {
            return Err(Refusal::NotNow(NoStep::NoRollout(self.nothing_recorded()).to_string()));
        }
        let fleet = self.assessment.fleet;
        let allowed = Limits::of(&self.view, &intent, &self.assessment).allowed;
        let updated = |total: u32| (IntOrPercent::Int(fleet - total), Some(total).filter(|total| *total < fleet));
        let (partition, total) = match step {
            Step::Partition(partition) => (partition, None),
            Step::Updated(count) => updated(count.nodes_of(fleet)),
            Step::Next => match self.next_step(&intent) {
                Ok(ahead) => updated(ahead.allowed),
                Err(none) => return Err(Refusal::NotNow(none.to_string())),
            },
            Step::Back => match intent.steps.totals(fleet).filter(|total| *total < allowed).max() {
                Some(total) => updated(total),
                None if allowed > 0 => (IntOrPercent::Percent(100), None),
                None => {
                    return Err(Refusal::NotNow("there is no step to go back to: no node may be updated yet".into()));
                }
            },
        };
        let halted = self.halted_by(&intent);
        let changed = self.is_template_of_others(&intent).then(|| self.template_of_others_in_words(&intent));
        let after = Intent { partition, updated_in_total: total, ..intent.clone() };
        let after = Limits::of(&self.view, &after, &self.assessment);
        let raises = after.allowed > allowed;
        if let Some(why) = halted.filter(|_| raises) {
            return Err(Refusal::NotNow(NoStep::Halted { why }.to_string()));
        }
        if let Some(how) = changed.filter(|_| raises) {
            return Err(Refusal::NotNow(NoStep::TemplateChanged { how: how.into() }.to_string()));
        }
        let updated = self.updated_or_on_the_way();
        let already = || format!("{} already or on the way", counted_updated(updated));
        let stay = match updated.cmp(&after.allowed) {
            Ordering::Greater => format!("; {}, and none goes back: that is `undo`", already()),
            Ordering::Equal if updated > 0 => format!("; {}: it moves nothing", already()),
            Ordering::Equal | Ordering::Less => String::new(),
        };
        let before = match after.allowed < allowed {
            true => format!(" instead of {allowed}"),
            false => String::new(),
        };
        // The number is one of all nodes, of which a selector lets only some go.
        let only = intent.selector.as_ref().map(|selector| {
            let there_are = match self.matching(selector) {
                0 => "no node has".to_owned(),
                1 => "1 node has".to_owned(),
                nodes => format!("{nodes} nodes have"),
            };
            format!("; of these only those with {selector}, which {there_are}")
        });
        let (allowed_then, keep, only) = (after.allowed, after.keep, only.unwrap_or_default());
        let says =
            format!("{allowed_then} of {fleet} nodes may be updated{before}, partition keeps {keep}{only}{stay}");
        // Repeated steps, while the canaries still pull, would open the whole fleet to a revision of which nothing is known yet.
        let danger = match raises {
            true if self.unproven_in_words().is_some() => Danger::Serious,
            true => Danger::Bounded,
            false => Danger::None,
        };
        // It is written all the same: somebody may have stepped meanwhile, which a late watch does not show yet.
        let is_so = self.is_recorded() && (intent.partition, intent.updated_in_total) == (partition, total);
        let says = if is_so { format!("{says}, as before") } else { says };
        Ok(Resolved::new(vec![Edit::Partition { partition, total }], Needs::Saved, says, danger))
    }

    /// Refuses a step that names more nodes than there are.
    fn check_count(&self, step: Step) -> Result<(), Refusal> {
        let fleet = self.assessment.fleet;
        let (count, all) = match step {
            Step::Updated(IntOrPercent::Int(count)) if count > fleet => (count, "for all of them say 100%"),
            Step::Partition(IntOrPercent::Int(count)) if count > fleet => (count, "to keep all of them say 100%"),
            Step::Updated(_) | Step::Partition(_) | Step::Next | Step::Back => return Ok(()),
        };
        Err(Refusal::Invalid(format!("{count} nodes are more than the {fleet} that there are; {all}")))
    }

    /// A selector that lets more nodes go at once than the present one has the effect of a step. The operator is asked about it, and it
    /// is refused where a step would be.
    pub(super) fn resolve_select(&self, selector: &Option<Selector>) -> Result<Resolved, Refusal> {
        // A console adopts the DaemonSet as its driver. A one-shot command would leave behind a record of no rollout.
        if self.config().role == Role::OneShot && !self.is_recorded() {
            let nothing = self.nothing_recorded();
            let how = nothing.remedy_or("`adopt` or `set-image` first");
            return Err(Refusal::NotNow(format!("{nothing}, so there is nothing to select for: {how}")));
        }
        let selector = selector.clone().filter(|selector| !selector.is_empty());
        if selector.is_some() && self.intent().direction() == Direction::Back && !self.is_over() {
            return Err(Refusal::NotNow(SELECTOR_IGNORED.into()));
        }
        if selector.is_none() && self.is_recorded() && self.intent().selector.is_none() {
            let says = "no selector is set: nothing changes".to_owned();
            return Ok(Resolved { drive: false, ..Resolved::new(Vec::new(), Needs::Saved, says, Danger::None) });
        }
        if let Some(selector) = selector.as_ref().filter(|_| self.is_recorded() && selector == self.intent().selector) {
            let says = format!("{selector} is selected already: nothing changes");
            return Ok(Resolved { drive: false, ..Resolved::new(Vec::new(), Needs::Saved, says, Danger::None) });
        }
        let frees = self.freed_by(&selector);
        if let (1.., Some(why)) = (frees, self.halted_by(&self.intent())) {
            return Err(Refusal::NotNow(NoStep::Halted { why }.to_string()));
        }
        let mut says = match &selector {
            Some(selector) => {
                let (matching, fleet) = (self.matching(selector), self.assessment.fleet);
                let beside = match self.updated_beside(selector) {
                    0 => String::new(),
                    beside => format!("; {} already or on the way, and not selected", counted_updated(beside)),
                };
                format!("only nodes with {selector} are updated, {matching} of {fleet} match{beside}")
            }
            None => "nodes are no longer selected by label".to_owned(),
        };
        if frees > 0 {
            says.push_str(&format!("; {frees} more may be updated now"));
        }
        let none = selector.as_ref().is_some_and(|selector| self.matching(selector) == 0);
        let danger = if frees > 0 || none { Danger::Serious } else { Danger::Bounded };
        Ok(Resolved::new(vec![Edit::Select(selector)], Needs::Saved, says, danger))
    }

    /// How many nodes that run the DaemonSet match.
    pub(super) fn matching(&self, selector: &Selector) -> usize {
        let labels = |row: &Row| self.view.entry(row.node).fact.as_ref().map(|fact| &fact.labels);
        let in_fleet = self.assessment.rows().filter(|row| row.in_fleet);
        in_fleet.filter_map(labels).filter(|labels| selector.matches(labels)).count()
    }

    /// How many nodes that do not match are updated or on their way, under another selector or outside the plan. They count as updated.
    fn updated_beside(&self, selector: &Selector) -> u32 {
        if !self.is_ready_to_update(&self.intent()) {
            return 0;
        }
        let labels = |row: &Row| self.view.entry(row.node).fact.as_ref().map(|fact| &fact.labels);
        let matches = |row: &Row| labels(row).is_some_and(|labels| selector.matches(labels));
        self.count_rows(|row| row.in_fleet && row.committed && !matches(row))
    }

    /// How many nodes more may go at once under this selector than under the present one.
    fn freed_by(&self, selector: &Option<Selector>) -> u32 {
        let intent = self.intent();
        if intent.direction() == Direction::Back || !self.is_ready_to_update(&intent) {
            return 0;
        }
        let after = Intent { selector: selector.clone(), ..intent.clone() };
        self.would_be_free(&after).saturating_sub(self.would_be_free(&intent))
    }

    /// The effect of a step, one sentence per line; `in_line` are the nodes that may go at once then.
    pub(super) fn step_in_words(&self, step: Step, in_line: &[Str], after: &Limits) -> PreviewWords {
        let nodes = in_line.len();
        let intent = self.intent();
        let before = Limits::of(&self.view, &intent, &self.assessment);
        let all_updated = self.is_ready_to_update(&intent) && self.count_rows(|row| !row.committed) == 0;
        if all_updated || self.has_nothing_to_roll(&intent) {
            return PreviewWords::of(vec![
                "Moves nothing: every node is updated, or on its way.".to_owned(),
                "`set-image` begins with every node kept, whatever is set here. So does a template that is deployed in another way, once it is \
                 resumed."
                    .to_owned(),
            ]);
        }
        if after.allowed <= before.allowed {
            let first = match after.allowed == before.allowed {
                true => "Lets no further node be updated: as many may be already.".to_owned(),
                false => self.fewer_than_are_updated(after.allowed),
            };
            // An operator who steps back to stop the rollout is told that this does not stop it.
            let goes_on = (nodes > 0).then(|| match intent.paused {
                Some(_) if nodes == 1 => "1 node is in line still, and waits until it is resumed.".to_owned(),
                Some(_) => format!("{} in line still, and wait until it is resumed.", counted_are(nodes)),
                None if nodes == 1 => "1 node is in line still, and goes: a pause stops that.".to_owned(),
                None => format!("{} in line still, and go: a pause stops that.", counted_are(nodes)),
            });
            let reverts = Some("Reverts no node: undo does.".to_owned());
            let lines = [Some(first), goes_on, reverts, self.step_after_this(step, before.allowed, after)];
            return PreviewWords::of(lines.into_iter().flatten().collect());
        }
        let pace = self.pace_once_let_go(after, in_line);
        let frees = u32::try_from(nodes).unwrap_or(u32::MAX).saturating_sub(self.plan.in_line);
        let settled = self.is_ready_to_update(&intent);
        let mut lines = match frees {
            0 if settled => vec![self.why_it_moves_nothing(&intent, after.allowed)],
            0 if nodes > 0 => vec![format!(
                "Lets no other node go ({} may be updated in total): {} in line already, {pace}.",
                after.allowed,
                counted_are(nodes)
            )],
            0 => vec![format!("No node is updated by it yet; {} may be updated in total then, {pace}.", after.allowed)],
            _ => vec![format!(
                "{} more may be updated ({} in total), {pace}.",
                counted(frees as usize, "node"),
                after.allowed
            )],
        };
        if frees > 0 && self.plan.in_line > 0 {
            lines.push(format!("Besides, {} in line already.", counted_are(self.plan.in_line as usize)));
        }
        if let Some(selector) = &intent.selector {
            let partition = IntOrPercent::Int(after.keep);
            let lifted = Intent { selector: None, partition, updated_in_total: None, ..intent.clone() };
            let later = self.would_be_free(&lifted).saturating_sub(u32::try_from(nodes).unwrap_or(u32::MAX));
            let ahead = self.next_step(&intent).ok().filter(|ahead| step == Step::Next && ahead.cut_by_selector);
            let total = ahead.map(|ahead| ahead.step.nodes_of(self.assessment.fleet));
            let others = total.map_or(0, |total| total.saturating_sub(after.allowed));
            if let (Some(total), 1..) = (total, others) {
                let wait = if others == 1 { "the other one waits" } else { "the others wait" };
                lines.push(format!(
                    "The plan's step has {}, of which {selector} lets only {} be updated; {wait} until it is lifted.",
                    counted(total as usize, "node"),
                    after.allowed
                ));
            } else if settled && later > 0 {
                lines.push(format!(
                    "When {selector} is lifted, {} more may go at once.",
                    counted(later as usize, "node")
                ));
            }
        }
        if frees > 0 && step == Step::Next {
            lines.extend(self.steps_left_out(step, before.allowed, after.allowed));
        }
        let until_resumed = intent.paused.is_some();
        if until_resumed {
            lines.push(format!("It is paused: {UNTIL_RESUMED}."));
        }
        lines.push("You can pause at any time. Stepping back reverts no node: undo does.".to_owned());
        PreviewWords { lines, until_resumed }
    }

    /// Where a step forward goes after a step back, if that is further than where the rollout is now: a step that moves no node is left out, and nodes that
    /// are updated already make it such a one.
    fn step_after_this(&self, step: Step, before: u32, after: &Limits) -> Option<String> {
        let intent = Intent { partition: IntOrPercent::Int(after.keep), updated_in_total: None, ..self.intent() };
        let ahead = self.step_that_frees(&intent).filter(|ahead| step == Step::Back && ahead.allowed > before)?;
        Some(format!(
            "The next step goes to {} in total then, not back to {before}: {} already or on the way.",
            counted(ahead.allowed as usize, "node"),
            counted_updated(self.updated_or_on_the_way())
        ))
    }

    /// A warning about the steps of the plan that a step of another number leaves out, with `in_line` nodes that may go at once then. That the next
    /// step leaves out those that move nothing is no reason for a warning.
    pub(super) fn steps_passed_over(&self, command: &Command, in_line: usize, after: &Limits) -> Option<String> {
        let Command::Step(step @ (Step::Back | Step::Updated(_) | Step::Partition(_))) = command else { return None };
        let before = Limits::of(&self.view, &self.intent(), &self.assessment);
        let frees = u32::try_from(in_line).unwrap_or(u32::MAX) > self.plan.in_line;
        frees.then(|| self.steps_left_out(*step, before.allowed, after.allowed)).flatten()
    }

    /// The steps of the plan that this one leaves out: those between `before` and `after` nodes that may be updated.
    fn steps_left_out(&self, step: Step, before: u32, after: u32) -> Option<String> {
        let (fleet, intent) = (self.assessment.fleet, self.intent());
        let between = |step: &&IntOrPercent| (before + 1..after).contains(&step.nodes_of(fleet));
        let left_out: Vec<String> = intent.steps.iter().filter(between).map(updated_in_total).collect();
        let (said, by) = match left_out.as_slice() {
            [] => return None,
            [one] => (format!("Leaves out the plan's step to {one}"), "it allows"),
            [more @ .., last] => {
                (format!("Leaves out the plan's steps to {} and {last}", more.join(", ")), "they allow")
            }
        };
        // The next step is the first that moves something: pods may have come with the new template by themselves.
        let why = (step == Step::Next).then(|| match self.updated_or_on_the_way() {
            0 => format!(": {by} no node to be updated"),
            updated => {
                format!(": {} already or on the way, so {by} no further node to be updated", counted_updated(updated))
            }
        });
        let waits = if left_out.len() == 1 { "does not wait at it" } else { "waits at none of them" };
        Some(format!("{said}{}.", why.unwrap_or_else(|| format!(": {waits}"))))
    }

    /// The effect of a limit of `allowed` nodes, of which more may be updated already.
    fn fewer_than_are_updated(&self, allowed: u32) -> String {
        match self.updated_or_on_the_way() {
            updated if updated > allowed => {
                format!("{} already or on the way: no other is started.", counted_updated(updated))
            }
            _ => format!("No more than {} updated in total from now on.", counted_are(allowed as usize)),
        }
    }

    /// How many nodes are at the target or on their way there; 0 while the new revision is not settled.
    pub(super) fn updated_or_on_the_way(&self) -> u32 {
        if self.is_ready_to_update(&self.intent()) { self.count_rows(|row| row.committed) } else { 0 }
    }

    fn why_it_moves_nothing(&self, intent: &Intent, allowed: u32) -> String {
        let left = self.count_rows(|row| !row.committed);
        let updated = self.updated_or_on_the_way();
        match &intent.selector {
            _ if updated > 0 && allowed <= updated => {
                format!("Moves nothing: {} already or on the way.", counted_updated(updated))
            }
            _ if left == 0 => "Moves nothing: every node is updated, or on its way.".to_owned(),
            Some(selector) => format!("Moves nothing now: {}.", self.selection_done(selector, intent)),
            None => format!(
                "Moves nothing now: of the {} left none can go, they are down or cordoned.",
                counted(left as usize, "node")
            ),
        }
    }

    /// Why none of the nodes of a selection goes now, and what would let them go.
    fn why_a_selection_moves_nothing(&self, selector: &Selector, after: &Limits) -> String {
        let intent = Intent { selector: Some(selector.clone()), ..self.intent() };
        match self.next_step(&intent).ok().and_then(|ahead| ahead.frees) {
            Some(frees @ 1..) => format!(
                "Moves nothing now: {} may be updated, {} already or on the way. The next step lets {} of the selection go.",
                after.allowed,
                counted_updated(self.updated_or_on_the_way()),
                counted(frees as usize, "node")
            ),
            Some(0) | None => format!("Moves nothing now: {}.", self.selection_done(selector, &intent)),
        }
    }

    /// The effect of a selector, one sentence per line; `nodes` is how many nodes may go at once then.
    pub(super) fn select_in_words(&self, selector: Option<&Selector>, nodes: usize, after: &Limits) -> PreviewWords {
        let pace = self.pace_of_updates(after);
        let intent = self.intent();
        let frees = self.freed_by(&selector.cloned());
        let mut lines = Vec::new();
        if selector.is_none() && intent.selector.is_none() && intent.direction() == Direction::Forward {
            return PreviewWords::of(vec!["No selector is set: nothing changes.".to_owned()]);
        }
        let matching = selector.map_or(0, |selector| self.matching(selector));
        if let Some(selector) = selector.filter(|_| matching > 0) {
            let (fleet, is) = (self.assessment.fleet, if matching == 1 { "matches" } else { "match" });
            lines.push(format!("{matching} of {fleet} nodes {is} {selector}."));
            if self.is_recorded() && intent.selector.as_ref() == Some(selector) {
                lines.push("It is selected already: nothing changes.".to_owned());
                return PreviewWords::of(lines);
            }
        }
        if let Some(selector) = selector.filter(|_| matching == 0) {
            lines.push(format!("No node matches {selector}: while it stands no node is updated."));
            let labels = self.view.nodes().iter().filter_map(|node| node.fact.as_ref()).map(|fact| &fact.labels);
            lines.extend(selector.meant(&labels).map(|meant| meant.replacen('n', "N", 1)));
        } else if intent.direction() == Direction::Back {
            lines.push("Moves nothing: on the way back partition and selector are ignored.".to_owned());
        } else if frees > 0 {
            lines.push(format!(
                "Frees {} at once: {} of {} may be updated in total (partition {}), {pace}.",
                counted(frees as usize, "node"),
                after.allowed,
                self.assessment.fleet,
                after.keep
            ));
            match nodes.saturating_sub(frees as usize) {
                0 => {}
                already => lines.push(format!("Besides, {} in line already.", counted_are(already))),
            }
        } else if after.allowed == 0 {
            lines.push("Moves nothing by itself: no node may be updated before the first step.".to_owned());
        } else if selector.is_none() && nodes == 0 {
            let next = self.next_step(&Intent { selector: None, ..intent.clone() });
            let frees = next.ok().and_then(|ahead| ahead.frees).unwrap_or(0);
            let keeps = format!("the partition keeps {} at the old revision", after.keep);
            lines.push(format!(
                "Frees no node by itself: {keeps}; the next step lets {} go.",
                counted(frees as usize, "node")
            ));
        } else if let Some(selector) = selector.filter(|_| nodes == 0) {
            lines.push(self.why_a_selection_moves_nothing(selector, after));
        } else {
            let of = if selector.is_some() { "Of the selection, " } else { "" };
            lines.push(format!("{of}{} in line, {pace}.", counted_are(nodes)));
        }
        match selector.map_or(0, |selector| self.updated_beside(selector)) {
            0 => {}
            1 => lines.push(
                "1 node that does not match is updated already or on the way: it does not go back, and steps count it."
                    .to_owned(),
            ),
            beside => lines.push(format!(
                "{beside} nodes that do not match are updated already or on the way: none goes back, and steps count them."
            )),
        }
        let (is_paused, is_halted) = (intent.paused.is_some(), self.is_halted(&intent));
        if is_paused {
            lines.push(format!("It is paused: {UNTIL_RESUMED}."));
        } else if is_halted {
            lines.push(format!("It is halted ({}): {UNTIL_RESUMED}.", self.halt_why()));
        }
        PreviewWords { lines, until_resumed: is_paused || is_halted }
    }
}

/// `1 node is updated`, `12 nodes are updated`.
fn counted_updated(nodes: u32) -> String {
    format!("{} updated", counted_are(nodes as usize))
}

/// `1 node is`, `12 nodes are`.
pub(crate) fn counted_are(nodes: usize) -> String {
    if nodes == 1 { "1 node is".to_owned() } else { format!("{nodes} nodes are") }
}
