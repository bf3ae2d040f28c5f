//! The transfer of lists: as requested, or as it is faster for a server on a loopback address.
//!
//! Behind a loopback address there may be a server on this machine, where compressing takes longer than sending, or the end
//! of a tunnel (`ssh -L`, `kubectl proxy` to a distant cluster). The answer time distinguishes them: a server counts as near
//! once it has answered a small request within milliseconds.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::OnceCell;
use tokio::time::{Instant, timeout_at};

/// A server that answers within this time is on this machine, or practically as near.
const NEAR: Duration = Duration::from_millis(5);
/// How often the server is asked: the first answer may include a handshake, and a busy machine may be slow once.
const TRIES: usize = 4;
/// The limit for all attempts together: a server that has not answered by then is far.
const PATIENCE: Duration = Duration::from_millis(150);

/// The transfer of lists.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::cluster) enum ListTransfer {
    /// As streams, if the server supports them: server and client hold one object at a time.
    Streamed,
    /// In pages that the server compresses to a tenth of their bytes. API servers compress lists, and never watches or streamed lists.
    Compressed,
}

/// The chosen transfer of lists, shared by all watches of a session.
#[derive(Clone, Debug)]
pub(super) struct ListChoice(Arc<OnceCell<ListTransfer>>);

impl ListChoice {
    /// A choice that is settled, or still to be measured.
    pub(super) fn new(settled: Option<ListTransfer>) -> Self {
        Self(Arc::new(OnceCell::new_with(settled)))
    }

    /// The choice, if it is settled.
    pub(super) fn settled(&self) -> Option<ListTransfer> {
        self.0.get().copied()
    }

    /// Measures the choice if it is not settled, once for all callers. `ask` sends a small request and returns whether it
    /// was answered. `None` if it was not.
    pub(super) async fn settle<F: Future<Output = bool>>(&self, ask: impl Fn() -> F) -> Option<ListTransfer> {
        self.0.get_or_try_init(|| measure(ask)).await.ok().copied()
    }
}

/// The server did not answer at all.
struct NoAnswer;

async fn measure<F: Future<Output = bool>>(ask: impl Fn() -> F) -> Result<ListTransfer, NoAnswer> {
    let began = Instant::now();
    for _ in 0..TRIES {
        let asked = Instant::now();
        match timeout_at(began + PATIENCE, ask()).await {
            Ok(true) if asked.elapsed() <= NEAR => return Ok(ListTransfer::Streamed),
            Ok(true) => {}
            Ok(false) => return Err(NoAnswer),
            Err(_late) => break,
        }
    }
    Ok(ListTransfer::Compressed)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// The choice for a server that answers after these milliseconds, the time that it took, and the number of requests.
    async fn found(answers: &[u64]) -> (Option<ListTransfer>, Duration, usize) {
        let (choice, asked, began) = (ListChoice::new(None), AtomicUsize::new(0), Instant::now());
        let ask = || async {
            let nth = asked.fetch_add(1, Ordering::Relaxed);
            let after = *answers.get(nth).or(answers.last()).unwrap();
            tokio::time::sleep(Duration::from_millis(after)).await;
            true
        };
        (choice.settle(ask).await, began.elapsed(), asked.load(Ordering::Relaxed))
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_is_near_once_it_has_answered_soon() {
        let (found_near, after, asked) = found(&[1]).await;
        assert_eq!((found_near, asked), (Some(ListTransfer::Streamed), 1));
        assert!(after < Duration::from_millis(5), "{after:?}");
        // A handshake before the first answer.
        assert_eq!(found(&[40, 2]).await.0, Some(ListTransfer::Streamed));
        // Tunnels.
        let (found_far, after, asked) = found(&[36, 12]).await;
        assert_eq!((found_far, asked), (Some(ListTransfer::Compressed), TRIES));
        assert!(after < PATIENCE, "{after:?}");
        let (found_far, after, _) = found(&[3_000]).await;
        assert_eq!(found_far, Some(ListTransfer::Compressed));
        assert!(after <= PATIENCE + Duration::from_millis(1), "{after:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_does_not_answer_is_measured_when_it_does() {
        let choice = ListChoice::new(None);
        assert_eq!(choice.settle(|| async { false }).await, None);
        assert_eq!(choice.settled(), None);
        assert_eq!(choice.settle(|| async { true }).await, Some(ListTransfer::Streamed));
        assert_eq!(choice.settled(), Some(ListTransfer::Streamed));
        let settled = ListChoice::new(Some(ListTransfer::Compressed));
        assert_eq!(
            settled.settle(|| async { panic!("there is nothing to ask") }).await,
            Some(ListTransfer::Compressed)
        );
    }
}
