//! Refusals of commands that take down nodes of a DaemonSet that surges before an operator has said how many may be down.

use crate::engine::machine::Engine;
use crate::engine::model::command::{Command, Refusal};
use crate::engine::model::facts::StrategyKind;

impl Engine {
    /// Refuses commands that would begin to take down nodes of a DaemonSet that surges, as long as nobody has said how many may be
    /// down. Setting `OnDelete` again and the brake are not refused, nor is driving a rollout that is only to be released: these take
    /// nothing down.
    pub(super) fn check_surge(&self, command: &Command) -> Result<(), Refusal> {
        let Some(surge) = self.surge() else { return Ok(()) };
        let begins = match command.inner() {
            Command::Adopt => !self.takes_back(command.inner()),
            // A driver that only pre-warms takes nothing down.
            Command::Drive(_) => self.is_recorded() && self.intent().releasing.is_none(),
            command => command.takes_down(),
        };
        let mut intent = self.intent();
        intent.tune(&command.tuning());
        if !begins || !intent.budgets.max_unavailable.is_default() {
            return Ok(());
        }
        let remedy = if self.is_recorded() {
            "`tune` with max-unavailable"
        } else {
            "max-unavailable, which `adopt`, `set-image` and `drive` take too"
        };
        Err(Refusal::NotNow(format!(
            "this DaemonSet surges (maxSurge {surge}): its controller never takes a node down. Under OnDelete each node is \
             down while its pod is replaced: say first how many may be at once, with {remedy}"
        )))
    }

    /// The loss of the surge, for commands that take over or let nodes go; `None` if the DaemonSet does not surge.
    pub(super) fn surge_in_words(&self, command: &Command, max_unavailable: u32) -> Option<String> {
        let surge = self.surge()?;
        match command {
            Command::Pause { .. } if self.strategy() == StrategyKind::RollingUpdate => Some(
                "It surges: where a node has an old and a new pod, its controller then keeps the older one and deletes the \
                 other."
                    .into(),
            ),
            command => command.takes_down().then(|| {
                format!(
                    "It surges (maxSurge {surge}), which OnDelete cannot: each node is down while its pod is replaced, at \
                     most {max_unavailable} at a time."
                )
            }),
        }
    }
}
