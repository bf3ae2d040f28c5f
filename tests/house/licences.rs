//! Every dependency may be used and passed on under the licences that `deny.toml` accepts.

use std::process::Command;

use serde_json::Value;
use spdx::{Expression, LicenseReq, Licensee, ParseMode};

/// `licenses.allow` of `deny.toml`.
fn accepted() -> Vec<Licensee> {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/deny.toml")).unwrap();
    let table: toml::Table = toml::from_str(&text).unwrap();
    let allow = table["licenses"]["allow"].as_array().unwrap();
    allow.iter().map(|name| Licensee::parse(name.as_str().unwrap()).unwrap()).collect()
}

/// Whether the accepted licences satisfy a package's licence expression.
fn is_met(expression: &str, accepted: &[Licensee]) -> bool {
    // Older packages write `OR` as in `MIT/Apache-2.0`.
    let expression = Expression::parse_mode(expression, ParseMode::LAX);
    let may_use = |asked: &LicenseReq| accepted.iter().any(|licensee| licensee.satisfies(asked));
    expression.is_ok_and(|expression| expression.evaluate(may_use))
}

#[test]
fn every_dependency_has_a_licence_that_is_accepted() {
    let accepted = accepted();
    let cargo = Command::new(env!("CARGO"))
        .args(["metadata", "--locked", "--format-version", "1"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(cargo.status.success(), "{}", String::from_utf8_lossy(&cargo.stderr));
    let metadata: Value = serde_json::from_slice(&cargo.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() > 100, "only {} packages", packages.len());
    let refused: Vec<String> = packages
        .iter()
        .filter(|package| !package["license"].as_str().is_some_and(|expression| is_met(expression, &accepted)))
        .map(|package| format!("{} {}: {}", package["name"], package["version"], package["license"]))
        .collect();
    assert!(refused.is_empty(), "packages whose licence `deny.toml` does not accept:\n  {}", refused.join("\n  "));
}

#[test]
fn expressions_are_met_as_they_say() {
    let accepted = accepted();
    for met in ["MIT/Apache-2.0", "GPL-3.0-only OR MIT", "MIT AND ISC", "Apache-2.0 WITH LLVM-exception"] {
        assert!(is_met(met, &accepted), "{met}");
    }
    for refused in ["GPL-3.0-only", "MIT AND LGPL-2.1-or-later", "AGPL-3.0", "", "nonsense"] {
        assert!(!is_met(refused, &accepted), "{refused}");
    }
}
