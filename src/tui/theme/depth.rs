//! Reduces colours to those that a terminal has: 24 bits, the 256 of xterm, the 16 of ANSI, none.

use ratatui::style::Color;

use super::Depth;

/// `colour` as a terminal of this depth can show it; `None` for none.
pub(super) fn reduce(colour: Color, depth: Depth) -> Option<Color> {
    match (colour, depth) {
        (_, Depth::Never) => None,
        (Color::Rgb(..), Depth::True) | (Color::Indexed(_), Depth::True | Depth::Indexed) => Some(colour),
        (Color::Rgb(red, green, blue), Depth::Indexed) => Some(Color::Indexed(nearest_indexed([red, green, blue]))),
        (Color::Rgb(red, green, blue), Depth::Ansi) => Some(nearest_ansi([red, green, blue])),
        (Color::Indexed(index), Depth::Ansi) => Some(nearest_ansi(indexed_rgb(index))),
        _ => Some(colour),
    }
}

const CUBE: [u8; 6] = [0, 95, 135, 175, 215, 255];

fn far(one: [u8; 3], other: [u8; 3]) -> u32 {
    one.iter().zip(other).map(|(one, other)| u32::from(one.abs_diff(other)).pow(2)).sum()
}

fn nearest_indexed(rgb: [u8; 3]) -> u8 {
    (16..=255).min_by_key(|index| far(rgb, indexed_rgb(*index))).unwrap_or(15)
}

pub(super) fn indexed_rgb(index: u8) -> [u8; 3] {
    match index {
        0..16 => ANSI[usize::from(index)].1,
        16..232 => {
            let index = index - 16;
            [index / 36, index / 6 % 6, index % 6].map(|level| CUBE[usize::from(level)])
        }
        grey => [8 + (grey - 232) * 10; 3],
    }
}

/// xterm's 16 colours.
const ANSI: [(Color, [u8; 3]); 16] = [
    (Color::Black, [0, 0, 0]),
    (Color::Red, [205, 0, 0]),
    (Color::Green, [0, 205, 0]),
    (Color::Yellow, [205, 205, 0]),
    (Color::Blue, [0, 0, 238]),
    (Color::Magenta, [205, 0, 205]),
    (Color::Cyan, [0, 205, 205]),
    (Color::Gray, [229, 229, 229]),
    (Color::DarkGray, [127, 127, 127]),
    (Color::LightRed, [255, 0, 0]),
    (Color::LightGreen, [0, 255, 0]),
    (Color::LightYellow, [255, 255, 0]),
    (Color::LightBlue, [92, 92, 255]),
    (Color::LightMagenta, [255, 0, 255]),
    (Color::LightCyan, [0, 255, 255]),
    (Color::White, [255, 255, 255]),
];

fn nearest_ansi(rgb: [u8; 3]) -> Color {
    ANSI.iter().min_by_key(|(_, known)| far(rgb, *known)).map_or(Color::Reset, |(colour, _)| *colour)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_come_down_to_what_the_terminal_has() {
        assert_eq!(reduce(Color::Rgb(255, 0, 0), Depth::Ansi), Some(Color::LightRed));
        assert_eq!(reduce(Color::Rgb(255, 0, 0), Depth::Indexed), Some(Color::Indexed(196)));
        assert_eq!(reduce(Color::Indexed(196), Depth::Ansi), Some(Color::LightRed));
        assert_eq!(reduce(Color::Green, Depth::Never), None);
    }
}
