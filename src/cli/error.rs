//! The error type of the command line: a kind, which determines the exit code, a sentence, and hints.
//!
//! ```text
//! Error: there is no DaemonSet `agnet` in namespace `edge`
//! Hint: `rolldeck status -n edge` lists what is there
//! ```

use std::fmt;
use std::io;
use std::process::ExitCode;

use super::output::Streams;
use crate::driver::{AccessError, CommandError};
use crate::engine::model::command::Refusal;
use crate::process::signals::EndSignal;

/// The end of a refusal's message if nothing was written.
pub(crate) const NOTHING_CHANGED: &str = "nothing was changed";

/// The reason why a command was not completed.
#[derive(Debug)]
pub struct CliError {
    kind: CliErrorKind,
    message: String,
    hints: Vec<Hint>,
    /// Whether the error was printed on standard error already.
    reported: bool,
    /// Whether a person asked for this end, so that it is no error. The exit code still tells a script that the command did not reach its goal.
    asked_for: bool,
}

/// What to try next. What names a command is completed once it is known what was typed, and about which DaemonSet: see [`CliError::in_full`].
#[derive(Clone, Debug)]
enum Hint {
    Text(String),
    /// The line that was typed, once more with `flag`.
    Again {
        flag: &'static str,
        does: String,
    },
    /// A command about the same DaemonSet.
    Command {
        words: &'static str,
        does: String,
    },
}

impl Hint {
    /// The hint without what nobody has completed.
    fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Again { flag, does } => format!("`{flag}` {does}"),
            Self::Command { words, does } => format!("`rolldeck {words}` {does}"),
        }
    }
}

/// Kinds of failure, by what a script would do about them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CliErrorKind {
    /// Configuration, network, or a write that the cluster refused.
    Failed,
    /// The same for a command whose exit code 1 means that there are differences.
    FailedComparing,
    /// The command line is invalid.
    Usage,
    /// The command was not over in time.
    TimedOut,
    /// The command ended before the rollout was complete, because somebody wanted that.
    Incomplete,
    /// The rollout is halted, rolldeck paused it, or a part of it failed.
    Halted,
    /// A named revision does not exist, or the DaemonSet was deleted.
    NotFound,
    /// There is no DaemonSet of this name in the namespace.
    NoDaemonSet,
    /// The engine or the operator refused the command, or a right for it is missing: nothing was changed.
    Refused,
    /// Somebody else drives.
    DrivenByOther,
    /// The reader of the output is gone, so nothing is printed.
    BrokenPipe,
}

/// The end of a command, as a script sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    /// Done; complete.
    Done,
    /// The comparison found differences.
    Different,
    /// Not complete yet.
    Incomplete,
    /// Halted, paused by rolldeck itself, or failed.
    Halted,
    /// Somebody else drives.
    DrivenByOther,
    /// Interrupted from the keyboard, or by a lost terminal.
    Interrupted,
    /// Ended by a signal.
    Terminated,
}

impl Exit {
    /// The exit code, as documented in `--help`.
    pub fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Different => 1,
            Self::Incomplete => 3,
            Self::Halted => 4,
            Self::DrivenByOther => 7,
            Self::Interrupted => 130,
            Self::Terminated => 143,
        }
    }

    /// The name of this end in JSON. Ends that an error has, too, are named as its [`CliError::reason`].
    pub(crate) fn outcome(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Different => "different",
            Self::Incomplete => "incomplete",
            Self::Halted => "halted",
            Self::DrivenByOther => "drivenByOther",
            Self::Interrupted | Self::Terminated => self.word(),
        }
    }

    /// What a signal did to the process, in a word.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Terminated => "terminated",
            _ => "interrupted",
        }
    }
}

impl From<EndSignal> for Exit {
    fn from(ending: EndSignal) -> Self {
        match ending {
            EndSignal::Terminate => Self::Terminated,
            EndSignal::Hangup | EndSignal::Interrupt => Self::Interrupted,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

impl CliError {
    pub(crate) fn new(kind: CliErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hints: Vec::new(), reported: false, asked_for: false }
    }

    /// A failure: the message names the attempt, its object and the answer.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(CliErrorKind::Failed, message)
    }

    /// An invalid command line.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(CliErrorKind::Usage, message)
    }

    /// The answer could not be written, but the command was carried out; `settled` is the text of the answer.
    pub(crate) fn carried_out(mut self, settled: &str) -> Self {
        self.message = format!("{}; the command itself was carried out: {settled}", self.message);
        self
    }

    /// The refusal of a later part: earlier parts were carried out and reported.
    pub(crate) fn after_others(mut self) -> Self {
        self.message = self.message.replace(NOTHING_CHANGED, "what was carried out before it stays");
        self
    }

    /// Marks the end as one that a person asked for.
    pub(crate) fn asked_for(mut self) -> Self {
        self.asked_for = true;
        self
    }

    /// Adds a hint on the next thing to try.
    pub(crate) fn hinted(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(Hint::Text(hint.into()));
        self
    }

    /// Adds a hint that the same line with `flag` helps, and what the flag does.
    pub(crate) fn again_with(mut self, flag: &'static str, does: impl Into<String>) -> Self {
        self.hints.push(Hint::Again { flag, does: does.into() });
        self
    }

    /// Adds a hint that a command about the same DaemonSet helps, and what that does. `words`: its name and its flags.
    pub(crate) fn command_helps(mut self, words: &'static str, does: impl Into<String>) -> Self {
        self.hints.push(Hint::Command { words, does: does.into() });
        self
    }

    /// Adds what helps where the record of a rollout cannot be read.
    pub(crate) fn where_unreadable(self) -> Self {
        self.command_helps("adopt", "begins a record anew in its place, with the limits that its flags name")
            .command_helps("release", "drops it and hands the DaemonSet back")
            .hinted("a newer rolldeck may be able to read it")
    }

    /// Adds what helps where the record of a rollout was lost.
    pub(crate) fn where_recorded_anew(self) -> Self {
        self.command_helps("status", SAYS_WHERE).command_helps(
            "adopt",
            "records it anew, with the limits that its flags name: --max-unavailable, --soak and the others",
        )
    }

    /// Completes what the hints name: `again` is the line that was typed with one more flag, `command` a command about the DaemonSet. `None`: it cannot be
    /// quoted safely, and stays as it is.
    pub(crate) fn in_full(
        mut self,
        again: impl Fn(&str) -> Option<String>,
        command: impl Fn(&str) -> Option<String>,
    ) -> Self {
        for hint in &mut self.hints {
            let (whole, does) = match hint {
                Hint::Text(_) => continue,
                Hint::Again { flag, does } => (again(flag), does),
                Hint::Command { words, does } => (command(words), does),
            };
            if let Some(whole) = whole {
                *hint = Hint::Text(format!("`{whole}` {does}"));
            }
        }
        self
    }

    /// Adds a hint before all others.
    pub(crate) fn hinted_first(mut self, hint: impl Into<String>) -> Self {
        self.hints.insert(0, Hint::Text(hint.into()));
        self
    }

    /// The message without hints.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// Why a process that ends with this error stops driving, for the record.
    pub(crate) fn why_it_ends(&self) -> String {
        let said =
            self.message.strip_prefix("driving ends: ").or_else(|| self.message.strip_prefix("driving ends, as "));
        match self.kind {
            CliErrorKind::BrokenPipe => "nobody read its output any more".to_owned(),
            _ => said.unwrap_or(&self.message).to_owned(),
        }
    }

    /// Whether nothing was done because rolldeck or the person who was asked refused it.
    pub(crate) fn is_refusal(&self) -> bool {
        matches!(self.kind, CliErrorKind::Refused | CliErrorKind::DrivenByOther)
    }

    /// Whether somebody else drives.
    pub(crate) fn is_driven_by_other(&self) -> bool {
        self.kind == CliErrorKind::DrivenByOther
    }

    /// Whether no DaemonSet has the given name.
    pub(crate) fn is_no_daemonset(&self) -> bool {
        self.kind == CliErrorKind::NoDaemonSet
    }

    /// The same error for a command whose exit code 1 means that there are differences.
    pub(crate) fn of_comparing(mut self) -> Self {
        if self.kind == CliErrorKind::Failed {
            self.kind = CliErrorKind::FailedComparing;
        }
        self
    }

    /// The exit code, as documented in `--help`.
    pub fn code(&self) -> u8 {
        match self.kind {
            CliErrorKind::Failed => 1,
            CliErrorKind::Usage | CliErrorKind::FailedComparing => 2,
            CliErrorKind::TimedOut | CliErrorKind::Incomplete => Exit::Incomplete.code(),
            CliErrorKind::Halted => Exit::Halted.code(),
            CliErrorKind::NotFound | CliErrorKind::NoDaemonSet => 5,
            CliErrorKind::Refused => 6,
            CliErrorKind::DrivenByOther => Exit::DrivenByOther.code(),
            // 128 + SIGPIPE, as a shell reports it.
            CliErrorKind::BrokenPipe => 141,
        }
    }

    /// The kind of failure for a script.
    pub(crate) fn reason(&self) -> &'static str {
        match self.kind {
            CliErrorKind::Failed | CliErrorKind::FailedComparing => "failed",
            CliErrorKind::Usage => "usage",
            CliErrorKind::TimedOut => "timedOut",
            CliErrorKind::Incomplete => "incomplete",
            CliErrorKind::Halted => "halted",
            CliErrorKind::NotFound | CliErrorKind::NoDaemonSet => "notFound",
            CliErrorKind::Refused => "refused",
            CliErrorKind::DrivenByOther => "drivenByOther",
            CliErrorKind::BrokenPipe => "brokenPipe",
        }
    }

    /// The hints.
    pub(crate) fn hints(&self) -> Vec<String> {
        self.hints.iter().map(Hint::text).collect()
    }

    /// Whether a hint names a command, whole or yet to be completed.
    pub(crate) fn names_a_command(&self) -> bool {
        self.hints.iter().any(|hint| match hint {
            Hint::Text(text) => text.contains("rolldeck "),
            Hint::Again { .. } | Hint::Command { .. } => true,
        })
    }

    /// Whether a person asked for this end.
    pub(crate) fn is_asked_for(&self) -> bool {
        self.asked_for
    }

    /// Whether nobody reads the output any more.
    pub(crate) fn is_broken_pipe(&self) -> bool {
        self.kind == CliErrorKind::BrokenPipe
    }

    /// Prints the error on standard error, unless that was done already, and returns the exit code.
    pub fn exit(mut self) -> ExitCode {
        self.report(&Streams::default());
        self.code().into()
    }

    /// Prints the error on standard error once, unless nobody reads the output.
    pub(crate) fn report(&mut self, streams: &Streams) {
        if self.kind != CliErrorKind::BrokenPipe && !std::mem::replace(&mut self.reported, true) {
            streams.complain(&self.to_string());
        }
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Further lines are indented, so that a message from elsewhere or a name in a hint cannot imitate a hint of rolldeck.
        let lead = if self.asked_for { "Ended" } else { "Error" };
        write!(f, "{lead}: {}", self.message.replace('\n', "\n  "))?;
        self.hints.iter().try_for_each(|hint| write!(f, "\nHint: {}", hint.text().replace('\n', "\n  ")))
    }
}

impl std::error::Error for CliError {}

impl From<io::Error> for CliError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::new(CliErrorKind::BrokenPipe, "nobody reads the output any more"),
            _ => Self::failed(format!("writing the answer: {error}")),
        }
    }
}

impl From<AccessError> for CliError {
    fn from(AccessError { message, hints }: AccessError) -> Self {
        hints.into_iter().fold(Self::failed(message), Self::hinted)
    }
}

/// What helps where the API server does not accept the credentials.
pub(crate) const LOG_IN_AGAIN: &str = "log in to the cluster again, then ask again";

/// What `status` does.
pub(crate) const SAYS_WHERE: &str = "says where it stands";

/// What `drive --take-over` does.
pub(crate) const TAKES_OVER: &str = "asks them to hand over, and takes the lease once it has run out";

impl From<Refusal> for CliError {
    fn from(refusal: Refusal) -> Self {
        let message = refusal.to_string();
        match refusal {
            Refusal::NotLoaded(_) | Refusal::Stale(_) | Refusal::NotPermitted(_) => {
                Self::new(CliErrorKind::Refused, message)
            }
            Refusal::DrivenBy { .. } => {
                Self::new(CliErrorKind::DrivenByOther, message).command_helps("drive --take-over", TAKES_OVER)
            }
            Refusal::RecordUnreadable { .. } => Self::new(CliErrorKind::Refused, message).where_unreadable(),
            Refusal::NotThere(_) => Self::new(CliErrorKind::NotFound, message),
            Refusal::NotNow(_) | Refusal::Invalid(_) => Self::new(CliErrorKind::Refused, message),
        }
    }
}

impl From<CommandError> for CliError {
    fn from(error: CommandError) -> Self {
        match error {
            CommandError::Refused(refusal) => refusal.into(),
            CommandError::NotAdmitted(why) | CommandError::Overtaken(why) => Self::new(CliErrorKind::Refused, why),
            CommandError::Unauthorized(why) => Self::failed(why).hinted(LOG_IN_AGAIN),
            CommandError::Failed(why) => Self::failed(why),
            CommandError::Stopped => Self::failed(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::model::event::Right;

    #[test]
    fn kinds_fix_exit_codes() {
        for (error, code) in [
            (CliError::from(AccessError { message: "no context `x`".to_owned(), hints: Vec::new() }), 1),
            (Refusal::NotPermitted(Right::DeletePods).into(), 6),
            (Refusal::NotNow("it is paused".to_owned()).into(), 6),
            (Refusal::DrivenBy { holder: "ops@bastion".into() }.into(), 7),
            (CommandError::Failed("patching: 500".to_owned()).into(), 1),
            (CommandError::NotAdmitted("denied by policy".to_owned()).into(), 6),
            (CommandError::Unauthorized("401 Unauthorized".to_owned()).into(), 1),
            (CommandError::Overtaken("the partition was set to 15".to_owned()).into(), 6),
            (CliError::new(CliErrorKind::NotFound, "gone"), 5),
            (CliError::new(CliErrorKind::TimedOut, "late"), 3),
            (io::Error::from(io::ErrorKind::BrokenPipe).into(), 141),
        ] {
            assert_eq!(error.code(), code, "{error}");
        }
    }

    #[test]
    fn who_declines_the_second_part_is_told_that_the_first_stays() {
        let declined = || CliError::new(CliErrorKind::Refused, format!("declined; {NOTHING_CHANGED}"));
        assert_eq!(declined().message(), "declined; nothing was changed");
        assert_eq!(declined().after_others().message(), "declined; what was carried out before it stays");
        assert_eq!(CliError::failed("denied").after_others().message(), "denied");
    }

    #[test]
    fn hints_follow_the_error_line_by_line() {
        let error = CliError::failed("no such context").hinted("`kubectl config get-contexts` lists them").hinted("b");
        assert_eq!(
            error.to_string(),
            "Error: no such context\nHint: `kubectl config get-contexts` lists them\nHint: b"
        );
        let forged = CliError::failed("denied\nHint: run `x`").to_string();
        assert_eq!(forged, "Error: denied\n  Hint: run `x`");
        let forged = CliError::failed("denied").hinted_first("in `a\nHint: run `x`").to_string();
        assert_eq!(forged, "Error: denied\nHint: in `a\n  Hint: run `x`");
    }
}
