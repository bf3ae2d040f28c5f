//! Which revisions run, where there are more than the two that a change leads from and to: after a third image, or an undo in the middle.

use super::snapshot::Snapshot;
use super::words::VersionWords;

/// The revisions that are named; of more only the number is.
const NAMED: usize = 4;

impl Snapshot {
    /// `3 revisions run: rev 1 (v1) on 14, rev 2 (v2) on 4, rev 3 (v3) on 2`, by number, and with the version where a pod has one image; `None` where no more
    /// than two run, or where that is not known. After a roll back, whose change names two of them, it tells of the third.
    pub fn running_revisions(&self) -> Option<String> {
        let mut running: Vec<_> = self.revisions.iter().filter(|revision| revision.pods > 0).collect();
        if running.len() < 3 {
            return None;
        }
        running.sort_by_key(|revision| (revision.number.is_none(), revision.number));
        let named = running.iter().take(NAMED).map(|revision| {
            let name = revision.number.map_or_else(|| revision.hash.to_string(), |number| format!("rev {number}"));
            let version =
                if revision.images.len() == 1 { format!(" ({})", VersionWords(revision)) } else { String::new() };
            format!("{name}{version} on {}", revision.pods)
        });
        let mut words = named.collect::<Vec<_>>().join(", ");
        if running.len() > NAMED {
            let pods: u32 = running[NAMED..].iter().map(|revision| revision.pods).sum();
            words.push_str(&format!(", others on {pods}"));
        }
        Some(format!("{} revisions run: {words}", running.len()))
    }
}
