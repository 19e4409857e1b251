//! The choice of a replica, without clock or randomness: both are arguments.

/// The less loaded of two different candidates, which two random numbers select. Its longest queue
/// is exponentially shorter than that of one random choice.
/// Source: M. Mitzenmacher, "The power of two choices in randomized load balancing", 2001.
pub fn less_loaded_of_two(
    count: usize,
    load: impl Fn(usize) -> u32,
    random: (u64, u64),
) -> Option<usize> {
    let first = scaled(random.0, count)?;
    // Of the others; none if there is only one candidate.
    let Some(step) = scaled(random.1, count - 1) else { return Some(first) };
    let second = (first + 1 + step) % count;
    Some(if load(second) < load(first) { second } else { first })
}

/// The candidate for a key: the first by rendezvous hashing while its load exceeds that of the
/// second by at most `slack`, otherwise the second. So the same keys meet the same caches, a
/// popular key spreads over two, and a candidate that joins or leaves moves only its own keys.
/// Sources: D. Thaler and C. Ravishankar, "Using name-based mappings to increase hit rates", 1998;
/// "DualMap: enabling both cache affinity and load balancing for distributed LLM serving" (arXiv
/// 2602.06502), without its estimates of times, which need a model of each replica.
pub fn by_key(
    places: impl Iterator<Item = u64>,
    load: impl Fn(usize) -> u32,
    key: u64,
    slack: u32,
) -> Option<usize> {
    let mut first: Option<(u64, usize)> = None;
    let mut second: Option<(u64, usize)> = None;
    for (index, place) in places.enumerate() {
        let candidate = Some((mixed(place ^ mixed(key)), index));
        if candidate > first {
            (first, second) = (candidate, first);
        } else if candidate > second {
            second = candidate;
        }
    }
    let (_, first) = first?;
    let Some((_, second)) = second else { return Some(first) };
    Some(if load(first) <= load(second).saturating_add(slack) { first } else { second })
}

/// The hash of a header's value or of a replica's place.
/// Source: G. Fowler, L. C. Noll and K.-P. Vo, FNV-1a, with the last step of splitmix64.
pub fn hash(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    mixed(bytes.iter().fold(0xcbf2_9ce4_8422_2325, step))
}

/// Source: S. Vigna, splitmix64.
fn mixed(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A random number below `count`, from 64 random bits.
fn scaled(random: u64, count: usize) -> Option<usize> {
    let product = u128::from(random) * count as u128;
    if count == 0 { None } else { usize::try_from(product >> 64).ok() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The loads after this number of requests, none of which ends.
    fn loads(count: usize, requests: u64, pick: impl Fn(&[u32], u64) -> usize) -> Vec<u32> {
        let mut loads = vec![0; count];
        for request in 0..requests {
            let index = pick(&loads, request);
            loads[index] += 1;
        }
        loads
    }

    fn random(request: u64) -> (u64, u64) {
        (mixed(2 * request + 1), mixed(2 * request + 2))
    }

    #[test]
    fn two_choices_balance_where_one_does_not() {
        let two = loads(50, 50_000, |loads, request| {
            less_loaded_of_two(50, |i| loads[i], random(request)).unwrap()
        });
        let one = loads(50, 50_000, |_, request| scaled(random(request).0, 50).unwrap());
        let excess = |loads: &[u32]| loads.iter().max().unwrap() - 1000;
        assert!(excess(&two) <= 5, "{two:?}");
        assert!(excess(&one) > 30, "{one:?}");
    }

    #[test]
    fn keys_spread_evenly_and_stay_while_loads_permit() {
        let places: Vec<u64> = (0..10).map(|i| hash(format!("decode/{i}").as_bytes())).collect();
        let key = |k: u64| hash(format!("session-{k}").as_bytes());
        let idle = |k| by_key(places.iter().copied(), |_| 0, key(k), 4).unwrap();
        let spread = loads(10, 10_000, |_, k| idle(k));
        assert!(spread.iter().all(|count| (850..1150).contains(count)), "{spread:?}");
        // One key at most overloads two, evenly.
        let hot = loads(10, 1_000, |loads, _| {
            by_key(places.iter().copied(), |i| loads[i], key(7), 4).unwrap()
        });
        let used: Vec<u32> = hot.into_iter().filter(|load| *load > 0).collect();
        assert_eq!(used.len(), 2);
        assert!(used[0].abs_diff(used[1]) <= 4 + 1, "{used:?}");
    }

    #[test]
    fn a_candidate_that_leaves_moves_only_its_own_keys() {
        let places: Vec<u64> = (0..10).map(|i| hash(format!("decode/{i}").as_bytes())).collect();
        let rest = &places[..9];
        for k in 0..1_000 {
            let key = hash(format!("{k}").as_bytes());
            let before = by_key(places.iter().copied(), |_| 0, key, 0).unwrap();
            let after = by_key(rest.iter().copied(), |_| 0, key, 0).unwrap();
            assert!(before == after || before == 9, "key {k} moved from {before} to {after}");
        }
    }

    proptest! {
        #[test]
        fn any_choice_is_a_candidate_and_not_the_more_loaded_of_its_two(
            loads in prop::collection::vec(0u32..100, 1..20),
            random in any::<(u64, u64)>(),
        ) {
            let index = less_loaded_of_two(loads.len(), |i| loads[i], random).unwrap();
            prop_assert!(index < loads.len());
            let most = loads.iter().max().unwrap();
            let is_only_most = loads.iter().filter(|load| *load == most).count() == 1;
            if loads.len() > 1 && is_only_most {
                prop_assert!(loads[index] < *most, "the only most loaded one is never chosen");
            }
        }

        #[test]
        fn no_candidates_make_no_choice(random in any::<(u64, u64)>(), key in any::<u64>()) {
            prop_assert_eq!(less_loaded_of_two(0, |_| 0, random), None);
            prop_assert_eq!(by_key(std::iter::empty(), |_| 0, key, 0), None);
        }
    }
}
