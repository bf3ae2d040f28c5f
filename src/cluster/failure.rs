//! The causes of failed requests, sorted by consequence: whether the request was sent, whether it was refused, whether it
//! may have been carried out.

mod proxy;

use std::error::Error;
use std::time::Duration;

use hyper_util::client::legacy;

pub use proxy::{ProxyFailure, ProxyTrouble};

use super::clip::{MESSAGE, clip};
use crate::engine::model::effect::EffectErrorKind;

/// The cause of a failed request. Messages of servers, proxies and libraries are shown in at most [`MESSAGE`] bytes.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The API server answered with a status of 400 or above.
    #[error("{}", clip(message, MESSAGE))]
    Refused {
        /// The HTTP status.
        code: u16,
        /// `Status.reason`; empty if there is none.
        reason: String,
        /// `Status.message`, or the HTTP status in words.
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
    /// The proxy did not make the connection: nothing was sent.
    #[error("cannot connect: {}; {}", clip(&.0.to_string(), MESSAGE), .0.remedy())]
    Proxy(ProxyFailure),
    /// The credentials could not be obtained: nothing was sent.
    #[error("credentials: {}", clip(.0, MESSAGE))]
    Credentials(String),
    /// The request was not ready in time: nothing was sent.
    #[error("not sent, it is too late")]
    TooLate,
    /// No answer came in time.
    #[error("no answer within {} s", .0.as_secs())]
    Timeout(Duration),
    /// The connection broke before the answer was complete.
    #[error("the connection broke: {}", clip(.0, MESSAGE))]
    Broken(String),
    /// The answer, or a line of it, is longer than the limit for reading.
    #[error("{what} is longer than {} MiB, and no more of it is read; is it the API server that answers?", .limit / (1024 * 1024))]
    TooLong {
        /// The part that is too long, with its path.
        what: String,
        /// The limit in bytes.
        limit: usize,
    },
    /// A dry run shows that admission would change more than was asked for: the write was not sent.
    #[error(
        "admission would change its template with it ({}), and its controller would roll that out by itself; roll it out \
         first, or change the policy", clip(.0, MESSAGE)
    )]
    MutatedByAdmission(String),
    /// A dry run shows that admission would take the DaemonSet off `OnDelete` with this write.
    #[error(
        "a mutating webhook or policy would set another update strategy with it, and its controller would replace pods by itself; \
         change the policy"
    )]
    HandedBackByAdmission,
    /// The request or the answer is malformed.
    #[error("{}", clip(.0, MESSAGE))]
    Malformed(String),
}

impl Failure {
    pub(super) fn from_kube(error: &kube::Error) -> Self {
        if let kube::Error::Auth(error) = error {
            return Self::Credentials(root_cause(error));
        }
        if let Some(failure) = proxy_cause(error) {
            return Self::Proxy(failure.clone());
        }
        if let Some(why) = refused_certificate(error) {
            return Self::Credentials(format!("the server does not accept the client certificate: {why}"));
        }
        // The connection ended before the request was written to it.
        let unsent = |cause: &(dyn Error + 'static)| {
            cause.downcast_ref::<hyper::Error>().is_some_and(|error| error.is_canceled() || error.is_closed())
        };
        let connecting = chain(error).any(unsent)
            || chain(error).any(|cause| cause.downcast_ref::<legacy::Error>().is_some_and(legacy::Error::is_connect));
        match (connecting, tls_cause(error)) {
            (true, Some(tls)) => Self::Tls(tls),
            (true, None) => Self::Connect(root_cause(error)),
            (false, _) => Self::broken(error),
        }
    }

    pub(super) fn broken(error: &(dyn Error + 'static)) -> Self {
        let why = root_cause(error);
        // The library's message contains a link to its manual, so it is replaced.
        let unsaid = why.contains("close_notify");
        Self::Broken(if unsaid { "the other end closed it without saying so".to_owned() } else { why })
    }

    /// Whether the connection was closed or reset. Only the other end or a device on the path can do that, so the connection
    /// worked until then. A connection without answers also breaks, through the keepalive of HTTP/2 or of the kernel; both
    /// report "timed out".
    pub(crate) fn is_broken_from_afar(&self) -> bool {
        matches!(self, Self::Broken(why) if !why.contains("timed out"))
    }

    /// Whether no answer came: none within the time limit, or no sign of life on the connection.
    pub(crate) fn is_silence(&self) -> bool {
        matches!(self, Self::Timeout(_)) || matches!(self, Self::Broken(why) if why.contains("timed out"))
    }

    /// The same with every text that came from outside passed through `change`.
    pub(crate) fn map_texts(self, change: impl Fn(String) -> String) -> Self {
        match self {
            Self::Refused { code, reason, message, retry_after } => {
                Self::Refused { code, reason: change(reason), message: change(message), retry_after }
            }
            Self::Connect(why) => Self::Connect(change(why)),
            Self::Tls(why) => Self::Tls(change(why)),
            Self::Proxy(failure) => Self::Proxy(failure.map_texts(change)),
            Self::Credentials(why) => Self::Credentials(change(why)),
            Self::Broken(why) => Self::Broken(change(why)),
            Self::MutatedByAdmission(why) => Self::MutatedByAdmission(change(why)),
            Self::Malformed(why) => Self::Malformed(change(why)),
            same @ (Self::HandedBackByAdmission | Self::TooLate | Self::Timeout(_) | Self::TooLong { .. }) => same,
        }
    }

    pub(crate) fn code(&self) -> Option<u16> {
        match self {
            Self::Refused { code, .. } => Some(*code),
            _ => None,
        }
    }

    /// Whether the server did not accept the credentials, or there are none: nothing was done.
    pub(crate) fn is_unauthenticated(&self) -> bool {
        self.code() == Some(401) || matches!(self, Self::Credentials(_))
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

    /// The consequence of this failure for a write.
    pub(crate) fn kind(&self) -> EffectErrorKind {
        match self {
            Self::Refused { code, retry_after, .. } => match (code, retry_after) {
                (409, _) => EffectErrorKind::Conflict,
                (404, _) => EffectErrorKind::NotFound,
                (401, _) => EffectErrorKind::Unauthorized,
                (403, _) => EffectErrorKind::Forbidden,
                (429, asked) => throttled(asked.unwrap_or(Duration::from_secs(1))),
                (503, Some(asked)) => throttled(*asked),
                (400..500, _) => EffectErrorKind::Invalid,
                _ => EffectErrorKind::Unknown,
            },
            Self::MutatedByAdmission(_) | Self::HandedBackByAdmission => EffectErrorKind::Invalid,
            Self::TooLate => EffectErrorKind::TooLate,
            Self::Connect(_) | Self::Tls(_) | Self::Proxy(_) | Self::Credentials(_) => EffectErrorKind::NotSent,
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
    chain(error).find_map(|cause| cause.downcast_ref::<rustls::Error>()).map(|error| tls_in_words(&error.to_string()))
}

/// What TLS says, with the way out where the server's certificate is of a kind that kubectl accepts and the TLS library cannot check.
fn tls_in_words(said: &str) -> String {
    let unreadable = [
        (
            "CaUsedAsEndEntity",
            "the server's certificate is marked as that of a certificate authority (CA:TRUE), as `openssl req -x509` makes it by default, and the \
             kubeconfig's certificate-authority is another one; name that certificate there, or make one that is not marked so \
             (`-addext basicConstraints=critical,CA:FALSE`)",
        ),
        (
            "UnsupportedCertVersion",
            "the server's certificate, or one between it and its authority, is of X.509 version 1, as `openssl x509 -req` may make it; rolldeck \
             needs version 3 (`-extfile` with a subjectAltName)",
        ),
    ];
    unreadable
        .iter()
        .find(|(code, _)| said.contains(code))
        .map_or_else(|| said.to_owned(), |(_, words)| (*words).to_owned())
}

/// The TLS alert with which the server refused the client certificate. A server reads no request before the handshake is
/// complete. Nothing was done, even if the request had been written already, as TLS 1.3 permits.
///
/// Over HTTP/2 only the text of the error is left, not its type.
fn refused_certificate(error: &(dyn Error + 'static)) -> Option<&'static str> {
    use rustls::AlertDescription as Alert;
    const OF_CERTIFICATES: [(Alert, &str); 7] = [
        (Alert::BadCertificate, "it is not valid"),
        (Alert::UnsupportedCertificate, "its kind is not supported"),
        (Alert::CertificateRevoked, "it was revoked"),
        (Alert::CertificateExpired, "it has expired"),
        (Alert::CertificateUnknown, "it is not known"),
        (Alert::CertificateRequired, "there is none"),
        (Alert::UnknownCA, "its issuer is not known"),
    ];
    let said = root_cause(error);
    let is = |alert: Alert| said == rustls::Error::AlertReceived(alert).to_string();
    OF_CERTIFICATES.into_iter().find(|(alert, _)| is(*alert)).map(|(_, why)| why)
}

/// The failure of a proxy among the causes of `error`, if there is one.
pub(crate) fn proxy_cause<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a ProxyFailure> {
    chain(error).find_map(|cause| cause.downcast_ref::<ProxyFailure>())
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
        use EffectErrorKind::{Conflict, Forbidden, Invalid, NotFound, NotSent, Throttled, Unauthorized, Unknown};
        for (failure, kind) in [
            (refused(409, None), Conflict),
            (refused(404, None), NotFound),
            (refused(401, None), Unauthorized),
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
    fn an_alert_about_the_client_certificate_is_known_with_and_without_its_type() {
        let alert = || rustls::Error::AlertReceived(rustls::AlertDescription::CertificateExpired);
        let typed = std::io::Error::other(alert());
        let untyped = std::io::Error::other(alert().to_string());
        assert_eq!([refused_certificate(&typed), refused_certificate(&untyped)], [Some("it has expired"); 2]);
        let other = rustls::Error::AlertReceived(rustls::AlertDescription::InternalError);
        assert_eq!(refused_certificate(&std::io::Error::other(other)), None);
    }

    #[test]
    fn finds_the_words_behind_wrappers() {
        let tls = rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer);
        let wrapped = std::io::Error::other(tls);
        assert!(tls_cause(&wrapped).is_some_and(|words| words.contains("UnknownIssuer")));
        assert!(root_cause(&wrapped).contains("UnknownIssuer"));
        // Measured with a server whose certificate `openssl req -x509` had made.
        let said = tls_in_words("invalid peer certificate: Other(OtherError(CaUsedAsEndEntity))");
        assert!(said.starts_with("the server's certificate is marked as that of a certificate authority"), "{said}");
        let plain = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
        assert_eq!(tls_cause(&plain), None);
        assert_eq!(root_cause(&plain), "connection refused");
    }
}
