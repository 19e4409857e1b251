//! Clients of the router.

use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::client::conn::{http1, http2};
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// A client with one connection.
pub enum Client {
    One(http1::SendRequest<Full<Bytes>>),
    Two(http2::SendRequest<Full<Bytes>>),
}

/// A whole answer.
pub type Answer = Response<String>;

impl Client {
    pub async fn connect(addr: SocketAddr) -> Self {
        let io = TokioIo::new(TcpStream::connect(addr).await.unwrap());
        let (sender, connection) = http1::handshake(io).await.unwrap();
        tokio::spawn(connection.with_upgrades());
        Self::One(sender)
    }

    pub async fn connect_h2c(addr: SocketAddr) -> Self {
        let io = TokioIo::new(TcpStream::connect(addr).await.unwrap());
        let (sender, connection) = http2::handshake(TokioExecutor::new(), io).await.unwrap();
        tokio::spawn(connection);
        Self::Two(sender)
    }

    pub async fn get(&mut self, path: &str) -> Answer {
        self.send(request("GET", path, &[], "")).await
    }

    pub async fn post(&mut self, path: &str, body: &str) -> Answer {
        self.send(request("POST", path, &[], body)).await
    }

    /// Sends a request and reads the whole answer.
    pub async fn send(&mut self, request: Request<Full<Bytes>>) -> Answer {
        self.try_send(request).await.unwrap()
    }

    pub async fn try_send(&mut self, request: Request<Full<Bytes>>) -> hyper::Result<Answer> {
        let response = match self {
            Self::One(sender) => {
                sender.ready().await?;
                sender.send_request(request).await?
            }
            Self::Two(sender) => {
                sender.ready().await?;
                let (mut parts, body) = request.into_parts();
                let path = parts.uri.path_and_query().unwrap().as_str();
                parts.uri = format!("http://test{path}").parse().unwrap();
                sender.send_request(Request::from_parts(parts, body)).await?
            }
        };
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await?.to_bytes();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Ok(Response::from_parts(parts, text))
    }
}

pub fn request(
    method: &str,
    path: &str,
    fields: &[(&str, &str)],
    body: &str,
) -> Request<Full<Bytes>> {
    let mut request = Request::builder().method(method).uri(path).header("host", "test");
    for (name, value) in fields {
        request = request.header(*name, *value);
    }
    request.body(Full::new(Bytes::from(body.to_owned()))).unwrap()
}

/// Sends bytes on a connection of their own, and returns all that comes back until it is closed.
pub async fn raw(addr: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(addr).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    let mut answer = Vec::new();
    // A reset after the answer is an end like any other.
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

/// Reads until a text has come, and returns all that was read.
pub async fn read_until(stream: &mut TcpStream, text: &str) -> String {
    let mut all = Vec::new();
    loop {
        let so_far = String::from_utf8_lossy(&all).into_owned();
        if so_far.contains(text) {
            return so_far;
        }
        let count = stream.read_buf(&mut all).await.unwrap();
        assert!(count > 0, "the connection ended after {so_far:?}");
    }
}

/// Waits for the end of a connection, and returns what came until then.
pub async fn rest(stream: &mut TcpStream) -> String {
    let mut rest = Vec::new();
    // A reset is an end like any other.
    let _ = stream.read_to_end(&mut rest).await;
    String::from_utf8_lossy(&rest).into_owned()
}
