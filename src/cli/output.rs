//! Where answers go: standard output, as text or JSON, in Unicode or ASCII.

use std::borrow::Cow;
use std::io::{self, Write};

use serde::Serialize;
use unicode_width::UnicodeWidthStr;

use super::args::OutputFormat;

/// Where answers go.
pub(crate) struct Output {
    to: Box<dyn Write + Send>,
    format: OutputFormat,
    letters: Letters,
}

/// Which characters the reader's terminal has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Letters {
    /// All of them.
    Unicode,
    /// Only ASCII.
    Ascii,
}

impl Output {
    /// Standard output.
    pub(crate) fn stdout(format: OutputFormat, letters: Letters) -> Self {
        Self::to(Box::new(io::stdout()), format, letters)
    }

    pub(crate) fn to(to: Box<dyn Write + Send>, format: OutputFormat, letters: Letters) -> Self {
        Self { to, format, letters }
    }

    pub(crate) fn format(&self) -> OutputFormat {
        self.format
    }

    /// Writes one line of text, at once.
    pub(crate) fn line(&mut self, line: impl AsRef<str>) -> io::Result<()> {
        let line = line.as_ref();
        writeln!(self.to, "{}", printable(line, self.letters))?;
        self.to.flush()
    }

    /// Writes one JSON object: on one line, so that a stream of them is JSON lines.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut self.to, value)?;
        self.to.write_all(b"\n")?;
        self.to.flush()
    }

    /// Writes what is not for people's eyes as it is.
    pub(crate) fn raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.to.write_all(bytes)?;
        self.to.flush()
    }

    /// Writes rows in columns that are as wide as they must be; the last is not padded.
    pub(crate) fn table(&mut self, rows: &[Vec<String>]) -> io::Result<()> {
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns)
            .map(|nth| rows.iter().filter_map(|row| row.get(nth)).map(|cell| cell.width()).max().unwrap_or(0))
            .collect();
        for row in rows {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(&widths) {
                line.push_str(cell);
                line.extend(std::iter::repeat_n(' ', width - cell.width() + 2));
            }
            self.line(line.trim_end())?;
        }
        Ok(())
    }
}

/// `line` as a terminal may have it. What a cluster says is not ours: control characters in it become `?`, and in ASCII
/// so does every letter but the few that we draw with, which are spelt.
pub(crate) fn printable(line: &str, letters: Letters) -> Cow<'_, str> {
    let fits = |c: char| !c.is_control() && (letters == Letters::Unicode || c.is_ascii());
    if line.chars().all(fits) {
        return Cow::Borrowed(line);
    }
    let mut plain = String::with_capacity(line.len());
    for character in line.chars() {
        match character {
            character if fits(character) => plain.push(character),
            '→' => plain.push_str("->"),
            '…' => plain.push_str("..."),
            '·' => plain.push('-'),
            _ => plain.push('?'),
        }
    }
    Cow::Owned(plain)
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    /// Keeps what is written, for a test to read.
    #[derive(Clone, Default)]
    pub(crate) struct Kept(Arc<Mutex<Vec<u8>>>);

    impl Kept {
        pub(crate) fn output(&self, format: OutputFormat, letters: Letters) -> Output {
            Output::to(Box::new(self.clone()), format, letters)
        }

        pub(crate) fn text(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
        }
    }

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn columns_line_up_and_rows_do_not_trail() {
        let kept = Kept::default();
        let row = |cells: &[&str]| cells.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>();
        kept.output(OutputFormat::Text, Letters::Unicode)
            .table(&[row(&["NODE", "STATE"]), row(&["ü1", "up"]), row(&["a", ""])])
            .unwrap();
        assert_eq!(kept.text(), "NODE  STATE\nü1    up\na\n");
    }

    #[test]
    fn ascii_spells_arrows_and_owns_up_to_the_rest() {
        assert_eq!(printable("v1 → v2 · 3… é", Letters::Ascii), "v1 -> v2 - 3... ?");
    }

    #[test]
    fn what_a_cluster_says_cannot_steer_the_terminal() {
        assert_eq!(printable("\u{1b}[2J→ gone", Letters::Unicode), "?[2J→ gone");
    }
}
