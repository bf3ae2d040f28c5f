//! The settings of a rollout, each declared once, in the table below.
//!
//! An entry of the table is a field of the record and of [`Tuning`], a flag of the command line with its help, a line of
//! the console's form, a field of the JSON, and a name in sentences and in the audit log. All of these are derived from it:
//!
//! ```text
//!     /// help of the flag, and first line of the documentation of both fields
//!     ///
//!     /// What else has to be known of it.
//!     Setting => field: Type = default, About { flag, meaning, refuse_zero, danger, role };
//! ```
//!
//! How a value is typed and shown follows from its type ([`value`]). Which gates contradict each other is said below the table
//! ([`Gates::contradiction`]). What a [`Tuning`] does is in [`tuning`].

#[macro_use]
mod declare;
mod steps;
mod tuning;
pub mod value;

use serde::{Deserialize, Deserializer, Serialize};

use self::value::{SettingKind, SettingValue};
use super::danger::Danger;
use super::quantity::{IntOrPercent, Rounding};
use super::site::SiteLabel;
use super::with_all::with_all;

pub use self::steps::Steps;
pub use self::value::{Finish, Limit, NodeOrder, OnDrift, OnFailure, Pace, PrewarmAhead, Secs};

/// The settings of a rollout.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Settings {
    /// What may be taken down and pulled at once.
    pub budgets: Budgets,
    /// When a rollout has failed.
    pub gates: Gates,
    /// What a rollout does by itself. The record and the JSON have these beside `budgets` and `gates`.
    #[serde(flatten)]
    pub policies: Policies,
}

settings! {
    /// What may be taken down and pulled at once.
    pub struct Budgets in budgets {
        /// How many nodes may be down at once: a count, or a percentage of all nodes, rounded up; `default`: the DaemonSet's own maxUnavailable
        ///
        /// The default is 1 for a DaemonSet that has no `maxUnavailable`, or 0. One with `maxSurge` has no default: a number has to be given.
        /// While a DaemonSet is adopted the default is never more than its `maxUnavailable` was before. Nodes that are down for another reason
        /// than the rollout do not count, unless `strict` is set.
        #[serde(skip_serializing_if = "Limit::is_default")]
        MaxUnavailable => max_unavailable: Limit = Limit::Default, About {
            flag: "max-unavailable",
            meaning: Meaning::Nodes {
                count: "{count} of {nodes} nodes may be down",
                default: Some("as the DaemonSet says"),
            },
            refuse_zero: Some("a budget of 0 lets nothing be replaced: write 1 or more, or pause"),
            danger: Danger::ExceedsBudget,
            role: SettingRole::Limits,
        };

        /// At most so many nodes pulling at once; `default`: as many as may be down
        ///
        /// A percentage of all is rounded up.
        #[serde(skip_serializing_if = "Limit::is_default")]
        MaxPulling => max_pulling: Limit = Limit::Default, About {
            flag: "max-pulling",
            meaning: Meaning::Nodes {
                count: "{count} of {nodes} nodes may pull",
                default: Some("as many as may be down"),
            },
            refuse_zero: Some("0 pulls at a time let nothing be replaced: write 1 or more, or pause"),
            danger: Danger::Bounded,
            role: SettingRole::Limits,
        };

        /// At most so many nodes of a site pulling at once; `default`: no limit of its own
        ///
        /// Which nodes are a site is said by `site_label`. A percentage of its nodes is rounded up.
        #[serde(default, skip_serializing_if = "Limit::is_default")]
        MaxPullingPerSite => max_pulling_per_site: Limit = Limit::Default, About {
            flag: "max-pulling-per-site",
            meaning: Meaning::Nodes {
                count: "{count} of {nodes} nodes may pull in each site",
                default: Some("no limit of its own"),
            },
            refuse_zero: Some("0 pulls at a time let nothing be replaced: write 1 or more, or pause"),
            danger: Danger::Bounded,
            role: SettingRole::Limits,
        };

        /// The node label whose value is a node's site: what shares a link, a switch and a power line
        ///
        /// Nodes without it are one site of their own.
        #[serde(default, skip_serializing_if = "SiteLabel::is_default")]
        SiteLabel => site_label: SiteLabel = SiteLabel::default(), About {
            flag: "site-label",
            meaning: Meaning::Always("is a node's site"),
            refuse_zero: None,
            danger: Danger::Bounded,
            role: SettingRole::Limits,
        };

        /// How many nodes of a site pull at once: as many as the limits say, or up to that as many as its link bears
        ///
        /// With `auto` each site begins with one; the rule is in `rules/pace.rs`.
        #[serde(default, skip_serializing_if = "Pace::is_fixed")]
        Pace => pace: Pace = Pace::Fixed, About {
            flag: "pace",
            meaning: Meaning::Choices(&["as many as the limits say", "as many as each site's link bears"]),
            refuse_zero: None,
            danger: Danger::Bounded,
            role: SettingRole::Limits,
        };

        /// Charge every node that is down, as Kubernetes does, instead of those that the rollout took down
        Strict => strict: bool = false, About {
            flag: "strict",
            meaning: Meaning::Choices(&["every node that is down is charged", "what the rollout took down is charged"]),
            refuse_zero: None,
            danger: Danger::Bounded,
            role: SettingRole::Limits,
        };
    }

    /// When a rollout has failed.
    #[derive(Copy)]
    pub struct Gates in gates {
        /// So many failed nodes halt the rollout
        ///
        /// A percentage of all is rounded up.
        FailureThreshold => failure_threshold: IntOrPercent = IntOrPercent::Int(1), About {
            flag: "failure-threshold",
            meaning: Meaning::Nodes { count: "{count} failed of {nodes} nodes", default: None },
            refuse_zero: Some("a failure threshold of 0 would halt before anything failed: 1 halts at the first"),
            danger: Danger::Bounded,
            role: SettingRole::Halts(HaltingGate::FailureThreshold),
        };

        /// A new pod that is not available after this long has failed
        ProgressDeadline => progress_deadline_secs: Secs = Secs(600), About {
            flag: "progress-deadline",
            meaning: Meaning::Always("to become available, or it failed"),
            refuse_zero: Some("a progress deadline of 0 would fail every pod at once: write for example 10m"),
            danger: Danger::Bounded,
            role: SettingRole::FailsANode,
        };

        /// A new pod that restarted more often, evictions by its kubelet included, has failed
        MaxRestarts => max_restarts: u32 = 2, About {
            flag: "max-restarts",
            meaning: Meaning::Always("more than that, and it failed"),
            refuse_zero: None,
            danger: Danger::Bounded,
            role: SettingRole::FailsANode,
        };

        /// A new pod is ready for this long before it counts as available
        ///
        /// It applies where it is longer than `minReadySeconds`, and not where the rollout goes back. What crashes within this time is
        /// found out before the next node is taken down.
        Soak => soak_secs: Secs = Secs(10), About {
            flag: "soak",
            meaning: Meaning::Always("ready before it counts as available"),
            refuse_zero: None,
            danger: Danger::Bounded,
            role: SettingRole::Delays,
        };

        /// A node that went down after its update and is not back after this long has failed
        SuspectGrace => suspect_grace_secs: Secs = Secs(300), About {
            flag: "suspect-grace",
            meaning: Meaning::Always("down after its update, and it failed"),
            refuse_zero: None,
            danger: Danger::Bounded,
            role: SettingRole::FailsANode,
        };

        /// Update a node only once its images are on it; what is missing is pre-warmed
        ///
        /// So a node is down for a restart and not for a download. Not where the rollout goes back. An image that cannot be pulled
        /// holds the rollout and does not halt it, as nothing is taken down.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        RequireImage => require_image: bool = false, About {
            flag: "require-image",
            meaning: Meaning::Choices(&["images are brought to a node first", "a node may be down for a download"]),
            refuse_zero: None,
            danger: Danger::Bounded,
            role: SettingRole::Holds,
        };

        /// What a failed rollout does, such as one that reached its failure threshold
        OnFailure => on_failure: OnFailure = OnFailure::Halt, About {
            flag: "on-failure",
            meaning: Meaning::Choices(&["start nothing more", "go back to where it came from"]),
            refuse_zero: None,
            danger: Danger::Bounded,
            role: SettingRole::Decides,
        };
    }

    /// What a rollout does by itself.
    pub struct Policies in policies {
        /// The plan: how many nodes are updated in total after each step; counts, and percentages of all
        ///
        /// Each is more than the one before; the last is `100%`. The partition stays as it is when the plan changes.
        #[serde(default, skip_serializing_if = "Steps::is_default")]
        Steps => steps: Steps = Steps::default(), About {
            flag: "steps",
            meaning: Meaning::Always("nodes updated in total after each step"),
            refuse_zero: None,
            danger: Danger::Bounded,
            role: SettingRole::Decides,
        };

        /// Which nodes get the new images before they may be updated: none, those of the next step too, or all
        ///
        /// Within the pull limits, by one pod per node. With `off` only what `require_image` asks for is pre-warmed.
        #[serde(default, skip_serializing_if = "PrewarmAhead::is_default")]
        Prewarm => prewarm: PrewarmAhead = PrewarmAhead::Off, About {
            flag: "prewarm",
            meaning: Meaning::Choices(&["nothing is pre-warmed ahead", "one step ahead", "all nodes, whatever the steps"]),
            refuse_zero: None,
            danger: Danger::Bounded,
            role: SettingRole::Decides,
        };

        /// What a strategy that somebody sets back does: pause and say who it was, or set OnDelete again at once
        OnDrift => on_drift: OnDrift = OnDrift::Report, About {
            flag: "on-drift",
            meaning: Meaning::Choices(&["pause, say who set it back", "set OnDelete again at once"]),
            refuse_zero: None,
            danger: Danger::Bounded,
            role: SettingRole::Decides,
        };

        /// Which node goes next: by name, one site after the other, or of each site in turn, so that their links share the pulls
        ///
        /// After what matters more: which nodes have the image, and whose pods restart least.
        #[serde(default, skip_serializing_if = "NodeOrder::is_default")]
        Order => order: NodeOrder = NodeOrder::Name, About {
            flag: "order",
            meaning: Meaning::Choices(&["by name", "one site after the other", "a node of each site in turn"]),
            refuse_zero: None,
            danger: Danger::Bounded,
            role: SettingRole::Decides,
        };

        /// What happens when every node is at the target
        Finish => finish: Finish = Finish::Release, About {
            flag: "finish",
            meaning: Meaning::Choices(&["back to its controller at the end", "stay adopted at the end"]),
            refuse_zero: None,
            danger: Danger::Bounded,
            role: SettingRole::Decides,
        };
    }
}

impl Gates {
    /// Why no rollout could go on under them, after a change of some.
    fn contradiction(self, changed: &Tuning, min_ready_secs: u32) -> Option<String> {
        // All are named: one that contradicts another is refused here.
        let Self {
            progress_deadline_secs: deadline,
            soak_secs,
            failure_threshold: _,
            max_restarts: _,
            suspect_grace_secs: _,
            require_image: _,
            on_failure: _,
        } = self;
        let timed = changed.progress_deadline_secs.is_some() || changed.soak_secs.is_some();
        let ready_for = soak_secs.max(Secs(min_ready_secs));
        (timed && deadline <= ready_for).then(|| {
            format!(
                "a progress deadline of {deadline} fails every pod, because each has to be ready for {ready_for} first: \
                 make it longer",
            )
        })
    }
}

/// What is to be known of a setting beside its type and its default.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct About {
    /// Its name: the flag without the leading `--`. In sentences the remaining dashes are written as spaces.
    pub flag: &'static str,
    /// What a value comes to, in a few words beside it.
    pub meaning: Meaning,
    /// Why it cannot be zero, and what to write; `None`: it can.
    pub refuse_zero: Option<&'static str>,
    /// How much a change of it can break when every node may be down under it; any other change of it is
    /// [`Danger::Bounded`].
    pub danger: Danger,
    /// What it does to a rollout.
    pub role: SettingRole,
}

/// What a setting does to a rollout. A test (`engine/tests/gates.rs`) sees that each gate does just what its role says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SettingRole {
    /// It limits how much goes on at once.
    Limits,
    /// The rollout halts.
    Halts(HaltingGate),
    /// A node counts as failed.
    FailsANode,
    /// It keeps nodes from being updated although the partition allows them, without a time limit.
    Holds,
    /// A node that is updated does not count as such yet.
    Delays,
    /// What is done by itself, and how.
    Decides,
}

with_all! {
/// A gate that halts the rollout. Where two have a reason at once, the one that stands first here halts it; the other does once an
/// operator resumed, unless it is grave and the first is not (`HaltingGate::is_grave`).
/// `of_two_gates_that_halt_at_once_the_first_is_told` (`engine/tests/gates.rs`) asks for a test of each pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum HaltingGate {
    /// Too many nodes failed. Records that were written before there were other gates do not name this one, and must not.
    #[default]
    FailureThreshold,
}
}

impl HaltingGate {
    /// Whether a record leaves this gate out.
    pub(super) fn goes_without_saying(&self) -> bool {
        *self == Self::default()
    }

    /// A gate that this version does not know is read as the first one, and stays in the record (see `record/unknown.rs`).
    pub(super) fn read<'de, D: Deserializer<'de>>(text: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(text)?;
        Ok(serde_json::from_value(value).unwrap_or_default())
    }
}

/// What a value comes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Meaning {
    /// The same for every value.
    Always(&'static str),
    /// One for each of the words that it can be, in the order of [`SettingKind::choices`].
    Choices(&'static [&'static str]),
    /// It limits a number of nodes.
    Nodes {
        /// A sentence with `{count}` and `{nodes}` to be filled in.
        count: &'static str,
        /// What the word `default` means, where it can be that.
        default: Option<&'static str>,
    },
}

impl Setting {
    /// What it is called: the flag without its dashes.
    pub fn name(self) -> &'static str {
        self.about().flag
    }

    /// What it is called in the record and in the JSON: `budgets.maxUnavailable`, and `onFailure` of the policies, which stand by themselves.
    pub fn path(self) -> String {
        let mut words = self.field().split('_');
        let mut name = words.next().unwrap_or_default().to_owned();
        for word in words {
            let (first, rest) = word.split_at(1);
            name.push_str(&first.to_ascii_uppercase());
            name.push_str(rest);
        }
        if self.group() == "policies" { name } else { format!("{}.{name}", self.group()) }
    }

    /// The gates, in the order of the table.
    pub fn gates() -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(|setting| setting.group() == "gates")
    }

    /// Whether `settings` has another value for it than the default.
    pub fn is_changed_in(self, settings: &Settings) -> bool {
        self.value(settings) != self.value(&Settings::default())
    }

    /// What it is called in a sentence, with its value: `max restarts 5`.
    pub fn in_words(self, settings: &Settings) -> String {
        format!("{} {}", self.name().replace('-', " "), self.value(settings))
    }

    /// What `text` comes to in a fleet of so many nodes; where it says nothing, how it is written.
    pub fn meaning(self, text: &str, nodes: u32) -> String {
        match self.about().meaning {
            Meaning::Always(words) => words.to_owned(),
            Meaning::Choices(words) => {
                let at = self.kind().choices.iter().position(|choice| *choice == text);
                at.and_then(|at| words.get(at)).copied().unwrap_or_default().to_owned()
            }
            Meaning::Nodes { count, default } => match (text.parse(), default) {
                (Ok(Limit::At(limit)), _) => count
                    .replace("{count}", &limit.of(nodes, Rounding::Up).to_string())
                    .replace("{nodes}", &nodes.to_string()),
                (Ok(Limit::Default), Some(words)) => words.to_owned(),
                (_, Some(_)) => "3, 10% or default".to_owned(),
                (_, None) => "3 or 10%".to_owned(),
            },
        }
    }
}

#[cfg(test)]
impl Setting {
    /// A change that sets it to another value than its default.
    pub(crate) fn another(self) -> Tuning {
        let default = self.value(&Settings::default());
        let texts = self.kind().choices.iter().copied().chain(["7", "70s", "25%", "10%,100%", "example.com/line"]);
        let mut changes = texts.filter_map(|text| self.read(text).ok());
        changes.find(|change| self.value_in(change).as_ref() != Some(&default)).unwrap()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_called_the_same_wherever_it_is_written() {
        for setting in Setting::ALL {
            let mut words = setting.name().split('-').map(str::to_owned).collect::<Vec<_>>();
            if setting.kind() == SettingKind::of::<Secs>() {
                words.push("secs".to_owned());
            }
            let field = words.join("_");
            assert_eq!(setting.field(), field, "the flag is --{}", setting.name());
        }
    }

    #[test]
    fn every_choice_has_a_meaning() {
        for setting in Setting::ALL {
            let choices = setting.kind().choices;
            let meanings = if let Meaning::Choices(words) = setting.about().meaning { words } else { &[] };
            assert_eq!(choices.len(), meanings.len(), "{setting:?}");
        }
    }

    #[test]
    fn a_limit_means_so_many_nodes() {
        for (setting, text, means) in [
            (Setting::MaxUnavailable, "5%", "6 of 120 nodes may be down"),
            (Setting::MaxPulling, "default", "as many as may be down"),
            (Setting::MaxPulling, "many", "3, 10% or default"),
            (Setting::FailureThreshold, "2", "2 failed of 120 nodes"),
            (Setting::FailureThreshold, "default", "3 or 10%"),
            (Setting::Strict, "true", "every node that is down is charged"),
            (Setting::OnFailure, "rollback", "go back to where it came from"),
            (Setting::Finish, "", ""),
        ] {
            assert_eq!(setting.meaning(text, 120), means, "{setting:?} {text}");
        }
    }

    #[test]
    fn what_is_read_of_a_setting_is_what_it_is_then() {
        for setting in Setting::ALL {
            let text = setting.value(&Settings::default());
            let tuning = setting.read(&text).unwrap();
            assert_eq!(tuning.to_string(), format!("{}={text}", setting.name()));
            assert!(!setting.help().is_empty() && !setting.help().ends_with('.'), "{setting:?}");
        }
    }
}
