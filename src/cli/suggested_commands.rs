//! Remedies as commands that can be copied.

use serde::Serialize;

use crate::driver::Session;
use crate::engine::model::budget::may_all_be_down;
use crate::engine::model::prewarm::{
    Prewarm, PrewarmCounts, PrewarmLimits, PrewarmMethod, PrewarmNodes, PrewarmSource,
};
use crate::engine::model::settings::{Limit, Setting, Tuning};
use crate::engine::model::shell::{shell_flag, shell_word, shell_words};
use crate::engine::report::advice::RemedyAct;
use crate::engine::report::remedies::Remedy;
use crate::engine::report::snapshot::{NodeView, Phase, RevisionView, Snapshot};

/// A remedy as JSON: its kind for a script, the command that carries it out, and the effect in words.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(crate) struct SuggestedCommand {
    remedy: &'static str,
    /// The whole command; absent if a name in it cannot be quoted safely for a shell, or if it needs an image that only the operator knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<String>,
    /// The words into which a shell splits the command, for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    argv: Option<Vec<String>>,
    text: String,
    /// Whether the command asks before it is carried out, and so needs `--yes` where no terminal can be asked.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    asks: bool,
    /// The command with `IMAGE` for what only the operator knows, where that keeps it from being a command for pasting.
    #[serde(skip)]
    to_complete: Option<String>,
}

impl SuggestedCommand {
    fn new(remedy: &'static str, command: Option<String>, text: String) -> Self {
        Self { remedy, argv: command.as_deref().and_then(shell_words), command, text, asks: false, to_complete: None }
    }

    /// The same, which asks before it is carried out if `asks`.
    #[must_use]
    fn asking(self, asks: bool) -> Self {
        let text = if asks { format!("{}; {ASKS}", self.text) } else { self.text };
        Self { text, asks, ..self }
    }

    /// The words of the command, and whether it is said to ask first.
    #[cfg(test)]
    pub(crate) fn as_told(&self) -> (Option<&[String]>, bool) {
        (self.argv.as_deref(), self.asks)
    }

    /// Whether this is the command that drives.
    pub(crate) fn drives(&self) -> bool {
        self.remedy == spelled(Remedy::Drive).0
    }

    /// The name of the command, such as `undo`; `None` where it cannot be quoted.
    pub(crate) fn name(&self) -> Option<&str> {
        self.command.as_deref()?.split(' ').nth(1)
    }

    /// Whether this is the command that continues pre-warming.
    pub(crate) fn prewarms(&self) -> bool {
        self.remedy == PREWARM
    }

    /// `rolldeck resume --context prod -n edge ds/agent   (lifts the pause)`.
    pub(crate) fn line(&self) -> String {
        match self.command.as_ref().or(self.to_complete.as_ref()) {
            Some(command) => format!("{command}   ({})", self.text),
            None => format!("{}: {} ({})", self.remedy, NOT_OFFERED, self.text),
        }
    }
}

/// What is said of a command that asks before it is carried out.
pub(crate) const ASKS: &str = "asks first, without a terminal it needs --yes";

/// What is said of a command that only records what whoever drives carries out, while nobody does.
const ONCE_DRIVEN: &str = ", once somebody drives";

/// The kind of the command that continues pre-warming.
const PREWARM: &str = "prewarm";

/// How many nodes one command uncordons.
const UNCORDONED: usize = 5;

/// The text instead of a command.
const NOT_OFFERED: &str = "no command, as a name in it has characters that a shell may take for something else";

/// The cluster and the identity of commands, from this process's own flags, so that the commands mean the same in another shell.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct CommandPlace {
    /// The kubeconfig context.
    pub(crate) context: String,
    /// The flags that lead to the cluster, quoted; `None` if one cannot be quoted safely.
    flags: Option<String>,
}

impl CommandPlace {
    pub(crate) fn of(session: &dyn Session) -> Self {
        Self { context: session.context().to_owned(), flags: session.cluster_flags() }
    }

    /// `--kubeconfig /etc/edge --as jane --context prod`; `None` if one of them cannot be quoted safely.
    pub(crate) fn flags(&self) -> Option<String> {
        self.flags.clone()
    }
}

/// The DaemonSet that commands are about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CommandTarget<'a> {
    place: &'a CommandPlace,
    namespace: &'a str,
    name: &'a str,
}

impl<'a> CommandTarget<'a> {
    pub(crate) fn new(place: &'a CommandPlace, snapshot: &'a Snapshot) -> Self {
        Self::called(place, &snapshot.namespace, &snapshot.name)
    }

    /// The same without a snapshot.
    pub(crate) fn called(place: &'a CommandPlace, namespace: &'a str, name: &'a str) -> Self {
        Self { place, namespace, name }
    }

    /// The whole command, quoted for a shell. `words` are its name and its flags, already quoted. `None` if a necessary name
    /// cannot be quoted safely.
    pub(crate) fn command(&self, words: &str) -> Option<String> {
        let flags = Some(self.place.flags()?).filter(|flags| !flags.is_empty());
        let flags = flags.map(|flags| flags + " ").unwrap_or_default();
        let namespace = shell_flag("-n", self.namespace)?;
        Some(format!("rolldeck {words} {flags}{namespace} {}", shell_word(&format!("ds/{}", self.name))?))
    }

    /// The command within a sentence: the whole command if that is safe, otherwise without its DaemonSet.
    pub(crate) fn named(&self, words: &str) -> String {
        self.command(words).map_or_else(|| format!("`rolldeck {words}`"), |command| format!("`{command}`"))
    }
}

/// The kind of a remedy in JSON, and its command with flags. `None` for a command that needs an argument which only the operator knows.
fn spelled(remedy: Remedy) -> (&'static str, Option<String>) {
    let (kind, command) = match remedy {
        Remedy::Drive => ("drive", "drive"),
        Remedy::Step(_) => ("step", "step"),
        Remedy::StepForRevision => ("stepForRevision", "step"),
        Remedy::Select => return ("select", None),
        Remedy::LiftSelector { .. } => ("liftSelector", "select --clear"),
        Remedy::SetImage => return ("setImage", None),
        Remedy::Brake => ("brake", "pause"),
        Remedy::RestoreOnDelete => ("restoreOnDelete", "adopt"),
        Remedy::Resume => ("resume", "resume"),
        Remedy::LiftPause => ("liftPause", "resume"),
        Remedy::ResumeUnderOnDelete => ("resumeUnderOnDelete", "resume"),
        Remedy::ResumeWithTemplate => ("resumeWithTemplate", "resume"),
        Remedy::ResumePastFailures | Remedy::ResumeWithQuota => ("resumePastFailures", "resume"),
        Remedy::Undo | Remedy::UndoTo { .. } => ("undo", "undo"),
        Remedy::BackToTarget { revision, .. } => {
            return ("undoToTarget", Some(format!("undo --to-revision {revision}")));
        }
        Remedy::EnforceOnDelete => ("enforceOnDelete", "tune --on-drift enforce"),
        Remedy::PauseOnDrift => ("pauseOnDrift", "tune --on-drift report"),
        Remedy::RaiseBudget { to } => return ("raiseBudget", Some(format!("tune --max-unavailable {to}"))),
        Remedy::LimitPulls { to } => return ("limitPulls", Some(format!("tune --max-pulling {to}"))),
        Remedy::PrewarmTarget { all: true } => ("prewarm", "prewarm"),
        Remedy::PrewarmTarget { all: false } => ("prewarm", "prewarm --this-step"),
        Remedy::RetryPrewarm => ("prewarmRetry", "prewarm --retry"),
        Remedy::ResumePrewarm => ("prewarmResume", "prewarm --resume"),
        Remedy::CancelPrewarm => ("prewarmCancel", "prewarm --cancel"),
        Remedy::Release => ("release", "release"),
        Remedy::ReleaseEarly => ("releaseEarly", "release --early"),
        Remedy::RecordAnew => ("recordAnew", "adopt"),
        Remedy::SetLimits { max_unavailable, soak } => {
            return ("setLimits", Some(format!("tune --max-unavailable {max_unavailable} --soak {soak}s")));
        }
        Remedy::DropUnreadableRecord => ("dropUnreadableRecord", "release"),
        Remedy::DropForeignRecord => ("dropForeignRecord", "release"),
    };
    (kind, Some(command.to_owned()))
}

/// The remedies for the present obstacles, most fitting first; empty if there is no obstacle. They are used by `status` as
/// text and as JSON, by the answers of one-shot commands, by `drive` and by `diagnose`. Each command is offered once.
pub(crate) fn suggested_commands(place: &CommandPlace, snapshot: &Snapshot) -> Vec<SuggestedCommand> {
    let mut suggested: Vec<SuggestedCommand> = Vec::new();
    for remedy in snapshot.remedies() {
        if remedy == Remedy::SetImage {
            // Where images are missing, another one is the first thing that helps.
            let missing = snapshot.waits_for_missing_images();
            let first = snapshot.phase == Phase::Idle;
            let does = match missing {
                true => "begins a new rollout, with an image that is there",
                false => "begins a rollout: `step` then lets nodes go, and `drive` replaces their pods",
            };
            suggested.extend((missing || first).then(|| another_image(place, snapshot, does)).flatten());
            continue;
        }
        let (kind, Some(mut command)) = spelled(remedy) else { continue };
        let lost = snapshot.lost_limits(remedy);
        if let Some(flags) = flags(&lost).filter(|_| !lost.is_empty()) {
            command = format!("{} {flags}", if remedy == Remedy::RecordAnew { "adopt" } else { "tune" });
        }
        let command = CommandTarget::new(place, snapshot).command(&command);
        let known = |known: &SuggestedCommand| known.command == command && (command.is_some() || known.remedy == kind);
        if !suggested.iter().any(known) {
            let asks = asks_first(remedy, snapshot);
            let text = match undriven_retry(remedy, snapshot) {
                _ if remedy == Remedy::Resume => resumes_in_words(snapshot),
                true => format!("{}{ONCE_DRIVEN}", snapshot.effect_of(remedy)),
                false => snapshot.effect_of(remedy),
            };
            suggested.push(SuggestedCommand::new(kind, command, text).asking(asks));
        }
    }
    suggested.extend(uncordoning(place, snapshot));
    for way in prewarming(place, snapshot) {
        if !suggested.iter().any(|known| known.remedy == way.remedy) {
            suggested.push(way);
        }
    }
    // A drive would end at once. What pulls again what failed also drives.
    if snapshot.is_driven_in_vain() && suggested.iter().any(SuggestedCommand::prewarms) {
        suggested.retain(|command| !command.drives());
    }
    suggested
}

/// The settings that a change names, as flags.
fn flags(tuning: &Tuning) -> Option<String> {
    let flag = |setting: Setting| shell_flag(&format!("--{}", setting.name()), &setting.value_in(tuning)?);
    Some(tuning.named().map(flag).collect::<Option<Vec<_>>>()?.join(" "))
}

/// What `resume` does: nobody moves a node after it where nobody drives.
fn resumes_in_words(snapshot: &Snapshot) -> String {
    let does = match snapshot.phase {
        Phase::Paused(_) => "lifts the pause".to_owned(),
        _ => snapshot.effect_of(Remedy::Resume),
    };
    if is_driven(snapshot) { does } else { format!("{does}; the rollout goes on{ONCE_DRIVEN}") }
}

/// Whether a remedy asks for pulls that nobody makes before somebody drives: it only records the request.
fn undriven_retry(remedy: Remedy, snapshot: &Snapshot) -> bool {
    remedy == Remedy::RetryPrewarm && !is_driven(snapshot)
}

/// Whether somebody drives or is about to, as far as can be told.
fn is_driven(snapshot: &Snapshot) -> bool {
    snapshot.driver.is_driven() && !snapshot.has_silent_driver()
}

/// Whether the command of a remedy is refused without `--yes` where no terminal can be asked, as far as a snapshot tells: it accepts what the rollout
/// halted for, lifts a pause of somebody else besides, moves nodes although no rollout is under way, may take down more than the budget, or begins to
/// drive a rollout although it is about pre-warming only.
pub(crate) fn asks_first(remedy: Remedy, snapshot: &Snapshot) -> bool {
    let asks = snapshot.roll_back_asks;
    match remedy {
        Remedy::Resume
        | Remedy::LiftPause
        | Remedy::ResumeUnderOnDelete
        | Remedy::ResumeWithTemplate
        | Remedy::ResumePastFailures
        | Remedy::ResumeWithQuota => snapshot.phase == Phase::Halted,
        Remedy::Undo | Remedy::UndoTo { .. } => {
            asks.usual || (snapshot.started_at.is_none() && snapshot.phase == Phase::Idle)
        }
        Remedy::BackToTarget { .. } => asks.to_target,
        Remedy::RaiseBudget { to: most } => may_all_be_down(most, snapshot.counts.nodes),
        Remedy::SetLimits { max_unavailable: most, .. } => {
            let known = snapshot.lost_limits(remedy).max_unavailable.and_then(Limit::at);
            let most = known.map_or(most, |known| known.nodes_of(snapshot.counts.nodes));
            may_all_be_down(most, snapshot.counts.nodes)
        }
        // The record is lost with it.
        Remedy::DropUnreadableRecord => true,
        Remedy::RecordAnew => snapshot.unreadable_record().is_some(),
        Remedy::ReleaseEarly => true,
        Remedy::PrewarmTarget { .. } => begins_to_drive(snapshot),
        _ => false,
    }
}

/// Whether a command that pre-warms would also drive the rollout on, in which nodes are in line: nobody drives then. A driver whose own remedies these
/// are is about to end.
fn begins_to_drive(snapshot: &Snapshot) -> bool {
    let driven = snapshot.driver.is_driven() && !snapshot.driver.is_you();
    let in_line = |node: &NodeView| node.waits_for_driver() || node.image_wait().is_some();
    !driven && snapshot.nodes.iter().any(in_line)
}

/// `set-image` for the only container of the target, or for one that is to be named.
fn another_image(place: &CommandPlace, snapshot: &Snapshot, does: &str) -> Option<SuggestedCommand> {
    let container = match snapshot.to.as_ref().map(|to| to.images.as_slice()) {
        Some([(container, _)]) => shell_word(container)?,
        _ => "CONTAINER".to_owned(),
    };
    // The image stands behind the DaemonSet.
    let to_complete = format!("{} {container}=IMAGE", CommandTarget::new(place, snapshot).command("set-image")?);
    Some(SuggestedCommand {
        to_complete: Some(to_complete),
        ..SuggestedCommand::new(spelled(Remedy::SetImage).0, None, does.to_owned())
    })
}

/// The command for what an advice asks for. `None` where it would be refused, where it needs a value that only the operator knows, and for what
/// stands among the [`suggested_commands`] as soon as it helps.
pub(crate) fn command_of(act: RemedyAct, place: &CommandPlace, snapshot: &Snapshot) -> Option<String> {
    let words = match act {
        // The rollout leads forward, and there is a revision to go back to.
        RemedyAct::RollBack => snapshot.undo_is_free().then_some("undo")?,
        RemedyAct::SetImage | RemedyAct::LimitPulls | RemedyAct::RaiseDeadline | RemedyAct::Prewarm => return None,
        RemedyAct::Drive
        | RemedyAct::LetGo
        | RemedyAct::Resume
        | RemedyAct::RetryPrewarm
        | RemedyAct::ResumePrewarm
        | RemedyAct::CancelPrewarm => return None,
    };
    CommandTarget::new(place, snapshot).command(words)
}

/// The command that uncordons the remaining cordoned nodes.
fn uncordoning(place: &CommandPlace, snapshot: &Snapshot) -> Option<SuggestedCommand> {
    let cordoned = snapshot.waits_for_cordoned();
    let text = match (cordoned.len(), cordoned.len().saturating_sub(UNCORDONED)) {
        (0, _) => return None,
        (1, _) => "lets it go, which is cordoned".to_owned(),
        (_, 0) => "lets them go, which are cordoned".to_owned(),
        (_, more) => format!("lets them go, which are cordoned, as {more} more are"),
    };
    let names: Option<Vec<String>> = cordoned.iter().take(UNCORDONED).map(|node| shell_word(&node.name)).collect();
    let flags = place.flags().map(|flags| if flags.is_empty() { flags } else { format!(" {flags}") });
    let command = flags.zip(names).map(|(flags, names)| format!("kubectl{flags} uncordon {}", names.join(" ")));
    Some(SuggestedCommand::new("uncordon", command, text))
}

/// The remedies for pre-warming that stands still or failed somewhere. If images do not arrive by themselves, giving up is also offered.
fn prewarming(place: &CommandPlace, snapshot: &Snapshot) -> Vec<SuggestedCommand> {
    let first = goes_on_prewarming(place, snapshot);
    let fails = snapshot.prewarm.as_ref().is_some_and(|prewarm| prewarm.counts.failed > prewarm.counts.retrying);
    // Where the rollout requires these images, pre-warming would begin again at once.
    let in_vain = snapshot.prewarm.as_ref().is_some_and(|prewarm| snapshot.requires_what_it_prewarms(prewarm));
    let cancel = first.as_ref().filter(|first| fails && !in_vain && first.remedy != "prewarmCancel").map(|_| {
        let command = CommandTarget::new(place, snapshot).command("prewarm --cancel");
        SuggestedCommand::new("prewarmCancel", command, "gives it up, and deletes its pods".to_owned())
    });
    first.into_iter().chain(cancel).collect()
}

fn goes_on_prewarming(place: &CommandPlace, snapshot: &Snapshot) -> Option<SuggestedCommand> {
    let prewarm = snapshot.prewarm.as_ref()?;
    let nobody = snapshot.driver.is_nobody();
    if prewarm.request.cancelled.is_some() {
        let command = CommandTarget::new(place, snapshot).command("prewarm --cancel");
        let cleans_up = SuggestedCommand::new("prewarmCancel", command, "deletes its pods, which are left".to_owned());
        // Where it would carry the rollout on, the command does not drive: the next driver deletes them.
        return (nobody && prewarm.leftover.pods > 0 && !begins_to_drive(snapshot)).then_some(cleans_up);
    }
    let missing = prewarm.counts.present < prewarm.counts.nodes;
    let goes_on = prewarm.request.method == PrewarmMethod::StatefulSet && prewarm.error.is_none();
    let (remedy, command, text) = if prewarm.error.is_some() {
        ("prewarmCancel", Some("prewarm --cancel".to_owned()), "deletes the pods that were made for it")
    } else if prewarm.request.paused.is_some() {
        ("prewarmResume", Some("prewarm --resume".to_owned()), "goes on pre-warming")
    } else if nobody && missing && !goes_on {
        let PrewarmCounts { failed, retrying, pulling, waiting, .. } = prewarm.counts;
        let only_fails = failed > retrying && pulling + waiting == 0;
        let text = if prewarm.unobtainable.is_some() || only_fails {
            "pulls again what failed"
        } else {
            "carries pre-warming on"
        };
        (PREWARM, prewarm_command(&prewarm.request, &snapshot.revisions), text)
    } else if nobody && goes_on && prewarm.has_all() {
        (
            "prewarmCancel",
            Some("prewarm --cancel".to_owned()),
            "deletes its StatefulSets, which have nothing left to do",
        )
    } else if prewarm.counts.failed > prewarm.counts.retrying {
        ("prewarmRetry", Some("prewarm --retry".to_owned()), "pulls again what failed")
    } else {
        return None;
    };
    let command = command.and_then(|command| CommandTarget::new(place, snapshot).command(&command));
    let asks = remedy == PREWARM && begins_to_drive(snapshot);
    // These two only record what whoever drives carries out.
    let records = matches!(remedy, "prewarmRetry" | "prewarmResume") && !is_driven(snapshot);
    let text = format!("{text}{}", if records { ONCE_DRIVEN } else { "" });
    Some(SuggestedCommand::new(remedy, command, text).asking(asks))
}

/// The command that repeats the request, without the DaemonSet: `prewarm --image agent=agent:v2 --max-pulling 2`. `None` if
/// a name in it cannot be quoted safely for a shell.
pub(crate) fn prewarm_command(asked: &Prewarm, revisions: &[RevisionView]) -> Option<String> {
    let mut words = vec!["prewarm".to_owned()];
    match &asked.source {
        PrewarmSource::Template => {}
        PrewarmSource::Images(images) => {
            for (name, image) in images {
                words.push(shell_flag("--image", &format!("{name}={image}"))?);
            }
        }
        PrewarmSource::Revision(hash) => {
            let number = revisions.iter().find(|revision| revision.hash == *hash).and_then(|it| it.number);
            words.extend(number.map(|number| format!("--revision {number}")));
        }
    }
    match &asked.nodes {
        PrewarmNodes::All => {}
        PrewarmNodes::Selector(selector) => words.push(shell_flag("-l", &selector.to_string())?),
        PrewarmNodes::LetGo => words.push("--this-step".to_owned()),
        PrewarmNodes::StepAhead => words.push("--next-step".to_owned()),
        PrewarmNodes::Node(name) => words.push(shell_flag("--node", name)?),
    }
    let PrewarmLimits { max_pulling, max_pulling_per_site, site_label, pace } = &asked.limits;
    for (flag, limit) in [("--max-pulling", max_pulling), ("--max-pulling-per-site", max_pulling_per_site)] {
        words.extend(limit.at().map(|limit| format!("{flag} {limit}")));
    }
    if let Some(label) = site_label {
        words.push(shell_flag("--site-label", &label.to_string())?);
    }
    words.extend((!pace.is_fixed()).then(|| format!("--pace {pace}")));
    if asked.method == PrewarmMethod::StatefulSet {
        words.push("--method statefulset".to_owned());
    }
    Some(words.join(" "))
}

/// The command of [`prewarm_command`] for use within a sentence, with its DaemonSet if that can be quoted safely. If a name in the request cannot,
/// words that describe the command.
pub(crate) fn prewarm_named(target: CommandTarget<'_>, asked: &Prewarm, revisions: &[RevisionView]) -> String {
    match prewarm_command(asked, revisions) {
        Some(words) => target.named(&words),
        None => "`rolldeck prewarm` with the same flags".to_owned(),
    }
}
