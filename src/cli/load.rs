//! Waits until a view is complete, and summarises the obstacles in one error.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::error::{CliError, CliErrorKind};
use super::suggested_commands::CommandPlace;
use crate::driver::{Fleet, Rollout, Session};
use crate::engine::model::config::Role;
use crate::engine::model::estimate::whole_secs;
use crate::engine::model::event::{WatchHealth, Watched};
use crate::engine::model::presence::Presence;
use crate::engine::model::shell::shell_flag;
use crate::engine::report::snapshot::{Phase, Snapshot, WatchView};

/// How long to retry a server that does not answer. A single lost packet must not fail a script.
const UNREACHABLE_AFTER: Duration = Duration::from_secs(3);

/// How long optional watches may take to load, once the others are loaded.
const OPTIONAL_WITHIN: Duration = Duration::from_secs(1);

/// The cluster and the namespace of the view, for the texts of errors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoadPlace<'a> {
    /// The cluster and the identity.
    pub(crate) commands: &'a CommandPlace,
    /// The namespace, if one is selected.
    pub(crate) namespace: Option<&'a str>,
}

/// Opens a rollout to look at it once, and waits at most `patience` until its view is complete.
pub(crate) async fn one_look(
    session: &dyn Session,
    namespace: &str,
    name: &str,
    patience: Duration,
) -> Result<(Rollout, Arc<Snapshot>), CliError> {
    let opened = session.open(namespace, name, Role::OneShot);
    let commands = CommandPlace::of(session);
    let snapshot = rollout(&opened, LoadPlace { commands: &commands, namespace: Some(namespace) }, patience).await?;
    Ok((opened, snapshot))
}

/// Waits at most `patience` until the rollout's view is complete.
///
/// The function does not wait for kinds that the user may not see: the engine names the judgements that are impossible without them.
pub(crate) async fn rollout(
    rollout: &Rollout,
    place: LoadPlace<'_>,
    patience: Duration,
) -> Result<Arc<Snapshot>, CliError> {
    let mut snapshots = rollout.snapshots.clone();
    let until = Instant::now() + patience;
    let mut silent = Silence::default();
    loop {
        let snapshot = snapshots.borrow_and_update().clone();
        match state_of(&snapshot) {
            LoadView::Complete => return Ok(snapshot),
            LoadView::Absent => return Err(absent(&snapshot, place)),
            LoadView::Forbidden(why) => return Err(forbidden(&snapshot, &why)),
            LoadView::Down(why) => silent.heard(Some(why)),
            LoadView::Loading => silent.heard(None),
        }
        let give_up = silent.give_up_at().map_or(until, |at| at.min(until));
        tokio::select! {
            changed = snapshots.changed() => changed.map_err(|_gone| CliError::failed("the driver has stopped"))?,
            () = sleep_until(give_up) => {
                return Err(match silent.why {
                    Some(why) => unreachable(place, &why),
                    // Nothing at all is known, not even whether the DaemonSet is there.
                    None if snapshot.daemonset == Presence::Loading => silent_server(place, patience),
                    None => late(&snapshot, patience),
                });
            }
        }
    }
}

/// The snapshot once all watches, also optional ones, are loaded; the present one if that takes too long.
pub(crate) async fn with_all_watches(rollout: &Rollout, snapshot: Arc<Snapshot>) -> Arc<Snapshot> {
    let loaded = |snapshot: &Arc<Snapshot>| snapshot.watches.iter().all(|watch| watch.health != WatchHealth::Loading);
    let mut snapshots = rollout.snapshots.clone();
    match tokio::time::timeout(OPTIONAL_WITHIN, snapshots.wait_for(loaded)).await {
        Ok(Ok(complete)) => complete.clone(),
        _ => snapshot,
    }
}

/// The snapshot in which the revision that is named by `number` is known, as far as that can be: Events tell the numbers that revisions had before.
pub(crate) async fn with_revision(rollout: &Rollout, snapshot: Arc<Snapshot>, number: Option<i64>) -> Arc<Snapshot> {
    match number.is_some_and(|number| snapshot.revision_numbered(number).is_none()) {
        true => with_all_watches(rollout, snapshot).await,
        false => snapshot,
    }
}

/// Waits at most `patience` until all DaemonSets and, if possible, the Leases that name drivers, the revisions and the starting pods are listed.
pub(crate) async fn fleet(
    fleet: &mut watch::Receiver<Arc<Fleet>>,
    place: LoadPlace<'_>,
    patience: Duration,
) -> Result<Arc<Fleet>, CliError> {
    let until = Instant::now() + patience;
    let mut silent = Silence::default();
    loop {
        let now = fleet.borrow_and_update().clone();
        match &now.health {
            WatchHealth::Live if [&now.leases, &now.revisions, &now.starting_pods].contains(&&WatchHealth::Loading) => {
                silent.heard(None);
            }
            WatchHealth::Live => return Ok(now),
            WatchHealth::Forbidden { why } => {
                let error = CliError::new(CliErrorKind::Refused, format!("you may not list DaemonSets here: {why}"));
                return Err(match place.namespace {
                    None => error.hinted("`-n NAMESPACE` asks for one namespace only"),
                    Some(_) => error.hinted("the README has the Role that rolldeck needs"),
                });
            }
            WatchHealth::Down { why, .. } | WatchHealth::Lagging { why, .. } => silent.heard(Some(why.to_string())),
            WatchHealth::Loading => silent.heard(None),
        }
        let give_up = silent.give_up_at().map_or(until, |at| at.min(until));
        match timeout_at(give_up, fleet.changed()).await {
            Ok(Ok(())) => {}
            Ok(Err(_gone)) => return Err(CliError::failed("the driver has stopped")),
            Err(_late) => {
                let why = silent.why.unwrap_or_else(|| "it did not answer in time".to_owned());
                return Err(unreachable(place, &why));
            }
        }
    }
}

/// A server that does not answer: since when, and its last message.
#[derive(Default)]
struct Silence {
    since: Option<Instant>,
    why: Option<String>,
}

impl Silence {
    fn heard(&mut self, why: Option<String>) {
        self.since = why.as_ref().map(|_| self.since.unwrap_or_else(Instant::now));
        self.why = why;
    }

    fn give_up_at(&self) -> Option<Instant> {
        self.since.map(|since| since + UNREACHABLE_AFTER)
    }
}

enum LoadView {
    Complete,
    Loading,
    Absent,
    Forbidden(String),
    Down(String),
}

fn state_of(snapshot: &Snapshot) -> LoadView {
    match (snapshot.daemonset, snapshot.watch(Watched::DaemonSet)) {
        (Presence::Absent, _) => return LoadView::Absent,
        (Presence::Loading, Some(WatchHealth::Forbidden { why })) => return LoadView::Forbidden(why.to_string()),
        _ => {}
    }
    let needed = |watch: &&WatchView| watch.watched.is_needed();
    let waits = snapshot.watches.iter().filter(needed).any(|watch| watch.health == WatchHealth::Loading);
    if snapshot.daemonset == Presence::Present && snapshot.phase != Phase::Loading && !waits {
        return LoadView::Complete;
    }
    let down = snapshot.watches.iter().find_map(|watch| match &watch.health {
        WatchHealth::Down { why, .. } => Some(format!("{}: {why}", watch.watched)),
        _ => None,
    });
    let loading = snapshot.watches.iter().any(|watch| watch.health == WatchHealth::Loading);
    match down {
        Some(why) => LoadView::Down(why),
        None if !loading && snapshot.daemonset == Presence::Present => LoadView::Complete,
        None => LoadView::Loading,
    }
}

fn absent(snapshot: &Snapshot, place: LoadPlace<'_>) -> CliError {
    let Snapshot { namespace, name, .. } = snapshot;
    CliError::new(CliErrorKind::NoDaemonSet, format!("there is no DaemonSet `{name}` in namespace `{namespace}`"))
        .hinted(format!(
            "{} lists those of this namespace; with `-A` instead of `-n` those of all namespaces",
            status_of(place.commands, namespace)
        ))
}

/// The command that lists a namespace; without flags if one cannot be quoted safely.
fn status_of(place: &CommandPlace, namespace: &str) -> String {
    let flags = place.flags().zip(shell_flag("-n", namespace)).map(|(flags, namespace)| format!("{flags} {namespace}"));
    format!("`{}`", format!("rolldeck status {}", flags.unwrap_or_default().trim()).trim())
}

fn forbidden(snapshot: &Snapshot, why: &str) -> CliError {
    let Snapshot { namespace, name, .. } = snapshot;
    let why = format!("you may not see DaemonSet `{name}` in namespace `{namespace}`: {why}");
    CliError::new(CliErrorKind::Refused, why).hinted("the README has the Role that rolldeck needs")
}

fn unreachable(place: LoadPlace<'_>, why: &str) -> CliError {
    let error =
        CliError::failed(format!("cannot read from the cluster of context `{}`: {why}", place.commands.context));
    if why.contains("401") || why.to_ascii_lowercase().contains("unauthorized") {
        error.hinted("the credentials are not accepted, or have expired: log in again")
    } else if why.contains("429") || why.contains("Too many requests") {
        error.hinted("the API server limits requests at present: try again in a moment")
    } else if why.contains("cannot connect: the proxy") || why.contains("credential plugin") {
        // The error already contains the hint.
        error
    } else {
        error.hinted("is the API server up, and is this the right context? `--context` picks another")
    }
}

fn silent_server(place: LoadPlace<'_>, patience: Duration) -> CliError {
    let secs = whole_secs(patience).as_secs();
    unreachable(place, &format!("it did not answer within {secs} s, so nothing was done"))
        .hinted("`--timeout` waits longer")
}

fn late(snapshot: &Snapshot, patience: Duration) -> CliError {
    CliError::new(
        CliErrorKind::TimedOut,
        format!("not everything was loaded within {} s: {}", whole_secs(patience).as_secs(), snapshot.freshness()),
    )
    .hinted("`--timeout` waits longer")
}
