//! The revisions: the list, the difference of two, the template of one.

use super::effects::{Effects, refuse};
use crate::engine::report::snapshot::RevisionView;
use crate::tui::model::{Model, RolloutPage, RolloutScreen};
use crate::tui::revisions::RevisionScreen;

/// Switches between the revisions and the nodes.
pub(super) fn history(model: &mut Model) -> Effects {
    if let Some(page) = model.rollout_mut() {
        match page.revisions() {
            Some(_) => page.screen = RolloutScreen::Nodes,
            None => show(page),
        }
    }
    Vec::new()
}

fn show(page: &mut RolloutPage) {
    let revisions = page.snapshot().map(|snapshot| RolloutScreen::Revisions(RevisionScreen::of(snapshot).into()));
    (page.screen, page.node_page) = (revisions.unwrap_or_default(), None);
}

/// Shows the difference of two revisions. If none is named: in the list of revisions, of the selected one and the one it is
/// compared with; elsewhere, the change that the rollout makes.
pub(super) fn diff(model: &mut Model, named: &str) -> Effects {
    let listed = model.rollout().is_some_and(|page| page.revisions().is_some());
    if named.is_empty() && listed {
        return compare_selected(model);
    }
    let Some(snapshot) = model.rollout().and_then(|page| page.snapshot()).cloned() else { return Vec::new() };
    let words: Vec<&str> = named.split_whitespace().collect();
    let both = match words[..] {
        [] => snapshot.compared_by_default(),
        [from] => snapshot.revision_called(from).and_then(|from| Ok((from, snapshot.current_revision()?))),
        [from, to] => snapshot.revision_called(from).and_then(|from| Ok((from, snapshot.revision_called(to)?))),
        _ => Err("two revisions can be compared: :diff 14 15".to_owned()),
    };
    match both {
        Ok((from, to)) => compare(model, from, to),
        Err(why) => refuse(model, why),
    }
}

/// Compares the selected revision of the list.
pub(super) fn compare_selected(model: &mut Model) -> Effects {
    let Some(screen) = model.rollout().and_then(|page| page.revisions()) else { return Vec::new() };
    let Some(selected) = screen.selected().cloned() else { return Vec::new() };
    match screen.compared_with().cloned() {
        Some(base) => compare(model, &base, &selected),
        None => refuse(model, "there is no other revision to compare it with; y shows its template".to_owned()),
    }
}

fn compare(model: &mut Model, from: &RevisionView, to: &RevisionView) -> Effects {
    open(model, |screen| screen.compare(from, to))
}

/// Shows the template of the selected revision, or of a named one; while a difference is shown, of the revision that it leads to.
pub(super) fn template(model: &mut Model, named: &str) -> Effects {
    let Some(page) = model.rollout() else { return Vec::new() };
    let Some(snapshot) = page.snapshot().cloned() else { return Vec::new() };
    let revision = match (named, page.revisions()) {
        ("", Some(screen)) => screen.in_sight().cloned().ok_or_else(|| "no revision is known".to_owned()),
        ("", None) => snapshot.current_revision().cloned(),
        (named, _) => snapshot.revision_called(named).cloned(),
    };
    match revision {
        Ok(revision) => open(model, |screen| screen.read(&revision)),
        Err(why) => refuse(model, why),
    }
}

/// Opens a text over the list.
fn open(model: &mut Model, text: impl FnOnce(&mut RevisionScreen) -> Result<(), String>) -> Effects {
    let Some(page) = model.rollout_mut() else { return Vec::new() };
    if page.revisions().is_none() {
        show(page);
    }
    let Some(screen) = page.revisions_mut() else { return Vec::new() };
    match text(screen) {
        Ok(()) => Vec::new(),
        Err(why) => refuse(model, why),
    }
}

/// Makes the selected revision the one that others are compared with; a second time removes this mark.
pub(super) fn mark(model: &mut Model) -> Effects {
    if let Some(screen) = model.rollout_mut().and_then(|page| page.revisions_mut()) {
        screen.mark();
    }
    Vec::new()
}

/// Moves the long lines of the open text.
pub(super) fn sideways(model: &mut Model, right: bool) -> Effects {
    let screen = model.rollout_mut().and_then(|page| page.revisions_mut());
    if let Some(text) = screen.and_then(|screen| screen.text.as_mut()) {
        if right { text.right() } else { text.back_left() }
    }
    Vec::new()
}
