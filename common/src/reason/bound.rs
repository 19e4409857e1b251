//! Quotas and limits that a job ran into, with their owner and the numbers.

use crate::gpu::GpuKind;
use crate::id::{AccountName, QosName, QueueName, Uid};
use crate::unit::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The owner of a limit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// A queue and all queues below it.
    Queue(QueueName),
    UserInQueue(Uid, QueueName),
    AccountInQueue(AccountName, QueueName),
    Qos(QosName),
    UserInQos(Uid, QosName),
    Account(AccountName),
    UserInAccount(Uid, AccountName),
}

impl Bound {
    /// Does the limit apply to each user separately?
    #[must_use]
    pub const fn is_of_one_user(&self) -> bool {
        matches!(self, Self::UserInQueue(..) | Self::UserInQos(..) | Self::UserInAccount(..))
    }

    /// The Slurm reason code (man squeue, "JOB REASON CODES").
    #[must_use]
    pub const fn code(&self, what: What) -> &'static str {
        match (self, what) {
            (Self::Qos(_), What::Jobs) => "QOSGrpJobsLimit",
            (Self::Qos(_), What::GpuMinutes) => "QOSGrpGRESRunMinutes",
            (Self::Qos(_), _) => "QOSGrpGRES",
            (Self::UserInQos(..), What::Jobs) => "QOSMaxJobsPerUserLimit",
            (Self::UserInQos(..), _) => "QOSMaxGRESPerUser",
            (Self::Queue(_) | Self::Account(_), What::Jobs) => "AssocGrpJobsLimit",
            (Self::Queue(_) | Self::Account(_), What::GpuMinutes) => "AssocGrpGRESRunMinutes",
            (Self::Queue(_) | Self::Account(_), _) => "AssocGrpGRES",
            (_, What::Jobs) => "AssocMaxJobsLimit",
            _ => "AssocMaxGRESPerJob",
        }
    }
}

/// The subject of a sentence: "each user of queue debug may have ...".
impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Queue(queue) => write!(f, "queue {queue}"),
            Self::UserInQueue(_, queue) => write!(f, "each user of queue {queue}"),
            Self::AccountInQueue(account, queue) => {
                write!(f, "account {account} in queue {queue}")
            }
            Self::Qos(qos) => write!(f, "all jobs of QoS {qos} together"),
            Self::UserInQos(_, qos) => write!(f, "each user of QoS {qos}"),
            Self::Account(account) => write!(f, "account {account}"),
            Self::UserInAccount(_, account) => write!(f, "each user of account {account}"),
        }
    }
}

/// The kind of a quota's bound, which decides whether the job can start later without a change.
/// Amounts are in the unit of what is counted.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum QuotaBound {
    /// The quota of an isolated queue: a fixed bound.
    Isolated,
    /// The quota and what the queue may borrow in addition: a fixed bound.
    AtMost {
        /// The quota itself; 0 without one.
        owed: u64,
    },
    /// What the queue has and what others lend at the moment: it changes as jobs end.
    Lent {
        /// The quota itself; 0 without one.
        owed: u64,
    },
}

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum What {
    Jobs,
    Gpus,
    Cpus,
    /// In bytes.
    Memory,
    /// GPU-minutes that running jobs may still use.
    GpuMinutes,
}

/// The numbers of an exceeded bound: `used + asked > limit`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counted {
    pub what: What,
    /// `None`: GPUs of any kind.
    pub gpu_kind: Option<GpuKind>,
    /// In the unit of `what`, like the fields below.
    pub limit: u64,
    pub used: u64,
    pub asked: u64,
}

impl Counted {
    /// The GPU-minutes that a job without a time limit asks for.
    pub const WITHOUT_END: u64 = u64::MAX;

    /// Does the job alone exceed the bound?
    #[must_use]
    pub const fn alone_exceeds_limit(&self) -> bool {
        self.asked > self.limit
    }

    /// The job's own request, as a clause.
    #[must_use]
    pub fn own_request_text(&self) -> String {
        match self.what {
            What::GpuMinutes if self.asked == Self::WITHOUT_END => {
                "this job has no time limit".to_owned()
            }
            What::GpuMinutes => format!("this job alone asks for {} GPU-minutes", self.asked),
            What::Jobs => format!("this job alone counts as {}", self.asked),
            _ => format!("this job alone asks for {}", self.with_unit(self.asked)),
        }
    }

    /// An amount without its unit.
    #[must_use]
    pub fn amount_without_unit(&self, amount: u64) -> String {
        match self.what {
            What::Gpus if amount.is_multiple_of(1000) => (amount / 1000).to_string(),
            What::Gpus => format!("{}.{:03}", amount / 1000, amount % 1000),
            What::Memory => Bytes(amount).to_string(),
            _ => amount.to_string(),
        }
    }

    #[must_use]
    pub fn limit_text(&self) -> String {
        self.with_unit(self.limit)
    }

    fn with_unit(&self, amount: u64) -> String {
        let plural = |one: u64| if amount == one { "" } else { "s" };
        match self.what {
            What::Jobs => format!("{amount} running job{}", plural(1)),
            What::Gpus => {
                let kind = self.gpu_kind.as_ref().map(|k| format!("{k} ")).unwrap_or_default();
                format!("{} {kind}GPU{}", self.amount_without_unit(amount), plural(1000))
            }
            What::Cpus => format!("{amount} CPU{}", plural(1)),
            What::Memory => format!("{} memory", Bytes(amount)),
            What::GpuMinutes => format!("{amount} outstanding GPU-minutes"),
        }
    }
}

/// The current use, and what the job would add.
impl fmt::Display for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.what {
            What::Jobs if self.used == 1 => write!(f, "1 is already running"),
            What::Jobs => write!(f, "{} are already running", self.used),
            What::GpuMinutes if self.asked == Self::WITHOUT_END => {
                write!(f, "{} are taken, and this job has no time limit", self.with_unit(self.used))
            }
            What::GpuMinutes => write!(
                f,
                "{} are taken, and this job asks for {}",
                self.with_unit(self.used),
                self.asked
            ),
            What::Gpus | What::Cpus | What::Memory => {
                let is = match (self.what, self.used) {
                    (What::Memory, _) | (What::Cpus, 1) | (What::Gpus, 1000) => "is",
                    _ => "are",
                };
                let used = if self.used == 0 {
                    "none".to_owned()
                } else {
                    self.amount_without_unit(self.used)
                };
                write!(
                    f,
                    "{used} {is} in use, and this job asks for {}",
                    self.amount_without_unit(self.asked)
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_of_a_bound_read_as_a_sentence() {
        let kind = Some(GpuKind("h100".to_owned()));
        let counted = |limit, used, asked| Counted {
            what: What::Gpus,
            gpu_kind: kind.clone(),
            limit,
            used,
            asked,
        };
        let gpus = counted(16_000, 12_500, 8_000);
        assert_eq!(gpus.limit_text(), "16 h100 GPUs");
        assert_eq!(gpus.to_string(), "12.500 are in use, and this job asks for 8");
    }

    #[test]
    fn what_a_job_would_add_reads_as_a_sentence() {
        let counted = |what, used, asked| Counted { what, gpu_kind: None, limit: 600, used, asked };
        assert_eq!(counted(What::Jobs, 2, 1).to_string(), "2 are already running");
        let minutes = counted(What::GpuMinutes, 60, 900);
        assert_eq!(minutes.limit_text(), "600 outstanding GPU-minutes");
        assert_eq!(
            minutes.to_string(),
            "60 outstanding GPU-minutes are taken, and this job asks for 900"
        );
        let endless = counted(What::GpuMinutes, 60, Counted::WITHOUT_END);
        assert_eq!(
            endless.to_string(),
            "60 outstanding GPU-minutes are taken, and this job has no time limit"
        );
    }
}
