//! Tests against a real control plane, which they share where they can.
//!
//! Where its programs are not built (`tests/control-plane/build`), each test says so and passes.

mod accepted;
mod audit;
mod by_hand;
mod cascade;
mod clocks;
mod command_line;
mod compressed;
mod console;
mod diagnose;
mod differential;
mod distance;
mod driving;
mod edited;
mod fixture;
mod fleet_pulls;
mod gitops;
mod history;
mod hollow;
mod idle;
mod injected;
mod judge;
mod kept;
mod logs;
mod membership;
mod mutating;
mod others;
mod played;
mod prewarm;
mod quarantine;
mod recreated;
mod refused;
mod release;
mod report;
mod same_answers;
mod smoke;
mod soak;
mod steps;
mod stuck;
mod surge;
mod suspects;
mod templates;
mod tolerations;
mod undriven;
mod unrecorded;
