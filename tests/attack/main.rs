//! The promises under attack: random clusters, rollouts and faults, judged by an independent observer. `rolldeck simulate` plays any number of them.
//! These tests play as many as a test may take, each kept case that once found a defect, and the check that every rule of the engine matters
//! (`mutations.rs`). `compare.rs` compares methods of rolling out, which needs optimised code, too.
//!
//! This is a test binary of its own because it needs the pure half of the library only, and is built in release for
//! many rollouts: `ROLLDECK_RUNS=20000 cargo test --profile attack --no-default-features --test attack`.
//!
//! | variable | |
//! |---|---|
//! | `ROLLDECK_RUNS` | how many rollouts |
//! | `ROLLDECK_SEED` | the seed of the first |
//! | `ROLLDECK_UNTIL_BROKEN` | 1: stop at the first broken promise |

#[cfg(test)]
mod compare;
#[cfg(test)]
mod mutations;
#[cfg(test)]
mod promises;
