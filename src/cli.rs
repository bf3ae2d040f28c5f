//! The command line. It works on the same engine as the console and uses the same words.
//!
//! ```text
//! args ──▶ run ─┬─▶ Console                         main opens it
//!               ├─▶ status              status      (Role::OneShot, no command)
//!               ├─▶ history, diff       revisions   (the same)
//!               ├─▶ report              report      (the same, and this account's log)
//!               ├─▶ adopt … release     one_shot    (Role::OneShot: preview, confirm, command, advice)
//!               ├─▶ drive               drive       (Role::Driver: until the rollout ends)
//!               ├─▶ prewarm             prewarm     (Role::Driver: until every node has the images)
//!               ├─▶ log                 audit       (this account's log, no cluster)
//!               ├─▶ config              settings    (the configuration file, no cluster)
//!               └─▶ completions, man    complete, man
//! ```
//!
//! The command line knows the driver's [`Session`] and the engine's words, and never the network. Answers go to standard
//! output, questions and errors to standard error. The kind of an error determines the exit code.

mod args;
mod audit;
mod change_feed;
mod complete;
mod demo;
mod diagnose;
mod drive;
mod elsewhere;
mod error;
mod error_report;
mod foreground;
mod help;
mod json;
mod jsonpath;
mod load;
mod man;
mod misspelt;
mod one_shot;
mod output;
mod prewarm;
mod report;
mod revisions;
mod settings;
mod simulate;
mod status;
mod suggested_commands;
#[cfg(test)]
mod tests;
mod typed_line;

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::parser::ValueSource;
use clap::{CommandFactory, FromArgMatches};
use tokio::time::Instant;

use crate::audit::AuditLog;
use crate::config::{self, Bookmark, CallChoice, ConfigFile, ConfigValues, GlyphChoice, KeyChoice, NodeColumnName};
use crate::driver::practice::Practice;
use crate::driver::{Access, AccessError, ClusterSession, Impersonate, ServerPath, Session};
use crate::engine::model::shell::shell_flag;
use crate::process::printable::Printable;
use crate::process::signals::EndSignal;
use crate::process::{output as streams, signals};
use args::{Cli, CliCommand, DaemonSetName, Global, LogTo, Look, OnCluster, OutputAs, OutputFormat, StatusArgs};
use complete::LineToComplete;
use output::{Charset, Output, Streams};
use suggested_commands::{CommandPlace, CommandTarget};
use typed_line::{AS_PLUGIN, TypedLine, is_plugin};

use error::NOTHING_CHANGED;
pub use error::{CliError, Exit};

/// A parsed command line.
#[derive(Clone, Debug)]
pub struct Invocation(CommandLine);

/// The purpose of a command line.
#[derive(Clone, Debug)]
enum CommandLine {
    /// The command is to be carried out.
    Typed(Box<Cli>),
    /// A shell asks for completions of the line.
    Unfinished(LineToComplete),
}

impl Invocation {
    /// The style of a console that was typed, whether or not a console is opened: a name of a theme that is not there is an error in any case.
    pub fn typed_style(&self) -> Option<Style> {
        let CommandLine::Typed(cli) = &self.0 else { return None };
        let theme = cli.look.theme.clone().filter(|theme| !theme.is_empty() && !cli.look.theme_from_env);
        theme.map(|theme| Style { theme: Some(theme), ..Style::default() })
    }
}

#[cfg(test)]
impl Invocation {
    fn typed(self) -> Cli {
        match self.0 {
            CommandLine::Typed(cli) => *cli,
            CommandLine::Unfinished(line) => panic!("a shell asks about {line:?}"),
        }
    }
}

/// The task that is left for the caller.
#[derive(Debug)]
pub enum CallerTask {
    /// Exit with this code.
    Exit(Exit),
    /// Open the console.
    Console(Box<ConsoleRequest>),
    /// Report whether a console can be opened in this style, and exit.
    CheckStyle(Box<Style>),
}

/// A console to open.
pub struct ConsoleRequest {
    /// The session on the console's cluster.
    pub session: Arc<dyn Session>,
    /// The namespace of the fleet; `None`: the fleet of all namespaces.
    pub namespace: Option<String>,
    /// The DaemonSet to open, by namespace and name; `None`: the fleet.
    pub daemonset: Option<(String, String)>,
    /// How it looks.
    pub style: Style,
    /// The practice cluster of the session, if it is one. The caller keeps it for as long as the console is open.
    pub practice: Option<Practice>,
}

impl std::fmt::Debug for ConsoleRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { session: _, namespace, daemonset, style, practice } = self;
        f.debug_struct("Console")
            .field("namespace", namespace)
            .field("daemonset", daemonset)
            .field("style", style)
            .field("practice", practice)
            .finish()
    }
}

/// How a console looks.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Style {
    /// The name of a built-in theme or of one of the user's themes; `None`: the default theme.
    pub theme: Option<String>,
    /// Whether only ASCII characters are drawn; `None`: the console finds out what the terminal can show.
    pub ascii: Option<bool>,
    /// File and line of the theme, if the configuration file names it.
    pub theme_place: Option<String>,
    /// The columns of the list of nodes; `None`: all columns in their usual order.
    pub columns: Option<Vec<NodeColumnName>>,
    /// Keys that the configuration file assigns to actions of the console, each with its file and line.
    pub keys: Vec<(KeyChoice, String)>,
    /// Named filters of the configuration file.
    pub bookmarks: Vec<Bookmark>,
    /// The patterns of protected contexts in the configuration file.
    pub protected: Vec<String>,
    /// Whether the terminal's bell rings when a rollout halts, is done, or is taken over.
    pub bell: bool,
    /// Whether the terminal's title says so in these cases.
    pub title: bool,
}

impl Style {
    /// The style that was typed; the configuration file supplies every value that was not typed.
    fn of(look: Look, global: &Global, file: &ConfigFile) -> Self {
        let values = &file.values;
        let ascii = global.ascii.then_some(true).or_else(|| values.glyphs.map(|glyphs| glyphs == GlyphChoice::Ascii));
        // An empty ROLLDECK_THEME counts as not set.
        let typed = look.theme.filter(|theme| !theme.is_empty());
        let theme_place = if typed.is_none() { file.theme_place() } else { None };
        let theme = typed.or_else(|| values.theme.clone());
        let protected = values.protected_contexts.clone().unwrap_or_default();
        let columns = values.columns.clone();
        let calls_by = |choice| values.notify.as_ref().is_some_and(|calls| calls.contains(&choice));
        let (bell, title) = (calls_by(CallChoice::Bell), calls_by(CallChoice::Title));
        let keys = values.keys.iter().map(|choice| (choice.clone(), file.place(choice.line))).collect();
        let bookmarks = values.bookmarks.clone();
        Self { theme, ascii, theme_place, columns, keys, bookmarks, protected, bell, title }
    }
}

/// Parses the command line. An error of clap is either help that was asked for or a usage error. The error can print itself
/// and knows its exit code.
///
/// # Errors
/// See [`clap::Error`].
pub fn parse(line: impl IntoIterator<Item = OsString>) -> Result<Invocation, clap::Error> {
    let line: Vec<OsString> = line.into_iter().collect();
    if let Some(completing) = LineToComplete::asked(std::env::var_os(complete::VARIABLE), &line) {
        return Ok(Invocation(CommandLine::Unfinished(completing)));
    }
    let mut command = command_called(line.first());
    let matches = match command.try_get_matches_from_mut(&line) {
        Ok(matches) => matches,
        Err(error) => {
            let meant = misspelt::command_meant(&mut command, &line, Some(&error));
            let meant = meant.or_else(|| misspelt::negative_value(&mut command, &line, &error));
            let meant = meant.or_else(|| misspelt::flag_before_its_command(&mut command, &line, &error));
            let meant = meant.or_else(|| misspelt::flag_of_the_console(&mut command, &line, &error));
            let meant = meant.or_else(|| misspelt::flag_of_others(&mut command, &line, &error));
            let meant = meant.or_else(|| misspelt::value_without_flag(&mut command, &line, &error));
            return Err(meant.or_else(|| misspelt::left_out(&mut command, &line, &error)).unwrap_or(error));
        }
    };
    let mut cli = Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))?;
    if cli.global.config.as_ref().is_some_and(|file| file.as_os_str().is_empty()) {
        if matches.value_source("config") != Some(ValueSource::EnvVariable) {
            return Err(command.error(clap::error::ErrorKind::InvalidValue, "`--config` names no file"));
        }
        cli.global.config = None;
    }
    cli.look.theme_from_env = matches.value_source("theme") == Some(ValueSource::EnvVariable);
    if cli.name.is_some()
        && let Some(error) = misspelt::command_meant(&mut command, &line, None)
    {
        return Err(error);
    }
    cli.check_together(&mut command)?;
    cli.typed = TypedLine::of(&line);
    Ok(Invocation(CommandLine::Typed(Box::new(cli))))
}

/// Prints the help that was asked for, or the usage error, and returns the exit code.
pub fn explain(said: &clap::Error) -> ExitCode {
    if said.use_stderr() {
        // A usage error quotes the typed text, which may come from elsewhere. It is printed without colours, because colours
        // need escape sequences.
        streams::say_on_stderr(&Printable::lines(&usage_error(said)));
    } else {
        // The text of the help is our own, so it is coloured if the terminal has colours. A closed standard output cannot be reported anywhere.
        let _ = said.print();
    }
    u8::try_from(said.exit_code()).unwrap_or(2).into()
}

/// The text of a usage error. It begins with `Error`, as all other errors do.
fn usage_error(said: &clap::Error) -> String {
    let text = said.render().to_string();
    match text.strip_prefix("error: ") {
        Some(rest) => format!("Error: {rest}"),
        None => text,
    }
}

/// The command under the name that its user typed: `kubectl rolldeck` if the binary is named as a plugin of kubectl.
fn command_called(program: Option<&OsString>) -> clap::Command {
    let command = misspelt::with_negative_numbers(Cli::command());
    if program.is_some_and(is_plugin) { command.bin_name(AS_PLUGIN) } else { command }
}

/// From now on the message of a panic is as safe for a terminal as all other output.
pub fn print_panics() {
    streams::print_panics();
}

/// Carries out the command line. Must be called inside a tokio runtime.
///
/// # Errors
/// See [`CliError`]. The caller still has to report the error.
pub async fn run(Invocation(line): Invocation) -> Result<CallerTask, CliError> {
    match line {
        CommandLine::Typed(cli) => run_typed(*cli).await,
        CommandLine::Unfinished(line) => {
            complete::ask_nobody()?;
            let mut output = Output::stdout(OutputFormat::Text, Charset::Unicode)?;
            let streams = output.streams();
            let end = complete::run(line, open_session, &mut output).await;
            end_of(end.map(CallerTask::Exit), &streams).await
        }
    }
}

async fn open_session(access: Access) -> Result<Arc<dyn Session>, AccessError> {
    Ok(Arc::new(ClusterSession::open(&access).await?))
}

async fn run_typed(mut cli: Cli) -> Result<CallerTask, CliError> {
    if cli.reads_config() {
        cli.config = match config::load(cli.global.config.as_deref()) {
            Ok(file) => file,
            // `pause` must work even if the configuration file cannot be read.
            Err(error) if cli.is_pause() => {
                streams::say_on_stderr(&Printable::lines(&format!("Warning: left out: {error}")));
                ConfigFile::default()
            }
            Err(error) => return Err(CliError::failed(error.to_string())),
        };
    }
    let ascii = cli.global.ascii || cli.config.values.glyphs == Some(GlyphChoice::Ascii);
    let charset = if ascii { Charset::Ascii } else { Charset::Unicode };
    let OutputAs { format, shape } = cli.global.output.clone().unwrap_or_default();
    let output = Output::stdout(format, charset)?.shaped(shape);
    let streams = output.streams();
    let is_diff = cli.is_diff();
    let end = run_to(cli, open_session, output).await;
    end_of(end, &streams).await.map_err(|error| if is_diff { error.of_comparing() } else { error })
}

/// Waits until all output is written. A signal ends this wait if the command listens to signals; otherwise the signal ends
/// the process. If a signal has come before, the function waits for the last output until `process::signals` ends the
/// process.
async fn end_of(end: Result<CallerTask, CliError>, streams: &Streams) -> Result<CallerTask, CliError> {
    let end = end.map_err(|mut error| {
        error.report(streams);
        error
    });
    let command = async {
        match signals::listening() {
            Some(mut signals) if !signals.has_come() => signals.ended().await,
            Some(_) | None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        () = streams.drained() => {}
        ending = command => return end.and(Ok(CallerTask::Exit(ending.into()))),
    }
    match streams.failure() {
        Some(error) if end.is_ok() => Err(error.into()),
        _ => end,
    }
}

async fn run_to<C>(cli: Cli, connect: C, mut output: Output) -> Result<CallerTask, CliError>
where
    C: AsyncFn(Access) -> Result<Arc<dyn Session>, AccessError>,
{
    let (is_diff, prints_lines) = (cli.is_diff(), prints_lines(&cli));
    let end = run_command(cli, connect, &mut output).await;
    end.map_err(|error| {
        let error = if is_diff { error.of_comparing() } else { error };
        error_report::print(&error, prints_lines, &mut output);
        error
    })
}

/// Whether the answer is many objects, each in a line of its own, and not one.
fn prints_lines(cli: &Cli) -> bool {
    match &cli.command {
        None => cli.name.is_some(),
        Some(CliCommand::Log(_) | CliCommand::Demo(_)) => true,
        Some(CliCommand::OnCluster(OnCluster::Status(status))) => status.watch,
        Some(CliCommand::OnCluster(OnCluster::Drive(_))) => true,
        Some(CliCommand::OnCluster(OnCluster::Prewarm(args))) => !args.has_one_answer(),
        Some(_) => false,
    }
}

async fn run_command<C>(cli: Cli, connect: C, output: &mut Output) -> Result<CallerTask, CliError>
where
    C: AsyncFn(Access) -> Result<Arc<dyn Session>, AccessError>,
{
    let Cli { name, all_namespaces, look, mut global, command, config, typed } = cli;
    if all_namespaces {
        global.namespace = None;
    }
    match command {
        Some(CliCommand::Completions { shell }) => complete::script(shell, output).map(CallerTask::Exit),
        Some(CliCommand::Help { topic }) => help::run(topic.as_deref(), output).map(CallerTask::Exit),
        Some(CliCommand::Man) => man::run(output).map(CallerTask::Exit),
        Some(CliCommand::Log(args)) => audit::run(&args, &global, output).map(CallerTask::Exit),
        Some(CliCommand::Config(args)) => {
            let exit = settings::run(&args, (&look, &global), &config, output)?;
            // Only the console knows which themes and keys are valid, so the caller checks them.
            let style = (!args.reference).then(|| Style::of(look, &global, &config));
            Ok(style.map_or(CallerTask::Exit(exit), |style| CallerTask::CheckStyle(Box::new(style))))
        }
        Some(CliCommand::Demo(args)) => demo::run(args, &global, &config, output).await,
        Some(CliCommand::Simulate(args)) => simulate::run(args, output).await.map(CallerTask::Exit),
        Some(CliCommand::OnCluster(mut command)) => {
            let heeds_signals = command.heeds_signals();
            let connecting = Box::pin(connect_within(command.timeout(), connect(access(&global, &config.values))));
            let session = match until_signal(heeds_signals, connecting).await? {
                Ok(session) => session?,
                Err(signal) => {
                    output.streams().complain(&ended_connecting(signal));
                    return Ok(CallerTask::Exit(signal.into()));
                }
            };
            warn_of(&*session, output);
            refuse_unnamed(session.context(), (&global, &command), &config.values)?;
            carry_out(&*session, (&global, &typed), command, output).await.map(CallerTask::Exit)
        }
        None => {
            let session = connect(access(&global, &config.values)).await?;
            if wants_console(&look, &global, output) {
                let namespace = global.namespace.clone().unwrap_or_else(|| session.default_namespace().to_owned());
                let daemonset = name.map(|DaemonSetName(name)| (namespace, name));
                let style = Style::of(look, &global, &config);
                let namespace = global.namespace;
                return Ok(CallerTask::Console(Box::new(ConsoleRequest {
                    session,
                    namespace,
                    daemonset,
                    style,
                    practice: None,
                })));
            }
            warn_of(&*session, output);
            let watch = name.is_some();
            let status = OnCluster::Status(StatusArgs { name, watch, ..StatusArgs::default() });
            carry_out(&*session, (&global, &typed), status, output).await.map(CallerTask::Exit)
        }
    }
}

fn access(global: &Global, file: &ConfigValues) -> Access {
    let Global {
        namespace,
        context,
        kubeconfig,
        impersonate: user,
        as_group: groups,
        as_uid: uid,
        request_timeout,
        insecure_skip_tls_verify: insecure,
        output: _,
        ascii: _,
        config: _,
        audit_log,
    } = global.clone();
    let audit = audit_log.map_or_else(AuditLog::usual, |LogTo(log)| log);
    let impersonate = Impersonate { user, uid, groups };
    Access {
        kubeconfig,
        context,
        namespace,
        impersonate,
        request_timeout,
        insecure,
        audit,
        defaults: file.defaults.clone(),
        server_path: ServerPath::default(),
    }
}

/// Refuses to write to a protected context that `--context` does not name: such a context may be the current one by chance.
fn refuse_unnamed(
    context: &str,
    (global, command): (&Global, &OnCluster),
    values: &ConfigValues,
) -> Result<(), CliError> {
    let protected = values.protected_contexts.as_deref().unwrap_or_default();
    if global.context.is_some() || !command.writes() || !config::is_protected(protected, context) {
        return Ok(());
    }
    let flag = shell_flag("--context", context).unwrap_or_else(|| "--context NAME".to_owned());
    let why = format!("context `{context}` is protected: a command that writes there has to name it");
    Err(CliError::new(error::CliErrorKind::Refused, why)
        .hinted(format!("`{flag}` names it; `pause` and `--dry-run` need no name")))
}

/// Says on standard error whom the session impersonates, if anybody, and whether TLS is not verified.
fn warn_of(session: &dyn Session, output: &Output) {
    let warnings = session.identity_in_use().warnings();
    if !warnings.is_empty() {
        output.streams().complain(&format!("Note: {}", warnings.join("; ")));
    }
}

/// Opens the session within the command's timeout, if there is one, and subtracts the elapsed time from the timeout.
/// The session, unless a signal comes first. A command that does not heed signals is ended by them.
async fn until_signal<T>(heeds: bool, connecting: impl Future<Output = T>) -> Result<Result<T, EndSignal>, CliError> {
    if !heeds {
        return Ok(Ok(connecting.await));
    }
    let mut signals = signals::listen().map_err(|error| CliError::failed(format!("listening for signals: {error}")))?;
    Ok(tokio::select! {
        biased;
        signal = signals.ended() => Err(signal),
        session = connecting => Ok(session),
    })
}

/// `Interrupted: while connecting; nothing was changed`.
fn ended_connecting(signal: EndSignal) -> String {
    let how = match signal {
        EndSignal::Terminate => "Terminated",
        EndSignal::Hangup | EndSignal::Interrupt => "Interrupted",
    };
    format!("{how}: while connecting; {NOTHING_CHANGED}")
}

async fn connect_within(
    timeout: Option<&mut Duration>,
    connecting: impl Future<Output = Result<Arc<dyn Session>, AccessError>>,
) -> Result<Arc<dyn Session>, CliError> {
    let Some(timeout) = timeout else { return Ok(connecting.await?) };
    let began = Instant::now();
    let Ok(session) = tokio::time::timeout(*timeout, connecting).await else {
        let secs = timeout.as_secs_f32();
        // Nothing was read yet: that is no rollout that is not complete.
        let error = CliError::failed(format!("no credentials for the cluster within {secs} s"));
        return Err(error.hinted("a credential plugin is still running; `--timeout` waits longer"));
    };
    *timeout = timeout.saturating_sub(began.elapsed());
    Ok(session?)
}

/// Whether to open a console. If not, changes are printed line by line; standard error says so where that is because of the terminal.
fn wants_console(look: &Look, global: &Global, output: &Output) -> bool {
    let asked_for = !look.plain && global.output.as_ref().is_none_or(|output| *output == OutputAs::default());
    let on_terminal = asked_for && io::stdin().is_terminal() && io::stdout().is_terminal();
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    if on_terminal && dumb {
        output
            .streams()
            .complain("Note: TERM=dumb: this terminal cannot show the console, so what it would show is printed");
    }
    on_terminal && !dumb
}

/// Carries out a command. What its error names is completed by what was `typed`, and by the DaemonSet.
async fn carry_out(
    session: &dyn Session,
    (global, typed): (&Global, &TypedLine),
    command: OnCluster,
    output: &mut Output,
) -> Result<Exit, CliError> {
    let namespace = global.namespace.as_deref().unwrap_or_else(|| session.default_namespace());
    let name = command.daemonset().map(str::to_owned);
    let end = carry_out_in(session, (global, namespace), command, output).await;
    match (end, name) {
        (Err(error), Some(name)) if error.is_no_daemonset() => {
            Err(elsewhere::hinted(session, namespace, &name, error).await)
        }
        (Err(error), Some(name)) => {
            let place = CommandPlace::of(session);
            let target = CommandTarget::called(&place, namespace, &name);
            Err(error.in_full(|flag| typed.with(flag), |words| target.command(words)))
        }
        (end, _) => end,
    }
}

async fn carry_out_in(
    session: &dyn Session,
    (global, namespace): (&Global, &str),
    command: OnCluster,
    output: &mut Output,
) -> Result<Exit, CliError> {
    match command {
        OnCluster::Status(args) => match &args.name {
            Some(DaemonSetName(name)) => status::rollout(session, namespace, name, &args, output).await,
            None => {
                let namespace = global.namespace.as_deref().filter(|_| !args.all_namespaces);
                status::fleet(session, namespace, args.timeout, output).await
            }
        },
        OnCluster::Diagnose(args) => diagnose::run(session, namespace, &args, output).await,
        OnCluster::Report(args) => report::run(session, (global, namespace), &args, output).await,
        OnCluster::History(args) => revisions::history(session, namespace, &args, output).await,
        OnCluster::Diff(args) => revisions::diff(session, namespace, &args, output).await,
        OnCluster::Drive(args) => drive::run(session, namespace, &args, output).await,
        OnCluster::Prewarm(args) => prewarm::run(session, namespace, &args, output).await,
        OnCluster::OneShot(one_shot) => {
            let (DaemonSetName(name), how, ask) = one_shot.into_parts();
            one_shot::run(session, namespace, &name, ask, &how, output).await
        }
    }
}
