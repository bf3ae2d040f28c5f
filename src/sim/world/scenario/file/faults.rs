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

/// A fault on nodes: at once, and what undoes it.
type OnNode = (fn(Str) -> FleetFault, Option<fn(Str) -> FleetFault>);

pub(super) fn add_faults(scenario: &mut Scenario, entry: &FaultEntry) -> Result<(), String> {
    let at = duration(&entry.at)?;
    let on_node: Option<OnNode> = match entry.verb {
        Verb::NodeOff => Some((FleetFault::PowerOff, Some(FleetFault::PowerOn))),
        Verb::NodeOn => Some((FleetFault::PowerOn, None)),
        Verb::NodeCut => Some((FleetFault::Cut, Some(FleetFault::Restore))),
        Verb::NodeRestore => Some((FleetFault::Restore, None)),
        Verb::ProbesFail => Some((FleetFault::ProbesFail, Some(FleetFault::ProbesPass))),
        Verb::DiskFull => Some((FleetFault::DiskFull, Some(FleetFault::DiskFree))),
        Verb::EvictAll => Some((FleetFault::EvictAll, None)),
        Verb::NodeLeave => Some((FleetFault::Leave, None)),
        _ => None,
    };
    if let Some((begin, end)) = on_node {
        return add_turns(scenario, entry, at, begin, end);
    }
    if entry.verb == Verb::NodeClock {
        return set_clocks(scenario, entry, at);
    }
    if entry.lasts.is_some() || entry.every.is_some() || entry.times.is_some() {
        return Err("`for`, `every` and `times` go with `node-off`, `node-cut`, `probes-fail` and `disk-full`".into());
    }
    let faults = cluster_faults(scenario, entry)?;
    scenario.faults.extend(faults.into_iter().map(|fault| (at, fault)));
    Ok(())
}

/// Sets clocks wrong, and right again after `for`.
fn set_clocks(scenario: &mut Scenario, entry: &FaultEntry, at: Duration) -> Result<(), String> {
    let text = needed(entry.offset.as_deref(), "offset = \"5m\" or \"-90s\"")?;
    let (sign, span) = text.strip_prefix('-').map_or((1, text), |span| (-1, span));
    let span = i64::try_from(duration(span)?.as_millis()).map_err(|_overflow| format!("`{text}` is too long"))?;
    let lasts = entry.lasts.as_deref().map(duration).transpose()?;
    if entry.every.is_some() || entry.times.is_some() {
        return Err("`every` and `times` do not go with `node-clock`".into());
    }
    for node in matching_nodes(scenario, &entry.nodes)? {
        let set = |offset_millis: i64| FleetFault::Clock { node: node.clone(), offset_millis };
        scenario.faults.push((at, set(sign * span).into()));
        scenario.faults.extend(lasts.map(|lasts| (at + lasts, set(0).into())));
    }
    Ok(())
}

/// Adds a fault on nodes that may end by itself and come again.
fn add_turns(
    scenario: &mut Scenario,
    entry: &FaultEntry,
    at: Duration,
    begin: fn(Str) -> FleetFault,
    end: Option<fn(Str) -> FleetFault>,
) -> Result<(), String> {
    let lasts = entry.lasts.as_deref().map(duration).transpose()?;
    let every = entry.every.as_deref().map(duration).transpose()?;
    let times = entry.times.unwrap_or(1);
    if times > 1 && every.is_none() {
        return Err("`times` needs `every`".into());
    }
    if lasts.is_some() && end.is_none() {
        return Err("`for` does not go with what is over at once".into());
    }
    for node in matching_nodes(scenario, &entry.nodes)? {
        for nth in 0..times {
            let begins = at + every.unwrap_or_default() * nth;
            scenario.faults.push((begins, begin(node.clone()).into()));
            if let (Some(lasts), Some(end)) = (lasts, end) {
                scenario.faults.push((begins + lasts, end(node.clone()).into()));
            }
        }
    }
    Ok(())
}

fn cluster_faults(scenario: &Scenario, entry: &FaultEntry) -> Result<Vec<Fault>, String> {
    let nodes = || matching_nodes(scenario, &entry.nodes);
    let each = |fault: &dyn Fn(Str) -> ClusterFault| -> Result<Vec<Fault>, String> {
        Ok(nodes()?.into_iter().map(|node| fault(node).into()).collect())
    };
    let daemon_set = || -> Result<Str, String> {
        let named = needed(entry.daemonset.as_deref(), "daemonset = \"namespace/name\"")?;
        let known = |plan: &DaemonSetPlan| format!("{}/{}", plan.namespace, plan.name) == named;
        let found = scenario.daemon_sets.iter().any(known);
        if found { Ok(named.into()) } else { Err(format!("there is no daemonset `{named}`")) }
    };
    match entry.verb {
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
        Verb::AddFinalizer | Verb::RemoveFinalizer => {
            let daemon_set = daemon_set()?;
            let finalizer = Str::from(needed(entry.finalizer.as_deref(), "finalizer = \"example.com/hold\"")?);
            let adds = entry.verb == Verb::AddFinalizer;
            each(&|node| {
                let (daemon_set, finalizer) = (daemon_set.clone(), finalizer.clone());
                match adds {
                    true => ClusterFault::AddFinalizer { daemon_set, node, finalizer },
                    false => ClusterFault::RemoveFinalizer { daemon_set, node, finalizer },
                }
            })
        }
        Verb::SetImages => {
            let images = needed(entry.images.clone(), "images = { container = \"image\" }")?;
            Ok(vec![ClusterFault::SetImages { daemon_set: daemon_set()?, images }.into()])
        }
        Verb::SetStrategy => {
            let kind = needed(entry.strategy, "strategy = \"RollingUpdate\" or \"OnDelete\"")?.into();
            let max_unavailable = entry.max_unavailable;
            Ok(vec![ClusterFault::SetStrategy { daemon_set: daemon_set()?, kind, max_unavailable }.into()])
        }
        Verb::Link => {
            let site: Str = needed(entry.site.as_deref(), "site = \"name\"")?.into();
            if !scenario.sites.iter().any(|known| known.name == site) {
                return Err(format!("there is no site `{site}`"));
            }
            let bytes_per_sec = rate(needed(entry.link.as_deref(), "link = \"20Mbit/s\"")?)?;
            Ok(vec![FleetFault::Link { site, bytes_per_sec }.into()])
        }
        Verb::Registry => {
            let image = needed(entry.image.as_deref(), "image = \"registry.example/agent:v2\"")?.into();
            Ok(vec![FleetFault::Registry { image, error: entry.error }.into()])
        }
        Verb::Compact => Ok(vec![ClusterFault::Compact.into()]),
        other => Err(format!("`{other:?}` is not a fault of the cluster")),
    }
}

fn needed<T>(field: Option<T>, example: &str) -> Result<T, String> {
    field.ok_or_else(|| format!("this fault needs `{example}`"))
}

/// The nodes that are named, or that begin with what stands before a `*`.
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
