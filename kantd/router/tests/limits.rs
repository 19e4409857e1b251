//! What a client may not take, and what it may not send.

use crate::support::{
    Client, Replica, Site, config, eventually, raw, read_until, request, rest, route, soon,
};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n";

#[tokio::test]
async fn a_client_that_sends_its_header_byte_by_byte_is_cut_off() {
    let replica = Replica::echo("one").await;
    let mut config = config();
    config.client.head = Duration::from_millis(200);
    let site = Site::start(config, route(&[&replica])).await;
    // Also for a request after the first, and one that follows another in the same piece.
    for first in [&b""[..], GET, b"GET / HTTP/1.1\r\nHost: x\r\n\r\nGE"] {
        let (mut reader, mut writer) = TcpStream::connect(site.addr()).await.unwrap().into_split();
        writer.write_all(first).await.unwrap();
        let sends = tokio::spawn(async move {
            loop {
                if writer.write_all(b"x").await.is_err() {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        });
        let mut answer = Vec::new();
        let _ = soon(reader.read_to_end(&mut answer)).await;
        assert_eq!(answer.is_empty(), first.is_empty());
        soon(sends).await.unwrap();
    }
    eventually("no connection is left", || site.metric("connections", "") == 0).await;
}

#[tokio::test]
async fn an_idle_connection_is_closed_and_one_in_use_is_not() {
    let replica = Replica::start(|request| async move {
        if request.uri().path() == "/slow" {
            tokio::time::sleep(Duration::from_millis(600)).await;
        }
        crate::support::reply("ok")
    });
    let replica = replica.await;
    let mut config = config();
    config.client.idle = Duration::from_millis(300);
    let site = Site::start(config, route(&[&replica])).await;
    let mut silent = TcpStream::connect(site.addr()).await.unwrap();
    assert_eq!(soon(rest(&mut silent)).await, "");
    let mut used = TcpStream::connect(site.addr()).await.unwrap();
    used.write_all(b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    soon(read_until(&mut used, "ok")).await;
    assert_eq!(soon(rest(&mut used)).await, "");
    let mut two = Client::connect_h2c(site.addr()).await;
    assert_eq!(soon(two.get("/slow")).await.status(), 200);
    eventually("no connection is left", || site.metric("connections", "") == 0).await;
}

/// Clients that connect and say nothing.
const IDLE_CLIENTS: u16 = 10_000;

#[tokio::test]
async fn ten_thousand_idle_clients_keep_no_request_waiting() {
    // Each connection has two ends in this process.
    let files = u64::from(IDLE_CLIENTS) * 2 + 1_000;
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    if soft < files && setrlimit(Resource::RLIMIT_NOFILE, files, hard.max(files)).is_err() {
        println!("skipped: {files} open files need root, or a larger `ulimit -n`");
        return;
    }
    let replica = Replica::echo("one").await;
    let site = Site::start(config(), route(&[&replica])).await;
    let mut idle = Vec::new();
    for number in 0..IDLE_CLIENTS {
        // One address may have 4,096 connections.
        let from = SocketAddr::from(([127, 0, 1, (number / 4_000) as u8 + 1], 0));
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(from).unwrap();
        idle.push(soon(socket.connect(site.addr())).await.unwrap());
    }
    let all = u64::from(IDLE_CLIENTS);
    eventually("all are connected", || site.metric("connections", "") == all).await;
    let mut client = Client::connect(site.addr()).await;
    assert_eq!(soon(client.get("/")).await.status(), 200);
    assert_eq!(site.metric("connections", ""), all + 1, "none was closed for it");
    drop(idle);
    eventually("only one is left", || site.metric("connections", "") == 1).await;
}

#[tokio::test]
async fn a_connection_that_was_idle_for_a_while_is_used_again() {
    let replica = Replica::echo("one").await;
    let site = Site::start(config(), route(&[&replica])).await;
    let mut stream = TcpStream::connect(site.addr()).await.unwrap();
    let is_parked = || site.metric("connections_parked", "") == 1;
    for _ in 0..2 {
        stream.write_all(GET).await.unwrap();
        soon(read_until(&mut stream, "\n\n")).await;
        eventually("the router gives up the connection's buffers", is_parked).await;
    }
    // A part of the next request, with the one before: it is not lost with the buffers.
    stream.write_all(b"GET /a HTTP/1.1\r\nHost: x\r\n\r\nGET /b").await.unwrap();
    soon(read_until(&mut stream, "GET /a")).await;
    // Longer than the router waits before it gives them up.
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    stream.write_all(b" HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    soon(read_until(&mut stream, "GET /b")).await;
}

#[tokio::test]
async fn a_header_that_is_too_large_is_refused() {
    let replica = Replica::echo("one").await;
    let site = Site::start(config(), route(&[&replica])).await;
    let mut client = Client::connect(site.addr()).await;
    let fits = "x".repeat(50 << 10);
    let answer = soon(client.send(request("GET", "/", &[("x-large", &fits)], ""))).await;
    assert_eq!(answer.status(), 200);
    let large = format!("GET / HTTP/1.1\r\nHost: x\r\nx: {}\r\n\r\n", "x".repeat(70 << 10));
    let answer = soon(raw(site.addr(), large.as_bytes())).await;
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
    let many = format!("GET / HTTP/1.1\r\nHost: x\r\n{}\r\n", "a: b\r\n".repeat(200));
    let answer = soon(raw(site.addr(), many.as_bytes())).await;
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
    assert_eq!(replica.requests(), 1);
}

#[tokio::test]
async fn requests_that_two_servers_could_read_differently_are_refused() {
    let replica = Replica::echo("one").await;
    let site = Site::start(config(), route(&[&replica])).await;
    let smuggled = "0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n";
    for fields in [
        "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n",
        "content-length: 3\r\ntransfer-encoding: chunked\r\n",
        "Content-Length: 3\r\nContent-Length: 4\r\n",
        "Content-Length: +3\r\n",
        "Content-Length: 3, 4\r\n",
        "Content-Length : 3\r\n",
        "Transfer-Encoding: xchunked\r\n",
        "Transfer-Encoding: chunked, identity\r\n",
        "Transfer-Encoding: identity\r\nTransfer-Encoding: gzip\r\n",
        " Transfer-Encoding: chunked\r\n",
        "X: a\r\n Transfer-Encoding: chunked\r\n",
        "Host: y\r\n",
    ] {
        let text = format!("POST / HTTP/1.1\r\nHost: x\r\n{fields}\r\n{smuggled}");
        let answer = soon(raw(site.addr(), text.as_bytes())).await;
        assert!(answer.starts_with("HTTP/1.1 400 "), "{fields:?}: {answer}");
        assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{fields:?}: {answer}");
    }
    let old = format!("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n{smuggled}");
    let answer = soon(raw(site.addr(), old.as_bytes())).await;
    assert!(answer.contains(" 400 "), "{answer}");
    assert_eq!(replica.requests(), 0);
}

#[tokio::test]
async fn a_malformed_chunk_ends_the_request_and_the_connection() {
    let replica = Replica::echo("one").await;
    let site = Site::start(config(), route(&[&replica])).await;
    let head = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
    for body in ["zz\r\nabc\r\n", "3\r\nabcdef\r\n0\r\n\r\n", "-1\r\n", "ffffffffffffffffff\r\n"] {
        let smuggled = "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n";
        let answer = soon(raw(site.addr(), format!("{head}{body}{smuggled}").as_bytes())).await;
        assert!(answer.starts_with("HTTP/1.1 400 "), "{body:?}: {answer}");
        assert!(!answer.contains("/smuggled"), "{body:?}: {answer}");
    }
    // The replicas may have seen the begin of the requests, but no whole one.
    assert_eq!(site.metric("answers_total", ",code=\"2xx\""), 0);
}

#[tokio::test]
async fn a_body_that_comes_too_slowly_ends_the_request() {
    let replica = Replica::echo("one").await;
    let mut config = config();
    config.client.body_window = Duration::from_millis(300);
    config.client.body_rate_min = 1_000;
    let site = Site::start(config, route(&[&replica])).await;
    let mut stream = TcpStream::connect(site.addr()).await.unwrap();
    let head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n";
    stream.write_all(head).await.unwrap();
    let (mut reader, mut writer) = stream.into_split();
    let sends = tokio::spawn(async move {
        while writer.write_all(b"x").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    let mut answer = String::new();
    let _ = soon(reader.read_to_string(&mut answer)).await;
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    soon(sends).await.unwrap();
    assert_eq!(site.metric("errors_total", ",kind=\"slow_body\""), 1);
    eventually("no request is left", || site.load().endpoints[0].in_flight == 0).await;
}

#[tokio::test]
async fn a_body_may_take_its_time_once_the_answer_has_begun() {
    let replica = Replica::start(|request| async {
        tokio::spawn(async move {
            use http_body_util::BodyExt as _;
            let _ = request.into_body().collect().await;
        });
        crate::support::reply("early")
    });
    let replica = replica.await;
    let mut config = config();
    config.client.body_window = Duration::from_millis(50);
    let site = Site::start(config, route(&[&replica])).await;
    let mut stream = TcpStream::connect(site.addr()).await.unwrap();
    let head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\na";
    stream.write_all(head).await.unwrap();
    let answer = soon(read_until(&mut stream, "early")).await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(site.metric("errors_total", ",kind=\"slow_body\""), 0);
}

#[tokio::test]
async fn a_client_that_does_not_read_its_answer_is_cut_off() {
    let large = "x".repeat(32 << 20);
    let replica = Replica::start(move |_| {
        let large = large.clone();
        async { crate::support::reply(large) }
    });
    let replica = replica.await;
    let mut config = config();
    config.client.write_stall = Duration::from_millis(300);
    let site = Site::start(config, route(&[&replica])).await;
    let mut stream = TcpStream::connect(site.addr()).await.unwrap();
    stream.write_all(GET).await.unwrap();
    eventually("the request has come", || site.load().requests == 1).await;
    eventually("the connection is gone", || site.metric("connections", "") == 0).await;
    eventually("no request is left", || site.load().in_flight == 0).await;
}

#[tokio::test]
async fn connections_beyond_the_limits_are_refused() {
    let replica = Replica::echo("one").await;
    let mut config = config();
    config.client.connections_each_max = 2;
    let site = Site::start(config, route(&[&replica])).await;
    let mut first = Client::connect(site.addr()).await;
    let mut second = Client::connect(site.addr()).await;
    assert_eq!(soon(first.get("/")).await.status(), 200);
    assert_eq!(soon(second.get("/")).await.status(), 200);
    let refused = soon(raw(site.addr(), b"")).await;
    assert!(refused.starts_with("HTTP/1.1 503 ") && refused.contains("Retry-After"), "{refused}");
    assert_eq!(site.metric("connections_refused_total", ""), 1);
    drop(first);
    eventually("a place is free", || site.metric("connections", "") == 1).await;
    assert_eq!(soon(Client::connect(site.addr()).await.get("/")).await.status(), 200);
}
