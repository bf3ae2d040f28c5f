//! The acts of operators, and the faults of their consoles.

use std::time::Duration;

use super::Generator;
use crate::engine::model::Str;
use crate::engine::model::command::{Command, Early, Step, Takeover};
use crate::engine::model::event::Watched;
use crate::engine::model::image::ImageRef;
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::settings::{Gates, Limit, OnDrift, OnFailure, Secs, Tuning};
use crate::sim::attack::case::{Act, CrashPoint, LeaseEdit, Trigger};
use crate::sim::world::scenario::Scenario;

/// The kinds of acts of an operator, on a console or beside it.
#[derive(Clone, Copy)]
enum OperatorAct {
    Step,
    Select,
    Pause,
    Resume,
    Undo,
    Drive,
    /// Opens a console that is not open.
    Open,
    SetImage,
    ReleaseOrStop,
    /// Settings, alone or together with a step.
    Tune,
    OneShot,
}

/// The weights of an operator's acts. `tests.rs` tests that every command is drawn.
const OPERATOR_ACTS: [(u32, OperatorAct); 11] = [
    (6, OperatorAct::Step),
    (1, OperatorAct::Select),
    (1, OperatorAct::Pause),
    (1, OperatorAct::Resume),
    (1, OperatorAct::Undo),
    (1, OperatorAct::Drive),
    (1, OperatorAct::Open),
    (1, OperatorAct::SetImage),
    (1, OperatorAct::ReleaseOrStop),
    (1, OperatorAct::Tune),
    (3, OperatorAct::OneShot),
];

#[derive(Clone, Copy)]
enum OneShotCommand {
    Step,
    Pause,
    Resume,
    Undo,
    SetImage,
    Release,
}

/// The weights of one-shot commands.
const ONE_SHOT_COMMANDS: [(u32, OneShotCommand); 6] = [
    (3, OneShotCommand::Step),
    (1, OneShotCommand::Pause),
    (1, OneShotCommand::Resume),
    (1, OneShotCommand::Undo),
    (1, OneShotCommand::SetImage),
    (1, OneShotCommand::Release),
];

#[derive(Clone, Copy)]
enum Disruption {
    Kill,
    KillAtWrite,
    SuspendAtWrite,
    Compact,
    BreakWatch,
    DelayWatch,
    ReplayWatch,
    StaleList,
    EditLease,
}

/// The weights of faults of a console, a watch or the Lease.
const DISRUPTIONS: [(u32, Disruption); 9] = [
    (1, Disruption::Kill),
    (4, Disruption::KillAtWrite),
    (2, Disruption::SuspendAtWrite),
    (1, Disruption::Compact),
    (2, Disruption::BreakWatch),
    (1, Disruption::DelayWatch),
    (1, Disruption::ReplayWatch),
    (1, Disruption::StaleList),
    (3, Disruption::EditLease),
];

/// The weights of the images that are set. `Case::bad_images` and the scenario have the defects of these images.
const IMAGES: [(u32, &str); 5] =
    [(1, "agent:missing"), (1, "agent:denied"), (1, "agent:crash"), (1, "agent:v3"), (4, "agent:v2")];

impl Generator {
    /// The acts of a case: one operator begins a rollout, others interfere, and some consoles are killed.
    pub(super) fn acts(&mut self, names: &[Str], scenario: &Scenario) -> Vec<(Duration, Act)> {
        let node_grace = scenario.node_grace;
        let nodes = names.len();
        let mut acts = vec![(Duration::ZERO, Act::Open(0)), (Duration::from_secs(1), Act::Open(1))];
        let start = self.secs(2..6);
        if self.one_in(4) {
            acts.push((start, Act::Ask(0, Command::Tune(self.tuning(nodes)))));
        }
        acts.push((start, Act::Ask(0, self.new_image())));
        if self.one_in(3) {
            acts.push((start + self.secs(1..3), Act::Ask(0, self.selection())));
        }
        acts.push((start + self.secs(3..5), Act::Ask(0, self.step(nodes))));
        for _ in 0..self.rng.usize(0..12) {
            let at = self.secs(8..self.calm.as_secs().max(20));
            let act = if self.one_in(3) { self.disruption(nodes) } else { self.operator_act(nodes) };
            acts.push((at, if self.one_in(4) { self.well_timed(act) } else { act }));
        }
        if self.one_in(6) {
            let at = self.secs(6..self.calm.as_secs().max(20));
            acts.extend(self.overtaken().map(|act| (at, act)));
        }
        if self.one_in(40) {
            acts.extend(self.stuck_watch(names));
        }
        if self.one_in(12) {
            acts.extend(self.deleted_in_the_middle(scenario));
        }
        if self.one_in(12) {
            acts.extend(self.ruined_record(nodes));
        }
        if self.one_in(12) {
            acts.extend(self.unlisted_lease());
        }
        if self.one_in(12) {
            acts.extend(self.unseen_drift());
        }
        if self.one_in(12) {
            acts.extend(self.unseen_deletion());
        }
        if self.one_in(12) {
            // At this time the rollout has begun and is seldom complete.
            let at = self.secs(8..30);
            self.set_back(at, None);
        }
        if self.one_in(12) {
            acts.extend(self.unheard_pause());
        }
        if self.one_in(10) {
            let undo = self.refused_undo();
            acts.push((start, undo));
        }
        if self.one_in(10) {
            let unseen = self.unseen_revision(start);
            acts.push(unseen);
        }
        if self.one_in(12) {
            acts.extend(self.late_pause(nodes));
        }
        if self.one_in(12) {
            acts.extend(self.unseen_outage(names, node_grace));
        }
        if self.one_in(8) {
            acts.extend(self.suspects(names, node_grace));
        }
        if self.one_in(12) {
            acts.extend(self.restarts());
        }
        if self.one_in(8) {
            self.pods_that_stay(names);
        }
        acts.sort_by_key(|(at, _)| *at);
        acts
    }

    /// Ties an act to a moment at which it may do most harm: a deletion or a failure.
    pub(super) fn well_timed(&mut self, act: Act) -> Act {
        let trigger = self.pick(&[Trigger::Deletion, Trigger::Deletion, Trigger::Failure]);
        Act::Upon { trigger, after: self.rng.u32(0..4), act: Box::new(act) }
    }

    /// A random act of an operator.
    pub(super) fn operator_act(&mut self, nodes: usize) -> Act {
        let who = self.rng.usize(0..3);
        Act::Ask(
            who,
            match self.weighted(&OPERATOR_ACTS) {
                OperatorAct::Step => self.step(nodes),
                OperatorAct::Select => self.selection(),
                OperatorAct::Pause => Command::Pause { why: None },
                OperatorAct::Resume => Command::Resume,
                OperatorAct::Undo => self.undo(),
                OperatorAct::Drive => Command::Drive(Takeover::Ask),
                OperatorAct::Open => return Act::Open(who),
                OperatorAct::SetImage => self.new_image(),
                OperatorAct::ReleaseOrStop if self.one_in(3) => Command::Release(Early::Accept),
                OperatorAct::ReleaseOrStop => Command::StopDriving,
                OperatorAct::Tune if self.one_in(2) => Command::Tune(self.drift_tuning()),
                OperatorAct::Tune => self.step(nodes).under(self.tuning(nodes)),
                OperatorAct::OneShot => return Act::OneShot(self.one_shot_command(nodes)),
            },
        )
    }

    /// Back to where the rollout came from, or to a revision by its number, which may be a later one than the present.
    fn undo(&mut self) -> Command {
        Command::Undo { to: self.one_in(3).then(|| self.rng.i64(1..5)) }
    }

    fn one_shot_command(&mut self, nodes: usize) -> Command {
        match self.weighted(&ONE_SHOT_COMMANDS) {
            OneShotCommand::Step => self.step(nodes),
            OneShotCommand::Pause => Command::Pause { why: None },
            OneShotCommand::Resume => Command::Resume,
            OneShotCommand::Undo => self.undo(),
            OneShotCommand::SetImage => self.new_image(),
            OneShotCommand::Release => Command::Release(if self.one_in(2) { Early::Accept } else { Early::Refuse }),
        }
    }

    /// A fault of a console, a watch or the lease.
    pub(super) fn disruption(&mut self, nodes: usize) -> Act {
        let who = self.rng.usize(0..3);
        let watched = self.pick(&Watched::ALL);
        match self.weighted(&DISRUPTIONS) {
            Disruption::Kill => Act::Kill(who),
            Disruption::KillAtWrite => {
                let again = self.secs(1..30);
                let crash_point = self.pick(&[CrashPoint::KillBefore { again }, CrashPoint::KillAfter { again }]);
                Act::Crash(who, self.rng.u32(0..20), crash_point)
            }
            Disruption::SuspendAtWrite => {
                Act::Crash(who, self.rng.u32(0..20), CrashPoint::Suspend { lasts: self.secs(1..40) })
            }
            Disruption::Compact => Act::Compact,
            Disruption::BreakWatch => Act::BreakWatch(who, watched, self.secs(1..40)),
            Disruption::DelayWatch => Act::DelayWatch { who, watched, by: self.secs(1..8), lasts: self.secs(5..60) },
            Disruption::ReplayWatch => Act::ReplayWatch { who, watched, back: self.rng.usize(1..30) },
            Disruption::StaleList => {
                let lasts = if self.one_in(2) { self.secs(0..8) } else { Duration::ZERO };
                Act::StaleList { who, watched, back: self.rng.usize(1..30), lasts }
            }
            Disruption::EditLease => {
                let count = self.rng.u32(0..=u32::try_from(nodes).unwrap_or(1));
                Act::EditLease(match self.rng.u32(0..8) {
                    0 => LeaseEdit::Delete,
                    1 => LeaseEdit::Garble,
                    2 => LeaseEdit::Pause,
                    3 | 4 => LeaseEdit::Partition(IntOrPercent::Int(count)),
                    5 => LeaseEdit::Budget(self.rng.u32(1..4)),
                    _ => LeaseEdit::Enforce,
                })
            }
        }
    }

    pub(super) fn new_image(&mut self) -> Command {
        let image: Option<ImageRef> = self.weighted(&IMAGES).parse().ok();
        let images = image.into_iter().map(|image| ("agent".to_owned(), image)).collect();
        self.with_budget(Command::SetImage(images))
    }

    pub(super) fn selection(&mut self) -> Command {
        Command::Select(if self.one_in(3) { None } else { "canary=true".parse().ok() })
    }

    pub(super) fn step(&mut self, nodes: usize) -> Command {
        let count = self.rng.u32(0..=u32::try_from(nodes).unwrap_or(1));
        Command::Step(match self.rng.u32(0..6) {
            0 => Step::Next,
            1 => Step::Partition(IntOrPercent::Int(count)),
            2 => Step::Updated(IntOrPercent::Int(count)),
            _ => Step::Updated(IntOrPercent::Percent(100)),
        })
    }

    pub(super) fn tuning(&mut self, nodes: usize) -> Tuning {
        Tuning {
            max_unavailable: Some(Limit::At(IntOrPercent::Int(self.rng.u32(1..=u32::try_from(nodes).unwrap_or(2))))),
            max_pulling: Some(if self.one_in(2) {
                Limit::At(IntOrPercent::Int(self.rng.u32(1..3)))
            } else {
                Limit::Default
            }),
            strict: Some(self.one_in(3)),
            failure_threshold: Some(IntOrPercent::Int(self.rng.u32(1..4))),
            progress_deadline_secs: Some(Secs(self.rng.u32(60..600))),
            soak_secs: Some(Secs(if self.one_in(3) { self.rng.u32(1..20) } else { 0 })),
            suspect_grace_secs: Some(Secs(self.rng.u32(10..400))),
            on_failure: Some(if self.one_in(2) { OnFailure::RollBack } else { OnFailure::Halt }),
            on_drift: self.drift_tuning().on_drift,
            // `gates.rs` varies this setting last, with draws of its own.
            max_restarts: Some(Gates::default().max_restarts),
            // Settings that are not named here are varied last (`gates.rs`, `prewarm.rs`), or `why_not_drawn` in `tests.rs` says why they are not.
            ..Tuning::default()
        }
    }

    pub(super) fn drift_tuning(&mut self) -> Tuning {
        Tuning { on_drift: self.one_in(2).then_some(OnDrift::EnforceOnDelete), ..Tuning::default() }
    }
}
