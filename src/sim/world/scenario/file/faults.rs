//! The `[[faults]]` of a scenario file.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;

use crate::engine::model::Str;
use crate::engine::model::quantity::IntOrPercent;

use super::super::units::{duration, rate};
use super::super::{ClusterFault, DaemonSetPlan, Fault, FleetFault, PullError, Scenario};
use super::{StrategyEntry, taint};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct FaultEntry {
    at: String,
    #[serde(rename = "do")]
    verb: Verb,
    #[serde(default)]
    nodes: Vec<String>,
    #[serde(rename = "for")]
    lasts: Option<String>,
    every: Option<String>,
    times: Option<u32>,
    labels: Option<BTreeMap<String, String>>,
    taint: Option<String>,
    daemonset: Option<String>,
    images: Option<BTreeMap<String, String>>,
    strategy: Option<StrategyEntry>,
    max_unavailable: Option<IntOrPercent>,
    site: Option<String>,
    link: Option<String>,
    offset: Option<String>,
    image: Option<String>,
    finalizer: Option<String>,
    error: Option<PullError>,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "kebab-case")]
enum Verb {
    NodeOff,
    NodeOn,
    NodeCut,
    NodeRestore,
    ProbesFail,
    DiskFull,
    EvictAll,
    NodeLeave,
    NodeClock,
    Label,
    Cordon,
    Uncordon,
    Taint,
    Untaint,
    DeleteNode,
    DeletePods,
    AddFinalizer,
    RemoveFinalizer,
    SetImages,
    SetStrategy,
    Link,
    Registry,
    Compact,
}

/// Faults with their times after the beginning.
type Timed = Vec<(Duration, Fault)>;

pub(super) fn add_faults(scenario: &mut Scenario, entry: &FaultEntry) -> Result<(), String> {
    let faults = faults_of(scenario, entry)?;
    scenario.faults.extend(faults);
    Ok(())
}

fn faults_of(scenario: &Scenario, entry: &FaultEntry) -> Result<Timed, String> {
    let at = duration(&entry.at)?;
    let nodes = || matching_nodes(scenario, &entry.nodes);
    let turning =
        |begin: fn(Str) -> FleetFault, end: fn(Str) -> FleetFault| turns(nodes()?, entry, at, begin, Some(end));
    let without_end = |fault: fn(Str) -> FleetFault| turns(nodes()?, entry, at, fault, None);
    let once = |fault: Fault| {
        check_once(entry)?;
        Ok(vec![(at, fault)])
    };
    let each = |fault: &dyn Fn(Str) -> ClusterFault| -> Result<Timed, String> {
        check_once(entry)?;
        Ok(nodes()?.into_iter().map(|node| (at, fault(node).into())).collect())
    };
    let daemon_set = || -> Result<Str, String> {
        let named = needed(entry.daemonset.as_deref(), "daemonset = \"namespace/name\"")?;
        let known = |plan: &DaemonSetPlan| format!("{}/{}", plan.namespace, plan.name) == named;
        let found = scenario.daemon_sets.iter().any(known);
        if found { Ok(named.into()) } else { Err(format!("there is no daemonset `{named}`")) }
    };
    let finalizer = || -> Result<Str, String> {
        Ok(needed(entry.finalizer.as_deref(), "finalizer = \"example.com/hold\"")?.into())
    };
    match entry.verb {
        Verb::NodeOff => turning(FleetFault::PowerOff, FleetFault::PowerOn),
        Verb::NodeOn => without_end(FleetFault::PowerOn),
        Verb::NodeCut => turning(FleetFault::Cut, FleetFault::Restore),
        Verb::NodeRestore => without_end(FleetFault::Restore),
        Verb::ProbesFail => turning(FleetFault::ProbesFail, FleetFault::ProbesPass),
        Verb::DiskFull => turning(FleetFault::DiskFull, FleetFault::DiskFree),
        Verb::EvictAll => without_end(FleetFault::EvictAll),
        Verb::NodeLeave => without_end(FleetFault::Leave),
        Verb::NodeClock => clocks(nodes()?, entry, at),
        Verb::Label => {
            let labels = needed(entry.labels.clone(), "labels = { key = \"value\" }")?;
            each(&|node| ClusterFault::Label { node, labels: labels.clone() })
        }
        Verb::Cordon => each(&ClusterFault::Cordon),
        Verb::Uncordon => each(&ClusterFault::Uncordon),
        Verb::Taint => {
            let taint = taint(needed(entry.taint.as_deref(), "taint = \"key=value:NoSchedule\"")?)?;
            each(&|node| ClusterFault::Taint { node, taint: taint.clone() })
        }
        Verb::Untaint => {
            let key: Str = needed(entry.taint.as_deref(), "taint = \"key\"")?.into();
            each(&|node| ClusterFault::Untaint { node, key: key.clone() })
        }
        Verb::DeleteNode => each(&ClusterFault::DeleteNode),
        Verb::DeletePods => {
            let daemon_set = daemon_set()?;
            each(&|node| ClusterFault::DeletePods { daemon_set: daemon_set.clone(), node })
        }
        Verb::AddFinalizer => {
            let (daemon_set, finalizer) = (daemon_set()?, finalizer()?);
            each(&|node| {
                let (daemon_set, finalizer) = (daemon_set.clone(), finalizer.clone());
                ClusterFault::AddFinalizer { daemon_set, node, finalizer }
            })
        }
        Verb::RemoveFinalizer => {
            let (daemon_set, finalizer) = (daemon_set()?, finalizer()?);
            each(&|node| {
                let (daemon_set, finalizer) = (daemon_set.clone(), finalizer.clone());
                ClusterFault::RemoveFinalizer { daemon_set, node, finalizer }
            })
        }
        Verb::SetImages => {
            let images = needed(entry.images.clone(), "images = { container = \"image\" }")?;
            once(ClusterFault::SetImages { daemon_set: daemon_set()?, images }.into())
        }
        Verb::SetStrategy => {
            let kind = needed(entry.strategy, "strategy = \"RollingUpdate\" or \"OnDelete\"")?.into();
            let max_unavailable = entry.max_unavailable;
            once(ClusterFault::SetStrategy { daemon_set: daemon_set()?, kind, max_unavailable }.into())
        }
        Verb::Link => {
            let site: Str = needed(entry.site.as_deref(), "site = \"name\"")?.into();
            if !scenario.sites.iter().any(|known| known.name == site) {
                return Err(format!("there is no site `{site}`"));
            }
            let bytes_per_sec = rate(needed(entry.link.as_deref(), "link = \"20Mbit/s\"")?)?;
            once(FleetFault::Link { site, bytes_per_sec }.into())
        }
        Verb::Registry => {
            let image = needed(entry.image.as_deref(), "image = \"registry.example/agent:v2\"")?.into();
            once(FleetFault::Registry { image, error: entry.error }.into())
        }
        Verb::Compact => once(ClusterFault::Compact.into()),
    }
}

/// Refuses `for`, `every` and `times` where a fault happens once and stays.
fn check_once(entry: &FaultEntry) -> Result<(), String> {
    if entry.lasts.is_some() || entry.every.is_some() || entry.times.is_some() {
        return Err("`for`, `every` and `times` go with `node-off`, `node-cut`, `probes-fail` and `disk-full`".into());
    }
    Ok(())
}

/// Sets the nodes' clocks wrong, and right again after `for`.
fn clocks(nodes: Vec<Str>, entry: &FaultEntry, at: Duration) -> Result<Timed, String> {
    let text = needed(entry.offset.as_deref(), "offset = \"5m\" or \"-90s\"")?;
    let (sign, span) = text.strip_prefix('-').map_or((1, text), |span| (-1, span));
    let span = i64::try_from(duration(span)?.as_millis()).map_err(|_overflow| format!("`{text}` is too long"))?;
    let lasts = entry.lasts.as_deref().map(duration).transpose()?;
    if entry.every.is_some() || entry.times.is_some() {
        return Err("`every` and `times` do not go with `node-clock`".into());
    }
    let mut faults = Timed::new();
    for node in nodes {
        let set = |offset_millis: i64| FleetFault::Clock { node: node.clone(), offset_millis };
        faults.push((at, set(sign * span).into()));
        faults.extend(lasts.map(|lasts| (at + lasts, set(0).into())));
    }
    Ok(faults)
}

/// A fault on nodes, with its end after `for` and its repetitions.
fn turns(
    nodes: Vec<Str>,
    entry: &FaultEntry,
    at: Duration,
    begin: fn(Str) -> FleetFault,
    end: Option<fn(Str) -> FleetFault>,
) -> Result<Timed, String> {
    let lasts = entry.lasts.as_deref().map(duration).transpose()?;
    let every = entry.every.as_deref().map(duration).transpose()?;
    let times = entry.times.unwrap_or(1);
    if times > 1 && every.is_none() {
        return Err("`times` needs `every`".into());
    }
    if lasts.is_some() && end.is_none() {
        return Err("`for` does not go with what is over at once".into());
    }
    let mut faults = Timed::new();
    for node in nodes {
        for nth in 0..times {
            let begins = at + every.unwrap_or_default() * nth;
            faults.push((begins, begin(node.clone()).into()));
            if let (Some(lasts), Some(end)) = (lasts, end) {
                faults.push((begins + lasts, end(node.clone()).into()));
            }
        }
    }
    Ok(faults)
}

fn needed<T>(field: Option<T>, example: &str) -> Result<T, String> {
    field.ok_or_else(|| format!("this fault needs `{example}`"))
}

/// The nodes whose names are given, or begin with the text before a `*`.
fn matching_nodes(scenario: &Scenario, patterns: &[String]) -> Result<Vec<Str>, String> {
    if patterns.is_empty() {
        return Err("this fault needs `nodes = [\"name\", \"prefix*\"]`".into());
    }
    let mut found = Vec::new();
    for pattern in patterns {
        let before = found.len();
        let fits = |name: &str| match pattern.strip_suffix('*') {
            Some(prefix) => name.starts_with(prefix),
            None => name == pattern,
        };
        found.extend(scenario.nodes.iter().map(|node| &node.name).filter(|name| fits(name)).cloned());
        if found.len() == before {
            return Err(format!("no node is called `{pattern}`"));
        }
    }
    Ok(found)
}
