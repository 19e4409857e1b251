//! Client of the controller: sends a request to the first socket that accepts connections and knows
//! a leader, and retries for a while where a repeated request does no harm.

mod exchange;
mod path;
mod retrying;
mod stream;

use crate::failure::{Failure, Kind, is_not_executed, is_silent_node};
use crate::output::screen::note;
use exchange::{get_bytes, post_bytes};
use net::http::HeaderMap;
use net::{Backoff, Bytes, Client, ClientError, Endpoint};
pub use path::encoded;
use retrying::Retrying;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

/// How long most verbs keep retrying: an election, or a controller's restart, takes a second or
/// two.
pub const PATIENCE: Duration = Duration::from_secs(15);
const BACKOFF_FIRST: Duration = Duration::from_millis(200);
const BACKOFF_CAP: Duration = Duration::from_secs(2);
/// The longest time that a long poll is asked to wait; a daemon's response timeout is above it.
pub const POLL_SECONDS: u64 = 20;
/// Time for an answer in addition to the time of a long poll.
const ANSWER_LIMIT: Duration = Duration::from_secs(30 + POLL_SECONDS);
/// Requests of one command that are sent concurrently: the controller writes them to disk together.
pub const AT_ONCE: usize = 16;

/// The controller. Clones share their connections.
#[derive(Debug, Clone)]
pub struct Server {
    clients: Vec<Client>,
    retry: Option<Duration>,
    /// Requests that are being retried: the first reports the problem, the last its end.
    retrying: Arc<AtomicUsize>,
}

/// Which failed requests may be sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// Only those that were not executed: nothing was sent, or no leader received it.
    IfUnsent,
    /// All that were not answered: a repeated request does no harm.
    IfUnanswered,
}

enum NoAnswer {
    /// No socket accepts connections; one error for each.
    Unreached(Vec<ClientError>),
    /// A daemon refused, or the connection broke.
    Failed(ClientError),
}

impl Server {
    /// The controller behind these sockets, tried in order. `retry` replaces every verb's own retry
    /// time.
    #[must_use]
    pub fn new(sockets: &[PathBuf], retry: Option<Duration>) -> Self {
        let client = |path: &PathBuf| {
            Client::new(Endpoint::Unix(path.clone()))
                .with_answer_limit(Some(ANSWER_LIMIT))
                .with_idle_connections(AT_ONCE)
        };
        Self { clients: sockets.iter().map(client).collect(), retry, retrying: Arc::default() }
    }

    /// The same controller, without retries.
    #[must_use]
    pub fn without_retries(&self) -> Self {
        Self { retry: Some(Duration::ZERO), ..self.clone() }
    }

    /// How long to keep retrying: the user's --retry, or `own`.
    #[must_use]
    pub fn patience(&self, own: Duration) -> Duration {
        self.retry.unwrap_or(own)
    }

    /// Sends a GET request, with the usual retry time.
    ///
    /// # Errors
    /// [`Failure`] when there is no answer, or the controller refuses.
    pub async fn get<A: DeserializeOwned>(&self, path: &str) -> Result<A, Failure> {
        self.get_retrying(path, PATIENCE).await
    }

    /// Sends a GET request, and retries for `patience`.
    ///
    /// # Errors
    /// [`Failure`] when there is no answer within the retry time, or the controller refuses.
    pub async fn get_retrying<A: DeserializeOwned>(
        &self,
        path: &str,
        patience: Duration,
    ) -> Result<A, Failure> {
        self.request(Retry::IfUnanswered, patience, async |client| client.get(path).await).await
    }

    /// Sends a POST request. `retry` depends on what the request does when it is executed twice.
    ///
    /// # Errors
    /// [`Failure`] when there is no answer, or the controller refuses.
    pub async fn post<Q, A>(&self, path: &str, request: &Q, retry: Retry) -> Result<A, Failure>
    where
        Q: Serialize,
        A: DeserializeOwned,
    {
        self.request(retry, PATIENCE, async |client| client.post(path, request).await).await
    }

    /// Sends a POST request that has a request key, so that it is executed only once.
    ///
    /// # Errors
    /// [`Failure`] when there is no answer within the retry time, or the controller refuses.
    pub async fn post_keyed<Q, A>(
        &self,
        path: &str,
        request: &Q,
        patience: Duration,
    ) -> Result<A, Failure>
    where
        Q: Serialize,
        A: DeserializeOwned,
    {
        self.request(Retry::IfUnanswered, patience, async |client| client.post(path, request).await)
            .await
    }

    /// Requests an answer in JSON lines: the first line has a type of its own; the others are added
    /// one by one to what `start` returns for the first.
    ///
    /// # Errors
    /// [`Failure`] when there is no answer, or the controller refuses.
    pub async fn get_lines<H, L, S>(
        &self,
        path: &str,
        start: impl Fn(H) -> S,
        add: impl Fn(&mut S, L),
    ) -> Result<S, Failure>
    where
        H: DeserializeOwned,
        L: DeserializeOwned,
    {
        let lines = async |client: &Client| client.get_lines(path, &start, &add).await;
        self.request(Retry::IfUnanswered, PATIENCE, lines).await
    }

    /// Requests bytes, with the response headers.
    ///
    /// # Errors
    /// [`Failure`] when there is no answer within the retry time, or the controller refuses.
    pub async fn get_bytes_retrying(
        &self,
        path: &str,
        patience: Duration,
    ) -> Result<(HeaderMap, Bytes), Failure> {
        self.request(Retry::IfUnanswered, patience, async |client| get_bytes(client, path).await)
            .await
    }

    /// The same controller over new connections, for another thread, without retries.
    #[must_use]
    pub fn reconnected(&self) -> Self {
        self.reconnected_with_timeout(ANSWER_LIMIT)
    }

    /// The same, with a limit on the time for an answer.
    #[must_use]
    pub fn reconnected_with_timeout(&self, limit: Duration) -> Self {
        let client =
            |client: &Client| Client::new(client.endpoint().clone()).with_answer_limit(Some(limit));
        let clients = self.clients.iter().map(client).collect();
        Self { clients, retry: Some(Duration::ZERO), retrying: Arc::default() }
    }

    /// Posts bytes in a request that may be repeated; the answer has no content.
    ///
    /// # Errors
    /// [`Failure`] when there is no answer within the retry time, or the controller refuses.
    pub async fn post_bytes(
        &self,
        path: &str,
        bytes: &Bytes,
        patience: Duration,
    ) -> Result<(), Failure> {
        let ask = async |client: &Client| post_bytes(client, path, bytes.clone()).await;
        self.request(Retry::IfUnanswered, patience, ask).await
    }

    async fn request<A>(
        &self,
        retry: Retry,
        patience: Duration,
        send: impl AsyncFn(&Client) -> Result<A, ClientError>,
    ) -> Result<A, Failure> {
        let patience = self.patience(patience);
        let mut backoff = Backoff::new(BACKOFF_FIRST, BACKOFF_CAP);
        let mut retrying: Option<Retrying<'_>> = None;
        loop {
            let no_answer = match self.request_once(&send, retry).await {
                Ok(answer) => {
                    if retrying.is_some_and(|retrying| retrying.is_last()) {
                        note("the controller answers again");
                    }
                    return Ok(answer);
                }
                Err(no_answer) => no_answer,
            };
            let is_new = retrying.is_none();
            let one = retrying.get_or_insert_with(|| Retrying::new(&self.retrying));
            let left = patience.saturating_sub(one.since.elapsed());
            if !may_retry(&no_answer, retry) || left.is_zero() {
                return Err(no_answer.into());
            }
            if is_new && one.is_last() {
                let failure = Failure::from(no_answer);
                note(&failure.error.to_string());
                note(&format!("trying again for {} s", patience.as_secs()));
            }
            tokio::time::sleep(backoff.next().min(left)).await;
        }
    }

    /// Sends the request to the first socket that accepts connections and knows a leader.
    async fn request_once<A>(
        &self,
        send: &impl AsyncFn(&Client) -> Result<A, ClientError>,
        retry: Retry,
    ) -> Result<A, NoAnswer> {
        let (mut unreached, mut failed) = (Vec::new(), None);
        for client in &self.clients {
            match send(client).await {
                Ok(answer) => return Ok(answer),
                Err(error) if error.is_unreachable() => unreached.push(error),
                // A controller that is cut off from the others says so; another may not be.
                Err(error) if is_not_executed(&error) => failed = failed.or(Some(error)),
                // A stopped daemon accepts connections.
                Err(error @ ClientError::TimedOut { .. }) if retry == Retry::IfUnanswered => {
                    failed = failed.or(Some(error));
                }
                Err(error) => return Err(NoAnswer::Failed(error)),
            }
        }
        Err(failed.map_or(NoAnswer::Unreached(unreached), NoAnswer::Failed))
    }
}

fn may_retry(no_answer: &NoAnswer, retry: Retry) -> bool {
    match no_answer {
        NoAnswer::Unreached(_) => true,
        NoAnswer::Failed(error) => {
            let unanswered = match error {
                error if is_not_executed(error) => return true,
                ClientError::Interrupted { .. } | ClientError::TimedOut { .. } => true,
                // From a daemon in between, or from a controller without a leader.
                ClientError::Refused { status: 502..=504, .. } => !is_silent_node(error),
                _ => false,
            };
            unanswered && retry == Retry::IfUnanswered
        }
    }
}

impl From<NoAnswer> for Failure {
    fn from(no_answer: NoAnswer) -> Self {
        let errors = match no_answer {
            NoAnswer::Failed(error) => return error.into(),
            NoAnswer::Unreached(errors) => errors,
        };
        let reasons: Vec<String> = errors.iter().map(reason).collect();
        let text = format!("failed to reach the controller: {}", reasons.join("; "));
        Failure::new(Kind::Unreachable, anyhow::Error::msg(text)).with_hint(
            "is the daemon running? `systemctl status kantctld kantd`; name another socket \
             with --socket or KANT_SOCKET",
        )
    }
}

/// The reason why a socket does not answer.
fn reason(error: &ClientError) -> String {
    match error {
        ClientError::Unreachable { endpoint, source, .. } => format!("{endpoint}: {source}"),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use net::ApiError;

    #[tokio::test]
    async fn the_error_for_an_unreachable_controller_lists_its_sockets() {
        let sockets = ["/nonexistent/a.sock".into(), "/nonexistent/b.sock".into()];
        let server = Server::new(&sockets, Some(Duration::ZERO));
        let failure = server.get::<()>("/v1/status").await.unwrap_err();
        let message = failure.to_string();
        assert_eq!(failure.kind, Kind::Unreachable);
        assert!(message.contains("a.sock") && message.contains("b.sock"), "{message}");
        assert!(message.contains("hint: "), "{message}");
    }

    #[test]
    fn requests_are_retried_only_where_that_does_no_harm() {
        let refused = |status, code: &str| {
            let error = ApiError { code: code.to_owned(), message: String::new(), hint: None };
            NoAnswer::Failed(ClientError::Refused { status, error })
        };
        let lost = || {
            let (endpoint, source) = ("a".to_owned(), std::io::Error::other("gone").into());
            NoAnswer::Failed(ClientError::Interrupted { endpoint, source })
        };
        for (no_answer, if_unsent, if_unanswered) in [
            (NoAnswer::Unreached(Vec::new()), true, true),
            (refused(503, "no-leader"), true, true),
            (refused(503, "controller-unreachable"), true, true),
            (refused(503, "lead_lost"), false, true),
            (refused(502, "controller-lost"), false, true),
            (lost(), false, true),
            (refused(409, "wrong_phase"), false, false),
            (refused(502, "node_silent"), false, false),
        ] {
            let may = [Retry::IfUnsent, Retry::IfUnanswered].map(|a| may_retry(&no_answer, a));
            assert_eq!(may, [if_unsent, if_unanswered]);
        }
    }
}
