//! A server's certificate that is its own authority, as `openssl req -x509` makes it by default (`CA:TRUE`).
//!
//! The TLS library takes no certificate of an authority for that of a server. kubectl takes it where it is one of the authorities that the kubeconfig
//! names, and so does this: what the kubeconfig trusts to sign for any server is trusted as a server as well. Its name and its validity count as for others.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

/// What the TLS library says of a certificate of an authority that a server presents. It says so only of one that is valid now.
const AUTHORITY: &str = "CaUsedAsEndEntity";

/// Checks a server's certificate as the TLS library does, but accepts one of the authorities themselves.
#[derive(Debug)]
struct WithAuthorities {
    usual: Arc<WebPkiServerVerifier>,
    authorities: Vec<CertificateDer<'static>>,
}

/// The check of the server's certificate where the kubeconfig names authorities; `None` where it names none, or nothing is checked.
///
/// # Errors
/// An authority that the TLS library cannot use, or none at all.
pub(super) fn verifier(config: &kube::Config) -> Result<Option<Arc<dyn ServerCertVerifier>>, String> {
    let Some(authorities) = config.root_cert.as_ref().filter(|_| !config.accept_invalid_certs) else { return Ok(None) };
    let authorities: Vec<_> = authorities.iter().map(|der| CertificateDer::from(der.clone())).collect();
    let mut roots = RootCertStore::empty();
    for authority in &authorities {
        roots.add(authority.clone()).map_err(|error| error.to_string())?;
    }
    let provider = CryptoProvider::get_default().cloned();
    let provider = provider.unwrap_or_else(|| Arc::new(rustls::crypto::ring::default_provider()));
    let usual = WebPkiServerVerifier::builder_with_provider(roots.into(), provider).build();
    let usual = usual.map_err(|error| error.to_string())?;
    Ok(Some(Arc::new(WithAuthorities { usual, authorities })))
}

impl ServerCertVerifier for WithAuthorities {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let checked = self.usual.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        match &checked {
            Err(Error::InvalidCertificate(CertificateError::Other(why)))
                if why.to_string().contains(AUTHORITY) && self.authorities.contains(end_entity) =>
            {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            _ => checked,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.usual.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.usual.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.usual.supported_verify_schemes()
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd};

    use super::*;

    /// A certificate for `api.example`, as `openssl req -x509` makes it.
    fn authority(until: i32) -> CertifiedIssuer<'static, KeyPair> {
        let mut params = CertificateParams::new(["api.example".to_owned()]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        (params.not_before, params.not_after) = (date_time_ymd(2020, 1, 1), date_time_ymd(until, 1, 1));
        CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
    }

    /// Whether a client with these authorities accepts the server's certificate under this name.
    fn accepts(
        authorities: &[&CertificateDer<'static>],
        server: &CertificateDer<'_>,
        name: &str,
    ) -> Result<(), String> {
        let mut config = kube::Config::new("https://api.example:6443".parse().unwrap());
        config.root_cert = Some(authorities.iter().map(|der| der.to_vec()).collect());
        let now = UnixTime::since_unix_epoch(std::time::Duration::from_secs(1_790_000_000));
        let verifier = verifier(&config).unwrap().unwrap();
        let name = ServerName::try_from(name).unwrap();
        verifier.verify_server_cert(server, &[], &name, &[], now).map(drop).map_err(|error| error.to_string())
    }

    #[test]
    fn a_server_whose_certificate_is_the_authority_itself_is_accepted_as_by_kubectl() {
        let (own, other, expired) = (authority(2090), authority(2090), authority(2021));
        assert_eq!(accepts(&[own.der()], own.der(), "api.example"), Ok(()));
        assert_eq!(accepts(&[other.der(), own.der()], own.der(), "api.example"), Ok(()));
        let refused = |authorities: &[&CertificateDer<'static>], server: &CertificateDer<'_>, name: &str, why: &str| {
            let said = accepts(authorities, server, name).unwrap_err();
            assert!(said.contains(why), "{said}");
        };
        refused(&[own.der()], own.der(), "db.example", "not valid for name");
        refused(&[expired.der()], expired.der(), "api.example", "expired");
        refused(&[other.der()], own.der(), "api.example", AUTHORITY);
        // Another authority that the first one has signed is none of those that are named.
        let mut params = CertificateParams::new(["api.example".to_owned()]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let below = CertifiedIssuer::signed_by(params, KeyPair::generate().unwrap(), &own).unwrap();
        refused(&[own.der()], below.der(), "api.example", AUTHORITY);
        // What an authority signed for a server is accepted as ever.
        let params = CertificateParams::new(["api.example".to_owned()]).unwrap();
        let server = params.signed_by(&KeyPair::generate().unwrap(), &own).unwrap();
        assert_eq!(accepts(&[own.der()], server.der(), "api.example"), Ok(()));
    }

    #[test]
    fn nothing_is_checked_otherwise_where_the_kubeconfig_names_no_authority() {
        let mut config = kube::Config::new("https://api.example:6443".parse().unwrap());
        assert!(verifier(&config).unwrap().is_none());
        config.root_cert = Some(vec![authority(2090).der().to_vec()]);
        config.accept_invalid_certs = true;
        assert!(verifier(&config).unwrap().is_none());
    }
}
