//! A terminal that takes no bytes: a stalled SSH, a window that holds its output.
//!
//! ```text
//!  takes nothing for 2 s ──▶ ctrl-c leaves at once: nobody could see a question
//!               for 10 s ──▶ stops driving, says why in the record and the audit log, and goes on showing the rollout
//!  takes bytes again ─────▶ the newest frame, what happened, and how to drive again
//! ```

use std::time::{Duration, Instant};

use super::{ConsoleLoop, LoopStep};
use crate::engine::model::command::Command;
use crate::engine::model::driver::DriverView;
use crate::engine::model::time::ShortDuration;
use crate::tui::daemonset_ref::DaemonSetRef;
use crate::tui::message::Msg;
use crate::tui::model::RolloutPage;
use crate::tui::status::StatusSeverity;

/// After this time nobody can have read the last frame.
const BLIND_AFTER: Duration = Duration::from_secs(2);

/// The terminal is stuck.
#[derive(Debug)]
pub(super) struct Stuck {
    since: Instant,
    /// The rollouts that were driven from here until then.
    stopped: Vec<DaemonSetRef>,
}

impl ConsoleLoop {
    /// Whether nobody can have read the last frame.
    pub(super) fn is_blind(&self) -> bool {
        self.output.idle_for() >= BLIND_AFTER
    }

    /// The terminal takes no bytes, so nobody sees the rollouts that are driven from here: stops driving them.
    pub(super) fn is_stuck(&mut self, since: Instant) -> LoopStep {
        let stopped: Vec<DaemonSetRef> =
            self.model.rollouts.iter().filter(|page| drives(page)).map(|page| page.target.clone()).collect();
        for target in &stopped {
            let to = target.clone();
            let why = "its terminal took no output".to_owned();
            self.ask(target, |rollout, answers| async move {
                let done = rollout.command(Command::GiveUpDriving { why }).await;
                // The message about the terminal reports a success.
                if done.is_err() {
                    let _ = answers.send(Msg::Done(to, done)).await;
                }
            });
        }
        self.stuck = Some(Stuck { since, stopped });
        LoopStep::Wait
    }

    /// Notes that the frame is written, if it is.
    pub(super) fn note_written(&mut self) {
        if !self.writing || !self.output.is_idle() {
            return;
        }
        self.writing = false;
        self.throttle.wrote(self.output.took());
        if let Some(Stuck { since, stopped }) = self.stuck.take()
            && !stopped.is_empty()
        {
            let names: Vec<&str> = stopped.iter().map(|target| &*target.name).collect();
            let stood = ShortDuration(since.elapsed());
            let text = format!(
                "the terminal took no output for {stood}: stopped driving {}; D drives again",
                names.join(", ")
            );
            self.throttle.typed = true;
            // A message has no effects.
            let _ = self.take_in(Msg::Said(StatusSeverity::Refused, text));
        }
    }
}

/// Whether the rollout is driven from here, or about to be.
fn drives(page: &RolloutPage) -> bool {
    let driver = page.snapshot().map(|snapshot| &snapshot.driver);
    !page.stopped && driver.is_some_and(DriverView::is_ours)
}
