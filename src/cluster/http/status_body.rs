//! The reason of the API server's refusal, from its `Status`: in the body of an answer, or in a line of a watch.

use std::time::Duration;

use serde::Deserialize;

use crate::cluster::failure::Failure;

/// The part of a `Status` that is read.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(in crate::cluster) struct StatusBody {
    message: String,
    reason: String,
    code: u16,
    details: Option<RefusalDetails>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct RefusalDetails {
    retry_after_seconds: Option<u64>,
}

impl StatusBody {
    /// Reads a `Status`, or the text that a proxy sent instead.
    pub(super) fn read(body: &[u8]) -> Self {
        serde_json::from_slice(body).unwrap_or_else(|_| {
            let text = String::from_utf8_lossy(body);
            let line = text.trim().lines().next().unwrap_or_default();
            Self { message: line.chars().take(200).collect(), ..Self::default() }
        })
    }

    /// `code` is the HTTP status, or 0 if there is none (in a watch).
    pub(in crate::cluster) fn into_failure(self, code: u16, asked: Option<u64>) -> Failure {
        let code = if code == 0 { self.code } else { code };
        let asked = asked.or(self.details.and_then(|details| details.retry_after_seconds));
        let message = match (self.message.is_empty(), http::StatusCode::from_u16(code)) {
            (false, _) => self.message,
            (true, Ok(status)) => status.to_string(),
            (true, Err(_)) => format!("status {code}"),
        };
        let message = match namespace_that_goes(&message) {
            Some(namespace) => format!("namespace {namespace} is being deleted: {message}"),
            None if message.contains("Too large resource version") => {
                format!("the cache of the API server that answers is behind the cluster's state: {message}")
            }
            None => message,
        };
        Failure::Refused { code, reason: self.reason, message, retry_after: asked.map(Duration::from_secs) }
    }
}

/// The namespace that is being deleted, so that nothing new is created in it. The API server says so only at the end of a
/// long sentence that begins with `forbidden`.
fn namespace_that_goes(message: &str) -> Option<&str> {
    let (before, _) = message.split_once(" because it is being terminated")?;
    before.rsplit_once("unable to create new content in namespace ").map(|(_, namespace)| namespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_that_is_being_deleted_is_named_first() {
        let said =
            "pods \"a\" is forbidden: unable to create new content in namespace edge because it is being terminated";
        assert_eq!(namespace_that_goes(said), Some("edge"));
        for other in ["pods \"a\" is forbidden: exceeded quota", "a pod was deleted because it is being terminated", ""]
        {
            assert_eq!(namespace_that_goes(other), None, "{other}");
        }
    }

    #[test]
    fn a_refusal_is_read_whoever_gave_it() {
        let status = br#"{"kind":"Status","message":"pods is forbidden","reason":"Forbidden","code":403}"#;
        let failure = StatusBody::read(status).into_failure(403, None);
        assert!(failure.is_forbidden());
        assert_eq!(failure.to_string(), "pods is forbidden");

        let proxy = StatusBody::read(b"<html>\nBad gateway").into_failure(502, None);
        assert_eq!(proxy.to_string(), "<html>");
        assert_eq!(StatusBody::read(b"").into_failure(503, None).to_string(), "503 Service Unavailable");

        let busy = br#"{"message":"too many requests","details":{"retryAfterSeconds":3},"code":429}"#;
        let failure = StatusBody::read(busy).into_failure(429, None);
        assert_eq!(failure.retry_after(), Some(Duration::from_secs(3)));
    }
}
