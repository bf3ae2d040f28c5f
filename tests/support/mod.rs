//! What integration tests share. A test binary takes it in with `mod support;`.

// `cfg(test)` holds anyway; it tells clippy that panics belong here.
#[cfg(test)]
pub(crate) mod control_plane;
#[cfg(test)]
pub(crate) mod figures;
#[cfg(test)]
pub(crate) mod ledger;
#[cfg(test)]
pub(crate) mod line;
#[cfg(test)]
pub(crate) mod modelled;
#[cfg(test)]
pub(crate) mod program;
#[cfg(test)]
pub(crate) mod terminal;
#[cfg(test)]
pub(crate) mod unread;
