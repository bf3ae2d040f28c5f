//! `config`: the settings in force, the source of each, and the paths in use.
//!
//! ```text
//! file                 /home/ada/.config/rolldeck/config.toml
//! themes               /home/ada/.config/rolldeck/themes  (not there)
//! theme                "light"  (ROLLDECK_THEME)
//! glyphs               found out  (default)
//! defaults.soak        "2m"  (file)
//! ```

use std::path::Path;

use serde::Serialize;

use super::args::{ConfigArgs, Global, LogTo, Look, OutputFormat};
use super::error::{CliError, Exit};
use super::json::TypeMetaJson;
use super::output::Output;
use crate::audit::AuditLog;
use crate::config::{self, ConfigFile, ConfigKey};
use crate::process::printable::Printable;

/// The answer of `config`.
#[derive(Serialize)]
struct ConfigJson {
    #[serde(flatten)]
    meta: TypeMetaJson,
    paths: Vec<PathInUse>,
    settings: Vec<SettingInForce>,
}

#[derive(Serialize)]
struct PathInUse {
    what: &'static str,
    /// None where nothing says where it would be.
    path: Option<String>,
    exists: bool,
}

#[derive(Serialize)]
struct SettingInForce {
    name: String,
    /// The value as it is written in the file; `None` if it is detected.
    value: Option<String>,
    from: &'static str,
}

/// Prints the settings, or the reference.
pub(crate) fn run(
    args: &ConfigArgs,
    typed: (&Look, &Global),
    file: &ConfigFile,
    output: &mut Output,
) -> Result<Exit, CliError> {
    if args.reference {
        output.write(Printable::lines(&config::reference()))?;
        return Ok(Exit::Done);
    }
    let answer = ConfigJson {
        meta: TypeMetaJson::new("Config"),
        paths: paths(typed.1, file),
        settings: ConfigKey::ALL
            .into_iter()
            .map(|key| in_force(key, typed, file))
            .chain(defaults(file))
            .chain(named(file))
            .collect(),
    };
    match output.format() {
        OutputFormat::Json | OutputFormat::Yaml => output.value(&answer)?,
        OutputFormat::Text => {
            for PathInUse { what, path, exists } in &answer.paths {
                let path = path.as_deref().unwrap_or("nowhere");
                output.line(format!("{what:<30}{path}{}", if *exists { "" } else { "  (not there)" }))?;
            }
            for SettingInForce { name, value, from } in &answer.settings {
                output.line(format!("{name:<30}{}  ({from})", value.as_deref().unwrap_or("found out")))?;
            }
        }
    }
    Ok(Exit::Done)
}

fn paths(global: &Global, file: &ConfigFile) -> Vec<PathInUse> {
    let in_use = |what, path: Option<&Path>| PathInUse {
        what,
        path: path.map(|path| path.display().to_string()),
        exists: path.is_some_and(Path::exists),
    };
    let themes = config::directory().map(|directory| directory.join("themes"));
    let log = global.audit_log.clone().map_or_else(AuditLog::usual, |LogTo(log)| log);
    vec![in_use("file", file.path.as_deref()), in_use("themes", themes.as_deref()), in_use("audit log", log.path())]
}

/// The settings with which a rollout begins.
fn defaults(file: &ConfigFile) -> impl Iterator<Item = SettingInForce> {
    let built_in: Vec<_> = config::rollout_defaults(&config::built_in()).collect();
    config::rollout_defaults(&file.values).zip(built_in).map(|((name, filed), (_, built_in))| match filed {
        Some(value) => SettingInForce { name, value: Some(value), from: "file" },
        None => SettingInForce { name, value: built_in, from: "default" },
    })
}

/// The user's own keys and filters.
fn named(file: &ConfigFile) -> impl Iterator<Item = SettingInForce> {
    let filed = |name, value: &str| SettingInForce {
        name,
        value: Some(serde_json::Value::from(value).to_string()),
        from: "file",
    };
    let keys = file.values.keys.iter().map(move |choice| filed(format!("keys.{}", choice.action), &choice.key));
    let bookmarks = file.values.bookmarks.iter();
    keys.chain(bookmarks.map(move |bookmark| filed(format!("bookmarks.{}", bookmark.name), &bookmark.filter)))
}

fn in_force(key: ConfigKey, (look, global): (&Look, &Global), file: &ConfigFile) -> SettingInForce {
    let name = key.name().to_owned();
    let typed = match key {
        ConfigKey::Theme => look.theme.as_ref().map(|theme| {
            let from = if look.theme_from_env { "ROLLDECK_THEME" } else { "--theme" };
            (serde_json::Value::from(theme.as_str()).to_string(), from)
        }),
        ConfigKey::Columns => None,
        ConfigKey::ProtectedContexts => None,
        ConfigKey::Glyphs => global.ascii.then(|| ("\"ascii\"".to_owned(), "--ascii")),
        ConfigKey::Notify => None,
    };
    let filed = || key.value_in(&file.values).map(|value| (value, "file"));
    let (value, from) = match typed.or_else(filed) {
        Some((value, from)) => (Some(value), from),
        None => (Some(key.example()).filter(|_| key != ConfigKey::Glyphs), "default"),
    };
    SettingInForce { name, value, from }
}

#[cfg(test)]
mod tests {
    use super::super::Style;
    use super::*;

    fn file() -> ConfigFile {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("config.toml");
        let text = "theme = \"light\"\nglyphs = \"unicode\"\nprotected-contexts = [\"prod-*\"]\nnotify = [\"title\"]";
        std::fs::write(&path, text).unwrap();
        config::load(Some(&path)).unwrap()
    }

    fn told(typed: (&Look, &Global), file: &ConfigFile) -> Vec<String> {
        let settings = ConfigKey::ALL.into_iter().map(|key| in_force(key, typed, file));
        settings.map(|one| format!("{}={} {}", one.name, one.value.unwrap_or_default(), one.from)).collect()
    }

    #[test]
    fn what_is_typed_comes_before_the_file_and_that_before_the_default() {
        let (mut look, mut global) = (Look::default(), Global::default());
        let columns = format!("columns={} default", ConfigKey::Columns.example());
        let nothing = [
            "theme=\"default\" default",
            "glyphs= default",
            &columns,
            "protected-contexts=[] default",
            "notify=[] default",
        ];
        assert_eq!(told((&look, &global), &ConfigFile::default()), nothing);
        assert_eq!(Style::of(look.clone(), &global, &ConfigFile::default()), Style::default());
        let protected = "protected-contexts=[\"prod-*\"] file";
        let notify = "notify=[\"title\"] file";
        let filed = ["theme=\"light\" file", "glyphs=\"unicode\" file", &columns, protected, notify];
        assert_eq!(told((&look, &global), &file()), filed);
        let style = Style::of(look.clone(), &global, &file());
        assert_eq!((style.theme.as_deref(), style.ascii), (Some("light"), Some(false)));
        assert_eq!((style.bell, style.title), (false, true));
        assert_eq!(style.protected, ["prod-*"]);
        assert!(style.theme_place.is_some_and(|place| place.ends_with("config.toml:1")));
        look.theme = Some("mono".to_owned());
        look.theme_from_env = true;
        global.ascii = true;
        let typed = ["theme=\"mono\" ROLLDECK_THEME", "glyphs=\"ascii\" --ascii", &columns, protected, notify];
        assert_eq!(told((&look, &global), &file()), typed);
        let style = Style::of(look, &global, &file());
        assert_eq!((style.theme.as_deref(), style.ascii, style.theme_place), (Some("mono"), Some(true), None));
    }

    #[test]
    fn a_broken_file_does_not_keep_the_reference_back() {
        let reads = |line: &[&str]| super::super::parse(line.iter().map(Into::into)).unwrap().typed().reads_config();
        assert!(reads(&["rolldeck", "config"]) && reads(&["rolldeck", "status"]) && reads(&["rolldeck"]));
        assert!(!reads(&["rolldeck", "config", "--reference"]) && !reads(&["rolldeck", "completions", "bash"]));
    }
}
