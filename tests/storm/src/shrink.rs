//! Reduction of a failing history: fewer faults and user actions with which the same judge
//! complains.

use crate::plan::Cuts;
use crate::run::{Series, run};

/// Number of histories tried at most.
const TRIES_MAX: usize = 80;

/// The cuts with which a seed's history still fails.
pub fn shrink(series: &Series, seed: u64, judge: &str) -> Cuts {
    let plan = series.plan(seed);
    let mut tries = 0;
    let mut fails = |cuts: &Cuts| {
        tries += 1;
        let series = Series { cuts: cuts.clone(), ..series.clone() };
        let is_tried = tries <= TRIES_MAX;
        is_tried
            && run(series.plan(seed), false).complaints.first().is_some_and(|c| c.judge == judge)
    };
    let all = series.cuts.faults.clone().unwrap_or_else(|| (0..plan.faults.len()).collect());
    let mut cuts = Cuts { faults: Some(all), works: series.cuts.works };
    fewer_faults(&mut cuts, &mut fails);
    let mut most = plan.works.len();
    let mut least = 0;
    while least < most {
        let middle = usize::midpoint(least, most);
        let smaller = Cuts { works: Some(middle), ..cuts.clone() };
        if fails(&smaller) {
            cuts = smaller;
            most = middle;
        } else {
            least = middle + 1;
        }
    }
    fewer_faults(&mut cuts, &mut fails);
    cuts
}

fn fewer_faults(cuts: &mut Cuts, fails: &mut impl FnMut(&Cuts) -> bool) {
    let mut size = cuts.faults.as_ref().map_or(0, Vec::len).div_ceil(2).max(1);
    loop {
        let mut begin = 0;
        while let Some(faults) = cuts.faults.clone().filter(|faults| begin < faults.len()) {
            let mut kept = faults.clone();
            kept.drain(begin..(begin + size).min(faults.len()));
            let smaller = Cuts { faults: Some(kept), ..cuts.clone() };
            if fails(&smaller) {
                *cuts = smaller;
            } else {
                begin += size;
            }
        }
        if size == 1 {
            return;
        }
        size = size.div_ceil(2);
    }
}
