//! Tests of the HTTP port: without TLS on loopback only, and with the certificate of its files.

#![allow(clippy::unwrap_used)] // a test fails by panicking

mod support;

use axum::Router;
use axum::routing::get;
use net::{Caller, HttpListener, ListenError, PemFiles, User, serve};
use std::fs::{self, Permissions};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use support::soon;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto::ring};

fn routes() -> Router {
    let caller = |caller: Caller| async move { format!("{caller:?}") };
    let user = |user: User| async move { format!("{user:?}") };
    Router::new().route("/caller", get(caller)).route("/user", get(user))
}

async fn start(tls: Option<&PemFiles>) -> SocketAddr {
    let listener = HttpListener::bind("127.0.0.1:0", tls).await.unwrap();
    let addr = listener.local_addr();
    tokio::spawn(serve(listener, routes(), std::future::pending()));
    addr
}

async fn ask(mut stream: impl AsyncRead + AsyncWrite + Unpin, head: &str) -> String {
    let request = format!("GET {head}\r\nhost: h\r\nconnection: close\r\n\r\n");
    soon(stream.write_all(request.as_bytes())).await.unwrap();
    let mut answer = String::new();
    // A TLS peer that closes without a notice is an error, after the whole answer.
    let _ = soon(stream.read_to_string(&mut answer)).await;
    answer
}

fn pem(dir: &Path) -> (PemFiles, CertificateDer<'static>) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let files = PemFiles { certificate: dir.join("cert.pem"), key: dir.join("key.pem") };
    fs::write(&files.certificate, made.cert.pem()).unwrap();
    fs::write(&files.key, made.signing_key.serialize_pem()).unwrap();
    fs::set_permissions(&files.key, Permissions::from_mode(0o600)).unwrap();
    (files, made.cert.der().clone())
}

#[tokio::test]
async fn a_client_has_no_identity_until_its_token_is_checked() {
    let addr = start(None).await;
    let connect = || async { soon(TcpStream::connect(addr)).await.unwrap() };
    let answer = ask(connect().await, "/caller HTTP/1.1").await;
    assert!(answer.ends_with("Anonymous"), "{answer}");
    let answer = ask(connect().await, "/user HTTP/1.1").await;
    assert!(answer.starts_with("HTTP/1.1 401") && answer.contains("no-token"), "{answer}");
    let answer = ask(connect().await, "/user HTTP/1.1\r\nx-kant-user: 0:0").await;
    assert!(answer.starts_with("HTTP/1.1 400") && answer.contains("user-claimed"), "{answer}");
}

#[tokio::test]
async fn other_hosts_are_served_with_tls_only() {
    for addr in ["0.0.0.0:0", "[::]:0"] {
        let error = HttpListener::bind(addr, None).await.err().unwrap();
        assert!(matches!(error, ListenError::NeedsTls { .. }), "{error}");
        assert!(error.to_string().contains("http_certificate"), "{error}");
    }
    let dir = tempfile::tempdir().unwrap();
    let listener = HttpListener::bind("0.0.0.0:0", Some(&pem(dir.path()).0)).await.unwrap();
    assert_eq!(listener.scheme(), "https");
}

#[tokio::test]
async fn the_certificate_of_the_files_is_shown() {
    let dir = tempfile::tempdir().unwrap();
    let (files, certificate) = pem(dir.path());
    let addr = start(Some(&files)).await;
    let mut roots = RootCertStore::empty();
    roots.add(certificate).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = soon(TcpStream::connect(addr)).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let stream = soon(TlsConnector::from(Arc::new(config)).connect(name, stream)).await.unwrap();
    assert!(ask(stream, "/caller HTTP/1.1").await.ends_with("Anonymous"));
}

#[tokio::test]
async fn files_that_hold_no_certificate_or_an_open_key_are_refused_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let (files, _) = pem(dir.path());
    let message = |files: PemFiles| async move {
        HttpListener::bind("127.0.0.1:0", Some(&files)).await.err().unwrap().to_string()
    };
    let swapped = PemFiles { certificate: files.key.clone(), key: files.certificate.clone() };
    assert!(message(swapped).await.contains("http_certificate"));
    let missing = PemFiles { key: dir.path().join("none.pem"), ..files.clone() };
    assert!(message(missing).await.contains("none.pem"));
    fs::set_permissions(&files.key, Permissions::from_mode(0o644)).unwrap();
    assert!(message(files).await.contains("chmod o-rwx"));
}
