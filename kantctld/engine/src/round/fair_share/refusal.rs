//! The reason why a bound keeps a job from starting in a round under fair sharing, as shown to its
//! user.

use super::accounts::Accounts;
use super::gang::Gang;
use crate::model::shares::{Amount, Resource};
use crate::model::snapshot::Snapshot;
use crate::policy::sharing::bounds::{Excess, within_quotas};
use crate::round::planner::RoundState;
use common::id::{JobKey, QueueName};
use common::reason::{Counted, QuotaBound, WaitReason, What};
use common::time::Time;

/// The quota that a waiting job which is not preemptible would exceed with its minimum of tasks,
/// whatever is free. `None`: it exceeds none, or fair sharing is off. The snapshot must be settled.
#[must_use]
pub fn exceeded_quota(snapshot: &Snapshot, now: Time, key: JobKey) -> Option<WaitReason> {
    if !snapshot.policy.fair_sharing {
        return None;
    }
    let mut state = RoundState::new(snapshot, now);
    let mut accounts = Accounts::of(&mut state);
    let job = snapshot.waiting_job(key)?;
    let gang = Gang::of(&mut state, &mut accounts, job)?;
    let queue = accounts.find(&job.queue).filter(|_| !gang.is_preemptible)?;
    let excess = within_quotas(&accounts.tree, queue, &gang.asks).err()?;
    accounts.reason_for_excess(excess, &gang.asks)
}

impl Accounts<'_> {
    /// The reason of a job that would exceed this bound.
    pub fn reason_for_excess(&self, excess: Excess, asks: &Amount) -> Option<WaitReason> {
        let (queue, resource, is_quota) = match excess {
            Excess::Limit(queue, resource) => (queue, resource, false),
            Excess::Quota(queue, resource) => (queue, resource, true),
        };
        let (terms, account) = (&self.tree.terms[queue.0], &self.tree.accounts[queue.0]);
        let (bound, used) =
            if is_quota { (terms.firm, account.firm) } else { (terms.limit, account.allocated) };
        let shown = |amount: &Amount| {
            let of = amount.get(resource);
            let of = if resource == Resource::Cpu { of / 1000 } else { of };
            u64::try_from(of).unwrap_or_default()
        };
        let what = match resource {
            Resource::Cpu => What::Cpus,
            Resource::Memory => What::Memory,
            Resource::Gpu => What::Gpus,
        };
        let (limit, used, asked) = (shown(&bound), shown(&used), shown(asks));
        Some(WaitReason::QuotaExceeded {
            queue: QueueName::new(&terms.name).ok()?,
            bound: QuotaBound::AtMost { owed: shown(&terms.quota) },
            counted: Counted { what, gpu_kind: None, limit, used, asked },
        })
    }
}
