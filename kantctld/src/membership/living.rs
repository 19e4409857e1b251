//! Who of the controllers that are known by address runs, asked before a backup takes the place of
//! them all. Never takes a silence for more than that: a host that is cut off may run one.

use super::MembershipError;
use common::config::ControllerConfig;
use common::wire::api::ControllerList;
use net::{Client, ClusterKey, Endpoint, Identity, Role};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;
use tokio::net::TcpStream;

/// A host that is there is reached in far less.
const CONNECT_LIMIT: Duration = Duration::from_secs(3);
/// A controller that runs says who it is at once; one that hangs runs all the same.
const ANSWER_LIMIT: Duration = Duration::from_secs(5);

/// Asks at each of these addresses and the configuration's. Gives those where nobody is.
///
/// # Errors
/// [`MembershipError::Living`] when somebody is at one of them.
pub async fn check_nobody_lives(
    config: &ControllerConfig,
    known: &[String],
) -> Result<Vec<String>, MembershipError> {
    // Its own too: another state directory's kantctld may run here.
    let own = super::advertised(config).to_owned();
    let asked: BTreeSet<&String> = config.peers.iter().chain(known).chain([&own]).collect();
    let path = Path::new(&config.cluster_key);
    let identity = match path.exists() {
        true => super::identity(config)?,
        // Lost with all else: who is there will not say who it is, and is there.
        false => Identity::new(&ClusterKey::generate()?, Role::Controller)?,
    };
    let mut silent = Vec::new();
    for addr in asked.into_iter().filter(|addr| super::is_reachable(addr)) {
        match who(addr, &identity).await {
            Some(who) => return Err(MembershipError::Living { addr: addr.clone(), who }),
            None if *addr != own => silent.push(addr.clone()),
            None => {}
        }
    }
    Ok(silent)
}

/// Who is at an address, if anybody is.
async fn who(addr: &str, identity: &Identity) -> Option<String> {
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
            let why = crate::settings::with_causes(&error);
            format!("somebody who does not say who it is ({why})")
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn whoever_listens_where_a_controller_was_lives_and_a_closed_port_is_silent() {
        let dir = tempfile::tempdir().unwrap();
        let open = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        // Its own to the end of the test, and deaf: nobody else gets the port meanwhile.
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
        let silent = check_nobody_lives(&config, &[]).await.unwrap();
        assert_eq!(silent, ["127.0.0.1:1"], "and its own is not told");
        // It hangs up at once: no kantctld, or one with another key.
        let thread = std::thread::spawn(move || {
            for _ in 0..2 {
                drop(open.accept());
            }
        });
        let error = check_nobody_lives(&config, std::slice::from_ref(&open_at)).await.unwrap_err();
        thread.join().unwrap();
        assert!(error.to_string().contains(&open_at), "{error}");
        assert!(error.to_string().contains("--force"), "{error}");
        config.peers.clear();
        assert!(check_nobody_lives(&config, &[]).await.unwrap().is_empty());
    }
}
