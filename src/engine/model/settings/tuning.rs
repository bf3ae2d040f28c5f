//! What a change of settings does, whether it makes sense, and what it is called.

use std::fmt;

use super::{Setting, Settings, Tuning};

impl Tuning {
    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What it names.
    pub fn named(&self) -> impl Iterator<Item = Setting> {
        Setting::ALL.iter().copied().filter(|setting| setting.value_in(self).is_some())
    }

    /// Whether a rollout could go on with it, `after` being what is in force then.
    ///
    /// # Errors
    /// Says which value makes no sense, and what to try.
    pub(crate) fn check(&self, after: &Settings, min_ready_secs: u32) -> Result<(), String> {
        self.check_zeros()?;
        after.gates.contradiction(self, min_ready_secs).map_or(Ok(()), Err)
    }

    /// Whether no value is zero that may not be zero in any rollout.
    ///
    /// # Errors
    /// Says which value makes no sense, and what to try.
    pub fn check_zeros(&self) -> Result<(), String> {
        let mut refused = self.named().filter(|setting| setting.is_zero_in(self));
        refused.find_map(|setting| setting.about().refuse_zero).map_or(Ok(()), |why| Err(why.into()))
    }

    /// Whether a rollout could begin with it, whatever the DaemonSet is.
    ///
    /// # Errors
    /// As [`Tuning::check`].
    pub fn check_alone(&self) -> Result<(), String> {
        let mut after = Settings::default();
        self.apply_to(&mut after);
        self.check(&after, 0)
    }

    /// Which settings it gives another value.
    pub(crate) fn changed(&self, before: &Settings) -> impl Iterator<Item = Setting> {
        let mut after = before.clone();
        self.apply_to(&mut after);
        Setting::ALL.iter().copied().filter(move |setting| setting.value(before) != setting.value(&after))
    }

    /// What it changes, a line each: `max unavailable: 2 → 5`. A setting that keeps its value is left out.
    pub(crate) fn changes(&self, before: &Settings) -> Vec<String> {
        self.changed(before).map(|setting| self.change_of(setting, before).0).collect()
    }

    /// The same with what each new value comes to in a fleet of so many nodes: `pace: fixed → auto (as many as each site's link bears)`.
    pub(crate) fn changes_with_meaning(&self, before: &Settings, nodes: u32) -> Vec<String> {
        let line = |setting: Setting| {
            let (change, value) = self.change_of(setting, before);
            format!("{change} ({})", setting.meaning(&value, nodes))
        };
        self.changed(before).map(line).collect()
    }

    /// What becomes of a setting, in words, and its new value.
    fn change_of(&self, setting: Setting, before: &Settings) -> (String, String) {
        let mut after = before.clone();
        self.apply_to(&mut after);
        let (was, is) = (setting.value(before), setting.value(&after));
        (format!("{}: {was} → {is}", setting.name().replace('-', " ")), is)
    }
}

impl Setting {
    /// Whether it has an effect on a roll back, which has no steps, and which no gate halts or holds up. The time of a soak tells there only how long the
    /// first pods have to stay up where no node shows that their revision works.
    pub(crate) fn counts_on_the_way_back(self) -> bool {
        match self {
            Self::FailureThreshold
            | Self::Soak
            | Self::SuspectGrace
            | Self::RequireImage
            | Self::OnFailure
            | Self::Steps
            | Self::Prewarm => false,
            Self::MaxUnavailable
            | Self::MaxPulling
            | Self::MaxPullingPerSite
            | Self::SiteLabel
            | Self::Pace
            | Self::Strict
            | Self::ProgressDeadline
            | Self::MaxRestarts
            | Self::OnDrift
            | Self::Order
            | Self::Finish => true,
        }
    }
}

impl Tuning {
    /// What it names of the settings that pass `test`, as it would be typed: `max-unavailable=5 on-drift=enforce`.
    pub(crate) fn typed(&self, test: impl Fn(Setting) -> bool) -> String {
        let named = Setting::ALL.iter().copied().filter(|setting| test(*setting));
        let words = named.filter_map(|setting| Some(format!("{}={}", setting.name(), setting.value_in(self)?)));
        words.collect::<Vec<_>>().join(" ")
    }
}

impl Tuning {
    /// Reads what [`Self::typed`] writes. What is no setting, or no value of it, is passed over: anybody may have written the text.
    pub(crate) fn of_typed(text: &str) -> Self {
        text.split_whitespace().filter_map(|word| word.split_once('=')).fold(Self::default(), Self::with)
    }

    /// Reads the lines that [`Self::changes`] writes, put together by `, ` or `; ` with other words between them, which are passed over.
    pub(crate) fn of_changes(text: &str) -> Self {
        let parts = text.split("; ").flat_map(|part| part.split(", "));
        let change = |part: &'_ str| {
            let (name, change) = part.split_once(": ")?;
            let is = change.split_once(" → ")?.1.split_whitespace().next()?;
            Some((name.replace(' ', "-"), is.to_owned()))
        };
        parts.filter_map(change).fold(Self::default(), |all, (name, value)| all.with((&name, &value)))
    }

    /// The same and a setting by its name, if its value can be read.
    fn with(self, (name, value): (&str, &str)) -> Self {
        let setting = Setting::ALL.iter().find(|setting| setting.name() == name);
        match setting.and_then(|setting| setting.read(value).ok()) {
            Some(set) => self.and(set),
            None => self,
        }
    }
}

/// As it would be typed after `:tune`: `max-unavailable=5 on-drift=enforce`.
impl fmt::Display for Tuning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.typed(|_| true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::model::quantity::IntOrPercent;
    use crate::engine::model::settings::{Limit, OnDrift, Secs};

    fn changed(tuning: &Tuning) -> (Vec<String>, Result<(), String>) {
        let mut after = Settings::default();
        tuning.apply_to(&mut after);
        (tuning.changes(&Settings::default()), tuning.check(&after, 10))
    }

    #[test]
    fn settings_are_read_from_words_that_name_them() {
        let limits = Tuning {
            max_unavailable: Some(Limit::At(IntOrPercent::Int(3))),
            soak_secs: Some(Secs(90)),
            on_drift: Some(OnDrift::EnforceOnDelete),
            ..Tuning::default()
        };
        let typed = "max-unavailable=3 soak=90s on-drift=enforce";
        assert_eq!(limits.to_string(), typed);
        assert_eq!(Tuning::of_typed(&format!("{typed} order=sideways soak prewarm= max-down=5 soak=long")), limits);
        let changes = [
            "max unavailable: 2 → 3, soak: 0s → 90s (as kube:admin), on drift: report → enforce; the pull limit follows",
            "template has agent=agent:v2; max unavailable: 5 → 3; soak: 10s → 90s, on drift: report → enforce (by eve)",
        ];
        for text in changes {
            assert_eq!(Tuning::of_changes(text), limits, "{text}");
        }
        let nothing =
            ["", "all nodes with soak=5s", "soak: long; steps: 1 → é", "soak: 5s", "soak → 5s", "no soak: 1s → 5s"];
        for text in nothing {
            assert_eq!(Tuning::of_changes(text), Tuning::default(), "{text}");
        }
        let steps = Tuning::of_changes("steps: 1,10%,50%,100% → 1,50%,100%, max restarts: 2 → 3");
        assert_eq!(steps.to_string(), "max-restarts=3 steps=1,50%,100%");
        assert_eq!(Tuning::of_typed(&steps.to_string()), steps);
    }

    #[test]
    fn only_what_is_named_changes() {
        let first = Tuning { max_unavailable: Some("5".parse().unwrap()), ..Tuning::default() };
        let second =
            Tuning { on_drift: Some(OnDrift::EnforceOnDelete), soak_secs: Some(Secs(90)), ..Tuning::default() };
        let mut settings = Settings::default();
        first.apply_to(&mut settings);
        second.apply_to(&mut settings);
        assert_eq!(settings.budgets.max_unavailable, Limit::At(IntOrPercent::Int(5)), "the second left it alone");
        assert_eq!(
            first.clone().and(second.clone()).changes(&Settings::default()),
            ["max unavailable: default → 5", "soak: 10s → 90s", "on drift: report → enforce"]
        );
        let back = Tuning { max_unavailable: Some(Limit::Default), ..Tuning::default() };
        assert_eq!(back.changes(&settings), ["max unavailable: 5 → default"]);
        assert_eq!(back.changes(&Settings::default()), Vec::<String>::new());
        assert_eq!(first.clone().and(second.clone()).to_string(), "max-unavailable=5 soak=90s on-drift=enforce");
        assert_eq!(
            first.and(second).named().collect::<Vec<_>>(),
            [Setting::MaxUnavailable, Setting::Soak, Setting::OnDrift]
        );
    }

    #[test]
    fn what_could_never_work_is_refused_with_what_would() {
        let cases: [(Tuning, &str); 6] = [
            (Tuning { max_unavailable: Some("0".parse().unwrap()), ..Tuning::default() }, "write 1 or more, or pause"),
            (Tuning { max_unavailable: Some("0%".parse().unwrap()), ..Tuning::default() }, "write 1 or more, or pause"),
            (Tuning { max_pulling: Some("0".parse().unwrap()), ..Tuning::default() }, "write 1 or more, or pause"),
            (Tuning { failure_threshold: Some(IntOrPercent::Int(0)), ..Tuning::default() }, "1 halts at the first"),
            (Tuning { progress_deadline_secs: Some(Secs(10)), ..Tuning::default() }, "has to be ready for 10s first"),
            (Tuning { soak_secs: Some(Secs(600)), ..Tuning::default() }, "a progress deadline of 10m fails every pod"),
        ];
        for (tuning, why) in cases {
            let refused = changed(&tuning).1.unwrap_err();
            assert!(refused.contains(why), "{tuning:?}: {refused}");
        }
        let both =
            Tuning { soak_secs: Some(Secs(600)), progress_deadline_secs: Some(Secs(1_200)), ..Tuning::default() };
        assert_eq!(changed(&both).1, Ok(()));
    }
}
