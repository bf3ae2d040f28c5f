//! The credentials of a request, and what must never be shown of them.

use std::sync::{Arc, RwLock};

use http::HeaderValue;
use jiff::Timestamp;

use super::identity::Certificate;
use crate::scrub::without_known;

/// Values that must never be shown. Each token that is obtained is added.
#[derive(Clone, Default)]
pub(in crate::cluster) struct Hidden(Arc<RwLock<Vec<String>>>);

impl Hidden {
    pub(in crate::cluster) fn add(&self, secret: impl Into<String>) {
        let secret = secret.into();
        let mut known = self.0.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        if !secret.is_empty() && !known.contains(&secret) {
            known.push(secret);
        }
    }

    /// The text without the hidden values.
    pub(in crate::cluster) fn removed_from(&self, text: &str) -> String {
        without_known(text, self.all()).into_owned()
    }

    /// All hidden values so far.
    pub(in crate::cluster) fn all(&self) -> Vec<String> {
        self.0.read().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }
}

/// The credentials of a request.
#[derive(Clone, Debug)]
pub(in crate::cluster) struct Issued {
    /// `Authorization`, if the credentials are a token.
    pub(in crate::cluster) header: Option<HeaderValue>,
    /// Certificate and key in PEM, if the credentials are a client certificate of a plugin or one that stands in the kubeconfig itself.
    pub(in crate::cluster) certificate: Option<Arc<Certificate>>,
    /// The number of this issue, so that refused credentials are renewed only once.
    pub(super) generation: u64,
    /// The time from which new credentials are obtained.
    pub(super) renewed_from: Option<Timestamp>,
    /// The end of their validity, if it is known.
    pub(super) expires: Option<Timestamp>,
    /// The number of the set of connections that the request uses; 0 before it is chosen.
    pub(in crate::cluster) connections: u64,
}

impl Issued {
    /// Credentials that are valid until they are replaced.
    pub(super) fn lasting(header: Option<HeaderValue>) -> Self {
        Self { header, certificate: None, generation: 0, renewed_from: None, expires: None, connections: 0 }
    }

    /// Whether they are not the same token or certificate.
    pub(super) fn differs_from(&self, other: &Self) -> bool {
        self.header != other.header || self.certificate != other.certificate
    }

    pub(super) fn is_due(&self) -> bool {
        self.renewed_from.is_some_and(|at| at <= Timestamp::now())
    }

    pub(super) fn is_good(&self) -> bool {
        self.expires.is_none_or(|at| at > Timestamp::now())
    }
}

#[cfg(test)]
impl Issued {
    /// No credentials: a request is sent without any.
    pub(in crate::cluster) fn nothing() -> Self {
        Self::lasting(None)
    }
}

/// The value of `Authorization`: `scheme value`. Fails where a header cannot carry it.
pub(super) fn header(scheme: &str, value: &str) -> Result<HeaderValue, String> {
    let mut header = HeaderValue::try_from(format!("{scheme} {value}"))
        .map_err(|_invalid| "the token has characters that a header cannot carry".to_owned())?;
    header.set_sensitive(true);
    Ok(header)
}

/// The value of `Authorization` for a token.
pub(super) fn bearer(token: &str) -> Result<HeaderValue, String> {
    header("Bearer", token.trim())
}
