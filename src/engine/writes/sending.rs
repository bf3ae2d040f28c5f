//! How fast and how far away deletions are sent.

use std::collections::BTreeMap;
use std::time::Duration;

use super::rate::Tokens;
use crate::engine::model::Str;
use crate::engine::model::config::RateLimit;
use crate::engine::model::time::Timestamp;
use crate::engine::rules::distance::Distance;

/// A shorter wait is not shown.
pub(crate) const WORTH_A_WORD: Duration = Duration::from_secs(2);

/// How fast and how far away deletions are sent, and what they wait for.
#[derive(Debug)]
pub(crate) struct Sending {
    pub(crate) distance: Distance,
    pub(crate) tokens: Tokens,
    /// When each deletion was sent that is not seen yet, by pod uid.
    pub(crate) sent: BTreeMap<Str, Timestamp>,
    /// Since when there are nodes next in line and no deletion leaves.
    pub(crate) waits_since: Option<Timestamp>,
    /// How many wait for nothing but the rate, and until when the next of them do.
    pub(crate) rated: Option<(usize, Timestamp)>,
}

impl Sending {
    pub(crate) fn new(limit: RateLimit) -> Self {
        Self {
            distance: Distance::default(),
            tokens: Tokens::new(limit),
            sent: BTreeMap::new(),
            waits_since: None,
            rated: None,
        }
    }
}
