//! The scenarios that come with the program.

use super::{Scenario, ScenarioError};

/// The name and the text of each scenario.
pub const BUILT_IN: [(&str, &str); 5] = [
    ("factory", include_str!("../../../../scenarios/factory.toml")),
    ("small", include_str!("../../../../scenarios/small.toml")),
    ("cascade", include_str!("../../../../scenarios/cascade.toml")),
    ("cascade-native", include_str!("../../../../scenarios/cascade-native.toml")),
    ("registry", include_str!("../../../../scenarios/registry.toml")),
];

/// A scenario with every key, explained.
pub const REFERENCE: &str = include_str!("../../../../scenarios/reference.toml");

/// The built-in scenario of that name.
///
/// # Errors
/// The names of the built-in scenarios, when none has this name.
pub fn built_in(name: &str) -> Result<Scenario, ScenarioError> {
    Scenario::parse(name, built_in_text(name)?)
}

/// The text of the built-in scenario of that name.
///
/// # Errors
/// The names of the built-in scenarios, when none has this name.
pub fn built_in_text(name: &str) -> Result<&'static str, ScenarioError> {
    match BUILT_IN.iter().find(|(known, _)| *known == name) {
        Some((_, text)) => Ok(text),
        None => {
            let known: Vec<&str> = BUILT_IN.iter().map(|(known, _)| *known).collect();
            Err(ScenarioError {
                file: name.to_owned(),
                message: format!("there is no such scenario; there are {}", known.join(", ")),
            })
        }
    }
}
