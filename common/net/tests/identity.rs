//! Tests of authentication over TLS, and of roles.

#![allow(clippy::unwrap_used)] // a test fails by panicking

mod support;

use axum::Router;
use axum::routing::get;
use net::{Caller, Client, ClientError, Role};
use support::{controller, key, node, serve_tls, soon, tls};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

/// Answers with the caller's role.
fn who() -> Router {
    async fn answer(caller: Caller) -> String {
        match caller {
            Caller::Peer(role) => format!("\"{role}\""),
            Caller::Local { uid, .. } => format!("\"uid {uid}\""),
            other => panic!("{other:?}"),
        }
    }
    Router::new().route("/who", get(answer))
}

#[tokio::test]
async fn both_ends_prove_themselves_and_the_server_learns_the_role() {
    let key = key();
    let (server, addr) = serve_tls("127.0.0.1:0", &controller(&key), who()).await;
    for identity in [node(&key, "g-012"), controller(&key)] {
        let client = Client::new(tls(addr, &identity));
        let answer: String = soon(client.get("/who")).await.unwrap();
        assert_eq!(answer, identity.role().to_string());
    }
    server.stop().await;
}

#[tokio::test]
async fn ipv6_and_host_names_work_as_addresses() {
    let key = key();
    let (server, addr) = serve_tls("[::1]:0", &controller(&key), who()).await;
    let client = Client::new(tls(addr, &node(&key, "g-1")));
    assert_eq!(soon(client.get::<String>("/who")).await.unwrap(), "node g-1");
    server.stop().await;

    let (server, addr) = serve_tls("localhost:0", &controller(&key), who()).await;
    let endpoint = net::Endpoint::Tls {
        addr: format!("localhost:{}", addr.port()),
        identity: node(&key, "g-1"),
    };
    assert_eq!(soon(Client::new(endpoint).get::<String>("/who")).await.unwrap(), "node g-1");
    server.stop().await;
}

#[tokio::test]
async fn a_client_trusts_no_controller_of_another_cluster() {
    let (server, addr) = serve_tls("127.0.0.1:0", &controller(&key()), who()).await;
    let client = Client::new(tls(addr, &node(&key(), "g-1")));
    let error = soon(client.get::<String>("/who")).await.unwrap_err();
    assert!(error.is_unreachable(), "{error}");
    assert!(error.to_string().contains("the same cluster key"), "{error}");
    server.stop().await;
}

/// A client that trusts any server, for testing the server's checks.
#[tokio::test]
async fn a_server_lets_in_no_client_of_another_cluster_and_none_without_certificate() {
    let ours = key();
    let (server, addr) = serve_tls("127.0.0.1:0", &controller(&ours), who()).await;
    let stranger = key();
    for config in [gullible::with_identity(&node(&stranger, "g-1")), gullible::anonymous()] {
        let answer = soon(gullible::ask(config, addr)).await;
        assert!(answer.is_err(), "{answer:?}");
    }
    // The client itself works: with the right identity it gets an answer.
    let config = gullible::with_identity(&node(&ours, "g-1"));
    assert!(soon(gullible::ask(config, addr)).await.unwrap().contains("node g-1"));
    server.stop().await;
}

#[tokio::test]
async fn a_node_cannot_pose_as_a_controller() {
    let key = key();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let acceptor = TlsAcceptor::from(node(&key, "evil").server_config());
    let posing = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        acceptor.accept(stream).await.is_ok()
    });
    let client = Client::new(tls(addr, &node(&key, "g-1")));
    let error = soon(client.get::<String>("/who")).await.unwrap_err();
    assert!(matches!(error, ClientError::Unreachable { .. }), "{error}");
    assert!(!soon(posing).await.unwrap(), "the victim completed the handshake");
}

#[tokio::test]
async fn garbage_and_silence_do_not_hurt_the_listener() {
    let key = key();
    let (server, addr) = serve_tls("127.0.0.1:0", &controller(&key), who()).await;
    let mut silent = Vec::new();
    for round in 0..50u8 {
        silent.push(TcpStream::connect(addr).await.unwrap());
        let mut garbage = TcpStream::connect(addr).await.unwrap();
        garbage.write_all(&[round; 700]).await.unwrap();
        let mut plain = TcpStream::connect(addr).await.unwrap();
        plain.write_all(b"GET /who HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
        if round == 0 {
            // The router's answers are never visible to a caller without a certificate.
            let mut answer = Vec::new();
            let _ = soon(plain.read_to_end(&mut answer)).await;
            assert!(!String::from_utf8_lossy(&answer).contains("HTTP"), "{answer:?}");
        }
    }
    let client = Client::new(tls(addr, &node(&key, "g-1")));
    assert_eq!(soon(client.get::<String>("/who")).await.unwrap(), "node g-1");
    drop(silent);
    server.stop().await;
}

#[tokio::test]
async fn roles_with_similar_names_stay_distinct() {
    let key = key();
    let (server, addr) = serve_tls("127.0.0.1:0", &controller(&key), who()).await;
    let client = Client::new(tls(addr, &node(&key, "controller")));
    let answer: String = soon(client.get("/who")).await.unwrap();
    assert_eq!(answer, Role::Node("controller".to_owned()).to_string());
    server.stop().await;
}

/// A TLS client that verifies nothing.
mod gullible {
    use std::net::SocketAddr;
    use std::sync::Arc;

    use net::Identity;
    use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
    use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
    use rustls::{ClientConfig, DigitallySignedStruct, Error, SignatureScheme};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;
    use tokio_rustls::TlsConnector;

    #[derive(Debug)]
    struct TrustAll;

    pub fn with_identity(identity: &Identity) -> ClientConfig {
        let mut config = ClientConfig::clone(&identity.client_config());
        config.dangerous().set_certificate_verifier(Arc::new(TrustAll));
        config
    }

    pub fn anonymous() -> ClientConfig {
        ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap()
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(TrustAll))
            .with_no_client_auth()
    }

    pub async fn ask(config: ClientConfig, addr: SocketAddr) -> std::io::Result<String> {
        let stream = TcpStream::connect(addr).await?;
        let name = ServerName::try_from("controller.kant.internal").unwrap();
        let mut stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await?;
        stream.write_all(b"GET /who HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        Ok(answer)
    }

    impl ServerCertVerifier for TrustAll {
        fn verify_server_cert(
            &self,
            _: &CertificateDer<'_>,
            _: &[CertificateDer<'_>],
            _: &ServerName<'_>,
            _: &[u8],
            _: UnixTime,
        ) -> Result<ServerCertVerified, Error> {
            Ok(ServerCertVerified::assertion())
        }

        fn verify_tls12_signature(
            &self,
            _: &[u8],
            _: &CertificateDer<'_>,
            _: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            Ok(HandshakeSignatureValid::assertion())
        }

        fn verify_tls13_signature(
            &self,
            _: &[u8],
            _: &CertificateDer<'_>,
            _: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            Ok(HandshakeSignatureValid::assertion())
        }

        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            vec![SignatureScheme::ED25519]
        }
    }
}
