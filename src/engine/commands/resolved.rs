//! A command that was understood and may be carried out.

use crate::engine::lease::edit::Edit;
use crate::engine::model::Str;
use crate::engine::model::danger::Danger;
use crate::engine::model::record::Change;
use crate::engine::writes::pending::Needs;

/// A command that was understood: its changes, and when it is done.
#[derive(Debug)]
pub(crate) struct Resolved {
    pub(crate) edits: Vec<Edit>,
    pub(crate) needs: Needs,
    /// Set `OnDelete` at once, whoever drives.
    pub(crate) brake: bool,
    /// Whether a driver is needed to carry it out.
    pub(crate) drive: bool,
    /// The answer in words when it is done.
    pub(crate) says: String,
    /// How much it can break.
    pub(crate) danger: Danger,
    /// The identifier of the change of the template that the command asks for.
    pub(crate) change: Option<Str>,
}

impl Resolved {
    pub(crate) fn new(edits: Vec<Edit>, needs: Needs, says: String, danger: Danger) -> Self {
        Self { edits, needs, brake: false, drive: true, says, danger, change: None }
    }

    /// Whether it begins a rollout to a later revision.
    pub(crate) fn leads_later(&self) -> bool {
        let leads_later = |edit: &Edit| matches!(edit, Edit::Change { change: Change::LaterRevision(_), .. });
        self.edits.iter().any(leads_later)
    }
}
