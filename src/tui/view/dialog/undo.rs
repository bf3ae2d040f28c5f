//! The form of a roll back: the revisions that it can go to, and the images of the chosen one.
//!
//! ```text
//!   REV   AGE  PODS  IMAGES
//! > 14     9d    85  v1.8.2
//!   13    41d     0  v1.8.1   registry changes!   nightly build
//!   agent: registry.example/edge/agent:v1.8.2
//! ```

use ratatui::text::Line;

use super::DialogBody;
use crate::engine::report::snapshot::{Phase, RevisionView, Snapshot};
use crate::engine::report::words::VersionWords;
use crate::tui::dialog::{PreviewState, Undo};
use crate::tui::model::ShownSnapshot;
use crate::tui::theme::{Glyph, ThemeRole};
use crate::tui::words::{halt_in_words, other_fields, repository_change};

pub(super) fn fill(body: &mut DialogBody<'_>, form: &Undo, answer: &PreviewState, shown: &ShownSnapshot) {
    let ctx = body.ctx;
    let numbers = |revision: &RevisionView| revision.number.map(|number| number.to_string()).unwrap_or_default();
    body.lines.push(Line::from(ctx.span("  REV   AGE  PODS  IMAGES", ThemeRole::Column)));
    // The chosen one is always in view.
    let first = form.chosen.saturating_sub(5);
    for (index, revision) in form.revisions.iter().enumerate().skip(first).take(8) {
        let age = revision.created_at.map(|at| ctx.age(shown, at)).unwrap_or_else(|| "?".to_owned());
        let cause = revision.change_cause.as_ref().map(|cause| format!("   {cause}")).unwrap_or_default();
        let halted = revision.halted.as_ref().map(|halt| format!("   halted {} ago", ctx.age(shown, halt.at)));
        let halted = halted.unwrap_or_default();
        let others = other_fields(form.other_fields.get(index).copied().unwrap_or_default());
        let elsewhere = repository_change_to(&shown.snapshot, revision).map(|words| format!("   {words}"));
        let elsewhere = elsewhere.unwrap_or_default();
        // The form keeps the revisions as they were when it was opened, and their pods move.
        let now = shown.snapshot.revisions.iter().find(|now| now.hash == revision.hash);
        let pods = now.map_or(revision.pods, |now| now.pods);
        let pods = if shown.snapshot.phase == Phase::Loading { "…".to_owned() } else { pods.to_string() };
        let text = format!(
            "{:>3}  {age:>4}  {pods:>4}  {}{others}{elsewhere}{halted}{cause}",
            numbers(revision),
            VersionWords(revision)
        );
        body.choice(index == form.chosen && form.unchosen.is_none(), &text);
    }
    if form.revisions.len() > first + 8 {
        body.say(&format!("  … {} older", form.revisions.len() - first - 8), ThemeRole::Muted);
    }
    let chosen = form.revisions.get(form.chosen).filter(|_| form.unchosen.is_none());
    // The preview names the images that change, and tells that a rollout halted there.
    let previewed = matches!(answer, PreviewState::Preview(_));
    if let Some(halted) = chosen.and_then(|chosen| chosen.halted.as_ref()).filter(|_| !previewed) {
        let words = halt_in_words(halted, &ctx.age(shown, halted.at));
        body.say(&format!("{} {words}", ctx.glyph(Glyph::Alarm)), ThemeRole::Warn);
    }
    // The images are shown in full beside the preview too, because the preview cuts long names.
    let elsewhere = chosen.filter(|chosen| repository_change_to(&shown.snapshot, chosen).is_some());
    if let Some(chosen) = elsewhere.or(chosen.filter(|_| !previewed)) {
        for (container, image) in &chosen.images {
            body.say(&format!("  {container}: {image}"), ThemeRole::Muted);
        }
    }
}

/// The warning that a revision has an image from another repository than the target.
fn repository_change_to(snapshot: &Snapshot, revision: &RevisionView) -> Option<&'static str> {
    let now = |container: &str| {
        let images = snapshot.to.as_ref().map(|target| &target.images)?;
        images.iter().find(|(name, _)| **name == *container).map(|(_, image)| image)
    };
    revision.images.iter().filter_map(|(name, image)| repository_change(now(name)?, image)).next()
}
