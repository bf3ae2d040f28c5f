//! Answers go to standard output, as text or JSON, in Unicode or ASCII; warnings and errors go to standard error.
//!
//! Each stream has a writer thread, so nothing waits for the stream. A command that prints continuously waits for [`Streams::room`] in between.

use std::borrow::Cow;
use std::io::{self, IsTerminal};
use std::time::Instant;

use serde::Serialize;
use unicode_width::UnicodeWidthStr;

use super::args::{OutputFormat, OutputShape};
use crate::engine::model::printable::{REPLACEMENT, printable};
use crate::process::output::{StreamWriter, say_on_stderr};
use crate::process::printable::{LineColour, Printable};
use crate::template_text::yaml;

/// The destination of answers.
pub(crate) struct Output {
    to: Box<dyn Answers>,
    streams: Streams,
    format: OutputFormat,
    shape: OutputShape,
    charset: Charset,
    colours: bool,
    /// Whether a document of YAML was written.
    begun: bool,
}

/// Receives answers.
pub(crate) trait Answers: Send {
    /// Queues `text` for writing.
    ///
    /// # Errors
    /// When nobody reads the output any more.
    fn take(&mut self, text: Printable) -> io::Result<()>;
}

impl Answers for StreamWriter {
    fn take(&mut self, text: Printable) -> io::Result<()> {
        self.send(text)
    }
}

/// The streams of this process, which are written to without waiting. Empty if answers go elsewhere, as in tests.
#[derive(Clone, Debug, Default)]
pub(crate) struct Streams {
    answers: Option<StreamWriter>,
    complaints: Option<StreamWriter>,
}

impl Streams {
    /// Waits until there is room for more output, or nobody reads it any more.
    pub(crate) async fn room(&self) {
        if let Some(answers) = &self.answers {
            answers.room().await;
        }
    }

    /// Waits until either stream is stuck. Returns since when.
    pub(crate) async fn stuck(&self) -> Instant {
        tokio::select! {
            since = stuck(self.answers.as_ref()) => since,
            since = stuck(self.complaints.as_ref()) => since,
        }
    }

    /// Waits until all output is written, or nobody reads it any more.
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

    /// The error because of which nobody reads the answers any more.
    pub(crate) fn failure(&self) -> Option<io::Error> {
        self.answers.as_ref().and_then(StreamWriter::failure)
    }

    /// Prints `lines` on standard error.
    pub(crate) fn complain(&self, lines: &str) {
        let lines = Printable::lines(lines);
        match &self.complaints {
            // A closed standard error cannot be reported anywhere.
            Some(complaints) => drop(complaints.send(lines)),
            None => say_on_stderr(&lines),
        }
    }
}

async fn stuck(writer: Option<&StreamWriter>) -> Instant {
    match writer {
        Some(writer) => writer.stuck().await,
        None => std::future::pending().await,
    }
}

/// The characters that the reader's terminal can show.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Charset {
    /// All characters.
    Unicode,
    /// Only ASCII.
    Ascii,
}

impl Output {
    /// Standard output, and standard error beside it.
    ///
    /// # Errors
    /// When no thread or file descriptor is available.
    pub(crate) fn stdout(format: OutputFormat, charset: Charset) -> io::Result<Self> {
        let answers = StreamWriter::stdout()?;
        let complaints = StreamWriter::stderr()?;
        let streams = Streams { answers: Some(answers.clone()), complaints: Some(complaints) };
        Ok(Self { streams, colours: wants_colours(), ..Self::to(Box::new(answers), format, charset) })
    }

    pub(crate) fn to(to: Box<dyn Answers>, format: OutputFormat, charset: Charset) -> Self {
        let shape = OutputShape::default();
        Self { to, streams: Streams::default(), format, shape, charset, colours: false, begun: false }
    }

    /// The same with another level of detail.
    #[must_use]
    pub(crate) fn shaped(self, shape: OutputShape) -> Self {
        Self { shape, ..self }
    }

    /// Whether tables have more columns.
    pub(crate) fn is_wide(&self) -> bool {
        self.shape == OutputShape::Wide
    }

    /// Whether a template is printed in which a path leads to this key of the answer.
    pub(crate) fn asks_for(&self, key: &str) -> bool {
        matches!(&self.shape, OutputShape::Template(template) if template.asks_for(key))
    }

    /// Whether an answer is printed as a whole.
    pub(crate) fn is_whole(&self) -> bool {
        self.shape == OutputShape::Whole
    }

    /// The streams of this output.
    pub(crate) fn streams(&self) -> Streams {
        self.streams.clone()
    }

    pub(crate) fn format(&self) -> OutputFormat {
        self.format
    }

    /// Writes one line of text, at once.
    pub(crate) fn line(&mut self, line: impl AsRef<str>) -> io::Result<()> {
        self.write(Printable::line(&in_charset(line.as_ref(), self.charset)))
    }

    /// Writes a whole answer: as indented JSON like kubectl, as a YAML document, or only the requested part.
    pub(crate) fn value(&mut self, value: &impl Serialize) -> io::Result<()> {
        self.write_value(value, Printable::json_indented)
    }

    /// Writes one of many answers: as JSON on one line, so that the output is JSON lines; otherwise as [`value`](Self::value) does.
    pub(crate) fn record(&mut self, value: &impl Serialize) -> io::Result<()> {
        self.write_value(value, Printable::json)
    }

    fn write_value<V: Serialize>(
        &mut self,
        value: &V,
        json: fn(&V) -> serde_json::Result<Printable>,
    ) -> io::Result<()> {
        match &self.shape {
            OutputShape::Whole | OutputShape::Wide => {}
            OutputShape::Names => {
                let answer = serde_json::to_value(value)?;
                return names_in(&answer).iter().try_for_each(|name| self.line(format!("daemonset.apps/{name}")));
            }
            OutputShape::Template(template) => {
                let text = template.render(&serde_json::to_value(value)?);
                return self.write(Printable::tabbed(&text));
            }
        }
        if self.format != OutputFormat::Yaml {
            return self.write(json(value)?);
        }
        if std::mem::replace(&mut self.begun, true) {
            self.write(Printable::line("---"))?;
        }
        self.write(Printable::lines(&yaml(&serde_json::to_value(value)?)))
    }

    /// Writes one line of text, in colour if the reader's terminal has colours and they are wanted.
    pub(crate) fn coloured(&mut self, colour: LineColour, line: impl AsRef<str>) -> io::Result<()> {
        let line = in_charset(line.as_ref(), self.charset);
        self.write(if self.colours { Printable::coloured(colour, &line) } else { Printable::line(&line) })
    }

    /// Writes text that is already printable.
    pub(crate) fn write(&mut self, text: Printable) -> io::Result<()> {
        self.to.take(text)
    }

    /// Writes rows in columns of the smallest sufficient width; the last column is not padded.
    pub(crate) fn table(&mut self, rows: &[Vec<String>]) -> io::Result<()> {
        let rows: Vec<Vec<Cow<'_, str>>> =
            rows.iter().map(|row| row.iter().map(|cell| in_charset(cell, self.charset)).collect()).collect();
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns)
            .map(|nth| rows.iter().filter_map(|row| row.get(nth)).map(|cell| cell.width()).max().unwrap_or(0))
            .collect();
        for row in &rows {
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

/// The DaemonSets of an answer: the entries of a list, or the only one.
fn names_in(answer: &serde_json::Value) -> Vec<&str> {
    match answer["items"].as_array() {
        Some(items) => items.iter().filter_map(|item| item["name"].as_str()).collect(),
        None => answer["name"].as_str().into_iter().collect(),
    }
}

/// Whether standard output is a terminal with colours, and `NO_COLOR` is not set.
fn wants_colours() -> bool {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let dumb = set("TERM").is_none_or(|term| term == "dumb");
    io::stdout().is_terminal() && set("NO_COLOR").is_none() && !dumb
}

/// `line` in characters that the reader's terminal can show. rolldeck's own signs are transliterated, all other characters are replaced.
fn in_charset(line: &str, charset: Charset) -> Cow<'_, str> {
    // Control characters are replaced first: by one character, whatever the charset.
    let line = printable(line);
    if charset == Charset::Unicode || line.is_ascii() {
        return line;
    }
    let mut plain = String::with_capacity(line.len());
    for character in line.chars() {
        match character {
            character if character.is_ascii() => plain.push(character),
            '→' => plain.push_str("->"),
            '…' => plain.push_str("..."),
            '·' | '–' => plain.push('-'),
            '×' | '✗' => plain.push('x'),
            // The signs of the map of a report.
            '■' => plain.push('#'),
            '□' => plain.push('.'),
            '◐' => plain.push('~'),
            _ => plain.push(REPLACEMENT),
        }
    }
    Cow::Owned(plain)
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::engine::model::printable::is_printable;
    use crate::engine::model::printable::tests::HOSTILE;

    /// Keeps the output for a test to read.
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

    /// A destination that fails like a full disk.
    pub(crate) struct Full;

    impl Answers for Full {
        fn take(&mut self, _text: Printable) -> io::Result<()> {
            Err(io::ErrorKind::StorageFull.into())
        }
    }

    impl Answers for Kept {
        fn take(&mut self, text: Printable) -> io::Result<()> {
            self.0.lock().unwrap().extend_from_slice(text.as_bytes());
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
        assert_eq!(in_charset("v1 → v2 · 3… 4–5 6× ✗ é", Charset::Ascii), "v1 -> v2 - 3... 4-5 6x x ?");
    }

    #[test]
    fn the_map_of_a_report_has_a_sign_for_each_state_in_ascii_too() {
        for charset in [Charset::Unicode, Charset::Ascii] {
            let legend = in_charset(crate::handover::LEGEND, charset);
            let signs: Vec<&str> = legend.split("  ").filter_map(|entry| entry.split(' ').next()).collect();
            let different: std::collections::BTreeSet<&str> = signs.iter().copied().collect();
            assert_eq!((signs.len(), different.len()), (7, 7), "{legend}");
            assert!(!signs.contains(&"?"), "{legend}");
        }
    }

    #[test]
    fn what_a_cluster_says_cannot_steer_the_terminal_in_any_charset_or_format() {
        for (format, charset) in [
            (OutputFormat::Text, Charset::Unicode),
            (OutputFormat::Text, Charset::Ascii),
            (OutputFormat::Json, Charset::Unicode),
        ] {
            let kept = Kept::default();
            let mut output = kept.output(format, charset);
            output.line(HOSTILE).unwrap();
            output.table(&[vec![HOSTILE.to_owned(), HOSTILE.to_owned()]]).unwrap();
            output.record(&serde_json::json!({"why": HOSTILE})).unwrap();
            let text = kept.text();
            assert_eq!(text.lines().count(), 3, "{text:?}");
            assert!(text.chars().all(|c| c == '\n' || is_printable(c)), "{text:?}");
            let value: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
            assert_eq!(value["why"], HOSTILE, "JSON keeps the value");
        }
    }

    #[test]
    fn yaml_is_a_document_for_each_value_and_none_steers_the_terminal() {
        let kept = Kept::default();
        let mut output = kept.output(OutputFormat::Yaml, Charset::Unicode);
        output.value(&serde_json::json!({"why": HOSTILE})).unwrap();
        output.value(&serde_json::json!({"list": [1, {"a": "yes"}]})).unwrap();
        let text = kept.text();
        assert!(text.chars().all(|c| c == '\n' || is_printable(c)), "{text:?}");
        let (first, second) = text.split_once("---\n").unwrap();
        assert_eq!(second, "list:\n- 1\n- a: \"yes\"\n");
        let value: serde_json::Value = serde_saphyr::from_str(first).unwrap();
        assert_eq!(value["why"], HOSTILE, "YAML keeps the value");
    }

    #[test]
    fn one_answer_is_indented_and_each_of_many_is_a_line() {
        let kept = Kept::default();
        let mut output = kept.output(OutputFormat::Json, Charset::Unicode);
        output.value(&serde_json::json!({"list": [1, {"why": "a\nb\u{2028}"}]})).unwrap();
        output.record(&serde_json::json!({"list": [1]})).unwrap();
        output.record(&serde_json::json!({"list": []})).unwrap();
        let whole = "{\n  \"list\": [\n    1,\n    {\n      \"why\": \"a\\nb\\u2028\"\n    }\n  ]\n}\n";
        assert_eq!(kept.text(), format!("{whole}{{\"list\":[1]}}\n{{\"list\":[]}}\n"));
    }

    #[test]
    fn colours_are_only_where_they_are_wanted() {
        let kept = Kept::default();
        let mut output = kept.output(OutputFormat::Text, Charset::Unicode);
        output.coloured(LineColour::Red, "-old").unwrap();
        output.colours = true;
        output.coloured(LineColour::Green, "+new").unwrap();
        assert_eq!(kept.text(), "-old\n\u{1b}[32m+new\u{1b}[m\n");
    }

    #[test]
    fn columns_stay_in_line_whatever_stands_in_them() {
        let kept = Kept::default();
        let row = |first: &str| vec![first.to_owned(), "x".to_owned()];
        kept.output(OutputFormat::Text, Charset::Unicode).table(&[row("a\u{200b}b"), row("abc")]).unwrap();
        assert_eq!(kept.text(), "a?b  x\nabc  x\n");
    }
}
