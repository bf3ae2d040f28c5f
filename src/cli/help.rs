//! `help`: the help of a command, as `COMMAND --help` prints it, or of a separate topic.

use clap::CommandFactory;

use super::args::{Cli, exit_codes};
use super::error::{CliError, Exit};
use super::output::Output;
use crate::process::printable::Printable;

/// A topic with help that is not a command.
const EXIT_CODES: &str = "exit-codes";

/// Prints the help.
pub(super) fn run(topic: Option<&str>, output: &mut Output) -> Result<Exit, CliError> {
    let text = match topic {
        Some(EXIT_CODES) => exit_codes(),
        topic => of_command(topic)?,
    };
    output.write(Printable::lines(&text))?;
    Ok(Exit::Done)
}

fn of_command(name: Option<&str>) -> Result<String, CliError> {
    let mut command = Cli::command();
    command.build();
    let Some(name) = name else { return Ok(command.render_long_help().to_string()) };
    match command.find_subcommand_mut(name) {
        Some(command) => Ok(command.render_long_help().to_string()),
        None => Err(CliError::usage(format!("there is no help for `{name}`")).hinted(format!(
            "`rolldeck --help` lists the commands; `rolldeck help {EXIT_CODES}` says what exit codes mean"
        ))),
    }
}
