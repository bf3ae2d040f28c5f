//! The terminal's properties according to the environment, and the initial model.

use std::collections::HashMap;

use ratatui::layout::Size;

use super::{Colour, ConsoleError, ConsoleOptions, site_file};
use crate::config::is_protected;
use crate::driver::Session;
use crate::tui::action::own_keys;
use crate::tui::columns::nodes::{NODE_COLUMNS, node_columns};
use crate::tui::model::{Model, Overlay, Page, Uptime, WriteAccess};
use crate::tui::status::StatusSeverity;
use crate::tui::theme::{self, Background, Depth, Glyphs, Themes};

/// The terminal's properties according to the environment.
#[derive(Clone, Debug, Default)]
pub(super) struct Environment {
    pub(super) term: Option<String>,
    colour_term: Option<String>,
    /// `15;0`: the colours of rxvt, Konsole and others, as they export them.
    colour_fgbg: Option<String>,
    no_colour: bool,
    locale: Option<String>,
    pub(super) over_ssh: bool,
}

impl Environment {
    pub(super) fn of_process() -> Self {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        Self {
            term: variable("TERM"),
            colour_term: variable("COLORTERM"),
            colour_fgbg: variable("COLORFGBG"),
            no_colour: variable("NO_COLOR").is_some(),
            locale: variable("LC_ALL").or_else(|| variable("LC_CTYPE")).or_else(|| variable("LANG")),
            over_ssh: variable("SSH_TTY").is_some(),
        }
    }

    pub(super) fn depth(&self) -> Depth {
        let term = self.term.as_deref().unwrap_or_default();
        match self.colour_term.as_deref() {
            _ if self.no_colour => Depth::Never,
            Some("truecolor" | "24bit") => Depth::True,
            _ if term.contains("direct") => Depth::True,
            _ if term.contains("256color") => Depth::Indexed,
            _ => Depth::Ansi,
        }
    }

    /// The background, until the terminal reports it.
    pub(super) fn background(&self) -> Background {
        let number = self.colour_fgbg.as_deref().and_then(|colours| colours.rsplit(';').next()?.parse::<u8>().ok());
        match number {
            Some(0..=6 | 8) => Background::Dark,
            Some(7 | 9..=15) => Background::Light,
            Some(_) | None if self.term.as_deref() == Some("linux") => Background::Dark,
            Some(_) | None => Background::Unknown,
        }
    }

    pub(super) fn glyphs(&self) -> Glyphs {
        let locale = self.locale.as_deref().unwrap_or_default().to_ascii_lowercase();
        let utf8 = locale.contains("utf-8") || locale.contains("utf8");
        if utf8 && self.term.as_deref() != Some("linux") { Glyphs::Unicode } else { Glyphs::Ascii }
    }
}

/// Checks whether a console would open with these options.
///
/// # Errors
/// [`ConsoleError::Options`] names the theme of the command line that cannot be used, [`ConsoleError::Configuration`] the theme or the key, and
/// the line of the file that sets it.
pub fn check(options: &ConsoleOptions) -> Result<(), ConsoleError> {
    themes(options, &Environment::of_process())?;
    own_keys(&options.keys).map_err(ConsoleError::Configuration)?;
    Ok(())
}

/// The available themes, with the wanted one chosen, and complaints about those that cannot be used.
fn themes(options: &ConsoleOptions, environment: &Environment) -> Result<(Themes, Vec<String>), ConsoleError> {
    let depth = match options.colour {
        Colour::Auto => environment.depth(),
        Colour::Depth(depth) => depth,
    };
    let directory = options.themes.clone().or_else(theme::user_directory);
    let (mut themes, complaints) = Themes::load(directory.as_deref(), depth);
    themes.see_background(environment.background());
    match &options.theme {
        Some(name) => themes.choose(name).map_err(|why| {
            let broken = complaints.iter().map(|complaint| format!("\n{complaint}")).collect::<String>();
            match options.theme_place.as_deref() {
                Some(place) => ConsoleError::Configuration(format!("{place}: {why}{broken}")),
                None => ConsoleError::Options(format!("--theme: {why}{broken}")),
            }
        })?,
        // Without colours only the `mono` theme, which uses bold and dim, can distinguish roles.
        None if depth == Depth::Never => themes.choose(theme::MONO).map_err(ConsoleError::Options)?,
        None => {}
    }
    Ok((themes, complaints))
}

/// The initial model.
pub(super) fn model(
    session: &dyn Session,
    options: &ConsoleOptions,
    environment: &Environment,
) -> Result<Model, ConsoleError> {
    let (themes, complaints) = themes(options, environment)?;
    let mut model = Model {
        context: session.context().into(),
        cluster_flags: session.cluster_flags(),
        warnings: session.identity_in_use().warnings(),
        default_namespace: session.default_namespace().into(),
        namespaces: [session.default_namespace().into()].into(),
        contexts: session.contexts(),
        protected: is_protected(&options.protected, session.context()),
        practice: session.is_practice(),
        connecting: None,
        size: Size::new(80, 24),
        now: Uptime::ZERO,
        themes,
        glyphs: options.glyphs.unwrap_or_else(|| environment.glyphs()),
        node_columns: options.columns.as_deref().map_or_else(|| NODE_COLUMNS.to_vec(), node_columns),
        keys: own_keys(&options.keys).map_err(ConsoleError::Configuration)?,
        bookmarks: options.bookmarks.clone(),
        access: WriteAccess::ReadOnly,
        page: Page::Fleet,
        fleet: None,
        rollouts: Vec::new(),
        overlay: Overlay::None,
        status: None,
        chosen_sites: HashMap::new(),
        closed_stories: Vec::new(),
        have_been_driven: Vec::new(),
        history: Vec::new(),
        serial: 0,
    };
    let mut complaint = complaints.into_iter().next();
    if let Some(file) = &options.site_file {
        match site_file::load(file, &model.context) {
            Ok(labels) => model.chosen_sites = labels,
            Err(why) => complaint = complaint.or(Some(why)),
        }
    }
    if let Some(complaint) = complaint {
        model.say(StatusSeverity::Refused, complaint);
    }
    Ok(model)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(term: &str, colour_term: &str, locale: &str) -> Environment {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Environment { term: some(term), colour_term: some(colour_term), locale: some(locale), ..Default::default() }
    }

    #[test]
    fn colours_and_signs_are_found_out() {
        for (term, colour_term, locale, depth, glyphs) in [
            ("xterm-256color", "", "en_US.UTF-8", Depth::Indexed, Glyphs::Unicode),
            ("xterm-256color", "truecolor", "C.utf8", Depth::True, Glyphs::Unicode),
            ("xterm", "", "C", Depth::Ansi, Glyphs::Ascii),
            ("linux", "", "en_US.UTF-8", Depth::Ansi, Glyphs::Ascii),
            ("screen", "", "", Depth::Ansi, Glyphs::Ascii),
        ] {
            let environment = environment(term, colour_term, locale);
            assert_eq!((environment.depth(), environment.glyphs()), (depth, glyphs), "{term}");
        }
        let without = Environment { no_colour: true, ..environment("xterm", "truecolor", "C") };
        assert_eq!(without.depth(), Depth::Never);
        for (colours, term, background) in [
            ("15;0", "rxvt", Background::Dark),
            ("0;default;15", "rxvt", Background::Light),
            ("15;default", "rxvt", Background::Unknown),
            ("", "xterm", Background::Unknown),
            ("", "linux", Background::Dark),
        ] {
            let environment = Environment { colour_fgbg: Some(colours.to_owned()), ..environment(term, "", "C") };
            assert_eq!(environment.background(), background, "{colours} {term}");
        }
    }
}
