//! New images, a line per container; the completions of a line; and the differences between two image references.

use std::collections::BTreeMap;
use std::sync::Arc;

use crossterm::event::KeyCode;
use tui_input::Input;

use super::budget::BudgetField;
use super::drift::DriftChoice;
use super::field::{Handled, complete, field};
use crate::engine::model::Str;
use crate::engine::model::command::Command;
use crate::engine::model::image::{
    ImageRef, change_warnings, is_by_digest, is_same_repository, repository_of, version_of,
};
use crate::engine::model::rollout_event::RevisionHalt;
use crate::engine::model::template::ContainerRole;
use crate::engine::report::snapshot::Snapshot;
use crate::tui::key::Key;

/// An image that completes a line, and the place that it is known from: `rev 14`, `ds/edge/log-shipper`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct OfferedImage {
    pub(crate) image: Str,
    pub(crate) from: String,
    /// The halt at the newest revision that has this image, if the rollout halted at each one that has it.
    pub(crate) halted: Option<RevisionHalt>,
}

/// The images of the DaemonSet's revisions, newest first, then those of `others`; each once.
pub(crate) fn known_images<'a>(snapshot: &Snapshot, others: impl Iterator<Item = &'a Snapshot>) -> Arc<[OfferedImage]> {
    let mut known: Vec<OfferedImage> = Vec::new();
    let mut add =
        |image: &Str, from: String, halted: Option<&RevisionHalt>| match known.iter_mut().find(|it| it.image == *image)
        {
            // An image that ran well in another revision is not the reason for the halt.
            Some(known) => {
                known.halted = known.halted.take().filter(|_| halted.is_some());
            }
            None => known.push(OfferedImage { image: image.clone(), from, halted: halted.cloned() }),
        };
    for revision in snapshot.revisions.iter() {
        for (_, image) in &revision.images {
            let from = revision.number.map_or_else(|| "a revision".to_owned(), |number| format!("rev {number}"));
            add(image, from, revision.halted.as_ref());
        }
    }
    for other in others {
        for (_, image) in other.to.iter().flat_map(|revision| &revision.images) {
            if known.iter().all(|known| known.image != *image) {
                let from = format!("ds/{}/{}", other.namespace, other.name);
                known.push(OfferedImage { image: image.clone(), from, halted: None });
            }
        }
    }
    known.into()
}

/// The known images that begin with the typed text, without the typed text itself.
pub(crate) fn completions<'a>(known: &'a [OfferedImage], typed: &'a str) -> impl Iterator<Item = &'a OfferedImage> {
    known.iter().filter(move |known| known.image.starts_with(typed) && *known.image != *typed)
}

/// A key for a line with an image: right, at the end of the text, completes the image.
pub(super) fn image_key(input: &mut Input, known: &[OfferedImage], key: Key) -> Handled {
    let typed = input.value().to_owned();
    match complete(input, key, || completions(known, &typed).map(|known| known.image.to_string()).collect()) {
        true => Handled::Changed,
        false => field(input, key),
    }
}

/// The differences between two image references.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ImageDifference {
    /// Both references in short: their versions if only these differ, else both in full.
    pub(crate) words: String,
    /// Differences that are probably a mistake.
    pub(crate) warnings: Vec<String>,
}

impl ImageDifference {
    pub(crate) fn of(was: &str, new: &str, arrow: &str) -> Self {
        let words = match is_same_repository(was, new) {
            true => format!("{} {arrow} {}", version(was), version(new)),
            false => format!("{was} {arrow} {new}"),
        };
        Self { words, warnings: change_warnings(was, new, arrow) }
    }
}

/// The tag, and the beginning of the digest where there is one: `v1.9.0@sha256:0f0f0f0f0f0f…`.
fn version(image: &str) -> String {
    let Some((_, digest)) = image.rsplit_once('@').filter(|_| is_by_digest(image)) else {
        return version_of(image).to_owned();
    };
    let short = match digest.split_once(':') {
        Some((algorithm, sum)) if sum.len() > 12 => {
            format!("{algorithm}:{}…", sum.chars().take(12).collect::<String>())
        }
        _ => digest.to_owned(),
    };
    match version_of(image) {
        tag if tag == digest => short,
        tag => format!("{tag}@{short}"),
    }
}

/// Container, image now, image as typed.
pub(crate) type TypedImage = (Str, Str, Input);

/// The containers of the template, each with its present image to be changed.
///
/// # Errors
/// When they are not known.
pub(super) fn containers_of(snapshot: &Snapshot) -> Result<Vec<TypedImage>, String> {
    let images = snapshot.to.as_ref().map(|revision| revision.images.clone()).unwrap_or_default();
    let containers: Vec<TypedImage> =
        images.into_iter().map(|(name, image)| (name, image.clone(), Input::new(image.to_string()))).collect();
    match containers.is_empty() {
        true => Err("the DaemonSet's containers are not known: its revisions cannot be seen".into()),
        false => Ok(containers),
    }
}

/// Fills in what was typed behind `:image` or `:prewarm`, as on the command line: words such as `container=image`, `*=image` for all main containers;
/// or an image alone, for the first container. An image that can be a tag, such as `v3`, is one: the repository stays as it is. Returns the line that
/// was filled in last.
///
/// # Errors
/// When a container that is named is not there, or no image is.
pub(super) fn typed_images(
    snapshot: &Snapshot,
    containers: &mut [TypedImage],
    command: &str,
    change: &str,
) -> Result<usize, String> {
    let mut chosen = 0;
    for word in change.split_whitespace() {
        let (name, image) = word.split_once('=').map_or((None, word), |(name, image)| (Some(name), image));
        if name.is_none() && containers.iter().any(|(container, ..)| **container == *word) {
            return Err(format!("`{word}` is a container: `:{command} {word}=REPOSITORY:TAG`"));
        }
        let named: Vec<usize> = (0..containers.len())
            .filter(|at| match name {
                Some("*") => is_main(snapshot, &containers[*at].0),
                Some(name) => *containers[*at].0 == *name,
                None => *at == 0,
            })
            .collect();
        let Some(last) = named.last() else {
            let known: Vec<&str> = containers.iter().map(|(container, ..)| &**container).collect();
            return Err(format!(
                "there is no container `{}`; there are {}",
                name.unwrap_or_default(),
                known.join(", ")
            ));
        };
        if image.is_empty() {
            return Err(format!("`{word}` names no image: write `:{command} {word}IMAGE`"));
        }
        chosen = *last;
        for at in named {
            let (_, now, input) = &mut containers[at];
            *input = match image.contains(['/', ':', '@']) {
                true => Input::new(image.to_owned()),
                false => Input::new(format!("{}:{image}", repository_of(now))),
            };
        }
    }
    Ok(chosen)
}

/// Whether it is a main container, or may be one: its template may not be known.
fn is_main(snapshot: &Snapshot, container: &str) -> bool {
    let template = snapshot.to.as_ref().and_then(|revision| revision.template.as_ref());
    let known = template.and_then(|template| template.containers().iter().find(|known| *known.name == *container));
    known.is_none_or(|known| known.role == ContainerRole::Main)
}

/// A line of the form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ImageLine {
    /// The image of this container.
    Image(usize),
    Budget,
    Drift,
}

/// The form.
#[derive(Debug)]
pub(crate) struct ImageForm {
    pub(crate) containers: Vec<TypedImage>,
    pub(crate) known: Arc<[OfferedImage]>,
    pub(crate) budget: BudgetField,
    pub(crate) drift: DriftChoice,
    chosen: usize,
}

impl ImageForm {
    /// The form as `:image` fills it in; see [`typed_images`].
    ///
    /// # Errors
    /// When the containers are not known, or the text names no image of theirs.
    pub(crate) fn new(snapshot: &Snapshot, known: Arc<[OfferedImage]>, change: &str) -> Result<Self, String> {
        let mut containers = containers_of(snapshot)?;
        let chosen = typed_images(snapshot, &mut containers, "image", change)?;
        let (budget, drift) = (BudgetField::of(snapshot), DriftChoice::of(snapshot));
        Ok(Self { containers, known, budget, drift, chosen })
    }

    pub(crate) fn lines(&self) -> Vec<ImageLine> {
        let mut lines: Vec<ImageLine> = (0..self.containers.len()).map(ImageLine::Image).collect();
        lines.extend(self.budget.required.then_some(ImageLine::Budget));
        lines.push(ImageLine::Drift);
        lines
    }

    /// The line that is chosen.
    pub(crate) fn line(&self) -> ImageLine {
        self.lines().get(self.chosen).copied().unwrap_or(ImageLine::Drift)
    }

    pub(super) fn command(&self) -> Result<Command, String> {
        let changed = self.containers.iter().filter(|(_, now, input)| input.value().trim() != &**now);
        let images: BTreeMap<String, ImageRef> = changed
            .map(|(name, _, input)| Ok((name.to_string(), input.value().trim().parse()?)))
            .collect::<Result<_, String>>()?;
        if images.is_empty() {
            return Err(match self.containers.len() {
                1 => "the same image as now: change it".into(),
                _ => "the same images as now: change one".into(),
            });
        }
        Ok(Command::SetImage(images).under(self.drift.tuning().and(self.budget.tuning()?)))
    }

    /// The text field of the chosen line, if it has one.
    pub(super) fn field(&mut self) -> Option<&mut Input> {
        match self.line() {
            ImageLine::Image(at) => self.containers.get_mut(at).map(|(_, _, input)| input),
            ImageLine::Budget => Some(&mut self.budget.input),
            ImageLine::Drift => None,
        }
    }

    pub(super) fn key(&mut self, key: Key) -> Handled {
        match (key.code, self.line()) {
            (KeyCode::Up, _) => self.chosen = self.chosen.saturating_sub(1),
            (KeyCode::Down, _) => self.chosen = (self.chosen + 1).min(self.lines().len() - 1),
            (_, ImageLine::Image(at)) => {
                let Some((_, _, input)) = self.containers.get_mut(at) else { return Handled::No };
                return image_key(input, &self.known, key);
            }
            (_, ImageLine::Budget) => return field(&mut self.budget.input, key),
            (_, ImageLine::Drift) => return self.drift.key(key),
        }
        Handled::Yes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_is_said_and_another_repository_is_warned_of() {
        let (first, second) = (format!("sha256:{}", "0f".repeat(32)), format!("sha256:{}", "a1".repeat(32)));
        let by_digest = |tag: &str, digest: &str| format!("r.example/edge/agent{tag}@{digest}");
        for (was, new, words, warnings) in [
            ("r.example/edge/agent:v1", "r.example/edge/agent:v2", "v1 > v2", ""),
            // The long form of the same.
            ("nginx", "docker.io/library/nginx:1.27", "latest > 1.27", ""),
            (
                "r.example/edge/agent:v1",
                "r.example/edge/agnet:v1",
                "r.example/edge/agent:v1 > r.example/edge/agnet:v1",
                "repository changes!",
            ),
            (
                "r.example/edge/agent:v1",
                "edge/agent:v1",
                "r.example/edge/agent:v1 > edge/agent:v1",
                "registry changes! r.example > docker.io",
            ),
            ("r.example/edge/agent:v1", &by_digest("", &first), "v1 > sha256:0f0f0f0f0f0f…", ""),
            (
                &by_digest(":v1", &first),
                &by_digest(":v1", &second),
                "v1@sha256:0f0f0f0f0f0f… > v1@sha256:a1a1a1a1a1a1…",
                "",
            ),
            (
                &by_digest("", &first),
                "r.example/edge/agent:v2",
                "sha256:0f0f0f0f0f0f… > v2",
                "no longer by digest: what the tag names can change",
            ),
        ] {
            let difference = ImageDifference::of(was, new, ">");
            assert_eq!((difference.words.as_str(), difference.warnings.join("; ").as_str()), (words, warnings));
        }
    }
}
