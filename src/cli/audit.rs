//! `log`: the actions of this account, read from its audit log without a cluster. The module also prints warnings if the
//! audit log or Events cannot be written.
//!
//! ```text
//! 2026-11-21 14:30:05Z  ada@bastion-3  edge/agent  paused: no update starts: the link is down
//! 2026-11-21 14:31:12Z  ada@bastion-3  edge/agent  failed: undo: …
//! ```

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::args::{DaemonSetName, Global, LogArgs, LogTo, OutputFormat};
use super::error::{CliError, CliErrorKind, Exit};
use super::output::{Output, Streams};
use crate::audit::{self, AuditLog, LogFilter, LogLine, LogRead, LoggedCluster, Renumbered};
use crate::config::nearest;
use crate::driver::{Clock, Rollout, server_of_context};
use crate::engine::model::event::{Permission, Right};
use crate::engine::model::{Str, person_of};
use crate::engine::report::snapshot::Snapshot;
use crate::process::printable::Printable;

/// Processes that see the same write it at most this far apart.
const SAME_MILLIS: i64 = 5_000;

/// How long a driver may take to release its Lease. After that the process ends, and the Lease expires.
pub(crate) const CLOSE_WITHIN: Duration = Duration::from_secs(10);

/// Prints the log.
pub(crate) fn run(args: &LogArgs, global: &Global, output: &mut Output) -> Result<Exit, CliError> {
    let log = global.audit_log.clone().map_or_else(AuditLog::usual, |LogTo(log)| log);
    let Some(path) = log.path() else {
        return Err(CliError::failed("there is no audit log").hinted("`--audit-log FILE` names one"));
    };
    let filter = LogFilter {
        name: args.name.as_ref().map(|DaemonSetName(name)| name.clone()),
        namespace: global.namespace.clone(),
        cluster: global.context.as_ref().map(|context| LoggedCluster {
            uid: None,
            server: server_of_context(global.kubeconfig.as_deref(), context).unwrap_or_default(),
            context: context.clone(),
        }),
        since: args.since.map(|since| Clock::start().now() - since),
        all: args.all,
    };
    let LogRead { lines, doubts, elsewhere } =
        audit::read(path, &filter).map_err(|error| CliError::failed(error.to_string()))?;
    for doubt in doubts {
        output.streams().complain(&format!("Warning: {doubt}"));
    }
    if let Some(left_out) = filter.cluster.as_ref().and_then(|cluster| left_out(cluster, &elsewhere)) {
        output.streams().complain(&left_out);
    }
    let first = args.tail.map_or(0, |tail| lines.len().saturating_sub(tail));
    let lines = &lines[first..];
    let clusters = Clusters::of(lines);
    // The line that changed a number may precede the requested lines, or may be a step that is not printed.
    let every = LogFilter { since: None, all: true, ..filter.clone() };
    let every = match output.format() {
        OutputFormat::Text if !lines.is_empty() => {
            audit::read(path, &every).map_err(|error| CliError::failed(error.to_string()))?.lines
        }
        OutputFormat::Text | OutputFormat::Json | OutputFormat::Yaml => Vec::new(),
    };
    let renumbered = Renumbered::of(&every);
    let mut said: Vec<&LogLine> = Vec::new();
    for line in lines {
        match output.format() {
            OutputFormat::Text if said.iter().any(|before| says_the_same(before, line)) => {}
            OutputFormat::Json if output.is_whole() => output.write(Printable::json_again(line.written()))?,
            OutputFormat::Json | OutputFormat::Yaml => output.record(line.fields())?,
            OutputFormat::Text => {
                output.line(in_words(line, &clusters, &renumbered))?;
                said.retain(|before| is_near(before, line));
                said.push(line);
            }
        }
    }
    if lines.is_empty()
        && let Some(error) = never_named(path, &filter)?
    {
        return Err(error);
    }
    if lines.is_empty() && output.format() == OutputFormat::Text {
        output.line(nothing_in(path))?;
    }
    Ok(Exit::Done)
}

/// Whether processes that see the same may have written both lines about it, by their times.
fn is_near(before: &LogLine, line: &LogLine) -> bool {
    before.at().zip(line.at()).is_some_and(|(before, at)| (at.millis() - before.millis()).abs() <= SAME_MILLIS)
}

/// Whether two processes of one person report the same: each console writes what it sees the rollout do by itself. What a person did counts each time.
fn says_the_same(before: &LogLine, line: &LogLine) -> bool {
    let what = |line: &LogLine| {
        let text = |field: &str| line.text(field).map(str::to_owned);
        (text("namespace"), text("name"), text("event"), text("outcome"), text("message"))
    };
    let where_to = |line: &LogLine| (line.context().map(str::to_owned), line.server().map(str::to_owned));
    let by_itself = before.text("by").is_none() && line.text("by").is_none();
    by_itself
        && person_of(before.who()) == person_of(line.who())
        && is_near(before, line)
        && what(before) == what(line)
        && where_to(before) == where_to(line)
}

/// The message if no line of the log matches, or there is no log.
fn nothing_in(path: &Path) -> String {
    let no_log = if path.exists() { "" } else { ", which is not there: nothing was recorded in it" };
    format!("nothing like that is in {}{no_log}", path.display())
}

/// The error for a DaemonSet or a context that no line of the log names, whatever the other filters are. It suggests the name that was probably meant.
fn never_named(path: &Path, filter: &LogFilter) -> Result<Option<CliError>, CliError> {
    let all = LogFilter { all: true, ..LogFilter::default() };
    let LogRead { lines, .. } = audit::read(path, &all).map_err(|error| CliError::failed(error.to_string()))?;
    let Some(name) = &filter.name else {
        return Ok(filter.cluster.as_ref().and_then(|cluster| never_there(path, cluster, &lines)));
    };
    let named = |line: &&LogLine| line.text("name") == Some(name);
    let here = |line: &LogLine| filter.namespace.is_none() || line.text("namespace") == filter.namespace.as_deref();
    if lines.iter().filter(named).any(here) {
        return Ok(None);
    }
    let place = filter.namespace.as_ref().map(|namespace| format!(" in namespace `{namespace}`")).unwrap_or_default();
    let why = format!("nothing is recorded of a DaemonSet `{name}`{place} in {}", path.display());
    let error = CliError::new(CliErrorKind::NotFound, why);
    // In a namespace without lines, the name occurs in no line.
    let elsewhere = lines.iter().find(named).and_then(|line| line.text("namespace"));
    let names: BTreeSet<&str> = lines.iter().filter(|line| here(line)).filter_map(|line| line.text("name")).collect();
    Ok(Some(match (elsewhere, nearest(name, names)) {
        (Some(namespace), _) => error.hinted(format!("there are lines of one in namespace `{namespace}`")),
        (None, Some(near)) => error.hinted(format!("did you mean `ds/{near}`?")),
        (None, None) => error.hinted("the log has what was done from this account on this machine"),
    }))
}

/// The error for a context of which the log has no line, though it has lines of others.
fn never_there(path: &Path, cluster: &LoggedCluster, lines: &[LogLine]) -> Option<CliError> {
    let LoggedCluster { context, server, .. } = cluster;
    let is_there = |line: &LogLine| line.context() == Some(context) || line.server() == Some(server);
    if lines.is_empty() || lines.iter().any(is_there) {
        return None;
    }
    let why = format!("nothing is recorded of context `{context}` in {}", path.display());
    let error = CliError::new(CliErrorKind::NotFound, why);
    let contexts: BTreeSet<&str> = lines.iter().filter_map(LogLine::context).collect();
    Some(match nearest(context, contexts.iter().copied()) {
        Some(near) => error.hinted(format!("did you mean `--context {near}`?")),
        None => error.hinted(format!("it has lines of: {}", contexts.into_iter().collect::<Vec<_>>().join(", "))),
    })
}

/// A note that lines are left out, because their context has the name of `cluster`'s context but their server is another one.
fn left_out(LoggedCluster { context, server, .. }: &LoggedCluster, elsewhere: &BTreeSet<String>) -> Option<String> {
    let servers = elsewhere.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    (!servers.is_empty()).then(|| {
        format!(
            "Note: context `{context}` leads to {server}. Lines that name this context and another server are left out ({servers}); \
             without `--context` they are printed."
        )
    })
}

/// The clusters of the lines, by context and server.
struct Clusters<'a>(BTreeSet<(&'a str, &'a str)>);

impl<'a> Clusters<'a> {
    fn of(lines: &'a [LogLine]) -> Self {
        Self(lines.iter().map(|line| (line.context().unwrap_or("?"), line.server().unwrap_or_default())).collect())
    }

    /// The cluster of a line if the lines belong to several clusters: its context, with its server if contexts of several
    /// servers share the name.
    fn name(&self, line: &LogLine) -> Option<String> {
        // A renamed context leads to the same cluster.
        let clusters: BTreeSet<&str> =
            self.0.iter().map(|(context, server)| if server.is_empty() { *context } else { *server }).collect();
        if clusters.len() < 2 {
            return None;
        }
        let (context, server) = (line.context().unwrap_or("?"), line.server().unwrap_or_default());
        let alike = self.0.iter().filter(|(name, _)| *name == context).count();
        Some(if alike > 1 && !server.is_empty() { format!("{context} ({server})") } else { context.to_owned() })
    }
}

fn in_words(line: &LogLine, clusters: &Clusters<'_>, renumbered: &Renumbered<'_>) -> String {
    let time = line.at().map(|at| at.to_rfc3339().replace('T', " ")).unwrap_or_default();
    let text = |field| line.text(field).unwrap_or("?");
    // An entry without a person is shown under the process whose rollout did it.
    let by = if line.text("by").is_some() { line.who().to_owned() } else { format!("({})", person_of(line.who())) };
    let cluster = clusters.name(line).map(|name| format!("{name}  ")).unwrap_or_default();
    format!("{time}  {by}  {cluster}{}/{}  {}", text("namespace"), text("name"), renumbered.message(line))
}

/// The parts of the audit log or of the Events that are not written, in words.
pub(crate) fn unwritten(snapshot: &Snapshot) -> Vec<Str> {
    let mut unwritten = snapshot.unaudited.clone();
    let denied = snapshot.rights.contains(&(Right::CreateEvent, Permission::Denied));
    if denied && !unwritten.iter().any(|said| said.starts_with(NO_EVENTS)) {
        unwritten.push(format!("{NO_EVENTS}: not permitted: {}", Right::CreateEvent).into());
    }
    unwritten
}

/// The beginning of the recorder's complaint when no Events can be written.
const NO_EVENTS: &str = "no Events on the DaemonSet";

/// Reports on standard error, once each, the parts of the audit log or of the Events that are not written.
#[derive(Debug, Default)]
pub(crate) struct Warnings(BTreeSet<Str>);

impl Warnings {
    /// Closes the rollout, and reports the parts of its log that could not be written. A Lease that could not be released in time expires.
    pub(crate) async fn close(&mut self, rollout: Rollout, streams: &Streams) {
        let last = rollout.snapshots.clone();
        let _ = tokio::time::timeout(CLOSE_WITHIN, rollout.close()).await;
        let last: Arc<Snapshot> = last.borrow().clone();
        self.say(&last, streams);
    }

    /// Reports the parts that could not be written so far.
    pub(crate) fn say(&mut self, snapshot: &Snapshot, streams: &Streams) {
        for complaint in &snapshot.unaudited {
            if self.0.insert(complaint.clone()) {
                streams.complain(&format!("Warning: {complaint}"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::output::Charset;
    use super::super::output::tests::Kept;
    use super::*;

    const LOG: &str = concat!(
        r#"{"time":"2026-11-21T14:30:05.123Z","identity":"ada@b/1","cluster":{"context":"prod"},"namespace":"edge","name":"agent","#,
        r#""by":"ada@b","event":"pause","outcome":"asked","detail":true,"message":"asked: pause"}"#,
        "\n",
        r#"{"time":"2026-11-21T14:30:05.223Z","identity":"ada@b/1","cluster":{"context":"prod"},"namespace":"edge","name":"agent","#,
        r#""by":"ada@b","event":"pause","outcome":"done","message":"paused: no update starts"}"#,
        "\n{\"time\":\"2026-1\n",
        r#"{"time":"2026-11-21T14:31:00.000Z","identity":"eve@b/2","cluster":{"context":"prod"},"namespace":"edge","name":"agent","#,
        r#""event":"halted","outcome":"done","message":"halted: n1"}"#,
        "\n",
        r#"{"time":"2026-11-21T14:31:00.000Z","identity":"eve@b/2","cluster":{"context":"prod"},"namespace":"edge","name":"other","#,
        r#""event":"complete","outcome":"done","message":"complete"}"#,
        "\n",
    );

    fn printed(args: &LogArgs, global: Global, format: OutputFormat) -> String {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("audit.jsonl");
        std::fs::write(&path, LOG).unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        let global = Global { audit_log: Some(LogTo(AuditLog::File(path))), ..global };
        let kept = Kept::default();
        run(args, &global, &mut kept.output(format, Charset::Unicode)).unwrap();
        kept.text()
    }

    #[test]
    fn the_log_of_one_daemonset_reads_like_a_story() {
        let name = Some("ds/agent".parse().unwrap());
        let args = LogArgs { name, ..LogArgs::default() };
        insta::assert_snapshot!(printed(&args, Global::default(), OutputFormat::Text), @r"
        2026-11-21 14:30:05Z  ada@b  edge/agent  paused: no update starts
        2026-11-21 14:31:00Z  (eve@b)  edge/agent  halted: n1
        ");
    }

    #[test]
    fn what_two_consoles_of_one_person_see_is_a_line_once() {
        let line = |secs: u32, process: u32, more: &str, message: &str| {
            format!(
                r#"{{"time":"2026-11-21T14:30:{secs:02}Z","identity":"ada@b/{process}","cluster":{{"context":"prod"}},"namespace":"edge","name":"agent"{more},"message":"{message}"}}"#
            )
        };
        let silent = "nobody drives any more: ben@b/7";
        let by = r#","by":"ada@b""#;
        let lines = [
            line(5, 1, "", silent),
            line(6, 2, "", silent),
            line(30, 1, "", silent),
            line(31, 1, by, "resumed"),
            line(32, 2, by, "resumed"),
        ];
        let said = said_of(&lines.join("\n"), &LogArgs::default(), Global::default()).unwrap();
        insta::assert_snapshot!(said, @r"
        2026-11-21 14:30:05Z  (ada@b)  edge/agent  nobody drives any more: ben@b/7
        2026-11-21 14:30:30Z  (ada@b)  edge/agent  nobody drives any more: ben@b/7
        2026-11-21 14:30:31Z  ada@b  edge/agent  resumed
        2026-11-21 14:30:32Z  ada@b  edge/agent  resumed
        ");
    }

    /// The output of the command for a log, or its error with the exit code.
    fn said_of(line: &str, args: &LogArgs, global: Global) -> Result<String, (u8, String)> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("audit.jsonl");
        std::fs::write(&path, line).unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        let global = Global { audit_log: Some(LogTo(AuditLog::File(path.clone()))), ..global };
        let kept = Kept::default();
        let end = run(args, &global, &mut kept.output(OutputFormat::Text, Charset::Unicode));
        let error = |error: CliError| (error.code(), error.to_string().replace(&*path.to_string_lossy(), "FILE"));
        end.map(|_| kept.text()).map_err(error)
    }

    #[test]
    fn of_a_name_that_is_in_no_line_it_is_said_with_the_name_that_was_meant() {
        let of = |name: &str| LogArgs { name: Some(name.parse().unwrap()), ..LogArgs::default() };
        let (code, said) = said_of(LOG, &of("ds/agnet"), Global::default()).unwrap_err();
        assert_eq!(code, 5);
        insta::assert_snapshot!(said, @r"
        Error: nothing is recorded of a DaemonSet `agnet` in FILE
        Hint: did you mean `ds/agent`?
        ");
        let elsewhere = Global { namespace: Some("press".into()), ..Global::default() };
        let (code, said) = said_of(LOG, &of("ds/agent"), elsewhere).unwrap_err();
        assert_eq!(code, 5);
        insta::assert_snapshot!(said, @r"
        Error: nothing is recorded of a DaemonSet `agent` in namespace `press` in FILE
        Hint: there are lines of one in namespace `edge`
        ");
        // Nothing of late is no error.
        let lately = LogArgs { since: Some(Duration::from_secs(1)), ..of("ds/agent") };
        assert!(said_of(LOG, &lately, Global::default()).unwrap().starts_with("nothing like that"));
        let said = nothing_in(Path::new("/nowhere/audit.jsonl"));
        assert_eq!(
            said,
            "nothing like that is in /nowhere/audit.jsonl, which is not there: nothing was recorded in it"
        );
    }

    #[test]
    fn what_is_asked_for_is_what_is_printed() {
        let count = |args: LogArgs, global: Global| printed(&args, global, OutputFormat::Json).lines().count();
        let global = Global::default;
        assert_eq!(count(LogArgs::default(), global()), 3);
        assert_eq!(count(LogArgs { all: true, ..LogArgs::default() }, global()), 4);
        assert_eq!(count(LogArgs { tail: Some(1), ..LogArgs::default() }, global()), 1);
        assert_eq!(count(LogArgs { since: Some(Duration::from_secs(1)), ..LogArgs::default() }, global()), 0);
        let elsewhere = Global { context: Some("test".into()), ..global() };
        let (code, said) = said_of(LOG, &LogArgs::default(), elsewhere).unwrap_err();
        assert_eq!(code, 5);
        insta::assert_snapshot!(said, @r"
        Error: nothing is recorded of context `test` in FILE
        Hint: it has lines of: prod
        ");
    }

    /// A log of two clusters, in whose kubeconfigs the context is called the same, and a kubeconfig that leads to the first of them.
    fn printed_of_two(context: Option<&str>, format: OutputFormat) -> String {
        let dir = tempfile::tempdir().unwrap();
        let (path, kubeconfig) = (dir.path().join("audit.jsonl"), dir.path().join("config"));
        let line = |server: &str, context: &str, message: &str| {
            format!(
                r#"{{"time":"2026-11-21T14:30:05Z","identity":"ada@b/1","cluster":{{"context":"{context}","server":"{server}"}},"namespace":"edge","name":"agent","by":"ada@b","message":"{message}"}}"#
            )
        };
        let lines = [
            line("a:6443", "admin@k", "paused"),
            line("b:6443", "admin@k", "resumed"),
            line("a:6443", "before", "adopted"),
        ];
        std::fs::write(&path, lines.join("\n")).unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        let config = "apiVersion: v1\nkind: Config\ncontexts: [{name: admin@k, context: {cluster: k, user: u}}]\n\
                      clusters: [{name: k, cluster: {server: 'https://joe:hunter2@a:6443/'}}]\nusers: [{name: u, user: {}}]\n";
        std::fs::write(&kubeconfig, config).unwrap();
        let global = Global {
            audit_log: Some(LogTo(AuditLog::File(path))),
            kubeconfig: Some(kubeconfig),
            context: context.map(str::to_owned),
            ..Global::default()
        };
        let kept = Kept::default();
        run(&LogArgs::default(), &global, &mut kept.output(format, Charset::Unicode)).unwrap();
        kept.text()
    }

    #[test]
    fn where_lines_are_of_several_clusters_each_names_its_own() {
        insta::assert_snapshot!(printed_of_two(None, OutputFormat::Text), @r"
        2026-11-21 14:30:05Z  ada@b  admin@k (a:6443)  edge/agent  paused
        2026-11-21 14:30:05Z  ada@b  admin@k (b:6443)  edge/agent  resumed
        2026-11-21 14:30:05Z  ada@b  before  edge/agent  adopted
        ");
        let json = printed_of_two(None, OutputFormat::Json);
        assert_eq!(json.lines().count(), 3, "{json}");
        assert!(json.lines().all(|line| line.contains(r#""server":""#)), "{json}");
    }

    #[test]
    fn a_context_is_the_cluster_that_it_leads_to() {
        insta::assert_snapshot!(printed_of_two(Some("admin@k"), OutputFormat::Text), @r"
        2026-11-21 14:30:05Z  ada@b  edge/agent  paused
        2026-11-21 14:30:05Z  ada@b  edge/agent  adopted
        ");
        // The kubeconfig has no such context any more: what was written under its name is left.
        insta::assert_snapshot!(printed_of_two(Some("before"), OutputFormat::Text), @"2026-11-21 14:30:05Z  ada@b  edge/agent  adopted");
        let here = LoggedCluster { uid: None, server: "a:6443".to_owned(), context: "admin@k".to_owned() };
        insta::assert_snapshot!(left_out(&here, &["b:6443".to_owned()].into()).unwrap(), @"Note: context `admin@k` leads to a:6443. Lines that name this context and another server are left out (b:6443); without `--context` they are printed.");
        assert_eq!(left_out(&here, &BTreeSet::new()), None);
    }

    /// Also where the change that gave it the new number is not among the lines that are printed. JSON has each line as it was written.
    #[test]
    fn a_revision_that_a_roll_back_has_given_another_number_is_called_by_both() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("audit.jsonl");
        let line = |minute: u32, event: &str, args: &str, detail: bool, message: &str| {
            format!(
                r#"{{"time":"2026-11-21T14:{minute}:05Z","identity":"ada@b/1","cluster":{{"context":"k"}},"namespace":"edge","name":"agent","by":"ada@b","event":"{event}","args":{args},"revision":"b","outcome":"done","detail":{detail},"message":"{message}"}}"#
            )
        };
        let lines = [
            line(10, "released", r#"{"strategy":"original"}"#, true, "template changed: revision 2 → 3"),
            line(11, "templateChanged", r#"{"from":3,"to":2}"#, true, "template changed: revision 3 → that of 2"),
            line(
                12,
                "undo",
                r#"{"to":2}"#,
                false,
                "roll back: template is that of revision 2; nodes that still run it count",
            ),
            line(13, "complete", r#"{"nodes":4,"back":true,"revision":4}"#, false, "rolled back"),
        ];
        std::fs::write(&path, lines.join("\n")).unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        let global = Global { audit_log: Some(LogTo(AuditLog::File(path))), ..Global::default() };
        let printed = |format| {
            let kept = Kept::default();
            let last = LogArgs { tail: Some(2), ..LogArgs::default() };
            run(&last, &global, &mut kept.output(format, Charset::Unicode)).unwrap();
            kept.text()
        };
        insta::assert_snapshot!(printed(OutputFormat::Text), @r"
        2026-11-21 14:12:05Z  ada@b  edge/agent  roll back: template is that of revision 2 (now 4); nodes that still run it count
        2026-11-21 14:13:05Z  ada@b  edge/agent  rolled back
        ");
        assert!(printed(OutputFormat::Json).contains("that of revision 2;"));
    }

    #[test]
    fn as_yaml_it_is_a_document_for_each_line() {
        let yaml = printed(&LogArgs::default(), Global::default(), OutputFormat::Yaml);
        let documents: Vec<serde_json::Value> =
            yaml.split("---\n").map(|document| serde_saphyr::from_str(document).unwrap()).collect();
        let json = printed(&LogArgs::default(), Global::default(), OutputFormat::Json);
        let lines: Vec<serde_json::Value> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(documents, lines);
    }

    #[test]
    fn without_a_log_that_is_said() {
        let global = Global { audit_log: Some("none".parse().unwrap()), ..Global::default() };
        let kept = Kept::default();
        let error = run(&LogArgs::default(), &global, &mut kept.output(OutputFormat::Text, Charset::Unicode));
        assert!(error.unwrap_err().to_string().contains("--audit-log FILE"));
    }
}
