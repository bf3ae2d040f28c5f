//! The settings as flags, the same wherever a rollout is begun or changed. The table of settings says which there are.

use clap::builder::{PossibleValuesParser, TypedValueParser, ValueParser};
use clap::error::Error;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};

use crate::engine::model::settings::{Setting, Tuning};

/// Settings, each left as it is where it is not named.
#[derive(Clone, Debug, Default)]
pub(crate) struct TuningFlags(Tuning);

impl TuningFlags {
    /// What they ask of the engine.
    pub(crate) fn tuning(&self) -> Tuning {
        self.0.clone()
    }
}

impl Args for TuningFlags {
    fn augment_args(command: Command) -> Command {
        command.next_help_heading("Budgets and gates").args(Setting::ALL.iter().copied().map(flag))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for TuningFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let named = Setting::ALL.iter().filter_map(|setting| matches.get_one::<Tuning>(setting.name()));
        Ok(Self(named.fold(Tuning::default(), |tuning, change| tuning.and(change.clone()))))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        let Self(named) = Self::from_arg_matches(matches)?;
        self.0 = std::mem::take(&mut self.0).and(named);
        Ok(())
    }
}

/// The flag of one setting. What it reads is the change of that setting alone.
fn flag(setting: Setting) -> Arg {
    let kind = setting.kind();
    let arg = Arg::new(setting.name()).long(setting.name()).value_name(kind.name).help(setting.help());
    let arg = match kind.alone {
        Some(alone) => arg.num_args(0..=1).require_equals(true).default_missing_value(alone),
        None => arg.allow_negative_numbers(true),
    };
    arg.value_parser(if kind.choices.is_empty() {
        // What no rollout can have is not valid on the command line, whatever the present rollout is.
        ValueParser::new(move |text: &str| setting.read(text).and_then(|read| read.check_zeros().map(|()| read)))
    } else {
        ValueParser::new(PossibleValuesParser::new(kind.choices).try_map(move |word| setting.read(&word)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::model::settings::{Limit, Settings};

    #[test]
    fn every_setting_is_a_flag() {
        let settings = Settings::default();
        let flags = Setting::ALL.iter().map(|setting| format!("--{}={}", setting.name(), setting.value(&settings)));
        let command = TuningFlags::augment_args(Command::new("tune"));
        let matches = command.try_get_matches_from(std::iter::once("tune".to_owned()).chain(flags)).unwrap();
        let Settings { budgets, gates, policies } = settings;
        let all = Tuning::from(budgets).and(gates.into()).and(policies.into());
        assert_eq!(TuningFlags::from_arg_matches(&matches).unwrap().tuning(), all);
    }

    #[test]
    fn the_documents_have_every_flag_with_its_default() {
        let document = include_str!("../../../docs/settings.md");
        for setting in Setting::ALL {
            let row = document.lines().find(|line| line.starts_with(&format!("| `--{}", setting.name())));
            let cells: Vec<_> = row.unwrap_or_else(|| panic!("no row for --{}", setting.name())).split(" | ").collect();
            let value = setting.value(&Settings::default());
            // What the word `default` stands for: in the words of the setting, or in others of the document, but no number.
            let is_in_words = value == Limit::Default.to_string() && !cells[1].contains(|c: char| c.is_ascii_digit());
            assert!(is_in_words || cells[1] == value, "{cells:?}: the default is {value}");
        }
    }
}
