//! Bodies in pieces, protocols beside HTTP/1.1, and connections that switch protocols.

use crate::support::{
    Client, DEADLINE, Replica, Site, config, eventually, read_until, request, route, soon,
};
use common::service::table::Protocol;
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::{Bytes, Frame};
use hyper::{Response, StatusCode};
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::{Mutex, mpsc};

const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n";

/// A replica whose answer consists of the pieces that are sent.
async fn in_pieces() -> (Replica, mpsc::Sender<&'static str>) {
    let (pieces, receiver) = mpsc::channel::<&'static str>(1);
    let receiver = Arc::new(Mutex::new(receiver));
    let replica = Replica::start(move |_| {
        let receiver = receiver.clone();
        async move {
            let stream = futures_util::stream::unfold(receiver, |receiver| async {
                let piece = receiver.lock().await.recv().await?;
                Some((Ok::<_, Infallible>(Frame::data(Bytes::from(piece))), receiver))
            });
            let mut response = Response::new(StreamBody::new(stream).boxed());
            let kind = "text/event-stream".parse().unwrap();
            response.headers_mut().insert("content-type", kind);
            response
        }
    });
    (replica.await, pieces)
}

#[tokio::test]
async fn an_event_arrives_before_the_next_is_sent() {
    let (replica, pieces) = in_pieces().await;
    let site = Site::start(config(), route(&[&replica])).await;
    let mut stream = TcpStream::connect(site.addr()).await.unwrap();
    stream.write_all(GET).await.unwrap();
    soon(read_until(&mut stream, "text/event-stream")).await;
    for piece in ["data: one\n\n", "data: two\n\n", "data: three\n\n"] {
        pieces.send(piece).await.unwrap();
        soon(read_until(&mut stream, piece)).await;
    }
    assert_eq!(site.load().in_flight, 1);
    drop(pieces);
    soon(read_until(&mut stream, "0\r\n\r\n")).await;
    eventually("the request ends", || site.load().in_flight == 0).await;
}

#[tokio::test]
async fn a_replica_gets_a_part_of_a_body_before_the_rest_is_sent() {
    let (parts, mut received) = mpsc::unbounded_channel();
    let replica = Replica::start(move |request| {
        let parts = parts.clone();
        async move {
            let mut body = request.into_body();
            while let Some(Ok(frame)) = body.frame().await {
                parts.send(frame.into_data().unwrap()).unwrap();
            }
            crate::support::reply("done")
        }
    });
    let replica = replica.await;
    let site = Site::start(config(), route(&[&replica])).await;
    let mut stream = TcpStream::connect(site.addr()).await.unwrap();
    let head = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
    stream.write_all(head).await.unwrap();
    for part in ["one", "two"] {
        stream.write_all(format!("3\r\n{part}\r\n").as_bytes()).await.unwrap();
        assert_eq!(soon(received.recv()).await.unwrap(), part);
    }
    stream.write_all(b"0\r\n\r\n").await.unwrap();
    soon(read_until(&mut stream, "done")).await;
}

#[tokio::test]
async fn the_replica_learns_that_the_client_has_left() {
    let (replica, pieces) = in_pieces().await;
    let site = Site::start(config(), route(&[&replica])).await;
    let mut stream = TcpStream::connect(site.addr()).await.unwrap();
    stream.write_all(GET).await.unwrap();
    soon(read_until(&mut stream, "text/event-stream")).await;
    drop(stream);
    // Its server drops the body, and with it the receiver, when the connection is closed.
    let left = tokio::time::timeout(DEADLINE, async {
        while site.load().in_flight > 0 || pieces.try_send("more").is_ok() {
            tokio::task::yield_now().await;
        }
    });
    left.await.unwrap();
    assert_eq!(site.metric("errors_total", ",kind=\"client_gone\""), 1);
}

#[tokio::test]
async fn an_answer_that_the_replica_cuts_off_is_not_completed() {
    let (replica, pieces) = in_pieces().await;
    let site = Site::start(config(), route(&[&replica])).await;
    let mut stream = TcpStream::connect(site.addr()).await.unwrap();
    stream.write_all(GET).await.unwrap();
    pieces.send("data: one\n\n").await.unwrap();
    soon(read_until(&mut stream, "data: one")).await;
    replica.kill().await;
    let mut rest = String::new();
    let _ = soon(stream.read_to_string(&mut rest)).await;
    assert!(!rest.contains("0\r\n\r\n"), "{rest:?}");
    assert_eq!(site.metric("errors_total", ",kind=\"answer_cut\""), 1);
}

#[tokio::test]
async fn http_2_is_understood_on_both_sides() {
    let echo = |request: hyper::Request<_>| async move {
        let version = request.version();
        let host = request.headers().get("host").cloned();
        let authority = request.uri().authority().map(ToString::to_string);
        crate::support::reply(format!("{version:?} {host:?} {authority:?}"))
    };
    for protocol in [Protocol::Http1, Protocol::H2c] {
        let replica = match protocol {
            Protocol::Http1 => Replica::start(echo).await,
            Protocol::H2c => Replica::start_h2c(echo).await,
        };
        let mut route = route(&[&replica]);
        route.protocol = protocol;
        let site = Site::start(config(), route).await;
        let mut two = Client::connect_h2c(site.addr()).await;
        let mut one = Client::connect(site.addr()).await;
        for round in 0..4 {
            let client = if round % 2 == 0 { &mut one } else { &mut two };
            let answer = soon(client.get("/")).await;
            let expected = match protocol {
                Protocol::Http1 => "HTTP/1.1 Some(\"test\") None",
                Protocol::H2c => "HTTP/2.0 None Some(\"test\")",
            };
            assert_eq!(answer.body(), expected);
        }
    }
}

#[tokio::test]
async fn many_requests_share_a_connection_with_http_2() {
    let waits = Arc::new(tokio::sync::Semaphore::new(0));
    let gate = waits.clone();
    let replica = Replica::start_h2c(move |_| {
        let gate = gate.clone();
        async move {
            gate.acquire().await.unwrap().forget();
            crate::support::reply("ok")
        }
    });
    let replica = replica.await;
    let mut route = route(&[&replica]);
    route.protocol = Protocol::H2c;
    let site = Site::start(config(), route).await;
    let Client::Two(sender) = Client::connect_h2c(site.addr()).await else { panic!() };
    let requests: Vec<_> = (0..50)
        .map(|_| {
            let mut client = Client::Two(sender.clone());
            tokio::spawn(async move { client.get("/").await.status() })
        })
        .collect();
    eventually("all are in flight", || site.load().in_flight == 50).await;
    assert_eq!(site.metric("connections", ""), 1);
    waits.add_permits(50);
    for request in requests {
        assert_eq!(soon(request).await.unwrap(), 200);
    }
}

#[tokio::test]
async fn trailers_pass_with_http_2_as_grpc_needs_them() {
    let replica = Replica::start_h2c(|request| async move {
        assert_eq!(request.headers()["te"], "trailers");
        let mut trailers = hyper::HeaderMap::new();
        trailers.insert("grpc-status", "0".parse().unwrap());
        let frames = [Frame::data(Bytes::from("message")), Frame::trailers(trailers)];
        let frames = futures_util::stream::iter(frames.map(Ok::<_, Infallible>));
        Response::new(StreamBody::new(frames).boxed())
    });
    let replica = replica.await;
    let mut route = route(&[&replica]);
    route.protocol = Protocol::H2c;
    let site = Site::start(config(), route).await;
    let Client::Two(mut sender) = Client::connect_h2c(site.addr()).await else { panic!() };
    let mut asked = request("POST", "/", &[("te", "trailers")], "");
    *asked.uri_mut() = "http://test/".parse().unwrap();
    let answer = soon(sender.send_request(asked)).await.unwrap();
    let body = soon(answer.into_body().collect()).await.unwrap();
    assert_eq!(body.trailers().unwrap()["grpc-status"], "0");
    assert_eq!(body.to_bytes(), "message");
}

/// A replica that switches to a protocol in which it repeats what it gets.
pub async fn repeating() -> (Replica, Arc<AtomicBool>) {
    let has_ended = Arc::new(AtomicBool::new(false));
    let ended = has_ended.clone();
    let replica = Replica::start(move |mut request| {
        let ended = ended.clone();
        async move {
            let protocol = request.headers().get("upgrade").cloned();
            let mut reply = crate::support::reply("");
            let Some(protocol) = protocol else { return reply };
            let upgrade = hyper::upgrade::on(&mut request);
            tokio::spawn(async move {
                let mut stream = TokioIo::new(upgrade.await.unwrap());
                let mut buffer = [0; 100];
                while let Ok(count @ 1..) = stream.read(&mut buffer).await {
                    stream.write_all(&buffer[..count]).await.unwrap();
                }
                ended.store(true, SeqCst);
            });
            *reply.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
            reply.headers_mut().insert("connection", "upgrade".parse().unwrap());
            reply.headers_mut().insert("upgrade", protocol);
            reply.headers_mut().insert("sec-websocket-accept", "x".parse().unwrap());
            reply
        }
    });
    (replica.await, has_ended)
}

pub const UPGRADE: &[u8] = b"GET /chat HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n\
    Upgrade: websocket\r\nSec-WebSocket-Key: x\r\n\r\n";

#[tokio::test]
async fn a_websocket_passes_both_ways_and_counts_as_a_request_in_flight() {
    let (replica, has_ended) = repeating().await;
    let site = Site::start(config(), route(&[&replica])).await;
    let mut stream = TcpStream::connect(site.addr()).await.unwrap();
    stream.write_all(UPGRADE).await.unwrap();
    let head = soon(read_until(&mut stream, "\r\n\r\n")).await;
    assert!(head.starts_with("HTTP/1.1 101 Switching Protocols\r\n"), "{head}");
    for field in ["upgrade: websocket\r\n", "connection: upgrade\r\n", "sec-websocket-accept: x"] {
        assert!(head.contains(field), "{head}");
    }
    for text in ["one", "two"] {
        stream.write_all(text.as_bytes()).await.unwrap();
        assert_eq!(soon(read_until(&mut stream, text)).await, text);
    }
    let load = site.load();
    assert_eq!((load.in_flight, load.endpoints[0].in_flight), (1, 1));
    drop(stream);
    eventually("the tunnel ends", || site.load().in_flight == 0).await;
    eventually("the replica learns it", || has_ended.load(SeqCst)).await;
    assert_eq!(site.load().endpoints[0].in_flight, 0);
    assert_eq!(site.metric("answers_total", ",code=\"1xx\""), 1);
}

#[tokio::test]
async fn a_refused_upgrade_is_an_answer_like_any_other() {
    let replica = Replica::echo("one").await;
    let site = Site::start(config(), route(&[&replica])).await;
    let mut stream = TcpStream::connect(site.addr()).await.unwrap();
    stream.write_all(UPGRADE).await.unwrap();
    let answer = soon(read_until(&mut stream, "upgrade: websocket\n")).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    eventually("the request ends", || site.load().in_flight == 0).await;
}
