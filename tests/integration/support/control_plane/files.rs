//! The files that a control plane reads: certificates, tokens, kubeconfigs, and the command of each program.
//!
//! Every control plane has its own directory, authority and secret, so that no control plane accepts the clients of another.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose};

use super::programs::Programs;
use super::user::{NAMES, PER_NAME};
use super::{Component, Options};

/// The controllers that the tests need. The service account controller is not among them: without that admission plugin pods need no service account.
const CONTROLLERS: &str =
    "daemonset,garbagecollector,statefulset,job,nodelifecycle,namespace,pod-garbage-collector-controller";

/// The ports of one control plane on 127.0.0.1.
pub(super) struct Ports {
    etcd: u16,
    etcd_peer: u16,
    api_server: u16,
    controller_manager: u16,
    scheduler: u16,
}

impl Ports {
    /// Five ports on which nothing listens now.
    pub(super) fn free() -> io::Result<Self> {
        // Every port is held until all are known, so that they differ.
        let mut held = Vec::new();
        let mut next = || {
            let listener = TcpListener::bind(("127.0.0.1", 0))?;
            let port = listener.local_addr()?.port();
            held.push(listener);
            io::Result::Ok(port)
        };
        Ok(Self {
            etcd: next()?,
            etcd_peer: next()?,
            api_server: next()?,
            controller_manager: next()?,
            scheduler: next()?,
        })
    }
}

/// The written directory. The supervisor removes it, because this process may be killed.
pub(super) struct Files {
    directory: PathBuf,
    url: String,
    ports: Ports,
    authority: String,
    secret: String,
}

impl Files {
    /// Writes all files to a new temporary directory that only this user may enter.
    pub(super) fn write(options: &Options, programs: &Programs, ports: Ports) -> io::Result<Self> {
        let directory = tempfile::Builder::new().prefix("rolldeck-control-plane-").tempdir()?;
        let (authority, certificate, key) = certificates().map_err(io::Error::other)?;
        let files = Self {
            directory: directory.path().to_owned(),
            url: format!("https://127.0.0.1:{}", ports.api_server),
            ports,
            authority,
            secret: secret()?,
        };
        files.put("ca.crt", &files.authority)?;
        files.put("server.crt", &certificate)?;
        files.put("server.key", &key)?;
        let service_account = KeyPair::generate().map_err(io::Error::other)?;
        files.put("service-account.key", &service_account.serialize_pem())?;
        files.put("service-account.pub", &service_account.public_key_pem())?;
        files.put("tokens.csv", &files.tokens())?;
        files.write_kubeconfig("controllers", &files.token("controllers"))?;
        for component in Component::ALL {
            files.put(&format!("{}.sh", component.program()), &files.command(component, options, programs))?;
        }
        let _ = directory.keep();
        Ok(files)
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// The URL at which `component` reports whether it is healthy.
    pub(super) fn health(&self, component: Component) -> String {
        match component {
            Component::Etcd => format!("http://127.0.0.1:{}/health", self.ports.etcd),
            Component::ApiServer => format!("{}/readyz", self.url),
            Component::ControllerManager => format!("https://127.0.0.1:{}/healthz", self.ports.controller_manager),
            Component::Scheduler => format!("https://127.0.0.1:{}/healthz", self.ports.scheduler),
        }
    }

    /// The certificate of the authority that signed the servers', in PEM.
    pub(super) fn authority(&self) -> &str {
        &self.authority
    }

    /// The token of a user in `tokens.csv`; a token of nobody, if `name` is not in that file.
    pub(super) fn token(&self, name: &str) -> String {
        format!("{name}.{}", self.secret)
    }

    /// Writes `NAME.kubeconfig`: JSON, which is YAML.
    pub(super) fn write_kubeconfig(&self, name: &str, token: &str) -> io::Result<PathBuf> {
        let kubeconfig = serde_json::json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "test", "cluster": {
                "server": self.url,
                "certificate-authority-data": BASE64.encode(&self.authority),
            }}],
            "users": [{"name": name, "user": {"token": token}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": name}}],
            "current-context": "test",
        });
        self.put(&format!("{name}.kubeconfig"), &format!("{kubeconfig:#}\n"))
    }

    fn put(&self, name: &str, content: &str) -> io::Result<PathBuf> {
        let path = self.directory.join(name);
        fs::write(&path, content)?;
        Ok(path)
    }

    /// Lines of `token,user,uid,groups` with all users that a test may ask for: the API server reads the file once, at its start.
    fn tokens(&self) -> String {
        let mut csv = String::new();
        for name in ["admin", "controllers"] {
            let _ = writeln!(csv, "{},{name},{name},system:masters", self.token(name));
        }
        for name in NAMES.iter().flat_map(|name| (1..=PER_NAME).map(move |count| format!("{name}-{count}"))) {
            let _ = writeln!(csv, "{},{name},{name},", self.token(&name));
        }
        csv
    }

    /// A shell script that runs the program by `exec`, so that a kept control plane can be started again by hand.
    fn command(&self, component: Component, options: &Options, programs: &Programs) -> String {
        let at = |name: &str| self.directory.join(name).display().to_string();
        let mut flags = match component {
            Component::Etcd => etcd(&at("etcd"), &self.ports),
            Component::ApiServer => api_server(at, &self.ports),
            Component::ControllerManager => {
                let mut flags = controller(at, self.ports.controller_manager, options);
                flags.push(format!("--controllers={CONTROLLERS}"));
                flags.push(format!("--node-monitor-grace-period={}ms", options.node_monitor_grace.as_millis()));
                let period = (options.node_monitor_grace / 4).min(Duration::from_secs(5));
                flags.push(format!("--node-monitor-period={}ms", period.as_millis()));
                flags
            }
            Component::Scheduler => controller(at, self.ports.scheduler, options),
        };
        flags.extend(options.flags.iter().filter(|(of, _)| *of == component).map(|(_, flag)| flag.clone()));
        let program = programs.path(component.program()).display().to_string();
        let words: Vec<_> = std::iter::once(&program).chain(&flags).map(|word| quoted(word)).collect();
        // Several control planes share a machine with few cores and much memory. Less frequent garbage collection leaves the cores to the tests.
        format!("export GOGC=400\nexec {}\n", words.join(" \\\n  "))
    }
}

fn etcd(data: &str, ports: &Ports) -> Vec<String> {
    let client = format!("http://127.0.0.1:{}", ports.etcd);
    let peer = format!("http://127.0.0.1:{}", ports.etcd_peer);
    vec![
        format!("--data-dir={data}"),
        format!("--listen-client-urls={client}"),
        format!("--advertise-client-urls={client}"),
        format!("--listen-peer-urls={peer}"),
        format!("--initial-advertise-peer-urls={peer}"),
        format!("--initial-cluster=default={peer}"),
        "--unsafe-no-fsync".to_owned(),
        "--log-level=warn".to_owned(),
    ]
}

fn api_server(at: impl Fn(&str) -> String, ports: &Ports) -> Vec<String> {
    vec![
        format!("--etcd-servers=http://127.0.0.1:{}", ports.etcd),
        "--bind-address=127.0.0.1".to_owned(),
        "--advertise-address=127.0.0.1".to_owned(),
        format!("--secure-port={}", ports.api_server),
        format!("--cert-dir={}", at("apiserver")),
        format!("--tls-cert-file={}", at("server.crt")),
        format!("--tls-private-key-file={}", at("server.key")),
        format!("--token-auth-file={}", at("tokens.csv")),
        "--authorization-mode=RBAC".to_owned(),
        "--disable-admission-plugins=ServiceAccount".to_owned(),
        "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
        format!("--service-account-key-file={}", at("service-account.pub")),
        format!("--service-account-signing-key-file={}", at("service-account.key")),
        "--service-cluster-ip-range=10.0.0.0/24".to_owned(),
        "--endpoint-reconciler-type=none".to_owned(),
        "--allow-privileged=true".to_owned(),
        "--profiling=false".to_owned(),
    ]
}

/// The common flags of the controller manager and the scheduler: each is alone, and serves only its health.
fn controller(at: impl Fn(&str) -> String, port: u16, options: &Options) -> Vec<String> {
    vec![
        format!("--kubeconfig={}", at("controllers.kubeconfig")),
        "--leader-elect=false".to_owned(),
        "--bind-address=127.0.0.1".to_owned(),
        format!("--secure-port={port}"),
        format!("--tls-cert-file={}", at("server.crt")),
        format!("--tls-private-key-file={}", at("server.key")),
        "--profiling=false".to_owned(),
        format!("--kube-api-qps={}", options.qps),
        format!("--kube-api-burst={}", options.qps * 8 / 5),
    ]
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The authority's certificate, and the certificate and key that the programs serve with, in PEM.
fn certificates() -> Result<(String, String, String), rcgen::Error> {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    params.distinguished_name.push(DnType::CommonName, "rolldeck test authority");
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;

    let mut params = CertificateParams::new(vec!["127.0.0.1".to_owned(), "localhost".to_owned()])?;
    params.distinguished_name.push(DnType::CommonName, "rolldeck test server");
    params.use_authority_key_identifier_extension = true;
    let key = KeyPair::generate()?;
    let certificate = params.signed_by(&key, &authority)?;
    Ok((authority.pem(), certificate.pem(), key.serialize_pem()))
}

/// 128 bits that nobody else on this machine knows, in hexadecimal.
fn secret() -> io::Result<String> {
    let mut bytes = [0; 16];
    fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    }))
}
