//! The lines of a streamed answer, without a copy or an allocation for each.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use http_body_util::{BodyDataStream, BodyExt};
use kube::client::Body;

use super::traffic::Traffic;
use crate::cluster::failure::Failure;

/// The size of the buffer that stays allocated after a list or a long line: watches are many, and their changes a few kilobytes each.
const KEPT: usize = 32 * 1024;
/// The longest line, in bytes. API servers store objects of up to 1.5 MiB, so only another kind of server sends longer lines.
const LONGEST_LINE: usize = 16 * 1024 * 1024;

/// The lines of a streamed answer.
pub(crate) struct Lines {
    body: BodyDataStream<Body>,
    buffer: Vec<u8>,
    /// The end of the part of the buffer that was handed out.
    taken: usize,
    /// The end of the part after `taken` that is known to contain no line end.
    searched: usize,
    traffic: Arc<Traffic>,
    /// The path of the request without its query, for errors.
    path: String,
}

impl Lines {
    pub(super) fn new(body: Body, path: &str, traffic: Arc<Traffic>) -> Self {
        let path = path.split('?').next().unwrap_or_default().to_owned();
        Self { body: body.into_data_stream(), buffer: Vec::new(), taken: 0, searched: 0, traffic, path }
    }

    /// The next line; `None` when the server closed the stream.
    ///
    /// # Errors
    /// When no byte arrives for `silence`, the connection breaks, or the line is longer than 16 MiB.
    pub(crate) async fn next(&mut self, silence: Duration) -> Result<Option<&[u8]>, Failure> {
        let line = loop {
            if let Some(end) = memchr::memchr(b'\n', &self.buffer[self.searched..]) {
                let line = self.taken..self.searched + end;
                self.taken = line.end + 1;
                self.searched = self.taken;
                break line;
            }
            self.searched = self.buffer.len();
            if self.searched - self.taken > LONGEST_LINE {
                let what = format!("a line of the watch of {}", self.path);
                return Err(Failure::TooLong { what, limit: LONGEST_LINE });
            }
            // Before the wait, which may be long: a listing leaves a large buffer.
            self.forget_taken();
            match tokio::time::timeout(silence, self.body.next()).await {
                Ok(Some(Ok(chunk))) => {
                    self.traffic.received(chunk.len());
                    self.buffer.extend_from_slice(&chunk);
                }
                Ok(Some(Err(error))) => return Err(Failure::broken(&error)),
                Ok(None) => return Ok(None),
                Err(_) => return Err(Failure::Timeout(silence)),
            }
        };
        Ok(Some(&self.buffer[line]))
    }

    fn forget_taken(&mut self) {
        self.buffer.drain(..self.taken);
        self.searched -= self.taken;
        self.taken = 0;
        if self.buffer.len() < KEPT {
            self.buffer.shrink_to(KEPT);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn gives_whole_lines_however_they_arrive() {
        let body = Body::from(b"{\"a\":1}\n{\"b\":2}\n\nrest".to_vec());
        let mut lines = Lines::new(body, "/x?watch=true", Arc::default());
        let mut got = Vec::new();
        while let Some(line) = lines.next(Duration::from_secs(1)).await.unwrap() {
            got.push(String::from_utf8_lossy(line).into_owned());
        }
        assert_eq!(got, ["{\"a\":1}", "{\"b\":2}", ""], "an unfinished last line is not a line");
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_told_with_its_path() {
        let body = Body::from(vec![b'x'; LONGEST_LINE + 1]);
        let mut lines = Lines::new(body, "/api/v1/pods?watch=true", Arc::default());
        let error = lines.next(Duration::from_secs(5)).await.unwrap_err();
        let Failure::TooLong { what, limit } = &error else { panic!("{error:?}") };
        assert_eq!((&**what, *limit), ("a line of the watch of /api/v1/pods", 16 << 20));
        assert!(error.to_string().contains("/api/v1/pods is longer than 16 MiB"), "{error}");
    }
}
