//! What the value of a setting can be: how it is typed, read and shown.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::engine::model::quantity::{IntOrPercent, Rounding};
use crate::engine::model::site::SiteLabel;

/// A type of value. It is shown as it is typed.
pub(crate) trait SettingValue: Clone + fmt::Display {
    /// See [`SettingKind::name`].
    const NAME: &'static str;
    /// See [`SettingKind::choices`].
    const CHOICES: &'static [&'static str] = &[];
    /// See [`SettingKind::alone`].
    const ALONE: Option<&'static str> = None;

    /// Reads what is typed.
    ///
    /// # Errors
    /// Says what is wrong with it, and how a value is written.
    fn read(text: &str) -> Result<Self, String>;

    /// Whether it is a count, a percentage or a time of zero.
    fn is_zero(&self) -> bool {
        false
    }
}

/// How the values of a setting are typed and shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SettingKind {
    /// What stands for a value in the help of a flag.
    pub name: &'static str,
    /// The words that it can be, where it is one of a handful; else empty.
    pub choices: &'static [&'static str],
    /// The value that the flag means when it is given alone; `None`: it needs one.
    pub alone: Option<&'static str>,
}

impl SettingKind {
    pub(crate) fn of<V: SettingValue>() -> Self {
        Self { name: V::NAME, choices: V::CHOICES, alone: V::ALONE }
    }
}

/// A limit, or that the default holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(from = "LimitWire", into = "LimitWire")]
pub enum Limit {
    /// So many nodes: a count, or a percentage of all, rounded up.
    At(IntOrPercent),
    /// The default.
    #[default]
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
    /// The limit, where it is not the default that holds.
    pub fn at(self) -> Option<IntOrPercent> {
        match self {
            Self::At(limit) => Some(limit),
            Self::Default => None,
        }
    }

    /// Whether the default holds.
    pub fn is_default(&self) -> bool {
        *self == Self::Default
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

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim() {
            DEFAULT => Ok(Self::Default),
            text => text.parse().map(Self::At).map_err(|why: String| format!("{why}; or `{DEFAULT}`")),
        }
    }
}

impl SettingValue for Limit {
    const NAME: &'static str = "N|N%";

    fn read(text: &str) -> Result<Self, String> {
        text.parse()
    }

    fn is_zero(&self) -> bool {
        self.at().as_ref().is_some_and(SettingValue::is_zero)
    }
}

impl SettingValue for IntOrPercent {
    const NAME: &'static str = "N|N%";

    fn read(text: &str) -> Result<Self, String> {
        text.parse()
    }

    fn is_zero(&self) -> bool {
        self.of(u32::MAX, Rounding::Up) == 0
    }
}

impl SettingValue for u32 {
    const NAME: &'static str = "N";

    fn read(text: &str) -> Result<Self, String> {
        text.trim().parse().map_err(|_not_a_number| format!("`{text}` is not a count: write `2`, or `0`"))
    }

    fn is_zero(&self) -> bool {
        *self == 0
    }
}

impl SettingValue for bool {
    const NAME: &'static str = "BOOL";
    const CHOICES: &'static [&'static str] = &["true", "false"];
    const ALONE: Option<&'static str> = Some("true");

    fn read(text: &str) -> Result<Self, String> {
        text.parse().map_err(|_neither| none_of(text, Self::CHOICES))
    }
}

/// A number of seconds. It is shown as it is typed, exact, unlike an age: `90s`, `10m`, `2h`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secs(pub u32);

impl From<Secs> for Duration {
    fn from(Secs(secs): Secs) -> Self {
        Self::from_secs(secs.into())
    }
}

impl fmt::Display for Secs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("0s"),
            secs if secs % 3_600 == 0 => write!(f, "{}h", secs / 3_600),
            secs if secs % 60 == 0 => write!(f, "{}m", secs / 60),
            secs => write!(f, "{secs}s"),
        }
    }
}

impl SettingValue for Secs {
    const NAME: &'static str = "DURATION";

    /// Reads `90s`, `10m`, `1h30m`.
    fn read(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let refuse = || format!("`{text}` is not a time: write `30s`, `10m` or `1h30m`");
        let span: jiff::SignedDuration = text.parse().map_err(|_unclear| refuse())?;
        let span = Duration::try_from(span).map_err(|_negative| refuse())?;
        u32::try_from(span.as_secs()).ok().filter(|_| span.subsec_nanos() == 0).map(Self).ok_or_else(refuse)
    }

    fn is_zero(&self) -> bool {
        self.0 == 0
    }
}

impl SettingValue for SiteLabel {
    const NAME: &'static str = "KEY";

    fn read(text: &str) -> Result<Self, String> {
        text.parse()
    }
}

/// Declares values that are one of a handful of words: the same in the record, in JSON, as flags and on screen.
macro_rules! choices {
    ($(
        $(#[$attribute:meta])*
        pub enum $Choice:ident {$(
            #[doc = $about:literal]
            $(#[$is_default:meta])?
            $Variant:ident = $word:literal,
        )+}
    )+) => {$(
        $(#[$attribute])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
        pub enum $Choice {$(
            #[doc = $about]
            $(#[$is_default])?
            #[serde(rename = $word)]
            $Variant,
        )+}

        impl $Choice {
            /// Whether nothing else was chosen.
            pub fn is_default(&self) -> bool {
                *self == Self::default()
            }
        }

        impl fmt::Display for $Choice {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(Self::$Variant => $word,)+ })
            }
        }

        impl SettingValue for $Choice {
            const NAME: &'static str = "WHAT";
            const CHOICES: &'static [&'static str] = &[$($word,)+];

            fn read(text: &str) -> Result<Self, String> {
                match text {
                    $($word => Ok(Self::$Variant),)+
                    _ => Err(none_of(text, Self::CHOICES)),
                }
            }
        }
    )+};
}

choices! {
    /// How many nodes of a site may pull at once.
    pub enum Pace {
        /// As many as operators set.
        #[default]
        Fixed = "fixed",
        /// As many as the link of the site bears, up to what operators set.
        Auto = "auto",
    }

    /// What a failed rollout does, such as one that reached its failure threshold.
    pub enum OnFailure {
        /// Start nothing more; the operator decides.
        #[default]
        Halt = "halt",
        /// Go back to the revision that most nodes came from.
        RollBack = "rollback",
    }

    /// What happens when somebody changes the strategy back while the rollout runs.
    pub enum OnDrift {
        /// The rollout pauses, and says who did it.
        #[default]
        Report = "report",
        /// `OnDelete` is set again at once, unless that goes on and on.
        EnforceOnDelete = "enforce",
    }

    /// In which order nodes of several sites go.
    pub enum NodeOrder {
        /// By their names, whatever their site.
        #[default]
        Name = "name",
        /// One site after the other.
        BySite = "site",
        /// Nodes of all sites in turn, of each in proportion to its size: their links share the pulls.
        Spread = "spread",
    }

    /// Which nodes get the images of the new revision before they may be updated, without being asked for.
    pub enum PrewarmAhead {
        /// None, unless their images are required.
        #[default]
        Off = "off",
        /// Those that may be updated, and those of the step that comes next.
        Step = "step",
        /// All.
        All = "all",
    }

    /// What happens when every node is at the target.
    pub enum Finish {
        /// Restore the original update strategy.
        #[default]
        Release = "release",
        /// Stay adopted until somebody releases.
        Keep = "keep",
    }
}

impl Pace {
    /// Whether limits are as operators set them.
    pub fn is_fixed(&self) -> bool {
        *self == Self::Fixed
    }
}

fn none_of(text: &str, words: &[&str]) -> String {
    let words = words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>();
    format!("`{text}` is none of {}", words.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert_eq!(Secs::read(text), Ok(Secs(secs)));
            assert_eq!(Secs(secs).to_string(), written);
            assert_eq!(Secs::read(written), Ok(Secs(secs)));
        }
        for text in ["", "soon", "-5s", "10", "500ms"] {
            assert!(Secs::read(text).unwrap_err().contains("write `30s`"), "{text}");
        }
    }

    #[test]
    fn what_is_no_value_is_refused_with_what_would_be_one() {
        assert_eq!(u32::read("many"), Err("`many` is not a count: write `2`, or `0`".to_owned()));
        assert_eq!(OnDrift::read("fight"), Err("`fight` is none of `report`, `enforce`".to_owned()));
        assert_eq!(bool::read("perhaps"), Err("`perhaps` is none of `true`, `false`".to_owned()));
    }

    #[test]
    fn a_choice_is_recorded_as_it_is_typed() {
        assert_eq!(serde_json::to_string(&OnFailure::RollBack).unwrap(), "\"rollback\"");
        assert_eq!(OnFailure::read("rollback"), Ok(OnFailure::RollBack));
    }
}
