//! The commands of operators, and the results that consoles report.

use super::Observer;
use crate::engine::model::Str;
use crate::engine::model::command::{Command, CommandId};
use crate::engine::model::time::Timestamp;

impl Observer {
    /// Notes a command that an operator gave.
    pub fn command_given(&mut self, (who, id): (&Str, CommandId), command: &Command, now: Timestamp) {
        self.last_command_at = now;
        self.drives_again.command_given(who);
        self.note_undo(command, now);
        self.note_asked((who, id), command, now);
        if let Command::SetImage(images) = command.inner() {
            *self.images_requested.entry(images.clone()).or_default() += 1;
        }
        if ends_a_pause(command) {
            self.resumptions.push(((who.clone(), id), now));
        }
    }

    /// Notes that a command is settled.
    pub fn settled(&mut self, (who, id): (&Str, CommandId), now: Timestamp) {
        self.last_command_at = now;
        self.overtaken.settled(who, id);
        self.resumptions.retain(|((by, given), _)| by != who || *given != id);
    }

    /// Notes that a console reported a command as given up.
    pub fn given_up(&mut self, (who, id): (&Str, CommandId)) {
        self.overtaken.settled(who, id);
    }

    /// Notes that the record was made unreadable or deleted.
    pub fn record_is_lost(&mut self, now: Timestamp) {
        self.record_lost_at = Some(now);
    }

    /// P3: checks the strategy when a console reports that a pause is done. The console could not see anything after `seen_at`.
    pub fn pause_is_settled(&mut self, by: &str, seen_at: Timestamp, now: Timestamp) {
        if let Some(since) = self.rolling_since.filter(|since| *since + self.slack < now && *since < seen_at) {
            let secs = now.since(since).as_secs();
            self.report_violation(
                "P3",
                now,
                format!("{by} says it is paused, and its controller replaces pods for {secs} s"),
            );
        }
    }
}

/// Whether a rollout may go on after a pause or a halt because of the command.
fn ends_a_pause(command: &Command) -> bool {
    match command.inner() {
        Command::Resume | Command::SetImage(_) | Command::Undo { .. } | Command::Release(_) => true,
        Command::Adopt
        | Command::Step(_)
        | Command::Select(_)
        | Command::Pause { .. }
        | Command::Tune(_)
        | Command::Tuned { .. }
        | Command::Prewarm(_)
        | Command::Drive(_)
        | Command::StopDriving
        | Command::EndDriving { .. }
        | Command::GiveUpDriving { .. } => false,
    }
}
