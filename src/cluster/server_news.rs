//! News about the API server that one request learns and every watch of the session needs.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::watch;

use super::failure::Failure;

/// News of an API server.
#[derive(Debug, Default)]
pub(super) struct ServerNews {
    /// Whether the last attempt to connect failed.
    unreachable: AtomicBool,
    /// How often the server answered again after such a failure.
    back: watch::Sender<u64>,
    /// Whether the server did not answer the last request in time.
    silent: AtomicBool,
    /// How often the server, or another one in its place, answered again after that.
    doubted: watch::Sender<u64>,
    /// How often the server's state was found to have gone back to an earlier one.
    restored: watch::Sender<u64>,
}

impl ServerNews {
    /// Takes in the result of a request.
    pub(super) fn heard<T>(&self, answer: &Result<T, Failure>) {
        match answer {
            Err(Failure::Connect(_)) => self.unreachable.store(true, Ordering::Relaxed),
            Err(failure) if failure.is_silence() => self.silent.store(true, Ordering::Relaxed),
            // Behind a load balancer this means that the server is not up yet.
            Err(Failure::Refused { code: 500.., .. }) => {}
            Ok(_) | Err(Failure::Refused { .. }) => {
                if self.unreachable.swap(false, Ordering::Relaxed) {
                    self.back.send_modify(|times| *times += 1);
                }
                if self.silent.swap(false, Ordering::Relaxed) {
                    self.doubted.send_modify(|times| *times += 1);
                }
            }
            // These failures do not tell whether the server can be reached.
            Err(
                Failure::Tls(_)
                | Failure::Proxy(_)
                | Failure::Credentials(_)
                | Failure::TooLate
                | Failure::Timeout(_)
                | Failure::Broken(_)
                | Failure::TooLong { .. }
                | Failure::MutatedByAdmission(_)
                | Failure::HandedBackByAdmission
                | Failure::Malformed(_),
            ) => {}
        }
    }

    /// Tells every watch that the state of the server went back.
    pub(super) fn tell_restored(&self) {
        self.restored.send_modify(|times| *times += 1);
    }

    /// Changes when a server that could not be reached answers again.
    pub(super) fn back(&self) -> watch::Receiver<u64> {
        self.back.subscribe()
    }

    /// Changes when a request is answered after one was not. Behind a load balancer another server may answer now. A watch
    /// that is open to the server that does not answer would be silent without an error.
    pub(super) fn doubted(&self) -> watch::Receiver<u64> {
        self.doubted.subscribe()
    }

    /// Changes when the state of the server was found to have gone back.
    pub(super) fn restored(&self) -> watch::Receiver<u64> {
        self.restored.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_back_once_it_answers_again_and_not_with_every_answer() {
        let refused =
            |code: u16| Failure::Refused { code, reason: String::new(), message: String::new(), retry_after: None };
        let news = ServerNews::default();
        let mut back = news.back();
        news.heard(&Ok(()));
        assert!(!back.has_changed().unwrap(), "it was never away");
        news.heard(&Err::<(), _>(Failure::Connect("refused".into())));
        news.heard(&Err::<(), _>(refused(503)));
        assert!(!back.has_changed().unwrap(), "what stands before it answers");
        news.heard(&Err::<(), _>(refused(403)));
        assert!(back.has_changed().unwrap());
        back.mark_unchanged();
        news.heard(&Ok(()));
        assert!(!back.has_changed().unwrap());
    }

    #[test]
    fn open_watches_are_in_doubt_once_it_answers_after_a_silence() {
        let news = ServerNews::default();
        let mut doubted = news.doubted();
        for silence in
            [Failure::Timeout(std::time::Duration::from_secs(4)), Failure::Broken("operation timed out".into())]
        {
            news.heard(&Err::<(), _>(silence));
            assert!(!doubted.has_changed().unwrap(), "nobody answers yet");
            news.heard(&Ok(()));
            assert!(doubted.has_changed().unwrap());
            doubted.mark_unchanged();
        }
        news.heard(&Err::<(), _>(Failure::Broken("reset".into())));
        news.heard(&Ok(()));
        assert!(!doubted.has_changed().unwrap(), "who breaks off says so on each connection");
    }
}
