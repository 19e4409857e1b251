//! What another controller dialled: its hello, then its letters, until it ends. Never answers a
//! letter; the log's answers go out on what this controller dials.

use super::hello::was_removed;
use super::{KEEPALIVE, Peers, parcel};
use crate::raft::Driven;
use crate::settings::with_causes;
use axum::extract::ws::WebSocketUpgrade;
use axum::response::Response;
use common::id::ControllerId;
use common::wire::peer::{FromPeer, LetterHead, PeerClock, PeerHello, ToPeer};
use net::{Channel, ChannelReceiver, ChannelSender, accept_channel};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::time::timeout;

/// A controller that connects must say who it is within this time.
const HELLO_LIMIT: Duration = Duration::from_secs(10);

type Down = ChannelSender<FromPeer>;
type Up = ChannelReceiver<ToPeer>;

/// Answers the request of a controller, as its certificate proved it, for the channel.
pub fn serve<M: Driven>(peers: Arc<Peers<M>>, upgrade: WebSocketUpgrade) -> Response {
    let on = Handle::current();
    accept_channel(
        upgrade,
        KEEPALIVE,
        on,
        move |channel| async move { answer(peers, channel).await },
    )
}

async fn answer<M: Driven>(peers: Arc<Peers<M>>, channel: Channel<FromPeer, ToPeer>) {
    let (down, mut up) = channel.split();
    let end = match timeout(HELLO_LIMIT, up.recv()).await {
        Ok(Some(Ok(ToPeer::Hello(hello)))) => meet(&peers, &hello, &down, &mut up).await,
        Ok(Some(Ok(_))) => Some("its first message is no hello".to_owned()),
        Ok(Some(Err(error))) => Some(with_causes(&error)),
        Ok(None) | Err(_) => Some("it said no hello".to_owned()),
    };
    if let Some(end) = &end {
        tracing::warn!("a controller's connection was closed: {end}");
    }
    down.close(&end.unwrap_or_else(|| "done".to_owned())).await;
}

/// Gives what is wrong, where that has not been said yet.
async fn meet<M: Driven>(
    peers: &Peers<M>,
    hello: &PeerHello,
    down: &Down,
    up: &mut Up,
) -> Option<String> {
    let checked = peers.me.check(hello, &peers.log.status().borrow().members, peers.clock.wall());
    if let Err(refusal) = checked {
        if peers.book.is_news(hello.from, Some(&refusal)) {
            tracing::error!("letters of another controller are refused: {refusal}");
        }
        let _ = down.send(&refusal.answer()).await;
        return None;
    }
    peers.book.is_news(hello.from, None);
    let release = env!("CARGO_PKG_VERSION").to_owned();
    down.send(&FromPeer::Welcome { release }).await.ok()?;
    peers.book.hear(hello.from, &hello.address);
    peers.clock.hear(hello.from, hello.now);
    match hello.snapshot {
        Some(head) => take_snapshot(peers, hello, head, down, up).await,
        None => take_letters(peers, hello, up).await,
    }
}

async fn take_letters<M: Driven>(
    peers: &Peers<M>,
    hello: &PeerHello,
    up: &mut Up,
) -> Option<String> {
    let from = hello.from;
    let mut status = peers.log.status();
    loop {
        tokio::select! {
            message = up.recv() => match message {
                Some(Ok(ToPeer::Letters(letters))) => {
                    for letter in letters {
                        if !peers.log.deliver(letter.into_vec()).await {
                            return None;
                        }
                    }
                }
                Some(Ok(ToPeer::Clock(clock))) => hear(peers, from, clock),
                Some(Ok(_)) => return Some(format!("controller {from} sent no letters")),
                // It ended, was killed, or dials anew: its own log says which.
                Some(Err(
                    net::ChannelError::Closed { .. }
                    | net::ChannelError::Lost { .. }
                    | net::ChannelError::Silent { .. },
                ))
                | None => {
                    tracing::info!("controller {from} is not connected any more");
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

/// Another controller says what time it is.
fn hear<M: Driven>(peers: &Peers<M>, from: ControllerId, clock: PeerClock) {
    peers.clock.hear(from, clock.wall);
    // One that leads goes by itself, whoever has led before and does not know it yet.
    let leads = peers.log.status().borrow().leads;
    if let Some(cluster) = clock.cluster.filter(|_| !leads) {
        peers.clock.follow(cluster);
    }
}

async fn take_snapshot<M: Driven>(
    peers: &Peers<M>,
    hello: &PeerHello,
    head: LetterHead,
    down: &Down,
    up: &mut Up,
) -> Option<String> {
    let from = hello.from;
    // One at a time: each is held in memory.
    let Ok(_turn) = peers.book.snapshots.try_lock() else {
        let reason = "another snapshot is on its way here".to_owned();
        let refused = FromPeer::Refused { code: "busy".to_owned(), reason };
        let _ = down.send(&refused).await;
        return None;
    };
    match parcel::take(head, up).await {
        Ok(letter) => {
            tracing::info!("a snapshot of {} bytes came from controller {from}", head.bytes);
            if peers.log.deliver(letter).await {
                let _ = down.send(&FromPeer::Arrived).await;
                // Its receiver closes: this end would cut off the word that it arrived.
                let _ = timeout(HELLO_LIMIT, up.recv()).await;
            }
            None
        }
        Err(error) => Some(format!(
            "a snapshot from controller {from} was not taken: {}",
            with_causes(&error)
        )),
    }
}
