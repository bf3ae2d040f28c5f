//! The revisions of a rollout, shown in place of the nodes: the list, the difference of two, and the template of one.
//!
//! Templates are compared when a difference is opened, or when another row of the list is selected; drawing compares nothing.

pub(crate) mod text;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use self::text::RevisionText;
use super::filter::{FieldKind, Filter, FilterField, FilterRow};
use super::list::{List, Move};
use crate::engine::model::Str;
use crate::engine::model::image::version_of;
use crate::engine::model::labels::Labels;
use crate::engine::report::snapshot::{RevisionView, Snapshot};
use crate::tui::words::{fit, fit_middle, is_wider, other_fields, repository_change, width};

/// The revisions of one rollout, while they are shown.
#[derive(Debug, Default)]
pub(crate) struct RevisionScreen {
    pub(crate) list: List<Str>,
    pub(crate) filter: Filter,
    /// The hash of the revision that others are compared with, if the user marked one.
    pub(crate) marked: Option<Str>,
    /// The text that is open over the list.
    pub(crate) text: Option<RevisionText>,
    revisions: Arc<[RevisionView]>,
    /// The revisions that pass the filter, as indices.
    rows: Vec<usize>,
    target: Option<Str>,
    /// The hash of the template's revision, if it differs from the target.
    current: Option<Str>,
    undo: Option<Str>,
    /// What is known of the earlier numbers of revisions whose template came back, in words, by hash.
    renumbered: BTreeMap<Str, String>,
    /// How many fields other than images differ from the revision before, by the hashes of both.
    other_fields: BTreeMap<(Str, Str), usize>,
    summary: Summary,
}

/// How the images of a revision are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ImageWords {
    /// With their containers and repositories.
    InFull,
    /// Their versions, with the containers where there are several, and with the repositories where those changed.
    Named,
    /// Their versions alone.
    Versions,
}

/// The difference of the selected revision and the one that it is compared with.
#[derive(Debug, Default)]
struct Summary {
    /// The hashes of the two revisions.
    of: Option<(Str, Str)>,
    /// `None` if the template of one of them is unknown.
    text: Option<RevisionText>,
}

impl RevisionScreen {
    pub(crate) fn of(snapshot: &Snapshot) -> Self {
        let mut screen = Self::default();
        screen.see(snapshot);
        screen
    }

    /// Takes in what a new snapshot tells.
    pub(crate) fn see(&mut self, snapshot: &Snapshot) {
        self.revisions = snapshot.revisions.clone();
        self.target = snapshot.to.as_ref().map(|revision| revision.hash.clone());
        self.current = snapshot.template_revision.clone().filter(|hash| Some(hash) != self.target.as_ref());
        self.undo = snapshot.roll_back.as_ref().ok().cloned();
        let renumbered = |one: &RevisionView| Some((one.hash.clone(), snapshot.came_back_in_words(one)?));
        self.renumbered = self.revisions.iter().filter_map(renumbered).collect();
        self.compare_neighbours();
        if self.marked.as_ref().is_some_and(|marked| self.find(marked).is_none()) {
            self.marked = None;
        }
        if let Some(text) = &mut self.text {
            text.see(&snapshot.revisions);
        }
        self.arrange();
        self.summarise();
    }

    /// Counts the fields that each revision has changed, unless that was done already.
    fn compare_neighbours(&mut self) {
        let mut known = std::mem::take(&mut self.other_fields);
        let pairs = self.revisions.iter().filter_map(|revision| Some((self.before(revision)?, revision)));
        let compared = pairs.filter_map(|(before, revision)| {
            let both = (before.hash.clone(), revision.hash.clone());
            let fields = known.remove(&both).or_else(|| revision.other_fields(before))?;
            Some((both, fields))
        });
        self.other_fields = compared.collect();
    }

    /// Recomputes the rows that are shown, newest first.
    pub(crate) fn arrange(&mut self) {
        let rows = self.all_rows().enumerate().filter(|(_, row)| self.filter.passes(row));
        self.rows = rows.map(|(at, _)| at).collect();
    }

    /// The fields of revisions that a filter can name; lines of an open text have no columns.
    pub(crate) fn fields(&self) -> Vec<FilterField> {
        let field = |name: &str, alias: &str, kind: FieldKind| FilterField {
            name: name.to_owned(),
            aliases: vec![alias.to_owned()],
            kind,
        };
        if self.text.is_some() {
            return Vec::new();
        }
        vec![
            field("revision", "rev", FieldKind::Number),
            field("hash", "id", FieldKind::Text),
            field("image", "images", FieldKind::Text),
            field("cause", "change-cause", FieldKind::Text),
            field("pods", "nodes", FieldKind::Number),
        ]
    }

    /// All revisions, whether they pass the filter or not.
    pub(crate) fn all_rows(&self) -> impl Iterator<Item = RevisionRow<'_>> {
        (0..self.revisions.len()).map(|at| RevisionRow { screen: self, at })
    }

    /// The selected revision, or the one that the open text leads to.
    pub(crate) fn in_sight(&self) -> Option<&RevisionView> {
        match &self.text {
            Some(text) => self.find(text.leads_to()),
            None => self.selected(),
        }
    }

    /// Marks the selected revision as the one that others are compared with; a second time removes the mark.
    pub(crate) fn mark(&mut self) {
        let selected = self.selected().map(|revision| revision.hash.clone());
        self.marked = if self.marked == selected { None } else { selected };
        self.summarise();
    }

    /// The number of the selected or open revision, if it is not the target, or the template is not that of the target.
    pub(crate) fn chosen_to_go_back_to(&self) -> Option<i64> {
        let looked_at = self.text.is_some() || self.list.selected().is_some();
        self.in_sight()
            .filter(|one| looked_at && (!self.is_target(one) || self.current.is_some()))
            .and_then(|one| one.number)
    }

    /// Back one level: the filter, the open text, the mark, the selection. Tells whether there was a level.
    pub(crate) fn back(&mut self) -> bool {
        if !self.shown_filter().is_all() {
            self.set_filter(Filter::default());
        } else if self.text.take().is_some() {
        } else if self.marked.take().is_some() {
            self.summarise();
        } else if self.list.selected().is_some() {
            self.list.deselect();
            self.summarise();
        } else {
            return false;
        }
        true
    }

    /// The filter of the open text, or else of the list.
    pub(crate) fn shown_filter(&self) -> &Filter {
        self.text.as_ref().map_or(&self.filter, |text| &text.filter)
    }

    /// Sets the filter of the open text, or else of the list.
    pub(crate) fn set_filter(&mut self, filter: Filter) {
        match &mut self.text {
            Some(text) => {
                text.filter = filter;
                text.arrange();
            }
            None => {
                self.filter = filter;
                self.arrange();
                self.summarise();
            }
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The number of rows, whether they pass the filter or not.
    pub(crate) fn all(&self) -> usize {
        self.revisions.len()
    }

    /// The revision in this row.
    pub(crate) fn row(&self, row: usize) -> Option<&RevisionView> {
        self.revisions.get(*self.rows.get(row)?)
    }

    /// The selected revision; the newest if none is selected.
    pub(crate) fn selected(&self) -> Option<&RevisionView> {
        self.row(self.list.cursor().unwrap_or(0))
    }

    /// The revision with this hash.
    pub(crate) fn find(&self, hash: &str) -> Option<&RevisionView> {
        self.revisions.iter().find(|revision| *revision.hash == *hash)
    }

    /// Moves the selection, with `height` visible rows.
    pub(crate) fn go(&mut self, movement: Move, height: usize) {
        let mut list = std::mem::take(&mut self.list);
        list.go(movement, self.len(), height, |row| self.hash(row));
        self.list = list;
        self.summarise();
    }

    /// Finds the selected revision again after rows changed.
    pub(crate) fn follow(&mut self, height: usize) {
        let mut list = std::mem::take(&mut self.list);
        let position = |hash: &Str| (0..self.len()).find(|row| self.hash(*row) == *hash);
        list.follow(self.len(), height, position, |row| self.hash(row));
        self.list = list;
        self.summarise();
    }

    fn hash(&self, row: usize) -> Str {
        self.row(row).map(|revision| revision.hash.clone()).unwrap_or_default()
    }

    /// The revision that most nodes run now.
    pub(crate) fn on_nodes(&self) -> Option<&RevisionView> {
        // Of revisions with equally many Pods the target wins, or else the newest.
        let rank = |at: &usize| (self.revisions[*at].pods, self.is_target(&self.revisions[*at]), usize::MAX - at);
        let most = (0..self.revisions.len()).max_by_key(rank)?;
        self.revisions.get(most).filter(|revision| revision.pods > 0)
    }

    /// For the target: the revision that most of the other nodes run.
    fn left_on_nodes(&self, target: &RevisionView) -> Option<&RevisionView> {
        let others = self.revisions.iter().filter(|one| one.hash != target.hash && one.pods > 0);
        others.max_by_key(|one| (one.pods, one.number)).filter(|_| self.is_target(target))
    }

    /// The revision before this one, by number.
    fn before(&self, revision: &RevisionView) -> Option<&RevisionView> {
        // They are listed newest first.
        self.revisions.iter().find(|one| one.number.is_some() && one.number < revision.number)
    }

    /// The revision that the selected one is compared with: the marked one, or else the one that most nodes run; that one is
    /// compared with the revision before it.
    pub(crate) fn compared_with(&self) -> Option<&RevisionView> {
        let selected = self.selected()?;
        let marked = self.marked.as_ref().and_then(|hash| self.find(hash));
        let base = marked.or_else(|| self.on_nodes()).filter(|base| base.hash != selected.hash);
        base.or_else(|| self.left_on_nodes(selected)).or_else(|| self.before(selected))
    }

    /// Compares the selected revision, unless this was done already.
    fn summarise(&mut self) {
        let both = self.selected().zip(self.compared_with());
        let of = both.map(|(selected, base)| (base.hash.clone(), selected.hash.clone()));
        if self.summary.of == of {
            return;
        }
        let text = both.and_then(|(to, from)| RevisionText::diff(from, to).ok());
        self.summary = Summary { of, text };
    }

    /// The difference of the selected revision and [`compared_with`](Self::compared_with); `None` if the template of one of
    /// them is unknown.
    pub(crate) fn summary(&self) -> Option<&RevisionText> {
        self.summary.text.as_ref()
    }

    pub(crate) fn is_target(&self, revision: &RevisionView) -> bool {
        self.target.as_ref() == Some(&revision.hash)
    }

    /// The earlier number of a revision whose template came back: `the template of 2, which came back`.
    pub(crate) fn renumbered(&self, revision: &RevisionView) -> Option<&str> {
        self.renumbered.get(&revision.hash).map(String::as_str)
    }

    /// The marks of a revision: whether it is the target, the goal of a roll back, or the marked one.
    pub(crate) fn marks(&self, revision: &RevisionView) -> String {
        let is = |hash: &Option<Str>| hash.as_ref() == Some(&revision.hash);
        let halted = revision.halted.as_ref();
        let marks = [
            (is(&self.current), "current"),
            (is(&self.target), "target"),
            (halted.is_some(), halted.map_or("", |_| "halted")),
            (is(&self.undo), "undo"),
            (is(&self.marked), "MARKED"),
        ];
        marks.iter().filter(|(holds, _)| *holds).map(|(_, mark)| *mark).collect::<Vec<_>>().join(" ")
    }

    /// The images of the revision with this index; those that differ from the revision before it come first.
    fn images(&self, at: usize, words: ImageWords) -> String {
        let revision = &self.revisions[at];
        let before = self.before(revision);
        let is_new = |image: &&(Str, Str)| before.is_some_and(|before| !before.images.contains(image));
        let (new, old): (Vec<_>, Vec<_>) = revision.images.iter().partition(is_new);
        // The summary below the list shows both in full.
        let elsewhere = |container: &Str, image: &Str| {
            let was = before.and_then(|before| before.images.iter().find(|(name, _)| name == container));
            let words = was.and_then(|(_, was)| repository_change(was, image));
            words.map(|words| format!(" ({words})")).unwrap_or_default()
        };
        let image = |(container, image): &(Str, Str)| match (words, revision.images.len()) {
            (ImageWords::InFull, _) => format!("{container}={image}"),
            (ImageWords::Versions, _) => version_of(image).to_owned(),
            (ImageWords::Named, 1) => format!("{}{}", version_of(image), elsewhere(container, image)),
            (ImageWords::Named, _) => format!("{container} {}{}", version_of(image), elsewhere(container, image)),
        };
        new.into_iter().chain(old).map(image).collect::<Vec<_>>().join(", ")
    }

    /// Whether an image of this revision comes from another repository than in the revision before it.
    pub(crate) fn comes_from_elsewhere(&self, revision: &RevisionView) -> bool {
        let Some(before) = self.before(revision) else { return false };
        let was = |name: &Str| before.images.iter().find(|(known, _)| known == name).map(|(_, image)| image);
        revision.images.iter().any(|(name, image)| was(name).is_some_and(|was| repository_change(was, image).is_some()))
    }

    /// The versions of the images in this row; those that are new with this revision come first.
    pub(crate) fn versions(&self, row: usize) -> String {
        match self.rows.get(row) {
            Some(at) if !self.revisions[*at].images.is_empty() => {
                let revision = &self.revisions[*at];
                let both = self.before(revision).map(|before| (before.hash.clone(), revision.hash.clone()));
                let others = both.and_then(|both| self.other_fields.get(&both)).copied().unwrap_or_default();
                format!("{}{}", self.images(*at, ImageWords::Named), other_fields(others))
            }
            Some(at) => format!("{}: not in history", self.revisions[*at].hash),
            None => String::new(),
        }
    }

    /// The same in at most `cells`. Where not even the first container with its version has room, the versions stand alone, and the end of a version that
    /// is cut stays: builds of one version differ there.
    pub(crate) fn versions_within(&self, row: usize, cells: usize) -> String {
        let all = self.versions(row);
        let images = self.rows.get(row).map(|at| self.images(*at, ImageWords::Versions)).unwrap_or_default();
        let is_one = !images.contains(", ");
        // A sign that says that more is cut has room, too.
        let first = if is_one { &images } else { all.split(", ").next().unwrap_or_default() };
        match () {
            () if images.is_empty() || !is_wider(&all, cells) || width(first) + 2 <= cells => {
                fit(&all, cells).into_owned()
            }
            () if is_one => fit_middle(&images, cells).into_owned(),
            () => fit(&images, cells).into_owned(),
        }
    }

    /// Opens the difference of two revisions.
    ///
    /// # Errors
    /// The template of a revision is unknown: the error names the revision.
    pub(crate) fn compare(&mut self, from: &RevisionView, to: &RevisionView) -> Result<(), String> {
        self.text = Some(RevisionText::diff(from, to)?);
        Ok(())
    }

    /// Opens the template of a revision.
    ///
    /// # Errors
    /// The template is unknown.
    pub(crate) fn read(&mut self, revision: &RevisionView) -> Result<(), String> {
        self.text = Some(RevisionText::template(revision)?);
        Ok(())
    }
}

/// A revision as the filter sees it, with the fields of [`RevisionScreen::fields`].
pub(crate) struct RevisionRow<'a> {
    screen: &'a RevisionScreen,
    at: usize,
}

impl FilterRow for RevisionRow<'_> {
    fn searched(&self) -> Cow<'_, str> {
        let revision = &self.screen.revisions[self.at];
        Cow::Owned(format!("{}\n{}\n{}\n{}", revision.called(), self.words(1), self.words(2), self.words(3)))
    }

    fn words(&self, field: usize) -> String {
        let revision = &self.screen.revisions[self.at];
        match field {
            0 => revision.number.map(|number| number.to_string()).unwrap_or_default(),
            1 => revision.hash.to_string(),
            2 => self.screen.images(self.at, ImageWords::InFull),
            3 => revision.change_cause.as_deref().unwrap_or_default().to_owned(),
            _ => revision.pods.to_string(),
        }
    }

    fn shown(&self, _: usize) -> Option<String> {
        None
    }

    fn number(&self, field: usize) -> Option<f64> {
        self.words(field).parse().ok()
    }

    fn labels(&self) -> Option<&Labels> {
        None
    }
}
