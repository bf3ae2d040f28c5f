//! Budgets and gates as flags, the same wherever a rollout is begun or changed.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::record::{Finish, OnDrift, OnFailure};
use crate::engine::model::tuning::{Limit, Span, Tuning};

/// Budgets and gates, each left as it is where it is not named.
#[derive(Args, Clone, Copy, Debug, Default)]
#[command(next_help_heading = "Budgets and gates")]
pub(crate) struct TuningFlags {
    /// At most so many nodes down at once; a percentage of all, rounded up; `default`: as the DaemonSet says
    #[arg(long, value_name = "N|N%")]
    max_unavailable: Option<Limit>,
    /// At most so many nodes pulling at once; `default`: as many as may be down
    #[arg(long, value_name = "N|N%")]
    max_pulling: Option<Limit>,
    /// Charge every node that is down, as Kubernetes does, instead of those that the rollout took down
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    strict: Option<bool>,
    /// So many failed nodes halt the rollout
    #[arg(long, value_name = "N|N%")]
    failure_threshold: Option<IntOrPercent>,
    /// A new pod that is not available after this long has failed
    #[arg(long, value_name = "DURATION", value_parser = Span::parse)]
    progress_deadline: Option<Span>,
    /// A new pod that restarted more often has failed
    #[arg(long, value_name = "N")]
    max_restarts: Option<u32>,
    /// A new pod is ready for this long before it counts as available
    #[arg(long, value_name = "DURATION", value_parser = Span::parse)]
    soak: Option<Span>,
    /// A node that went down after its update and is not back after this long has failed
    #[arg(long, value_name = "DURATION", value_parser = Span::parse)]
    suspect_grace: Option<Span>,
    /// What reaching the failure threshold does
    #[arg(long, value_name = "WHAT", value_parser = one_of([("halt", OnFailure::Halt), ("rollback", OnFailure::RollBack)]))]
    on_failure: Option<OnFailure>,
    /// What a strategy that somebody sets back does: pause and say who it was, or set OnDelete again at once
    #[arg(long, value_name = "WHAT", value_parser = one_of([("report", OnDrift::Report), ("enforce", OnDrift::EnforceOnDelete)]))]
    on_drift: Option<OnDrift>,
    /// What happens when every node is at the target
    #[arg(long, value_name = "WHAT", value_parser = one_of([("release", Finish::Release), ("keep", Finish::Keep)]))]
    finish: Option<Finish>,
}

impl TuningFlags {
    /// What they ask of the engine.
    pub(crate) fn tuning(&self) -> Tuning {
        Tuning {
            max_unavailable: self.max_unavailable,
            max_pulling: self.max_pulling,
            strict: self.strict,
            failure_threshold: self.failure_threshold,
            progress_deadline_secs: self.progress_deadline.map(|Span(secs)| secs),
            max_restarts: self.max_restarts,
            soak_secs: self.soak.map(|Span(secs)| secs),
            suspect_grace_secs: self.suspect_grace.map(|Span(secs)| secs),
            on_failure: self.on_failure,
            on_drift: self.on_drift,
            finish: self.finish,
        }
    }
}

/// One of these, by the words of the engine.
fn one_of<T: Copy + Send + Sync + 'static, const N: usize>(
    values: [(&'static str, T); N],
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(values.map(|(word, _)| word)).try_map(move |word| {
        let found = values.into_iter().find(|(known, _)| *known == word);
        found.map(|(_, value)| value).ok_or("not one of them")
    })
}
