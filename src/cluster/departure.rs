//! Tells when a request leaves this process. A request first waits for a connection, which takes several round trips to a distant server.
//!
//! The HTTP client reads the body of a request once it has a connection to write it to. At that moment the request leaves.
//! It can still be stopped then: a deletion that has waited for too long is not sent.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::Request;
use http_body::{Body as HttpBody, Frame, SizeHint};
use kube::client::Body;
use tokio::sync::watch;

use crate::cluster::clock::Clock;
use crate::engine::model::time::Timestamp;

/// Follows one request on its way out. It travels with the request as an extension.
#[derive(Clone, Debug)]
pub(in crate::cluster) struct Departure(Arc<DepartureState>);

#[derive(Debug)]
struct DepartureState {
    clock: Clock,
    leave_by: Option<Timestamp>,
    /// The request has reached the layer that reports its departure.
    tracked: AtomicBool,
    late: AtomicBool,
    left_at: watch::Sender<Option<Timestamp>>,
}

impl Departure {
    /// Tracks a request that must not leave after `leave_by`.
    pub(super) fn new(clock: Clock, leave_by: Option<Timestamp>) -> Self {
        let (tracked, late) = (AtomicBool::new(false), AtomicBool::new(false));
        Self(Arc::new(DepartureState { clock, leave_by, tracked, late, left_at: watch::Sender::new(None) }))
    }

    /// Whether the departure of the request is reported; not if something else makes the connections.
    pub(super) fn is_tracked(&self) -> bool {
        self.0.tracked.load(Ordering::Acquire)
    }

    /// Whether the request was stopped because it was too late.
    pub(super) fn is_late(&self) -> bool {
        self.0.late.load(Ordering::Acquire)
    }

    /// The time at which the request left.
    pub(super) fn left_at(&self) -> Option<Timestamp> {
        *self.0.left_at.borrow()
    }

    /// Waits until the request has left.
    pub(super) async fn left(&self) {
        let mut left_at = self.0.left_at.subscribe();
        // `self` holds the sender, so the channel cannot close before.
        let _ = left_at.wait_for(Option::is_some).await;
    }

    /// Notes that the request has reached the layer that reports its departure.
    pub(super) fn track(&self) {
        self.0.tracked.store(true, Ordering::Release);
    }

    /// The request is about to leave. Returns whether it may.
    pub(super) fn leaves(&self) -> bool {
        let now = self.0.clock.now();
        if self.0.leave_by.is_some_and(|leave_by| now > leave_by) {
            self.0.late.store(true, Ordering::Release);
            return false;
        }
        self.0.left_at.send_if_modified(|left_at| {
            let first = left_at.is_none();
            *left_at = left_at.or(Some(now));
            first
        });
        true
    }
}

/// A body that reports when it leaves.
pub(in crate::cluster) struct Tracked {
    body: Body,
    departure: Option<Departure>,
}

/// The request was stopped because it was too late to leave.
#[derive(Debug, thiserror::Error)]
#[error("too late to be sent")]
pub(in crate::cluster) struct TooLate;

/// Makes the body of `request` report when it leaves, if there is a body and the request carries a [`Departure`].
pub(in crate::cluster) fn tracked(request: Request<Body>) -> Request<Tracked> {
    let departure = request.extensions().get::<Departure>().filter(|_| !request.body().is_end_stream()).cloned();
    departure.iter().for_each(Departure::track);
    request.map(|body| Tracked { body, departure })
}

impl HttpBody for Tracked {
    type Data = Bytes;
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if let Some(departure) = self.departure.take()
            && !departure.leaves()
        {
            return Poll::Ready(Some(Err(TooLate.into())));
        }
        Pin::new(&mut self.body).poll_frame(context).map_err(Into::into)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http_body_util::BodyExt;

    use super::*;

    fn request(departure: &Departure, body: &str) -> Request<Tracked> {
        let mut request = Request::new(Body::from(body.as_bytes().to_vec()));
        request.extensions_mut().insert(departure.clone());
        tracked(request)
    }

    #[tokio::test]
    async fn a_request_leaves_when_its_body_is_read() {
        let departure = Departure::new(Clock::start(), None);
        assert!(!departure.is_tracked());
        let request = request(&departure, "{}");
        assert!(departure.is_tracked() && departure.left_at().is_none(), "it waits for a connection");
        assert_eq!(request.into_body().collect().await.unwrap().to_bytes(), "{}");
        departure.left().await;
        assert!(departure.left_at().is_some() && !departure.is_late());
    }

    #[tokio::test]
    async fn a_request_that_is_too_late_does_not_leave() {
        let clock = Clock::start();
        let departure = Departure::new(clock, Some(clock.now() - Duration::from_millis(1)));
        let read = request(&departure, "{}").into_body().collect().await;
        assert!(read.is_err() && departure.is_late() && departure.left_at().is_none());
    }

    #[tokio::test]
    async fn of_a_request_without_a_body_nothing_is_known() {
        let departure = Departure::new(Clock::start(), None);
        let _request = request(&departure, "");
        assert!(!departure.is_tracked());
    }
}
