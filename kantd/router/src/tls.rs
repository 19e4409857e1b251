//! TLS for clients, with a certificate that the operator gives. Its files are read again when they
//! change, so that a renewed certificate needs no restart.

use common::sync::RwLock;
use rustls::ServerConfig;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// How often the files are looked at.
const LOOK: Duration = Duration::from_secs(5);

/// HTTP/2 over TLS, as clients and servers agree on it. Source: RFC 9113, section 3.2.
const H2: &[u8] = b"h2";
const HTTP_1_1: &[u8] = b"http/1.1";

/// The files of a certificate, in PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate, followed by those that signed it.
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// Why a certificate cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("failed to read {path}")]
    Read { path: PathBuf, source: pem::Error },
    #[error("failed to use the certificate {certificate} with the key {key}")]
    Unfit { certificate: PathBuf, key: PathBuf, source: rustls::Error },
}

/// The certificate in use.
#[derive(Debug)]
pub struct Tls {
    files: TlsFiles,
    current: RwLock<Arc<ServerConfig>>,
}

impl Tls {
    /// Reads a certificate.
    ///
    /// # Errors
    /// If it cannot be read, or does not belong to the key.
    pub fn read(files: TlsFiles) -> Result<Self, TlsError> {
        let current = RwLock::new(Arc::new(read(&files)?));
        Ok(Self { files, current })
    }

    /// Greets a client. Returns the connection, and whether it speaks HTTP/2.
    ///
    /// # Errors
    /// If the client does not complete the handshake within `limit`.
    pub async fn accept(
        &self,
        stream: TcpStream,
        limit: Duration,
    ) -> io::Result<(TlsStream<TcpStream>, bool)> {
        let acceptor = TlsAcceptor::from(self.current.read().clone());
        let stream = timeout(limit, acceptor.accept(stream)).await??;
        let is_http2 = stream.get_ref().1.alpn_protocol() == Some(H2);
        Ok((stream, is_http2))
    }

    /// Reads the certificate again whenever its files change.
    pub async fn follow_files(self: Arc<Self>) {
        let mut before = self.changed_at();
        loop {
            tokio::time::sleep(LOOK).await;
            let now = self.changed_at();
            if now != before {
                self.read_again();
            }
            before = now;
        }
    }

    /// Reads the certificate again. While its files are damaged, the last good one stays.
    fn read_again(&self) {
        match read(&self.files) {
            Ok(config) => {
                *self.current.write() = Arc::new(config);
                tracing::info!(file = %self.files.certificate.display(), "new certificate");
            }
            Err(error) => {
                let error = common::causes::with_causes(&error);
                tracing::error!("{error}; the router goes on with the certificate that it has");
            }
        }
    }

    fn changed_at(&self) -> [Option<SystemTime>; 2] {
        let of = |path: &Path| path.metadata().and_then(|metadata| metadata.modified()).ok();
        [of(&self.files.certificate), of(&self.files.key)]
    }
}

fn read(files: &TlsFiles) -> Result<ServerConfig, TlsError> {
    let TlsFiles { certificate, key } = files.clone();
    let unread = |path: &Path| {
        let path = path.to_owned();
        |source| TlsError::Read { path, source }
    };
    let chain = CertificateDer::pem_file_iter(&certificate).and_then(Iterator::collect);
    let chain: Vec<CertificateDer<'static>> = chain.map_err(unread(&certificate))?;
    let secret = PrivateKeyDer::from_pem_file(&key).map_err(unread(&key))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, secret));
    let mut config = config.map_err(|source| TlsError::Unfit { certificate, key, source })?;
    config.alpn_protocols = vec![H2.to_vec(), HTTP_1_1.to_vec()];
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertifiedKey, generate_simple_self_signed};

    fn write_certificate(files: &TlsFiles) {
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(vec!["test".to_owned()]).unwrap();
        std::fs::write(&files.key, signing_key.serialize_pem()).unwrap();
        std::fs::write(&files.certificate, cert.pem()).unwrap();
    }

    #[test]
    fn a_damaged_certificate_changes_nothing_and_a_renewed_one_does() {
        let dir = tempfile::tempdir().unwrap();
        let of = |name| dir.path().join(name);
        let files = TlsFiles { certificate: of("router.pem"), key: of("router.key") };
        write_certificate(&files);
        let tls = Tls::read(files.clone()).unwrap();
        let first = tls.current.read().clone();
        std::fs::write(&files.key, "no key").unwrap();
        tls.read_again();
        assert!(Arc::ptr_eq(&first, &tls.current.read()), "the last good one stays");
        write_certificate(&files);
        tls.read_again();
        assert!(!Arc::ptr_eq(&first, &tls.current.read()));
    }
}
