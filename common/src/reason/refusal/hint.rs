//! What to do next after a refusal.

use super::{Mend, Refusal, checkpoint};
use crate::reason::bad_request::joined;
use std::fmt;

impl Refusal {
    /// What to do next; `None` if nothing helps, or the sentence says it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        let fixed = match self {
            Self::PartOfSet(place) => return Some(format!("name {}", place.first)),
            Self::UnknownQueue { known, .. } => {
                return Some(format!("there are {}", joined(known, ", ")));
            }
            Self::UnknownAccount { known, .. } => {
                return Some(format!("there are {}", joined(known, ", ")));
            }
            Self::UnknownQos { known, .. } if !known.is_empty() => {
                return Some(format!("there are {}", joined(known, ", ")));
            }
            Self::UnknownQos { .. } => "this cluster has none, leave --qos out",
            Self::AccountClosed { open, .. } => {
                let ask = "ask an operator to add you to its `users` in kantctld.toml";
                let other = match open.as_slice() {
                    [] => "leave --account out".to_owned(),
                    _ => format!("name {} with --account", joined(open, " or ")),
                };
                return Some(format!("{other}, or {ask}"));
            }
            Self::NeverFits { mend, .. } => {
                let hold = "submit with --hold to keep it until there is such a node";
                let mend = mend.as_ref().map(|mend| format!("{mend}, or ")).unwrap_or_default();
                return Some(format!("{mend}{hold}"));
            }
            Self::NotHeld { key } => return Some(format!("see `kantctl explain {key}`")),
            Self::Service(refusal) => return refusal.hint(),
            fixed => fixed.fixed_hint()?,
        };
        Some(fixed.to_owned())
    }

    /// The sentence and the hint in one, for readers that get only a text.
    #[must_use]
    pub fn text_with_hint(&self) -> String {
        self.hint().map_or_else(|| self.to_string(), |hint| format!("{self}; {hint}"))
    }

    /// The hint, if it is the same for all refusals of the kind.
    const fn fixed_hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::UnknownJob { .. } => "see `kantctl queue --all`",
            Self::OperatorsOnly { .. } => {
                "`operators` in [roles] in kantctld.toml lists them; a token needs the scope \
                 admin, and on a node it does not count"
            }
            Self::ViewersOnly { .. } => {
                "[roles] in kantctld.toml lists them; a token needs the scope admin, and on a node \
                 it does not count"
            }
            Self::NotCoordinated { .. } => "ask its owner or an operator",
            Self::RootJob => {
                "submit as a user, or set `allow_root_jobs` in kantctld.toml and each kantd.toml"
            }
            Self::NothingToSave { phase, .. } => checkpoint::advice(*phase),
            Self::TimeLimitTooLong { .. } | Self::QosTimeLimit { .. } => "lower --time",
            Self::QueueClosed { .. } => {
                "name another with --queue (see `kantctl queues`), or ask an operator"
            }
            Self::QosClosed { .. } => "leave --qos out, or ask an operator",
            Self::WholeGpusOnly { .. } => {
                "ask for --gpus=1, or name a queue with `share_gpus = true`"
            }
            Self::DeadlinePassed { .. } => "give a later --deadline",
            Self::DeadlineTooEarly { .. } => "lower --time, or give a later --deadline",
            Self::UnknownReservation { .. } => "see `kantctl reservations`",
            Self::ReservationClosed { .. } => "leave --reservation out, or ask an operator",
            Self::ReservationExists { .. } => "choose another name, or delete it first",
            Self::ReservationOverlaps { .. } => "choose another node or another time",
            Self::NeverAdmitted { .. } => {
                "ask for less, name another queue (`kantctl queues`), or submit with --hold to \
                 keep it until the limit is raised"
            }
            Self::NoSuchLevel { .. } => {
                "leave --near out, or ask an operator to describe the network in kantctld.toml"
            }
            Self::HeldByOperator { .. } => "ask an operator to release it",
            Self::HeldByCoordinator { .. } => {
                "ask a coordinator of its queue or account, or an operator"
            }
            Self::OwnerRequeues { .. } => "ask its owner or an operator",
            Self::UnknownNode { .. } => "see `kantctl nodes`",
            Self::NodeNameTaken { .. } => {
                "give this one another `name` in kantd.toml, or stop the other"
            }
            Self::TextsGone { .. } => "submit it again",
            Self::NoRoom(room) => room.hint(),
            Self::Invitation(refusal) => refusal.hint(),
            Self::KeyRotation(refusal) => refusal.hint(),
            Self::Token(refusal) => refusal.hint(),
            _ => return None,
        })
    }
}

/// An imperative.
impl fmt::Display for Mend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LeaveRequiredOut => f.write_str("leave :required out of --near"),
            Self::LeaveGpusOut => f.write_str("leave --gpus out"),
            Self::OtherKinds(kinds) => {
                let kinds = kinds.iter().map(|kind| kind.0.as_str());
                write!(f, "ask for {} GPUs", joined(kinds, " or "))
            }
            Self::Split { nodes, kind, each } => {
                let kind = kind.as_ref().map(|kind| format!("{}:", kind.0)).unwrap_or_default();
                write!(f, "try --nodes={nodes} --gpus-per-node={kind}{each}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::JobKey;
    use crate::reason::{InvitationRefusal, NoRoom};

    #[test]
    fn a_refusal_says_what_failed_and_its_hint_what_to_do() {
        let key = JobKey::single(crate::id::JobId(7));
        let unknown = Refusal::UnknownJob { key };
        assert_eq!(unknown.to_string(), "there is no job 7");
        assert_eq!(unknown.hint().as_deref(), Some("see `kantctl queue --all`"));
        assert_eq!(unknown.text_with_hint(), "there is no job 7; see `kantctl queue --all`");
        let queue = || "nope".parse().unwrap();
        let unknown = Refusal::UnknownQueue {
            name: queue(),
            known: vec!["main".parse().unwrap(), "short".parse().unwrap()],
        };
        assert_eq!(unknown.text_with_hint(), "there is no queue `nope`; there are main, short");
        let full = Refusal::NoRoom(NoRoom::ClusterFull { alive: 9, more: 2, limit: 10 });
        assert_eq!(full.hint().as_deref(), Some("try again when some have finished"));
        let used = Refusal::Invitation(InvitationRefusal::Used { address: "a:1".to_owned() });
        assert!(used.hint().unwrap().contains("kantctl admin controller invite"));
    }

    #[test]
    fn a_refusal_without_a_hint_is_one_sentence() {
        let bad = Refusal::BadAsk { message: "--ntasks is 0: ask for 1".to_owned() };
        assert_eq!((bad.hint(), bad.text_with_hint()), (None, bad.to_string()));
    }
}
