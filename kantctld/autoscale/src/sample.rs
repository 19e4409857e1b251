//! Samples: what the replicas of one role do at one time.

use crate::freeness::{KvLoad, freeness};
use common::autoscale::{
    Fraction, Freeness, Latency, Metric, Replicas, RequestRate, Requests, Tokens,
};
use common::time::Time;
use serde::{Deserialize, Serialize};

/// What the replicas of one role do at one time. Sums are over the replicas that reported; where
/// some did not, they are taken to have the mean of the others (Source: Knative, which samples
/// some replicas and extrapolates). A metric that no replica reports is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Sample {
    pub at: Time,
    /// Replicas that get requests: neither starting nor draining.
    pub ready: Replicas,
    /// Those of them that are in the sums. A sum that the proxy measured has all.
    pub reporting: Replicas,
    /// Requests that wait outside of the replicas, for example in the proxy of a service without
    /// replicas. They are not in `in_flight`.
    pub held: Requests,
    /// Sum of the requests in progress or waiting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<Requests>,
    /// Sum of the requests that arrived per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<RequestRate>,
    /// Sum of the requests that wait in the replicas' engines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting: Option<Requests>,
    /// Sum of the parts of the KV cache in use: 1.5 for three replicas that are half full.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kv_usage: Option<Fraction>,
    /// Sum of the parts of GPU time in use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu_usage: Option<Fraction>,
    /// Mean freeness of the replicas that are ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub freeness: Option<Freeness>,
    /// Mean time to the first token, of the requests since the last sample.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttft: Option<Latency>,
    /// Mean time between tokens, of the requests since the last sample.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub itl: Option<Latency>,
    /// Mean tokens of a request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_in: Option<Tokens>,
    /// Mean tokens of an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_out: Option<Tokens>,
}

/// What one replica that is ready reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReplicaLoad {
    pub in_flight: Option<Requests>,
    pub rate: Option<RequestRate>,
    pub waiting: Option<Requests>,
    pub kv_usage: Option<Fraction>,
    pub gpu_usage: Option<Fraction>,
    /// For the freeness, if the engine reports its memory in tokens.
    pub kv: Option<KvLoad>,
}

impl Sample {
    /// The sums over the replicas that are ready: `None` for one that did not report. A metric that
    /// one of the reports lacks counts as not reported by any.
    #[must_use]
    pub fn from_reports(at: Time, held: Requests, replicas: &[Option<ReplicaLoad>]) -> Self {
        let count = |number| Replicas(u32::try_from(number).unwrap_or(u32::MAX));
        let reports: Vec<&ReplicaLoad> = replicas.iter().flatten().collect();
        let sum = |amount: fn(&ReplicaLoad) -> Option<u64>| -> Option<u64> {
            let mut amounts = reports.iter().map(|load| amount(load));
            let sum = amounts.try_fold(0_u64, |sum, amount| Some(sum.saturating_add(amount?)));
            sum.filter(|_| !reports.is_empty())
        };
        Self {
            at,
            ready: count(replicas.len()),
            reporting: count(reports.len()),
            held,
            in_flight: sum(|load| load.in_flight.map(|value| value.0)).map(Requests),
            rate: sum(|load| load.rate.map(|value| value.0)).map(RequestRate),
            waiting: sum(|load| load.waiting.map(|value| value.0)).map(Requests),
            kv_usage: sum(|load| load.kv_usage.map(|value| value.0)).map(Fraction),
            gpu_usage: sum(|load| load.gpu_usage.map(|value| value.0)).map(Fraction),
            freeness: mean_freeness(&reports),
            ..Self::default()
        }
    }

    /// The requests in flight of the whole role, with those that are held.
    pub(crate) fn total_in_flight(&self) -> Option<u64> {
        let inside = match self.in_flight {
            None if self.ready.is_zero() => Some(0),
            in_flight => in_flight.and_then(|sum| self.extrapolate(sum.0)),
        };
        inside.map(|inside| inside.saturating_add(self.held.0))
    }

    /// The requests per second of the whole role.
    pub(crate) fn total_rate(&self) -> Option<u64> {
        self.rate.and_then(|sum| self.extrapolate(sum.0))
    }

    /// The part of the KV cache in use, as a sum over the whole role.
    pub(crate) fn total_kv(&self) -> Option<u64> {
        self.kv_usage.and_then(|sum| self.extrapolate(sum.0))
    }

    /// The waiting requests of the whole role, with those that are held.
    pub(crate) fn total_waiting(&self) -> Option<u64> {
        let inside = match self.waiting {
            None if self.ready.is_zero() => Some(0),
            waiting => waiting.and_then(|sum| self.extrapolate(sum.0)),
        };
        inside.map(|inside| inside.saturating_add(self.held.0))
    }

    /// The sum of a metric over the replicas that reported. A mean counts once for each of them.
    pub(crate) fn sum_of(&self, metric: Metric) -> Option<u64> {
        let mean = |mean: Latency| mean.0.saturating_mul(self.reporting.0.into());
        match metric {
            Metric::InFlight => self.in_flight.map(|sum| sum.0.saturating_add(self.held.0)),
            Metric::Rps => self.rate.map(|sum| sum.0),
            Metric::Waiting => self.waiting.map(|sum| sum.0.saturating_add(self.held.0)),
            Metric::KvUsage => self.kv_usage.map(|sum| sum.0),
            Metric::GpuUsage => self.gpu_usage.map(|sum| sum.0),
            Metric::Ttft => self.ttft.map(mean),
            Metric::Itl => self.itl.map(mean),
        }
    }

    /// Whether requests are in flight or held.
    pub(crate) fn is_busy(&self) -> bool {
        !self.held.is_zero() || self.in_flight.is_some_and(|sum| !sum.is_zero())
    }

    /// A sum over those that reported, as if all that are ready had. `None` if none of them did.
    fn extrapolate(&self, sum: u64) -> Option<u64> {
        let (ready, reporting) = (self.ready.0, self.reporting.0);
        if ready <= reporting {
            return Some(sum);
        }
        if reporting == 0 {
            return None;
        }
        let total = (u128::from(sum) * u128::from(ready)).div_ceil(u128::from(reporting));
        Some(u64::try_from(total).unwrap_or(u64::MAX))
    }
}

fn mean_freeness(reports: &[&ReplicaLoad]) -> Option<Freeness> {
    let all: Option<Vec<KvLoad>> = reports.iter().map(|load| load.kv).collect();
    let staying: Vec<KvLoad> = all?.into_iter().filter(|load| !load.draining).collect();
    let sum: i128 = staying.iter().map(|load| i128::from(freeness(load).0)).sum();
    let count = i128::try_from(staying.len()).ok().filter(|count| *count > 0)?;
    i64::try_from(sum / count).ok().map(Freeness)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_over_the_replicas_that_report() {
        let kv = |used| {
            let (capacity, used) = (Tokens::whole(1000), Tokens::whole(used));
            Some(KvLoad { capacity, used, running: 4, ..KvLoad::default() })
        };
        let load = |in_flight, used| {
            let in_flight = Some(Requests::whole(in_flight));
            Some(ReplicaLoad { in_flight, kv: kv(used), ..ReplicaLoad::default() })
        };
        let replicas = [load(3, 600), None, load(5, 800)];
        let sample = Sample::from_reports(Time(7), Requests::whole(1), &replicas);
        assert_eq!((sample.ready, sample.reporting), (Replicas(3), Replicas(2)));
        assert_eq!(sample.in_flight, Some(Requests::whole(8)));
        assert_eq!(sample.freeness, Some(Freeness::from_whole(75)));
        assert_eq!(sample.rate, None);
        assert_eq!(
            sample.total_in_flight(),
            Some(13_000),
            "12 with the silent replica, and one held"
        );
    }

    #[test]
    fn a_metric_that_no_replica_reports_is_missing_and_not_zero() {
        let sample = Sample::from_reports(Time(7), Requests::ZERO, &[None, None]);
        assert_eq!((sample.in_flight, sample.total_in_flight()), (None, None));
        let none = Sample::from_reports(Time(7), Requests::whole(2), &[]);
        assert_eq!(
            none.total_in_flight(),
            Some(2000),
            "without replicas there are only those held"
        );
    }
}
