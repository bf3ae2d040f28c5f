//! The audit log: a local file with one JSON object per line. Each line says who did what, when and from where.
//!
//! ```text
//!  rollout event ──▶ entry.rs: a line without secrets ──▶ log.rs: bounded queue, one thread ──▶ file.rs: one write per line
//!                                                                          └──▶ why it cannot be written
//! ```
//!
//! The audit log never stops or slows a rollout. Lines that do not fit in the queue are dropped, and their number is logged.
//! A file that cannot be written is reported in the snapshot. The log holds no secret: no template, no environment, no
//! annotation, and every text goes through [`scrub`]. The driver sends the events of a rollout to the log; `rolldeck log`
//! reads them back.

mod entry;
mod file;
mod log;
mod origin;
pub(crate) mod private;
mod read;
mod renumbered;

use std::path::{Path, PathBuf};

pub(crate) use self::entry::{EntrySubject, EventText};
pub(crate) use self::log::Log;
pub(crate) use self::origin::{AuditedCluster, Origin, Place};
pub use self::read::{LogError, LogFilter, LogLine, LogRead, LoggedCluster, read};
pub use self::renumbered::Renumbered;
pub(crate) use crate::scrub::Secrets;

/// The place of the audit log.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum AuditLog {
    /// Nowhere.
    #[default]
    Nowhere,
    /// In this file.
    File(PathBuf),
}

impl AuditLog {
    /// `$XDG_STATE_HOME/rolldeck/audit.jsonl`, else `~/.local/state/rolldeck/audit.jsonl`; nowhere without a home.
    pub fn usual() -> Self {
        let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        let state = state.or_else(|| Some(std::env::home_dir()?.join(".local").join("state")));
        state.map_or(Self::Nowhere, |state| Self::File(state.join("rolldeck").join("audit.jsonl")))
    }

    /// The file; `None` if no log is kept.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Nowhere => None,
            Self::File(path) => Some(path),
        }
    }
}

#[cfg(test)]
mod tests;
