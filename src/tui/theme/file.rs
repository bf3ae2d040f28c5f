//! Reads a theme's file: its palette, its roles on each background, its glyphs. An error is reported with its place.

use std::collections::BTreeMap;

use ratatui::style::{Color, Modifier, Style};
use toml::{Table, Value};

use super::{BUILT_IN, Background, Glyph, MadeFor, Theme, ThemeRole};
use crate::tui::words::meant;

/// Reads a theme; it takes values that it does not define from `base`.
pub(super) fn parse(text: &str, base: Option<&Theme>) -> Result<Theme, String> {
    let table: Table = text.parse().map_err(|error: toml::de::Error| error.message().to_owned())?;
    known_keys(&table, "a theme", &["name", "background", "palette", "roles", "dark", "light", "glyphs"])?;
    let name = table.get("name").and_then(Value::as_str).ok_or("`name` is missing, or not a text")?.to_owned();
    let section = |key: &str| section_of(&table, key);
    let made_for = match table.get("background").map(|value| value.as_str().unwrap_or_default()) {
        None => MadeFor::Terminals,
        Some("any") => MadeFor::Any,
        Some("dark") => MadeFor::This(Background::Dark),
        Some("light") => MadeFor::This(Background::Light),
        Some(_) => return Err("`background` is none of `any`, `dark`, `light`".to_owned()),
    };
    let mut theme = match base {
        Some(base) => Theme { name, made_for, ..base.clone() },
        None => Theme {
            name,
            made_for,
            is_built_in: false,
            background: Background::Unknown,
            styles: BTreeMap::new(),
            unicode: BTreeMap::new(),
            ascii: BTreeMap::new(),
        },
    };
    for background in Background::ALL {
        theme.styles.insert(background, looks(&table, background, base)?);
    }
    let glyphs = section("glyphs")?;
    known_keys(&glyphs, "a set of glyphs", &["unicode", "ascii"])?;
    for (set, value) in &glyphs {
        let signs = value.as_table().ok_or_else(|| format!("`glyphs.{set}` is not a table"))?;
        let known = if set == "ascii" { &mut theme.ascii } else { &mut theme.unicode };
        for (key, value) in signs {
            let all = || Glyph::ALL.iter().map(|glyph| glyph.text());
            let glyph = Glyph::parse(key).ok_or_else(|| unknown(key, "a glyph", all()))?;
            known.insert(glyph, sign(key, value, set)?);
        }
    }
    Ok(theme)
}

type Palette = BTreeMap<String, Color>;

fn section_of(table: &Table, key: &str) -> Result<Table, String> {
    match table.get(key) {
        None => Ok(Table::new()),
        Some(Value::Table(table)) => Ok(table.clone()),
        Some(_) => Err(format!("`{key}` is not a table")),
    }
}

/// The sections of a theme that define its look on `background`: first those for all backgrounds, then those for this one.
fn sections_for(theme: &Table, background: Background) -> Result<Vec<Table>, String> {
    let mut sections = vec![theme.clone()];
    if let Some(name) = background.section() {
        let own = section_of(theme, name)?;
        known_keys(&own, &format!("`{name}`"), &["palette", "roles"])?;
        sections.push(own);
    }
    Ok(sections)
}

/// The look of a theme on `background`. A theme can redefine the colour names that the default theme's roles use: that
/// recolours all these roles.
fn looks(theme: &Table, background: Background, base: Option<&Theme>) -> Result<BTreeMap<ThemeRole, Style>, String> {
    let default: Table = match base {
        Some(_) => BUILT_IN[0].parse().unwrap_or_default(),
        None => Table::new(),
    };
    let mut sections = sections_for(&default, background)?;
    sections.extend(sections_for(theme, background)?);
    let mut colours = Palette::new();
    for section in &sections {
        colours.extend(palette(&section_of(section, "palette")?)?);
    }
    let mut styles = BTreeMap::new();
    for section in &sections {
        for (key, value) in &section_of(section, "roles")? {
            let role = ThemeRole::parse(key)
                .ok_or_else(|| unknown(key, "a role", ThemeRole::ALL.iter().map(|role| role.text())))?;
            styles.insert(role, style(key, value, &colours)?);
        }
    }
    Ok(styles)
}

fn palette(table: &Table) -> Result<Palette, String> {
    let mut palette = Palette::new();
    for (name, value) in table {
        palette.insert(name.clone(), colour(&format!("palette.{name}"), value, &Palette::new())?);
    }
    Ok(palette)
}

fn colour(place: &str, value: &Value, palette: &Palette) -> Result<Color, String> {
    let refuse = |text: &str| {
        let names = palette.keys().map(String::as_str);
        let guess = guess(text, names);
        format!(
            "`{place}`: `{text}` is no colour{guess}; use a name of the palette, an ANSI name, 0 to 255, or `#rrggbb`"
        )
    };
    match value {
        Value::String(text) => match palette.get(text) {
            Some(colour) => Ok(*colour),
            None => text.parse().map_err(|_unparsed| refuse(text)),
        },
        Value::Integer(index) => {
            u8::try_from(*index).map(Color::Indexed).map_err(|_too_big| refuse(&index.to_string()))
        }
        other => Err(refuse(other.type_str())),
    }
}

const MODIFIERS: [(&str, Modifier); 6] = [
    ("bold", Modifier::BOLD),
    ("dim", Modifier::DIM),
    ("italic", Modifier::ITALIC),
    ("underlined", Modifier::UNDERLINED),
    ("reversed", Modifier::REVERSED),
    ("crossed-out", Modifier::CROSSED_OUT),
];

fn style(role: &str, value: &Value, full: &Palette) -> Result<Style, String> {
    let table = value.as_table().ok_or_else(|| format!("role `{role}` is not a table such as `{{ fg = \"red\" }}`"))?;
    known_keys(table, &format!("role `{role}`"), &["fg", "bg", "modifiers"])?;
    let mut style = Style::new();
    if let Some(value) = table.get("fg") {
        style = style.fg(colour(&format!("{role}.fg"), value, full)?);
    }
    if let Some(value) = table.get("bg") {
        style = style.bg(colour(&format!("{role}.bg"), value, full)?);
    }
    let modifiers = match table.get("modifiers") {
        None => &Vec::new(),
        Some(value) => value.as_array().ok_or_else(|| format!("`{role}.modifiers` is not a list"))?,
    };
    for modifier in modifiers {
        let text = modifier.as_str().unwrap_or_default();
        let found = MODIFIERS.iter().find(|(name, _)| *name == text);
        let (_, found) = found.ok_or_else(|| unknown(text, "a modifier", MODIFIERS.iter().map(|(name, _)| *name)))?;
        style = style.add_modifier(*found);
    }
    Ok(style)
}

fn sign(key: &str, value: &Value, set: &str) -> Result<String, String> {
    let text = value.as_str().ok_or_else(|| format!("glyph `{key}` is not a text"))?;
    if crate::tui::words::width(text) != 1 || text.chars().any(char::is_control) {
        return Err(format!("glyph `{key}`: `{text}` is not one cell wide"));
    }
    if set == "ascii" && !text.is_ascii() {
        return Err(format!("glyph `{key}`: `{text}` is not ASCII"));
    }
    Ok(text.to_owned())
}

fn known_keys(table: &Table, what: &str, known: &[&'static str]) -> Result<(), String> {
    match table.keys().find(|key| !known.contains(&key.as_str())) {
        None => Ok(()),
        Some(key) => Err(format!(
            "`{key}` means nothing in {what}{}; it has {}",
            guess(key, known.iter().copied()),
            known.join(", ")
        )),
    }
}

fn unknown(key: &str, what: &str, known: impl Iterator<Item = &'static str>) -> String {
    format!("`{key}` is not {what}{}", guess(key, known))
}

pub(super) fn guess<'a>(typed: &str, known: impl Iterator<Item = &'a str>) -> String {
    meant(typed, known).map(|name| format!(": did you mean `{name}`?")).unwrap_or_default()
}
