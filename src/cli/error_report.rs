//! What failed, as the last object of an output of JSON or YAML.

use super::args::OutputFormat;
use super::error::CliError;
use super::json::{ErrorJson, TypeMetaJson};
use super::output::Output;

/// Prints the error: indented like the one answer of most commands, or in a line of its own behind the lines of a command that `prints_lines`. Text has it
/// on standard error only, as a part of the answer that was asked for (`-o jsonpath=…`) has.
pub(super) fn print(error: &CliError, prints_lines: bool, output: &mut Output) {
    if error.is_broken_pipe() || output.format() == OutputFormat::Text || !output.is_whole() {
        return;
    }
    let hints = error.hints();
    let report = ErrorJson {
        meta: TypeMetaJson::new("Error"),
        reason: error.reason(),
        message: error.message(),
        hints: &hints,
        exit_code: error.code(),
        asked_for: error.is_asked_for(),
    };
    // Standard error tells it in any case.
    let _ = if prints_lines { output.record(&report) } else { output.value(&report) };
}
