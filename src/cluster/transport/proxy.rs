//! The choice of the proxy for a connection, by the rules of kubectl.
//!
//! `proxy-url` of the kubeconfig's cluster wins. Without it `HTTPS_PROXY` counts for an `https` server and `HTTP_PROXY` for an
//! `http` one, unless `NO_PROXY` names the server; lower case spellings count as well. A server on this machine
//! (`localhost`, a loopback address) is never reached through a proxy of the environment. `ALL_PROXY` does not count: Go's
//! `net/http` does not know it.
//!
//! Source of the rules: Go's `golang.org/x/net/http/httpproxy` and client-go's `rest.Config.Proxy`.

use std::net::IpAddr;

use http::Uri;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};

/// The schemes of proxy URLs that are supported.
const SCHEMES: [&str; 4] = ["http", "https", "socks5", "socks5h"];

/// A proxy, and how to speak to it.
#[derive(Clone, Debug)]
pub(in crate::cluster) struct Proxy {
    pub(super) protocol: ProxyProtocol,
    /// Its address and its credentials.
    pub(super) intercept: Intercept,
    /// The setting that names the proxy: `proxy-url`, `HTTPS_PROXY` or `HTTP_PROXY`.
    pub(super) setting: &'static str,
}

/// The protocol in which a proxy is asked for a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ProxyProtocol {
    /// `CONNECT` over plain HTTP.
    Http,
    /// `CONNECT` over TLS to the proxy.
    Https,
    /// SOCKS 5. The proxy resolves names, as in Go also for `socks5`.
    Socks,
}

impl Proxy {
    /// Its address without user and password.
    pub(super) fn shown(&self) -> String {
        let uri = self.intercept.uri();
        let host = uri.authority().map_or("", |authority| authority.as_str());
        let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
        format!("{}://{host}", uri.scheme_str().unwrap_or("http"))
    }
}

/// The proxy settings of a process's environment.
#[derive(Clone, Debug, Default)]
pub(in crate::cluster) struct ProxyEnvironment {
    /// `HTTP_PROXY`.
    pub(in crate::cluster) http: Option<String>,
    /// `HTTPS_PROXY`.
    pub(in crate::cluster) https: Option<String>,
    /// `NO_PROXY`.
    pub(in crate::cluster) none: Option<String>,
}

impl ProxyEnvironment {
    /// The settings of this process.
    pub(in crate::cluster) fn of_process() -> Self {
        let read = |name: &str| {
            let values = [name.to_owned(), name.to_lowercase()].into_iter().filter_map(|name| std::env::var(name).ok());
            values.map(|value| value.trim().to_owned()).find(|value| !value.is_empty())
        };
        Self { http: read("HTTP_PROXY"), https: read("HTTPS_PROXY"), none: read("NO_PROXY") }
    }

    /// The URLs of the named proxies.
    pub(in crate::cluster) fn urls(self) -> impl Iterator<Item = String> {
        [self.http, self.https].into_iter().flatten()
    }

    fn for_server(&self, server: &Uri) -> Option<(&'static str, &str)> {
        match server.scheme_str() {
            Some("https") => Some(("HTTPS_PROXY", self.https.as_deref()?)),
            _ => Some(("HTTP_PROXY", self.http.as_deref()?)),
        }
    }
}

/// The proxy through which `server` is reached; `None` for a direct connection.
///
/// # Errors
/// Names the setting that cannot be used, and the reason. The setting's value is left out, because it may hold a password.
pub(in crate::cluster) fn proxy_for(
    server: &Uri,
    in_kubeconfig: Option<&str>,
    environment: &ProxyEnvironment,
) -> Result<Option<Proxy>, String> {
    if let Some(url) = in_kubeconfig.map(str::trim).filter(|url| !url.is_empty()) {
        return read("proxy-url", url).map(Some);
    }
    let Some((name, url)) = environment.for_server(server) else { return Ok(None) };
    if is_this_machine(server.host().unwrap_or_default()) || is_excluded(server, environment) {
        return Ok(None);
    }
    read(name, url).map(Some)
}

/// Whether `NO_PROXY` names the server. The matcher knows names, addresses and networks; Go's other forms are translated: an
/// entry with a port counts for that port only, and `*.example` becomes `.example`. Unlike in Go, `.example` also counts for
/// `example`.
fn is_excluded(server: &Uri, environment: &ProxyEnvironment) -> bool {
    let port = server.port_u16().unwrap_or(if server.scheme_str() == Some("http") { 80 } else { 443 });
    let entries = environment.none.iter().flat_map(|list| list.split(',')).map(str::trim);
    let entries = entries.filter_map(|entry| match split_port(entry) {
        (_, Some(theirs)) if theirs != port => None,
        (host, _) => Some(host.strip_prefix('*').filter(|rest| rest.starts_with('.')).unwrap_or(host)),
    });
    let list = entries.collect::<Vec<_>>().join(",");
    // Any proxy will do, because only the use of a proxy is tested.
    Matcher::builder().all("http://proxy").no(list).build().intercept(server).is_none()
}

/// An entry of `NO_PROXY`, without the brackets of an IPv6 address, and its port.
fn split_port(entry: &str) -> (&str, Option<u16>) {
    if let Some(rest) = entry.strip_prefix('[') {
        let Some((host, after)) = rest.split_once(']') else { return (entry, None) };
        return (host, after.strip_prefix(':').and_then(|port| port.parse().ok()));
    }
    match entry.split_once(':') {
        // More than one colon: an IPv6 address.
        Some((host, port)) if !host.is_empty() && !port.contains(':') => match port.parse() {
            Ok(port) => (host, Some(port)),
            Err(_) => (entry, None),
        },
        _ => (entry, None),
    }
}

/// Whether a host is this machine, by its name or its address.
fn is_this_machine(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost") || address.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn read(setting: &'static str, url: &str) -> Result<Proxy, String> {
    let uri = url.parse::<Uri>().map_err(|_unparsable| format!("{setting} is not a URL"))?;
    let scheme = uri.scheme_str().unwrap_or("http");
    if !SCHEMES.contains(&scheme) {
        return Err(format!("{setting} has the scheme `{scheme}`; known are {}", SCHEMES.join(", ")));
    }
    // The matcher also reads user and password, and never shows them.
    let intercept = Matcher::builder().all(url.to_owned()).build().intercept(&Uri::from_static("https://server"));
    let intercept = intercept.filter(|intercept| intercept.uri().host().is_some_and(|host| !host.is_empty()));
    let intercept = intercept.ok_or_else(|| format!("{setting} names no host"))?;
    let protocol = match scheme {
        "https" => ProxyProtocol::Https,
        "socks5" | "socks5h" => ProxyProtocol::Socks,
        _ => ProxyProtocol::Http,
    };
    Ok(Proxy { protocol, intercept, setting })
}

/// Everything in a proxy's URL that must never be shown: user and password, as written and decoded.
pub(in crate::cluster) fn secrets_of(url: &str) -> Vec<String> {
    let authority = url.split_once("://").map_or(url, |(_, rest)| rest).split(['/', '?']).next().unwrap_or_default();
    let Some((userinfo, _)) = authority.rsplit_once('@') else { return Vec::new() };
    let decoded = |text: &str| percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned();
    let password = userinfo.split_once(':').map(|(_, password)| password);
    let written = [Some(userinfo), password].into_iter().flatten();
    let mut secrets: Vec<String> = written.flat_map(|text| [text.to_owned(), decoded(text)]).collect();
    secrets.dedup();
    secrets
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment() -> ProxyEnvironment {
        ProxyEnvironment {
            http: Some("http://plain.example:3128".into()),
            https: Some("proxy.example:3128".into()),
            none: Some("10.0.0.0/8,.internal.example,api.exact.example".into()),
        }
    }

    fn through(server: &str, in_kubeconfig: Option<&str>) -> Option<String> {
        let proxy = proxy_for(&server.parse().unwrap(), in_kubeconfig, &environment()).unwrap()?;
        Some(proxy.intercept.uri().host().unwrap_or_default().to_owned())
    }

    #[test]
    fn the_environment_counts_as_it_does_for_kubectl() {
        let some = |host: &str| Some(host.to_owned());
        for (server, want) in [
            ("https://api.example:6443", some("proxy.example")),
            ("http://api.example:8080", some("plain.example")),
            ("https://10.1.2.3:6443", None),
            ("https://api.internal.example", None),
            ("https://api.exact.example", None),
            ("https://localhost:6443", None),
            ("http://127.0.0.1:8080", None),
            ("https://[::1]:6443", None),
        ] {
            assert_eq!(through(server, None), want, "{server}");
        }
        // The kubeconfig's proxy counts for every server, also for one on this machine.
        assert_eq!(through("http://127.0.0.1:8080", Some("socks5://jump.example:1080")), some("jump.example"));
        let none = proxy_for(&"https://api.example".parse().unwrap(), None, &ProxyEnvironment::default());
        assert!(matches!(none, Ok(None)));
    }

    #[test]
    fn an_entry_of_no_proxy_may_have_a_port_or_a_star() {
        let listed = |none: &str, server: &str| {
            let environment = ProxyEnvironment { none: Some(none.into()), ..environment() };
            proxy_for(&server.parse().unwrap(), None, &environment).unwrap().is_none()
        };
        for (none, server, direct) in [
            ("api.example:6443", "https://api.example:6443", true),
            ("api.example:443", "https://api.example", true),
            ("api.example:443", "https://api.example:6443", false),
            ("*.example", "https://api.example", true),
            ("example", "https://api.example", true),
            ("[2001:db8::7]:6443", "https://[2001:db8::7]:6443", true),
            ("[2001:db8::7]:6443", "https://[2001:db8::7]:443", false),
            ("2001:db8::/32", "https://[2001:db8::7]:6443", true),
            ("10.0.0.7:6443", "https://10.0.0.7:6443", true),
            ("*", "https://api.example", true),
            ("", "https://api.example", false),
        ] {
            assert_eq!(listed(none, server), direct, "NO_PROXY={none} {server}");
        }
    }

    #[test]
    fn a_proxy_that_is_not_used_need_not_be_one() {
        let environment = ProxyEnvironment {
            http: Some("ftp://nonsense".into()),
            https: Some("not a url".into()),
            none: Some("api.exact.example".into()),
        };
        let found = |server: &str| proxy_for(&server.parse().unwrap(), None, &environment);
        for server in ["http://127.0.0.1:8080", "https://localhost:6443", "https://api.exact.example"] {
            assert!(matches!(found(server), Ok(None)), "{server}");
        }
        let why = found("https://api.example").unwrap_err();
        assert_eq!(why, "HTTPS_PROXY is not a URL");
    }

    #[test]
    fn what_cannot_be_used_is_said_without_its_password() {
        for (url, why) in [
            ("ftp://joe:hunter2@proxy.example", "the scheme `ftp`; known are http, https, socks5, socks5h"),
            ("http://joe:hunter2@", "proxy-url"),
        ] {
            let said = proxy_for(&"https://api.example".parse().unwrap(), Some(url), &environment()).unwrap_err();
            assert!(said.contains(why) && !said.contains("hunter2"), "{said}");
        }
        assert_eq!(
            secrets_of("http://joe:hunt%40er@proxy.example:3128/"),
            ["joe:hunt%40er", "joe:hunt@er", "hunt%40er", "hunt@er"]
        );
        assert_eq!(secrets_of("http://proxy.example:3128"), Vec::<String>::new());
        let proxy = read("HTTPS_PROXY", "https://joe:hunter2@proxy.example:3128/path").unwrap();
        assert_eq!((&*proxy.shown(), proxy.protocol), ("https://proxy.example:3128", ProxyProtocol::Https));
        assert!(!format!("{proxy:?}").contains("hunter2"));
    }
}
