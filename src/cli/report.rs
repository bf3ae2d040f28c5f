//! `report`: a rollout as a text and as one page, for handing it over.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::args::{Global, LogTo, OutputFormat, ReportArgs};
use super::error::{CliError, Exit};
use super::load;
use super::output::Output;
use super::suggested_commands::{CommandPlace, suggested_commands};
use crate::audit::{self, AuditLog, LogFilter, LogLine, LogRead, LoggedCluster};
use crate::driver::{Session, private_file};
use crate::engine::model::Str;
use crate::engine::model::time::Timestamp;
use crate::engine::report::snapshot::Snapshot;
use crate::engine::report::story::Story;
use crate::handover::{Handover, NextStep, StoryLine, file_stem};
use crate::process::printable::Printable;

/// How long before the beginning of a rollout its preparations are included.
const BEFORE: Duration = Duration::from_secs(600);

/// Writes the report of one rollout.
pub(crate) async fn run(
    session: &dyn Session,
    (global, namespace): (&Global, &str),
    args: &ReportArgs,
    output: &mut Output,
) -> Result<Exit, CliError> {
    let (rollout, snapshot) = load::one_look(session, namespace, &args.name.0, args.timeout).await?;
    let snapshot = load::with_all_watches(&rollout, snapshot).await;
    let read = audit_log(global, session, &snapshot)?;
    for doubt in &read.doubts {
        output.streams().complain(&format!("Warning: {doubt}"));
    }
    let taken = deletions(&read.lines);
    let story = Story::reconstructed(&snapshot, |node| taken.get(node).copied());
    let told = read.lines.iter().filter_map(story_line).collect();
    let handover = Handover::new(session.context(), snapshot.clone(), &story, Some(told));
    let next = suggested_commands(&CommandPlace::of(session), &snapshot);
    let next = next.into_iter().map(|way| Ok(NextStep { line: way.line(), json: serde_json::to_value(&way)? }));
    let next: Result<Vec<NextStep>, serde_json::Error> = next.collect();
    let handover = handover.with_next(next.map_err(|error| CliError::failed(error.to_string()))?);
    match output.format() {
        OutputFormat::Json | OutputFormat::Yaml => output.value(&handover.json())?,
        OutputFormat::Text if args.html.as_deref() == Some(Path::new("-")) => {
            output.write(Printable::lines(&handover.html()))?;
        }
        OutputFormat::Text => {
            let page = args.html.clone().unwrap_or_else(|| PathBuf::from(format!("{}.html", file_stem(&snapshot))));
            write_page(&page, &handover.html())?;
            handover.text().lines().try_for_each(|line| output.line(line))?;
            output.streams().complain(&format!("The page is in {}", page.display()));
        }
    }
    Ok(Exit::Done)
}

fn write_page(page: &Path, html: &str) -> Result<(), CliError> {
    private_file::replace(page, html).map_err(|error| {
        CliError::failed(format!("cannot write the page to {}: {error}", page.display()))
            .hinted("`--html FILE` writes it elsewhere, `--html -` prints it")
    })
}

/// The lines of this account's audit log about the rollout; empty if there is no log. Lines about another DaemonSet of the
/// same name, on another cluster whose context has the same name, are left out.
fn audit_log(global: &Global, session: &dyn Session, snapshot: &Snapshot) -> Result<LogRead, CliError> {
    let log = global.audit_log.clone().map_or_else(AuditLog::usual, |LogTo(log)| log);
    let Some(path) = log.path() else { return Ok(LogRead::default()) };
    let made = snapshot.to.as_ref().and_then(|to| to.created_at);
    // Of a record that was begun anew, what came before it is of the same rollout.
    let began = match (snapshot.started_at, made) {
        (Some(began), Some(made)) if snapshot.begun_anew.is_some() => Some(began.min(made)),
        (began, made) => began.or(made),
    };
    let filter = LogFilter {
        name: Some(snapshot.name.to_string()),
        namespace: Some(snapshot.namespace.to_string()),
        cluster: Some(LoggedCluster {
            uid: snapshot.uid.clone(),
            server: session.server().to_owned(),
            context: session.context().to_owned(),
        }),
        since: began.map(|began| began - BEFORE),
        all: true,
    };
    audit::read(path, &filter).map_err(|error| CliError::failed(error.to_string()))
}

/// The time of the last deletion of each node's old pod.
fn deletions(lines: &[LogLine]) -> HashMap<String, Timestamp> {
    let deletion = |line: &LogLine| {
        let deleted = line.text("event") == Some("deletePod") && line.text("outcome") == Some("done");
        let node = line.fields()["args"]["node"].as_str().filter(|_| deleted)?;
        Some((node.to_owned(), line.at()?))
    };
    lines.iter().filter_map(deletion).collect()
}

/// The events that people decide by; single writes are in the story of the nodes.
fn story_line(line: &LogLine) -> Option<StoryLine> {
    if line.is_detail() {
        return None;
    }
    Some(StoryLine {
        at: line.at()?,
        who: line.text("by").map(Str::from),
        node: None,
        text: line.text("message").unwrap_or_default().to_owned(),
        severity: line.severity(),
        facts: line.facts(),
    })
}
