//! Pre-warming in words.

use std::fmt;

use super::advice::{Advice, RemedyAct};
use super::snapshot::{NodeView, Phase, Snapshot};
use crate::engine::model::cause::CauseKind;
use crate::engine::model::facts::StrategyKind;
use crate::engine::model::first_names::first_names;
use crate::engine::model::node::NodeState;
use crate::engine::model::person_of;
use crate::engine::model::presence::Presence;
use crate::engine::model::prewarm::{
    Prewarm, PrewarmCounts, PrewarmLeftover, PrewarmMethod, PrewarmState, PrewarmView, PrewarmWait, StuckSet, StuckWhy,
    Unobtainable,
};
use crate::engine::model::record::By;
use crate::engine::model::settings::Finish;
use crate::engine::model::time::{ShortDuration, Timestamp};
use crate::engine::rules::recognise::{TextSource, recognise};

/// `pulling for 12s`, `waits: 2 of 2 pull slots taken`, as of an instant.
#[derive(Clone, Copy, Debug)]
pub struct PrewarmWords<'a> {
    /// How far the node is.
    pub state: &'a PrewarmState,
    /// The instant, by the clock of the snapshot.
    pub at: Timestamp,
}

impl PrewarmState {
    /// Whether the images did not arrive and are pulled again by themselves. Images that the registry refused are not.
    pub fn is_retried(&self) -> bool {
        matches!(self, Self::Failed { cause, again_at, .. } if again_at.is_some() || !cause.kind.is_the_registrys_verdict())
    }

    /// One word: `waiting`, `queued`, `pulling`, `present`, `failed`.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Waiting(_) => "waiting",
            Self::Queued | Self::Silent { .. } => "queued",
            Self::Pulling { .. } => "pulling",
            Self::Present => "present",
            Self::Failed { .. } => "failed",
        }
    }
}

impl fmt::Display for PrewarmWords<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.state.word())?;
        match self.state {
            PrewarmState::Waiting(wait) => write!(f, ": {}", wait.words(self.at)),
            PrewarmState::Queued => f.write_str(" in its kubelet"),
            PrewarmState::Silent { since } => {
                let silent = ShortDuration(self.at.since(*since));
                write!(f, " in its kubelet, which has shown no sign of a pull for {silent}")
            }
            // Of what has begun within the second nothing tells for how long.
            PrewarmState::Pulling { since } => match self.at.since(*since) {
                pulls if pulls.as_secs() == 0 => Ok(()),
                pulls => write!(f, " for {}", ShortDuration(pulls)),
            },
            PrewarmState::Present => Ok(()),
            PrewarmState::Failed { cause, times, again_at } => {
                write!(f, ": {cause}")?;
                if *times > 1 {
                    write!(f, ", {times} times")?;
                }
                match again_at {
                    Some(again) if *again > self.at => write!(f, ", again in {}", ShortDuration(again.since(self.at))),
                    // This holds for a driver that is gone as well.
                    Some(_) => f.write_str(", again when its turn comes"),
                    None => Ok(()),
                }
            }
        }
    }
}

impl PrewarmWait {
    /// The wait in words as of `at`. For a registry that limits pulls they say when the next node tries.
    pub fn words(&self, at: Timestamp) -> String {
        match self {
            // The refused node itself waits longer: another one tries first.
            Self::RateLimited { node, again_at: Some(again) } => {
                let again = ShortDuration(again.since(at));
                format!("registry rate limit, the next node tries in {again} ({node} was refused)")
            }
            _ => self.to_string(),
        }
    }
}

impl fmt::Display for PrewarmWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Next => f.write_str("next"),
            Self::InLine => f.write_str("its StatefulSet has not come to it"),
            Self::Limit { used, limit } => write!(f, "{used} of {limit} pull slots taken"),
            Self::SiteLimit { site, used, limit } if site.is_empty() => {
                write!(f, "{used} of {limit} nodes without a site pull")
            }
            Self::SiteLimit { site, used, limit } => write!(f, "{used} of {limit} nodes of {site} pull"),
            Self::Unobtainable(why) => write!(f, "{why}"),
            Self::RateLimited { node, again_at: None } => {
                write!(f, "registry rate limit ({node}), one node tries")
            }
            Self::RateLimited { node, again_at: Some(_) } => write!(f, "registry rate limit ({node})"),
            Self::Paused => f.write_str("pre-warming is paused"),
            Self::Cancelled => f.write_str("cancelled"),
            Self::Complete => f.write_str("pre-warming is complete"),
            Self::NodeDown => f.write_str("the node is down"),
            Self::Pressure(what) => write!(f, "its kubelet reports {what}"),
            Self::Updating => f.write_str("its update pulls"),
            Self::TriedAgain => f.write_str("tried again once its failed pod is deleted"),
            Self::Ending(None) => f.write_str("its last pod is deleted and has not ended yet"),
            Self::Ending(Some(finalizer)) => write!(f, "its last pod has ended and is kept by finalizer {finalizer}"),
            Self::Refused(why) => write!(f, "its pod is refused: {why}"),
            Self::NobodyDrives => f.write_str("nobody pre-warms"),
            Self::ViewStale(why) => f.write_str(why),
        }
    }
}

/// `12 of 120 present, 2 pulling, 105 waiting, 1 failed`.
impl fmt::Display for PrewarmCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Each node that is tried again says so itself.
        let Self { nodes, present, pulling, waiting, failed, retrying: _ } = self;
        write!(f, "{present} of {nodes} present")?;
        [(pulling, "pulling"), (waiting, "waiting"), (failed, "failed")]
            .into_iter()
            .filter(|(count, _)| **count > 0)
            .try_for_each(|(count, word)| write!(f, ", {count} {word}"))
    }
}

/// One line on the whole: `pre-warmed: 20 of 20 present`, `pre-warming: 12 of 120 present, 2 pulling (2 may), 106 waiting`.
impl fmt::Display for PrewarmView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cleaned_up = match self.leftover {
            PrewarmLeftover { undriven: true, pods: 1.., .. } => "its pods stay until somebody drives",
            _ => "being cleaned up",
        };
        // While it is cleaned up, fewer and fewer nodes count as having the images.
        if let Some(nodes) = self.request.complete {
            return write!(f, "pre-warming complete, {cleaned_up}: {}", all_have_the_images(nodes));
        }
        let name = match (&self.request.cancelled, &self.request.paused) {
            (Some(cancelled), _) => {
                &*format!("pre-warming cancelled{}, {cleaned_up}", self.request.cancelled_why(cancelled))
            }
            (None, Some(_)) => "pre-warming paused",
            // The request stays for nodes that may join.
            (None, None) if self.error.is_none() && self.has_all() => "pre-warmed",
            (None, None) => "pre-warming",
        };
        match &self.error {
            // What was there when it was cancelled tells nothing any more: its pods go, and nobody counts images for it.
            _ if self.request.cancelled.is_some() => f.write_str(name),
            Some(why) => write!(f, "{name}: {why}"),
            None => {
                write!(f, "{name}: {}", self.counts)?;
                if self.failed_elsewhere > 0 {
                    write!(f, " (on which nodes is recorded of {})", self.counts.failed - self.failed_elsewhere)?;
                }
                let left = self.request.method == PrewarmMethod::StatefulSet && self.request.cancelled.is_none();
                if left && self.has_all() {
                    f.write_str("; whoever drives deletes its StatefulSets")
                } else if self.counts.waiting > 0 {
                    write!(f, "; pull slots {} of {}", self.pulling, self.limit)
                } else {
                    Ok(())
                }
            }
        }
    }
}

/// `all 20 nodes have the images`.
fn all_have_the_images(nodes: u32) -> String {
    if nodes == 1 { "its node has the images".to_owned() } else { format!("all {nodes} nodes have the images") }
}

impl Prewarm {
    /// Who cancelled it, or why: ` by ben@bastion`, ` as its rollout is over`. What rolldeck began by itself it also cancels where the settings no longer ask for it.
    fn cancelled_why(&self, cancelled: &By) -> String {
        match (cancelled.is_rolldeck(), self.by.is_rolldeck()) {
            (false, _) => format!(" by {}", person_of(&cancelled.by)),
            (true, false) => " as its rollout is over".to_owned(),
            (true, true) => " by rolldeck itself".to_owned(),
        }
    }

    /// Why it ends or has ended, as far as it says so: `all 20 nodes have the images`, `cancelled by ben@bastion`.
    pub fn why_it_ends(&self) -> Option<String> {
        let cancelled = || self.cancelled.as_ref().map(|by| format!("cancelled{}", self.cancelled_why(by)));
        self.complete.map(all_have_the_images).or_else(cancelled)
    }
}

impl PrewarmView {
    /// Whether nothing more will happen by itself: each node has the images or has finally failed.
    pub fn is_done(&self) -> bool {
        let PrewarmCounts { pulling, waiting, retrying, .. } = self.counts;
        let waits = waiting > 0 && self.unobtainable.is_none();
        self.error.is_some() || ((pulling, retrying) == (0, 0) && !waits) || self.is_stuck()
    }

    /// How it ended: `pre-warmed 12 of 12 nodes`. `None` while nodes are waited for, and where it was cancelled.
    pub fn end_in_words(&self) -> Option<String> {
        let PrewarmCounts { nodes, present, waiting, failed, .. } = self.counts;
        if let Some(all) = self.request.complete {
            return Some(format!("pre-warmed {all} of {all} nodes"));
        }
        let has_ended = self.is_done() && nodes > 0 && waiting == 0 && self.request.cancelled.is_none();
        let failed = if failed > 0 { format!("; it failed on {failed}") } else { String::new() };
        has_ended.then(|| format!("pre-warmed {present} of {nodes} nodes{failed}"))
    }

    /// Whether every node has the images.
    pub fn has_all(&self) -> bool {
        self.counts.nodes > 0 && self.counts.present == self.counts.nodes
    }

    /// What becomes of it once nobody drives; `None` where it needs no driver: it is paused, or every node has the images or has finally failed.
    pub fn without_a_driver(&self) -> Option<&'static str> {
        let request = &self.request;
        if request.cancelled.is_some() {
            let left = self.leftover.pods > 0;
            return left.then_some("it was cancelled, and whoever drives next deletes the pods that are left");
        }
        if request.paused.is_some() || self.is_done() {
            return None;
        }
        Some(match request.method {
            PrewarmMethod::StatefulSet => {
                "its StatefulSets go on, and whoever drives deletes them once every node has the images"
            }
            PrewarmMethod::Pods => {
                "no further node gets a pod for it; what is being pulled goes on, and whoever drives next carries on"
            }
        })
    }

    /// Whether all of its StatefulSets wait for something that does not come by itself.
    fn is_stuck(&self) -> bool {
        let for_ever = |stuck: &&StuckSet| match &stuck.why {
            StuckWhy::Failed(cause) => cause.kind.is_the_registrys_verdict(),
            StuckWhy::NotRunning(_) => true,
            StuckWhy::NodeDown | StuckWhy::Unschedulable(_) | StuckWhy::Refused(_) => false,
        };
        let stuck = self.stuck.iter().filter(for_ever).count();
        stuck > 0 && stuck >= self.limit as usize && self.counts.pulling == 0
    }

    /// Why StatefulSets are stuck, with the remedy for each.
    pub fn stuck_in_words(&self) -> impl Iterator<Item = Advice> + '_ {
        self.stuck.iter().map(|stuck| Advice::says(format!("{stuck}; ")).then(stuck.remedy()))
    }

    /// The refusal of the pods by the API server, in its words, or of the image by the registry, with the remedy.
    pub fn refused(&self) -> Option<Advice> {
        if let Some(unobtainable) = self.unobtainable {
            return Some(unobtainable.advice().or(Advice::asks("cancel it", RemedyAct::CancelPrewarm)));
        }
        if let Some((node, message)) = &self.refusal {
            let refused = Advice::says(format!("its pod on {node} is refused: {message}; "));
            return Some(refused.then(refusal_remedy(message)));
        }
        let (node, message) = self.leftover.refusal.as_ref()?;
        let text =
            format!("its pod on {node} is not needed any more, and its deletion failed: {message}; it is tried again");
        Some(text.into())
    }

    /// How many pods that are no longer needed have still to be deleted, and the server's message where that failed: `2 pods for pre-warming that
    /// nobody needs any more are left (ipc-019: pods "agent-…" is forbidden)`.
    pub fn left_over(&self) -> Option<String> {
        let PrewarmLeftover { pods, ending: _, undriven: _, refusal } = &self.leftover;
        let pods = match pods {
            0 => return None,
            1 => "1 pod for pre-warming that nobody needs any more is left".to_owned(),
            pods => format!("{pods} pods for pre-warming that nobody needs any more are left"),
        };
        let said = refusal.as_ref().map(|(node, message)| format!(" ({node}: {message})")).unwrap_or_default();
        Some(pods + &said)
    }

    /// The refusal by the API server in so few words that its remedy fits on one line: `pre-warm pods are refused (ipc-019): raise the quota;
    /// exceeded quota: …`.
    pub fn refused_in_brief(&self) -> Option<String> {
        let (node, message) = self.refusal.as_ref()?;
        let remedy = match recognise(TextSource::CreationMessage, "", message) {
            Some(CauseKind::QuotaExceeded) => "raise the quota; ",
            Some(CauseKind::AdmissionRefused) => "let the admission policy admit them; ",
            _ => "",
        };
        Some(format!("pre-warm pods are refused ({node}): {remedy}{message}"))
    }
}

impl Snapshot {
    /// Whether the holder of the lease, if there is one, only pre-warms while the DaemonSet's own controller replaces pods.
    pub fn only_prewarms(&self) -> bool {
        let warms = self.prewarm.as_ref().is_some_and(|prewarm| prewarm.request.cancelled.is_none());
        warms && self.strategy == StrategyKind::RollingUpdate && self.started_at.is_none()
    }

    /// Whether the DaemonSet stays adopted although nothing is left to roll out or to pre-warm: a driver would end at once, and its controller
    /// replaces no pod before it is released.
    pub fn only_stays_adopted(&self) -> bool {
        let over = match self.phase {
            Phase::Idle => self.adopted,
            Phase::Complete => self.settings.policies.finish == Finish::Keep,
            _ => false,
        };
        let warms = self.prewarm.as_ref().is_some_and(|prewarm| prewarm.without_a_driver().is_some());
        over && !warms && self.daemonset == Presence::Present
    }

    /// Whether every node has the images: nothing is pulled any more, and the lease is held for nodes that may join.
    pub fn has_prewarmed(&self) -> bool {
        self.prewarm.as_ref().is_some_and(|prewarm| prewarm.error.is_none() && prewarm.has_all())
    }

    /// The obstacle to pre-warming while none of its pods pulls and no other text names it: a driver, or the pull slots that the rollout holds.
    /// `None` where pre-warming moves, or has stopped for a reason of its own.
    pub fn prewarming_waits(&self) -> Option<String> {
        let prewarm = self.prewarm.as_ref()?;
        let PrewarmView { request, error, counts, limit, unobtainable, .. } = prewarm;
        let stands =
            request.paused.is_some() || request.cancelled.is_some() || error.is_some() || unobtainable.is_some();
        if stands || counts.waiting == 0 {
            return None;
        }
        let for_driver =
            |node: &NodeView| matches!(node.prewarm.as_deref(), Some(PrewarmState::Waiting(PrewarmWait::NobodyDrives)));
        let nobody = self.driver.is_nobody();
        if nobody && self.nodes.iter().any(for_driver) {
            return Some("nobody pre-warms: no further node begins to pull".to_owned());
        }
        if request.method == PrewarmMethod::Pods && self.driver.is_silent(self.at) {
            let driving = self.driving().to_string();
            // Who replaces pods is said elsewhere.
            let who = driving.strip_prefix("its controller drives: ").unwrap_or(&driving);
            return Some(format!("{who}; if it has ended, no further node begins to pull"));
        }
        (counts.pulling == 0 && self.budget.pulling_of_rollout() >= *limit && request.method == PrewarmMethod::Pods)
            .then(|| {
                let failing = |node: &&NodeView| {
                    let cause = node.cause.as_ref().is_some_and(|cause| cause.kind.is_about_the_image());
                    cause && matches!(node.state, NodeState::PullFailed | NodeState::Failed)
                };
                let named = first_names(self.nodes.iter().filter(failing).map(|node| &*node.name));
                self.budget.holds_slots_in_words(*limit, &named, self.phase == Phase::Halted)
            })
    }
}

impl Unobtainable {
    /// What brings it all the same.
    pub(super) fn advice(self) -> Advice {
        let mend = Advice::says(format!("{self}; correct the image or the pull secret, "));
        mend.then(Advice::asks("then retry", RemedyAct::RetryPrewarm))
    }
}

/// `image not found on 3 nodes, and no node got it: no more is tried`.
impl fmt::Display for Unobtainable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {} nodes, and no node got it: no more is tried", self.cause, self.nodes)
    }
}

/// `agent-prewarm-0f3a-3 on ipc-017 holds up its StatefulSet: image not found`.
impl fmt::Display for StuckSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.pod, &self.node) {
            (Some(pod), Some(node)) => write!(f, "{pod} on {node} holds up its StatefulSet: ")?,
            (Some(pod), None) => write!(f, "{pod} holds up its StatefulSet: ")?,
            (None, _) => write!(f, "{} makes no pod: ", self.name)?,
        }
        match &self.why {
            StuckWhy::Failed(cause) => write!(f, "{cause}"),
            StuckWhy::NotRunning(said) => write!(f, "its images are there, but it cannot run `sleep` ({said})"),
            StuckWhy::NodeDown => f.write_str("the node is down"),
            StuckWhy::Unschedulable(said) => write!(f, "it cannot be scheduled ({said})"),
            StuckWhy::Refused(said) => f.write_str(said),
        }
    }
}

impl StuckSet {
    /// The remedy for a stuck StatefulSet.
    fn remedy(&self) -> Advice {
        let cancel = || Advice::asks("cancel ends it", RemedyAct::CancelPrewarm);
        match &self.why {
            StuckWhy::Failed(_) => Advice::asks("retry makes it anew", RemedyAct::RetryPrewarm)
                .then(", ".into())
                .then(cancel())
                .then("; with --method pods no node waits for another".into()),
            StuckWhy::NotRunning(_) => {
                "the pod never becomes ready, as its image has no `sleep` (distroless): use --method pods, which needs none".into()
            }
            StuckWhy::NodeDown => "it waits until the node is back; with --method pods no node waits for another".into(),
            StuckWhy::Unschedulable(_) => Advice::says("it waits until a node takes it, ")
                .then(cancel())
                .then("; --method pods goes on elsewhere".into()),
            StuckWhy::Refused(said) => refusal_remedy(said),
        }
    }
}

/// The remedy for pods that are refused with this message. They are tried again by themselves, one at a time.
fn refusal_remedy(message: &str) -> Advice {
    if message.contains("because it is being terminated") {
        let deleted = Advice::says("nothing new is created in a namespace that is being deleted: ");
        return deleted.then(Advice::asks("cancel it", RemedyAct::CancelPrewarm));
    }
    let remedy = if message.contains("exceeded quota") {
        "raise the quota by one pod per node, or pre-warm fewer nodes with a selector"
    } else if message.contains("must specify") {
        "the quota demands requests or limits, and these pods set none: add a LimitRange with defaults"
    } else if message.contains("statefulsets") {
        "the README has the Role that rolldeck needs: `list`, `create` and `delete` on statefulsets"
    } else if message.contains("cannot create resource") || message.contains("not permitted") {
        "the README has the Role that rolldeck needs: `create` on pods"
    } else {
        "make the policy or webhook that refuses them admit pods with the label rolldeck.io/prewarm"
    };
    remedy.into()
}
