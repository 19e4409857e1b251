//! The cluster's name, which many listings show.

use cli::failure::Failure;
use cli::server::Server;

/// Asks the controller for the cluster's name.
///
/// # Errors
/// [`Failure`] when the controller does not answer.
pub async fn cluster_name(server: &Server) -> Result<String, Failure> {
    let status: common::wire::api::Status = server.get("/v1/status").await?;
    Ok(status.cluster)
}
