//! The speed of the rollout: nodes updated per minute, and how that changed.

use std::time::Duration;

use super::{ProgressFigures, ProgressPoint, Story};
use crate::engine::model::time::Timestamp;

/// The number of parts into which the time is divided.
const PARTS: usize = 8;
/// The possible lengths of a part, in seconds. The shortest is taken with which all parts cover the time since the rollout began, else the longest.
const LENGTHS: [u64; 6] = [15, 30, 60, 120, 300, 900];

/// A shorter time of watching gives no speed.
const LEAST: Duration = Duration::from_secs(30);

/// How fast nodes were updated lately.
#[derive(Clone, PartialEq, Debug)]
pub struct UpdateSpeed {
    /// Nodes that were updated in each part of the time, oldest first.
    pub parts: [u32; PARTS],
    /// How long a part is.
    pub part: Duration,
    /// How many nodes a minute, over the time that the parts cover and in which the rollout ran.
    pub per_minute: f64,
}

impl Story {
    /// How fast nodes were updated as of `now` in a rollout that began at `began`, as far as that was watched; `None` before two updates were seen.
    /// The time before, as pods tell it, counts neither as updates nor as time.
    pub fn speed(&self, began: Timestamp, now: Timestamp) -> Option<UpdateSpeed> {
        let now = self.progress.last().map_or(now, |last| now.max(last.at));
        let is_watched = |point: &ProgressPoint| matches!(point.figures, ProgressFigures::Watched { .. });
        let watched_from = self.progress.iter().find(|point| is_watched(point))?.at;
        let began = self.retargeted_at.map_or(began, |at| at.max(began)).max(watched_from);
        let age = now.since(began);
        let fits = |secs: &&u64| Duration::from_secs(**secs) * (PARTS as u32) >= age;
        let part = Duration::from_secs(*LENGTHS.iter().find(fits).unwrap_or(&LENGTHS[LENGTHS.len() - 1]));
        let mut parts = [0_u32; PARTS];
        for pair in self.progress.windows(2) {
            let [before, after] = pair else { continue };
            // Points from before it began belong to another rollout.
            if after.at < began || Some(after.at) == self.retargeted_at || !is_watched(before) {
                continue;
            }
            let ago = now.since(after.at).as_millis() / part.as_millis().max(1);
            let place = usize::try_from(ago).ok().and_then(|ago| (PARTS - 1).checked_sub(ago));
            if let Some(place) = place {
                parts[place] += after.done().saturating_sub(before.done());
            }
        }
        let total: u32 = parts.iter().sum();
        let minutes = age.min(part * (PARTS as u32)).as_secs_f64() / 60.0;
        (total >= 2 && age >= LEAST).then(|| UpdateSpeed { parts, part, per_minute: f64::from(total) / minutes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    fn at(secs: u64) -> Timestamp {
        Timestamp::from_millis(1_000_000_000) + Duration::from_secs(secs)
    }

    fn story(points: &[(u64, u32)]) -> Story {
        let point = |(secs, updated): &(u64, u32)| ProgressPoint {
            at: at(*secs),
            figures: ProgressFigures::Watched { updated: *updated, unavailable: 0 },
            nodes: 100,
        };
        Story { progress: points.iter().map(point).collect(), ..Story::default() }
    }

    #[test]
    fn nodes_are_counted_in_the_part_in_which_they_were_updated() {
        let story = story(&[(0, 0), (20, 2), (50, 4), (100, 8), (119, 10)]);
        let speed = story.speed(at(0), at(120)).unwrap();
        assert_eq!((speed.part, speed.parts), (Duration::from_secs(15), [0, 2, 0, 2, 0, 0, 4, 2]));
        assert!((speed.per_minute - 5.0).abs() < 1e-9, "{speed:?}");
        // Nothing more happens: it goes down.
        let later = story.speed(at(0), at(240)).unwrap();
        assert_eq!((later.part, later.parts), (Duration::from_secs(30), [2, 2, 0, 6, 0, 0, 0, 0]));
        assert!((later.per_minute - 2.5).abs() < 1e-9, "{later:?}");
        assert_eq!(story.speed(at(0), at(200_000)), None, "and is not known any more");
    }

    #[test]
    fn what_nobody_watched_counts_neither_as_updates_nor_as_time() {
        // Watched from 100 on.
        let opened = |points: &[(u64, u32)]| {
            let mut story = story(points);
            for point in story.progress.iter_mut().filter(|point| point.at < at(100)) {
                point.figures = ProgressFigures::ReadOff { ready_at_least: point.done() };
            }
            story
        };
        assert_eq!(opened(&[(0, 0), (20, 6), (40, 12)]).speed(at(0), at(160)), None);
        assert_eq!(opened(&[(0, 0), (20, 6), (40, 12), (100, 20)]).speed(at(0), at(160)), None, "none was seen");
        let few = [(0, 0), (20, 6), (40, 12), (100, 20), (105, 21), (110, 22)];
        assert_eq!(opened(&few).speed(at(0), at(115)), None, "too short a time");
        let speed = opened(&few).speed(at(0), at(160)).unwrap();
        assert_eq!(speed.parts.iter().sum::<u32>(), 2);
        assert!((speed.per_minute - 2.0).abs() < 1e-9, "{speed:?}");
    }

    #[test]
    fn nothing_is_made_up() {
        assert_eq!(Story::default().speed(at(0), at(60)), None);
        assert_eq!(story(&[(0, 0), (30, 1)]).speed(at(0), at(60)), None, "one node is no speed");
        // All nodes were at the target before there was another one; that they are not any more is no update.
        assert_eq!(story(&[(0, 100), (10, 0), (20, 0)]).speed(at(5), at(60)), None);
        // The nodes of the rollout before are not counted, the first one of this is.
        let second = story(&[(0, 0), (3, 50), (20, 0), (30, 1), (40, 2)]).speed(at(10), at(60)).unwrap();
        assert_eq!(second.parts.iter().sum::<u32>(), 2);
        // Nodes that go down and come back are counted again: they were brought back.
        assert_eq!(
            story(&[(0, 100), (10, 0), (20, 1), (30, 3)]).speed(at(5), at(60)).unwrap().parts.iter().sum::<u32>(),
            3
        );
        assert_eq!(story(&[(0, 0), (10, 5)]).speed(at(10), at(10)), None);
        // On the way back nodes that never left the revision are at the target at once: they were not updated.
        let back = |points: &[(u64, u32)]| Story { retargeted_at: Some(at(20)), ..story(points) };
        assert_eq!(back(&[(0, 0), (10, 5), (20, 15)]).speed(at(0), at(21)), None);
        let two = back(&[(0, 0), (10, 5), (20, 15), (30, 16), (50, 17)]).speed(at(0), at(80)).unwrap();
        assert_eq!(two.parts.iter().sum::<u32>(), 2);
        assert!((two.per_minute - 2.0).abs() < 1e-9, "{two:?}");
    }
}
