//! The pace of a site: how many of its nodes may pull at once, judged by the observed capacity of its link. It is a pure function of pulls that ended
//! and of nodes that flapped.
//!
//! ```text
//!   one pull ──▶ a round: as many pulls end as may run at once
//!     each is about as fast as before, or together they bring more       ──▶ one more, up to the limit of operators
//!     together they bring no more than fewer did, or clearly take longer ──▶ half of them; so many are not tried again for a while
//!   a node of the site goes down, or a pod on one, while others pull      ──▶ half of them, at once
//! ```
//!
//! The rates of single pulls are measured: the throughput of N pulls at once is taken as N times their median. A pull counts if at least half of it
//! ran under the present limit. After a halving, measuring begins again once no more nodes pull than the new limit allows.

use std::time::Duration;

use crate::engine::model::Str;
use crate::engine::model::pace::{Flap, PaceReason, Throughput};
use crate::engine::model::time::Timestamp;

/// Shorter pulls say nothing of the link: most of their time is not spent on it.
const QUICK: Duration = Duration::from_secs(2);
/// Pulls count as equally fast if they have at least this many tenths of the earlier rate.
const HELD_TENTHS: u64 = 9;
/// Pulls count as clearly slower if they have less than this many tenths of the earlier rate.
const SLOWER_TENTHS: u64 = 6;
/// The number of rounds for which a halved limit is not tried again. It doubles each time the same limit is halved again.
const PATIENCE: u32 = 8;
const MOST_PATIENCE: u32 = 64;

/// A pull that ended well.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndedPull {
    pub(crate) began: Timestamp,
    pub(crate) ended: Timestamp,
    pub(crate) bytes: Option<u64>,
}

/// The pace of one site.
#[derive(Clone, Debug)]
pub(crate) struct SitePace {
    limit: u32,
    why: PaceReason,
    /// Since when the present limit holds and no more nodes than that pull.
    since: Timestamp,
    /// After the limit was halved: more nodes than that still pull.
    drains: bool,
    /// As many nodes as the limit allows did pull.
    was_full: bool,
    /// The rates of the pulls of this round.
    rates: Vec<Throughput>,
    /// How many pulls of this round took only a moment.
    quick: u32,
    /// The size of the largest image pulled so far: smaller images do not fill the link.
    largest: u64,
    /// The last round in which the limit was fully used and most pulls took at least [`QUICK`]; `None` if there was none since the limit was last
    /// halved, or lowered by operators.
    before: Option<Round>,
    /// The highest rate of a single pull, by the medians of the rounds since the limit was halved last.
    fastest: u64,
    too_many: Option<TooMany>,
}

/// The result of a round.
#[derive(Clone, Copy, Debug)]
struct Round {
    limit: u32,
    each: Throughput,
}

/// A limit that was halved: pulls got slower or no faster, or a node flapped ([`Flap`]).
#[derive(Clone, Copy, Debug)]
struct TooMany {
    limit: u32,
    /// For how many rounds the limit is not tried.
    rounds: u32,
    /// The number of rounds that `rounds` started with; doubled, up to [`MOST_PATIENCE`], when this limit is halved again.
    patience: u32,
}

impl SitePace {
    /// The pace of a site of which nothing is known.
    pub(crate) fn new(now: Timestamp) -> Self {
        Self {
            limit: 1,
            why: PaceReason::Begins,
            since: now,
            drains: false,
            was_full: false,
            rates: Vec::new(),
            quick: 0,
            largest: 0,
            before: None,
            fastest: 0,
            too_many: None,
        }
    }

    /// How many nodes may pull, where operators allow `most`.
    pub(crate) fn limit(&self, most: u32) -> u32 {
        self.limit.min(most)
    }

    /// The reason for the limit.
    pub(crate) fn why(&self) -> &PaceReason {
        &self.why
    }

    /// Takes in that `pulling` nodes pull, where operators allow `most`.
    pub(crate) fn pulling(&mut self, pulling: u32, most: u32, now: Timestamp) {
        if self.limit > most.max(1) {
            self.limit = most.max(1);
            self.why = PaceReason::Begins;
            self.measure_anew(now);
        }
        if self.drains && pulling <= self.limit {
            self.drains = false;
            self.since = now;
        }
        self.was_full |= pulling >= self.limit;
    }

    /// A node went down, or the pod on it, while others of the site pulled.
    pub(crate) fn flapped(&mut self, node: &Str, what: Flap, now: Timestamp) {
        // While more pulls than allowed still run, a node that goes down says nothing of the number that is allowed now.
        if !self.drains {
            self.halve(PaceReason::Flapped { node: node.clone(), what }, now);
        }
    }

    /// A pull has ended, where operators allow `most` at once.
    pub(crate) fn ended(&mut self, pull: EndedPull, most: u32, now: Timestamp) {
        let took = pull.ended.since(pull.began);
        let before = self.since.since(pull.began);
        let smaller = pull.bytes.is_some_and(|bytes| bytes < self.largest / 2);
        if self.drains || before * 2 > took || smaller {
            return;
        }
        self.largest = self.largest.max(pull.bytes.unwrap_or(0));
        self.quick += u32::from(took < QUICK);
        self.rates.push(Throughput::of(pull.bytes, took));
        if self.rates.len() >= self.limit as usize {
            self.end_round(most, now);
        }
    }

    fn end_round(&mut self, most: u32, now: Timestamp) {
        let mut rates = std::mem::take(&mut self.rates);
        let quick = std::mem::take(&mut self.quick) * 2 > self.limit;
        rates.sort_unstable_by_key(|rate| rate.amount());
        // A site with less work than its limit allows says nothing of a higher limit.
        let was_full = std::mem::take(&mut self.was_full);
        let Some(each) = rates.get(rates.len() / 2).copied().filter(|_| was_full) else { return };
        if !quick {
            if let Some(why) = self.did_not_pay(each) {
                return self.halve(why, now);
            }
            self.fastest = self.fastest.max(each.amount());
            self.before = Some(Round { limit: self.limit, each });
        }
        self.one_more(self.limit, each.times(self.limit), most, now);
    }

    /// Why the present limit is too high, judged by the rate of each pull.
    fn did_not_pay(&mut self, each: Throughput) -> Option<PaceReason> {
        let before = match self.before {
            Some(before) if before.each.is_like(each) => before,
            _ => {
                self.fastest = 0;
                return None;
            }
        };
        let (was, is) = (before.each.times(before.limit), each.times(self.limit));
        if self.limit == before.limit {
            let slower = is.amount().saturating_mul(10) < was.amount().saturating_mul(SLOWER_TENTHS);
            return slower.then(|| PaceReason::Slower { tenths: tenths(was, is) });
        }
        let held = each.amount().saturating_mul(10) >= self.fastest.saturating_mul(HELD_TENTHS);
        // At least half of the gain that the additional pulls would bring on a wide link.
        let more = u64::from(self.limit - before.limit);
        let grew = was.amount().saturating_add(was.amount().saturating_mul(more) / (2 * u64::from(before.limit)));
        if held || is.amount() >= grew {
            return None;
        }
        let slower = is.amount().saturating_mul(10) < was.amount().saturating_mul(SLOWER_TENTHS + 2);
        Some(if slower {
            PaceReason::Slower { tenths: tenths(before.each, each) }
        } else {
            PaceReason::NoFaster { tried: self.limit, throughput: is }
        })
    }

    fn one_more(&mut self, finished: u32, throughput: Throughput, most: u32, now: Timestamp) {
        if self.limit >= most {
            self.why = PaceReason::AtMost { throughput };
            return;
        }
        if let Some(too_many) = &mut self.too_many
            && self.limit + 1 == too_many.limit
            && too_many.rounds > 0
        {
            too_many.rounds -= 1;
            self.why = PaceReason::Full { tried: too_many.limit, throughput };
            return;
        }
        self.too_many = self.too_many.filter(|too_many| self.limit < too_many.limit);
        self.limit += 1;
        self.since = now;
        self.why = PaceReason::Raised { finished, throughput };
    }

    fn halve(&mut self, why: PaceReason, now: Timestamp) {
        let again = self.too_many.filter(|too_many| too_many.limit == self.limit);
        let patience = again.map_or(PATIENCE, |again| (again.patience * 2).min(MOST_PATIENCE));
        if self.limit > 1 {
            self.too_many = Some(TooMany { limit: self.limit, rounds: patience, patience });
        }
        self.limit = (self.limit / 2).max(1);
        self.why = why;
        self.drains = true;
        self.measure_anew(now);
    }

    /// The measurements so far say nothing of the next ones.
    fn measure_anew(&mut self, now: Timestamp) {
        self.since = now;
        self.was_full = false;
        self.rates.clear();
        self.quick = 0;
        (self.before, self.fastest) = (None, 0);
    }
}

/// How many tenths as long pulls take.
fn tenths(was: Throughput, is: Throughput) -> u32 {
    u32::try_from(was.amount().saturating_mul(10) / is.amount().max(1)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
