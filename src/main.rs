//! The rolldeck binary: parse, run, map the end to an exit code.

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
        match cli::run(invocation).await? {
            cli::CallerTask::Exit(exit) => Ok(exit),
            cli::CallerTask::Console(console) => open(*console).await,
        }
    });
    // A task that still waits for an answer on the terminal must not delay the end.
    runtime.shutdown_background();
    match end {
        Ok(exit) => exit.into(),
        Err(error) => error.exit(),
    }
}

/// Opens the console; a practice cluster is served until it is closed.
async fn open(console: cli::ConsoleRequest) -> Result<cli::Exit, cli::CliError> {
    let cli::ConsoleRequest { session, namespace, daemonset, style, practice } = console;
    let start = match daemonset {
        Some((namespace, name)) => tui::Start::Rollout { namespace, name },
        None => tui::Start::Fleet { namespace },
    };
    let glyphs = style.ascii.map(|ascii| if ascii { tui::Glyphs::Ascii } else { tui::Glyphs::Unicode });
    // Nothing is kept of a practice cluster.
    let site_file = practice.is_none().then(tui::usual_site_file).flatten();
    let options = tui::ConsoleOptions {
        theme: style.theme,
        theme_place: style.theme_place,
        columns: style.columns,
        keys: style.keys,
        bookmarks: style.bookmarks,
        glyphs,
        protected: style.protected,
        site_file,
        notify: tui::NotifyBy { bell: style.bell, title: style.title },
        ..tui::ConsoleOptions::default()
    };
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
        Err(tui::Error::Gone) => Ok(cli::Exit::Interrupted),
        Err(tui::Error::Signal("SIGTERM")) => Ok(cli::Exit::Terminated),
        Err(tui::Error::Signal(_)) => Ok(cli::Exit::Interrupted),
        Err(tui::Error::Options(why)) => Err(cli::CliError::usage(why)),
        Err(tui::Error::Terminal(why)) => Err(cli::CliError::failed(why)),
    }
}
