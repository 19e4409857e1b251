//! The example of the head, and property tests of any tree.

use super::*;
use proptest::prelude::*;

fn terms(name: &str, parent: Option<usize>, quota: i64, weight: f64) -> Terms {
    Terms {
        name: name.to_owned(),
        parent: parent.map(QueueAt),
        priority: 0,
        created: 0,
        quota: Amount { gpu_milli: quota * 1000, ..Amount::default() },
        limit: Amount::UNLIMITED,
        firm: Amount { gpu_milli: quota * 1000, ..Amount::default() },
        weight: [weight; 3],
        protection: Protection::default(),
    }
}

fn gpus(gpus: i64) -> Amount {
    Amount { gpu_milli: gpus * 1000, ..Amount::default() }
}

#[test]
fn the_example() {
    let mut tree = Tree::new(vec![
        terms("lab", None, 0, 3.0),
        terms("ops", None, 0, 1.0),
        terms("lab-a", Some(0), 0, 1.0),
        terms("lab-b", Some(0), 0, 1.0),
    ]);
    [1, 2, 3].into_iter().for_each(|at| tree.add_request(QueueAt(at), &gpus(16)));
    tree.share_out(&gpus(16), 0.0);
    let due = |at: usize| tree.accounts[at].fair.gpu_milli / 1000;
    assert_eq!([due(0), due(1), due(2), due(3)], [12, 4, 6, 6]);
}

#[test]
fn a_cycle_and_a_queue_above_that_is_not_there_make_tops() {
    let tree = Tree::new(vec![
        terms("a", Some(1), 0, 1.0),
        terms("b", Some(0), 0, 1.0),
        terms("c", Some(9), 0, 1.0),
    ]);
    assert_eq!(tree.below(None), [QueueAt(0), QueueAt(1), QueueAt(2)]);
}

/// Trees in which the quotas of siblings never exceed that of their parent.
fn any_tree() -> impl Strategy<Value = (Vec<Terms>, Vec<i64>)> {
    let one = (0..4usize, 0..8i64, 0..4u32, 0..20i64, 0..2i64);
    proptest::collection::vec(one, 2..12).prop_map(|all| {
        let mut built: Vec<Terms> = Vec::new();
        let mut requests = Vec::new();
        for (at, (above, quota, weight, request, priority)) in all.into_iter().enumerate() {
            let parent = (at > 2).then(|| above % at);
            let left = parent.map_or(quota, |above| {
                let above_quota = built[above].quota.gpu_milli / 1000;
                let siblings = built.iter().filter(|one| one.parent == Some(QueueAt(above)));
                above_quota - siblings.map(|one| one.quota.gpu_milli / 1000).sum::<i64>()
            });
            let mut one = terms(&format!("q{at}"), parent, quota.min(left), f64::from(weight));
            one.priority = priority;
            built.push(one);
            requests.push(request);
        }
        (built, requests)
    })
}

/// The shared-out tree, where only leaf queues ask. `k`: how strongly past use counts.
fn shared_out(
    terms: Vec<Terms>,
    (requests, used): (&[i64], &[f64]),
    gpus_in_all: i64,
    k: f64,
) -> Tree {
    let mut tree = Tree::new(terms);
    for (at, request) in requests.iter().enumerate() {
        if tree.below(Some(QueueAt(at))).is_empty() {
            tree.add_request(QueueAt(at), &gpus(*request));
        }
        tree.accounts[at].usage = [0.0, 0.0, used.get(at).copied().unwrap_or_default()];
    }
    tree.share_out(&gpus(gpus_in_all), k);
    tree
}

/// What a queue can use: what is asked for below it.
fn wants(tree: &Tree, at: QueueAt) -> i64 {
    tree.accounts[at.0].request.gpu_milli
}

proptest! {
    #[test]
    fn what_there_is_is_given_to_the_last_gpu_on_every_level_where_so_much_is_asked_for(
        (mut terms, requests) in any_tree(),
        used in proptest::collection::vec(0.0..0.5f64, 12),
        free in 0..40i64,
    ) {
        terms.iter_mut().for_each(|one| one.weight = one.weight.map(|weight| weight + 1.0));
        let owed = terms.iter().filter(|one| one.parent.is_none());
        let total = owed.map(|one| one.quota.gpu_milli / 1000).sum::<i64>() + free;
        for k in [0.0, 0.2] {
            let tree = shared_out(terms.clone(), (&requests, &used), total, k);
            let families = (0..terms.len()).map(|at| Some(QueueAt(at))).chain([None]);
            for above in families.filter(|above| !tree.below(*above).is_empty()) {
                let there = above.map_or(total * 1000, |at| tree.accounts[at.0].fair.gpu_milli);
                let family = tree.below(above);
                let wanted: i64 = family.iter().map(|at| wants(&tree, *at)).sum();
                let given: i64 = family.iter().map(|at| tree.accounts[at.0].fair.gpu_milli).sum();
                // With k smaller than all weights over past use, every queue keeps a part.
                let is_all = given == there.min(wanted);
                prop_assert!(is_all || k > 0.0, "{above:?}: {given} of {there}, {wanted} wanted");
                prop_assert!(given <= there.min(wanted), "{above:?}: {given} of {there}");
            }
        }
    }

    #[test]
    fn who_weighs_more_anywhere_in_a_tree_has_no_less(
        (terms, requests) in any_tree(),
        queue in 0..12usize,
        more in 1..5u32,
        total in 0..60i64,
    ) {
        let queue = queue % terms.len();
        let before = shared_out(terms.clone(), (&requests, &[]), total, 0.0);
        let mut heavier = terms;
        heavier[queue].weight = heavier[queue].weight.map(|weight| weight + f64::from(more));
        let after = shared_out(heavier, (&requests, &[]), total, 0.0);
        let due = |tree: &Tree| tree.accounts[queue].fair.gpu_milli;
        // Rounding to whole units may move one unit.
        prop_assert!(due(&after) + 1000 > due(&before), "{} {}", due(&before), due(&after));
    }

    #[test]
    fn past_use_takes_nothing_of_what_is_owed_and_gives_no_queue_less_for_having_used_less(
        (terms, requests) in any_tree(),
        used in proptest::collection::vec(0.0..1.0f64, 12),
        queue in 0..12usize,
        k in 0.0..3.0f64,
    ) {
        let owed = terms.iter().filter(|one| one.parent.is_none());
        let total = owed.map(|one| one.quota.gpu_milli / 1000).sum::<i64>() + 7;
        let tree = shared_out(terms.clone(), (&requests, &used), total, k);
        for (at, account) in tree.accounts.iter().enumerate() {
            let owed = terms[at].quota.gpu_milli.min(account.request.gpu_milli);
            prop_assert!(account.fair.gpu_milli >= owed, "{at} {account:?}");
        }
        let queue = queue % terms.len();
        let mut less = used;
        less[queue] /= 2.0;
        let after = shared_out(terms, (&requests, &less), total, k);
        let due = |tree: &Tree| tree.accounts[queue].fair.gpu_milli;
        prop_assert!(due(&after) + 1000 > due(&tree), "{} {}", due(&tree), due(&after));
    }

    #[test]
    fn guarantees_hold_on_any_tree_and_children_have_no_more_than_their_parent(
        (terms, requests) in any_tree(),
    ) {
        let total: i64 = terms
            .iter()
            .filter(|one| one.parent.is_none())
            .map(|one| one.quota.gpu_milli)
            .sum();
        let mut tree = Tree::new(terms);
        for (at, request) in requests.into_iter().enumerate() {
            if tree.below(Some(QueueAt(at))).is_empty() {
                tree.add_request(QueueAt(at), &gpus(request));
            }
        }
        tree.share_out(&Amount { gpu_milli: total + 5_000, ..Amount::default() }, 0.0);
        for (at, account) in tree.accounts.iter().enumerate() {
            let owed = tree.terms[at].quota.gpu_milli.min(account.request.gpu_milli);
            prop_assert!(account.fair.gpu_milli >= owed, "{} {:?}", at, account);
            let family = tree.below(Some(QueueAt(at)));
            if !family.is_empty() {
                let sum: i64 = family.iter().map(|at| tree.accounts[at.0].fair.gpu_milli).sum();
                prop_assert!(sum <= account.fair.gpu_milli, "{} {} {:?}", at, sum, account);
            }
        }
    }
}
