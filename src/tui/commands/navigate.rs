//! Pages and their lists: opening, selecting, filtering, sorting.

use super::effects::{Effects, refuse};
use super::revisions;
use super::{map, node};
use crate::engine::model::Str;
use crate::engine::model::event::WatchHealth;
use crate::engine::report::story::Story;
use crate::tui::action::{ActionId, key_of};
use crate::tui::daemonset_ref::DaemonSetRef;
use crate::tui::filter::ESC_CLEARS_IT;
use crate::tui::list::Move;
use crate::tui::message::ConsoleEffect;
use crate::tui::model::{FleetPage, Model, Overlay, Page, RolloutPage, RolloutScreen};
use crate::tui::node_page::NodeTab;
use crate::tui::palette;
use crate::tui::prewarm::PrewarmList;
use crate::tui::prompt::Prompt;
use crate::tui::status::StatusSeverity;
use crate::tui::timeline::Timeline;
use crate::tui::view;
use crate::tui::words::meant;

/// The number of closed rollouts whose story is kept.
const CLOSED_STORIES: usize = 8;

pub(super) fn move_by(model: &mut Model, movement: Move) -> Effects {
    if map::is_seen(model) {
        return map::move_by(model, movement);
    }
    let height = view::list_height(model);
    match &model.page {
        Page::Fleet => {
            if let Some(page) = &mut model.fleet {
                let targets: Vec<DaemonSetRef> = (0..page.rows.len()).filter_map(|row| page.target(row)).collect();
                page.list.go(movement, targets.len(), height, |row| targets[row].clone());
            }
        }
        Page::Rollout(_) => {
            if model.node_page().is_some() {
                node::move_by(model, movement);
                return Vec::new();
            }
            let cells = model.size.width;
            if let Some(page) = model.rollout_mut() {
                match &mut page.screen {
                    RolloutScreen::Timeline(timeline) => timeline.go(movement, height),
                    RolloutScreen::Revisions(revisions) => match &mut revisions.text {
                        Some(text) => text.go(movement, text.sides(cells), height),
                        None => revisions.go(movement, height),
                    },
                    RolloutScreen::Prewarm(prewarm) => prewarm.go(movement, height),
                    RolloutScreen::Nodes => {
                        if let Some(shown) = page.shown().cloned() {
                            page.nodes.go(movement, height, &shown.snapshot.nodes);
                        }
                    }
                }
            }
        }
    }
    Vec::new()
}

/// On the fleet: opens the DaemonSet. On a rollout: opens the page of the node.
pub(super) fn open(model: &mut Model) -> Effects {
    match &model.page {
        Page::Fleet => {
            let target = model.fleet.as_ref().and_then(FleetPage::current);
            match target {
                Some(target) => open_rollout(model, target),
                None => Vec::new(),
            }
        }
        Page::Rollout(_) => {
            let on_map = map::is_seen(model);
            let Some(page) = model.rollout_mut() else { return node::open(model, NodeTab::Why) };
            let is_on_node = page.node_page.is_some();
            match page.screen {
                RolloutScreen::Revisions(_) => revisions::compare_selected(model),
                RolloutScreen::Nodes | RolloutScreen::Timeline(_) | RolloutScreen::Prewarm(_) if is_on_node => {
                    Vec::new()
                }
                RolloutScreen::Timeline(_) => {
                    model.overlay = Overlay::Details { top: 0 };
                    Vec::new()
                }
                RolloutScreen::Prewarm(_) => node::open(model, NodeTab::Why),
                RolloutScreen::Nodes => {
                    // A list that was arranged anew may have a heading at the place of a node.
                    if on_map && map::select_in_group(page) {
                        return Vec::new();
                    }
                    if !on_map && page.nodes.current_group().is_some() {
                        page.nodes.toggle();
                        page.arrange();
                        return Vec::new();
                    }
                    node::open(model, NodeTab::Why)
                }
            }
        }
    }
}

/// Shows the rollout of `target`, and asks for it unless it is there already.
pub(crate) fn open_rollout(model: &mut Model, target: DaemonSetRef) -> Effects {
    let mut effects = leave_rollout(model);
    let known = model.rollouts.iter().position(|page| page.target == target);
    if known.is_some_and(|at| model.rollouts[at].stopped) {
        close_page(model, &target);
    }
    if !model.rollouts.iter().any(|page| page.target == target) {
        let mut page = RolloutPage::new(target.clone());
        page.choose_site(model.chosen_sites.get(&target).cloned());
        if let Some((_, earlier)) = model.closed_stories.extract_if(.., |(closed, _)| *closed == target).last() {
            page.story = Story::after(earlier);
        }
        model.rollouts.push(page);
        effects.push(ConsoleEffect::Open(target.clone()));
    }
    model.page = Page::Rollout(target);
    model.overlay = Overlay::None;
    model.status = None;
    effects
}

/// Closes the rollout on screen, unless this console drives it.
fn leave_rollout(model: &mut Model) -> Effects {
    if let Some(page) = model.rollout_mut() {
        page.node_page = None;
    }
    let leave = model.rollout().filter(|page| !page.driven_by_us()).map(|page| page.target.clone());
    let Some(target) = leave else { return Vec::new() };
    close_page(model, &target);
    vec![ConsoleEffect::Close(target)]
}

/// Removes a rollout from the model, but keeps its story.
fn close_page(model: &mut Model, target: &DaemonSetRef) {
    let closed = model.rollouts.extract_if(.., |page| page.target == *target).last();
    if let Some(earlier) = closed.and_then(|page| page.story.into_earlier()) {
        model.closed_stories.push((target.clone(), earlier));
        let surplus = model.closed_stories.len().saturating_sub(CLOSED_STORIES);
        model.closed_stories.drain(..surplus);
    }
}

/// Back one level: filter, then page. On the list of all DaemonSets: to its top.
pub(super) fn back(model: &mut Model) -> Effects {
    // After a refusal `back` only removes the refusal: it leaves neither the page, nor clears a filter that the refusal was not about.
    let refusal =
        model.status.take_if(|status| matches!(status.severity, StatusSeverity::Refused | StatusSeverity::KeyRefused));
    if refusal.is_some_and(|status| !status.text.ends_with(ESC_CLEARS_IT)) {
        return Vec::new();
    }
    match &model.page {
        Page::Fleet => {
            if let Some(page) = &mut model.fleet {
                if page.filter.is_all() {
                    page.list.deselect();
                } else {
                    page.filter = Default::default();
                    page.arrange();
                }
            }
            Vec::new()
        }
        Page::Rollout(_) => {
            let Some(page) = model.rollout_mut() else { return Vec::new() };
            if let Some(node_page) = &mut page.node_page {
                if node_page.search.is_empty() {
                    page.node_page = None;
                } else {
                    node_page.search.clear();
                }
                return Vec::new();
            }
            let is_left = match &mut page.screen {
                RolloutScreen::Nodes => return back_from_nodes(model),
                RolloutScreen::Timeline(timeline) => {
                    let is_left = timeline.filter.is_all();
                    if !is_left {
                        timeline.filter = Default::default();
                        timeline.arrange();
                    }
                    is_left
                }
                RolloutScreen::Revisions(revisions) => !revisions.back(),
                RolloutScreen::Prewarm(prewarm) => {
                    let is_left = prewarm.filter.is_all();
                    if !is_left {
                        prewarm.filter = Default::default();
                        prewarm.arrange();
                    }
                    is_left
                }
            };
            if is_left {
                page.screen = RolloutScreen::Nodes;
            }
            Vec::new()
        }
    }
}

/// Back one level from the list of nodes or the map: the filter, then the map, then what is frozen, then the page.
fn back_from_nodes(model: &mut Model) -> Effects {
    let Some(page) = model.rollout_mut() else { return Vec::new() };
    if !page.filter.is_all() {
        // A user who searched for a node stays on it.
        if let Some(found) = page.current().map(|node| node.name.clone()) {
            page.nodes.select_node(&found);
        }
        page.filter = Default::default();
        page.arrange();
    } else if page.map.is_open {
        page.map.is_open = false;
    } else if page.frozen.is_some() {
        return freeze(model);
    } else {
        return fleet(model, "");
    }
    Vec::new()
}

/// Shows the DaemonSets of one namespace, or those that were listed last.
pub(crate) fn fleet(model: &mut Model, namespace: &str) -> Effects {
    match (namespace, &model.fleet) {
        ("", Some(page)) => {
            let (shown, is_there) = (page.namespace.clone(), model.page == Page::Fleet);
            let effects = list(model, shown);
            if is_there {
                model.say(
                    StatusSeverity::Plain,
                    "this is the list of DaemonSets: enter opens one, :ds NAMESPACE/NAME too",
                );
            }
            effects
        }
        ("", None) => list(model, None),
        (name, _) => list(model, Some(name.into())),
    }
}

/// Shows the DaemonSets of one namespace, or of all. Rollouts that this console drives go on, whatever is listed.
pub(super) fn namespace(model: &mut Model, name: &str) -> Effects {
    if name.is_empty() {
        palette::open(model, "ns ");
        return Vec::new();
    }
    if name == "all" {
        let effects = list(model, None);
        say_what_is_listed(model, "all namespaces");
        return effects;
    }
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.len() > 63 || !name.chars().all(fits) || name.starts_with('-') || name.ends_with('-') {
        let why = "that is at most 63 lower case letters, digits and `-`";
        return refuse(model, format!("`{name}` cannot be the name of a namespace: {why}"));
    }
    let known: Vec<String> = model.namespaces.iter().map(|name| name.to_string()).collect();
    let effects = list(model, Some(name.into()));
    let guess =
        if known.iter().any(|known| known == name) { None } else { meant(name, known.iter().map(String::as_str)) };
    match guess {
        Some(guess) => {
            let text = format!("namespace {name}: no DaemonSet was seen there; did you mean :ns {guess}?");
            model.say(StatusSeverity::Refused, text);
        }
        // An empty list does not show the way back.
        None if known.iter().any(|known| known == name) => say_what_is_listed(model, &format!("namespace {name}")),
        None => say_what_is_listed(model, &format!("namespace {name}: none was seen there yet; :ns all lists all")),
    }
    effects
}

fn say_what_is_listed(model: &mut Model, listed: &str) {
    let driven: Vec<String> =
        model.driven().map(|page| format!("{}/{}", page.target.namespace, page.target.name)).collect();
    let driven = match driven.as_slice() {
        [] => String::new(),
        driven => format!("; you go on driving {}", driven.join(", ")),
    };
    model.say(StatusSeverity::Plain, format!("{listed}{driven}"));
}

fn list(model: &mut Model, namespace: Option<Str>) -> Effects {
    let left = model.rollout().map(|page| page.target.clone());
    let mut effects = leave_rollout(model);
    if model.fleet.as_ref().is_none_or(|page| page.namespace != namespace) {
        let sort = model.fleet.as_ref().map(|page| page.sort).unwrap_or_default();
        effects.push(ConsoleEffect::Fleet(namespace.as_deref().map(Into::into)));
        model.fleet = Some(FleetPage { sort, ..FleetPage::new(namespace) });
    }
    // The order of the rows changes just when something breaks: the row of the DaemonSet that was left becomes the current one then.
    if let (Some(left), Some(page)) = (left, &mut model.fleet) {
        let row = (0..page.rows.len()).find(|row| page.target(*row).as_ref() == Some(&left));
        page.list.select(row.unwrap_or(0), left);
    }
    model.page = Page::Fleet;
    model.overlay = Overlay::None;
    model.status = None;
    effects
}

/// Returns to the list of nodes, from whatever is shown in its place.
pub(super) fn nodes(model: &mut Model) -> Effects {
    let Some(page) = model.rollout_mut() else {
        return refuse(model, "open a DaemonSet first, with enter: each of its rows is a node and its pod".to_owned());
    };
    let is_there = matches!(page.screen, RolloutScreen::Nodes) && page.node_page.is_none() && !page.map.is_open;
    (page.screen, page.node_page) = (RolloutScreen::Nodes, None);
    page.map.is_open = false;
    if is_there {
        model.say(StatusSeverity::Plain, "these are the nodes: each row is a node and its pod, enter opens it");
    }
    Vec::new()
}

pub(super) fn go_to(model: &mut Model, name: &str) -> Effects {
    if name.is_empty() {
        return fleet(model, "");
    }
    let name = name.trim_start_matches("ds/");
    if let Some((namespace, name)) = name.split_once('/') {
        return open_named(model, DaemonSetRef { namespace: namespace.into(), name: name.into() });
    }
    // The list tells in which namespaces there is one.
    let listed = model.fleet.as_ref();
    let rows = listed.into_iter().flat_map(|page| &page.fleet.rows).filter(|row| *row.name == *name);
    let namespaces: Vec<Str> = rows.map(|row| row.namespace.clone()).collect();
    let namespace = match namespaces.as_slice() {
        [] => listed.and_then(|page| page.namespace.clone()).unwrap_or_else(|| (&*model.default_namespace).into()),
        [only] => only.clone(),
        several => {
            let several = several.join(", ");
            return refuse(
                model,
                format!("`{name}` is in several namespaces: {several}; `:ds NAMESPACE/{name}` opens one"),
            );
        }
    };
    open_named(model, DaemonSetRef { namespace, name: name.into() })
}

/// Opens a DaemonSet whose name was typed. Where the list shows none of that name, it is said which one was probably meant.
fn open_named(model: &mut Model, target: DaemonSetRef) -> Effects {
    let guess = model.fleet.as_ref().filter(|page| page.fleet.health == WatchHealth::Live).and_then(|page| {
        let rows = || page.fleet.rows.iter().map(|row| (&*row.namespace, &*row.name));
        let is_listed = page.namespace.as_ref().is_none_or(|listed| *listed == target.namespace);
        if !is_listed || rows().any(|it| it == (&*target.namespace, &*target.name)) {
            return None;
        }
        // One in the same namespace is meant before one in another.
        let here = rows().filter(|(namespace, _)| **namespace == *target.namespace).map(|(_, name)| name);
        if let Some(name) = meant(&target.name, here) {
            return Some(format!("{}/{name}", target.namespace));
        }
        let name = meant(&target.name, rows().map(|(_, name)| name))?;
        rows().find(|(_, known)| *known == name).map(|(namespace, name)| format!("{namespace}/{name}"))
    });
    let typed = format!("{}/{}", target.namespace, target.name);
    let effects = open_rollout(model, target);
    if let Some(guess) = guess {
        model.say(StatusSeverity::Refused, format!("no DaemonSet {typed} was seen; did you mean :ds {guess}?"));
    }
    effects
}

pub(super) fn filter(model: &mut Model, text: &str) -> Effects {
    if text.is_empty() {
        if model.node_page().is_some() {
            // A search starts with an empty line, as in pagers.
            model.overlay = Overlay::Filter(Prompt::default());
            return Vec::new();
        }
        let current = model.filter();
        let mut prompt = Prompt::with(current.map_or("", |filter| filter.text()));
        prompt.offer(model.filter_completions(prompt.text()));
        if let Some(page) = model.rollout_mut() {
            page.nodes.set_home();
        }
        model.overlay = Overlay::Filter(prompt);
    } else if let Err(why) = model.set_filter(text) {
        model.say(StatusSeverity::Refused, why);
    }
    Vec::new()
}

pub(super) fn sort(model: &mut Model, name: &str) -> Effects {
    if model.page == Page::Fleet {
        return sort_fleet(model, name);
    }
    let Some(page) = model.rollout_mut() else { return Vec::new() };
    match page.sort.named(name) {
        Ok(sort) => page.sort = sort,
        Err(why) => return refuse(model, why),
    }
    page.arrange();
    let sorted = page.sort.in_words();
    model.say(StatusSeverity::Plain, sorted);
    Vec::new()
}

fn sort_fleet(model: &mut Model, name: &str) -> Effects {
    let Some(page) = &mut model.fleet else { return Vec::new() };
    match page.sort.named(name) {
        Ok(sort) => page.sort = sort,
        Err(why) => return refuse(model, why),
    }
    page.arrange();
    let sorted = page.sort.in_words();
    model.say(StatusSeverity::Plain, sorted);
    Vec::new()
}

/// Opens or folds the group of nodes of the current row.
pub(super) fn fold(model: &mut Model, open: bool) -> Effects {
    if let Some(page) = model.rollout_mut()
        && page.nodes.set_current_open(open)
    {
        page.arrange();
    }
    Vec::new()
}

/// Switches between the timeline and the nodes.
pub(super) fn timeline(model: &mut Model, filter: &str) -> Effects {
    let Some(page) = model.rollout_mut() else { return Vec::new() };
    let open = page.timeline().is_none() || !filter.is_empty();
    let timeline = page.snapshot().map(|snapshot| Timeline::of(snapshot, &page.story, &page.pauses));
    let screen = if open { RolloutScreen::Timeline(timeline.unwrap_or_default().into()) } else { RolloutScreen::Nodes };
    (page.screen, page.node_page) = (screen, None);
    if filter.is_empty() {
        return Vec::new();
    }
    match model.set_filter(filter) {
        Ok(()) => Vec::new(),
        Err(why) => refuse(model, why),
    }
}

/// Switches between the important events and each step of each node.
pub(super) fn all_steps(model: &mut Model) -> Effects {
    if let Some(timeline) = model.rollout_mut().and_then(|page| page.timeline_mut()) {
        timeline.all_steps = !timeline.all_steps;
        timeline.arrange();
    }
    Vec::new()
}

/// Shows the progress of pre-warming in place of the nodes.
pub(super) fn prewarm(model: &mut Model) -> Effects {
    let Some(page) = model.rollout_mut() else { return Vec::new() };
    let prewarm = page.snapshot().map(|snapshot| RolloutScreen::Prewarm(PrewarmList::of(snapshot).into()));
    (page.screen, page.node_page) = (prewarm.unwrap_or_default(), None);
    Vec::new()
}

/// Freezes the rows, or lets them follow the rollout again.
pub(super) fn freeze(model: &mut Model) -> Effects {
    let now = model.now;
    let key = key_of(model, ActionId::Freeze.action());
    let Some(page) = model.rollout_mut() else { return Vec::new() };
    page.frozen = match (page.frozen.take(), &page.live) {
        (None, Some(live)) => Some(live.frozen(now)),
        _ => None,
    };
    let text = match page.frozen.is_some() {
        true => format!("the list is frozen; {key}: live again"),
        false => "the list is live".to_owned(),
    };
    page.arrange();
    model.say(StatusSeverity::Plain, text);
    Vec::new()
}
