//! The loop: it waits, takes in everything that has happened, and draws once, only if something changed.
//!
//! ```text
//!  wait for a key, a signal, an answer, news, or the time ─► drain ─► update ─► due? ─► draw ─► changed? ─► write
//! ```
//!
//! Keys are shown at once (frames 16 ms apart), snapshots at most ten times a second, less often over links that are slow to
//! take a frame. There is no tick: without news, keys and a visible clock nothing runs. Nothing here waits for the terminal.
//! If the terminal takes no bytes for a while, the console stops driving ([`stuck`]).

mod effects;
mod environment;
pub(in crate::tui) mod farewell;
mod save;
mod signals;
mod site_file;
mod stuck;
mod throttle;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, mpsc, watch};
use tokio::time::{sleep, sleep_until, timeout};
use tokio_util::task::AbortOnDropHandle;

pub use self::environment::check;
use self::environment::{Environment, model};
use self::signals::{Caught, Crashes, Signals};
pub use self::site_file::usual_site_file;
use self::throttle::FrameThrottle;
use super::daemonset_ref::DaemonSetRef;
use super::input::decode::TerminalInput;
use super::input::{Reader, TerminalEvent};
use super::key::Key;
use super::message::Msg;
use super::model::{Model, Overlay, Uptime};
use super::notify::{self, NotifyBy};
use super::status::StatusSeverity;
use super::terminal::{self, SYNCHRONIZED, Screen, TerminalError, Tty};
use super::theme::{Depth, Glyphs};
use super::update::update;
use super::{commands, view};
use crate::config::{Bookmark, KeyChoice, NodeColumnName};
use crate::driver::{Fleet, Rollout, Session};
use crate::engine::model::Str;
use crate::engine::model::command::Command;
use crate::process::output::StreamWriter;
use crate::process::printable::Printable;

/// Changes of the size within this time are handled as one resize.
const RESIZE_WAIT: Duration = Duration::from_millis(30);
/// The time limit for giving the Leases back: after a key or a signal, and after the terminal went away.
const STOP_LIMIT: Duration = Duration::from_secs(3);
const GONE_LIMIT: Duration = Duration::from_millis(500);
/// The most answers that may wait for the loop.
const ANSWERS: usize = 64;

/// The page that the console opens with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Start {
    /// The list of all DaemonSets, of one namespace or of all.
    Fleet {
        /// The namespace, if only one is listed.
        namespace: Option<String>,
    },
    /// One DaemonSet's rollout.
    Rollout {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
}

/// The choice of colours.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Colour {
    /// By `NO_COLOR`, `COLORTERM` and `TERM`; the 16 ANSI colours when in doubt.
    #[default]
    Auto,
    /// This depth, whatever the environment says.
    Depth(Depth),
}

/// The look of the console; values that are left out are determined from the environment.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ConsoleOptions {
    /// The theme's name.
    pub theme: Option<String>,
    /// The place that names the theme, if it is not the command line: a file and a line.
    pub theme_place: Option<String>,
    /// The directory of themes beside the built-in ones; otherwise `$XDG_CONFIG_HOME/rolldeck/themes`.
    pub themes: Option<PathBuf>,
    /// The columns of the list of nodes, from left to right; otherwise all in their usual order.
    pub columns: Option<Vec<NodeColumnName>>,
    /// The user's keys for actions, in addition to the built-in ones; each with the place that sets it: a file and a line.
    pub keys: Vec<(KeyChoice, String)>,
    /// Filters with names.
    pub bookmarks: Vec<Bookmark>,
    /// The set of signs to use.
    pub glyphs: Option<Glyphs>,
    /// The colours to use.
    pub colour: Colour,
    /// The file in which the choices of `:site` are remembered; `None`: nowhere.
    pub site_file: Option<PathBuf>,
    /// The protected contexts, in the form that [`crate::config::is_protected`] takes.
    pub protected: Vec<String>,
    /// The means by which the console calls when a rollout halts, is done, or is taken over.
    pub notify: NotifyBy,
}

/// The way in which the console ended.
pub enum ConsoleEnd {
    /// The user quit.
    Quit,
    /// The user goes to another cluster: the caller opens a console there, with the same look.
    Switch {
        /// The session there; its server answered.
        session: Arc<dyn Session>,
        /// The name of the theme.
        theme: String,
        /// The set of signs.
        glyphs: Glyphs,
    },
}

impl std::fmt::Debug for ConsoleEnd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Quit => f.write_str("Quit"),
            Self::Switch { session, .. } => f.debug_tuple("Switch").field(&session.context()).finish(),
        }
    }
}

/// The reason why the console did not start, or ended by itself.
#[derive(Debug, thiserror::Error)]
pub enum ConsoleError {
    /// There is no usable terminal.
    #[error("{0}")]
    Terminal(String),
    /// An option of the command line is invalid.
    #[error("{0}")]
    Options(String),
    /// The configuration file names a theme or a key that cannot be used.
    #[error("{0}")]
    Configuration(String),
    /// The terminal went away while it ran.
    #[error("the terminal is gone")]
    Gone,
    /// A signal ended it.
    #[error("ended by {0}")]
    Signal(&'static str),
}

impl From<TerminalError> for ConsoleError {
    fn from(error: TerminalError) -> Self {
        Self::Terminal(error.to_string())
    }
}

/// Runs the console until the user quits, or leaves for another cluster. Await it on a thread of its own, because it writes
/// to the terminal.
///
/// The terminal is restored in every case.
///
/// # Errors
/// See [`ConsoleError`].
pub async fn run(session: Arc<dyn Session>, start: Start, options: ConsoleOptions) -> Result<ConsoleEnd, ConsoleError> {
    let environment = Environment::of_process();
    if environment.term.as_deref() == Some("dumb") {
        let text = "TERM=dumb: this terminal cannot show the console; `rolldeck status` prints the same in plain text";
        return Err(ConsoleError::Terminal(text.into()));
    }
    let model = model(&*session, &options, &environment)?;
    let mut tty = Tty::find()?;
    let crashes = Crashes::watch();
    let signals =
        Signals::listen().map_err(|error| ConsoleError::Terminal(format!("cannot listen to signals: {error}")))?;
    let _restored = Restored;
    tty.enter()?;
    let reader = Reader::start(tty.input()?)
        .map_err(|error| ConsoleError::Terminal(format!("cannot read the terminal: {error}")))?;
    let mut console = ConsoleLoop::new(session, model, tty.writer(), crashes.clone(), environment.over_ssh);
    console.site_file = options.site_file;
    console.notify = options.notify;
    let ended = console.run(&mut tty, reader, signals, start).await;
    let farewell = farewell::farewell(&console.model);
    terminal::restore();
    for line in farewell.iter().filter(|_| ended.is_ok()) {
        tty.say(Printable::line(line));
    }
    for crash in crashes.take() {
        tty.say(Printable::lines(&format!("rolldeck: internal error: {crash}")));
    }
    ended
}

/// Restores the terminal when it is dropped.
struct Restored;

impl Drop for Restored {
    fn drop(&mut self) {
        terminal::restore();
        Crashes::unwatch();
    }
}

/// The next step of the loop.
#[derive(Debug)]
enum LoopStep {
    Wait,
    Suspend,
    Quit(Vec<DaemonSetRef>),
    /// Goes to the other cluster that answered, after the console stopped driving these.
    Switch(Str, Vec<DaemonSetRef>),
    End(ConsoleError),
}

/// A session on another cluster whose server answered.
struct AnsweredSession {
    context: Str,
    session: Arc<dyn Session>,
}

struct ConsoleLoop {
    session: Arc<dyn Session>,
    site_file: Option<PathBuf>,
    model: Model,
    screen: Screen<StreamWriter>,
    output: StreamWriter,
    /// A frame is being written.
    writing: bool,
    /// Set while the terminal takes no bytes.
    stuck: Option<stuck::Stuck>,
    rollouts: HashMap<DaemonSetRef, Rollout>,
    fleet: Option<watch::Receiver<Arc<Fleet>>>,
    /// The session that answered last.
    answered: Arc<Mutex<Option<AnsweredSession>>>,
    /// The tasks that read nodes and logs, by number; a task ends when its handle is dropped.
    readers: HashMap<u64, AbortOnDropHandle<()>>,
    /// Woken when a snapshot, a fleet or a crash is new.
    news: Arc<Notify>,
    crashes: Crashes,
    crashes_reported: usize,
    answers: (mpsc::Sender<Msg>, mpsc::Receiver<Msg>),
    throttle: FrameThrottle,
    resize_at: Option<Instant>,
    started: Instant,
    notify: NotifyBy,
    /// The title that the terminal was given last.
    title: Option<String>,
}

impl ConsoleLoop {
    fn new(session: Arc<dyn Session>, model: Model, output: StreamWriter, crashes: Crashes, over_ssh: bool) -> Self {
        Self {
            session,
            site_file: None,
            model,
            screen: Screen::new(output.clone()),
            output,
            writing: false,
            stuck: None,
            rollouts: HashMap::new(),
            fleet: None,
            answered: Arc::default(),
            readers: HashMap::new(),
            news: crashes.news.clone(),
            crashes,
            crashes_reported: 0,
            answers: mpsc::channel(ANSWERS),
            throttle: FrameThrottle::new(over_ssh),
            resize_at: None,
            started: Instant::now(),
            notify: NotifyBy::default(),
            title: None,
        }
    }

    fn now(&self) -> Uptime {
        self.started.elapsed()
    }

    async fn run(
        &mut self,
        tty: &mut Tty,
        mut reader: Reader,
        mut signals: Signals,
        start: Start,
    ) -> Result<ConsoleEnd, ConsoleError> {
        self.model.size = tty.size();
        let effects = match start {
            Start::Fleet { namespace } => commands::fleet(&mut self.model, namespace.as_deref().unwrap_or_default()),
            Start::Rollout { namespace, name } => {
                let target = DaemonSetRef { namespace: namespace.into(), name: name.into() };
                commands::open_rollout(&mut self.model, target)
            }
        };
        // The first frame comes before the first byte from the network.
        self.draw()?;
        let mut next = self.perform(effects);
        loop {
            match next {
                LoopStep::Wait => {}
                LoopStep::Suspend => self.suspend(tty)?,
                LoopStep::Quit(driven) => {
                    self.stop_driving(driven, &mut reader, STOP_LIMIT).await;
                    return Ok(ConsoleEnd::Quit);
                }
                LoopStep::Switch(context, driven) => {
                    let answered = self.answered.lock().unwrap_or_else(PoisonError::into_inner).take();
                    if let Some(AnsweredSession { session, .. }) =
                        answered.filter(|answered| answered.context == context)
                    {
                        self.stop_driving(driven, &mut reader, STOP_LIMIT).await;
                        let (theme, glyphs) = (self.model.theme().name.clone(), self.model.glyphs);
                        return Ok(ConsoleEnd::Switch { session, theme, glyphs });
                    }
                }
                LoopStep::End(error) => {
                    let driven = self.model.driven().map(|page| page.target.clone()).collect();
                    let limit = if matches!(error, ConsoleError::Signal(_)) { STOP_LIMIT } else { GONE_LIMIT };
                    self.stop_driving(driven, &mut reader, limit).await;
                    return Err(error);
                }
            }
            next = self.wait(&mut reader, &mut signals).await;
            if matches!(next, LoopStep::Wait) {
                next = self.catch_up(tty)?;
            }
        }
    }

    /// Waits until something happens, and takes it in.
    async fn wait(&mut self, reader: &mut Reader, signals: &mut Signals) -> LoopStep {
        let now = Instant::now();
        self.note_written();
        // While a frame is being written, changes wait for the next one.
        let frame = self.throttle.due(now).filter(|_| !self.writing);
        let due = [frame, self.resize_at].into_iter().flatten().min();
        let output = self.output.clone();
        let timer = async {
            match due {
                Some(due) => sleep_until(due.into()).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            caught = signals.next() => self.on_signal(caught),
            () = output.failed() => LoopStep::End(ConsoleError::Gone),
            since = output.stuck(), if self.stuck.is_none() => self.is_stuck(since),
            () = output.drained(), if self.writing => {
                self.note_written();
                LoopStep::Wait
            }
            event = reader.next() => {
                let mut next = self.on_event(event);
                while matches!(next, LoopStep::Wait) {
                    match reader.try_next() {
                        Some(event) => next = self.on_event(event),
                        None => break,
                    }
                }
                next
            }
            Some(answer) = self.answers.1.recv() => {
                match answer {
                    // Data that is read repeatedly is handled as news, like a snapshot.
                    Msg::Inspected(..) | Msg::Log(..) => self.throttle.news = true,
                    _ => self.throttle.typed = true,
                }
                self.take_in(answer)
            }
            () = self.news.notified() => {
                self.throttle.news = true;
                LoopStep::Wait
            }
            () = timer => LoopStep::Wait,
        }
    }

    fn on_event(&mut self, event: TerminalEvent) -> LoopStep {
        match event {
            TerminalEvent::Gone => LoopStep::End(ConsoleError::Gone),
            TerminalEvent::Input(TerminalInput::Mode { mode: SYNCHRONIZED, setting }) => {
                self.screen.set_synchronized(setting);
                LoopStep::Wait
            }
            TerminalEvent::Input(TerminalInput::Mode { .. }) => LoopStep::Wait,
            TerminalEvent::Input(TerminalInput::Background(colour)) => {
                self.throttle.typed = true;
                self.take_in(Msg::Background(colour))
            }
            // The terminal shows nothing new, so nobody could read the question whether to quit.
            TerminalEvent::Input(TerminalInput::Key(key)) if key == Key::ctrl('c') && self.is_blind() => {
                LoopStep::Quit(self.model.driven().map(|page| page.target.clone()).collect())
            }
            TerminalEvent::Input(TerminalInput::Key(key)) => {
                self.touched();
                self.take_in(Msg::Key(key))
            }
            TerminalEvent::Input(TerminalInput::Paste(text)) => {
                self.touched();
                self.take_in(Msg::Paste(text))
            }
        }
    }

    fn touched(&mut self) {
        self.throttle.typed = true;
        self.throttle.last_key = Instant::now();
    }

    fn on_signal(&mut self, caught: Caught) -> LoopStep {
        match caught {
            Caught::End(signal) => LoopStep::End(ConsoleError::Signal(signal)),
            Caught::Resize => {
                self.resize_at.get_or_insert(Instant::now() + RESIZE_WAIT);
                LoopStep::Wait
            }
            Caught::Stop => LoopStep::Suspend,
            Caught::GoOn => {
                self.resize_at = Some(Instant::now());
                LoopStep::Wait
            }
        }
    }

    /// Handles everything that is due: a resize, news, a frame.
    fn catch_up(&mut self, tty: &Tty) -> Result<LoopStep, ConsoleError> {
        let now = Instant::now();
        if self.resize_at.is_some_and(|at| at <= now) {
            self.resize_at = None;
            self.screen.forget();
            self.throttle.typed = true;
            let _ = self.take_in(Msg::Resize(tty.size()));
        }
        if self.writing {
            // The frame is still being written: news is taken in now, so that its time is right, and drawn later.
            return Ok(if self.throttle.news { self.take_news() } else { LoopStep::Wait });
        }
        if self.throttle.due(now).is_none_or(|due| due > now) {
            return Ok(LoopStep::Wait);
        }
        let next = if self.throttle.news { self.take_news() } else { self.take_in(Msg::Tick) };
        self.draw()?;
        Ok(next)
    }

    /// Takes in the newest snapshots, the newest fleet, and new crashes.
    fn take_news(&mut self) -> LoopStep {
        let mut news = Vec::new();
        for (target, rollout) in &mut self.rollouts {
            match rollout.snapshots.has_changed() {
                Ok(true) => {
                    let snapshot = rollout.snapshots.borrow_and_update().clone();
                    news.push(Msg::Snapshot(target.clone(), snapshot));
                }
                Ok(false) => {}
                Err(_) => news.push(Msg::Stopped(target.clone())),
            }
        }
        if let Some(fleet) = &mut self.fleet
            && fleet.has_changed().unwrap_or(false)
        {
            news.push(Msg::Fleet(fleet.borrow_and_update().clone()));
        }
        let crashes = self.crashes.count();
        if crashes > self.crashes_reported {
            self.crashes_reported = crashes;
            let text = self.crashes.last().unwrap_or_default();
            news.push(Msg::Said(StatusSeverity::Refused, format!("internal error, please report it: {text}")));
        }
        for msg in news {
            match self.take_in(msg) {
                LoopStep::Wait => {}
                next => return next,
            }
        }
        LoopStep::Wait
    }

    fn take_in(&mut self, msg: Msg) -> LoopStep {
        let now = self.now();
        let effects = update(&mut self.model, msg, now);
        let model = &self.model;
        self.readers.retain(|serial, _| model.reads(*serial));
        self.perform(effects)
    }

    fn on_suspend_key(&mut self) -> LoopStep {
        if !terminal::under_job_control() {
            let text = "there is no shell with job control to go back to; q quits";
            return self.take_in(Msg::Said(StatusSeverity::Refused, text.into()));
        }
        // The terminal would stop the whole process group, so the console does the same. The signal reaches the console too,
        // and is handled there.
        match rustix::process::kill_current_process_group(rustix::process::Signal::TSTP) {
            Ok(()) => LoopStep::Wait,
            Err(_) => LoopStep::Suspend,
        }
    }

    fn suspend(&mut self, tty: &mut Tty) -> Result<(), ConsoleError> {
        let driving = self.model.driven().next().is_some();
        let farewell =
            driving.then_some("rolldeck is stopped: nothing is updated until it continues (fg), or another drives");
        tty.suspend(farewell)?;
        // The shell has set its own title in the meantime.
        self.title = None;
        self.screen.forget();
        self.throttle.typed = true;
        self.resize_at = Some(Instant::now());
        Ok(())
    }

    fn draw(&mut self) -> Result<(), ConsoleError> {
        if !self.screen.is_ready() {
            return Ok(());
        }
        if self.notify.title {
            let title = notify::title(&self.model);
            if self.title.as_ref() != Some(&title) {
                self.screen.set_title(&title);
                self.title = Some(title);
            }
        }
        let (frame, drawn) = view::draw(&self.model);
        let bytes = self.screen.show(frame, drawn.cursor).map_err(|_gone| ConsoleError::Gone)?;
        self.throttle.drawn(drawn.wake.map(|at| self.started + at));
        self.writing = bytes > 0;
        if bytes == 0 {
            self.throttle.wrote(Duration::ZERO);
        }
        Ok(())
    }

    /// Gives the Leases back before the console ends; a ctrl-c ends the waiting.
    async fn stop_driving(&mut self, driven: Vec<DaemonSetRef>, reader: &mut Reader, at_most: Duration) {
        if driven.is_empty() {
            self.rollouts.clear();
            return;
        }
        self.model.overlay = Overlay::None;
        self.model.say(StatusSeverity::Busy, "stopping: giving the lease back … (ctrl-c: leave at once)");
        let _ = self.draw();
        let all: Vec<Rollout> = driven.iter().filter_map(|target| self.rollouts.get(target).cloned()).collect();
        self.rollouts.clear();
        let given_back = async {
            for rollout in all {
                let _ = rollout.command(Command::StopDriving).await;
                rollout.close().await;
            }
        };
        let impatient = async {
            loop {
                match reader.next().await {
                    TerminalEvent::Input(TerminalInput::Key(key)) if key == Key::ctrl('c') => return,
                    // Without a terminal the Leases are still given back, within the time limit.
                    TerminalEvent::Gone => sleep(at_most).await,
                    TerminalEvent::Input(_) => {}
                }
            }
        };
        let _ = timeout(at_most, async {
            tokio::select! {
                () = given_back => {}
                () = impatient => {}
            }
        })
        .await;
    }
}
