//! Translates the engine's texts, which name commands of the command line, into texts that name keys.

use super::table::ACTIONS;

/// Commands of the command line that have another name in the console.
const OTHER_NAMES: [(&str, &str); 2] = [("set-image", "image"), ("select", "canary")];

/// `text` with each command in backquotes replaced by its key: `` `step --to 100%` `` becomes `S (100%)`. Other quoted text stays.
pub(crate) fn in_keys(text: &str) -> String {
    // The limits with which a record begins: flags on the command line, a form here.
    let text = &text.replace("flags of `adopt`", "`tune`");
    let mut said = String::with_capacity(text.len());
    // Every second piece stands in backquotes; a backquote without a closing one quotes nothing.
    let pieces: Vec<&str> = text.split('`').collect();
    for (nth, piece) in pieces.iter().enumerate() {
        let is_quoted = nth % 2 == 1 && nth + 1 < pieces.len();
        match (is_quoted, in_key(piece)) {
            (true, Some(key)) => said.push_str(&key),
            (true, None) => said.push_str(&format!("`{piece}`")),
            (false, _) if nth % 2 == 1 => said.push_str(&format!("`{piece}")),
            (false, _) => said.push_str(piece),
        }
    }
    said
}

fn in_key(command: &str) -> Option<String> {
    let (name, flags) = command.split_once(' ').unwrap_or((command, ""));
    let name = OTHER_NAMES.iter().find(|(other, _)| *other == name).map_or(name, |(_, name)| name);
    let action = ACTIONS.iter().find(|action| action.name == name)?;
    // A dialog has a field for what the flag sets; switches say what the key does anyway.
    let flags = flags.strip_prefix("--to ").unwrap_or(flags).trim_start_matches("--");
    Some(match flags {
        "" | "clear" | "early" => action.key(),
        flags => format!("{} ({flags})", action.key()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_become_keys() {
        for (said, meant) in [
            ("`resume` goes on past it, `undo` goes back", "C goes on past it, U goes back"),
            ("lift the selector first (`select --clear`)", "lift the selector first (N)"),
            ("`step --to 100%` lets them go", "S (100%) lets them go"),
            ("use `tune --site-label zone`", "use L (site-label zone)"),
            ("`adopt`, `set-image` and `drive --image`", "O, I and D (image)"),
            ("set them first (flags of `adopt`)", "set them first (L)"),
            ("there is no `mylabel`, nor `any", "there is no `mylabel`, nor `any"),
            ("", ""),
        ] {
            assert_eq!(in_keys(said), meant);
        }
    }
}
