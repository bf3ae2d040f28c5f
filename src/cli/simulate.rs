//! `rolldeck simulate`: attacks the promises in the simulated world, and says what came of it.

use std::time::Instant;

use serde::Serialize;

use super::args::{OutputFormat, SimulateArgs};
use super::error::{CliError, Exit};
use super::output::Output;
use crate::driver::simulate::{Simulation, Tally, story};

/// What `-o json` prints.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    kind: &'static str,
    seed: u64,
    rollouts: u64,
    deletions: u64,
    faults: u64,
    worst_down: usize,
    seconds: f64,
    violations: Vec<Broken>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Broken {
    seed: u64,
    what: Vec<String>,
}

pub(crate) async fn run(args: SimulateArgs, output: &mut Output) -> Result<Exit, CliError> {
    let seed = args.seed.unwrap_or_else(|| fastrand::u64(..1_000_000_000_000));
    if args.story {
        return tell(seed, output).await;
    }
    let simulation = Simulation { seed, runs: args.runs };
    let began = Instant::now();
    let tally = blocking(move || simulation.run()).await?;
    let seconds = began.elapsed().as_secs_f64();
    let exit = if tally.broken.is_empty() { Exit::Done } else { Exit::Halted };
    match output.format() {
        OutputFormat::Json => output.json(&answer(seed, seconds, tally))?,
        OutputFormat::Text => print(seed, seconds, &tally, output)?,
    }
    Ok(exit)
}

fn print(seed: u64, seconds: f64, tally: &Tally, output: &mut Output) -> Result<(), CliError> {
    output.line(format!(
        "{} rollouts from seed {seed} in {seconds:.1} s: {} pods replaced, {} faults, at most {} nodes down at once",
        tally.runs, tally.deletions, tally.faults, tally.worst_down
    ))?;
    for (seed, what) in &tally.broken {
        output.line(format!("seed {seed} broke a promise; `rolldeck simulate --seed {seed} --story` tells how"))?;
        for violation in what.iter().take(3) {
            output.line(format!("    {violation}"))?;
        }
    }
    output.line(format!("{} of {} broke a promise", tally.broken.len(), tally.runs))?;
    Ok(())
}

async fn tell(seed: u64, output: &mut Output) -> Result<Exit, CliError> {
    let (lines, violations) = blocking(move || story(seed)).await?;
    for line in lines.iter().chain(&violations) {
        output.line(line)?;
    }
    Ok(if violations.is_empty() { Exit::Done } else { Exit::Halted })
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, CliError> {
    tokio::task::spawn_blocking(work).await.map_err(|error| CliError::failed(format!("simulating: {error}")))
}

fn answer(seed: u64, seconds: f64, tally: Tally) -> Answer {
    Answer {
        kind: "Simulation",
        seed,
        rollouts: tally.runs,
        deletions: tally.deletions,
        faults: tally.faults,
        worst_down: tally.worst_down,
        seconds,
        violations: tally.broken.into_iter().map(|(seed, what)| Broken { seed, what }).collect(),
    }
}
