//! The jobs of a measurement, as batch requests. Each run makes the same requests.

use common::id::RequestKey;
use common::job::Ask;
use common::resource::{GpuRequest, MemoryRequest, Request};
use common::time::Span;
use common::unit::{Bytes, Gpus, Nodes, Tasks};
use common::wire::api::{BatchJob, BatchRequest};
use std::collections::BTreeMap;

/// Jobs per request: the same number that `kantctl submit --batch` sends at once.
const IN_ONE: usize = 1000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One GPU; ends at once.
    Instant,
    /// 1 to 32 GPUs; runs longer than any wait here.
    Mixed,
    /// One GPU; held.
    Held,
    /// One CPU; runs longer than any wait here.
    Cpu,
}

/// GPUs per node and nodes of mixed jobs: most are small, and the large ones hold most GPUs.
const MIX: [(u32, u32); 12] = [
    (1, 1),
    (1, 1),
    (2, 1),
    (1, 1),
    (4, 1),
    (1, 1),
    (2, 1),
    (8, 1),
    (1, 1),
    (4, 1),
    (8, 2),
    (8, 4),
];

/// Requests for `count` jobs, for use once in the life of a controller.
pub fn of(kind: Kind, count: usize) -> Vec<BatchRequest> {
    named(kind, count, &format!("{kind:?}"))
}

/// Requests for `count` jobs. Requests with the same name count as repetitions.
pub fn named(kind: Kind, count: usize, name: &str) -> Vec<BatchRequest> {
    let places: Vec<usize> = (0..count).collect();
    let request = |places: &[usize]| BatchRequest {
        request_key: RequestKey(format!("{name}-{}", places[0])),
        scripts: vec![match kind {
            Kind::Instant | Kind::Held => "#!/bin/sh\ntrue\n".to_owned(),
            Kind::Mixed | Kind::Cpu => "#!/bin/sh\nsleep 1d\n".to_owned(),
        }],
        environments: vec![BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())])],
        jobs: places.iter().map(|place| batch_job(kind, *place)).collect(),
    };
    places.chunks(IN_ONE).map(request).collect()
}

fn batch_job(kind: Kind, place: usize) -> BatchJob {
    let (gpus, nodes) = match kind {
        Kind::Cpu => (0, 1),
        Kind::Instant | Kind::Held => (1, 1),
        Kind::Mixed => MIX[place % MIX.len()],
    };
    let ask = Ask { hold: kind == Kind::Held, ..ask(gpus, nodes) };
    BatchJob { ask, script: 0, environment: 0 }
}

/// The request of one job.
pub fn ask(gpus: u32, nodes: u32) -> Ask {
    let request = Request {
        nodes: Some(Nodes(nodes)),
        tasks: Tasks(nodes),
        gpus: (gpus > 0).then_some(GpuRequest::PerNode(Gpus(gpus))),
        memory: Some(MemoryRequest::PerNode(Bytes(1 << 30))),
        ..Request::default()
    };
    Ask {
        name: "scale".to_owned(),
        work_dir: "/".to_owned(),
        stdout: Some("/dev/null".to_owned()),
        time_limit: Some(Span::from_minutes(2 * 24 * 60)),
        request,
        ..Ask::default()
    }
}
