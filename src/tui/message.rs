//! The messages to [`update`](super::update::update), and the effects that it asks for: values only.

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
    /// The colour of the terminal's background: red, green, blue.
    Background([u8; 3]),
    /// The driver of a rollout has a new snapshot.
    Snapshot(DaemonSetRef, Arc<Snapshot>),
    /// The driver of a rollout has ended.
    Stopped(DaemonSetRef),
    Fleet(Arc<Fleet>),
    /// The preview of a command, under the number of its question.
    Previewed(u64, Result<Box<Preview>, CommandError>),
    /// The data read of a node, under the number of the request.
    Inspected(u64, Arc<Inspection>),
    /// The lines read of a log, under the number of the request.
    Log(u64, LogNews),
    /// The result of a command.
    Done(DaemonSetRef, Result<String, CommandError>),
    /// The cluster of another context answers; or the reason why the console cannot go there.
    Connected(Str, Result<(), String>),
    /// A message for the status line from outside the model.
    Said(StatusSeverity, String),
    /// Time has passed.
    Tick,
}

/// An effect that the loop is asked to carry out.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum ConsoleEffect {
    /// Open a rollout.
    Open(DaemonSetRef),
    /// Close a rollout.
    Close(DaemonSetRef),
    /// Watch all DaemonSets of this namespace, or of all namespaces.
    Fleet(Option<Box<str>>),
    /// Ask the driver for the consequences of this command.
    Ask { target: DaemonSetRef, serial: u64, command: Command },
    /// Have the driver do this command.
    Do { target: DaemonSetRef, command: Command },
    /// Read this node, and its pod, for as long as the model [reads](super::model::Model::reads) this number.
    Inspect { serial: u64, namespace: Str, node: Str, pod: Option<Str> },
    /// Read this log, for as long as the model reads this number.
    ReadLog { serial: u64, source: LogSource },
    /// Write the screen, and the rollout on it, to files.
    Save { screen: String, rollout: Option<Box<(Arc<Snapshot>, Story)>> },
    /// Remember the label by which the map of this DaemonSet tells nodes apart; `None`: the rollout's own label.
    RememberSite { target: DaemonSetRef, label: Option<String> },
    /// Connect to the cluster of this context, and ask whether it answers.
    Connect(Str),
    /// Go to the cluster that answered, after the console stopped driving these.
    Switch { context: Str, driven: Vec<DaemonSetRef> },
    /// Put this text into the clipboard of the terminal.
    Copy(String),
    /// Call an operator who looks elsewhere, because something happened.
    Call,
    /// Write the whole screen again.
    Repaint,
    /// Stop the process, as ctrl-z does; the shell continues it.
    Suspend,
    /// End the console, after it stopped driving these.
    Quit(Vec<DaemonSetRef>),
}
