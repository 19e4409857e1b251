//! Policies that need no file: the classic ones, and kant's defaults. Each has one queue, in which
//! jobs may share GPUs, since traces have jobs that do; a queue without any key refuses those.
//!
//! | name | order | behind a job without room |
//! |---|---|---|
//! | `fifo` | longest wait first | no job passes |
//! | `befifo` | the same | any job that fits passes |
//! | `easy` | the same | a job passes if it does not delay the first (EASY) |
//! | `easy-pinned` | the same | EASY, with certain nodes kept for the first |
//! | `conservative` | the same | a job passes if it delays none before it |
//! | `kant` | the defaults of a queue | the defaults of a queue |
//! | `kant-expected` | the same | the same, by expected run times |

use common::id::QueueName;
use common::policy::queue::Queue;
use common::policy::{
    Backfill, Behind, Candidates, Order, Placement, Policy, ReservationKind, RunTimes,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Named {
    Fifo,
    Befifo,
    /// EASY backfill, the promise on any nodes.
    Easy,
    /// EASY backfill, the promise on certain nodes.
    EasyPinned,
    Conservative,
    /// The configuration of a cluster that sets only `share_gpus`.
    Kant,
    /// The same, with backfill by expected run times.
    KantExpected,
}

impl Named {
    pub const ALL: [Self; 7] = [
        Self::Fifo,
        Self::Befifo,
        Self::Easy,
        Self::EasyPinned,
        Self::Conservative,
        Self::Kant,
        Self::KantExpected,
    ];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fifo => "fifo",
            Self::Befifo => "befifo",
            Self::Easy => "easy",
            Self::EasyPinned => "easy-pinned",
            Self::Conservative => "conservative",
            Self::Kant => "kant",
            Self::KantExpected => "kant-expected",
        }
    }

    /// The policy with this name.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|named| named.name() == name)
    }

    /// The policy. Nodes are taken in order, except with kant's defaults.
    #[must_use]
    pub fn policy(self) -> Policy {
        let name = QueueName::new("default").expect("letters make a name");
        let plain = Queue { default: true, share_gpus: true, ..Queue::with_defaults(name) };
        let classic = |behind, depth, reservation| Queue {
            order: Order::Fifo,
            behind,
            backfill: Backfill {
                depth,
                reservation,
                candidates: Candidates::InOrder,
                ..Backfill::default()
            },
            placement: Placement::First,
            ..plain.clone()
        };
        let queue = match self {
            Self::Fifo => classic(Behind::Wait, 1, ReservationKind::Floating),
            Self::Befifo => classic(Behind::Pass, 1, ReservationKind::Floating),
            Self::Easy => classic(Behind::Backfill, 1, ReservationKind::Floating),
            Self::EasyPinned => classic(Behind::Backfill, 1, ReservationKind::Pinned),
            Self::Conservative => classic(Behind::Backfill, 0, ReservationKind::Pinned),
            Self::Kant => plain,
            Self::KantExpected => {
                let backfill = Backfill { run_times: RunTimes::Expected, ..plain.backfill };
                Queue { backfill, ..plain }
            }
        };
        Policy { queues: vec![queue], ..Policy::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_found_by_its_name_and_others_are_not() {
        for named in Named::ALL {
            assert_eq!(Named::find(named.name()), Some(named));
            assert_eq!(common::config::policy::check(&named.policy()), Ok(()));
        }
        assert_eq!(Named::find("sjf"), None);
    }

    #[test]
    fn kants_own_is_what_a_queue_without_any_key_does_but_for_shares_of_gpus() {
        let queue = &Named::Kant.policy().queues[0];
        let without_keys = Queue { default: true, ..Queue::with_defaults(queue.name.clone()) };
        assert_eq!(*queue, Queue { share_gpus: true, ..without_keys });
        assert_eq!((queue.behind, queue.placement), (Behind::Backfill, Placement::EBinpack));
    }
}
