//! A change of the template that a record asks for.

use super::Str;
use super::record::{Change, Intent};

/// A change that was requested; its identifier tells it from another one of the same content.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct ChangeRequest {
    pub(crate) change: Change,
    /// `None`: an older rolldeck wrote it.
    pub(crate) id: Option<Str>,
}

impl Intent {
    /// The change that is still to be made.
    pub(crate) fn request(&self) -> Option<ChangeRequest> {
        let id = self.requested_change.as_ref().map(|requested| requested.id.clone());
        self.change.clone().map(|change| ChangeRequest { change, id })
    }
}
