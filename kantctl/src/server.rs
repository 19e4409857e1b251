//! Asking the controller, on the first of its sockets that answers, and again for a while where
//! asking twice does no harm. Never decides what an answer means.

mod exchange;
mod failing;
mod path;

use crate::failure::{Failure, Kind, says_nothing_done, says_silent_node};
use crate::output::screen::note;
use axum::body::{Body, Bytes};
use axum::http::HeaderMap;
use exchange::{get_bytes, post_bytes, streamed};
use failing::Failing;
use net::{Backoff, Client, ClientError, Endpoint};
pub use path::encoded;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

/// How long verbs without a patience of their own keep asking: an election, or a controller's
/// restart, takes a second or two.
pub const PATIENCE: Duration = Duration::from_secs(15);
const BACKOFF_FIRST: Duration = Duration::from_millis(200);
const BACKOFF_CAP: Duration = Duration::from_secs(2);
/// The longest a long poll is asked to wait; a daemon's answer limit is above it.
pub const POLL_SECONDS: u64 = 20;
/// Time for an answer beyond what it was asked to wait.
const ANSWER_LIMIT: Duration = Duration::from_secs(30 + POLL_SECONDS);
/// So many wishes of one command are on their way at once: the controller writes them to disk
/// together.
pub const AT_ONCE: usize = 16;

#[derive(Debug)]
pub struct Server {
    clients: Vec<Client>,
    retry: Option<Duration>,
    /// Its questions without an answer for now: the first says so, the last that it has one.
    failing: Arc<AtomicUsize>,
}

/// Which failures may be followed by asking again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Again {
    /// Only when nothing was done: nothing was sent, or to nobody who leads.
    IfUnsent,
    /// Always when no answer came: asking twice does no harm.
    IfUnanswered,
}

/// Why there is no answer.
enum Silence {
    /// No socket answers, each for its reason.
    Unreached(Vec<ClientError>),
    /// One answered, or broke off.
    Failed(ClientError),
}

impl Server {
    /// The controller behind these sockets, tried in order. `retry` replaces every verb's own
    /// patience.
    #[must_use]
    pub fn new(sockets: &[PathBuf], retry: Option<Duration>) -> Self {
        let client = |path: &PathBuf| {
            Client::new(Endpoint::Unix(path.clone()))
                .with_answer_limit(Some(ANSWER_LIMIT))
                .with_idle_connections(AT_ONCE)
        };
        Self { clients: sockets.iter().map(client).collect(), retry, failing: Arc::default() }
    }

    /// The same, asking once.
    #[must_use]
    pub fn impatient(&self) -> Self {
        Self { retry: Some(Duration::ZERO), ..self.again() }
    }

    /// Asks for what has no end: gives the answer as it comes.
    ///
    /// # Errors
    /// [`Failure`] when there is no answer in all that time, or a refusal.
    pub async fn stream(&self, path: &str, patience: Duration) -> Result<Body, Failure> {
        self.ask(Again::IfUnanswered, patience, async |client| streamed(client, path).await).await
    }

    /// How long to keep asking: as the user said with --retry, or so long.
    #[must_use]
    pub fn patience(&self, own: Duration) -> Duration {
        self.retry.unwrap_or(own)
    }

    /// Asks for something.
    ///
    /// # Errors
    /// [`Failure`] when there is no answer, or a refusal.
    pub async fn get<A: DeserializeOwned>(&self, path: &str) -> Result<A, Failure> {
        self.get_for(path, PATIENCE).await
    }

    /// Asks for something, and again for so long while nobody answers.
    ///
    /// # Errors
    /// [`Failure`] when there is no answer in all that time, or a refusal.
    pub async fn get_for<A: DeserializeOwned>(
        &self,
        path: &str,
        patience: Duration,
    ) -> Result<A, Failure> {
        self.ask(Again::IfUnanswered, patience, async |client| client.get(path).await).await
    }

    /// Puts a wish. `again` says what it would do if it were granted twice.
    ///
    /// # Errors
    /// [`Failure`] when there is no answer, or a refusal.
    pub async fn post<Q, A>(&self, path: &str, wish: &Q, again: Again) -> Result<A, Failure>
    where
        Q: Serialize,
        A: DeserializeOwned,
    {
        self.ask(again, PATIENCE, async |client| client.post(path, wish).await).await
    }

    /// Puts a wish that carries its own key, so that it is granted once however often it is sent.
    ///
    /// # Errors
    /// [`Failure`] when there is no answer in all that time, or a refusal.
    pub async fn post_keyed<Q, A>(
        &self,
        path: &str,
        wish: &Q,
        patience: Duration,
    ) -> Result<A, Failure>
    where
        Q: Serialize,
        A: DeserializeOwned,
    {
        self.ask(Again::IfUnanswered, patience, async |client| client.post(path, wish).await).await
    }

    /// Asks for something that comes in lines, the first of a kind of its own, the others added one
    /// by one to what `start` makes of it.
    ///
    /// # Errors
    /// [`Failure`] when there is no answer, or a refusal.
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
        self.ask(Again::IfUnanswered, PATIENCE, lines).await
    }

    /// Asks for bytes, with the headers they come with.
    ///
    /// # Errors
    /// [`Failure`] when there is no answer in all that time, or a refusal.
    pub async fn get_bytes_for(
        &self,
        path: &str,
        patience: Duration,
    ) -> Result<(HeaderMap, Bytes), Failure> {
        self.ask(Again::IfUnanswered, patience, async |client| get_bytes(client, path).await).await
    }

    /// The same controller, on the same connections.
    #[must_use]
    pub fn again(&self) -> Self {
        let failing = self.failing.clone();
        Self { clients: self.clients.clone(), retry: self.retry, failing }
    }

    /// The same controller on connections of its own, for another thread: it keeps asking nobody.
    #[must_use]
    pub fn fresh(&self) -> Self {
        self.fresh_within(ANSWER_LIMIT)
    }

    /// The same, for who wants an answer soon or none.
    #[must_use]
    pub fn fresh_within(&self, limit: Duration) -> Self {
        let again =
            |client: &Client| Client::new(client.endpoint().clone()).with_answer_limit(Some(limit));
        let clients = self.clients.iter().map(again).collect();
        Self { clients, retry: Some(Duration::ZERO), failing: Arc::default() }
    }

    /// Puts bytes where they belong, however often they are sent; the answer says nothing more.
    ///
    /// # Errors
    /// [`Failure`] when there is no answer in all that time, or a refusal.
    pub async fn post_bytes(
        &self,
        path: &str,
        bytes: &Bytes,
        patience: Duration,
    ) -> Result<(), Failure> {
        let ask = async |client: &Client| post_bytes(client, path, bytes.clone()).await;
        self.ask(Again::IfUnanswered, patience, ask).await
    }

    async fn ask<A>(
        &self,
        again: Again,
        patience: Duration,
        question: impl AsyncFn(&Client) -> Result<A, ClientError>,
    ) -> Result<A, Failure> {
        let patience = self.patience(patience);
        let mut backoff = Backoff::new(BACKOFF_FIRST, BACKOFF_CAP);
        let mut failing: Option<Failing<'_>> = None;
        loop {
            let silence = match self.ask_once(&question).await {
                Ok(answer) => {
                    if failing.is_some_and(|failing| failing.is_last()) {
                        note("the controller answers again");
                    }
                    return Ok(answer);
                }
                Err(silence) => silence,
            };
            let is_new = failing.is_none();
            let one = failing.get_or_insert_with(|| Failing::one_more(&self.failing));
            let left = patience.saturating_sub(one.since.elapsed());
            if !may_ask_again(&silence, again) || left.is_zero() {
                return Err(silence.into());
            }
            if is_new && one.is_last() {
                let failure = Failure::from(silence);
                note(&failure.error.to_string());
                note(&format!("trying again for {} s", patience.as_secs()));
            }
            tokio::time::sleep(backoff.next().min(left)).await;
        }
    }

    /// Asks the first socket that anybody listens on.
    async fn ask_once<A>(
        &self,
        question: &impl AsyncFn(&Client) -> Result<A, ClientError>,
    ) -> Result<A, Silence> {
        let mut unreached = Vec::new();
        for client in &self.clients {
            match question(client).await {
                Ok(answer) => return Ok(answer),
                Err(error) if error.is_unreachable() => unreached.push(error),
                Err(error) => return Err(Silence::Failed(error)),
            }
        }
        Err(Silence::Unreached(unreached))
    }
}

fn may_ask_again(silence: &Silence, again: Again) -> bool {
    match silence {
        Silence::Unreached(_) => true,
        Silence::Failed(error) => {
            let unanswered = match error {
                error if says_nothing_done(error) => return true,
                ClientError::Interrupted { .. } | ClientError::TimedOut { .. } => true,
                // A daemon in between, or a controller that leads nothing at the moment.
                ClientError::Refused { status: 502..=504, .. } => !says_silent_node(error),
                _ => false,
            };
            unanswered && again == Again::IfUnanswered
        }
    }
}

impl From<Silence> for Failure {
    fn from(silence: Silence) -> Self {
        let errors = match silence {
            Silence::Failed(error) => return error.into(),
            Silence::Unreached(errors) => errors,
        };
        let reasons: Vec<String> = errors.iter().map(reason).collect();
        let text = format!("failed to reach the controller: {}", reasons.join("; "));
        Failure::new(Kind::Unreachable, anyhow::Error::msg(text)).hint(
            "is the daemon running? `systemctl status kantctld kantd`; another socket is named \
             with --socket or KANT_SOCKET",
        )
    }
}

/// What is wrong with a socket.
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
    async fn an_absent_controller_is_named_by_its_sockets() {
        let sockets = ["/nonexistent/a.sock".into(), "/nonexistent/b.sock".into()];
        let server = Server::new(&sockets, Some(Duration::ZERO));
        let failure = server.get::<()>("/v1/status").await.unwrap_err();
        let message = failure.to_string();
        assert_eq!(failure.kind, Kind::Unreachable);
        assert!(message.contains("a.sock") && message.contains("b.sock"), "{message}");
        assert!(message.contains("hint: "), "{message}");
    }

    #[test]
    fn a_wish_is_repeated_after_silence_only_where_that_does_no_harm() {
        let refused = |status, code: &str| {
            let error = ApiError { code: code.to_owned(), message: String::new(), hint: None };
            Silence::Failed(ClientError::Refused { status, error })
        };
        let lost = || {
            let (endpoint, source) = ("a".to_owned(), std::io::Error::other("gone").into());
            Silence::Failed(ClientError::Interrupted { endpoint, source })
        };
        for (silence, if_unsent, if_unanswered) in [
            (Silence::Unreached(Vec::new()), true, true),
            (refused(503, "no-leader"), true, true),
            (refused(503, "controller-unreachable"), true, true),
            (refused(503, "lead_lost"), false, true),
            (refused(502, "controller-lost"), false, true),
            (lost(), false, true),
            (refused(409, "wrong_phase"), false, false),
            (refused(502, "node_silent"), false, false),
        ] {
            let may = [Again::IfUnsent, Again::IfUnanswered].map(|a| may_ask_again(&silence, a));
            assert_eq!(may, [if_unsent, if_unanswered]);
        }
    }
}
