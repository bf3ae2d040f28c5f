//! Why the pod of a node is not healthy, as far as anything says so.

use std::time::Duration;

use super::Assessor;
use super::pods_on_node::OnNode;
use crate::engine::model::cause::{Cause, CauseKind};
use crate::engine::model::facts::NodeFact;
use crate::engine::rules::diagnose::{diagnose, stuck_at, unscheduled_at};

impl Assessor<'_> {
    pub(super) fn cause(&mut self, fact: Option<&NodeFact>, down: bool, pods: &OnNode<'_>) -> Option<Cause> {
        if down {
            let words = fact.and_then(|fact| fact.not_ready_why.clone());
            return Some(Cause { kind: CauseKind::NodeDown, container: None, message: words });
        }
        let any_pod = pods.live.or(pods.going);
        if let Some(ends_at) = any_pod.and_then(|pod| pod.fact.deletion_at).filter(|at| *at >= self.server_now) {
            let left = ends_at.since(self.server_now) + Duration::from_millis(1);
            self.wake_after(left, Duration::ZERO);
        }
        let late_at = any_pod.and_then(|pod| stuck_at(&pod.fact).or_else(|| unscheduled_at(&pod.fact)));
        if let Some(late_at) = late_at.filter(|at| *at >= self.server_now) {
            let left = late_at.since(self.server_now) + Duration::from_millis(1);
            self.wake_after(left, Duration::ZERO);
        }
        let known = pods.live.and_then(|pod| pod.trouble.as_ref()).map(|trouble| trouble.cause.clone());
        let says = any_pod.and_then(|pod| diagnose(&pod.fact, self.server_now));
        // The cause that is already known says more about the pull.
        let says_less = |says: &Cause| {
            let told = known.as_ref().is_some_and(|known| known.kind.leaves_the_image_open());
            told && says.kind.says_only_that_a_pull_failed()
        };
        says.filter(|says| !says_less(says)).or(known)
    }
}
