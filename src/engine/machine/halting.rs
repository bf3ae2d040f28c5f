//! The gates that halt a rollout: what each is asked, and when. Each gate has a file of its own in `halting/`; what follows from its halt
//! beside that is its row in `model/halting_gate.rs`. `act/halt.rs` carries a halt out; `report` shows the reason where no driver is there to halt.
//!
//! A driver that acts asks them with every decision ([`super::super::act::decide`]), by what it saw last: also while the rollout is paused, held, between
//! two steps or halted already. It does not ask them while the rollout is released or the DaemonSet is being deleted, nor where [`Engine::may_halt`]
//! denies it. Where every node is updated only those count that halt what is complete. Where nobody drives nothing halts: consoles ask the gates to say
//! what a driver would do.

mod failure_threshold;

use failure_threshold::FailureThreshold;

use super::Engine;
use crate::engine::model::Str;
use crate::engine::model::halting_gate::NothingElseHelps;
use crate::engine::model::record::size::clipped;
use crate::engine::model::record::{Direction, Halt, HaltingGate, Intent};
use crate::engine::model::settings::Tuning;
use crate::engine::model::time::Timestamp;

/// Why the rollout halts.
pub(crate) struct HaltReason {
    pub(crate) gate: HaltingGate,
    /// In words.
    pub(crate) why: String,
    /// The nodes concerned, in the order of the nodes; empty where the reason concerns the whole rollout.
    pub(crate) nodes: Vec<Str>,
    /// Why no other revision helps, so that the rollout does not go back by itself; `None`: another may help.
    pub(crate) nothing_else_helps: Option<NothingElseHelps>,
}

impl HaltReason {
    /// The same with the nodes first that `halt` names already, in its order: the node that halted it stays first, whatever fails after it.
    pub(crate) fn after(mut self, halt: &Halt) -> Self {
        let place = |node: &Str| halt.named().iter().position(|named| named == node).unwrap_or(usize::MAX);
        self.nodes.sort_by_key(place);
        self
    }
}

/// What a gate is asked. It reads the settings of the intent that it is handed, and of clocks [`Engine::now`] and its own in `GateMarks`.
///
/// **In which order?** In one decision of a driver (`Engine::steer`): [`Self::driver_changes`] if another process drove before; [`Self::accept`] if
/// the last halt was resumed past; [`Self::keep_time`]; [`Self::reason`]. The record that tells a halt thus has the marks from before it: a clock
/// that ends with its halt is stopped by the next decision, which may be another driver's. A one-shot command that holds the Lease for its own write
/// calls none of them, nor does anybody while the rollout is released or the DaemonSet is being deleted.
///
/// **A clock** is decided by these questions. No test asks the ones marked **S**:
/// - Does it run between two steps, and in a pause? `no_gate_halts_a_healthy_rollout_that_waits` (`engine/tests/gates.rs`) plays both, and a gate
///   that counts either is excepted there. A gate that counts neither keeps a sum and the instant since when it runs. **S**: `Intent` has no instant
///   of a resume, so that a pause which began and ended while nobody drove is not left out.
/// - Does it run while nobody drives? An instant runs on. Leaving that time out is [`Self::driver_changes`], and is **S**.
/// - Does it run once every node is updated? `GateMarks::complete` is called with each decision where the record stays (`finish=keep`). **S**:
///   `keep_time` asks `Progress::completed` before it starts a clock again; and while a release has to wait `complete` is not called: there it asks
///   [`Engine::is_complete`], which is false while the rollout is paused or halted, and while not all is seen.
/// - What does a resume past its own halt do? The gate begins anew, from the first decision of a driver: one that accepts for good fails in
///   `past_the_halt_of_any_gate_…` (`engine/tests/halts.rs`).
/// - By whose clock? Marks are by the API server's (`View::server_time`). `Paused::at` and `Halt::at` are by the clock of the process that wrote
///   them.
///
/// **Who is judged?** Rows are the nodes that have a pod or are in the fleet. All nodes of the cluster are those of `View::nodes` with a fact.
/// `Row::restarted` counts restarts of pods at the target that the rollout put there, or that were created after it began; only those after the pod
/// was ready (of a pod that had restarted before we saw it, each); only as long as the last of them is younger than ten minutes, or than the soak
/// time where that is longer.
///
/// **Where is what it remembers?** In `GateMarks`. A mark that names nodes, that ends with what is seen of them, or that rows read, is a field of
/// `Progress` instead; patterns in eight files ask for it there.
///
/// **What does an older version do?** It reads a gate that it does not know as `FailureThreshold`, and keeps what it read: under it the nodes that
/// the halt names count as failed.
trait HaltingRule {
    /// Why the gate halts the rollout now, if it does. Where its halt stands, it goes on to name what it halts for now. It has no reason any more for
    /// what an operator resumed past, also before a driver has accepted that: none while a halt of this gate is acknowledged (`Halt::number` is at
    /// most `Intent::acknowledged_halt`) and the gate's mark has not this number.
    ///
    /// It is asked by the driver while it acts, with what it saw last: also while the rollout is paused, held, between two steps or halted. It is not
    /// asked while the rollout is released or deleted, on the way back, without a target, or with a change still to be made ([`Engine::may_halt`]);
    /// where every node is updated as its row in `HaltingGate::consequences` says. Where nobody drives, nothing halts: consoles ask only to say what
    /// a driver would do ([`Engine::halt_without_driver`]). A gate that is to rest while paused says so here.
    ///
    /// [`Engine::now`] judges. What goes into the record is by `View::server_time`, because the next driver has another clock. A rollout is as old as
    /// the later of `GateMarks::began` and `Progress::started_at` says: the first stays where a rollout leads to its former target again, the second
    /// where a rollout follows one that was not complete.
    ///
    /// A halt that names no node leaves `nodes` empty. Two tests `a_halt_without_nodes_…` (`tui/tests/halts.rs`, `cli/tests/halts.rs`) fail where a
    /// front end leaves a place open for them.
    fn reason(&self, engine: &Engine, intent: &Intent) -> Option<HaltReason>;

    /// Accepts what it halted for, after an operator resumed past a halt of this or another gate. It is called with every decision of the driver from
    /// then on, until the next halt, so a second call must change nothing.
    ///
    /// `Progress::halt` is the last halt, and stays after the resume. A grave gate may have halted over this one: the number of its own halt is known
    /// only if `keep_time` has noted it while [`Engine::halting_gate`] was this gate. A gate that had a reason and did not halt accepts nothing: it
    /// halts next.
    ///
    /// A halt that is not of failures is accepted by a mark with the number of the halt (`Halt::number`): without it each call would accept whatever
    /// comes later, too. That a clock is cleared at its halt is not enough, as the resume may come before the decision that clears it. A mark that
    /// copies what rows say is set only once pods are seen ([`Engine::health`] of `Watched::Pods`). The halt keeps the words of the instant at which
    /// it halted. The two tests `past_the_halt_of_any_gate_…` fail where a resume acknowledges nodes that did not fail, where the gate halts again by
    /// itself, where nothing makes it halt once more, and where who drives next differs; of two gates that halt over each other no test knows
    /// (**S**).
    fn accept(&self, engine: &mut Engine, intent: &Intent, now: Timestamp);

    /// Starts and stops the gate's clock in `GateMarks`. It is called before the gates are asked: also while the rollout goes back, has no target or
    /// is not all seen, and while the gate is off. A later `tune` that sets the gate thus finds how long it has been already.
    ///
    /// The clock of a step belongs to it by `intent.partition`, not by `Limits::allowed`, which changes when the fleet grows. Tests play it for 150 s
    /// under its stricter value, and `no_gate_halts_a_healthy_rollout_that_waits` fails where one runs between two steps or in a pause.
    ///
    /// When it strikes, `GateMarks::strikes_at` says by the server's clock, from the marks and the settings alone: `wake_at` drops what is past.
    /// Without a mark `changes_at` of the part from which the instant follows says it. Otherwise the gate strikes only when something else happens:
    /// consoles in unit tests fail (`FakeConsole::run_for`) where time alone changes anything that `wake_at` did not tell.
    fn keep_time(&self, engine: &mut Engine, intent: &Intent, now: Timestamp);

    /// Begins anew what the gate counts by process. It is called where this process drives and the record still names another one, or none: before
    /// `Progress::driver` is overwritten, and before [`Self::keep_time`] and [`Self::reason`].
    ///
    /// Time without a driver is left out by nothing that is there, as an instant runs on. A gate that leaves it out keeps a sum, and the instant
    /// since when its driver counts, which is set anew here; `GateMarks` holds no name. Nobody knows until when a driver that was killed drove, so
    /// what it had not added to the sum is lost. The sum is added to where driving stops and where `steer` turns back early (released, deleted), and
    /// not with each call, since a mark that changed is a write of the Lease. [`Self::reason`] leaves out the open interval while nobody drives.
    fn driver_changes(&self, engine: &mut Engine, now: Timestamp);

    /// The line of a preview that changes the gate's setting and leaves it on: whether it halts the rollout at once under the intent `after`, which
    /// the words `at_once` say, and otherwise at what it does.
    fn halts_when(&self, engine: &Engine, after: &Intent, at_once: &str) -> String;

    /// The warning of a preview about a value in `tuning` at which the gate halts nothing, though it is not off.
    fn never_halts(&self, engine: &Engine, tuning: &Tuning) -> Option<String>;
}

/// The rule of each gate.
fn rule(gate: HaltingGate) -> &'static dyn HaltingRule {
    match gate {
        HaltingGate::FailureThreshold => &FailureThreshold,
    }
}

impl Engine {
    /// The gate whose halt stands.
    pub(crate) fn halting_gate(&self, intent: &Intent) -> Option<HaltingGate> {
        self.progress.halt.as_ref().filter(|_| self.is_halted(intent)).map(|halt| halt.gate)
    }

    /// Whether gates are asked: a rollout that goes back does not halt, nor does one that has no target yet, whose change is still to be made, or
    /// that is released.
    pub(crate) fn may_halt(intent: &Intent) -> bool {
        let goes_on = intent.change.is_none() && intent.releasing.is_none();
        intent.direction() == Direction::Forward && intent.target.is_some() && goes_on
    }

    /// The halt that a driver would carry out at once, where no living driver is seen. Of several, the first in the order of the gates.
    pub(crate) fn halt_without_driver(&self, intent: &Intent, now: Timestamp) -> Option<HaltReason> {
        // Where it is our turn to take the lease, we halt as soon as we have it.
        let undriven = self.lock.view(now).is_undriven(self.view.server_time(now));
        let is_seen = self.blindness().is_none() && !self.catches_up();
        if !undriven || !is_seen || !Self::may_halt(intent) || self.is_halted(intent) || self.is_being_deleted() {
            return None;
        }
        let stands = |reason: &HaltReason| reason.gate.halts_what_is_complete() || !self.is_complete(intent);
        self.reasons_to_halt(intent).into_iter().flatten().find(stands)
    }

    /// The halt that stands, with the nodes that fail now. Its driver writes the same into the record; where nobody drives, every process that sees
    /// the cluster tells what a driver would write, so that all of them count alike. While not all is seen: as it is recorded.
    pub(crate) fn halt_as_it_stands(&self, intent: &Intent) -> Option<Halt> {
        let halt = self.progress.halt.as_ref().filter(|_| self.is_halted(intent))?;
        let is_seen = self.blindness().is_none() && !self.catches_up();
        let asked =
            is_seen && Self::may_halt(intent) && (halt.gate.halts_what_is_complete() || !self.is_complete(intent));
        let reasons = asked.then(|| self.reasons_to_halt(intent)).into_iter().flatten().flatten();
        let now = reasons.into_iter().find(|reason| reason.gate == halt.gate).map(|reason| reason.after(halt));
        Some(match now.filter(|reason| reason.nodes != halt.named()) {
            Some(reason) => Halt::new(halt.number, halt.gate, halt.at, clipped(&reason.why)).on(reason.nodes),
            None => halt.clone(),
        })
    }

    /// The verdict of each gate now, in the order of the gates. Gates on single nodes are carried out in `assess/rows/failure.rs`,
    /// `assess/rows/absence.rs` and `rules/suspects.rs`. `engine/tests/gates.rs` tests that each gate that halts is a [`HaltingGate`].
    pub(crate) fn reasons_to_halt(&self, intent: &Intent) -> [Option<HaltReason>; HaltingGate::ALL.len()] {
        HaltingGate::ALL.map(|gate| rule(gate).reason(self, intent))
    }

    /// Accepts what this gate halted for, after an operator resumed past a halt.
    pub(crate) fn accept_halt_of(&mut self, gate: HaltingGate, intent: &Intent, now: Timestamp) {
        rule(gate).accept(self, intent, now);
    }

    /// Starts and stops the clocks of all gates.
    pub(crate) fn keep_time_of_gates(&mut self, intent: &Intent, now: Timestamp) {
        HaltingGate::ALL.map(rule).into_iter().for_each(|rule| rule.keep_time(self, intent, now));
    }

    /// Tells all gates that this process drives now in place of the one that the record names.
    pub(crate) fn tell_gates_of_the_driver(&mut self, now: Timestamp) {
        HaltingGate::ALL.map(rule).into_iter().for_each(|rule| rule.driver_changes(self, now));
    }

    /// Whether a gate that is on halts the rollout at once under the settings of `after`, and otherwise at which value it does.
    pub(crate) fn halts_from_now_on(&self, gate: HaltingGate, after: &Intent) -> String {
        let driven = self.lock.holds() || self.lock.living_other(self.now).is_some();
        let at_once = if driven { "it halts at once" } else { "whoever drives next halts it at once" };
        rule(gate).halts_when(self, after, at_once)
    }

    /// The warnings about values in `tuning` at which a gate halts nothing, though it is not off.
    pub(crate) fn never_halts(&self, tuning: &Tuning) -> Vec<String> {
        HaltingGate::ALL.into_iter().filter_map(|gate| rule(gate).never_halts(self, tuning)).collect()
    }
}
