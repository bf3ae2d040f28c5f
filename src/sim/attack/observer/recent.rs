//! A value and its recent past. Another process may still believe any value that was current within the time that news takes to travel.

use std::collections::VecDeque;
use std::time::Duration;

use crate::engine::model::time::Timestamp;

/// A value, and its values within the last `slack`.
#[derive(Debug)]
pub(super) struct Recent<T> {
    slack: Duration,
    /// The values, each with the time at which it became current; the last one is current.
    values: VecDeque<(Timestamp, T)>,
}

impl<T: PartialEq> Recent<T> {
    pub(super) fn new(slack: Duration, at: Timestamp, value: T) -> Self {
        Self { slack, values: VecDeque::from([(at, value)]) }
    }

    /// Sets the value from `at` on, and forgets values that ended before the slack.
    pub(super) fn is(&mut self, at: Timestamp, value: T) {
        if self.values.back().is_none_or(|(_, known)| *known != value) {
            self.values.push_back((at, value));
        }
        while self.values.len() > 1 && self.values.get(1).is_some_and(|(next, _)| *next + self.slack < at) {
            self.values.pop_front();
        }
    }

    /// The current value.
    pub(super) fn now(&self) -> Option<&T> {
        self.values.back().map(|(_, value)| value)
    }

    /// All values within the slack.
    pub(super) fn values(&self) -> impl Iterator<Item = &T> {
        self.values.iter().map(|(_, value)| value)
    }

    /// All values within the slack before `at`, including the value at `at`.
    pub(super) fn at(&self, at: Timestamp) -> impl Iterator<Item = &T> {
        let ended = self.values.iter().skip(1).map(|(next, _)| *next).chain([at]);
        let slack = self.slack;
        self.values.iter().zip(ended).filter(move |((_, _), ended)| *ended + slack >= at).map(|((_, value), _)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_so_lately_is_remembered_and_what_was_so_earlier_is_not() {
        let at = |secs| Timestamp::default() + Duration::from_secs(secs);
        let mut value = Recent::new(Duration::from_secs(2), at(0), 1);
        value.is(at(10), 2);
        value.is(at(11), 2);
        assert_eq!(value.at(at(11)).collect::<Vec<_>>(), [&1, &2]);
        value.is(at(20), 3);
        assert_eq!(value.at(at(21)).collect::<Vec<_>>(), [&2, &3]);
        assert_eq!(value.at(at(23)).collect::<Vec<_>>(), [&3]);
        assert_eq!(value.now(), Some(&3));
    }
}
