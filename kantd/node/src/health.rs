//! What a node makes of the signs of sickness that it sees: which XIDs are the hardware's and which
//! a job's, what lasts, and what is to be done. Never looks at the machine; kantd does.

use common::health::{Check, Finding, Response};
use std::collections::{BTreeMap, BTreeSet};

/// Something that was seen.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sign {
    /// What kind of thing.
    pub check: Check,
    /// Of what, and in which way. Without numbers that change by themselves: another text is
    /// another finding.
    pub says: String,
    /// How often so far, by the count of who saw it. Of what lasts, more often than before is
    /// another finding, in the place of the one before.
    pub times: u64,
}

impl Sign {
    /// With its words; seen once, or not counted.
    pub fn new(check: Check, says: impl Into<String>) -> Self {
        Self { check, says: says.into(), times: 1 }
    }

    /// Seen so often by now.
    #[must_use]
    pub fn times(self, times: u64) -> Self {
        Self { times, ..self }
    }
}

/// What the operator wants done about findings; by default each drains the node, but for GPUs that
/// are slowed down, which is no news on a hot day, and for a read-only disk, on which no job's end
/// could be written down.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HealthPolicy {
    pub warn: BTreeSet<Check>,
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
    /// Seen once, and true until somebody has seen to it; and how often at most.
    lasting: BTreeMap<(Check, String), u64>,
}

impl Ward {
    /// Nothing is known yet.
    #[must_use]
    pub const fn new(policy: HealthPolicy) -> Self {
        Self { policy, lasting: BTreeMap::new() }
    }

    /// Everything that is wrong, after a look that saw these signs: they and what lasts, the worst
    /// first, each once.
    pub fn look(&mut self, signs: impl IntoIterator<Item = Sign>) -> Vec<Finding> {
        let mut now = BTreeSet::new();
        for Sign { check, says, times } in signs {
            if check.is_lasting() {
                let most = self.lasting.entry((check, says)).or_default();
                *most = times.max(*most);
            } else {
                now.insert((check, says));
            }
        }
        let lasting = self.lasting.iter().map(|((check, says), times)| match times {
            0 | 1 => (*check, says.clone()),
            _ => (*check, format!("{says} ({times} times)")),
        });
        let finding = |(check, says)| {
            let response = self.policy.response(check);
            Finding { check, says, response }
        };
        let mut findings: Vec<Finding> = lasting.chain(now).map(finding).collect();
        findings.sort_by_key(|finding| (std::cmp::Reverse(finding.response), finding.check));
        findings
    }
}

/// What an XID means, if it means that the GPU needs care; in words. Source: NVIDIA, "XID Errors",
/// the catalog for A100 and later (docs.nvidia.com/deploy/xid-errors): those whose immediate
/// action is to reset the GPU, to restart the machine or to look at its cables, with 48 and 74,
/// whose workflows come to a reset. After all others the GPU goes on, by the same catalog: those
/// that a program causes (13, 31, 43, 45, ...), and those whose cause was mended or contained (63,
/// 92, 94). 144 to 150 and 154 are any of these, by a detail that NVML does not tell; 155 is told
/// of links that go to sleep too.
#[must_use]
pub const fn broken_hardware(xid: u64) -> Option<&'static str> {
    Some(match xid {
        46 => "stopped processing",
        48 | 140 => "uncorrectable memory error",
        54 => "its power cable is not connected",
        62 => "its internal controller halted",
        64 => "a memory row could not be replaced",
        74 => "NVLink error",
        79 => "fallen off the bus",
        95 => "memory error that could not be contained",
        109 => "did not switch to another program in time",
        110 => "security fault",
        119 | 120 => "its system processor does not answer",
        136 => "an NVLink could not be trained",
        143 => "failed to start",
        156 => "a part of it was retired",
        158 => "fatal timeout",
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
    fn what_happens_once_more_is_another_finding_in_the_place_of_the_one_before() {
        let mut ward = Ward::new(HealthPolicy::default());
        let xid = || Sign::new(Check::GpuXid, "GPU 3: XID 79");
        let says = |found: Vec<Finding>| -> Vec<String> {
            found.into_iter().map(|finding| finding.says).collect()
        };
        assert_eq!(says(ward.look([xid()])), ["GPU 3: XID 79"]);
        assert_eq!(says(ward.look([])), ["GPU 3: XID 79"]);
        assert_eq!(says(ward.look([xid().times(2), xid().times(3)])), ["GPU 3: XID 79 (3 times)"]);
        let ecc = Sign::new(Check::GpuEcc, "GPU 3: ECC").times(4);
        let both = ["GPU 3: XID 79 (3 times)", "GPU 3: ECC (4 times)"];
        assert_eq!(says(ward.look([ecc.clone()])), both);
        assert_eq!(says(ward.look([ecc])), both, "a look alone is no news");
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
    fn the_xids_after_which_a_gpu_must_be_reset_are_those_of_nvidias_catalog() {
        let found: Vec<u64> = (0..1000).filter(|xid| broken_hardware(*xid).is_some()).collect();
        // Immediate action RESET_GPU, RESTART_BM or CHECK_MECHANICALS, and the workflows of 48, 74;
        // not 155.
        let reset = [46, 48, 54, 62, 64, 74, 79, 95, 109, 110, 119, 120, 136, 140, 143];
        assert_eq!(found, [&reset[..], &[156, 158]].concat());
    }
}
