//! Previews of commands: their effects in words, and their API calls, before they are given.

use std::borrow::Cow;

use super::allowance::{PreviewWords, UNTIL_RESUMED, counted_are};
use super::undo::goal;
use crate::engine::assess::images_on_nodes::images_of_revision;
use crate::engine::assess::plan::{Limits, NodeLookup, Obstacles, Plan, RolloutHold};
use crate::engine::assess::rows::Assessment;
use crate::engine::lease::edit::Edit;
use crate::engine::machine::Engine;
use crate::engine::model::Str;
use crate::engine::model::command::{
    BEFORE_A_STEP, Command, Early, NOBODY_DRIVES, Preview, PrewarmCommand, Refusal, Step,
};
use crate::engine::model::config::Role;
use crate::engine::model::danger::Danger;
use crate::engine::model::driver::DriverView;
use crate::engine::model::facts::RevisionFact;
use crate::engine::model::gitops_owner::{GitOpsOwner, RevertTrigger, StrategyOwnership};
use crate::engine::model::node::NodeIx;
use crate::engine::model::person_of;
use crate::engine::model::prewarm::PrewarmMethod;
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::quantity::counted;
use crate::engine::model::record::{Change, Direction, Intent};
use crate::engine::model::settings::Limit;
use crate::engine::model::step_ahead::NoStep;
use crate::engine::model::template::diff::{self, FieldChange};
use crate::engine::model::time::{Timestamp, UtcTime};
use crate::engine::rules::commands::{LetsGo, Writes};
use crate::engine::rules::holds::HoldKind;
use crate::engine::writes::pending::Needs;

/// Shown wherever pods are deleted.
const PASSES_DISRUPTION_BUDGETS: &str =
    "Pods are deleted, not evicted, as its own controller does: PodDisruptionBudgets are bypassed.";

impl Engine {
    /// The preview of a command.
    pub(crate) fn preview_of(&self, command: &Command, now: Timestamp) -> Result<Preview, Refusal> {
        let resolved = self.resolve(command, now)?;
        if matches!(command.inner(), Command::SetImage(_)) && resolved.change.is_none() {
            return Ok(self.preview_without_another_image(command, &resolved, now));
        }
        let unprotected = self.left_unprotected(command);
        let tuning = command.tuning();
        let command = command.inner();
        let mut intent = self.recorded_intent();
        resolved.edits.iter().for_each(|edit| edit.apply(&mut intent));
        let mut intent = intent.map(Cow::into_owned).unwrap_or_default();
        // The intent as it will be once the template is written.
        if let (Command::Undo { .. }, Some(Change::Revision(hash))) = (command, &intent.change) {
            (intent.target, intent.back_to) = (Some(hash.clone()), Some(hash.clone()));
        }
        let takes_over = matches!(command, Command::Drive(_));
        let becomes_driver = resolved.drive
            && self.config().role == Role::Driver
            && (takes_over || self.lock.is_free(now))
            && !self.lock.holds();
        let by_command = match command {
            Command::Select(_) if resolved.edits.is_empty() => LetsGo::None,
            Command::Undo { .. } if resolved.leads_later() => LetsGo::None,
            command => command.lets_go(),
        };
        let by_driving = if becomes_driver || takes_over { self.goes_on(&intent) } else { LetsGo::None };
        let carries_on = by_command == LetsGo::None && by_driving != LetsGo::None;
        let nodes = match command {
            Command::Tune(_) => self.more_go_at_once(&intent, now),
            _ => self.would_go(if carries_on { by_driving } else { by_command }, &intent),
        };
        let limits = Limits::of(&self.view, &intent, &self.assessment);
        let PreviewWords { lines: mut effects, until_resumed } =
            self.effects_in_words(command, &intent, &nodes, &limits, now);
        // Nobody who gives another command expects this.
        let carries_on_besides = carries_on && !takes_over && !nodes.is_empty();
        if carries_on_besides {
            let pace = self.pace_in_words(&limits, &nodes);
            let in_line = counted_are(nodes.len());
            effects.insert(
                0,
                format!(
                    "It also carries on the rollout, as nobody drives, and replaces pods: {in_line} in line, {pace}."
                ),
            );
        }
        let pending = intent.releasing.as_ref().filter(|_| becomes_driver || takes_over);
        let pending = pending.filter(|_| !matches!(command, Command::Release(_)));
        effects.extend(pending.map(|by| self.pending_release_in_words(by, now)).unwrap_or_default());
        let goes_back = matches!(command, Command::Undo { .. }) && !resolved.leads_later();
        if goes_back {
            if let Some(later) = self.goes_back_later(&intent, &nodes) {
                // If no node goes at once, the first line says that every node is there: `later` replaces it.
                let at = usize::from(!nodes.is_empty());
                effects.splice(at..1, [later]);
            }
            if let Some(which) = self.revisions_that_go(&intent, &nodes) {
                effects.insert(effects.len().min(1), which);
            }
            effects.extend(self.unproven_back_in_words(&intent, &nodes));
            effects.extend(self.prewarming_on_the_way_back(&intent));
        }
        effects.extend(self.former_number_in_words(command));
        if let (Command::Undo { .. }, Some(hash)) = (command, goal(&intent)) {
            let images = |revision: &RevisionFact| images_of_revision(&self.view, &self.assessment, revision);
            effects.extend(self.view.revision(hash).map(|revision| format!("{}.", images(revision))));
        }
        effects.extend(self.ends_in_words(command, &intent));
        effects.extend(self.warm_pods_that_go(&resolved.edits, &limits));
        let placement = self.placement_of(&intent);
        effects.extend(placement.in_words());
        effects.extend(self.surge_in_words(command, limits.max_unavailable));
        effects.extend(self.images_first_in_words(&intent, &nodes));
        if !nodes.is_empty() {
            effects.push(PASSES_DISRUPTION_BUDGETS.to_owned());
        }
        effects.extend(self.tuning_in_words(&tuning, &limits));
        effects.extend(self.begins_with_in_words(&resolved.edits, goes_back));
        if becomes_driver {
            let prewarms = matches!(command, Command::Prewarm(_)) || takes_over && self.recorded_prewarm().is_some();
            effects.push(match command {
                Command::Prewarm(PrewarmCommand::Cancel) if !self.is_recorded() => {
                    "This process becomes the driver until they are gone.".into()
                }
                _ if prewarms && !self.is_recorded() => {
                    "This process becomes the driver, and pre-warms while it runs.".into()
                }
                _ if until_resumed => "This process becomes the driver.".into(),
                _ if intent.releasing.is_none() && intent.paused.is_some() => {
                    format!("This process becomes the driver. The rollout is paused: {UNTIL_RESUMED}.")
                }
                _ if intent.releasing.is_none() && intent.change.is_none() && self.is_halted(&intent) => {
                    format!("This process becomes the driver. The rollout is halted: {UNTIL_RESUMED}.")
                }
                _ if intent.releasing.is_some() => self.drives_until_released().into(),
                _ if self.is_template_of_others(&intent) => {
                    let (changed, how) =
                        (self.template_changed_words(), self.template_of_others_in_words(&intent));
                    format!(
                        "This process becomes the driver, and pauses the rollout at once: {changed} in the middle of it{how}. \
                         Nothing moves before `resume`, which rolls that out, or `undo`."
                    )
                }
                _ if prewarms && nodes.is_empty() => {
                    "This process becomes the driver; no node of the rollout is in line now.".into()
                }
                _ => "This process becomes the driver; the rollout moves while it runs.".into(),
            });
        }
        let drives_itself = becomes_driver || takes_over || self.lock.holds();
        if !nodes.is_empty() && !drives_itself && self.lock.living_other(now).is_none() {
            effects.push(NOBODY_DRIVES.to_owned());
        }
        if !drives_itself && self.lock.living_other(now).is_none() {
            effects.extend(self.undriven_drift_in_words(&tuning));
        }
        if let Some(holder) = self.lock.living_other(now).filter(|_| resolved.drive && !takes_over) {
            effects.push(match self.lock.view(now) {
                _ if self.lock.record_error().is_some() => format!(
                    "{holder} drove last: its lease has to run out first. If it renews that, it may be able to read the record, and this is not done."
                ),
                DriverView::Unconfirmed { .. } => {
                    let next = match (self.config().role, resolved.needs) {
                        (Role::OneShot, Needs::Changed) => {
                            "this command does, once its lease has run out, and whoever drives next replaces the pods"
                        }
                        (Role::OneShot, Needs::Released | Needs::Adopted | Needs::Braked) => {
                            "this command does, once its lease has run out"
                        }
                        _ => "whoever drives next does",
                    };
                    format!("{holder} holds the lease: if it is alive it carries this out, if not, {next}.")
                }
                _ => format!("{holder} drives and carries it out."),
            });
        }
        if resolved.brake && resolved.change.is_some() {
            effects.push("Sets OnDelete again at once: its controller stops replacing pods.".to_owned());
        }
        let changes = resolved.edits.iter().find_map(|edit| match edit {
            Edit::Change { change, .. } => Some(self.template_changes(change)),
            _ => None,
        });
        let halted_before = self.halted_before(command, &intent, now);
        Ok(Preview {
            changes: changes.unwrap_or_default().into(),
            title: match command {
                _ if resolved.brake && resolved.change.is_none() && *command != Command::Resume => {
                    "Emergency brake".into()
                }
                command
                    if matches!(command.inner(), Command::Adopt | Command::Tune(_)) && self.begins_a_new_record() =>
                {
                    "Begin a new record".into()
                }
                Command::Resume if self.resumes_past_a_halt() => "Resume past the halt".into(),
                Command::Undo { .. } => {
                    let to = goal(&intent).and_then(|hash| self.view.revision(hash));
                    match to {
                        None => "Roll back".into(),
                        Some(to) if resolved.leads_later() => {
                            format!("Roll out revision {}, by steps", to.number)
                        }
                        Some(to) => format!("Roll back to revision {}", to.number),
                    }
                }
                command => {
                    let selected = intent.selector.as_ref().map(|selector| self.matching(selector));
                    title_of(command, &limits, self.updated_or_on_the_way(), selected)
                }
            },
            effects,
            warnings: self
                .warnings(command)
                .into_iter()
                .chain(self.rolled_by_its_controller_anyway(command))
                .chain(self.steps_passed_over(command, nodes.len(), &limits))
                .chain(self.no_way_back(command, &limits))
                .chain(self.prewarms_in_vain(command).or_else(|| halted_before.clone()))
                .chain(self.never_ran(command, &intent).filter(|_| halted_before.is_none()))
                .chain(self.rolls_back_in_vain(command))
                .chain(self.prewarms_something_else(command, &intent))
                .chain(self.prewarming_follows(&intent).filter(|_| !goes_back))
                .chain(unprotected)
                .collect(),
            leads_later: resolved.leads_later(),
            halted_before,
            lifts_pause: self.lifts_pause(command, &intent),
            accepts: self.accepted_by(command).into(),
            pinned: match (command, resolved.edits.as_slice()) {
                (Command::Step(Step::Next | Step::Back), [Edit::Partition { partition, total }]) => {
                    let updated = total.map(IntOrPercent::Int);
                    Some(Box::new(Command::Step(updated.map_or(Step::Partition(*partition), Step::Updated))))
                }
                _ => None,
            },
            calls: self.calls_in_words(command, &resolved, &nodes, &limits, now),
            nodes: nodes.into(),
            pulls_on: self.nodes_that_pull(command, &resolved.edits, &limits).into(),
            // A release and a template that is placed elsewhere leave pods to its controller, which no budget limits.
            all_may_be_down: resolved.danger == Danger::ExceedsBudget
                && placement.danger() < Danger::ExceedsBudget
                && !matches!(command, Command::Release(_)),
            danger: resolved.danger.max(placement.danger()).max(
                match carries_on_besides || (pending.is_some() && self.release_costs_pods()) {
                    true => Danger::Serious,
                    false => Danger::None,
                },
            ),
        })
    }

    /// What happens where a command asks for another template, which steps bring to the nodes.
    fn begins_steps_in_words(&self) -> Vec<String> {
        let first = match self.is_adopted() {
            true => "Changes the template.",
            false => "Adopts the DaemonSet first, then changes its template.",
        };
        let first = format!("{first}{BEFORE_A_STEP}");
        let then = "From then on any pod that is lost by itself comes back with the new template.";
        [first, then.to_owned()].into_iter().chain(self.set_back_on_request()).collect()
    }

    /// Which nodes a driver lets go by the recorded intent.
    fn goes_on(&self, intent: &Intent) -> LetsGo {
        let rests = !self.is_recorded()
            || intent.paused.is_some()
            || intent.releasing.is_some()
            || self.is_halted(intent)
            || self.is_template_of_others(intent);
        match intent.direction() {
            _ if rests => LetsGo::None,
            Direction::Back => LetsGo::Back,
            Direction::Forward => LetsGo::Forward,
        }
    }

    /// Whether the template is already the one that this edit asks for.
    pub(super) fn leaves_the_template(&self, edit: &Edit) -> bool {
        let Edit::Change { change, .. } = edit else { return false };
        let wanted = self.view.template_with(change).ok();
        wanted.is_some() && self.view.daemonset().map(|daemonset| &daemonset.template) == wanted.as_ref()
    }

    /// The fields that a change would change in the present template.
    fn template_changes(&self, change: &Change) -> Vec<FieldChange> {
        match (self.view.daemonset(), self.view.template_with(change)) {
            (Some(daemonset), Ok(wanted)) => diff::changes(&daemonset.template, &wanted),
            _ => Vec::new(),
        }
    }

    /// The nodes that would be updated under `intent`, in order, with no regard to time and budget.
    fn would_go(&self, lets_go: LetsGo, intent: &Intent) -> Vec<Str> {
        let assessment = match lets_go {
            LetsGo::None => return Vec::new(),
            LetsGo::Forward => Cow::Owned(self.selected(intent, &self.retargeted(intent))),
            LetsGo::Back => self.going_back(intent),
        };
        let limits = Limits::of(&self.view, intent, &assessment);
        let unlimited = Limits {
            max_unavailable: u32::MAX,
            max_pulling: u32::MAX,
            max_pulling_per_site: Limit::Default,
            require_image: false,
            ..limits
        };
        let budget = crate::engine::assess::plan::budget(&assessment, &unlimited, true);
        let natural = self.natural_ranks();
        let obstacles = Obstacles { rollout_hold: &RolloutHold::None, refused: &|_| None };
        let nodes = NodeLookup {
            name: &|row| self.name(row),
            outage: &|_| None,
            site: &|row| self.site(row),
            pace: None,
            pending: &|row| self.suspects.judgement().pending.contains(&row.node),
            warm_pods_go: self.warm_pods_go(),
        };
        let plan = Plan::of(&assessment, &unlimited, &budget, intent, &obstacles, natural, &nodes);
        let goes = |node: &&NodeIx| plan.hold(**node).is_none_or(|hold| hold.kind() != HoldKind::Partition);
        plan.line.iter().filter(goes).filter_map(|node| assessment.row(*node)).map(|row| self.name(row)).collect()
    }

    /// The fleet as it would be with another selector.
    fn selected(&self, intent: &Intent, assessment: &Assessment) -> Assessment {
        assessment.with(|row| {
            row.selected = intent.selector.as_ref().is_none_or(|selector| {
                self.view.entry(row.node).fact.as_ref().is_some_and(|fact| selector.matches(&fact.labels))
            });
        })
    }

    fn effects_in_words(
        &self,
        command: &Command,
        intent: &Intent,
        nodes: &[Str],
        limits: &Limits,
        now: Timestamp,
    ) -> PreviewWords {
        let count = nodes.len();
        let mut until_resumed = false;
        let lines = match command {
            Command::Adopt if self.takes_back(command) => {
                vec!["Sets OnDelete again at once: its controller stops replacing pods. Nothing else changes.".into()]
            }
            Command::Adopt if self.is_adopted() && self.is_recorded() => {
                vec!["Adopted already: nothing changes.".into()]
            }
            Command::Adopt if self.is_adopted() => {
                let first = "Records the rollout anew: OnDelete is set already. No pod is replaced.".to_owned();
                let soaks = self.soaking_anew_in_words(intent);
                [first].into_iter().chain(soaks).chain(["Undone by release.".to_owned()]).collect()
            }
            Command::Adopt => [
                "Sets OnDelete and saves the original update strategy. No pod is replaced.".into(),
                "Undone by release.".into(),
            ]
            .into_iter()
            .chain(self.set_back_on_request())
            .collect(),
            Command::Prewarm(asked) => self.prewarming_in_words(asked, limits, !nodes.is_empty()),
            Command::Undo { .. } if intent.change.as_ref().is_some_and(Change::begins_steps) => {
                self.begins_steps_in_words()
            }
            Command::SetImage(_) => self.begins_steps_in_words(),
            Command::Step(step) => {
                let mut lines = self.restarts_in_words();
                let fails = self.halt_without_driver(&self.intent(), now);
                lines.extend(fails.map(|reason| format!("{}: whoever drives halts it at once.", reason.why)));
                let caution = lines.len() + 1;
                let step = self.step_in_words(*step, nodes, limits);
                until_resumed = step.until_resumed;
                lines.extend(step.lines);
                if count > 0 {
                    lines.splice(caution..caution, self.ready_lately_in_words(now));
                    lines.splice(caution..caution, self.unready_in_words(nodes));
                }
                lines
            }
            Command::Select(selector) => {
                let select = self.select_in_words(selector.as_ref(), count, limits);
                until_resumed = select.until_resumed;
                let mut lines = select.lines;
                lines.extend(self.unready_in_words(nodes));
                lines
            }
            Command::Pause { .. } if self.pause_brakes() => {
                let mut lines =
                    vec!["Sets OnDelete at once: its controller stops replacing pods. Nothing else changes.".into()];
                if !self.sees_daemonset() {
                    lines.push("The DaemonSet cannot be seen right now: this is done whatever it shows.".into());
                }
                lines
            }
            Command::Pause { why } => {
                let stops = self.pause_stops_in_words();
                let paused = self.intent().paused.map(|paused| {
                    let at = UtcTime { at: paused.at, now };
                    let known = paused.why.as_ref().map(|known| format!(": {known}")).unwrap_or_default();
                    let added = match why {
                        _ if paused.is_by_rolldeck() => " It becomes your pause.",
                        Some(_) => " That is kept with the new reason.",
                        None => "",
                    };
                    format!("It is paused already, by {} at {at}{known}.{added}", paused.by)
                });
                paused.into_iter().chain([stops]).collect()
            }
            Command::Resume => {
                let mut lines = self.accepted_in_words();
                if let Some(paused) = self.intent().paused {
                    let at = UtcTime { at: paused.at, now };
                    let why = paused.why.map(|why| format!(": {why}")).unwrap_or_default();
                    let by = person_of(&paused.by);
                    lines.push(match lines.is_empty() {
                        true => format!("Lifts the pause by {by} at {at}{why}."),
                        false => format!("Also lifts the pause by {by} at {at}{why}."),
                    });
                }
                lines.extend(
                    self.tuned_by_others().into_iter().map(|tuned| format!("Changed since the pause: {tuned}.")),
                );
                if self.is_template_of_others(&self.intent()) {
                    let change = self.template_of_others_in_words(&self.intent());
                    lines.push(format!("Rolls out the template as somebody else changed it{change}."));
                    lines.push("Its steps begin anew: no pod is replaced before the first one.".to_owned());
                }
                if self.takes_back(command) {
                    lines.push("Sets OnDelete again at once: its controller stops replacing pods.".into());
                }
                lines.push(self.what_moves_then(nodes, limits, intent));
                lines.extend(self.unready_in_words(nodes));
                lines
            }
            Command::Undo { .. } if count == 0 => vec![
                "Every node is at that revision: no pod is replaced.".into(),
                "Partition and selector are ignored.".into(),
            ],
            Command::Undo { .. } => {
                vec![
                    self.going_back_in_words(intent, nodes, limits),
                    "Nodes that never left it keep their pod. Partition and selector are ignored.".into(),
                ]
            }
            Command::Release(_) => self.release_in_words(),
            Command::Tune(_) | Command::Tuned { .. } => {
                let mut lines = self.limits_from_now_on(command, limits);
                lines.extend(self.going_at_once_in_words(nodes));
                lines
            }
            Command::Drive(_) => {
                let moves = self.goes_on(intent) != LetsGo::None;
                self.driving_in_words(intent, nodes, limits, moves, now)
            }
            Command::StopDriving | Command::EndDriving { .. } | Command::GiveUpDriving { .. } => {
                self.stopping_in_words(now)
            }
        };
        PreviewWords { lines, until_resumed }
    }

    /// What moves once the rollout is resumed, or is driven; `nodes` are in line then.
    pub(super) fn what_moves_then(&self, nodes: &[Str], limits: &Limits, intent: &Intent) -> String {
        let count = nodes.len();
        match count {
            0 => {
                let nothing = || {
                    let next = match self.next_step(intent) {
                        Err(NoStep::SelectionDone(done)) => {
                            format!("none moves while the selector {} stands", done.selector)
                        }
                        Ok(_) | Err(_) => "a step lets the next one go".to_owned(),
                    };
                    format!("No node is in line: {next}.")
                };
                self.all_at_target_in_words(intent).unwrap_or_else(nothing)
            }
            _ => format!("{} in line, {}.", counted_are(count), self.pace_in_words(limits, nodes)),
        }
    }

    /// `at most 2 down and 2 pulling at a time`. If pre-warming has another limit, the text tells that limit as well.
    pub(super) fn pace_of_updates(&self, limits: &Limits) -> String {
        let pace = limits.pace_in_words();
        let by_pods = self.recorded_prewarm().filter(|asked| asked.cancelled.is_none());
        let by_pods = by_pods.filter(|asked| asked.method == PrewarmMethod::Pods);
        match by_pods.map(|asked| self.prewarm_limit(&asked, limits)) {
            Some(own) if own != limits.max_pulling => {
                format!("{pace} (the rollout's limits; pre-warming has its own: {own} pulling)")
            }
            Some(_) | None => pace,
        }
    }

    /// Warnings about tools that manage the DaemonSet and may set back what this command changes. A command that changes neither
    /// template nor strategy gets none. A tool whose source does not name the update strategy does not set the strategy back.
    fn warnings(&self, command: &Command) -> Vec<String> {
        let brakes = matches!(command, Command::Pause { .. }) && self.pause_brakes();
        let writes = if brakes { Writes::OnDelete } else { command.writes() };
        let gitops_owners = self.view.gitops_owners().iter().filter(|gitops_owner| gitops_owner.interferes());
        match writes {
            Writes::OnDelete => gitops_owners
                .filter(|gitops_owner| gitops_owner.strategy != StrategyOwnership::No)
                .map(GitOpsOwner::warning)
                .collect(),
            Writes::Template => gitops_owners.map(GitOpsOwner::warning).collect(),
            Writes::OriginalStrategy if self.release_only_drops_a_record() => Vec::new(),
            Writes::OriginalStrategy => gitops_owners
                .map(|gitops_owner| {
                    format!(
                        "{gitops_owner} {}. What was rolled out belongs in its source first.",
                        gitops_owner.expects()
                    )
                })
                .collect(),
            Writes::Nothing | Writes::Record | Writes::Prewarm | Writes::WholeRollout => Vec::new(),
        }
    }

    /// The tools that set back an adoption or another template only when somebody asks for it, as `kubectl apply` does. This is no
    /// warning, because most DaemonSets are managed in this way.
    fn set_back_on_request(&self) -> impl Iterator<Item = String> {
        let owners = self.view.gitops_owners().iter();
        let owners = owners.filter(|owner| owner.reverts == RevertTrigger::OnRequest && !owner.interferes());
        owners.map(|owner| format!("{owner} {}.", owner.expects()))
    }
}

/// The title of a preview. `updated` is how many nodes are updated already, or on their way.
///
/// `selected`: how many nodes may be updated by their labels. Other nodes may be updated already.
fn title_of(command: &Command, limits: &Limits, updated: u32, selected: Option<usize>) -> String {
    match command {
        Command::Adopt => "Adopt".into(),
        Command::SetImage(_) => "Set image".into(),
        Command::Step(_) => {
            let allowed = counted(limits.allowed as usize, "node");
            match updated > limits.allowed {
                true => format!("Step: {allowed} may be updated, {updated} are already"),
                false if let Some(selected) = selected => {
                    format!("Step: {allowed} may be updated in total, {selected} are selected")
                }
                false => format!("Step: {allowed} updated in total, {} stay", limits.keep),
            }
        }
        Command::Select(Some(selector)) => format!("Select nodes: {selector}"),
        Command::Select(None) => "Remove the node selector".into(),
        Command::Pause { .. } => "Pause".into(),
        Command::Resume => "Resume".into(),
        Command::Undo { .. } => "Roll back".into(),
        Command::Release(Early::Refuse) => "Release".into(),
        Command::Release(Early::Accept) => "Release early".into(),
        Command::Tune(_) | Command::Tuned { .. } => "Change budgets and gates".into(),
        Command::Prewarm(PrewarmCommand::Start { .. }) => "Pre-warm".into(),
        Command::Prewarm(PrewarmCommand::Pause) => "Pause pre-warming".into(),
        Command::Prewarm(PrewarmCommand::Resume) => "Go on pre-warming".into(),
        Command::Prewarm(PrewarmCommand::Retry) => "Retry pre-warming".into(),
        Command::Prewarm(PrewarmCommand::Cancel) => "Cancel pre-warming".into(),
        Command::Drive(_) => "Drive".into(),
        Command::StopDriving | Command::EndDriving { .. } | Command::GiveUpDriving { .. } => "Stop driving".into(),
    }
}
