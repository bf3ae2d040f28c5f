//! One node, in full: the side pane of wide terminals, and the first tab of its page.
//!
//! ```text
//! │ ipc-017
//! │ ✗ failed: image not found, 3m
//! │ manifest for agent:v1.9.0 not found
//! │
//! │ Down       by the rollout: charged to the budget
//! │ Revision   15 (7d9f), the target
//! │ Image      ✗ failed: not found: manifest unknown
//! │ Pod        ipc-agent-7x2kq, 3m old
//! │ Restarts   0
//! │ In line    place 3
//! │ Labels     zone=munich …
//! ```

use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::engine::model::budget::Replacer;
use crate::engine::model::cause::Cause;
use crate::engine::model::clocks::ClockOff;
use crate::engine::model::image::version_of;
use crate::engine::model::node::{Blame, DownBy, NodeState, RestartKind, RestartsView};
use crate::engine::model::node_details::NodeDetail;
use crate::engine::model::prewarm::PrewarmState;
use crate::engine::model::pull::{ImagePull, PullState};
use crate::engine::model::suspect::SuspectView;
use crate::engine::model::time::ShortDuration;
use crate::engine::report::prewarm_words::PrewarmWords;
use crate::engine::report::snapshot::words::{COUNTS_ALTHOUGH_BACK, held_until_up_for};
use crate::engine::report::snapshot::{NodeView, PodRevision, Snapshot};
use crate::tui::columns::nodes::image_sign;
use crate::tui::columns::nodes::prewarm_sign;
use crate::tui::columns::nodes::sign;
use crate::tui::model::{RolloutPage, ShownSnapshot};
use crate::tui::theme::{Glyph, ThemeRole};
use crate::tui::view::RenderContext;
use crate::tui::view::put;
use crate::tui::view::put_lines;
use crate::tui::view::why;
use crate::tui::words::{fit, width, wrap};

/// The width of the names of the lines.
const NAMES: usize = 10;

/// The least number of lines at which the side pane has room to spare.
const ROOMY: usize = 16;
/// The number of lines kept there for the name, the state and the reasons: a moving node mostly has two reasons.
const REASONS: usize = 5;

/// What is said of a node that the rollout took down.
const CHARGED: &str = "by the rollout: charged to the budget";

/// Draws the frame of the side pane; returns the area inside.
pub(super) fn open_side(ctx: &RenderContext<'_>, area: Rect, buffer: &mut Buffer) -> Rect {
    for y in area.y..area.bottom() {
        put(buffer, area.x, y, ctx.glyph(Glyph::Side), 1, ctx.style(ThemeRole::Frame));
    }
    Rect { x: area.x + 2, width: area.width.saturating_sub(3), ..area }
}

/// Draws the node of the current row beside the list.
pub(super) fn draw_side(ctx: &RenderContext<'_>, area: Rect, buffer: &mut Buffer) {
    let inside = open_side(ctx, area, buffer);
    draw_current(ctx, inside, buffer);
}

/// Draws the node of the current row into `area`.
pub(super) fn draw_current(ctx: &RenderContext<'_>, area: Rect, buffer: &mut Buffer) {
    let Some(page) = ctx.model.rollout() else { return };
    let size = (usize::from(area.width), usize::from(area.height));
    match (page.current(), page.shown()) {
        (Some(node), Some(shown)) => put_lines(buffer, area, &lines(ctx, page, shown, node, size)),
        _ if page.nodes.current_group().is_some() && area.height > 0 => {
            let text = "a group of nodes: enter opens and folds it";
            put(buffer, area.x, area.y, text, size.0, ctx.style(ThemeRole::Muted));
        }
        _ => {}
    }
}

/// The lines about the node, at most a given number. Facts about the node stay in place while reasons come and go.
fn lines(
    ctx: &RenderContext<'_>,
    page: &RolloutPage,
    shown: &ShownSnapshot,
    node: &NodeView,
    size: (usize, usize),
) -> Vec<Line<'static>> {
    let (mut lines, reasons) = about(ctx, page, shown, node, size);
    if size.1 >= ROOMY {
        let missing = REASONS.saturating_sub(reasons);
        lines.splice(reasons..reasons, std::iter::repeat_n(Line::default(), missing));
    }
    lines
}

/// The same lines, and the number of those that give the reasons for the node's state; the lines after them are facts about it.
pub(super) fn about(
    ctx: &RenderContext<'_>,
    page: &RolloutPage,
    shown: &ShownSnapshot,
    node: &NodeView,
    (cells, most): (usize, usize),
) -> (Vec<Line<'static>>, usize) {
    let (glyph, role) = sign(node);
    let since = node.shown_since().and_then(|since| ctx.lasted(shown, since));
    let message = node.cause.as_ref().and_then(|cause| cause.message.as_ref());
    let caused = node.cause.as_ref().map(|cause| format!("{}: {cause}", node.state_words()));
    // Its sign, and an age that grows.
    let fits = |words: &String| width(words) + 2 + ", 59m".len() <= cells;
    let with_message = caused.as_ref().zip(message).map(|(caused, message)| format!("{caused}: {message}"));
    let (caused, message) = match with_message.filter(fits) {
        Some(all) => (Some(all), None),
        None => (caused, message),
    };
    let state = match (caused, since) {
        // The comma tells that the time is that of the state, not of its cause.
        (Some(caused), Some(since)) => format!("{caused}, {since}"),
        (Some(caused), None) => caused,
        (None, Some(since)) => format!("{} for {since}", node.state_words()),
        (None, None) => node.state_words(),
    };
    let mut lines = vec![Line::from(ctx.span(fit(&node.name, cells), ThemeRole::Title))];
    let paragraph = |lines: &mut Vec<Line<'static>>, text: &str, role: ThemeRole| {
        let wrapped = wrap(text, cells).take(most.saturating_sub(lines.len()));
        lines.extend(wrapped.map(|line| Line::from(ctx.span(line, role))));
    };
    paragraph(&mut lines, &format!("{} {state}", ctx.glyph(glyph)), role);
    if let Some(message) = message {
        paragraph(&mut lines, message, ThemeRole::Text);
    }
    lines.push(Line::default());
    let say = |lines: &mut Vec<Line<'static>>, name: &str, text: &str, role: ThemeRole| {
        for (nth, line) in
            wrap(text, cells.saturating_sub(NAMES + 1)).take(most.saturating_sub(lines.len())).enumerate()
        {
            let name = if nth == 0 { name } else { "" };
            lines.push(Line::from(vec![
                ctx.span(format!("{:NAMES$} ", fit(name, NAMES)), ThemeRole::Muted),
                Span::styled(line, ctx.style(role)),
            ]));
        }
    };
    if let Some(wait) = &node.pod_wait {
        say(&mut lines, "Waits", &wait.as_of(why::instant(ctx, shown, node)).to_string(), ThemeRole::Text);
    }
    if let Some(hold) = &node.hold {
        say(&mut lines, "Held by", &hold.to_string(), ThemeRole::Text);
    }
    if let Some(blame) = node.blame {
        let by = page.snapshot().map(|snapshot| snapshot.budget.replaced_by).unwrap_or_default();
        let from = page.snapshot().and_then(|snapshot| snapshot.from.as_ref()).map(|from| &from.hash);
        // The rollout had another target before: its Pods of that target are not untouched ones.
        let put_before = !node.committed && node.revision.is_some() && from.is_some() && node.revision_hash() != from;
        let soaks = node.state == NodeState::Soaking;
        let words = match blame {
            Blame::Rollout if put_before && node.down_by.is_none() => {
                "by the rollout, when it led to another revision: charged to the budget"
            }
            Blame::Suspect if node.suspect.is_some_and(SuspectView::is_in_update) => {
                "went down while it is updated: charged to the budget"
            }
            _ => in_words(blame, node.down_by, node.committed, by),
        };
        match words {
            // Its pod serves: nothing is down.
            CHARGED if soaks => say(&mut lines, "Budget", "charged until its pod has soaked", ThemeRole::Text),
            _ if soaks => say(&mut lines, "Down", &format!("{words}, until its pod has soaked"), ThemeRole::Text),
            _ => say(&mut lines, "Down", words, ThemeRole::Text),
        }
    }
    if node.accepted {
        say(&mut lines, "Accepted", "an operator resumed past a halt: it does not halt again", ThemeRole::Text);
    }
    if let Some(suspect) = node.suspect {
        let role = if suspect.has_failed() { ThemeRole::Bad } else { ThemeRole::Warn };
        let words = suspect.words(ctx.instant(shown, shown.snapshot.at)).to_string();
        let back = match (suspect.has_failed() && node.state != NodeState::NodeDown, node.serves) {
            (false, _) => String::new(),
            (true, true) => format!("; its pod serves; {COUNTS_ALTHOUGH_BACK}"),
            (true, false) => format!("; {COUNTS_ALTHOUGH_BACK}"),
        };
        say(&mut lines, "Suspect", &(words + &back), role);
    }
    let reasons = lines.len();
    let words = match &node.revision {
        Some(PodRevision { number: Some(number), hash }) => format!("{number} ({hash})"),
        Some(PodRevision { number: None, hash }) => format!("{hash} (its ControllerRevision is gone)"),
        None => "none: it has no pod".to_owned(),
    };
    let target = if node.at_target { ", the target" } else { ", not the target" };
    let words = if node.revision.is_some() { words + target } else { words };
    say(&mut lines, "Revision", &words, if node.at_target { ThemeRole::NewRev } else { ThemeRole::OldRev });
    let (glyph, role) = image_sign(node.image);
    // Its pod may run another image, which is on the node whatever is said of the target's.
    let of_target = match &node.images[..] {
        _ if node.at_target => String::new(),
        [only] => format!("of the target ({}): ", version_of(&only.image)),
        _ => "of the target: ".to_owned(),
    };
    let said = node.cause.as_ref().and_then(|cause| cause.message.as_ref());
    let words = |pull: &ImagePull| match &pull.state {
        // What its kubelet says stands among the reasons already.
        PullState::Failed { why, message: Some(message) } if said.is_some_and(|said| said.contains(&**message)) => {
            let state = PullState::Failed { why: *why, message: None };
            ImagePull { state, ..pull.clone() }.words(shown.snapshot.at, None)
        }
        PullState::Pulling { .. } if node.usual_pull.is_some() => {
            pull.words(ctx.present(shown), node.usual_pull.as_deref().copied())
        }
        PullState::Pulling { since } => pull.words(ctx.instant(shown, *since), None),
        _ => {
            let slow =
                shown.snapshot.pulls.slow_on(&node.name, &pull.image).map(|slow| format!(", {}", slow.compared()));
            pull.words(shown.snapshot.at, node.usual_pull.as_deref().copied()) + &slow.unwrap_or_default()
        }
    };
    match &node.images[..] {
        // The kubelet has not yet reported the image that it pulls.
        [] if matches!(node.state, NodeState::Pulling) => {
            let (words, role) = (being_pulled(&shown.snapshot, node.at_target), ThemeRole::Busy);
            say(&mut lines, "Image", &format!("{} {words}", ctx.glyph(Glyph::ImagePulling)), role);
        }
        [] => say(&mut lines, "Image", &format!("{} {of_target}{}", ctx.glyph(glyph), node.image), role),
        [only] => say(&mut lines, "Image", &format!("{} {of_target}{}", ctx.glyph(glyph), words(only)), role),
        several => {
            say(&mut lines, "Images", &format!("{} {of_target}{}", ctx.glyph(glyph), node.image), role);
            several
                .iter()
                .for_each(|pull| say(&mut lines, "", &format!("{}: {}", pull.container, words(pull)), ThemeRole::Text));
        }
    }
    if let Some(prewarm) = &node.prewarm {
        let words = PrewarmWords { state: prewarm, at: why::prewarm_instant(ctx, shown, prewarm) };
        let pulls = why::prewarm_pulls(ctx, shown, node).map(|pulls| format!("{}: {pulls}", prewarm.word()));
        say(&mut lines, "Pre-warm", &pulls.unwrap_or_else(|| words.to_string()), prewarm_sign(prewarm).1);
        if let Some(images) = shown.snapshot.prewarms_beside_the_rollout() {
            say(&mut lines, "", &format!("{images}: not needed by this rollout"), ThemeRole::Text);
        }
        if let PrewarmState::Failed { cause: Cause { message: Some(message), .. }, .. } = &**prewarm {
            say(&mut lines, "", message, ThemeRole::Text);
        }
    }
    if let Some(pod) = &node.pod {
        let age = node.pod_created_at.map(|at| format!(", {} old", ctx.age(shown, at))).unwrap_or_default();
        say(&mut lines, "Pod", &format!("{pod}{age}"), ThemeRole::Text);
        // Always there, so that nothing below moves once it restarts.
        let (words, role) = restarts_in_words(node, shown.snapshot.restarts_watched_for());
        say(&mut lines, "Restarts", &words, role);
    }
    if let Some(millis) = node.notable_clock() {
        let waits = node.counted_unavailable_until.map(|until| {
            let left = ShortDuration(until.since(ctx.instant(shown, shown.snapshot.at)));
            format!("; its controller counts it unavailable for {left} more")
        });
        say(&mut lines, "Clock", &format!("{}{}", ClockOff(millis), waits.unwrap_or_default()), ThemeRole::Warn);
    }
    if let Some(pressure) = &node.pressure {
        say(&mut lines, "Pressure", &format!("{pressure}: its kubelet may evict pods"), ThemeRole::Warn);
    }
    if let Some(rank) = node.rank {
        say(&mut lines, "In line", &format!("place {}", rank + 1), ThemeRole::Text);
    }
    if !node.eligible {
        let serves = if node.serves { "serves" } else { "does not serve" };
        let why = match &node.ineligible {
            Some(why) => format!("{why}; its pod {serves}"),
            None => "its node is not there, its pod still is".to_owned(),
        };
        say(&mut lines, "Eligible", &format!("no: {why}"), ThemeRole::Warn);
    }
    if page.snapshot().is_some_and(|snapshot| snapshot.plan.selector.is_some()) {
        say(
            &mut lines,
            "Canary",
            if node.selected { "matches the selector" } else { "does not match the selector" },
            ThemeRole::Text,
        );
    }
    let machine = NodeDetail::ALL.into_iter().filter_map(|detail| {
        let (what, text) = (detail.about().page, node.details.get(detail)?);
        Some(if what.is_empty() { text.to_string() } else { format!("{what} {text}") })
    });
    let machine: Vec<String> = machine.collect();
    if !machine.is_empty() {
        say(&mut lines, "Machine", &machine.join(", "), ThemeRole::Muted);
    }
    if !node.labels.is_empty() {
        let labels: Vec<String> = node.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
        say(&mut lines, "Labels", &labels.join(" "), ThemeRole::Muted);
    }
    (lines, reasons)
}

/// The image that a Pod pulls if nothing else is known: an image of its revision, by its name if there is only one.
fn being_pulled(snapshot: &Snapshot, at_target: bool) -> String {
    let images = snapshot.to.as_ref().filter(|_| at_target).map(|revision| &revision.images[..]);
    match images {
        Some([(_, image)]) => {
            let image = image.rsplit('/').next().unwrap_or(image);
            format!("pulling {image}, how far is not known")
        }
        Some([_, ..]) => "pulling, which of its images is not known".to_owned(),
        Some([]) | None => "pulling, which image is not known".to_owned(),
    }
}

/// How often the containers of the node's pod restarted, and what follows from restarts after it was ready.
fn restarts_in_words(node: &NodeView, watched: Duration) -> (String, ThemeRole) {
    let (all, counted) = (node.restarts, node.counted_restarts());
    let counts = if counted == 1 { "counts" } else { "count" };
    let Some(RestartsView { times, evictions, end, until: _ }) = node.restarted.as_deref().copied() else {
        // The others came with its node.
        let words = if all == counted { all.to_string() } else { format!("{all}, of which {counted} {counts}") };
        return (words, ThemeRole::Text);
    };
    let end = end.map(|end| format!(", {end}")).unwrap_or_default();
    let then = if node.holds_the_others() { format!("; {}", held_until_up_for(watched)) } else { String::new() };
    let words = if evictions > 0 {
        // They were of the pods before this one, whose restarts no kubelet counts any more.
        format!("{all}, after {} of earlier pods{then}", RestartKind::Evictions.counted(evictions.into()))
    } else if all != counted {
        format!("{all}, of which {counted} {counts}{end}{then}")
    } else if all == u32::from(times) {
        format!("{all} after it was ready{end}{then}")
    } else {
        format!("{all}, {times} of them after it was ready{end}{then}")
    };
    (words, ThemeRole::Warn)
}

fn in_words(blame: Blame, down_by: Option<DownBy>, committed: bool, replaced_by: Replacer) -> &'static str {
    match blame {
        Blame::Rollout if down_by == Some(DownBy::Others) => "by somebody else: charged to the budget",
        Blame::Rollout if down_by == Some(DownBy::ControllerOrOthers) => {
            "by its controller or others: charged to the budget"
        }
        Blame::Rollout if down_by == Some(DownBy::Unrecorded) => "not recorded by whom: charged to the budget",
        Blame::Rollout if !committed => "before its update began: charged to the budget, as it was next",
        Blame::Rollout if replaced_by == Replacer::Controller => "by its controller",
        Blame::Rollout if replaced_by == Replacer::Unrecorded => "not recorded by whom: charged to the budget",
        Blame::Rollout if replaced_by == Replacer::Both => "by the rollout or its controller: charged to the budget",
        Blame::Suspect if replaced_by == Replacer::Controller => "went down after its controller gave it a new pod",
        Blame::Rollout => CHARGED,
        Blame::Suspect => "went down after its update: charged to the budget",
        Blame::Node => "with its node, not by the rollout",
        Blame::PreExisting => "since before the rollout, or by its old pod",
    }
}
