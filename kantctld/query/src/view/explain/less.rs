//! A smaller request for GPUs: as many GPUs, or as much of one, as a node has free, in the notation
//! of `--gpus`.

use common::gpu_parts::GpuParts;
use common::reason::{Nearest, Need};
use common::unit::Gpus;

/// The free GPUs of this node; `None` if they suffice, or if fewer would not help.
pub(super) fn fewer_gpus(need: &Need, near: &Nearest) -> Option<String> {
    if near.gpus >= need.gpus {
        return None;
    }
    let Some(part) = need.gpu_part else {
        return (near.gpus.0 > 0).then(|| near.gpus.to_string());
    };
    // A smaller part of a GPU does not help if CPUs or memory are missing too.
    if near.cpus < need.cpus || near.memory < need.memory {
        return None;
    }
    let (devices, each) = match near.gpus {
        Gpus::ZERO => (Gpus(1), near.gpu_part.filter(|most| !most.is_zero())?),
        devices => (devices, part),
    };
    Some(GpuParts { devices, each }.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::gpu_parts::PartSize;
    use common::id::NodeName;
    use common::unit::{Bytes, Cpus, GpuMilli, Nodes};

    fn less(asked: (u32, Option<PartSize>), has: (u32, Option<PartSize>)) -> Option<String> {
        let (cpus, memory) = (Cpus(1), Bytes(1));
        let need = Need {
            nodes: Nodes(1),
            cpus,
            memory,
            gpus: Gpus(asked.0),
            gpu_kind: None,
            gpu_part: asked.1,
        };
        let node = NodeName::new("n1").unwrap();
        fewer_gpus(&need, &Nearest { node, cpus, memory, gpus: Gpus(has.0), gpu_part: has.1 })
    }

    #[test]
    fn less_is_what_there_is_in_the_words_of_the_option() {
        let milli = |milli| Some(PartSize::Milli(GpuMilli(milli)));
        let memory = |mib| Some(PartSize::Memory(Bytes::from_mib(mib)));
        assert_eq!(less((8, None), (6, None)).as_deref(), Some("6"));
        assert_eq!(less((8, None), (0, None)), None);
        assert_eq!(less((8, None), (8, None)), None, "CPUs are missing");
        assert_eq!(less((1, milli(500)), (0, milli(250))).as_deref(), Some("0.25"));
        assert_eq!(less((1, milli(500)), (0, milli(0))), None);
        assert_eq!(less((4, milli(500)), (3, milli(999))).as_deref(), Some("3x0.5"));
        assert_eq!(less((1, memory(90 << 10)), (0, memory(81_559))).as_deref(), Some("81559M"));
    }
}
