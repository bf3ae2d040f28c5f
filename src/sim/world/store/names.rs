//! Names and uids that an API server generates.

use crate::engine::model::Str;

/// The characters of generated suffixes and hashes: no vowels, and no character that looks like another.
pub(in crate::sim::world) const SAFE: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
/// A longer base is cut, so that base and suffix fit into 63 characters.
const LONGEST_BASE: usize = 58;

/// `base` and five random characters.
pub(super) fn generated(base: &str, rng: &mut fastrand::Rng) -> Str {
    let mut name: String = base.chars().take(LONGEST_BASE).collect();
    name.extend((0..5).map(|_| char::from(SAFE[rng.usize(..SAFE.len())])));
    name.into()
}

/// A random (version 4) UUID; with another `mark` the same dice make another one.
pub(super) fn uid(rng: &mut fastrand::Rng, mark: u128) -> Str {
    let bits = (rng.u128(..) ^ mark) & !(0xf_u128 << 76) & !(0x3_u128 << 62) | (0x4_u128 << 76) | (0x2_u128 << 62);
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        bits >> 96,
        bits >> 80 & 0xffff,
        bits >> 64 & 0xffff,
        bits >> 48 & 0xffff,
        bits & 0xffff_ffff_ffff
    )
    .into()
}
