//! Client certificates with their keys: reading them, and the detection of replaced files.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::config::AuthInfo;
use rustls::InconsistentKeys;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;

/// What the TLS library says of a certificate of X.509 version 1, as `openssl x509 -req` of OpenSSL 3.0 makes them by default. It reads none, so that nobody
/// but the server finds whether the key belongs to it. API servers accept them, and so does kubectl.
const VERSION_1: &str = "UnsupportedCertVersion";

/// The state of the files that a kubeconfig names for the client certificate and its key. Two states differ if a file was
/// replaced, also through a link: kubelets and Secrets replace files by switching a link.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct IdentityFiles(Vec<(PathBuf, Option<FileStamp>)>);

/// Device, inode, size and time of the last change: enough to distinguish successive files of one name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct FileStamp {
    file: (u64, u64),
    size: u64,
    changed: (i64, i64),
}

impl IdentityFiles {
    /// The present state; empty if certificate and key are not in files.
    pub(super) fn of(config: &kube::Config) -> Self {
        let auth = &config.auth_info;
        let paths = [&auth.client_certificate, &auth.client_key].into_iter().flatten().map(PathBuf::from);
        Self(paths.map(|path| (path.clone(), stamp(&path))).collect())
    }

    /// `ada.crt and ada.key`, with their directories; `None` if there are no files.
    pub(super) fn named(&self) -> Option<String> {
        let names: Vec<String> = self.0.iter().map(|(path, _)| path.display().to_string()).collect();
        (!names.is_empty()).then(|| names.join(" and "))
    }
}

fn stamp(path: &Path) -> Option<FileStamp> {
    let meta = std::fs::metadata(path).ok()?;
    Some(FileStamp { file: (meta.dev(), meta.ino()), size: meta.len(), changed: (meta.mtime(), meta.mtime_nsec()) })
}

/// A client certificate and its key, in PEM.
#[derive(PartialEq, Eq)]
pub(in crate::cluster) struct Certificate {
    pub(in crate::cluster) certificate: String,
    pub(in crate::cluster) key: String,
}

impl Certificate {
    /// The client certificate that `auth` names, as data or as files; `None` if it names none.
    ///
    /// # Errors
    /// Which of the two is missing or cannot be read, and why.
    pub(super) fn of(auth: &AuthInfo) -> Result<Option<Self>, String> {
        // The key is a `secrecy::SecretString`; without that crate only serialization gives its value.
        let fields = serde_json::to_value(auth).unwrap_or_default();
        let given = |text: &&str| !text.trim().is_empty();
        let data = |name: &str| fields[format!("{name}-data")].as_str().filter(given);
        let pem = |name: &str, file: Option<&String>| match (data(name), file.map(String::as_str).filter(given)) {
            (Some(data), _) => pem_of(data).map(Some).map_err(|why| format!("{name}-data {why}")),
            (None, Some(path)) => std::fs::read_to_string(path).map(Some).map_err(|error| format!("{path}: {error}")),
            (None, None) => Ok(None),
        };
        let certificate = pem("client-certificate", auth.client_certificate.as_ref())?;
        match (certificate, pem("client-key", auth.client_key.as_ref())?) {
            (Some(certificate), Some(key)) => Ok(Some(Self { certificate, key })),
            (None, None) => Ok(None),
            (Some(_), None) => Err("the kubeconfig names no key (`client-key`) for it".into()),
            (None, Some(_)) => Err("the kubeconfig names a key and no certificate (`client-certificate`)".into()),
        }
    }

    /// Certificate and key, as TLS needs them.
    ///
    /// # Errors
    /// Why they cannot be used, among it that the key does not belong to the certificate.
    pub(super) fn certified(&self) -> Result<CertifiedKey, String> {
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(self.certificate.as_bytes()).collect();
        let chain = chain.ok().filter(|chain| !chain.is_empty()).ok_or("the certificate is no PEM")?;
        let key = PrivateKeyDer::from_pem_slice(self.key.as_bytes()).map_err(|_broken| "the key is no PEM of a key")?;
        let provider = CryptoProvider::get_default().cloned();
        let provider = provider.unwrap_or_else(|| Arc::new(rustls::crypto::ring::default_provider()));
        let key = provider.key_provider.load_private_key(key).map_err(|error| error.to_string())?;
        let certified = CertifiedKey::new(chain, key);
        match certified.keys_match() {
            Ok(()) | Err(rustls::Error::InconsistentKeys(InconsistentKeys::Unknown)) => Ok(certified),
            Err(rustls::Error::InconsistentKeys(_)) => Err("the key belongs to another certificate".into()),
            Err(error) if error.to_string().contains(VERSION_1) => Ok(certified),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Whether they can be used.
    ///
    /// # Errors
    /// As [`Certificate::certified`].
    pub(super) fn check(&self) -> Result<(), String> {
        self.certified().map(|_certified| ())
    }
}

/// The text that is in base64.
///
/// # Errors
/// What `data` is not, as the end of a sentence.
pub(super) fn pem_of(data: &str) -> Result<String, String> {
    let bytes = STANDARD.decode(data.trim()).map_err(|_broken| "is no base64")?;
    String::from_utf8(bytes).map_err(|_broken| "is no PEM".into())
}

impl std::fmt::Debug for Certificate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Certificate(…)")
    }
}
