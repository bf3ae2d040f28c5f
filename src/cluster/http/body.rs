//! Whole answers: read up to a limit, and decompressed if the server compressed them.

use std::io::{self, Write};

use bytes::Bytes;
use flate2::write::MultiGzDecoder;
use futures::StreamExt;
use http::HeaderMap;
use http::header::CONTENT_ENCODING;
use http_body_util::BodyExt;
use kube::client::Body;

use super::traffic::Traffic;
use crate::cluster::failure::root_cause;

/// The reason why a body could not be read to its end.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(super) enum BodyError {
    /// The body is longer than the limit, compressed or decompressed.
    #[error("it is too long")]
    TooLong,
    /// The connection broke.
    #[error("{0}")]
    Broken(String),
    /// The body does not have the encoding of its headers, or has one that was not asked for.
    #[error("{0}")]
    Encoding(String),
}

/// Reads a body to its end and decompresses it. Neither form may be longer than `limit` bytes: a megabyte of gzip can hold a gigabyte.
///
/// # Errors
/// See [`BodyError`].
pub(super) async fn read_whole(
    headers: &HeaderMap,
    body: Body,
    limit: usize,
    traffic: &Traffic,
) -> Result<Bytes, BodyError> {
    let mut decoder = BodyDecoder::new(headers, limit)?;
    let mut chunks = body.into_data_stream();
    let mut came = 0;
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|error| BodyError::Broken(root_cause(&error)))?;
        traffic.answered(chunk.len());
        came += chunk.len();
        if came > limit {
            return Err(BodyError::TooLong);
        }
        decoder.take_in(&chunk)?;
    }
    decoder.finish()
}

/// Whether the headers of an answer say that it is not compressed.
pub(super) fn is_plain(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_ENCODING).is_none_or(|encoding| encoding.as_bytes().eq_ignore_ascii_case(b"identity"))
}

enum BodyDecoder {
    Plain(Limited),
    Gzip(Box<MultiGzDecoder<Limited>>),
}

impl BodyDecoder {
    fn new(headers: &HeaderMap, limit: usize) -> Result<Self, BodyError> {
        let whole = Limited { bytes: Vec::new(), limit };
        match headers.get(CONTENT_ENCODING) {
            _ if is_plain(headers) => Ok(Self::Plain(whole)),
            Some(encoding) if encoding.as_bytes().eq_ignore_ascii_case(b"gzip") => {
                Ok(Self::Gzip(Box::new(MultiGzDecoder::new(whole))))
            }
            encoding => Err(BodyError::Encoding(format!(
                "the answer is encoded as {encoding:?}, which was not asked for; what is between here and the API server?"
            ))),
        }
    }

    fn take_in(&mut self, chunk: &[u8]) -> Result<(), BodyError> {
        match self {
            Self::Plain(whole) => whole.write_all(chunk),
            Self::Gzip(decoder) => decoder.write_all(chunk),
        }
        .map_err(|error| Self::failed(&error))
    }

    fn finish(self) -> Result<Bytes, BodyError> {
        let whole = match self {
            Self::Plain(whole) => whole,
            Self::Gzip(decoder) => decoder.finish().map_err(|error| Self::failed(&error))?,
        };
        Ok(Bytes::from(whole.bytes))
    }

    fn failed(error: &io::Error) -> BodyError {
        match error.kind() {
            io::ErrorKind::FileTooLarge => BodyError::TooLong,
            _ => BodyError::Encoding(format!("the answer cannot be decompressed: {error}")),
        }
    }
}

/// Takes in up to `limit` bytes.
struct Limited {
    bytes: Vec<u8>,
    limit: usize,
}

impl Write for Limited {
    fn write(&mut self, chunk: &[u8]) -> io::Result<usize> {
        if chunk.len() > self.limit - self.bytes.len() {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(chunk);
        Ok(chunk.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use http::HeaderValue;

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    async fn read(encoding: Option<&'static str>, body: Vec<u8>, limit: usize) -> (Result<Bytes, BodyError>, u64) {
        let mut headers = HeaderMap::new();
        headers.extend(encoding.map(|encoding| (CONTENT_ENCODING, HeaderValue::from_static(encoding))));
        let traffic = Traffic::default();
        (read_whole(&headers, Body::from(body), limit, &traffic).await, traffic.count().answered)
    }

    #[tokio::test]
    async fn inflates_what_is_compressed_and_counts_what_came() {
        let text = "a line of a list\n".repeat(10_000);
        let compressed = gzip(text.as_bytes());
        let came = compressed.len() as u64;
        assert!(came < 2_000);
        let (whole, answered) = read(Some("gzip"), compressed.clone(), 1 << 20).await;
        assert_eq!((whole.unwrap(), answered), (Bytes::from(text.clone()), came));
        let two = [gzip(b"one, "), gzip(b"two")].concat();
        assert_eq!(read(Some("GZIP"), two, 1 << 20).await.0.unwrap(), "one, two", "members follow each other");
        assert_eq!(read(None, b"plain".to_vec(), 5).await, (Ok(Bytes::from("plain")), 5));
        assert_eq!(read(Some("identity"), b"plain".to_vec(), 5).await.0.unwrap(), "plain");
        let truncated = compressed[..compressed.len() / 2].to_vec();
        assert!(matches!(read(Some("gzip"), truncated, 1 << 20).await.0, Err(BodyError::Encoding(_))));
    }

    #[tokio::test]
    async fn reads_no_more_than_the_limit_compressed_or_not() {
        let bomb = gzip(&vec![0; 64 << 20]);
        assert!(bomb.len() < 100_000, "it is small on the wire: {}", bomb.len());
        assert_eq!(read(Some("gzip"), bomb, 1 << 20).await.0, Err(BodyError::TooLong));
        assert_eq!(read(None, vec![b'x'; 11], 10).await.0, Err(BodyError::TooLong));
        assert_eq!(read(None, vec![b'x'; 10], 10).await.0.unwrap().len(), 10);
        // Empty gzip members decompress to nothing, however many there are.
        let empty = gzip(b"").repeat(1_000);
        assert_eq!(read(Some("gzip"), empty, 10_000).await.0, Err(BodyError::TooLong));
    }

    #[tokio::test]
    async fn an_encoding_that_was_not_asked_for_is_an_error() {
        for (encoding, body) in [("br", &b"x"[..]), ("gzip", b"{\"kind\":\"PodList\"}")] {
            let (whole, _) = read(Some(encoding), body.to_vec(), 1 << 20).await;
            assert!(matches!(&whole, Err(BodyError::Encoding(_))), "{encoding}: {whole:?}");
        }
    }
}
