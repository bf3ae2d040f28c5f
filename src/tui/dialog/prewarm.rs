//! The form of pre-warming: the images, the nodes, and how many nodes may pull at once.

use std::collections::BTreeMap;
use std::sync::Arc;

use crossterm::event::KeyCode;
use tui_input::Input;

use super::field::{Handled, field, turns};
use super::image::{OfferedImage, TypedImage, containers_of, image_key, typed_images};
use super::selector::{Canary, label_doubt};
use crate::engine::model::Str;
use crate::engine::model::command::{Command, PrewarmCommand};
use crate::engine::model::image::ImageRef;
use crate::engine::model::prewarm::{PrewarmLimits, PrewarmMethod, PrewarmNodes, PrewarmSource};
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::settings::{Limit, Pace};
use crate::engine::model::site::SiteLabel;
use crate::engine::report::snapshot::{RevisionView, Snapshot};
use crate::tui::key::Key;

/// The images to pre-warm.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ImagesChoice {
    /// Those of the template.
    Template,
    /// Those that are typed.
    Typed,
    /// Those of an earlier revision.
    Revision,
}

/// The nodes to pre-warm.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NodesChoice {
    All,
    ThisStep,
    NextStep,
    Selector,
    /// The node that was selected when the form was opened.
    Node,
}

/// The lines of the form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PrewarmLine {
    Images,
    /// The image of this container.
    Image(usize),
    Revision,
    Nodes,
    Selector,
    MaxPulling,
    MaxPullingPerSite,
    SiteLabel,
    Pace,
    Method,
}

/// The form.
#[derive(Debug)]
pub(crate) struct PrewarmForm {
    pub(crate) images: ImagesChoice,
    pub(crate) containers: Vec<TypedImage>,
    pub(crate) known: Arc<[OfferedImage]>,
    /// The revisions that can be gone back to, newest first.
    pub(crate) revisions: Vec<RevisionView>,
    pub(crate) revision: usize,
    pub(crate) nodes: NodesChoice,
    pub(crate) selector: Canary,
    pub(crate) node: Option<Str>,
    pub(crate) max_pulling: Input,
    pub(crate) max_pulling_per_site: Input,
    /// If empty, the label that is in force.
    pub(crate) site_label: Input,
    pub(crate) pace: Pace,
    pub(crate) method: PrewarmMethod,
    chosen: usize,
}

impl PrewarmForm {
    /// The form as `:prewarm` fills it in; see [`typed_images`]. If every node has the template's images already, the form begins with images to be
    /// typed.
    ///
    /// # Errors
    /// The containers are unknown, or the text names no image of theirs.
    pub(crate) fn new(
        snapshot: &Snapshot,
        node: Option<Str>,
        known: Arc<[OfferedImage]>,
        change: &str,
    ) -> Result<Self, String> {
        // Without any, the template's images can be pre-warmed still.
        let mut containers =
            containers_of(snapshot).or_else(|why| if change.is_empty() { Ok(Vec::new()) } else { Err(why) })?;
        let typed = typed_images(snapshot, &mut containers, "prewarm", change)?;
        let current = snapshot.to.as_ref().map(|revision| &revision.hash);
        let from = snapshot.from.as_ref().map(|revision| &revision.hash);
        let other = |revision: &&RevisionView| revision.number.is_some() && Some(&revision.hash) != current;
        let revisions: Vec<RevisionView> = snapshot.revisions.iter().filter(other).cloned().collect();
        let revision = revisions.iter().position(|revision| Some(&revision.hash) == from).unwrap_or(0);
        let outdated = snapshot.counts.committed < snapshot.counts.nodes;
        let images = if outdated && change.is_empty() { ImagesChoice::Template } else { ImagesChoice::Typed };
        let limits = snapshot.prewarm.as_ref().map(|view| view.request.limits.clone()).unwrap_or_default();
        let limit = |limit: Limit| Input::new(limit.at().map(|limit| limit.to_string()).unwrap_or_default());
        Ok(Self {
            images,
            containers,
            known,
            revisions,
            revision,
            nodes: NodesChoice::All,
            selector: Canary::new(""),
            node,
            max_pulling: limit(limits.max_pulling),
            max_pulling_per_site: limit(limits.max_pulling_per_site),
            pace: limits.pace,
            site_label: {
                let label = limits.site_label.filter(|label| *label == snapshot.site_label);
                Input::new(label.map(|label| label.to_string()).unwrap_or_default())
            },
            method: snapshot.prewarm.as_ref().map(|view| view.request.method).unwrap_or_default(),
            chosen: usize::from(images == ImagesChoice::Typed) + typed,
        })
    }

    /// The form for the images of an earlier revision, on all nodes.
    ///
    /// # Errors
    /// When that revision is not in the history any more, or when the DaemonSet's containers are not known.
    pub(crate) fn of_revision(snapshot: &Snapshot, hash: &str) -> Result<Self, String> {
        let form = Self::new(snapshot, None, Arc::default(), "")?;
        let revision = form.revisions.iter().position(|revision| *revision.hash == *hash);
        let revision = revision.ok_or_else(|| format!("revision {hash} is not there any more"))?;
        Ok(Self { images: ImagesChoice::Revision, revision, chosen: 1, ..form })
    }

    /// The lines of the form in its present state.
    pub(crate) fn lines(&self) -> Vec<PrewarmLine> {
        let mut lines = vec![PrewarmLine::Images];
        match self.images {
            ImagesChoice::Template => {}
            ImagesChoice::Typed => lines.extend((0..self.containers.len()).map(PrewarmLine::Image)),
            ImagesChoice::Revision => lines.push(PrewarmLine::Revision),
        }
        lines.push(PrewarmLine::Nodes);
        lines.extend((self.nodes == NodesChoice::Selector).then_some(PrewarmLine::Selector));
        lines.push(PrewarmLine::MaxPulling);
        if self.method == PrewarmMethod::Pods {
            // Pre-warming by a StatefulSet ignores sites.
            lines.extend([PrewarmLine::MaxPullingPerSite, PrewarmLine::SiteLabel, PrewarmLine::Pace]);
        }
        lines.push(PrewarmLine::Method);
        lines
    }

    /// The line that is chosen.
    pub(crate) fn line(&self) -> PrewarmLine {
        self.lines().get(self.chosen).copied().unwrap_or(PrewarmLine::Images)
    }

    pub(crate) fn command(&self) -> Result<Command, String> {
        Ok(Command::Prewarm(PrewarmCommand::Start {
            source: self.source()?,
            nodes: self.nodes()?,
            limits: match self.method {
                PrewarmMethod::Pods => PrewarmLimits {
                    max_pulling: limit(&self.max_pulling)?,
                    max_pulling_per_site: limit(&self.max_pulling_per_site)?,
                    site_label: self.site_label()?,
                    pace: self.pace,
                },
                // Settings that the form of a StatefulSet does not show are left unset.
                PrewarmMethod::StatefulSet => {
                    PrewarmLimits { max_pulling: limit(&self.max_pulling)?, ..PrewarmLimits::default() }
                }
            },
            method: self.method,
        }))
    }

    /// A probable mistake: a selector or a site label that no node has.
    pub(super) fn doubt(&self, snapshot: &Snapshot) -> Option<String> {
        let selector = (self.nodes == NodesChoice::Selector).then(|| self.selector.doubt(snapshot)).flatten();
        let asks_for_sites = self.method == PrewarmMethod::Pods;
        selector.or_else(|| label_doubt(self.site_label.value().trim(), snapshot).filter(|_| asks_for_sites))
    }

    fn site_label(&self) -> Result<Option<SiteLabel>, String> {
        match self.site_label.value().trim() {
            "" => Ok(None),
            key => key.parse().map(Some),
        }
    }

    fn source(&self) -> Result<PrewarmSource, String> {
        match self.images {
            ImagesChoice::Template => Ok(PrewarmSource::Template),
            ImagesChoice::Typed => {
                let changed = self.containers.iter().filter(|(_, now, input)| input.value().trim() != &**now);
                let images: BTreeMap<String, ImageRef> = changed
                    .map(|(name, _, input)| Ok((name.to_string(), input.value().trim().parse()?)))
                    .collect::<Result<_, String>>()?;
                match images.is_empty() {
                    true => {
                        Err("change an image; or go up to the first line, where left and right choose other images"
                            .into())
                    }
                    false => Ok(PrewarmSource::Images(images)),
                }
            }
            ImagesChoice::Revision => {
                let revision = self.revisions.get(self.revision).ok_or("there is no other revision to go back to")?;
                Ok(PrewarmSource::Revision(revision.hash.clone()))
            }
        }
    }

    fn nodes(&self) -> Result<PrewarmNodes, String> {
        match (self.nodes, &self.node) {
            (NodesChoice::All, _) => Ok(PrewarmNodes::All),
            (NodesChoice::ThisStep, _) => Ok(PrewarmNodes::LetGo),
            (NodesChoice::NextStep, _) => Ok(PrewarmNodes::StepAhead),
            (NodesChoice::Node, Some(name)) => Ok(PrewarmNodes::Node(name.clone())),
            (NodesChoice::Node, None) => Err("no node is selected".into()),
            (NodesChoice::Selector, _) => match self.selector.selector()? {
                empty if empty.is_empty() => Err("type a label selector, such as line=line3; right completes".into()),
                selector => Ok(PrewarmNodes::Selector(selector)),
            },
        }
    }

    /// The text field of the chosen line, if it has one.
    pub(crate) fn field(&mut self) -> Option<&mut Input> {
        match self.line() {
            PrewarmLine::Images
            | PrewarmLine::Revision
            | PrewarmLine::Nodes
            | PrewarmLine::Pace
            | PrewarmLine::Method => None,
            PrewarmLine::Image(at) => self.containers.get_mut(at).map(|(_, _, input)| input),
            PrewarmLine::Selector => Some(&mut self.selector.input),
            PrewarmLine::MaxPulling => Some(&mut self.max_pulling),
            PrewarmLine::MaxPullingPerSite => Some(&mut self.max_pulling_per_site),
            PrewarmLine::SiteLabel => Some(&mut self.site_label),
        }
    }

    pub(crate) fn key(&mut self, key: Key, snapshot: Option<&Snapshot>) -> Handled {
        match (key.code, self.line()) {
            (KeyCode::Up, _) => {
                self.chosen = self.chosen.saturating_sub(1);
                Handled::Yes
            }
            (KeyCode::Down, _) => {
                self.chosen = (self.chosen + 1).min(self.lines().len() - 1);
                Handled::Yes
            }
            (_, PrewarmLine::Selector) => self.selector.key(key, snapshot),
            (_, PrewarmLine::Image(at)) => match self.containers.get_mut(at) {
                Some((_, _, input)) => image_key(input, &self.known, key),
                None => Handled::No,
            },
            (_, line) => match self.field() {
                Some(input) => field(input, key),
                None if turns(key) => {
                    self.turn(line, matches!(key.code, KeyCode::Left | KeyCode::Char('h')));
                    Handled::Changed
                }
                None => Handled::No,
            },
        }
    }

    /// Switches a line to its next choice, or back to the one before.
    fn turn(&mut self, line: PrewarmLine, back: bool) {
        match line {
            PrewarmLine::Images => {
                let revision = (!self.revisions.is_empty()).then_some(ImagesChoice::Revision);
                let all: Vec<_> = [ImagesChoice::Template, ImagesChoice::Typed].into_iter().chain(revision).collect();
                self.images = after(&all, self.images, back);
            }
            PrewarmLine::Revision => {
                let all: Vec<usize> = (0..self.revisions.len()).collect();
                self.revision = after(&all, self.revision, back);
            }
            PrewarmLine::Nodes => {
                let node = self.node.is_some().then_some(NodesChoice::Node);
                let all = [NodesChoice::All, NodesChoice::ThisStep, NodesChoice::NextStep, NodesChoice::Selector];
                let all: Vec<_> = all.into_iter().chain(node).collect();
                self.nodes = after(&all, self.nodes, back);
            }
            PrewarmLine::Method => {
                self.method = after(&[PrewarmMethod::Pods, PrewarmMethod::StatefulSet], self.method, back);
                // The method decides which lines stand above it; the method, the last line, stays chosen.
                self.chosen = self.lines().len() - 1;
            }
            PrewarmLine::Pace => self.pace = after(&[Pace::Fixed, Pace::Auto], self.pace, back),
            PrewarmLine::Image(_)
            | PrewarmLine::Selector
            | PrewarmLine::MaxPulling
            | PrewarmLine::MaxPullingPerSite
            | PrewarmLine::SiteLabel => {}
        }
    }
}

/// The choice after `now`, or before it; after the last comes the first.
fn after<T: Copy + PartialEq>(all: &[T], now: T, back: bool) -> T {
    let at = all.iter().position(|one| *one == now).unwrap_or(0);
    let to = if back { at + all.len() - 1 } else { at + 1 };
    all.iter().cycle().nth(to).copied().unwrap_or(now)
}

fn limit(input: &Input) -> Result<Limit, String> {
    match input.value().trim() {
        "" => Ok(Limit::Default),
        text => Ok(Limit::At(text.parse::<IntOrPercent>()?)),
    }
}
