//! A rollout's record: the state that outlives every console, kept as one annotation on one Lease.
//!
//! It has two parts, like spec and status. The [`Intent`] holds the wishes of operators; anyone with permission edits it, by
//! compare-and-swap. The [`Progress`] holds findings of the driver that the cluster cannot tell again; only the holder of the lease
//! writes it. Neither part grows with the fleet, because only exceptions and clocks are stored.
//!
//! An older rolldeck that writes the record keeps the fields that a newer one added ([`unknown`]).

mod begun_anew;
mod change;
mod evicted;
mod gate_marks;
mod halt;
mod paused;
mod refused;
mod requested_change;
pub(crate) mod size;
mod unknown;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize, Serializer};

use super::Str;
use super::labels::Selector;
use super::quantity::{IntOrPercent, Rounding};
use super::settings::{Finish, NodeOrder, Policies, PrewarmAhead, Settings, Steps, Tuning};
use super::time::Timestamp;

use super::settings::{Budgets, Gates, OnDrift};

pub use self::begun_anew::BegunAnew;
pub use self::change::Change;
pub use self::evicted::{EVICTED_LIMIT, EvictedBefore};
pub use self::gate_marks::GateMarks;
pub use self::halt::Halt;
pub(crate) use self::paused::NOT_ADMITTED;
pub use self::paused::{Paused, TunedSince};
pub use self::refused::{RefusedDeletion, RefusedWrite};
pub use self::requested_change::{ChangeOutcome, RequestedChange};
pub use self::size::{ACCEPTED_LIMIT, EXCEPTIONS_LIMIT};
pub use self::unknown::UnknownFields;
pub use super::settings::HaltingGate;

/// Annotation of the DaemonSet: the `updateStrategy` that it had before rolldeck took over, as JSON.
pub const ORIGINAL_STRATEGY: &str = "rolldeck.io/original-update-strategy";
/// Annotation of the DaemonSet while a change of the template is being made: the identifier of the change and the generation to which
/// it leads, as `ID/GENERATION`. A driver recognises the resulting template by it, even if admission has changed the template.
pub const CHANGE: &str = "rolldeck.io/change";
/// Annotation of the Lease: the [`Record`], as JSON.
pub const RECORD: &str = "rolldeck.io/rollout";
/// Label of every Lease of ours, by which a fleet view finds them.
pub const MANAGED_BY: (&str, &str) = ("app.kubernetes.io/managed-by", "rolldeck");
/// The name that is recorded as the actor when the driver acts by itself.
pub(crate) const OURSELVES: &str = "rolldeck";
/// The most bytes that a serialized record may take: a quarter of the limit that all annotations of an object share.
pub const RECORD_LIMIT: usize = 64 * 1024;
/// The most suspects that are stored: many more than it takes to halt.
pub const SUSPECTS_LIMIT: usize = 60;
/// The most sites for which the record counts the nodes that went down.
pub const SITES_LIMIT: usize = 20;

/// The name of the Lease for a DaemonSet called `daemonset`.
///
/// It carries a prefix, because components often elect their own leader under their own name.
pub fn lease_name(daemonset: &str) -> String {
    format!("rolldeck-{daemonset}")
}

/// The record of one rollout.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// The format's version; this code writes and reads 1.
    pub version: u32,
    /// `metadata.uid` of the DaemonSet of this record; the record says nothing of another DaemonSet of the same name. `None` in records
    /// of an older rolldeck: they are believed, and get the uid with the next write.
    #[serde(default)]
    pub daemonset_uid: Option<Str>,
    /// The wishes of operators.
    pub intent: Intent,
    /// The findings of the driver.
    #[serde(default)]
    pub progress: Progress,
    /// Identifiers of the last writes that carried edits, oldest first, at most [`Record::WRITE_IDS`]. A process that lost the
    /// answer to its write finds here whether it took effect, even if others have written the record since.
    #[serde(default)]
    pub write_ids: Vec<Str>,
    /// Fields that a newer rolldeck wrote and this one does not know.
    #[serde(skip)]
    pub unknown: UnknownFields,
}

/// A [`Record`] as far as this code knows its fields.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct KnownFields<'a> {
    version: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    daemonset_uid: Option<&'a Str>,
    intent: &'a Intent,
    progress: &'a Progress,
    #[serde(skip_serializing_if = "<[Str]>::is_empty")]
    write_ids: &'a [Str],
}

impl Serialize for Record {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let known = self.known_fields();
        if self.unknown.is_empty() {
            return known.serialize(serializer);
        }
        let mut all = serde_json::to_value(known).map_err(serde::ser::Error::custom)?;
        self.unknown.put_into(&mut all);
        all.serialize(serializer)
    }
}

impl Record {
    /// The version that this code writes.
    pub const VERSION: u32 = 1;
    /// How many write ids are kept.
    pub const WRITE_IDS: usize = 8;

    /// Reads a record.
    ///
    /// # Errors
    /// The text says what is wrong with the record, or that a newer rolldeck wrote it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let unreadable = |error: serde_json::Error| format!("annotation {RECORD}: {error}");
        if text.len() > RECORD_LIMIT {
            return Err(format!("annotation {RECORD} takes {} bytes, more than {RECORD_LIMIT}", text.len()));
        }
        let mut record: Self = serde_json::from_str(text).map_err(unreadable)?;
        if record.version != Self::VERSION {
            return Err(format!(
                "annotation {RECORD} has version {}, this rolldeck reads {}: use the rolldeck that wrote it",
                record.version,
                Self::VERSION
            ));
        }
        // Most records were written by this version and need no search for unknown fields.
        let known = serde_json::to_string(&record.known_fields()).map_err(unreadable)?;
        if known != text {
            let known = serde_json::to_value(record.known_fields()).map_err(unreadable)?;
            record.unknown = UnknownFields::of(&serde_json::from_str(text).map_err(unreadable)?, &known);
            let (size, most) = (record.unknown.size(), size::UNKNOWN_LIMIT);
            if size > most {
                return Err(format!(
                    "annotation {RECORD} has {size} bytes that this rolldeck does not know, more than {most}: use the \
                     rolldeck that wrote it"
                ));
            }
        }
        Ok(record)
    }

    fn known_fields(&self) -> KnownFields<'_> {
        let Self { version, daemonset_uid, intent, progress, write_ids, unknown: _ } = self;
        KnownFields { version: *version, daemonset_uid: daemonset_uid.as_ref(), intent, progress, write_ids }
    }
}

/// The wishes of operators for a rollout.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Intent {
    /// A change of the template that the driver has still to make.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<Change>,
    /// Data about `change`: its identifier, and the partition and the pause that the rollout had before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requested_change: Option<RequestedChange>,
    /// The outcome of the last change that was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<ChangeOutcome>,
    /// Hash of the revision that is being rolled out, once its ControllerRevision exists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Str>,
    /// Hash of the revision to which the rollout last went back, written together with the template. Only while this hash is the
    /// target does the rollout go back: broken nodes first, regardless of partition and selector (see [`Intent::direction`]).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub back_to: Option<Str>,
    /// The steps of the plan: how many nodes are updated in total after each.
    pub steps: Steps,
    /// How many pods stay at the old revision. 100 % at first: nothing moves until the first step.
    pub partition: IntOrPercent,
    /// The number of nodes to be updated in total, where the last step was given so and left some out. The partition was computed from the nodes that there were
    /// then: where nodes with old pods come back later, such as after a maintenance, it would let that many more go.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_in_total: Option<u32>,
    /// Which nodes may be updated; all when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<Selector>,
    /// Set while paused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused: Option<Paused>,
    /// How many nodes may be taken down, and how many may pull, at once.
    pub budgets: Budgets,
    /// The conditions under which a rollout counts as failed.
    pub gates: Gates,
    /// The driver's action once every node is at the target.
    pub finish: Finish,
    /// Set once the DaemonSet is to be handed back to its controller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub releasing: Option<By>,
    /// While [`Self::releasing`] is set: the hash of the revision that the template had when that was decided, where it was known. If the template changes before
    /// the DaemonSet is handed back, nobody has agreed that its controller rolls the other one out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub release_of: Option<Str>,
    /// Set when somebody asks the holder to hand over the lease.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handover: Option<By>,
    /// Halts up to this number have been seen by an operator, who resumed.
    pub acknowledged_halt: u32,
    /// Nodes that failed after that halt while nobody drove, so that no driver named them in the halt. The operator who resumed saw
    /// these failures as well. At most [`ACCEPTED_LIMIT`].
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub accepted: BTreeSet<Str>,
    /// The driver's reaction when somebody changes the strategy back while the rollout runs.
    pub on_drift: OnDrift,
    /// The order in which nodes of several sites are updated.
    #[serde(default, skip_serializing_if = "NodeOrder::is_default")]
    pub order: NodeOrder,
    /// The nodes that get the images before they may be updated, without a command that asks for it.
    #[serde(default, skip_serializing_if = "PrewarmAhead::is_default")]
    pub prewarm: PrewarmAhead,
    /// Set if this record replaces one of the same rollout that was lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun_anew: Option<BegunAnew>,
}

impl Default for Intent {
    fn default() -> Self {
        Self {
            change: None,
            requested_change: None,
            outcome: None,
            target: None,
            back_to: None,
            steps: Steps::default(),
            partition: IntOrPercent::Percent(100),
            updated_in_total: None,
            selector: None,
            paused: None,
            budgets: Budgets::default(),
            gates: Gates::default(),
            finish: Finish::default(),
            releasing: None,
            release_of: None,
            handover: None,
            acknowledged_halt: 0,
            accepted: BTreeSet::new(),
            on_drift: OnDrift::default(),
            order: NodeOrder::default(),
            prewarm: PrewarmAhead::default(),
            begun_anew: None,
        }
    }
}

impl Intent {
    /// The number of seconds for which a new pod has to be ready before it counts as available, in addition to `minReadySeconds`. It is
    /// 0 while the rollout goes back, because going back waits for no gate.
    pub fn soak_secs(&self) -> u32 {
        match self.direction() {
            Direction::Forward => self.gates.soak_secs.0,
            Direction::Back => 0,
        }
    }

    /// Whether the limits of an earlier record of this rollout were lost, and nobody has set any since.
    pub fn has_lost_limits(&self) -> bool {
        self.begun_anew.as_ref().is_some_and(|begun| !begun.limits_set)
    }

    /// The settings of this intent.
    pub fn settings(&self) -> Settings {
        let Self { budgets, gates, steps, prewarm, on_drift, order, finish, .. } = self;
        let policies =
            Policies { steps: steps.clone(), prewarm: *prewarm, on_drift: *on_drift, order: *order, finish: *finish };
        Settings { budgets: budgets.clone(), gates: *gates, policies }
    }

    /// Changes the settings that `tuning` names.
    pub(crate) fn tune(&mut self, tuning: &Tuning) {
        let mut settings = self.settings();
        tuning.apply_to(&mut settings);
        let Settings { budgets, gates, policies: Policies { steps, prewarm, on_drift, order, finish } } = settings;
        (self.steps, self.prewarm) = (steps, prewarm);
        (self.budgets, self.gates) = (budgets, gates);
        (self.on_drift, self.order, self.finish) = (on_drift, order, finish);
        if let Some(begun) = self.begun_anew.as_mut().filter(|_| !tuning.is_empty()) {
            begun.limits_set = true;
        }
    }

    /// Whether a node has to have its images before its update. The way back waits for no gate.
    pub(crate) fn requires_images(&self) -> bool {
        self.direction().requires_images(&self.gates)
    }

    /// How many of `nodes` keep their old pod.
    pub(crate) fn kept_of(&self, nodes: u32) -> u32 {
        let kept = match self.direction() {
            Direction::Forward => self.partition.of(nodes, Rounding::Down).min(nodes),
            Direction::Back => return 0,
        };
        self.updated_in_total.map_or(kept, |total| kept.max(nodes.saturating_sub(total)))
    }

    /// Whether the partition keeps more nodes than there are. They were there when it was set, and have been deleted, relabelled or tainted since. On
    /// the way back it keeps none.
    pub(crate) fn keeps_more_than(&self, nodes: u32) -> bool {
        self.direction() == Direction::Forward && self.partition.of(nodes, Rounding::Down) > nodes
    }

    /// The direction of the rollout: back only while the target is the revision in `back_to`.
    pub fn direction(&self) -> Direction {
        match (&self.back_to, &self.target) {
            (Some(back_to), Some(target)) if back_to == target => Direction::Back,
            _ => Direction::Forward,
        }
    }
}

/// Which way a rollout goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Direction {
    /// To a new revision, by the plan.
    #[default]
    Forward,
    /// Back to an earlier one: every node, broken ones first.
    Back,
}

impl Direction {
    /// Whether under these gates a node has to have its images before its update.
    pub(crate) fn requires_images(self, gates: &Gates) -> bool {
        match self {
            Self::Forward => gates.require_image,
            Self::Back => false,
        }
    }
}

impl By {
    /// Whether the request is recorded as rolldeck's own and not as an operator's.
    pub fn is_rolldeck(&self) -> bool {
        *self.by == *OURSELVES
    }
}

/// Who asked, and when by their clock.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct By {
    /// Who.
    pub by: Str,
    /// When.
    pub at: Timestamp,
}

/// Findings of the driver that the cluster cannot tell again.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Progress {
    /// When the rollout began, by the API server's clock as far as the first driver knew it: what other drivers compare it with are times of pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// Hash of the revision that the rollout leads to, as far as this progress is about it. Where [`Intent::target`] is another one, an operator has
    /// resumed with somebody else's template since: then a rollout begins, and nothing that was accepted or seen is about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Str>,
    /// Hash of the revision that most nodes had when the rollout began. Pods at another revision were put there by the rollout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<Str>,
    /// Whether the DaemonSet was seen adopted. From then on, a strategy other than `OnDelete` is a drift: somebody else set it.
    pub adopted: bool,
    /// Whether the strategy has drifted and the pause or enforcement for this drift is done; cleared when the DaemonSet is adopted
    /// again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub drifted: bool,
    /// Drifts of the strategy.
    #[serde(skip_serializing_if = "StrategyDrifts::is_empty")]
    pub drifts: StrategyDrifts,
    /// Nodes that were down before the rollout began, each with the time since when it was down.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub down_before: BTreeMap<Str, Timestamp>,
    /// When the rollout began (or somewhat earlier), by the API server's clock; set if the record had no room for all names in
    /// `down_before`. A node that the cluster shows as down since before that instant was down before the rollout, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out_since: Option<Timestamp>,
    /// Nodes whose pod the driver deleted, or was about to delete, and that have not been seen well at the target since. The driver
    /// writes a node here before it sends the deletion, so that the next driver knows that the rollout took the pod down.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub in_progress: BTreeSet<Str>,
    /// Nodes whose pod the API server refuses to delete, as many as there is room for.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub refused: BTreeMap<Str, RefusedDeletion>,
    /// The write of the DaemonSet, or the deletion of pods in general, that the API server refuses, and for which the rollout waits. It outlives the driver, so
    /// that whoever looks next learns why the rollout stands still.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused_write: Option<RefusedWrite>,
    /// The revision, by its hash, of which a pod was tried before the first one was replaced, whatever the API server said. It is not tried again: an operator may have
    /// resumed past that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tried: Option<Str>,
    /// Since when the DaemonSet's controller has had work and has done none, by the driver's clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_since: Option<Timestamp>,
    /// The halt that stands, or the last one that stood.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub halt: Option<Halt>,
    /// Nodes whose failure an operator accepted by a resume: they do not halt the rollout again until they have recovered (see
    /// `keep_exceptions`).
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub acknowledged_failures: BTreeSet<Str>,
    /// Nodes that went down after their update: those that are down, and those that were down lately. At most [`SUSPECTS_LIMIT`].
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub suspects: BTreeMap<Str, WentDown>,
    /// By the site of each updated node that went down (an empty name stands for the whole fleet): how many other nodes of that site
    /// went down lately, oldest first. At most [`SITES_LIMIT`] sites, each with at most one entry per two minutes of the last ten.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub others_down: BTreeMap<Str, Vec<Fell>>,
    /// By node: the evictions of its pods before the present one, as long as that one is watched for them. At most [`EVICTED_LIMIT`], those of which the
    /// most pods were evicted.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub evicted: BTreeMap<Str, EvictedBefore>,
    /// Instants and counts that gates keep from one driver to the next.
    #[serde(skip_serializing_if = "GateMarks::is_empty")]
    pub marks: GateMarks,
    /// The identity of the process that drives or drove last; one-shot commands, which hold the Lease only for their own write, are not named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver: Option<Str>,
    /// Why the last driver stopped by itself, until somebody drives again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver_stopped: Option<DriverStopped>,
    /// Hash of the revision that every node reached, if the record stays afterwards (`finish=keep`). It keeps the end from being
    /// reported twice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed: Option<Str>,
    /// The strategy that a release restores: a copy of annotation [`ORIGINAL_STRATEGY`] of the DaemonSet. Somebody may remove the
    /// annotation while `OnDelete` stays; without this copy, the original strategy would then be lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original_strategy: Option<Str>,
}

/// A node that went down after its update. Instants are by the API server's clock, as far as it is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WentDown {
    /// When it went down last.
    pub fell_at: Timestamp,
    /// When it came back after that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back_at: Option<Timestamp>,
    /// How often it went down by itself, without others of its site. Not counted: what happened in the course of its update, if its kubelet said so itself.
    pub falls: u32,
    /// Whether the node went down again and again before its update as well, so that its falls say nothing of the update. Only an
    /// engine that watched the node before the update has seen this.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub flaps: bool,
    /// Whether it last went down in the course of its update, and its kubelet said so itself all the time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_update: bool,
}

/// Nodes that went down at about the same time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Fell {
    /// When the first of them went down, by the API server's clock.
    pub at: Timestamp,
    /// How many nodes went down.
    pub nodes: u32,
}

impl Progress {
    /// The nodes that had failed at the halt, as long as nobody has resumed past it.
    pub(crate) fn failed_at_halt(&self) -> &[Str] {
        self.halt.as_ref().map_or(&[], Halt::failed)
    }

    /// Whether the driver that halted saw this node fail, whether or not an operator has resumed past the halt. The grace of the node's
    /// trouble was over at the halt; an engine that was started later cannot have seen that.
    pub(crate) fn has_failed(&self, node: &Str) -> bool {
        self.failed_at_halt().contains(node) || self.acknowledged_failures.contains(node)
    }
}

/// Why a driver stopped driving by itself: its terminal hung, nobody took its output.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DriverStopped {
    /// Who drove: the person, not the process.
    pub by: Str,
    /// When, by their clock.
    pub at: Timestamp,
    /// Why, in words.
    pub why: Str,
}

/// Drifts of the strategy: those after which `OnDelete` was set again, and between which instants the last one stood.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StrategyDrifts {
    /// The times of the drifts that belong to one fight; no more of them than the number at which the driver gives up.
    pub lately: Vec<Timestamp>,
    /// Who set the strategy the last time, as `managedFields` names them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<Str>,
    /// When a driver noticed the last drift. From then on the DaemonSet's controller replaced pods by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// When a driver saw `OnDelete` set again after that; `None` if none has seen it yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

impl StrategyDrifts {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::model::settings::Setting;

    #[test]
    fn an_intent_in_plain_words_round_trips() {
        let record = Record {
            version: Record::VERSION,
            intent: Intent {
                change: Some(Change::Images([("agent".to_owned(), "agent:v2".parse().unwrap())].into())),
                selector: Some("canary=true".parse().unwrap()),
                partition: IntOrPercent::Int(18),
                ..Intent::default()
            },
            write_ids: vec!["00c0ffee".into()],
            ..Record::default()
        };
        let text = serde_json::to_string(&record).unwrap();
        assert!(text.contains(r#""change":{"images":{"agent":"agent:v2"}}"#), "{text}");
        assert!(text.contains(r#""selector":"canary=true""#), "{text}");
        assert_eq!(Record::parse(&text), Ok(record));
    }

    #[test]
    fn a_record_from_the_future_is_refused_not_guessed() {
        let why = Record::parse(r#"{"version":2,"intent":{}}"#).unwrap_err();
        assert!(why.contains("version 2"), "{why}");
        assert!(Record::parse("{").is_err());
    }

    /// A record that was written before a setting existed is read by a program that has the setting.
    #[test]
    fn a_setting_that_the_record_does_not_have_has_its_default() {
        let mut written = Intent::default();
        Setting::ALL.iter().for_each(|setting| written.tune(&setting.another()));
        let written = serde_json::to_value(&written).unwrap();
        for missing in Setting::ALL {
            let words = missing.field().split('_').enumerate();
            let key: String = words
                .map(|(nth, word)| if nth == 0 { word.to_owned() } else { word[..1].to_uppercase() + &word[1..] })
                .collect();
            let mut intent = written.clone();
            let places = ["/budgets", "/gates", ""];
            let taken = places.iter().filter_map(|place| intent.pointer_mut(place)?.as_object_mut()?.remove(&key));
            assert_eq!(taken.count(), 1, "{missing:?} is not recorded as `{key}`");
            let text = serde_json::json!({"version": Record::VERSION, "intent": intent}).to_string();
            let read = Record::parse(&text).unwrap().intent.settings();
            for setting in Setting::ALL {
                let default = setting.value(&Settings::default());
                let set = setting.value_in(&setting.another()).unwrap();
                let wanted = if setting == missing { default } else { set };
                assert_eq!(setting.value(&read), wanted, "{setting:?} of a record without {missing:?}");
            }
        }
    }

    #[test]
    fn an_empty_intent_holds_everything() {
        let record = Record::parse(r#"{"version":1,"intent":{}}"#).unwrap();
        assert_eq!(record.intent.partition, IntOrPercent::Percent(100));
    }
}
