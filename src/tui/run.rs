//! The loop: waits, takes everything in, draws once, and only if something changed.
//!
//! ```text
//!  wait for a key, a signal, an answer, news, or the time ─► drain ─► update ─► due? ─► draw ─► changed? ─► write
//! ```
//!
//! What a person typed is shown at once (16 ms apart), what the cluster did at most ten times a second, less often over
//! links that are slow to take a frame. There is no tick: without news, keys and a visible clock nothing runs.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ratatui::layout::Size;
use rustix::process::Signal;
use tokio::signal::unix::{Signal as Listener, SignalKind, signal};
use tokio::sync::{Notify, mpsc, watch};
use tokio::time::{sleep, sleep_until, timeout};

use super::input::decode::Input;
use super::input::{Event, Reader};
use super::key::Key;
use super::model::{Access, Model, Mono, Overlay, Page, Target, Tone};
use super::terminal::{self, SYNCHRONIZED, Screen, Sink, TerminalError, Tty};
use super::theme::{self, Depth, Glyphs, Themes};
use super::update::{Effect, Msg, update};
use super::{commands, view};
use crate::driver::{Fleet, Rollout, Session};
use crate::engine::Role;
use crate::engine::command::Command;

/// Between frames after a key.
const KEY_GAP: Duration = Duration::from_millis(16);
/// Between frames of news.
const NEWS_GAP: Duration = Duration::from_millis(100);
/// Between frames of news over SSH, when nobody has typed for [`IDLE`].
const IDLE_GAP: Duration = Duration::from_millis(250);
const IDLE: Duration = Duration::from_secs(5);
/// However slow the link, once a second there is a frame.
const LONGEST_GAP: Duration = Duration::from_secs(1);
/// A write that took this long met a full pipe.
const STALL: Duration = Duration::from_millis(50);
/// Sizes that follow each other this closely are one resize.
const RESIZE_WAIT: Duration = Duration::from_millis(30);
/// How long standing down may take when a person waits for it, and when nobody does.
const FAREWELL: Duration = Duration::from_secs(3);
const LAST_WORDS: Duration = Duration::from_millis(500);
/// How many answers may wait for the loop.
const ANSWERS: usize = 64;

/// What the console opens with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Start {
    /// The list of all DaemonSets, of one namespace or of all.
    Fleet {
        /// The one namespace.
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

/// How colours are chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Colour {
    /// By `NO_COLOR`, `COLORTERM` and `TERM`; the 16 ANSI colours when in doubt.
    #[default]
    Auto,
    /// Exactly these.
    Depth(Depth),
}

/// How the console looks; what is left out is found out.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// The theme's name.
    pub theme: Option<String>,
    /// Where to look for themes beside the built-in ones; otherwise `$XDG_CONFIG_HOME/rolldeck/themes`.
    pub themes: Option<PathBuf>,
    /// Which signs to use.
    pub glyphs: Option<Glyphs>,
    /// Which colours to use.
    pub colour: Colour,
}

/// Why the console did not start, or ended by itself.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no terminal that it could use.
    #[error("{0}")]
    Terminal(String),
    /// An option does not make sense.
    #[error("{0}")]
    Options(String),
    /// The terminal went away while it ran.
    #[error("the terminal is gone")]
    Gone,
    /// A signal ended it.
    #[error("ended by {0}")]
    Signal(&'static str),
}

impl From<TerminalError> for Error {
    fn from(error: TerminalError) -> Self {
        Self::Terminal(error.to_string())
    }
}

/// Runs the console until it is quit. To be awaited on a thread of its own: it writes to the terminal.
///
/// Whatever happens, the terminal is left as it was found.
///
/// # Errors
/// See [`Error`].
pub async fn run(session: Arc<dyn Session>, start: Start, options: Options) -> Result<(), Error> {
    let environment = Environment::of_process();
    if environment.term.as_deref() == Some("dumb") {
        let text = "TERM=dumb: this terminal cannot show the console; `rolldeck status` prints the same in plain text";
        return Err(Error::Terminal(text.into()));
    }
    let model = model(&*session, &options, &environment)?;
    let mut tty = Tty::find()?;
    let crashes = Crashes::watch();
    let signals = Signals::listen().map_err(|error| Error::Terminal(format!("cannot listen to signals: {error}")))?;
    let _restored = Restored;
    tty.enter()?;
    let reader =
        Reader::start(tty.input()?).map_err(|error| Error::Terminal(format!("cannot read the terminal: {error}")))?;
    let screen = Screen::new(tty.output()?);
    let mut console = Console::new(session, model, screen, crashes.clone(), environment.over_ssh);
    let ended = console.run(&mut tty, reader, signals, start).await;
    let farewell = console.farewell();
    terminal::restore();
    if let Some(line) = farewell.filter(|_| ended.is_ok()) {
        tty.say(&line);
    }
    for crash in crashes.take() {
        tty.say(&format!("rolldeck: internal error: {crash}"));
    }
    ended
}

/// Restores the terminal when it goes, however that comes about.
struct Restored;

impl Drop for Restored {
    fn drop(&mut self) {
        terminal::restore();
        Crashes::unwatch();
    }
}

/// What the environment says about the terminal.
#[derive(Clone, Debug, Default)]
struct Environment {
    term: Option<String>,
    colour_term: Option<String>,
    no_colour: bool,
    locale: Option<String>,
    over_ssh: bool,
}

impl Environment {
    fn of_process() -> Self {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        Self {
            term: variable("TERM"),
            colour_term: variable("COLORTERM"),
            no_colour: variable("NO_COLOR").is_some(),
            locale: variable("LC_ALL").or_else(|| variable("LC_CTYPE")).or_else(|| variable("LANG")),
            over_ssh: variable("SSH_TTY").is_some(),
        }
    }

    fn depth(&self) -> Depth {
        let term = self.term.as_deref().unwrap_or_default();
        match self.colour_term.as_deref() {
            _ if self.no_colour => Depth::Never,
            Some("truecolor" | "24bit") => Depth::True,
            _ if term.contains("direct") => Depth::True,
            _ if term.contains("256color") => Depth::Indexed,
            _ => Depth::Ansi,
        }
    }

    fn glyphs(&self) -> Glyphs {
        let locale = self.locale.as_deref().unwrap_or_default().to_ascii_lowercase();
        let utf8 = locale.contains("utf-8") || locale.contains("utf8");
        if utf8 && self.term.as_deref() != Some("linux") { Glyphs::Unicode } else { Glyphs::Ascii }
    }
}

/// The model to begin with.
fn model(session: &dyn Session, options: &Options, environment: &Environment) -> Result<Model, Error> {
    let depth = match options.colour {
        Colour::Auto => environment.depth(),
        Colour::Depth(depth) => depth,
    };
    let directory = options.themes.clone().or_else(theme::user_directory);
    let (mut themes, complaints) = Themes::load(directory.as_deref(), depth);
    match &options.theme {
        Some(name) => themes.choose(name).map_err(|why| {
            let broken = complaints.iter().map(|complaint| format!("\n{complaint}")).collect::<String>();
            Error::Options(format!("--theme: {why}{broken}"))
        })?,
        // Without colour weight alone must tell what matters.
        None if depth == Depth::Never => themes.choose(theme::MONO).map_err(Error::Options)?,
        None => {}
    }
    let mut model = Model {
        context: session.context().into(),
        default_namespace: session.default_namespace().into(),
        size: Size::new(80, 24),
        now: Mono::ZERO,
        themes,
        glyphs: options.glyphs.unwrap_or_else(|| environment.glyphs()),
        access: Access::ReadOnly,
        page: Page::Fleet,
        fleet: None,
        rollouts: Vec::new(),
        overlay: Overlay::None,
        status: None,
        history: Vec::new(),
        serial: 0,
    };
    if let Some(complaint) = complaints.first() {
        model.say(Tone::Refused, complaint.clone());
    }
    Ok(model)
}

/// What panics said on other threads: it must not be written across the screen.
#[derive(Clone, Debug)]
struct Crashes {
    said: Arc<Mutex<Vec<String>>>,
    news: Arc<Notify>,
}

impl Crashes {
    /// From now on a panic on this thread restores the terminal before it is reported, and one on another is remembered.
    fn watch() -> Self {
        let crashes = Self { said: Arc::default(), news: Arc::default() };
        let here = std::thread::current().id();
        let (previous, remembered) = (std::panic::take_hook(), crashes.clone());
        std::panic::set_hook(Box::new(move |info| {
            if std::thread::current().id() == here {
                terminal::restore();
                previous(info);
            } else {
                remembered.said.lock().unwrap_or_else(PoisonError::into_inner).push(info.to_string());
                remembered.news.notify_one();
            }
        }));
        crashes
    }

    fn unwatch() {
        if !std::thread::panicking() {
            drop(std::panic::take_hook());
        }
    }

    fn last(&self) -> Option<String> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).last().cloned()
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.said.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The signals that a program with a terminal lives with.
struct Signals {
    hangup: Listener,
    terminate: Listener,
    interrupt: Listener,
    resize: Listener,
    stop: Listener,
    go_on: Listener,
}

/// One of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Caught {
    End(&'static str),
    Interrupt,
    Resize,
    Stop,
    GoOn,
}

impl Signals {
    fn listen() -> io::Result<Self> {
        Ok(Self {
            hangup: signal(SignalKind::hangup())?,
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            resize: signal(SignalKind::window_change())?,
            stop: signal(SignalKind::from_raw(Signal::TSTP.as_raw()))?,
            go_on: signal(SignalKind::from_raw(Signal::CONT.as_raw()))?,
        })
    }

    async fn next(&mut self) -> Caught {
        tokio::select! {
            _ = self.hangup.recv() => Caught::End("SIGHUP"),
            _ = self.terminate.recv() => Caught::End("SIGTERM"),
            _ = self.interrupt.recv() => Caught::Interrupt,
            _ = self.resize.recv() => Caught::Resize,
            _ = self.stop.recv() => Caught::Stop,
            _ = self.go_on.recv() => Caught::GoOn,
        }
    }
}

/// How the loop goes on.
#[derive(Debug)]
enum Next {
    Wait,
    Suspend,
    Quit(Vec<Target>),
    End(Error),
}

struct Console<S> {
    session: Arc<dyn Session>,
    model: Model,
    screen: Screen<S>,
    rollouts: HashMap<Target, Rollout>,
    fleet: Option<watch::Receiver<Arc<Fleet>>>,
    /// Woken when a snapshot, a fleet or a crash is new.
    news: Arc<Notify>,
    crashes: Crashes,
    crashes_told: usize,
    answers: (mpsc::Sender<Msg>, mpsc::Receiver<Msg>),
    pace: Pace,
    resize_at: Option<Instant>,
    started: Instant,
}

/// When the next frame is due.
#[derive(Debug)]
struct Pace {
    typed: bool,
    news: bool,
    wake: Option<Instant>,
    last_frame: Instant,
    last_key: Instant,
    /// Grows while the terminal is slow to take frames.
    stalled_gap: Duration,
    over_ssh: bool,
}

impl Pace {
    fn new(over_ssh: bool) -> Self {
        let now = Instant::now();
        let past = now.checked_sub(LONGEST_GAP).unwrap_or(now);
        Self { typed: true, news: false, wake: None, last_frame: past, last_key: now, stalled_gap: NEWS_GAP, over_ssh }
    }

    fn news_gap(&self, now: Instant) -> Duration {
        let idle = self.over_ssh && now.duration_since(self.last_key) > IDLE;
        self.stalled_gap.max(if idle { IDLE_GAP } else { NEWS_GAP })
    }

    /// When a frame is due, if nothing else happens.
    fn due(&self, now: Instant) -> Option<Instant> {
        let typed = self.typed.then(|| self.last_frame + KEY_GAP);
        let news = self.news.then(|| self.last_frame + self.news_gap(now));
        [typed, news, self.wake].into_iter().flatten().min()
    }

    fn drawn(&mut self, wrote_for: Duration, wake: Option<Instant>) {
        self.stalled_gap = if wrote_for > STALL {
            (self.stalled_gap * 2).min(LONGEST_GAP)
        } else {
            (self.stalled_gap / 2).max(NEWS_GAP)
        };
        self.last_frame = Instant::now();
        (self.typed, self.news, self.wake) = (false, false, wake);
    }
}

impl<S: Sink> Console<S> {
    fn new(session: Arc<dyn Session>, model: Model, screen: Screen<S>, crashes: Crashes, over_ssh: bool) -> Self {
        Self {
            session,
            model,
            screen,
            rollouts: HashMap::new(),
            fleet: None,
            news: crashes.news.clone(),
            crashes,
            crashes_told: 0,
            answers: mpsc::channel(ANSWERS),
            pace: Pace::new(over_ssh),
            resize_at: None,
            started: Instant::now(),
        }
    }

    fn now(&self) -> Mono {
        self.started.elapsed()
    }

    async fn run(
        &mut self,
        tty: &mut Tty,
        mut reader: Reader,
        mut signals: Signals,
        start: Start,
    ) -> Result<(), Error> {
        self.model.size = tty.size();
        let effects = match start {
            Start::Fleet { namespace } => commands::fleet(&mut self.model, namespace.as_deref().unwrap_or_default()),
            Start::Rollout { namespace, name } => {
                let target = Target { namespace: namespace.into(), name: name.into() };
                commands::open_rollout(&mut self.model, target)
            }
        };
        // The first frame comes before the first byte from the network.
        self.draw()?;
        let mut next = self.perform(effects);
        loop {
            match next {
                Next::Wait => {}
                Next::Suspend => self.suspend(tty)?,
                Next::Quit(driven) => {
                    self.stand_down(driven, &mut reader, FAREWELL).await;
                    return Ok(());
                }
                Next::End(error) => {
                    let driven = self.model.driven().map(|page| page.target.clone()).collect();
                    self.stand_down(driven, &mut reader, LAST_WORDS).await;
                    return Err(error);
                }
            }
            next = self.wait(&mut reader, &mut signals).await;
            if matches!(next, Next::Wait) {
                next = self.catch_up(tty)?;
            }
        }
    }

    /// Waits until something happens, and takes it in.
    async fn wait(&mut self, reader: &mut Reader, signals: &mut Signals) -> Next {
        let now = Instant::now();
        let due = [self.pace.due(now), self.resize_at].into_iter().flatten().min();
        let timer = async {
            match due {
                Some(due) => sleep_until(due.into()).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            caught = signals.next() => self.on_signal(caught),
            event = reader.next() => {
                let mut next = self.on_event(event);
                while matches!(next, Next::Wait) {
                    match reader.try_next() {
                        Some(event) => next = self.on_event(event),
                        None => break,
                    }
                }
                next
            }
            Some(answer) = self.answers.1.recv() => {
                self.pace.typed = true;
                self.take_in(answer)
            }
            () = self.news.notified() => {
                self.pace.news = true;
                Next::Wait
            }
            () = timer => Next::Wait,
        }
    }

    fn on_event(&mut self, event: Event) -> Next {
        match event {
            Event::Gone => Next::End(Error::Gone),
            Event::Input(Input::Mode { mode: SYNCHRONIZED, setting }) => {
                self.screen.set_synchronized(setting);
                Next::Wait
            }
            Event::Input(Input::Mode { .. }) => Next::Wait,
            Event::Input(Input::Key(key)) => {
                self.touched();
                self.take_in(Msg::Key(key))
            }
            Event::Input(Input::Paste(text)) => {
                self.touched();
                self.take_in(Msg::Paste(text))
            }
        }
    }

    fn touched(&mut self) {
        self.pace.typed = true;
        self.pace.last_key = Instant::now();
    }

    fn on_signal(&mut self, caught: Caught) -> Next {
        match caught {
            Caught::End(signal) => Next::End(Error::Signal(signal)),
            Caught::Interrupt => {
                self.touched();
                self.take_in(Msg::Key(Key::ctrl('c')))
            }
            Caught::Resize => {
                self.resize_at.get_or_insert(Instant::now() + RESIZE_WAIT);
                Next::Wait
            }
            Caught::Stop => Next::Suspend,
            Caught::GoOn => {
                self.resize_at = Some(Instant::now());
                Next::Wait
            }
        }
    }

    /// Does what has become due: a resize, news, a frame.
    fn catch_up(&mut self, tty: &Tty) -> Result<Next, Error> {
        let now = Instant::now();
        if self.resize_at.is_some_and(|at| at <= now) {
            self.resize_at = None;
            self.screen.forget();
            self.pace.typed = true;
            let _ = self.take_in(Msg::Resize(tty.size()));
        }
        if self.pace.due(now).is_none_or(|due| due > now) {
            return Ok(Next::Wait);
        }
        let next = if self.pace.news { self.take_news() } else { self.take_in(Msg::Tick) };
        self.draw()?;
        Ok(next)
    }

    /// Takes in the newest of everything; what came in between is never seen.
    fn take_news(&mut self) -> Next {
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
        let crashes = self.crashes.said.lock().unwrap_or_else(PoisonError::into_inner).len();
        if crashes > self.crashes_told {
            self.crashes_told = crashes;
            let text = self.crashes.last().unwrap_or_default();
            news.push(Msg::Said(Tone::Refused, format!("internal error, please report it: {text}")));
        }
        for msg in news {
            match self.take_in(msg) {
                Next::Wait => {}
                next => return next,
            }
        }
        Next::Wait
    }

    fn take_in(&mut self, msg: Msg) -> Next {
        let now = self.now();
        let effects = update(&mut self.model, msg, now);
        self.perform(effects)
    }

    fn perform(&mut self, effects: Vec<Effect>) -> Next {
        let mut next = Next::Wait;
        for effect in effects {
            match effect {
                Effect::Open(target) => self.open(target),
                Effect::Close(target) => {
                    self.rollouts.remove(&target);
                }
                Effect::Fleet(namespace) => {
                    let mut fleet = self.session.fleet(namespace.as_deref());
                    fleet.mark_changed();
                    self.announce(fleet.clone());
                    self.fleet = Some(fleet);
                }
                Effect::Ask { target, serial, command } => {
                    self.ask(&target, |rollout, answers| async move {
                        let _ = answers.send(Msg::Previewed(serial, rollout.preview(command).await)).await;
                    });
                }
                Effect::Do { target, command } => {
                    let to = target.clone();
                    self.ask(&target, |rollout, answers| async move {
                        let _ = answers.send(Msg::Done(to, rollout.command(command).await)).await;
                    });
                }
                Effect::Repaint => self.screen.forget(),
                Effect::Suspend => next = self.on_suspend_key(),
                Effect::Quit(driven) => next = Next::Quit(driven),
            }
        }
        next
    }

    fn open(&mut self, target: Target) {
        let mut rollout = self.session.open(&target.namespace, &target.name, Role::Driver);
        rollout.snapshots.mark_changed();
        self.announce(rollout.snapshots.clone());
        self.rollouts.insert(target, rollout);
    }

    /// Wakes the loop whenever `changes` has something new, and when it ends.
    fn announce<T: Send + Sync + 'static>(&self, mut changes: watch::Receiver<T>) {
        let news = self.news.clone();
        tokio::spawn(async move {
            loop {
                news.notify_one();
                if changes.changed().await.is_err() {
                    news.notify_one();
                    return;
                }
            }
        });
    }

    /// Puts a question to a rollout's driver; the loop does not wait for the answer.
    fn ask<F>(&self, target: &Target, question: impl FnOnce(Rollout, mpsc::Sender<Msg>) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        if let Some(rollout) = self.rollouts.get(target) {
            tokio::spawn(question(rollout.clone(), self.answers.0.clone()));
        }
    }

    fn on_suspend_key(&mut self) -> Next {
        if !terminal::under_job_control() {
            let text = "there is no shell with job control to go back to; q quits";
            return self.take_in(Msg::Said(Tone::Refused, text.into()));
        }
        // As the terminal itself would: the whole group stops. We catch it too, and stop as on any SIGTSTP.
        match rustix::process::kill_current_process_group(Signal::TSTP) {
            Ok(()) => Next::Wait,
            Err(_) => Next::Suspend,
        }
    }

    fn suspend(&mut self, tty: &mut Tty) -> Result<(), Error> {
        let driving = self.model.driven().next().is_some();
        let farewell =
            driving.then_some("rolldeck is stopped: nothing is updated until it continues (fg), or another drives");
        tty.suspend(farewell)?;
        self.screen.forget();
        self.pace.typed = true;
        self.resize_at = Some(Instant::now());
        Ok(())
    }

    fn draw(&mut self) -> Result<(), Error> {
        let (frame, drawn) = view::draw(&self.model);
        let (_, wrote_for) = self.screen.show(frame, drawn.cursor).map_err(|_gone| Error::Gone)?;
        let wake = drawn.wake.map(|at| self.started + at);
        self.pace.drawn(wrote_for, wake);
        Ok(())
    }

    /// Gives the leases back before leaving; a ctrl-c ends the waiting.
    async fn stand_down(&mut self, driven: Vec<Target>, reader: &mut Reader, at_most: Duration) {
        if driven.is_empty() {
            self.rollouts.clear();
            return;
        }
        self.model.overlay = Overlay::None;
        self.model.say(Tone::Busy, "standing down: giving the lease back … (ctrl-c: leave at once)");
        let _ = self.draw();
        let all: Vec<Rollout> = driven.iter().filter_map(|target| self.rollouts.get(target).cloned()).collect();
        self.rollouts.clear();
        let given_back = async {
            for rollout in all {
                let _ = rollout.command(Command::StandDown).await;
                rollout.close().await;
            }
        };
        let impatient = async {
            loop {
                match reader.next().await {
                    Event::Input(Input::Key(key)) if key == Key::ctrl('c') => return,
                    // A dead terminal is no reason to leave the lease lying around; the time limit still holds.
                    Event::Gone => sleep(at_most).await,
                    Event::Input(_) => {}
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

    /// One line for the shell: where it stands.
    fn farewell(&self) -> Option<String> {
        let page = self.model.rollout()?;
        let snapshot = page.snapshot()?;
        let counts = &snapshot.counts;
        let (target, doing) = (&page.target, snapshot.doing());
        let (updated, nodes) = (counts.updated, counts.nodes);
        let stood_down = if page.driven_by_us() { "; nobody drives it now" } else { "" };
        Some(format!("{}/{}: {doing}, {updated} of {nodes} nodes updated{stood_down}", target.namespace, target.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(term: &str, colour_term: &str, locale: &str) -> Environment {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Environment { term: some(term), colour_term: some(colour_term), locale: some(locale), ..Default::default() }
    }

    #[test]
    fn colours_and_signs_are_found_out() {
        for (term, colour_term, locale, depth, glyphs) in [
            ("xterm-256color", "", "en_US.UTF-8", Depth::Indexed, Glyphs::Unicode),
            ("xterm-256color", "truecolor", "C.utf8", Depth::True, Glyphs::Unicode),
            ("xterm", "", "C", Depth::Ansi, Glyphs::Ascii),
            ("linux", "", "en_US.UTF-8", Depth::Ansi, Glyphs::Ascii),
            ("screen", "", "", Depth::Ansi, Glyphs::Ascii),
        ] {
            let environment = environment(term, colour_term, locale);
            assert_eq!((environment.depth(), environment.glyphs()), (depth, glyphs), "{term}");
        }
        let without = Environment { no_colour: true, ..environment("xterm", "truecolor", "C") };
        assert_eq!(without.depth(), Depth::Never);
    }

    #[test]
    fn keys_are_shown_sooner_than_news_and_slow_links_later() {
        let mut pace = Pace::new(true);
        pace.drawn(Duration::ZERO, None);
        let now = Instant::now();
        assert_eq!(pace.due(now), None, "nothing happened: nothing is due");
        pace.news = true;
        assert_eq!(pace.due(now), Some(pace.last_frame + NEWS_GAP));
        assert_eq!(pace.due(now + 2 * IDLE), Some(pace.last_frame + IDLE_GAP), "over SSH, nobody typing");
        pace.typed = true;
        assert_eq!(pace.due(now), Some(pace.last_frame + KEY_GAP));
        for _ in 0..9 {
            pace.drawn(STALL * 2, None);
        }
        pace.news = true;
        assert_eq!(pace.due(now), Some(pace.last_frame + LONGEST_GAP));
        for _ in 0..9 {
            pace.drawn(Duration::ZERO, None);
        }
        assert_eq!(pace.news_gap(pace.last_key), NEWS_GAP);
    }
}
