//! `[keys]` and `[bookmarks]`: tables whose names are chosen elsewhere, so that only their form is judged here.

use std::ops::Range;

use toml::de::DeValue;

/// The name of the table of keys.
pub(super) const KEYS: &str = "keys";
/// The name of the table of filters.
pub(super) const BOOKMARKS: &str = "bookmarks";

/// A key that the user gives to an action of the console.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeyChoice {
    /// The action, by the name that is typed after `:`.
    pub action: String,
    /// The key, as the console's help writes it.
    pub key: String,
    /// Its line in the file, counted from 1.
    pub line: usize,
}

/// A filter that has a name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bookmark {
    /// The name, which is typed after `@`.
    pub name: String,
    /// What it stands for, as it is typed after `/`.
    pub filter: String,
}

/// Why a table cannot be read, and where, if it is about one of its keys.
type TableError = (Option<Range<usize>>, String);

/// Reads `[keys]`; `line` counts lines.
pub(super) fn keys(value: &DeValue<'_>, line: impl Fn(Range<usize>) -> usize) -> Result<Vec<KeyChoice>, TableError> {
    let DeValue::Table(table) = value else {
        return Err((None, format!("`{KEYS}` is a table: write `[{KEYS}]`, and below it lines as `map = \"M\"`")));
    };
    let mut keys = Vec::new();
    for (name, value) in table {
        let wrong =
            || (Some(name.span()), format!("`{0}` is a key or a list of keys, as in `{0} = \"F5\"`", name.get_ref()));
        let mut add = |key: &DeValue<'_>| {
            let key = key.as_str().ok_or_else(wrong)?.to_owned();
            keys.push(KeyChoice { action: name.get_ref().to_string(), key, line: line(name.span()) });
            Ok(())
        };
        match value.get_ref() {
            DeValue::Array(list) => list.iter().try_for_each(|key| add(key.get_ref()))?,
            one => add(one)?,
        }
    }
    Ok(keys)
}

/// Reads `[bookmarks]`.
pub(super) fn bookmarks(value: &DeValue<'_>) -> Result<Vec<Bookmark>, TableError> {
    let DeValue::Table(table) = value else {
        let as_in = "`press = \"-l line in (line3,line4)\"`";
        return Err((None, format!("`{BOOKMARKS}` is a table: write `[{BOOKMARKS}]`, and below it lines as {as_in}")));
    };
    let mut bookmarks = Vec::new();
    for (name, value) in table {
        let wrong = |why: &str| (Some(name.span()), format!("`{}` {why}", name.get_ref()));
        if name.get_ref().is_empty() || name.get_ref().contains(char::is_whitespace) {
            return Err(wrong("cannot be the name of a bookmark: a name has no blanks"));
        }
        let filter =
            value.get_ref().as_str().ok_or_else(|| wrong("is a filter in quotes, as in `\"state=failed\"`"))?;
        bookmarks.push(Bookmark { name: name.get_ref().to_string(), filter: filter.to_owned() });
    }
    Ok(bookmarks)
}

/// Both tables, with examples as comments.
pub(super) fn reference() -> String {
    format!(
        "\n## Keys of your own for the console's actions, beside those that they have: the name that is typed after `:`, and a key as the\n\
         ## help (?) writes it, or several. What writes to the cluster keeps its keys, and takes capital letters, F1 to F12 and alt- only.\n\
         ## In dialogs and where text is typed keys are what they are.\n\
         [{KEYS}]\n# map = \"M\"\n# timeline = [\"F4\", \"alt-t\"]\n\
         \n## Filters by name: `/@press` stands for it in the console, and tab completes the name.\n\
         [{BOOKMARKS}]\n# press = \"-l node-role.kubernetes.io/press\"\n# bad = \"state=failed rst>0\"\n"
    )
}
