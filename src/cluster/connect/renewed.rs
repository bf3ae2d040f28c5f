//! Reads the credentials again that stand in the kubeconfig itself, after the API server did not accept the ones from before: `oc login`, `tsh kube login` and
//! others write a new token or client certificate there.
//!
//! The credentials of another cluster are never sent to this one: context, user, server, certificate authority and proxy must be what they were.

use std::path::{Path, PathBuf};

use kube::config::Kubeconfig;

use super::kubeconfig::{cluster_of, merged, user_of};
use crate::cluster::transport::InlineText;

/// What must be as it was for renewed credentials to be used.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Pinned {
    given: Option<PathBuf>,
    context: String,
    user: Option<String>,
    cluster: Option<PinnedCluster>,
}

/// The part of a cluster's entry that decides which server gets the credentials.
#[derive(Clone, PartialEq, Eq)]
struct PinnedCluster {
    server: Option<String>,
    insecure: Option<bool>,
    authority: Option<String>,
    /// The content of the file that `authority` names.
    authority_file: Option<Vec<u8>>,
    authority_data: Option<String>,
    server_name: Option<String>,
    proxy: Option<String>,
}

impl PinnedCluster {
    fn of(kubeconfig: &Kubeconfig, context: &str) -> Option<Self> {
        let cluster = cluster_of(kubeconfig, context)?;
        Some(Self {
            server: cluster.server.clone(),
            insecure: cluster.insecure_skip_tls_verify,
            authority: cluster.certificate_authority.clone(),
            authority_file: cluster.certificate_authority.as_ref().and_then(|path| std::fs::read(path).ok()),
            authority_data: cluster.certificate_authority_data.clone(),
            server_name: cluster.tls_server_name.clone(),
            proxy: cluster.proxy_url.clone(),
        })
    }
}

impl Pinned {
    pub(super) fn of(kubeconfig: &Kubeconfig, given: Option<&Path>, context: &str) -> Self {
        Self {
            given: given.map(Path::to_owned),
            context: context.to_owned(),
            user: user_of(kubeconfig, context),
            cluster: PinnedCluster::of(kubeconfig, context),
        }
    }

    /// The token or client certificate that the kubeconfig has by now; `None` if it has neither or cannot be read now.
    ///
    /// # Errors
    /// When the context leads elsewhere by now, so that what is found there is not for this cluster. The text says how.
    pub(super) fn credentials(&self) -> Result<Option<InlineText>, String> {
        let Ok(Some(kubeconfig)) = merged(self.given.as_deref()) else { return Ok(None) };
        let Self { context, user, .. } = self;
        let present = Self::of(&kubeconfig, self.given.as_deref(), context);
        if !kubeconfig.contexts.iter().any(|named| named.name == *context) {
            return Err(format!(
                "the kubeconfig has no context `{context}` any more, so no other credentials are used"
            ));
        }
        if present.cluster != self.cluster {
            let server = |pinned: &Self| pinned.cluster.as_ref().and_then(|cluster| cluster.server.clone());
            let what = if server(&present) == server(self) { "certificate authority or proxy" } else { "server" };
            return Err(format!(
                "context `{context}` of the kubeconfig has another {what} by now, so its credentials are not used here: start rolldeck again to go there"
            ));
        }
        if present.user != *user {
            return Err(format!(
                "context `{context}` of the kubeconfig has another user by now, whose credentials are not used here: start rolldeck again to act as that user"
            ));
        }
        let auth = kubeconfig.auth_infos.iter().find(|known| Some(&known.name) == user.as_ref());
        // Secrets are `secrecy::SecretString`s; without that crate only serialization gives their values.
        let fields = auth.and_then(|known| serde_json::to_value(known.auth_info.as_ref()?).ok()).unwrap_or_default();
        let text = |name: &str| fields[name].as_str().filter(|text| !text.trim().is_empty()).map(str::to_owned);
        let pair = || Some((text("client-certificate-data")?, text("client-key-data")?));
        let token = text("token").map(InlineText::Token);
        Ok(token.or_else(|| pair().map(|(certificate, key)| InlineText::Certificate { certificate, key })))
    }
}
