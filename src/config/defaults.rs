//! `[defaults]`: with which settings a rollout begins that is not recorded yet.
//!
//! Every setting of a rollout may stand there, under the name of its flag and with the same values.

use std::ops::Range;

use toml::de::DeValue;

use super::{ConfigKey, guess};
use crate::engine::model::settings::{Setting, Settings, Tuning};

/// The name of the table.
pub(super) const TABLE: &str = "defaults";

/// Why it cannot be read, and where, if it is about one key.
type DefaultsError = (Option<Range<usize>>, String);

/// The names of all settings.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    Setting::ALL.iter().map(|setting| setting.name())
}

pub(super) fn read(value: &DeValue<'_>) -> Result<Tuning, DefaultsError> {
    let DeValue::Table(table) = value else {
        return Err((None, format!("`{TABLE}` is a table: write `[{TABLE}]`, and each setting on a line below it")));
    };
    let mut defaults = Tuning::default();
    for (key, value) in table {
        let one = read_one(key.get_ref(), value.get_ref()).map_err(|why| (Some(key.span()), why))?;
        defaults = defaults.and(one);
    }
    defaults.check_alone().map_err(|why| (None, format!("`[{TABLE}]`: {why}")))?;
    Ok(defaults)
}

fn read_one(name: &str, value: &DeValue<'_>) -> Result<Tuning, String> {
    if ConfigKey::ALL.into_iter().any(|key| key.name() == name) {
        return Err(format!("`{name}` is no setting of a rollout: write it above `[{TABLE}]`"));
    }
    let Some(setting) = Setting::ALL.iter().find(|setting| setting.name() == name) else {
        return Err(format!(
            "there is no setting `{name}` in `[{TABLE}]`{}",
            guess(name, &names().collect::<Vec<_>>())
        ));
    };
    let text = match value {
        DeValue::String(text) => text.to_string(),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Boolean(is) => is.to_string(),
        _ => return Err(format!("`{name}` is a text, a number or true or false, as in `{}`", example(*setting))),
    };
    let choices = setting.kind().choices;
    if !choices.is_empty() && !choices.contains(&text.as_str()) {
        return Err(format!("`{name}` cannot be `{text}`{}", guess(&text, choices)));
    }
    setting.read(&text).map_err(|why| format!("`{name}`: {why}"))
}

/// A setting with its built-in default, as it is written in the file.
fn example(setting: Setting) -> String {
    format!("{} = {}", setting.name(), written(&setting.value(&Settings::default())))
}

/// A value as it is written in the file: a string of JSON is one of TOML.
fn written(value: &str) -> String {
    match value {
        "true" | "false" => value.to_owned(),
        value if value.parse::<u32>().is_ok() => value.to_owned(),
        value => serde_json::Value::from(value).to_string(),
    }
}

/// All settings with their built-in defaults, as comments.
pub(super) fn reference() -> String {
    let mut text = format!(
        "\n## With which settings a rollout begins. A flag takes precedence, and a rollout that is recorded keeps its own.\n[{TABLE}]\n"
    );
    for setting in Setting::ALL {
        text.push_str(&format!("\n## {}\n# {}\n", setting.help().replace('\n', " "), example(*setting)));
    }
    text
}

/// Each setting by its name in the file, with what the file says.
pub(super) fn in_file(defaults: &Tuning) -> impl Iterator<Item = (String, Option<String>)> + use<'_> {
    Setting::ALL
        .iter()
        .map(|setting| (format!("{TABLE}.{}", setting.name()), setting.value_in(defaults).map(|value| written(&value))))
}
