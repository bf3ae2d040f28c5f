//! Tests against a real control plane. They share this one binary, and one control plane where they can.
//!
//! Where its programs are not built (`tests/control-plane/build`), they say so and pass.

#![cfg(feature = "console")]

mod support;

// `cfg(test)` holds anyway; it tells clippy that panics belong here.
#[cfg(test)]
mod control_plane {
    mod audit;
    mod cascade;
    mod clocks;
    mod command_line;
    mod console;
    mod differential;
    mod distance;
    mod driving;
    mod fixture;
    mod gitops;
    mod hollow;
    mod idle;
    mod judge;
    mod letting_go;
    mod quarantine;
    mod recreated;
    mod refused;
    mod release;
    mod same_answers;
    mod smoke;
    mod stuck;
    mod surge;
    mod suspects;
    mod templates;
}
