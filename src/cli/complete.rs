//! Completion in a shell, with names that the cluster and the kubeconfig have: contexts, namespaces, DaemonSets, revisions, labels, nodes.
//!
//! ```text
//! the script that `completions bash` prints
//!   └─▶ ROLLDECK_COMPLETE=bash rolldeck -- rolldeck status ds/a     which names are wanted? ask for them, 2 s at most; print
//! ```
//!
//! clap completes commands and flags. Names of the cluster are read from the cluster of the typed line, by its `--context`,
//! `-n`, `--as` and so on. Names that cannot be read in time are left out silently: a message would appear in the middle of
//! the typed line.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use clap::{Arg, Command, CommandFactory, FromArgMatches};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use clap_complete::env::{EnvCompleter, Shells};

use super::args::{Cli, Global};
use super::elsewhere::listed;
use super::error::{CliError, Exit};
use super::load;
use super::output::Output;
use crate::audit::AuditLog;
use crate::config::ConfigValues;
use crate::driver::{Access, AccessError, Session, context_names, practice};
use crate::process::printable::Printable;

/// The environment variable in which the script names the shell that asks.
pub(super) const VARIABLE: &str = "ROLLDECK_COMPLETE";
/// How long the cluster may take to answer, per kind of names.
const WITHIN: Duration = Duration::from_secs(2);

/// A line that is to be completed.
#[derive(Clone, Debug)]
pub(crate) struct LineToComplete {
    shell: String,
    words: Vec<OsString>,
}

/// Kinds of names that are read when a shell asks, from the cluster, the kubeconfig or the built-in scenarios.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum LiveNames {
    Contexts,
    Namespaces,
    DaemonSets,
    Revisions,
    Nodes,
    LabelKeys,
    /// Conditions of a selector: `key=`, and `key=value` once the key is typed.
    Labels,
    Scenarios,
}

impl LineToComplete {
    /// The line that `shell` asks about, which follows `--`. `None` if no shell asks.
    pub(super) fn asked(shell: Option<OsString>, line: &[OsString]) -> Option<Self> {
        let shell = shell?.into_string().ok()?;
        let words: Vec<OsString> = line.iter().skip_while(|word| *word != "--").skip(1).cloned().collect();
        (!shell.is_empty() && !words.is_empty()).then_some(Self { shell, words })
    }
}

/// Prints the script of `shell`.
pub(super) fn script(shell: clap_complete::Shell, output: &mut Output) -> Result<Exit, CliError> {
    let mut script = Vec::new();
    completer(&shell.to_string())?.write_registration(VARIABLE, "rolldeck", "rolldeck", "rolldeck", &mut script)?;
    let script = String::from_utf8_lossy(&script);
    let script = if shell == clap_complete::Shell::Bash { joined_at_equals(&script) } else { script.into_owned() };
    output.write(Printable::shell_text(&script))?;
    Ok(Exit::Done)
}

/// The end of the lines of clap's script for bash that set its words.
const WORDS_ARE_SET: &str = "        words[COMP_CWORD]=\"$2\"\n    fi\n";
/// The end of its function.
const FUNCTION_ENDS: &str = "        compopt -o nospace\n    fi\n}\n";

/// The script for bash, where `canary=t` is one word: with the words of bash the value of a label would be completed as a word of its own.
fn joined_at_equals(script: &str) -> String {
    let joined = [WORDS_ARE_SET, include_str!("complete/typed_word.bash")].concat();
    let body = FUNCTION_ENDS.trim_end_matches("}\n");
    let ended = [body, include_str!("complete/offered_rest.bash"), "}\n"].concat();
    script.replacen(WORDS_ARE_SET, &joined, 1).replacen(FUNCTION_ENDS, &ended, 1)
}

/// Gives a credential plugin that asks a question no answer: the user is typing a line and must not be asked.
pub(super) fn ask_nobody() -> std::io::Result<()> {
    Ok(rustix::stdio::dup2_stdin(std::fs::File::open("/dev/null")?)?)
}

fn completer(shell: &str) -> Result<&'static dyn EnvCompleter, CliError> {
    const SHELLS: Shells<'static> = Shells::builtins();
    SHELLS.0.iter().find(|completer| completer.is(shell)).copied().ok_or_else(|| {
        let known: Vec<&str> = SHELLS.names().collect();
        CliError::usage(format!("no completion for the shell `{shell}` (there are {})", known.join(", ")))
    })
}

/// Prints the possible continuations of the line.
pub(super) async fn run<C>(line: LineToComplete, connect: C, output: &mut Output) -> Result<Exit, CliError>
where
    C: AsyncFn(Access) -> Result<Arc<dyn Session>, AccessError>,
{
    let completer = completer(&line.shell)?;
    let words = line.words;
    // The first pass finds out which names are wanted, the second one completes with them.
    let wanted = Arc::new(Mutex::new(BTreeSet::new()));
    let note = wanted.clone();
    let mut command = with_names(Cli::command(), move |names, _| {
        // A panic in another thread leaves a usable set.
        note.lock().unwrap_or_else(std::sync::PoisonError::into_inner).insert(names);
        Vec::new()
    });
    completer.write_complete(&mut command, words.clone(), None, &mut Vec::new())?;
    let wanted = std::mem::take(&mut *wanted.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
    let target = LineTarget::of(&words);
    let mut known = Vec::new();
    for names in wanted {
        let there = tokio::time::timeout(WITHIN, target.names(names, &connect)).await.ok().flatten();
        known.push((names, there.unwrap_or_default()));
    }
    let mut command = with_names(Cli::command(), move |names, typed| {
        let there = known.iter().filter(|(known, _)| *known == names).flat_map(|(_, there)| there);
        fitting(names, typed, there.map(String::as_str))
    });
    let mut answer = Vec::new();
    completer.write_complete(&mut command, words, None, &mut answer)?;
    output.write(Printable::shell_text(&String::from_utf8_lossy(&answer)))?;
    Ok(Exit::Done)
}

/// The command line, with `complete` as completer of each argument that takes live names.
fn with_names(
    command: Command,
    complete: impl Fn(LiveNames, &str) -> Vec<String> + Clone + Send + Sync + 'static,
) -> Command {
    let add = move |command: &str, arg: Arg| {
        let Some(names) = names_of(command, arg.get_id().as_str()) else { return arg };
        let complete = complete.clone();
        let at_front = command.is_empty();
        arg.add(ArgValueCompleter::new(move |typed: &OsStr| {
            // Before the command, a bare word is the beginning of a command.
            let typed = typed.to_str().filter(|typed| match names {
                _ if typed.starts_with('-') => false,
                LiveNames::DaemonSets if at_front => typed.starts_with("ds"),
                _ => true,
            });
            let found = typed.map(|typed| complete(names, typed)).unwrap_or_default();
            found.into_iter().map(CompletionCandidate::new).collect::<Vec<_>>()
        }))
    };
    let of_commands = add.clone();
    command.mut_args(move |arg| add("", arg)).mut_subcommands(move |command| {
        let name = command.get_name().to_owned();
        let add = of_commands.clone();
        command.mut_args(move |arg| add(&name, arg))
    })
}

/// The kind of names that an argument of a command takes.
fn names_of(command: &str, argument: &str) -> Option<LiveNames> {
    Some(match (command, argument) {
        (_, "context") => LiveNames::Contexts,
        (_, "namespace") => LiveNames::Namespaces,
        (_, "name") => LiveNames::DaemonSets,
        ("diff", "from" | "to") | (_, "revision" | "to_revision") => LiveNames::Revisions,
        (_, "selector") => LiveNames::Labels,
        (_, "site-label" | "site_label") => LiveNames::LabelKeys,
        (_, "node") => LiveNames::Nodes,
        (_, "scenario") => LiveNames::Scenarios,
        _ => return None,
    })
}

/// The names that begin with the typed text, each as the word that would be on the line.
fn fitting<'a>(names: LiveNames, typed: &str, there: impl Iterator<Item = &'a str>) -> Vec<String> {
    let there = there.filter(|name| is_plain(name));
    let fits = |name: &String| name.starts_with(typed);
    match names {
        // As in kubectl; without the kind once the typed text can only be a name.
        LiveNames::DaemonSets if "ds/".starts_with(typed) || typed.starts_with("ds/") => {
            there.map(|name| format!("ds/{name}")).filter(fits).collect()
        }
        LiveNames::Labels => {
            let (done, last) = typed.rsplit_once(',').map_or(("", typed), |(done, last)| (done, last));
            let before = if done.is_empty() { String::new() } else { format!("{done},") };
            let conditions: BTreeSet<String> = match last.contains('=') {
                true => there.map(str::to_owned).collect(),
                false => there.filter_map(|label| Some(format!("{}=", label.split_once('=')?.0))).collect(),
            };
            conditions.into_iter().map(|condition| before.clone() + &condition).filter(fits).collect()
        }
        _ => there.map(str::to_owned).filter(fits).collect(),
    }
}

/// Whether a shell reads the name as one word without quotes, because completions are inserted unquoted.
fn is_plain(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.:/@=+".contains(c);
    !name.is_empty() && !name.starts_with('-') && name.chars().all(plain)
}

/// The cluster and the DaemonSet that the line is about, as far as it is typed.
struct LineTarget {
    global: Global,
    daemonset: Option<String>,
}

impl LineTarget {
    fn of(words: &[OsString]) -> Self {
        let matches = Cli::command().ignore_errors(true).try_get_matches_from(words).unwrap_or_default();
        let global = Global::from_arg_matches(&matches).unwrap_or_default();
        let inner = matches.subcommand().map_or(&matches, |(_, inner)| inner);
        // Some commands have no such argument.
        let name = inner.try_get_raw("name").ok().flatten().and_then(|mut words| words.next()?.to_str());
        let daemonset = name.map(|name| name.rsplit_once('/').map_or(name, |(_, name)| name).to_owned());
        Self { global, daemonset }
    }

    /// The names of this kind; `None` if they cannot be read.
    async fn names<C>(&self, names: LiveNames, connect: &C) -> Option<Vec<String>>
    where
        C: AsyncFn(Access) -> Result<Arc<dyn Session>, AccessError>,
    {
        match names {
            LiveNames::Contexts => return Some(context_names(self.global.kubeconfig.as_deref())),
            LiveNames::Scenarios => {
                return Some(practice::scenarios().into_iter().map(|(name, _)| name.into()).collect());
            }
            _ => {}
        }
        let access = Access { audit: AuditLog::Nowhere, ..super::access(&self.global, &ConfigValues::default()) };
        let session = connect(access).await.ok()?;
        let namespace = self.global.namespace.as_deref().unwrap_or_else(|| session.default_namespace());
        let sorted = |names: BTreeSet<String>| names.into_iter().collect();
        match names {
            LiveNames::Namespaces => {
                // Namespaces that contain a DaemonSet; no further right is needed.
                let fleet = listed(&*session, None).await?;
                return Some(sorted(fleet.rows.iter().map(|row| row.namespace.to_string()).collect()));
            }
            LiveNames::DaemonSets => {
                let fleet = listed(&*session, Some(namespace)).await?;
                return Some(fleet.rows.iter().map(|row| row.name.to_string()).collect());
            }
            _ => {}
        }
        let (_open, snapshot) = load::one_look(&*session, namespace, self.daemonset.as_deref()?, WITHIN).await.ok()?;
        let labels = || snapshot.nodes.iter().flat_map(|node| node.labels.iter());
        Some(match names {
            LiveNames::Revisions => snapshot
                .revisions
                .iter()
                .map(|one| one.number.map_or_else(|| one.hash.to_string(), |n| n.to_string()))
                .collect(),
            LiveNames::Nodes => snapshot.nodes.iter().map(|node| node.name.to_string()).collect(),
            LiveNames::LabelKeys => sorted(labels().map(|(key, _)| key.to_string()).collect()),
            LiveNames::Labels => sorted(labels().map(|(key, value)| format!("{key}={value}")).collect()),
            LiveNames::Contexts | LiveNames::Scenarios | LiveNames::Namespaces | LiveNames::DaemonSets => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::model::settings::Setting;

    /// Arguments whose values no cluster knows: numbers, durations, files, and words of the operator.
    const TYPED_BY_HAND: &[&str] = &[
        "as_group",
        "as_uid",
        "audit_log",
        "case",
        "config",
        "html",
        "images",
        "impersonate",
        "kubeconfig",
        "max_pulling",
        "max_pulling_per_site",
        "nodes",
        "output",
        "pace",
        "partition",
        "reason",
        "request_timeout",
        "runs",
        "save",
        "seed",
        "since",
        "speed",
        "tail",
        "theme",
        "timeout",
        "to",
        "topic",
        "why",
        "write_kubeconfig",
    ];

    #[test]
    fn of_every_argument_it_is_said_which_names_it_takes() {
        let command = Cli::command();
        let of_commands = command
            .get_subcommands()
            .flat_map(|inner| inner.get_arguments().map(move |arg| (inner.get_name().to_owned(), arg.clone())));
        let of_all = command.get_arguments().map(|arg| (String::new(), arg.clone()));
        let takes_text = |arg: &Arg| arg.get_action().takes_values() && arg.get_possible_values().is_empty();
        let all: Vec<(String, Arg)> = of_all.chain(of_commands).filter(|(_, arg)| takes_text(arg)).collect();
        assert!(all.len() > 50, "{}", all.len());
        let is_setting = |id: &str| Setting::ALL.iter().any(|setting| setting.name() == id);
        let unplaced: BTreeSet<String> = all
            .iter()
            .map(|(command, arg)| (command, arg.get_id().as_str()))
            .filter(|(command, id)| names_of(command, id).is_none() && !TYPED_BY_HAND.contains(id) && !is_setting(id))
            .map(|(command, id)| format!("{command} {id}"))
            .collect();
        assert!(unplaced.is_empty(), "neither in `names_of` nor in `TYPED_BY_HAND`: {unplaced:?}");
        let is_there =
            |id: &&&str| all.iter().any(|(command, arg)| arg.get_id() == **id && names_of(command, id).is_none());
        let gone: Vec<_> = TYPED_BY_HAND.iter().filter(|id| !is_there(id)).collect();
        assert!(gone.is_empty(), "no argument, or completed: {gone:?}");
    }
}
