//! The replacement of the cluster key on this controller: it follows the steps of the log, and
//! knows which hosts do not follow the present one yet.

use crate::cluster_keys::{Change, KeyStoreError};
use crate::core::Core;
use common::causes::with_causes;
use common::id::{ControllerId, NodeName};
use common::wire::api::{ClusterKeyView, HeldKeys, KeyGeneration, RotationView};
use futures_util::future::join_all;
use net::{Client, ClusterKey, Endpoint};
use std::sync::Arc;
use std::time::Duration;

pub const GENERATION_PATH: &str = "/v1/cluster-key/generation";
pub const HELD_PATH: &str = "/v1/cluster-key/held";
pub const OFFER_PATH: &str = "/v1/cluster-key/offer";
/// How long another controller may take to answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(3);
/// The pause before a step that could not be followed is tried again.
const RETRY_PAUSE: Duration = Duration::from_secs(2);

/// The other controllers.
pub fn others(core: &Core) -> Vec<(ControllerId, Client)> {
    let standing = core.standing.borrow().clone();
    let others = standing.members.known.iter().filter(|(id, _)| **id != standing.id);
    let client = |address: &str| {
        let identity = core.keys.identity().clone();
        Client::new(Endpoint::Tls { addr: address.to_owned(), identity })
            .with_connect_limit(ANSWER_LIMIT)
            .with_answer_limit(Some(ANSWER_LIMIT))
    };
    others.map(|(id, member)| (*id, client(&member.address))).collect()
}

/// Follows the steps as they are applied. Runs until the log ends.
pub async fn follow_log(core: Arc<Core>) {
    let mut printed = None;
    loop {
        let status = core.state.read().key_status().clone();
        let keys = core.keys.clone();
        let followed = tokio::task::spawn_blocking(move || keys.follow(&status)).await;
        let failure = match followed {
            // Only while the process ends.
            Err(_) => return,
            Ok(Ok(change)) => {
                note(&core, change);
                printed = None;
                core.keys.step.notified().await;
                continue;
            }
            Ok(Err(KeyStoreError::Lacks(authority))) => match fetch(&core).await {
                true => continue,
                false => KeyStoreError::Lacks(authority),
            },
            Ok(Err(error)) => error,
        };
        let failure = with_causes(&failure);
        if printed.as_ref() != Some(&failure) {
            tracing::error!("failed to follow the replacement of the cluster key: {failure}");
            printed = Some(failure);
        }
        let _ = tokio::time::timeout(RETRY_PAUSE, core.keys.step.notified()).await;
    }
}

fn note(core: &Core, change: Change) {
    if change == Change::None {
        return;
    }
    let held = core.keys.held();
    let (generation, key) = (held.keys.generation, held.keys.issuing.fingerprint());
    tracing::info!("cluster key: step {generation}, certificates are issued with key {key}");
    if change == Change::OneTrustedLess {
        core.revocations.announce_authority();
    }
    core.sessions.announce_key();
    core.keys.news.notify_one();
}

/// Gets the key that this controller lacks from another one. Returns whether it has it now.
async fn fetch(core: &Core) -> bool {
    for (id, client) in others(core) {
        let Ok(held) = client.get::<HeldKeys>(HELD_PATH).await else { continue };
        let own = core.keys.held().keys.issuing.clone();
        let secrets = [Some(held.issuing), held.other].into_iter().flatten();
        let mut keys = secrets.filter_map(|secret| ClusterKey::from_secret(&secret.0));
        let Some(other) = keys.rfind(|key| *key != own) else { continue };
        match core.keys.take_other(other) {
            Ok(()) => {
                tracing::info!("got a cluster key from controller {id}");
                return true;
            }
            Err(error) => tracing::error!("failed to keep a cluster key: {}", with_causes(&error)),
        }
    }
    false
}

/// The hosts that do not follow the present step yet, as far as this leader knows.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Behind {
    pub controllers: Vec<ControllerId>,
    pub nodes: Vec<NodeName>,
}

impl Behind {
    pub const fn is_empty(&self) -> bool {
        self.controllers.is_empty() && self.nodes.is_empty()
    }
}

/// Asks the other controllers; nodes report by themselves.
pub async fn behind(core: &Core) -> Behind {
    let generation = core.state.read().key_status().generation;
    let asked = others(core).into_iter().map(|(id, client)| async move {
        let held = client.get::<KeyGeneration>(GENERATION_PATH).await;
        let is_behind = held.map_or(true, |held| held.generation < generation);
        is_behind.then_some(id)
    });
    let mut controllers: Vec<ControllerId> = join_all(asked).await.into_iter().flatten().collect();
    if core.keys.held().keys.generation < generation {
        controllers.push(core.standing.borrow().id);
    }
    let state = core.state.read();
    let joined = state.enrolments().filter(|(_, enrolment)| enrolment.revoked.is_none());
    let nodes = core.sessions.behind_key(joined.map(|(name, _)| name), generation);
    Behind { controllers, nodes }
}

/// As operators see it.
pub async fn view(core: &Core) -> ClusterKeyView {
    let behind = behind(core).await;
    let status = core.state.read().key_status().clone();
    ClusterKeyView {
        generation: status.generation,
        authority: core.keys.held().authorities.fingerprint(),
        rotation: status.rotation.map(|rotation| RotationView {
            step: rotation.step,
            new: rotation.new,
            by: rotation.by,
            begun_at: rotation.begun_at,
        }),
        controllers_behind: behind.controllers,
        nodes_behind: behind.nodes,
    }
}
