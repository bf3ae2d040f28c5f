//! The configuration file: where it is, what may stand in it, and what stands in it.
//!
//! It is TOML. One table, [`ConfigKey::ALL`], says which keys there are; from it the file is read, the commented reference is
//! written and the settings in force are listed. A flag and an environment variable take precedence over the file.
//! Only absolute paths are looked at, so that a file in the directory where somebody happens to be is never read by itself.

mod defaults;
mod node_columns;
mod protected;
mod tables;

use std::ops::Range;
use std::path::{Path, PathBuf};

use toml::de::{DeTable, DeValue};

pub use self::node_columns::NodeColumnName;
pub use self::protected::is_protected;
pub use self::tables::{Bookmark, KeyChoice};
use crate::engine::model::settings::{Settings, Tuning};

/// Which signs the console uses: the values of `glyphs`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GlyphChoice {
    /// Signs beyond ASCII.
    Unicode,
    /// Only ASCII.
    Ascii,
}

/// How the console calls its operator when a rollout halts, is done, or is taken over: the values of `notify`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallChoice {
    /// The terminal's bell.
    Bell,
    /// The terminal's title.
    Title,
}

/// What a file sets; `None` is what it leaves out.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ConfigValues {
    /// The name of a theme.
    pub theme: Option<String>,
    /// Which signs are used.
    pub glyphs: Option<GlyphChoice>,
    /// The columns of the console's list of nodes, from left to right.
    pub columns: Option<Vec<NodeColumnName>>,
    /// With which settings a rollout begins.
    pub defaults: Tuning,
    /// Keys for actions of the console, in their order in the file.
    pub keys: Vec<KeyChoice>,
    /// Filters of the console that have names.
    pub bookmarks: Vec<Bookmark>,
    /// The line of `theme`, counted from 1.
    theme_line: Option<usize>,
    /// The contexts that are protected; see [`is_protected`].
    pub protected_contexts: Option<Vec<String>>,
    /// By what the console calls when a rollout halts, is done, or is taken over.
    pub notify: Option<Vec<CallChoice>>,
}

/// A configuration file that was looked for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ConfigFile {
    /// Where; `None` where there is neither `XDG_CONFIG_HOME` nor a home directory.
    pub path: Option<PathBuf>,
    /// Whether the file exists.
    pub exists: bool,
    /// What it sets.
    pub values: ConfigValues,
}

impl ConfigFile {
    /// Where what is on a line of it stands.
    pub fn place(&self, line: usize) -> String {
        let path = self.path.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
        format!("{path}:{line}")
    }

    /// Where its theme stands: `/home/ada/.config/rolldeck/config.toml:3`.
    pub fn theme_place(&self) -> Option<String> {
        Some(format!("{}:{}", self.path.as_ref()?.display(), self.values.theme_line?))
    }
}

/// Why a configuration file cannot be used: the file, the line, and what is wrong there.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(String);

/// A key of the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConfigKey {
    /// `theme`
    Theme,
    /// `glyphs`
    Glyphs,
    /// `columns`
    Columns,
    /// `protected-contexts`
    ProtectedContexts,
    /// `notify`
    Notify,
}

const GLYPHS: [&str; 2] = ["unicode", "ascii"];
const CALLS: [&str; 2] = ["bell", "title"];

/// Names as a list of TOML.
fn list_of(names: &[impl std::fmt::Display]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    format!("[{}]", quoted.join(", "))
}

impl ConfigKey {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Theme, Self::Glyphs, Self::Columns, Self::ProtectedContexts, Self::Notify];

    /// As it is written in the file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Theme => "theme",
            Self::Glyphs => "glyphs",
            Self::Columns => "columns",
            Self::ProtectedContexts => "protected-contexts",
            Self::Notify => "notify",
        }
    }

    /// What it does, in one sentence.
    pub fn help(self) -> &'static str {
        match self {
            Self::Theme => "Colours and signs: a built-in theme, or one of your own in ~/.config/rolldeck/themes.",
            Self::Glyphs => {
                "Which signs are used: \"unicode\" or \"ascii\". Without it the console finds out what the terminal shows."
            }
            Self::Columns => {
                "Which columns the console's list of nodes has, from left to right, where there is room for them."
            }
            Self::ProtectedContexts => {
                "Contexts on which a write takes one step more, as in [\"prod-*\", \"factory\"]: the console shows a banner and asks for \
                 the context's name before it arms; a command that writes has to name it with --context."
            }
            Self::Notify => {
                "What calls you when a rollout halts, is done, or is taken over: \"bell\", \"title\" (of the terminal), both or none."
            }
        }
    }

    /// A value as it is written in the file: the default, or one that may be used where the default is found out.
    pub fn example(self) -> String {
        match self {
            Self::Theme => "\"default\"".to_owned(),
            Self::Glyphs => "\"unicode\"".to_owned(),
            Self::Columns => list_of(&NodeColumnName::ALL),
            Self::ProtectedContexts | Self::Notify => "[]".to_owned(),
        }
    }

    /// What `values` sets it to, as it is written in the file.
    pub fn value_in(self, values: &ConfigValues) -> Option<String> {
        match self {
            // A string of JSON is one of TOML.
            Self::Theme => values.theme.as_ref().map(|theme| serde_json::Value::from(theme.as_str()).to_string()),
            Self::Glyphs => values.glyphs.map(|glyphs| match glyphs {
                GlyphChoice::Unicode => "\"unicode\"".to_owned(),
                GlyphChoice::Ascii => "\"ascii\"".to_owned(),
            }),
            Self::Columns => values.columns.as_deref().map(list_of),
            Self::ProtectedContexts => values.protected_contexts.as_ref().map(|all| serde_json::json!(all).to_string()),
            Self::Notify => values.notify.as_ref().map(|calls| {
                let names = calls.iter().map(|call| match call {
                    CallChoice::Bell => "\"bell\"",
                    CallChoice::Title => "\"title\"",
                });
                format!("[{}]", names.collect::<Vec<_>>().join(", "))
            }),
        }
    }

    fn read(self, value: &DeValue<'_>, values: &mut ConfigValues) -> Result<(), String> {
        let text = || match value {
            DeValue::String(text) => Ok(text.to_string()),
            _ => Err(format!("`{}` is a text in quotes, as in `{}`", self.name(), self.example())),
        };
        match self {
            Self::Theme => values.theme = Some(text()?),
            Self::Glyphs => {
                values.glyphs = Some(match text()?.as_str() {
                    "unicode" => GlyphChoice::Unicode,
                    "ascii" => GlyphChoice::Ascii,
                    other => return Err(format!("`glyphs` cannot be `{other}`{}", guess(other, &GLYPHS))),
                });
            }
            Self::Columns => values.columns = Some(columns(value)?),
            Self::ProtectedContexts => {
                let refuse = || format!("`{}` is a list of texts in quotes, as in `[\"prod-*\"]`", self.name());
                let DeValue::Array(all) = value else { return Err(refuse()) };
                let name = |one: &DeValue<'_>| one.as_str().map(str::to_owned).ok_or_else(refuse);
                let names: Result<Vec<String>, String> = all.iter().map(|one| name(one.get_ref())).collect();
                values.protected_contexts = Some(names?);
            }
            Self::Notify => {
                let list = "`notify` is a list of texts, as in `[\"bell\", \"title\"]`";
                let DeValue::Array(all) = value else { return Err(list.to_owned()) };
                let call = |one: &toml::Spanned<DeValue<'_>>| match one.get_ref() {
                    DeValue::String(text) => match &**text {
                        "bell" => Ok(CallChoice::Bell),
                        "title" => Ok(CallChoice::Title),
                        other => Err(format!("`notify` cannot have `{other}`{}", guess(other, &CALLS))),
                    },
                    _ => Err(list.to_owned()),
                };
                values.notify = Some(all.iter().map(call).collect::<Result<_, _>>()?);
            }
        }
        Ok(())
    }
}

/// Reads `columns`: a list of names, each of a column that there is.
fn columns(value: &DeValue<'_>) -> Result<Vec<NodeColumnName>, String> {
    let wrong = || format!("`columns` is a list of texts, as in `columns = {}`", ConfigKey::Columns.example());
    let DeValue::Array(list) = value else { return Err(wrong()) };
    let mut columns: Vec<NodeColumnName> = Vec::new();
    for entry in list.iter() {
        let DeValue::String(name) = entry.get_ref() else { return Err(wrong()) };
        let Some(column) = NodeColumnName::ALL.into_iter().find(|column| column.name() == &**name) else {
            let known = NodeColumnName::ALL.map(NodeColumnName::name);
            return Err(format!("there is no column `{name}`{}", guess(name, &known)));
        };
        if columns.contains(&column) {
            return Err(format!("`columns` names `{name}` twice"));
        }
        columns.push(column);
    }
    match columns.contains(&NodeColumnName::Name) {
        true => Ok(columns),
        false => Err("`columns` lacks `name`: a list of nodes tells which node is which".to_owned()),
    }
}

/// The directory of everything that the user configures: `rolldeck` in `XDG_CONFIG_HOME`, else in `~/.config`. A relative
/// `XDG_CONFIG_HOME` is ignored, as its specification demands.
pub fn directory() -> Option<PathBuf> {
    directory_in(std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from), std::env::home_dir())
}

fn directory_in(config: Option<PathBuf>, home: Option<PathBuf>) -> Option<PathBuf> {
    let home = || home.filter(|home| home.is_absolute()).map(|home| home.join(".config"));
    Some(config.filter(|path| path.is_absolute()).or_else(home)?.join("rolldeck"))
}

/// Reads the file `named`, or otherwise the usual one, which may be missing.
///
/// # Errors
/// A file that was named is missing; a file cannot be read; or something in it is not understood.
pub fn load(named: Option<&Path>) -> Result<ConfigFile, ConfigError> {
    let Some(path) = named.map(Path::to_owned).or_else(|| directory().map(|directory| directory.join("config.toml")))
    else {
        return Ok(ConfigFile::default());
    };
    match std::fs::read_to_string(&path) {
        Ok(text) => {
            let values = parse(&text).map_err(|wrong| {
                let lines = wrong.iter().map(|(line, why)| format!("{}:{line}: {why}", path.display()));
                ConfigError(lines.collect::<Vec<_>>().join("\n"))
            })?;
            Ok(ConfigFile { path: Some(path), exists: true, values })
        }
        Err(error) if named.is_none() && error.kind() == std::io::ErrorKind::NotFound => {
            Ok(ConfigFile { path: Some(path), exists: false, values: ConfigValues::default() })
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(ConfigError(format!(
            "there is no file {}; `rolldeck config --reference` prints one to begin with, and without `--config` the usual one is read",
            path.display()
        ))),
        Err(error) => Err(ConfigError(format!("reading the configuration {}: {error}", path.display()))),
    }
}

/// Reads a file's text. Whatever is wrong comes with its line, counted from 1, in the order of the file.
fn parse(text: &str) -> Result<ConfigValues, Vec<(usize, String)>> {
    let line = |span: Range<usize>| 1 + text.bytes().take(span.start).filter(|byte| *byte == b'\n').count();
    let document = DeTable::parse(text).map_err(|error| {
        vec![(error.span().map_or(1, &line), error.message().lines().collect::<Vec<_>>().join(" "))]
    })?;
    let mut values = ConfigValues::default();
    let mut wrong = Vec::new();
    for (key, value) in document.get_ref() {
        let at = line(key.span());
        if key.get_ref() == ConfigKey::Theme.name() {
            values.theme_line = Some(at);
        }
        if let Err((span, why)) = read_entry(key.get_ref(), value.get_ref(), line, &mut values) {
            wrong.push((span.map_or(at, &line), why));
        }
    }
    wrong.sort();
    if wrong.is_empty() { Ok(values) } else { Err(wrong) }
}

/// Reads a setting, or a table; `line` counts lines.
fn read_entry(
    name: &str,
    value: &DeValue<'_>,
    line: impl Fn(Range<usize>) -> usize,
    values: &mut ConfigValues,
) -> Result<(), (Option<Range<usize>>, String)> {
    match name {
        defaults::TABLE => values.defaults = defaults::read(value)?,
        tables::KEYS => values.keys = tables::keys(value, line)?,
        tables::BOOKMARKS => values.bookmarks = tables::bookmarks(value)?,
        name => read_key(name, value, values).map_err(|why| (None, why))?,
    }
    Ok(())
}

fn read_key(name: &str, value: &DeValue<'_>, values: &mut ConfigValues) -> Result<(), String> {
    match ConfigKey::ALL.into_iter().find(|key| key.name() == name) {
        Some(key) => key.read(value, values),
        // What belongs into `[defaults]` and stands outside of it.
        None if defaults::names().any(|known| known == name) => Err(format!(
            "`{name}` belongs into the table `[{}]`, after this line: `[{}]`",
            defaults::TABLE,
            defaults::TABLE
        )),
        None if CALLS.contains(&name) => {
            Err(format!("there is no setting `{name}`: write `{} = [\"{name}\"]`", ConfigKey::Notify.name()))
        }
        None => {
            let tables = [defaults::TABLE, tables::KEYS, tables::BOOKMARKS];
            let known: Vec<&str> = ConfigKey::ALL.into_iter().map(ConfigKey::name).chain(tables).collect();
            Err(format!("there is no setting `{name}`{}", guess(name, &known)))
        }
    }
}

/// `: did you mean `theme`?`, or all that there are.
fn guess(typed: &str, known: &[&str]) -> String {
    match nearest(typed, known.iter().copied()) {
        Some(name) => format!(": did you mean `{name}`?"),
        None => format!(" (there are {})", known.join(", ")),
    }
}

/// The name that was probably meant by one that is not known: at most two letters left out, added, changed or swapped, and no more
/// than a third of what was typed.
pub(crate) fn nearest<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = typed.chars().count().div_ceil(3).min(2);
    let near = known.into_iter().map(|name| (strsim::damerau_levenshtein(typed, name), name)).min();
    near.filter(|(distance, _)| *distance <= limit).map(|(_, name)| name)
}

/// A file with every key, its explanation and its default, all as comments.
pub fn reference() -> String {
    let mut text = "# The configuration of rolldeck. Every setting is shown with its default; remove the `# ` before it to change it.\n\
                    # A flag or an environment variable takes precedence. `rolldeck config` says what is in force.\n"
        .to_owned();
    for key in ConfigKey::ALL {
        text.push_str(&format!("\n## {}\n# {} = {}\n", key.help(), key.name(), key.example()));
    }
    text.push_str(&defaults::reference());
    text.push_str(&tables::reference());
    text
}

/// What holds where neither a file nor a flag says something else; only of rollouts, the rest is found out.
pub fn built_in() -> ConfigValues {
    let Settings { budgets, gates, policies } = Settings::default();
    let defaults = Tuning::from(budgets).and(gates.into()).and(policies.into());
    ConfigValues { defaults, ..ConfigValues::default() }
}

/// The settings with which rollouts begin, as `rolldeck config` names them: `defaults.soak`, and what the file says of each, as it is
/// written there.
pub fn rollout_defaults(values: &ConfigValues) -> impl Iterator<Item = (String, Option<String>)> {
    defaults::in_file(&values.defaults)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::model::settings::Setting;

    #[test]
    fn the_reference_is_read_back() {
        assert_eq!(parse(&reference()).unwrap(), ConfigValues::default());
        let all = reference()
            .lines()
            .map(|line| line.strip_prefix("# ").filter(|line| line.contains(" = ")).unwrap_or(line).to_owned() + "\n")
            .collect::<String>();
        let values = parse(&all).unwrap();
        assert_eq!(values.keys.len(), 3);
        assert_eq!(values.bookmarks.len(), 2);
        for key in ConfigKey::ALL {
            assert_eq!(key.value_in(&values), Some(key.example()), "{all}");
        }
        for setting in Setting::ALL {
            let written = setting.value_in(&values.defaults);
            assert_eq!(written, Some(setting.value(&Settings::default())), "{all}");
        }
    }

    #[test]
    fn what_is_written_is_in_force() {
        let text = "theme = \"light\"\nglyphs = \"ascii\"\nnotify = [\"bell\", \"title\"]\n";
        let values = parse(text).unwrap();
        assert_eq!(values.notify, Some(vec![CallChoice::Bell, CallChoice::Title]));
        assert_eq!(ConfigKey::Notify.value_in(&values).as_deref(), Some("[\"bell\", \"title\"]"));
        let text =
            "\ntheme = \"light\"\nglyphs = \"ascii\"\n[defaults]\nmax-unavailable = 1\nstrict = true\nsoak = \"2m\"";
        let values = parse(text).unwrap();
        assert_eq!(values.defaults.to_string(), "max-unavailable=1 strict=true soak=2m");
        let file = ConfigFile { path: Some("/a/config.toml".into()), exists: true, values: values.clone() };
        assert_eq!(file.theme_place().as_deref(), Some("/a/config.toml:2"));
        assert_eq!(values.theme.as_deref(), Some("light"));
        assert_eq!(values.glyphs, Some(GlyphChoice::Ascii));
        let values = parse("protected-contexts = [\"prod-*\", \"factory\"]").unwrap();
        assert_eq!(values.protected_contexts, Some(vec!["prod-*".to_owned(), "factory".to_owned()]));
        assert_eq!(ConfigKey::ProtectedContexts.value_in(&values).as_deref(), Some(r#"["prod-*","factory"]"#));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        for (text, line, why) in [
            ("\nthem = \"light\"", 2, "no setting `them`: did you mean `theme`?"),
            (
                "zzzzzzzz = 1",
                1,
                "(there are theme, glyphs, columns, protected-contexts, notify, defaults, keys, bookmarks)",
            ),
            ("columns = [\"name\", \"stat\"]", 1, "there is no column `stat`: did you mean `state`?"),
            ("columns = [\"name\", \"name\"]", 1, "names `name` twice"),
            ("columns = [\"state\"]", 1, "lacks `name`"),
            ("columns = \"name\"", 1, "is a list of texts"),
            ("soak = \"2m\"", 1, "`soak` belongs into the table `[defaults]`"),
            ("[defaults]\nsoka = \"2m\"", 2, "no setting `soka` in `[defaults]`: did you mean `soak`?"),
            ("[defaults]\n\nsoak = \"2 parsecs\"", 3, "`soak`: "),
            ("[defaults]\nmax-unavailable = 0", 1, "a budget of 0 lets nothing be replaced"),
            ("[defaults]\non-drift = \"fight\"", 2, "`on-drift` cannot be `fight` (there are report, enforce)"),
            ("[defaults]\nsoak = [1]", 2, "`soak` is a text, a number or true or false"),
            ("[defaults]\ntheme = \"light\"", 2, "`theme` is no setting of a rollout: write it above `[defaults]`"),
            ("defaults = 3", 1, "`defaults` is a table"),
            ("notify = \"bell\"", 1, "`notify` is a list of texts, as in"),
            ("notify = [\"bel\"]", 1, "cannot have `bel`: did you mean `bell`?"),
            ("notify = [3]", 1, "is a list of texts"),
            ("# x\nglyphs = \"asci\"", 2, "cannot be `asci`: did you mean `ascii`?"),
            ("protected-contexts = \"prod\"", 1, "a list of texts"),
            ("protected-contexts = [1]", 1, "a list of texts"),
            ("theme = 3", 1, "`theme` is a text in quotes"),
            ("theme = \"light\"\ntheme =", 2, ""),
            ("keys = \"m\"", 1, "`keys` is a table"),
            ("[keys]\nmap = [1]", 2, "`map` is a key or a list of keys"),
            ("[bookmarks]\n\n\"a b\" = \"x\"", 3, "a name has no blanks"),
            ("[bookmarks]\na = 3", 2, "`a` is a filter in quotes"),
        ] {
            let (at, said) = parse(text).unwrap_err().remove(0);
            assert_eq!(at, line, "{text:?}: {said}");
            assert!(said.contains(why), "{text:?}: {said}");
        }
    }

    #[test]
    fn only_absolute_directories_are_looked_at() {
        let path = |text: &str| Some(PathBuf::from(text));
        assert_eq!(directory_in(path("/c"), path("/home/ada")), path("/c/rolldeck"));
        assert_eq!(directory_in(path("c"), path("/home/ada")), path("/home/ada/.config/rolldeck"));
        assert_eq!(directory_in(path(""), path(".")), None);
    }

    #[test]
    fn a_file_that_was_named_has_to_be_there() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("mine.toml");
        let said = load(Some(&file)).unwrap_err().to_string();
        assert!(
            said.contains("there is no file ") && said.contains("mine.toml; `rolldeck config --reference`"),
            "{said}"
        );
        std::fs::write(&file, "theme = \"light\"\nbell = true\n[defaults]\nsoka = 3\n[bookmarks]\na = 3").unwrap();
        let said = load(Some(&file)).unwrap_err().to_string();
        let lines: Vec<&str> = said.lines().collect();
        assert!(lines[0].ends_with("mine.toml:2: there is no setting `bell`: write `notify = [\"bell\"]`"), "{said}");
        assert!(
            lines[1].contains("mine.toml:4: ") && lines[2].contains("mine.toml:6: "),
            "all, in their order: {said}"
        );
    }
}
