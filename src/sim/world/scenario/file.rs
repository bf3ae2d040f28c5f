//! Scenario files: TOML, read strictly. What is not known is refused, with its line.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::Deserialize;
use toml::Spanned;

use crate::engine::Str;
use crate::engine::facts::{StrategyKind, Taint, TaintEffect};
use crate::engine::quantity::IntOrPercent;
use crate::engine::time::Timestamp;

use super::units::{bytes, duration, rate};
use super::{
    ClusterFault, ControllerVariant, DEFAULT_FLOOR, DaemonSetPlan, Fault, FleetFault, Image, NodeSpec, PullError,
    Scenario, Site, Tolerates, numbered,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    name: String,
    #[serde(default)]
    about: String,
    start: Option<Spanned<String>>,
    #[serde(default)]
    controllers: Controllers,
    sites: Vec<Spanned<SiteEntry>>,
    #[serde(default)]
    images: Vec<Spanned<ImageEntry>>,
    #[serde(default)]
    daemonsets: Vec<Spanned<DaemonSetEntry>>,
    #[serde(default)]
    faults: Vec<Spanned<FaultEntry>>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Controllers {
    daemonset: Option<VariantEntry>,
    node_grace: Option<Spanned<String>>,
}

#[derive(Deserialize, Clone, Copy)]
enum VariantEntry {
    #[serde(rename = "1.20")]
    V1_20,
    #[serde(rename = "1.21-bug")]
    V1_21Bug,
    #[serde(rename = "current")]
    Current,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct SiteEntry {
    name: Str,
    link: String,
    floor_per_pull: Option<String>,
    nodes: Vec<NodesEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct NodesEntry {
    prefix: String,
    #[serde(default = "one")]
    first: usize,
    count: usize,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    #[serde(default)]
    taints: Vec<String>,
}

const fn one() -> usize {
    1
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ImageEntry {
    name: Str,
    size: String,
    starts_in: Option<String>,
    ready_in: Option<String>,
    stops_in: Option<String>,
    crashes_after: Option<String>,
    error: Option<PullError>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct DaemonSetEntry {
    namespace: Str,
    name: Str,
    images: BTreeMap<String, String>,
    #[serde(default)]
    history: Vec<BTreeMap<String, String>>,
    #[serde(default)]
    strategy: StrategyEntry,
    max_unavailable: Option<IntOrPercent>,
    #[serde(default)]
    min_ready_seconds: u32,
    revision_history_limit: Option<u32>,
    grace_seconds: Option<u32>,
    #[serde(default)]
    node_selector: BTreeMap<String, String>,
    #[serde(default)]
    tolerates: Tolerates,
}

#[derive(Deserialize, Clone, Copy, Default)]
enum StrategyEntry {
    #[default]
    RollingUpdate,
    OnDelete,
}

impl From<StrategyEntry> for StrategyKind {
    fn from(entry: StrategyEntry) -> Self {
        match entry {
            StrategyEntry::RollingUpdate => Self::RollingUpdate,
            StrategyEntry::OnDelete => Self::OnDelete,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct FaultEntry {
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
    image: Option<String>,
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
    Label,
    Cordon,
    Uncordon,
    Taint,
    Untaint,
    DeleteNode,
    DeletePods,
    SetImages,
    SetStrategy,
    Link,
    Registry,
    Compact,
}

pub(super) fn parse(text: &str) -> Result<Scenario, String> {
    let file: File = toml::from_str(text).map_err(|error| error.to_string().trim_end().to_owned())?;
    let at = |offset: usize| {
        let line = text[..offset.min(text.len())].matches('\n').count() + 1;
        move |why: String| format!("line {line}: {why}")
    };
    let mut scenario = Scenario { about: file.about, ..Scenario::new(&file.name) };
    if let Some(start) = file.start {
        scenario.start = Timestamp::parse(start.get_ref()).map_err(at(start.span().start))?;
    }
    scenario = scenario.with_controller(match file.controllers.daemonset {
        Some(VariantEntry::V1_20) => ControllerVariant::V1_20,
        Some(VariantEntry::V1_21Bug) => ControllerVariant::V1_21Bug,
        Some(VariantEntry::Current) | None => ControllerVariant::Current,
    });
    if let Some(grace) = file.controllers.node_grace {
        scenario.node_grace = duration(grace.get_ref()).map_err(at(grace.span().start))?;
    }
    for entry in file.sites {
        let line = at(entry.span().start);
        add_site(&mut scenario, entry.into_inner()).map_err(line)?;
    }
    for entry in file.images {
        let line = at(entry.span().start);
        let image = image(entry.get_ref()).map_err(line)?;
        scenario.images.push(image);
    }
    for entry in file.daemonsets {
        let line = at(entry.span().start);
        let plan = daemon_set(entry.into_inner(), &scenario).map_err(line)?;
        scenario.daemon_sets.push(plan);
    }
    for entry in file.faults {
        let line = at(entry.span().start);
        add_faults(&mut scenario, &entry.into_inner()).map_err(line)?;
    }
    scenario.faults.sort_by_key(|(at, _)| *at);
    Ok(scenario)
}

fn add_site(scenario: &mut Scenario, entry: SiteEntry) -> Result<(), String> {
    if scenario.sites.iter().any(|site| site.name == entry.name) {
        return Err(format!("there is already a site `{}`", entry.name));
    }
    let floor_per_pull = entry.floor_per_pull.as_deref().map_or(Ok(DEFAULT_FLOOR), rate)?;
    let mut names: BTreeSet<Str> = scenario.nodes.iter().map(|node| node.name.clone()).collect();
    for group in entry.nodes {
        let taints = group.taints.iter().map(|text| taint(text)).collect::<Result<Vec<_>, _>>()?;
        for name in numbered(&group.prefix, group.first, group.count) {
            if !names.insert(name.clone()) {
                return Err(format!("site `{}`: there is already a node `{name}`", entry.name));
            }
            scenario.nodes.push(NodeSpec {
                name,
                site: entry.name.clone(),
                labels: group.labels.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect(),
                taints: taints.clone(),
            });
        }
    }
    scenario.sites.push(Site { name: entry.name, bytes_per_sec: rate(&entry.link)?, floor_per_pull });
    Ok(())
}

fn image(entry: &ImageEntry) -> Result<Image, String> {
    let plain = Image::new(&entry.name, bytes(&entry.size)?);
    let or = |text: &Option<String>, default: Duration| text.as_deref().map_or(Ok(default), duration);
    Ok(Image {
        starts_in: or(&entry.starts_in, plain.starts_in)?,
        ready_in: or(&entry.ready_in, plain.ready_in)?,
        stops_in: or(&entry.stops_in, plain.stops_in)?,
        crashes_after: entry.crashes_after.as_deref().map(duration).transpose()?,
        error: entry.error,
        ..plain
    })
}

fn daemon_set(entry: DaemonSetEntry, scenario: &Scenario) -> Result<DaemonSetPlan, String> {
    let title = format!("daemonset `{}/{}`", entry.namespace, entry.name);
    if entry.images.is_empty() {
        return Err(format!("{title} has no container; write `images = {{ agent = \"registry.example/agent:v1\" }}`"));
    }
    if let Some(missing) =
        entry.images.values().find(|image| !scenario.images.iter().any(|known| *known.name == ***image))
    {
        return Err(format!("{title} runs `{missing}`, of which there is no `[[images]]` entry"));
    }
    let plain = DaemonSetPlan::new(&entry.namespace, &entry.name, "");
    Ok(DaemonSetPlan {
        images: entry.images,
        history: entry.history,
        strategy: entry.strategy.into(),
        max_unavailable: entry.max_unavailable.unwrap_or(plain.max_unavailable),
        min_ready_secs: entry.min_ready_seconds,
        history_limit: entry.revision_history_limit.unwrap_or(plain.history_limit),
        grace_secs: entry.grace_seconds.unwrap_or(plain.grace_secs),
        node_selector: entry.node_selector,
        tolerates: entry.tolerates,
        ..plain
    })
}

/// `key=value:NoSchedule` or `key:NoExecute`.
fn taint(text: &str) -> Result<Taint, String> {
    let refuse = || format!("`{text}` is not a taint like `dedicated=press:NoSchedule`");
    let (pair, effect) = text.rsplit_once(':').ok_or_else(refuse)?;
    let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
    let effect = match effect {
        "NoSchedule" => TaintEffect::NoSchedule,
        "PreferNoSchedule" => TaintEffect::PreferNoSchedule,
        "NoExecute" => TaintEffect::NoExecute,
        _ => return Err(refuse()),
    };
    Ok(Taint { key: key.into(), value: value.into(), effect })
}

/// A fault on nodes: at once, and what undoes it.
type OnNode = (fn(Str) -> FleetFault, Option<fn(Str) -> FleetFault>);

fn add_faults(scenario: &mut Scenario, entry: &FaultEntry) -> Result<(), String> {
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
    if entry.lasts.is_some() || entry.every.is_some() || entry.times.is_some() {
        return Err("`for`, `every` and `times` go with `node-off`, `node-cut`, `probes-fail` and `disk-full`".into());
    }
    let faults = cluster_faults(scenario, entry)?;
    scenario.faults.extend(faults.into_iter().map(|fault| (at, fault)));
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
