//! The HTTP client, with kube's authentication and TLS, over connections that notice when the other end is gone.
//!
//! A watch may be silent for a long time, and a VPN that went away closes nothing: without keep-alive a view would be
//! called live for as long as the kernel keeps hoping.

use std::time::Duration;

use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use kube::client::{Body, ClientBuilder, ConfigExt};
use tower::{BoxError, ServiceExt};

/// After so long without a word the other end is asked whether it is there,
const KEEPALIVE_AFTER: Duration = Duration::from_secs(10);
/// again after this,
const KEEPALIVE_EVERY: Duration = Duration::from_secs(5);
/// and so many times.
const KEEPALIVE_TRIES: u32 = 3;

/// A client for `config`.
///
/// # Errors
/// When credentials cannot be had, or TLS cannot be set up.
pub(super) fn client(config: kube::Config) -> Result<kube::Client, kube::Error> {
    if config.proxy_url.is_some() {
        return kube::Client::try_from(config);
    }
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(config.connect_timeout);
    tcp.set_keepalive(Some(KEEPALIVE_AFTER));
    tcp.set_keepalive_interval(Some(KEEPALIVE_EVERY));
    tcp.set_keepalive_retries(Some(KEEPALIVE_TRIES));
    #[cfg(any(target_os = "android", target_os = "linux"))]
    tcp.set_tcp_user_timeout(Some(KEEPALIVE_AFTER + KEEPALIVE_EVERY * KEEPALIVE_TRIES));
    let tls = config.rustls_https_connector_with_connector(tcp)?;
    let http: legacy::Client<_, Body> = legacy::Client::builder(TokioExecutor::new()).build(tls);
    let http = http.map_err(BoxError::from);
    let builder = ClientBuilder::new(http, config.default_namespace.clone()).with_layer(&config.extra_headers_layer()?);
    Ok(match config.auth_layer()? {
        Some(auth) => builder.with_layer(&auth).with_layer(&config.base_uri_layer()).build(),
        None => builder.with_layer(&config.base_uri_layer()).build(),
    })
}
