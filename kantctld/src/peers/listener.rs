//! The accepted connection of another controller: its hello, then its messages until it ends.
//! Answers of the log go out on this controller's own connection.

use super::handshake::{HelloRefusal, was_removed};
use super::{KEEPALIVE, Peers, chunked_transfer};
use crate::clock::uptime;
use crate::raft::ThreadMachine;
use axum::extract::ws::WebSocketUpgrade;
use axum::response::Response;
use common::causes::with_causes;
use common::id::ControllerId;
use common::wire::peer::{FromPeer, LetterHead, PeerHello, PeerReport, ToPeer};
use net::{Channel, ChannelReceiver, ChannelSender, accept_channel};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::time::timeout;

/// The longest wait for a hello.
const HELLO_LIMIT: Duration = Duration::from_secs(10);

type Down = ChannelSender<FromPeer>;
type Up = ChannelReceiver<ToPeer>;

/// Accepts the connection of a controller whose certificate was checked.
pub fn serve<M: ThreadMachine>(peers: Arc<Peers<M>>, upgrade: WebSocketUpgrade) -> Response {
    let on = Handle::current();
    accept_channel(upgrade, KEEPALIVE, on, move |channel| async move {
        handle_connection(peers, channel).await
    })
}

async fn handle_connection<M: ThreadMachine>(
    peers: Arc<Peers<M>>,
    channel: Channel<FromPeer, ToPeer>,
) {
    let (down, mut up) = channel.split();
    let end = match timeout(HELLO_LIMIT, up.recv()).await {
        Ok(Some(Ok(ToPeer::Hello(hello)))) => handle_hello(&peers, &hello, &down, &mut up).await,
        Ok(Some(Ok(_))) => Some("its first message is not a hello".to_owned()),
        Ok(Some(Err(error))) => Some(with_causes(&error)),
        Ok(None) | Err(_) => Some("it sent no hello".to_owned()),
    };
    if let Some(end) = &end {
        tracing::warn!("closed the connection of a controller: {end}");
    }
    down.close(&end.unwrap_or_else(|| "done".to_owned())).await;
}

/// Returns why the connection is to be closed, unless that was logged already.
async fn handle_hello<M: ThreadMachine>(
    peers: &Peers<M>,
    hello: &PeerHello,
    down: &Down,
    up: &mut Up,
) -> Option<String> {
    let checked =
        peers.local.check(hello, &peers.log.status().borrow().members, peers.clock.wall());
    let protocol = match checked {
        Ok(protocol) => protocol,
        Err(refusal) => return refuse(peers, hello, &refusal, down).await,
    };
    peers.addresses.is_new_refusal(hello.from, None);
    let release = crate::release::RELEASE.to_owned();
    let welcome = FromPeer::Welcome { release, protocol: Some(protocol) };
    down.send(&welcome).await.ok()?;
    peers.addresses.note_address(hello.from, &hello.address);
    peers.addresses.note_release(hello.from, &hello.release);
    peers.clock.note_peer_wall_clock(hello.from, hello.now);
    match hello.snapshot {
        Some(head) => receive_snapshot(peers, hello, head, down, up).await,
        None => receive_messages(peers, hello, up).await,
    }
}

async fn refuse<M: ThreadMachine>(
    peers: &Peers<M>,
    hello: &PeerHello,
    refusal: &HelloRefusal,
    down: &Down,
) -> Option<String> {
    if peers.addresses.is_new_refusal(hello.from, Some(refusal)) {
        tracing::error!("refused the messages of another controller: {refusal}");
    }
    let _ = down.send(&refusal.answer()).await;
    None
}

async fn receive_messages<M: ThreadMachine>(
    peers: &Peers<M>,
    hello: &PeerHello,
    up: &mut Up,
) -> Option<String> {
    let from = hello.from;
    let mut status = peers.log.status();
    loop {
        tokio::select! {
            message = up.recv() => match message {
                Some(Ok(ToPeer::Letters(messages))) => {
                    for message in messages {
                        if !peers.log.deliver(message.into_vec()).await {
                            return None;
                        }
                    }
                }
                Some(Ok(ToPeer::Report(report))) => note_report(peers, from, report),
                Some(Ok(_)) => return Some(format!("controller {from} sent an unexpected message")),
                // It ended, was killed, or reconnects; its own log has the reason.
                Some(Err(
                    net::ChannelError::Closed { .. }
                    | net::ChannelError::Lost { .. }
                    | net::ChannelError::Silent { .. },
                ))
                | None => {
                    tracing::info!("controller {from} disconnected");
                    return None;
                }
                Some(Err(error)) => {
                    return Some(format!("controller {from}: {}", with_causes(&error)));
                }
            },
            changed = status.changed() => {
                if changed.is_err() || was_removed(&status.borrow_and_update().members, from) {
                    return None;
                }
            }
        }
    }
}

/// Notes what another controller reports.
fn note_report<M: ThreadMachine>(peers: &Peers<M>, from: ControllerId, report: PeerReport) {
    peers.clock.note_peer_wall_clock(from, report.wall);
    peers.levels.lock().note(from, report.levels, uptime());
    if let Some(sum) = report.sum {
        peers.log.note_checksum(from, sum);
    }
    // An earlier leader may still send its time, which was perhaps wrong while it was cut off.
    let leader = peers.log.status().borrow().leader;
    if let Some(cluster) = report.cluster.filter(|_| leader == Some(from)) {
        peers.clock.note_leader_time(cluster);
    }
}

async fn receive_snapshot<M: ThreadMachine>(
    peers: &Peers<M>,
    hello: &PeerHello,
    head: LetterHead,
    down: &Down,
    up: &mut Up,
) -> Option<String> {
    let from = hello.from;
    // One at a time, because each is held in memory.
    let Ok(_turn) = peers.addresses.snapshots.try_lock() else {
        let reason = "another snapshot is being received".to_owned();
        let refused = FromPeer::Refused { code: "busy".to_owned(), reason };
        let _ = down.send(&refused).await;
        return None;
    };
    match chunked_transfer::receive_chunked(head, up).await {
        Ok(message) => {
            tracing::info!("received a snapshot of {} bytes from controller {from}", head.bytes);
            if peers.log.deliver(message).await {
                let _ = down.send(&FromPeer::Arrived).await;
                // The other side closes: closing here could cut off `Arrived`.
                let _ = timeout(HELLO_LIMIT, up.recv()).await;
            }
            None
        }
        Err(error) => Some(format!(
            "failed to receive a snapshot from controller {from}: {}",
            with_causes(&error)
        )),
    }
}
