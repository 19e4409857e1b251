//! The resource and unit of a report (`-t`, `-T`).

use super::Args;
use cli::failure::Failure;
use cli::output::report::{Amounts, Sums};
use common::wire::api::{ReportRow, ReportView};

/// The resource and unit that amounts are shown in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measure {
    pub unit: &'static str,
    /// Milliseconds per unit; `None`: percent.
    pub milliseconds: Option<u64>,
    pub gpus: bool,
}

impl Measure {
    pub fn from_args(args: &Args) -> Result<Self, Failure> {
        let (unit, milliseconds) = match args.unit.to_ascii_lowercase().as_str() {
            "seconds" | "secper" => ("Seconds", Some(1000)),
            "minutes" | "minper" => ("Minutes", Some(60_000)),
            "hours" | "hourper" => ("Hours", Some(3_600_000)),
            "percent" => ("Percentage of Total", None),
            other => {
                let refused = Failure::usage(anyhow::anyhow!("-t {other}: unknown unit"));
                return Err(refused.with_hint("units are Seconds, Minutes, Hours and Percent"));
            }
        };
        let gpus = match args.tres.to_ascii_lowercase().as_str() {
            "cpu" => false,
            "gres/gpu" | "gpu" => true,
            other => {
                let refused = Failure::usage(anyhow::anyhow!("-T {other}: unknown resource"));
                return Err(refused.with_hint("resources are cpu and gres/gpu"));
            }
        };
        Ok(Self { unit, milliseconds, gpus })
    }

    pub fn amount_of_row(self, row: &ReportRow) -> u64 {
        if self.gpus { row.gpu_milliseconds } else { row.cpu_milliseconds }
    }

    pub fn show(self, amount: u64, all: u64) -> String {
        match self.milliseconds {
            Some(one) => (amount / one).to_string(),
            None => {
                let hundredths = u128::from(amount) * 10_000 / u128::from(all.max(1));
                format!("{}.{:02}%", hundredths / 100, hundredths % 100)
            }
        }
    }

    pub fn amounts(self, report: &ReportView) -> Amounts {
        let sums = Sums::of(report);
        if self.gpus { sums.gpus() } else { sums.cpus() }
    }
}
