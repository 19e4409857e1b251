//! The stable codes of refusals, for programs. They never change once released.

use super::Refusal;

impl Refusal {
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::UnknownJob { .. } => "unknown_job",
            Self::PartOfSet(_) => "part_of_set",
            Self::NotYours { .. } => "not_yours",
            Self::OperatorsOnly { .. } => "operators_only",
            Self::ViewersOnly { .. } => "viewers_only",
            Self::NotCoordinated { .. } => "not_coordinated",
            Self::RootJob => "root_job",
            Self::WrongPhase { .. } | Self::NothingToSave { .. } => "wrong_phase",
            Self::AlreadyEnding { .. } => "already_ending",
            Self::AlreadyDone { .. } => "already_done",
            Self::UnknownQueue { .. } => "unknown_queue",
            Self::TimeLimitTooLong { .. } => "time_limit_too_long",
            Self::QueueClosed { .. } => "queue_closed",
            Self::UnknownQos { .. } => "unknown_qos",
            Self::QosClosed { .. } => "qos_closed",
            Self::QosTimeLimit { .. } => "qos_time_limit",
            Self::UnknownAccount { .. } => "unknown_account",
            Self::AccountClosed { .. } => "account_closed",
            Self::WholeGpusOnly { .. } => "whole_gpus_only",
            Self::DeadlinePassed { .. } => "deadline_passed",
            Self::DeadlineTooEarly { .. } => "deadline_too_early",
            Self::UnknownReservation { .. } => "unknown_reservation",
            Self::ReservationClosed { .. } => "reservation_closed",
            Self::ReservationExists { .. } => "reservation_exists",
            Self::ReservationOverlaps { .. } => "reservation_overlaps",
            Self::NeverFits { .. } => "never_fits",
            Self::NeverAdmitted { .. } => "never_admitted",
            Self::NoSuchLevel { .. } => "no_such_level",
            Self::HeldByOperator { .. } => "held_by_operator",
            Self::HeldByCoordinator { .. } => "held_by_coordinator",
            Self::OwnerRequeues { .. } => "owner_requeues",
            Self::NotHeld { .. } => "not_held",
            Self::UnknownNode { .. } => "unknown_node",
            Self::NodeNameTaken { .. } => "node_name_taken",
            Self::NiceNegative => "nice_negative",
            Self::NoRoom(room) => room.code(),
            Self::TextsGone { .. } => "texts_gone",
            Self::Invitation(refusal) => refusal.code(),
            Self::KeyRotation(refusal) => refusal.code(),
            Self::Service(refusal) => refusal.code(),
            Self::Token(refusal) => refusal.code(),
            Self::BadAsk { .. } => "bad_ask",
        }
    }
}
