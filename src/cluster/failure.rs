//! Why a request failed, sorted by what that means: was it sent, was it refused, may it have been done.

use std::error::Error;
use std::time::Duration;

use hyper_util::client::legacy;

use super::clip::{MESSAGE, clip};
use crate::engine::model::effect::EffectErrorKind;

/// Why a request failed. What servers, proxies and libraries say of it is shown in at most [`MESSAGE`] bytes.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The API server answered, with a status of 400 and above.
    #[error("{}", clip(message, MESSAGE))]
    Refused {
        /// The HTTP status.
        code: u16,
        /// `Status.reason`, empty when there is none.
        reason: String,
        /// `Status.message`, or the status in words.
        message: String,
        /// How long the server asked to wait.
        retry_after: Option<Duration>,
    },
    /// There is no connection: nothing was sent.
    #[error("cannot connect: {}", clip(.0, MESSAGE))]
    Connect(String),
    /// There is no connection because of TLS: nothing was sent.
    #[error("cannot connect: TLS: {}", clip(.0, MESSAGE))]
    Tls(String),
    /// The credentials could not be had: nothing was sent.
    #[error("credentials: {}", clip(.0, MESSAGE))]
    Credentials(String),
    /// It could not be sent before it was too late: nothing was sent.
    #[error("not sent, it is too late")]
    TooLate,
    /// No answer came in time.
    #[error("no answer within {} s", .0.as_secs())]
    Timeout(Duration),
    /// The connection broke before the answer was complete.
    #[error("the connection broke: {}", clip(.0, MESSAGE))]
    Broken(String),
    /// The answer, or a line of it, is longer than what is read of it.
    #[error("{what} is longer than {} MiB, and no more of it is read; is it the API server that answers?", .limit / (1024 * 1024))]
    TooLong {
        /// What is too long, with its path.
        what: String,
        /// In bytes.
        limit: usize,
    },
    /// A dry run shows that admission would change more than was asked for: the write was not sent.
    #[error(
        "admission would change its template with it ({}), and its controller would roll that out by itself; roll it out \
         first, or change the policy", clip(.0, MESSAGE)
    )]
    MutatedByAdmission(String),
    /// The request or the answer is malformed.
    #[error("{}", clip(.0, MESSAGE))]
    Malformed(String),
}

impl Failure {
    pub(super) fn from_kube(error: &kube::Error) -> Self {
        if let kube::Error::Auth(error) = error {
            return Self::Credentials(root_cause(error));
        }
        let connecting =
            chain(error).any(|cause| cause.downcast_ref::<legacy::Error>().is_some_and(legacy::Error::is_connect));
        match (connecting, tls_cause(error)) {
            (true, Some(tls)) => Self::Tls(tls),
            (true, None) => Self::Connect(root_cause(error)),
            (false, _) => Self::broken(error),
        }
    }

    pub(super) fn broken(error: &(dyn Error + 'static)) -> Self {
        Self::Broken(root_cause(error))
    }

    /// The same with every text that came from outside passed through `change`.
    pub(crate) fn map_texts(self, change: impl Fn(String) -> String) -> Self {
        match self {
            Self::Refused { code, reason, message, retry_after } => {
                Self::Refused { code, reason: change(reason), message: change(message), retry_after }
            }
            Self::Connect(why) => Self::Connect(change(why)),
            Self::Tls(why) => Self::Tls(change(why)),
            Self::Credentials(why) => Self::Credentials(change(why)),
            Self::Broken(why) => Self::Broken(change(why)),
            Self::MutatedByAdmission(why) => Self::MutatedByAdmission(change(why)),
            Self::Malformed(why) => Self::Malformed(change(why)),
            same @ (Self::TooLate | Self::Timeout(_) | Self::TooLong { .. }) => same,
        }
    }

    pub(crate) fn code(&self) -> Option<u16> {
        match self {
            Self::Refused { code, .. } => Some(*code),
            _ => None,
        }
    }

    pub(crate) fn is_forbidden(&self) -> bool {
        self.code() == Some(403)
    }

    /// 410, or `Expired`: the resource version or the continue token is too old.
    pub(crate) fn is_expired(&self) -> bool {
        matches!(self, Self::Refused { code, reason, .. } if *code == 410 || reason == "Expired")
    }

    pub(crate) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Refused { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// What this means for a write.
    pub(crate) fn kind(&self) -> EffectErrorKind {
        match self {
            Self::Refused { code, retry_after, .. } => match (code, retry_after) {
                (409, _) => EffectErrorKind::Conflict,
                (404, _) => EffectErrorKind::NotFound,
                (401 | 403, _) => EffectErrorKind::Forbidden,
                (429, asked) => throttled(asked.unwrap_or(Duration::from_secs(1))),
                (503, Some(asked)) => throttled(*asked),
                (400..500, _) => EffectErrorKind::Invalid,
                _ => EffectErrorKind::Unknown,
            },
            Self::MutatedByAdmission(_) => EffectErrorKind::Invalid,
            Self::TooLate => EffectErrorKind::TooLate,
            Self::Connect(_) | Self::Tls(_) | Self::Credentials(_) => EffectErrorKind::NotSent,
            Self::Timeout(_) | Self::Broken(_) | Self::TooLong { .. } | Self::Malformed(_) => EffectErrorKind::Unknown,
        }
    }
}

fn throttled(asked: Duration) -> EffectErrorKind {
    EffectErrorKind::Throttled { retry_after_millis: u64::try_from(asked.as_millis()).unwrap_or(u64::MAX) }
}

fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error: &&'a (dyn Error + 'static)| cause(*error))
}

fn cause<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    // An `io::Error` that carries another error shows its text, but `source` skips it.
    match error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref) {
        Some(carried) => Some(carried),
        None => error.source(),
    }
}

/// The message of the innermost cause of `error`.
pub(crate) fn root_cause(error: &(dyn Error + 'static)) -> String {
    chain(error).last().map(ToString::to_string).unwrap_or_default()
}

/// The TLS error among the causes of `error`, if there is one.
pub(crate) fn tls_cause(error: &(dyn Error + 'static)) -> Option<String> {
    chain(error).find_map(|cause| cause.downcast_ref::<rustls::Error>()).map(ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(code: u16, retry_after: Option<u64>) -> Failure {
        Failure::Refused {
            code,
            reason: String::new(),
            message: String::new(),
            retry_after: retry_after.map(Duration::from_secs),
        }
    }

    #[test]
    fn what_may_have_been_done_is_never_called_undone() {
        use EffectErrorKind::{Conflict, Forbidden, Invalid, NotFound, NotSent, Throttled, Unknown};
        for (failure, kind) in [
            (refused(409, None), Conflict),
            (refused(404, None), NotFound),
            (refused(401, None), Forbidden),
            (refused(403, None), Forbidden),
            (refused(400, None), Invalid),
            (refused(422, None), Invalid),
            (refused(429, Some(2)), Throttled { retry_after_millis: 2_000 }),
            (refused(429, None), Throttled { retry_after_millis: 1_000 }),
            (refused(503, Some(1)), Throttled { retry_after_millis: 1_000 }),
            (refused(503, None), Unknown),
            (refused(500, None), Unknown),
            (refused(504, Some(1)), Unknown),
            (Failure::Connect("refused".into()), NotSent),
            (Failure::Tls("unknown issuer".into()), NotSent),
            (Failure::Credentials("expired".into()), NotSent),
            (Failure::Timeout(Duration::from_secs(4)), Unknown),
            (Failure::Broken("reset".into()), Unknown),
            (Failure::TooLong { what: "the answer".into(), limit: 1 << 24 }, Unknown),
            (Failure::Malformed("html".into()), Unknown),
        ] {
            assert_eq!(failure.kind(), kind, "{failure:?}");
        }
    }

    #[test]
    fn finds_the_words_behind_wrappers() {
        let tls = rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer);
        let wrapped = std::io::Error::other(tls);
        assert!(tls_cause(&wrapped).is_some_and(|words| words.contains("UnknownIssuer")));
        assert!(root_cause(&wrapped).contains("UnknownIssuer"));
        let plain = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
        assert_eq!(tls_cause(&plain), None);
        assert_eq!(root_cause(&plain), "connection refused");
    }
}
