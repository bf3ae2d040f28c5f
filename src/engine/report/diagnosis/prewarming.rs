//! Findings about pre-warming: it is no part of the rollout, and nodes without its images are well.

use std::collections::HashSet;

use super::{EVIDENCE, Finding, FindingKind, remedies};
use crate::engine::model::Str;
use crate::engine::model::cause::CauseKind;
use crate::engine::model::facts::Severity;
use crate::engine::model::hold::ImageWait;
use crate::engine::model::person_of;
use crate::engine::model::prewarm::{PrewarmState, PrewarmView};
use crate::engine::report::advice::{Advice, RemedyAct};
use crate::engine::report::snapshot::Snapshot;

/// The findings, and the nodes that wait for what they tell of, where the rollout requires these images.
pub(super) fn findings(snapshot: &Snapshot) -> (Vec<Finding>, HashSet<&Str>) {
    let Some(prewarm) = &snapshot.prewarm else { return Default::default() };
    let failed = (prewarm.counts.failed > 0 || prewarm.error.is_some()).then(|| fails(prewarm, snapshot));
    let paused = paused(prewarm);
    let tells_of = |wait: &ImageWait| match wait {
        ImageWait::Failed { .. } | ImageWait::NotTried { .. } => failed.is_some(),
        ImageWait::Paused => paused.is_some(),
        ImageWait::Coming | ImageWait::NotRequested { .. } => false,
    };
    let required = snapshot.requires_what_it_prewarms(prewarm);
    let told = snapshot.nodes.iter().filter(|node| required && node.image_wait().is_some_and(tells_of));
    let told = told.map(|node| &node.name).collect();
    (failed.into_iter().chain(paused).collect(), told)
}

/// The finding for pre-warming that does not bring its images everywhere, with the words of kubelets and the remedies.
fn fails(prewarm: &PrewarmView, snapshot: &Snapshot) -> Finding {
    let mut finding = Finding::new(FindingKind::Prewarm, prewarm.to_string(), Severity::Warning);
    let required = snapshot.requires_what_it_prewarms(prewarm);
    let mut causes: Vec<CauseKind> = Vec::new();
    for node in snapshot.nodes.iter() {
        let waits = node.image_wait().filter(|_| required);
        if let Some(ImageWait::NotTried { cause }) = waits {
            causes.push(*cause);
            finding.nodes.push(node.name.clone());
        }
        if let Some(PrewarmState::Failed { cause, .. }) = node.prewarm.as_deref() {
            let text = match &cause.message {
                Some(message) => format!("{cause}: {message}"),
                None => cause.to_string(),
            };
            let text = Some(text.into());
            causes.push(cause.kind);
            let mut one = Finding::new(finding.kind, "", Severity::Warning);
            one.nodes.push(node.name.clone());
            finding.add(one.says(text));
        }
    }
    if !finding.nodes.is_empty() {
        // The nodes are counted and named behind it.
        finding.title = format!("{} fails", snapshot.prewarming_as_subject());
        causes.dedup();
        if let ([cause], true) = (&causes[..], required) {
            finding.title = format!("{cause}: {}, which the rollout requires", prewarm.images.join(" "));
        }
    }
    finding.remedies = snapshot.prewarm_refused().into_iter().chain(prewarm.stuck_in_words()).take(EVIDENCE).collect();
    if required && snapshot.waits_for_missing_images() {
        finding.remedies.push(remedies::another_image());
    }
    finding
}

/// The finding for pre-warming that somebody has paused before it was done.
fn paused(prewarm: &PrewarmView) -> Option<Finding> {
    let paused =
        prewarm.request.paused.as_ref().filter(|_| prewarm.request.cancelled.is_none() && !prewarm.is_done())?;
    let waiting = match prewarm.counts.waiting + prewarm.counts.failed {
        0 => String::new(),
        1 => ": 1 node waits for its images".to_owned(),
        nodes => format!(": {nodes} nodes wait for their images"),
    };
    let title = format!("pre-warming is paused by {}{waiting}", person_of(&paused.by));
    let what = [Advice::asks("let it go on", RemedyAct::ResumePrewarm)];
    Some(Finding::new(FindingKind::Prewarm, title, Severity::Normal).do_this(what))
}
