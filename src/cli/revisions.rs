//! `history` and `diff`: the list of revisions, the whole template of one, and the differences between two.
//!
//! ```text
//! edge/agent on prod-eu: from revision 14 (82 pods) to revision 15 (38 pods, current)
//!   containers[agent].image: agent:v1.8.2 → agent:v1.9.0
//!   containers[agent].env[LOG_LEVEL]: info → debug
//!
//! --- revision 14  hash14  2026-11-15T14:00:00Z
//! +++ revision 15  hash15  2026-11-18T14:00:00Z  ticket 4711
//! @@ -6,7 +6,7 @@
//!      - env:
//! ```

use std::collections::HashMap;
use std::sync::Arc;

use super::args::{DiffArgs, HistoryArgs, OutputFormat};
use super::error::{CliError, CliErrorKind, Exit};
use super::json;
use super::load;
use super::output::Output;
use super::status::{add_columns, age};
use super::suggested_commands::{CommandPlace, CommandTarget};
use crate::driver::{Rollout, Session};
use crate::engine::model::Str;
use crate::engine::model::images_on_nodes::ImagesOnNodes;
use crate::engine::model::template::Template;
use crate::engine::model::template::diff::changes;
use crate::engine::report::snapshot::{RevisionView, Snapshot};
use crate::process::printable::{LineColour, Printable};
use crate::template_text::{DiffSign, TextDiff, template_diff, template_yaml};

/// Lists the revisions of one DaemonSet, or prints the template of one.
pub(crate) async fn history(
    session: &dyn Session,
    namespace: &str,
    args: &HistoryArgs,
    output: &mut Output,
) -> Result<Exit, CliError> {
    let (rollout, snapshot) = load::one_look(session, namespace, &args.name.0, args.timeout).await?;
    // Events report earlier numbers of revisions; Events and pre-warming pods also report images.
    let snapshot = load::with_all_watches(&rollout, snapshot).await;
    match &args.revision {
        Some(called) => whole(&CommandPlace::of(session), &snapshot, called, output)?,
        None => list(&rollout, snapshot, output).await?,
    }
    Ok(Exit::Done)
}

async fn list(rollout: &Rollout, snapshot: Arc<Snapshot>, output: &mut Output) -> Result<(), CliError> {
    let on_nodes: HashMap<Str, ImagesOnNodes> = rollout.images_on_nodes().await?.into_iter().collect();
    match output.format() {
        OutputFormat::Json | OutputFormat::Yaml => {
            output.value(&json::RevisionHistoryJson::new(&snapshot, &on_nodes))?;
        }
        OutputFormat::Text => {
            let mut table = history_table(&snapshot, &on_nodes);
            if output.is_wide() {
                add_columns(&mut table, wide_history(&snapshot));
            }
            output.table(&table)?;
        }
    }
    Ok(())
}

fn history_table(snapshot: &Snapshot, on_nodes: &HashMap<Str, ImagesOnNodes>) -> Vec<Vec<String>> {
    // Most users never set a change-cause.
    let has_causes = snapshot.revisions.iter().any(|revision| revision.change_cause.is_some());
    let causes = has_causes.then_some("CHANGE-CAUSE");
    let head = ["REVISION", "PODS", "AGE", "IMAGES", "ON NODES"].into_iter().chain(causes);
    let mut rows = vec![head.map(str::to_owned).collect::<Vec<_>>()];
    rows.extend(
        snapshot.revisions.iter().map(|revision| {
            let RevisionView {
                hash,
                number,
                images,
                template: _,
                seen_numbers: _,
                created_at,
                change_cause,
                pods,
                halted,
            } = revision;
            let role = snapshot.role_of(revision).map(str::to_owned);
            let halted = halted.as_ref().map(|halt| format!("halted {} ago", age(Some(halt.at), snapshot.at)));
            let undo = (snapshot.roll_back.as_ref() == Ok(hash)).then(|| "undo leads here".to_owned());
            let renumbered = snapshot.renumbered_in_words(revision);
            let known: Vec<String> = role.into_iter().chain(renumbered).chain(halted).chain(undo).collect();
            let known = if known.is_empty() { String::new() } else { format!(" ({})", known.join(", ")) };
            let cells = [
                number.map_or_else(|| format!("? {hash}"), |number| format!("{number}{known}")),
                pods.to_string(),
                age(*created_at, snapshot.at),
                images_in_words(images),
                on_nodes.get(hash).map_or_else(|| "?".to_owned(), ImagesOnNodes::short),
            ];
            let cause = has_causes.then(|| change_cause.as_deref().unwrap_or("").to_owned());
            cells.into_iter().chain(cause).collect()
        }),
    );
    rows
}

/// The additional columns of `-o wide` in the table of revisions.
fn wide_history(snapshot: &Snapshot) -> impl Iterator<Item = Vec<String>> {
    let cells = snapshot.revisions.iter().map(|revision| {
        let created = revision.created_at.map_or_else(|| "?".to_owned(), |at| at.to_rfc3339());
        vec![revision.hash.to_string(), created]
    });
    std::iter::once(["HASH", "CREATED"].map(str::to_owned).to_vec()).chain(cells)
}

fn images_in_words(images: &[(Str, Str)]) -> String {
    images.iter().map(|(container, image)| format!("{container}={image}")).collect::<Vec<_>>().join(" ")
}

/// Prints a revision with its template. Its other fields are YAML comments, so that the whole output is YAML.
fn whole(place: &CommandPlace, snapshot: &Snapshot, called: &str, output: &mut Output) -> Result<(), CliError> {
    let target = CommandTarget::new(place, snapshot);
    let revision = snapshot.revision_called(called).map_err(|why| no_such(target, why))?;
    say_which(snapshot, [called], output);
    let template = template_of(target, revision)?;
    match output.format() {
        OutputFormat::Json | OutputFormat::Yaml => {
            output.value(&json::WholeRevisionJson::new(snapshot, revision, template.json()))?;
        }
        OutputFormat::Text => {
            let Snapshot { namespace, name, .. } = snapshot;
            output.line(format!("# {namespace}/{name} {}", about(snapshot, revision)))?;
            output.line(format!("# {}", stored(revision).trim_start_matches(&revision.called()).trim_start()))?;
            output.write(Printable::lines(&template_yaml(template)))?;
        }
    }
    Ok(())
}

/// Prints the differences between two revisions.
pub(crate) async fn diff(
    session: &dyn Session,
    namespace: &str,
    args: &DiffArgs,
    output: &mut Output,
) -> Result<Exit, CliError> {
    let (rollout, snapshot) = load::one_look(session, namespace, &args.name.0, args.timeout).await?;
    // Events report earlier numbers of revisions.
    let snapshot = load::with_all_watches(&rollout, snapshot).await;
    let place = CommandPlace::of(session);
    if let (None, Some(only)) = (&args.from, snapshot.only_revision()) {
        return nothing_to_compare(session.context(), &snapshot, only, output);
    }
    let target = CommandTarget::new(&place, &snapshot);
    let (from, to) = match (&args.from, &args.to) {
        (None, _) => snapshot.compared_by_default(),
        (Some(from), None) => snapshot.revision_called(from).and_then(|from| Ok((from, snapshot.current_revision()?))),
        (Some(from), Some(to)) => {
            snapshot.revision_called(from).and_then(|from| Ok((from, snapshot.revision_called(to)?)))
        }
    }
    .map_err(|why| no_such(target, why))?;
    say_which(&snapshot, args.from.iter().chain(&args.to), output);
    let templates = (template_of(target, from)?, template_of(target, to)?);
    let changes = changes(templates.0, templates.1);
    match output.format() {
        OutputFormat::Json | OutputFormat::Yaml => {
            output.value(&json::RevisionDiffJson::new(&snapshot, (Some(from), to), &changes))?;
        }
        OutputFormat::Text => {
            let Snapshot { namespace, name, .. } = &*snapshot;
            let both = format!("from {} to {}", about(&snapshot, from), about(&snapshot, to));
            output.line(format!("{namespace}/{name} on {}: {both}", session.context()))?;
            for change in &changes {
                output.line(format!("  {change}"))?;
            }
            if changes.is_empty() {
                output.line("  the templates are the same")?;
            } else {
                output.line("")?;
                lines((from, to), templates, output)?;
            }
        }
    }
    Ok(if changes.is_empty() { Exit::Done } else { Exit::Different })
}

/// Reports that nothing differs, because there is only one revision. As in other programs that compare, this is no error.
fn nothing_to_compare(
    context: &str,
    snapshot: &Snapshot,
    only: &RevisionView,
    output: &mut Output,
) -> Result<Exit, CliError> {
    match output.format() {
        OutputFormat::Json | OutputFormat::Yaml => {
            output.value(&json::RevisionDiffJson::new(snapshot, (None, only), &[]))?;
        }
        OutputFormat::Text => {
            let Snapshot { namespace, name, .. } = snapshot;
            let only = about(snapshot, only);
            output
                .line(format!("{namespace}/{name} on {context}: {only} is the only one: nothing to compare it with"))?;
        }
    }
    Ok(Exit::Done)
}

/// The differing lines, as `diff -u` prints them.
fn lines(
    (from, to): (&RevisionView, &RevisionView),
    templates: (&Template, &Template),
    output: &mut Output,
) -> Result<(), CliError> {
    output.coloured(LineColour::Red, format!("--- {}", stored(from)))?;
    output.coloured(LineColour::Green, format!("+++ {}", stored(to)))?;
    let hunks = match template_diff(templates.0, templates.1) {
        TextDiff::Hunks(hunks) => hunks,
        TextDiff::TooLarge { from, to } => {
            output.line(format!("too large to compare line by line: {from} lines against {to}"))?;
            return Ok(());
        }
    };
    for hunk in hunks {
        output.coloured(LineColour::Cyan, hunk.to_string())?;
        for line in &hunk.lines {
            match line.sign {
                DiffSign::Same => output.line(format!(" {}", line.text))?,
                DiffSign::Removed => output.coloured(LineColour::Red, format!("-{}", line.text))?,
                DiffSign::Added => output.coloured(LineColour::Green, format!("+{}", line.text))?,
            }
        }
    }
    Ok(())
}

/// Prints beside the answer which revision was chosen, if the typed text is ambiguous.
fn say_which<T: AsRef<str>>(snapshot: &Snapshot, typed: impl IntoIterator<Item = T>, output: &Output) {
    let streams = output.streams();
    typed
        .into_iter()
        .filter_map(|text| snapshot.called_ambiguously(text.as_ref()))
        .for_each(|which| streams.complain(&which));
}

fn no_such(target: CommandTarget<'_>, why: String) -> CliError {
    CliError::new(CliErrorKind::NotFound, why).hinted(format!("{} lists the revisions", target.named("history")))
}

fn template_of<'a>(target: CommandTarget<'_>, revision: &'a RevisionView) -> Result<&'a Template, CliError> {
    let gone =
        || no_such(target, format!("{} is not in the history any more: its template is not known", revision.called()));
    revision.template.as_ref().ok_or_else(gone)
}

/// A revision and the number of its pods: `revision 14 (82 pods)`.
fn about(snapshot: &Snapshot, revision: &RevisionView) -> String {
    let pods = if revision.pods == 1 { "1 pod".to_owned() } else { format!("{} pods", revision.pods) };
    let role = snapshot.role_of(revision).map(|role| format!(", {role}")).unwrap_or_default();
    let renumbered = snapshot.renumbered_in_words(revision).map(|words| format!(", {words}")).unwrap_or_default();
    format!("{} ({pods}{role}{renumbered})", revision.called())
}

/// A revision and its stored data: hash, time, cause.
fn stored(revision: &RevisionView) -> String {
    let mut words = format!("{}  {}", revision.called(), revision.hash);
    if let Some(at) = revision.created_at {
        words.push_str(&format!("  {}", at.to_rfc3339()));
    }
    if let Some(cause) = &revision.change_cause {
        words.push_str(&format!("  {cause}"));
    }
    words
}
