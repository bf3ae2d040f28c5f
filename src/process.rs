//! Output and signals of the process.
//!
//! ```text
//!  frames, lines ──▶ Writer (bounded by whoever sends) ──▶ its own thread ──▶ write(2), which may block for ever
//!  SIGHUP, SIGINT, SIGTERM ──▶ a thread of their own ──▶ the first: leave, within 5 s ; a later one: at once
//! ```
//!
//! A blocking write cannot be cancelled, and every write to a terminal or pipe that nobody reads blocks. Tasks that drive a
//! rollout or react to a signal therefore never write themselves.
//!
//! All output is [`Printable`](printable::Printable), so text from elsewhere cannot steer the terminal. Nothing else in this
//! program writes to standard output or standard error.

pub(crate) mod echo;
pub(crate) mod output;
pub(crate) mod printable;
pub(crate) mod signals;
