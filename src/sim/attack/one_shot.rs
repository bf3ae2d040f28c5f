//! A one-shot command, as the command line runs it beside consoles: it loads, gives the command, waits until it is settled, gives
//! the lease back, and ends.

use std::time::Duration;

use super::api_client::AcceptedWrites;
use super::console::SimulatedConsole;
use crate::engine::model::command::{Command, CommandId, Refusal};
use crate::engine::model::time::Timestamp;
use crate::sim::world::World;

/// After this it is given up, settled or not.
const TIMEOUT: Duration = Duration::from_secs(60);
/// How long it waits for its last answers when it is done.
const LEAVING: Duration = Duration::from_secs(8);
/// How often it looks whether it has loaded.
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
    /// It loads; it looks again then.
    Loads(Command, Timestamp),
    /// It has given its command.
    Waits,
    /// It is done, one way or the other.
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

    /// Whether it is gone.
    pub(super) fn is_over(&self, now: Timestamp) -> bool {
        now >= self.until || (matches!(self.stage, OneShotState::Leaves) && self.console.is_at_rest())
    }

    /// Lets it go on; returns its command when it has given it.
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
        // Where nothing is loaded it is refused, and then there is nothing to give back either.
        let _ = self.console.command(Command::StopDriving, now);
    }
}
