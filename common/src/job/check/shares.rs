//! Checks for alternative GPU kinds, and for shares of GPUs.

use super::{AskError, COUNT_MAX};
use crate::gpu_parts::PartSize;
use crate::resource::{MemoryRequest, Request};
use crate::unit::{Bytes, GpuMilli};

/// Is each GPU kind named once, and is a share of a GPU requested without conflicting options?
pub(super) fn check(request: &Request) -> Result<(), AskError> {
    let (first, others) = (&request.gpu_kind, &request.gpu_kinds_or);
    let rising = others.is_sorted_by(|one, next| one < next);
    let repeated = first.as_ref().is_none_or(|first| others.contains(first));
    if !others.is_empty() && (repeated || !rising) {
        return Err(AskError::GpuKinds);
    }
    let Some(parts) = request.gpu_parts() else { return Ok(()) };
    match parts.each {
        PartSize::Milli(share) if share.0 == 0 || share >= GpuMilli::WHOLE => {
            return Err(AskError::GpuShare(share.0));
        }
        PartSize::Memory(Bytes::ZERO) => return Err(AskError::GpuShareMemory),
        PartSize::Milli(_) | PartSize::Memory(_) => {}
    }
    if !(1..=COUNT_MAX).contains(&parts.devices.0) {
        return Err(AskError::Count { what: "--gpus", count: parts.devices.0, min: 1 });
    }
    let clashes = [
        (request.tasks.0 > 1, "several tasks (--ntasks)"),
        (request.nodes.is_some_and(|nodes| nodes.0 > 1), "several nodes (--nodes)"),
        (request.exclusive, "whole nodes (--exclusive)"),
        (matches!(request.memory, Some(MemoryRequest::PerGpu(_))), "--mem-per-gpu: use --mem"),
    ];
    match clashes.into_iter().find(|(clashes, _)| *clashes) {
        Some((_, what)) => Err(AskError::GpuShareWith(what)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::GpuKind;
    use crate::gpu_parts::GpuParts;
    use crate::resource::GpuRequest;
    use crate::unit::{Gpus, Nodes, Tasks};

    fn kinds(first: Option<&str>, others: &[&str]) -> Result<(), AskError> {
        let kind = |kind: &str| GpuKind(kind.to_owned());
        check(&Request {
            gpus: Some(GpuRequest::Total(Gpus(4))),
            gpu_kind: first.map(kind),
            gpu_kinds_or: others.iter().map(|other| kind(other)).collect(),
            ..Request::default()
        })
    }

    #[test]
    fn kinds_are_each_named_once_and_in_order() {
        assert_eq!(kinds(Some("a100"), &["h100", "v100"]), Ok(()));
        for (first, others) in [
            (None, &["h100"][..]),
            (Some("h100"), &["h100"]),
            (Some("a100"), &["v100", "h100"]),
            (Some("a100"), &["h100", "h100"]),
        ] {
            assert_eq!(kinds(first, others), Err(AskError::GpuKinds), "{first:?} {others:?}");
        }
    }

    #[test]
    fn a_share_is_less_than_a_gpu_and_more_than_nothing() {
        let share = |share| {
            let gpus = Some(GpuRequest::Parts(GpuParts::of_one(GpuMilli(share))));
            check(&Request { gpus, ..Request::default() })
        };
        assert_eq!((share(1), share(500), share(999)), (Ok(()), Ok(()), Ok(())));
        for bad in [0, 1000, u32::MAX] {
            assert_eq!(share(bad), Err(AskError::GpuShare(bad)));
        }
    }

    #[test]
    fn a_share_by_memory_is_of_some_and_of_at_least_one_gpu() {
        let of = |devices, bytes| {
            let each = PartSize::Memory(Bytes(bytes));
            let gpus = Some(GpuRequest::Parts(GpuParts { devices: Gpus(devices), each }));
            check(&Request { gpus, ..Request::default() })
        };
        assert_eq!((of(1, 1 << 30), of(8, 1)), (Ok(()), Ok(())));
        assert_eq!(of(1, 0), Err(AskError::GpuShareMemory));
        assert!(matches!(of(0, 1), Err(AskError::Count { count: 0, .. })));
    }

    #[test]
    fn a_share_is_asked_for_by_one_task_on_one_node() {
        let gpus = Some(GpuRequest::Parts(GpuParts::of_one(GpuMilli(500))));
        let half = Request { gpus, ..Request::default() };
        let memory = Some(MemoryRequest::PerGpu(Bytes(1)));
        for (request, word) in [
            (Request { tasks: Tasks(2), ..half.clone() }, "--ntasks"),
            (Request { nodes: Some(Nodes(2)), ..half.clone() }, "--nodes"),
            (Request { exclusive: true, ..half.clone() }, "--exclusive"),
            (Request { memory, ..half.clone() }, "--mem"),
        ] {
            let error = check(&request).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
        assert_eq!(check(&Request { nodes: Some(Nodes(1)), ..half }), Ok(()));
    }
}
