//! A one-shot command, as the command line runs it beside consoles. The process loads, gives the command, waits until it is settled,
//! gives the Lease back, and ends.

use std::time::Duration;

use super::api_client::AcceptedWrites;
use super::console::SimulatedConsole;
use crate::engine::model::command::{Command, CommandId, Refusal};
use crate::engine::model::time::Timestamp;
use crate::sim::world::World;

/// The time after which the process ends even if its command is not settled.
const TIMEOUT: Duration = Duration::from_secs(60);
/// How long a process that is done waits for its last answers.
const LEAVING: Duration = Duration::from_secs(8);
/// The time between two tries to give the command while the process loads.
const LOOK: Duration = Duration::from_millis(200);

/// A process that carries out one command.
#[derive(Debug)]
pub(super) struct OneShotRun {
    console: SimulatedConsole,
    stage: OneShotState,
    until: Timestamp,
}

#[derive(Debug)]
enum OneShotState {
    /// The process loads; it tries to give the command at this time.
    Loads(Command, Timestamp),
    /// The process has given its command and waits for the result.
    Waits,
    /// The command is settled or refused, and the process is about to end.
    Leaves,
}

impl OneShotRun {
    pub(super) fn new(console: SimulatedConsole, command: Command, now: Timestamp) -> Self {
        Self { console, stage: OneShotState::Loads(command, now), until: now + TIMEOUT }
    }

    pub(super) fn console_mut(&mut self) -> &mut SimulatedConsole {
        &mut self.console
    }

    pub(super) fn into_console(self) -> SimulatedConsole {
        self.console
    }

    pub(super) fn next_at(&self) -> Option<Timestamp> {
        let looks = match &self.stage {
            OneShotState::Loads(_, at) => Some(*at),
            OneShotState::Waits | OneShotState::Leaves => None,
        };
        self.console.next_at().into_iter().chain(looks).chain([self.until]).min()
    }

    /// Whether the process has ended.
    pub(super) fn is_over(&self, now: Timestamp) -> bool {
        now >= self.until || (matches!(self.stage, OneShotState::Leaves) && self.console.is_at_rest())
    }

    /// Steps the process. Returns the command in the step in which it was given.
    pub(super) fn step(&mut self, world: &mut World, accepted: &mut AcceptedWrites) -> Option<(CommandId, Command)> {
        self.console.step(world, accepted);
        let now = world.now();
        match &self.stage {
            OneShotState::Loads(command, at) if *at <= now => {
                let command = command.clone();
                match self.console.command(command.clone(), now) {
                    Ok(id) => {
                        self.stage = OneShotState::Waits;
                        return Some((id, command));
                    }
                    Err(Refusal::NotLoaded(_) | Refusal::Stale(_)) => {
                        self.stage = OneShotState::Loads(command, now + LOOK);
                    }
                    Err(_) => self.leave(now),
                }
            }
            OneShotState::Waits if self.console.has_settled() => self.leave(now),
            _ => {}
        }
        None
    }

    fn leave(&mut self, now: Timestamp) {
        self.stage = OneShotState::Leaves;
        self.until = self.until.min(now + LEAVING);
        // The command is refused if nothing is loaded; then there is no Lease to give back.
        let _ = self.console.command(Command::StopDriving, now);
    }
}
