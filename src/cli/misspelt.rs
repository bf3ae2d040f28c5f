//! Suggestions for command lines whose first word is not a command, and better errors for command lines that clap refuses
//! with a misleading reason.
//!
//! A bare word is the name of a DaemonSet (`rolldeck agent`), so clap takes every misspelt command for one.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use clap::{Arg, Command};

use super::args::DaemonSetName;
use crate::config::nearest;
use crate::engine::model::shell::shell_word;

/// Words from kubectl and other tools, each with the equivalent command of rolldeck.
const WORDS_OF_OTHER_TOOLS: &[(&str, &str)] = &[
    ("get", "status"),
    ("list", "status"),
    ("ls", "status"),
    ("watch", "status --watch"),
    ("describe", "diagnose"),
    ("rollback", "undo"),
    ("continue", "resume"),
    ("abort", "pause"),
    ("stop", "pause"),
    ("update", "set-image"),
    ("upgrade", "set-image"),
    ("plan", "tune --steps"),
    ("steps", "tune --steps"),
    ("partition", "step --partition"),
    ("canary", "select"),
    ("limits", "tune"),
    ("events", "log"),
    ("audit", "log"),
    ("version", "--version"),
];

/// What to do instead of a restart, which rolldeck does not have: a restart changes the template only, and kubectl does that.
const NO_RESTART: &str = "rolldeck has no restart of its own, but rolls out that of kubectl: `rolldeck adopt ds/NAME`, \
                          `kubectl rollout restart ds/NAME`, `rolldeck resume ds/NAME`, then `rolldeck drive ds/NAME --to 100%`";

/// The error for a command line whose first word is a misspelt command; `refused` is clap's error, if there is one.
pub(super) fn command_meant(command: &mut Command, line: &[OsString], refused: Option<&Error>) -> Option<Error> {
    // `set` is another name of `tune`, which clap refuses for a reason that misleads whoever knows kubectl's `set image`.
    let is_set_image = |pair: &[OsString]| pair[0] == "set" && pair[1] == "image";
    if refused.is_some() && line.windows(2).any(is_set_image) {
        let called = command.get_bin_name().unwrap_or("rolldeck");
        let why = format!("there is no command `set image`: did you mean `{called} set-image`?");
        return Some(command.error(ErrorKind::InvalidSubcommand, why));
    }
    let lenient = command.clone().ignore_errors(true).try_get_matches_from(line).ok()?;
    let taken = lenient.get_raw("name").and_then(|mut words| words.next()?.to_str()).map(str::to_owned);
    let first = taken.or_else(|| refused_name(refused?))?;
    // A command follows only where the first word is `rollout`, as in kubectl's `rollout status`.
    if first.contains('/') || (lenient.subcommand_name().is_some() && first != "rollout") {
        return None;
    }
    let meant = WORDS_OF_OTHER_TOOLS.iter().find(|(word, _)| *word == first).map(|(_, meant)| (*meant).to_owned());
    let commands: Vec<&str> = command.get_subcommands().flat_map(Command::get_name_and_visible_aliases).collect();
    // A word that is cut off is more likely the command that begins with it than one that is nearly as long.
    let begun =
        commands.iter().find(|command| first.len() > 2 && command.starts_with(&first)).map(|it| (*it).to_owned());
    let meant = meant.or(begun).or_else(|| nearest(&first.to_lowercase(), commands).map(str::to_owned));
    let called = command.get_bin_name().unwrap_or("rolldeck").to_owned();
    let more_words = refused.is_some_and(names_more);
    let restarts = first == "restart" || (first == "rollout" && line.iter().any(|word| word == "restart"));
    let first = if restarts && first == "rollout" { "rollout restart".to_owned() } else { first };
    let why = match meant {
        _ if restarts => NO_RESTART.replace("rolldeck ", &format!("{called} ")),
        _ if first == "rollout" => format!("leave out `rollout`: `{called} status ds/NAME`, `{called} undo ds/NAME`"),
        Some(meant) => format!("did you mean `{called} {meant}`?"),
        // A single word may be a DaemonSet. If only a flag is unknown, clap's own message is enough.
        None if more_words => format!("`{called} --help` lists the commands"),
        None => return None,
    };
    let daemonset = match first.parse::<DaemonSetName>() {
        Ok(DaemonSetName(name)) => format!(" (a DaemonSet of that name: `{called} ds/{name}`)"),
        Err(_) => String::new(),
    };
    Some(command.error(ErrorKind::InvalidSubcommand, format!("there is no command `{first}`: {why}{daemonset}")))
}

/// The first word of the line that is a command.
fn typed_command<'a>(command: &Command, line: &'a [OsString]) -> Option<&'a str> {
    line.iter().filter_map(|word| word.to_str()).find(|word| command.find_subcommand(word).is_some())
}

/// Whether clap refused a second word that is not a flag.
fn names_more(refused: &Error) -> bool {
    refused.kind() == ErrorKind::UnknownArgument
        && matches!(refused.get(ContextKind::InvalidArg), Some(ContextValue::String(word)) if !word.starts_with('-'))
}

/// The first word, if clap refused it as the name of a DaemonSet (`Status`). Only the error contains it.
fn refused_name(refused: &Error) -> Option<String> {
    match (refused.kind(), refused.get(ContextKind::InvalidArg), refused.get(ContextKind::InvalidValue)) {
        (ErrorKind::ValueValidation, Some(ContextValue::String(argument)), Some(ContextValue::String(word)))
            if argument == "[ds/NAME]" =>
        {
            Some(word.clone())
        }
        _ => None,
    }
}

/// The command, changed so that clap reads a negative number after a flag as the flag's value. The parser of the value then
/// explains the refusal; otherwise clap would refuse the number as an unknown flag.
pub(super) fn with_negative_numbers(command: Command) -> Command {
    let read = |arg: Arg| {
        let takes_a_value = arg.get_action().takes_values() && arg.get_long().is_some();
        if takes_a_value { arg.allow_negative_numbers(true) } else { arg }
    };
    command.mut_args(read).mut_subcommands(with_negative_numbers)
}

/// The error of a value such as `-5s`, which clap takes for a flag.
pub(super) fn negative_value(command: &mut Command, line: &[OsString], refused: &Error) -> Option<Error> {
    let is_flag = |word: &str| word.starts_with("--") && word.len() > 2;
    let is_negative =
        |word: &str| word.strip_prefix('-').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    match refused.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(word)) if is_negative(word) => {}
        _ => return None,
    }
    let words: Vec<&str> = line.iter().filter_map(|word| word.to_str()).collect();
    let [flag, value] = words.windows(2).find(|pair| is_flag(pair[0]) && is_negative(pair[1]))? else { return None };
    let why = format!("`{value}` is no value for `{flag}`: it must not be negative");
    // The usage belongs to the typed command.
    let subcommand = command.find_subcommand_mut(typed_command(command, line)?)?;
    Some(subcommand.error(ErrorKind::InvalidValue, why))
}

/// A flag that clap does not know where it stands.
struct UnknownFlag<'a> {
    /// With its dashes: `--timeout`, `-w`.
    typed: &'a str,
    name: FlagName<'a>,
}

enum FlagName<'a> {
    Long(&'a str),
    Short(char),
}

impl<'a> UnknownFlag<'a> {
    /// `None` if clap refused something else.
    fn of(refused: &'a Error) -> Option<Self> {
        let (ErrorKind::UnknownArgument, Some(ContextValue::String(word))) =
            (refused.kind(), refused.get(ContextKind::InvalidArg))
        else {
            return None;
        };
        let typed = word.split('=').next().unwrap_or(word);
        let name = match typed.strip_prefix("--") {
            Some(long) => FlagName::Long(long),
            None => FlagName::Short(typed.strip_prefix('-')?.chars().next().filter(char::is_ascii_alphabetic)?),
        };
        Some(Self { typed, name })
    }

    /// Whether `arg` is called so.
    fn is(&self, arg: &Arg) -> bool {
        match self.name {
            FlagName::Long(long) => arg.get_long() == Some(long),
            FlagName::Short(short) => arg.get_short() == Some(short),
        }
    }

    /// The value that `word` of the line gives the flag, empty where it gives none; `None` where the word is not this flag. A short flag may have its value
    /// right behind it: `-lzone=a`.
    fn value_in<'w>(&self, word: &'w str) -> Option<&'w str> {
        match (word.strip_prefix(self.typed)?, &self.name) {
            ("", _) => Some(""),
            (rest, FlagName::Long(_)) => rest.strip_prefix('='),
            (rest, FlagName::Short(_)) => Some(rest.strip_prefix('=').unwrap_or(rest)),
        }
    }
}

/// The error for a flag of a command that stands before it, where only the console's and the global ones may stand: it says where the flag goes.
pub(super) fn flag_before_its_command(command: &mut Command, line: &[OsString], refused: &Error) -> Option<Error> {
    let unknown = UnknownFlag::of(refused)?;
    let words: Vec<&str> = line.iter().filter_map(|word| word.to_str()).collect();
    let at = words.iter().position(|word| unknown.value_in(word).is_some())?;
    let called = command.get_bin_name().unwrap_or("rolldeck").to_owned();
    let named = words.iter().skip(at + 1).find_map(|word| command.find_subcommand(word))?;
    let name = named.get_name().to_owned();
    let before = words[..at].iter().all(|word| command.find_subcommand(word).is_none());
    let arg = named.get_arguments().find(|arg| unknown.is(arg)).filter(|_| before)?;
    let takes = arg.get_action().takes_values();
    let value = match unknown.value_in(words[at]).unwrap_or_default() {
        "" => words.get(at + 1).copied().filter(|next| takes && *next != name),
        value => Some(value).filter(|_| takes),
    };
    let flag = unknown.typed;
    let value = value.and_then(shell_word);
    let value = value.map(|value| format!(" {value}")).unwrap_or_default();
    let why = format!("put `{flag}` behind the command: `{called} {name} … {flag}{value}`");
    // The usage of a command that clap has not come to would lack the name of the program.
    command.build();
    Some(command.find_subcommand_mut(&name)?.error(ErrorKind::UnknownArgument, why))
}

/// The error for a flag that the command does not have, and for which clap knows none like it: it names commands that have it. clap would suggest
/// the flag as the name of a DaemonSet.
pub(super) fn flag_of_others(command: &mut Command, line: &[OsString], refused: &Error) -> Option<Error> {
    let unknown = UnknownFlag::of(refused).filter(|_| refused.get(ContextKind::SuggestedArg).is_none())?;
    let (flag, name) = (unknown.typed, typed_command(command, line)?);
    let has_it = |it: &&Command| it.get_arguments().any(|arg| unknown.is(arg));
    let have: Vec<&str> =
        command.get_subcommands().filter(|it| !it.is_hide_set()).filter(has_it).map(Command::get_name).collect();
    let called = command.get_bin_name().unwrap_or("rolldeck");
    let why = match have.as_slice() {
        [] => format!("`{name}` has no `{flag}`: `{called} {name} --help` lists what it has"),
        [only] => format!("`{name}` has no `{flag}`, but `{only}` has one"),
        [others @ .., last] => format!("`{name}` has no `{flag}`, but {} and {last} have one", others.join(", ")),
    };
    // As above: the flag may stand before the command.
    command.build();
    Some(command.find_subcommand_mut(name)?.error(ErrorKind::UnknownArgument, why))
}

/// The error for a flag of the console at a command, which has none: clap would suggest it as a value.
pub(super) fn flag_of_the_console(command: &mut Command, line: &[OsString], refused: &Error) -> Option<Error> {
    let unknown = UnknownFlag::of(refused)?;
    command.get_arguments().find(|arg| unknown.is(arg) && !arg.is_global_set())?;
    let (flag, name) = (unknown.typed, typed_command(command, line)?);
    let why = format!("`{name}` has no `{flag}`: it is for the console, as in `rolldeck {flag}`");
    Some(command.find_subcommand_mut(name)?.error(ErrorKind::UnknownArgument, why))
}

/// The flag for what some commands are given most often, which other tools take without a flag (`kubectl rollout undo 2`).
const USUAL_FLAGS: [(&str, &str); 3] = [("step", "to"), ("undo", "to-revision"), ("history", "revision")];

/// The error for a word after the DaemonSet at a command that takes no more of them: it names the flag that was left out.
pub(super) fn value_without_flag(command: &mut Command, line: &[OsString], refused: &Error) -> Option<Error> {
    let word = match refused.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(word)) if names_more(refused) => word,
        _ => return None,
    };
    let subcommand = command.find_subcommand_mut(typed_command(command, line)?)?;
    let name = subcommand.get_name().to_owned();
    let takes = |flag: &str| {
        let mut flags = subcommand.get_arguments().filter(|arg| arg.get_action().takes_values());
        flags.any(|arg| arg.get_long() == Some(flag))
    };
    let meant = match word.split_once('=') {
        Some((flag, value)) if takes(flag) => format!("--{flag} {value}"),
        None if takes(word) => format!("--{word}"),
        _ => {
            let (_, flag) = USUAL_FLAGS.iter().find(|(of, _)| *of == name)?;
            word.starts_with(|c: char| c.is_ascii_digit()).then(|| format!("--{flag} {word}"))?
        }
    };
    let why = format!("`{name}` takes no `{word}` after the DaemonSet: did you mean `{meant}`?");
    Some(subcommand.error(ErrorKind::UnknownArgument, why))
}

/// The effect of each of these flags of `prewarm` on the running pre-warming. None of them can be combined with flags that choose images.
const OF_WHAT_IS_PREWARMED: [(&str, &str); 4] = [
    ("--pause", "pause what is being pre-warmed"),
    ("--resume", "go on with what is being pre-warmed"),
    ("--retry", "pull again what failed"),
    ("--cancel", "cancel what is being pre-warmed"),
];

/// The error for a `prewarm` that begins and ends, or pauses, at once: it names the flag to leave out.
pub(super) fn left_out(command: &mut Command, line: &[OsString], refused: &Error) -> Option<Error> {
    let typed = |flag: &str| line.iter().any(|word| word.to_str() == Some(flag));
    let Some(ContextValue::String(argument)) = refused.get(ContextKind::InvalidArg) else { return None };
    let begins = argument.split(' ').next()?;
    let of_begin = !OF_WHAT_IS_PREWARMED.iter().any(|(flag, _)| *flag == begins);
    if refused.kind() != ErrorKind::ArgumentConflict || !typed("prewarm") || !of_begin {
        return None;
    }
    let (flag, does) = OF_WHAT_IS_PREWARMED.iter().find(|(flag, _)| typed(flag))?;
    let why = format!("leave out `{begins}` to {does}, or `{flag}` to begin: `{begins}` says what to pre-warm");
    let subcommand = command.find_subcommand_mut("prewarm")?;
    Some(subcommand.error(ErrorKind::ArgumentConflict, why))
}
