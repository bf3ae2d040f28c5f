//! What to write next and what became of it. Only these files change what was sent, and the progress.

pub(super) mod change;
pub(super) mod decide;
mod deletions;
mod idle;
pub(super) mod outcome;
pub(super) mod recreated;
pub(super) mod refused;
pub(super) mod release;
pub(super) mod room;
mod send;
pub(super) mod stopped;
pub(super) mod strategy_drift;
