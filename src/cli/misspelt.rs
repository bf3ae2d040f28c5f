//! Command lines that begin with a word that is no command: what was probably meant.
//!
//! A bare word is the name of a DaemonSet (`rolldeck agent`), so clap takes every misspelt command for one.

use std::ffi::OsString;

use clap::Command;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};

use super::args::DaemonSetName;
use crate::config::nearest;

/// Words that people bring from kubectl and other tools, with what does the same here.
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
    ("help", "--help"),
    ("version", "--version"),
];

/// The error of a command line whose first word is a misspelt command; `refused` is what clap said of it, if it refused it.
pub(super) fn command_meant(command: &mut Command, line: &[OsString], refused: Option<&Error>) -> Option<Error> {
    let lenient = command.clone().ignore_errors(true).try_get_matches_from(line).ok()?;
    let taken = lenient.get_raw("name").and_then(|mut words| words.next()?.to_str()).map(str::to_owned);
    let first = taken.or_else(|| refused_name(refused?))?;
    // A command follows only where the first word is `rollout`, as in kubectl's `rollout status`.
    if first.contains('/') || (lenient.subcommand_name().is_some() && first != "rollout") {
        return None;
    }
    let meant = WORDS_OF_OTHER_TOOLS.iter().find(|(word, _)| *word == first).map(|(_, meant)| (*meant).to_owned());
    let commands: Vec<&str> = command.get_subcommands().flat_map(Command::get_name_and_visible_aliases).collect();
    let meant = meant.or_else(|| nearest(&first.to_lowercase(), commands).map(str::to_owned));
    let called = command.get_bin_name().unwrap_or("rolldeck").to_owned();
    let more_words = refused.is_some_and(names_more);
    let why = match meant {
        _ if first == "rollout" => format!("leave out `rollout`: `{called} status ds/NAME`, `{called} undo ds/NAME`"),
        Some(meant) => format!("did you mean `{called} {meant}`?"),
        // A single word is taken for a DaemonSet, and clap's own message is enough where only a flag is unknown.
        None if more_words => format!("`{called} --help` lists the commands"),
        None => return None,
    };
    let daemonset = match first.parse::<DaemonSetName>() {
        Ok(DaemonSetName(name)) => format!(" (a DaemonSet of that name: `{called} ds/{name}`)"),
        Err(_) => String::new(),
    };
    Some(command.error(ErrorKind::InvalidSubcommand, format!("there is no command `{first}`: {why}{daemonset}")))
}

/// Whether clap refused a second word, which is not a flag.
fn names_more(refused: &Error) -> bool {
    refused.kind() == ErrorKind::UnknownArgument
        && matches!(refused.get(ContextKind::InvalidArg), Some(ContextValue::String(word)) if !word.starts_with('-'))
}

/// The first word where clap refused it as the name of a DaemonSet (`Status`): it is known only from the error.
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
