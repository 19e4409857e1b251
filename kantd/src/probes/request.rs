//! A GET on a connection of its own.

use super::attempt::ProbeFailure;
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::HOST;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};

/// Gets a path, and its body if that is of interest, up to this size. A status from 200 to 399 is a
/// success.
pub(super) async fn get(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    path: &str,
    body_max: Option<usize>,
) -> Result<Bytes, ProbeFailure> {
    let failed = |source| ProbeFailure::Request { path: path.to_owned(), source };
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(failed)?;
    let request = Request::get(path).header(HOST, "localhost").body(Empty::<Bytes>::new());
    // The path was checked when the service was deployed.
    let request = request.map_err(|_| ProbeFailure::Path { path: path.to_owned() })?;
    let answer = async {
        let answer = sender.send_request(request).await.map_err(failed)?;
        let status = answer.status();
        if !status.is_success() && !status.is_redirection() {
            let (path, status) = (path.to_owned(), status.as_u16());
            return Err(ProbeFailure::Status { path, status });
        }
        let Some(body_max) = body_max else { return Ok(Bytes::new()) };
        let body = Limited::new(answer.into_body(), body_max).collect().await;
        let unread = |_| ProbeFailure::Body { path: path.to_owned(), body_max };
        Ok(body.map_err(unread)?.to_bytes())
    };
    let ended = async {
        match connection.await {
            Err(error) => failed(error),
            // The answer is complete, or its reader fails.
            Ok(()) => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        answer = answer => answer,
        failure = ended => Err(failure),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tls;
    use super::*;
    use rcgen::{CertifiedKey, generate_simple_self_signed};
    use rustls::ServerConfig;
    use rustls::pki_types::PrivateKeyDer;
    use std::sync::Arc;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpStream};
    use tokio_rustls::TlsAcceptor;

    fn acceptor() -> TlsAcceptor {
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(vec!["models.example".to_owned()]).unwrap();
        let key = PrivateKeyDer::try_from(signing_key.serialize_der()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider);
        let builder = builder.with_safe_default_protocol_versions().unwrap();
        let config = builder.with_no_client_auth().with_single_cert(vec![cert.der().clone()], key);
        TlsAcceptor::from(Arc::new(config.unwrap()))
    }

    /// Answers each connection with these bytes, and returns its address.
    async fn server(answer: &'static [u8]) -> std::net::SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (addr, acceptor) = (listener.local_addr().unwrap(), acceptor());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let Ok(mut stream) = acceptor.accept(stream).await else { continue };
                let _ = stream.read(&mut [0; 1024]).await;
                let _ = stream.write_all(answer).await;
                let _ = stream.shutdown().await;
            }
        });
        addr
    }

    async fn ask(answer: &'static [u8], body_max: usize) -> Result<Bytes, String> {
        let stream = TcpStream::connect(server(answer).await).await.unwrap();
        let stream = tls::connect(stream).await.unwrap();
        get(stream, "/health", Some(body_max)).await.map_err(|failure| failure.to_string())
    }

    #[tokio::test]
    async fn a_replica_with_any_certificate_is_asked_with_tls() {
        let fine = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
        assert_eq!(ask(fine, 16).await.unwrap(), "ok");
        let busy = b"HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n";
        assert_eq!(ask(busy, 16).await.unwrap_err(), "GET /health answered 503");
        let why = ask(fine, 1).await.unwrap_err();
        assert_eq!(why, "the answer to GET /health broke off, or has more than 1 bytes");
    }

    #[tokio::test]
    async fn no_replica_is_offered_the_ticket_of_another() {
        let addr = server(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
        for _ in 0..3 {
            let mut stream = tls::connect(TcpStream::connect(addr).await.unwrap()).await.unwrap();
            stream.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
            // Tickets come before the answer.
            let _ = stream.read_to_end(&mut Vec::new()).await;
            let kind = stream.get_ref().1.handshake_kind();
            assert_eq!(kind, Some(rustls::HandshakeKind::Full));
        }
    }

    #[tokio::test]
    async fn a_server_without_tls_fails_the_greeting() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (mut other, _) = listener.accept().await.unwrap();
        other.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
        assert!(tls::connect(stream).await.is_err());
    }
}
