//! The example of the head, and property tests of any division.

use super::*;
use proptest::prelude::*;

const GPU: i64 = 1_000;

fn share(quota: i64, weight: f64, request: i64) -> Share {
    Share {
        quota: quota * GPU,
        limit: super::super::UNLIMITED,
        weight,
        request: request * GPU,
        usage: 0.0,
        priority: 0,
        seniority: 0,
    }
}

#[test]
fn the_example() {
    let shares = [share(4, 2.0, 16), share(4, 1.0, 16), share(4, 1.0, 2)];
    assert_eq!(divide(16 * GPU, 0.0, GPU, &shares), (vec![8 * GPU, 6 * GPU, 2 * GPU], 0));
}

#[test]
fn who_used_much_has_less_of_the_surplus_and_all_that_it_is_owed() {
    let mut shares = [share(2, 1.0, 16), share(2, 1.0, 16)];
    shares[0].usage = 0.5;
    let (given, left) = divide(16 * GPU, 1.0, GPU, &shares);
    assert_eq!((given, left), (vec![6 * GPU, 10 * GPU], 0));
}

fn any_shares() -> impl Strategy<Value = Vec<Share>> {
    let one = (0..9i64, 0..4u32, 0..17i64, 0..3i64, proptest::option::of(0..12i64));
    proptest::collection::vec(one, 1..7).prop_map(|all| {
        let each = all.into_iter().enumerate();
        each.map(|(seniority, (quota, weight, request, priority, limit))| Share {
            limit: limit.map_or(super::super::UNLIMITED, |limit| limit * GPU),
            priority,
            seniority,
            ..share(quota, f64::from(weight), request)
        })
        .collect()
    })
}

proptest! {
    #[test]
    fn all_there_is_is_given_or_no_queue_wants_it(shares in any_shares(), total in 0..40i64) {
        let (given, left) = divide(total * GPU, 0.0, GPU, &shares);
        let sum: i64 = given.iter().sum();
        let owed: i64 = shares.iter().map(|one| one.demand_within_limit().min(one.quota)).sum();
        prop_assert_eq!(sum + left, (total * GPU).max(owed));
        if left > 0 {
            let wants = |(one, got): (&Share, &i64)| {
                one.weight > 0.0 && one.demand_within_limit() > *got
            };
            prop_assert!(!shares.iter().zip(&given).any(wants), "{:?} {:?}", given, left);
        }
    }

    #[test]
    fn each_queue_has_what_it_is_owed_and_none_more_than_it_wants(
        shares in any_shares(),
        total in 0..40i64,
    ) {
        let (given, _) = divide(total * GPU, 0.0, GPU, &shares);
        for (one, got) in shares.iter().zip(given) {
            prop_assert!(got >= one.demand_within_limit().min(one.quota));
            prop_assert!(got <= one.demand_within_limit());
        }
    }

    #[test]
    fn who_weighs_more_has_no_less(shares in any_shares(), total in 0..40i64, more in 1..4u32) {
        let (before, _) = divide(total * GPU, 0.0, GPU, &shares);
        let mut heavier = shares;
        heavier[0].weight += f64::from(more);
        let (after, _) = divide(total * GPU, 0.0, GPU, &heavier);
        // Rounding to whole units may move one unit.
        prop_assert!(after[0] + GPU > before[0], "{:?} {:?}", before, after);
    }
}
