//! Themes: the look of each role, and the sign for each glyph.
//!
//! A theme is TOML: a palette of named colours, roles that use them, and glyphs. The built-in themes are in `themes/`; files
//! in `$XDG_CONFIG_HOME/rolldeck/themes` add to them, and replace those of the same name. A theme inherits everything that
//! it does not define from `default`. An unknown name is an error, which suggests the most similar known name.
//!
//! No colour is readable on both a dark and a light background. So a theme has looks for each, in its sections `dark` and
//! `light`, and the console asks the terminal for its background ([`Themes::see_background`]). While the background is
//! unknown, and on a terminal with only 16 colours, whose values the terminal decides, a built-in theme leaves words in the
//! terminal's own foreground: only signs and bars are coloured, and their shapes carry the same meaning
//! ([`Theme::leaves_words_plain`]). `theme/contrast.rs` tests the contrasts.

mod depth;
mod file;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ratatui::style::Style;

use self::depth::reduce;
use self::file::{guess, parse};

const BUILT_IN: [&str; 7] = [
    include_str!("../../themes/default.toml"),
    include_str!("../../themes/mono.toml"),
    include_str!("../../themes/high-contrast.toml"),
    include_str!("../../themes/deuteranopia.toml"),
    include_str!("../../themes/tritanopia.toml"),
    include_str!("../../themes/light.toml"),
    include_str!("../../themes/dark.toml"),
];

/// Stands in place of a file's path.
const BUILT_IN_PLACE: &str = "built-in theme";

/// The theme for terminals that must not, or cannot, show colour.
pub(crate) const MONO: &str = "mono";

/// Gives the variants of an enum their names, as they are written in a theme.
macro_rules! named {
    ($(#[$meta:meta])* $name:ident { $($variant:ident = $text:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord, Hash)]
        pub(crate) enum $name { $($variant,)+ }

        impl $name {
            pub(crate) const ALL: &'static [Self] = &[$(Self::$variant,)+];

            fn text(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }

            fn parse(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|one| one.text() == text)
            }
        }
    };
}

named! {
    /// The meaning of a piece of the screen.
    ThemeRole {
        Text = "text",
        Muted = "muted",
        Title = "title",
        Brand = "brand",
        Frame = "frame",
        Column = "column",
        Selection = "selection",
        Key = "key",
        Unavailable = "unavailable",
        Ok = "ok",
        Busy = "busy",
        Warn = "warn",
        Bad = "bad",
        Alarm = "alarm",
        Held = "held",
        OldRev = "old_rev",
        NewRev = "new_rev",
        BarDone = "bar_done",
        BarMoving = "bar_moving",
        BarRest = "bar_rest",
        Armed = "armed",
        ReadOnly = "read_only",
        Protected = "protected",
        Live = "live",
        Stale = "stale",
        Input = "input",
        Button = "button",
        ButtonFocus = "button_focus",
    }
}

named! {
    /// A sign, one cell wide.
    Glyph {
        Updated = "updated",
        Moving = "moving",
        Struggling = "struggling",
        Outdated = "outdated",
        Failed = "failed",
        Down = "down",
        Suspect = "suspect",
        Ineligible = "ineligible",
        Paused = "paused",
        Running = "running",
        ImagePresent = "image_present",
        ImagePulling = "image_pulling",
        ImageQueued = "image_queued",
        ImageFailed = "image_failed",
        ImageAbsent = "image_absent",
        ImageUnknown = "image_unknown",
        BarDone = "bar_done",
        BarMoving = "bar_moving",
        BarRest = "bar_rest",
        Cursor = "cursor",
        Marked = "marked",
        Arrow = "arrow",
        Alarm = "alarm",
        Dot = "dot",
        Rule = "rule",
        Side = "side",
        CornerTopLeft = "corner_top_left",
        CornerTopRight = "corner_top_right",
        CornerBottomLeft = "corner_bottom_left",
        CornerBottomRight = "corner_bottom_right",
        Ascending = "ascending",
        Descending = "descending",
        Folded = "folded",
        Unfolded = "unfolded",
    }
}

/// The signs that the terminal can show.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Glyphs {
    /// Signs beyond ASCII.
    Unicode,
    /// ASCII only.
    Ascii,
}

/// The number of colours that the terminal can show.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub enum Depth {
    /// None: the `mono` theme is used.
    Never,
    /// The 16 ANSI colours.
    Ansi,
    /// The 256 of xterm.
    Indexed,
    /// 24 bits.
    True,
}

/// The background of a terminal.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, PartialOrd, Ord)]
pub(crate) enum Background {
    #[default]
    Unknown,
    Dark,
    Light,
}

impl Background {
    const ALL: [Self; 3] = [Self::Unknown, Self::Dark, Self::Light];

    /// The kind of a background of this colour.
    pub(crate) fn of(rgb: [u8; 3]) -> Self {
        // Above this luminance black is easier to read than white.
        if luminance(rgb) > 0.179 { Self::Light } else { Self::Dark }
    }

    /// The section of a theme for this background.
    fn section(self) -> Option<&'static str> {
        match self {
            Self::Unknown => None,
            Self::Dark => Some("dark"),
            Self::Light => Some("light"),
        }
    }
}

/// The relative luminance of a colour of sRGB, from 0 for black to 1 for white, as WCAG 2 defines it.
fn luminance(rgb: [u8; 3]) -> f64 {
    let [red, green, blue] = rgb.map(|level| {
        let level = f64::from(level) / 255.0;
        if level <= 0.04045 { level / 12.92 } else { ((level + 0.055) / 1.055).powf(2.4) }
    });
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/// The backgrounds for which a theme is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum MadeFor {
    /// For all backgrounds: the theme does not colour words, or paints a background of its own.
    Any,
    /// For the terminal's background, whichever it is.
    Terminals,
    /// For this background, whatever the terminal reports.
    This(Background),
}

/// A theme, complete.
#[derive(Clone, Debug)]
pub(crate) struct Theme {
    pub(crate) name: String,
    made_for: MadeFor,
    is_built_in: bool,
    /// The terminal's background, as far as it matters: unknown on a terminal with only 16 colours.
    background: Background,
    styles: BTreeMap<Background, BTreeMap<ThemeRole, Style>>,
    unicode: BTreeMap<Glyph, String>,
    ascii: BTreeMap<Glyph, String>,
}

impl Theme {
    /// The style of `role`.
    pub(crate) fn style(&self, role: ThemeRole) -> Style {
        let style = self.styles.get(&self.looks()).and_then(|styles| styles.get(&role));
        style.copied().unwrap_or_default()
    }

    /// The background whose looks are in use.
    fn looks(&self) -> Background {
        match (self.made_for, self.background) {
            (MadeFor::Any, _) | (MadeFor::This(_), Background::Unknown) => Background::Unknown,
            (MadeFor::Terminals, background) => background,
            (MadeFor::This(background), _) => background,
        }
    }

    /// Whether words keep the terminal's own foreground, because no other colour is known to be readable. Signs and bars
    /// keep their colours. A user's own theme is used as it is.
    pub(crate) fn leaves_words_plain(&self) -> bool {
        self.is_built_in && self.made_for != MadeFor::Any && self.looks() == Background::Unknown
    }

    /// The sign for `glyph`.
    pub(crate) fn glyph(&self, glyph: Glyph, glyphs: Glyphs) -> &str {
        let set = match glyphs {
            Glyphs::Unicode => &self.unicode,
            Glyphs::Ascii => &self.ascii,
        };
        set.get(&glyph).map_or(" ", String::as_str)
    }

    /// The same theme, with the colours of `depth`.
    fn at_depth(mut self, depth: Depth) -> Self {
        for style in self.styles.values_mut().flat_map(BTreeMap::values_mut) {
            style.fg = style.fg.and_then(|colour| reduce(colour, depth));
            style.bg = style.bg.and_then(|colour| reduce(colour, depth));
        }
        self
    }
}

/// The available themes, in the order in which they are cycled.
#[derive(Clone, Debug)]
pub(crate) struct Themes {
    /// Never empty.
    all: Vec<Theme>,
    current: usize,
    depth: Depth,
}

impl Themes {
    /// The built-in themes, and those in `directory`; the complaints name the files that are not themes, and the reasons.
    pub(crate) fn load(directory: Option<&Path>, depth: Depth) -> (Self, Vec<String>) {
        let mut complaints = Vec::new();
        let mut all: Vec<Theme> = Vec::new();
        let files = directory.map(read_directory).unwrap_or_default();
        let built_in = BUILT_IN.iter().map(|text| (BUILT_IN_PLACE.to_owned(), Ok((*text).to_owned())));
        for (place, text) in built_in.chain(files) {
            let is_built_in = place == BUILT_IN_PLACE;
            match text.and_then(|text| parse(&text, all.first())).map(|theme| Theme { is_built_in, ..theme }) {
                Ok(theme) => match all.iter_mut().find(|known| known.name == theme.name) {
                    Some(known) => *known = theme,
                    None => all.push(theme),
                },
                Err(why) => complaints.push(format!("{place}: {why}")),
            }
        }
        let all = all.into_iter().map(|theme| theme.at_depth(depth)).collect();
        let mut themes = Self { all, current: 0, depth };
        themes.see_background(Background::Unknown);
        (themes, complaints)
    }

    /// Takes in the kind of the terminal's background.
    pub(crate) fn see_background(&mut self, background: Background) {
        for theme in &mut self.all {
            // The terminal decides the values of the 16 colours, so their contrasts are unknown.
            theme.background = match (self.depth, theme.made_for) {
                (Depth::Never | Depth::Ansi, _) => Background::Unknown,
                (Depth::Indexed | Depth::True, MadeFor::This(background)) => background,
                (Depth::Indexed | Depth::True, MadeFor::Any | MadeFor::Terminals) => background,
            };
        }
    }

    /// The theme in use.
    pub(crate) fn current(&self) -> &Theme {
        &self.all[self.current]
    }

    /// Uses the theme called `name`.
    ///
    /// # Errors
    /// There is no such theme: the error lists the names.
    pub(crate) fn choose(&mut self, name: &str) -> Result<(), String> {
        match self.all.iter().position(|theme| theme.name == name) {
            Some(index) => {
                self.current = index;
                Ok(())
            }
            None => {
                let known: Vec<&str> = self.names().collect();
                let guess = guess(name, known.iter().copied());
                Err(format!("there is no theme `{name}`{guess} (there are {})", known.join(", ")))
            }
        }
    }

    /// Uses the next theme.
    pub(crate) fn cycle(&mut self) {
        self.current = (self.current + 1) % self.all.len();
    }

    /// The names of the themes.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.all.iter().map(|theme| theme.name.as_str())
    }
}

/// The directory of a user's own themes.
pub(crate) fn user_directory() -> Option<PathBuf> {
    Some(crate::config::directory()?.join("themes"))
}

fn read_directory(directory: &Path) -> Vec<(String, Result<String, String>)> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    let read = |path: &PathBuf| std::fs::read_to_string(path).map_err(|error| format!("cannot be read: {error}"));
    paths.iter().map(|path| (path.display().to_string(), read(path))).collect()
}

#[cfg(test)]
mod contrast;
#[cfg(test)]
mod tests {
    use ratatui::style::Color;

    use super::*;

    fn base() -> Theme {
        parse(BUILT_IN[0], None).unwrap()
    }

    #[test]
    fn the_built_in_themes_are_complete() {
        let (mut themes, complaints) = Themes::load(None, Depth::True);
        assert_eq!(complaints, Vec::<String>::new());
        let names: Vec<&str> = themes.names().collect();
        assert_eq!(names, ["default", "mono", "high-contrast", "deuteranopia", "tritanopia", "light", "dark"]);
        for _ in 0..BUILT_IN.len() {
            let theme = themes.current();
            let complete =
                |styles: &BTreeMap<ThemeRole, Style>| ThemeRole::ALL.iter().all(|role| styles.contains_key(role));
            assert!(theme.styles.len() == 3 && theme.styles.values().all(complete), "{}", theme.name);
            assert!(
                Glyph::ALL.iter().all(|glyph| theme.unicode.contains_key(glyph) && theme.ascii.contains_key(glyph))
            );
            themes.cycle();
        }
        assert_eq!(themes.current().name, "default");
    }

    #[test]
    fn the_default_uses_ansi_colours_and_no_background() {
        let theme = base();
        let ansi = |colour: Option<Color>| !matches!(colour, Some(Color::Rgb(..) | Color::Indexed(_)));
        let unknown = &theme.styles[&Background::Unknown];
        assert!(unknown.values().all(|style| style.bg.is_none() && ansi(style.fg)));
        assert!(theme.styles.values().flat_map(BTreeMap::values).all(|style| style.bg.is_none()));
    }

    #[test]
    fn no_colour_means_none_at_all() {
        let (mut themes, _) = Themes::load(None, Depth::True);
        themes.choose(MONO).unwrap();
        for background in Background::ALL {
            themes.see_background(background);
            let style = |role: &ThemeRole| themes.current().style(*role);
            assert!(ThemeRole::ALL.iter().map(style).all(|style| style.fg.is_none() && style.bg.is_none()));
        }
        let (themes, _) = Themes::load(None, Depth::Never);
        let mut styles = themes.all.iter().flat_map(|theme| theme.styles.values().flat_map(BTreeMap::values));
        assert!(styles.all(|style| style.fg.is_none() && style.bg.is_none()));
    }

    #[test]
    fn a_palette_alone_recolours_the_default() {
        let theme = parse("name = \"mine\"\n[palette]\ngood = \"#0000ff\"", Some(&base())).unwrap();
        assert_eq!(theme.style(ThemeRole::Ok).fg, Some(Color::Rgb(0, 0, 255)));
        assert_eq!(theme.style(ThemeRole::Bad), base().style(ThemeRole::Bad));
    }

    #[test]
    fn what_nobody_knows_is_an_error_with_a_guess() {
        for (text, want) in [
            ("name = 'x'\n[rolls]", "`rolls` means nothing in a theme: did you mean `roles`?"),
            ("name = 'x'\n[roles]\nbuzy = {}", "`buzy` is not a role: did you mean `busy`?"),
            ("name = 'x'\n[roles]\nok = { fgg = 'red' }", "did you mean `fg`?"),
            ("name = 'x'\n[roles]\nok = { fg = 'troubl' }", "did you mean `trouble`?"),
            ("name = 'x'\n[roles]\nok = { modifiers = ['blod'] }", "did you mean `bold`?"),
            ("name = 'x'\n[glyphs.ascii]\nfailed = '✗'", "is not ASCII"),
            ("name = 'x'\n[glyphs.unicode]\nfailed = '界'", "is not one cell wide"),
            ("[roles]", "`name` is missing"),
            ("name = 'x'\nbackground = 'grey'", "`background` is none of"),
            ("name = 'x'\n[dark.rolls]", "`rolls` means nothing in `dark`: did you mean `roles`?"),
            ("name = 'x'\nlight = 1", "`light` is not a table"),
        ] {
            let why = parse(text, Some(&base())).unwrap_err();
            assert!(why.contains(want), "{text}: {why}");
        }
        let (mut themes, _) = Themes::load(None, Depth::Ansi);
        assert!(themes.choose("monno").unwrap_err().contains("did you mean `mono`?"));
    }

    #[test]
    fn a_users_file_adds_a_theme_and_a_bad_one_is_named() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("a.toml"), "name = 'night'\n[palette]\ngood = 'blue'").unwrap();
        std::fs::write(directory.path().join("b.toml"), "name = 'broken'\nrole = 1").unwrap();
        let (mut themes, complaints) = Themes::load(Some(directory.path()), Depth::Ansi);
        themes.choose("night").unwrap();
        assert_eq!(complaints.len(), 1);
        assert!(complaints[0].contains("b.toml") && complaints[0].contains("`roles`"), "{complaints:?}");
    }
}
