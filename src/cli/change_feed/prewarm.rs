//! Changes of pre-warming: the number of nodes with the images, the nodes on which images do not arrive with the reason, and the obstacles.

use std::collections::HashMap;

use super::{CROWD, ChangeTopic, Telling};
use crate::engine::model::Str;
use crate::engine::model::cause::CauseKind;
use crate::engine::model::prewarm::{Prewarm, PrewarmState, PrewarmView, PrewarmWait};
use crate::engine::model::rollout_event::{RolloutEvent, RolloutEventKind};
use crate::engine::model::time::Timestamp;
use crate::engine::report::advice::Advice;
use crate::engine::report::prewarm_words::PrewarmWords;
use crate::engine::report::snapshot::{NodeView, Snapshot};

impl Telling<'_> {
    pub(super) fn prewarming(&mut self, last: Option<&Snapshot>) {
        let was = last.and_then(|last| last.prewarm.as_ref());
        let is = self.snapshot.prewarm.as_ref();
        // What is cancelled is not waited for: only what keeps its pods from going matters.
        let ends = self.cancels_prewarming || is.is_some_and(|is| is.request.cancelled.is_some());
        if !ends && !last.is_some_and(|last| last.nodes.is_shared_with(&self.snapshot.nodes)) {
            self.warm_nodes(last);
        }
        let said = |refusal: &Option<(Str, Str)>| refusal.as_ref().map(|(_, message)| message.clone());
        let refused = |prewarm: &PrewarmView| {
            let brings = (said(&prewarm.refusal), prewarm.unobtainable.map(|why| why.cause));
            (said(&prewarm.leftover.refusal), if ends { Default::default() } else { brings })
        };
        let refusal = |prewarm: &PrewarmView| match ends {
            true => PrewarmView { refusal: None, unobtainable: None, ..prewarm.clone() }.refused(),
            false => self.snapshot.prewarm_refused(),
        };
        if let Some(prewarm) = is.filter(|is| was.map(refused).unwrap_or_default() != refused(is))
            && let Some(refused) = refusal(prewarm)
        {
            self.say(ChangeTopic::Prewarm(Some(Box::new(prewarm.clone()))), format!("pre-warming: {refused}"));
        }
        let stuck = |prewarm: Option<&PrewarmView>| -> Vec<Advice> {
            prewarm.into_iter().flat_map(PrewarmView::stuck_in_words).collect()
        };
        let known = stuck(was);
        if let Some(prewarm) = is.filter(|_| !ends) {
            for words in prewarm.stuck_in_words().filter(|words| !known.contains(words)) {
                self.say(ChangeTopic::Prewarm(Some(Box::new(prewarm.clone()))), format!("pre-warming: {words}"));
            }
        }
        // The absence of a driver is reported for the rollout as a whole.
        let nobody = self.snapshot.driver.is_nobody();
        if let Some((prewarm, waits)) = is.filter(|_| !nobody && !ends).zip(self.snapshot.prewarming_waits())
            && last.and_then(Snapshot::prewarming_waits).as_ref() != Some(&waits)
        {
            self.say(ChangeTopic::Prewarm(Some(Box::new(prewarm.clone()))), format!("pre-warming: {waits}"));
        }
        match (was, is) {
            (Some(was), None) => {
                let over = how_it_ended(was, last.map(|last| last.at), self.snapshot);
                self.say(ChangeTopic::Prewarm(None), over);
            }
            (_, Some(is)) if was.map(summary) != Some(summary(is)) => {
                self.say(ChangeTopic::Prewarm(Some(Box::new(is.clone()))), is.to_string());
            }
            _ => {}
        }
    }

    /// Nodes on which the images do not arrive, and nodes that are down and therefore waited for.
    fn warm_nodes(&mut self, last: Option<&Snapshot>) {
        let before: HashMap<&Str, Trouble> =
            last.into_iter().flat_map(|last| last.nodes.iter()).map(|node| (&node.name, trouble(node))).collect();
        let nodes = self.snapshot.nodes.clone();
        let listed = |node: &&NodeView| {
            let trouble = trouble(node);
            trouble != Trouble::None && before.get(&node.name) != Some(&trouble)
        };
        let mut listed: Vec<&NodeView> = nodes.iter().filter(listed).collect();
        listed.sort_by_key(|node| trouble(node));
        for group in listed.chunk_by(|one, other| trouble(one) == trouble(other)) {
            let Some(state) = group[0].prewarm.as_deref() else { continue };
            let words = PrewarmWords { state, at: self.snapshot.at };
            // Of a node that is down, nothing has failed.
            let subject = match state {
                PrewarmState::Failed { .. } => self.snapshot.prewarming_as_subject(),
                _ => "pre-warming".to_owned(),
            };
            if group.len() > CROWD {
                self.say(ChangeTopic::Nodes, format!("{} nodes: {subject} {words}", group.len()));
                continue;
            }
            for node in group {
                let message = match state {
                    PrewarmState::Failed { cause, .. } => cause.message.as_deref(),
                    _ => None,
                };
                let message = message.map(|message| format!(" ({message})")).unwrap_or_default();
                let text = format!("{}: {subject} {words}{message}", node.name);
                self.say(ChangeTopic::PrewarmNode(Box::new(NodeView::clone(node))), text);
            }
        }
    }
}

/// The reason why a node does not have the images.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Trouble {
    None,
    Down,
    Failed { kind: CauseKind, times: u32 },
}

fn trouble(node: &NodeView) -> Trouble {
    match node.prewarm.as_deref() {
        Some(PrewarmState::Failed { cause, times, .. }) => Trouble::Failed { kind: cause.kind, times: *times },
        Some(PrewarmState::Waiting(PrewarmWait::NodeDown)) => Trouble::Down,
        Some(
            PrewarmState::Waiting(_)
            | PrewarmState::Queued
            | PrewarmState::Silent { .. }
            | PrewarmState::Pulling { .. }
            | PrewarmState::Present,
        )
        | None => Trouble::None,
    }
}

/// That pre-warming is over, and why, as far as its last request or an event since then tells.
fn how_it_ended(was: &PrewarmView, last_seen: Option<Timestamp>, snapshot: &Snapshot) -> String {
    let since = |event: &&RolloutEvent| last_seen.is_none_or(|seen| event.at >= seen);
    let mut events = snapshot.timeline.iter().rev().filter(since);
    let complete = events.find_map(|event| match event.kind {
        RolloutEventKind::PrewarmComplete { nodes } => Some(nodes),
        _ => None,
    });
    let request = Prewarm { complete: was.request.complete.or(complete), ..was.request.clone() };
    let why = request.why_it_ends().map(|why| format!(": {why}")).unwrap_or_default();
    format!("nothing is being pre-warmed any more{why}")
}

/// The parts of pre-warming whose change is worth a line. The numbers of pulling and waiting nodes change with every node and are left out.
fn summary(prewarm: &PrewarmView) -> impl PartialEq + use<> {
    let PrewarmView {
        request,
        images: _,
        error,
        counts,
        failed_elsewhere: _,
        limit: _,
        pulling: _,
        sites: _,
        estimate: _,
        throughput: _,
        refusal: _,
        unobtainable,
        stuck: _,
        leftover: _,
        pulls: _,
    } = prewarm;
    let stands = (request.paused.is_some(), request.cancelled.is_some(), unobtainable.is_some());
    let wanted = (request.source.clone(), request.nodes.clone(), request.by.by.clone());
    // Of pre-warming that is complete, only the cleaning up is left.
    let counted = request.complete.is_none().then_some((counts.nodes, counts.present, counts.failed));
    (stands, wanted, error.clone(), request.complete, counted)
}
