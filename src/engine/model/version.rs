//! Which of two versions of an object is older.

/// Whether `candidate` is an older resource version than `known`. By contract they are opaque, so they are compared only where
/// both are numbers, as on every API server.
pub(crate) fn is_older(candidate: &str, known: &str) -> bool {
    matches!((candidate.parse::<u64>(), known.parse::<u64>()), (Ok(candidate), Ok(known)) if candidate < known)
}

/// Whether a list is older than what was already seen of its kind. Then an object that it does not name may have been created
/// after it, and the watch that follows will show whether it is gone. Versions of one kind are comparable numbers on every
/// API server (KEP-5504); a list without such a number is believed.
pub(crate) fn is_behind(list: Option<u64>, newest: Option<u64>) -> bool {
    list.zip(newest).is_some_and(|(list, newest)| list < newest)
}
