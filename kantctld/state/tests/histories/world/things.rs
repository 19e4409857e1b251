//! The material of histories: settings, nodes, users, jobs, and possible reports of nodes.

use common::cpuset::CpuSet;
use common::gpu::{Gpu, GpuKind, GpuMatrix};
use common::gpu_parts::{GpuParts, PartSize};
use common::id::{AccountName, Gid, GpuIndex, NodeName, QueueName, ReservationName, Uid};
use common::job::{Ask, EndCause, ExitStatus, Launch, StepEnd, Usage};
use common::node::{Inventory, Numa};
use common::policy::account::Account;
use common::policy::queue::Queue;
use common::policy::{Access, Factors, Limits};
use common::resource::GpuRequest;
use common::time::{Span, Time};
use common::topology::Topology;
use common::unit::{Bytes, Cpus, GpuMilli, Gpus, Nodes, Tasks};
use common::wire::node::StepPhase;
use state::{Actor, Settings, UserBounds};

const NODES: [&str; 4] = ["n1", "n2", "n3", "n4"];
const PHASES: usize = 8;

pub fn node(which: u8) -> NodeName {
    NodeName::new(NODES[usize::from(which) % NODES.len()]).unwrap()
}

/// Queue `main` is open to all and shares GPUs. `more`, which comes and goes, is below `staff`,
/// which is open to some users only. The limits of users are the defaults, or so tight that few
/// jobs fit.
pub fn settings(more_queues: bool, bounds: u8) -> Settings {
    let queue = |name: &str, default| Queue {
        default,
        time_limit_default: Some(Span::from_minutes(10)),
        memory_per_cpu: Bytes::from_mib(512),
        share_gpus: default,
        ..Queue::with_defaults(QueueName::new(name).unwrap())
    };
    let staff = Queue {
        access: Access { users: [Uid(1000)].into(), groups: [Gid(7)].into(), ..Access::default() },
        ..queue("staff", false)
    };
    let more = Queue { parent: Some(staff.name.clone()), ..queue("more", false) };
    let mut queues = vec![queue("main", true), staff];
    queues.extend(more_queues.then_some(more));
    let account = |name: &str| Account {
        name: AccountName::new(name).unwrap(),
        shares: 1,
        access: Access::default(),
        limits: Limits::default(),
        limits_per_user: Limits::default(),
    };
    Settings {
        cluster: "test".to_owned(),
        queues,
        allow_root_jobs: false,
        kill_grace: Span::from_seconds(30),
        done_jobs_kept: Span::from_minutes(30),
        user_bounds: user_bounds(bounds),
        qos: Vec::new(),
        accounts: vec![account("vision"), account("speech")],
        fair_sharing: false,
        yields_first: common::policy::YieldsFirst::default(),
        factors: Factors::default(),
        moves: common::policy::Moves::default(),
        topology: Topology::default(),
    }
}

fn user_bounds(which: u8) -> UserBounds {
    match which % 3 {
        0 => UserBounds::default(),
        // Finished jobs may use a sixteenth: two texts, or none.
        1 => UserBounds { text: Bytes(16 * 40), done_tasks: 8 },
        _ => UserBounds { text: Bytes(60), done_tasks: 3 },
    }
}

pub fn inventory(cpus: u32, gpus: u16, boot: u8) -> Inventory {
    let memory = Bytes::from_mib(u64::from(cpus) * 1024);
    let gpu = |index| Gpu {
        index: GpuIndex(index),
        uuid: format!("GPU-{index}"),
        model: "NVIDIA A40".to_owned(),
        kind: GpuKind("a40".to_owned()),
        memory: Bytes::from_mib(46_068),
        minor: u32::from(index),
        pci_bus_id: format!("0000:{index:02x}:00.0"),
        numa: None,
        cpus: CpuSet::new(),
        mig: None,
    };
    Inventory {
        sockets: 1,
        threads_per_core: 1,
        cpus: CpuSet::first_n(cpus),
        cores: (0..cpus).map(|cpu| CpuSet::from_iter([cpu])).collect(),
        numa: vec![Numa { id: 0, cpus: CpuSet::first_n(cpus), memory }],
        memory,
        gpus: (0..gpus).map(gpu).collect(),
        gpu_matrix: GpuMatrix::default(),
        boot_id: format!("boot-{boot}"),
        gpu_driver: None,
        nics: Vec::new(),
        features: Vec::new(),
        limits_missing: vec![],
    }
}

/// The hash of one of two secrets.
pub fn invitation(which: u8) -> String {
    format!("hash-{}", which % 2)
}

pub fn actor(user: u8) -> Actor {
    match user % 4 {
        0 => Actor::operator(Uid(0)),
        1 => Actor::user(Uid(1001)),
        _ => Actor::user(Uid(1000)),
    }
}

/// Shapes of jobs: single, on several nodes, with GPUs, with parts of them, arrays, whole nodes,
/// held, without requeue, elastic, with deadlines, reservations and accounts, and too large.
pub fn ask(shape: u8, now: Time) -> Ask {
    let mut ask = Ask::default();
    let request = &mut ask.request;
    match shape % 16 {
        0 => request.cpus_per_task = Cpus(2),
        1 | 2 => {
            (request.nodes, request.tasks) = (Some(Nodes(2)), Tasks(2));
            ask.launch = if shape % 32 < 16 { Launch::PerNode } else { Launch::Once };
        }
        3 => request.gpus = Some(GpuRequest::PerNode(Gpus(1 + u32::from(shape / 16 % 2)))),
        4 | 5 => ask.array = "0-3%2".parse().ok(),
        6 | 7 => request.exclusive = true,
        8 => ask.hold = true,
        9..=11 => {
            let part = [300, 500, 700][usize::from(shape % 3)];
            let each = match shape / 16 % 3 {
                2 => PartSize::Memory(Bytes::from_mib(u64::from(part) * 20)),
                _ => PartSize::Milli(GpuMilli(part)),
            };
            let devices = Gpus(1 + u32::from(shape / 16 % 4 == 3));
            request.gpus = Some(GpuRequest::Parts(GpuParts { devices, each }));
        }
        12 => {
            (request.tasks, request.tasks_min) = (Tasks(4), Some(Tasks(2)));
            // Most of them grow.
            request.grow = !(shape / 16).is_multiple_of(4);
            ask.launch = if shape % 32 < 16 { Launch::PerNode } else { Launch::Once };
        }
        13 | 14 => {
            // Some come too late.
            ask.time_limit = Some(Span::from_minutes(5));
            ask.deadline = Some(now + Span::from_minutes(4 + u64::from(shape / 16)));
        }
        _ => request.cpus_per_task = Cpus(1000),
    }
    ask.requeue = !shape.is_multiple_of(3);
    ask.account = match shape / 8 % 8 {
        0 => AccountName::new("vision").ok(),
        1 => AccountName::new("speech").ok(),
        2 if shape.is_multiple_of(2) => AccountName::new("nobody").ok(),
        _ => None,
    };
    if shape > 200 {
        ask.queue = QueueName::new("more").ok();
    }
    ask.dependency = match shape % 29 {
        // The ids may be unknown or known, of finished jobs or not, of arrays or not.
        1 => "singleton".parse().ok(),
        2 => format!("after:{}", shape / 29).parse().ok(),
        3 => format!("afterany:{}:2", shape / 29).parse().ok(),
        4 => format!("afterok:{}", shape / 29).parse().ok(),
        5 => format!("afternotok:{}?afterok:3", shape / 29).parse().ok(),
        6 | 7 => {
            ask.array = "0-3%2".parse().ok();
            format!("aftercorr:{}", 1 + shape / 29 % 4).parse().ok()
        }
        8 => format!("after:1+{}", shape / 29).parse().ok(),
        _ => None,
    };
    ask.kill_on_invalid_dependency = shape % 5 == 1;
    if (96..112).contains(&shape) {
        ask.reservation = Some(reservation_name(shape));
    }
    ask
}

/// One of three names.
pub fn reservation_name(which: u8) -> ReservationName {
    ReservationName::new(format!("r{}", which % 3)).unwrap()
}

/// Any phase that a node could report.
pub fn step_phase(which: u8) -> StepPhase {
    let (cause, code) = match usize::from(which) % PHASES {
        0 => return StepPhase::Preparing,
        1 => return StepPhase::Ready,
        2 => return StepPhase::Running { since: Time(7), suspended: false },
        3 => (EndCause::Exited, which % 3),
        4 => (EndCause::Stopped, 0),
        5 => (EndCause::LaunchFailed, 0),
        6 => (if which < 128 { EndCause::TimedOut } else { EndCause::OutOfMemory }, 0),
        _ if which < 128 => (EndCause::Lost, 0),
        _ if which < 192 => (EndCause::NodeFault, 0),
        _ => (EndCause::UnclearFault, 0),
    };
    StepPhase::Ended(Box::new(StepEnd {
        cause,
        exit: ExitStatus { code, signal: None },
        started_at: which.is_multiple_of(2).then_some(Time(u64::from(which))),
        ended_at: Time(9),
        held: which.is_multiple_of(3).then_some(Span(u64::from(which) * 7)),
        ran: which.is_multiple_of(5).then_some(Span(u64::from(which) * 5)),
        usage: Usage { cpu: Span(u64::from(which)), memory_peak: Bytes(3), ..Usage::default() },
        message: None,
        steps: Vec::new(),
    }))
}

/// One of the items, if there are any.
pub fn pick<T: Clone>(from: &[T], which: u8) -> Option<T> {
    (!from.is_empty()).then(|| from[usize::from(which) % from.len()].clone())
}
