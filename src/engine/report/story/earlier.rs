//! What a story told until its view was closed, for the one that begins when the same rollout is opened again.

use std::collections::VecDeque;

use super::controller::ControllerMoment;
use super::{HaltedRevision, NodeMoment, Story};
use crate::engine::model::time::Timestamp;

/// The part of a [`Story`] that stays true after nobody watches the rollout any more.
#[derive(Clone, PartialEq, Debug)]
pub struct EarlierStory {
    moments: VecDeque<NodeMoment>,
    dropped: u64,
    controllers: Vec<ControllerMoment>,
    halted: Vec<HaltedRevision>,
    /// When the last snapshot was taken in.
    until: Timestamp,
}

impl Story {
    /// What it told; `None` if there is nothing. One that has not begun hands on what it goes on from.
    pub fn into_earlier(self) -> Option<EarlierStory> {
        let Some(until) = self.seen_until else { return self.earlier.map(|earlier| *earlier) };
        let Self { moments, dropped, controllers, halted, .. } = self;
        Some(EarlierStory { moments, dropped, controllers, halted, until })
    }

    /// A story that goes on from an earlier one of the same DaemonSet. What happened in between is read off the pods of the first
    /// snapshot.
    pub fn after(earlier: EarlierStory) -> Self {
        Self { earlier: Some(Box::new(earlier)), ..Self::default() }
    }

    /// Takes in what the earlier story told. Returns when that one ended: what is read off the pods of the time before then is told
    /// already.
    pub(super) fn take_earlier(&mut self) -> Option<Timestamp> {
        let EarlierStory { moments, dropped, controllers, halted, until } = *self.earlier.take()?;
        (self.moments, self.dropped, self.controllers, self.halted) = (moments, dropped, controllers, halted);
        Some(until)
    }
}
