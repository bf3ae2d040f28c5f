//! The log read back: what happened to one DaemonSet, after the fact and without a cluster.

use std::collections::BTreeSet;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{file, private};
use crate::engine::model::Str;
use crate::engine::model::facts::Severity;
use crate::engine::model::time::Timestamp;

/// The selection of lines; a field that is `None` excludes nothing.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LogFilter {
    /// The DaemonSet.
    pub name: Option<String>,
    /// Its namespace.
    pub namespace: Option<String>,
    /// The cluster.
    pub cluster: Option<LoggedCluster>,
    /// The earliest time.
    pub since: Option<Timestamp>,
    /// Whether to include every step: deleted pods, sent writes, requested commands.
    pub all: bool,
}

/// One cluster, and one DaemonSet in it, as far as they are known. Contexts of two clusters may share a name, and a context
/// may be renamed. Lines are therefore distinguished by the first of these fields that is known of the line and of the
/// filter.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LoggedCluster {
    /// The DaemonSet's uid.
    pub uid: Option<Str>,
    /// The API server's host and port; empty if they are not known.
    pub server: String,
    /// The kubeconfig's context.
    pub context: String,
}

impl LoggedCluster {
    fn is_of(&self, line: &LogLine) -> bool {
        let same_cluster = || match line.server() {
            Some(server) if !self.server.is_empty() => server == self.server,
            _ => line.context() == Some(&self.context),
        };
        match (line.text("uid"), self.uid.as_deref()) {
            // Practice clusters with the same seed have the same uids.
            (Some(logged), Some(uid)) => logged == uid && (!line.is_practice() || same_cluster()),
            _ => same_cluster(),
        }
    }
}

/// One line of the log.
#[derive(Clone, PartialEq, Debug)]
pub struct LogLine {
    fields: Value,
    written: String,
}

/// The reason why the log cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("reading the audit log {}: {source}", path.display())]
pub struct LogError {
    /// The file.
    pub path: PathBuf,
    /// The system's error.
    pub source: io::Error,
}

impl LogLine {
    /// Parses a line of the file; `None` if the line is not JSON because a full disk cut it short.
    pub(super) fn parse(written: String) -> Option<Self> {
        let fields = serde_json::from_str(&written).ok()?;
        Some(Self { fields, written })
    }

    /// The whole line, as it was written.
    pub fn written(&self) -> &str {
        &self.written
    }

    /// The whole line, as its fields.
    pub fn fields(&self) -> &Value {
        &self.fields
    }

    /// The time of the event.
    pub fn at(&self) -> Option<Timestamp> {
        self.text("time").and_then(|time| Timestamp::parse(time).ok())
    }

    /// A field that is text.
    pub fn text(&self, field: &str) -> Option<&str> {
        self.fields[field].as_str()
    }

    /// The author: the person, or the process whose rollout did it by itself.
    pub fn who(&self) -> &str {
        self.text("by").or_else(|| self.text("identity")).unwrap_or("?")
    }

    /// The kubeconfig's context.
    pub fn context(&self) -> Option<&str> {
        self.fields["cluster"]["context"].as_str()
    }

    /// The API server's host and port.
    pub fn server(&self) -> Option<&str> {
        self.fields["cluster"]["server"].as_str().filter(|server| !server.is_empty())
    }

    fn is_practice(&self) -> bool {
        self.fields["cluster"]["practice"] == true
    }

    /// Whether the event is an intermediate step, which no timeline shows.
    pub fn is_detail(&self) -> bool {
        self.fields["detail"] == true
    }

    /// Whether the event is bad news.
    pub fn severity(&self) -> Severity {
        if self.text("severity") == Some("warning") { Severity::Warning } else { Severity::Normal }
    }

    /// Whether the line passes the filter, apart from its cluster.
    fn passes(&self, filter: &LogFilter) -> bool {
        let is =
            |wanted: &Option<String>, value: Option<&str>| wanted.as_deref().is_none_or(|wanted| value == Some(wanted));
        is(&filter.name, self.text("name"))
            && is(&filter.namespace, self.text("namespace"))
            && filter.since.is_none_or(|since| self.at().is_some_and(|at| at >= since))
            && (filter.all || !self.is_detail())
    }
}

/// The result of reading the log.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct LogRead {
    /// The lines that pass, oldest first.
    pub lines: Vec<LogLine>,
    /// Why lines may be missing or forged: one sentence with a remedy for each file that does not belong to this account alone.
    pub doubts: Vec<String>,
    /// The servers of lines that are left out although their context has the name of the requested cluster's context.
    pub elsewhere: BTreeSet<String>,
}

/// The selected lines, from the file and the one before it. A missing file counts as empty.
///
/// # Errors
/// See [`LogError`].
pub fn read(path: &Path, filter: &LogFilter) -> Result<LogRead, LogError> {
    let mut read = LogRead::default();
    for file in [file::before(path), path.to_owned()] {
        read_one(&file, filter, &mut read).map_err(|source| LogError { path: file, source })?;
    }
    // Several processes write to the file, so the lines are not quite in order.
    read.lines.sort_by_key(LogLine::at);
    Ok(read)
}

fn read_one(path: &Path, filter: &LogFilter, read: &mut LogRead) -> io::Result<()> {
    let Some(file) = private::to_read(path)? else { return Ok(()) };
    if let Err(unfit) = private::check_owner(path, &file.metadata()?) {
        let doubt = if unfit.is_writable() { "incomplete or made up" } else { "incomplete, as it is not written" };
        read.doubts.push(format!("what is in the audit log {} may be {doubt}: {unfit}", path.display()));
    }
    for line in BufReader::new(file).split(b'\n') {
        let Ok(written) = String::from_utf8(line?) else { continue };
        let Some(line) = LogLine::parse(written) else { continue };
        if !line.passes(filter) {
            continue;
        }
        match filter.cluster.as_ref().filter(|cluster| !cluster.is_of(&line)) {
            None => read.lines.push(line),
            Some(cluster) if line.context() == Some(&cluster.context) => {
                let server = line.server().filter(|server| *server != cluster.server).map(str::to_owned);
                read.elsewhere.extend(server);
            }
            Some(_) => {}
        }
    }
    Ok(())
}
