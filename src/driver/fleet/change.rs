//! The revision that the pods of a listed DaemonSet are brought to, and the one before, by the same rules as on its own page.

use super::super::handle::FleetRevision;
use super::goes_back;
use crate::cluster::{PartialDaemonSet, PartialRevision};
use crate::engine::model::Str;
use crate::engine::model::record::Record;

/// The target revision of a DaemonSet's pods, and their revision before.
#[derive(Debug)]
pub(super) struct ListedChange {
    /// The target revision of its rollout. Without a record, the revision of the present template.
    pub(super) to: FleetRevision,
    /// The revision that the pods had before, while some pods are not at `to`.
    pub(super) from: Option<FleetRevision>,
    /// How many revisions more pods run, as the driver reports.
    pub(super) more: u32,
    /// Whether the template is another one than that of `to`.
    pub(super) template_of_others: bool,
}

impl ListedChange {
    /// `sees_change`: revisions and record are known as of now. `others`: hashes of revisions that pods run besides target and origin of the
    /// record, as the driver reports.
    pub(super) fn of(
        daemonset: &PartialDaemonSet,
        revisions: &[&PartialRevision],
        record: Option<&Record>,
        sees_change: bool,
        others: &[Str],
    ) -> Self {
        let last = revisions.iter().max_by_key(|revision| revision.number);
        // The last revision that was seen has other images than the template if it belongs to the previous template: the controller has not
        // observed the present one yet, or the revision that it made of it has not arrived here.
        let current = last.filter(|last| last.images == daemonset.images);
        // The same rule as in `Engine::is_template_of_others`, as far as revisions without their templates allow.
        let target =
            record.filter(|record| record.intent.change.is_none()).and_then(|record| record.intent.target.as_ref());
        let is_judged = sees_change && daemonset.observed;
        let other = target.filter(|target| is_judged && current.is_some_and(|it| it.hash != **target));
        let is_target = |revision: &&&PartialRevision| match other {
            Some(target) => revision.hash == *target,
            None => current.is_some_and(|current| revision.hash == current.hash),
        };
        let fleet_revision =
            |it: &&PartialRevision| FleetRevision { number: Some(it.number), images: it.images.clone() };
        let to = match (other, revisions.iter().find(is_target)) {
            // The pods get the images of the template, whatever images the revision has.
            (None, current) => {
                FleetRevision { number: current.map(|current| current.number), images: daemonset.images.clone() }
            }
            (Some(_), target) => target.map(fleet_revision).unwrap_or_default(),
        };
        let outdated = daemonset.counters.current.saturating_sub(daemonset.counters.updated);
        // What a roll back gives up is told until it is over, as on its page.
        let goes_back = record.is_some_and(goes_back);
        if outdated == 0 && daemonset.observed && other.is_none() && !goes_back {
            return Self { to, from: None, more: 0, template_of_others: false };
        }
        let earlier = || revisions.iter().filter(|revision| !is_target(revision));
        let origin = record.and_then(|record| record.progress.origin.as_ref());
        let is_target_again = |origin: &&Str| revisions.iter().filter(is_target).any(|target| target.hash == **origin);
        let before = match origin.filter(|origin| !is_target_again(origin)) {
            // Which number and images it had is not known if the cluster does not keep it any more.
            Some(origin) => earlier().find(|revision| revision.hash == *origin),
            None => earlier().max_by_key(|revision| revision.number),
        };
        let from = Some(before.map(fleet_revision).unwrap_or_default());
        let is_named = |hash: &&Str| {
            let named = before.into_iter().chain(revisions.iter().find(is_target));
            named.into_iter().any(|revision| revision.hash == **hash)
        };
        let more = u32::try_from(others.iter().filter(|hash| !is_named(hash)).count()).unwrap_or(u32::MAX);
        Self { to, from, more, template_of_others: other.is_some() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{daemonset, record};
    use super::*;

    fn revision(hash: &str, number: i64, version: &str) -> PartialRevision {
        PartialRevision {
            daemonset_uid: "uid".into(),
            hash: hash.into(),
            number,
            images: vec![("agent".into(), format!("registry.example/agent:{version}").into())],
        }
    }

    #[test]
    fn from_which_revision_to_which() {
        let (old, older, new) = (revision("b", 14, "v1"), revision("a", 13, "v0"), revision("c", 15, "v2"));
        let told = |daemonset: PartialDaemonSet, revisions: &[&PartialRevision], record: Option<&Record>| {
            let ListedChange { to, from, .. } = ListedChange::of(&daemonset, revisions, record, true, &[]);
            (from.map(|from| from.number), to.number)
        };
        let all = [&old, &new, &older];
        assert_eq!(told(daemonset(20, 20), &all, None), (None, Some(15)), "all are updated");
        assert_eq!(told(daemonset(3, 20), &all, None), (Some(Some(14)), Some(15)));
        let origin = record(|record| record.progress.origin = Some("a".into()));
        assert_eq!(told(daemonset(3, 20), &all, Some(&origin)), (Some(Some(13)), Some(15)), "the record knows better");
        let gone = record(|record| record.progress.origin = Some("z".into()));
        assert_eq!(told(daemonset(3, 20), &all, Some(&gone)), (Some(None), Some(15)), "nobody knows what it was");
        let again = record(|record| record.progress.origin = Some("c".into()));
        assert_eq!(
            told(daemonset(3, 20), &all, Some(&again)),
            (Some(Some(14)), Some(15)),
            "it leads to where it came from"
        );
        let back = record(|record| {
            (record.intent.target, record.intent.back_to) = (Some("c".into()), Some("c".into()));
            record.progress.origin = Some("c".into());
        });
        assert_eq!(told(daemonset(20, 20), &all, Some(&back)), (Some(Some(14)), Some(15)), "the last pods go back");
        let over = record(|record| {
            record.intent = back.intent.clone();
            record.progress.completed = Some("c".into());
        });
        assert_eq!(told(daemonset(20, 20), &all, Some(&over)), (None, Some(15)), "all are back");
        assert_eq!(told(daemonset(3, 20), &[], None), (Some(None), None), "revisions cannot be seen");
        let unseen = PartialDaemonSet { observed: false, ..daemonset(20, 20) };
        assert_eq!(told(unseen.clone(), &[&old, &older], None), (Some(Some(14)), None), "its revision is not made yet");
        assert_eq!(told(unseen, &all, None), (Some(Some(14)), Some(15)), "something else than the template changed");
        let behind = [&old, &older];
        assert_eq!(told(daemonset(3, 20), &behind, None), (Some(Some(14)), None), "its revision has not arrived");
    }

    #[test]
    fn where_others_changed_the_template_the_target_is_that_of_the_record() {
        // The template was set back from `c` to `b`, whose number is the highest since.
        let (back, target) = (revision("b", 16, "v2"), revision("c", 15, "v3"));
        let record = record(|record| {
            record.intent.target = Some("c".into());
            record.progress.origin = Some("b".into());
        });
        let numbers = |daemonset: PartialDaemonSet, revisions: &[&PartialRevision]| {
            let ListedChange { to, from, template_of_others, .. } =
                ListedChange::of(&daemonset, revisions, Some(&record), true, &[]);
            (from.and_then(|from| from.number), to.number, to.images.len(), template_of_others)
        };
        assert_eq!(numbers(daemonset(19, 20), &[&back, &target]), (Some(16), Some(15), 1, true));
        assert_eq!(numbers(daemonset(20, 20), &[&back, &target]), (Some(16), Some(15), 1, true), "no pod is at it");
        assert_eq!(numbers(daemonset(20, 20), &[&back]), (Some(16), None, 0, true), "its revision is gone");
        assert_eq!(numbers(daemonset(20, 20), &[]), (None, None, 1, false), "revisions cannot be seen");
        let unseen = PartialDaemonSet { observed: false, ..daemonset(19, 20) };
        assert!(!numbers(unseen, &[&back, &target]).3, "its controller has not seen the template yet");
        let images = vec![("agent".into(), "registry.example/agent:v3".into())];
        let set_again = PartialDaemonSet { images, ..daemonset(1, 20) };
        let again = revision("c", 17, "v3");
        assert_eq!(numbers(set_again, &[&back, &again]), (Some(16), Some(17), 1, false), "it was set again");
    }

    /// The rollout goes from `b` (14) to `c` (15), and the template is that of `c`.
    #[test]
    fn a_revision_that_has_not_arrived_is_no_change_by_others() {
        let (from, target) = (revision("b", 14, "v1"), revision("c", 15, "v2"));
        // Only the environment differs, so that images do not tell the revisions apart.
        let (same_from, same_target) = (revision("b", 14, "v2"), revision("c", 15, "v2"));
        let later = revision("d", 16, "v2");
        let record = record(|record| {
            record.intent.target = Some("c".into());
            record.progress.origin = Some("b".into());
        });
        for (revisions, sees_change, (number, others), why) in [
            (&[&from, &target][..], true, (Some(15), false), "it is the last one"),
            (&[&from], true, (None, false), "the last one that arrived has other images"),
            (&[&from], false, (None, false), "the watch of revisions is down since before it was made"),
            (&[&same_from], false, (Some(14), false), "the watch is down, and the images are the same"),
            (&[&same_from, &same_target], true, (Some(15), false), "it has arrived"),
            (&[&same_from, &same_target, &later], true, (Some(15), true), "another one was made since"),
            (&[&same_from, &same_target, &later], false, (Some(16), false), "the record may be an old one"),
        ] {
            let ListedChange { to, template_of_others, .. } =
                ListedChange::of(&daemonset(3, 20), revisions, Some(&record), sees_change, &[]);
            assert_eq!((to.number, template_of_others), (number, others), "{why}");
        }
    }
}
