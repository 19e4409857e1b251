//! The check that no known controller runs, made before a backup replaces all of them. No answer
//! proves little: a controller may run on a host that is cut off.

use super::MembershipError;
use common::causes::with_causes;
use common::config::ControllerConfig;
use common::wire::api::ControllerList;
use net::{Client, ClusterKey, ClusterKeys, Endpoint, Identity};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;
use tokio::net::TcpStream;

/// Far longer than connecting to a running host takes.
const CONNECT_LIMIT: Duration = Duration::from_secs(3);
/// A running controller answers at once; one that hangs still counts as running.
const ANSWER_LIMIT: Duration = Duration::from_secs(5);

/// Asks at all these addresses and the configured ones. Returns the addresses without an answer.
///
/// # Errors
/// [`MembershipError::OtherRunning`] if something listens at one of them.
pub async fn check_none_runs(
    config: &ControllerConfig,
    known: &[String],
) -> Result<Vec<String>, MembershipError> {
    // Its own address too: a kantctld with another state directory may run here.
    let own = super::advertised_address(config).to_owned();
    let asked: BTreeSet<&String> = config.peers.iter().chain(known).chain([&own]).collect();
    let path = Path::new(&config.cluster_key);
    let identity = match path.exists() {
        true => Identity::controller(&ClusterKeys::load(path)?.issuing)?,
        // Lost with everything else. A controller there will refuse this key, which shows that it
        // runs.
        false => Identity::controller(&ClusterKey::generate()?)?,
    };
    let mut silent = Vec::new();
    for addr in asked.into_iter().filter(|addr| super::is_reachable(addr)) {
        match listener_at(addr, &identity).await {
            Some(who) => return Err(MembershipError::OtherRunning { addr: addr.clone(), who }),
            None if *addr != own => silent.push(addr.clone()),
            None => {}
        }
    }
    Ok(silent)
}

/// Describes what listens at an address, if anything does.
async fn listener_at(addr: &str, identity: &Identity) -> Option<String> {
    match tokio::time::timeout(CONNECT_LIMIT, TcpStream::connect(addr)).await {
        Ok(Ok(_)) => {}
        Ok(Err(_)) | Err(_) => return None,
    }
    let endpoint = Endpoint::Tls { addr: addr.to_owned(), identity: identity.clone() };
    let client = Client::new(endpoint)
        .with_connect_limit(ANSWER_LIMIT)
        .with_answer_limit(Some(ANSWER_LIMIT));
    Some(match client.get::<ControllerList>("/v1/controllers?here=true").await {
        Ok(list) => format!("controller {} of cluster {}", list.answering, list.cluster),
        Err(error) => {
            let why = with_causes(&error);
            format!("a server that does not identify itself ({why})")
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_listener_counts_as_running_and_a_closed_port_as_silent() {
        let dir = tempfile::tempdir().unwrap();
        let open = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        // Bound but not listening until the test ends, so that the port stays closed.
        let closed = tokio::net::TcpSocket::new_v4().unwrap();
        closed.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let open_at = open.local_addr().unwrap().to_string();
        let closed_at = closed.local_addr().unwrap().to_string();
        let mut config = ControllerConfig {
            cluster_key: dir.path().join("key").display().to_string(),
            listen: closed_at.clone(),
            peers: vec![closed_at, "127.0.0.1:1".to_owned()],
            ..ControllerConfig::default()
        };
        let silent = check_none_runs(&config, &[]).await.unwrap();
        assert_eq!(silent, ["127.0.0.1:1"], "its own address is not reported");
        // It closes at once, like a server that is no kantctld or has another key.
        let thread = std::thread::spawn(move || {
            for _ in 0..2 {
                drop(open.accept());
            }
        });
        let error = check_none_runs(&config, std::slice::from_ref(&open_at)).await.unwrap_err();
        thread.join().unwrap();
        assert!(error.to_string().contains(&open_at), "{error}");
        assert!(error.to_string().contains("--force"), "{error}");
        config.peers.clear();
        assert!(check_none_runs(&config, &[]).await.unwrap().is_empty());
    }
}
