//! Tests of the node channel between two ends over TLS.

#![allow(clippy::unwrap_used)] // a test fails by panicking

mod support;

use std::time::Duration;

use axum::Router;
use axum::extract::ws::WebSocketUpgrade;
use axum::http::StatusCode;
use axum::routing::get;
use futures_util::{SinkExt as _, StreamExt as _};
use hyper_util::rt::TokioIo;
use net::{
    Caller, Channel, ChannelError, ClientError, Endpoint, Keepalive, Refusal, Role, accept_channel,
    connect_channel,
};
use serde::{Deserialize, Serialize};
use support::{Server, controller, key, node, serve_tls, soon, tls};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio_tungstenite::{WebSocketStream, tungstenite};

/// The messages of a node in these tests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Report {
    Hello { version: u32 },
    Output(String),
}

/// The messages of a controller in these tests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Order {
    Welcome { name: String },
    Echo(Report),
}

const HASTY: Keepalive = Keepalive {
    ping_interval: Duration::from_millis(50),
    silence_limit: Duration::from_millis(500),
};

async fn echo(role: Role, mut channel: Channel<Order, Report>) {
    channel.send(&Order::Welcome { name: role.to_string() }).await.unwrap();
    while let Some(Ok(report)) = channel.recv().await {
        if report == Report::Output("close".to_owned()) {
            return channel.close("the leader is controller-2").await;
        }
        channel.send(&Order::Echo(report)).await.unwrap();
    }
}

fn daemon(keepalive: Keepalive) -> Router {
    let channel = move |caller: Caller, upgrade: WebSocketUpgrade| async move {
        match caller {
            Caller::Peer(role @ Role::Node { .. }) => {
                Ok(accept_channel(upgrade, keepalive, Handle::current(), move |channel| {
                    echo(role, channel)
                }))
            }
            _ => Err(Refusal::new(StatusCode::FORBIDDEN, "not-a-node", "only nodes have channels")),
        }
    };
    Router::new().route("/channel", get(channel)).route("/plain", get(|| async { "hello" }))
}

async fn serve(keepalive: Keepalive) -> (Server, Endpoint, Endpoint) {
    let key = key();
    let (server, addr) = serve_tls("127.0.0.1:0", &controller(&key), daemon(keepalive)).await;
    (server, tls(addr, &node(&key, "g-1")), tls(addr, &controller(&key)))
}

async fn connected(endpoint: &Endpoint, keepalive: Keepalive) -> Channel<Report, Order> {
    soon(connect_channel(endpoint, "/channel", keepalive)).await.unwrap()
}

#[tokio::test]
async fn messages_of_all_sizes_come_back_in_order() {
    let (server, endpoint, _) = serve(Keepalive::default()).await;
    let mut channel = connected(&endpoint, Keepalive::default()).await;
    let welcome = soon(channel.recv()).await.unwrap().unwrap();
    assert_eq!(welcome, Order::Welcome { name: "node g-1".to_owned() });

    let (sender, mut receiver) = channel.split();
    let mut reports = vec![Report::Hello { version: 1 }];
    for bytes in [0, 1, 4095, 4096, 70_000, 1 << 20, 5 << 20] {
        reports.push(Report::Output("x".repeat(bytes)));
    }
    reports.extend((0..500).map(|version| Report::Hello { version }));
    let sent = reports.clone();
    let sending = tokio::spawn(async move {
        for report in &sent {
            sender.send(report).await.unwrap();
        }
        sender
    });
    for report in reports {
        assert_eq!(soon(receiver.recv()).await.unwrap().unwrap(), Order::Echo(report));
    }
    drop(sending.await.unwrap());
    assert!(soon(receiver.recv()).await.is_none(), "dropping the sender closes the channel");
    server.stop().await;
}

#[tokio::test]
async fn two_ends_that_flood_each_other_do_not_lock_up() {
    let (server, endpoint, _) = serve(Keepalive::default()).await;
    let channel = connected(&endpoint, Keepalive::default()).await;
    let (sender, mut receiver) = channel.split();
    // Far more than queues and socket buffers hold: each end must read while it writes.
    let report = Report::Output("x".repeat(1 << 20));
    let sending = tokio::spawn(async move {
        for _ in 0..64 {
            sender.send(&report).await.unwrap();
        }
    });
    let mut echoes = 0;
    while let Some(order) = soon(receiver.recv()).await {
        echoes += usize::from(matches!(order.unwrap(), Order::Echo(_)));
        if echoes == 64 {
            break;
        }
    }
    soon(sending).await.unwrap();
    server.stop().await;
}

#[tokio::test]
async fn the_peers_reason_for_closing_arrives() {
    let (server, endpoint, _) = serve(Keepalive::default()).await;
    let mut channel = connected(&endpoint, Keepalive::default()).await;
    soon(channel.recv()).await.unwrap().unwrap();
    channel.send(&Report::Output("close".to_owned())).await.unwrap();
    let end = soon(channel.recv()).await.unwrap().unwrap_err();
    assert!(
        matches!(&end, ChannelError::Closed { reason } if reason == "the leader is controller-2"),
        "{end}"
    );
    assert!(soon(channel.recv()).await.is_none());
    let error = soon(channel.send(&Report::Hello { version: 1 })).await.unwrap_err();
    assert!(matches!(error, ChannelError::Over), "{error}");
    server.stop().await;
}

#[tokio::test]
async fn a_quiet_channel_stays_open_far_beyond_the_silence_limit() {
    let (server, endpoint, _) = serve(HASTY).await;
    let mut channel = connected(&endpoint, HASTY).await;
    soon(channel.recv()).await.unwrap().unwrap();
    let quiet = tokio::time::timeout(HASTY.silence_limit * 4, channel.recv()).await;
    assert!(quiet.is_err(), "{quiet:?}");
    channel.send(&Report::Hello { version: 1 }).await.unwrap();
    soon(channel.recv()).await.unwrap().unwrap();
    server.stop().await;
}

#[tokio::test]
async fn a_peer_gone_silent_is_noticed_by_both_ends() {
    // The client's peer completes the handshake, and then neither reads nor writes.
    let key = key();
    let silent = Router::new().route(
        "/channel",
        get(|upgrade: WebSocketUpgrade| async {
            upgrade.on_upgrade(|socket| async {
                std::future::pending::<()>().await;
                drop(socket);
            })
        }),
    );
    let (server, addr) = serve_tls("127.0.0.1:0", &controller(&key), silent).await;
    let endpoint = tls(addr, &node(&key, "g-1"));
    let mut channel = connected(&endpoint, HASTY).await;
    let end = soon(channel.recv()).await.unwrap().unwrap_err();
    assert!(matches!(end, ChannelError::Silent { .. }), "{end}");
    assert!(soon(channel.recv()).await.is_none());
    server.stop().await;

    // The server's peer does not answer pings for longer than the server's limit.
    let (outcome, reported) = oneshot::channel();
    let outcome = std::sync::Arc::new(std::sync::Mutex::new(Some(outcome)));
    let strict = Router::new().route(
        "/channel",
        get(move |upgrade: WebSocketUpgrade| async move {
            accept_channel(
                upgrade,
                HASTY,
                Handle::current(),
                move |mut channel: Channel<Order, Report>| async move {
                    let end = channel.recv().await;
                    outcome.lock().unwrap().take().unwrap().send(end).unwrap();
                },
            )
        }),
    );
    let (server, addr) = serve_tls("127.0.0.1:0", &controller(&key), strict).await;
    let _mute = soon(mute_peer(&tls(addr, &node(&key, "g-1")))).await;
    let end = soon(reported).await.unwrap().unwrap().unwrap_err();
    assert!(matches!(end, ChannelError::Silent { .. }), "{end}");
    server.stop().await;
}

const CALM: Keepalive = Keepalive {
    ping_interval: Duration::from_millis(200),
    silence_limit: Duration::from_millis(800),
};

/// The number of pings from a server to a peer that answers, and pings itself if `asks`, in three
/// times the silence limit; and whether the channel is open then.
async fn pings_of_server(asks: bool) -> (usize, bool) {
    let key = key();
    let router = Router::new().route(
        "/channel",
        get(|upgrade: WebSocketUpgrade| async {
            accept_channel(
                upgrade,
                CALM,
                Handle::current(),
                |mut channel: Channel<Order, Report>| async move {
                    while channel.recv().await.is_some() {}
                },
            )
        }),
    );
    let (server, addr) = serve_tls("127.0.0.1:0", &controller(&key), router).await;
    let response = soon(mute_peer(&tls(addr, &node(&key, "g-1")))).await;
    let upgraded = TokioIo::new(hyper::upgrade::on(response).await.unwrap());
    let role = tungstenite::protocol::Role::Client;
    let mut socket = WebSocketStream::from_raw_socket(upgraded, role, None).await;
    let (mut pings, mut asking) = (0, tokio::time::interval(CALM.ping_interval / 4));
    let mut over = std::pin::pin!(tokio::time::sleep(CALM.silence_limit * 3));
    let is_open = loop {
        tokio::select! {
            () = &mut over => break true,
            _ = asking.tick(), if asks => {
                socket.send(tungstenite::Message::Ping(axum::body::Bytes::new())).await.unwrap();
            }
            heard = socket.next() => match heard {
                Some(Ok(tungstenite::Message::Ping(_))) => pings += 1,
                Some(Ok(tungstenite::Message::Pong(_))) => {}
                _ => break false,
            },
        }
    };
    server.stop().await;
    (pings, is_open)
}

#[tokio::test]
async fn the_accepting_side_pings_a_silent_peer_and_accepts_its_answers() {
    let (pings, is_open) = pings_of_server(false).await;
    assert!(pings >= 3 && is_open, "{pings} pings, open: {is_open}");
}

#[tokio::test]
async fn the_accepting_side_does_not_ping_a_peer_that_pings() {
    let (pings, is_open) = pings_of_server(true).await;
    assert!(pings <= 2 && is_open, "{pings} pings, open: {is_open}");
}

/// Completes a WebSocket handshake and then does nothing.
async fn mute_peer(endpoint: &Endpoint) -> axum::http::Response<axum::body::Body> {
    let request = axum::http::Request::get("/channel")
        .header("connection", "upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")
        .body(axum::body::Body::empty())
        .unwrap();
    let response = net::Client::new(endpoint.clone()).send(request).await.unwrap();
    assert_eq!(response.status(), StatusCode::SWITCHING_PROTOCOLS);
    response
}

#[tokio::test]
async fn a_lost_connection_ends_the_channel() {
    let key = key();
    let (server, addr) =
        serve_tls("127.0.0.1:0", &controller(&key), daemon(Keepalive::default())).await;
    let cable = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = tls(cable.local_addr().unwrap(), &node(&key, "g-1"));
    let plugged = tokio::spawn(async move {
        let (mut near, _) = cable.accept().await.unwrap();
        let mut far = TcpStream::connect(addr).await.unwrap();
        tokio::io::copy_bidirectional(&mut near, &mut far).await
    });
    let mut channel = connected(&endpoint, Keepalive::default()).await;
    soon(channel.recv()).await.unwrap().unwrap();
    plugged.abort();
    let end = soon(channel.recv()).await.unwrap().unwrap_err();
    assert!(matches!(end, ChannelError::Lost { .. }), "{end}");
    assert!(soon(channel.recv()).await.is_none());
    server.stop().await;
}

#[tokio::test]
async fn a_message_of_another_version_is_reported_and_the_channel_goes_on() {
    /// A later version: one more field, one more kind of message.
    #[derive(Serialize, Deserialize)]
    enum LaterReport {
        Hello { version: u32, colour: String },
        Sing,
    }
    let key = key();
    let (forward, mut reported) = tokio::sync::mpsc::channel(4);
    let router = Router::new().route(
        "/channel",
        get(move |upgrade: WebSocketUpgrade| async move {
            let pass_on = move |mut channel: Channel<Order, Report>| async move {
                while let Some(report) = channel.recv().await {
                    forward.send(report).await.unwrap();
                }
            };
            accept_channel(upgrade, HASTY, Handle::current(), pass_on)
        }),
    );
    let (server, addr) = serve_tls("127.0.0.1:0", &controller(&key), router).await;
    let endpoint = tls(addr, &node(&key, "g-1"));
    let channel: Channel<LaterReport, Order> =
        soon(connect_channel(&endpoint, "/channel", HASTY)).await.unwrap();
    let hello = LaterReport::Hello { version: 7, colour: "blue".to_owned() };
    for report in [&hello, &LaterReport::Sing, &hello] {
        channel.send(report).await.unwrap();
    }
    assert_eq!(soon(reported.recv()).await.unwrap().unwrap(), Report::Hello { version: 7 });
    let error = soon(reported.recv()).await.unwrap().unwrap_err();
    assert!(matches!(error, ChannelError::Undecodable { .. }), "{error}");
    assert_eq!(soon(reported.recv()).await.unwrap().unwrap(), Report::Hello { version: 7 });
    server.stop().await;
}

#[tokio::test]
async fn a_refused_channel_reports_the_reason() {
    let (server, node, controller) = serve(Keepalive::default()).await;
    let refused =
        soon(connect_channel::<Report, Order>(&controller, "/channel", HASTY)).await.unwrap_err();
    let (status, reason) = refused.refusal().unwrap();
    assert_eq!((status, reason.code.as_str()), (403, "not-a-node"));
    let error = soon(connect_channel::<Report, Order>(&node, "/plain", HASTY)).await.unwrap_err();
    assert!(matches!(error, ClientError::Broken { .. }), "{error}");
    let error = soon(connect_channel::<Report, Order>(&node, "/none", HASTY)).await.unwrap_err();
    assert_eq!(error.refusal().unwrap().0, 404);
    server.stop().await;
}

#[tokio::test]
async fn a_message_beyond_the_limit_is_refused_before_it_is_sent() {
    let (server, endpoint, _) = serve(Keepalive::default()).await;
    let mut channel = connected(&endpoint, Keepalive::default()).await;
    soon(channel.recv()).await.unwrap().unwrap();
    let huge = Report::Output("x".repeat(65 << 20));
    let error = soon(channel.send(&huge)).await.unwrap_err();
    assert!(matches!(error, ChannelError::TooLarge { .. }), "{error}");
    channel.send(&Report::Hello { version: 1 }).await.unwrap();
    soon(channel.recv()).await.unwrap().unwrap();
    server.stop().await;
}

#[tokio::test]
async fn queued_messages_arrive_before_the_close() {
    let key = key();
    let (forward, mut reported) = tokio::sync::mpsc::channel(64);
    let router = Router::new().route(
        "/channel",
        get(move |upgrade: WebSocketUpgrade| async move {
            let pass_on = move |mut channel: Channel<Order, Report>| async move {
                while let Some(report) = channel.recv().await {
                    forward.send(report).await.unwrap();
                }
            };
            accept_channel(upgrade, HASTY, Handle::current(), pass_on)
        }),
    );
    let (server, addr) = serve_tls("127.0.0.1:0", &controller(&key), router).await;
    let channel: Channel<Report, Order> =
        soon(connect_channel(&tls(addr, &node(&key, "g-1")), "/channel", HASTY)).await.unwrap();
    for version in 0..30 {
        channel.send(&Report::Hello { version }).await.unwrap();
    }
    soon(channel.close("going down")).await;
    for version in 0..30 {
        assert_eq!(soon(reported.recv()).await.unwrap().unwrap(), Report::Hello { version });
    }
    let end = soon(reported.recv()).await.unwrap().unwrap_err();
    assert!(matches!(&end, ChannelError::Closed { reason } if reason == "going down"), "{end}");
    server.stop().await;
}

#[tokio::test]
async fn a_channel_ends_when_its_certificates_are_no_longer_trusted_and_a_newer_one_stays() {
    let key = key();
    let identity = controller(&key);
    let quiet = Keepalive::default();
    let (server, addr) = serve_tls("127.0.0.1:0", &identity, daemon(quiet)).await;
    let endpoint = tls(addr, &node(&key, "g-1"));
    let mut old = connected(&endpoint, quiet).await;
    soon(old.recv()).await.unwrap().unwrap();
    identity.replace(&controller(&key));
    let mut new = connected(&endpoint, quiet).await;
    soon(new.recv()).await.unwrap().unwrap();
    let question = Report::Output("still there?".to_owned());
    old.send(&question).await.unwrap();
    soon(old.recv()).await.unwrap().unwrap();
    identity.current_epoch().end_earlier_connections();
    let _ = old.send(&question).await;
    assert!(soon(old.recv()).await.is_none_or(|answer| answer.is_err()), "nothing is answered");
    new.send(&question).await.unwrap();
    assert_eq!(soon(new.recv()).await.unwrap().unwrap(), Order::Echo(question));
    server.stop().await;
}
