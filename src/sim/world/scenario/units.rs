//! Durations, sizes and rates as people write them: `1m30s`, `180MB`, `20Mbit/s`. They are parsed by hand, because `jiff` accepts durations that
//! scenario files do not have (`5 minutes`, `1d`), and parses neither sizes nor rates.

use std::time::Duration;

/// `90s`, `1m30s`, `500ms`, `2h`.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let refuse = || format!("`{text}` is not a duration like `90s`, `1m30s`, `500ms` or `2h`");
    let mut total = Duration::ZERO;
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err(refuse());
    }
    while !rest.is_empty() {
        let (value, unit, after) = split(rest).ok_or_else(refuse)?;
        let seconds = match unit {
            "ms" => 0.001,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return Err(refuse()),
        };
        total += Duration::try_from_secs_f64(value * seconds).map_err(|_overflow| refuse())?;
        rest = after;
    }
    Ok(total)
}

/// `180MB`, `1.5GiB`, `700kB`, `12B`.
pub(super) fn bytes(text: &str) -> Result<u64, String> {
    let refuse = || format!("`{text}` is not a size like `180MB` or `1.5GiB`");
    let (value, unit, rest) = split(text.trim()).ok_or_else(refuse)?;
    let factor = match unit {
        "B" => 1.0,
        "kB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        "KiB" => 1024.0,
        "MiB" => 1_048_576.0,
        "GiB" => 1_073_741_824.0,
        _ => return Err(refuse()),
    };
    whole(value * factor).filter(|_| rest.is_empty()).ok_or_else(refuse)
}

/// `20Mbit/s`, `512kbit/s`, `1Gbit/s`: in bytes a second, at least 1.
pub(super) fn rate(text: &str) -> Result<u64, String> {
    let refuse = || format!("`{text}` is not a rate like `20Mbit/s` or `512kbit/s`");
    let (value, unit, rest) = split(text.trim()).ok_or_else(refuse)?;
    let bits = match unit {
        "bit" => 1.0,
        "kbit" => 1e3,
        "Mbit" => 1e6,
        "Gbit" => 1e9,
        _ => return Err(refuse()),
    };
    whole(value * bits / 8.0).filter(|bytes| rest == "/s" && *bytes > 0).ok_or_else(refuse)
}

/// Splits a text into a number, the letters after it, and the rest.
fn split(text: &str) -> Option<(f64, &str, &str)> {
    let number = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let value = text[..number].parse().ok()?;
    let tail = &text[number..];
    let unit = tail.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(tail.len());
    Some((value, &tail[..unit], &tail[unit..]))
}

fn whole(value: f64) -> Option<u64> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked")]
    (value.is_finite() && (0.0..1e15).contains(&value)).then_some(value.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_people_write() {
        assert_eq!(duration("1m30s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(bytes("180MB"), Ok(180_000_000));
        assert_eq!(bytes("1.5GiB"), Ok(1_610_612_736));
        assert_eq!(rate("20Mbit/s"), Ok(2_500_000));
    }

    #[test]
    fn refuses_with_an_example() {
        for text in ["", "90", "s", "5 minutes", "1d", "-3s"] {
            assert!(duration(text).unwrap_err().contains("90s"), "{text}");
        }
        for text in ["", "12", "12 MB", "1TB", "MB"] {
            assert!(bytes(text).unwrap_err().contains("180MB"), "{text}");
        }
        for text in ["20Mbit", "20MB/s", "0Mbit/s"] {
            assert!(rate(text).unwrap_err().contains("20Mbit/s"), "{text}");
        }
    }
}
