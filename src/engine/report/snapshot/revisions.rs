//! Which revision somebody means.

use super::{RevisionView, Snapshot};

/// How many characters of a hash are enough, where no other revision's hash begins with them.
const ENOUGH: usize = 4;

impl RevisionView {
    /// What it is called: by its number, or by its hash where that is not known.
    pub fn called(&self) -> String {
        match self.number {
            Some(number) => format!("revision {number}"),
            None => format!("revision {}", self.hash),
        }
    }
}

impl Snapshot {
    /// The revision that somebody calls `text`: its number, its hash or the beginning of it, or its ControllerRevision's name.
    ///
    /// # Errors
    /// Says which there are.
    pub fn revision_called(&self, text: &str) -> Result<&RevisionView, String> {
        let mut all = self.revisions.iter();
        if let Some(revision) = text.parse().ok().and_then(|number| all.find(|one| one.number == Some(number))) {
            return Ok(revision);
        }
        let hash = text.strip_prefix(&*self.name).and_then(|rest| rest.strip_prefix('-')).unwrap_or(text);
        if let Some(revision) = self.revisions.iter().find(|one| *one.hash == *hash) {
            return Ok(revision);
        }
        let mut beginning = self.revisions.iter().filter(|one| hash.len() >= ENOUGH && one.hash.starts_with(hash));
        match (beginning.next(), beginning.next()) {
            (Some(revision), None) => Ok(revision),
            (Some(_), Some(_)) => Err(format!("more than one revision's hash begins with `{hash}`")),
            (None, _) => Err(format!("there is no revision `{text}`; {}", self.known_revisions())),
        }
    }

    /// The revision that is rolled out: with no rollout, the DaemonSet's current one.
    ///
    /// # Errors
    /// Says that it is not known.
    pub fn target_revision(&self) -> Result<&RevisionView, String> {
        self.to.as_ref().ok_or_else(|| {
            format!("which revision is the DaemonSet's current one is not known; {}", self.known_revisions())
        })
    }

    /// What is compared where nothing is named. With what: the target. Of what: the revision that most nodes not at the target
    /// run; where all are at it, the one before.
    ///
    /// # Errors
    /// Says what is not known, or that there is only one.
    pub fn compared_by_default(&self) -> Result<(&RevisionView, &RevisionView), String> {
        let target = self.target_revision()?;
        if let Some(from) = &self.from {
            return match from.template {
                Some(_) => Ok((from, target)),
                None => Err(format!(
                    "most nodes not at the target run {}, which is not in the history any more; {}",
                    from.called(),
                    self.known_revisions()
                )),
            };
        }
        let others = || self.revisions.iter().filter(|one| one.number.is_some() && one.hash != target.hash);
        let before = others().filter(|one| one.number < target.number).max_by_key(|one| one.number);
        let other = before.or_else(|| others().max_by_key(|one| one.number));
        other
            .map(|from| (from, target))
            .ok_or_else(|| "there is only one revision: nothing to compare it with".to_owned())
    }

    /// The target where no other revision is there that it could be compared with.
    pub fn only_revision(&self) -> Option<&RevisionView> {
        let target = self.target_revision().ok().filter(|_| self.from.is_none())?;
        self.revisions.iter().all(|one| one.number.is_none() || one.hash == target.hash).then_some(target)
    }

    fn known_revisions(&self) -> String {
        let known: Vec<String> = self.revisions.iter().filter_map(|one| Some(one.number?.to_string())).collect();
        match known.as_slice() {
            [] => "none is known".to_owned(),
            [only] => format!("there is only {only}"),
            known => format!("there are {}", known.join(", ")),
        }
    }
}
