//! The division of capacity down the tree of queues, computed for the judge: the guaranteed part
//! first, the rest by weight and past use. It uses integers only, and no code of the fair shares
//! that it verifies.

use super::Judge;
use super::dues::{ENDLESS, Milli, Sums, sum};
use common::id::QueueName;
use common::policy::queue::Queue;
use std::collections::BTreeMap;

impl Judge<'_> {
    /// Divides a total among the children of a queue (`None`: the top-level queues), and on
    /// downwards.
    pub(super) fn divide_among_children(
        &self,
        above: Option<&QueueName>,
        total: Milli,
        sums: &mut Sums,
    ) {
        let known = |name: &QueueName| self.queues.contains_key(name);
        let family: Vec<&Queue> = self
            .snapshot
            .policy()
            .queues
            .iter()
            .filter(|queue| queue.parent.as_ref().filter(|name| known(name)) == above)
            .collect();
        let mut left = total;
        for queue in &family {
            let owed = Some(sums.of.owed(queue)).filter(|owed| *owed < ENDLESS).unwrap_or(total);
            let first = owed.min(sums.wanted(queue));
            sums.due.insert(queue.name.clone(), first);
            left = left.saturating_sub(first);
        }
        let mut levels: Vec<i32> = family.iter().map(|queue| queue.priority).collect();
        levels.sort_unstable();
        levels.dedup();
        let cuts: Vec<Cuts> = levels
            .iter()
            .rev()
            .map(|level| sums.divide_priority_level(&family, *level, &mut left))
            .collect();
        for mut cuts in cuts {
            // The larger part first, then the queue that is listed first.
            cuts.sort_by(|a, b| (b.0 * a.1).cmp(&(a.0 * b.1)).then(a.2.cmp(&b.2)));
            for (_, _, at) in cuts {
                let takes = left.min(sums.of.unit()).min(sums.missing(family[at]));
                sums.give(family[at], takes, &mut left);
            }
        }
        for queue in family {
            let due = sums.due[&queue.name];
            self.divide_among_children(Some(&queue.name), due, sums);
        }
    }
}

/// Remainders and their queues: each a fraction (numerator, denominator) of a thousandth.
type Cuts = Vec<(Milli, Milli, usize)>;

impl Sums {
    fn wanted(&self, queue: &Queue) -> Milli {
        sum(&self.wants, queue).min(sum(&self.most, queue))
    }

    fn missing(&self, queue: &Queue) -> Milli {
        self.wanted(queue).saturating_sub(sum(&self.due, queue))
    }

    fn give(&mut self, queue: &Queue, takes: Milli, left: &mut Milli) {
        *self.due.entry(queue.name.clone()).or_default() += takes;
        *left -= takes;
    }

    /// With weights w of sum W, strength k and past use u: w/W + k (w/W - u), at least 0, times
    /// 10^8 W.
    fn weight(&self, queue: &Queue, all: Milli) -> Milli {
        let (weight, k) = (Milli::from(queue.weight), self.strength);
        let used = sum(&self.used, queue);
        (weight * (100 + k) * 1_000_000).saturating_sub(k * used * all)
    }

    /// Offers the queues of one priority parts of what is left, until none takes less than offered.
    fn divide_priority_level(&mut self, family: &[&Queue], level: i32, left: &mut Milli) -> Cuts {
        let unit = self.of.unit();
        let mut cuts: BTreeMap<usize, (Milli, Milli)> = BTreeMap::new();
        loop {
            let is_open = |at: &usize| {
                let queue = family[*at];
                queue.priority == level && queue.weight > 0 && self.missing(queue) > 0
            };
            let open: Vec<usize> = (0..family.len()).filter(is_open).collect();
            let all: Milli = open.iter().map(|at| Milli::from(family[*at].weight)).sum();
            let open = open.into_iter().map(|at| (at, self.weight(family[at], all)));
            let open: Vec<(usize, Milli)> = open.collect();
            let weights: Milli = open.iter().map(|(_, weight)| weight).sum();
            if weights == 0 {
                break;
            }
            let (round, mut again) = (*left, false);
            for (at, weight) in open {
                let part = round * weight;
                let missing = self.missing(family[at]);
                let takes = if missing * weights <= part {
                    cuts.remove(&at);
                    again |= missing * weights < part;
                    missing
                } else {
                    let whole = part / weights / unit * unit;
                    cuts.insert(at, (part - whole * weights, weights));
                    whole
                };
                self.give(family[at], takes, left);
            }
            if !again || *left == 0 {
                break;
            }
        }
        let cuts = cuts.into_iter().filter(|(_, (cut, _))| *cut > 0);
        cuts.map(|(at, (cut, of))| (cut, of, at)).collect()
    }
}
