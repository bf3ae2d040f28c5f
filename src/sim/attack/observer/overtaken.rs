//! P7: a request of an operator that is written late does not take back a later request of somebody else.
//!
//! Each write of the record that sets another partition or selector is compared with the request that it carries out: the value in the
//! record when the command was given, and whether somebody else has set it since. A write names the version that it replaces, so its
//! writer had seen the change.

use super::Observer;
use crate::engine::model::Str;
use crate::engine::model::command::{Command, CommandId};
use crate::engine::model::record::{Intent, Record};
use crate::engine::model::time::Timestamp;

/// The setting that a request changes, of those that are compared here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sets {
    Partition,
    Selector,
}

impl Sets {
    fn of(command: &Command) -> Option<Self> {
        match command.inner() {
            Command::Step(_) => Some(Self::Partition),
            Command::Select(_) => Some(Self::Selector),
            Command::Adopt
            | Command::SetImage(_)
            | Command::Pause { .. }
            | Command::Resume
            | Command::Undo { .. }
            | Command::Release(_)
            | Command::Tune(_)
            | Command::Tuned { .. }
            | Command::Prewarm(_)
            | Command::Drive(_)
            | Command::StopDriving
            | Command::EndDriving { .. }
            | Command::GiveUpDriving { .. } => None,
        }
    }

    /// The value of this setting in an intent, in words.
    fn value(self, intent: &Intent) -> String {
        match self {
            Self::Partition => format!("partition {}", intent.partition),
            Self::Selector => match &intent.selector {
                Some(selector) => format!("selector {selector}"),
                None => "no selector".to_owned(),
            },
        }
    }
}

/// A request that is not settled.
#[derive(Debug)]
struct LateRequest {
    who: Str,
    id: CommandId,
    sets: Sets,
    /// The values that the record had when the command was given or within the slack before; the operator may have seen any of them.
    seen: Vec<String>,
    /// The changes of the template in these records.
    seen_changes: Vec<Str>,
    /// Whether there was no record then, nor within the slack before.
    without_record: bool,
    /// The last other process that has since set a value not in `seen`, and that value.
    set_since: Option<(Str, String)>,
    /// The process that has since begun a rollout or requested another change of the template.
    changed_since: Option<Str>,
}

/// The requests that are not settled.
#[derive(Debug, Default)]
pub(super) struct Overtaken {
    requests: Vec<LateRequest>,
    /// The unsettled requests for another template, each with its process. Later requests of that process are for the rollout that this one
    /// begins, whatever was set for the rollout before.
    changing: Vec<(Str, CommandId)>,
}

impl Overtaken {
    pub(super) fn settled(&mut self, who: &Str, id: CommandId) {
        self.requests.retain(|asked| asked.who != *who || asked.id != id);
        self.changing.retain(|(by, given)| by != who || *given != id);
    }
}

/// The ids of the change of the template that an intent requests and of the last one that was made.
fn changes(intent: &Intent) -> impl Iterator<Item = Str> {
    let request = intent.request().and_then(|request| request.id);
    request.into_iter().chain(intent.outcome.as_ref().map(|outcome| outcome.id.clone()))
}

impl Observer {
    /// Notes a command with the values that the record has when it is given.
    pub(super) fn note_asked(&mut self, (who, id): (&Str, CommandId), command: &Command, now: Timestamp) {
        if matches!(command.inner(), Command::SetImage(_) | Command::Undo { .. }) {
            self.overtaken.changing.push((who.clone(), id));
        }
        let Some(sets) = Sets::of(command) else { return };
        let nothing = Intent::default();
        let records: Vec<_> = self.records.at(now).collect();
        let intents = || records.iter().map(|record| record.as_ref().map_or(&nothing, |record| &record.intent));
        let asked = LateRequest {
            who: who.clone(),
            id,
            sets,
            seen: intents().map(|intent| sets.value(intent)).collect(),
            seen_changes: intents().flat_map(changes).collect(),
            without_record: records.iter().all(|record| record.is_none()),
            set_since: None,
            changed_since: None,
        };
        self.overtaken.requests.push(asked);
    }

    /// Checks a write of the record by a console or somebody else; `was` is the record before.
    pub(super) fn check_overtaken(&mut self, was: Option<&Record>, by: Option<&Str>, at: Timestamp) {
        let Some(is) = self.records.now().and_then(Option::as_ref).map(|is| &is.intent) else {
            // A request for a rollout that is over is refused.
            self.overtaken.requests.retain(|asked| asked.without_record);
            // Values that others set in the deleted record are gone with it.
            for asked in &mut self.overtaken.requests {
                (asked.set_since, asked.changed_since) = (None, None);
            }
            return;
        };
        let begun = was.is_none();
        let nothing = Intent::default();
        let was = was.map_or(&nothing, |was| &was.intent);
        let mut broken = Vec::new();
        for sets in [Sets::Partition, Sets::Selector] {
            let (before, now) = (sets.value(was), sets.value(is));
            let changes_itself = self.overtaken.changing.iter().any(|(who, _)| Some(who) == by);
            let mine = |asked: &&LateRequest| asked.sets == sets && Some(&asked.who) == by && !changes_itself;
            let asked = &self.overtaken.requests;
            // If one process has several requests, the observer cannot tell which of them was written.
            if before != now
                && let (Some(late), 1) = (asked.iter().find(mine), asked.iter().filter(mine).count())
            {
                let LateRequest { who, set_since, changed_since, .. } = late;
                if let Some((other, value)) = set_since.as_ref().filter(|(_, value)| *value == before) {
                    broken.push(format!("{who} asked for {now} before {other} set {value}, and wrote it after that"));
                } else if let Some(other) = changed_since {
                    let what = "asked for another change of the template";
                    broken.push(format!("{who} asked for {now} before {other} {what}, and wrote it after that"));
                }
            }
            let is_of_others = |asked: &&mut LateRequest| asked.sets == sets && Some(&asked.who) != by;
            let other = || by.cloned().unwrap_or_else(|| "somebody".into());
            for asked in self.overtaken.requests.iter_mut().filter(is_of_others) {
                if before != now {
                    asked.set_since = Some((other(), now.clone())).filter(|_| !asked.seen.contains(&now));
                }
                let is_new =
                    |change: &Str| !asked.seen_changes.contains(change) && changes(was).all(|was| was != *change);
                let other_change = || changes(is).any(|change| is_new(&change));
                if (begun && asked.without_record) || (!begun && other_change()) {
                    asked.changed_since.get_or_insert_with(other);
                }
            }
        }
        for what in broken {
            self.report_violation("P7", at, what);
        }
    }
}
