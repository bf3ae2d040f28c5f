//! Amounts of resources as Kubernetes writes them: `250m`, `1.5Gi`, `12e6`.

use std::fmt;
use std::iter::Sum;
use std::ops::Add;

/// An amount of a resource, in thousandths. Finer fractions are rounded up, as a scheduler does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Amount(i128);

/// A limit above the amount of any resource, and far below the amounts whose sum overflows.
const MOST: i128 = 1 << 100;
const BINARY: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
const DECIMAL: [(&str, i32); 10] =
    [("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];

impl Amount {
    /// An amount of `count` whole units.
    pub fn whole(count: u32) -> Self {
        Self(i128::from(count) * 1000)
    }

    /// Reads a quantity; `None` if `text` is none.
    pub fn parse(text: &str) -> Option<Self> {
        let (negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, suffix) = text.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        // No resource has more than 20 digits before the point. Of the digits after it, only the first nine are read.
        if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') || whole.len() > 20 {
            return None;
        }
        let fraction = &fraction[..fraction.len().min(9)];
        let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
        let places = i32::try_from(fraction.len()).ok()?;
        let (times, power) = match BINARY.iter().position(|known| *known == suffix) {
            Some(nth) => (1_i128 << (10 * (nth + 1)), 0),
            None => (1, decimal_power(suffix)?),
        };
        let power = power + 3 - places;
        let value = digits.checked_mul(times)?;
        let value = match power {
            0.. => value.checked_mul(10_i128.checked_pow(power.unsigned_abs())?)?,
            _ => {
                let by = 10_i128.checked_pow(power.unsigned_abs())?;
                value.checked_add(by - 1)? / by
            }
        };
        (value <= MOST).then_some(Self(if negative { -value } else { value }))
    }

    /// The part of this amount that is left after `other`; zero if `other` is larger.
    pub fn less(self, other: Self) -> Self {
        Self((self.0 - other.0).max(0))
    }

    /// Whether it is nothing.
    pub fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// This amount in the unit that people use for this resource.
    pub fn of(self, resource: &str) -> AmountOf<'_> {
        AmountOf { amount: self, resource }
    }
}

/// The power of ten that a suffix stands for.
fn decimal_power(suffix: &str) -> Option<i32> {
    let known = DECIMAL.iter().find(|(known, _)| *known == suffix).map(|(_, power)| *power);
    known.or_else(|| suffix.strip_prefix(['e', 'E'])?.parse().ok().filter(|power: &i32| power.abs() <= 18))
}

impl Add for Amount {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sum for Amount {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::default(), Add::add)
    }
}

/// An amount of a resource: `1500m` of `cpu`, `1.5Gi` of `memory`, `110` of `pods`.
#[derive(Clone, Copy, Debug)]
pub struct AmountOf<'a> {
    amount: Amount,
    resource: &'a str,
}

impl fmt::Display for AmountOf<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Amount(thousandths) = self.amount;
        let bytes = matches!(self.resource, "memory" | "ephemeral-storage") || self.resource.starts_with("hugepages-");
        if bytes {
            let bytes = thousandths / 1000;
            let unit = BINARY.iter().enumerate().rev().find(|(nth, _)| bytes.abs() >= 1 << (10 * (nth + 1)));
            let Some((nth, unit)) = unit else { return write!(f, "{bytes}") };
            let tenths = (bytes * 10) >> (10 * (nth + 1));
            return match tenths % 10 {
                0 => write!(f, "{}{unit}", tenths / 10),
                rest => write!(f, "{}.{}{unit}", tenths / 10, rest.abs()),
            };
        }
        match thousandths % 1000 {
            0 => write!(f, "{}", thousandths / 1000),
            _ => write!(f, "{thousandths}m"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read_as_kubernetes_writes_them() {
        for (text, thousandths) in [
            ("0", 0),
            ("2", 2_000),
            ("250m", 250),
            ("0.5", 500),
            (".5", 500),
            ("1.", 1_000),
            ("1Ki", 1_024_000),
            ("1.5Gi", 1_610_612_736_000),
            ("12e6", 12_000_000_000),
            ("12E6", 12_000_000_000),
            ("5E", 5_000_000_000_000_000_000_000),
            ("100k", 100_000_000),
            ("1n", 1),
            ("1500u", 2),
            ("-1", -1_000),
            ("+3", 3_000),
        ] {
            assert_eq!(Amount::parse(text), Some(Amount(thousandths)), "{text}");
        }
        for text in ["", "m", ".", "1.2.3", "1x", "1 Gi", "0x10", "1e99", "1e", "99999999999999999999999", "9e18Gi"] {
            assert_eq!(Amount::parse(text), None, "{text}");
        }
    }

    #[test]
    fn amounts_are_told_in_the_unit_of_their_resource() {
        let told = |text: &str, resource: &str| Amount::parse(text).unwrap().of(resource).to_string();
        assert_eq!(told("1500m", "cpu"), "1500m");
        assert_eq!(told("2", "cpu"), "2");
        assert_eq!(told("1.5Gi", "memory"), "1.5Gi");
        assert_eq!(told("1000Ki", "memory"), "1000Ki");
        assert_eq!(told("512", "ephemeral-storage"), "512");
        assert_eq!(told("110", "pods"), "110");
        assert_eq!(Amount::parse("1").unwrap().less(Amount::parse("2").unwrap()), Amount::default());
    }
}
