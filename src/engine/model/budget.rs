//! The two budgets in nodes: how many nodes are down, on whose account, and how many may be down.

use serde::Serialize;

use super::quantity::IntOrPercent;

/// Whether so many nodes that may be down are all `desired` ones: that has to be confirmed, as it may be a typing error. Of a single node nothing else can
/// be said.
pub(crate) fn may_all_be_down(max_unavailable: u32, desired: u32) -> bool {
    max_unavailable >= desired.max(2)
}

/// The budget, term by term. `charged` is the sum of the terms that count.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BudgetView {
    /// How many nodes may be down at once.
    pub max_unavailable: u32,
    /// The setting from which that number comes.
    #[serde(skip)]
    pub max_unavailable_setting: Option<IntOrPercent>,
    /// The DaemonSet's own `maxUnavailable` in nodes, if an operator has set a higher one for the rollout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub own_max_unavailable: Option<u32>,
    /// Unavailable because of the rollout: being replaced, or not available at the new revision.
    pub rollout: u32,
    /// Of `rollout`: nodes that had been ready at the new revision, and restarted. They were not down when the next nodes were taken
    /// down.
    pub restarted: u32,
    /// Of `rollout`: nodes that rolldeck did not take down. Somebody deleted or evicted the pod, or the node is new.
    pub by_others: u32,
    /// Of `rollout`: nodes that the DaemonSet's controller or somebody else took down while the update strategy was set back.
    pub by_controller_or_others: u32,
    /// Of `rollout`: nodes whose pod was made before the rollout was recorded as begun: an earlier rollout, their controller or somebody else made
    /// it, and nothing tells who.
    pub unrecorded: u32,
    /// Of `rollout`: nodes that are ready since an unknown time. A process that saw them become ready may have counted them as
    /// available for long.
    #[serde(skip)]
    pub ready_since_unknown: u32,
    /// Of `rollout`: nodes whose pod was ready and is not ready now, without a restart of its containers, as after its node came back. They were not down
    /// when the next nodes were taken down.
    #[serde(skip)]
    pub lost_readiness: u32,
    /// Unavailable because their node went down after it got the new pod.
    pub suspect: u32,
    /// Unavailable because their node is down, still at the old revision.
    pub node: u32,
    /// Unavailable since before the rollout began, or an old pod that fails on a healthy node.
    pub pre_existing: u32,
    /// How many nodes count against `max_unavailable`.
    pub charged: u32,
    /// Of `charged`: nodes whose pod is Ready and soaks. They serve, and count as down until they have been ready for long enough.
    pub soaking: u32,
    /// Whether all terms count (`strict`).
    pub strict: bool,
    /// Who replaces the pods, and so causes `rollout`.
    pub replaced_by: Replacer,
    /// Nodes that hold a pull slot.
    pub pulling: u32,
    /// Of `pulling`: nodes on which the pull for their pod fails. Such a node holds its slot until the image comes, or the pod goes.
    pub pulling_fails: u32,
    /// Of `pulling`: nodes that have the target's images and still pull another one. Kubelets do not break off a pull.
    pub pulling_others: u32,
    /// Of `pulling`: for pre-warming alone.
    pub pulling_ahead: u32,
    /// Of `pulling_others`: nodes on which that pull fails. The kubelet tries it again until the pod is replaced or gone.
    #[serde(skip)]
    pub pulling_others_fails: u32,
    /// Of `pulling`: nodes whose kubelet ended their pod, or did not admit it. Nothing is pulled there before their controller makes the next pod, which
    /// pulls without asking: the slot stays taken for it.
    #[serde(skip)]
    pub pulling_ended: u32,
    /// How many nodes may hold a pull slot.
    pub max_pulling: u32,
}

impl BudgetView {
    /// `3 of 4 (2 fail, 1 pre-warms)`: how many pull slots are taken, and by what, as far as it is not an update that pulls.
    pub fn slots_in_words(&self) -> String {
        let beyond = self.is_over_pull_limit().then(|| self.who_begins_more_pulls().to_owned());
        let by: Vec<String> = self.holders().into_iter().chain(beyond).collect();
        format!("{} of {}{}", self.pulling, self.max_pulling, in_brackets(&by))
    }

    /// How more pulls came to run than may: a rollout begins none beyond its limit, and nobody breaks off those that run.
    fn who_begins_more_pulls(&self) -> &'static str {
        match self.replaced_by {
            Replacer::Controller | Replacer::Both => "begun by its controller or under a larger limit",
            // Its controller replaces no pod that is there: it makes those that somebody took away.
            Replacer::Rolldeck => "begun by others or under a larger limit",
            Replacer::Unrecorded => "begun by whom is not recorded",
        }
    }

    /// ` (2 fail, 1 pre-warms)`: the holders of pull slots other than updates that pull; empty if there are none.
    pub(crate) fn holders_of_slots(&self) -> String {
        in_brackets(&self.holders())
    }

    fn holders(&self) -> Vec<String> {
        let one_or_more = |count: u32, one: &str, more: &str| match count {
            0 => None,
            1 => Some(format!("1 {one}")),
            _ => Some(format!("{count} {more}")),
        };
        let by = [
            one_or_more(self.pulling_fails, "fails", "fail"),
            one_or_more(self.pulling_ended, "waits for its next pod", "wait for their next pods"),
            one_or_more(
                self.pulling_others.saturating_sub(self.pulling_others_fails),
                "still pulls what is no longer the target",
                "still pull what is no longer the target",
            ),
            one_or_more(
                self.pulling_others_fails,
                "fails on what is no longer the target",
                "fail on what is no longer the target",
            ),
            one_or_more(self.pulling_ahead, "pre-warms", "pre-warm"),
        ];
        by.into_iter().flatten().collect()
    }

    /// Whether more pull slots are taken than there are.
    pub fn is_over_pull_limit(&self) -> bool {
        self.pulling_of_rollout() > self.max_pulling
    }

    /// How many slots are held by nodes whose own pods pull, without those held for pre-warming.
    pub fn pulling_of_rollout(&self) -> u32 {
        self.pulling.saturating_sub(self.pulling_ahead)
    }

    /// Says that pre-warming waits because the rollout holds all of `limit` slots, and what frees them. `named`: the nodes on which the
    /// rollout's pulls fail.
    pub(crate) fn holds_slots_in_words(&self, limit: u32, named: &str, is_halted: bool) -> String {
        let (holds, fails) = (self.pulling_of_rollout(), self.pulling_fails);
        if fails == 0 {
            return format!("waits for updates: they hold {holds} pull slots, and there are {limit}");
        }
        let whose = if is_halted { "the halted rollout" } else { "the rollout" };
        format!(
            "waits for pull slots: {whose} holds {holds}, and there are {limit}; those of nodes whose pull fails ({named}) stay taken until \
             these get an image that can be pulled: roll back, or another image; a larger --max-pulling lets pre-warming go on beside them"
        )
    }
}

fn in_brackets(words: &[String]) -> String {
    if words.is_empty() { String::new() } else { format!(" ({})", words.join(", ")) }
}

/// Who replaces the pods of a DaemonSet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Replacer {
    /// The driver of the recorded rollout.
    #[default]
    Rolldeck,
    /// The DaemonSet's own controller: rolldeck only looks on, or has stopped it and replaced no pod yet.
    Controller,
    /// Nobody who is recorded, because the record is gone or nobody has driven under it yet: an earlier rollout, the DaemonSet's
    /// controller, or somebody else.
    Unrecorded,
    /// The driver of the recorded rollout, and the controller, which somebody let loose meanwhile. Nobody can tell which of the two
    /// replaced a pod.
    Both,
}

/// Said where the budget is used up by nodes of which some failed at the new revision.
pub(crate) const FAILS_ON_MORE: &str = "A larger budget would only give the revision that failed to more nodes";

/// `one of those is well again`: what nodes wait for whose budget is used up.
pub(crate) fn well_again(nodes: u32) -> String {
    match nodes {
        0 | 1 => "one of those is well again".to_owned(),
        nodes => format!("{nodes} of those are well again"),
    }
}
