//! The problems, cause by cause, over the list.
//!
//! ```text
//! ┌ What is wrong  (esc closes, other keys work) ───────────────────────────────┐
//! │ 116 of 120 nodes updated and well                                   │
//! │                                                                             │
//! │ ✗ image not found: edge/agent:v9, 2 nodes for 3m                            │
//! │   ipc-017 ipc-018                                                           │
//! │   manifest for edge/agent:v9 not found: manifest unknown                    │
//! │   → correct the name or the tag, or push the image                          │
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;

use super::header::{as_of, blocker, keys_in_words};
use super::overlay_frame::OverlayFrame;
use super::why::as_of_now;
use super::{RenderContext, put_lines};
use crate::engine::model::container_log::LogRun;
use crate::engine::model::facts::Severity;
use crate::engine::model::kubectl_command::{KubectlCommand, PodReading};
use crate::engine::report::advice::{Advice, RemedyAct};
use crate::engine::report::diagnosis::{Diagnosis, Finding, FindingKind, FindingSign, OfferedCommand};
use crate::engine::report::snapshot::{Phase, Snapshot};
use crate::tui::action::{ActionId, ActionScope, key_of};
use crate::tui::copy::NO_KUBECTL;
use crate::tui::model::ShownSnapshot;
use crate::tui::node_page::NodeReading;
use crate::tui::theme::{Glyph, ThemeRole};
use crate::tui::words::wrap;

/// The most nodes that are named for a finding: for a problem, and for a mere wait.
const NAMED: usize = 30;
const NAMED_WAITING: usize = 6;
/// The most cells that are shown of the text about a wait of the rollout.
const MOST_WAITING: usize = 1_000;

/// The most cells of the overlay's width.
const WIDEST: u16 = 120;

/// Draws the diagnosis over everything but the first line and the last.
pub(super) fn draw(ctx: &RenderContext<'_>, area: Rect, top: usize, readings: &[NodeReading], buffer: &mut Buffer) {
    let Some(LaidOut { title, frame, lines }) = laid_out(ctx, area, readings) else { return };
    let seen = usize::from(frame.inside().height);
    let top = top.min(frame.rows_below(&lines));
    let rows = match lines.len() > seen {
        true => {
            let range = format!("{}-{} of {}", top + 1, top + seen, lines.len());
            // The number of the lines is not cut.
            let word = if frame.has_room_for(&format!("{title} . lines {range}")) { "lines " } else { "" };
            format!(" {} {word}{range}", ctx.glyph(Glyph::Dot))
        }
        false => String::new(),
    };
    let title = format!("{title}{rows}");
    let inside = frame.put(ctx, buffer, &title, "  (esc closes, other keys work)");
    put_lines(buffer, inside, &lines[top..]);
}

/// The last line that can be the first visible one.
pub(super) fn end(ctx: &RenderContext<'_>, area: Rect, readings: &[NodeReading]) -> usize {
    laid_out(ctx, area, readings).map_or(0, |LaidOut { frame, lines, .. }| frame.rows_below(&lines))
}

/// The lines, and their place.
struct LaidOut {
    title: &'static str,
    frame: OverlayFrame,
    lines: Vec<Line<'static>>,
}

fn laid_out(ctx: &RenderContext<'_>, area: Rect, readings: &[NodeReading]) -> Option<LaidOut> {
    let shown = ctx.model.rollout()?.live.as_ref()?;
    let mut diagnosis = Diagnosis::of(&as_of_now(ctx, shown));
    for NodeReading { node, inspection, .. } in readings {
        diagnosis.add_occupancy(node, &inspection.occupancy);
    }
    let title = match diagnosis.is_bad() {
        true => "What is wrong",
        false if waits(ctx, shown, &diagnosis) => "What it waits for",
        false => "Nothing is wrong now",
    };
    let lines = lines(ctx, shown, &diagnosis, OverlayFrame::cells(area, WIDEST));
    Some(LaidOut { title, frame: OverlayFrame::of(area, WIDEST, lines.len()), lines })
}

fn lines(ctx: &RenderContext<'_>, shown: &ShownSnapshot, diagnosis: &Diagnosis, cells: usize) -> Vec<Line<'static>> {
    let findings = &diagnosis.findings;
    let mut lines = why_it_stands(ctx, shown, cells);
    // If nothing is wrong, the user asked why nothing moves.
    let well = (!diagnosis.is_bad() && waits(ctx, shown, diagnosis)).then_some("; no pod is in trouble");
    let how_many = format!("{}{}", diagnosis.how_many(&shown.snapshot), well.unwrap_or_default());
    lines.extend(wrap(&how_many, cells).map(|line| Line::from(ctx.span(line, ThemeRole::Title))));
    if findings.is_empty() && lines.len() == 1 {
        lines.push(Line::from(ctx.span("nothing is wrong, and nothing waits", ThemeRole::Ok)));
    }
    let is_alarm = |finding: &&Finding| finding.kind == FindingKind::Alarm;
    let mut offered: Vec<String> = Vec::new();
    // The findings of the alarms come in the order of the alarms.
    for (finding, alarm) in findings.iter().filter(is_alarm).zip(&shown.snapshot.alarms) {
        lines.push(Line::default());
        lines.extend(of(ctx, shown, finding, cells));
        for remedy in shown.snapshot.remedies_of(alarm) {
            let line = keys_in_words(ctx, &[remedy], |remedy| shown.snapshot.effect_of(remedy));
            if !offered.contains(&line) {
                lines.extend(indented(&line, cells).map(|line| Line::from(ctx.span(line, ThemeRole::Text))));
                offered.push(line);
            }
        }
    }
    for finding in findings.iter().filter(|finding| !is_alarm(finding)) {
        lines.push(Line::default());
        lines.extend(of(ctx, shown, finding, cells));
    }
    lines
}

/// Whether the rollout waits: somebody paused it, it is held, or each remaining node waits and none is moving.
fn waits(ctx: &RenderContext<'_>, shown: &ShownSnapshot, diagnosis: &Diagnosis) -> bool {
    let any = |kind: FindingKind| diagnosis.findings.iter().any(|finding| finding.kind == kind);
    !why_it_stands(ctx, shown, MOST_WAITING).is_empty() || (any(FindingKind::Waits) && !any(FindingKind::Moving))
}

/// The person who paused the rollout and the reason, or the hold of the rollout, with its remedies.
fn why_it_stands(ctx: &RenderContext<'_>, shown: &ShownSnapshot, cells: usize) -> Vec<Line<'static>> {
    let mut waits = blocker(ctx, shown, MOST_WAITING, 1);
    // The alarm of the halt does not mention a pause, and the header leaves out a pause without a reason.
    let paused = shown.snapshot.paused.as_ref().filter(|_| waits.is_empty() && shown.snapshot.phase == Phase::Halted);
    let paused = paused.and_then(|paused| as_of(ctx, shown, paused.at).pause_in_words());
    waits.extend(paused.map(|words| Line::from(ctx.span(words, ThemeRole::Warn))));
    let indented = |line: Line<'static>| {
        let style = line.spans.last().map_or_else(Style::default, |span| span.style);
        let wrapped: Vec<String> = wrap(line.to_string().trim_start(), cells).collect();
        wrapped.into_iter().map(move |line| Line::styled(line, style))
    };
    waits.into_iter().flat_map(indented).collect()
}

/// The lines of a text, each below the title of its finding.
fn indented(text: &str, cells: usize) -> impl Iterator<Item = String> {
    wrap(text, cells.saturating_sub(2)).map(|line| format!("  {line}"))
}

/// The keys of what a remedy asks for, such as `I`; `None` if it cannot be done now. They are shown while the console is read-only, too: the key then
/// answers which key arms the console.
fn keys_of_act(ctx: &RenderContext<'_>, snapshot: &Snapshot, act: RemedyAct) -> Option<String> {
    let (id, is_possible) = match act {
        RemedyAct::SetImage => (ActionId::Image, true),
        RemedyAct::RollBack => (ActionId::Undo, snapshot.undo_is_free()),
        RemedyAct::LimitPulls | RemedyAct::RaiseDeadline => (ActionId::Tune, true),
        RemedyAct::Prewarm => (ActionId::Prewarm, true),
        RemedyAct::Drive => (ActionId::Drive, true),
        RemedyAct::LetGo => (ActionId::Step, matches!(snapshot.plan.next, Some(Ok(_)))),
        RemedyAct::Resume => (ActionId::Resume, true),
        RemedyAct::RetryPrewarm => (ActionId::RetryPrewarm, true),
        RemedyAct::ResumePrewarm => (ActionId::PausePrewarm, true),
        RemedyAct::CancelPrewarm => (ActionId::CancelPrewarm, true),
    };
    let action = id.action();
    let is_possible = is_possible && (action.when)(ctx.model).is_ok();
    let screen = (action.scope == ActionScope::Prewarm).then_some(ActionId::Prewarm);
    let keys = screen.into_iter().chain([id]).map(|id| key_of(ctx.model, id.action()));
    is_possible.then(|| keys.collect::<Vec<_>>().join(", then "))
}

fn of(ctx: &RenderContext<'_>, shown: &ShownSnapshot, finding: &Finding, cells: usize) -> Vec<Line<'static>> {
    let (glyph, role) = match finding.sign() {
        FindingSign::Wrong => (Glyph::Failed, ThemeRole::Bad),
        FindingSign::TriesAgain => (Glyph::Struggling, ThemeRole::Warn),
        FindingSign::Waits => (Glyph::Dot, ThemeRole::Text),
    };
    let count = finding.nodes.len();
    let plural = if count == 1 { "" } else { "s" };
    let since = finding.since.map(|since| format!(" for {}", ctx.age(shown, since))).unwrap_or_default();
    let nodes = if count == 0 { String::new() } else { format!(", {count} node{plural}{since}") };
    let mut lines = Vec::new();
    let mut say = |text: &str, first: &str, role: ThemeRole| {
        for (nth, line) in wrap(text, cells.saturating_sub(4)).enumerate() {
            let lead = if nth == 0 { first } else { "  " };
            lines.push(Line::from(ctx.span(format!("{lead}{line}"), role)));
        }
    };
    say(&format!("{}{nodes}", finding.title), &format!("{} ", ctx.glyph(glyph)), role);
    let named = if finding.severity == Severity::Warning { NAMED } else { NAMED_WAITING };
    let mut names: Vec<&str> = finding.nodes.iter().take(named).map(|name| &**name).collect();
    let more = format!("… ({} more)", count.saturating_sub(named));
    if count > named {
        names.push(&more);
    }
    say(&names.join(" "), "  ", ThemeRole::Muted);
    for evidence in &finding.evidence {
        say(&evidence.to_string(), "  ", ThemeRole::Text);
    }
    for held in &finding.held {
        say(held, "  ", ThemeRole::Text);
    }
    let arrow = format!("  {} ", ctx.glyph(Glyph::Arrow));
    // The key that rolls back stands above the findings, or below the alarms.
    let offers_undo = shown.snapshot.remedies().iter().any(|remedy| remedy.is_undo());
    let left = |advice: &Advice| if offers_undo { advice.beside_a_roll_back() } else { Some(advice.clone()) };
    for advice in finding.remedies.iter().filter_map(left) {
        say(&advice.with_acts(|act| keys_of_act(ctx, &shown.snapshot, act)), &arrow, ThemeRole::Ok);
    }
    for OfferedCommand { text, command } in &finding.commands {
        let line = ctx.model.shell_flags().and_then(|cluster| command.line(cluster));
        // This console also shows the output of the kubectl command.
        let keys: &[ActionId] = match command {
            KubectlCommand::Log(source) if source.run == LogRun::Previous => &[ActionId::NodePrevious],
            KubectlCommand::Log(_) => &[ActionId::NodeLog],
            KubectlCommand::Pod { reads: PodReading::Description, .. } => {
                &[ActionId::NodeDescribe, ActionId::NodeEvents]
            }
            KubectlCommand::DescribeNode { .. } => &[ActionId::NodeDescribe],
            _ => &[],
        };
        let node = finding.nodes.first().filter(|_| !keys.is_empty());
        let key = node.map(|node| {
            let keys: Vec<String> = keys.iter().map(|id| id.key()).collect();
            format!("{} on the row of {node}", keys.join(" and "))
        });
        let mut ways: Vec<String> = key.into_iter().chain(line).collect();
        if ways.is_empty() && ctx.model.practice {
            ways.push(NO_KUBECTL.to_owned());
        }
        if !ways.is_empty() {
            say(&format!("{text}: {}", ways.join(", or ")), &arrow, ThemeRole::Ok);
        }
    }
    lines
}
