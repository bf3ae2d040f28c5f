//! What an event tells of the template and of the record, as data: whoever looks for changes that no event tells of goes by this and not
//! by words. An event of another process has a reason, which is a stable name. The numbers of revisions are only in its words, which are read
//! here, beside the parts that write them.

use super::command_reason::CommandReason;
use super::{
    ALL_ROLLED_BACK, COMPLETE, EventOutcome, MadeByOthers, RECORD_DELETED, ROLLING_BACK, RolloutEvent, RolloutEventKind,
};
use crate::engine::model::record::Direction;

/// What an event tells of the template and of the record.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct EventFacts {
    /// The template was changed: at somebody's request, or by somebody else.
    pub template_changed: bool,
    /// Somebody else changed the template, and a driver said so when it saw that.
    pub changed_by_others: bool,
    /// The change: the numbers that its revisions had, before and after.
    pub change: Option<(i64, i64)>,
    /// The revisions that it names as what was or is rolled out, by the numbers that they had.
    pub revisions: Vec<i64>,
    /// The template of somebody else that the event went on with, or replaced.
    pub made_by_others: Option<MadeByOthers>,
    /// The record was deleted with its Lease.
    pub record_deleted: bool,
    /// Every node is at the target: of a rollout, or of a roll back.
    pub complete: Option<Direction>,
}

/// The reasons of Events that tell of a change of the template, and of a halt.
const TEMPLATE_CHANGED: [&str; 2] = ["RolloutTemplateChanged", BY_OTHERS];
const BY_OTHERS: &str = "RolloutTemplateChangedByOthers";
pub(super) const HALTED: &str = "RolloutHalted";

impl RolloutEvent {
    /// What the event tells of the template and of the record. A command that was refused or that failed tells nothing.
    pub fn facts(&self) -> EventFacts {
        if self.outcome != EventOutcome::Done {
            return EventFacts::default();
        }
        let reason = self.reason();
        let commands = [CommandReason::ImageSet.word(), CommandReason::Undone.word()];
        let change = self.renumbering();
        let mut revisions: Vec<i64> = change.into_iter().flat_map(|(from, to)| [from, to]).collect();
        revisions.extend(self.changed_to().filter(|_| change.is_none()));
        revisions.extend(self.rolled_back_to());
        let made_by_others = self.made_by_others();
        revisions.extend(made_by_others.iter().map(|made| made.number));
        match &self.kind {
            RolloutEventKind::Halted { .. }
            | RolloutEventKind::Complete { back: true, .. }
            | RolloutEventKind::RollingBack { .. } => revisions.extend(self.number_of_its_revision()),
            RolloutEventKind::Reported { .. } if [COMPLETE, ROLLING_BACK, HALTED].contains(&reason) => {
                revisions.extend(self.number_of_its_revision());
            }
            // What these tell is read off their reason, here as in another process.
            RolloutEventKind::TemplateChanged { .. }
            | RolloutEventKind::TemplateChangedByOthers { .. }
            | RolloutEventKind::Command(_)
            | RolloutEventKind::RecordDeleted
            | RolloutEventKind::RecordRemoved
            | RolloutEventKind::Complete { back: false, .. }
            | RolloutEventKind::Reported { .. } => {}
            // These tell nothing of the template or of the record.
            RolloutEventKind::Adopted
            | RolloutEventKind::ChangeRefused { .. }
            | RolloutEventKind::PodNotAdmitted { .. }
            | RolloutEventKind::StrategyDrifted { .. }
            | RolloutEventKind::PrewarmComplete { .. }
            | RolloutEventKind::Released { .. }
            | RolloutEventKind::LeaseAcquired
            | RolloutEventKind::LeaseTakenOver { .. }
            | RolloutEventKind::LeaseLost { .. }
            | RolloutEventKind::DroveMeanwhile { .. }
            | RolloutEventKind::LeaseGivenBack { .. }
            | RolloutEventKind::RecordUnreadable { .. }
            | RolloutEventKind::RecordPutBack
            | RolloutEventKind::PodTakenAway { .. }
            | RolloutEventKind::Selected { .. }
            | RolloutEventKind::DriverSilent { .. }
            | RolloutEventKind::DriverBack { .. }
            | RolloutEventKind::DeletePod { .. }
            | RolloutEventKind::CreateWarmPod { .. }
            | RolloutEventKind::DeleteWarmPod { .. }
            | RolloutEventKind::CreateWarmSet { .. }
            | RolloutEventKind::DeleteWarmSet { .. }
            | RolloutEventKind::PatchDaemonSet { .. } => {}
        }
        let back = match &self.kind {
            RolloutEventKind::Complete { back, .. } => *back,
            _ => self.said.as_deref().is_some_and(|said| said.starts_with(ALL_ROLLED_BACK)),
        };
        EventFacts {
            complete: (reason == COMPLETE).then_some(if back { Direction::Back } else { Direction::Forward }),
            template_changed: TEMPLATE_CHANGED.contains(&reason) || commands.contains(&reason),
            changed_by_others: reason == BY_OTHERS,
            change,
            revisions,
            made_by_others,
            record_deleted: reason == RECORD_DELETED,
        }
    }
}

impl RolloutEvent {
    /// The number that the revision had which the event is about: of an event of another process, its words tell it.
    pub(super) fn number_of_its_revision(&self) -> Option<i64> {
        match &self.kind {
            RolloutEventKind::Halted { revision, .. } | RolloutEventKind::Complete { revision, .. } => *revision,
            RolloutEventKind::RollingBack { to } => to.parse().ok(),
            RolloutEventKind::Reported { reason, .. } if [COMPLETE, ROLLING_BACK, HALTED].contains(&&**reason) => {
                self.said.as_deref().and_then(revision_in)
            }
            _ => self.changed_to().or_else(|| self.rolled_back_to()),
        }
    }
}

/// The revision that the words for a halt, for the end of a roll back and for its beginning name first.
fn revision_in(said: &str) -> Option<i64> {
    // What follows the first colon of a halt are the words of a server.
    let said = if said.starts_with("halted") { said.split_once(": ").map_or(said, |(at, _)| at) } else { said };
    // Where a revision has no number that is known, the words name its hash, which may begin with a digit.
    said.split_once("revision ")?.1.split(|c: char| !c.is_ascii_alphanumeric()).next()?.parse().ok()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::engine::model::Str;
    use crate::engine::model::command::Command;
    use crate::engine::model::facts::Severity;
    use crate::engine::model::rollout_event::{ROLLED_BACK, TemplateResponse, Visibility};
    use crate::engine::model::time::Timestamp;

    fn event(kind: RolloutEventKind, said: Option<&str>) -> RolloutEvent {
        RolloutEvent {
            at: Timestamp::default(),
            by: None,
            kind,
            outcome: EventOutcome::Done,
            command: None,
            said: said.map(Into::into),
            visibility: Visibility::Cluster,
            revision: None,
        }
    }

    /// The event as another process knows it: by its reason and its words.
    fn reported(event: &RolloutEvent) -> RolloutEvent {
        let kind = RolloutEventKind::Reported {
            reason: event.reason().into(),
            identity: "ada@bastion/1f".into(),
            event: "agent.1".into(),
            severity: Severity::Normal,
        };
        RolloutEvent { kind, said: Some(event.to_string().into()), ..event.clone() }
    }

    /// Each kind of event that tells of one of these, and what it tells.
    pub(crate) fn telling() -> Vec<(RolloutEvent, EventFacts)> {
        let changed =
            |from, to| RolloutEventKind::TemplateChanged { from: Some(from), to: Some(to), images: Vec::new() };
        let template = EventFacts { template_changed: true, ..EventFacts::default() };
        let named = |number| EventFacts { revisions: vec![number], ..EventFacts::default() };
        let change = |from, to| EventFacts { change: Some((from, to)), revisions: vec![from, to], ..template.clone() };
        let halted =
            |why: &str| RolloutEventKind::Halted { number: 1, revision: Some(6), why: why.into(), nodes: Vec::new() };
        let by_others = RolloutEventKind::TemplateChangedByOthers {
            manager: Some("kubectl".into()),
            how: ": agent v2 → v1".into(),
            then: TemplateResponse::Paused,
        };
        let made = MadeByOthers { number: 4, by: Some("kubectl-set".into()), after: Some(3) };
        let set = Command::SetImage([("agent".to_owned(), "agent:v2".parse().unwrap())].into());
        let undone = format!("{ROLLED_BACK}5; nodes that still run it count as updated");
        vec![
            (event(changed(7, 8), None), change(7, 8)),
            (event(changed(8, 7), None), change(8, 7)),
            (
                event(RolloutEventKind::TemplateChanged { from: None, to: Some(5), images: Vec::new() }, None),
                EventFacts { revisions: vec![5], ..template.clone() },
            ),
            (event(by_others, None), EventFacts { changed_by_others: true, ..template.clone() }),
            (
                event(RolloutEventKind::Command(Command::Resume), Some(&format!("resumed{}", made.goes_on("")))),
                EventFacts { revisions: vec![4], made_by_others: Some(made), ..EventFacts::default() },
            ),
            (event(RolloutEventKind::Command(set), Some("template has agent=agent:v2")), template.clone()),
            (
                event(RolloutEventKind::Command(Command::Undo { to: None }), Some(&undone)),
                EventFacts { revisions: vec![5], ..template },
            ),
            (event(halted("crash loop"), None), named(6)),
            (event(halted("pull: no such revision 9"), None), named(6)),
            (event(RolloutEventKind::RollingBack { to: Str::from("4") }, None), named(4)),
            (event(RolloutEventKind::RollingBack { to: Str::from("7c9f") }, None), EventFacts::default()),
            (
                event(RolloutEventKind::Complete { nodes: 3, back: true, revision: Some(9) }, None),
                EventFacts { complete: Some(Direction::Back), ..named(9) },
            ),
            (
                event(RolloutEventKind::Complete { nodes: 3, back: false, revision: Some(9) }, None),
                EventFacts { complete: Some(Direction::Forward), ..EventFacts::default() },
            ),
            (
                event(RolloutEventKind::RecordDeleted, None),
                EventFacts { record_deleted: true, ..EventFacts::default() },
            ),
            (event(RolloutEventKind::Adopted, None), EventFacts::default()),
        ]
    }

    /// What one process writes as the words of an Event another one reads as what it was.
    #[test]
    fn an_event_tells_another_process_what_it_tells_this_one() {
        for (event, facts) in telling() {
            assert_eq!(event.facts(), facts, "{event}");
            assert_eq!(reported(&event).facts(), facts, "{event}, as another process reads it");
        }
    }

    /// A pause whose reason speaks of the template is no change of it.
    #[test]
    fn words_alone_tell_nothing() {
        let why = "the template changed: revision 7 → 8";
        let pause = event(RolloutEventKind::Command(Command::Pause { why: Some(why.into()) }), Some("paused"));
        assert_eq!(pause.facts(), EventFacts::default());
        assert_eq!(reported(&pause).facts(), EventFacts::default());
        let refused = RolloutEvent { outcome: EventOutcome::Refused, ..telling()[3].0.clone() };
        assert_eq!(refused.facts(), EventFacts::default());
    }
}
