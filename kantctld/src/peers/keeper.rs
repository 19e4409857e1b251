//! Keeps one dialler for each other controller, at the address where it is now. Never dials one
//! that was removed, and dials none once this controller was.

use super::Peers;
use super::dialler::Dialler;
use super::hello::was_removed;
use crate::raft::{Change, Driven, Members};
use common::id::ControllerId;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// Before a change of address that came to nothing is proposed again.
const MOVE_PAUSE: Duration = Duration::from_secs(5);

struct Dialling {
    address: String,
    task: JoinHandle<()>,
    poke: Arc<Notify>,
}

impl Drop for Dialling {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Runs until the log ends.
pub async fn keep<M: Driven>(peers: Arc<Peers<M>>) {
    let mut status = peers.log.status();
    let mut dialling: BTreeMap<ControllerId, Dialling> = BTreeMap::new();
    let mut is_out = false;
    let mut moves = tokio::spawn(keep_addresses(peers.clone()));
    loop {
        let targets = {
            let members = &status.borrow_and_update().members;
            let was_out = std::mem::replace(&mut is_out, was_removed(members, peers.me.id));
            if is_out && !was_out {
                tracing::error!(
                    "this controller was removed from the cluster: stop it, or make it a new one \
                     with `kantctld rebuild`"
                );
            }
            targets(&peers, members)
        };
        dialling.retain(|id, old| targets.get(id) == Some(&old.address));
        for (id, address) in targets {
            dialling.entry(id).or_insert_with(|| dial(&peers, id, address));
        }
        tokio::select! {
            changed = status.changed() => if changed.is_err() { break },
            () = peers.book.changed.notified() => {
                // One that says hello is there again: no need to wait any longer.
                dialling.values().for_each(|dialling| dialling.poke.notify_one());
            }
            _ = &mut moves => break,
        }
    }
    moves.abort();
}

fn dial<M: Driven>(peers: &Arc<Peers<M>>, to: ControllerId, address: String) -> Dialling {
    let poke = Arc::new(Notify::new());
    let dialler =
        Dialler { peers: peers.clone(), to, address: address.clone(), poke: poke.clone() };
    Dialling { address, task: tokio::spawn(dialler.run()), poke }
}

/// Whom to dial, and where: members where they say they are, else where the log says; and those
/// that the log does not know yet.
fn targets<M: Driven>(peers: &Peers<M>, members: &Members) -> BTreeMap<ControllerId, String> {
    if was_removed(members, peers.me.id) {
        return BTreeMap::new();
    }
    let known = members.known.iter().map(|(id, member)| (*id, member.address.clone()));
    let mut targets: BTreeMap<ControllerId, String> = known.collect();
    targets.extend(peers.book.heard().into_iter().filter(|(id, _)| !was_removed(members, *id)));
    targets.retain(|id, address| *id != peers.me.id && !address.is_empty());
    targets
}

/// While this controller leads: puts into the log where controllers are, if that is elsewhere now.
async fn keep_addresses<M: Driven>(peers: Arc<Peers<M>>) {
    let mut status = peers.log.status();
    while status.wait_for(|status| status.leads).await.is_ok() {
        let moved = moved(&peers, &status.borrow_and_update().members);
        let Some((id, address)) = moved else {
            tokio::select! {
                changed = status.changed() => if changed.is_err() { return },
                // A hello is no news to the log: in a quiet cluster nothing else need happen.
                () = peers.book.moved.notified() => {}
            }
            continue;
        };
        let change = Change::Move { id, address: address.clone() };
        match peers.log.change(vec![change]).await {
            Ok(_) => tracing::info!("controller {id} is reached at {address} now"),
            Err(error) => {
                tracing::debug!("controller {id} moved to {address}, not noted yet: {error}");
                tokio::time::sleep(MOVE_PAUSE).await;
            }
        }
    }
}

fn moved<M: Driven>(peers: &Peers<M>, members: &Members) -> Option<(ControllerId, String)> {
    let mut heard = peers.book.heard();
    if !peers.me.address.is_empty() {
        heard.insert(peers.me.id, peers.me.address.clone());
    }
    let known = |id: &ControllerId| members.known.get(id).map(|member| member.address.clone());
    let is_moved = |(id, address): &(ControllerId, String)| {
        members.has(*id) && known(id).unwrap_or_default() != *address
    };
    heard.into_iter().find(is_moved)
}
