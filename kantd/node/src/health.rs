//! The assessment of a node's symptoms: which GPU errors (XIDs) the hardware causes and which a
//! job, which symptoms last, and how to respond.

use common::health::{Check, Finding, Response};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Symptom {
    pub check: Check,
    /// The object and the problem, without numbers that change on their own: another text is
    /// another finding.
    pub text: String,
    /// Number of occurrences, as counted by the observer. A lasting symptom with a higher count is
    /// a new finding, which replaces the earlier one.
    pub times: u64,
}

impl Symptom {
    /// A symptom that occurred once, or is not counted.
    pub fn new(check: Check, text: impl Into<String>) -> Self {
        Self { check, text: text.into(), times: 1 }
    }

    #[must_use]
    pub fn with_count(self, times: u64) -> Self {
        Self { times, ..self }
    }
}

/// The operator's responses to findings. By default a finding drains the node, except for throttled
/// GPUs, which are usual when it is hot, and for a read-only disk, on which the end of a job could
/// not be recorded.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HealthPolicy {
    pub warn: BTreeSet<Check>,
    pub drain: BTreeSet<Check>,
    /// No new jobs, and running jobs are requeued.
    pub drain_now: BTreeSet<Check>,
}

impl HealthPolicy {
    /// The response to a failed check.
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

/// The known problems of the node.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HealthMonitor {
    policy: HealthPolicy,
    /// Symptoms that last until an operator has attended to them, and their highest count.
    lasting: BTreeMap<(Check, String), u64>,
}

impl HealthMonitor {
    /// A monitor without findings.
    #[must_use]
    pub const fn new(policy: HealthPolicy) -> Self {
        Self { policy, lasting: BTreeMap::new() }
    }

    /// All findings after a probe with these symptoms: these and the lasting ones, each once, the
    /// worst first.
    pub fn assess(&mut self, symptoms: impl IntoIterator<Item = Symptom>) -> Vec<Finding> {
        let mut now = BTreeSet::new();
        for Symptom { check, text, times } in symptoms {
            if check.is_lasting() {
                let most = self.lasting.entry((check, text)).or_default();
                *most = times.max(*most);
            } else {
                now.insert((check, text));
            }
        }
        let lasting = self.lasting.iter().map(|((check, text), times)| match times {
            0 | 1 => (*check, text.clone()),
            _ => (*check, format!("{text} ({times} times)")),
        });
        let finding = |(check, text)| {
            let response = self.policy.response(check);
            Finding { check, says: text, response }
        };
        let mut findings: Vec<Finding> = lasting.chain(now).map(finding).collect();
        findings.sort_by_key(|finding| (std::cmp::Reverse(finding.response), finding.check));
        findings
    }
}

/// The meaning of an XID after which the GPU needs care. Source: NVIDIA, "XID Errors", the catalog
/// for A100 and later (docs.nvidia.com/deploy/xid-errors): XIDs whose immediate action is to reset
/// the GPU, to restart the machine or to check its cables, and 48 and 74, whose workflows end in a
/// reset. After all others the GPU continues, by the same catalog: those that a program causes (13,
/// 31, 43, 45, ...), and those whose cause was repaired or contained (63, 92, 94). 144 to 150 and
/// 154 can be either, depending on a detail that NVML does not report; 155 also reports links that
/// go to sleep.
#[must_use]
pub const fn hardware_fault_of_xid(xid: u64) -> Option<&'static str> {
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
    fn lasting_symptoms_stay_and_others_go() {
        let mut monitor = HealthMonitor::new(HealthPolicy::default());
        let xid = Symptom::new(Check::GpuXid, "GPU 3: XID 79");
        let disk = Symptom::new(Check::DiskFull, "/var is nearly full");
        let both = monitor.assess([disk.clone(), xid.clone(), xid]);
        assert_eq!(checks(&both), [Check::GpuXid, Check::DiskFull]);
        assert_eq!(checks(&monitor.assess([])), [Check::GpuXid]);
        assert_eq!(checks(&monitor.assess([disk])), [Check::GpuXid, Check::DiskFull]);
    }

    #[test]
    fn a_repeated_occurrence_replaces_the_finding() {
        let mut monitor = HealthMonitor::new(HealthPolicy::default());
        let xid = || Symptom::new(Check::GpuXid, "GPU 3: XID 79");
        let texts = |found: Vec<Finding>| -> Vec<String> {
            found.into_iter().map(|finding| finding.says).collect()
        };
        assert_eq!(texts(monitor.assess([xid()])), ["GPU 3: XID 79"]);
        assert_eq!(texts(monitor.assess([])), ["GPU 3: XID 79"]);
        assert_eq!(
            texts(monitor.assess([xid().with_count(2), xid().with_count(3)])),
            ["GPU 3: XID 79 (3 times)"]
        );
        let ecc = Symptom::new(Check::GpuEcc, "GPU 3: ECC").with_count(4);
        let both = ["GPU 3: XID 79 (3 times)", "GPU 3: ECC (4 times)"];
        assert_eq!(texts(monitor.assess([ecc.clone()])), both);
        assert_eq!(
            texts(monitor.assess([ecc])),
            both,
            "a probe without a new occurrence changes nothing"
        );
    }

    #[test]
    fn the_operator_sets_responses_and_the_strictest_applies() {
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
        let symptoms =
            [Check::GpuXid, Check::GpuThrottled, Check::GpuLost].map(|c| Symptom::new(c, ""));
        let found = HealthMonitor::new(policy).assess(symptoms);
        assert_eq!(checks(&found), [Check::GpuLost, Check::GpuThrottled, Check::GpuXid]);
    }

    #[test]
    fn the_xids_after_which_a_gpu_must_be_reset_are_those_of_nvidias_catalog() {
        let found: Vec<u64> =
            (0..1000).filter(|xid| hardware_fault_of_xid(*xid).is_some()).collect();
        // Immediate action RESET_GPU, RESTART_BM or CHECK_MECHANICALS, and the workflows of 48, 74;
        // not 155.
        let reset = [46, 48, 54, 62, 64, 74, 79, 95, 109, 110, 119, 120, 136, 140, 143];
        assert_eq!(found, [&reset[..], &[156, 158]].concat());
    }
}
