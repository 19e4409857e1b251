//! Waiting for a service: until an update is complete or has failed, or until it is gone.

use crate::failure::{Failure, OK};
use crate::fetch::{self, Answer};
use crate::output::screen::note;
use crate::output::services;
use crate::server::Server;
use common::id::{Revision, ServiceName};
use common::wire::api::{ServiceList, ServiceState, ServiceView};
use std::time::Duration;

/// The time between two looks.
const LOOK: Duration = Duration::from_millis(500);

/// How long a controller may be unreachable before the wait is given up.
const PATIENCE: Duration = Duration::from_secs(60);

/// How a wait for an update ends.
pub enum Wait {
    Complete,
    /// The service returned to another revision, or the update paused.
    Failed(String),
}

/// Waits until all replicas have this revision and are healthy; prints progress on stderr.
///
/// # Errors
/// [`Failure`] when the controller cannot be reached, or the service is gone.
pub async fn until_updated(
    name: &ServiceName,
    revision: Revision,
    server: &Server,
) -> Result<Wait, Failure> {
    let mut last = String::new();
    loop {
        let service = fetch_service(name, server).await?;
        let now = services::summary(&service);
        if now != last {
            note(&format!("{name}: {now}"));
            last = now;
        }
        if service.healthy_revision == Some(revision) {
            return Ok(Wait::Complete);
        }
        if service.revision != revision || service.state == ServiceState::Paused {
            let why = service.events.iter().rev().find(|one| one.text.contains("failed"));
            let why = why.map_or_else(|| "see its events".to_owned(), |one| one.text.clone());
            return Ok(Wait::Failed(why));
        }
        tokio::time::sleep(LOOK).await;
    }
}

async fn fetch_service(name: &ServiceName, server: &Server) -> Result<ServiceView, Failure> {
    let path = format!("/v1/services/{name}");
    let raw: serde_json::Value = server.get_retrying(&path, PATIENCE).await?;
    let Answer { typed, .. }: Answer<ServiceList> = raw.try_into()?;
    let service = typed.services.into_iter().next();
    service.ok_or_else(|| Failure::from_message(format!("service {name} is gone")))
}

/// Waits until a stopped service is removed.
///
/// # Errors
/// [`Failure`] when the controller cannot be reached.
pub async fn until_gone(name: &ServiceName, server: &Server) -> Result<u8, Failure> {
    loop {
        let list: Answer<ServiceList> = fetch::get(server, "/v1/services").await?;
        if list.typed.services.iter().all(|service| service.name != *name) {
            return Ok(OK);
        }
        tokio::time::sleep(LOOK).await;
    }
}
