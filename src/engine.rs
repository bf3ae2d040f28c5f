//! The rules: one state machine that knows Kubernetes' rules for DaemonSets and ours.
//!
//! ```text
//! observe(Event, now)        facts from the cluster
//! command(Command, now)      what the operator asks
//! decide(now)  -> effects    what to do next
//! outcome(id, result, now)   what came of it
//! snapshot(now)              everything a front end shows, with a reason on every node
//! wake_at()                  when time alone would change the answer
//! ```
//!
//! It never awaits, never reads a clock, never does IO. The driver runs it against a cluster, the simulated world runs
//! it ten thousand times a second against faults.

pub mod command;
pub mod effect;
pub mod event;
pub mod facts;
pub mod image;
pub mod labels;
pub mod quantity;
pub mod record;
pub mod snapshot;
pub mod template;
pub mod time;
pub mod words;

/// A string that is shared rather than copied.
pub type Str = std::sync::Arc<str>;

use command::{Command, CommandId, Notice, Preview, Refusal};
use effect::{Effect, EffectId, Outcome};
use event::Event;
use snapshot::Snapshot;
use time::Timestamp;

/// What an engine is told once, when it is made.
#[derive(Clone, Debug)]
pub struct Config {
    /// The DaemonSet's namespace.
    pub namespace: Str,
    /// The DaemonSet's name.
    pub name: Str,
    /// Who we are, as the Lease's holder: `user@host/1a2b3c`, unique per process.
    pub identity: Str,
    /// What this engine is there for.
    pub role: Role,
    /// Lease timing.
    pub timing: Timing,
}

/// What an engine is there for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// It stays, and may replace pods while it holds the lease.
    Driver,
    /// It carries out one command and leaves: it may adopt, change the template and release, but never replaces a pod.
    Errand,
}

/// Lease timing, as client-go's leader election has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timing {
    /// How long a lease is good for after its last change, on the observer's own clock.
    pub lease: std::time::Duration,
    /// How long after its last successful renewal a holder may still act.
    pub act: std::time::Duration,
    /// How often a holder renews.
    pub renew: std::time::Duration,
}

impl Default for Timing {
    fn default() -> Self {
        use std::time::Duration;
        Self { lease: Duration::from_secs(15), act: Duration::from_secs(8), renew: Duration::from_secs(3) }
    }
}

/// The state machine of one rollout.
#[derive(Debug)]
pub struct Engine {
    config: Config,
}

impl Engine {
    /// An engine that knows nothing yet.
    pub fn new(config: Config) -> Self {
        Self { config }
    }

    /// What it was told when it was made.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Takes in one fact.
    pub fn observe(&mut self, _event: Event, _now: Timestamp) {}

    /// Takes in what an operator asks. A [`Notice::Settled`] follows when it is written, or could not be.
    ///
    /// # Errors
    /// Refuses what makes no sense, is not permitted, or cannot be judged now; then nothing changed.
    pub fn command(&mut self, _command: Command, _now: Timestamp) -> Result<CommandId, Refusal> {
        Err(Refusal::NotNow("not yet".into()))
    }

    /// Says what a command would do, without doing it.
    ///
    /// # Errors
    /// As [`Engine::command`].
    pub fn preview(&self, _command: &Command, _now: Timestamp) -> Result<Preview, Refusal> {
        Err(Refusal::NotNow("not yet".into()))
    }

    /// Decides what to write next. Every effect counts against the budget from here on, until its outcome is seen.
    pub fn decide(&mut self, _now: Timestamp) -> Vec<(EffectId, Effect)> {
        Vec::new()
    }

    /// Takes in what came of an effect.
    pub fn outcome(&mut self, _id: EffectId, _outcome: Outcome, _now: Timestamp) {}

    /// Takes what it has to say once.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        Vec::new()
    }

    /// When [`Engine::decide`] or [`Engine::snapshot`] would answer otherwise although nothing was observed.
    pub fn wake_at(&self) -> Option<Timestamp> {
        None
    }

    /// Everything a front end shows; `None` is never returned, an engine that knows nothing says so.
    pub fn snapshot(&self, _now: Timestamp) -> Snapshot {
        unimplemented!()
    }
}
