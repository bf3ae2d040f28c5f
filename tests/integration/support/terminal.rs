//! The program in a terminal (a tmux of its own): keys in, screen out.

use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::missing::skip;
use super::program::Operator;

/// Writes the program's process id to the file `$0`, prints how the program ended, and keeps its last output on the screen. A killed program leaves
/// the cursor anywhere, and the terminal raw.
const SHELL: &str =
    r#"sh -c 'echo $$ >"$0"; exec "$@"' "$0" "$@"; printf '\r\nit ended with %s\r\n' "$?"; exec sleep 600"#;

/// The time limit for steps that take a second on an idle machine.
const SOON: Duration = Duration::from_secs(60);

/// One window; closed when dropped.
#[derive(Debug)]
pub(crate) struct Terminal {
    socket: String,
    pid_file: PathBuf,
}

impl Terminal {
    /// Opens the program with `line` in a window of that size. Without tmux the answer is `None`, and one line says so.
    pub(crate) fn open(operator: &Operator, line: &[&str], (columns, rows): (u16, u16)) -> Option<Self> {
        static COUNT: AtomicUsize = AtomicUsize::new(1);
        if Command::new("tmux").arg("-V").output().is_err() {
            skip(&"there is no tmux; install it to test the console in a terminal");
            return None;
        }
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let pid_file = operator.home().join(format!("terminal-{number}.pid"));
        let terminal = Self { socket: format!("rolldeck-test-{}-{number}", std::process::id()), pid_file };
        let program = operator.command(line);
        let set = program.get_envs().filter_map(|(name, value)| Some((name.to_str()?, value?.to_str()?)));
        let pid_file = terminal.pid_file.to_string_lossy();
        let start = ["sh", "-c", SHELL, &pid_file, "env", "-i", "TERM=screen-256color", "LANG=C.UTF-8"];
        let mut words: Vec<String> = start.map(str::to_owned).into();
        words.extend(set.map(|(name, value)| format!("{name}={value}")));
        words.push(program.get_program().to_string_lossy().into_owned());
        words.extend(program.get_args().map(|arg| arg.to_string_lossy().into_owned()));
        let (columns, rows) = (columns.to_string(), rows.to_string());
        let opening = ["new-session", "-d", "-x", &columns, "-y", &rows, "--"];
        let opened = terminal.tmux(opening.into_iter().chain(words.iter().map(String::as_str)));
        assert!(opened.status.success(), "tmux: {}", String::from_utf8_lossy(&opened.stderr));
        Some(terminal)
    }

    /// Presses keys, by tmux' names: `A`, `Enter`, `Tab`, `C-c`.
    pub(crate) fn press(&self, keys: &[&str]) {
        for key in keys {
            self.tmux(["send-keys", key]);
        }
    }

    /// Presses the key until the screen shows `text`: each time waits a while for that.
    #[track_caller]
    pub(crate) fn press_until(&self, key: &str, text: &str) {
        let pressed_at = std::cell::Cell::new(None);
        self.eventually(&format!("`{key}` does not lead to `{text}`"), || {
            let is_shown = self.screen().contains(text);
            if !is_shown && pressed_at.get().is_none_or(|at: Instant| at.elapsed() > Duration::from_secs(5)) {
                self.press(&[key]);
                pressed_at.set(Some(Instant::now()));
            }
            is_shown
        });
    }

    /// Types text.
    pub(crate) fn write(&self, text: &str) {
        self.tmux(["send-keys", "-l", text]);
    }

    /// Kills the program (SIGKILL), and returns when it is gone.
    #[track_caller]
    pub(crate) fn kill(&self) {
        let pid = std::fs::read_to_string(&self.pid_file).unwrap();
        let pid = Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
        kill_process(pid, Signal::KILL).unwrap();
        self.until("it ended with 137");
    }

    /// What is on the screen.
    pub(crate) fn screen(&self) -> String {
        String::from_utf8_lossy(&self.tmux(["capture-pane", "-p"]).stdout).into_owned()
    }

    /// Moves the focus to a dialog's button and presses it. The dialog must first say what it would do, because that may move the focus; each key is
    /// pressed only after the screen shows the effect of the one before.
    #[track_caller]
    pub(crate) fn choose(&self, button: &str) {
        let (idle, focused) = (format!("[ {button} ]"), format!("[>{button}<]"));
        self.eventually(&format!("no button `{button}`"), || {
            let screen = self.screen();
            (screen.contains(&idle) || screen.contains(&focused)) && !screen.contains("asking what it would do")
        });
        while self.focused().is_none_or(|focused| focused != button) {
            let before = self.focused();
            self.press(&["Tab"]);
            self.eventually("the focus does not move", || self.focused() != before);
        }
        self.confirm(&focused);
    }

    /// Presses enter in the dialog with this button, once the dialog says what it would do: before that, enter does nothing.
    #[track_caller]
    pub(crate) fn confirm(&self, button: &str) {
        self.eventually("the dialog does not say what it would do", || {
            let screen = self.screen();
            screen.contains(button) && !screen.contains("asking what it would do")
        });
        self.press(&["Enter"]);
    }

    /// The button that has the focus.
    fn focused(&self) -> Option<String> {
        let screen = self.screen();
        let (_, from) = screen.split_once("[>")?;
        from.split_once("<]").map(|(button, _)| button.to_owned())
    }

    /// Waits until the screen shows these words.
    #[track_caller]
    pub(crate) fn until(&self, words: &str) {
        self.eventually(&format!("no `{words}`"), || self.screen().contains(words));
    }

    /// Waits until the header says that the DaemonSet's own controller drives. Beside a slow API server, whose distance it shows, it says so in fewer words.
    #[track_caller]
    pub(crate) fn until_its_controller_drives(&self) {
        self.eventually("its controller does not drive", || {
            let screen = self.screen();
            screen.contains("its controller drives ") || screen.contains(" controller · ")
        });
    }

    /// Waits until the screen does not show these words any more.
    #[track_caller]
    pub(crate) fn until_gone(&self, words: &str) {
        self.eventually(&format!("still `{words}`"), || !self.screen().contains(words));
    }

    #[track_caller]
    fn eventually(&self, otherwise: &str, holds: impl Fn() -> bool) {
        let deadline = Instant::now() + SOON;
        while !holds() {
            assert!(Instant::now() < deadline, "{otherwise} within {SOON:?} on\n{}", self.screen());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn tmux<'a>(&self, words: impl IntoIterator<Item = &'a str>) -> Output {
        let mut tmux = Command::new("tmux");
        tmux.args(["-u", "-f", "/dev/null", "-L", &self.socket]).args(words).env_remove("TMUX");
        tmux.output().expect("tmux should run")
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.tmux(["kill-server"]);
    }
}
