//! `demo`: a practice cluster in this process, for the console or, with `--serve`, for other clients.

use std::path::Path;
use std::sync::Arc;

use super::args::{DaemonSetName, DemoArgs, Global, OnCluster, StatusArgs};
use super::error::CliError;
use super::foreground::Interrupts;
use super::output::Output;
use super::typed_line::TypedLine;
use super::{CallerTask, ConsoleRequest, Exit, Style, carry_out, wants_console};
use crate::audit::AuditLog;
use crate::config::ConfigFile;

use crate::driver::practice::{
    Practice, PracticeCluster, PracticeOptions, scenario_reference, scenario_text, unknown_scenario,
};
use crate::driver::{ClusterSession, Session, private_file};
use crate::engine::model::shell::{shell_flag, shell_word};
use crate::process::echo::NoEcho;
use crate::process::printable::Printable;

/// Said while nothing else can be shown yet.
const STARTING: &str = "starting the simulated cluster …";

/// Starts a practice cluster, and returns the task that is left.
pub(crate) async fn run(
    args: DemoArgs,
    global: &Global,
    config: &ConfigFile,
    output: &mut Output,
) -> Result<CallerTask, CliError> {
    if let Some(unknown) = unknown_scenario(&args.scenario).filter(|_| !args.reference && args.nodes.is_none()) {
        return Err(CliError::usage(unknown));
    }
    if args.reference || args.print {
        let text = match args.reference {
            true => scenario_reference().to_owned(),
            false => scenario_text(&args.scenario)?,
        };
        output.write(Printable::lines(&text))?;
        return Ok(CallerTask::Exit(Exit::Done));
    }
    let cluster = args.nodes.map_or(PracticeCluster::Scenario(args.scenario), PracticeCluster::Fleet);
    let options = PracticeOptions { cluster, speed: args.speed, seed: args.seed };
    if args.serve {
        return serve(&Practice::start(&options).await?, args.write_kubeconfig.as_deref(), output).await;
    }
    let audit = global.audit_log.clone().unwrap_or_default().0;
    let opens_console = wants_console(&args.look, global, output);
    let (practice, session) = match opens_console {
        true => match start_silently(options, audit, output).await? {
            Ok(started) => started,
            Err(interrupted) => return Ok(CallerTask::Exit(interrupted)),
        },
        false => start(&options, audit).await?,
    };
    let (namespace, name) = practice.daemonset().unzip();
    if !opens_console {
        let name = name.map(|name| DaemonSetName(name.to_owned()));
        let status = StatusArgs { watch: name.is_some(), name, ..StatusArgs::default() };
        let namespace = namespace.map(str::to_owned);
        let global = Global { namespace, ..global.clone() };
        return carry_out(&session, (&global, &TypedLine::default()), OnCluster::Status(status), output)
            .await
            .map(CallerTask::Exit);
    }
    let daemonset = namespace.zip(name).map(|(namespace, name)| (namespace.to_owned(), name.to_owned()));
    Ok(CallerTask::Console(Box::new(ConsoleRequest {
        session: Arc::new(session) as Arc<dyn Session>,
        namespace: None,
        daemonset,
        style: Style::of(args.look, global, config),
        practice: Some(practice),
    })))
}

async fn start(options: &PracticeOptions, audit: AuditLog) -> Result<(Practice, ClusterSession), CliError> {
    let practice = Practice::start(options).await?;
    let session = practice.session(audit).await?;
    Ok((practice, session))
}

/// Starts the cluster before the console takes the terminal. Many nodes take seconds: the terminal says what is waited for, and shows no keys
/// that nobody reads.
async fn start_silently(
    options: PracticeOptions,
    audit: AuditLog,
    output: &Output,
) -> Result<Result<(Practice, ClusterSession), Exit>, CliError> {
    let mut interrupted = Interrupts::listen()?;
    let _silent = NoEcho::begin();
    output.streams().complain(STARTING);
    let started = tokio::spawn(async move { start(&options, audit).await });
    tokio::select! {
        started = started => match started {
            Ok(started) => started.map(Ok),
            Err(crash) => Err(CliError::failed(format!("starting the simulated cluster: {crash}"))),
        },
        exit = interrupted.next() => Ok(Err(exit)),
    }
}

/// Serves the API until the process is interrupted.
async fn serve(practice: &Practice, file: Option<&Path>, output: &mut Output) -> Result<CallerTask, CliError> {
    let mut interrupted = Interrupts::listen()?;
    let kubeconfig = practice.kubeconfig();
    match file {
        None => output.write(Printable::lines(&kubeconfig))?,
        Some(file) => {
            private_file::replace(file, &kubeconfig)
                .map_err(|error| CliError::failed(format!("writing the kubeconfig {}: {error}", file.display())))?;
            let command = command_on(file, practice.daemonset());
            let command = command.map(|command| format!(" In another terminal: {command}")).unwrap_or_default();
            output.line(format!("Serving until Ctrl-C.{command}"))?;
        }
    }
    interrupted.next().await;
    Ok(CallerTask::Exit(Exit::Done))
}

/// A command that opens the console on the served cluster, quoted for a shell. `None` if the path or a name cannot be quoted safely.
fn command_on(file: &Path, daemonset: Option<(&str, &str)>) -> Option<String> {
    // A relative path would not work in another directory.
    let file = std::path::absolute(file).ok()?;
    let mut command = format!("rolldeck {}", shell_flag("--kubeconfig", file.to_str()?)?);
    if let Some((namespace, name)) = daemonset {
        command.push_str(&format!(" {} {}", shell_flag("-n", namespace)?, shell_word(&format!("ds/{name}"))?));
    }
    Some(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_for_the_other_terminal_is_quoted() {
        let command = command_on(Path::new("/tmp/a b/$(x)"), Some(("edge", "agent")));
        assert_eq!(command.as_deref(), Some("rolldeck --kubeconfig '/tmp/a b/$(x)' -n edge ds/agent"));
        assert_eq!(command_on(Path::new("/tmp/a\nb"), None), None);
    }
}
