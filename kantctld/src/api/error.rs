//! Refusals as HTTP answers: a status, a stable code, a sentence, and a hint. Internal details are
//! left out.

use super::leader::{NO_LEADER, no_leader_refusal};
use crate::core::CommandError;
use crate::raft::ProposeError;
use axum::extract::rejection::JsonRejection;
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use common::id::{IdError, JobKey};
use common::job::check::AskError;
use common::reason::{Refusal, ServiceRefusal, TokenRefusal};

#[derive(Debug, thiserror::Error)]
pub enum ApiFailure {
    /// A command failed.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// A check before the proposal failed.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Invalid id or name in the path.
    #[error(transparent)]
    BadId(#[from] IdError),
    /// The job request is invalid in itself.
    #[error(transparent)]
    BadAsk(#[from] AskError),
    /// Invalid body.
    #[error("failed to read the request: {0}")]
    BadBody(#[from] JsonRejection),
    #[error(transparent)]
    NearlyFull(#[from] crate::disk_guard::NearlyFull),
    /// A refusal to pass on unchanged.
    #[error("{}", .0.error)]
    Http(net::Refusal),
    /// A node's output could not be read, or a program not be started there.
    #[error("{message}")]
    Output {
        /// 409 if the job does not run, 502 if the node cannot be asked.
        status: StatusCode,
        code: &'static str,
        message: String,
    },
}

impl ApiFailure {
    /// The failure as one of a change to an existing job.
    pub fn for_job_change(self, key: JobKey) -> Self {
        let message = |reason| format!("{reason}: job {key} is unchanged");
        match self {
            Self::Refused(
                Refusal::NeverFits { reason, .. } | Refusal::NeverAdmitted { reason },
            ) => Self::Refused(Refusal::BadAsk { message: message(reason) }),
            other => other,
        }
    }

    pub fn code(&self) -> &'static str {
        self.status_and_code().1
    }

    /// What to do next, if known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Command(CommandError::Refused(refusal)) | Self::Refused(refusal) => {
                refusal.hint()
            }
            Self::Http(refusal) => refusal.error.hint.clone(),
            _ => None,
        }
    }

    /// The HTTP status, and the code for programs.
    pub fn status_and_code(&self) -> (StatusCode, &'static str) {
        match self {
            Self::Command(CommandError::Refused(refusal)) | Self::Refused(refusal) => {
                (refusal_status(refusal), refusal.code())
            }
            Self::Command(CommandError::NotTaken(ProposeError::NotLeader)) => {
                (StatusCode::SERVICE_UNAVAILABLE, NO_LEADER)
            }
            Self::Command(CommandError::NotTaken(ProposeError::Busy)) => {
                (StatusCode::SERVICE_UNAVAILABLE, "busy")
            }
            Self::Command(CommandError::NotTaken(ProposeError::Stopped)) => {
                (StatusCode::SERVICE_UNAVAILABLE, "stopping")
            }
            Self::Command(CommandError::NotTaken(ProposeError::Unknown)) => {
                (StatusCode::SERVICE_UNAVAILABLE, "lead_lost")
            }
            Self::Command(CommandError::NotTaken(ProposeError::TooEarly(_))) => {
                (StatusCode::CONFLICT, "rules_level")
            }
            Self::Command(CommandError::NotTaken(ProposeError::Change(_))) => {
                (StatusCode::CONFLICT, "no_such_change")
            }
            Self::BadId(_) => (StatusCode::BAD_REQUEST, "bad_id"),
            Self::BadAsk(_) => (StatusCode::BAD_REQUEST, "bad_ask"),
            Self::BadBody(rejection) => (rejection.status(), "bad_body"),
            Self::Output { status, code, .. } => (*status, code),
            Self::NearlyFull(_) => (StatusCode::INSUFFICIENT_STORAGE, "disk_nearly_full"),
            Self::Http(refusal) => (refusal.status, "said"),
        }
    }
}

const fn service_status(refusal: &ServiceRefusal) -> StatusCode {
    match refusal {
        ServiceRefusal::Unknown { .. } => StatusCode::NOT_FOUND,
        ServiceRefusal::NotYours { .. } => StatusCode::FORBIDDEN,
        ServiceRefusal::Stopping { .. }
        | ServiceRefusal::PortTaken { .. }
        | ServiceRefusal::ProtocolChange { .. }
        | ServiceRefusal::NothingToPromote { .. }
        | ServiceRefusal::Autoscaled { .. }
        | ServiceRefusal::IsReplica { .. } => StatusCode::CONFLICT,
        ServiceRefusal::UnknownRole { .. }
        | ServiceRefusal::UnknownRevision { .. }
        | ServiceRefusal::OutOfBounds { .. }
        | ServiceRefusal::TooMany { .. } => StatusCode::UNPROCESSABLE_ENTITY,
    }
}

const fn token_status(refusal: &TokenRefusal) -> StatusCode {
    match refusal {
        TokenRefusal::Unknown { .. } => StatusCode::NOT_FOUND,
        TokenRefusal::AdminScope => StatusCode::FORBIDDEN,
        TokenRefusal::TooMany { .. } | TokenRefusal::SameId => StatusCode::CONFLICT,
    }
}

fn refusal_status(refusal: &Refusal) -> StatusCode {
    match refusal {
        Refusal::Service(refusal) => service_status(refusal),
        Refusal::Token(refusal) => token_status(refusal),
        Refusal::UnknownJob { .. }
        | Refusal::UnknownNode { .. }
        | Refusal::UnknownReservation { .. } => StatusCode::NOT_FOUND,
        Refusal::NotYours { .. }
        | Refusal::OperatorsOnly { .. }
        | Refusal::ViewersOnly { .. }
        | Refusal::NotCoordinated { .. }
        | Refusal::HeldByCoordinator { .. }
        | Refusal::OwnerRequeues { .. }
        | Refusal::RootJob
        | Refusal::QueueClosed { .. }
        | Refusal::QosClosed { .. }
        | Refusal::AccountClosed { .. }
        | Refusal::ReservationClosed { .. }
        | Refusal::HeldByOperator { .. }
        | Refusal::Invitation(_)
        | Refusal::KeyRotation(_)
        | Refusal::NiceNegative => StatusCode::FORBIDDEN,
        Refusal::WrongPhase { .. }
        | Refusal::NothingToSave { .. }
        | Refusal::PartOfSet(_)
        | Refusal::AlreadyEnding { .. }
        | Refusal::AlreadyDone { .. }
        | Refusal::ReservationExists { .. }
        | Refusal::ReservationOverlaps { .. }
        | Refusal::NotHeld { .. }
        | Refusal::TextsGone { .. }
        | Refusal::NodeNameTaken { .. } => StatusCode::CONFLICT,
        Refusal::UnknownQueue { .. }
        | Refusal::UnknownQos { .. }
        | Refusal::UnknownAccount { .. }
        | Refusal::TimeLimitTooLong { .. }
        | Refusal::QosTimeLimit { .. }
        | Refusal::WholeGpusOnly { .. }
        | Refusal::DeadlinePassed { .. }
        | Refusal::DeadlineTooEarly { .. }
        | Refusal::NeverFits { .. }
        | Refusal::NeverAdmitted { .. }
        | Refusal::NoSuchLevel { .. }
        | Refusal::NoRoom(_)
        | Refusal::BadAsk { .. } => StatusCode::UNPROCESSABLE_ENTITY,
    }
}

impl IntoResponse for ApiFailure {
    fn into_response(self) -> Response {
        if let Self::Http(refusal) = self {
            return refusal.into_response();
        }
        let (status, code) = self.status_and_code();
        if code == NO_LEADER {
            return no_leader_refusal().into_response();
        }
        if status == StatusCode::PAYLOAD_TOO_LARGE {
            return super::body_limit::too_large_refusal().into_response();
        }
        let mut refusal = net::Refusal::new(status, code, self.to_string());
        refusal.error.hint = self.hint();
        refusal.into_response()
    }
}

/// The answer for unknown paths.
pub async fn no_such_path(uri: Uri) -> Response {
    let message = format!("this controller has no {}: is kantctl another release?", uri.path());
    net::Refusal::new(StatusCode::NOT_FOUND, "no_such_path", message).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::id::JobId;

    #[tokio::test]
    async fn what_to_do_after_a_refusal_is_a_hint_of_its_own() {
        let refusal = Refusal::UnknownJob { key: JobKey::single(JobId(7)) };
        let response = ApiFailure::from(refusal).into_response();
        assert_eq!(response.status(), StatusCode::NOT_FOUND);
        let body = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
        let expected = serde_json::json!({ "error": {
            "code": "unknown_job",
            "message": "there is no job 7",
            "hint": "see `kantctl queue --all`"
        } });
        assert_eq!(serde_json::from_slice::<serde_json::Value>(&body).unwrap(), expected);
    }
}
