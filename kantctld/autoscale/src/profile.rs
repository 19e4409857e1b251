//! Values of a profile between its points: linear, and constant beyond the first and the last.

use crate::amount::{narrow, product};
use common::autoscale::{Decode, DecodeCurve, Latency, Prefill, Requests, TokenRate, Tokens};

/// A point of a function, in thousandths.
#[derive(Clone, Copy)]
struct Point {
    at: u64,
    value: u64,
}

/// What a profile says of prefill for requests of a length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrefillFigures {
    pub ttft: Latency,
    pub capacity: TokenRate,
}

/// The most tokens that a replica decodes within a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecodeFigures {
    pub capacity: TokenRate,
    /// Whether some point of the profile is within the bound.
    pub in_reach: bool,
}

/// The figures of prefill for requests of this length. Zero for an empty profile.
pub fn prefill_figures(prefill: &Prefill, tokens_in: Tokens) -> PrefillFigures {
    let points = |value: fn(&common::autoscale::PrefillPoint) -> u64| {
        let points = prefill.profile.iter();
        points.map(|point| Point { at: point.tokens_in.0, value: value(point) }).collect::<Vec<_>>()
    };
    let ttft = interpolate(&points(|point| point.ttft_ms.0), tokens_in.0);
    let capacity = interpolate(&points(|point| point.tokens_per_second.0), tokens_in.0);
    PrefillFigures { ttft: Latency(ttft), capacity: TokenRate(capacity) }
}

/// The time between tokens with this context and this number of requests on one replica.
pub fn expected_itl(decode: &Decode, context: Tokens, concurrency: Requests) -> Latency {
    let at_concurrency = |curve: &DecodeCurve| {
        let points = curve.points.iter();
        let points: Vec<Point> =
            points.map(|point| Point { at: point.concurrency.0, value: point.itl_ms.0 }).collect();
        interpolate(&points, concurrency.0)
    };
    Latency(across_contexts(decode, context, at_concurrency))
}

/// The most tokens per second with this context, with at most this time between tokens. If no point
/// is within the bound, those of the smallest batch.
pub fn decode_figures(decode: &Decode, context: Tokens, bound: Latency) -> DecodeFigures {
    let capacity = across_contexts(decode, context, |curve| best_capacity(curve, bound));
    let fastest = across_contexts(decode, context, |curve| {
        curve.points.first().map_or(0, |point| point.itl_ms.0)
    });
    DecodeFigures { capacity: TokenRate(capacity), in_reach: fastest <= bound.0 }
}

/// The throughput at the bound. Along a curve latency and throughput rise.
fn best_capacity(curve: &DecodeCurve, bound: Latency) -> u64 {
    let points = curve.points.iter();
    let mut by_latency: Vec<Point> = points
        .map(|point| Point { at: point.itl_ms.0, value: point.tokens_per_second.0 })
        .collect();
    // Of points with the same latency, the one with the highest throughput counts.
    by_latency.reverse();
    by_latency.dedup_by_key(|point| point.at);
    by_latency.reverse();
    interpolate(&by_latency, bound.0)
}

fn across_contexts(decode: &Decode, context: Tokens, value: impl Fn(&DecodeCurve) -> u64) -> u64 {
    let curves = decode.profile.iter();
    let points: Vec<Point> =
        curves.map(|curve| Point { at: curve.context.0, value: value(curve) }).collect();
    interpolate(&points, context.0)
}

/// The value at a place, from points by rising place.
fn interpolate(points: &[Point], at: u64) -> u64 {
    let next = points.partition_point(|point| point.at < at);
    match (next.checked_sub(1).and_then(|last| points.get(last)), points.get(next)) {
        (None, None) => 0,
        (Some(only), None) | (None, Some(only)) => only.value,
        (Some(low), Some(high)) => {
            let (width, distance) = (high.at - low.at, at - low.at);
            let rest = width - distance;
            let sum = product([low.value, rest]).saturating_add(product([high.value, distance]));
            narrow(sum / u128::from(width.max(1)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::autoscale::{DecodePoint, PrefillPoint};

    fn prefill() -> Prefill {
        let point = |tokens_in, ttft_ms, rate| PrefillPoint {
            tokens_in: Tokens::whole(tokens_in),
            ttft_ms: Latency::whole(ttft_ms),
            tokens_per_second: TokenRate::whole(rate),
        };
        let profile = vec![point(1000, 100, 10_000), point(3000, 400, 8000)];
        Prefill { target_ms: Latency::whole(500), profile }
    }

    fn decode() -> Decode {
        let point = |concurrency, itl_ms, rate| DecodePoint {
            concurrency: Requests::whole(concurrency),
            itl_ms: Latency::whole(itl_ms),
            tokens_per_second: TokenRate::whole(rate),
        };
        let curve = |context, points| DecodeCurve { context: Tokens::whole(context), points };
        let short = curve(1000, vec![point(1, 10, 100), point(10, 20, 500), point(40, 60, 700)]);
        let long = curve(3000, vec![point(1, 20, 50), point(10, 40, 250)]);
        Decode { target_ms: Latency::whole(50), profile: vec![short, long] }
    }

    #[test]
    fn prefill_is_linear_between_points_and_constant_beyond() {
        for (tokens, ttft, capacity) in
            [(500, 100, 10_000), (1000, 100, 10_000), (2000, 250, 9000), (9000, 400, 8000)]
        {
            let figures = prefill_figures(&prefill(), Tokens::whole(tokens));
            let expected =
                PrefillFigures { ttft: Latency::whole(ttft), capacity: TokenRate::whole(capacity) };
            assert_eq!(figures, expected, "{tokens}");
        }
    }

    #[test]
    fn decode_finds_the_most_tokens_within_the_bound() {
        for (context, bound, capacity, in_reach) in [
            (1000, 20, 500, true),
            (1000, 40, 600, true),
            (1000, 5, 100, false),
            (1000, 90, 700, true),
            (2000, 20, 275, true),
            (9000, 30, 150, true),
        ] {
            let figures = decode_figures(&decode(), Tokens::whole(context), Latency::whole(bound));
            let expected = DecodeFigures { capacity: TokenRate::whole(capacity), in_reach };
            assert_eq!(figures, expected, "context {context}, bound {bound}");
        }
    }

    #[test]
    fn the_expected_latency_depends_on_context_and_concurrency() {
        let expected = |context, concurrency| {
            expected_itl(&decode(), Tokens::whole(context), Requests::whole(concurrency))
        };
        assert_eq!(expected(1000, 25), Latency::whole(40));
        assert_eq!(expected(2000, 10), Latency::whole(30));
    }
}
