//! A connection that has switched to another protocol, such as WebSocket: bytes are copied both
//! ways until both sides have ended.

use crate::endpoint::Lease;
use crate::exchange::Exchange;
use crate::service::Closing;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use std::future::pending;
use std::io;

/// Copies until the end, or until the router must stop. The request is in flight until then.
pub async fn run(client: OnUpgrade, replica: OnUpgrade, lease: Lease, exchange: Exchange) {
    let mut closing = exchange.service().subscribe_closing();
    let stop = async {
        let by = closing.wait_for(|closing| matches!(closing, Closing::By(_))).await;
        match by.map(|closing| *closing) {
            Ok(Closing::By(end)) => tokio::time::sleep_until(end.into()).await,
            // Connections outlive their service's place in the table.
            _ => pending().await,
        }
    };
    let ended = tokio::select! {
        ended = copy(client, replica) => ended,
        () = stop => Ok(()),
    };
    if let Err(error) = ended {
        let (service, endpoint) = (&exchange.service().name, &lease.endpoint().id);
        tracing::debug!(service, endpoint, %error, "a tunnel ended early");
    }
}

async fn copy(client: OnUpgrade, replica: OnUpgrade) -> io::Result<()> {
    let client = client.await.map_err(io::Error::other)?;
    let replica = replica.await.map_err(io::Error::other)?;
    let (mut client, mut replica) = (TokioIo::new(client), TokioIo::new(replica));
    tokio::io::copy_bidirectional(&mut client, &mut replica).await?;
    Ok(())
}
