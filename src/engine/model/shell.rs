//! Words of commands that are offered for pasting into a shell.

use std::borrow::Cow;

use super::printable::is_printable;

/// `word` as a POSIX shell takes it for one word; quoted where that is necessary.
///
/// `None` if `word` holds a character that is not printable: a terminal that pastes it, or a shell that reads it, may take the
/// character for something else, whatever the quotes. In that case no command may be offered.
pub fn shell_word(word: &str) -> Option<String> {
    if !word.chars().all(is_printable) {
        return None;
    }
    // Within a word, `=` has no meaning to a shell: `agent=agent:v2` needs no quotes. At the beginning of a word it may have one.
    let parts: Vec<&str> = if word.starts_with('=') { vec![word] } else { word.split('=').collect() };
    let quoted = |(nth, part): (usize, &&str)| match part.is_empty() && nth > 0 {
        true => Some(String::new()),
        false => shlex::try_quote(part).ok().map(Cow::into_owned),
    };
    let quoted: Option<Vec<String>> = parts.iter().enumerate().map(quoted).collect();
    Some(quoted?.join("="))
}

/// `--flag value`. A value that begins with a hyphen is joined by `=`, so that it is not taken for another flag.
pub fn shell_flag(flag: &str, value: &str) -> Option<String> {
    let separator = if value.starts_with('-') { '=' } else { ' ' };
    Some(format!("{flag}{separator}{}", shell_word(value)?))
}

/// The words that a POSIX shell makes of a command that was quoted by [`shell_word`]; `None` if the text is no such command.
pub fn shell_words(command: &str) -> Option<Vec<String>> {
    shlex::split(command)
}

#[cfg(test)]
mod tests {
    use super::super::printable::tests::HOSTILE;
    use super::*;

    #[test]
    fn a_word_stays_one_word() {
        for word in [
            "prod",
            "arn:aws:eks:eu-1:1/prod",
            "a;touch pwned b",
            "$(touch pwned)",
            "`touch pwned`",
            "it's",
            "\"",
            "",
            "a\\b",
            "!x",
            "~root",
            "#x",
            "é",
            "a=b,c",
            "=ls",
            "a==b",
            "a=",
            "a=$(x)=b",
            "*",
            "gke_[x]",
            "^x",
        ] {
            let quoted = shell_word(word).unwrap();
            assert_eq!(
                shlex::split(&format!("rolldeck {quoted}")),
                Some(vec!["rolldeck".into(), word.into()]),
                "{quoted}"
            );
        }
        assert_eq!(shell_word("agent=registry.example/agent:v2").as_deref(), Some("agent=registry.example/agent:v2"));
        assert_eq!(shell_word("*=agent:v2").as_deref(), Some("'*'=agent:v2"));
        assert_eq!(shell_word("arn:aws:eks:eu-1:1/prod").as_deref(), Some("arn:aws:eks:eu-1:1/prod"));
        assert_eq!(shell_flag("--context", "-x y").as_deref(), Some("--context='-x y'"));
        assert_eq!(shell_flag("-n", "edge").as_deref(), Some("-n edge"));
    }

    #[test]
    fn what_cannot_be_quoted_safely_is_not_offered() {
        for word in [HOSTILE, "a\nb", "a\u{202e}b", "a\0b", "a\u{9b}b"] {
            assert_eq!(shell_word(word), None, "{word:?}");
        }
    }
}
