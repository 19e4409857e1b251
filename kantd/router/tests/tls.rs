//! Clients with TLS.

use crate::support::{Client, Replica, Site, config, raw, request, route, soon};
use http_body_util::{BodyExt as _, Empty};
use hyper::body::Bytes;
use hyper::client::conn::{http1, http2};
use hyper::{Request, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use router::{Config, Router, TlsFiles};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Writes a new certificate for `test` into the directory.
fn write_certificate(dir: &TempDir) -> (TlsFiles, CertificateDer<'static>) {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(vec!["test".to_owned()]).unwrap();
    let files =
        TlsFiles { certificate: dir.path().join("router.pem"), key: dir.path().join("router.key") };
    std::fs::write(&files.key, signing_key.serialize_pem()).unwrap();
    std::fs::write(&files.certificate, cert.pem()).unwrap();
    (files, cert.der().clone())
}

/// A connection of a client that trusts this certificate only.
async fn connect(
    addr: SocketAddr,
    trusted: &CertificateDer<'static>,
    protocol: &[u8],
) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider);
    let builder = builder.with_safe_default_protocol_versions().unwrap();
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![protocol.to_vec()];
    let stream = TcpStream::connect(addr).await?;
    let name = ServerName::try_from("test").unwrap();
    TlsConnector::from(Arc::new(config)).connect(name, stream).await
}

async fn site(replica: &Replica, files: TlsFiles) -> Site {
    Site::start(Config { tls: Some(files), ..config() }, route(&[replica])).await
}

#[tokio::test]
async fn clients_with_tls_get_answers_by_either_version_of_http() {
    let dir = tempfile::tempdir().unwrap();
    let (files, certificate) = write_certificate(&dir);
    let replica = Replica::echo("one").await;
    let site = site(&replica, files).await;

    let stream = connect(site.addr(), &certificate, b"http/1.1").await.unwrap();
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let get =
        |uri: &str| Request::get(uri).header("host", "test").body(Empty::<Bytes>::new()).unwrap();
    for _ in 0..2 {
        let answer = soon(sender.send_request(get("/"))).await.unwrap();
        assert_eq!(answer.status(), StatusCode::OK);
        answer.into_body().collect().await.unwrap();
    }

    let stream = connect(site.addr(), &certificate, b"h2").await.unwrap();
    let io = TokioIo::new(stream);
    let (mut sender, connection) = http2::handshake(TokioExecutor::new(), io).await.unwrap();
    tokio::spawn(connection);
    let answer = soon(sender.send_request(get("https://test/"))).await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
}

#[tokio::test]
async fn a_client_without_tls_gets_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (files, _) = write_certificate(&dir);
    let replica = Replica::echo("one").await;
    let site = site(&replica, files).await;
    let answer = soon(raw(site.addr(), b"GET / HTTP/1.1\r\nHost: test\r\n\r\n")).await;
    assert!(!answer.contains("HTTP/1.1"), "{answer}");
    let mut client = Client::connect(site.addr()).await;
    assert!(soon(client.try_send(request("GET", "/", &[], ""))).await.is_err());
}

#[tokio::test]
async fn a_renewed_certificate_is_used_without_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let (files, first) = write_certificate(&dir);
    let replica = Replica::echo("one").await;
    let site = site(&replica, files.clone()).await;
    connect(site.addr(), &first, b"h2").await.unwrap();
    let (_, second) = write_certificate(&dir);
    let renewed = async {
        while connect(site.addr(), &second, b"h2").await.is_err() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    soon(renewed).await;
    assert!(connect(site.addr(), &first, b"h2").await.is_err(), "it is no longer in use");
}

#[test]
fn a_router_does_not_start_with_a_certificate_that_it_cannot_use() {
    let dir = tempfile::tempdir().unwrap();
    let (files, _) = write_certificate(&dir);
    let start = |files: TlsFiles| {
        let (_tables, receiver) = watch::channel(Arc::default());
        let started = Router::start(Config { tls: Some(files), ..config() }, receiver);
        started.err().map(|error| error.to_string())
    };
    let missing = TlsFiles { key: dir.path().join("none"), ..files.clone() };
    assert!(start(missing).unwrap().starts_with("failed to read "));
    let other = rcgen::KeyPair::generate().unwrap();
    std::fs::write(&files.key, other.serialize_pem()).unwrap();
    assert!(start(files).unwrap().starts_with("failed to use the certificate "));
}
