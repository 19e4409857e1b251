//! The certificate of this node: the first by an invitation (`kantd join`), the next ones by
//! renewal while kantd runs.

use crate::clock;
use crate::config::Settings;
use crate::session::KeyGenerations;
use crate::spool;
use common::causes::with_causes;
use common::wire::api::{EnrolRequest, IssuedCertificate, RenewRequest, Secret};
use net::{
    Client, ClientError, Credentials, CredentialsError, Endpoint, Identity, IdentityError,
    Invitation, NewKey, NotAnInvitation,
};
use std::path::PathBuf;
use std::time::Duration;
use tokio::sync::watch;

const JOIN_PATH: &str = "/v1/enrolments/join";
const RENEW_PATH: &str = "/v1/enrolments/renew";
/// How often to check whether the certificate is due for renewal, and to try again.
const CHECK_PERIOD: Duration = Duration::from_secs(3600);
/// The time over which all nodes of a cluster spread their renewals for a step of a replacement of
/// the cluster key, and how often one that failed is repeated.
const STEP_SPREAD: Duration = Duration::from_secs(1);
const LATE_PERIOD: Duration = Duration::from_secs(2);
/// How long to go on asking while no controller answers: at a cluster's first start, thousands of
/// nodes join at once.
const JOIN_PATIENCE: Duration = Duration::from_secs(60);

/// Why a node could not join.
#[derive(Debug, thiserror::Error)]
pub enum EnrolmentError {
    #[error(
        "no invitation: an operator runs `kantctl admin node invite {name}` on the host of the \
         leading controller; set KANT_INVITATION here to what it prints"
    )]
    NotInvited { name: String },
    #[error(transparent)]
    Invitation(#[from] NotAnInvitation),
    #[error(transparent)]
    Identity(#[from] IdentityError),
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
    #[error("failed to make the spool {}", path.display())]
    Spool {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("the controller sent a certificate of node {name}, which this node is not")]
    OtherNode { name: String },
    #[error("failed to join the cluster: {}", .0.join("; "))]
    Ask(
        /// What each controller answered.
        Vec<String>,
    ),
}

/// Gets a certificate for this node by an invitation, and keeps it in the spool.
///
/// # Errors
/// [`EnrolmentError`].
pub async fn join(
    settings: &Settings,
    controllers: &[String],
    invitation: Option<&str>,
) -> Result<Credentials, EnrolmentError> {
    let not_invited = || EnrolmentError::NotInvited { name: settings.name.to_string() };
    let invitation: Invitation = invitation.ok_or_else(not_invited)?.parse()?;
    let path = settings.spool.clone();
    spool::make(&settings.spool).map_err(|source| EnrolmentError::Spool { path, source })?;
    let identity = Identity::for_invited_host(&invitation)?;
    let endpoint = |addr: &String| Endpoint::Tls { addr: addr.clone(), identity: identity.clone() };
    let endpoints: Vec<Endpoint> = controllers.iter().map(endpoint).collect();
    let key = NewKey::load_or_generate(&settings.spool)?;
    let request = EnrolRequest {
        secret: Secret(invitation.secret),
        name: settings.name.clone(),
        key: key.public_hex(),
    };
    let begun = tokio::time::Instant::now();
    let mut backoff = net::Backoff::new(Duration::from_millis(200), Duration::from_secs(5));
    let issued = loop {
        // Repeating is safe: the same key gets the same answer.
        match ask_each(&endpoints, JOIN_PATH, &request, |_| true).await {
            Err(Unanswered { may_repeat: true, .. }) if begun.elapsed() < JOIN_PATIENCE => {
                tokio::time::sleep(backoff.next()).await;
            }
            answered => break answered.map_err(|error| EnrolmentError::Ask(error.errors))?,
        }
    };
    let credentials = key.into_credentials(&issued)?;
    Identity::node(&credentials)?;
    credentials.save(&settings.spool)?;
    Ok(credentials)
}

/// The renewal of this node's certificate.
pub struct Renewal {
    credentials: Credentials,
    /// The step of the replacements of the cluster key in which it was issued.
    held: watch::Sender<u32>,
    /// The present step.
    wanted: watch::Receiver<u32>,
    identity: Identity,
    spool: PathBuf,
    controllers: Vec<Endpoint>,
}

impl Renewal {
    /// Of these credentials: a new certificate replaces them in the spool and in `identity`. A
    /// session passes on the steps of the replacements of the cluster key.
    #[must_use]
    pub fn of(
        settings: &Settings,
        credentials: Credentials,
        identity: &Identity,
        controllers: &[Endpoint],
    ) -> (Self, KeyGenerations) {
        let (identity, controllers) = (identity.clone(), controllers.to_vec());
        let (held, held_seen) = watch::channel(credentials.generation);
        let (wanted, wanted_seen) = watch::channel(credentials.generation);
        let spool = settings.spool.clone();
        let renewal = Self { credentials, held, wanted: wanted_seen, identity, spool, controllers };
        (renewal, KeyGenerations { held: held_seen, wanted })
    }

    /// Renews the certificate whenever half of its life is over, and for each step of a replacement
    /// of the cluster key. Never returns.
    pub async fn run(mut self) {
        if clock::now() > self.credentials.until {
            let (name, until) = (&self.credentials.name, self.credentials.until);
            tracing::error!(
                "the certificate of this node ended at {until}: if this node's clock is right, an \
                 operator runs `kantctl admin node invite {name}`, and root runs `kantd join` here"
            );
        }
        loop {
            // All nodes learn of a step at the same time.
            let mut is_late = false;
            if self.is_behind() {
                tokio::time::sleep(STEP_SPREAD.mul_f64(fastrand::f64())).await;
                self.renew_or_warn().await;
                is_late = self.is_behind();
            } else if self.credentials.is_due_for_renewal(clock::now()) {
                self.renew_or_warn().await;
            }
            // A controller that does not know the step yet issued an old certificate.
            let period = if is_late { LATE_PERIOD } else { CHECK_PERIOD };
            if let Ok(Err(_)) = tokio::time::timeout(period, self.wanted.changed()).await {
                // Without a session there is no step to wait for.
                tokio::time::sleep(period).await;
            }
        }
    }

    fn is_behind(&self) -> bool {
        self.credentials.generation < *self.wanted.borrow()
    }

    async fn renew_or_warn(&mut self) {
        match self.renew().await {
            Ok(()) => {
                tracing::info!("the certificate was renewed, until {}", self.credentials.until);
            }
            Err(error) => {
                let until = self.credentials.until;
                let error = with_causes(&error);
                tracing::warn!("failed to renew the certificate, valid until {until}: {error}");
            }
        }
    }

    async fn renew(&mut self) -> Result<(), EnrolmentError> {
        let key = NewKey::generate()?;
        let request = RenewRequest { key: key.public_hex() };
        let wanted = self.credentials.generation.max(*self.wanted.borrow());
        // A controller that is behind issues a certificate that is of no use soon.
        let is_present = |issued: &IssuedCertificate| issued.generation >= wanted;
        let issued = ask_each(&self.controllers, RENEW_PATH, &request, is_present).await;
        let issued = issued.map_err(|error| EnrolmentError::Ask(error.errors))?;
        let (renewed, before) = (key.into_credentials(&issued)?, &self.credentials);
        if (&renewed.name, renewed.enrolment) != (&before.name, before.enrolment) {
            return Err(EnrolmentError::OtherNode { name: renewed.name.to_string() });
        }
        // The old credentials stay in the spool unless the new ones can be used.
        let identity = Identity::node(&renewed)?;
        renewed.save(&self.spool)?;
        self.identity.replace(&identity);
        self.credentials = renewed;
        self.held.send_replace(self.credentials.generation);
        Ok(())
    }
}

/// No controller gave a certificate.
struct Unanswered {
    errors: Vec<String>,
    /// No controller refused, and one may answer later.
    may_repeat: bool,
}

/// Asks one controller after another until one answers.
async fn ask_each<Q: serde::Serialize>(
    controllers: &[Endpoint],
    path: &str,
    question: &Q,
    is_usable: impl Fn(&IssuedCertificate) -> bool,
) -> Result<IssuedCertificate, Unanswered> {
    let mut unanswered = Unanswered { errors: Vec::new(), may_repeat: false };
    for endpoint in controllers {
        match Client::new(endpoint.clone()).post(path, question).await {
            Ok(issued) if is_usable(&issued) => return Ok(issued),
            Ok(_) => {
                let behind = "does not know the new cluster key yet";
                unanswered.errors.push(format!("{endpoint} {behind}"));
            }
            Err(error) => {
                let is_refusal = matches!(&error, ClientError::Refused { status: 400..500, .. });
                unanswered.may_repeat |= !is_refusal && !is_foreign(&error);
                unanswered.errors.push(sentence(endpoint, &error));
                if is_refusal {
                    // It holds for the cluster: the others would ask the same leader.
                    unanswered.may_repeat = false;
                    return Err(unanswered);
                }
            }
        }
    }
    Err(unanswered)
}

/// The controller is of another cluster, or is none.
fn is_foreign(error: &ClientError) -> bool {
    let ClientError::Unreachable { source, .. } = error else { return false };
    source.kind() == std::io::ErrorKind::InvalidData
}

fn sentence(endpoint: &Endpoint, error: &ClientError) -> String {
    match error {
        ClientError::Refused { error, .. } => {
            let hint = error.hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
            format!("{endpoint} says: {}{hint}", error.message)
        }
        other => with_causes(other),
    }
}
