//! Whether a policy has limits or quotas. Without any, rounds skip the usage accounting.

use common::policy::queue::Queue;
use common::policy::{Amounts, Policy, Quota, QuotaMode};

pub(super) fn bounds_any_job(policy: &Policy) -> bool {
    limits_any_job(policy) || policy.queues.iter().any(|queue| queue.quota != Quota::default())
}

/// Whether limits or quotas may refuse a job. A quota that is shared and names no `at_most` refuses
/// none, unless another one is isolated.
pub(super) fn may_refuse(policy: &Policy) -> bool {
    let is_hard =
        |quota: &Quota| quota.mode == QuotaMode::Isolated || quota.at_most != Amounts::default();
    limits_any_job(policy) || policy.queues.iter().any(|queue| is_hard(&queue.quota))
}

fn limits_any_job(policy: &Policy) -> bool {
    let of_queue = |queue: &Queue| {
        let limits = [&queue.limits, &queue.limits_per_user, &queue.limits_per_account];
        limits.into_iter().any(|limits| !limits.is_empty())
    };
    let limits = policy.qos.iter().flat_map(|qos| [&qos.limits, &qos.limits_per_user]);
    let of_accounts = policy.accounts.iter();
    let of_accounts = of_accounts.flat_map(|account| [&account.limits, &account.limits_per_user]);
    policy.queues.iter().any(of_queue) || limits.chain(of_accounts).any(|limits| !limits.is_empty())
}
