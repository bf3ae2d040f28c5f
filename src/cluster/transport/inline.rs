//! Credentials that stand in the kubeconfig itself: a token, or a client certificate with its key. A login writes new ones there, which are read after the API
//! server did not accept the ones from before.

use std::sync::Arc;

use tokio::sync::Mutex;

use super::identity::{Certificate, pem_of};
use super::issued::{Hidden, Issued, bearer};

/// The credentials as the kubeconfig has them.
pub(in crate::cluster) enum InlineText {
    /// `token`.
    Token(String),
    /// `client-certificate-data` and `client-key-data`: PEM, in base64.
    Certificate { certificate: String, key: String },
}

impl InlineText {
    /// The credentials for requests. What must not be shown of them is added to `hidden`.
    ///
    /// # Errors
    /// Why they cannot be used.
    fn issued(&self, hidden: &Hidden) -> Result<Issued, String> {
        match self {
            Self::Token(token) => {
                hidden.add(token.trim());
                Ok(Issued::lasting(Some(bearer(token)?)))
            }
            Self::Certificate { certificate, key } => {
                hidden.add(key.as_str());
                let pem = |name: &str, data: &str| pem_of(data).map_err(|why| format!("{name} {why}"));
                let certificate = pem("client-certificate-data", certificate)?;
                let pair = Certificate { certificate, key: pem("client-key-data", key)? };
                pair.check()?;
                Ok(Issued { certificate: Some(Arc::new(pair)), ..Issued::lasting(None) })
            }
        }
    }
}

/// Reads the credentials again that stand in the kubeconfig; `None` if there are none. Fails with the reason why those found there are not for this cluster.
pub(in crate::cluster) type ReadInline = Box<dyn Fn() -> Result<Option<InlineText>, String> + Send + Sync>;

/// Credentials that stand in the kubeconfig itself.
pub(in crate::cluster) struct InlineCredentials {
    present: Mutex<Issued>,
    read: ReadInline,
    hidden: Hidden,
}

impl InlineCredentials {
    /// The credentials `text`, which `read` reads again.
    ///
    /// # Errors
    /// Why they cannot be used.
    pub(super) fn new(text: &InlineText, read: ReadInline, hidden: &Hidden) -> Result<Self, String> {
        Ok(Self { present: Mutex::new(text.issued(hidden)?), read, hidden: hidden.clone() })
    }

    /// The credentials that were read last.
    pub(super) async fn issued(&self) -> Issued {
        self.present.lock().await.clone()
    }

    /// Other credentials than the refused ones, if there are others by now.
    ///
    /// # Errors
    /// Why those that are there cannot be used.
    pub(super) async fn anew(&self, refused: &Issued) -> Result<Issued, String> {
        let mut present = self.present.lock().await;
        // Another request may have read them meanwhile.
        if !present.differs_from(refused)
            && let Some(text) = (self.read)()?
        {
            let unusable = |why: String| format!("what the kubeconfig has by now cannot be used: {why}");
            *present = text.issued(&self.hidden).map_err(unusable)?;
        }
        Ok(present.clone())
    }
}
