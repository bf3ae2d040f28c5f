//! How large a record may grow, and which parts are left out first if it would grow larger.
//!
//! ```text
//! intent     what operators ask for          refused when it is asked for, beyond INTENT_LIMIT
//! unknown    what a newer rolldeck wrote     kept whole, or the record is not read at all
//! progress   in progress                     whole: a node whose name does not fit is not updated
//!            down before, acknowledged,      as far as they fit, in this order
//!            suspects, where it halted, evicted,
//!            who else went down, refused
//! words      reasons                         clipped
//! ```
//!
//! No driver takes down more pods because a part is left out. A node in progress is always named. A down node that is named nowhere
//! is charged to the rollout, unless the cluster itself shows that it was down before the rollout ([`Progress::left_out_since`]). A
//! failure that is not acknowledged by name halts the rollout again.

use serde::Serialize;

use super::{Intent, Progress, RECORD_LIMIT, Record};
use crate::engine::model::Str;
use crate::engine::model::time::Timestamp;

/// The most node names in any one list of the record; those in progress are bounded by their bytes alone.
pub const EXCEPTIONS_LIMIT: usize = 500;
/// The most node names in the intent, which is never shortened.
pub const ACCEPTED_LIMIT: usize = 50;
/// The most that the intent may take, in bytes, after anything that an operator asks for.
pub(crate) const INTENT_LIMIT: usize = 16 * 1024;
/// The most that fields of a newer rolldeck may take, in bytes.
pub(crate) const UNKNOWN_LIMIT: usize = 16 * 1024;
/// The most that a reason may take, in bytes.
pub(crate) const REASON_LIMIT: usize = 1024;
/// Bytes kept free for parts that change with every write: write ids, clocks and JSON syntax.
const SPARE: usize = 1024;

/// How many bytes a value takes as JSON.
pub(crate) fn bytes_of(value: &impl Serialize) -> usize {
    serde_json::to_string(value).map_or(usize::MAX, |text| text.len())
}

/// How many bytes a node's name takes in a list. The name has no character that JSON escapes.
pub(crate) fn bytes_of_name(name: &str) -> usize {
    name.len() + 3
}

/// A reason as it is recorded: whole, or its beginning.
pub(crate) fn clipped(reason: &str) -> Str {
    clipped_to(reason, REASON_LIMIT)
}

/// A text of at most so many bytes: whole, or its beginning.
pub(crate) fn clipped_to(text: &str, limit: usize) -> Str {
    if text.len() <= limit {
        return text.into();
    }
    let end = text.floor_char_boundary(limit - '…'.len_utf8());
    format!("{}…", &text[..end]).into()
}

impl Record {
    /// How many bytes are left for the whole progress beside this intent.
    pub(crate) fn room_beside(&self, intent: &Intent) -> usize {
        RECORD_LIMIT.saturating_sub(SPARE + bytes_of(intent) + self.unknown.size())
    }
}

impl Progress {
    /// How many bytes of `room` are left for names of nodes in progress. Other lists make way for them.
    pub(crate) fn room_for_names(&self, room: usize) -> usize {
        let lists = Self {
            // These make way. Names of down nodes make way as well, but their omission has to be noted.
            down_before: Default::default(),
            acknowledged_failures: Default::default(),
            refused: Default::default(),
            halt: self.halt.clone().map(|halt| halt.on(Vec::new())),
            // These stay, by this estimate.
            started_at: self.started_at,
            origin: self.origin.clone(),
            target: self.target.clone(),
            adopted: self.adopted,
            drifted: self.drifted,
            drifts: self.drifts.clone(),
            left_out_since: self.left_out_since,
            in_progress: self.in_progress.clone(),
            refused_write: self.refused_write.clone(),
            tried: self.tried.clone(),
            idle_since: self.idle_since,
            suspects: self.suspects.clone(),
            others_down: self.others_down.clone(),
            evicted: self.evicted.clone(),
            marks: self.marks,
            driver: self.driver.clone(),
            driver_stopped: self.driver_stopped.clone(),
            completed: self.completed.clone(),
            original_strategy: self.original_strategy.clone(),
        };
        room.saturating_sub(bytes_of(&lists) + SPARE)
    }

    /// Whether the progress certainly takes no more than `room` bytes, by a cheap estimate.
    fn surely_fits(&self, room: usize) -> bool {
        const LONGEST_ENTRY: usize = 300;
        let Self {
            // Lists: their entries are counted.
            in_progress,
            down_before,
            acknowledged_failures,
            refused,
            halt,
            suspects,
            others_down,
            evicted,
            // Instants, marks and reasons that are clipped: all of them together are shorter than 8 reasons.
            started_at: _,
            target: _,
            origin: _,
            adopted: _,
            drifted: _,
            drifts: _,
            left_out_since: _,
            refused_write: _,
            tried: _,
            idle_since: _,
            marks: _,
            driver: _,
            driver_stopped: _,
            completed: _,
            original_strategy: _,
        } = self;
        let named = halt.as_ref().map_or(0, |halt| halt.named().len());
        let others_down: usize = others_down.values().map(|fell| 1 + fell.len()).sum();
        // A refusal counts as four entries, because it has words, and so do evictions.
        let entries = in_progress.len()
            + down_before.len()
            + acknowledged_failures.len()
            + named
            + 4 * (refused.len() + evicted.len())
            + suspects.len()
            + others_down;
        entries * LONGEST_ENTRY + 8 * REASON_LIMIT < room
    }

    /// Leaves out entries that do not fit into `room` bytes, the least needed first. Names of nodes in progress stay.
    ///
    /// `began_at`: when the rollout began, as [`Progress::left_out_since`] has it.
    pub(crate) fn fit(&mut self, room: usize, began_at: Timestamp) {
        while self.acknowledged_failures.len() > EXCEPTIONS_LIMIT {
            self.acknowledged_failures.pop_last();
        }
        if self.surely_fits(room) {
            return;
        }
        let mut over = bytes_of(self).saturating_sub(room);
        let Self {
            // Lists that may be shortened.
            refused,
            others_down,
            evicted,
            halt,
            acknowledged_failures,
            suspects,
            down_before,
            // Says that names of down nodes were left out.
            left_out_since,
            // Stay, whatever there is room for.
            in_progress: _,
            started_at: _,
            target: _,
            origin: _,
            adopted: _,
            drifted: _,
            drifts: _,
            refused_write: _,
            tried: _,
            idle_since: _,
            marks: _,
            driver: _,
            driver_stopped: _,
            completed: _,
            original_strategy: _,
        } = self;
        while over > 0
            && let Some(refused) = refused.pop_last()
        {
            over = over.saturating_sub(bytes_of(&refused));
        }
        // Counts are dropped before names of nodes: without those for comparisons, a suspect still fails by staying down, and without those of evictions, a driver that
        // begins to look counts the next ones.
        while over > 0
            && let Some(site) = others_down.pop_last()
        {
            over = over.saturating_sub(bytes_of(&site));
        }
        while over > 0
            && let Some(evicted) = evicted.pop_last()
        {
            over = over.saturating_sub(bytes_of(&evicted));
        }
        if let Some(halt) = halt {
            while over > 0
                && let Some(name) = halt.leave_out_a_node()
            {
                over = over.saturating_sub(bytes_of_name(&name));
            }
        }
        while over > 0
            && let Some(name) = acknowledged_failures.pop_last()
        {
            over = over.saturating_sub(bytes_of_name(&name));
        }
        while over > 0
            && let Some(suspect) = suspects.pop_last()
        {
            over = over.saturating_sub(bytes_of(&suspect));
        }
        while over > 0
            && let Some((name, since)) = down_before.pop_last()
        {
            left_out_since.get_or_insert(began_at);
            over = over.saturating_sub(bytes_of_name(&name) + bytes_of(&since) + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{
        DriverStopped, EVICTED_LIMIT, EvictedBefore, Fell, GateMarks, Halt, HaltingGate, RefusedDeletion, RefusedWrite,
        SITES_LIMIT, SUSPECTS_LIMIT, StrategyDrifts, WentDown,
    };
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    fn names(prefix: &str, count: usize, len: usize) -> impl Iterator<Item = Str> {
        let prefix = prefix.to_owned();
        (0..count).map(move |nth| {
            let name = format!("{prefix}{nth}");
            Str::from(format!("{name}{}", "x".repeat(len.saturating_sub(name.len()))))
        })
    }

    /// A halt of the gate that takes the most bytes in the record, which leaves out the name of the first one.
    fn longest_halt() -> Halt {
        let why = clipped(&"\"quoted\" ".repeat(500));
        let halts = HaltingGate::ALL.map(|gate| Halt::new(1, gate, NOW, why.clone()));
        halts.into_iter().max_by_key(bytes_of).unwrap()
    }

    /// Every list has as many entries, and every text is as long, as is allowed. All fields are named, so that a new field has to be
    /// filled here and the test shows whether the record still fits.
    fn full(in_progress: usize, len: usize) -> Progress {
        let fell = || vec![Fell { at: NOW, nodes: 9_999 }; 5];
        let refused = |pod: Str| RefusedDeletion { pod, since: NOW, why: "w".repeat(300).into() };
        Progress {
            started_at: Some(NOW),
            origin: Some("5d4f8c7b9c".into()),
            target: Some("5d4f8c7b9c".into()),
            adopted: true,
            drifted: true,
            drifts: StrategyDrifts {
                lately: vec![NOW; 8],
                by: Some("m".repeat(128).into()),
                since: Some(NOW),
                until: Some(NOW),
            },
            // It is set only where names of nodes that were down before are left out.
            left_out_since: None,
            refused: names("r", EXCEPTIONS_LIMIT, len).map(|name| (name.clone(), refused(name))).collect(),
            tried: Some(Str::from("h".repeat(63))),
            refused_write: Some(RefusedWrite { since: NOW, why: clipped(&"w".repeat(2_000)) }),
            idle_since: Some(NOW),
            suspects: names("s", SUSPECTS_LIMIT, len)
                .map(|name| {
                    (name, WentDown { fell_at: NOW, back_at: Some(NOW), falls: 9_999, flaps: true, in_update: true })
                })
                .collect(),
            others_down: names("o", SITES_LIMIT, len.min(63)).map(|site| (site, fell())).collect(),
            evicted: names("v", EVICTED_LIMIT, len)
                .map(|name| {
                    let said = Str::from("\"quoted\" ".repeat(500));
                    let pod = "00000000-0000-0000-0000-000000000000".into();
                    (name, EvictedBefore::new(pod, 9_999, (NOW, NOW), Some(&said)))
                })
                .collect(),
            marks: GateMarks::longest(NOW),
            driver: Some("p".repeat(192).into()),
            driver_stopped: Some(DriverStopped {
                by: "p".repeat(128).into(),
                at: NOW,
                why: clipped(&"w".repeat(2_000)),
            }),
            completed: Some("5d4f8c7b9c".into()),
            original_strategy: Some(
                r#"{"rollingUpdate":{"maxSurge":"100%","maxUnavailable":"100%"},"type":"RollingUpdate"}"#.into(),
            ),
            in_progress: names("t", in_progress, len).collect(),
            down_before: names("d", EXCEPTIONS_LIMIT, len).map(|name| (name, NOW)).collect(),
            acknowledged_failures: names("e", 2 * EXCEPTIONS_LIMIT, len).collect(),
            halt: Some(longest_halt().on(names("h", EXCEPTIONS_LIMIT, len).collect())),
        }
    }

    #[test]
    fn whatever_the_names_the_record_fits_and_names_in_progress_stay() {
        for (in_progress, len) in [(0, 253), (200, 253), (200, 20), (1_500, 20)] {
            let mut record = Record { version: 1, progress: full(in_progress, len), ..Record::default() };
            let room = record.room_beside(&record.intent);
            record.progress.fit(room, NOW);
            let bytes = bytes_of(&record);
            assert!(bytes <= RECORD_LIMIT, "{in_progress} taken of {len} bytes: {bytes}");
            assert_eq!(record.progress.in_progress.len(), in_progress);
            let left = record.progress.down_before.len();
            assert_eq!(left < EXCEPTIONS_LIMIT, record.progress.left_out_since.is_some(), "{left}");
            // And one more fits as long as there is room for it.
            let room_for_names = record.progress.room_for_names(room);
            let more = names("m", room_for_names / bytes_of_name(&"m".repeat(len)), len);
            record.progress.in_progress.extend(more);
            record.progress.fit(room, NOW);
            let bytes = bytes_of(&record);
            assert!(bytes <= RECORD_LIMIT, "{in_progress} of {len} bytes, and all that there was room for: {bytes}");
        }
    }

    #[test]
    fn what_fits_stays() {
        let mut progress = full(3, 12);
        progress.acknowledged_failures = names("e", 5, 12).collect();
        progress.refused = progress.refused.into_iter().take(5).collect();
        progress.evicted = progress.evicted.into_iter().take(1).collect();
        let before = progress.clone();
        progress.fit(RECORD_LIMIT * 3 / 4, NOW);
        assert!(progress == before, "{} bytes of {}", bytes_of(&progress), bytes_of(&before));
    }

    #[test]
    fn a_reason_is_clipped_where_a_character_ends() {
        assert_eq!(&*clipped("lunch"), "lunch");
        let long = clipped(&"ü".repeat(REASON_LIMIT));
        assert!(long.len() <= REASON_LIMIT && long.ends_with("ü…"), "{}", long.len());
    }
}
