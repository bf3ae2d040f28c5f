//! Pods for pre-warming that are being made or deleted, and those that were refused.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::retry::LOST_ANSWER;
use crate::engine::model::Str;
use crate::engine::model::cause::Cause;
use crate::engine::model::prewarm::{FAILURES_LIMIT, Prewarm, PrewarmFailure, PrewarmWait};
use crate::engine::model::record::By;
use crate::engine::model::time::Timestamp;

/// The first wait before a pod whose pull failed is made again; it doubles up to [`LONGEST`].
const FIRST: Duration = Duration::from_secs(30);
const LONGEST: Duration = Duration::from_secs(300);
/// The wait after a pod was refused by a quota, by admission, or because a right is missing.
const REFUSED: Duration = Duration::from_secs(30);

/// The wait after a deletion was refused, or its answer lost.
const DELETE_AGAIN: Duration = Duration::from_secs(5);

/// The writes for pre-warming that are not settled, and the waits after failures.
#[derive(Debug, Default)]
pub(crate) struct WarmWrites {
    /// By node: the name of the pod that is being made there and that no watch has shown, and since when.
    creating: BTreeMap<Str, (Str, Timestamp)>,
    /// By uid: pods whose deletion was sent.
    deleting: BTreeMap<Str, WarmDeletion>,
    /// By uid: pods from which admission took our labels, each with its node and its name, until their deletion is accepted. No watch shows them.
    unlabelled: BTreeMap<Str, (Str, Str)>,
    /// By node: pulls that failed.
    attempts: BTreeMap<Str, Attempts>,
    /// The failures that another process has recorded, as they were last taken in.
    followed: BTreeMap<Str, PrewarmFailure>,
    /// When pre-warming was asked for, and the last request for a retry, as this process knows them; `None`: not seen yet.
    request: Option<(By, Option<By>)>,
    /// Uids of pods that are to be made anew because of a request for a retry.
    renewed: BTreeSet<Str>,
    /// Whether this process saw the request become what it is, and so knows which pods had failed by then.
    saw_request: bool,
    /// The last refusal, until a pod is made again.
    refusal: Option<WarmRefusal>,
    /// The registry has refused a pull because there were too many, and has served none since.
    throttle: Option<PullThrottle>,
}

/// A refusal of the registry to serve more pulls for now. Further pulls may count against its limit, too.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct PullThrottle {
    /// The node whose pull was refused last.
    pub(crate) node: Str,
    /// Until then nothing is pulled; afterwards one pull at a time.
    pub(crate) again_at: Timestamp,
    /// How many refusals there were in a row.
    times: u32,
    /// The node whose pull tests whether the registry serves again.
    pub(crate) tries: Option<Str>,
}

impl PullThrottle {
    /// The wait of the other nodes.
    pub(crate) fn wait(&self, now: Timestamp) -> PrewarmWait {
        let again_at = Some(self.again_at).filter(|again| now < *again);
        PrewarmWait::RateLimited { node: self.node.clone(), again_at }
    }
}

/// The deletion of a pod, until a watch shows that the pod goes.
#[derive(Debug, Default)]
struct WarmDeletion {
    /// If the last deletion failed: when the next one is sent.
    again_at: Option<Timestamp>,
    /// The server's words when the last deletion failed.
    refusal: Option<Str>,
    /// It was sent without a grace period, which ends one that had begun.
    at_once: bool,
}

/// Failed pulls on a node, after which its pod was deleted.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Attempts {
    pub(crate) failed: u32,
    pub(crate) cause: Cause,
    /// Which images; empty where that is not known.
    images: Str,
    /// Until then no other pod is made on the node, unless the registry has refused the image.
    waits_until: Timestamp,
}

impl Attempts {
    fn are_of(&self, images: &str) -> bool {
        self.images.is_empty() || *self.images == *images
    }

    /// When another pod is made at the earliest; `None`: the registry refused the image, so that none is made before an operator asks for that.
    pub(crate) fn again_at(&self) -> Option<Timestamp> {
        (!self.cause.kind.is_the_registrys_verdict()).then_some(self.waits_until)
    }
}

/// A pod that the API server refused.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct WarmRefusal {
    pub(crate) node: Str,
    pub(crate) message: Str,
    /// Until then no pod is tried; `None`: until an operator asks for that.
    again_at: Option<Timestamp>,
}

impl WarmRefusal {
    /// Whether no pod is tried yet.
    pub(crate) fn stands(&self, now: Timestamp) -> bool {
        self.again_at.is_none_or(|again_at| now < again_at)
    }
}

impl WarmWrites {
    /// Whether a pod is being made on this node.
    pub(crate) fn is_creating(&self, node: &str) -> bool {
        self.creating.contains_key(node)
    }

    /// The nodes on which pods are being made, each with the name of its pod.
    pub(crate) fn creating(&self) -> impl Iterator<Item = (&Str, &Str)> {
        self.creating.iter().map(|(node, (pod, _))| (node, pod))
    }

    pub(crate) fn create_sent(&mut self, node: &Str, pod: &Str, now: Timestamp) {
        self.creating.insert(node.clone(), (pod.clone(), now));
        if let Some(throttle) = &mut self.throttle {
            throttle.tries = Some(node.clone());
        }
    }

    /// Settles a creation: the pod is there, or it is known that none was made.
    pub(crate) fn create_settled(&mut self, node: &str) {
        self.creating.remove(node);
    }

    /// Gives up creations that were sent before that instant and have shown no pod: they did not arrive.
    pub(crate) fn give_up_creations(&mut self, before: Timestamp) -> Vec<Str> {
        let lost = self.creating.iter().filter(|(_, (_, sent_at))| *sent_at < before).map(|(node, _)| node.clone());
        let lost: Vec<Str> = lost.collect();
        self.creating.retain(|_, (_, sent_at)| *sent_at >= before);
        lost
    }

    /// Whether the deletion of this pod is on its way, or has to wait because the last one failed.
    pub(crate) fn is_deleting(&self, uid: &str, now: Timestamp) -> bool {
        self.deleting.get(uid).is_some_and(|sent| sent.again_at.is_none_or(|at| now < at))
    }

    /// The pods whose deletion was sent, by uid, each with whether that was without a grace period.
    pub(crate) fn deleting(&self) -> impl Iterator<Item = (&Str, bool)> {
        self.deleting.iter().map(|(uid, sent)| (uid, sent.at_once))
    }

    /// How many deletions have no answer yet, or were accepted while the pod is still there.
    pub(crate) fn deletions_on_their_way(&self) -> usize {
        self.deleting.values().filter(|sent| sent.again_at.is_none()).count()
    }

    /// Why the deletion of this pod failed, as long as none was accepted.
    pub(crate) fn deletion_refusal(&self, uid: &str) -> Option<&Str> {
        self.deleting.get(uid)?.refusal.as_ref()
    }

    pub(crate) fn delete_sent(&mut self, uid: &Str, at_once: bool) {
        let sent = self.deleting.entry(uid.clone()).or_default();
        (sent.again_at, sent.at_once) = (None, at_once);
    }

    pub(crate) fn delete_settled(&mut self, uid: &str) {
        self.deleting.remove(uid);
    }

    /// Takes in that a deletion was refused, or that its answer was lost.
    pub(crate) fn delete_failed(&mut self, uid: &Str, said: &Str, now: Timestamp) {
        let sent = self.deleting.entry(uid.clone()).or_default();
        (sent.again_at, sent.refusal) = (Some(now + DELETE_AGAIN), Some(said.clone()));
    }

    /// The failed pulls of these images on this node.
    pub(crate) fn attempts(&self, node: &str, images: &str) -> Option<&Attempts> {
        self.attempts.get(node).filter(|attempts| attempts.are_of(images))
    }

    /// Forgets the failed pulls of other images than these. Returns whether there were any.
    pub(crate) fn forget_other_images(&mut self, images: &str) -> bool {
        let known = self.attempts.len();
        self.attempts.retain(|_, attempts| attempts.are_of(images));
        self.attempts.len() < known
    }

    /// Whether pulls failed, also where they were asked for again and this process has not taken that in yet.
    pub(crate) fn has_failed(&self) -> bool {
        !self.attempts.is_empty()
    }

    /// Takes in a failed pull, whose pod is deleted so that it does not go on outside of the limits.
    pub(crate) fn pull_failed(&mut self, node: &Str, images: Str, cause: Cause, now: Timestamp) {
        let failed = self.attempts(node, &images).map_or(0, |known| known.failed) + 1;
        if cause.kind.is_the_registrys_limit() {
            self.rate_limited(node, now);
        }
        self.attempts.insert(node.clone(), Attempts { failed, cause, images, waits_until: now + wait_after(failed) });
    }

    fn rate_limited(&mut self, node: &Str, now: Timestamp) {
        // Pulls that were on their way at that time are refused for the same reason.
        if self.throttle.as_ref().is_some_and(|known| now < known.again_at) {
            return;
        }
        let times = self.throttle.as_ref().map_or(0, |known| known.times) + 1;
        let again_at = now + wait_after(times);
        self.throttle = Some(PullThrottle { node: node.clone(), again_at, times, tries: None });
    }

    /// Takes in that a pull succeeded. Returns whether anything waited for that.
    pub(crate) fn pull_succeeded(&mut self, node: &str) -> bool {
        let had_failed = self.attempts.remove(node).is_some();
        self.throttle.take_if(|throttle| throttle.tries.as_deref() == Some(node)).is_some() || had_failed
    }

    /// Whether the registry serves no more pulls for now.
    pub(crate) fn throttle(&self) -> Option<&PullThrottle> {
        self.throttle.as_ref()
    }

    /// The failures that are to be recorded with the request `asked`; `None` if this process has not taken in that request yet.
    pub(crate) fn failures(&self, asked: &Prewarm) -> Option<BTreeMap<Str, PrewarmFailure>> {
        let known = self.knows(asked);
        let recorded = |attempts: &Attempts| PrewarmFailure {
            cause: attempts.cause.kind,
            images: attempts.images.clone(),
            times: attempts.failed,
            again_at: attempts.waits_until,
        };
        let all = || self.attempts.iter().take(FAILURES_LIMIT);
        known.then(|| all().map(|(node, attempts)| (node.clone(), recorded(attempts))).collect())
    }

    /// Takes in the failures that the present or last driver has recorded. Returns whether they are news. No wait is longer than after a
    /// failure just now, because the recorded times may be of another clock.
    pub(crate) fn follow_record(&mut self, recorded: &BTreeMap<Str, PrewarmFailure>, now: Timestamp) -> bool {
        if self.followed == *recorded {
            return false;
        }
        self.followed.clone_from(recorded);
        let attempts = |failure: &PrewarmFailure| Attempts {
            failed: failure.times,
            cause: Cause { kind: failure.cause, container: None, message: None },
            images: failure.images.clone(),
            waits_until: failure.again_at.min(now + wait_after(failure.times)),
        };
        self.attempts = recorded.iter().map(|(node, failure)| (node.clone(), attempts(failure))).collect();
        let limited = self.attempts.iter().filter(|(_, attempts)| attempts.cause.kind.is_the_registrys_limit());
        self.throttle = limited.max_by_key(|(_, attempts)| attempts.waits_until).map(|(node, attempts)| PullThrottle {
            node: node.clone(),
            again_at: attempts.waits_until,
            times: attempts.failed,
            tries: None,
        });
        true
    }

    /// Takes in the request, and returns whether it has changed. If an operator has asked again since, all failed pulls are tried now; `failed`
    /// are their pods. No times are compared: the clocks of an operator and of the cluster may differ.
    pub(crate) fn follow_request(
        &mut self,
        request: Option<(By, Option<By>)>,
        failed: impl Iterator<Item = Str>,
    ) -> bool {
        if self.request == request {
            return false;
        }
        let is_news = self.request.is_some();
        self.request = request;
        self.attempts.clear();
        self.followed.clear();
        self.refusal = None;
        self.throttle = None;
        self.renewed = if is_news { failed.collect() } else { BTreeSet::new() };
        self.saw_request = is_news;
        true
    }

    /// Whether this process has taken in that request and its last retry. What failed before an operator asked again is over.
    pub(crate) fn knows(&self, asked: &Prewarm) -> bool {
        self.request.as_ref().is_some_and(|(by, retried)| (by, retried) == (&asked.by, &asked.retried))
    }

    /// Whether an operator has asked for this pod to be made anew.
    pub(crate) fn is_renewed(&self, uid: &str) -> bool {
        self.renewed.contains(uid)
    }

    /// Whether a pod that was made for an earlier attempt, and has failed by now, may have failed before it was asked for again. A process that saw the
    /// operator ask knows which ones had.
    pub(crate) fn may_have_failed_before(&self, uid: &str, asked: &Prewarm) -> bool {
        !self.knows(asked) || !self.saw_request || self.is_renewed(uid)
    }

    pub(crate) fn refusal(&self) -> Option<&WarmRefusal> {
        self.refusal.as_ref()
    }

    pub(crate) fn refused(&mut self, node: &Str, message: &Str, now: Timestamp) {
        self.creating.remove(node);
        self.refusal =
            Some(WarmRefusal { node: node.clone(), message: message.clone(), again_at: Some(now + REFUSED) });
    }

    /// Takes in that admission made another pod of the one that was sent: none would be found again. That one is deleted.
    pub(crate) fn unlabelled(&mut self, node: &Str, (uid, pod): (&Str, &Str), message: &Str) {
        self.creating.remove(node);
        self.unlabelled.insert(uid.clone(), (node.clone(), pod.clone()));
        self.refusal = Some(WarmRefusal { node: node.clone(), message: message.clone(), again_at: None });
    }

    /// The pods that no watch shows, because admission took our labels off: uid, node and name.
    pub(crate) fn without_labels(&self) -> impl Iterator<Item = (&Str, &Str, &Str)> {
        self.unlabelled.iter().map(|(uid, (node, pod))| (uid, node, pod))
    }

    pub(crate) fn is_without_labels(&self, uid: &str) -> bool {
        self.unlabelled.contains_key(uid)
    }

    /// The deletion of such a pod was accepted, or it is gone.
    pub(crate) fn unlabelled_goes(&mut self, uid: &str) {
        if self.unlabelled.remove(uid).is_some() {
            self.deleting.remove(uid);
        }
    }

    pub(crate) fn accepted(&mut self) {
        self.refusal = None;
    }

    /// When time alone lets something go on.
    pub(crate) fn changes_at(&self) -> impl Iterator<Item = Timestamp> {
        let again = self.attempts.values().filter_map(Attempts::again_at);
        let delete_again = self.deleting.values().filter_map(|sent| sent.again_at);
        let throttled = self.throttle.iter().map(|throttle| throttle.again_at);
        // A creation is given up a moment after its limit.
        let lost = self.creating.values().map(|(_, sent_at)| *sent_at + LOST_ANSWER + Duration::from_millis(1));
        let refused = self.refusal.iter().filter_map(|refusal| refusal.again_at);
        again.chain(refused).chain(delete_again).chain(throttled).chain(lost)
    }
}

/// How long nothing is tried after this many failures in a row.
fn wait_after(failures: u32) -> Duration {
    FIRST.saturating_mul(1 << failures.saturating_sub(1).min(8)).min(LONGEST)
}
