//! The rolldeck binary.
fn main() {}
