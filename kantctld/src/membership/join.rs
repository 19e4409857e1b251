//! Joining: an empty directory becomes one more controller of a cluster that runs. Its number is
//! written down before there is a log. Never makes a cluster key.

use super::found::check_unused;
use super::{
    LogStage, Membership, MembershipError, MembershipFile, advertised, identity, is_reachable, name,
};
use crate::clock::wall_clock;
use common::config::ControllerConfig;
use common::id::{ClusterId, ControllerId};
use common::wire::api::{JoinAnswer, JoinRequest};
use common::wire::peer::PEER_PROTOCOL;
use net::{Backoff, Client, ClientError, Endpoint, Identity};
use std::time::{Duration, Instant};

/// A removal and an addition each go through the log before the answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(30);
/// How long to ask again while the cluster is there and nobody leads it: just started, or electing.
const PATIENCE: Duration = Duration::from_secs(15);
const BACKOFF_FIRST: Duration = Duration::from_millis(200);
const BACKOFF_CAP: Duration = Duration::from_secs(2);

/// How to join.
#[derive(Debug, Clone, Default)]
pub struct How {
    /// Whom to ask; none: the peers of the configuration, in order.
    pub to: Option<String>,
    /// Without a vote.
    pub learner: bool,
}

/// Asks the cluster to take this controller in, and writes down what it is from now on.
///
/// # Errors
/// [`MembershipError`].
pub async fn join(config: &ControllerConfig, how: &How) -> Result<Membership, MembershipError> {
    let file = MembershipFile::in_dir(&config.state_dir)?;
    check_unused(&file)?;
    let joined = ask(config, how, None).await?;
    file.write(&joined)?;
    Ok(joined)
}

/// The question itself.
pub(super) async fn ask(
    config: &ControllerConfig,
    how: &How,
    before: Option<(ClusterId, ControllerId)>,
) -> Result<Membership, MembershipError> {
    let address = advertised(config);
    if !is_reachable(address) {
        return Err(MembershipError::Unreachable { address: address.to_owned() });
    }
    let identity = identity(config)?;
    let request = JoinRequest {
        protocol: PEER_PROTOCOL,
        release: env!("CARGO_PKG_VERSION").to_owned(),
        name: name(config),
        address: address.to_owned(),
        learner: how.learner,
        replaces: before.map(|(_, id)| id),
        cluster: before.map(|(cluster, _)| cluster),
        now: wall_clock(),
    };
    let (since, mut backoff) = (Instant::now(), Backoff::new(BACKOFF_FIRST, BACKOFF_CAP));
    loop {
        match ask_all(config, how, &identity, &request).await {
            // Asking twice does no harm: the same address gets the same answer.
            Err(MembershipError::Ask { source, .. })
                if is_leaderless(&source) && since.elapsed() < PATIENCE =>
            {
                tokio::time::sleep(backoff.next()).await;
            }
            answered => return answered,
        }
    }
}

/// Asks one after another, until one takes it in.
async fn ask_all(
    config: &ControllerConfig,
    how: &How,
    identity: &Identity,
    request: &JoinRequest,
) -> Result<Membership, MembershipError> {
    let asked = how.to.as_ref().map_or(config.peers.as_slice(), std::slice::from_ref);
    let mut last: Option<(String, ClientError)> = None;
    for addr in asked.iter().filter(|addr| **addr != request.address) {
        let endpoint = Endpoint::Tls { addr: addr.clone(), identity: identity.clone() };
        let client = Client::new(endpoint).with_answer_limit(Some(ANSWER_LIMIT));
        match client.post::<_, JoinAnswer>("/v1/controllers", request).await {
            Ok(JoinAnswer { cluster, id, .. }) => {
                return Ok(Membership { cluster, id, log: LogStage::ToJoin });
            }
            Err(error) => last = Some(worse(last, addr, error)),
        }
    }
    let (asked, source) = last.ok_or(MembershipError::NobodyToAsk)?;
    Err(MembershipError::Ask { asked, source })
}

/// Somebody is there who cannot say at the moment.
fn is_leaderless(error: &ClientError) -> bool {
    matches!(error, ClientError::Refused { status: 502..=504, .. })
}

/// A refusal says more than a silence.
fn worse(
    last: Option<(String, ClientError)>,
    addr: &str,
    error: ClientError,
) -> (String, ClientError) {
    match last {
        Some((addr, said)) if error.is_unreachable() && !said.is_unreachable() => (addr, said),
        _ => (addr.to_owned(), error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use net::ApiError;

    #[test]
    fn only_a_cluster_without_a_leader_is_asked_again() {
        let refused = |status| {
            let (code, message) = (String::new(), String::new());
            ClientError::Refused { status, error: ApiError { code, message, hint: None } }
        };
        let limit_seconds = 30.0;
        let silent = ClientError::TimedOut { endpoint: String::new(), limit_seconds };
        assert!(is_leaderless(&refused(503)));
        assert!(!is_leaderless(&refused(409)), "a refusal is one");
        assert!(!is_leaderless(&silent), "it may be the wrong address");
    }
}
