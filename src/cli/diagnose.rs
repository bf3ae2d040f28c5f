//! `diagnose`: the causes of problems, each with its evidence and its remedies.
//!
//! ```text
//! edge/agent on prod-eu: 116 of 120 nodes updated and well
//!
//! ✗ image not found: edge/agent:v9, 2 nodes for 3m: ipc-017 ipc-018
//!     manifest for edge/agent:v9 not found: manifest unknown
//!     → correct the name or the tag, or push the image
//! · budget: 2 of 2 taken, 22 nodes: ipc-020 ipc-021 ipc-022 … (19 more)
//! ```

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;

use super::args::{DiagnoseArgs, OutputFormat};
use super::error::{CliError, Exit};
use super::json;
use super::load;
use super::output::Output;
use super::status::standing;
use super::suggested_commands::{CommandPlace, command_of, suggested_commands};
use crate::driver::Session;
use crate::engine::model::Str;
use crate::engine::model::inspection::{Inspection, Reading};
use crate::engine::model::occupancy::NodeOccupancy;
use crate::engine::model::time::ShortDuration;
use crate::engine::report::advice::Advice;
use crate::engine::report::diagnosis::{Diagnosis, Finding, FindingSign, OfferedCommand};
use crate::engine::report::guidance::Guidance;
use crate::engine::report::snapshot::Snapshot;

/// How long to wait for the resources that other pods hold.
const READ_WITHIN: Duration = Duration::from_secs(20);
/// How many nodes of a finding are named.
const NAMED: usize = 10;

/// Prints the diagnosis of one rollout.
pub(crate) async fn run(
    session: &dyn Session,
    namespace: &str,
    args: &DiagnoseArgs,
    output: &mut Output,
) -> Result<Exit, CliError> {
    let (rollout, snapshot) = load::one_look(session, namespace, &args.name.0, args.timeout).await?;
    let snapshot = load::with_all_watches(&rollout, snapshot).await;
    let mut diagnosis = Diagnosis::of(&snapshot);
    let lacking: Vec<(Str, Str)> =
        diagnosis.lacking(&snapshot).map(|(node, pod)| (node.clone(), pod.clone())).collect();
    let read = lacking.iter().map(|(node, pod)| occupancy(session, namespace, node, pod));
    for ((node, _), occupancy) in lacking.iter().zip(join_all(read).await) {
        diagnosis.add_occupancy(node, &occupancy);
    }
    let place = CommandPlace::of(session);
    match output.format() {
        OutputFormat::Json | OutputFormat::Yaml => {
            output.value(&json::DiagnosisJson::new(&place, &snapshot, &diagnosis))?;
        }
        OutputFormat::Text => {
            lines(&place, &snapshot, &diagnosis).iter().try_for_each(|line| output.line(line))?;
        }
    }
    Ok(standing(&snapshot))
}

/// The resources held by other pods, of those that this pod lacks on its node.
async fn occupancy(session: &dyn Session, namespace: &str, node: &str, pod: &str) -> Reading<NodeOccupancy> {
    let mut read = session.inspect(namespace, node, Some(pod));
    let is_read = |inspection: &Arc<Inspection>| inspection.occupancy != Reading::Pending;
    match tokio::time::timeout(READ_WITHIN, read.wait_for(is_read)).await {
        Ok(Ok(inspection)) => inspection.occupancy.clone(),
        Ok(Err(_)) | Err(_) => Reading::Failed(format!("no answer within {} s", READ_WITHIN.as_secs()).into()),
    }
}

fn lines(place: &CommandPlace, snapshot: &Snapshot, diagnosis: &Diagnosis) -> Vec<String> {
    let context = &place.context;
    let Snapshot { namespace, name, .. } = snapshot;
    let findings = &diagnosis.findings;
    let mut lines = vec![format!("{namespace}/{name} on {context}: {}", diagnosis.how_many(snapshot))];
    let mut waits_for = None;
    match snapshot.guidance() {
        Some(Guidance { waits, .. }) => match findings.iter().position(|finding| finding.title == waits) {
            // The remedies are printed with the finding itself.
            Some(finding) => waits_for = Some(finding),
            None => lines.push(waits),
        },
        None if findings.is_empty() => lines.push("nothing is wrong, and nothing waits".to_owned()),
        None => {}
    }
    let suggested: Vec<String> =
        suggested_commands(place, snapshot).iter().map(|way| format!("    → {}", way.line())).collect();
    lines.extend(suggested.iter().filter(|_| waits_for.is_none()).cloned());
    for (nth, finding) in findings.iter().enumerate() {
        lines.push(String::new());
        lines.push(head(finding, snapshot));
        lines.extend(suggested.iter().filter(|_| waits_for == Some(nth)).cloned());
        lines.extend(finding.evidence.iter().map(|evidence| format!("    {evidence}")));
        lines.extend(finding.held.iter().map(|held| format!("    {held}")));
        lines.extend(finding.remedies.iter().map(|remedy| format!("    → {}", with_command(remedy, place, snapshot))));
        let command = |OfferedCommand { text, command }: &OfferedCommand| {
            Some(format!("    → {text}: {}", command.line(&place.flags()?)?))
        };
        lines.extend(finding.commands.iter().filter_map(command));
    }
    lines
}

/// A remedy, with its command if that is known.
fn with_command(remedy: &Advice, place: &CommandPlace, snapshot: &Snapshot) -> String {
    match remedy.acts().find_map(|act| command_of(act, place, snapshot)) {
        Some(command) => format!("{remedy}: {command}"),
        None => remedy.to_string(),
    }
}

fn head(finding: &Finding, snapshot: &Snapshot) -> String {
    let sign = match finding.sign() {
        FindingSign::Wrong => "✗",
        FindingSign::TriesAgain => "↻",
        FindingSign::Waits => "·",
    };
    let mut text = format!("{sign} {}", finding.title);
    let count = finding.nodes.len();
    if count == 0 {
        return text;
    }
    text.push_str(&format!(", {count} node{}", if count == 1 { "" } else { "s" }));
    if let Some(age) = finding.age(snapshot.at) {
        text.push_str(&format!(" for {}", ShortDuration(age)));
    }
    let named: Vec<&str> = finding.nodes.iter().take(NAMED).map(|name| &**name).collect();
    text.push_str(&format!(": {}", named.join(" ")));
    if count > NAMED {
        text.push_str(&format!(" … ({} more)", count - NAMED));
    }
    text
}
