//! Compresses lists as kube-apiserver does: a list of more than 128 KiB, with gzip at its fastest level, if the client accepts gzip.
//! Watches are never compressed, not even those that stream a list.

use std::io::{self, Write};

use axum::body::{Body, Bytes};
use axum::response::Response;
use flate2::Compression;
use flate2::write::GzEncoder;
use futures::{StreamExt, stream};
use http::{HeaderMap, HeaderValue, header};

/// The largest list in bytes that is sent uncompressed (`defaultGzipThresholdBytes`).
const THRESHOLD: usize = 128 * 1024;
/// The gzip level that Kubernetes uses since 1.26; before, it was 4.
const LEVEL: u32 = 1;

/// Whether a client accepts gzip.
pub(super) fn is_accepted(headers: &HeaderMap) -> bool {
    let all = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    let mut encodings =
        all.flat_map(|value| value.split(',')).map(|encoding| encoding.split(';').next().unwrap_or_default());
    encodings.any(|encoding| encoding.trim() == "gzip")
}

/// Compresses the answer of a list if it is longer than [`THRESHOLD`].
pub(super) async fn compressed(response: Response) -> Response {
    let (mut head, body) = response.into_parts();
    let mut pieces = body.into_data_stream();
    let mut first = Vec::new();
    while first.len() <= THRESHOLD {
        match pieces.next().await {
            Some(Ok(piece)) => first.extend_from_slice(&piece),
            Some(Err(error)) => {
                let broken = stream::iter([Err::<Bytes, _>(error)]);
                return Response::from_parts(head, Body::from_stream(broken));
            }
            None => return Response::from_parts(head, Body::from(first)),
        }
    }
    head.headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    head.headers.append(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    let encoder = GzEncoder::new(Vec::new(), Compression::new(LEVEL));
    let rest = pieces.map(|piece| piece.map_err(io::Error::other));
    let pieces = stream::iter([Ok(Bytes::from(first))]).chain(rest);
    let body = stream::try_unfold((pieces.boxed(), Some(encoder)), |(mut pieces, encoder)| async move {
        let Some(mut encoder) = encoder else { return Ok::<_, io::Error>(None) };
        Ok(match pieces.next().await.transpose()? {
            Some(piece) => {
                encoder.write_all(&piece)?;
                Some((Bytes::from(std::mem::take(encoder.get_mut())), (pieces, Some(encoder))))
            }
            None => Some((Bytes::from(encoder.finish()?), (pieces, None))),
        })
    });
    // An empty piece would end a chunked body.
    let body = body.filter(|piece| std::future::ready(!piece.as_ref().is_ok_and(Bytes::is_empty)));
    Response::from_parts(head, Body::from_stream(body))
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::io::Read;

    use super::*;

    async fn read(pieces: &[usize]) -> (bool, usize, Vec<u8>) {
        let pieces: Vec<_> = pieces.iter().map(|bytes| Ok::<_, Infallible>(Bytes::from(vec![b'x'; *bytes]))).collect();
        let response = compressed(Response::new(Body::from_stream(stream::iter(pieces)))).await;
        let gzip = response.headers().get(header::CONTENT_ENCODING).is_some_and(|encoding| encoding == "gzip");
        let body = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
        let mut whole = Vec::new();
        if gzip {
            flate2::read::GzDecoder::new(&*body).read_to_end(&mut whole).unwrap();
        } else {
            whole = body.to_vec();
        }
        (gzip, body.len(), whole)
    }

    #[tokio::test]
    async fn only_what_is_longer_than_the_threshold_is_compressed() {
        assert_eq!(read(&[THRESHOLD]).await, (false, THRESHOLD, vec![b'x'; THRESHOLD]));
        assert_eq!(read(&[]).await, (false, 0, Vec::new()));
        for pieces in [&[THRESHOLD + 1][..], &[1, THRESHOLD], &[THRESHOLD, THRESHOLD, 7]] {
            let (gzip, wire, whole) = read(pieces).await;
            assert!(gzip && wire < 10_000, "{pieces:?}: {wire}");
            assert_eq!(whole.len(), pieces.iter().sum::<usize>());
        }
    }

    #[test]
    fn a_client_accepts_gzip_by_name() {
        let accepts = |value: &'static str| {
            is_accepted(&HeaderMap::from_iter([(header::ACCEPT_ENCODING, HeaderValue::from_static(value))]))
        };
        assert!(accepts("gzip") && accepts("deflate, gzip;q=0.5"));
        assert!(!accepts("identity") && !accepts("br, deflate") && !is_accepted(&HeaderMap::new()));
    }
}
