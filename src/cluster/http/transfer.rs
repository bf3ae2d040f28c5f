//! How lists come over the wire: as it was asked for, or as it is worth it for a server on a loopback address.
//!
//! Behind such an address there may be a server on this machine, where compressing takes longer than sending, or the end of a
//! tunnel (`ssh -L`, `kubectl proxy` to a far cluster). Only time tells: a server counts as near once it has answered a small
//! request within milliseconds.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::OnceCell;
use tokio::time::{Instant, timeout_at};

/// A server that answers within this is on this machine, or as good as there.
const NEAR: Duration = Duration::from_millis(5);
/// How often it is asked: the first answer may include a handshake, and a busy machine may be slow once.
const TRIES: usize = 4;
/// All of that takes no longer than this: whoever has not answered by then is far.
const PATIENCE: Duration = Duration::from_millis(150);

/// How lists come over the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::cluster) enum ListTransfer {
    /// As streams, where the server knows them: one object is held at a time, by the server and by us.
    Streamed,
    /// In pages that the server compresses: a tenth of the bytes. API servers compress lists, and never watches or streamed lists.
    Compressed,
}

/// What is known of how lists come best; shared by all watches of a session.
#[derive(Clone, Debug)]
pub(super) struct ListChoice(Arc<OnceCell<ListTransfer>>);

impl ListChoice {
    /// It is settled, or else to be measured.
    pub(super) fn new(settled: Option<ListTransfer>) -> Self {
        Self(Arc::new(OnceCell::new_with(settled)))
    }

    /// As far as it is settled.
    pub(super) fn settled(&self) -> Option<ListTransfer> {
        self.0.get().copied()
    }

    /// Measures it where it is not settled, once for all who wait. `ask` sends a small request and says whether it was answered. `None`
    /// where it was not.
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

    /// What is found out of a server that answers after so many milliseconds, and after how long, and how often it was asked.
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
