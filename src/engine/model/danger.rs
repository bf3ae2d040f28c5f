//! How much a command can break.

/// How much a command can break, and so how it is to be confirmed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub enum Danger {
    /// Reversible, takes nothing down: no more than one key.
    None,
    /// Inside the budget, can be paused: one key more.
    Bounded,
    /// A new template, a roll back, an early release: choose *Start* explicitly.
    Serious,
    /// Can take down more nodes than the budget, or sets a budget under which all may be down: type the DaemonSet's name.
    ExceedsBudget,
}
