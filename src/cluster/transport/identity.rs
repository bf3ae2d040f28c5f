//! Client certificates: those that a plugin issues, and the detection of replaced certificate files.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;

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

/// A client certificate that a plugin issued.
#[derive(PartialEq, Eq)]
pub(in crate::cluster) struct Certificate {
    pub(in crate::cluster) certificate: String,
    pub(in crate::cluster) key: String,
}

impl Certificate {
    /// Whether the key belongs to the certificate.
    ///
    /// # Errors
    /// The mismatch or the error in them.
    pub(super) fn check(&self) -> Result<(), String> {
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(self.certificate.as_bytes()).collect();
        let chain = chain.map_err(|_broken| "the certificate is no PEM")?;
        let key = PrivateKeyDer::from_pem_slice(self.key.as_bytes()).map_err(|_broken| "the key is no PEM of a key")?;
        let provider = CryptoProvider::get_default().cloned();
        let provider = provider.unwrap_or_else(|| Arc::new(rustls::crypto::ring::default_provider()));
        CertifiedKey::from_der(chain, key, &provider).map(|_pair| ()).map_err(|error| match error {
            rustls::Error::InconsistentKeys(_) => "the key belongs to another certificate".to_owned(),
            error => error.to_string(),
        })
    }
}

impl std::fmt::Debug for Certificate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Certificate(…)")
    }
}
