//! Warnings of a preview about protections that a command leaves without effect.

use std::collections::HashSet;
use std::time::Duration;

use crate::engine::assess::plan::Limits;
use crate::engine::assess::rows::Row;
use crate::engine::lease::edit::Edit;
use crate::engine::machine::Engine;
use crate::engine::machine::release::Then;
use crate::engine::model::Str;
use crate::engine::model::command::{Command, Early, PrewarmCommand};
use crate::engine::model::hold::{Hold, ImageWait};
use crate::engine::model::labels::Selector;
use crate::engine::model::node::NodeIx;
use crate::engine::model::person_of;
use crate::engine::model::prewarm::PrewarmSource;
use crate::engine::model::record::Intent;
use crate::engine::model::step_ahead::NothingRecorded;
use crate::engine::model::time::ShortDuration;
use crate::engine::rules::commands::BeginsRecord;
use crate::engine::rules::site::site_of;

impl Engine {
    /// The protections that no longer hold: a threshold that cannot be reached, budget and gates if the DaemonSet's controller goes on.
    pub(super) fn left_unprotected(&self, command: &Command) -> Vec<String> {
        let early =
            matches!(command, Command::Release(Early::Accept)).then(|| self.released_early_in_brief()).flatten();
        let unrecorded = self.begins_unrecorded(command);
        unrecorded
            .into_iter()
            .chain(self.lost_with_the_unreadable(command))
            .chain(self.never_halts(&command.tuning()))
            .chain(self.label_of_no_node(command))
            .chain(early)
            .collect()
    }

    /// A warning where what the command begins, or lets go, cannot be rolled back: somebody deleted the revision that the nodes had before, or the
    /// cluster keeps no revision that no pod carries (docs/kubernetes.md, *ControllerRevisions*).
    pub(super) fn no_way_back(&self, command: &Command, limits: &Limits) -> Option<String> {
        let daemonset = self.view.daemonset()?;
        let intent = self.intent();
        let before = self.revision_before(&intent).filter(|before| self.view.revision(before).is_none());
        if let (Command::Step(_), Some(before)) = (command.inner(), before)
            && self.count_rows(|row| row.old) > 0
        {
            return Some(format!(
                "ControllerRevision {before} is gone, which the nodes had before: nothing rolls back to it. An earlier image has to be set \
                 instead."
            ));
        }
        let leads_to_the_last = match command.inner() {
            Command::SetImage(_) => true,
            Command::Undo { .. } => self.leads_later(command),
            Command::Step(_) => limits.allowed >= self.assessment.fleet,
            Command::Adopt
            | Command::Prewarm(_)
            | Command::Select(_)
            | Command::Pause { .. }
            | Command::Resume
            | Command::Tune(_)
            | Command::Tuned { .. }
            | Command::Drive(_)
            | Command::StopDriving
            | Command::EndDriving { .. }
            | Command::GiveUpDriving { .. }
            | Command::Release { .. } => false,
        };
        (leads_to_the_last && daemonset.revision_history_limit == Some(0)).then(|| {
            "revisionHistoryLimit is 0: the cluster deletes the old revision with its last pod. From then on it cannot be rolled \
             back. Set the limit to 1 or more first."
                .to_owned()
        })
    }

    /// The limits with which a command goes on with a rollout whose own limits are not known, because its record is gone or is of an
    /// earlier DaemonSet.
    pub(super) fn begins_unrecorded(&self, command: &Command) -> Option<String> {
        let soaks = match command.begins_record() {
            BeginsRecord::No => return None,
            BeginsRecord::Forward => true,
            BeginsRecord::Back => self.leads_later(command),
        };
        let nothing = self.nothing_recorded();
        if self.is_recorded() || nothing == NothingRecorded::AtAll {
            return None;
        }
        let mut intent = self.intent_to_begin_with();
        intent.tune(&command.tuning());
        let down = Limits::of(&self.view, &intent, &self.assessment).max_unavailable;
        let soak = Duration::from_secs(intent.soak_secs().into());
        let soak = if soaks { format!(", a soak time of {}", ShortDuration(soak)) } else { String::new() };
        let known = self.lost_record().filter(|_| nothing != NothingRecorded::OfThisDaemonSet);
        let nothing = match (nothing, known) {
            (NothingRecorded::OfThisDaemonSet, _) => {
                "The rollout that is recorded was of an earlier DaemonSet of this name: its limits do not count."
                    .to_owned()
            }
            (NothingRecorded::Readable, known) => {
                let known =
                    known.unwrap_or_else(|| "its limits, its selector, a pause and a halt are not known".to_owned());
                format!("The rollout's record cannot be read; {known}.")
            }
            (_, Some(known)) => {
                format!(
                    "No record is left of the rollout; {known}. Whether it was halted or paused since is not known."
                )
            }
            (NothingRecorded::AtAll | NothingRecorded::AnyMore, None) => {
                "No record is left of the rollout: its limits, its selector, a pause and a halt are not known."
                    .to_owned()
            }
        };
        Some(format!(
            "{nothing} A new one begins, with at most {down} down{soak}, no selector and the other defaults: where it had others, set them \
             first (flags of `adopt`)."
        ))
    }

    /// The warning about a command that lets nodes go while the controller replaces pods by itself, which that command does not end.
    pub(super) fn rolled_by_its_controller_anyway(&self, command: &Command) -> Option<String> {
        let lets_go = matches!(command.inner(), Command::Step(_) | Command::Select(_));
        let drifted = lets_go && self.recorded_intent().is_some_and(|intent| self.has_drifted(&intent));
        let who = self.who_set_the_strategy().map(|by| format!(" by {by}")).unwrap_or_default();
        drifted.then(|| {
            format!(
                "The update strategy was changed back{who}: its controller replaces pods by itself, whatever is let go here. `adopt` sets \
                 OnDelete again."
            )
        })
    }

    /// A warning about a label for sites that no node has, and the label that is probably meant: the limits of each site then hold for
    /// all nodes together.
    fn label_of_no_node(&self, command: &Command) -> Option<String> {
        let label = match command.inner() {
            Command::Prewarm(PrewarmCommand::Start { limits, .. }) => limits.site_label.clone(),
            _ => command.tuning().site_label,
        }?;
        let known = self.labels_of_fleet().next().is_some();
        if !known || self.labels_of_fleet().any(|labels| !site_of(labels, &label).is_empty()) {
            return None;
        }
        let meant = label.to_string().parse::<Selector>().ok().and_then(|key| key.meant(&self.labels_of_fleet()));
        // The label itself is named already.
        let meant = meant.and_then(|meant| meant.rsplit_once(": ").map(|(_, meant)| format!(" ({meant})")));
        let meant = meant.unwrap_or_default();
        Some(format!(
            "No node has the label {label}{meant}: all of them are one site, to which limits per site then apply."
        ))
    }

    /// That pods for pre-warming are deleted, because the template that `edits` lead to needs other images than those that they brought.
    pub(super) fn warm_pods_that_go(&self, edits: &[Edit], limits: &Limits) -> Option<String> {
        let wanted = edits.iter().find_map(|edit| match edit {
            Edit::Change { change, .. } => self.view.template_with(change).ok(),
            _ => None,
        })?;
        let job = self.warming.job.as_ref().filter(|job| job.request.cancelled.is_none())?;
        let template = match &job.request.source {
            PrewarmSource::Template => Ok(wanted),
            PrewarmSource::Images(images) => {
                let pairs = images.iter().map(|(name, image)| (name.as_str(), image.as_str()));
                wanted.with_images(pairs).map_err(Into::into)
            }
            PrewarmSource::Revision(_) => return None,
        };
        // Those that are not needed as things are go anyway.
        let then = self.job_of(job.request.clone(), template, limits);
        let go = self.pods_to_delete(&then, false).saturating_sub(self.pods_to_delete(job, false));
        let what = match go {
            0 => return None,
            1 => "1 pod that pre-warms is deleted: it has".to_owned(),
            go => format!("{go} pods that pre-warm are deleted: they have"),
        };
        Some(format!(
            "{what} images that the template does not need any more. Images that were pulled stay until their kubelet collects them."
        ))
    }

    /// That the images are brought first to those of `nodes` that lack them, where the rollout requires that.
    pub(super) fn images_first_in_words(&self, intent: &Intent, nodes: &[Str]) -> Option<String> {
        if !intent.requires_images() || nodes.is_empty() {
            return None;
        }
        let named: HashSet<&Str> = nodes.iter().collect();
        let lacks = self.assessment.rows().filter(|row| row.lacks_required_images() && named.contains(&self.name(row)));
        let (mut lacking, mut causes) = (0_usize, Vec::new());
        for row in lacks {
            lacking += 1;
            if let Some(Hold::ImageAbsent(wait)) = self.plan.hold(row.node) {
                causes.extend(wait.failure());
            }
        }
        let whose = match lacking {
            0 => return None,
            1 => "Its image comes first: 1 node does not have it".to_owned(),
            lacking => format!("Their images come first: {lacking} nodes do not have them"),
        };
        let failed = causes.first().map(|cause| match (lacking, causes.len()) {
            (1, _) => format!("; it does not come by itself: {cause}"),
            (_, nodes) => format!("; to {nodes} of them they do not come by themselves: {cause}"),
        });
        Some(format!("{whose}, and no pod is replaced before its node has{}.", failed.unwrap_or_default()))
    }

    /// A warning that an operator's request for pre-warming keeps the rollout's own from nodes that need their images before an update: one request is
    /// carried out at a time.
    pub(super) fn prewarms_something_else(&self, command: &Command, intent: &Intent) -> Option<String> {
        let lets_go = matches!(command, Command::Tune(_) | Command::Step(_) | Command::Select(_) | Command::Drive(_));
        let required = intent.requires_images();
        let (job, daemonset) = (self.warming.job.as_ref()?, self.view.daemonset()?);
        let of_others =
            |images: &[Str], node: NodeIx| matches!(job.brings(images, node), ImageWait::NotRequested { .. });
        let waiting = match (command, &intent.change) {
            // Every node is to get these images, once steps let it go.
            (Command::SetImage(_), Some(change)) if required => {
                let images = self.view.template_with(change).ok()?.images();
                self.assessment.rows().filter(|row| row.in_fleet && of_others(&images, row.node)).count()
            }
            _ if !lets_go || !required || !self.is_ready_to_update(intent) => return None,
            _ => {
                let images = daemonset.template.images();
                let lacks = |node: NodeIx| self.assessment.row(node).is_some_and(Row::lacks_required_images);
                self.plan.line.iter().filter(|node| lacks(**node) && of_others(&images, **node)).count()
            }
        };
        let by = person_of(&job.request.by.by);
        let wait = if waiting == 1 { "1 node waits" } else { &format!("{waiting} nodes wait") };
        (waiting > 0).then(|| {
            format!(
                "What {by} pre-warms now does not bring the images of this rollout: {wait} for them until that is cancelled, \
                 or replaced by a request for these images."
            )
        })
    }

    /// A warning about the pods that the controller then replaces and removes by itself.
    fn released_early_in_brief(&self) -> Option<String> {
        if !self.original_is_rolling() {
            return None;
        }
        let (removed, replaced): (Vec<_>, Vec<_>) =
            self.old_pods().partition(|pod| matches!(pod.then, Then::Removed(_)));
        let counted = |pods: usize, what: &str| match pods {
            0 => None,
            1 => Some(format!("{what} 1 pod")),
            pods => Some(format!("{what} {pods} pods")),
        };
        let does: Vec<String> =
            [counted(replaced.len(), "replaces"), counted(removed.len(), "removes")].into_iter().flatten().collect();
        (!does.is_empty()).then(|| {
            format!(
                "Its controller {} by itself: the budget and the gates of the rollout do not hold for that.",
                does.join(" and ")
            )
        })
    }
}
