//! Tests that need a program which this machine does not have.

use std::fmt::Display;
use std::io::Write;

/// Prints past the test harness's capture that the calling test does not run, and why. Fails the test if everything has to run
/// (`ROLLDECK_CONTROL_PLANE=require`).
pub(crate) fn skip(why: &dyn Display) {
    if std::env::var_os("ROLLDECK_CONTROL_PLANE").is_some_and(|value| value == "require") {
        panic!("{why}");
    }
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    let _ = writeln!(std::io::stderr(), "skipped {test}: {why}");
}
