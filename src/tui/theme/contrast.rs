//! Tests which colours are readable on which backgrounds, and distinguishable by whom.
//!
//! The tests assume the following, since a program does not know how a terminal draws its bytes:
//! - A terminal's own foreground can be read on its own background; if it cannot, neither can the shell.
//! - Dim is two thirds of the foreground and a third of the background, as VTE draws it. (xterm makes less of it.) On a dark background
//!   the foreground is taken to be xterm's #e5e5e5, on a light one black.
//! - The colours 16 to 255 are xterm's in every terminal. The 16 before them are not, so they are used for words only where a theme has a
//!   background of its own; there xterm's, the VGA text mode's and Windows' (Campbell) values are tried.
//! - Dark backgrounds are from #000000 to #1e1e1e, light ones from #ffffff to #fdf6e3 (Solarized).
//!
//! Contrast is that of WCAG 2.1, success criterion 1.4.3: 4.5:1 for text, and 1.4.11: 3:1 for signs. The eyes of the colour-blind are simulated
//! with the matrices of Machado, Oliveira and Fernandes, "A Physiologically-based Model for Simulation of Color Vision Deficiency" (IEEE TVCG
//! 15, 2009), severity 1.0, in linear RGB. Distances are those of CIE 1976 (L*a*b*, D65); 2.3 is a just noticeable difference.

use ratatui::style::{Color, Modifier, Style};

use super::depth::indexed_rgb;
use super::{Background, Depth, Glyph, Glyphs, MadeFor, Theme, ThemeRole, Themes, luminance};

type Rgb = [u8; 3];

const DARK: [Rgb; 3] = [[0, 0, 0], [0x12, 0x12, 0x12], [0x1e, 0x1e, 0x1e]];
const LIGHT: [Rgb; 3] = [[255, 255, 255], [0xf5, 0xf5, 0xf5], [0xfd, 0xf6, 0xe3]];
const READABLE: f64 = 4.5;
const VISIBLE: f64 = 3.0;
/// Ten times the just noticeable difference, side by side.
const APART: f64 = 23.0;

/// The bright half of the 16 colours, from 8 on: xterm, VGA, Windows.
const BRIGHT: [[Rgb; 8]; 3] = [
    [
        [127, 127, 127],
        [255, 0, 0],
        [0, 255, 0],
        [255, 255, 0],
        [92, 92, 255],
        [255, 0, 255],
        [0, 255, 255],
        [255, 255, 255],
    ],
    [
        [85, 85, 85],
        [255, 85, 85],
        [85, 255, 85],
        [255, 255, 85],
        [85, 85, 255],
        [255, 85, 255],
        [85, 255, 255],
        [255, 255, 255],
    ],
    [
        [118, 118, 118],
        [231, 72, 86],
        [22, 198, 12],
        [249, 241, 165],
        [59, 120, 255],
        [180, 0, 158],
        [97, 214, 214],
        [242, 242, 242],
    ],
];

const DEUTERANOPIA: [[f64; 3]; 3] =
    [[0.367_322, 0.860_646, -0.227_968], [0.280_085, 0.672_501, 0.047_413], [-0.011_820, 0.042_940, 0.968_881]];
const PROTANOPIA: [[f64; 3]; 3] =
    [[0.152_286, 1.052_583, -0.204_868], [0.114_503, 0.786_281, 0.099_216], [-0.003_882, -0.048_116, 1.051_998]];
const TRITANOPIA: [[f64; 3]; 3] =
    [[1.255_528, -0.076_749, -0.178_779], [-0.078_411, 0.930_809, 0.147_602], [0.004_733, 0.691_367, 0.303_900]];
const NORMAL: [[f64; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
const EYES: [(&str, [[f64; 3]; 3]); 4] =
    [("normal", NORMAL), ("deuteranopia", DEUTERANOPIA), ("protanopia", PROTANOPIA), ("tritanopia", TRITANOPIA)];

fn ratio(one: Rgb, other: Rgb) -> f64 {
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

/// The colour that these eyes see, in linear RGB.
fn seen(rgb: Rgb, eyes: &[[f64; 3]; 3]) -> [f64; 3] {
    let linear = rgb.map(|level| {
        let level = f64::from(level) / 255.0;
        if level <= 0.04045 { level / 12.92 } else { ((level + 0.055) / 1.055).powf(2.4) }
    });
    eyes.map(|row| row.iter().zip(linear).map(|(part, level)| part * level).sum::<f64>().clamp(0.0, 1.0))
}

/// The distance of two colours for these eyes.
fn distance(one: Rgb, other: Rgb, eyes: &[[f64; 3]; 3]) -> f64 {
    let lab = |rgb: Rgb| {
        let [red, green, blue] = seen(rgb, eyes);
        let curve = |t: f64| if t > 0.008_856 { t.cbrt() } else { 7.787 * t + 16.0 / 116.0 };
        let x = curve((0.412_456 * red + 0.357_576 * green + 0.180_437 * blue) / 0.950_47);
        let y = curve(0.212_673 * red + 0.715_152 * green + 0.072_175 * blue);
        let z = curve((0.019_334 * red + 0.119_192 * green + 0.950_304 * blue) / 1.088_83);
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    };
    let (one, other) = (lab(one), lab(other));
    one.iter().zip(other).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
}

/// The possible values of a colour; empty if it is the terminal's own.
fn possible(colour: Option<Color>) -> Vec<Rgb> {
    let bright = |nth: usize| BRIGHT.iter().map(|palette| palette[nth]).collect();
    match colour {
        None | Some(Color::Reset) => Vec::new(),
        Some(Color::Rgb(red, green, blue)) => vec![[red, green, blue]],
        Some(Color::Indexed(index @ 16..)) => vec![indexed_rgb(index)],
        Some(Color::Black) => vec![[0, 0, 0], [12, 12, 12]],
        Some(Color::LightRed) => bright(1),
        Some(Color::LightGreen) => bright(2),
        Some(Color::LightYellow) => bright(3),
        Some(Color::LightCyan) => bright(6),
        Some(Color::White) => bright(7),
        Some(other) => panic!("{other}: what it looks like is not known"),
    }
}

/// The built-in themes at `depth` on `background`.
fn themes(depth: Depth, background: Background) -> Vec<Theme> {
    let (mut themes, complaints) = Themes::load(None, depth);
    assert_eq!(complaints, Vec::<String>::new());
    themes.see_background(background);
    themes.all
}

fn backgrounds(background: Background) -> Vec<Rgb> {
    match background {
        Background::Dark => DARK.into(),
        Background::Light => LIGHT.into(),
        Background::Unknown => DARK.into_iter().chain(LIGHT).collect(),
    }
}

/// Roles that no word has.
fn is_sign(role: ThemeRole) -> bool {
    matches!(role, ThemeRole::Frame | ThemeRole::BarDone | ThemeRole::BarMoving | ThemeRole::BarRest)
}

/// The least contrast of `style` on a terminal with this background, in a theme that paints `background` below everything.
fn least(style: Style, background: Style, terminal: Rgb) -> f64 {
    let own_foreground = if luminance(terminal) > 0.179 { [0, 0, 0] } else { [0xe5; 3] };
    let or = |colours: Vec<Rgb>, otherwise: Vec<Rgb>| if colours.is_empty() { otherwise } else { colours };
    let foregrounds = or(possible(style.fg), or(possible(background.fg), vec![own_foreground]));
    let backgrounds = or(possible(style.bg), or(possible(background.bg), vec![terminal]));
    let dim = style.add_modifier.contains(Modifier::DIM);
    let mut least = f64::INFINITY;
    for background in &backgrounds {
        for foreground in &foregrounds {
            let mix = |at: usize| (u16::from(foreground[at]) * 2 + u16::from(background[at])) / 3;
            let foreground = if dim { [mix(0) as u8, mix(1) as u8, mix(2) as u8] } else { *foreground };
            least = least.min(ratio(foreground, *background));
        }
    }
    least
}

/// Every theme, every role, and every background on which it can appear, with 16, 256 and all colours.
#[test]
fn words_can_be_read_on_every_background() {
    let mut looked_at = 0;
    for depth in [Depth::Ansi, Depth::Indexed, Depth::True] {
        for background in Background::ALL {
            for theme in themes(depth, background) {
                let painted = match theme.made_for {
                    MadeFor::Any => theme.style(ThemeRole::Text),
                    _ => Style::default(),
                };
                // Users with a light background choose a theme for light backgrounds.
                let met = match theme.made_for {
                    MadeFor::This(background) => background,
                    MadeFor::Any | MadeFor::Terminals => background,
                };
                for role in ThemeRole::ALL {
                    let mut style = theme.style(*role);
                    if theme.leaves_words_plain() {
                        style.fg = None;
                    }
                    let enough = if is_sign(*role) { VISIBLE } else { READABLE };
                    for terminal in backgrounds(met) {
                        let least = least(style, painted, terminal);
                        let what =
                            format!("{} {} on {terminal:?} ({depth:?}, {background:?})", theme.name, role.text());
                        assert!(least >= enough, "{what}: {least:.2}");
                        looked_at += 1;
                    }
                }
            }
        }
    }
    assert!(looked_at > 5_000, "{looked_at}");
}

/// The old revision and the new one, well and failed: distinguishable by colour where words are coloured, for all eyes; and
/// always by weight too.
#[test]
fn revisions_and_results_are_told_apart_by_all_eyes() {
    for (depth, background) in
        [(Depth::True, Background::Dark), (Depth::True, Background::Light), (Depth::Indexed, Background::Dark)]
    {
        for theme in themes(depth, background) {
            for (one, other) in [(ThemeRole::OldRev, ThemeRole::NewRev), (ThemeRole::Ok, ThemeRole::Bad)] {
                let (first, second) = (theme.style(one), theme.style(other));
                let what = format!("{}: {} and {}", theme.name, one.text(), other.text());
                let weight = |style: Style| style.add_modifier.contains(Modifier::BOLD);
                assert!(weight(second) && !weight(first), "{what} weigh the same");
                for (eyes, matrix) in EYES {
                    for (a, b) in possible(first.fg).into_iter().zip(possible(second.fg)) {
                        let apart = distance(a, b, &matrix);
                        assert!(apart >= APART, "{what}, {eyes}, {background:?}: {apart:.0}");
                    }
                }
                assert!(theme.name == "mono" || first.fg != second.fg, "{what} have one colour");
            }
        }
    }
}

#[test]
fn signs_that_share_a_place_are_told_apart_also_in_ascii() {
    let places: [&[Glyph]; 2] = [
        // Before a row of the list of nodes, and in a cell of the map.
        &[
            Glyph::Updated,
            Glyph::Moving,
            Glyph::Struggling,
            Glyph::Outdated,
            Glyph::Failed,
            Glyph::Down,
            Glyph::Suspect,
            Glyph::Paused,
            Glyph::Folded,
        ],
        &[Glyph::BarDone, Glyph::BarMoving, Glyph::BarRest, Glyph::Updated, Glyph::Folded],
    ];
    let (themes, _) = Themes::load(None, Depth::Never);
    for glyphs in [Glyphs::Ascii, Glyphs::Unicode] {
        for place in places {
            let mut signs: Vec<&str> = place.iter().map(|glyph| themes.current().glyph(*glyph, glyphs)).collect();
            signs.sort_unstable();
            signs.dedup();
            assert_eq!(signs.len(), place.len(), "{glyphs:?}: {signs:?}");
        }
    }
}

#[test]
fn the_measures_are_right() {
    let round = |number: f64| (number * 100.0).round() / 100.0;
    assert_eq!(round(ratio([0, 0, 0], [255, 255, 255])), 21.0);
    // WebAIM's checker says 4.54 for this grey on white.
    assert_eq!(round(ratio([0x76, 0x76, 0x76], [255, 255, 255])), 4.54);
    assert!(distance([255, 0, 0], [0, 160, 0], &NORMAL) > 100.0);
    let (red, green) = ([200, 40, 40], [110, 105, 0]);
    assert!(distance(red, green, &DEUTERANOPIA) < distance(red, green, &NORMAL) / 3.0);
    assert_eq!((Background::of([0xfd, 0xf6, 0xe3]), Background::of([0x1e; 3])), (Background::Light, Background::Dark));
}
