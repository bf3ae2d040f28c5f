//! The change of the template that the record asks for, from when it is asked for until it is made or refused.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::engine::model::Str;
use crate::engine::model::image::ImageRef;

/// A change of the template.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Change {
    /// New images, by container name (`*`: all main containers).
    Images(BTreeMap<String, ImageRef>),
    /// The template of the ControllerRevision with this hash: the rollout goes back to it, on every node.
    Revision(Str),
    /// The template of the ControllerRevision with this hash, which was made after that of the present template, or after the one that the rollout came
    /// from: a rollout to it begins, with steps and gates.
    LaterRevision(Str),
}

impl Change {
    /// The revision that it leads to, if it names one.
    pub fn revision(&self) -> Option<&Str> {
        match self {
            Self::Images(_) => None,
            Self::Revision(hash) | Self::LaterRevision(hash) => Some(hash),
        }
    }

    /// Whether nodes are updated only as steps let them go, from the first one on.
    pub fn begins_steps(&self) -> bool {
        match self {
            Self::Images(_) | Self::LaterRevision(_) => true,
            Self::Revision(_) => false,
        }
    }
}
