//! `rolldeck simulate --compare`: plays each method of rolling out once, all at the same time, and prints their figures.

use serde::Serialize;

use super::blocking;
use crate::cli::args::OutputFormat;
use crate::cli::error::{CliError, Exit};
use crate::cli::json::TypeMetaJson;
use crate::cli::output::Output;
use crate::driver::practice::{read_scenario, unknown_scenario};
use crate::sim::compare::figures::Figures;
use crate::sim::compare::method::Method;
use crate::sim::compare::trial::{NotComparable, Trial};

/// The answer with `-o json`.
#[derive(Serialize)]
struct ComparisonAnswer<T> {
    #[serde(flatten)]
    meta: TypeMetaJson,
    #[serde(flatten)]
    comparison: T,
}

fn answer<T>(comparison: T) -> ComparisonAnswer<T> {
    ComparisonAnswer { meta: TypeMetaJson::new("Comparison"), comparison }
}

/// The default seed, so that the figures of two calls can be compared.
const SEED: u64 = 1;

pub(super) async fn run(scenario: &str, seed: Option<u64>, output: &mut Output) -> Result<Exit, CliError> {
    if let Some(unknown) = unknown_scenario(scenario) {
        return Err(CliError::usage(unknown));
    }
    let scenario = read_scenario(scenario)?;
    let seed = seed.unwrap_or(SEED);
    let comparison = blocking(move || {
        let trial = Trial::new(&scenario, seed)?;
        trial.compare(run_all(&trial))
    });
    let comparison = comparison.await?.map_err(|why: NotComparable| {
        CliError::failed(why.to_string()).hinted("the built-in scenario `factory` can be compared")
    })?;
    match output.format() {
        OutputFormat::Json | OutputFormat::Yaml => output.value(&answer(comparison.json()))?,
        OutputFormat::Text => {
            for line in comparison.to_string().lines() {
                output.line(line)?;
            }
        }
    }
    let all_ended = comparison.runs.iter().all(|run| run.total.is_some());
    Ok(if all_ended { Exit::Done } else { Exit::Halted })
}

fn run_all(trial: &Trial) -> Vec<Figures> {
    std::thread::scope(|scope| {
        let runs = Method::ALL.map(|method| scope.spawn(move || trial.run(method)));
        runs.into_iter().filter_map(|run| run.join().ok()).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handover::API_VERSION;

    #[test]
    fn the_answer_names_its_version_and_kind_beside_the_figures() {
        let json = serde_json::to_value(answer(serde_json::json!({"nodes": 20}))).unwrap();
        assert_eq!(json, serde_json::json!({"apiVersion": API_VERSION, "kind": "Comparison", "nodes": 20}));
    }
}
