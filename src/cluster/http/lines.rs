//! The lines of a streamed answer, without a copy or an allocation for each.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use http_body_util::{BodyDataStream, BodyExt};
use kube::client::Body;

use super::traffic::Traffic;
use crate::cluster::failure::Failure;

/// What is kept of the buffer after a long line.
const KEPT: usize = 256 * 1024;

/// The lines of a streamed answer.
pub(crate) struct Lines {
    body: BodyDataStream<Body>,
    buffer: Vec<u8>,
    /// Up to here the buffer was handed out.
    taken: usize,
    /// Up to here it has no line end after `taken`.
    searched: usize,
    traffic: Arc<Traffic>,
}

impl Lines {
    pub(super) fn new(body: Body, traffic: Arc<Traffic>) -> Self {
        Self { body: body.into_data_stream(), buffer: Vec::new(), taken: 0, searched: 0, traffic }
    }

    /// The next line; `None` when the server closed the stream. Fails when nothing at all comes for `silence`.
    pub(crate) async fn next(&mut self, silence: Duration) -> Result<Option<&[u8]>, Failure> {
        let line = loop {
            if let Some(end) = memchr::memchr(b'\n', &self.buffer[self.searched..]) {
                let line = self.taken..self.searched + end;
                self.taken = line.end + 1;
                self.searched = self.taken;
                break line;
            }
            self.searched = self.buffer.len();
            match tokio::time::timeout(silence, self.body.next()).await {
                Ok(Some(Ok(chunk))) => {
                    self.traffic.received(chunk.len());
                    self.forget_taken();
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
        let mut lines = Lines::new(body, Arc::default());
        let mut got = Vec::new();
        while let Some(line) = lines.next(Duration::from_secs(1)).await.unwrap() {
            got.push(String::from_utf8_lossy(line).into_owned());
        }
        assert_eq!(got, ["{\"a\":1}", "{\"b\":2}", ""], "an unfinished last line is not a line");
    }
}
