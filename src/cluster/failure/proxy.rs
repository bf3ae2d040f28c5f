//! Failures of connections through a proxy.

use super::{root_cause, tls_cause};

/// The failure of a connection through a proxy. Nothing was sent to the API server.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the proxy {proxy} ({setting}) {trouble}")]
pub struct ProxyFailure {
    /// Its address, without user and password.
    pub proxy: String,
    /// The setting that names the proxy: `proxy-url`, `HTTPS_PROXY` or `HTTP_PROXY`.
    pub setting: &'static str,
    /// The kind of failure.
    pub trouble: ProxyTrouble,
}

/// A kind of failure of a proxy.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ProxyTrouble {
    /// The proxy cannot be reached.
    #[error("cannot be reached: {0}")]
    Unreachable(String),
    /// TLS with the proxy fails, usually because of its certificate.
    #[error("fails at TLS: {0}")]
    Tls(String),
    /// The proxy answered 407: it requires user and password, or does not accept them.
    #[error("does not accept the user and password, or wants some (407 Proxy Authentication Required)")]
    Login,
    /// The proxy does not make the connection to the API server.
    #[error("does not connect to the API server: {0}")]
    NoTunnel(String),
}

impl ProxyFailure {
    /// The same with the texts that came from outside passed through `change`.
    pub(super) fn map_texts(self, change: impl Fn(String) -> String) -> Self {
        let trouble = match self.trouble {
            ProxyTrouble::Unreachable(why) => ProxyTrouble::Unreachable(change(why)),
            ProxyTrouble::Tls(why) => ProxyTrouble::Tls(change(why)),
            ProxyTrouble::NoTunnel(why) => ProxyTrouble::NoTunnel(change(why)),
            ProxyTrouble::Login => ProxyTrouble::Login,
        };
        Self { trouble, ..self }
    }

    /// The next thing to try.
    pub(in crate::cluster) fn remedy(&self) -> String {
        let Self { setting, trouble, proxy } = self;
        let other = match *setting {
            "proxy-url" => {
                "remove `proxy-url` from the cluster where the API server can be reached directly".to_owned()
            }
            variable => {
                format!("where the API server can be reached directly, unset {variable} or name its host in NO_PROXY")
            }
        };
        match trouble {
            // This happens if the setting begins with `https` and the proxy speaks plain HTTP.
            ProxyTrouble::Tls(why) if why.contains("corrupt message") => {
                format!("does it speak TLS at all? {setting} may have to begin with `http://`")
            }
            ProxyTrouble::Tls(_) => {
                "its certificate has to be signed by a root of this machine (SSL_CERT_FILE names others) or by the \
                 cluster's `certificate-authority`; `--insecure-skip-tls-verify` does not count for proxies"
                    .to_owned()
            }
            ProxyTrouble::Login => {
                let (scheme, host) = proxy.split_once("://").unwrap_or(("http", proxy));
                format!("{setting} takes them as {scheme}://USER:PASSWORD@{host}, with special characters as %XX")
            }
            ProxyTrouble::NoTunnel(_) => format!("does it permit CONNECT to that address? {other}"),
            ProxyTrouble::Unreachable(_) => format!("correct {setting}; {other}"),
        }
    }
}

impl ProxyTrouble {
    /// Recognises the failure by the texts of the proxy connectors, whose errors have no public type.
    pub(in crate::cluster) fn of(error: &(dyn std::error::Error + 'static)) -> Self {
        if let Some(why) = tls_cause(error) {
            return Self::Tls(why);
        }
        let (top, cause) = (error.to_string(), root_cause(error));
        let said = top.strip_prefix("tunnel error: ").or(top.strip_prefix("SOCKS error: ")).unwrap_or(&top);
        match said {
            "proxy authorization required" => Self::Login,
            "failed to create underlying connection" if cause == top => {
                Self::Unreachable("there is no connection to it".into())
            }
            "failed to create underlying connection" => Self::Unreachable(cause),
            "unsuccessful" => Self::NoTunnel("it refuses".into()),
            "unexpected end of file" => Self::NoTunnel("it closes the connection".into()),
            _ if cause == top => Self::NoTunnel(said.to_owned()),
            _ => Self::NoTunnel(cause),
        }
    }
}
