//! The network between a console and the API server: how late, and how lossy. Seeded.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::faults::{FaultKind, Faults};
use crate::engine::model::effect::EffectErrorKind;

/// What becomes of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It arrives after this long.
    Arrives(Duration),
    /// It is lost; for a request: nobody will ever know whether it arrived, and it did not.
    Lost,
    /// It is turned away at the door, and that is known.
    Refused(EffectErrorKind),
}

/// How an API server fares with a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Server {
    /// It does what was asked, and answers.
    Well,
    /// It answers with a 5xx, and did nothing.
    FailsBefore,
    /// It answers with a 5xx, and did what was asked.
    FailsAfter,
}

/// How bad a network is. Chances are in thousandths.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NetworkProfile {
    /// The shortest delay of a message, in milliseconds.
    pub min_delay: u64,
    /// The longest.
    pub max_delay: u64,
    /// How far away the API server is: every message takes that long in addition, in the calm too. In milliseconds.
    #[serde(default)]
    pub distance: u64,
    /// The line fills up: for the next few dozen messages each is up to [`SWELL`] milliseconds later.
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

    /// What is left of it when nothing goes wrong any more: the way is as far as it was.
    #[must_use]
    pub fn calm(self) -> Self {
        Self { distance: self.distance, ..Self::FINE }
    }

    /// The longest that a message may take.
    pub fn longest(self) -> Duration {
        let swell = if self.swells > 0 { SWELL } else { 0 };
        Duration::from_millis(self.distance + self.max_delay + swell)
    }
}

/// How late a message may be, in milliseconds, while the line is full.
const SWELL: u64 = 900;
/// For so many messages it stays full.
const SWOLLEN: std::ops::Range<u32> = 20..80;

/// A network.
#[derive(Clone, Debug)]
pub struct Network {
    /// How bad it is at the moment.
    pub network: NetworkProfile,
    rng: fastrand::Rng,
    faults: Faults,
    /// How many more messages the line is full for.
    swollen: u32,
}

impl Network {
    /// A network of this profile; the same seed gives the same fates.
    pub fn new(network: NetworkProfile, seed: u64) -> Self {
        let mut faults = Faults::default();
        if network.distance > 0 {
            faults.count(FaultKind::FarAway);
        }
        Self { network, rng: fastrand::Rng::with_seed(seed), faults, swollen: 0 }
    }

    /// What it lost or turned away.
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// How long a message takes that is sure to arrive.
    pub fn delay(&mut self) -> Duration {
        let network = self.network;
        if self.swollen == 0 && self.chance(network.swells, FaultKind::LineFull) {
            self.swollen = self.rng.u32(SWOLLEN);
        }
        let swell = if self.swollen > 0 && network.swells > 0 { self.rng.u64(SWELL / 2..=SWELL) } else { 0 };
        self.swollen = self.swollen.saturating_sub(1);
        Duration::from_millis(network.distance + swell + self.rng.u64(network.min_delay..=network.max_delay))
    }

    /// What becomes of a request.
    pub fn request(&mut self) -> Fate {
        let network = self.network;
        if self.chance(network.lost_requests, FaultKind::RequestLost) {
            Fate::Lost
        } else if self.chance(network.throttled, FaultKind::Throttled) {
            Fate::Refused(EffectErrorKind::Throttled { retry_after_millis: 1000 })
        } else if self.chance(network.not_sent, FaultKind::NotSent) {
            Fate::Refused(EffectErrorKind::NotSent)
        } else {
            Fate::Arrives(self.delay())
        }
    }

    /// What becomes of an answer.
    pub fn answer(&mut self) -> Fate {
        let lost = self.network.lost_answers;
        if self.chance(lost, FaultKind::AnswerLost) { Fate::Lost } else { Fate::Arrives(self.delay()) }
    }

    /// How the API server fares with a request that arrived.
    pub fn server(&mut self) -> Server {
        if !self.luck(self.network.server_errors) {
            return Server::Well;
        }
        let (server, kind) = if self.luck(500) {
            (Server::FailsAfter, FaultKind::ServerErrorDone)
        } else {
            (Server::FailsBefore, FaultKind::ServerError)
        };
        self.faults.count(kind);
        server
    }

    fn chance(&mut self, thousandths: u32, kind: FaultKind) -> bool {
        let hit = self.luck(thousandths);
        if hit {
            self.faults.count(kind);
        }
        hit
    }

    fn luck(&mut self, thousandths: u32) -> bool {
        thousandths > 0 && self.rng.u32(0..1000) < thousandths
    }
}
