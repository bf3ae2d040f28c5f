//! Copies texts to the clipboard of the terminal.

use super::effects::{Effects, refuse};
use crate::tui::copy::{NO_KUBECTL, copyables};
use crate::tui::message::ConsoleEffect;
use crate::tui::model::Model;
use crate::tui::palette;
use crate::tui::status::StatusSeverity;
use crate::tui::words::fit;

/// The longest text that is sent, in bytes: terminals drop texts longer than 74,994 bytes in base64.
const LONGEST: usize = 56_000;

/// Copies the text listed under the name `what`; if `what` is empty, the name of the selected row.
pub(super) fn copy(model: &mut Model, what: &str) -> Effects {
    let all = copyables(model);
    let wanted = if what.is_empty() { "name" } else { what };
    let Some(found) = all.iter().find(|one| one.name == wanted) else {
        let names: Vec<&str> = all.iter().map(|one| one.name).collect();
        return refuse(
            model,
            match names.is_empty() {
                true => "there is nothing to copy here".to_owned(),
                false => {
                    let why = if model.practice { format!("; {NO_KUBECTL}") } else { String::new() };
                    format!("there is no `{wanted}` to copy here; there are {}{why}", names.join(", "))
                }
            },
        );
    };
    let text = found.text.clone();
    if text.len() > LONGEST {
        return refuse(model, format!("{} bytes are more than terminals take: {LONGEST}", text.len()));
    }
    // The terminal does not tell whether it took the text.
    model.say(StatusSeverity::Plain, format!("sent to the terminal's clipboard: {}", fit(&text, 300)));
    vec![ConsoleEffect::Copy(text)]
}

/// Lists the texts that can be copied, in the line after `:`.
pub(super) fn choose(model: &mut Model) -> Effects {
    if copyables(model).is_empty() {
        return refuse(model, "there is nothing to copy here".to_owned());
    }
    palette::open(model, "copy ");
    Vec::new()
}
