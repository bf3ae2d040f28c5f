//! `status`: the state of a rollout or of all DaemonSets, in the console's words.
//!
//! ```text
//! edge/agent on prod-eu: running, 38 of 120 updated
//!   change   v1.8.2 → v1.9.0, rev 14 → 15
//!   driver   ops@bastion-2/4711 drives
//!   budget   down 2 of 2: 1 ours, 1 suspect + 3 by themselves, pull slots 2 of 2
//!   images   present on 38 of 120, 2 pulling, 1 failed, 79 unknown
//!   plan     step 2 of 4: 60 may be updated, partition 60
//!   view     live
//!   failed   1 image not found: ipc-017
//!   next     rolldeck undo --context prod-eu -n edge ds/agent   (roll back: …)
//! ```

mod estimate;
mod images;
mod nodes;
mod recent;

use std::collections::BTreeMap;
use std::time::Duration;

use self::estimate::estimate;
use self::images::{image_table, prewarm_table};
use self::nodes::{node_table, wide_node_table};
use self::recent::recent;
use super::args::{OutputFormat, StatusArgs};
use super::audit::unwritten;
use super::change_feed::ChangeFeed;
use super::elsewhere;
use super::error::{CliError, CliErrorKind, Exit};
use super::json::{self, NodeListing};
use super::load::{self, LoadPlace};
use super::one_shot::halt_advice;
use super::output::Output;
use super::suggested_commands::{CommandPlace, CommandTarget, SuggestedCommand, suggested_commands};
use crate::driver::{DrivenBy, Fleet, FleetRow, Rollout, Session};
use crate::engine::model::config::Role;
use crate::engine::model::estimate::whole_secs;
use crate::engine::model::facts::{DaemonSetCounters, StrategyKind};
use crate::engine::model::node::NodeState;
use crate::engine::model::pace::PacedSite;
use crate::engine::model::person_of;
use crate::engine::model::presence::Presence;
use crate::engine::model::prewarm::{PrewarmCounts, PrewarmSite, PrewarmState, PrewarmView};
use crate::engine::model::record::Direction;
use crate::engine::model::site::site_name;
use crate::engine::model::suspect::SuspectView;
use crate::engine::model::time::{ShortDuration, Timestamp};
use crate::engine::report::remedies::Remedy;
use crate::engine::report::snapshot::pull_words::PullRate;
use crate::engine::report::snapshot::words::Why;
use crate::engine::report::snapshot::{NodeView, Phase, Snapshot};
use crate::engine::report::trouble::starts_in_time;

/// The default time limit of a look.
const PATIENCE: Duration = Duration::from_secs(30);
/// How many nodes with the same trouble are listed by name.
const NAMED: usize = 5;

/// Prints the state of a rollout once, or follows the rollout to its end.
pub(crate) async fn rollout(
    session: &dyn Session,
    namespace: &str,
    name: &str,
    args: &StatusArgs,
    output: &mut Output,
) -> Result<Exit, CliError> {
    let rollout = session.open(namespace, name, Role::OneShot);
    let commands = CommandPlace::of(session);
    let place = LoadPlace { commands: &commands, namespace: Some(namespace) };
    let snapshot = load::rollout(&rollout, place, args.timeout.unwrap_or(PATIENCE)).await?;
    if args.watch {
        return match args.timeout {
            None => follow(&commands, &rollout, output).await,
            Some(patience) => match tokio::time::timeout(patience, follow(&commands, &rollout, output)).await {
                Ok(end) => end,
                Err(_late) => Err(out_of_time(&commands, &rollout.snapshot(), patience)),
            },
        };
    }
    let snapshot = load::with_all_watches(&rollout, snapshot).await;
    // A template that names the nodes asks for them: without them it would print nothing.
    let nodes =
        if args.nodes || args.images || output.asks_for("nodes") { NodeListing::Listed } else { NodeListing::Counted };
    match output.format() {
        OutputFormat::Json | OutputFormat::Yaml => {
            output.value(&json::StatusJson::new(&commands, &snapshot, nodes))?;
        }
        OutputFormat::Text => {
            summary(&commands, &snapshot).iter().try_for_each(|line| output.line(line))?;
            if let Some(prewarm) = snapshot.prewarm.as_ref().filter(|prewarm| prewarm.sites.len() > 1) {
                output.line("")?;
                output.table(&site_table(prewarm))?;
            }
            if args.images && !snapshot.pace.is_empty() {
                output.line("")?;
                output.table(&pace_table(&snapshot))?;
            }
            let wide = output.is_wide();
            let nodes = if wide { wide_node_table } else { node_table };
            for (asked, table) in [(args.nodes || wide, nodes as fn(&Snapshot) -> _), (args.images, image_table)] {
                if asked {
                    output.line("")?;
                    output.table(&table(&snapshot))?;
                }
            }
            // The table of images covers only the target's images.
            if let Some(prewarm) = snapshot.prewarm.as_ref().filter(|it| args.images && !it.pulls.images.is_empty()) {
                output.line("")?;
                output.table(&prewarm_table(&snapshot, &prewarm.pulls))?;
            }
        }
    }
    Ok(standing(&snapshot))
}

/// The error for a rollout that was not over in time. For a paused rollout it also names the command that lifts the pause.
/// `snapshot` is the last one before that.
pub(crate) fn out_of_time(place: &CommandPlace, snapshot: &Snapshot, patience: Duration) -> CliError {
    let (doing, progress) = (snapshot.doing(), snapshot.progress());
    // Where this process drove, nobody does from now on, and it is held.
    let was = if snapshot.driver.is_you() { "it was " } else { "" };
    let error = CliError::new(
        CliErrorKind::TimedOut,
        format!("not finished after {} s: {was}{doing}, {progress}", whole_secs(patience).as_secs()),
    );
    what_comes_next(place, snapshot).into_iter().fold(error, CliError::hinted)
}

/// Follows a rollout until it is over: complete, halted, or its DaemonSet deleted.
async fn follow(place: &CommandPlace, rollout: &Rollout, output: &mut Output) -> Result<Exit, CliError> {
    let mut snapshots = rollout.snapshots.clone();
    let is_text = output.format() == OutputFormat::Text;
    let mut feed = ChangeFeed::new(place).counting(!is_text).ending_at_a_halt(is_text);
    let streams = output.streams();
    // Since when a rollout that goes forward is followed.
    let mut forward_since: Option<Timestamp> = None;
    loop {
        // Changes that happen while the output is slow are printed as one.
        streams.room().await;
        let snapshot = snapshots.borrow_and_update().clone();
        tell(&mut feed, &snapshot, output)?;
        if snapshot.daemonset == Presence::Absent {
            return Err(deleted(&snapshot));
        }
        if snapshot.started_at.is_some() && snapshot.direction == Direction::Forward {
            forward_since.get_or_insert(snapshot.at);
        }
        let went_back = forward_since.is_some_and(|since| snapshot.was_rolled_back_since(since));
        match standing(&snapshot) {
            // A script that goes on after 0 expects the image on every node.
            Exit::Done if went_back => {
                let now = how_it_stands(&snapshot);
                return Err(CliError::new(CliErrorKind::Halted, format!("it was rolled back meanwhile; now {now}")));
            }
            // The rollout goes on past failures below its threshold, and past those that were accepted.
            Exit::Halted if goes_on(&snapshot) => {}
            Exit::Incomplete => {}
            Exit::Halted => return Err(stopped(place, &snapshot)),
            end => return Ok(end),
        }
        snapshots.changed().await.map_err(|_gone| CliError::failed("the driver has stopped"))?;
    }
}

/// Prints the changes.
pub(crate) fn tell(
    feed: &mut ChangeFeed,
    snapshot: &std::sync::Arc<Snapshot>,
    output: &mut Output,
) -> std::io::Result<()> {
    for change in feed.tell(snapshot) {
        match output.format() {
            OutputFormat::Text => output.line(change.line())?,
            OutputFormat::Json | OutputFormat::Yaml => output.record(&change.json())?,
        }
    }
    Ok(())
}

/// The error if the DaemonSet was deleted meanwhile.
pub(crate) fn deleted(snapshot: &Snapshot) -> CliError {
    let Snapshot { namespace, name, .. } = snapshot;
    CliError::new(CliErrorKind::NotFound, format!("DaemonSet `{name}` in namespace `{namespace}` was deleted"))
}

/// The exit code for the present state.
pub(crate) fn standing(snapshot: &Snapshot) -> Exit {
    let counts = snapshot.counts;
    match &snapshot.phase {
        Phase::Halted => Exit::Halted,
        Phase::Paused(paused) if paused.is_by_rolldeck() => Exit::Halted,
        _ if counts.failed > 0 => Exit::Halted,
        Phase::Complete => Exit::Done,
        Phase::Idle if counts.available == counts.nodes => Exit::Done,
        Phase::Native if counts.updated == counts.nodes => Exit::Done,
        Phase::Loading
        | Phase::Unknown
        | Phase::Idle
        | Phase::Native
        | Phase::Preparing
        | Phase::Held
        | Phase::Running
        | Phase::Paused(_)
        | Phase::Releasing(_) => Exit::Incomplete,
    }
}

/// Whether a rollout is under way that neither halted nor was paused by rolldeck itself.
fn goes_on(snapshot: &Snapshot) -> bool {
    match &snapshot.phase {
        Phase::Unknown | Phase::Preparing | Phase::Running | Phase::Held | Phase::Releasing(_) => true,
        Phase::Paused(paused) => !paused.is_by_rolldeck(),
        Phase::Loading | Phase::Idle | Phase::Native | Phase::Complete | Phase::Halted => false,
    }
}

/// The error for a followed rollout that does not continue, with the remedy.
fn stopped(place: &CommandPlace, snapshot: &Snapshot) -> CliError {
    let failed = match (&snapshot.phase, snapshot.counts.failed) {
        (Phase::Halted | Phase::Paused(_), _) | (_, 0) => String::new(),
        (_, 1) => "1 node failed: ".to_owned(),
        (_, failed) => format!("{failed} nodes failed: "),
    };
    let error = CliError::new(CliErrorKind::Halted, format!("{failed}{}", how_it_stands(snapshot)));
    what_comes_next(place, snapshot).into_iter().fold(error, CliError::hinted)
}

/// The commands that let a halted or paused rollout continue.
pub(crate) fn what_comes_next(place: &CommandPlace, snapshot: &Snapshot) -> Vec<String> {
    match &snapshot.phase {
        Phase::Halted => {
            let advice = halt_advice(place, snapshot);
            vec![advice.unwrap_or_else(|| CommandTarget::new(place, snapshot).named("resume"))]
        }
        Phase::Paused(_) => suggested_commands(place, snapshot).iter().map(SuggestedCommand::line).collect(),
        _ => Vec::new(),
    }
}

/// The present phase in words. For a halt it includes the revision: `halted at revision 6: image not found on 1 node`.
pub(crate) fn how_it_stands(snapshot: &Snapshot) -> String {
    let Some(target) = snapshot.to.as_ref().filter(|_| snapshot.phase == Phase::Halted) else {
        return snapshot.doing().to_string();
    };
    let why = snapshot.halt.as_ref().map(|halt| format!(": {}", halt.why)).unwrap_or_default();
    let paused = snapshot.pause_in_words().map(|paused| format!("; {paused}")).unwrap_or_default();
    format!("halted at {}{why}{paused}{}", target.called(), snapshot.beside_its_stop())
}

fn summary(place: &CommandPlace, snapshot: &Snapshot) -> Vec<String> {
    let Snapshot { namespace, name, .. } = snapshot;
    let mut lines =
        vec![format!("{namespace}/{name} on {}: {}, {}", place.context, snapshot.doing(), snapshot.progress())];
    let mut say = |label: &str, text: String| lines.push(format!("  {label:<8} {text}"));
    for alarm in &snapshot.alarms {
        say("ALARM", alarm.to_string());
    }
    if let Some(last) = snapshot.last_rollout() {
        let by = snapshot.last_rolled_back_by().map(|by| format!(" {by}")).unwrap_or_default();
        say("before", format!("{last} {} ago{by}", ShortDuration(snapshot.at.since(last.at))));
    }
    say("change", format!("{}, {}{}", snapshot.change(), snapshot.numbers(), snapshot.target_renumbered()));
    say("driver", driver_line(place, snapshot));
    say("budget", snapshot.budget_and_slots());
    if let Some(estimate) = estimate(snapshot) {
        say("estimate", estimate);
    }
    for (nth, line) in snapshot.pulls.lines().into_iter().enumerate() {
        say(if nth == 0 { "images" } else { "" }, line);
    }
    for compared in &snapshot.comparisons {
        say("suspects", compared.to_string());
    }
    if let Some(wait) = &snapshot.waits {
        say("waits", snapshot.waiting(wait).to_string());
    }
    if snapshot.has_plan() {
        // If the record is gone, the settings of the rollout are not known.
        let is_missing = snapshot.lacks_its_record();
        let as_it_begins = if is_missing { "a new record begins with: " } else { "" };
        say("plan", format!("{as_it_begins}{}", snapshot.plan_in_words()));
        say("gates", format!("{as_it_begins}{}", snapshot.gating()));
    }
    if let Some(guidance) = snapshot.guidance().filter(|_| !matches!(snapshot.phase, Phase::Paused(_))) {
        say("waits", guidance.waits);
    }
    if let Some(original) = &snapshot.original_strategy {
        say(
            "strategy",
            match snapshot.strategy {
                StrategyKind::OnDelete => format!("OnDelete (ours), was {original}"),
                StrategyKind::RollingUpdate => {
                    format!("RollingUpdate; {original} is saved as the original one: release forgets it")
                }
            },
        );
    }
    for gitops_owner in snapshot.gitops_owners.iter() {
        say("managed", format!("by {gitops_owner}, which {}", gitops_owner.expects()));
        if let Some(suspend_hint) = gitops_owner.suspend_hint().filter(|_| gitops_owner.interferes()) {
            say("", format!("to suspend it: {suspend_hint}"));
        }
    }
    if let Some(prewarm) = &snapshot.prewarm {
        say("prewarm", prewarm.to_string());
        snapshot.prewarming_waits().into_iter().for_each(|line| say("", line));
        if !prewarm.images.is_empty() {
            let beside = snapshot.prewarms_beside_the_rollout();
            let aside = beside.map(|_| ", not needed by this rollout").unwrap_or_default();
            say("", format!("{} by {}{aside}", prewarm.images.join(" "), person_of(&prewarm.request.by.by)));
        }
        prewarm.pulls.lines().into_iter().for_each(|line| say("", line));
        let throughput = prewarm.throughput.map(|rate| format!("~{}", PullRate(rate)));
        let left = prewarm.estimate.map(|left| format!("all in {left}"));
        let estimates: Vec<String> = left.into_iter().chain(throughput).collect();
        if !estimates.is_empty() {
            say("", format!("estimate: {}", estimates.join(", ")));
        }
        not_arrived(snapshot)
            .into_iter()
            .chain(
                snapshot.prewarm_refused().into_iter().chain(prewarm.stuck_in_words()).map(|advice| advice.to_string()),
            )
            .for_each(|line| say("", line));
    }
    say("view", snapshot.freshness().to_string());
    if snapshot.distance.round_trip.is_some() {
        say("API", snapshot.distance.to_string());
    }
    if !snapshot.clocks().is_empty() {
        say("clocks", snapshot.clocks().to_string());
    }
    for (nth, line) in recent(snapshot).into_iter().enumerate() {
        say(if nth == 0 { "recent" } else { "" }, line);
    }
    for unwritten in unwritten(snapshot) {
        say("audit", unwritten.to_string());
    }
    snapshot.running_revisions().into_iter().for_each(|line| say("runs", line));
    for line in trouble(snapshot).into_iter().chain(misscheduled(snapshot)) {
        say(line.0, line.1);
    }
    for way in suggested_commands(place, snapshot) {
        say("next", way.line());
    }
    lines
}

fn driver_line(place: &CommandPlace, snapshot: &Snapshot) -> String {
    let driving = snapshot.driving();
    let drive = || CommandTarget::new(place, snapshot).named("drive");
    let needs_one = matches!(snapshot.phase, Phase::Running | Phase::Held | Phase::Preparing | Phase::Releasing(_));
    match snapshot.has_silent_driver() {
        // The command is among the suggested ones.
        true if snapshot.remedies().contains(&Remedy::Drive) => driving.to_string(),
        true if needs_one => format!("{driving}; if it has ended, {} drives it", drive()),
        true if matches!(snapshot.phase, Phase::Paused(_)) => {
            format!("{driving}; if it has ended, {} is to follow a resume", drive())
        }
        _ => driving.to_string(),
    }
}

/// Nodes in trouble by state and cause, one line each.
fn trouble(snapshot: &Snapshot) -> Vec<(&'static str, String)> {
    let mut groups: BTreeMap<(NodeState, String, bool), Vec<&NodeView>> = BTreeMap::new();
    for node in snapshot.nodes.iter() {
        let why = match (node.state, &node.cause, snapshot.budget.called_of(node)) {
            (NodeState::NodeDown, _, Some(blame)) => blame.to_owned(),
            (NodeState::Failed | NodeState::NodeDown, Some(cause), _) => cause.to_string(),
            (NodeState::Failed | NodeState::NodeDown, None, _) => "cause not known".to_owned(),
            (_, Some(cause), _) if !starts_in_time(node) => cause.to_string(),
            _ if node.restarted.is_some() => "restarted since its update".to_owned(),
            _ if node.suspect.is_some_and(SuspectView::has_failed) => "went down after its update".to_owned(),
            _ => continue,
        };
        groups.entry((node.state.without_retries(), why, node.accepted)).or_default().push(node);
    }
    groups
        .into_iter()
        .map(|((state, why, accepted), nodes)| {
            let accepted = if accepted { ", accepted" } else { "" };
            let label = match state {
                NodeState::Failed => "failed",
                NodeState::NodeDown => "down",
                NodeState::Terminating
                | NodeState::Creating
                | NodeState::Pulling
                | NodeState::PullFailed
                | NodeState::Starting
                | NodeState::Soaking
                | NodeState::Outdated
                | NodeState::Updated
                | NodeState::Unknown
                | NodeState::Ineligible => "trouble",
            };
            (label, format!("{} {why}{accepted}: {}", nodes.len(), some_of(&nodes)))
        })
        .collect()
}

/// Nodes on which pre-warmed images did not arrive, by reason, one line each.
fn not_arrived(snapshot: &Snapshot) -> Vec<String> {
    let mut groups: BTreeMap<String, Vec<&NodeView>> = BTreeMap::new();
    for node in snapshot.nodes.iter() {
        if let Some(PrewarmState::Failed { cause, .. }) = node.prewarm.as_deref() {
            groups.entry(cause.to_string()).or_default().push(node);
        }
    }
    let line = |(why, nodes): (String, Vec<&NodeView>)| format!("{} failed, {why}: {}", nodes.len(), some_of(&nodes));
    let elsewhere = snapshot.prewarm.as_ref().map_or(0, |prewarm| prewarm.failed_elsewhere);
    let unrecorded = (elsewhere > 0).then(|| format!("{elsewhere} failed besides: on which nodes is not recorded"));
    groups.into_iter().map(line).chain(unrecorded).collect()
}

/// Pods on nodes that should not run them, by reason, one line each.
fn misscheduled(snapshot: &Snapshot) -> Vec<(&'static str, String)> {
    let mut groups: BTreeMap<String, Vec<&NodeView>> = BTreeMap::new();
    for node in snapshot.nodes.iter().filter(|node| node.state == NodeState::Ineligible && node.pod.is_some()) {
        groups.entry(Why { node, at: snapshot.at }.to_string()).or_default().push(node);
    }
    let line = |(why, nodes): (String, Vec<&NodeView>)| {
        ("unwanted", format!("{} not eligible, {why}: {}", nodes.len(), some_of(&nodes)))
    };
    groups.into_iter().map(line).collect()
}

/// The first few nodes by name.
pub(crate) fn some_of(nodes: &[&NodeView]) -> String {
    let named = nodes.iter().take(NAMED).map(|node| &*node.name).collect::<Vec<_>>().join(" ");
    if nodes.len() > NAMED { format!("{named} …") } else { named }
}

/// The progress of pre-warming in each site.
fn site_table(prewarm: &PrewarmView) -> Vec<Vec<String>> {
    let head = ["SITE", "NODES", "PRESENT", "PULLING", "WAITING", "FAILED", "LIMIT", "RATE", "ETA"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(prewarm.sites.iter().map(|site| {
        let PrewarmSite { name, counts, pulling: _, limit, estimate, throughput } = site;
        let PrewarmCounts { nodes, present, pulling, waiting, failed, retrying: _ } = counts;
        let name = if name.is_empty() { "-" } else { name };
        // Of some nodes only that they failed is recorded, and not which they are: what waits in a site may be among them.
        let (most, least) = if prewarm.failed_elsewhere.min(*waiting) > 0 { ("≤", "≥") } else { ("", "") };
        let counts = [nodes, present, pulling].map(ToString::to_string);
        let counts = counts.into_iter().chain([format!("{most}{waiting}"), format!("{least}{failed}")]);
        let limit = limit.map_or_else(|| "-".to_owned(), |limit| limit.to_string());
        let rate = throughput.map_or_else(|| "-".to_owned(), |rate| format!("~{}", PullRate(rate)));
        let left = estimate.map_or_else(|| "-".to_owned(), |left| left.to_string());
        std::iter::once(name.to_owned()).chain(counts).chain([limit, rate, left]).collect()
    }));
    rows
}

/// The number of nodes of each site that may pull at once, if it follows the capacity of the link, with the reason.
fn pace_table(snapshot: &Snapshot) -> Vec<Vec<String>> {
    let head = ["SITE", "LIMIT", "PACE"].map(str::to_owned).to_vec();
    let site =
        |paced: &PacedSite| vec![site_name(&paced.site).to_owned(), paced.limit.to_string(), paced.why.to_string()];
    std::iter::once(head).chain(snapshot.pace.iter().map(site)).collect()
}

/// Adds columns to a table before its last column, which may be long.
pub(crate) fn add_columns(table: &mut [Vec<String>], columns: impl Iterator<Item = Vec<String>>) {
    for (row, cells) in table.iter_mut().zip(columns) {
        let last = row.pop();
        row.extend(cells.into_iter().chain(last));
    }
}

pub(crate) fn age(since: Option<Timestamp>, at: Timestamp) -> String {
    since.map_or_else(|| "?".to_owned(), |since| ShortDuration(at.since(since)).to_string())
}

/// Lists all DaemonSets that the user may see, in one namespace or in all.
pub(crate) async fn fleet(
    session: &dyn Session,
    namespace: Option<&str>,
    patience: Option<Duration>,
    output: &mut Output,
) -> Result<Exit, CliError> {
    let mut watched = session.fleet(namespace);
    let commands = CommandPlace::of(session);
    let place = LoadPlace { commands: &commands, namespace };
    let fleet = load::fleet(&mut watched, place, patience.unwrap_or(PATIENCE)).await?;
    match output.format() {
        OutputFormat::Json | OutputFormat::Yaml => output.value(&json::FleetJson::new(session.context(), &fleet))?,
        OutputFormat::Text if fleet.rows.is_empty() => output.line(match namespace {
            Some(namespace) => match elsewhere::namespaces(session, namespace).await {
                Some(others) => format!("no DaemonSets in namespace {namespace}: {others}"),
                None => format!("no DaemonSets in namespace {namespace}"),
            },
            None => "no DaemonSets".to_owned(),
        })?,
        OutputFormat::Text => {
            let mut table = fleet_table(&fleet);
            if output.is_wide() {
                add_columns(&mut table, wide_fleet(&fleet));
            }
            output.table(&table)?;
        }
    }
    Ok(Exit::Done)
}

fn fleet_table(fleet: &Fleet) -> Vec<Vec<String>> {
    let head = ["NAMESPACE", "DAEMONSET", "DESIRED", "UP-TO-DATE", "AVAILABLE", "STRATEGY", "STATE", "DRIVEN BY"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(fleet.rows.iter().map(|row| {
        let FleetRow { namespace, name, counters, strategy, driven_by, silent_since, .. } = row;
        let silent = silent_since
            .filter(|_| *driven_by != DrivenBy::Controller)
            .map(|since| format!(" silent {}", ShortDuration(fleet.at.since(since))));
        let driver = match driven_by {
            // One look shows no renewal: what the Lease says counts, as `status` says of one DaemonSet.
            DrivenBy::Unconfirmed(holder) => person_of(holder).to_owned(),
            known => known.to_string(),
        };
        vec![
            namespace.to_string(),
            name.to_string(),
            counters.desired.to_string(),
            counters.updated.to_string(),
            counters.available.to_string(),
            strategy.clone(),
            row.standing(),
            format!("{driver}{}", silent.unwrap_or_default()),
        ]
    }));
    rows
}

/// The additional columns of `-o wide` in the list of DaemonSets.
fn wide_fleet(fleet: &Fleet) -> impl Iterator<Item = Vec<String>> {
    let cells = fleet.rows.iter().map(|row| {
        let DaemonSetCounters { desired: _, current, ready, updated: _, available: _, misscheduled } = row.counters;
        [current, ready, misscheduled].map(|count| count.to_string()).to_vec()
    });
    std::iter::once(["CURRENT", "READY", "MISSCHEDULED"].map(str::to_owned).to_vec()).chain(cells)
}
