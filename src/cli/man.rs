//! `man`: the man page, generated from the same table of commands and flags as `--help`.

use std::io;

use clap::{Command, CommandFactory};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use super::args::{Cli, ENVIRONMENT, EXIT_CODE_TABLE, FILES};
use super::error::{CliError, Exit};
use super::output::Output;
use crate::process::printable::Printable;

/// Prints the man page.
pub(super) fn run(output: &mut Output) -> Result<Exit, CliError> {
    output.write(Printable::lines(&String::from_utf8_lossy(&page()?)))?;
    Ok(Exit::Done)
}

/// One page for all commands: each command has a section with its flags, and common flags are listed once.
fn page() -> io::Result<Vec<u8>> {
    // Examples and exit codes have sections of their own.
    let mut command = Cli::command().after_help("").after_long_help("").subcommand_value_name("COMMAND");
    command.build();
    let man = Man::new(command.clone());
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    let mut roff = Roff::new();
    roff.control("SH", ["COMMANDS"]);
    roff.to_writer(&mut page)?;
    for inner in command.get_subcommands() {
        section_of(inner, &mut page)?;
    }
    for (title, rows) in [("EXIT STATUS", EXIT_CODE_TABLE), ("ENVIRONMENT", ENVIRONMENT), ("FILES", FILES)] {
        let mut roff = Roff::new();
        roff.control("SH", [title]);
        for (what, about) in rows {
            roff.control("TP", []).text([bold(*what)]).text([roman(*about)]);
        }
        roff.to_writer(&mut page)?;
    }
    let mut roff = Roff::new();
    roff.control("SH", ["EXAMPLES"]).control("nf", []);
    for line in super::args::EXAMPLES.lines().skip(1) {
        roff.text([roman(line.trim_start())]);
    }
    roff.control("fi", []);
    roff.control("SH", ["SEE ALSO"]).text([bold("kubectl"), roman("(1)")]);
    roff.to_writer(&mut page)?;
    Ok(page)
}

/// A command: its name, its purpose, and its own flags.
fn section_of(command: &Command, page: &mut Vec<u8>) -> io::Result<()> {
    let mut roff = Roff::new();
    let usage = command.clone().render_usage().to_string();
    roff.control("SS", [command.get_name()]);
    roff.text([bold(usage.trim_start_matches("Usage: ").replace("[OPTIONS] ", ""))]).control("PP", []);
    let about = command.get_long_about().or_else(|| command.get_about()).map(ToString::to_string).unwrap_or_default();
    for paragraph in about.lines() {
        match paragraph {
            "" => roff.control("PP", []),
            text => roff.text([roman(text)]),
        };
    }
    for arg in command.get_arguments().filter(|arg| !arg.is_global_set() && arg.get_id() != "help") {
        let names = [arg.get_short().map(|short| format!("-{short}")), arg.get_long().map(|long| format!("--{long}"))];
        let names = names.into_iter().flatten().collect::<Vec<_>>().join(", ");
        let values = match arg.get_action().takes_values() {
            true => arg.get_value_names().unwrap_or_default().iter().map(|name| format!(" {name}")).collect(),
            false => String::new(),
        };
        let help = arg.get_long_help().or_else(|| arg.get_help()).map(ToString::to_string).unwrap_or_default();
        roff.control("TP", []).text([bold(format!("{names}{values}").trim_start())]);
        roff.text([roman(help)]);
    }
    if let Some(after) = command.get_after_help() {
        roff.control("PP", []).control("nf", []);
        for line in after.to_string().lines() {
            roff.text([roman(line)]);
        }
        roff.control("fi", []);
    }
    roff.to_writer(page)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::process::{Command as Process, Stdio};

    use super::*;

    #[test]
    fn every_command_flag_variable_and_exit_code_is_in_it() {
        let page = String::from_utf8(page().unwrap()).unwrap().replace("\\-", "-");
        let command = Cli::command();
        for inner in command.get_subcommands() {
            assert!(page.contains(&format!(".SS {}\n", inner.get_name())), "{}", inner.get_name());
            for long in inner.get_arguments().filter_map(clap::Arg::get_long) {
                assert!(page.contains(&format!("--{long}")), "{} --{long}", inner.get_name());
            }
        }
        for variable in command.get_arguments().filter_map(clap::Arg::get_env) {
            let variable = variable.to_str().unwrap();
            assert!(ENVIRONMENT.iter().any(|(name, _)| *name == variable), "{variable}");
        }
        for section in ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "COMMANDS", "EXIT STATUS", "ENVIRONMENT", "FILES"]
        {
            assert!(
                page.contains(&format!(".SH {section}\n")) || page.contains(&format!(".SH \"{section}\"\n")),
                "{section}"
            );
        }
        assert!(
            page.contains("ROLLDECK_CONFIG") && page.contains("config.toml") && page.contains("somebody else drives")
        );
    }

    /// Checks that groff, if it is installed, gives no warnings.
    #[test]
    fn groff_has_nothing_to_say_against_it() {
        let Some(mut groff) = groff_or_skip(Process::new("groff").args(["-man", "-Tutf8", "-ww", "-z"])) else {
            return;
        };
        groff.stdin.take().unwrap().write_all(&page().unwrap()).unwrap();
        let said = groff.wait_with_output().unwrap();
        assert!(said.status.success() && said.stderr.is_empty(), "{}", String::from_utf8_lossy(&said.stderr));
    }

    fn groff_or_skip(groff: &mut Process) -> Option<std::process::Child> {
        match groff.stdin(Stdio::piped()).stderr(Stdio::piped()).stdout(Stdio::null()).spawn() {
            Ok(process) => Some(process),
            Err(error) => {
                assert_eq!(error.kind(), io::ErrorKind::NotFound, "{error}");
                None
            }
        }
    }
}
