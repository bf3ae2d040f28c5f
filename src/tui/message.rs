//! What goes into [`update`](super::update::update), and what it asks for: values only.

use std::sync::Arc;

use ratatui::layout::Size;

use super::daemonset_ref::DaemonSetRef;
use super::key::Key;
use super::status::StatusSeverity;
use crate::driver::{CommandError, Fleet};
use crate::engine::model::Str;
use crate::engine::model::command::{Command, Preview};
use crate::engine::model::container_log::{LogNews, LogSource};
use crate::engine::model::inspection::Inspection;
use crate::engine::report::snapshot::Snapshot;
use crate::engine::report::story::Story;

/// Something that happened.
#[derive(Debug)]
pub(crate) enum Msg {
    Key(Key),
    Paste(String),
    Resize(Size),
    /// The terminal's background has this colour: red, green, blue.
    Background([u8; 3]),
    /// The driver of a rollout has something new to show.
    Snapshot(DaemonSetRef, Arc<Snapshot>),
    /// The driver of a rollout has ended.
    Stopped(DaemonSetRef),
    Fleet(Arc<Fleet>),
    /// What a command would do.
    Previewed(u64, Result<Preview, CommandError>),
    /// What was read of a node, under a number.
    Inspected(u64, Arc<Inspection>),
    /// What was read of a log, under a number.
    Log(u64, LogNews),
    /// The result of a command.
    Done(DaemonSetRef, Result<String, CommandError>),
    /// The cluster of another context answers, or why it cannot be gone to.
    Connected(Str, Result<(), String>),
    /// A message for the status line from outside the model.
    Said(StatusSeverity, String),
    /// Time has passed.
    Tick,
}

/// What the loop is asked to do.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum ConsoleEffect {
    /// Open a rollout.
    Open(DaemonSetRef),
    /// Close a rollout.
    Close(DaemonSetRef),
    /// Watch all DaemonSets of this namespace, or of all.
    Fleet(Option<Box<str>>),
    /// Ask the driver what this command would do.
    Ask { target: DaemonSetRef, serial: u64, command: Command },
    /// Have the driver do this command.
    Do { target: DaemonSetRef, command: Command },
    /// Read this node, and its pod, for as long as the model [reads](super::model::Model::reads) this number.
    Inspect { serial: u64, namespace: Str, node: Str, pod: Option<Str> },
    /// Read this log, for as long.
    ReadLog { serial: u64, source: LogSource },
    /// Write the screen, and the rollout on it, to files.
    Save { screen: String, rollout: Option<Box<(Arc<Snapshot>, Story)>> },
    /// Remember by which label the map of this DaemonSet tells nodes apart; `None`: by the rollout's own.
    RememberSite { target: DaemonSetRef, label: Option<String> },
    /// Connect to the cluster of this context, and ask whether it answers.
    Connect(Str),
    /// Go to the cluster that answered, after the console stopped driving these.
    Switch { context: Str, driven: Vec<DaemonSetRef> },
    /// Put this into the clipboard of the terminal.
    Copy(String),
    /// Call an operator who looks elsewhere: something happened.
    Call,
    /// Write the whole screen again.
    Repaint,
    /// Stop the process, as ctrl-z does; the shell continues it.
    Suspend,
    /// End the console, after it stopped driving these.
    Quit(Vec<DaemonSetRef>),
}
