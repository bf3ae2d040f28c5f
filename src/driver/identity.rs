//! Who we are, as Leases name their holder.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::engine::model::Str;

/// Who we are, as Leases name their holder: `ada@console-3/1f00c3a9`.
///
/// The last part tells processes apart, and the rollouts that one process has open: two engines must never take each
/// other's lease for their own.
#[derive(Clone, Debug)]
pub(super) struct Identity {
    process: Str,
    opened: Arc<AtomicU32>,
}

impl Identity {
    /// Of this process.
    pub(super) fn new() -> Self {
        use std::hash::{BuildHasher, RandomState};
        let user = ["USER", "LOGNAME"].into_iter().filter_map(|name| std::env::var(name).ok());
        let user = user.map(|user| printable(&user)).find(|user| !user.is_empty());
        let host = printable(&rustix::system::uname().nodename().to_string_lossy());
        // Randomly keyed for every process: all that is asked of it is to differ.
        let process = RandomState::new().hash_one(std::process::id()) & 0xffff_ffff;
        // Without a user name (a job, a container) the uid keeps it from being taken for somebody else.
        let user = user.unwrap_or_else(|| format!("uid{}", rustix::process::getuid().as_raw()));
        let process = format!("{user}@{host}/{process:08x}");
        Self { process: process.into(), opened: Arc::default() }
    }

    #[cfg(test)]
    pub(super) fn for_tests(process: &str) -> Self {
        Self { process: process.into(), opened: Arc::default() }
    }

    /// Of the next rollout that is opened.
    pub(super) fn next(&self) -> Str {
        match self.opened.fetch_add(1, Ordering::Relaxed) {
            0 => self.process.clone(),
            nth => format!("{}.{nth}", self.process).into(),
        }
    }

    /// Whether `holder` is a rollout of this process.
    pub(super) fn is_us(&self, holder: &str) -> bool {
        holder.strip_prefix(&*self.process).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }
}

/// What of a name can stand in a Lease and on a screen.
fn printable(name: &str) -> String {
    name.chars().filter(|c| c.is_ascii_graphic() && !matches!(c, '/' | '@')).take(63).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rollout_has_an_identity_of_its_own_and_all_are_us() {
        let identity = Identity::new();
        let (first, second) = (identity.next(), identity.next());
        assert_ne!(first, second);
        assert!(identity.is_us(&first) && identity.is_us(&second));
        assert!(!identity.is_us(&Identity::new().next()));
        assert!(!identity.is_us(&format!("{first}0")));
        let (person, process) = first.rsplit_once('/').unwrap();
        assert!(person.contains('@') && process.len() == 8, "{first}");
    }
}
