//! Whose bound a job ran into, and the numbers. Never counts anything itself.

use crate::gpu::GpuKind;
use crate::id::{AccountName, QosName, QueueName, Uid};
use crate::unit::Bytes;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Whose limit it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// A queue, with all below it.
    Queue(QueueName),
    /// One user's in a queue.
    UserInQueue(Uid, QueueName),
    /// One account's in a queue.
    AccountInQueue(AccountName, QueueName),
    Qos(QosName),
    /// One user's in a QoS.
    UserInQos(Uid, QosName),
    Account(AccountName),
    /// One user's in an account.
    UserInAccount(Uid, AccountName),
}

impl Bound {
    /// Is it each user's by themselves?
    #[must_use]
    pub const fn is_of_one_user(&self) -> bool {
        matches!(self, Self::UserInQueue(..) | Self::UserInQos(..) | Self::UserInAccount(..))
    }

    /// Slurm's word for it (man squeue, "JOB REASON CODES").
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

/// As the subject of a sentence: "each user of queue debug may have ...".
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

/// What kind of bound a quota is, and so whether time alone can help. Amounts are in the unit of
/// what is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum QuotaBound {
    /// The quota of an isolated queue: it gets no more, ever.
    Isolated,
    /// The quota and what it may borrow beside it: it gets no more, ever.
    AtMost {
        /// The quota itself; none: 0.
        owed: u64,
    },
    /// What it has and what others leave to it at the moment: that changes as jobs end.
    Lent {
        /// The quota itself; none: 0.
        owed: u64,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    Jobs,
    Gpus,
    Cpus,
    /// Bytes of memory.
    Memory,
    /// GPU-minutes still to be used.
    GpuMinutes,
}

/// The numbers of a bound: `used + asked > limit`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    pub what: What,
    /// Of this kind of GPU; `None`: any.
    pub gpu_kind: Option<GpuKind>,
    /// The bound, in the unit of `what`.
    pub limit: u64,
    /// What is in use.
    pub used: u64,
    /// What the job asks for.
    pub asked: u64,
}

impl Counted {
    /// The GPU-minutes that a job without a time limit asks for.
    pub const WITHOUT_END: u64 = u64::MAX;

    /// Is it more than the bound, with nothing else in use?
    #[must_use]
    pub const fn is_beyond(&self) -> bool {
        self.asked > self.limit
    }

    /// What the job alone asks for, as a clause.
    #[must_use]
    pub fn alone_text(&self) -> String {
        match self.what {
            What::GpuMinutes if self.asked == Self::WITHOUT_END => {
                "this job has no time limit".to_owned()
            }
            What::GpuMinutes => format!("this job alone asks for {} GPU-minutes", self.asked),
            What::Jobs => format!("this job alone counts as {}", self.asked),
            _ => format!("this job alone asks for {}", self.text(self.asked)),
        }
    }

    /// An amount without its unit.
    #[must_use]
    pub fn plain(&self, amount: u64) -> String {
        match self.what {
            What::Gpus if amount.is_multiple_of(1000) => (amount / 1000).to_string(),
            What::Gpus => format!("{}.{:03}", amount / 1000, amount % 1000),
            What::Memory => Bytes(amount).to_string(),
            _ => amount.to_string(),
        }
    }

    /// The bound with its unit.
    #[must_use]
    pub fn limit_text(&self) -> String {
        self.text(self.limit)
    }

    fn text(&self, amount: u64) -> String {
        let plural = |one: u64| if amount == one { "" } else { "s" };
        match self.what {
            What::Jobs => format!("{amount} running job{}", plural(1)),
            What::Gpus => {
                let kind = self.gpu_kind.as_ref().map(|k| format!("{k} ")).unwrap_or_default();
                format!("{} {kind}GPU{}", self.plain(amount), plural(1000))
            }
            What::Cpus => format!("{amount} CPU{}", plural(1)),
            What::Memory => format!("{} memory", Bytes(amount)),
            What::GpuMinutes => format!("{amount} GPU-minutes to go"),
        }
    }
}

/// What there is, and what the job would add.
impl fmt::Display for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.what {
            What::Jobs if self.used == 1 => write!(f, "1 runs already"),
            What::Jobs => write!(f, "{} run already", self.used),
            What::GpuMinutes if self.asked == Self::WITHOUT_END => {
                write!(f, "{} are taken, and this job has no time limit", self.text(self.used))
            }
            What::GpuMinutes => write!(
                f,
                "{} are taken, and this job asks for {}",
                self.text(self.used),
                self.asked
            ),
            What::Gpus | What::Cpus | What::Memory => {
                let is = match (self.what, self.used) {
                    (What::Memory, _) | (What::Cpus, 1) | (What::Gpus, 1000) => "is",
                    _ => "are",
                };
                let used = if self.used == 0 { "none".to_owned() } else { self.plain(self.used) };
                write!(f, "{used} {is} in use, and this job asks for {}", self.plain(self.asked))
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
        assert_eq!(counted(What::Jobs, 2, 1).to_string(), "2 run already");
        let minutes = counted(What::GpuMinutes, 60, 900);
        assert_eq!(minutes.limit_text(), "600 GPU-minutes to go");
        assert_eq!(
            minutes.to_string(),
            "60 GPU-minutes to go are taken, and this job asks for 900"
        );
        let endless = counted(What::GpuMinutes, 60, Counted::WITHOUT_END);
        assert_eq!(
            endless.to_string(),
            "60 GPU-minutes to go are taken, and this job has no time limit"
        );
    }
}
