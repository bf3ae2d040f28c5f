//! The credentials of one kubeconfig user: their source, their validity, and the secrets that must never be shown.
//!
//! ```text
//!   user and password ───────────────────────▶ a header that never changes
//!   token ───────── read again after a 401 ──▶ a header
//!   certificate ─── read again after a 401 ──▶ a client certificate
//!   tokenFile ──── read again every minute ──▶ a header
//!   exec plugin ── run once per expiry ──────▶ a header, or a client certificate
//!   auth-provider `oidc` (legacy) ───────────▶ its id-token, as long as it is good: it is not renewed here
//! ```
//!
//! One task runs a plugin, however many requests wait for its result, and continues if they give up. Only the first run,
//! before anything is drawn, may ask the operator a question. After a 401 new credentials are tried once, never in a loop.

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, RwLock};
use std::time::Duration;

use http::HeaderValue;
use jiff::Timestamp;
use kube::config::{AuthInfo, AuthProviderConfig, ExecAuthCluster, ExecConfig, ExecInteractiveMode};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::identity::Certificate;
use super::inline::{InlineCredentials, InlineText, ReadInline};
use super::issued::{Hidden, Issued, bearer, header};
use crate::cluster::failure::Failure;
use crate::cluster::kubectl_place::KubectlPlace;
use crate::scrub::scrub;

/// The limit after which a plugin is stopped. A login in a browser, which the first run may ask for, takes minutes.
const PLUGIN_TIMEOUT: Duration = Duration::from_secs(30);
const LOGIN_TIMEOUT: Duration = Duration::from_secs(300);
/// After a failure the plugin is not run again for this long; requests meanwhile get the same failure.
const FAILED_FOR: Duration = Duration::from_secs(5);
/// Credentials are renewed this long before they expire, or after four fifths of their life if that is later: otherwise
/// the plugin would run for each request of short-lived credentials.
const MARGIN: jiff::SignedDuration = jiff::SignedDuration::from_secs(60);
/// The interval after which a token file is read again, as in client-go.
const FILE_GOOD_FOR: Duration = Duration::from_secs(60);
/// A shorter text in a plugin's environment is a setting, not a secret: `true`, `eu-1`.
const SECRET_FROM: usize = 8;

/// The source of the credentials. Cheap to clone.
#[derive(Clone)]
pub(in crate::cluster) enum Credential {
    /// Fixed credentials: user and password, or none beside a client certificate in files.
    Fixed(Option<HeaderValue>),
    /// A token or a client certificate that stands in the kubeconfig itself.
    Inline(Arc<InlineCredentials>),
    /// A token in a file.
    File(Arc<Mutex<TokenFile>>),
    /// A credential plugin.
    Plugin(Arc<Plugin>),
}

impl Credential {
    /// Takes the credentials out of `auth`, so that kube's own client does not obtain them a second time.
    ///
    /// # Errors
    /// When a token is not valid in a header, a token file cannot be read, or a legacy `auth-provider` has no valid token.
    pub(in crate::cluster) fn take(
        auth: &mut AuthInfo,
        hidden: &Hidden,
        place: &KubectlPlace,
        read_inline: Option<ReadInline>,
    ) -> Result<Self, String> {
        // Secrets are `secrecy::SecretString`s; without that crate only serialization gives their values.
        let fields = serde_json::to_value(&*auth).unwrap_or_default();
        let text = |name: &str| fields[name].as_str().map(str::to_owned);
        if let (Some(user), Some(password)) = (&auth.username, text("password")) {
            use base64::Engine as _;
            let value = base64::engine::general_purpose::STANDARD.encode(format!("{user}:{password}"));
            hidden.add(value.clone());
            (auth.username, auth.password) = (None, None);
            return Ok(Self::Fixed(Some(header("Basic", &value)?)));
        }
        let token = text("token");
        auth.token = None;
        if let Some(path) = auth.token_file.take() {
            let mut file = TokenFile { path: path.into(), token: None, hidden: hidden.clone() };
            // As in client-go, the file has precedence over `token`, which is used when the file cannot be read.
            match (file.read(), &token) {
                (Ok(_), _) => {}
                (Err(_), Some(token)) => file.token = Some((bearer(token)?, Instant::now())),
                (Err(why), None) => return Err(why),
            }
            return Ok(Self::File(Arc::new(Mutex::new(file))));
        }
        if let Some(token) = token {
            return Ok(match read_inline {
                Some(read) => Self::Inline(Arc::new(InlineCredentials::new(&InlineText::Token(token), read, hidden)?)),
                None => Self::Fixed(Some(bearer(&token)?)),
            });
        }
        if let Some(exec) = auth.exec.take() {
            return Ok(Self::Plugin(Arc::new(Plugin::new(exec, hidden.clone(), place.clone()))));
        }
        // Data that cannot be used stays where it is, so that kube's own client says why.
        if let (Some(read), Some(certificate), Some(key)) =
            (read_inline, text("client-certificate-data"), text("client-key-data"))
            && let Ok(inline) = InlineCredentials::new(&InlineText::Certificate { certificate, key }, read, hidden)
        {
            (auth.client_certificate_data, auth.client_key_data) = (None, None);
            (auth.client_certificate, auth.client_key) = (None, None);
            return Ok(Self::Inline(Arc::new(inline)));
        }
        match auth.auth_provider.take() {
            Some(provider) => legacy(&provider, hidden).map(|header| Self::Fixed(Some(header))),
            None => Ok(Self::Fixed(None)),
        }
    }

    /// The present credentials for a request. Waits at most `patience` for a plugin, which continues to run after that.
    ///
    /// # Errors
    /// [`Failure::Credentials`]: the request was not sent.
    pub(in crate::cluster) async fn issued(&self, patience: Duration) -> Result<Issued, Failure> {
        match self {
            Self::Fixed(header) => Ok(Issued::lasting(header.clone())),
            Self::Inline(inline) => Ok(inline.issued().await),
            Self::File(file) => file.lock().await.issued().map_err(Failure::Credentials),
            Self::Plugin(plugin) => plugin.clone().issued(Asks::Nothing, None, patience).await,
        }
    }

    /// Credentials for one more attempt after `refused` was answered with 401; `None` if there are no others.
    ///
    /// # Errors
    /// When there are others that must not be used here. The text says why.
    pub(in crate::cluster) async fn anew(
        &self,
        refused: &Issued,
        patience: Duration,
    ) -> Result<Option<Issued>, String> {
        let fresh = match self {
            Self::Fixed(_) => None,
            Self::Inline(inline) => Some(inline.anew(refused).await?),
            Self::File(file) => {
                let mut file = file.lock().await;
                file.token = None;
                file.issued().ok()
            }
            Self::Plugin(plugin) => plugin.clone().issued(Asks::Nothing, Some(refused.generation), patience).await.ok(),
        };
        Ok(fresh.filter(|fresh| fresh.differs_from(refused)))
    }

    /// Obtains the credentials for the first time. Only then may a plugin ask the operator a question.
    ///
    /// # Errors
    /// As [`Credential::issued`].
    pub(in crate::cluster) async fn first(&self) -> Result<Issued, Failure> {
        use std::io::IsTerminal;
        match self {
            Self::Plugin(plugin) if std::io::stdin().is_terminal() => {
                plugin.clone().issued(Asks::Operator, None, LOGIN_TIMEOUT).await
            }
            credential => credential.issued(PLUGIN_TIMEOUT).await,
        }
    }
}

/// The time from which credentials are renewed that were issued at `issued` and expire at `expires`.
fn renewal(issued: Timestamp, expires: Timestamp) -> Timestamp {
    let life = expires.duration_since(issued);
    expires - MARGIN.min(life / 5).max(jiff::SignedDuration::ZERO)
}

/// The header of a legacy `auth-provider`: the id-token of `oidc`, which is not renewed here. kubectl supports no other since 1.26.
fn legacy(provider: &AuthProviderConfig, hidden: &Hidden) -> Result<HeaderValue, String> {
    provider.config.values().filter(|value| value.len() >= SECRET_FROM).for_each(|value| hidden.add(value.clone()));
    let name = &provider.name;
    if name != "oidc" {
        return Err(format!(
            "the auth-provider `{name}` was removed from kubectl in 1.26, and rolldeck does not run it either: set up the credential plugin \
             (`exec`) of your provider"
        ));
    }
    let token = provider.config.get("id-token").filter(|token| !token.trim().is_empty());
    let token = token.ok_or("the auth-provider `oidc` has no `id-token`: log in again")?;
    if expiry_of(token).is_some_and(|at| at <= Timestamp::now()) {
        return Err("the `id-token` of the auth-provider `oidc` has expired, and rolldeck does not renew it: log in again, or set up a \
                    credential plugin (`exec`) for it"
            .into());
    }
    bearer(token)
}

/// The expiry `exp` of a JSON Web Token.
fn expiry_of(token: &str) -> Option<Timestamp> {
    use base64::Engine as _;
    #[derive(Deserialize)]
    struct Claims {
        exp: i64,
    }
    let claims = token.split('.').nth(1)?;
    let claims = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(claims.trim_end_matches('=')).ok()?;
    Timestamp::from_second(serde_json::from_slice::<Claims>(&claims).ok()?.exp).ok()
}

/// A token in a file.
#[derive(Debug)]
pub(in crate::cluster) struct TokenFile {
    path: PathBuf,
    token: Option<(HeaderValue, Instant)>,
    hidden: Hidden,
}

impl std::fmt::Debug for Hidden {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Hidden(…)")
    }
}

impl TokenFile {
    fn read(&mut self) -> Result<HeaderValue, String> {
        let path = self.path.display();
        let text = std::fs::read_to_string(&self.path).map_err(|error| format!("token file {path}: {error}"))?;
        let token = text.trim();
        if token.is_empty() {
            return Err(format!("token file {path} is empty"));
        }
        self.hidden.add(token);
        let header = bearer(token).map_err(|why| format!("token file {path}: {why}"))?;
        self.token = Some((header.clone(), Instant::now()));
        Ok(header)
    }

    fn issued(&mut self) -> Result<Issued, String> {
        let fresh = self.token.as_ref().filter(|(_, read_at)| read_at.elapsed() < FILE_GOOD_FOR);
        let header = match fresh.map(|(header, _)| header.clone()) {
            Some(header) => header,
            // If the file is gone, the last token stays in use: some tools remove the file once the process has started.
            None => match (self.token.as_ref().map(|(header, _)| header.clone()), self.read()) {
                (_, Ok(header)) | (Some(header), Err(_)) => header,
                (None, Err(why)) => return Err(why),
            },
        };
        Ok(Issued::lasting(Some(header)))
    }
}

/// Whether a plugin may ask the operator a question.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Asks {
    Operator,
    Nothing,
}

/// A credential plugin (`client.authentication.k8s.io`), and the last credentials that it issued.
pub(in crate::cluster) struct Plugin {
    exec: ExecConfig,
    hidden: Hidden,
    /// The cluster and context of the credentials.
    place: KubectlPlace,
    state: Mutex<TokenState>,
    /// The last issued credentials. They can be read while the plugin runs, which holds `state`.
    last: RwLock<Option<Issued>>,
}

#[derive(Default)]
struct TokenState {
    generation: u64,
    failed: Option<(Instant, String)>,
}

/// The part of a plugin's output that is read.
#[derive(Deserialize, Default)]
#[serde(default)]
struct ExecCredential {
    status: Option<ExecStatus>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct ExecStatus {
    expiration_timestamp: Option<Timestamp>,
    token: Option<String>,
    client_certificate_data: Option<String>,
    client_key_data: Option<String>,
}

impl Plugin {
    fn new(exec: ExecConfig, hidden: Hidden, place: KubectlPlace) -> Self {
        let environment = exec.env.iter().flatten().filter_map(|pair| pair.get("value"));
        for given in environment.chain(exec.args.iter().flatten()).filter(|text| text.len() >= SECRET_FROM) {
            hidden.add(given.clone());
        }
        Self { exec, hidden, place, state: Mutex::default(), last: RwLock::default() }
    }

    /// The name of the plugin's program, without its directories.
    fn name(&self) -> &str {
        let command = self.exec.command.as_deref().unwrap_or_default();
        command.rsplit(['/', '\\']).next().unwrap_or_default()
    }

    /// Valid credentials. If the last ones have expired, the plugin runs once for all waiting requests. If they are valid
    /// but due for renewal, the plugin also runs, and no request waits for it.
    async fn issued(self: Arc<Self>, asks: Asks, refused: Option<u64>, patience: Duration) -> Result<Issued, Failure> {
        let last = self.last(refused);
        if let Some(last) = last.as_ref().filter(|last| !last.is_due()) {
            return Ok(last.clone());
        }
        let plugin = self.clone();
        let running = tokio::spawn(async move { plugin.obtain(asks, refused).await });
        if let Some(last) = last.filter(Issued::is_good) {
            return Ok(last);
        }
        match tokio::time::timeout(patience, running).await {
            Ok(Ok(done)) => done.map_err(Failure::Credentials),
            Ok(Err(_stopped)) => Err(Failure::Credentials(format!("credential plugin `{}` was stopped", self.name()))),
            Err(_) => Err(Failure::Credentials(format!("credential plugin `{}` is still running", self.name()))),
        }
    }

    /// The last issued credentials, unless they were refused.
    fn last(&self, refused: Option<u64>) -> Option<Issued> {
        let last = self.last.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        last.clone().filter(|issued| refused.is_none_or(|refused| issued.generation > refused))
    }

    async fn obtain(&self, asks: Asks, refused: Option<u64>) -> Result<Issued, String> {
        let mut state = self.state.lock().await;
        if let Some(issued) = self.last(refused).filter(|issued| !issued.is_due()) {
            return Ok(issued);
        }
        if let Some((_, why)) = state.failed.as_ref().filter(|(at, _)| at.elapsed() < FAILED_FOR) {
            return Err(why.clone());
        }
        match self.run(asks).await.and_then(|status| self.read(status, state.generation + 1)) {
            Ok(issued) => {
                state.generation = issued.generation;
                state.failed = None;
                *self.last.write().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(issued.clone());
                Ok(issued)
            }
            Err(why) => {
                let why = format!("credential plugin `{}` {why}", self.name());
                state.failed = Some((Instant::now(), why.clone()));
                Err(why)
            }
        }
    }

    fn read(&self, status: ExecStatus, generation: u64) -> Result<Issued, String> {
        let ExecStatus { expiration_timestamp, token, client_certificate_data, client_key_data } = status;
        let secrets = token.iter().chain(&client_key_data);
        secrets.for_each(|secret| self.hidden.add(secret.trim()));
        let certificate = match (client_certificate_data, client_key_data) {
            (Some(certificate), Some(key)) => {
                let pair = Certificate { certificate, key };
                pair.check().map_err(|why| format!("gave a client certificate that cannot be used: {why}"))?;
                Some(Arc::new(pair))
            }
            (None, None) => None,
            _ => return Err("gave a client certificate without its key, or a key without its certificate".into()),
        };
        let header = token.as_deref().map(bearer).transpose()?;
        if header.is_none() && certificate.is_none() {
            return Err("gave neither a token nor a client certificate".into());
        }
        let renewed_from = expiration_timestamp.map(|at| renewal(Timestamp::now(), at));
        Ok(Issued { header, certificate, generation, renewed_from, expires: expiration_timestamp, connections: 0 })
    }

    /// Runs the plugin once.
    async fn run(&self, asks: Asks) -> Result<ExecStatus, String> {
        let exec = &self.exec;
        let command = exec.command.as_deref().filter(|command| !command.is_empty());
        let command = command.ok_or("has no `command` in the kubeconfig")?;
        let mode = exec.interactive_mode.as_ref();
        let interactive = asks == Asks::Operator && mode != Some(&ExecInteractiveMode::Never);
        if mode == Some(&ExecInteractiveMode::Always) && !interactive {
            return Err(format!("has to ask you something, which it cannot here: {}", self.login()));
        }
        let mut process = tokio::process::Command::new(command);
        process.args(exec.args.iter().flatten()).env("KUBERNETES_EXEC_INFO", self.exec_info(interactive));
        let pairs = exec.env.iter().flatten().filter_map(|pair| Some((pair.get("name")?, pair.get("value")?)));
        process.envs(pairs).stdout(Stdio::piped()).kill_on_drop(true);
        if interactive {
            process.stdin(Stdio::inherit()).stderr(Stdio::inherit());
        } else {
            // The plugin gets a process group of its own, so that it cannot read the console's terminal: the kernel stops it if it tries.
            process.stdin(Stdio::null()).stderr(Stdio::piped()).process_group(0);
        }
        let child = process.spawn().map_err(|error| match (&exec.install_hint, error.kind()) {
            (Some(hint), std::io::ErrorKind::NotFound) => {
                format!("is not installed: {}", hint.lines().find(|line| !line.trim().is_empty()).unwrap_or_default())
            }
            _ => format!("cannot be started: {error}"),
        })?;
        let bound = if interactive { LOGIN_TIMEOUT } else { PLUGIN_TIMEOUT };
        let output = tokio::time::timeout(bound, child.wait_with_output()).await;
        let output = output.map_err(|_late| format!("did not end within {} s", bound.as_secs()))?;
        let output = output.map_err(|error| format!("cannot be read: {error}"))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let said = said.lines().rev().map(str::trim).find(|line| !line.is_empty());
            let said = said.map(|line| format!(": {}", self.without_secrets(line))).unwrap_or_default();
            let login = if interactive { String::new() } else { format!("; {}", self.login()) };
            return Err(format!("failed ({}){said}{login}", output.status));
        }
        // The output contains the token, so no part of it is put into the error.
        let credential: ExecCredential = serde_json::from_slice(&output.stdout).map_err(|error| {
            format!("did not print an ExecCredential (line {}, column {})", error.line(), error.column())
        })?;
        credential.status.ok_or_else(|| "printed an ExecCredential without a status".into())
    }

    fn without_secrets(&self, line: &str) -> String {
        // Secrets are removed first, because a clipped secret would not be found.
        scrub(&self.hidden.removed_from(line)).chars().filter(|c| !c.is_control()).take(300).collect()
    }

    /// The hint if the plugin needs an answer of the operator.
    fn login(&self) -> String {
        match self.place.command("version") {
            Some(command) => format!("log in again outside of rolldeck: `{command}`"),
            None => "log in again outside of rolldeck".to_owned(),
        }
    }

    fn exec_info(&self, interactive: bool) -> String {
        let exec = &self.exec;
        let mut spec = json!({"interactive": interactive});
        if exec.provide_cluster_info
            && let Some(cluster) = &exec.cluster
        {
            spec["cluster"] = cluster_info(cluster);
        }
        let version = exec.api_version.as_deref().unwrap_or("client.authentication.k8s.io/v1");
        json!({"apiVersion": version, "kind": "ExecCredential", "spec": spec}).to_string()
    }
}

/// `spec.cluster` with the field names of `client.authentication.k8s.io`.
fn cluster_info(cluster: &ExecAuthCluster) -> serde_json::Value {
    use base64::Engine as _;
    let ca = cluster.certificate_authority_data.as_ref();
    let fields = [
        ("server", cluster.server.as_ref().map(|server| json!(server))),
        ("tls-server-name", cluster.tls_server_name.as_ref().map(|name| json!(name))),
        ("insecure-skip-tls-verify", cluster.insecure_skip_tls_verify.map(|skip| json!(skip))),
        ("certificate-authority-data", ca.map(|ca| json!(base64::engine::general_purpose::STANDARD.encode(ca)))),
        ("proxy-url", cluster.proxy_url.as_ref().map(|url| json!(url))),
        ("config", cluster.config.clone()),
    ];
    fields
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

#[cfg(test)]
mod tests;
