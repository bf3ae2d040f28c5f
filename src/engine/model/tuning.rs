//! A change of budgets and gates: only what is named changes, so that two operators who change different things at once
//! do not undo each other.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::quantity::{IntOrPercent, Rounding};
use super::record::{Budgets, Finish, Gates, Intent, OnDrift, OnFailure};

/// What is to be changed; `None` stays as it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Tuning {
    /// At most so many nodes down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_unavailable: Option<Limit>,
    /// At most so many nodes pulling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_pulling: Option<Limit>,
    /// Charge every unavailable node, as Kubernetes does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strict: Option<bool>,
    /// So many failed nodes halt the rollout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_threshold: Option<IntOrPercent>,
    /// A new pod that is not available after so many seconds counts as failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress_deadline_secs: Option<u32>,
    /// A new pod that restarted more often counts as failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_restarts: Option<u32>,
    /// A new pod is ready for so many seconds before it counts as available.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub soak_secs: Option<u32>,
    /// A node that went down after its update has failed after so many seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspect_grace_secs: Option<u32>,
    /// What reaching the threshold does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_failure: Option<OnFailure>,
    /// What a strategy that is changed back does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_drift: Option<OnDrift>,
    /// What happens when every node is at the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish: Option<Finish>,
}

/// A limit, or that the default holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(from = "LimitWire", into = "LimitWire")]
pub enum Limit {
    /// So many nodes: a count, or a percentage of desired, rounded up.
    At(IntOrPercent),
    /// The default: the DaemonSet's own `maxUnavailable`; for pulls, as many as may be down.
    Default,
}

/// `3`, `"25%"` or `"default"`.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum LimitWire {
    At(IntOrPercent),
    Default(DefaultWire),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum DefaultWire {
    Default,
}

impl From<LimitWire> for Limit {
    fn from(wire: LimitWire) -> Self {
        match wire {
            LimitWire::At(limit) => Self::At(limit),
            LimitWire::Default(DefaultWire::Default) => Self::Default,
        }
    }
}

impl From<Limit> for LimitWire {
    fn from(limit: Limit) -> Self {
        match limit {
            Limit::At(limit) => Self::At(limit),
            Limit::Default => Self::Default(DefaultWire::Default),
        }
    }
}

/// How a default is written.
const DEFAULT: &str = "default";

impl Limit {
    fn setting(self) -> Option<IntOrPercent> {
        match self {
            Self::At(limit) => Some(limit),
            Self::Default => None,
        }
    }

    fn of(setting: Option<IntOrPercent>) -> Self {
        setting.map_or(Self::Default, Self::At)
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At(limit) => write!(f, "{limit}"),
            Self::Default => f.write_str(DEFAULT),
        }
    }
}

impl std::str::FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim() {
            DEFAULT => Ok(Self::Default),
            text => text.parse().map(Self::At).map_err(|why: String| format!("{why}; or `{DEFAULT}`")),
        }
    }
}

impl From<Budgets> for Tuning {
    fn from(budgets: Budgets) -> Self {
        Self {
            max_unavailable: Some(Limit::of(budgets.max_unavailable)),
            max_pulling: Some(Limit::of(budgets.max_pulling)),
            strict: Some(budgets.strict),
            ..Self::default()
        }
    }
}

impl From<Gates> for Tuning {
    fn from(gates: Gates) -> Self {
        Self {
            failure_threshold: Some(gates.failure_threshold),
            progress_deadline_secs: Some(gates.progress_deadline_secs),
            max_restarts: Some(gates.max_restarts),
            soak_secs: Some(gates.soak_secs),
            suspect_grace_secs: Some(gates.suspect_grace_secs),
            on_failure: Some(gates.on_failure),
            ..Self::default()
        }
    }
}

impl From<Finish> for Tuning {
    fn from(finish: Finish) -> Self {
        Self { finish: Some(finish), ..Self::default() }
    }
}

impl Tuning {
    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// This change, and what `other` names beside it.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            max_unavailable: other.max_unavailable.or(self.max_unavailable),
            max_pulling: other.max_pulling.or(self.max_pulling),
            strict: other.strict.or(self.strict),
            failure_threshold: other.failure_threshold.or(self.failure_threshold),
            progress_deadline_secs: other.progress_deadline_secs.or(self.progress_deadline_secs),
            max_restarts: other.max_restarts.or(self.max_restarts),
            soak_secs: other.soak_secs.or(self.soak_secs),
            suspect_grace_secs: other.suspect_grace_secs.or(self.suspect_grace_secs),
            on_failure: other.on_failure.or(self.on_failure),
            on_drift: other.on_drift.or(self.on_drift),
            finish: other.finish.or(self.finish),
        }
    }

    pub(crate) fn apply_to(&self, intent: &mut Intent) {
        let Budgets { max_unavailable, max_pulling, strict } = &mut intent.budgets;
        set(max_unavailable, self.max_unavailable.map(Limit::setting));
        set(max_pulling, self.max_pulling.map(Limit::setting));
        set(strict, self.strict);
        let gates = &mut intent.gates;
        set(&mut gates.failure_threshold, self.failure_threshold);
        set(&mut gates.progress_deadline_secs, self.progress_deadline_secs);
        set(&mut gates.max_restarts, self.max_restarts);
        set(&mut gates.soak_secs, self.soak_secs);
        set(&mut gates.suspect_grace_secs, self.suspect_grace_secs);
        set(&mut gates.on_failure, self.on_failure);
        set(&mut intent.on_drift, self.on_drift);
        set(&mut intent.finish, self.finish);
    }

    /// Whether a rollout could go on with it.
    ///
    /// # Errors
    /// Says which value makes no sense, and what to try.
    pub(crate) fn check(&self, after: &Intent, min_ready_secs: u32) -> Result<(), String> {
        let none = |limit: Option<IntOrPercent>| limit.is_some_and(|limit| limit.of(u32::MAX, Rounding::Up) == 0);
        if none(self.max_unavailable.and_then(Limit::setting)) {
            return Err("a budget of 0 lets nothing be replaced: write 1 or more, or pause".into());
        }
        if none(self.max_pulling.and_then(Limit::setting)) {
            return Err("0 pulls at a time let nothing be replaced: write 1 or more, or pause".into());
        }
        if none(self.failure_threshold) {
            return Err("a failure threshold of 0 would halt before anything failed: 1 halts at the first".into());
        }
        let timed = self.progress_deadline_secs.is_some() || self.soak_secs.is_some();
        let ready_for = after.gates.soak_secs.max(min_ready_secs);
        let deadline = after.gates.progress_deadline_secs;
        if timed && deadline <= ready_for {
            return Err(format!(
                "a progress deadline of {} fails every pod, because each has to be ready for {} first: make it longer",
                Span(deadline),
                Span(ready_for)
            ));
        }
        Ok(())
    }

    /// What it changes, a line each: `max unavailable 2 → 5`. A setting that keeps its value is left out.
    pub(crate) fn changes(&self, before: &Intent) -> Vec<String> {
        let mut after = before.clone();
        self.apply_to(&mut after);
        let limit = |setting: Option<IntOrPercent>| Limit::of(setting).to_string();
        let rows = |intent: &Intent| {
            let Intent { budgets, gates, .. } = intent;
            [
                ("max unavailable", limit(budgets.max_unavailable)),
                ("max pulling", limit(budgets.max_pulling)),
                ("strict", budgets.strict.to_string()),
                ("failure threshold", gates.failure_threshold.to_string()),
                ("progress deadline", Span(gates.progress_deadline_secs).to_string()),
                ("max restarts", gates.max_restarts.to_string()),
                ("soak", Span(gates.soak_secs).to_string()),
                ("suspect grace", Span(gates.suspect_grace_secs).to_string()),
                ("on failure", gates.on_failure.to_string()),
                ("on drift", intent.on_drift.to_string()),
                ("finish", intent.finish.to_string()),
            ]
        };
        let pairs = rows(before).into_iter().zip(rows(&after)).filter(|((_, was), (_, is))| was != is);
        pairs.map(|((name, was), (_, is))| format!("{name} {was} → {is}")).collect()
    }
}

fn set<T>(field: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *field = value;
    }
}

/// As it would be typed after `:tune`: `max-unavailable=5 on-drift=enforce`.
impl fmt::Display for Tuning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lead = "";
        let mut say = |name: &str, value: Option<String>| match value {
            Some(value) => {
                let said = write!(f, "{lead}{name}={value}");
                lead = " ";
                said
            }
            None => Ok(()),
        };
        say("max-unavailable", self.max_unavailable.map(|limit| limit.to_string()))?;
        say("max-pulling", self.max_pulling.map(|limit| limit.to_string()))?;
        say("strict", self.strict.map(|strict| strict.to_string()))?;
        say("failure-threshold", self.failure_threshold.map(|threshold| threshold.to_string()))?;
        say("progress-deadline", self.progress_deadline_secs.map(|secs| Span(secs).to_string()))?;
        say("max-restarts", self.max_restarts.map(|restarts| restarts.to_string()))?;
        say("soak", self.soak_secs.map(|secs| Span(secs).to_string()))?;
        say("suspect-grace", self.suspect_grace_secs.map(|secs| Span(secs).to_string()))?;
        say("on-failure", self.on_failure.map(|then| then.to_string()))?;
        say("on-drift", self.on_drift.map(|then| then.to_string()))?;
        say("finish", self.finish.map(|finish| finish.to_string()))
    }
}

/// A number of seconds as it is typed: exact, unlike an age: `90s`, `10m`, `2h`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span(pub u32);

impl Span {
    /// Reads `90s`, `10m`, `1h30m`.
    ///
    /// # Errors
    /// Says what could be written instead.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let refuse = || format!("`{text}` is not a time: write `30s`, `10m` or `1h30m`");
        let span: jiff::SignedDuration = text.parse().map_err(|_unclear| refuse())?;
        let span = Duration::try_from(span).map_err(|_negative| refuse())?;
        u32::try_from(span.as_secs()).ok().filter(|_| span.subsec_nanos() == 0).map(Self).ok_or_else(refuse)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("0s"),
            secs if secs % 3_600 == 0 => write!(f, "{}h", secs / 3_600),
            secs if secs % 60 == 0 => write!(f, "{}m", secs / 60),
            secs => write!(f, "{secs}s"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(tuning: Tuning) -> (Vec<String>, Result<(), String>) {
        let mut after = Intent::default();
        tuning.apply_to(&mut after);
        (tuning.changes(&Intent::default()), tuning.check(&after, 10))
    }

    #[test]
    fn only_what_is_named_changes() {
        let first = Tuning { max_unavailable: Some("5".parse().unwrap()), ..Tuning::default() };
        let second = Tuning { on_drift: Some(OnDrift::EnforceOnDelete), soak_secs: Some(90), ..Tuning::default() };
        let mut intent = Intent::default();
        first.apply_to(&mut intent);
        second.apply_to(&mut intent);
        assert_eq!(intent.budgets.max_unavailable, Some(IntOrPercent::Int(5)), "the second left it alone");
        assert_eq!(
            first.and(second).changes(&Intent::default()),
            ["max unavailable default → 5", "soak 0s → 90s", "on drift report → enforce"]
        );
        let back = Tuning { max_unavailable: Some(Limit::Default), ..Tuning::default() };
        assert_eq!(back.changes(&intent), ["max unavailable 5 → default"]);
        assert_eq!(back.changes(&Intent::default()), Vec::<String>::new());
        assert_eq!(first.and(second).to_string(), "max-unavailable=5 soak=90s on-drift=enforce");
    }

    #[test]
    fn what_could_never_work_is_refused_with_what_would() {
        let cases: [(Tuning, &str); 6] = [
            (Tuning { max_unavailable: Some("0".parse().unwrap()), ..Tuning::default() }, "write 1 or more, or pause"),
            (Tuning { max_unavailable: Some("0%".parse().unwrap()), ..Tuning::default() }, "write 1 or more, or pause"),
            (Tuning { max_pulling: Some("0".parse().unwrap()), ..Tuning::default() }, "write 1 or more, or pause"),
            (Tuning { failure_threshold: Some(IntOrPercent::Int(0)), ..Tuning::default() }, "1 halts at the first"),
            (Tuning { progress_deadline_secs: Some(10), ..Tuning::default() }, "has to be ready for 10s first"),
            (Tuning { soak_secs: Some(600), ..Tuning::default() }, "a progress deadline of 10m fails every pod"),
        ];
        for (tuning, why) in cases {
            let refused = changed(tuning).1.unwrap_err();
            assert!(refused.contains(why), "{tuning:?}: {refused}");
        }
        let both = Tuning { soak_secs: Some(600), progress_deadline_secs: Some(1_200), ..Tuning::default() };
        assert_eq!(changed(both).1, Ok(()));
    }

    #[test]
    fn limits_and_times_are_read_as_they_are_written() {
        for (text, want) in [("3", Limit::At(IntOrPercent::Int(3))), ("default", Limit::Default)] {
            assert_eq!(text.parse(), Ok(want));
            assert_eq!(want.to_string(), text);
        }
        assert!("all".parse::<Limit>().unwrap_err().contains("or `default`"));
        for (text, secs, written) in
            [("90s", 90, "90s"), ("10m", 600, "10m"), ("1h30m", 5_400, "90m"), ("2h", 7_200, "2h")]
        {
            assert_eq!(Span::parse(text), Ok(Span(secs)));
            assert_eq!(Span(secs).to_string(), written);
            assert_eq!(Span::parse(written), Ok(Span(secs)));
        }
        for text in ["", "soon", "-5s", "10", "500ms"] {
            assert!(Span::parse(text).unwrap_err().contains("write `30s`"), "{text}");
        }
    }
}
