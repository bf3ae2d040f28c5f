//! Reads a token again that stands in the kubeconfig itself, after the API server did not accept the one from before: `oc login`, `tsh kube login` and others
//! write the new token there.
//!
//! The token of another cluster is never sent to this one: context, user, server, certificate authority and proxy must be what they were.

use std::path::{Path, PathBuf};

use kube::config::Kubeconfig;

use super::kubeconfig::{cluster_of, merged, user_of};

/// What must be as it was for a renewed token to be used.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Pinned {
    given: Option<PathBuf>,
    context: String,
    user: Option<String>,
    cluster: Option<PinnedCluster>,
}

/// The part of a cluster's entry that decides which server gets the token.
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

    /// The token that the kubeconfig has by now; `None` if it has none or cannot be read now.
    ///
    /// # Errors
    /// When the context leads elsewhere by now, so that a token found there is not for this cluster. The text says how.
    pub(super) fn token(&self) -> Result<Option<String>, String> {
        let Ok(Some(kubeconfig)) = merged(self.given.as_deref()) else { return Ok(None) };
        let Self { context, user, .. } = self;
        let present = Self::of(&kubeconfig, self.given.as_deref(), context);
        if !kubeconfig.contexts.iter().any(|named| named.name == *context) {
            return Err(format!("the kubeconfig has no context `{context}` any more, so no other token is used"));
        }
        if present.cluster != self.cluster {
            let server = |pinned: &Self| pinned.cluster.as_ref().and_then(|cluster| cluster.server.clone());
            let what = if server(&present) == server(self) { "certificate authority or proxy" } else { "server" };
            return Err(format!(
                "context `{context}` of the kubeconfig has another {what} by now, so its token is not used here: start rolldeck again to go there"
            ));
        }
        if present.user != *user {
            return Err(format!(
                "context `{context}` of the kubeconfig has another user by now, whose token is not used here: start rolldeck again to act as that user"
            ));
        }
        let auth = kubeconfig.auth_infos.iter().find(|known| Some(&known.name) == user.as_ref());
        // Secrets are `secrecy::SecretString`s; without that crate only serialization gives their values.
        let fields = auth.and_then(|known| serde_json::to_value(known.auth_info.as_ref()?).ok()).unwrap_or_default();
        Ok(fields["token"].as_str().map(str::to_owned).filter(|token| !token.trim().is_empty()))
    }
}
