//! Rollout events in words for people.

use std::fmt;

use super::phrases::{CHANGED, CHANGED_TO, HALTED_AT, THAT_OF, number_at_the_beginning};
use super::taken_away::AFTER_UPDATE;
use super::{
    ALL_ROLLED_BACK, DRIVES_NOW, DriftResponse, EventOutcome, ImageChanged, PatchChange, RolloutEvent,
    RolloutEventKind, Succession, TemplateResponse,
};
use crate::engine::model::command::{Command, Early, Step, Takeover};
use crate::engine::model::image::{hidden_by_versions, version_of};
use crate::engine::model::{Str, person_of};

/// The event in one sentence, without who and when.
impl fmt::Display for RolloutEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said = self.said.as_deref().unwrap_or_default();
        match (&self.kind, self.outcome) {
            (RolloutEventKind::Command(command), EventOutcome::Requested) => {
                write!(f, "requested: {}", CommandWords(command))
            }
            (RolloutEventKind::Command(command), EventOutcome::Refused) => {
                write!(f, "refused: {}: {said}", CommandWords(command))
            }
            (RolloutEventKind::Command(command), EventOutcome::Failed) => {
                write!(f, "failed: {}: {said}", CommandWords(command))
            }
            (RolloutEventKind::Command(Command::Pause { why: Some(why) }), _) => write!(f, "{said}: {why}"),
            (RolloutEventKind::Command(Command::Step(step)), _) => write!(f, "step {}: {said}", StepWords(step)),
            (RolloutEventKind::Command(_), _) => f.write_str(said),
            (RolloutEventKind::Reported { .. }, _) => write!(f, "reported: {said}"),
            (RolloutEventKind::DeletePod { node, pod, .. }, result) => {
                write!(f, "delete pod {pod} on {node}: {}", result.words())?;
                if said.is_empty() { Ok(()) } else { write!(f, ": {said}") }
            }
            (RolloutEventKind::CreateWarmPod { node, pod, .. }, result) => {
                write!(f, "create pre-warm pod {pod} on {node}: {}", result.words())?;
                if said.is_empty() { Ok(()) } else { write!(f, ": {said}") }
            }
            (RolloutEventKind::DeleteWarmPod { node, pod, .. }, result) => {
                write!(f, "delete pre-warm pod {pod} on {node}: {}", result.words())?;
                if said.is_empty() { Ok(()) } else { write!(f, ": {said}") }
            }
            (what @ (RolloutEventKind::CreateWarmSet { .. } | RolloutEventKind::DeleteWarmSet { .. }), result) => {
                write!(f, "{what}: {}", result.words())?;
                if said.is_empty() { Ok(()) } else { write!(f, ": {said}") }
            }
            (kind @ RolloutEventKind::PatchDaemonSet { .. }, result) => {
                write!(f, "{kind}: {}", result.words())?;
                if said.is_empty() { Ok(()) } else { write!(f, ": {said}") }
            }
            (what, _) if said.is_empty() => write!(f, "{what}"),
            _ => f.write_str(said),
        }
    }
}

impl RolloutEventKind {
    /// The words for a one-shot command's use of the lease: it drives nothing. `None`: the event is about something else.
    pub(crate) fn by_one_shot(&self) -> Option<String> {
        Some(match self {
            Self::LeaseAcquired => "took the lease for one write".to_owned(),
            Self::LeaseTakenOver { from, succession: Succession::HandedOver } => {
                format!("took the lease for one write, handed over by {from}")
            }
            Self::LeaseTakenOver { from, succession: Succession::Expired } => {
                format!("took the lease for one write, in place of {from}, which stopped renewing it")
            }
            Self::LeaseLost { to: Some(to) } => format!("does not hold the lease any more: {to} does"),
            Self::LeaseLost { to: None } => "cannot renew the lease in time: writes nothing more".to_owned(),
            Self::LeaseGivenBack { to: Some(to) } => format!("gave the lease back for {to}"),
            Self::LeaseGivenBack { to: None } => "gave the lease back".to_owned(),
            _ => return None,
        })
    }
}

impl RolloutEventKind {
    /// The words for a driver's use of the lease if no rollout is recorded: it drives a pre-warming only. `None`: the usual words are
    /// true as well.
    pub(crate) fn by_who_only_prewarms(&self) -> Option<String> {
        match self {
            Self::LeaseAcquired | Self::LeaseTakenOver { .. } => {
                Some(self.to_string().replacen("drives the rollout", "drives the pre-warm", 1))
            }
            _ => None,
        }
    }
}

impl RolloutEvent {
    /// The revision to which the template was changed, by its number then; for an event of another process, it is read from the words.
    pub(crate) fn changed_to(&self) -> Option<i64> {
        match &self.kind {
            RolloutEventKind::TemplateChanged { to, .. } => *to,
            RolloutEventKind::Reported { reason, .. } if &**reason == "RolloutTemplateChanged" => {
                let said = self.said.as_deref()?;
                if let Some(to) = said.strip_prefix(CHANGED_TO) {
                    return number_at_the_beginning(to);
                }
                let (_, to) = said.strip_prefix(CHANGED)?.split_once(" → ")?;
                number_at_the_beginning(to.strip_prefix(THAT_OF).unwrap_or(to))
            }
            _ => None,
        }
    }
}

impl fmt::Display for RolloutEventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let by = |manager: &Option<Str>| manager.as_deref().map(|by| format!(" by {by}")).unwrap_or_default();
        match self {
            Self::Adopted => f.write_str("adopted: its controller replaces no pod any more"),
            Self::TemplateChanged { from, to, images } => {
                let number = |number: &Option<i64>| number.map_or_else(|| "?".to_owned(), |number| number.to_string());
                match (from, to) {
                    // The controller gives the revision of an earlier template a new number.
                    (Some(older), Some(to)) if to <= older => {
                        write!(f, "{CHANGED}{older} → {THAT_OF}{to}, which its controller numbers anew")?;
                    }
                    (None, Some(to)) => write!(f, "{CHANGED_TO}{to}")?,
                    (from, to) => write!(f, "{CHANGED}{} → {}", number(from), number(to))?,
                }
                images.iter().try_for_each(|image| write!(f, ", {image}"))
            }
            Self::TemplateChangedByOthers { manager, how, then } => {
                let by = by(manager);
                match then {
                    TemplateResponse::Paused => write!(f, "paused: the template was changed{by} in the middle of the rollout{how}"),
                    TemplateResponse::Noted => write!(f, "stays paused: the template was changed{by} meanwhile{how}"),
                    TemplateResponse::PutBack => {
                        f.write_str("stays paused: the template was put back to the target of the rollout")
                    }
                }
            }
            Self::ChangeRefused { why } | Self::PodNotAdmitted { why } => write!(f, "paused: {why}"),
            Self::StrategyDrifted { manager, then, enforced } => {
                let then = match then {
                    DriftResponse::Paused => "paused",
                    DriftResponse::Enforced => "OnDelete is set again",
                    DriftResponse::Noted => "paused already",
                };
                write!(f, "{then}: the update strategy was changed back{}", by(manager))?;
                match enforced {
                    0 | 1 => Ok(()),
                    times => write!(f, "; set again {times} times lately"),
                }
            }
            Self::Halted { number: _, revision, why, nodes } => {
                match revision {
                    Some(revision) => write!(f, "{HALTED_AT}{revision}: {why}")?,
                    None => write!(f, "halted: {why}")?,
                }
                match nodes.as_slice() {
                    [] => Ok(()),
                    [a, b, c, rest @ ..] if !rest.is_empty() => write!(f, " ({a}, {b}, {c} …)"),
                    nodes => write!(f, " ({})", nodes.join(", ")),
                }
            }
            Self::RollingBack { to } => write!(f, "rolling back to revision {to}, as the gates say"),
            Self::Complete { nodes, back: false, .. } => write!(f, "complete: all {nodes} nodes are at the target"),
            Self::Complete { nodes, back: true, revision } => match revision {
                Some(revision) => write!(f, "{ALL_ROLLED_BACK}all {nodes} nodes are at revision {revision}"),
                None => write!(f, "{ALL_ROLLED_BACK}all {nodes} nodes are at the revision that was asked for"),
            },
            Self::PrewarmComplete { nodes } => {
                write!(f, "pre-warming is complete: {nodes} nodes have the images")
            }
            Self::Released { strategy } => strategy.fmt(f),
            Self::LeaseAcquired => f.write_str(DRIVES_NOW),
            Self::LeaseTakenOver { from, succession: Succession::HandedOver } => {
                write!(f, "{DRIVES_NOW}, handed over by {from}")
            }
            Self::LeaseTakenOver { from, succession: Succession::Expired } => {
                write!(f, "{DRIVES_NOW}, in place of {from}, which stopped renewing its lease")
            }
            Self::LeaseLost { to: Some(to) } => write!(f, "does not drive any more: {to} does"),
            Self::LeaseLost { to: None } => f.write_str("cannot renew its lease in time: starts nothing more"),
            Self::LeaseGivenBack { to: Some(to) } => write!(f, "drives no more, gave the lease back for {to}"),
            Self::LeaseGivenBack { to: None } => f.write_str("drives no more, gave the lease back"),
            Self::PodTakenAway { node, failed: Some(why), .. } => write!(
                f,
                "the pod of {node} failed ({why}) and its controller replaces it: its next pod is at the target, whatever \
                 the rollout keeps"
            ),
            Self::PodTakenAway { node, failed: None, disruption: Some(disruption), updated: true, .. } => {
                write!(f, "the pod of {node} {disruption}, {AFTER_UPDATE}: its next pod is at the target as well")
            }
            Self::PodTakenAway { node, failed: None, disruption: None, updated: true, .. } => write!(
                f,
                "the pod of {node} was deleted, evicted or relabelled by somebody else, {AFTER_UPDATE}: its next pod is at the target as well"
            ),
            Self::PodTakenAway { node, failed: None, disruption: Some(disruption), .. } => write!(
                f,
                "the pod of {node} {disruption}: its next pod is at the target, whatever the rollout keeps"
            ),
            Self::PodTakenAway { node, failed: None, disruption: None, .. } => write!(
                f,
                "the pod of {node} was deleted, evicted or relabelled by somebody else: its next pod is at the target, \
                 whatever the rollout keeps"
            ),
            Self::DroveMeanwhile { by: Some(by) } => {
                write!(f, "drives no more: could not renew the lease in time, and {} has driven since", person_of(by))
            }
            Self::DroveMeanwhile { by: None } => {
                f.write_str("drives no more: could not renew the lease in time, and another rollout has begun since")
            }
            Self::RecordDeleted => f.write_str(
                "the Lease was deleted, and with it what was asked for: partition, budgets and gates; nothing more is started until somebody \
                 asks again",
            ),
            Self::RecordRemoved => f.write_str(
                "the record was taken off the Lease, and with it what was asked for: partition, budgets and gates; nothing more is started until \
                 somebody asks again",
            ),
            Self::RecordUnreadable { why } => write!(
                f,
                "the rollout's record cannot be read any more ({why}), so what was asked for is not known; nothing more is started until a record \
                 is begun anew"
            ),
            Self::RecordPutBack => f.write_str(
                "somebody put an older copy of the Lease back: what was asked for since, limits and pauses among it, is gone; the rollout is paused",
            ),
            Self::Selected { node, selector, means: true } => {
                write!(f, "the labels of {node} were changed: {selector} means it now")
            }
            Self::Selected { node, selector, means: false } => {
                write!(f, "the labels of {node} were changed: {selector} means it no more")
            }
            Self::DriverSilent { holder } => {
                write!(f, "nobody drives any more: {holder} has stopped renewing its lease")
            }
            Self::DriverBack { holder } => write!(f, "{holder} renews its lease again, and drives"),
            Self::DeletePod { node, pod, .. } => write!(f, "delete pod {pod} on {node}"),
            Self::CreateWarmPod { node, pod, .. } => write!(f, "create pre-warm pod {pod} on {node}"),
            Self::DeleteWarmPod { node, pod, .. } => write!(f, "delete pre-warm pod {pod} on {node}"),
            Self::CreateWarmSet { set, .. } => write!(f, "create pre-warm statefulset {set}"),
            Self::DeleteWarmSet { set, .. } => write!(f, "delete pre-warm statefulset {set}"),
            Self::PatchDaemonSet { change, dry_run: false } => f.write_str(change.words()),
            Self::PatchDaemonSet { change, dry_run: true } => write!(f, "{} (dry run)", change.words()),
            Self::Reported { reason, .. } => f.write_str(reason),
            Self::Command(command) => write!(f, "{}", CommandWords(command)),
        }
    }
}

impl fmt::Display for ImageChanged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { container, from, to } = self;
        let version = |image: &Option<Str>| image.as_deref().map_or("none", version_of).to_owned();
        match (from, to) {
            (Some(from), Some(to)) if hidden_by_versions(from, to) => write!(f, "{container} {from} → {to}"),
            _ => write!(f, "{container} {} → {}", version(from), version(to)),
        }
    }
}

impl PatchChange {
    fn words(self) -> &'static str {
        match self {
            Self::Adopt => "set OnDelete",
            Self::Template => "change the template",
            Self::ForgetChange => "remove the annotation of the change",
            Self::Release => "restore the update strategy",
        }
    }
}

impl EventOutcome {
    /// The outcome in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Requested => "requested",
            Self::Refused => "refused",
            Self::Sent => "sent",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Conflict => "conflict, not done",
            Self::NotFound => "gone already",
            Self::Unauthorized => "credentials not accepted, not done",
            Self::Forbidden => "forbidden, not done",
            Self::Invalid => "refused by the server, not done",
            Self::Throttled => "throttled, not done",
            Self::NotSent => "not sent",
            Self::LostAnswer => "no answer, may have been done",
        }
    }
}

/// A command as one would say it: `pause (link down)`, `step to 50%`.
struct CommandWords<'a>(&'a Command);

impl fmt::Display for CommandWords<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Command::Adopt => f.write_str("adopt"),
            Command::SetImage(images) => {
                f.write_str("set image")?;
                images.iter().try_for_each(|(container, image)| write!(f, " {container}={image}"))
            }
            Command::Step(step) => write!(f, "step {}", StepWords(step)),
            Command::Select(Some(selector)) => write!(f, "only nodes with {selector}"),
            Command::Select(None) => f.write_str("all nodes, whatever their labels"),
            Command::Pause { why: Some(why) } => write!(f, "pause ({why})"),
            Command::Pause { why: None } => f.write_str("pause"),
            Command::Resume => f.write_str("resume"),
            Command::Undo { to: Some(revision) } => write!(f, "roll back to revision {revision}"),
            Command::Undo { to: None } => f.write_str("roll back"),
            Command::Release(Early::Accept) => f.write_str("release early"),
            Command::Release(Early::Refuse) => f.write_str("release"),
            Command::Tune(tuning) => write!(f, "tune {tuning}"),
            Command::Tuned { tuning, command } => write!(f, "{}, {tuning}", CommandWords(command)),
            Command::Prewarm(asked) => write!(f, "{asked}"),
            Command::Drive(Takeover::IfFree) => f.write_str("drive"),
            Command::Drive(Takeover::Ask) => f.write_str("drive, taking over"),
            Command::StopDriving => f.write_str("stop driving"),
            Command::EndDriving { why } | Command::GiveUpDriving { why } => write!(f, "stop driving ({why})"),
        }
    }
}

/// `to the next`, `back`, `to 50%`.
struct StepWords<'a>(&'a Step);

impl fmt::Display for StepWords<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Step::Next => f.write_str("to the next"),
            Step::Back => f.write_str("back"),
            Step::Updated(count) => write!(f, "to {count}"),
            Step::Partition(keep) => write!(f, "to partition {keep}"),
        }
    }
}
