//! `rolldeck simulate`: attacks the promises in the simulated world on all cores, and prints the result.
//!
//! The command needs no cluster and drives no rollout, so it calls the attack directly and not through the driver. `--compare` does the same.

mod compare;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use serde::Serialize;

use super::args::{OutputFormat, SimulateArgs};
use super::error::{CliError, Exit};
use super::json::TypeMetaJson;
use super::output::Output;
use crate::sim::attack::campaign;
use crate::sim::attack::case::Case;
use crate::sim::attack::run::{TraceMode, run_case};
use crate::sim::attack::shrink::shrink;
use crate::sim::attack::statistics::Statistics;

/// The answer with `-o json`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AttackJson {
    #[serde(flatten)]
    meta: TypeMetaJson,
    seed: u64,
    rollouts: u64,
    deletions: u64,
    faults: u64,
    faults_by_kind: BTreeMap<&'static str, u64>,
    cluster_seconds: u64,
    worst_down: usize,
    seconds: f64,
    violations: Vec<BrokenJson>,
}

/// The answer with `-o json` for one case.
#[derive(Serialize)]
struct CaseReport<'a> {
    #[serde(flatten)]
    meta: TypeMetaJson,
    trace: &'a [String],
    violations: &'a [String],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BrokenJson {
    seed: u64,
    what: Vec<String>,
}

pub(crate) async fn run(args: SimulateArgs, output: &mut Output) -> Result<Exit, CliError> {
    if let (true, Some(scenario)) = (args.compare, &args.scenario) {
        return compare::run(scenario, args.seed, output).await;
    }
    let seed = args.seed.unwrap_or_else(|| fastrand::u64(..1_000_000_000_000));
    if args.plays_one_case() {
        return one(&args, seed, output).await;
    }
    let runs = args.runs;
    let began = Instant::now();
    let statistics = blocking(move || campaign::random(seed, runs).run(on_all_cores)).await?;
    let seconds = began.elapsed().as_secs_f64();
    let exit = if statistics.broken.is_empty() { Exit::Done } else { Exit::Halted };
    match output.format() {
        OutputFormat::Json | OutputFormat::Yaml => output.value(&answer(seed, seconds, statistics))?,
        OutputFormat::Text => print(seed, seconds, &statistics, output)?,
    }
    Ok(exit)
}

/// Runs a worker on every core; returns when all are done.
fn on_all_cores(worker: &(dyn Fn() + Sync)) {
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(worker);
        }
    });
}

fn print(seed: u64, seconds: f64, statistics: &Statistics, output: &mut Output) -> Result<(), CliError> {
    for line in statistics.to_string().lines() {
        output.line(line)?;
    }
    output.line(format!("from seed {seed} in {seconds:.1} s"))?;
    Ok(())
}

/// Shrinks, saves and plays one case, as the flags demand, and prints the promises that it breaks.
async fn one(args: &SimulateArgs, seed: u64, output: &mut Output) -> Result<Exit, CliError> {
    let mut case = match &args.case {
        Some(file) => read(file)?,
        None => Case::random(seed),
    };
    if args.shrink {
        let whole = case.clone();
        case = blocking(move || shrink(&whole)).await?.ok_or_else(|| {
            CliError::failed("it breaks no promise, so there is nothing to shrink").hinted("run it with `--trace`")
        })?;
    }
    if let Some(file) = &args.save {
        let failed = |error| CliError::failed(format!("writing the case to {}: {error}", file.display()));
        std::fs::write(file, case.to_text()).map_err(failed)?;
    }
    let report = blocking(move || run_case(&case, TraceMode::Kept)).await?;
    let violations: Vec<String> = report.violations.iter().map(ToString::to_string).collect();
    match output.format() {
        OutputFormat::Json | OutputFormat::Yaml => {
            let meta = TypeMetaJson::new("SimulatedCase");
            output.value(&CaseReport { meta, trace: &report.trace, violations: &violations })?;
        }
        OutputFormat::Text => {
            let lines = report.trace.iter().filter(|_| args.trace);
            for line in lines.chain(&violations) {
                output.line(line)?;
            }
            if violations.is_empty() {
                output.line("every promise held")?;
            }
        }
    }
    Ok(if violations.is_empty() { Exit::Done } else { Exit::Halted })
}

fn read(file: &Path) -> Result<Case, CliError> {
    let failed = |error: &dyn std::fmt::Display| CliError::failed(format!("reading case {}: {error}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|error| failed(&error))?;
    Case::parse(&text).map_err(|error| failed(&error).hinted("`--save` writes cases"))
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, CliError> {
    tokio::task::spawn_blocking(work).await.map_err(|error| CliError::failed(format!("simulating: {error}")))
}

fn answer(seed: u64, seconds: f64, statistics: Statistics) -> AttackJson {
    AttackJson {
        meta: TypeMetaJson::new("Simulation"),
        seed,
        rollouts: statistics.runs,
        deletions: statistics.deletions,
        faults: statistics.faults.total(),
        faults_by_kind: statistics.faults.by_kind().map(|(kind, count)| (kind.words(), count)).collect(),
        cluster_seconds: statistics.took.as_secs(),
        worst_down: statistics.worst_down,
        seconds,
        violations: statistics.broken.into_iter().map(|(seed, what)| BrokenJson { seed, what }).collect(),
    }
}
