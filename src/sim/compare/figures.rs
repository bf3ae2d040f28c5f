//! The figures of a run, and the comparison of all runs as a table.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::Serialize;

use super::method::Method;
use crate::engine::model::Str;

/// The figures of one run.
#[derive(Clone, PartialEq, Debug)]
pub struct Figures {
    /// The method of the rollout.
    pub method: Method,
    /// From the operator's first act until every node served the new image; `None`: the run was given up.
    pub total: Option<Duration>,
    /// The most nodes without a ready pod at one instant.
    pub peak_offline: usize,
    /// The time without a ready pod, summed over all nodes.
    pub offline: Duration,
    /// How often a node's Lease ran out.
    pub lease_losses: usize,
    /// The most images that came over each site's link at one instant.
    pub peak_pulls: BTreeMap<Str, usize>,
    /// The reason of each halt; the operator resumed at once.
    pub halts: Vec<String>,
}

/// The least time that a rollout can take: the time in which the slowest site's link, always full, transfers all bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bound {
    /// The slowest site.
    pub site: Str,
    /// The time that its link takes for all bytes.
    pub span: Duration,
}

/// The runs of all methods.
#[derive(Clone, PartialEq, Debug)]
pub struct MethodComparison {
    /// What the scenario is called.
    pub scenario: String,
    /// How many nodes run the DaemonSet.
    pub nodes: usize,
    /// The nodes' sites, in the scenario's order.
    pub sites: Vec<Str>,
    /// The bytes that each node has to pull.
    pub bytes_per_node: u64,
    /// The least time that a rollout can take.
    pub bound: Bound,
    /// The figures of each method's run.
    pub runs: Vec<Figures>,
}

impl MethodComparison {
    /// `total` as a multiple of the bound.
    pub fn over_bound(&self, total: Duration) -> f64 {
        total.as_secs_f64() / self.bound.span.as_secs_f64().max(f64::MIN_POSITIVE)
    }

    /// The comparison as a JSON value for scripts.
    pub fn json(&self) -> impl Serialize {
        let run = |run: &Figures| RunJson {
            method: run.method.to_string(),
            seconds: run.total.map(|total| total.as_secs()),
            over_bound: run.total.map(|total| self.over_bound(total)),
            peak_offline: run.peak_offline,
            offline_node_seconds: run.offline.as_secs(),
            lease_losses: run.lease_losses,
            peak_pulls: run.peak_pulls.iter().map(|(site, pulls)| (site.to_string(), *pulls)).collect(),
            halts: run.halts.clone(),
        };
        ComparisonJson {
            scenario: self.scenario.clone(),
            nodes: self.nodes,
            bytes_per_node: self.bytes_per_node,
            bound_seconds: self.bound.span.as_secs(),
            bound_site: self.bound.site.to_string(),
            runs: self.runs.iter().map(run).collect(),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ComparisonJson {
    scenario: String,
    nodes: usize,
    bytes_per_node: u64,
    bound_seconds: u64,
    bound_site: String,
    runs: Vec<RunJson>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RunJson {
    method: String,
    seconds: Option<u64>,
    over_bound: Option<f64>,
    peak_offline: usize,
    offline_node_seconds: u64,
    lease_losses: usize,
    peak_pulls: BTreeMap<String, usize>,
    halts: Vec<String>,
}

impl fmt::Display for MethodComparison {
    /// One line per method, with the bound above them and the halts below them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} nodes, {} MB each: the link of {} alone is full for {}",
            self.nodes,
            self.bytes_per_node / 1_000_000,
            self.bound.site,
            clock(self.bound.span)
        )?;
        writeln!(f)?;
        line(f, ["", "", "of the", "offline", "offline", "Leases", "pulls at once"])?;
        let sites: Vec<&str> = self.sites.iter().map(|site| &**site).collect();
        line(f, ["", "total", "bound", "at once", "node-seconds", "lost", &sites.join(" ")])?;
        for run in &self.runs {
            let pulls = self.sites.iter().map(|site| {
                let most = run.peak_pulls.get(site).copied().unwrap_or_default();
                format!("{most:>width$}", width = site.len())
            });
            line(
                f,
                [
                    &run.method.to_string(),
                    &run.total.map_or_else(|| "never".to_owned(), clock),
                    &run.total.map_or_else(String::new, |total| format!("{:.2}", self.over_bound(total))),
                    &run.peak_offline.to_string(),
                    &run.offline.as_secs().to_string(),
                    &run.lease_losses.to_string(),
                    &pulls.collect::<Vec<_>>().join(" "),
                ],
            )?;
        }
        for run in &self.runs {
            if let Some(first) = run.halts.first() {
                let (method, times) = (run.method, run.halts.len());
                writeln!(f, "{method}: halted {times} times, and was resumed at once; the first time: {first}")?;
            }
        }
        Ok(())
    }
}

fn line(f: &mut fmt::Formatter<'_>, cells: [&str; 7]) -> fmt::Result {
    let [method, total, over, peak, offline, leases, pulls] = cells;
    let text = format!("{method:40}{total:>8}{over:>8}{peak:>9}{offline:>14}{leases:>8}  {pulls}");
    writeln!(f, "{}", text.trim_end())
}

/// Hours, minutes and seconds: `5:20:07`.
fn clock(span: Duration) -> String {
    let secs = span.as_secs();
    format!("{}:{:02}:{:02}", secs / 3600, secs / 60 % 60, secs % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comparison() -> MethodComparison {
        let run = |method, total, halts| Figures {
            method,
            total,
            peak_offline: 2,
            offline: Duration::from_millis(700_400),
            lease_losses: 0,
            peak_pulls: [("hall".into(), 2), ("yard".into(), 11)].into(),
            halts,
        };
        let secs = |secs| Some(Duration::from_secs(secs));
        MethodComparison {
            scenario: "plant".into(),
            nodes: 12,
            sites: vec!["yard".into(), "hall".into()],
            bytes_per_node: 400_000_000,
            bound: Bound { site: "yard".into(), span: Duration::from_secs(3_600) },
            runs: vec![
                run(Method::ALL[1], secs(36_090), Vec::new()),
                run(Method::StatefulSet(crate::engine::model::quantity::IntOrPercent::Int(2)), None, Vec::new()),
                run(Method::Rolldeck, secs(3_661), vec!["progress deadline on 1 node".into(), "another".into()]),
            ],
        }
    }

    #[test]
    fn it_is_one_table() {
        let lines = [
            "12 nodes, 400 MB each: the link of yard alone is full for 1:00:00",
            "",
            "                                                  of the  offline       offline  Leases  pulls at once",
            "                                           total   bound  at once  node-seconds    lost  yard hall",
            "RollingUpdate, maxUnavailable 10%       10:01:30   10.03        2           700       0    11    2",
            "StatefulSet pulls, then RollingUpdate 2    never                2           700       0    11    2",
            "rolldeck, default settings               1:01:01    1.02        2           700       0    11    2",
            "rolldeck, default settings: halted 2 times, and was resumed at once; the first time: progress deadline on 1 node",
        ];
        assert_eq!(comparison().to_string().lines().collect::<Vec<_>>(), lines);
    }

    #[test]
    fn scripts_get_the_same() {
        let json = serde_json::to_value(comparison().json()).unwrap();
        assert_eq!(json["boundSeconds"], 3_600);
        let last = &json["runs"][2];
        assert_eq!((&last["offlineNodeSeconds"], &last["peakPulls"]["yard"]), (&700.into(), &11.into()));
        assert_eq!((&json["runs"][1]["seconds"], &last["seconds"]), (&serde_json::Value::Null, &3_661.into()));
    }
}
