//! The example, and what holds on any tree. Never a node.

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
    [1, 2, 3].into_iter().for_each(|at| tree.ask(QueueAt(at), &gpus(16)));
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

/// Trees in which no family is owed more than the queue above it.
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

proptest! {
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
                tree.ask(QueueAt(at), &gpus(request));
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
