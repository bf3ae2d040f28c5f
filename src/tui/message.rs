//! What goes into [`update`](super::update::update), and what it asks for: values only.

use std::sync::Arc;

use ratatui::layout::Size;

use super::daemonset_ref::DaemonSetRef;
use super::key::Key;
use super::status::StatusTone;
use crate::driver::{CommandError, Fleet};
use crate::engine::model::command::{Command, Preview};
use crate::engine::snapshot::Snapshot;

/// Something that happened.
#[derive(Debug)]
pub(crate) enum Msg {
    Key(Key),
    Paste(String),
    Resize(Size),
    /// The driver of a rollout has something new to show.
    Snapshot(DaemonSetRef, Arc<Snapshot>),
    /// The driver of a rollout has ended.
    Stopped(DaemonSetRef),
    Fleet(Arc<Fleet>),
    /// What a command would do.
    Previewed(u64, Result<Preview, CommandError>),
    /// What came of a command.
    Done(DaemonSetRef, Result<String, CommandError>),
    /// Something outside wants to be told.
    Said(StatusTone, String),
    /// Time has passed.
    Tick,
}

/// What the outside is asked for.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum ConsoleEffect {
    /// Open a rollout.
    Open(DaemonSetRef),
    /// Let go of a rollout.
    Close(DaemonSetRef),
    /// Watch all DaemonSets of this namespace, or of all.
    Fleet(Option<Box<str>>),
    /// What would this do?
    Ask { target: DaemonSetRef, serial: u64, command: Command },
    /// Do this.
    Do { target: DaemonSetRef, command: Command },
    /// Paint everything again.
    Repaint,
    /// Back to the shell, for a while.
    Suspend,
    /// End, after stopping from these.
    Quit(Vec<DaemonSetRef>),
}
