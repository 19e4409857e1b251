//! Streams without end.

use super::exchange::streamed;
use super::{Retry, Server};
use crate::failure::Failure;
use net::{Body, Client};
use std::time::Duration;

/// Time until a stream starts, which takes no work.
const START_LIMIT: Duration = Duration::from_secs(5);

impl Server {
    /// Requests a stream without end, and returns the answer's body as it arrives. The sockets are
    /// tried from number `first` on, for a caller whose last stream fell silent.
    ///
    /// # Errors
    /// [`Failure`] when there is no answer within the retry time, or the controller refuses.
    pub async fn stream(
        &self,
        path: &str,
        patience: Duration,
        first: usize,
    ) -> Result<Body, Failure> {
        let limited = |client: &Client| client.clone().with_answer_limit(Some(START_LIMIT));
        let mut clients: Vec<Client> = self.clients.iter().map(limited).collect();
        let first = first % clients.len().max(1);
        clients.rotate_left(first);
        let server = Self { clients, ..self.clone() };
        server
            .request(Retry::IfUnanswered, patience, async |client| streamed(client, path).await)
            .await
    }
}
