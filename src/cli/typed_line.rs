//! The line that was typed, to be offered once more with another flag.

use std::ffi::OsString;
use std::path::Path;

use crate::engine::model::shell::shell_word;

/// What the binary is called where it is a plugin of kubectl.
pub(super) const AS_PLUGIN: &str = "kubectl rolldeck";

/// The words of a command line.
#[derive(Clone, Debug, Default)]
pub(super) struct TypedLine(Vec<OsString>);

impl TypedLine {
    pub(super) fn of(line: &[OsString]) -> Self {
        Self(line.to_vec())
    }

    /// The same line with one more flag, quoted for a shell; `None` if a word of it cannot be quoted safely.
    pub(super) fn with(&self, flag: &str) -> Option<String> {
        let program = self.0.first()?;
        let called = if is_plugin(program) { AS_PLUGIN } else { "rolldeck" };
        let mut words = vec![called.to_owned()];
        let mut rest = Vec::new();
        for word in self.0.iter().skip(1) {
            // Behind `--` nothing is a flag.
            let to = if rest.is_empty() && word != "--" { &mut words } else { &mut rest };
            to.push(shell_word(word.to_str()?)?);
        }
        words.push(flag.to_owned());
        words.append(&mut rest);
        Some(words.join(" "))
    }
}

/// Whether the binary is named as a plugin of kubectl.
pub(super) fn is_plugin(program: &OsString) -> bool {
    let name = Path::new(program).file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.starts_with("kubectl-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_repeated_with_one_more_flag() {
        for (line, want) in [
            (
                &["/usr/bin/rolldeck", "drive", "ds/agent", "--to", "10%"][..],
                Some("rolldeck drive ds/agent --to '10%' --yes"),
            ),
            (&["kubectl-rolldeck", "undo", "ds/a b"][..], Some("kubectl rolldeck undo 'ds/a b' --yes")),
            (&["rolldeck", "undo", "--", "ds/agent"][..], Some("rolldeck undo --yes -- ds/agent")),
            (&["rolldeck", "undo", "ds/a\u{202e}b"][..], None),
            (&[][..], None),
        ] {
            let line: Vec<OsString> = line.iter().map(OsString::from).collect();
            assert_eq!(TypedLine::of(&line).with("--yes").as_deref(), want, "{line:?}");
        }
    }
}
