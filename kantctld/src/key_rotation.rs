//! The replacement of the cluster key on this controller: it follows the steps of the log, and
//! knows which hosts do not follow the present one yet.

use crate::cluster_keys::{Change, authority_fingerprint};
use crate::core::Core;
use common::causes::with_causes;
use common::id::{ControllerId, NodeName};
use common::wire::api::{ClusterKeyView, KeyGeneration, KeyOffer, RotationView, Secret};
use futures_util::future::join_all;
use net::{Client, Endpoint};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

pub const GENERATION_PATH: &str = "/v1/cluster-key/generation";
pub const OFFER_PATH: &str = "/v1/cluster-key/offer";
/// How long another controller may take to answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(3);
/// How often a controller tries again to follow a step, or to make another one follow.
const PERIOD: Duration = Duration::from_secs(1);

/// The other controllers.
pub fn other_controllers(core: &Core) -> Vec<(ControllerId, Client)> {
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

/// Follows the steps as they are applied, and sends the new key to controllers that lack it. Runs
/// until the log ends.
pub async fn follow_log(core: Arc<Core>) {
    let mut printed = None;
    loop {
        let status = core.state.read().key_status().clone();
        let (keys, asked) = (core.keys.clone(), status.clone());
        let followed = tokio::task::spawn_blocking(move || keys.follow_step(&asked)).await;
        // An error of the task comes only while the process ends.
        let Ok(followed) = followed else { return };
        let failure = match followed {
            Ok(change) => {
                note_step_change(&core, change);
                None
            }
            Err(error) => Some(with_causes(&error)),
        };
        if let Some(failure) = failure.as_ref().filter(|_| printed != failure) {
            tracing::error!("failed to follow the replacement of the cluster key: {failure}");
        }
        if let (None, Some(rotation)) = (&failure, &status.rotation) {
            send_key_to_members(&core, &rotation.new, status.generation).await;
        }
        match failure.is_none() && status.is_settled() {
            true => core.keys.step.notified().await,
            false => drop(tokio::time::timeout(PERIOD, core.keys.step.notified()).await),
        }
        printed = failure;
    }
}

/// Notes that this controller follows another step.
pub fn note_step_change(core: &Core, change: Change) {
    if change == Change::None {
        return;
    }
    let held = core.keys.held_keys();
    let (generation, key) = (held.keys.generation, held.keys.issuing.fingerprint());
    tracing::info!("cluster key: step {generation}, certificates are issued with key {key}");
    if change == Change::OneTrustedLess {
        let trust = core.keys.identity().current_epoch();
        core.revocations.announce_authority();
        tokio::spawn(async move {
            tokio::time::sleep(net::LINGER).await;
            trust.end_earlier_connections();
        });
    }
    core.sessions.announce_key();
    core.keys.news.notify_one();
}

/// Sends the new key to the members that do not follow the present step. It is never sent to one
/// that asks: a thief of the old key can ask too.
async fn send_key_to_members(core: &Core, new: &str, generation: u32) {
    let held = core.keys.held_keys();
    let all = [Some(&held.keys.issuing), held.keys.other.as_ref()];
    let key =
        all.into_iter().flatten().find(|key| authority_fingerprint(key).is_ok_and(|of| of == new));
    let Some(key) = key else { return };
    for (id, client) in other_controllers(core) {
        let follows = client.get::<KeyGeneration>(GENERATION_PATH).await;
        if follows.is_ok_and(|follows| follows.generation >= generation) {
            continue;
        }
        let offer = KeyOffer { key: Secret(key.secret()) };
        if let Err(error) = client.post::<_, KeyGeneration>(OFFER_PATH, &offer).await {
            let error = with_causes(&error);
            tracing::debug!("controller {id} did not take the new cluster key: {error}");
        }
    }
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

/// The hosts that do not follow this step. Asks the other controllers; nodes report by themselves.
pub async fn hosts_behind(core: &Core, generation: u32) -> Behind {
    let asked = other_controllers(core).into_iter().map(|(id, client)| async move {
        let held = client.get::<KeyGeneration>(GENERATION_PATH).await;
        let is_behind = held.map_or(true, |held| held.generation < generation);
        is_behind.then_some(id)
    });
    let mut controllers: Vec<ControllerId> = join_all(asked).await.into_iter().flatten().collect();
    if core.keys.held_keys().keys.generation < generation {
        controllers.push(core.standing.borrow().id);
    }
    let state = core.state.read();
    // A restored state does not know the enrolment of each node.
    let joined =
        state.enrolments().map(|(name, _)| name).chain(state.nodes().map(|(name, _)| name));
    let is_out = |name: &&NodeName| state.enrolment(name).is_some_and(|one| one.revoked.is_some());
    let nodes: BTreeSet<&NodeName> = joined.filter(|name| !is_out(name)).collect();
    let nodes = core.sessions.nodes_behind_key(nodes, generation);
    Behind { controllers, nodes }
}

/// As operators see it.
pub async fn view(core: &Core) -> ClusterKeyView {
    // Of one step: the next one may begin while the controllers are asked.
    let status = core.state.read().key_status().clone();
    let behind = hosts_behind(core, status.generation).await;
    ClusterKeyView {
        generation: status.generation,
        authority: core.keys.held_keys().authorities.fingerprint(),
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
