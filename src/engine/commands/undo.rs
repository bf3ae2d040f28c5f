//! Rolling back: which revision a roll back leads to, and why it is refused.
//!
//! ```text
//! undo --to-revision 3 ─▶ that one
//! undo ─┬─ goes back     ─▶ refused: name one; but where it goes back to, if somebody else has changed the template meanwhile
//!       ├─ recorded      ─▶ where the rollout came from, or its target if all nodes run that under somebody else's template; refused if the cluster does not keep that: name one
//!       ├─ not recorded  ─▶ the newest other one that has run and has not halted a rollout; else the newest other one
//!       └─ rolled back from the newest ─▶ refused: name one
//! ```
//!
//! To a revision that was made after the present one, or after the one that the rollout came from, nothing goes back: a rollout to it begins, with steps and
//! gates.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::allowance::counted_are;
use super::resolved::Resolved;
use crate::engine::assess::images_on_nodes::{has_images_somewhere, images_of_revision};
use crate::engine::assess::plan::{Limits, put_back};
use crate::engine::assess::rows::{Assessment, proven_after};
use crate::engine::machine::Engine;
use crate::engine::model::Str;
use crate::engine::model::command::{BEFORE_THE_FIRST_STEP, Command, PrewarmCommand, Refusal};
use crate::engine::model::facts::RevisionFact;
use crate::engine::model::record::{Change, Direction, Intent};
use crate::engine::model::roll_back::{NoRollBack, RollBackAsks};
use crate::engine::model::rollout_event::{ROLLED_BACK, RevisionHalt, WENT_TO, last_rolled_back_to, with_earlier};
use crate::engine::model::time::{ShortDuration, Timestamp, UtcTime};
use crate::engine::rules::revision_numbers::present_number;

impl Engine {
    pub(super) fn resolve_undo(&self, to: Option<i64>, now: Timestamp) -> Result<Resolved, Refusal> {
        let daemonset = self.view.daemonset().ok_or_else(|| Refusal::NotLoaded("no DaemonSet".into()))?;
        let intent = self.intent();
        let chosen = match to {
            Some(number) => self.numbered(number)?,
            None => self.usual_roll_back().map_err(|why| match why {
                NoRollBack::NotLoaded => Refusal::NotLoaded(why.to_string().into()),
                NoRollBack::NoneKept => Refusal::NotNow(format!("{why}; `set-image` brings an earlier image")),
                NoRollBack::LeadsToOrigin { .. } => Refusal::NotNow(format!(
                    "{why}{}; to go to another one, name its revision",
                    self.left_to_update_in_words(&intent)
                )),
                NoRollBack::GoesBackAlready { .. } => Refusal::NotNow(format!(
                    "{why}{}; to go to another one, name its revision",
                    self.left_to_go_back_in_words(now)
                )),
                NoRollBack::OriginNotKept { .. } | NoRollBack::GoalNotKept { .. } => Refusal::NotNow(format!(
                    "{why}; `set-image` with the images that it had makes it anew, or name another revision"
                )),
                NoRollBack::RolledBackFrom { .. } | NoRollBack::OnlyHalted { .. } => {
                    Refusal::NotNow(format!("{why}; to go to it again, or to another one, name its revision"))
                }
            })?,
        };
        let is_target = intent.target.as_ref().is_none_or(|target| *target == chosen.hash);
        if chosen.template == daemonset.template && is_target && intent.change.is_none() {
            if self.goal_of_the_roll_back(&intent) == Some(&chosen.hash) {
                let goes = NoRollBack::GoesBackAlready { to: self.number_with_earlier(&chosen.hash) };
                return Err(Refusal::NotNow(format!("{goes}{}", self.left_to_go_back_in_words(now))));
            }
            let left = self.left_to_update_in_words(&intent);
            return Err(Refusal::NotNow(format!("the template already is that of revision {}{left}", chosen.number)));
        }
        let (hash, number) = (chosen.hash.clone(), chosen.number);
        let (change, says) = match self.is_made_later(chosen) {
            true => (Change::LaterRevision(hash), format!("{WENT_TO}{number}{BEFORE_THE_FIRST_STEP}")),
            false => {
                (Change::Revision(hash), format!("{ROLLED_BACK}{number}; nodes that still run it count as updated"))
            }
        };
        Ok(self.resolve_change(change, says, now))
    }

    /// Whether the revision was made after the present one, or after the one that the rollout came from, which most nodes may still run: for those it is no
    /// way back. Where the rollout came from is an earlier revision, also if it was deleted and made anew.
    fn is_made_later(&self, to: &RevisionFact) -> bool {
        let came_from = self.came_from(&self.intent());
        if came_from.as_ref() == Some(&to.hash) {
            return false;
        }
        let before = self.view.current().into_iter().chain(&came_from).filter_map(|hash| self.view.revision(hash));
        before.into_iter().any(|before| before.created_at < to.created_at)
    }

    /// Whether this is an `undo` that leads to a later revision: it begins a rollout there, and rolls nothing back.
    pub(super) fn leads_later(&self, command: &Command) -> bool {
        let Command::Undo { to } = command.inner() else { return false };
        let chosen = match to {
            Some(number) => self.numbered(*number).ok(),
            None => self.usual_roll_back().ok(),
        };
        chosen.is_some_and(|chosen| self.is_made_later(chosen))
    }

    /// Whether a roll back has to be agreed to, the usual one and the one to the target of `before`: what its preview would say of that, without its words.
    pub(crate) fn roll_back_asks(&self, before: &Intent, now: Timestamp) -> RollBackAsks {
        let asks = |to: Option<i64>| {
            let Ok(resolved) = self.resolve_undo(to, now) else { return false };
            let mut after = self.recorded_intent();
            resolved.edits.iter().for_each(|edit| edit.apply(&mut after));
            let after = after.map(Cow::into_owned).unwrap_or_default();
            let command = Command::Undo { to };
            self.lifts_pause(&command, &after).is_some()
                || self.halted_before(&command, &after, now).is_some()
                || self.deletes_at_once(&after)
        };
        let target = before.target.as_ref().and_then(|target| self.view.revision(target));
        let elsewhere = target.filter(|target| self.view.current() != Some(&target.hash));
        RollBackAsks { usual: asks(None), to_target: elsewhere.is_some_and(|target| asks(Some(target.number))) }
    }

    /// What brings the nodes to the target that are not at it, if it is no roll back that an operator waits for; empty if all are, or nothing is recorded.
    fn left_to_update_in_words(&self, intent: &Intent) -> String {
        let left = self.assessment.rows().filter(|row| row.in_fleet && !row.at_target).count();
        if left == 0 || !self.is_recorded() || intent.direction() == Direction::Back {
            return String::new();
        }
        let (nodes, them) =
            if left == 1 { ("1 node is".to_owned(), "it") } else { (format!("{left} nodes are"), "them") };
        match self.is_halted(intent) {
            true => format!(", and {nodes} not at it yet: it is halted, and `resume` goes on past that"),
            false => format!(", and {nodes} not at it yet: `step --to 100%` lets {them} go"),
        }
    }

    /// How far a roll back is that goes on already, and what it needs where it is paused or nobody drives:
    /// `, and 5 nodes are not at it yet: `drive` replaces their pods`.
    fn left_to_go_back_in_words(&self, now: Timestamp) -> String {
        let left = self.assessment.rows().filter(|row| row.in_fleet && !row.at_target).count();
        let is_driven = self.lock.holds() || self.lock.living_other(now).is_some();
        let drive = match left {
            _ if self.intent().paused.is_some() => "; it is paused: `resume` lets it go on",
            _ if is_driven => "",
            0 => ": `drive` ends it",
            1 => ": `drive` replaces its pod",
            _ => ": `drive` replaces their pods",
        };
        match left {
            0 => format!(", and every node is at it{drive}"),
            left => format!(", and {} not at it yet{drive}", counted_are(left)),
        }
    }

    /// The number of a revision, with those that it had before: who goes back to revision 1 does not know that it is revision 3 by now. Its hash where the
    /// number is not known.
    fn number_with_earlier(&self, hash: &Str) -> Str {
        let number = self.view.revision(hash).map(|revision| revision.number);
        number.map_or_else(|| hash.clone(), |number| with_earlier(number, &self.earlier_numbers()).into())
    }

    /// What an operator is told who names the revision to go back to by a number that it had before.
    pub(super) fn former_number_in_words(&self, command: &Command) -> Option<String> {
        let Command::Undo { to: Some(number) } = command.inner() else { return None };
        let meant = self.numbered(*number).ok().filter(|meant| meant.number != *number)?;
        let now = with_earlier(meant.number, &self.earlier_numbers());
        Some(format!("There is no revision {number} any more: it is revision {now}."))
    }

    fn numbered(&self, number: i64) -> Result<&RevisionFact, Refusal> {
        let earlier = self.earlier_numbers();
        let now = present_number(number, self.view.own_revisions().map(|revision| revision.number), &earlier);
        self.view.own_revisions().find(|revision| Some(revision.number) == now).ok_or_else(|| {
            let known: Vec<String> =
                self.newest_first().iter().map(|revision| with_earlier(revision.number, &earlier)).collect();
            let there_are = if known.len() == 1 { "there is only" } else { "there are" };
            Refusal::NotThere(format!("no revision {number}; {there_are} {}", known.join(", ")))
        })
    }

    fn newest_first(&self) -> Vec<&RevisionFact> {
        let mut revisions: Vec<_> = self.view.own_revisions().collect();
        revisions.sort_by_key(|revision| std::cmp::Reverse(revision.number));
        revisions
    }

    /// Where a roll back goes where none is named. A rollout goes back to where it came from. Where none is recorded: to the newest other
    /// revision at which no rollout is known to have halted and of which a node has the images, because one that was set and never let go
    /// has run nowhere; if there is none, to the newest at which no rollout is known to have halted.
    ///
    /// # Errors
    /// Says why none can be meant.
    pub(crate) fn usual_roll_back(&self) -> Result<&RevisionFact, NoRollBack> {
        if self.view.daemonset().is_none() {
            return Err(NoRollBack::NotLoaded);
        }
        let intent = self.intent();
        // The revision before is the one that the rollout goes back from: a second `undo` would lead to the revision that was given
        // up.
        if let (Some(back_to), None, false) = (&intent.back_to, &intent.change, self.is_over()) {
            // It stands, and goes back nowhere, once somebody else has changed the template: to undo that is to go on with the roll back.
            if intent.direction() == Direction::Forward || !self.is_template_of_others(&intent) {
                return Err(NoRollBack::GoesBackAlready { to: self.number_with_earlier(back_to) });
            }
            return self
                .view
                .revision(back_to)
                .ok_or_else(|| NoRollBack::GoalNotKept { hash: back_to.clone(), nodes: self.at_revision(back_to) });
        }
        // The template may be that of this revision already, if somebody else put it back in the middle of the rollout. The newest
        // other revision is then the one that is given up.
        let mut others = self.newest_first();
        others.retain(|revision| Some(&revision.hash) != self.view.current());
        if let Some(came_from) = self.came_from(&intent) {
            return match self.view.revision(&came_from) {
                Some(kept) => Ok(kept),
                None if others.is_empty() => Err(NoRollBack::NoneKept),
                None => {
                    let nodes = self.at_revision(&came_from);
                    Err(NoRollBack::OriginNotKept { hash: came_from, nodes })
                }
            };
        }
        if let Some(target) = self.target_that_all_run(&intent) {
            return Ok(target);
        }
        if let Some(target) = intent.target.as_ref().filter(|target| self.progress.origin.as_ref() == Some(target))
            && !self.is_over()
            && !self.is_template_of_others(&intent)
        {
            return Err(NoRollBack::LeadsToOrigin { to: self.view.number_of(target) });
        }
        let newest = *others.first().ok_or(NoRollBack::NoneKept)?;
        if self.came_back_from(newest) {
            return Err(NoRollBack::RolledBackFrom { number: newest.number });
        }
        let halted = self.halted_revisions();
        let has_run = |revision: &&&RevisionFact| has_images_somewhere(&self.view, &self.assessment, revision);
        let halted = |revision: &&&RevisionFact| halted.contains_key(&revision.hash);
        let well = || others.iter().filter(|revision| !halted(revision));
        let usual = well().find(has_run).or_else(|| well().next());
        usual.copied().ok_or(NoRollBack::OnlyHalted { number: newest.number })
    }

    /// The recorded target, if somebody else has changed the template since and every node runs the target still: the way back from that template, which
    /// has run nowhere, is what the nodes run.
    fn target_that_all_run(&self, intent: &Intent) -> Option<&RevisionFact> {
        let target = intent.target.as_ref().filter(|_| self.is_recorded() && self.is_template_of_others(intent))?;
        let all_run_it = self.assessment.rows().filter(|row| row.in_fleet).all(|row| {
            let pod = row.pod.and_then(|pod| self.view.pod(pod));
            pod.is_some_and(|pod| pod.fact.revision.as_ref() == Some(target))
        });
        self.view.revision(target).filter(|_| all_run_it)
    }

    /// The revision that the recorded rollout came from.
    pub(super) fn came_from(&self, intent: &Intent) -> Option<Str> {
        self.revision_before(intent).filter(|_| self.is_recorded())
    }

    /// Whether all nodes run their revision because `before` was rolled back from: a request for the previous revision does not mean that one. It is so
    /// if their revision was made earlier than `before`, or if by the events that are kept the last rollout went back to their revision: who deletes a
    /// ControllerRevision and sets its template again has it made anew. Never true while a rollout is recorded that is not over, because the record tells where that came from.
    fn came_back_from(&self, before: &RevisionFact) -> bool {
        let Some(current) = self.view.current().and_then(|hash| self.view.revision(hash)) else { return false };
        let came_back =
            before.created_at > current.created_at || last_rolled_back_to(self.event_log.kept()) == Some(&current.hash);
        came_back && self.is_over() && self.assessment.rows().all(|row| !row.old)
    }

    /// The effect of a roll back under `intent` beside that on `nodes`, whose pods are replaced at once: a sentence on the other nodes
    /// that are not at its revision.
    pub(super) fn goes_back_later(&self, intent: &Intent, nodes: &[Str]) -> Option<String> {
        let back = self.going_back(intent);
        let at_once: BTreeSet<&Str> = nodes.iter().collect();
        let later =
            back.rows().filter(|row| row.in_fleet && !row.at_target && !at_once.contains(&self.name(row))).count();
        let (more, that) = if nodes.is_empty() { ("", "that revision") } else { (" more", "it") };
        match later {
            0 => None,
            1 => Some(format!("1 node{more} is not at {that}: it is down, or its pod is going. It follows.")),
            _ => Some(format!(
                "{later} nodes{more} are not at {that}: they are down, or their pods are going. They follow."
            )),
        }
    }

    /// The effect of a roll back on `nodes`, whose pods are replaced. If as many nodes are down already as may be, the text says which
    /// of them go at once.
    pub(super) fn going_back_in_words(&self, intent: &Intent, nodes: &[Str], limits: &Limits) -> String {
        let back = self.going_back(intent);
        // Where the budget is used up, what proves the revision is said with what frees the budget.
        let proof = self.proof_of_the_way_back(intent, &back, nodes).filter(|proof| proof.serving_at_first == 0);
        let pace = self.pace_as_assessed(&back, limits, nodes, proof.map(|proof| proof.stays_up));
        let are = counted_are(nodes.len());
        let pods = if nodes.len() == 1 { "pod is replaced" } else { "pods are replaced, broken ones first" };
        let (its, their) = if nodes.len() == 1 { ("its", "Its") } else { ("their", "Their") };
        match pace.strip_prefix("and ") {
            Some(_) => format!("{are} not at that revision, {pace}. {their} {pods}."),
            None => format!("{are} not at that revision: {its} {pods}, {pace}."),
        }
    }

    /// Which revisions the pods on `nodes` run that a roll back replaces, and how many of them serve:
    /// `These 8 pods run revision 2; 6 of them serve.`, `Of these pods, 4 run revision 2, 2 run revision 3; 6 of them serve.`
    pub(super) fn revisions_that_go(&self, intent: &Intent, nodes: &[Str]) -> Option<String> {
        self.revisions_called(intent, nodes, |hash| self.view.number_of(hash))
    }

    /// [`Self::revisions_that_go`], with each revision called as `call` says.
    pub(super) fn revisions_called(
        &self,
        intent: &Intent,
        nodes: &[Str],
        call: impl Fn(&Str) -> Str,
    ) -> Option<String> {
        let back = self.going_back(intent);
        let goes: BTreeSet<&Str> = nodes.iter().collect();
        let mut runs: BTreeMap<(Option<i64>, Str), u32> = BTreeMap::new();
        let mut serving = 0_u32;
        for row in back.rows().filter(|row| goes.contains(&self.name(row))) {
            let pod = row.pod.and_then(|pod| self.view.pod(pod));
            if let Some(hash) = pod.and_then(|pod| pod.fact.revision.clone()) {
                let number = self.view.revision(&hash).map(|revision| revision.number);
                *runs.entry((number, hash)).or_default() += 1;
                serving += u32::from(row.ready);
            }
        }
        let total: u32 = runs.values().sum();
        let named = runs.iter().map(|((_, hash), count)| {
            let verb = if *count == 1 { "runs" } else { "run" };
            format!("{count} {verb} revision {}", call(hash))
        });
        let serve = match serving {
            0 => "none of them serves".to_owned(),
            1 => "1 of them serves".to_owned(),
            serving => format!("{serving} of them serve"),
        };
        match (runs.keys().next(), runs.len(), total) {
            (None, _, _) => None,
            (Some((_, hash)), 1, 1) => {
                let serves = if serving == 1 { "serves" } else { "does not serve" };
                Some(format!("Its pod runs revision {} and {serves}.", call(hash)))
            }
            (Some((_, hash)), 1, total) => {
                let serve = if serving == total { "all of them serve".to_owned() } else { serve };
                Some(format!("These {total} pods run revision {}; {serve}.", call(hash)))
            }
            _ => Some(format!("Of these pods, {}; {serve}.", named.collect::<Vec<_>>().join(", "))),
        }
    }

    /// A warning if no pod of the revision that is rolled back to is available, and the line about the budget does not say so already
    /// ([`Self::going_back_in_words`]).
    pub(super) fn unproven_back_in_words(&self, intent: &Intent, nodes: &[Str]) -> Option<String> {
        let back = self.going_back(intent);
        let limits = Limits::of(&self.view, intent, &back);
        let ProofOfTheWayBack { serving_at_first, first_of_all, stays_up } =
            self.proof_of_the_way_back(intent, &back, nodes)?;
        let at_first = match serving_at_first {
            0 if self.waits_for_the_budget(&back, &limits, nodes) => return None,
            0 => "no pod that serves is replaced before one of the new pods".to_owned(),
            pods => {
                let pods =
                    if pods == 1 { "1 pod that serves is".to_owned() } else { format!("{pods} pods that serve are") };
                let which = if first_of_all { "those" } else { "the new pods" };
                format!("{pods} replaced at first, the others once one of {which}")
            }
        };
        Some(format!("No node shows now that this revision works: {at_first} has stayed up for {stays_up}."))
    }

    /// What holds pods on `nodes` that serve on the way to a revision of which no pod is available. The plan (`assess/plan/unproven.rs`) then gives it to
    /// no more nodes than may be down before one of them has stayed up. This does not hold back pods that do not serve: they go first, and are counted
    /// with those. `None` where it holds nothing.
    fn proof_of_the_way_back(&self, intent: &Intent, back: &Assessment, nodes: &[Str]) -> Option<ProofOfTheWayBack> {
        let most = Limits::of(&self.view, intent, back).max_unavailable.max(1);
        let proven = back.rows().any(|row| row.in_fleet && row.at_target && row.available && row.restarted.is_none());
        let goes: BTreeSet<&Str> = nodes.iter().collect();
        let (mut serving, mut others) = (0_u32, 0_u32);
        for row in back.rows().filter(|row| goes.contains(&self.name(row))) {
            *(if row.ready { &mut serving } else { &mut others }) += 1;
        }
        let before = put_back(back) + others;
        let serving_at_first = most.saturating_sub(before);
        let stays_up = ShortDuration(proven_after(&intent.gates));
        (!proven && serving > serving_at_first).then_some(ProofOfTheWayBack {
            serving_at_first,
            first_of_all: before == 0,
            stays_up,
        })
    }

    /// A warning if a roll back leads to a revision of which no node is known to have the images. There is none if pods pull their
    /// images anew each time, because the images on a node then tell nothing.
    pub(super) fn never_ran(&self, command: &Command, intent: &Intent) -> Option<String> {
        let (Command::Undo { .. }, Some(hash)) = (command, goal(intent)) else { return None };
        let revision = self.view.revision(hash).filter(|revision| !self.view.pulls_any_again(&revision.template))?;
        let images = images_of_revision(&self.view, &self.assessment, revision);
        if images.present > 0 || images.nodes == 0 {
            return None;
        }
        let has = if images.absent == images.nodes { "has" } else { "is known to have" };
        let what = match images.only_image() {
            Some(image) => format!("{image}, the image of revision {}", revision.number),
            None => format!("all images of revision {}", revision.number),
        };
        Some(format!("No node {has} {what}: it may never have run here."))
    }

    /// A warning if a command leads to a revision at which the rollout halted, as far as that is known: from the record while the halt
    /// stands, later only from Events that are kept. The command is a roll back, an image that makes the template equal to that of a
    /// known revision, or the pre-warming of images that only such revisions have.
    pub(super) fn halted_before(&self, command: &Command, intent: &Intent, now: Timestamp) -> Option<String> {
        let revision = match (command, &intent.change) {
            (Command::Undo { .. }, _) => self.view.revision(goal(intent)?)?,
            (Command::SetImage(_), Some(change)) => {
                let wanted = self.view.template_with(change).ok()?;
                self.view.own_revisions().find(|revision| revision.template == wanted)?
            }
            (Command::Prewarm(PrewarmCommand::Start { source, .. }), _) => {
                self.last_halted_with(&self.template_to_prewarm(source).ok()?.images())?
            }
            _ => return None,
        };
        let RevisionHalt { at, why, from_event } = self.halted_revisions().remove(&revision.hash)?;
        let told = if from_event { "As an Event says, the" } else { "The" };
        let when = UtcTime { at, now };
        // Whoever names an image does not know the number that its revision had.
        let same = match command {
            Command::SetImage(_) => " It had this template.",
            Command::Prewarm(_) => " It had these images.",
            _ => "",
        };
        Some(format!("{told} rollout halted at revision {}, at {when}: {why}.{same}", revision.number))
    }

    /// The revision with these images at which the rollout halted last; `None` if it did not halt at each revision that has them.
    fn last_halted_with(&self, images: &[Str]) -> Option<&RevisionFact> {
        let halted = self.halted_revisions();
        let with = || self.view.own_revisions().filter(|revision| revision.template.images() == *images);
        let all = with().all(|revision| halted.contains_key(&revision.hash));
        let last = with().max_by_key(|revision| halted.get(&revision.hash).map(|halt| halt.at));
        last.filter(|_| all)
    }

    /// A warning if a roll back replaces pods although the container that fails is in no template: the new pods of the earlier revision
    /// get it, too.
    pub(super) fn rolls_back_in_vain(&self, command: &Command) -> Option<String> {
        let Command::Undo { .. } = command.inner() else { return None };
        if self.leads_later(command) {
            return None;
        }
        let failed = || self.assessment.rows().filter(|row| row.in_fleet && row.failure);
        let container = failed().find_map(|row| self.injected(row))?;
        let nodes = failed().filter(|row| self.injected(row).is_some()).count();
        let nodes = if nodes == 1 { "1 node".to_owned() } else { format!("{nodes} nodes") };
        let any_serves = self.assessment.rows().any(|row| row.in_fleet && row.ready);
        let serving = if any_serves { ", also in place of pods that serve" } else { "" };
        Some(format!(
            "What fails on {nodes} is {container}, which is not in the template: something adds it to each pod that is created. Pods \
             of that revision get it too{serving}. Whoever adds it has to correct it first."
        ))
    }
}

/// How a roll back goes on to a revision that no node has shown to work.
struct ProofOfTheWayBack {
    /// How many pods that serve are replaced before one has stayed up.
    serving_at_first: u32,
    /// Whether those are the first that get the revision.
    first_of_all: bool,
    /// For how long.
    stays_up: ShortDuration,
}

/// The revision that an `undo` leads to, after which the intent is `after`.
pub(super) fn goal(after: &Intent) -> Option<&Str> {
    after.change.as_ref().and_then(Change::revision).or(after.target.as_ref())
}
