//! Answers go to standard output, as text or JSON, in Unicode or ASCII; warnings and errors go to standard error.
//!
//! Each stream has a writer thread, so nothing waits for it. A command that keeps printing waits for [`Output::room`] in between.

use std::borrow::Cow;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::time::Instant;

use serde::Serialize;
use unicode_width::UnicodeWidthStr;

use super::args::OutputFormat;
use crate::process::output::StreamWriter;

/// Where answers go.
pub(crate) struct Output {
    to: Box<dyn Write + Send>,
    streams: Streams,
    format: OutputFormat,
    charset: Charset,
}

/// The streams of this process, written to without waiting; none where answers go elsewhere, as in tests.
#[derive(Clone, Debug, Default)]
pub(crate) struct Streams {
    answers: Option<StreamWriter>,
    complaints: Option<StreamWriter>,
}

impl Streams {
    /// Waits until there is room for more, or nobody reads any more.
    pub(crate) async fn room(&self) {
        if let Some(answers) = &self.answers {
            answers.room().await;
        }
    }

    /// Waits until either stream is stuck; returns since when.
    pub(crate) async fn stuck(&self) -> Instant {
        tokio::select! {
            since = stuck(self.answers.as_ref()) => since,
            since = stuck(self.complaints.as_ref()) => since,
        }
    }

    /// Waits until all is written, or nobody reads any more.
    pub(crate) async fn drained(&self) {
        for writer in [&self.answers, &self.complaints].into_iter().flatten() {
            writer.drained().await;
        }
    }

    /// Waits until nobody reads the answers any more.
    pub(crate) async fn failed(&self) -> io::Error {
        if let Some(answers) = &self.answers {
            answers.failed().await;
            if let Some(error) = answers.failure() {
                return error;
            }
        }
        std::future::pending().await
    }

    /// Why nobody reads the answers any more.
    pub(crate) fn failure(&self) -> Option<io::Error> {
        self.answers.as_ref().and_then(StreamWriter::failure)
    }

    /// Says `line` on standard error.
    pub(crate) fn complain(&self, line: &str) {
        match &self.complaints {
            // A closed standard error cannot be reported anywhere.
            Some(complaints) => drop(complaints.send(format!("{line}\n").into_bytes())),
            None => drop(writeln!(io::stderr().lock(), "{line}")),
        }
    }
}

async fn stuck(writer: Option<&StreamWriter>) -> Instant {
    match writer {
        Some(writer) => writer.stuck().await,
        None => std::future::pending().await,
    }
}

impl Write for StreamWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.send(bytes.to_vec())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Which characters the reader's terminal has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Charset {
    /// All of them.
    Unicode,
    /// Only ASCII.
    Ascii,
}

impl Output {
    /// Standard output, and standard error beside it.
    ///
    /// # Errors
    /// When there is no thread or no file descriptor to be had.
    pub(crate) fn stdout(format: OutputFormat, charset: Charset) -> io::Result<Self> {
        let answers = StreamWriter::start(io::stdout().as_fd().try_clone_to_owned()?)?;
        let complaints = StreamWriter::start(io::stderr().as_fd().try_clone_to_owned()?)?;
        let streams = Streams { answers: Some(answers.clone()), complaints: Some(complaints) };
        Ok(Self { streams, ..Self::to(Box::new(answers), format, charset) })
    }

    pub(crate) fn to(to: Box<dyn Write + Send>, format: OutputFormat, charset: Charset) -> Self {
        Self { to, streams: Streams::default(), format, charset }
    }

    /// The streams behind it.
    pub(crate) fn streams(&self) -> Streams {
        self.streams.clone()
    }

    pub(crate) fn format(&self) -> OutputFormat {
        self.format
    }

    /// Writes one line of text, at once.
    pub(crate) fn line(&mut self, line: impl AsRef<str>) -> io::Result<()> {
        let mut line = printable(line.as_ref(), self.charset).into_owned();
        line.push('\n');
        self.raw(line.as_bytes())
    }

    /// Writes one JSON object: on one line, so that a stream of them is JSON lines.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(value)?;
        line.push(b'\n');
        self.raw(&line)
    }

    /// Writes bytes unchanged.
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

/// `line` as it is safe for a terminal. Text from the cluster is not trusted: control characters become `?`. In ASCII, characters
/// that rolldeck itself uses are transliterated, all others become `?`.
pub(crate) fn printable(line: &str, charset: Charset) -> Cow<'_, str> {
    let fits = |c: char| !c.is_control() && (charset == Charset::Unicode || c.is_ascii());
    if line.chars().all(fits) {
        return Cow::Borrowed(line);
    }
    let mut plain = String::with_capacity(line.len());
    for character in line.chars() {
        match character {
            character if fits(character) => plain.push(character),
            '→' => plain.push_str("->"),
            '…' => plain.push_str("..."),
            '·' | '–' => plain.push('-'),
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
        pub(crate) fn output(&self, format: OutputFormat, charset: Charset) -> Output {
            Output::to(Box::new(self.clone()), format, charset)
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
        kept.output(OutputFormat::Text, Charset::Unicode)
            .table(&[row(&["NODE", "STATE"]), row(&["ü1", "up"]), row(&["a", ""])])
            .unwrap();
        assert_eq!(kept.text(), "NODE  STATE\nü1    up\na\n");
    }

    #[test]
    fn ascii_spells_arrows_and_owns_up_to_the_rest() {
        assert_eq!(printable("v1 → v2 · 3… 4–5 é", Charset::Ascii), "v1 -> v2 - 3... 4-5 ?");
    }

    #[test]
    fn what_a_cluster_says_cannot_steer_the_terminal() {
        assert_eq!(printable("\u{1b}[2J→ gone", Charset::Unicode), "?[2J→ gone");
    }
}
