//! Tests of authentication over TLS, and of roles.

#![allow(clippy::unwrap_used)] // a test fails by panicking

mod support;

use axum::Router;
use axum::routing::get;
use net::{Authority, Caller, Client, ClientError, Identity, Invitation};
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
            Caller::Stranger(_) => "\"stranger\"".to_owned(),
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
        assert_eq!(answer, identity.role().unwrap().to_string());
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
    assert!(error.to_string().contains("this host's cluster"), "{error}");
    server.stop().await;
}

/// A client that trusts any server, for testing the server's checks.
#[tokio::test]
async fn a_server_lets_in_no_client_of_another_cluster_and_knows_one_without_certificate() {
    let ours = key();
    let (server, addr) = serve_tls("127.0.0.1:0", &controller(&ours), who()).await;
    let foreign = gullible::with_identity(&node(&key(), "g-1"));
    let answer = soon(gullible::ask(foreign, addr)).await;
    assert!(answer.is_err(), "{answer:?}");
    let answer = soon(gullible::ask(gullible::anonymous(), addr)).await.unwrap();
    assert!(answer.contains("stranger"), "{answer}");
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
async fn an_invited_host_trusts_only_the_cluster_of_its_invitation() {
    let (ours, other) = (key(), key());
    let invitation = |key| Invitation::new(Authority::new(key).unwrap().fingerprint()).unwrap();
    let (server, addr) = serve_tls("127.0.0.1:0", &controller(&ours), who()).await;
    let ask = async |key| {
        let identity = Identity::for_invited_host(&invitation(key)).unwrap();
        soon(Client::new(tls(addr, &identity)).get::<String>("/who")).await
    };
    assert_eq!(ask(&ours).await.unwrap(), "stranger");
    let error = ask(&other).await.unwrap_err();
    assert!(error.is_unreachable(), "{error}");
    server.stop().await;
}

#[tokio::test]
async fn a_replaced_identity_holds_for_new_connections_of_both_sides() {
    let (old, new) = (key(), key());
    let (serving, asking) = (controller(&old), node(&old, "g-1"));
    let (server, addr) = serve_tls("127.0.0.1:0", &serving, who()).await;
    let ask = || async { soon(Client::new(tls(addr, &asking)).get::<String>("/who")).await };
    assert_eq!(ask().await.unwrap(), "node g-1");
    serving.replace(&controller(&new));
    assert!(ask().await.unwrap_err().is_unreachable());
    asking.replace(&node(&new, "g-2"));
    assert_eq!(ask().await.unwrap(), "node g-2");
    server.stop().await;
}

#[tokio::test]
async fn roles_with_similar_names_stay_distinct() {
    let key = key();
    let (server, addr) = serve_tls("127.0.0.1:0", &controller(&key), who()).await;
    let client = Client::new(tls(addr, &node(&key, "controller")));
    let answer: String = soon(client.get("/who")).await.unwrap();
    assert_eq!(answer, "node controller");
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
