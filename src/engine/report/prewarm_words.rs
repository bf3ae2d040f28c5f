//! Pre-warming in words.

use std::fmt;

use crate::engine::model::prewarm::{PrewarmCounts, PrewarmState, PrewarmView, PrewarmWait};
use crate::engine::model::time::{ShortDuration, Timestamp};

/// `pulling for 12s`, `waits: 2 of 2 nodes pull`, as of an instant.
#[derive(Clone, Copy, Debug)]
pub struct PrewarmWords<'a> {
    /// How far the node is.
    pub state: &'a PrewarmState,
    /// As of when, by the clock of the snapshot.
    pub at: Timestamp,
}

impl PrewarmState {
    /// Whether the images did not arrive, and are pulled again without anybody asking for it: not what the registry refused.
    pub fn is_retried(&self) -> bool {
        matches!(self, Self::Failed { cause, again_at, .. } if again_at.is_some() || !cause.kind.is_the_registrys_verdict())
    }

    /// One word: `waiting`, `queued`, `pulling`, `present`, `failed`.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Waiting(_) => "waiting",
            Self::Queued => "queued",
            Self::Pulling { .. } => "pulling",
            Self::Present => "present",
            Self::Failed { .. } => "failed",
        }
    }
}

impl fmt::Display for PrewarmWords<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.state.word())?;
        match self.state {
            PrewarmState::Waiting(wait) => write!(f, ": {wait}"),
            PrewarmState::Queued => f.write_str(" in its kubelet"),
            PrewarmState::Pulling { since } => write!(f, " for {}", ShortDuration(self.at.since(*since))),
            PrewarmState::Present => Ok(()),
            PrewarmState::Failed { cause, times, again_at } => {
                write!(f, ": {cause}")?;
                if *times > 1 {
                    write!(f, ", {times} times")?;
                }
                again_at.map_or(Ok(()), |again| write!(f, ", again in {}", ShortDuration(again.since(self.at))))
            }
        }
    }
}

impl fmt::Display for PrewarmWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Next => f.write_str("next"),
            Self::Limit { used, limit } => write!(f, "{used} of {limit} nodes pull"),
            Self::SiteLimit { site, used, limit } if site.is_empty() => {
                write!(f, "{used} of {limit} nodes without a site pull")
            }
            Self::SiteLimit { site, used, limit } => write!(f, "{used} of {limit} nodes of {site} pull"),
            Self::Paused => f.write_str("pre-warming is paused"),
            Self::Cancelled => f.write_str("cancelled"),
            Self::NodeDown => f.write_str("the node is down"),
            Self::Updating => f.write_str("its update pulls"),
            Self::Refused(why) => write!(f, "its pod is refused: {why}"),
            Self::NobodyDrives => f.write_str("nobody drives"),
            Self::Blind(why) => f.write_str(why),
        }
    }
}

/// `12 of 120 present, 2 pulling, 105 waiting, 1 failed`.
impl fmt::Display for PrewarmCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Each node that is tried again says so itself.
        let Self { nodes, present, pulling, waiting, failed, retrying: _ } = self;
        write!(f, "{present} of {nodes} present")?;
        [(pulling, "pulling"), (waiting, "waiting"), (failed, "failed")]
            .into_iter()
            .filter(|(count, _)| **count > 0)
            .try_for_each(|(count, word)| write!(f, ", {count} {word}"))
    }
}

/// One line on the whole: `pre-warming: 12 of 120 present, 2 pulling (2 may), 106 waiting`.
impl fmt::Display for PrewarmView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match (&self.asked.cancelled, &self.asked.paused) {
            (Some(_), _) => "pre-warming cancelled, being cleaned up",
            (None, Some(_)) => "pre-warming paused",
            (None, None) => "pre-warming",
        };
        match &self.error {
            Some(why) => write!(f, "{name}: {why}"),
            None => {
                write!(f, "{name}: {}", self.counts)?;
                if self.counts.waiting > 0 {
                    write!(f, "; {} of {} may pull", self.pulling, self.limit)
                } else {
                    Ok(())
                }
            }
        }
    }
}

impl PrewarmView {
    /// Whether nothing more will happen by itself: each node has the images, or does not get them.
    pub fn is_done(&self) -> bool {
        let PrewarmCounts { pulling, waiting, retrying, .. } = self.counts;
        self.error.is_some() || (pulling, waiting, retrying) == (0, 0, 0)
    }

    /// That the API server refuses its pods, in its words, and what can be done about it.
    pub fn refused(&self) -> Option<String> {
        let (node, message) = self.refusal.as_ref()?;
        Some(format!("its pod on {node} is refused: {message}; {}", refusal_remedy(message)))
    }
}

/// What can be done where pods are refused with these words. They are tried again by themselves, one at a time.
fn refusal_remedy(message: &str) -> &'static str {
    if message.contains("exceeded quota") {
        "raise the quota by one pod per node, or pre-warm fewer nodes with a selector"
    } else if message.contains("must specify") {
        "the quota asks for resources that these pods do not name: a LimitRange with defaults names them"
    } else if message.contains("cannot create resource") || message.contains("not permitted") {
        "the README has the Role that rolldeck needs: `create` on pods"
    } else {
        "whatever refuses them has to let pods with the label rolldeck.io/prewarm in"
    }
}
