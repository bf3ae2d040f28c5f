//! The entries of the table of actions, and whether an action can be done now.

use crate::engine::model::command::Refusal;
use crate::engine::model::event::{Permission, Right, WatchHealth};
use crate::engine::model::presence::Presence;
use crate::engine::report::snapshot::{Snapshot, WatchView};
use crate::tui::daemonset_ref::DaemonSetRef;
use crate::tui::key::Key;
use crate::tui::model::{FleetPage, Model, Page, RolloutPage, RolloutScreen};

/// An entry of the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Action {
    pub(crate) id: ActionId,
    /// The word that is typed after `:`.
    pub(crate) name: &'static str,
    pub(crate) aliases: &'static [&'static str],
    pub(crate) keys: &'static [Key],
    /// One or two words for the footer.
    pub(crate) label: &'static str,
    /// One line for the help.
    pub(crate) help: &'static str,
    pub(crate) group: Group,
    pub(crate) scope: ActionScope,
    pub(crate) guard: Guard,
    /// Whether the action only looks in the present state: it then needs neither arming nor permissions.
    pub(crate) looks: fn(&Model) -> bool,
    /// The argument that may be typed after the action's name.
    pub(crate) argument: Option<Argument>,
    /// The action's place in the footer, if it has one. Only one of two actions with the same place is shown.
    pub(crate) footer: Option<u8>,
    /// Whether the action makes sense in the present state of the rollout; the error says why not.
    pub(crate) when: fn(&Model) -> Result<(), String>,
}

/// Declares [`ActionId`], with a list of all ids in their order.
macro_rules! action_ids {
    ($($id:ident),+ $(,)?) => {
        /// Tells actions apart. `ACTIONS` has an entry for each id, and `commands::run` does each.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(crate) enum ActionId { $($id,)+ }

        impl ActionId {
            pub(super) const ALL: &'static [Self] = &[$(Self::$id,)+];
        }
    };
}

action_ids! {
    Pause, Arm, Step, Partition, Canary, Resume, Image, Drive, StopDriving, Undo, Release, Adopt, Tune, Prewarm, PausePrewarm, RetryPrewarm, CancelPrewarm, ReadOnly, Open, NodeLog, NodePrevious, NodeEvents, NodeDescribe, NodeYaml, NodeWhy, NextTab, PreviousTab, NextContainer, Follow, Wrap, Timestamps, FindNext, FindPrevious, LogCommand, Back, Filter, NextHit, PreviousHit, Sort, Freeze, Watches, Diagnose, Timeline, AllSteps, History, Diff, Template, Mark, MarkNode, Unmark, Map, Site, Nodes, GoTo, Fleet, Namespace, Context, Up, Down, HalfUp, HalfDown, PageUp, PageDown, Top, Bottom, Left, Right, Copy, CopyWhat, Help, Palette, Theme, Glyphs, Save, Repaint, Suspend, Quit,
}

/// The argument that may be typed after an action's name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Argument {
    pub(crate) hint: &'static str,
    /// The possible arguments, for completion; empty if the argument is free text.
    pub(crate) known: fn(&Model) -> Vec<String>,
}

/// Sections of the help.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub(crate) enum Group {
    Move,
    Look,
    Change,
    Console,
}

impl Group {
    pub(crate) const ALL: [(Self, &'static str); 4] =
        [(Self::Change, "Change the rollout"), (Self::Look, "Look"), (Self::Move, "Move"), (Self::Console, "Console")];
}

/// The part of the console where an action makes sense.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ActionScope {
    Anywhere,
    Rollout,
    /// On a rollout, or on a row of the list of DaemonSets.
    OneDaemonSet,
    /// On the pre-warm screen.
    Prewarm,
    /// On the list of nodes, or on the page of one.
    Nodes,
    /// Where the revisions are listed.
    Revisions,
    /// On the page of a node.
    Node,
    /// Where the timeline is shown.
    Timeline,
    /// On the list of nodes, or on the map.
    NodeRows,
}

impl ActionScope {
    /// Whether this is a screen of a rollout: keys bound on such a screen take precedence there.
    pub(crate) fn is_screen(self) -> bool {
        match self {
            Self::Prewarm | Self::Node | Self::Nodes | Self::Revisions | Self::Timeline | Self::NodeRows => true,
            Self::Anywhere | Self::Rollout | Self::OneDaemonSet => false,
        }
    }
}

/// The conditions that have to be met before an action works.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Guard {
    /// The action changes nothing in the cluster.
    Read,
    /// The action takes no node down: it is confirmed, and works while read-only.
    Safety,
    /// The action changes the cluster: it works only while armed, and only if the API server permits the change.
    Write(&'static [Right]),
}

impl Action {
    pub(crate) fn in_scope(&self, model: &Model) -> bool {
        match (self.scope, &model.page) {
            (ActionScope::Anywhere | ActionScope::OneDaemonSet, _) | (ActionScope::Rollout, Page::Rollout(_)) => true,
            (
                ActionScope::Rollout
                | ActionScope::Prewarm
                | ActionScope::Nodes
                | ActionScope::Node
                | ActionScope::Revisions
                | ActionScope::Timeline
                | ActionScope::NodeRows,
                Page::Fleet,
            ) => false,
            (ActionScope::Revisions, Page::Rollout(_)) => {
                model.rollout().is_some_and(|page| page.revisions().is_some())
            }
            (ActionScope::NodeRows, Page::Rollout(_)) => model.rollout().is_some_and(RolloutPage::lists_nodes),
            (ActionScope::Timeline, Page::Rollout(_)) => {
                model.rollout().is_some_and(|page| page.timeline().is_some() && page.node_page.is_none())
            }
            (ActionScope::Nodes, Page::Rollout(_)) => model.rollout().is_some_and(|page| match page.screen {
                RolloutScreen::Nodes | RolloutScreen::Prewarm(_) => true,
                RolloutScreen::Timeline(_) | RolloutScreen::Revisions(_) => false,
            }),
            (ActionScope::Prewarm, Page::Rollout(_)) => {
                model.rollout().is_some_and(|page| page.prewarm().is_some() && page.node_page.is_none())
            }
            (ActionScope::Node, Page::Rollout(_)) => model.node_page().is_some(),
        }
    }

    /// Whether the action can be done now.
    ///
    /// # Errors
    /// Says what is missing, and how to get it.
    pub(crate) fn available(&self, model: &Model) -> Result<(), String> {
        if !self.in_scope(model) {
            let called = self.called();
            return Err(match self.scope {
                ActionScope::Prewarm if model.rollout().is_some() => {
                    format!("{called} works on the pre-warm screen: {} opens it", ActionId::Prewarm.key())
                }
                ActionScope::Node if model.rollout().is_some() => {
                    format!("{called} works on the page of a node: {} opens it", ActionId::Open.key())
                }
                ActionScope::Nodes | ActionScope::NodeRows if model.rollout().is_some() => {
                    format!("{called} works on the nodes: {} goes back to them", ActionId::Back.key())
                }
                ActionScope::Timeline if model.rollout().is_some() => {
                    format!("{called} works on the timeline: {} shows it", ActionId::Timeline.key())
                }
                ActionScope::Revisions if model.rollout().is_some() => {
                    format!("{called} works on the revisions: {} lists them", ActionId::History.key())
                }
                _ => {
                    // The action could be done on more than one node.
                    let place = match self.scope {
                        ActionScope::Nodes | ActionScope::NodeRows | ActionScope::Node => "a node of an open DaemonSet",
                        _ => "an open DaemonSet",
                    };
                    match model.fleet.as_ref().and_then(FleetPage::current) {
                        Some(DaemonSetRef { namespace, name }) => {
                            format!("{called} works on {place}: enter opens {namespace}/{name} first")
                        }
                        None => format!("{called} works on {place}: {}", no_row(model)),
                    }
                }
            });
        }
        if self.only_looks(model) {
            return (self.when)(model);
        }
        if self.scope == ActionScope::OneDaemonSet && model.page == Page::Fleet {
            if model.fleet.as_ref().and_then(FleetPage::current).is_none() {
                return Err(format!("{} works on a DaemonSet of the list: {}", self.called(), no_row(model)));
            }
            // The action opens the DaemonSet first; its other conditions are judged there.
            return (self.when)(model);
        }
        let page = model.rollout().ok_or("open a DaemonSet first, with enter")?;
        if page.stopped {
            return Err("the rollout's driver has stopped: go back with esc and open it again".into());
        }
        let snapshot = page.snapshot().ok_or("still loading: nothing is known yet")?;
        present(snapshot)?;
        if matches!(self.guard, Guard::Write(_)) {
            loaded(snapshot)?;
            self.readable(snapshot)?;
        }
        // The condition is judged before the arming, so that nobody arms for an action that is refused afterwards.
        (self.when)(model)?;
        // To stop driving is as safe as a pause: the key that drives does that while this console drives.
        if self.id == ActionId::Drive && page.driven_by_us() {
            return Ok(());
        }
        if matches!(self.guard, Guard::Write(_)) && model.armed_for().is_none() {
            let then = match self.keys.first() {
                Some(key) => format!("{key} {}", self.label_on(page)),
                None => self.called(),
            };
            return Err(format!("read-only: A arms for 10 minutes, then {then}"));
        }
        self.permitted(model)
    }

    /// Whether the API server permits what the action writes, as far as is known.
    ///
    /// # Errors
    /// Says which right is missing.
    pub(crate) fn permitted(&self, model: &Model) -> Result<(), String> {
        let (Guard::Write(rights), false) = (self.guard, self.only_looks(model)) else { return Ok(()) };
        let Some(snapshot) = model.rollout().and_then(|page| page.snapshot()) else { return Ok(()) };
        // To stop driving writes no more than who drives does anyway.
        if self.id == ActionId::Drive && model.rollout().is_some_and(RolloutPage::driven_by_us) {
            return Ok(());
        }
        let denied = |right: &&Right| {
            snapshot.rights.iter().any(|(known, permission)| known == *right && *permission == Permission::Denied)
        };
        match rights.iter().find(denied) {
            Some(right) => Err(format!("not permitted: {right}; ask for a role that allows it")),
            None => Ok(()),
        }
    }

    /// While the record cannot be read, the engine refuses every change but those that put an end to that.
    fn readable(&self, snapshot: &Snapshot) -> Result<(), String> {
        let ends_that = matches!(self.id, ActionId::Adopt | ActionId::Tune | ActionId::Release);
        match snapshot.unreadable_record() {
            Some(why) if !ends_that => Err(unreadable_in_keys(&Refusal::RecordUnreadable { why: why.clone() })),
            Some(_) | None => Ok(()),
        }
    }

    /// Whether the action concerns the current row of the list of nodes, or moves from it.
    pub(crate) fn is_about_the_current_row(&self) -> bool {
        let of_rows = matches!(self.scope, ActionScope::Nodes | ActionScope::Node | ActionScope::NodeRows);
        let shows = matches!(self.id, ActionId::Open | ActionId::Copy | ActionId::CopyWhat | ActionId::Map);
        let moves = matches!(
            self.id,
            ActionId::Up
                | ActionId::Down
                | ActionId::HalfUp
                | ActionId::HalfDown
                | ActionId::PageUp
                | ActionId::PageDown
                | ActionId::NextHit
                | ActionId::PreviousHit
        );
        of_rows || shows || moves
    }

    /// Whether the action changes nothing in the cluster in the present state.
    pub(crate) fn only_looks(&self, model: &Model) -> bool {
        self.guard == Guard::Read || (self.looks)(model)
    }

    /// The action's label on this page: one key starts driving and stops it.
    fn label_on(&self, page: &RolloutPage) -> &'static str {
        if self.id == ActionId::Drive && page.driven_by_us() {
            ActionId::StopDriving.action().label
        } else {
            self.label
        }
    }

    /// The action as the help names it: its key and its label; its name if it has no key.
    fn called(&self) -> String {
        self.keys.first().map_or_else(|| format!(":{}", self.name), |key| format!("{key} {}", self.label))
    }

    /// The action's first key, or its name if it has no key.
    pub(crate) fn key(&self) -> String {
        self.keys.first().map_or_else(|| format!(":{}", self.name), Key::to_string)
    }
}

/// The refusal of a change while the record cannot be read, with the keys that put an end to that.
pub(crate) fn unreadable_in_keys(refusal: &Refusal) -> String {
    format!("{refusal}; {} begins a new one, {} releases", ActionId::Tune.key(), ActionId::Release.key())
}

/// The reason why no DaemonSet of the list is selected, with the remedy.
fn no_row(model: &Model) -> &'static str {
    let fleet = model.fleet.as_ref();
    match fleet.map(|page| &page.fleet.health) {
        None | Some(WatchHealth::Loading) => "the list is still loading; enter opens one of it then",
        Some(WatchHealth::Forbidden { .. }) => "you may not list them here; :ns NAME lists one namespace",
        Some(WatchHealth::Down { .. } | WatchHealth::Lagging { .. }) => {
            "the list cannot be read now; it is tried again"
        }
        Some(WatchHealth::Live) if fleet.is_some_and(|page| !page.filter.is_all()) => {
            "none passes the filter; esc clears it"
        }
        Some(WatchHealth::Live) => "there is none here; :ns all lists all namespaces",
    }
}

/// What a dialog counts and fills in is not known before everything has been listed once. A pause does not wait for that.
fn loaded(snapshot: &Snapshot) -> Result<(), String> {
    let is_awaited = |watch: &&WatchView| watch.watched.is_needed() && watch.health == WatchHealth::Loading;
    let awaited: Vec<String> =
        snapshot.watches.iter().filter(is_awaited).map(|watch| watch.watched.to_string()).collect();
    match awaited.is_empty() {
        true => Ok(()),
        false => Err(format!("still loading: waits for {}; press it again in a moment", awaited.join(", "))),
    }
}

fn present(snapshot: &Snapshot) -> Result<(), String> {
    match snapshot.daemonset {
        Presence::Present => Ok(()),
        Presence::Loading => Err("still loading: nothing is known yet".into()),
        Presence::Absent => Err(format!("there is no DaemonSet {}/{}", snapshot.namespace, snapshot.name)),
    }
}
