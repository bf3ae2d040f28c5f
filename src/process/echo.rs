//! Keys that are typed while nothing reads them: the terminal is not to show them between the lines of a program that starts.

use std::io;
use std::os::fd::OwnedFd;

use rustix::termios::{LocalModes, OptionalActions, Termios, isatty, tcgetattr, tcsetattr};

/// The terminal shows no typed keys for as long as this value lives. Ctrl-c stays a signal; who holds this value has to end in order at signals,
/// so that the terminal is given back as it was.
#[derive(Debug)]
pub(crate) struct NoEcho(Option<(OwnedFd, Termios)>);

impl NoEcho {
    /// Turns the echo off on standard input, if that is a terminal.
    pub(crate) fn begin() -> Self {
        use std::os::fd::AsFd;
        Self(io::stdin().as_fd().try_clone_to_owned().ok().and_then(Self::on))
    }

    fn on(terminal: OwnedFd) -> Option<(OwnedFd, Termios)> {
        if !isatty(&terminal) {
            return None;
        }
        let before = tcgetattr(&terminal).ok()?;
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        tcsetattr(&terminal, OptionalActions::Now, &silent).ok()?;
        Some((terminal, before))
    }
}

impl Drop for NoEcho {
    fn drop(&mut self) {
        if let Some((terminal, before)) = &self.0 {
            // A terminal that is gone echoes nothing.
            let _ = tcsetattr(terminal, OptionalActions::Now, before);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;

    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

    use super::*;

    #[test]
    fn a_terminal_does_not_echo_meanwhile_and_does_so_again_afterwards() {
        let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&controller).unwrap();
        unlockpt(&controller).unwrap();
        let name = ptsname(&controller, Vec::new()).unwrap().into_string().unwrap();
        let terminal = || OwnedFd::from(OpenOptions::new().read(true).write(true).open(&name).unwrap());
        let seen = terminal();
        let echoes = || tcgetattr(&seen).unwrap().local_modes.contains(LocalModes::ECHO);
        assert!(echoes());
        let silent = NoEcho(NoEcho::on(terminal()));
        assert!(silent.0.is_some() && !echoes());
        assert!(tcgetattr(&seen).unwrap().local_modes.contains(LocalModes::ISIG), "ctrl-c is a signal");
        drop(silent);
        assert!(echoes());
    }

    #[test]
    fn what_is_no_terminal_stays_as_it_is() {
        assert!(NoEcho::on(tempfile::tempfile().unwrap().into()).is_none());
    }
}
