//! `kantctld join`: makes an empty directory a new controller of a running cluster. The id that the
//! cluster assigns, and the cluster key that it sends, are written before there is a log.

use super::found::check_unused;
use super::{
    LogStage, Membership, MembershipError, MembershipFile, advertised_address, controller_name,
    is_reachable,
};
use crate::clock::wall_clock;
use crate::release::WITH_PEERS;
use common::config::ControllerConfig;
use common::id::{ClusterId, ControllerId};
use common::wire::api::{JoinAnswer, JoinRequest, Secret};
use net::{
    Authority, Backoff, Client, ClientError, ClusterKey, ClusterKeys, Endpoint, Identity,
    Invitation,
};
use state::LEVELS;
use std::path::Path;
use std::time::{Duration, Instant};

/// The leader removes and adds members through the log before it answers.
const ANSWER_LIMIT: Duration = Duration::from_secs(30);
/// How long to retry while no controller runs, or none leads: they may be starting or electing.
const RETRY_FOR: Duration = Duration::from_secs(15);
const BACKOFF_FIRST: Duration = Duration::from_millis(200);
const BACKOFF_CAP: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, Default)]
pub struct JoinOptions {
    /// The controller to ask; `None`: the configured peers in order.
    pub to: Option<String>,
    pub learner: bool,
    /// An operator's invitation.
    pub invitation: Option<String>,
}

/// Asks the cluster to accept this controller, and writes the assigned membership.
///
/// # Errors
/// [`MembershipError`].
pub async fn join(
    config: &ControllerConfig,
    options: &JoinOptions,
) -> Result<Membership, MembershipError> {
    let file = MembershipFile::in_dir(&config.state_dir)?;
    check_unused(&file)?;
    let joined = request_membership(config, options, None).await?;
    file.write(&joined)?;
    Ok(joined)
}

pub(super) async fn request_membership(
    config: &ControllerConfig,
    options: &JoinOptions,
    before: Option<(ClusterId, ControllerId)>,
) -> Result<Membership, MembershipError> {
    let address = advertised_address(config);
    if !is_reachable(address) {
        return Err(MembershipError::Unreachable { address: address.to_owned() });
    }
    let invitation = options.invitation.as_deref().ok_or(MembershipError::NotInvited)?;
    let invitation: Invitation = invitation.parse()?;
    // Before the cluster takes it for a member.
    check_key(Path::new(&config.cluster_key), &invitation)?;
    // Without a certificate, also if there is a key from before: the invitation is the proof.
    let identity = Identity::for_invited_host(&invitation)?;
    let request = JoinRequest {
        protocol: WITH_PEERS.newest,
        oldest_protocol: WITH_PEERS.announced_oldest(),
        levels: Some(LEVELS),
        release: crate::release::RELEASE.to_owned(),
        name: controller_name(config),
        address: address.to_owned(),
        learner: options.learner,
        invitation: Secret(invitation.secret),
        replaces: before.map(|(_, id)| id),
        cluster: before.map(|(cluster, _)| cluster),
        now: wall_clock(),
    };
    let (since, mut backoff) = (Instant::now(), Backoff::new(BACKOFF_FIRST, BACKOFF_CAP));
    let mut is_reported = false;
    loop {
        match ask_each(config, options, &identity, &request).await {
            // Repeating is safe: the same address gets the same answer.
            Err(MembershipError::Ask(errors))
                if may_succeed_later(&errors) && since.elapsed() < RETRY_FOR =>
            {
                if !std::mem::replace(&mut is_reported, true) {
                    let seconds = RETRY_FOR.as_secs();
                    eprintln!("kantctld: {}", MembershipError::Ask(errors));
                    eprintln!("kantctld: trying again for {seconds} s");
                }
                tokio::time::sleep(backoff.next()).await;
            }
            answered => return answered,
        }
    }
}

/// Asks one controller after another until one accepts.
async fn ask_each(
    config: &ControllerConfig,
    options: &JoinOptions,
    identity: &Identity,
    request: &JoinRequest,
) -> Result<Membership, MembershipError> {
    let asked = options.to.as_ref().map_or(config.peers.as_slice(), std::slice::from_ref);
    let mut errors: Vec<(String, ClientError)> = Vec::new();
    for addr in asked.iter().filter(|addr| **addr != request.address) {
        let endpoint = Endpoint::Tls { addr: addr.clone(), identity: identity.clone() };
        let client = Client::new(endpoint).with_answer_limit(Some(ANSWER_LIMIT));
        match client.post::<_, JoinAnswer>("/v1/controllers", request).await {
            Ok(JoinAnswer { cluster, id, key, .. }) => {
                keep_key(Path::new(&config.cluster_key), &key.0)?;
                return Ok(Membership { cluster, id, log: LogStage::ToJoin });
            }
            // A refusal holds for the cluster: the others would forward to the same leader.
            Err(error) if is_refusal(&error) => {
                return Err(MembershipError::Ask(vec![(addr.clone(), error)]));
            }
            Err(error) => errors.push((addr.clone(), error)),
        }
    }
    match errors.is_empty() {
        true => Err(MembershipError::NoPeers),
        false => Err(MembershipError::Ask(errors)),
    }
}

/// Refuses a key of another cluster than the invitation's.
fn check_key(path: &Path, invitation: &Invitation) -> Result<(), MembershipError> {
    let is_same = !path.exists()
        || Authority::new(&ClusterKeys::load(path)?.issuing)?.fingerprint() == invitation.authority;
    match is_same {
        true => Ok(()),
        false => Err(MembershipError::OtherKey { path: path.display().to_string() }),
    }
}

/// Writes the cluster's key, unless it is there.
fn keep_key(path: &Path, secret: &str) -> Result<(), MembershipError> {
    let key = ClusterKey::from_secret(secret).ok_or(MembershipError::NoKeySent)?;
    if !path.exists() {
        if let Some(parent) = path.parent() {
            net::make_passable_dir(parent).map_err(MembershipError::io("make", parent))?;
        }
        ClusterKeys::new(key).create_file(path)?;
    }
    Ok(())
}

fn is_refusal(error: &ClientError) -> bool {
    matches!(error, ClientError::Refused { .. }) && !is_leaderless(error)
}

/// The controller runs, but there is no leader at present.
fn is_leaderless(error: &ClientError) -> bool {
    matches!(error, ClientError::Refused { status: 502..=504, .. })
}

/// No controller listens, as before a start.
fn is_closed(error: &ClientError) -> bool {
    let ClientError::Unreachable { source, .. } = error else { return false };
    source.kind() == std::io::ErrorKind::ConnectionRefused
}

/// Whether a retry may succeed.
fn may_succeed_later(errors: &[(String, ClientError)]) -> bool {
    errors.iter().any(|(_, error)| is_leaderless(error))
        || errors.iter().all(|(_, error)| error.is_unreachable())
            && errors.iter().any(|(_, error)| is_closed(error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use net::ApiError;

    #[test]
    fn a_cluster_without_a_leader_and_a_starting_one_are_asked_again() {
        let refused = |status| {
            let (code, message) = (String::new(), String::new());
            ClientError::Refused { status, error: ApiError { code, message, hint: None } }
        };
        let limit_seconds = 30.0;
        let silent = || ClientError::TimedOut { endpoint: String::new(), limit_seconds };
        let closed = |kind: std::io::ErrorKind| {
            let (endpoint, advice, source) = ("a:1".to_owned(), "", kind.into());
            ClientError::Unreachable { endpoint, advice, source }
        };
        let starts = || closed(std::io::ErrorKind::ConnectionRefused);
        let foreign = || closed(std::io::ErrorKind::InvalidData);
        let may = |errors: Vec<ClientError>| {
            may_succeed_later(
                &errors.into_iter().map(|error| (String::new(), error)).collect::<Vec<_>>(),
            )
        };
        assert!(may(vec![refused(503)]));
        assert!(may(vec![starts(), foreign()]));
        assert!(may(vec![silent(), refused(503)]));
        assert!(is_refusal(&refused(409)) && !is_refusal(&refused(503)));
        assert!(!may(vec![silent()]), "it may be the wrong address");
        assert!(!may(vec![foreign()]), "another cluster stays another cluster");
    }

    #[test]
    fn the_error_of_each_controller_is_reported() {
        let closed = |addr: &str| {
            let source = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
            let (endpoint, advice) = (addr.to_owned(), "does it run?");
            (addr.to_owned(), ClientError::Unreachable { endpoint, advice, source })
        };
        let error = ApiError { code: String::new(), message: "no".to_owned(), hint: None };
        let refused = ("c:3".to_owned(), ClientError::Refused { status: 503, error });
        let message = MembershipError::Ask(vec![closed("a:1"), closed("b:2"), refused]).to_string();
        for words in ["connect to a:1", "connect to b:2", "c:3 says: no"] {
            assert!(message.contains(words), "{message}");
        }
    }
}
