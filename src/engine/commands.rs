//! Resolves commands: which edits of the record a command makes, what its preview says, and why it may be refused.

pub(super) mod accept;
pub(super) mod allowance;
pub(super) mod placement;
mod release;
pub(super) mod resolved;
mod restarts;
mod surge;

use std::borrow::Cow;

use self::allowance::{counted, counted_are};
use self::resolved::Resolved;
use super::assess::plan::{Limits, NodeLookup, Obstacles, Plan, RolloutHold};
use super::assess::rows::Assessment;
use super::lease::edit::Edit;
use super::machine::Engine;
use super::model::Str;
use super::model::command::{Command, Danger, Early, Preview, Refusal, Takeover};
use super::model::config::Role;
use super::model::event::{Permission, Right, WatchHealth, Watched};
use super::model::facts::StrategyKind;
use super::model::hold::Hold;
use super::model::node::NodeIx;
use super::model::presence::Presence;
use super::model::record::{By, Change, Intent, OnDrift, Paused, lease_name};
use super::model::time::{ShortDuration, Timestamp};
use super::model::tuning::Tuning;
use super::rules::ownership::{GitOpsOwner, StrategyOwnership};
use super::rules::strategy_drift::{FIGHT, ROUNDS};
use super::writes::pending::Needs;

impl Engine {
    /// Understands a command, or refuses it. Changes nothing.
    pub(crate) fn resolve(&self, command: &Command, now: Timestamp) -> Result<Resolved, Refusal> {
        let resolved = self.resolve_inner(command, now)?;
        self.check_surge(command)?;
        Ok(resolved)
    }

    fn resolve_inner(&self, command: &Command, now: Timestamp) -> Result<Resolved, Refusal> {
        self.check_loaded(command, now)?;
        self.check_rights(command)?;
        let by = By { by: self.actor(), at: now };
        match command {
            Command::Adopt => Ok(self.resolve_adopt()),
            Command::SetImage(images) => self.resolve_images(images, now),
            Command::Step(step) => self.resolve_step(*step),
            Command::Select(selector) => self.resolve_select(selector),
            Command::Pause { why } => Ok(self.resolve_pause(why.as_deref(), now)),
            Command::Resume => self.resolve_resume(),
            Command::Undo { to } => self.resolve_undo(*to, now),
            Command::Release(early) => self.resolve_release(*early, by),
            Command::Tune(tuning) => self.resolve_tune(tuning),
            Command::Tuned { tuning, command } => {
                let mut resolved = self.resolve_inner(command, now)?;
                self.check_tuning(tuning)?;
                resolved.edits.push(Edit::Tune(*tuning));
                Ok(resolved)
            }
            Command::Drive(takeover) => self.resolve_drive(*takeover, by, now),
            Command::GiveUpDriving { why } => {
                let says = format!("stopped driving: {why}; whoever drives next carries on");
                Ok(Resolved { drive: false, ..Resolved::new(Vec::new(), Needs::DriverStopped, says, Danger::Bounded) })
            }
            Command::StopDriving => {
                let says = "no longer driving; whoever drives next carries on".to_owned();
                Ok(Resolved { drive: false, ..Resolved::new(Vec::new(), Needs::DriverStopped, says, Danger::Bounded) })
            }
        }
    }

    fn resolve_adopt(&self) -> Resolved {
        let back = self.takes_back(&Command::Adopt);
        let says = if back { "OnDelete is set again" } else { "adopted" };
        let says = format!("{says}: its controller replaces no pod any more");
        let resolved = Resolved::new(vec![Edit::Begin], Needs::Adopted, says, Danger::Bounded);
        Resolved { brake: back, ..resolved }
    }

    fn resolve_tune(&self, tuning: &Tuning) -> Result<Resolved, Refusal> {
        // A console may set limits before there is a rollout. A one-shot command would leave behind a record of no rollout.
        if self.config().role == Role::OneShot && !self.is_recorded() {
            return Err(Refusal::NotNow(
                "no rollout is recorded, so there is nothing to tune: `adopt`, `set-image` and `drive --image` take the \
                 same flags"
                    .into(),
            ));
        }
        self.check_tuning(tuning)?;
        let changes = tuning.changes(&self.intent());
        let says = if changes.is_empty() { "nothing to change: it is so already".into() } else { changes.join(", ") };
        let resolved = Resolved::new(vec![Edit::Tune(*tuning)], Needs::Saved, says, Danger::Bounded);
        Ok(Resolved { drive: false, danger: self.tuning_danger(tuning), ..resolved })
    }

    fn check_tuning(&self, tuning: &Tuning) -> Result<(), Refusal> {
        let mut after = self.intent();
        tuning.apply_to(&mut after);
        let min_ready_secs = self.view.daemonset.as_ref().map_or(0, |daemonset| daemonset.min_ready_secs);
        tuning.check(&after, min_ready_secs).map_err(Refusal::Invalid)
    }

    /// A budget under which every node may be down at once has to be confirmed: it may be a typing error.
    fn tuning_danger(&self, tuning: &Tuning) -> Danger {
        let mut after = self.intent();
        tuning.apply_to(&mut after);
        let limits = Limits::of(&self.view, &after, &self.assessment);
        let all = tuning.max_unavailable.is_some() && limits.max_unavailable >= self.assessment.desired.max(2);
        if all { Danger::Serious } else { Danger::Bounded }
    }

    fn check_loaded(&self, command: &Command, now: Timestamp) -> Result<(), Refusal> {
        match self.view.presence {
            Presence::Loading => {
                let why = match self.view.health(Watched::DaemonSet) {
                    WatchHealth::Forbidden { why } | WatchHealth::Down { why, .. } => why.clone(),
                    WatchHealth::Loading | WatchHealth::Live | WatchHealth::Lagging { .. } => {
                        "still loading; try again in a moment".into()
                    }
                };
                return Err(Refusal::NotLoaded(why));
            }
            Presence::Absent => {
                let name = format!("no DaemonSet {}/{}", self.config().namespace, self.config().name);
                return Err(Refusal::NotLoaded(name.into()));
            }
            Presence::Present => {}
        }
        if matches!(command.inner(), Command::Pause { .. } | Command::StopDriving | Command::GiveUpDriving { .. }) {
            return Ok(());
        }
        if let Some(why) = self.lock.record_error() {
            return Err(Refusal::NotNow(format!("the rollout's record cannot be read: {why}")));
        }
        if self.is_being_deleted() {
            let why =
                "the DaemonSet is being deleted: nothing can be rolled out any more; once it is gone, make a new one";
            return Err(Refusal::NotNow(why.into()));
        }
        match self.too_stale_to_judge(now) {
            Some(why) => Err(Refusal::Stale(why)),
            None => Ok(()),
        }
    }

    fn check_rights(&self, command: &Command) -> Result<(), Refusal> {
        let lease = if self.lock.resource_version().is_some() { Right::UpdateLease } else { Right::CreateLease };
        let rights: &[Right] = match command.inner() {
            Command::StopDriving | Command::GiveUpDriving { .. } => &[],
            // The brake must work even where the record cannot be written.
            Command::Pause { .. } if self.pause_brakes() => &[Right::PatchDaemonSet],
            Command::Adopt | Command::SetImage(_) | Command::Undo { .. } | Command::Release(_) => {
                &[lease, Right::PatchDaemonSet]
            }
            Command::Drive(_) => &[Right::UpdateLease, Right::PatchDaemonSet, Right::DeletePods],
            _ => &[lease],
        };
        match rights.iter().find(|right| self.view.permission(**right) == Permission::Denied) {
            Some(right) => Err(Refusal::NotPermitted(*right)),
            None => Ok(()),
        }
    }

    fn resolve_images(
        &self,
        images: &std::collections::BTreeMap<String, super::model::image::ImageRef>,
        now: Timestamp,
    ) -> Result<Resolved, Refusal> {
        let daemonset = self.view.daemonset.as_ref().ok_or_else(|| Refusal::NotLoaded("no DaemonSet".into()))?;
        if images.is_empty() {
            return Err(Refusal::Invalid("no image named; write CONTAINER=IMAGE".into()));
        }
        let pairs = images.iter().map(|(name, image)| (name.as_str(), image.as_str()));
        let wanted = daemonset.template.with_images(pairs).map_err(Refusal::Invalid)?;
        if wanted == daemonset.template {
            return Err(Refusal::NotNow("the template has these images already; use `step` to roll it out".into()));
        }
        let words: Vec<String> = images.iter().map(|(name, image)| format!("{name}={image}")).collect();
        let says = format!("template has {}; no pod is replaced before the first step", words.join(" "));
        Ok(self.resolve_change(Change::Images(images.clone()), says, now))
    }

    /// Whether a pause also sets `OnDelete`: if the controller replaces pods, or may do so by now because the DaemonSet cannot be
    /// seen. In the second case it does not if we lack the right: then the pause is only recorded.
    fn pause_brakes(&self) -> bool {
        let blind = self.view.daemonset.is_some() && !self.sees_daemonset();
        let may = self.view.permission(Right::PatchDaemonSet) != Permission::Denied;
        self.strategy() == StrategyKind::RollingUpdate || (blind && may)
    }

    fn resolve_pause(&self, why: Option<&str>, now: Timestamp) -> Resolved {
        let paused = Paused { by: self.actor(), at: now, why: why.map(Str::from) };
        let brake = self.pause_brakes();
        let (needs, says) = if brake {
            (Needs::Adopted, "OnDelete is set: its controller replaces no pod any more; paused")
        } else {
            (Needs::Saved, "paused: no update starts")
        };
        let released = self.recorded_intent().is_some_and(|intent| intent.releasing.is_some());
        let says = format!("{says}{}", if released { "; its release is called off" } else { "" });
        Resolved { brake, drive: false, ..Resolved::new(vec![Edit::Pause(paused)], needs, says, Danger::None) }
    }

    fn resolve_change(&self, change: Change, says: String, now: Timestamp) -> Resolved {
        let id = self.new_change_id(self.commands(), now);
        let edits = vec![Edit::Change { change, id: id.clone() }];
        Resolved { change: Some(id), ..Resolved::new(edits, Needs::Changed, says, Danger::Serious) }
    }

    fn resolve_undo(&self, to: Option<i64>, now: Timestamp) -> Result<Resolved, Refusal> {
        let daemonset = self.view.daemonset.as_ref().ok_or_else(|| Refusal::NotLoaded("no DaemonSet".into()))?;
        let mut revisions: Vec<_> = self.view.own_revisions().collect();
        revisions.sort_by_key(|revision| std::cmp::Reverse(revision.number));
        let chosen = match to {
            Some(number) => revisions.iter().find(|revision| revision.number == number).ok_or_else(|| {
                let known: Vec<String> = revisions.iter().map(|revision| revision.number.to_string()).collect();
                Refusal::Invalid(format!("no revision {number}; there are {}", known.join(", ")))
            })?,
            None => revisions
                .iter()
                .find(|revision| Some(&revision.hash) != self.view.current.as_ref())
                .ok_or_else(|| Refusal::NotNow("there is no earlier revision to roll back to".into()))?,
        };
        let intent = self.intent();
        let is_target = intent.target.as_ref().is_none_or(|target| *target == chosen.hash);
        if chosen.template == daemonset.template && is_target && intent.change.is_none() {
            return Err(Refusal::NotNow(format!("the template already is that of revision {}", chosen.number)));
        }
        let says = format!("template is that of revision {}; nodes still on it count as updated", chosen.number);
        Ok(self.resolve_change(Change::Revision(chosen.hash.clone()), says, now))
    }

    fn resolve_drive(&self, takeover: Takeover, by: By, now: Timestamp) -> Result<Resolved, Refusal> {
        if !self.is_recorded() {
            return Err(Refusal::NotNow(
                "no rollout is recorded, so there is nothing to drive; set an image or step first".into(),
            ));
        }
        let (edits, danger) = match (self.lock.living_other(now), takeover) {
            (Some(holder), Takeover::IfFree) => return Err(Refusal::DrivenBy { holder: holder.clone() }),
            (Some(_), Takeover::Ask) => (vec![Edit::Handover(by)], Danger::Serious),
            (None, _) => (Vec::new(), Danger::Bounded),
        };
        let says = "this console drives".to_owned();
        Ok(Resolved::new(edits, Needs::Driving(takeover), says, danger))
    }

    /// Says what a command would do.
    pub(crate) fn preview_of(&self, command: &Command, now: Timestamp) -> Result<Preview, Refusal> {
        let resolved = self.resolve(command, now)?;
        let tuning = command.tuning();
        let command = command.inner();
        let mut intent = self.recorded_intent();
        resolved.edits.iter().for_each(|edit| edit.apply(&mut intent));
        let mut intent = intent.map(Cow::into_owned).unwrap_or_default();
        // As it is once the template is written.
        if let (Command::Undo { .. }, Some(Change::Revision(hash))) = (command, &intent.change) {
            (intent.target, intent.back_to) = (Some(hash.clone()), Some(hash.clone()));
        }
        let mut nodes: Vec<Str> = Vec::new();
        if matches!(command, Command::Step(_) | Command::Select(_) | Command::Resume | Command::Undo { .. }) {
            nodes = self.would_go(command, &intent);
        }
        let limits = Limits::of(&self.view, &intent, &self.assessment);
        let mut effects = self.effects_in_words(command, &nodes, &limits);
        let placement = self.placement_of(&intent);
        effects.extend(placement.in_words());
        effects.extend(self.surge_in_words(command, limits.max_unavailable));
        effects.extend(self.disruption_budgets_in_words(command));
        effects.extend(self.tuning_in_words(&tuning, &limits));
        if resolved.drive && self.config().role == Role::Driver && self.lock.is_free(now) && !self.lock.holds() {
            effects.push("This console becomes the driver; the rollout moves while it is open.".into());
        }
        if let Some(holder) = self.lock.living_other(now).filter(|_| resolved.drive) {
            effects.push(format!("{holder} drives and carries it out."));
        }
        Ok(Preview {
            title: match command {
                _ if resolved.brake => "Emergency brake".into(),
                Command::Resume if self.resumes_past_a_halt() => "Resume past the halt".into(),
                command => title_of(command, &limits),
            },
            effects,
            warnings: self.warnings(command),
            calls: self.calls_in_words(command, &resolved, &nodes),
            nodes: nodes.into(),
            danger: resolved.danger.max(placement.danger()),
        })
    }

    /// The nodes that would be updated under `intent`, in order, with no regard to time and budget.
    fn would_go(&self, command: &Command, intent: &Intent) -> Vec<Str> {
        let assessment = match command {
            Command::Undo { .. } => self.going_back(intent),
            _ => self.selected(intent),
        };
        let limits = Limits::of(&self.view, intent, &assessment);
        let unlimited = Limits { max_unavailable: u32::MAX, max_pulling: u32::MAX, ..limits };
        let budget = super::assess::plan::budget(&assessment, &unlimited, true);
        let natural = self.natural_ranks();
        let obstacles = Obstacles { rollout_hold: &RolloutHold::None, refused: &|_| None };
        let nodes = NodeLookup { name: &|row| self.name(row), outage: &|_| None };
        let plan = Plan::of(&assessment, &unlimited, &budget, intent, &obstacles, natural, &nodes);
        let goes = |node: &&NodeIx| !matches!(plan.hold(**node), Some(Hold::Partition { .. }));
        plan.line.iter().filter(goes).filter_map(|node| assessment.row(*node)).map(|row| self.name(row)).collect()
    }

    /// The fleet as it would be with another selector.
    fn selected(&self, intent: &Intent) -> Assessment {
        self.assessment.with(|row| {
            row.selected = intent.selector.as_ref().is_none_or(|selector| {
                self.view.nodes[row.node].fact.as_ref().is_some_and(|fact| selector.matches(&fact.labels))
            });
        })
    }

    /// The remark that PodDisruptionBudgets are bypassed, for a command that lets the first pods go.
    fn disruption_budgets_in_words(&self, command: &Command) -> Option<String> {
        let first = match command {
            Command::Step(_) => Limits::of(&self.view, &self.intent(), &self.assessment).allowed == 0,
            Command::Undo { .. } => true,
            _ => false,
        };
        first.then(|| {
            "Pods are deleted, not evicted: PodDisruptionBudgets are bypassed, as its own controller does.".into()
        })
    }

    fn effects_in_words(&self, command: &Command, nodes: &[Str], limits: &Limits) -> Vec<String> {
        let count = nodes.len();
        let pace = format!("at most {} down and {} pulling at a time", limits.max_unavailable, limits.max_pulling);
        match command {
            Command::Adopt if self.takes_back(command) => {
                vec!["Sets OnDelete again at once: its controller stops replacing pods. Nothing else changes.".into()]
            }
            Command::Adopt => vec![
                "Sets OnDelete and saves the original update strategy. No pod is replaced.".into(),
                "Undone by release.".into(),
            ],
            Command::SetImage(images) => {
                let mut lines: Vec<String> = images.iter().map(|(name, image)| format!("{name} → {image}")).collect();
                lines.push(
                    "Adopts the DaemonSet first, then changes its template. No pod is replaced before a step.".into(),
                );
                lines.push("From then on any pod that is lost by itself comes back with the new template.".into());
                lines
            }
            Command::Step(step) => {
                let mut lines = self.restarts_in_words();
                lines.extend(self.step_in_words(*step, count, limits));
                lines
            }
            Command::Select(selector) => self.select_in_words(selector.as_ref(), count, limits),
            Command::Pause { .. } if self.pause_brakes() => {
                let mut lines =
                    vec!["Sets OnDelete at once: its controller stops replacing pods. Nothing else changes.".into()];
                if !self.sees_daemonset() {
                    lines.push("The DaemonSet cannot be seen right now: this is done whatever it shows.".into());
                }
                lines
            }
            Command::Pause { .. } => vec!["No update starts until resumed. Pods being replaced now finish.".into()],
            Command::Resume => {
                let mut lines = self.accepted_in_words();
                lines.push(format!("{} in line, {pace}.", counted_are(count)));
                lines
            }
            Command::Undo { .. } => vec![
                format!("{} not at that revision and replaced, broken ones first, {pace}.", counted_are(count)),
                "Nodes that never left it keep their pod. Partition and selector are ignored.".into(),
            ],
            Command::Release(_) => self.release_in_words(),
            Command::Tune(_) | Command::Tuned { .. } => vec![format!("From now on {pace}.")],
            Command::Drive(_) => vec![match self.lock.holder() {
                Some(holder) if *holder != self.config().identity => {
                    format!("Asks {holder} to hand over; if it is gone, its lease runs out first.")
                }
                _ => "The rollout moves while this console is open.".to_owned(),
            }],
            Command::StopDriving | Command::GiveUpDriving { .. } => {
                vec!["Nothing more is replaced until somebody drives again.".into()]
            }
        }
    }

    /// What a change of budgets and gates comes to, a line each.
    fn tuning_in_words(&self, tuning: &Tuning, limits: &Limits) -> Vec<String> {
        let mut lines = tuning.changes(&self.intent());
        if tuning.is_empty() {
            return lines;
        }
        if lines.is_empty() {
            lines.push("Nothing changes: it is so already.".into());
        }
        let desired = self.assessment.desired;
        if tuning.max_unavailable.is_some() && limits.max_unavailable >= desired.max(2) {
            lines.push(format!("Every one of the {desired} nodes may be down at once."));
        }
        match tuning.on_drift {
            Some(OnDrift::EnforceOnDelete) => lines.push(format!(
                "If the update strategy is changed back, OnDelete is set again at once, {ROUNDS} times in {} at most.",
                ShortDuration(FIGHT)
            )),
            Some(OnDrift::Report) => {
                lines.push("If the update strategy is changed back, the rollout pauses and says who it was.".into());
            }
            None => {}
        }
        lines
    }

    /// Warnings about tools that manage the DaemonSet and may set back what this command changes. A command that changes neither
    /// template nor strategy gets none, and a tool whose source does not name the update strategy will not set that back.
    fn warnings(&self, command: &Command) -> Vec<String> {
        let brakes = self.pause_brakes();
        let gitops_owners = self.view.gitops_owners.iter().filter(|gitops_owner| gitops_owner.interferes());
        match command {
            Command::Adopt => gitops_owners
                .filter(|gitops_owner| gitops_owner.strategy != StrategyOwnership::No)
                .map(GitOpsOwner::warning)
                .collect(),
            Command::Pause { .. } if brakes => gitops_owners
                .filter(|gitops_owner| gitops_owner.strategy != StrategyOwnership::No)
                .map(GitOpsOwner::warning)
                .collect(),
            Command::SetImage(_) | Command::Undo { .. } => gitops_owners.map(GitOpsOwner::warning).collect(),
            Command::Release(_) => gitops_owners
                .map(|gitops_owner| {
                    format!(
                        "{gitops_owner} {}. What was rolled out belongs in its source first.",
                        gitops_owner.expects()
                    )
                })
                .collect(),
            _ => Vec::new(),
        }
    }

    fn calls_in_words(&self, command: &Command, resolved: &Resolved, nodes: &[Str]) -> Vec<String> {
        let name = &self.config().name;
        let lease = lease_name(name);
        let mut calls = Vec::new();
        if !resolved.edits.is_empty() {
            let verb = if self.lock.resource_version().is_some() { "PUT" } else { "POST" };
            calls.push(format!("{verb} leases/{lease} (record)"));
        }
        let adopts =
            resolved.brake || (resolved.drive && !self.is_adopted() && !matches!(command, Command::Release(_)));
        if adopts {
            calls.push(format!("PATCH daemonsets/{name} (updateStrategy OnDelete, original saved)"));
        }
        match command {
            Command::SetImage(_) | Command::Undo { .. } => calls.push(format!("PATCH daemonsets/{name} (template)")),
            Command::Release(_) => calls.push(format!("PATCH daemonsets/{name} (updateStrategy restored)")),
            _ => {}
        }
        let replaces =
            matches!(command, Command::Step(_) | Command::Select(_) | Command::Resume | Command::Undo { .. });
        if replaces && !nodes.is_empty() {
            calls.push("DELETE pods, one by one, uid-guarded".to_owned());
        }
        calls
    }
}

fn title_of(command: &Command, limits: &Limits) -> String {
    match command {
        Command::Adopt => "Adopt".into(),
        Command::SetImage(_) => "Set image".into(),
        Command::Step(_) => {
            format!("Step: {} updated in total, {} stay", counted(limits.allowed as usize), limits.keep)
        }
        Command::Select(Some(selector)) => format!("Select nodes: {selector}"),
        Command::Select(None) => "Remove the node selector".into(),
        Command::Pause { .. } => "Pause".into(),
        Command::Resume => "Resume".into(),
        Command::Undo { .. } => "Roll back".into(),
        Command::Release(Early::Refuse) => "Release".into(),
        Command::Release(Early::Accept) => "Release early".into(),
        Command::Tune(_) | Command::Tuned { .. } => "Change budgets and gates".into(),
        Command::Drive(_) => "Drive".into(),
        Command::StopDriving | Command::GiveUpDriving { .. } => "Stop driving".into(),
    }
}
