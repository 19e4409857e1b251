//! The set of outgoing connections: one for each other member, at its current address. Removed
//! members get none, and a controller that was removed itself connects to none.

use super::Peers;
use super::connector::Connector;
use super::handshake::was_removed;
use crate::raft::{Change, Members, ThreadMachine};
use common::id::ControllerId;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// The pause before a failed change of an address is proposed again.
const RETRY_PAUSE: Duration = Duration::from_secs(5);

struct Connection {
    address: String,
    task: JoinHandle<()>,
    wakeup: Arc<Notify>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Runs until the log ends.
pub async fn maintain_connections<M: ThreadMachine>(peers: Arc<Peers<M>>) {
    let mut status = peers.log.status();
    let mut connections: BTreeMap<ControllerId, Connection> = BTreeMap::new();
    let mut is_removed = false;
    let mut moves = tokio::spawn(keep_addresses(peers.clone()));
    loop {
        let targets = {
            let members = &status.borrow_and_update().members;
            let was_removed_before =
                std::mem::replace(&mut is_removed, was_removed(members, peers.local.id));
            if is_removed && !was_removed_before {
                tracing::error!(
                    "this controller was removed from the cluster: stop it, or make it a new \
                     member with `kantctld rebuild`"
                );
            }
            controllers_to_connect(&peers, members)
        };
        connections.retain(|id, old| targets.get(id) == Some(&old.address));
        for (id, address) in targets {
            connections.entry(id).or_insert_with(|| connect(&peers, id, address));
        }
        tokio::select! {
            changed = status.changed() => if changed.is_err() { break },
            () = peers.addresses.changed.notified() => {
                // A controller that sends a hello runs: connect without waiting.
                connections.values().for_each(|connections| connections.wakeup.notify_one());
            }
            _ = &mut moves => break,
        }
    }
    moves.abort();
}

fn connect<M: ThreadMachine>(
    peers: &Arc<Peers<M>>,
    to: ControllerId,
    address: String,
) -> Connection {
    let wakeup = Arc::new(Notify::new());
    let connector =
        Connector { peers: peers.clone(), to, address: address.clone(), wakeup: wakeup.clone() };
    Connection { address, task: tokio::spawn(connector.run()), wakeup }
}

/// The controllers to connect to and their addresses: as announced, else as in the log; including
/// those that the log does not know yet.
fn controllers_to_connect<M: ThreadMachine>(
    peers: &Peers<M>,
    members: &Members,
) -> BTreeMap<ControllerId, String> {
    if was_removed(members, peers.local.id) {
        return BTreeMap::new();
    }
    let known = members.known.iter().map(|(id, member)| (*id, member.address.clone()));
    let mut targets: BTreeMap<ControllerId, String> = known.collect();
    targets.extend(
        peers.addresses.addresses().into_iter().filter(|(id, _)| !was_removed(members, *id)),
    );
    targets.retain(|id, address| *id != peers.local.id && !address.is_empty());
    targets
}

/// While this controller leads, writes changed addresses of members to the log.
async fn keep_addresses<M: ThreadMachine>(peers: Arc<Peers<M>>) {
    let mut status = peers.log.status();
    while status.wait_for(|status| status.leads).await.is_ok() {
        let moved = changed_address(&peers, &status.borrow_and_update().members);
        let Some((id, address)) = moved else {
            tokio::select! {
                changed = status.changed() => if changed.is_err() { return },
                // A hello changes no status, and in an idle cluster nothing else may happen.
                () = peers.addresses.moved.notified() => {}
            }
            continue;
        };
        let change = Change::Move { id, address: address.clone() };
        match peers.log.change_members(vec![change]).await {
            Ok(_) => tracing::info!("controller {id} has the address {address} now"),
            Err(error) => {
                tracing::debug!("failed to record address {address} of controller {id}: {error}");
                tokio::time::sleep(RETRY_PAUSE).await;
            }
        }
    }
}

fn changed_address<M: ThreadMachine>(
    peers: &Peers<M>,
    members: &Members,
) -> Option<(ControllerId, String)> {
    let mut announced = peers.addresses.addresses();
    if !peers.local.address.is_empty() {
        announced.insert(peers.local.id, peers.local.address.clone());
    }
    let known = |id: &ControllerId| members.known.get(id).map(|member| member.address.clone());
    let is_moved = |(id, address): &(ControllerId, String)| {
        members.has(*id) && known(id).unwrap_or_default() != *address
    };
    announced.into_iter().find(is_moved)
}
