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
use net::{Client, ClientError, Endpoint};
use std::time::Duration;

/// A removal and an addition each go through the log before the answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(30);

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
    let asked = how.to.as_ref().map_or(config.peers.as_slice(), std::slice::from_ref);
    let mut last: Option<(String, ClientError)> = None;
    for addr in asked.iter().filter(|addr| *addr != address) {
        let endpoint = Endpoint::Tls { addr: addr.clone(), identity: identity.clone() };
        let client = Client::new(endpoint).with_answer_limit(Some(ANSWER_LIMIT));
        match client.post::<_, JoinAnswer>("/v1/controllers", &request).await {
            Ok(JoinAnswer { cluster, id, .. }) => {
                return Ok(Membership { cluster, id, log: LogStage::ToJoin });
            }
            Err(error) => last = Some(worse(last, addr, error)),
        }
    }
    let (asked, source) = last.ok_or(MembershipError::NobodyToAsk)?;
    Err(MembershipError::Ask { asked, source })
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
