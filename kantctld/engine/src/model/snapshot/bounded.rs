//! Whether a policy has limits or quotas. Without any, rounds skip the usage accounting.

use common::policy::{Policy, Quota};

pub(super) fn bounds_any_job(policy: &Policy) -> bool {
    let of_queue = |queue: &common::policy::queue::Queue| {
        let limits = [&queue.limits, &queue.limits_per_user, &queue.limits_per_account];
        limits.into_iter().any(|limits| !limits.is_empty()) || queue.quota != Quota::default()
    };
    let limits = policy.qos.iter().flat_map(|qos| [&qos.limits, &qos.limits_per_user]);
    let of_accounts = policy.accounts.iter();
    let of_accounts = of_accounts.flat_map(|account| [&account.limits, &account.limits_per_user]);
    policy.queues.iter().any(of_queue) || limits.chain(of_accounts).any(|limits| !limits.is_empty())
}
