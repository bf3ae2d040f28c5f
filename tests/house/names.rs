//! Every type name has one meaning.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::House;
use super::source::File;

/// Files whose types are named after the Kubernetes objects and fields that they read or write.
const MIRRORS: &[&str] = &["src/cluster/partial", "src/sim/world/object", "src/sim/world/controllers"];

#[test]
fn a_type_has_a_name_of_its_own() {
    let mut declared: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    let files = House::of_this_crate().files();
    let is_mirror = |file: &File| MIRRORS.iter().any(|mirror| file.path.to_string_lossy().starts_with(mirror));
    for file in files.iter().filter(|file| !is_mirror(file)) {
        for name in file.types() {
            declared.entry(name).or_default().push(file.path.clone());
        }
    }
    declared.retain(|_, files| files.len() > 1);
    assert_eq!(declared, BTreeMap::new());
}

#[test]
fn types_are_found_however_visible() {
    let source = "pub struct A; pub(crate) enum B {} pub(in crate::engine) trait C {} struct D; pub fn e() {} pub type F = A; \
                  impl Iterator for A { type Item = D; }";
    assert_eq!(File::new("src/cli.rs", source).types(), ["A", "B", "C", "D", "F"]);
}
