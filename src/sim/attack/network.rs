//! The network between a console and the API server: its delays and losses, drawn from a seed.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::faults::{FaultKind, Faults};
use crate::engine::model::effect::EffectErrorKind;

/// The fate of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Delivery {
    /// The message arrives after this time.
    Arrives(Duration),
    /// The message is lost. The sender of a lost request cannot know this.
    Lost,
    /// The request is refused without effect, and the sender knows this.
    Refused(EffectErrorKind),
}

/// What the API server does with a request that has arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ServerResult {
    /// The API server carries the request out and answers.
    Well,
    /// The API server answers with a 5xx and has done nothing.
    FailsBefore,
    /// The API server answers with a 5xx although it has carried the request out.
    FailsAfter,
}

/// The delays of a network in milliseconds, and the chances of its faults in thousandths.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NetworkProfile {
    /// The shortest delay of a message, in milliseconds.
    pub min_delay: u64,
    /// The longest delay of a message, in milliseconds.
    pub max_delay: u64,
    /// The distance of the API server, in milliseconds: every message takes that much longer, in the calm too.
    #[serde(default)]
    pub distance: u64,
    /// The line fills up: each of the next few dozen messages is up to [`CONGESTION`] milliseconds late.
    #[serde(default)]
    pub swells: u32,
    /// A request is lost.
    pub lost_requests: u32,
    /// An answer is lost: the request took effect all the same.
    pub lost_answers: u32,
    /// A request is throttled (429).
    pub throttled: u32,
    /// A request cannot be sent at all.
    pub not_sent: u32,
    /// The API server fails: half the time before it did what was asked, half the time after.
    #[serde(default)]
    pub server_errors: u32,
}

impl NetworkProfile {
    /// A good network: a few milliseconds, nothing lost.
    pub const FINE: Self = Self {
        min_delay: 1,
        max_delay: 8,
        distance: 0,
        swells: 0,
        lost_requests: 0,
        lost_answers: 0,
        throttled: 0,
        not_sent: 0,
        server_errors: 0,
    };

    /// The same network without faults; the distance stays.
    #[must_use]
    pub fn calm(self) -> Self {
        Self { distance: self.distance, ..Self::FINE }
    }

    /// The longest that a message may take.
    pub fn longest(self) -> Duration {
        let congestion = if self.swells > 0 { CONGESTION } else { 0 };
        Duration::from_millis(self.distance + self.max_delay + congestion)
    }
}

/// How late a message may be, in milliseconds, while the line is full.
const CONGESTION: u64 = 900;
/// The number of messages for which the line stays full.
const CONGESTED_FOR: std::ops::Range<u32> = 20..80;

/// A network.
#[derive(Clone, Debug)]
pub struct Network {
    /// The present profile.
    pub network: NetworkProfile,
    rng: fastrand::Rng,
    faults: Faults,
    /// How many more messages the line is full for.
    congested: u32,
}

impl Network {
    /// A network of this profile; the same seed gives the same deliveries.
    pub fn new(network: NetworkProfile, seed: u64) -> Self {
        let mut faults = Faults::default();
        if network.distance > 0 {
            faults.count(FaultKind::FarAway);
        }
        Self { network, rng: fastrand::Rng::with_seed(seed), faults, congested: 0 }
    }

    /// The faults of this network so far.
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// The delay of a message that is sure to arrive.
    pub fn delay(&mut self) -> Duration {
        let network = self.network;
        if self.congested == 0 && self.chance(network.swells, FaultKind::LineFull) {
            self.congested = self.rng.u32(CONGESTED_FOR);
        }
        let congestion =
            if self.congested > 0 && network.swells > 0 { self.rng.u64(CONGESTION / 2..=CONGESTION) } else { 0 };
        self.congested = self.congested.saturating_sub(1);
        Duration::from_millis(network.distance + congestion + self.rng.u64(network.min_delay..=network.max_delay))
    }

    /// The fate of a request.
    pub fn request(&mut self) -> Delivery {
        let network = self.network;
        if self.chance(network.lost_requests, FaultKind::RequestLost) {
            Delivery::Lost
        } else if self.chance(network.throttled, FaultKind::Throttled) {
            Delivery::Refused(EffectErrorKind::Throttled { retry_after_millis: 1000 })
        } else if self.chance(network.not_sent, FaultKind::NotSent) {
            Delivery::Refused(EffectErrorKind::NotSent)
        } else {
            Delivery::Arrives(self.delay())
        }
    }

    /// The fate of an answer.
    pub fn answer(&mut self) -> Delivery {
        let lost = self.network.lost_answers;
        if self.chance(lost, FaultKind::AnswerLost) { Delivery::Lost } else { Delivery::Arrives(self.delay()) }
    }

    /// What the API server does with a request that has arrived.
    pub fn server(&mut self) -> ServerResult {
        if !self.roll(self.network.server_errors) {
            return ServerResult::Well;
        }
        let (server, kind) = if self.roll(500) {
            (ServerResult::FailsAfter, FaultKind::ServerErrorDone)
        } else {
            (ServerResult::FailsBefore, FaultKind::ServerError)
        };
        self.faults.count(kind);
        server
    }

    fn chance(&mut self, thousandths: u32, kind: FaultKind) -> bool {
        let hit = self.roll(thousandths);
        if hit {
            self.faults.count(kind);
        }
        hit
    }

    fn roll(&mut self, thousandths: u32) -> bool {
        thousandths > 0 && self.rng.u32(0..1000) < thousandths
    }
}
