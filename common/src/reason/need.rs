//! The sentence parts for a job's need on each node, and for the nearest node's shortage.

use super::sentence::plural;
use super::wait::{Nearest, Need};
use crate::gpu::GpuKind;
use crate::gpu_parts::PartSize;
use crate::unit::Gpus;
use std::fmt;

/// With `#`, the memory is marked as a default.
impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if self.gpus.0 > 0 {
            let part = self.gpu_part.map(|part| part.to_string());
            parts.push(gpus_text(self.gpus, self.gpu_kind.as_ref(), part.as_deref()));
        }
        let cpus = format!("{} CPU{}", self.cpus, plural(self.cpus.0));
        parts.push(cpus);
        match f.alternate() {
            true => parts.push(format!("and by default {} memory", self.memory)),
            false => parts.push(format!("{} memory", self.memory)),
        }
        let on = match self.nodes.0 {
            1 => "on one node".to_owned(),
            n => format!("on each of {n} nodes"),
        };
        write!(f, "{} {on}", parts.join(", "))
    }
}

/// `4 h100 GPUs`, or `0.5 of each of 4 h100 GPUs`.
fn gpus_text(gpus: Gpus, kind: Option<&GpuKind>, part: Option<&str>) -> String {
    let kind = kind.map(|kind| format!("{kind} ")).unwrap_or_default();
    match part {
        None => format!("{gpus} {kind}GPU{}", plural(gpus.0)),
        Some(part) if gpus == Gpus(1) => format!("{part} of one {kind}GPU"),
        Some(part) => format!("{part} of each of {gpus} {kind}GPUs"),
    }
}

/// The resource that the nearest node lacks, and the amount that is free there or there at all.
pub(super) fn write_nearest(
    f: &mut fmt::Formatter<'_>,
    need: &Need,
    n: &Nearest,
    is_free: bool,
) -> fmt::Result {
    write!(f, "{} {} ", n.node, if is_free { "with" } else { "has at most" })?;
    if need.gpus.0 > 0 && n.gpus < need.gpus {
        match (need.gpu_part, n.gpu_part) {
            (Some(_), Some(most)) if n.gpus == Gpus::ZERO => {
                write!(f, "{} of {} GPU", part_text(most), if is_free { "one" } else { "each" })
            }
            (part, _) => {
                let part = part.map(|part| part.to_string());
                f.write_str(&gpus_text(n.gpus, None, part.as_deref()))
            }
        }
    } else if n.cpus < need.cpus {
        write!(f, "{} CPU{}", n.cpus, plural(n.cpus.0))
    } else if n.memory < need.memory {
        write!(f, "{} memory", n.memory)
    } else {
        write!(f, "enough")
    }
}

/// Memory sizes are rounded, since the user did not write them.
fn part_text(part: PartSize) -> String {
    match part {
        PartSize::Memory(memory) => memory.to_string(),
        PartSize::Milli(_) => part.to_string(),
    }
}

impl Nearest {
    /// Does the node have no free GPU, and no free part of one?
    pub(super) fn has_no_gpu(&self) -> bool {
        self.gpus == Gpus::ZERO && self.gpu_part.is_none_or(PartSize::is_zero)
    }
}

#[cfg(test)]
mod tests {
    use super::super::WaitReason;
    use super::*;
    use crate::id::NodeName;
    use crate::unit::{Bytes, Cpus, GpuMilli, Nodes};

    const GIB: u64 = 1 << 30;

    fn need(gpus: u32, part: PartSize) -> Need {
        Need {
            nodes: Nodes(1),
            cpus: Cpus(1),
            memory: Bytes(GIB),
            gpus: Gpus(gpus),
            gpu_kind: None,
            gpu_part: Some(part),
        }
    }

    fn nearest(gpus: u32, part: PartSize) -> Nearest {
        let node = NodeName::new("n3").unwrap();
        let (cpus, memory) = (Cpus(8), Bytes(8 * GIB));
        Nearest { node, cpus, memory, gpus: Gpus(gpus), gpu_part: Some(part) }
    }

    fn now(need: Need, nearest: Nearest) -> String {
        let nearest = Some(Box::new(nearest));
        let nodes_free = Nodes(0);
        WaitReason::Resources { need, nodes_free, nearest, expected_at: None }.to_string()
    }

    fn never(need: Need, largest: Nearest) -> String {
        let largest = Some(Box::new(largest));
        WaitReason::NeverFits { need, largest, nodes_fit: Nodes(0) }.to_string()
    }

    #[test]
    fn a_part_without_room_now_is_shown_with_the_largest_free_part() {
        let milli = |milli| PartSize::Milli(GpuMilli(milli));
        let half = || need(1, milli(500));
        assert_eq!(
            now(half(), nearest(0, milli(250))),
            "needs 0.5 of one GPU, 1 CPU, 1G memory on one node; best is n3 with 0.25 of one GPU \
             free"
        );
        let nothing = now(half(), nearest(0, milli(0)));
        assert!(nothing.ends_with("; no node it may use has any part of a GPU free"), "{nothing}");
        let kind = Some(GpuKind("h100".to_owned()));
        let several = Need { gpu_kind: kind, ..need(4, milli(500)) };
        assert_eq!(
            now(several, nearest(3, milli(1000))),
            "needs 0.5 of each of 4 h100 GPUs, 1 CPU, 1G memory on one node; best is n3 with 0.5 \
             of each of 3 GPUs free"
        );
        let busy = Nearest { cpus: Cpus(0), ..nearest(1, milli(500)) };
        assert!(now(half(), busy).ends_with("has a free CPU along with free GPUs"));
    }

    #[test]
    fn a_part_that_never_fits_is_shown_with_the_size_of_the_largest_gpu() {
        let memory = |mib| PartSize::Memory(Bytes::from_mib(mib));
        let large = || need(1, memory(90 << 10));
        assert_eq!(
            never(large(), nearest(0, memory(81_559))),
            "needs 90G of one GPU, 1 CPU, 1G memory on one node, which this cluster does not have: \
             n3 has at most 79.6G of each GPU"
        );
        let none = never(large(), nearest(0, memory(0)));
        assert!(none.ends_with(": no node it may use has GPUs for it"), "{none}");
        let many = never(need(9, memory(20 << 10)), nearest(8, memory(80 << 10)));
        assert!(many.ends_with(": n3 has at most 20G of each of 8 GPUs"), "{many}");
    }

    #[test]
    fn a_need_of_whole_gpus_has_no_part_field() {
        let text = r#"{"kind":"never_fits","need":{"nodes":1,"cpus":1,"memory":1,"gpus":9,
            "gpu_kind":null},"largest":{"node":"n3","cpus":8,"memory":8,"gpus":8},"nodes_fit":0}"#;
        let reason: WaitReason = serde_json::from_str(text).unwrap();
        assert!(reason.to_string().ends_with(": n3 has at most 8 GPUs"), "{reason}");
        let written = serde_json::to_value(&reason).unwrap();
        assert_eq!(written, serde_json::from_str::<serde_json::Value>(text).unwrap());
        let half = need(1, PartSize::Milli(GpuMilli(500)));
        let written = serde_json::to_string(&half).unwrap();
        assert!(written.ends_with(r#""gpu_part":{"milli":500}}"#), "{written}");
        assert_eq!(serde_json::from_str::<Need>(&written).unwrap(), half);
    }
}
