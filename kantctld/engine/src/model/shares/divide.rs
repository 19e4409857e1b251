//! The division of one resource among sibling queues: first the guaranteed part, then the surplus.
//!
//! Source: KAI Scheduler, proportion plugin (docs "Fairness"): guarantee; surplus by priority, then
//! by weight in rounds; whole units, the largest remainder first. Time-based fair share: past use
//! lowers only the weight in the surplus.
//! Reads: quotas, limits, weights, priorities, requests and past use of siblings. Never: what they
//! hold now, nor any other resource.
//! Knobs: `quota`, `at_most`, `weight` and `priority` of a queue; `usage_strength` (k) of the tree.
//!
//! Example, two nodes of 8 GPUs. Queues a, b and c have a quota of 4 each and weights 2, 1 and 1.
//! Jobs 1, 2 and 3, one of each, ask for 16, 16 and 2. Guaranteed are 4, 4 and 2; of the surplus of
//! 6 a is offered 4 and b 2: a has 8, b 6, c 2.

/// The terms of one queue in the division. Amounts are in base units of the resource
/// ([`super::Resource`]).
#[derive(Debug, Clone, PartialEq)]
pub struct Share {
    /// The guaranteed amount; [`super::UNLIMITED`]: all there is.
    pub quota: i64,
    /// The most that the queue may hold.
    pub limit: i64,
    /// Its part of the surplus, relative to its siblings; zero: none.
    pub weight: f64,
    /// What its jobs hold and wait for.
    pub request: i64,
    /// Its past use, relative to the past capacity: 0 to 1.
    pub usage: f64,
    /// Queues of a higher priority get surplus first.
    pub priority: i64,
    /// Rank among its siblings by age and name. Of two equal remainders the older queue gets the
    /// odd unit.
    pub seniority: usize,
}

impl Share {
    /// The most that the queue can take.
    fn demand_within_limit(&self) -> i64 {
        self.request.min(self.limit)
    }
}

/// Divides a total. Returns what each queue gets and what is left. If the guaranteed parts exceed
/// the total, nothing is left.
#[must_use]
pub fn divide(total: i64, k: f64, unit: i64, shares: &[Share]) -> (Vec<i64>, i64) {
    let mut given: Vec<i64> = shares
        .iter()
        .map(|share| if share.quota == super::UNLIMITED { total } else { share.quota })
        .zip(shares)
        .map(|(quota, share)| share.demand_within_limit().min(quota).max(0))
        .collect();
    let owed = given.iter().fold(0i64, |sum, one| sum.saturating_add(*one));
    let left = divide_surplus(total.saturating_sub(owed).max(0), k, unit, shares, &mut given);
    (given, left)
}

/// Divides the surplus among queues that already have their guaranteed part. Returns what is left.
#[must_use]
pub fn divide_surplus(surplus: i64, k: f64, unit: i64, shares: &[Share], given: &mut [i64]) -> i64 {
    let wants_more = |(share, given): (&Share, &i64)| share.demand_within_limit() > *given;
    if surplus <= 0 || !shares.iter().zip(&*given).any(wants_more) {
        return surplus;
    }
    let mut levels: Vec<i64> = shares.iter().map(|share| share.priority).collect();
    levels.sort_unstable_by(|a, b| b.cmp(a));
    levels.dedup();
    let mut left = surplus;
    let mut all_cuts = Vec::new();
    for level in levels {
        let members: Vec<usize> =
            (0..shares.len()).filter(|at| shares[*at].priority == level).collect();
        let mut cuts = vec![None; shares.len()];
        while left > 0 && offer_parts_once(&mut left, (k, unit), shares, &members, given, &mut cuts)
        {
        }
        all_cuts.push(largest_remainders_first(&cuts, shares));
    }
    // One unit for each remainder, the largest first.
    for at in all_cuts.into_iter().flatten() {
        let more = unit.min(left).min(shares[at].demand_within_limit() - given[at]).max(0);
        given[at] += more;
        left -= more;
    }
    left
}

/// Offers each queue of one priority a part of what is left. Returns whether a queue took less than
/// it was offered, so that there is more for the others.
fn offer_parts_once(
    left: &mut i64,
    (k, unit): (f64, i64),
    shares: &[Share],
    members: &[usize],
    given: &mut [i64],
    cuts: &mut [Option<f64>],
) -> bool {
    let open: Vec<usize> = members
        .iter()
        .copied()
        .filter(|at| shares[*at].weight > 0.0 && shares[*at].demand_within_limit() > given[*at])
        .collect();
    let weights: f64 = open.iter().map(|at| shares[*at].weight).sum();
    let parts: Vec<f64> = open
        .iter()
        .map(|at| {
            let weight = shares[*at].weight / weights;
            (weight + k * (weight - shares[*at].usage)).max(0.0)
        })
        .collect();
    let sum: f64 = parts.iter().sum();
    if sum <= 0.0 {
        return false;
    }
    let units = *left as f64 / unit as f64;
    let mut is_less = false;
    for (at, part) in open.into_iter().zip(parts) {
        let offer = units * (part / sum);
        let wants = shares[at].demand_within_limit() - given[at];
        let wanted = wants as f64 / unit as f64;
        let takes = if wanted <= offer + NEAR {
            cuts[at] = None;
            is_less |= wanted < offer - NEAR;
            wants
        } else {
            let whole = (offer + NEAR).floor();
            cuts[at] = Some((offer - whole).max(0.0));
            whole as i64 * unit
        };
        given[at] += takes;
        *left -= takes;
    }
    is_less && *left > 0
}

/// Amounts closer than this are equal: sums of parts differ in their last bits.
const NEAR: f64 = 1e-9;

/// The queues with a remainder, the largest first.
fn largest_remainders_first(cuts: &[Option<f64>], shares: &[Share]) -> Vec<usize> {
    let mut cut: Vec<(usize, f64)> =
        cuts.iter().enumerate().filter_map(|(at, cut)| Some((at, (*cut)?))).collect();
    // Rounded to a grid to get a total order: nearly equal remainders go by age.
    let grid = |size: f64| (size / NEAR).round() as i64;
    cut.sort_by_key(|(at, size)| (std::cmp::Reverse(grid(*size)), shares[*at].seniority));
    cut.into_iter().filter(|(_, size)| *size > NEAR).map(|(at, _)| at).collect()
}

#[cfg(test)]
mod tests;
