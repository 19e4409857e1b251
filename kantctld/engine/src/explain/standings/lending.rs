//! Which queue lends what another borrows. GPUs are not assigned to queues, so this is an
//! accounting convention for display; reclaim has its own conditions.
//!
//! Among sibling queues (children of the same queue with a quota, or top-level queues) what those
//! above their quota hold, the oldest first, is counted against capacity that no quota guarantees,
//! then against what the others are guaranteed and do not use, the oldest first, then against what
//! the parent has borrowed.
//!
//! Example, two nodes of 8 GPUs, all guaranteed: 8 to queue a, 4 to b, 4 to c. Jobs 1 and 2 of a
//! hold 12, job 3 of b holds 2: a has borrowed 4, of which b lends 2 and c 2.

/// What a queue with its descendants has of one resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Holding {
    /// The parent, which precedes the queue in the list.
    pub above: Option<usize>,
    /// `None`: the queue has no quota for it and borrows none.
    pub quota: Option<u64>,
    pub held: u64,
    /// Whether others may use what it leaves idle.
    pub lends: bool,
}

/// What a queue has borrowed and lent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Debt {
    pub borrowed: u64,
    /// The lenders; `None`: capacity that no quota guarantees.
    pub from: Vec<(Option<usize>, u64)>,
    pub lent: u64,
}

/// The debts of all queues. Each queue follows its parent in the list.
pub(super) fn debts(capacity: u64, holdings: &[Holding]) -> Vec<Debt> {
    let mut debts = vec![Debt::default(); holdings.len()];
    let owners = (0..holdings.len()).filter(|at| holdings[*at].quota.is_some());
    for owner in [None].into_iter().chain(owners.map(Some)) {
        settle(owner, capacity, holdings, &mut debts);
    }
    debts
}

/// The nearest ancestor that has a quota.
fn nearest_quota_ancestor(holdings: &[Holding], at: usize) -> Option<usize> {
    let above = std::iter::successors(holdings[at].above, |at| holdings[*at].above);
    above.take(holdings.len()).find(|at| holdings[*at].quota.is_some())
}

fn settle(above: Option<usize>, capacity: u64, holdings: &[Holding], debts: &mut [Debt]) {
    let quota = |at: usize| holdings[at].quota.unwrap_or(0);
    let has_quota = |at: &usize| holdings[*at].quota.is_some();
    let family: Vec<usize> = (0..holdings.len())
        .filter(has_quota)
        .filter(|at| nearest_quota_ancestor(holdings, *at) == above)
        .collect();
    let (owed, held): (u64, u64) = family
        .iter()
        .fold((0, 0), |(owed, held), at| (owed + quota(*at), held + holdings[*at].held));
    let tops = holdings.iter().filter(|holding| holding.above.is_none());
    let in_all = above.map_or_else(|| tops.map(|top| top.held).sum(), |at| holdings[at].held);
    let size = above.map_or(capacity, quota);
    let nobodys = size.saturating_sub(owed).saturating_sub(in_all.saturating_sub(held));
    let mut sources = vec![(above, nobodys)];
    let idle = |at: &usize| quota(*at).saturating_sub(holdings[*at].held);
    sources.extend(family.iter().filter(|at| holdings[**at].lends).map(|at| (Some(*at), idle(at))));
    let own = sources.len();
    sources.extend(above.map(|at| debts[at].from.clone()).unwrap_or_default());
    for at in &family {
        let borrowed = holdings[*at].held.saturating_sub(quota(*at));
        let mut open = borrowed;
        let mut from = Vec::new();
        for (place, (source, left)) in sources.iter_mut().enumerate() {
            let takes = open.min(*left);
            (open, *left) = (open - takes, *left - takes);
            if takes > 0 {
                from.push((*source, takes));
            }
            // What the parent has borrowed was counted for the parent.
            if let Some(lender) = source.filter(|one| place < own && Some(*one) != above) {
                debts[lender].lent += takes;
            }
        }
        from.extend((open > 0).then_some((None, open)));
        (debts[*at].borrowed, debts[*at].from) = (borrowed, from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holding(above: Option<usize>, quota: u64, held: u64) -> Holding {
        Holding { above, quota: Some(quota), held, lends: true }
    }

    #[test]
    fn the_example() {
        let debts = debts(16, &[holding(None, 8, 12), holding(None, 4, 2), holding(None, 4, 0)]);
        assert_eq!(debts[0].from, [(Some(1), 2), (Some(2), 2)]);
        assert_eq!([debts[0].borrowed, debts[1].lent, debts[2].lent], [4, 2, 2]);
    }

    #[test]
    fn what_no_queue_is_owed_goes_first_and_an_isolated_quota_is_not_lent() {
        let isolated = Holding { lends: false, ..holding(None, 4, 0) };
        let debts = debts(16, &[holding(None, 4, 8), isolated, holding(None, 6, 2)]);
        assert_eq!(debts[0].from, [(None, 2), (Some(2), 2)]);
        assert_eq!([debts[1].lent, debts[2].lent], [0, 2]);
    }

    #[test]
    fn below_a_queue_its_own_quota_its_other_queues_and_its_lenders_are_counted_in_turn() {
        let tree = [holding(None, 8, 10), holding(Some(0), 3, 9), holding(Some(0), 3, 1)];
        let debts = debts(12, &[&tree[..], &[holding(None, 4, 0)]].concat());
        assert_eq!(debts[0].from, [(Some(3), 2)]);
        assert_eq!(debts[1].from, [(Some(0), 2), (Some(2), 2), (Some(3), 2)]);
        assert_eq!([debts[2].lent, debts[3].lent], [2, 2]);
    }

    #[test]
    fn everything_that_is_borrowed_has_a_lender() {
        for held in 0..300u64 {
            let (a, b, c) = (held % 7, held / 7 % 7, held / 49);
            let queues = [(3, a), (1, b), (4, c)].map(|(quota, held)| holding(None, quota, held));
            let all = debts(8 + a + b + c, &queues);
            for (debt, queue) in all.iter().zip(&queues) {
                assert_eq!(debt.borrowed, queue.held.saturating_sub(queue.quota.unwrap()));
                assert_eq!(debt.from.iter().map(|(_, amount)| amount).sum::<u64>(), debt.borrowed);
                assert!(debt.lent + queue.held <= queue.quota.unwrap().max(queue.held));
            }
        }
    }
}
