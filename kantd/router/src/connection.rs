//! One connection of a client. While it is idle, it costs little memory: the buffers of the HTTP
//! library exist only from the first byte of a request until a while after the last answer.

use crate::client_io::ClientIo;
use crate::client_stream::ClientStream;
use crate::client_watch::ClientWatch;
use crate::exchange::Site;
use crate::forward;
use crate::service::Closing;
use crate::stats::Counted;
use crate::tls::Tls;
use hyper::body::Bytes;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use std::future::{pending, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;
use tokio::net::TcpStream;
use tokio::sync::watch;

/// Room for the first bytes of a request; most requests without a body fit.
const FIRST_BYTES: usize = 2048;
/// The most of one answer that waits for a client with HTTP/2.
const SEND_BUFFER_BYTES_MAX: usize = 64 << 10;
/// The first bytes of HTTP/2 with prior knowledge, enough to tell it from all methods.
/// Source: RFC 9113, section 3.4.
const HTTP2: &[u8] = b"PRI";

/// Answers the requests on a connection until it ends.
pub async fn serve(mut stream: TcpStream, site: Arc<Site>) {
    let mut closing = site.service.subscribe_closing();
    let mut rest = Bytes::new();
    loop {
        let first = {
            let _parked = Counted::begin(&site.service.stats.connections_parked);
            tokio::select! {
                first = read_first(&stream, &site.watch, rest) => first,
                () = wait_until_closing(&mut closing) => return,
            }
        };
        let Ok(Some((first, is_http2))) = first else { return };
        let io = ClientIo::new(ClientStream::Plain(stream), first, site.watch.clone());
        if is_http2 {
            site.watch.set_http2();
            return serve_http2(io, site, closing).await;
        }
        match serve_http1(io, site.clone(), &mut closing, true).await {
            Some((ClientStream::Plain(idle), read)) => (stream, rest) = (idle, read),
            _ => return,
        }
    }
}

/// The same with TLS. Its buffers are kept while it is idle.
pub async fn serve_tls(stream: TcpStream, tls: &Tls, site: Arc<Site>) {
    let mut closing = site.service.subscribe_closing();
    let greeted = tls.accept(stream, site.watch.limits().head).await;
    let (stream, is_http2) = match greeted {
        Ok(greeted) => greeted,
        Err(error) => return tracing::debug!(%error, "a client did not agree on TLS"),
    };
    let stream = ClientStream::Tls(Box::new(stream));
    let io = ClientIo::new(stream, Bytes::new(), site.watch.clone());
    if is_http2 {
        site.watch.set_http2();
        return serve_http2(io, site, closing).await;
    }
    serve_http1(io, site, &mut closing, false).await;
}

/// Ready when the connection should end.
async fn wait_until_closing(closing: &mut watch::Receiver<Closing>) {
    // An error means that the service is gone, which its connections keep alive.
    let _ = closing.wait_for(|closing| *closing != Closing::Open).await;
}

/// Ready when the connection must end, with or without requests in flight.
async fn wait_until_forced_end(closing: &mut watch::Receiver<Closing>) {
    let by = closing.wait_for(|closing| matches!(closing, Closing::By(_))).await;
    match by.map(|closing| *closing) {
        Ok(Closing::By(end)) => tokio::time::sleep_until(end.into()).await,
        _ => pending().await,
    }
}

/// Waits for the first bytes of a request, and says whether they are HTTP/2; `None` at the end.
/// `rest` was read after a request with HTTP/1.1, and is the begin of another.
async fn read_first(
    stream: &TcpStream,
    watch: &ClientWatch,
    rest: Bytes,
) -> io::Result<Option<(Bytes, bool)>> {
    let mut first = rest;
    if !first.is_empty() {
        watch.note_read(&first);
        return Ok(Some((first, false)));
    }
    loop {
        let due = watch.due().map_or_else(Instant::now, |due| due.end);
        match tokio::time::timeout_at(due.into(), stream.readable()).await {
            Ok(readable) => readable?,
            Err(_) => return Ok(None),
        }
        let Some(more) = try_read(stream)? else { continue };
        if more.is_empty() {
            return Ok(None);
        }
        watch.note_read(&more);
        first = if first.is_empty() { more } else { Bytes::from([first, more].concat()) };
        let known = first.len().min(HTTP2.len());
        if first[..known] != HTTP2[..known] {
            return Ok(Some((first, false)));
        }
        if known == HTTP2.len() {
            return Ok(Some((first, true)));
        }
    }
}

/// What has arrived; `None` if nothing has. The buffer is not part of the waiting task.
fn try_read(stream: &TcpStream) -> io::Result<Option<Bytes>> {
    let mut buffer = [0; FIRST_BYTES];
    match stream.try_read(&mut buffer) {
        Ok(count) => Ok(Some(Bytes::copy_from_slice(&buffer[..count]))),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(error),
    }
}

/// Answers requests. If it `may_park`, returns the connection when it has been idle for a while,
/// with the bytes that were read of the next request.
async fn serve_http1(
    io: ClientIo,
    site: Arc<Site>,
    closing: &mut watch::Receiver<Closing>,
    may_park: bool,
) -> Option<(ClientStream, Bytes)> {
    let watch = site.watch.clone();
    let head_bytes_max = watch.limits().head_bytes_max;
    let service = service_fn(move |request| forward::answer(site.clone(), request));
    let connection = http1::Builder::new()
        .header_read_timeout(None)
        .max_buf_size(head_bytes_max)
        .max_header_size(head_bytes_max)
        .serve_connection(TokioIo::new(io), service)
        .with_upgrades();
    let mut connection = Box::new(connection);
    let ended = {
        let mut closes = pin!(wait_until_closing(closing));
        poll_fn(|cx| {
            if let Poll::Ready(ended) = Pin::new(&mut *connection).poll(cx) {
                return Poll::Ready(Next::Ended(ended));
            }
            if may_park && watch.take_may_park() {
                return Poll::Ready(Next::Parks);
            }
            closes.as_mut().poll(cx).map(|()| Next::Closes)
        })
        .await
    };
    match ended {
        Next::Ended(ended) => log_end(ended),
        Next::Parks => {
            let parts = connection.into_parts()?;
            return Some((parts.io.into_inner().into_stream(), parts.read_buf));
        }
        Next::Closes => {
            Pin::new(&mut *connection).graceful_shutdown();
            tokio::select! {
                ended = connection.as_mut() => log_end(ended),
                () = wait_until_forced_end(closing) => {}
            }
        }
    }
    None
}

/// What happens next on a connection.
enum Next {
    Ended(hyper::Result<()>),
    Parks,
    Closes,
}

async fn serve_http2(io: ClientIo, site: Arc<Site>, mut closing: watch::Receiver<Closing>) {
    let limits = *site.watch.limits();
    let service = service_fn(move |request| forward::answer(site.clone(), request));
    let head_bytes_max = u32::try_from(limits.head_bytes_max).unwrap_or(u32::MAX);
    let connection = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits.streams_max)
        .max_header_list_size(head_bytes_max)
        .max_send_buf_size(SEND_BUFFER_BYTES_MAX)
        .serve_connection(TokioIo::new(io), service);
    let mut connection = Box::pin(connection);
    tokio::select! {
        ended = connection.as_mut() => return log_end(ended),
        () = wait_until_closing(&mut closing) => connection.as_mut().graceful_shutdown(),
    }
    tokio::select! {
        ended = connection.as_mut() => log_end(ended),
        () = wait_until_forced_end(&mut closing) => {}
    }
}

fn log_end(ended: hyper::Result<()>) {
    if let Err(error) = ended {
        tracing::debug!(%error, "a client's connection ended early");
    }
}
