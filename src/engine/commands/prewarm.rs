//! Commands about pre-warming: their changes, the reasons for which they are refused, and their previews.

use std::collections::{BTreeMap, BTreeSet};

use super::resolved::Resolved;
use crate::engine::assess::plan::Limits;
use crate::engine::lease::edit::{Edit, PrewarmEdit};
use crate::engine::machine::Engine;
use crate::engine::machine::prewarm::PrewarmJob;
use crate::engine::model::cause::CauseKind;
use crate::engine::model::command::{Command, PrewarmCommand, Refusal};
use crate::engine::model::config::Role;
use crate::engine::model::danger::Danger;
use crate::engine::model::first_names::first_names;
use crate::engine::model::labels::Labels;
use crate::engine::model::prewarm::{
    PREWARM_LIMIT, PREWARM_SET_NODES, Prewarm, PrewarmLimits, PrewarmMethod, PrewarmNodes, PrewarmSource, PrewarmState,
    SETS_DO_NOT_PAUSE, UnrecordedFailures,
};
use crate::engine::model::pull::{ImagePull, PullState};
use crate::engine::model::quantity::{IntOrPercent, Rounding, counted};
use crate::engine::model::record::By;
use crate::engine::model::settings::Limit;
use crate::engine::model::site::SiteLabel;
use crate::engine::model::time::UtcTime;
use crate::engine::model::{Str, person_of};
use crate::engine::rules::site::site_of;
use crate::engine::rules::warm_pod::images_key;
use crate::engine::view::WarmPod;
use crate::engine::writes::pending::Needs;

impl Engine {
    /// Refuses while a release is recorded: the release deletes the request for pre-warming together with the rollout's record.
    fn check_not_handed_back(&self) -> Result<(), Refusal> {
        let intent = self.recorded_intent();
        let Some(by) = intent.as_ref().and_then(|intent| intent.releasing.as_ref()) else { return Ok(()) };
        let asked =
            if by.is_rolldeck() { "as every node is updated".to_owned() } else { format!("as {} asked", by.by) };
        let why =
            format!("it is being handed back, {asked}, and what is pre-warmed goes with that: a pause calls it off");
        Err(Refusal::NotNow(why))
    }

    pub(super) fn resolve_prewarm(&self, command: &PrewarmCommand, by: By) -> Result<Resolved, Refusal> {
        let nothing = || Refusal::NotNow("nothing is being pre-warmed; `prewarm` begins it".into());
        let left_over = self.left_over().filter(|_| self.recorded_prewarm().is_none());
        match command {
            PrewarmCommand::Start { .. } => self.check_not_handed_back()?,
            PrewarmCommand::Cancel if left_over.is_some() => {}
            _ if self.recorded_prewarm().is_none() => return Err(nothing()),
            _ => {}
        }
        let (edit, says, drive) = match command {
            PrewarmCommand::Start { source, nodes, limits, method } => {
                let template = self.template_to_prewarm(source).map_err(|why| Refusal::Invalid(why.to_string()))?;
                self.check_prewarm_nodes(nodes)?;
                self.check_site_label(limits)?;
                check_pulls(limits)?;
                self.check_prewarm_method(*method, nodes, limits)?;
                let daemonset = self.view.daemonset().ok_or_else(|| Refusal::NotLoaded("no DaemonSet".into()))?;
                let prewarm = Prewarm {
                    daemonset_uid: daemonset.uid.clone(),
                    source: source.clone(),
                    nodes: nodes.clone(),
                    limits: self.with_default_site_label(limits),
                    method: *method,
                    stateful_sets: *method == PrewarmMethod::StatefulSet,
                    paused: None,
                    cancelled: None,
                    complete: None,
                    retried: None,
                    handover: None,
                    failures: BTreeMap::new(),
                    unrecorded: UnrecordedFailures::default(),
                    by,
                    write_ids: Vec::new(),
                };
                let size = serde_json::to_string(&prewarm).map_or(0, |text| text.len());
                if size > PREWARM_LIMIT / 2 {
                    return Err(Refusal::Invalid(format!(
                        "what is to be pre-warmed takes {size} bytes, more than {}: name fewer images or a shorter selector",
                        PREWARM_LIMIT / 2
                    )));
                }
                let most = self.prewarm_limit(&prewarm, &Limits::of(&self.view, &self.intent(), &self.assessment));
                let says = format!(
                    "pre-warming {} on {}, at most {most} pulling",
                    first_names(template.images().iter().map(|image| &**image)),
                    counted(self.meant(nodes).count(), "node")
                );
                (PrewarmEdit::Start(Box::new(prewarm)), says, true)
            }
            PrewarmCommand::Pause | PrewarmCommand::Resume if self.warms_by_sets() => {
                return Err(Refusal::NotNow(SETS_DO_NOT_PAUSE.into()));
            }
            PrewarmCommand::Pause => {
                let says = match self.paused_already() {
                    Some(_) => "pre-warming is paused already, and stays so",
                    None => "pre-warming is paused: no more pods are made",
                };
                (PrewarmEdit::Pause(by), says.to_owned(), false)
            }
            PrewarmCommand::Resume if self.paused_already().is_none() => {
                let says = "pre-warming is not paused: nothing changes".to_owned();
                return Ok(Resolved { drive: false, ..Resolved::new(Vec::new(), Needs::Saved, says, Danger::None) });
            }
            PrewarmCommand::Resume => (PrewarmEdit::Resume, "pre-warming goes on".to_owned(), true),
            PrewarmCommand::Retry => {
                self.check_prewarm_retry()?;
                (PrewarmEdit::Retry(by), "what failed is tried again".to_owned(), true)
            }
            PrewarmCommand::Cancel => {
                let edit = match left_over {
                    Some(left) => PrewarmEdit::Start(Box::new(Prewarm { cancelled: Some(by), ..left })),
                    None => PrewarmEdit::Cancel(by),
                };
                let undriven = self.config().role == Role::OneShot && self.lock.living_other(self.now).is_none();
                let says = match undriven {
                    true => "pre-warming is cancelled: its pods are deleted once somebody drives",
                    false => "pre-warming is cancelled: its pods are deleted",
                };
                (edit, says.to_owned(), true)
            }
        };
        Ok(Resolved { drive, ..Resolved::new(vec![Edit::Prewarm(edit)], Needs::Saved, says, Danger::Bounded) })
    }

    /// The limits with the site label of the operator's own defaults, if neither the limits nor a rollout name one. A recorded rollout
    /// decides the site label alone.
    fn with_default_site_label(&self, limits: &PrewarmLimits) -> PrewarmLimits {
        let default = self.config().defaults.site_label.clone().filter(|_| !self.is_recorded());
        PrewarmLimits { site_label: limits.site_label.clone().or(default), ..limits.clone() }
    }

    fn check_site_label(&self, limits: &PrewarmLimits) -> Result<(), Refusal> {
        let Some(intent) = self.recorded_intent() else { return Ok(()) };
        let recorded = &intent.budgets.site_label;
        match limits.site_label.as_ref().filter(|label| *label != recorded) {
            None => Ok(()),
            Some(label) => Err(Refusal::Invalid(format!(
                "site label {label}: the rollout of this DaemonSet tells sites apart by {recorded}, for pre-warming as well; \
                 leave it out, or change the rollout's: `tune --site-label {label}`"
            ))),
        }
    }

    /// The number of sites into which a label divides the fleet; `None` if no node has the label, of which [`Self::label_of_no_node`]
    /// warns.
    pub(super) fn sites_in_words(&self, label: &SiteLabel) -> Option<String> {
        let mut nodes: BTreeMap<Str, u32> = BTreeMap::new();
        for labels in self.labels_of_fleet() {
            *nodes.entry(site_of(labels, label)).or_default() += 1;
        }
        let without = nodes.remove("").unwrap_or(0);
        match (nodes.len(), without) {
            (0, _) => None,
            (1, 0) => Some(format!("By the label {label} there is one site.")),
            (sites, 0) => Some(format!("By the label {label} there are {sites} sites.")),
            (sites, without) => {
                let are = if sites == 1 { "is one site".to_owned() } else { format!("are {sites} sites") };
                Some(format!("By the label {label} there {are}; {without} nodes without it are one more."))
            }
        }
    }

    /// The labels of the nodes that should run the DaemonSet's pods, as far as the nodes are known.
    pub(super) fn labels_of_fleet(&self) -> impl Iterator<Item = &Labels> + Clone {
        let fleet = self.assessment.rows().filter(|row| row.in_fleet);
        fleet.filter_map(|row| self.view.entry(row.node).fact.as_ref()).map(|fact| &fact.labels)
    }

    /// Whether the present pre-warming is by StatefulSets.
    fn warms_by_sets(&self) -> bool {
        self.recorded_prewarm().is_some_and(|request| request.method == PrewarmMethod::StatefulSet)
    }

    fn check_prewarm_method(
        &self,
        method: PrewarmMethod,
        nodes: &PrewarmNodes,
        limits: &PrewarmLimits,
    ) -> Result<(), Refusal> {
        if method == PrewarmMethod::Pods {
            return Ok(());
        }
        // A StatefulSet knows no sites, so settings of sites would have no effect.
        let PrewarmLimits { max_pulling: _, max_pulling_per_site, site_label, pace } = limits;
        let of_sites = [
            (!max_pulling_per_site.is_default(), "--max-pulling-per-site"),
            (site_label.is_some(), "--site-label"),
            (!pace.is_fixed(), "--pace"),
        ];
        if let Some((_, flag)) = of_sites.into_iter().find(|(given, _)| *given) {
            return Err(Refusal::Invalid(format!("a StatefulSet knows no sites: {flag} needs --method pods")));
        }
        let meant = self.meant(nodes).count();
        if meant > PREWARM_SET_NODES {
            let why = format!(
                "{meant} nodes are more than the pods of StatefulSets can name, {PREWARM_SET_NODES}: fewer with a selector, \
                 or --method pods"
            );
            return Err(Refusal::Invalid(why));
        }
        Ok(())
    }

    fn check_prewarm_nodes(&self, nodes: &PrewarmNodes) -> Result<(), Refusal> {
        let fleet = || self.assessment.rows().filter(|row| row.in_fleet).map(|row| self.view.entry(row.node));
        match nodes {
            PrewarmNodes::LetGo | PrewarmNodes::StepAhead
                if !self.is_recorded() && !self.has_rollout(&self.intent()) =>
            {
                let nothing = self.nothing_recorded();
                Err(Refusal::NotNow(format!("{nothing}, so there is no step whose nodes could be meant")))
            }
            PrewarmNodes::All | PrewarmNodes::LetGo | PrewarmNodes::StepAhead => Ok(()),
            PrewarmNodes::Node(name) if fleet().any(|entry| entry.name == *name) => Ok(()),
            PrewarmNodes::Node(name) => Err(Refusal::NotThere(format!("no node {name} that runs this DaemonSet"))),
            PrewarmNodes::Selector(selector) => {
                let matches = |labels| selector.matches(labels);
                let labels = fleet().filter_map(|entry| entry.fact.as_ref()).map(|fact| &fact.labels);
                if labels.clone().any(matches) {
                    return Ok(());
                }
                let meant = selector.meant(&labels);
                Err(Refusal::Invalid(meant.unwrap_or_else(|| format!("no node matches {selector}"))))
            }
        }
    }

    /// Refuses a retry if nothing failed that could be tried again. If another process drives, the retry is not refused for that, because
    /// only the driver knows what it holds back after a failure.
    fn check_prewarm_retry(&self) -> Result<(), Refusal> {
        let Some(job) = &self.warming.job else { return Ok(()) };
        if let Err(why) = &job.template {
            return Err(Refusal::NotNow(format!("pre-warming is not possible: {why}")));
        }
        if let Some(paused) = &job.request.paused {
            let by = person_of(&paused.by);
            return Err(Refusal::NotNow(format!("{by} has paused pre-warming: nothing is pulled before it goes on")));
        }
        if self.prewarming_has_failed(job) || self.lock.living_other(self.now).is_some() {
            return Ok(());
        }
        let counts = self.prewarm_view().map(|view| view.counts.to_string()).unwrap_or_default();
        Err(Refusal::NotNow(format!("nothing failed, so nothing is tried again ({counts})")))
    }

    /// Whether, as far as this process knows, a pull failed, a pod was refused, or a StatefulSet is stuck.
    pub(super) fn prewarming_has_failed(&self, job: &PrewarmJob) -> bool {
        let writes = &self.warming.writes;
        let failed = |state: &PrewarmState| matches!(state, PrewarmState::Failed { .. });
        // What an earlier request to try again has not reached yet counts, too.
        let failed_before = |warm: &WarmPod| warm.cause().is_some() && warm.fact.images == job.key;
        job.states.iter().flatten().any(failed)
            || self.view.warm().iter().any(failed_before)
            || writes.has_failed()
            || writes.refusal().is_some()
            || writes.throttle().is_some()
            || !self.stuck_sets(job).is_empty()
    }

    /// `replaces_pods`: whether whoever gives the command also carries on the rollout, which another line says.
    pub(super) fn prewarming_in_words(
        &self,
        command: &PrewarmCommand,
        rollouts: &Limits,
        replaces_pods: bool,
    ) -> Vec<String> {
        match command {
            PrewarmCommand::Start { source, nodes, limits, method } => {
                let images: Vec<Str> = self.template_to_prewarm(source).map(|it| it.images()).unwrap_or_default();
                let nothing =
                    self.nothing_to_prewarm_in_words(source, nodes).filter(|_| *method == PrewarmMethod::Pods);
                let pulled = images.iter().map(|image| format!("pulls {image}"));
                let mut lines: Vec<String> = match &nothing {
                    Some(all_have_them) => vec![all_have_them.clone()],
                    None => pulled.collect(),
                };
                if self.recorded_prewarm().is_some_and(|known| known.cancelled.is_none()) {
                    lines.extend(self.paused_by().map(|paused| format!("Lifts the pause of pre-warming, {paused}.")));
                }
                if let PrewarmSource::Images(_) = source {
                    lines.push("The template stays as it is: its image is set afterwards.".into());
                }
                // The rollout's selector holds for the nodes that it lets go.
                let of_those =
                    self.intent().selector.map(|selector| format!(", of those with {selector}")).unwrap_or_default();
                let where_ = match nodes {
                    PrewarmNodes::All => "on every node of the fleet that has not got them".to_owned(),
                    PrewarmNodes::Selector(selector) => format!("on nodes with {selector}"),
                    PrewarmNodes::LetGo => format!("on the nodes that the partition lets go{of_those}"),
                    PrewarmNodes::StepAhead => {
                        format!("on the nodes that the partition and the next step let go{of_those}")
                    }
                    PrewarmNodes::Node(name) => format!("on {name}"),
                };
                if self.recorded_prewarm().is_some_and(|known| known.source != *source || known.nodes != *nodes) {
                    lines.push(
                        "Replaces the present pre-warming. Pods of it that are not needed any more are deleted.".into(),
                    );
                }
                let none = if replaces_pods { "" } else { "; that replaces no pod of the DaemonSet" };
                lines.push(format!("One pod per node, {where_}{none}."));
                lines.extend(limits.site_label.as_ref().and_then(|label| self.sites_in_words(label)));
                match method {
                    PrewarmMethod::Pods => {
                        lines.push(self.pulls_at_once_in_words(limits, rollouts));
                        lines.extend(self.waits_for_slots(limits, rollouts));
                        lines.extend(self.takes_slots_of_the_rollout(&images));
                        lines.push("Each stays until its node is updated, or pre-warming is cancelled.".into());
                    }
                    PrewarmMethod::StatefulSet => lines.extend(self.sets_in_words(nodes, limits)),
                }
                lines
            }
            PrewarmCommand::Pause => {
                let stops = "No more pods are made. What is being pulled goes on.".to_owned();
                self.paused_already().into_iter().chain([stops]).collect()
            }
            PrewarmCommand::Resume if self.paused_already().is_none() => {
                vec!["It is not paused: nothing changes.".to_owned()]
            }
            PrewarmCommand::Resume => {
                let limits = self.recorded_prewarm().map(|known| known.limits.clone()).unwrap_or_default();
                let waits = self.waits_for_slots(&limits, rollouts);
                ["Pods are made again, in the order of the rollout.".into()].into_iter().chain(waits).collect()
            }
            PrewarmCommand::Retry if !self.warming.job.as_ref().is_some_and(|job| self.prewarming_has_failed(job)) => {
                vec![
                    "No pull is seen to have failed. What the driver holds back after a failure, it tries at once."
                        .into(),
                ]
            }
            PrewarmCommand::Retry if self.warms_by_sets() => {
                vec![
                    "Pods whose pull failed are deleted; their StatefulSet makes them anew, on any of its nodes."
                        .into(),
                ]
            }
            PrewarmCommand::Cancel => self.cancellation_in_words(),
            PrewarmCommand::Retry => vec!["Pods whose pull failed are deleted and made anew.".into()],
        }
    }

    /// Names an image that some node could not get because the registry does not have it, or does not give it.
    pub(super) fn prewarms_in_vain(&self, command: &Command) -> Option<String> {
        let Command::Prewarm(PrewarmCommand::Start { source, .. }) = command else { return None };
        let images = self.template_to_prewarm(source).ok()?.images();
        let key = images_key(&images);
        let mut refused: BTreeMap<(Str, CauseKind), Vec<&str>> = BTreeMap::new();
        for row in self.assessment.rows() {
            let name = &*self.view.entry(row.node).name;
            let Some(cause) = row.cause.as_ref().filter(|cause| cause.kind.is_the_registrys_verdict()) else {
                continue;
            };
            let lacks =
                |pull: &&ImagePull| matches!(pull.state, PullState::Failed { .. }) && images.contains(&pull.image);
            for pull in row.images.iter().filter(lacks) {
                refused.entry((pull.image.clone(), cause.kind)).or_default().push(name);
            }
        }
        let same = self.warming.job.as_ref().filter(|job| job.key == key);
        for (node, state) in same.into_iter().flat_map(|job| job.states.iter().enumerate()) {
            let Some(PrewarmState::Failed { cause, .. }) = state else { continue };
            if !cause.kind.is_the_registrys_verdict() {
                continue;
            }
            let node = &*self.view.entry(node).name;
            let named =
                |image: &&Str| images.len() == 1 || cause.message.as_ref().is_some_and(|it| it.contains(&***image));
            if let Some(image) = images.iter().find(named) {
                refused.entry((image.clone(), cause.kind)).or_default().push(node);
            }
        }
        let ((image, cause), nodes) = refused.into_iter().next()?;
        let nodes: BTreeSet<&str> = nodes.into_iter().collect();
        let on = match nodes.len() {
            1 => nodes.first().map(|node| (*node).to_owned()).unwrap_or_default(),
            count => format!("{count} nodes"),
        };
        Some(format!("{cause}: {image} could not be pulled on {on}. The other nodes ask the same registry for it."))
    }

    fn paused_already(&self) -> Option<String> {
        self.paused_by().map(|paused| format!("It is paused already, {paused}."))
    }

    /// Who has paused pre-warming, and when: `by ops@bastion at 11:16 UTC`.
    fn paused_by(&self) -> Option<String> {
        let prewarm = self.recorded_prewarm()?;
        let paused = prewarm.paused.as_ref()?;
        let at = UtcTime { at: paused.at, now: self.now };
        Some(format!("by {} at {at}", person_of(&paused.by)))
    }

    fn cancellation_in_words(&self) -> Vec<String> {
        let what = if self.warms_by_sets() { "its StatefulSets, and with them their pods" } else { "its pods" };
        let mut lines = vec![format!(
            "Whoever drives deletes {what}. Images that were pulled stay until their kubelet collects them."
        )];
        if let Some(intent) = self.recorded_intent() {
            if !intent.prewarm.is_default() {
                lines.push(format!("The rollout's setting `prewarm {}` becomes `off`.", intent.prewarm));
            }
            if intent.requires_images() {
                lines.push("It begins again on nodes that may be updated: the rollout requires their images.".into());
            }
        }
        lines
    }

    /// How many StatefulSets there will be, and what they do not do.
    fn sets_in_words(&self, nodes: &PrewarmNodes, limits: &PrewarmLimits) -> Vec<String> {
        let takes = self.meant(nodes).filter(|row| row.should_run && !row.is_down).count();
        let most = limits.max_pulling.at().map_or(1, |limit| limit.of(self.assessment.desired, Rounding::Up).max(1));
        let sets = usize::try_from(most).unwrap_or(usize::MAX).min(takes);
        let begin = if sets == 1 {
            format!("1 StatefulSet pulls on up to {takes} nodes, one after the other.")
        } else {
            format!("{sets} StatefulSets pull on up to {takes} nodes, {sets} at a time.")
        };
        vec![
            begin,
            "It goes on while no console is open; whoever drives deletes it once every node has the images.".into(),
            "It keeps no order, and knows nothing of updates that pull, of nodes that flap, nor of nodes that join."
                .into(),
            "A container that cannot run `sleep`, as in distroless images, holds it up: use --method pods for those."
                .into(),
        ]
    }
}

/// Refuses limits under which nothing is ever pulled.
fn check_pulls(limits: &PrewarmLimits) -> Result<(), Refusal> {
    let is_none = |limit: Limit| matches!(limit, Limit::At(IntOrPercent::Int(0) | IntOrPercent::Percent(0)));
    match () {
        () if is_none(limits.max_pulling) => {
            Err(Refusal::Invalid("with 0 pulls at a time nothing is pulled: give 1 or more, or pause it".into()))
        }
        () if is_none(limits.max_pulling_per_site) => {
            Err(Refusal::Invalid("with 0 pulls in each site nothing is pulled: give 1 or more, or pause it".into()))
        }
        () => Ok(()),
    }
}
