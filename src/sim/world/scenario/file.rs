//! Scenario files: TOML, read strictly. An unknown key or value is refused, with its line.

mod faults;

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU8;
use std::time::Duration;

use serde::Deserialize;
use toml::Spanned;

use crate::engine::model::Str;
use crate::engine::model::facts::{StrategyKind, Taint};
use crate::engine::model::image::registry_of;
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::template::{TaintEffect, VOLUME};
use crate::engine::model::time::Timestamp;

use super::units::{bytes, duration, rate};
use super::{
    ControllerVariant, DEFAULT_FLOOR, DaemonSetPlan, Fault, FleetFault, NodeSpec, PullError, PullQuota, RegistryImage,
    RolloutPlan, Scenario, Site, Tolerates, numbered,
};

use faults::{FaultEntry, add_faults};

/// The most nodes of a scenario: twenty times as many as Kubernetes supports in a cluster, and as many as a workstation still simulates.
const MOST_NODES: usize = 100_000;
/// The highest number that the first node of a group may have.
const HIGHEST_NUMBER: usize = 999_999_999;

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
    registries: Vec<Spanned<PullLimitEntry>>,
    #[serde(default)]
    daemonsets: Vec<Spanned<DaemonSetEntry>>,
    #[serde(default)]
    faults: Vec<Spanned<FaultEntry>>,
    rollout: Option<Spanned<RolloutEntry>>,
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
    parallel_pulls: Option<NonZeroU8>,
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
    node_not_ready_for: Option<String>,
    #[serde(default)]
    distroless: bool,
    error: Option<PullError>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct PullLimitEntry {
    name: Str,
    pulls: u32,
    per: String,
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
    max_surge: Option<IntOrPercent>,
    #[serde(default)]
    min_ready_seconds: u32,
    revision_history_limit: Option<u32>,
    grace_seconds: Option<u32>,
    #[serde(default)]
    node_selector: BTreeMap<String, String>,
    #[serde(default)]
    tolerates: Tolerates,
    #[serde(default)]
    pulls_always: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RolloutEntry {
    daemonset: String,
    images: BTreeMap<String, String>,
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

pub(super) fn parse(text: &str) -> Result<Scenario, String> {
    let file: File = toml::from_str(text).map_err(|error| error.to_string().trim_end().to_owned())?;
    // Lines are counted only for an error.
    let at = |offset: usize| {
        move |why: String| {
            let line = text[..offset.min(text.len())].matches('\n').count() + 1;
            format!("line {line}: {why}")
        }
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
    let mut taken = TakenNames::default();
    for entry in file.sites {
        let line = at(entry.span().start);
        add_site(&mut scenario, &mut taken, entry.into_inner()).map_err(line)?;
    }
    for entry in file.images {
        let line = at(entry.span().start);
        let image = image(entry.get_ref()).map_err(line)?;
        scenario.images.push(image);
    }
    for entry in file.registries {
        let line = at(entry.span().start);
        add_registry(&mut scenario, entry.into_inner()).map_err(line)?;
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
    if let Some(entry) = file.rollout {
        let line = at(entry.span().start);
        scenario.rollout = Some(rollout(entry.into_inner(), &scenario).map_err(line)?);
    }
    Ok(scenario)
}

/// The names of all sites and nodes that were added so far.
#[derive(Default)]
struct TakenNames {
    sites: BTreeSet<Str>,
    nodes: BTreeSet<Str>,
}

/// Adds a site and its nodes.
fn add_site(scenario: &mut Scenario, taken: &mut TakenNames, entry: SiteEntry) -> Result<(), String> {
    if !taken.sites.insert(entry.name.clone()) {
        return Err(format!("there is already a site `{}`", entry.name));
    }
    let floor_per_pull = entry.floor_per_pull.as_deref().map_or(Ok(DEFAULT_FLOOR), rate)?;
    for group in entry.nodes {
        // The count is checked before any node is made: it may be beyond what a machine holds.
        if group.count > MOST_NODES - scenario.nodes.len() {
            return Err(format!(
                "site `{}`: `count = {}` of `{}` makes more than {MOST_NODES} nodes in all; write a smaller `count`",
                entry.name, group.count, group.prefix
            ));
        }
        if group.first > HIGHEST_NUMBER {
            return Err(format!(
                "site `{}`: `first = {}` of `{}` is more than {HIGHEST_NUMBER}; write a smaller `first`",
                entry.name, group.first, group.prefix
            ));
        }
        let taints = group.taints.iter().map(|text| taint(text)).collect::<Result<Vec<_>, _>>()?;
        for name in numbered(&group.prefix, group.first, group.count) {
            if !taken.nodes.insert(name.clone()) {
                return Err(format!("site `{}`: there is already a node `{name}`", entry.name));
            }
            scenario.nodes.push(NodeSpec {
                name,
                site: entry.name.clone(),
                labels: group.labels.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect(),
                taints: taints.clone(),
                parallel_pulls: group.parallel_pulls,
            });
        }
    }
    scenario.sites.push(Site { name: entry.name, bytes_per_sec: rate(&entry.link)?, floor_per_pull });
    Ok(())
}

fn image(entry: &ImageEntry) -> Result<RegistryImage, String> {
    let plain = RegistryImage::new(&entry.name, bytes(&entry.size)?);
    let or = |text: &Option<String>, default: Duration| text.as_deref().map_or(Ok(default), duration);
    Ok(RegistryImage {
        starts_in: or(&entry.starts_in, plain.starts_in)?,
        ready_in: or(&entry.ready_in, plain.ready_in)?,
        stops_in: or(&entry.stops_in, plain.stops_in)?,
        crashes_after: entry.crashes_after.as_deref().map(duration).transpose()?,
        node_not_ready_for: entry.node_not_ready_for.as_deref().map(duration).transpose()?,
        distroless: entry.distroless,
        error: entry.error,
        ..plain
    })
}

/// Adds a registry that counts pulls from the beginning.
fn add_registry(scenario: &mut Scenario, entry: PullLimitEntry) -> Result<(), String> {
    let PullLimitEntry { name, pulls, per } = entry;
    if !scenario.images.iter().any(|image| registry_of(&image.name) == *name) {
        return Err(format!("no `[[images]]` entry is of the registry `{name}`"));
    }
    let is_it =
        |fault: &Fault| matches!(fault, Fault::Fleet(FleetFault::LimitPulls { registry, .. }) if *registry == name);
    if scenario.faults.iter().any(|(_, fault)| is_it(fault)) {
        return Err(format!("there is already a registry `{name}`"));
    }
    if pulls == 0 {
        return Err(format!("registry `{name}`: with `pulls = 0` nothing is ever pulled; write at least 1"));
    }
    let per = duration(&per)?;
    if per.is_zero() {
        return Err(format!("registry `{name}`: `per` is no time; write `per = \"6h\"`"));
    }
    let quota = Some(PullQuota { pulls, per });
    scenario.faults.push((Duration::ZERO, FleetFault::LimitPulls { registry: name, quota }.into()));
    Ok(())
}

fn daemon_set(entry: DaemonSetEntry, scenario: &Scenario) -> Result<DaemonSetPlan, String> {
    let title = format!("daemonset `{}/{}`", entry.namespace, entry.name);
    if entry.images.keys().all(|name| name.starts_with(VOLUME)) {
        return Err(format!("{title} has no container; write `images = {{ agent = \"registry.example/agent:v1\" }}`"));
    }
    if let Some(missing) = unknown_image(&entry.images, scenario) {
        return Err(format!("{title} runs `{missing}`, of which there is no `[[images]]` entry"));
    }
    let plain = DaemonSetPlan::new(&entry.namespace, &entry.name, "");
    Ok(DaemonSetPlan {
        images: entry.images,
        history: entry.history,
        strategy: entry.strategy.into(),
        max_unavailable: entry.max_unavailable.unwrap_or(match entry.max_surge {
            // One of the two is 0.
            Some(_) => IntOrPercent::Int(0),
            None => plain.max_unavailable,
        }),
        max_surge: entry.max_surge.unwrap_or(plain.max_surge),
        min_ready_secs: entry.min_ready_seconds,
        history_limit: entry.revision_history_limit.unwrap_or(plain.history_limit),
        grace_secs: entry.grace_seconds.unwrap_or(plain.grace_secs),
        node_selector: entry.node_selector,
        tolerates: entry.tolerates,
        pulls_always: entry.pulls_always,
        ..plain
    })
}

fn rollout(entry: RolloutEntry, scenario: &Scenario) -> Result<RolloutPlan, String> {
    let named = |plan: &&DaemonSetPlan| format!("{}/{}", plan.namespace, plan.name) == entry.daemonset;
    let Some(plan) = scenario.daemon_sets.iter().find(named) else {
        return Err(format!("the rollout is of daemonset `{}`, which is not there", entry.daemonset));
    };
    if let Some(container) = entry.images.keys().find(|container| !plan.images.contains_key(*container)) {
        return Err(format!("daemonset `{}` has no container `{container}`", entry.daemonset));
    }
    if let Some(missing) = unknown_image(&entry.images, scenario) {
        return Err(format!("the rollout is to `{missing}`, of which there is no `[[images]]` entry"));
    }
    Ok(RolloutPlan { daemon_set: (plan.namespace.clone(), plan.name.clone()), images: entry.images })
}

fn unknown_image<'a>(images: &'a BTreeMap<String, String>, scenario: &Scenario) -> Option<&'a String> {
    images.values().find(|image| !scenario.images.iter().any(|known| *known.name == ***image))
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
