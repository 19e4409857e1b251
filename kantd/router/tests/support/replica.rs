//! A replica: an HTTP server on a port of its own that answers as a test says.

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

pub type Reply = Response<BoxBody<Bytes, Infallible>>;
type Answer =
    Arc<dyn Fn(Request<Incoming>) -> Pin<Box<dyn Future<Output = Reply> + Send>> + Send + Sync>;

/// A server, which ends with all its connections when it is dropped.
pub struct Replica {
    addr: SocketAddr,
    requests: Arc<AtomicU64>,
    task: JoinHandle<()>,
}

/// A whole answer.
pub fn reply(text: impl Into<Bytes>) -> Reply {
    Response::new(Full::new(text.into()).boxed())
}

impl Replica {
    /// Answers each request with this function.
    pub async fn start<F>(answer: impl Fn(Request<Incoming>) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Reply> + Send + 'static,
    {
        Self::with(false, Arc::new(move |request| Box::pin(answer(request)))).await
    }

    /// The same with HTTP/2 alone.
    pub async fn start_h2c<F>(
        answer: impl Fn(Request<Incoming>) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Reply> + Send + 'static,
    {
        Self::with(true, Arc::new(move |request| Box::pin(answer(request)))).await
    }

    /// Answers with its name, and with what it got.
    pub async fn echo(name: &'static str) -> Self {
        Self::start(move |request| echo(name, request)).await
    }

    async fn with(is_h2c: bool, answer: Answer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let requests = Arc::new(AtomicU64::new(0));
        let counted = requests.clone();
        let task = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                connections.spawn(serve(stream, is_h2c, answer.clone(), counted.clone()));
            }
        });
        Self { addr, requests, task }
    }

    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    pub fn requests(&self) -> u64 {
        self.requests.load(SeqCst)
    }

    /// Closes the port and all connections, as when the process is killed.
    pub async fn kill(self) {
        self.task.abort();
        while !self.task.is_finished() {
            tokio::task::yield_now().await;
        }
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(stream: TcpStream, is_h2c: bool, answer: Answer, requests: Arc<AtomicU64>) {
    let service = service_fn(move |request| {
        requests.fetch_add(1, SeqCst);
        let answer = answer(request);
        async { Ok::<_, Infallible>(answer.await) }
    });
    let io = TokioIo::new(stream);
    // The client's view of a connection that ends early is what counts.
    if is_h2c {
        let builder = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
        drop(builder.serve_connection(io, service).await);
    } else {
        let builder = hyper::server::conn::http1::Builder::new();
        drop(builder.serve_connection(io, service).with_upgrades().await);
    }
}

async fn echo(name: &'static str, request: Request<Incoming>) -> Reply {
    let (parts, body) = request.into_parts();
    let mut lines = format!("{name}\n{} {} {:?}\n", parts.method, parts.uri, parts.version);
    for (field, value) in &parts.headers {
        lines += &format!("{field}: {}\n", String::from_utf8_lossy(value.as_bytes()));
    }
    let body = body.collect().await.map_or_else(|_| Bytes::new(), |body| body.to_bytes());
    lines += &format!("\n{}", String::from_utf8_lossy(&body));
    reply(lines)
}
