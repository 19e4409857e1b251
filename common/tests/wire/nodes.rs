//! Messages between controllers and nodes.

use crate::{Form, check};
use common::cpuset::CpuSet;
use common::gpu::{Gpu, GpuKind, GpuMatrix, GpuPath};
use common::id::{
    ArrayIndex, Attempt, AttemptId, Gid, GpuIndex, JobId, JobKey, NodeName, QueueName, TaskNumber,
    Uid,
};
use common::job::{
    EndCause, ExitStatus, Launch, OpenMode, Owner, Rlimit, SignalNumber, StepEnd, Usage,
};
use common::node::{Inventory, Numa};
use common::policy::Sandbox;
use common::resource::{Allocation, Share};
use common::time::{Span, Time};
use common::unit::{Bytes, Tasks};
use common::wire::node::{
    ArrayFacts, AskSteps, DesiredStep, DesiredUpdate, FeedTask, FenceTerms, FromNode, Hello,
    LaunchOrder, Manner, NODE_PROTOCOL, Octets, OutputChunk, ReadOutput, SignalTask, StartTask,
    StepAnswer, StepAsk, StepGpus, StepHeard, StepInput, StepMark, StepNews, StepPhase, StepPiece,
    StepSaid, StepShare, StepSpeech, StepStatus, StepStreams, StepView, StepWish, TaskNews,
    TaskState, ToNode, Want, WatchTask,
};
use std::collections::BTreeMap;

pub fn name() -> NodeName {
    NodeName::new("g1").unwrap()
}

pub fn owner() -> Owner {
    Owner { uid: Uid(1000), gid: Gid(100), name: "ada".to_owned() }
}

fn id() -> AttemptId {
    AttemptId { key: JobKey::single(JobId(7)), attempt: Attempt(2) }
}

pub fn inventory() -> Inventory {
    Inventory {
        sockets: 1,
        threads_per_core: 2,
        cpus: CpuSet::first_n(4),
        cores: vec![CpuSet::from_iter([0, 2]), CpuSet::from_iter([1, 3])],
        numa: vec![Numa { id: 0, cpus: CpuSet::first_n(4), memory: Bytes(64 << 30) }],
        memory: Bytes(64 << 30),
        gpus: vec![Gpu {
            index: GpuIndex(0),
            uuid: "GPU-0".to_owned(),
            model: "NVIDIA H100 80GB HBM3".to_owned(),
            kind: GpuKind("h100".to_owned()),
            memory: Bytes(80 << 30),
            minor: 0,
            pci_bus_id: "0000:01:00.0".to_owned(),
            numa: Some(0),
            cpus: CpuSet::first_n(2),
            mig: None,
        }],
        gpu_matrix: GpuMatrix { paths: vec![vec![GpuPath::Own]] },
        boot_id: "b".to_owned(),
        gpu_driver: Some("550.54".to_owned()),
        nics: Vec::new(),
        features: Vec::new(),
        limits_missing: vec!["no cgroups: not root".to_owned()],
    }
}

pub fn allocation() -> Allocation {
    let share = Share {
        node: name(),
        tasks: Tasks(1),
        cpus: CpuSet::first_n(2),
        memory: Bytes(1 << 30),
        gpus: [GpuIndex(0)].into(),
        gpu_milli: None,
    };
    Allocation::new(vec![share]).unwrap()
}

fn ended() -> StepPhase {
    StepPhase::Ended(Box::new(StepEnd {
        cause: EndCause::Exited,
        exit: ExitStatus { code: 3, signal: None },
        started_at: Some(Time(5)),
        ended_at: Time(9),
        held: None,
        ran: None,
        usage: Usage { cpu: Span(4), memory_peak: Bytes(5), ..Usage::default() },
        message: Some("why".to_owned()),
        steps: Vec::new(),
    }))
}

fn order() -> LaunchOrder {
    let text = str::to_owned;
    LaunchOrder {
        id: id(),
        cluster: text("alpha"),
        job_name: text("train"),
        owner: owner(),
        queue: QueueName::new("main").unwrap(),
        account: Some(text("lab")),
        script: text("#!/bin/sh\ntrue\n"),
        args: vec![text("-v")],
        environment: BTreeMap::from([(text("HOME"), text("/home/ada"))]),
        work_dir: text("/home/ada"),
        stdin: None,
        stdout: text("kant-%j.out"),
        stderr: None,
        open_mode: OpenMode::Append,
        umask: 0o027,
        rlimits: vec![Rlimit { name: text("nofile"), soft: Some(1024) }],
        launch: Launch::Once,
        container: None,
        sandbox: Sandbox::default(),
        time_limit: Some(Span::from_minutes(60)),
        until_deadline: None,
        warning: None,
        kill_grace: Span::from_seconds(30),
        requeue: false,
        allocation: allocation(),
        addresses: vec![text("10.0.0.1")],
        resized: 0,
        cpus_per_task: 2,
        submitted_at: Time(1),
        submit_host: text("login1"),
        array: Some(ArrayFacts {
            count: 3,
            min: ArrayIndex(1),
            max: ArrayIndex(5),
            step: 2,
            number: None,
        }),
        set: None,
        replica: None,
    }
}

#[test]
fn messages_of_nodes_match_the_golden_files() {
    let phases = [
        StepPhase::Preparing,
        StepPhase::Ready,
        StepPhase::Running { since: Time(5), suspended: false },
    ];
    let steps = phases.into_iter().chain([ended()]).map(|phase| StepStatus { id: id(), phase });
    let steps: Vec<StepStatus> = steps.collect();
    let said = vec![
        FromNode::Hello(Box::new(Hello {
            protocol: NODE_PROTOCOL,
            oldest_protocol: None,
            version: "0.1.0".to_owned(),
            name: name(),
            address: "10.0.0.1".to_owned(),
            identity: "cafe".to_owned(),
            inventory: inventory(),
            steps: steps.clone(),
            starts_tasks: false,
            routes: false,
            key_generation: 0,
        })),
        FromNode::Report(steps),
        FromNode::Output(OutputChunk { question: 1, bytes: b"out".to_vec(), error: None }),
    ];
    check(&Form::PACKED, "from-node.msgpack", &said);
}

#[test]
fn the_steps_of_a_new_cluster_key_match_the_golden_files() {
    let generation = 3;
    check(&Form::PACKED, "key-to-node.msgpack", &ToNode::KeyGeneration { generation });
    check(&Form::PACKED, "key-from-node.msgpack", &FromNode::CertificateRenewed { generation });
}

#[test]
fn requests_for_programs_match_the_golden_files() {
    let messages = vec![
        ToNode::StartTask(Box::new(StartTask {
            question: 1,
            id: id(),
            task: TaskNumber(77),
            program: vec!["/bin/sh".to_owned(), "-c".to_owned(), "orted".to_owned()],
            environment: BTreeMap::from([("A".to_owned(), "b".to_owned())]),
            work_dir: "/home/ada".to_owned(),
            manner: Manner::default(),
        })),
        ToNode::WatchTask(WatchTask {
            question: 2,
            id: id(),
            task: TaskNumber(77),
            stdout_from: 3,
            stderr_from: 4,
            wait: Span::from_seconds(5),
            lease: None,
        }),
        ToNode::SignalTask(SignalTask {
            question: 3,
            id: id(),
            task: TaskNumber(77),
            signal: SignalNumber(15),
        }),
    ];
    check(&Form::PACKED, "tasks-to-node.msgpack", &messages);
    let ended = TaskState::Ended(ExitStatus { code: 0, signal: Some(9) });
    let said = vec![
        FromNode::Task(TaskNews::from_state(1, TaskState::Running)),
        FromNode::Task(TaskNews {
            question: 2,
            state: ended,
            stdout: b"out".to_vec(),
            stderr: b"err".to_vec(),
        }),
        FromNode::Task(TaskNews::from_state(3, TaskState::Failed("why".to_owned()))),
    ];
    check(&Form::PACKED, "tasks-from-node.msgpack", &said);
}

#[test]
fn requests_for_programs_with_input_match_the_golden_file() {
    let step = StepMark { number: 3, name: "train".to_owned(), tasks: 16, first_rank: 8 };
    let lease = Some(Span::from_seconds(60));
    let messages = vec![
        ToNode::StartTask(Box::new(StartTask {
            question: 1,
            id: id(),
            task: TaskNumber(77),
            program: vec!["/usr/bin/kantctl".to_owned(), "step-tasks".to_owned()],
            environment: BTreeMap::new(),
            work_dir: "/home/ada".to_owned(),
            manner: Manner { own_program: true, input: true, lease, step: Some(step) },
        })),
        ToNode::WatchTask(WatchTask {
            question: 2,
            id: id(),
            task: TaskNumber(77),
            stdout_from: 3,
            stderr_from: 4,
            wait: Span::from_seconds(5),
            lease,
        }),
        ToNode::FeedTask(FeedTask {
            question: 3,
            id: id(),
            task: TaskNumber(77),
            from: 5,
            bytes: b"in".to_vec(),
        }),
    ];
    check(&Form::PACKED, "held-tasks-to-node.msgpack", &messages);
}

#[test]
fn messages_to_nodes_match_the_golden_files() {
    let step = |want, order| DesiredStep {
        id: id(),
        want,
        suspended: false,
        time_limit: None,
        resized: None,
        order,
    };
    let messages = vec![
        ToNode::Welcome { protocol: NODE_PROTOCOL, cluster: "alpha".to_owned(), fence: None },
        ToNode::Refused { reason: "another protocol".to_owned() },
        ToNode::NotLeader { leader: Some("ctl2:7600".to_owned()) },
        ToNode::Desired(DesiredUpdate {
            full: true,
            steps: vec![step(Want::Run, Some(Box::new(order())))],
            gone: vec![id()],
        }),
        ToNode::ReadOutput(ReadOutput {
            question: 1,
            id: id(),
            owner: owner(),
            path: "/home/ada/kant-7.out".to_owned(),
            offset: 4,
            bytes_max: 1 << 16,
            wait: Span::from_seconds(20),
        }),
    ];
    check(&Form::PACKED, "to-node.msgpack", &messages);
}

#[test]
fn requests_about_steps_match_the_golden_files() {
    let ask = StepAsk {
        nonce: TaskNumber(7),
        name: "train".to_owned(),
        tasks: vec![(name(), 2)],
        others: Vec::new(),
        cpus_each: 4,
        gpus: StepGpus::PerTask(1),
        exclusive: true,
        lease: Span::from_seconds(60),
    };
    let asked = |question, wish| ToNode::AskSteps(Box::new(AskSteps { question, id: id(), wish }));
    let exit = ExitStatus { code: 3, signal: None };
    let (number, wait, signal) = (0, Span::from_seconds(5), SignalNumber(15));
    let messages = vec![
        asked(1, StepWish::Open(ask)),
        asked(2, StepWish::Hold { number, wait, streams: None }),
        asked(3, StepWish::Close { number, exit }),
        asked(4, StepWish::Signal { number, signal }),
        asked(5, StepWish::List),
    ];
    check(&Form::PACKED, "steps-to-node.msgpack", &messages);
    let (cpus, gpus) = (CpuSet::first_n(8), Some(vec![0, 1]));
    let view = StepView {
        number,
        name: "train".to_owned(),
        shares: vec![StepShare { node: name(), tasks: 2, cpus, gpus }],
        exclusive: true,
        opened_at: Time(5),
        ended_at: Some(Time(9)),
        exit: Some(exit),
    };
    let answered = |question, answer| FromNode::Steps(Box::new(StepNews { question, answer }));
    let said = vec![
        answered(1, StepAnswer::Opened(view.clone())),
        answered(2, StepAnswer::Words(vec![signal])),
        answered(3, StepAnswer::Done),
        answered(4, StepAnswer::Refused("why".to_owned())),
        answered(5, StepAnswer::List(vec![view])),
        answered(6, StepAnswer::Busy("why".to_owned())),
    ];
    check(&Form::PACKED, "steps-from-node.msgpack", &said);
}

#[test]
fn streams_of_steps_match_the_golden_files() {
    let asked = |question, wish| ToNode::AskSteps(Box::new(AskSteps { question, id: id(), wish }));
    let (number, wait) = (3, Span::from_seconds(5));
    let streams = Some(StepStreams { listened: true, input: StepInput::Full });
    let bytes = || Octets(vec![0, b'a', 0xff]);
    let piece = StepPiece { from: 9, bytes: bytes() };
    let speech = StepSpeech { speaker: TaskNumber(7), from: 1, task: Some(2), bytes: bytes() };
    let messages = vec![
        asked(1, StepWish::Hold { number, wait, streams }),
        asked(2, StepWish::Say { number, piece: piece.clone() }),
        asked(3, StepWish::Listen { number, from: None, wait }),
        asked(4, StepWish::Speak { number, speech: speech.clone() }),
    ];
    check(&Form::PACKED, "streams-to-node.msgpack", &messages);
    let exit = Some(ExitStatus { code: 3, signal: None });
    let answered = |question, answer| FromNode::Steps(Box::new(StepNews { question, answer }));
    let signals = vec![SignalNumber(15)];
    let heard = StepHeard { signals, listened: true, speech: vec![speech] };
    let said = StepSaid { pieces: vec![piece], is_over: true, exit };
    let said = vec![answered(1, StepAnswer::Heard(heard)), answered(2, StepAnswer::Said(said))];
    check(&Form::PACKED, "streams-from-node.msgpack", &said);
}

#[test]
fn what_nodes_measure_and_how_they_are_fenced_match_the_golden_files() {
    let StepPhase::Ended(end) = ended() else { unreachable!("it has ended") };
    let (held, ran) = (Some(Span(6)), Some(Span(4)));
    let phase = StepPhase::Ended(Box::new(StepEnd { held, ran, ..*end }));
    let messages = vec![
        FromNode::Report(vec![StepStatus { id: id(), phase }]),
        FromNode::ConfirmLeader { number: 7 },
    ];
    check(&Form::PACKED, "fence-from-node.msgpack", &messages);
    let seconds = Span::from_seconds;
    let (after, kill_within, ask_every) = (seconds(260), seconds(30), seconds(1));
    let terms = FenceTerms { after, kill_within, ask_every };
    let (protocol, cluster) = (NODE_PROTOCOL, "alpha".to_owned());
    let step = DesiredStep {
        id: id(),
        want: Want::Run,
        suspended: false,
        time_limit: None,
        resized: None,
        order: Some(Box::new(LaunchOrder { requeue: true, ..order() })),
    };
    let messages = vec![
        ToNode::Welcome { protocol, cluster, fence: Some(terms) },
        ToNode::LeaderConfirmed { number: 7 },
        ToNode::Desired(DesiredUpdate { full: true, steps: vec![step], gone: Vec::new() }),
    ];
    check(&Form::PACKED, "fence-to-node.msgpack", &messages);
}
