//! The sentence of a reason, with the figures.

use super::reason::{Demand, Limit, Measure, QueueSignal, Reason, Stage};
use super::unit::{Fraction, Freeness, Replicas, Requests};
use crate::time::Span;
use std::fmt;

/// A number with its noun.
struct Count(Replicas);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.0, if self.0 == Replicas::ONE { "replica" } else { "replicas" })
    }
}

/// An amount of requests with its noun.
fn requests(amount: &impl fmt::Display) -> String {
    let amount = amount.to_string();
    let noun = if amount == "1" { "request" } else { "requests" };
    format!("{amount} {noun}")
}

/// A span as a number of seconds.
struct Seconds(Span);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} s", self.0.0.div_ceil(1000))
    }
}

/// `8.4 requests in flight over 60 s; target 2 each at 70 %: 6 replicas; at most 5 are allowed`
impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.measure.fmt(f)?;
        self.limits.iter().try_for_each(|limit| write!(f, "; {limit}"))
    }
}

impl<T: fmt::Display> Demand<T> {
    fn write(&self, f: &mut fmt::Formatter<'_>, state: &str) -> fmt::Result {
        let Self { load, window, target, utilisation, replicas } = self;
        let (window, count, percent) = (Seconds(*window), Count(*replicas), utilisation.percent());
        let load = requests(load);
        write!(f, "{load} {state} over {window}; target {target} each at {percent}: {count}")
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed { replicas } => write!(f, "no rule for the load: {}", Count(*replicas)),
            Self::NoData { window, replicas } => {
                let (window, count) = (Seconds(*window), Count(*replicas));
                write!(f, "no metrics within {window}: {count}, as before")
            }
            Self::Concurrency(demand) => demand.write(f, "in flight"),
            Self::Rps(demand) => demand.write(f, "per second"),
            Self::Utilisation { metric, level, window, target, tolerance, replicas } => {
                let (window, count) = (Seconds(*window), Count(*replicas));
                let tolerance = tolerance.percent();
                write!(
                    f,
                    "{level} {metric} for each replica over {window}; target {target}, tolerance \
                     {tolerance}: {count}"
                )
            }
            Self::Queue { signal, window, replicas } => {
                write!(f, "{signal} over {}: {}", Seconds(*window), Count(*replicas))
            }
            Self::Latency { window, rate, prefill, decode, replicas } => {
                write!(f, "{} per second over {}", requests(rate), Seconds(*window))?;
                for (name, stage) in [("prefill", prefill), ("decode", decode)] {
                    if let Some(stage) = stage {
                        write!(f, "; {name}: {stage}")?;
                    }
                }
                write!(f, ": {}", Count(*replicas))
            }
        }
    }
}

impl fmt::Display for QueueSignal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = |f: &mut fmt::Formatter<'_>, freeness, kv: &Option<Fraction>, waiting| {
            let freeness: &Option<Freeness> = freeness;
            let waiting: &Option<Requests> = waiting;
            let parts = [
                freeness.map(|mean| format!("mean freeness {mean}")),
                kv.map(|mean| format!("KV cache {} full", mean.percent())),
                waiting.map(|mean| format!("{} waiting for each replica", requests(&mean))),
            ];
            f.write_str(&parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
        };
        match self {
            Self::FreenessLow { mean, min } => write!(f, "mean freeness {mean}, below {min},"),
            Self::KvHigh { mean, max } => {
                write!(f, "KV cache {} full, above {},", mean.percent(), max.percent())
            }
            Self::WaitingHigh { mean, max } => {
                write!(f, "{} waiting for each replica, above {max},", requests(mean))
            }
            Self::Idle { freeness, kv, waiting } => {
                parts(f, freeness, kv, waiting)?;
                f.write_str(", below the band,")
            }
            Self::Within { freeness, kv, waiting } => {
                parts(f, freeness, kv, waiting)?;
                f.write_str(", within the band,")
            }
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tokens, capacity, correction, bound, in_reach, replicas } = self;
        write!(f, "{tokens} tokens each, {capacity} tokens per second for each replica")?;
        if *correction != Fraction::WHOLE {
            write!(f, ", measured {correction} of the profile's latency")?;
        }
        if !in_reach {
            write!(f, ", the bound of {bound} ms is out of reach")?;
        }
        write!(f, ", {}", Count(*replicas))
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Panic { window, replicas } => {
                let (window, count) = (Seconds(*window), Count(*replicas));
                write!(f, "{count} are kept for {window} after a burst")
            }
            Self::StepUp { replicas } => write!(f, "{} at most in this step", Count(*replicas)),
            Self::StepDown { replicas } => write!(f, "{} at least in this step", Count(*replicas)),
            Self::DownDelay { window, replicas } => {
                write!(f, "{} were needed within {}", Count(*replicas), Seconds(*window))
            }
            Self::UpDelay { window, replicas } => {
                write!(f, "{} were enough within {}", Count(*replicas), Seconds(*window))
            }
            Self::Settling { window, replicas } => {
                let (window, count) = (Seconds(*window), Count(*replicas));
                write!(f, "{count} for {window} after the last change")
            }
            Self::ZeroGrace { window } => {
                write!(f, "the last replica is kept for {}", Seconds(*window))
            }
            Self::Busy { requests: busy } => {
                write!(f, "1 replica for {} in flight or waiting", requests(busy))
            }
            Self::Ratio { replicas } => {
                write!(f, "{} for the ratio to the other role", Count(*replicas))
            }
            Self::Min { replicas } => write!(f, "at least {replicas} are required"),
            Self::Max { replicas } => write!(f, "at most {replicas} are allowed"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::autoscale::rule::Metric;
    use crate::autoscale::unit::{Latency, Level, RequestRate, TokenRate, Tokens};

    fn reason(measure: Measure, limits: &[Limit]) -> Reason {
        Reason { measure, limits: limits.to_vec() }
    }

    #[test]
    fn sentences_name_the_figures() {
        let demand = Demand {
            load: Requests(8400),
            window: Span::from_seconds(60),
            target: Requests::whole(2),
            utilisation: Fraction(700),
            replicas: Replicas(6),
        };
        let (window, replicas) = (Span::from_seconds(15), Replicas(5));
        for (shown, measure, limits) in [
            (
                "8.4 requests in flight over 60 s; target 2 each at 70 %: 6 replicas; at most 5 \
                 are allowed",
                Measure::Concurrency(demand),
                &[Limit::Max { replicas }][..],
            ),
            (
                "no metrics within 15 s: 5 replicas, as before",
                Measure::NoData { window, replicas },
                &[],
            ),
            (
                "0.92 GPU time in use for each replica over 15 s; target 0.8, tolerance 10 %: 5 \
                 replicas; 5 replicas were needed within 15 s",
                Measure::Utilisation {
                    metric: Metric::GpuUsage,
                    level: Level(920),
                    window,
                    target: Level(800),
                    tolerance: Fraction(100),
                    replicas,
                },
                &[Limit::DownDelay { window, replicas }],
            ),
            (
                "KV cache 95 % full, above 90 %, over 15 s: 5 replicas",
                Measure::Queue {
                    signal: QueueSignal::KvHigh { mean: Fraction(950), max: Fraction(900) },
                    window,
                    replicas,
                },
                &[],
            ),
            (
                "2 requests per second over 15 s; decode: 300 tokens each, 640 tokens per second \
                 for each replica, measured 1.2 of the profile's latency, 1 replica: 1 replica",
                Measure::Latency {
                    window,
                    rate: RequestRate::whole(2),
                    prefill: None,
                    decode: Some(Stage {
                        tokens: Tokens::whole(300),
                        capacity: TokenRate::whole(640),
                        correction: Fraction(1200),
                        bound: Latency::whole(50),
                        in_reach: true,
                        replicas: Replicas::ONE,
                    }),
                    replicas: Replicas::ONE,
                },
                &[],
            ),
        ] {
            let reason = reason(measure, limits);
            assert_eq!(reason.to_string(), shown);
            let json = serde_json::to_string(&reason).unwrap();
            assert_eq!(serde_json::from_str::<Reason>(&json).unwrap(), reason, "{json}");
        }
    }
}
