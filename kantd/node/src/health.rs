//! What a node makes of the signs of sickness that it sees: which XIDs are the hardware's and which
//! a job's, what lasts, and what is to be done. Never looks at the machine; kantd does.

use common::health::{Check, Finding, Response};
use std::collections::BTreeSet;

/// Something that was seen.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sign {
    /// What kind of thing.
    pub check: Check,
    /// Of what, and in which way. Without numbers that change by themselves: another text is
    /// another finding.
    pub says: String,
}

impl Sign {
    /// With its words.
    pub fn new(check: Check, says: impl Into<String>) -> Self {
        Self { check, says: says.into() }
    }
}

/// What the operator wants done about findings; by default each drains the node, but for GPUs that
/// are slowed down, which is no news on a hot day, and for a read-only disk, on which no job's end
/// could be written down.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HealthPolicy {
    /// Only shown.
    pub warn: BTreeSet<Check>,
    /// No new jobs.
    pub drain: BTreeSet<Check>,
    /// No new jobs, and those there start again elsewhere.
    pub drain_now: BTreeSet<Check>,
}

impl HealthPolicy {
    /// What is done about a check that failed.
    #[must_use]
    pub fn response(&self, check: Check) -> Response {
        match check {
            check if self.drain_now.contains(&check) => Response::DrainNow,
            check if self.drain.contains(&check) => Response::Drain,
            check if self.warn.contains(&check) => Response::Warn,
            Check::GpuThrottled => Response::Warn,
            Check::ReadOnly => Response::DrainNow,
            _ => Response::Drain,
        }
    }
}

/// What the node knows to be wrong with itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ward {
    policy: HealthPolicy,
    /// Seen once, and true until somebody has seen to it.
    lasting: BTreeSet<Sign>,
}

impl Ward {
    /// Nothing is known yet.
    #[must_use]
    pub const fn new(policy: HealthPolicy) -> Self {
        Self { policy, lasting: BTreeSet::new() }
    }

    /// Everything that is wrong, after a look that saw these signs: they and what lasts, the worst
    /// first, each once.
    pub fn look(&mut self, signs: impl IntoIterator<Item = Sign>) -> Vec<Finding> {
        let mut now = BTreeSet::new();
        for sign in signs {
            let kept = if sign.check.is_lasting() { &mut self.lasting } else { &mut now };
            kept.insert(sign);
        }
        let all = self.lasting.iter().cloned().chain(now);
        let finding = |Sign { check, says }| {
            let response = self.policy.response(check);
            Finding { check, says, response }
        };
        let mut findings: Vec<Finding> = all.map(finding).collect();
        findings.sort_by_key(|finding| (std::cmp::Reverse(finding.response), finding.check));
        findings
    }
}

/// What an XID means, if it means broken hardware; in words. Source: NVIDIA, "XID Errors", the
/// catalog and its recovery actions. Those that a program causes by itself (13, 31, 43, 45, ...)
/// are its job's business, and so is one that nobody knows.
#[must_use]
pub const fn broken_hardware(xid: u64) -> Option<&'static str> {
    Some(match xid {
        48 => "uncorrectable memory error",
        62 => "its internal controller halted",
        64 => "a memory row could not be replaced",
        74 => "NVLink error",
        79 => "fallen off the bus",
        92 => "memory errors come too often",
        95 => "memory error that could not be contained",
        119 | 120 => "its system processor does not answer",
        140 => "uncorrectable memory error",
        143 => "failed to start",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checks(findings: &[Finding]) -> Vec<Check> {
        findings.iter().map(|finding| finding.check).collect()
    }

    #[test]
    fn what_lasts_stays_and_the_rest_goes_as_it_came() {
        let mut ward = Ward::new(HealthPolicy::default());
        let xid = Sign::new(Check::GpuXid, "GPU 3: XID 79");
        let disk = Sign::new(Check::DiskFull, "/var is nearly full");
        let both = ward.look([disk.clone(), xid.clone(), xid]);
        assert_eq!(checks(&both), [Check::GpuXid, Check::DiskFull]);
        assert_eq!(checks(&ward.look([])), [Check::GpuXid]);
        assert_eq!(checks(&ward.look([disk])), [Check::GpuXid, Check::DiskFull]);
    }

    #[test]
    fn the_operator_decides_what_is_done_and_the_strictest_word_holds() {
        let policy = HealthPolicy {
            warn: [Check::GpuXid, Check::DiskFull].into(),
            drain: [Check::GpuThrottled].into(),
            drain_now: [Check::GpuLost, Check::DiskFull].into(),
        };
        for (check, response) in [
            (Check::GpuXid, Response::Warn),
            (Check::DiskFull, Response::DrainNow),
            (Check::GpuThrottled, Response::Drain),
            (Check::GpuLost, Response::DrainNow),
            (Check::Script, Response::Drain),
            (Check::ReadOnly, Response::DrainNow),
        ] {
            assert_eq!(policy.response(check), response, "{}", check.word());
        }
        let signs = [Check::GpuXid, Check::GpuThrottled, Check::GpuLost].map(|c| Sign::new(c, ""));
        let found = Ward::new(policy).look(signs);
        assert_eq!(checks(&found), [Check::GpuLost, Check::GpuThrottled, Check::GpuXid]);
    }

    #[test]
    fn a_programs_own_mistake_is_no_broken_hardware() {
        for xid in [13, 31, 43, 45, 68, 69, 100_000] {
            assert_eq!(broken_hardware(xid), None, "{xid}");
        }
        assert_eq!(broken_hardware(79), Some("fallen off the bus"));
    }
}
