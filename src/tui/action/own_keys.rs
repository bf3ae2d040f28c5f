//! Reads the keys that a user gives to actions.
//!
//! The user's keys are added to those of the table: the table's keys stay, because many lines on the screen name them. So a
//! key of an action that writes cannot be given to another action, and an action that writes cannot be given a key that is
//! pressed in passing.

use crossterm::event::{KeyCode, KeyModifiers};

use super::{ACTIONS, Action, ActionId, Guard, named};
use crate::config::KeyChoice;
use crate::tui::key::Key;
use crate::tui::key_map::KeyMap;
use crate::tui::words::meant;

/// Keys that a user cannot reassign: they lead out of every screen.
const FIXED: [Key; 5] =
    [Key::plain(KeyCode::Esc), Key::plain(KeyCode::Enter), Key::ctrl('c'), Key::ctrl('z'), Key::char('q')];

/// Reads the keys of the configuration file; each comes with the place where the file sets it.
///
/// # Errors
/// Names the line that cannot be used, and says why.
pub(crate) fn own_keys(choices: &[(KeyChoice, String)]) -> Result<KeyMap, String> {
    let mut map = KeyMap::default();
    for (KeyChoice { action, key, .. }, place) in choices {
        let (key, action) = read(action, key, &map).map_err(|why| format!("{place}: {why}"))?;
        map.give(key, action.name);
    }
    Ok(map)
}

fn read(action: &str, key: &str, given: &KeyMap) -> Result<(Key, &'static Action), String> {
    let Some(action) = named(action) else {
        let names = ACTIONS.iter().map(|action| action.name);
        let guess = meant(action, names).map(|name| format!(": did you mean `{name}`?")).unwrap_or_default();
        return Err(format!("`[keys]` knows no action `{action}`{guess} (`?` in the console lists all)"));
    };
    let key: Key = key.parse()?;
    if FIXED.contains(&key) {
        return Err(format!("`{key}` cannot be given to `{}`: it leads out of everything", action.name));
    }
    let writes = |action: &Action| action.guard != Guard::Read || action.id == ActionId::Arm;
    if let Some(owner) =
        ACTIONS.iter().find(|owner| writes(owner) && !owner.scope.is_screen() && owner.keys.contains(&key))
    {
        return Err(format!("`{key}` cannot be given to `{}`: it is the key of `{}`", action.name, owner.name));
    }
    let deliberate = match key.code {
        KeyCode::F(_) => true,
        _ if key.modifiers == KeyModifiers::ALT => true,
        _ => key.text().is_some_and(|c| c.is_ascii_uppercase()),
    };
    if writes(action) && !deliberate {
        return Err(format!(
            "`{key}` cannot be given to `{}`, which writes: it takes a capital letter, F1 to F12, or alt- and a letter",
            action.name
        ));
    }
    let place = |action: &Action| action.scope.is_screen().then_some(action.scope as u8);
    let mut others = given.actions(key).filter_map(named).filter(|other| other.id != action.id);
    if let Some(other) = others.find(|other| place(other) == place(action)) {
        return Err(format!("`{key}` is given to both `{}` and `{}`", other.name, action.name));
    }
    Ok((key, action))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(choices: &[(&str, &str)]) -> Result<KeyMap, String> {
        let choices: Vec<_> = (1..)
            .zip(choices)
            .map(|(line, (action, key))| {
                let choice = KeyChoice { action: (*action).to_owned(), key: (*key).to_owned(), line };
                (choice, format!("config.toml:{line}"))
            })
            .collect();
        own_keys(&choices)
    }

    #[test]
    fn keys_are_given_beside_those_that_there_are() {
        let map = given(&[("map", "M"), ("map", "F5"), ("pause", "F9"), ("timeline", "alt-t"), ("ns", "0")]).unwrap();
        assert_eq!(map.actions(Key::char('M')).collect::<Vec<_>>(), ["map"]);
        assert_eq!(map.keys("map").map(|key| key.to_string()).collect::<Vec<_>>(), ["M", "F5"]);
        assert_eq!(map.actions(Key::plain(KeyCode::F(9))).collect::<Vec<_>>(), ["pause"]);
    }

    #[test]
    fn what_cannot_be_given_is_said_with_its_line() {
        for (choices, why) in [
            (vec![("mapp", "M")], "config.toml:1: `[keys]` knows no action `mapp`: did you mean `map`?"),
            (vec![("map", "ctrl-")], "config.toml:1: `ctrl-` is no key; keys are written as in the help"),
            (vec![("map", "F99")], "config.toml:1: `F99` is no key"),
            (
                vec![("map", "F5"), ("map", "P")],
                "config.toml:2: `P` cannot be given to `map`: it is the key of `pause`",
            ),
            (vec![("step", "x")], "config.toml:1: `x` cannot be given to `step`, which writes"),
            (vec![("pause", "ctrl-p")], "config.toml:1: `ctrl-p` cannot be given to `pause`, which writes"),
            (vec![("write", "a")], "config.toml:1: `a` cannot be given to `write`, which writes"),
            (vec![("map", "esc")], "config.toml:1: `esc` cannot be given to `map`: it leads out of everything"),
            (vec![("map", "q")], "config.toml:1: `q` cannot be given to `map`: it leads out of everything"),
            (vec![("theme", "F2"), ("help", "F2")], "config.toml:2: `F2` is given to both `theme` and `help`"),
        ] {
            let said = given(&choices).map(|_| ()).unwrap_err();
            assert!(said.starts_with(why), "{said}");
        }
    }
}
