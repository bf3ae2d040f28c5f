//! A one-shot command, as the command line runs it beside consoles: it loads, asks, waits until that is settled, gives
//! back what it holds, and is gone.

use std::time::Duration;

use super::author::Deletion;
use super::console::Console;
use crate::engine::command::{Command, CommandId, Refusal};
use crate::engine::time::Timestamp;
use crate::sim::world::World;

/// After this it is given up, settled or not.
const TIMEOUT: Duration = Duration::from_secs(60);
/// How long it waits for its last answers when it is done.
const LEAVING: Duration = Duration::from_secs(8);
/// How often it looks whether it has loaded.
const LOOK: Duration = Duration::from_millis(200);

/// A process that carries out one command.
#[derive(Debug)]
pub(super) struct Errand {
    console: Console,
    stage: Stage,
    until: Timestamp,
}

#[derive(Debug)]
enum Stage {
    /// It loads; it looks again then.
    Loads(Command, Timestamp),
    /// It has asked.
    Waits,
    /// It is done, one way or the other.
    Leaves,
}

impl Errand {
    pub(super) fn new(console: Console, command: Command, now: Timestamp) -> Self {
        Self { console, stage: Stage::Loads(command, now), until: now + TIMEOUT }
    }

    pub(super) fn console_mut(&mut self) -> &mut Console {
        &mut self.console
    }

    pub(super) fn into_console(self) -> Console {
        self.console
    }

    pub(super) fn next_at(&self) -> Option<Timestamp> {
        let looks = match &self.stage {
            Stage::Loads(_, at) => Some(*at),
            Stage::Waits | Stage::Leaves => None,
        };
        self.console.next_at().into_iter().chain(looks).chain([self.until]).min()
    }

    /// Whether it is gone.
    pub(super) fn is_over(&self, now: Timestamp) -> bool {
        now >= self.until || (matches!(self.stage, Stage::Leaves) && self.console.is_at_rest())
    }

    /// Lets it go on; returns its command at the moment when it asked.
    pub(super) fn step(&mut self, world: &mut World, deletions: &mut Vec<Deletion>) -> Option<(CommandId, Command)> {
        self.console.step(world, deletions);
        let now = world.now();
        match &self.stage {
            Stage::Loads(command, at) if *at <= now => {
                let command = command.clone();
                match self.console.command(command.clone(), now) {
                    Ok(id) => {
                        self.stage = Stage::Waits;
                        return Some((id, command));
                    }
                    Err(Refusal::NotLoaded(_) | Refusal::Stale(_)) => self.stage = Stage::Loads(command, now + LOOK),
                    Err(_) => self.leave(now),
                }
            }
            Stage::Waits if self.console.has_settled() => self.leave(now),
            _ => {}
        }
        None
    }

    fn leave(&mut self, now: Timestamp) {
        self.stage = Stage::Leaves;
        self.until = self.until.min(now + LEAVING);
        // Where nothing is loaded it is refused, and then there is nothing to give back either.
        let _ = self.console.command(Command::StandDown, now);
    }
}
