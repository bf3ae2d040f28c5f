//! The rolldeck binary: parses the command line, runs it, and maps the result to an exit code.

use std::process::ExitCode;

use rolldeck::{cli, tui};

fn main() -> ExitCode {
    cli::print_panics();
    let invocation = match cli::parse(std::env::args_os()) {
        Ok(invocation) => invocation,
        Err(said) => return cli::explain(&said),
    };
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => return cli::CliError::failed(format!("starting: {error}")).exit(),
    };
    let end = runtime.block_on(async {
        if let Some(style) = invocation.typed_style() {
            tui::check(&look(style)).map_err(console_error)?;
        }
        match cli::run(invocation).await? {
            cli::CallerTask::Exit(exit) => Ok(exit),
            cli::CallerTask::Console(console) => open(*console).await,
            cli::CallerTask::CheckStyle(style) => {
                tui::check(&look(*style)).map_err(console_error).map(|()| cli::Exit::Done)
            }
        }
    });
    // A task that still waits for an answer on the terminal must not delay the end.
    runtime.shutdown_background();
    match end {
        Ok(exit) => exit.into(),
        Err(error) => error.exit(),
    }
}

/// The options of the console that follow from the style of the command line and the configuration file.
fn look(style: cli::Style) -> tui::ConsoleOptions {
    let glyphs = style.ascii.map(|ascii| if ascii { tui::Glyphs::Ascii } else { tui::Glyphs::Unicode });
    tui::ConsoleOptions {
        theme: style.theme,
        theme_place: style.theme_place,
        columns: style.columns,
        keys: style.keys,
        bookmarks: style.bookmarks,
        glyphs,
        protected: style.protected,
        notify: tui::NotifyBy { bell: style.bell, title: style.title },
        ..tui::ConsoleOptions::default()
    }
}

fn console_error(error: tui::ConsoleError) -> cli::CliError {
    match error {
        tui::ConsoleError::Gone
        | tui::ConsoleError::Signal(_)
        | tui::ConsoleError::Terminal(_)
        | tui::ConsoleError::Configuration(_) => cli::CliError::failed(error.to_string()),
        tui::ConsoleError::Options(why) => cli::CliError::usage(why),
    }
}

/// Opens the console. A practice cluster is served until the console is closed.
async fn open(console: cli::ConsoleRequest) -> Result<cli::Exit, cli::CliError> {
    let cli::ConsoleRequest { session, namespace, daemonset, style, practice } = console;
    let start = match daemonset {
        Some((namespace, name)) => tui::Start::Rollout { namespace, name },
        None => tui::Start::Fleet { namespace },
    };
    // No sites are stored for a practice cluster.
    let site_file = practice.is_none().then(tui::usual_site_file).flatten();
    let options = tui::ConsoleOptions { site_file, ..look(style) };
    let (mut session, mut start, mut options) = (session, start, options);
    let end = loop {
        match tui::run(session, start, options.clone()).await {
            Ok(tui::ConsoleEnd::Switch { session: there, theme, glyphs }) => {
                (session, start) = (there, tui::Start::Fleet { namespace: None });
                (options.theme, options.theme_place, options.glyphs) = (Some(theme), None, Some(glyphs));
            }
            end => break end,
        }
    };
    drop(practice);
    match end {
        Ok(_) => Ok(cli::Exit::Done),
        Err(tui::ConsoleError::Gone) => Ok(cli::Exit::Interrupted),
        Err(tui::ConsoleError::Signal("SIGTERM")) => Ok(cli::Exit::Terminated),
        Err(tui::ConsoleError::Signal(_)) => Ok(cli::Exit::Interrupted),
        Err(error) => Err(console_error(error)),
    }
}
