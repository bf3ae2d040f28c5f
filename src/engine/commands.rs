//! Resolves commands: which edits of the record a command makes, what its preview says, and why it may be refused.

pub(super) mod accept;
pub(super) mod allowance;
mod api_calls;
mod check;
mod driving;
mod ends;
mod lost_record;
pub(super) mod placement;
mod preview;
mod prewarm;
mod prewarm_calls;
mod prewarm_follows;
mod prewarm_present;
mod prewarm_slots;
mod ready_lately;
mod release;
pub(super) mod resolved;
mod restarts;
mod roll_back;
mod same_images;
mod seen;
mod surge;
mod tuning;
mod undo;
mod unreadable_record;
mod unready;
mod warnings;

use self::resolved::Resolved;
use self::tuning::PULLS_FOLLOW;
use super::assess::plan::Limits;
use super::lease::edit::Edit;
use super::machine::Engine;
use super::model::Str;
use super::model::budget::may_all_be_down;
use super::model::command::{BEFORE_THE_FIRST_STEP, Command, Refusal, Takeover};
use super::model::config::Role;
use super::model::danger::Danger;
use super::model::event::{Permission, Right};
use super::model::facts::StrategyKind;
use super::model::record::size::clipped;
use super::model::record::{BegunAnew, By, Change, Paused};
use super::model::settings::Tuning;
use super::model::step_ahead::NothingRecorded;
use super::model::time::Timestamp;
use super::writes::pending::Needs;

impl Engine {
    /// Resolves a command, or refuses it. Nothing is changed.
    pub(crate) fn resolve(&self, command: &Command, now: Timestamp) -> Result<Resolved, Refusal> {
        let mut resolved = self.resolve_inner(command, now)?;
        self.check_surge(command)?;
        let anew = self.begins_anew(command, now);
        let is_anew = anew.is_some();
        if let Some(settings) =
            self.begins_with(&resolved.edits).filter(|settings| anew.is_some() || !settings.is_empty())
        {
            let danger = self.tuning_danger(&settings.clone().and(command.tuning()));
            resolved.danger = resolved.danger.max(danger);
            resolved.edits.insert(0, Edit::BeginWith { settings: settings.clone(), anew });
            if is_anew {
                resolved.says.push_str(&format!("; {}", self.begun_without_a_record(command)));
            }
        }
        let lets_go = matches!(command.inner(), Command::Step(_) | Command::Select(_) | Command::SetImage(_));
        if lets_go && self.begins_unrecorded(command).is_some() {
            resolved.danger = resolved.danger.max(Danger::Serious);
        }
        if !resolved.edits.is_empty() {
            resolved.edits.extend(self.first_target(command));
        }
        if let Some(why) = self.replaces_unreadable(command) {
            resolved.danger = resolved.danger.max(Danger::Serious);
            resolved.edits.insert(0, Edit::ReplaceUnreadable(why.clone()));
        }
        Ok(resolved)
    }

    /// The operator's own defaults, which may be empty, if these edits begin a record.
    pub(super) fn begins_with(&self, edits: &[Edit]) -> Option<&Tuning> {
        let defaults = Some(&self.config().defaults).filter(|_| !self.is_recorded())?;
        let mut made = None;
        edits.iter().for_each(|edit| edit.apply(&mut made));
        // A record that is made only to be dropped by a release begins no rollout.
        made.filter(|made| made.releasing.is_none()).map(|_| defaults)
    }

    /// The beginner of a rollout, to be noted if this command begins it after the rollout's earlier record was lost.
    fn begins_anew(&self, command: &Command, now: Timestamp) -> Option<BegunAnew> {
        let begun = || By { by: self.actor(), at: now };
        let limits_set = !command.tuning().is_empty();
        let before = || self.lost_record().map(|known| clipped(&known));
        matches!(self.nothing_recorded(), NothingRecorded::AnyMore | NothingRecorded::Readable).then(|| BegunAnew {
            begun: begun(),
            limits_set,
            before: before(),
        })
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
            Command::Tune(tuning) => self.resolve_tune(tuning, by),
            Command::Tuned { tuning, command } => {
                let mut resolved = self.resolve_inner(command, now)?;
                // Images that the template has already begin no rollout: without one there is nothing whose settings could change.
                if resolved.edits.is_empty() && matches!(**command, Command::SetImage(_)) && !self.is_recorded() {
                    resolved.says.push_str("; no rollout is recorded, so no setting changes");
                    return Ok(resolved);
                }
                self.check_tuning(tuning)?;
                // Events tell with which limits a rollout goes on. Where a record begins without the earlier one, all its limits are told anyway.
                let changes = tuning.changes(&self.intent().settings());
                if !changes.is_empty() && self.begins_anew(command, now).is_none() {
                    resolved.says.push_str(&format!("; {}", changes.join(", ")));
                }
                resolved.edits.push(Edit::Tune { tuning: tuning.clone(), by });
                resolved.danger = resolved.danger.max(self.tuning_danger(tuning));
                Ok(resolved)
            }
            Command::Prewarm(asked) => self.resolve_prewarm(asked, by),
            Command::Drive(takeover) => self.resolve_drive(*takeover, by, now),
            Command::EndDriving { why } | Command::GiveUpDriving { why } => {
                let says = format!("stopped driving: {why}; whoever drives next carries on");
                Ok(Resolved { drive: false, ..Resolved::new(Vec::new(), Needs::DriverStopped, says, Danger::Bounded) })
            }
            Command::StopDriving => {
                let says = match self.drives_no_longer_because(now) {
                    Some(why) => format!("there was nothing to stop, it was not driven from here: {why}"),
                    None if self.is_over() => "no longer driving".to_owned(),
                    None => "no longer driving; whoever drives next carries on".to_owned(),
                };
                Ok(Resolved { drive: false, ..Resolved::new(Vec::new(), Needs::DriverStopped, says, Danger::Bounded) })
            }
        }
    }

    fn resolve_adopt(&self) -> Resolved {
        let back = self.takes_back(&Command::Adopt);
        if !back && self.is_adopted() && self.is_recorded() {
            let says = "adopted already, nothing changed".to_owned();
            return Resolved { drive: false, ..Resolved::new(Vec::new(), Needs::Adopted, says, Danger::None) };
        }
        let says = match back {
            true => "OnDelete is set again",
            false if self.is_adopted() => "recorded anew",
            false => "adopted",
        };
        let says = format!("{says}: its controller replaces no pod any more");
        let needs = if back { Needs::Braked } else { Needs::Adopted };
        let resolved = Resolved::new(vec![Edit::Begin], needs, says, Danger::Bounded);
        Resolved { brake: back, ..resolved }
    }

    fn resolve_tune(&self, tuning: &Tuning, by: By) -> Result<Resolved, Refusal> {
        // A console may set limits before there is a rollout. A one-shot command may not: it would leave behind a record of no rollout.
        if self.config().role == Role::OneShot && !self.is_recorded() {
            let nothing = self.nothing_recorded();
            let how = nothing.remedy_or("`adopt`, `set-image` and `drive --image` take the same flags");
            return Err(Refusal::NotNow(format!("{nothing}, so there is nothing to tune: {how}")));
        }
        self.check_tuning(tuning)?;
        let changes = tuning.changes(&self.intent().settings());
        let follows = if self.pulls_follow(tuning) { format!("; {PULLS_FOLLOW}") } else { String::new() };
        // Events and the audit log say what changed. What is confirmed as it is stands in the preview.
        let confirms = self.confirmed_in_words(tuning).is_some();
        let says = match (changes.as_slice(), confirms) {
            ([], true) => "all settings are confirmed as they are: none changes".to_owned(),
            (changes, true) => format!("{}{follows}; the others are confirmed as they are", changes.join(", ")),
            ([], false) if !self.is_recorded() => "recorded anew, with the settings that were shown".to_owned(),
            ([], false) => "nothing to change: it is so already".to_owned(),
            (changes, false) => format!("{}{follows}", changes.join(", ")),
        };
        let mut after = self.intent();
        after.tune(tuning);
        // As for a step: while no node is updated and well yet, a change that lets further nodes be updated at once is `Serious`.
        let goes_unproven = self.unproven_in_words().is_some() && !self.more_go_at_once(&after, self.now).is_empty();
        let danger = self.tuning_danger(tuning).max(if goes_unproven { Danger::Serious } else { Danger::Bounded });
        // What is in force already is not written again.
        let edits = match self.is_recorded() && after == self.intent() {
            true => Vec::new(),
            false => vec![Edit::Tune { tuning: tuning.clone(), by }],
        };
        let resolved = Resolved::new(edits, Needs::Saved, says, danger);
        Ok(Resolved { drive: false, ..resolved })
    }

    /// A budget under which every node may be down at once has to be confirmed: it may be a typing error.
    fn tuning_danger(&self, tuning: &Tuning) -> Danger {
        let mut after = self.intent();
        after.tune(tuning);
        let limits = Limits::of(&self.view, &after, &self.assessment);
        let worst = tuning.named().map(|setting| setting.about().danger).max().unwrap_or(Danger::Bounded);
        match () {
            () if self.may_all_be_down(&limits) => worst,
            () if self.may_most_be_down(tuning, &limits) => worst.min(Danger::Serious),
            () => Danger::Bounded,
        }
    }

    /// Whether `tuning` raises the budget so far that more than half of the nodes may be down at once.
    fn may_most_be_down(&self, tuning: &Tuning, limits: &Limits) -> bool {
        let before = Limits::of(&self.view, &self.intent(), &self.assessment).max_unavailable;
        let half = self.assessment.desired / 2;
        tuning.max_unavailable.is_some() && limits.max_unavailable > before && limits.max_unavailable > half.max(1)
    }

    fn may_all_be_down(&self, limits: &Limits) -> bool {
        may_all_be_down(limits.max_unavailable, self.assessment.desired)
    }

    fn resolve_images(
        &self,
        images: &std::collections::BTreeMap<String, super::model::image::ImageRef>,
        now: Timestamp,
    ) -> Result<Resolved, Refusal> {
        let daemonset = self.view.daemonset().ok_or_else(|| Refusal::NotLoaded("no DaemonSet".into()))?;
        if images.is_empty() {
            return Err(Refusal::Invalid("no image named; write CONTAINER=IMAGE".into()));
        }
        let pairs = images.iter().map(|(name, image)| (name.as_str(), image.as_str()));
        let wanted = daemonset.template.with_images(pairs).map_err(Refusal::Invalid)?;
        if wanted == daemonset.template {
            return self.has_images_already();
        }
        let words: Vec<String> = images.iter().map(|(name, image)| format!("{name}={image}")).collect();
        let says = format!("template has {}{BEFORE_THE_FIRST_STEP}", words.join(" "));
        Ok(self.resolve_change(Change::Images(images.clone()), says, now))
    }

    /// Whether a pause also sets `OnDelete`: it does if the controller replaces pods, or if the controller may do so because a release of ours is on its way, or
    /// because the DaemonSet cannot be seen at present. In the last case it does not if we lack the right: then the pause is only recorded.
    pub(crate) fn pause_brakes(&self) -> bool {
        let blind = self.view.daemonset().is_some() && !self.sees_daemonset();
        let may = self.view.permission(Right::PatchDaemonSet) != Permission::Denied;
        self.strategy() == StrategyKind::RollingUpdate || self.daemonset.is_releasing() || (blind && may)
    }

    fn resolve_pause(&self, why: Option<&str>, now: Timestamp) -> Resolved {
        if self.lock.record_error().is_some() {
            let says = "OnDelete is set: its controller replaces no pod any more; no pause is recorded, as the record cannot be read";
            let resolved = Resolved::new(Vec::new(), Needs::Braked, says.to_owned(), Danger::None);
            return Resolved { brake: true, drive: false, ..resolved };
        }
        let earlier = self.intent().paused;
        let known = earlier.clone();
        let was_paused = earlier.is_some();
        let by_rolldeck = earlier.as_ref().is_some_and(Paused::is_by_rolldeck);
        let brake = self.pause_brakes();
        let new = Paused { brakes: brake, ..Paused::new(self.actor(), now, why.map(clipped)) };
        let paused = match earlier {
            Some(earlier) => paused_again(earlier, new),
            None => new,
        };
        let released = self.recorded_intent().is_some_and(|intent| intent.releasing.is_some());
        // It is written all the same: somebody may have resumed meanwhile, which a late watch does not show yet.
        let is_so = known.as_ref() == Some(&paused) && !brake && !released;
        let (needs, says) = if is_so && why.is_some() {
            (Needs::Saved, "it was paused already, with this reason: no update starts")
        } else if brake {
            (Needs::Braked, "OnDelete is set: its controller replaces no pod any more; paused")
        } else if by_rolldeck {
            (Needs::Saved, "rolldeck itself had paused it, the pause is yours now: no update starts")
        } else if was_paused && why.is_some() {
            (Needs::Saved, "it was paused already, the new reason is noted: no update starts")
        } else if was_paused {
            (Needs::Saved, "it was paused already: no update starts")
        } else if self.only_adopted() {
            (Needs::Saved, "paused: no update starts; nothing is rolled out now")
        } else {
            (Needs::Saved, "paused: no update starts")
        };
        let says = format!("{says}{}", if released { "; its release is called off" } else { "" });
        Resolved { brake, drive: false, ..Resolved::new(vec![Edit::Pause(paused)], needs, says, Danger::None) }
    }

    fn resolve_change(&self, change: Change, mut says: String, now: Timestamp) -> Resolved {
        let made = self.made_by_others(&self.intent());
        says.push_str(&made.map(|(made, change)| made.is_replaced(&change)).unwrap_or_default());
        let id = self.new_change_id(self.commands(), now);
        let edits = vec![Edit::Change { change, id: id.clone() }];
        let brake = self.recorded_intent().is_some_and(|intent| self.has_drifted(&intent));
        Resolved { brake, change: Some(id), ..Resolved::new(edits, Needs::Changed, says, Danger::Serious) }
    }

    fn resolve_drive(&self, takeover: Takeover, by: By, now: Timestamp) -> Result<Resolved, Refusal> {
        if !self.has_work() {
            let nothing = self.nothing_recorded();
            let how = nothing.remedy_or(match self.strategy() {
                StrategyKind::RollingUpdate if self.is_under_way() => {
                    "its controller replaces pods: `pause` stops that, `step` takes it over"
                }
                _ => "`set-image` begins one",
            });
            return Err(Refusal::NotNow(format!("{nothing}, so there is nothing to drive: {how}")));
        }
        let (edits, danger) = match (self.lock.living_other(now), takeover) {
            (Some(holder), Takeover::IfFree) => return Err(Refusal::DrivenBy { holder: holder.clone() }),
            (Some(_), Takeover::Ask) => (vec![self.request_for_the_lease(by)], Danger::Serious),
            (None, _) => (Vec::new(), Danger::Bounded),
        };
        let says = if self.is_recorded() { "you drive it now" } else { "you drive the pre-warm now" }.to_owned();
        Ok(Resolved::new(edits, Needs::Driving(takeover), says, danger))
    }
}

/// A pause on top of another one. Author and time stay those of the first pause, and a new reason is added with its author. A pause by rolldeck
/// becomes the pause of the operator, with or without a reason. The earlier reason is always kept, because the person who paused first may still
/// need it.
fn paused_again(earlier: Paused, again: Paused) -> Paused {
    let brakes = earlier.brakes || again.brakes;
    let earlier = Paused { brakes, ..earlier };
    // A pause by rolldeck is lifted without a question when somebody changes the image. A pause by an operator is not.
    if earlier.is_by_rolldeck() {
        let before = earlier.as_before(again.at);
        let why = match (again.why.as_deref(), before) {
            (Some(why), Some(before)) => Some(format!("{why}; {before}").into()),
            (why, before) => before.map(Str::from).or_else(|| why.map(Str::from)),
        };
        return Paused { why, template: earlier.template, brakes, tuned: earlier.tuned, ..again };
    }
    let Some(why) = again.why.filter(|why| !earlier.why.as_ref().is_some_and(|known| known.contains(&**why))) else {
        return earlier;
    };
    let added = match &earlier.why {
        None if earlier.by == again.by => why.to_string(),
        None => format!("then {}: {why}", again.by),
        Some(known) if earlier.by == again.by => format!("{known}; then: {why}"),
        Some(known) => format!("{known}; then {}: {why}", again.by),
    };
    let others = earlier.others || earlier.by != again.by;
    Paused { why: Some(added.into()), others, ..earlier }
}
