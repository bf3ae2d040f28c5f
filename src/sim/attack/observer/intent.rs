//! P10 for the intent of operators: a screen shows as fact only what the record has, or had within the slack.

use super::Observer;
use crate::engine::model::Str;
use crate::engine::model::record::Record;
use crate::engine::model::time::Timestamp;
use crate::engine::report::snapshot::{Phase, Snapshot};

impl Observer {
    /// Compares the pause, the partition and the selector that a console shows with the records of the slack. A command that the console
    /// could not save yet must not be shown as fact.
    pub(super) fn check_intent_shown(&mut self, by: &Str, snapshot: &Snapshot, now: Timestamp) {
        let recorded = snapshot.started_at.is_some();
        let said = |test: &dyn Fn(&Record) -> bool| self.records.at(now).flatten().any(test);
        let (partition, selector) = (snapshot.plan.partition, &snapshot.plan.selector);
        let wrong = if matches!(snapshot.phase, Phase::Paused(_)) && !said(&|record| record.intent.paused.is_some()) {
            Some("a pause".to_owned())
        } else if recorded && !said(&|record| partition == Some(record.intent.partition)) {
            partition.map(|partition| format!("partition {partition}"))
        } else if recorded && !said(&|record| *selector == record.intent.selector) {
            let selector =
                selector.as_ref().map_or_else(|| "no selector".to_owned(), |selector| format!("selector {selector}"));
            Some(selector)
        } else {
            None
        };
        if let Some(what) = wrong {
            self.report_violation("P10", now, format!("{by} shows {what} that the record does not have"));
        }
    }
}
