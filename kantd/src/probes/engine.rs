//! The metrics of inference engines: which of the names in Prometheus' text format mean what.
//!
//! Sources: vLLM, `docs/design/metrics.md` and its releases before V1 for the older names; SGLang,
//! "Production Metrics"; Prometheus, "Exposition formats".

use common::autoscale::Fraction;
use common::service::engine::{EngineLoad, Summary};

/// Reads an engine's metrics. Lines of other metrics, and those without sense, are skipped.
///
/// Requests are summed over the series of a metric, because vLLM has one for each engine of a
/// replica with data parallelism; parts of a memory are averaged.
#[must_use]
pub fn read(text: &str) -> EngineLoad {
    let mut sums = Sums::default();
    text.lines().filter_map(Series::parse).for_each(|series| sums.add(&series));
    sums.to_engine_load()
}

/// One line: a name, its labels between braces, and a value.
struct Series<'a> {
    name: &'a str,
    labels: &'a str,
    value: f64,
}

impl<'a> Series<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let line = line.trim();
        if line.starts_with('#') {
            return None;
        }
        let (name, labels, rest) = match line.split_once('{') {
            Some((name, rest)) => {
                let (labels, rest) = rest.rsplit_once('}')?;
                (name, labels, rest)
            }
            None => {
                let (name, rest) = line.split_once([' ', '\t'])?;
                (name, "", rest)
            }
        };
        // A time may follow the value.
        let value: f64 = rest.split_whitespace().next()?.parse().ok()?;
        let series = Self { name: name.trim(), labels, value };
        (value.is_finite() && value >= 0.0 && series.is_first_rank()).then_some(series)
    }

    /// SGLang may report the same figures for each rank of a parallel engine.
    fn is_first_rank(&self) -> bool {
        ["tp_rank", "pp_rank"].iter().all(|name| self.label(name).is_none_or(|rank| rank == "0"))
    }

    fn label(&self, name: &str) -> Option<&'a str> {
        let mut found = self.labels.match_indices(name);
        found.find_map(|(at, _)| {
            let (before, after) = (&self.labels[..at], &self.labels[at + name.len()..]);
            let begins = before.trim_end().is_empty() || before.trim_end().ends_with(',');
            let value = after.trim_start().strip_prefix('=')?.trim_start().strip_prefix('"')?;
            begins.then(|| value.split('"').next()).flatten()
        })
    }

    /// The tokens that fit into vLLM's memory.
    fn cache_tokens(&self) -> Option<f64> {
        let number = |name| self.label(name)?.parse::<f64>().ok();
        let tokens = number("num_gpu_blocks")? * number("block_size")?;
        tokens.is_finite().then_some(tokens)
    }
}

/// The values so far.
#[derive(Default)]
struct Sums {
    running: Option<f64>,
    waiting: Option<f64>,
    /// With the number of series.
    kv_usage: (f64, f64),
    kv_tokens: Option<f64>,
    ttft: Means,
    itl: Means,
    tokens_in: Means,
    tokens_out: Means,
}

#[derive(Default)]
struct Means {
    sum: Option<f64>,
    count: Option<f64>,
}

impl Means {
    /// In parts of the unit: a million for seconds in microseconds.
    fn summary(&self, parts: f64) -> Option<Summary> {
        Some(Summary { sum: (self.sum? * parts) as u64, count: self.count? as u64 })
    }
}

impl Sums {
    fn add(&mut self, series: &Series<'_>) {
        let value = series.value;
        let sum = match series.name {
            "vllm:num_requests_running" | "sglang:num_running_reqs" => &mut self.running,
            "vllm:num_requests_waiting" | "sglang:num_queue_reqs" => &mut self.waiting,
            "vllm:kv_cache_usage_perc" | "vllm:gpu_cache_usage_perc" | "sglang:token_usage" => {
                self.kv_usage = (self.kv_usage.0 + value, self.kv_usage.1 + 1.0);
                return;
            }
            "sglang:max_total_num_tokens" => &mut self.kv_tokens,
            "vllm:cache_config_info" => {
                let Some(tokens) = series.cache_tokens() else { return };
                self.kv_tokens = Some(self.kv_tokens.unwrap_or_default() + tokens);
                return;
            }
            name => match self.part_of_mean(name) {
                Some(sum) => sum,
                None => return,
            },
        };
        *sum = Some(sum.unwrap_or_default() + value);
    }

    /// The sum or the count of a histogram.
    fn part_of_mean(&mut self, name: &str) -> Option<&mut Option<f64>> {
        let (histogram, is_sum) = match name.strip_suffix("_sum") {
            Some(histogram) => (histogram, true),
            None => (name.strip_suffix("_count")?, false),
        };
        let (engine, metric) = histogram.split_once(':')?;
        let means = match (engine, metric) {
            ("vllm" | "sglang", "time_to_first_token_seconds") => &mut self.ttft,
            (
                "vllm" | "sglang",
                "inter_token_latency_seconds" | "time_per_output_token_seconds",
            ) => &mut self.itl,
            ("vllm", "request_prompt_tokens") | ("sglang", "prompt_tokens_histogram") => {
                &mut self.tokens_in
            }
            ("vllm", "request_generation_tokens") | ("sglang", "generation_tokens_histogram") => {
                &mut self.tokens_out
            }
            _ => return None,
        };
        Some(if is_sum { &mut means.sum } else { &mut means.count })
    }

    fn to_engine_load(&self) -> EngineLoad {
        let whole = |value: Option<f64>| value.map(|value| value as u64);
        let (usage, series) = self.kv_usage;
        EngineLoad {
            running: whole(self.running),
            waiting: whole(self.waiting),
            kv_usage: (series > 0.0)
                .then(|| Fraction((usage / series * 1000.0).min(1000.0).round() as u64)),
            kv_tokens: whole(self.kv_tokens),
            ttft: self.ttft.summary(1e6),
            itl: self.itl.summary(1e6),
            tokens_in: self.tokens_in.summary(1.0),
            tokens_out: self.tokens_out.summary(1.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn metrics_of_vllm_are_summed_over_its_engines() {
        let load = read(
            "# HELP vllm:num_requests_running Requests\n\
             # TYPE vllm:num_requests_running gauge\n\
             vllm:num_requests_running{engine=\"0\",model_name=\"m\"} 3.0\n\
             vllm:num_requests_running{engine=\"1\",model_name=\"m\"} 4.0\n\
             vllm:num_requests_waiting{engine=\"0\",model_name=\"m\"} 2.0\n\
             vllm:kv_cache_usage_perc{engine=\"0\",model_name=\"m\"} 0.25\n\
             vllm:kv_cache_usage_perc{engine=\"1\",model_name=\"m\"} 0.75\n\
             vllm:cache_config_info{block_size=\"16\",engine=\"0\",num_gpu_blocks=\"1000\"} 1.0\n\
             vllm:time_to_first_token_seconds_bucket{le=\"0.1\"} 9\n\
             vllm:time_to_first_token_seconds_sum{model_name=\"m\"} 1.5 1700000000000\n\
             vllm:time_to_first_token_seconds_count{model_name=\"m\"} 10\n\
             vllm:request_prompt_tokens_sum 4.2e3\n\
             vllm:request_prompt_tokens_count 10\n",
        );
        let expected = EngineLoad {
            running: Some(7),
            waiting: Some(2),
            kv_usage: Some(Fraction(500)),
            kv_tokens: Some(16_000),
            ttft: Some(Summary { sum: 1_500_000, count: 10 }),
            tokens_in: Some(Summary { sum: 4200, count: 10 }),
            ..EngineLoad::default()
        };
        assert_eq!(load, expected);
    }

    #[test]
    fn metrics_of_sglang_count_once_for_all_ranks() {
        let load = read(
            "sglang:num_running_reqs{model_name=\"a } b\",tp_rank=\"0\",pp_rank=\"0\"} 5\n\
             sglang:num_running_reqs{model_name=\"a } b\",tp_rank=\"1\",pp_rank=\"0\"} 5\n\
             sglang:num_queue_reqs{my_tp_rank=\"1\"} 0\n\
             sglang:token_usage{tp_rank=\"0\"} 0.28\n\
             sglang:max_total_num_tokens 100000\n",
        );
        assert_eq!((load.running, load.waiting), (Some(5), Some(0)));
        assert_eq!((load.kv_usage, load.kv_tokens), (Some(Fraction(280)), Some(100_000)));
    }

    #[test]
    fn what_is_no_metric_is_skipped() {
        let text = "vllm:num_requests_running NaN\nvllm:num_requests_waiting -3\n<html>{\n}x{ 1\n";
        assert_eq!(read(text), EngineLoad::default());
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[ -~\\n\"{}=,é]{0,200}") {
            let _ = read(&text);
            let _ = read(&format!("vllm:cache_config_info{{{text}}} 1"));
        }
    }
}
