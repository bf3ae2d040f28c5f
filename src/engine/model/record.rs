//! A rollout's record: what survives every console, kept as one annotation on one Lease.
//!
//! It has two parts, like spec and status. The [`Intent`] is what operators want; anyone with permission edits it, by
//! compare-and-swap. The [`Progress`] is what the driver learnt and the cluster cannot tell again; only the holder of
//! the lease writes it. Neither grows with the fleet: only exceptions and clocks are stored.
//!
//! Fields that a newer rolldeck added survive what an older one writes ([`unknown`]).

mod gate_marks;
mod halt;
pub(crate) mod size;
mod unknown;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize, Serializer};

use super::Str;
use super::image::ImageRef;
use super::labels::Selector;
use super::quantity::IntOrPercent;
use super::settings::{Finish, NodeOrder, Policies, PrewarmAhead, Settings, Steps, Tuning};
use super::time::Timestamp;

use super::settings::{Budgets, Gates, OnDrift};

pub use self::gate_marks::GateMarks;
pub use self::halt::Halt;
pub use self::size::{ACCEPTED_LIMIT, EXCEPTIONS_LIMIT};
pub use self::unknown::UnknownFields;
pub use super::halting_gate::HaltingGate;

/// Annotation of the DaemonSet: the `updateStrategy` that it had before rolldeck took over, as JSON.
pub const ORIGINAL_STRATEGY: &str = "rolldeck.io/original-update-strategy";
/// Annotation of the DaemonSet while a change of the template is being made: which change, and the generation that it leads
/// to, as `ID/GENERATION`. By it a driver recognises the template that resulted, even if admission has changed it.
pub const CHANGE: &str = "rolldeck.io/change";
/// Annotation of the Lease: the [`Record`], as JSON.
pub const RECORD: &str = "rolldeck.io/rollout";
/// Label of every Lease of ours, by which a fleet view finds them.
pub const MANAGED_BY: (&str, &str) = ("app.kubernetes.io/managed-by", "rolldeck");
/// Who acts when the driver does something by itself.
pub(crate) const OURSELVES: &str = "rolldeck";
/// The most a serialized record may take, in bytes: a quarter of what all annotations of an object share.
pub const RECORD_LIMIT: usize = 64 * 1024;
/// The most suspects that are stored: many more than it takes to halt.
pub const SUSPECTS_LIMIT: usize = 60;
/// The most sites of which it is stored how many nodes went down.
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
    /// `metadata.uid` of the DaemonSet that it is about: of another one of the same name it says nothing. `None` in records
    /// of an older rolldeck: those are believed, and get it with the next write.
    #[serde(default)]
    pub daemonset_uid: Option<Str>,
    /// What operators want.
    pub intent: Intent,
    /// What the driver learnt.
    #[serde(default)]
    pub progress: Progress,
    /// Identifiers of the last writes that carried edits, oldest first, at most [`Record::WRITE_IDS`]. A process that lost the
    /// answer to its write finds here whether it took effect, even if others have written the record since.
    #[serde(default)]
    pub write_ids: Vec<Str>,
    /// What a newer rolldeck wrote beside all that.
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
    /// Says what is wrong with it, or that a newer rolldeck wrote it.
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
        // Most were written by this version.
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

/// What operators want of a rollout.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Intent {
    /// A change of the template that the driver has still to make.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<Change>,
    /// What goes with `change`: its identifier, and what it is measured against.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requested_change: Option<RequestedChange>,
    /// What became of the last change that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<ChangeOutcome>,
    /// Hash of the revision that is being rolled out, once its ControllerRevision exists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Str>,
    /// Hash of the revision that was last gone back to, written when the template was. The rollout goes back, broken nodes
    /// first and ignoring partition and selector, only while this is the target: see [`Intent::direction`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub back_to: Option<Str>,
    /// The steps of the plan: how many nodes are updated in total after each.
    pub steps: Steps,
    /// How many pods stay at the old revision. 100 % at first: nothing moves until the first step.
    pub partition: IntOrPercent,
    /// Which nodes may be updated; all when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<Selector>,
    /// Set while paused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused: Option<Paused>,
    /// What may be taken down and pulled at once.
    pub budgets: Budgets,
    /// When a rollout has failed.
    pub gates: Gates,
    /// What happens when every node is at the target.
    pub finish: Finish,
    /// Set once the DaemonSet is to be handed back to its controller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub releasing: Option<By>,
    /// Set when somebody asks the holder to hand over the lease.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handover: Option<By>,
    /// Halts up to this number have been seen by an operator, who resumed.
    pub acknowledged_halt: u32,
    /// Nodes that failed after that halt, where nobody drove who would have named them in it: who resumed saw them, too. At most
    /// [`ACCEPTED_LIMIT`].
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub accepted: BTreeSet<Str>,
    /// What happens when somebody changes the strategy back while the rollout runs.
    pub on_drift: OnDrift,
    /// In which order nodes of several sites go.
    #[serde(default, skip_serializing_if = "NodeOrder::is_default")]
    pub order: NodeOrder,
    /// Which nodes get the images before they may be updated, without being asked for.
    #[serde(default, skip_serializing_if = "PrewarmAhead::is_default")]
    pub prewarm: PrewarmAhead,
    /// Set where this record was begun after an earlier one of the same rollout was lost.
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
            selector: None,
            paused: None,
            budgets: Budgets::default(),
            gates: Gates::default(),
            finish: Finish::default(),
            releasing: None,
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
    /// For how many seconds a new pod has to be ready before it counts as available, beside `minReadySeconds`. Going back waits
    /// for no gate, so not for this either.
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

    /// What is set.
    pub fn settings(&self) -> Settings {
        let Self { budgets, gates, steps, prewarm, on_drift, order, finish, .. } = self;
        let policies =
            Policies { steps: steps.clone(), prewarm: *prewarm, on_drift: *on_drift, order: *order, finish: *finish };
        Settings { budgets: budgets.clone(), gates: *gates, policies }
    }

    /// Changes what `tuning` names.
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

    /// Which way the rollout goes: back only while the target is the revision that was asked back to.
    pub fn direction(&self) -> Direction {
        match (&self.back_to, &self.target) {
            (Some(back_to), Some(target)) if back_to == target => Direction::Back,
            _ => Direction::Forward,
        }
    }
}

/// What goes with a change that is still to be made.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestedChange {
    /// Tells this change from any other.
    pub id: Str,
    /// The partition that it had before everything was held for this change, and has again when the change is refused,
    /// unless somebody stepped meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition_before: Option<IntOrPercent>,
}

/// What became of a change.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChangeOutcome {
    /// Which.
    pub id: Str,
    /// Why it was not made; absent: it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<Str>,
}

/// A change of the template.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Change {
    /// New images, by container name (`*`: all main containers).
    Images(BTreeMap<String, ImageRef>),
    /// The template of the ControllerRevision with this hash.
    Revision(Str),
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

/// Who paused, and why.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Paused {
    /// Who.
    pub by: Str,
    /// When, by their clock.
    pub at: Timestamp,
    /// Why, in their words or ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<Str>,
    /// Somebody else than `by` has given a reason since, which `why` ends with.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub others: bool,
    /// It has stopped the DaemonSet's own controller, which was replacing pods or might have been.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub brakes: bool,
    /// The revision (its hash) of the template that somebody else made last, as far as it is told in `why` or in an Event. `None` where the
    /// template has been that of the target as long as it is paused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<Str>,
}

impl Paused {
    /// A pause by one, and for a reason that has nothing to do with the template.
    pub fn new(by: Str, at: Timestamp, why: Option<Str>) -> Self {
        Self { by, at, why, others: false, brakes: false, template: None }
    }

    /// Whether rolldeck itself paused it: the template or the strategy was changed by somebody else, or a change was refused. It is
    /// an operator's to decide how it goes on, as after a halt.
    pub fn is_by_rolldeck(&self) -> bool {
        *self.by == *OURSELVES
    }
}

impl By {
    /// Whether rolldeck itself asked, by what is recorded, and no operator.
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

/// How a record began that took the place of one that was lost with its Lease.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BegunAnew {
    /// Whose command began it, and when by their clock.
    #[serde(flatten)]
    pub begun: By,
    /// Whether anybody has set a limit in it. The limits of the record that was lost are not known.
    #[serde(default)]
    pub limits_set: bool,
}

/// What the driver learnt and the cluster cannot tell again.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Progress {
    /// When the rollout began, by the first driver's clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// Hash of the revision that most nodes had when the rollout began: what is at another one, the rollout put there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<Str>,
    /// The DaemonSet was seen adopted. A strategy other than `OnDelete` is a drift from then on: somebody else set it.
    pub adopted: bool,
    /// The strategy has drifted and the pause or enforcement for it is done; cleared when it is adopted again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub drifted: bool,
    /// Drifts after which `OnDelete` was set again.
    #[serde(skip_serializing_if = "StrategyDrifts::is_empty")]
    pub drifts: StrategyDrifts,
    /// Nodes that were down before we began, with since when.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub down_before: BTreeMap<Str, Timestamp>,
    /// Set if the record had no room for all of those names: when the rollout began (or somewhat earlier), by the API server's
    /// clock. A node that the cluster shows as down since before that instant was down before the rollout, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out_since: Option<Timestamp>,
    /// Nodes whose pod the driver deleted, or was about to delete, and that have not been seen well at the target since. A node is written here before
    /// the deletion is sent, so that the next driver knows that the rollout took its pod down.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub in_progress: BTreeSet<Str>,
    /// Nodes whose pod the API server refuses to delete, as many as there is room for.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub refused: BTreeMap<Str, RefusedDeletion>,
    /// Since when the DaemonSet's controller has something to do and does nothing, by the driver's clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_since: Option<Timestamp>,
    /// The halt that stands, or the last one that stood.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub halt: Option<Halt>,
    /// Nodes whose failure an operator resumed past: they do not halt again until they are well again (see `keep_exceptions`).
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub acknowledged_failures: BTreeSet<Str>,
    /// Nodes that went down after their update: those that are, and those that were lately. At most [`SUSPECTS_LIMIT`].
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub suspects: BTreeMap<Str, WentDown>,
    /// By the site of each updated node that went down (an empty name stands for the whole fleet): how many other nodes went down there lately, oldest
    /// first. At most [`SITES_LIMIT`] sites, each with at most one entry per two minutes of the last ten.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub others_down: BTreeMap<Str, Vec<Fell>>,
    /// Clocks and marks of gates.
    #[serde(skip_serializing_if = "GateMarks::is_empty")]
    pub marks: GateMarks,
    /// Why the last driver stopped by itself, until somebody drives again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver_stopped: Option<DriverStopped>,
    /// Hash of the revision at which every node was, where the record stays after that (`finish=keep`): so that the end is told once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed: Option<Str>,
    /// The strategy that a release restores, as annotation [`ORIGINAL_STRATEGY`] of the DaemonSet has it: somebody may remove that while
    /// `OnDelete` stays, and what was there before would be lost.
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
    /// How often it went down by itself, without others of its site.
    pub falls: u32,
    /// It went down again and again before its update as well: that it goes down says nothing of the update. Only who looked on before the
    /// update has seen that.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub flaps: bool,
}

/// Nodes that went down at about the same time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Fell {
    /// When the first of them did, by the API server's clock.
    pub at: Timestamp,
    /// How many.
    pub nodes: u32,
}

impl Progress {
    /// The nodes that had failed when it halted, as long as nobody has resumed past that.
    pub(crate) fn failed_at_halt(&self) -> &[Str] {
        self.halt.as_ref().map_or(&[], Halt::failed)
    }

    /// Whether the driver that halted saw this node fail, resumed past or not. The grace of its trouble was over then,
    /// which an engine that was started later cannot have seen.
    pub(crate) fn has_failed(&self, node: &Str) -> bool {
        self.failed_at_halt().contains(node) || self.acknowledged_failures.contains(node)
    }
}

/// A pod that the API server refuses to delete.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RefusedDeletion {
    /// Its uid.
    pub pod: Str,
    /// Since when, by the driver's clock.
    pub since: Timestamp,
    /// What the server said, at most 300 bytes of it.
    pub why: Str,
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

/// Drifts of the strategy after which `OnDelete` was set again.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StrategyDrifts {
    /// When, as far as they belong to one fight; no more of them than it takes to give up.
    pub lately: Vec<Timestamp>,
    /// Who it was the last time, as `managedFields` names them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<Str>,
}

impl StrategyDrifts {
    fn is_empty(&self) -> bool {
        self.lately.is_empty()
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

    /// A record that was written before there was a setting is read by a program that has it.
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
