//! Connections that lead through a proxy, with errors that name the proxy.
//!
//! ```text
//!   tcp ─▶ TLS to the proxy (https only) ─▶ CONNECT ─▶ TLS to the API server
//!          └ this machine's roots, and the cluster's    └ the cluster's roots
//! ```
//!
//! Go, and therefore kubectl, has one TLS configuration for both. It checks a proxy by the cluster's `certificate-authority`
//! if there is one, and otherwise by the roots of the machine. It applies `insecure-skip-tls-verify` to the proxy, and
//! offers the client certificate to the proxy.
//! Here both sets of roots count for a proxy, so every proxy whose certificate kubectl verifies is accepted, and also one
//! with a public certificate. The certificate is checked even with `insecure-skip-tls-verify`, because the proxy receives a
//! password. The proxy is offered no client certificate.
//! (Go: `persistConn.addTLS` in `net/http/transport.go`; <https://github.com/kubernetes/kubectl/issues/1558>.)

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::proxy::matcher::Intercept;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::CertificateDer;
use rustls_platform_verifier::Verifier;
use tower::{BoxError, Service};

use super::proxy::Proxy;
use crate::cluster::failure::{ProxyFailure, ProxyTrouble};

/// How long a connection through a proxy may take in total. It is shorter than the limit for the first answer (10 s), so
/// that the error names the proxy.
const THROUGH_WITHIN: Duration = Duration::from_secs(9);

/// `CONNECT`, with the proxy's user and password.
pub(super) fn tunnel<C>(intercept: &Intercept, connector: C) -> Tunnel<C> {
    let tunnel = Tunnel::new(intercept.uri().clone(), connector);
    match intercept.basic_auth() {
        Some(auth) => tunnel.with_auth(auth.clone()),
        None => tunnel,
    }
}

/// TLS to the proxy. Its certificate is checked against the roots of this machine and `cluster_roots`, whatever the
/// kubeconfig says about the API server's certificate. No client certificate is offered, and only HTTP/1.1 is spoken.
///
/// # Errors
/// When neither this machine nor the cluster has roots that can be read.
pub(super) fn tls_to_proxy(
    proxy: &Proxy,
    cluster_roots: Option<&[Vec<u8>]>,
    tcp: HttpConnector,
) -> Result<HttpsConnector<HttpConnector>, ProxyFailure> {
    let roots = cluster_roots.unwrap_or_default().iter().cloned().map(CertificateDer::from);
    let provider = CryptoProvider::get_default().cloned();
    let provider = provider.unwrap_or_else(|| Arc::new(rustls::crypto::ring::default_provider()));
    let config = Verifier::new_with_extra_roots(roots, provider.clone()).and_then(|verifier| {
        let config = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
        Ok(config.dangerous().with_custom_certificate_verifier(Arc::new(verifier)).with_no_client_auth())
    });
    let config = config.map_err(|error| of(proxy, ProxyTrouble::Tls(error.to_string())))?;
    Ok(HttpsConnectorBuilder::new().with_tls_config(config).https_or_http().enable_http1().wrap_connector(tcp))
}

/// Connections that `connector` makes through a proxy: each of its errors is a [`ProxyFailure`].
#[derive(Clone)]
pub(super) struct Through<C> {
    connector: C,
    proxy: Arc<Proxy>,
}

impl<C> Through<C> {
    pub(super) fn new(connector: C, proxy: &Proxy) -> Self {
        Self { connector, proxy: Arc::new(proxy.clone()) }
    }
}

impl<C> Service<Uri> for Through<C>
where
    C: Service<Uri>,
    C::Response: 'static,
    C::Future: Send + 'static,
    C::Error: Into<BoxError>,
{
    type Response = C::Response;
    type Error = ProxyFailure;
    type Future = Pin<Box<dyn Future<Output = Result<C::Response, ProxyFailure>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), ProxyFailure>> {
        self.connector.poll_ready(context).map_err(|error| failure(&self.proxy, error))
    }

    fn call(&mut self, server: Uri) -> Self::Future {
        let (connecting, proxy) = (self.connector.call(server), self.proxy.clone());
        Box::pin(async move {
            let connected = tokio::time::timeout(THROUGH_WITHIN, connecting).await.map_err(|_late| {
                let why = format!("no connection within {} s", THROUGH_WITHIN.as_secs());
                of(&proxy, ProxyTrouble::Unreachable(why))
            })?;
            connected.map_err(|error| failure(&proxy, error))
        })
    }
}

fn failure(proxy: &Proxy, error: impl Into<BoxError>) -> ProxyFailure {
    let error: BoxError = error.into();
    of(proxy, ProxyTrouble::of(&*error))
}

fn of(proxy: &Proxy, trouble: ProxyTrouble) -> ProxyFailure {
    ProxyFailure { proxy: proxy.shown(), setting: proxy.setting, trouble }
}
