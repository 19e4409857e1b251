//! The time to apply the log entries of an action on a whole array, measured in this process. Other
//! work of the machine disturbs this less than it disturbs the waits of a client.

use crate::figures::Figures;
use crate::machine;
use crate::policy::Rules;
use anyhow::{Context as _, bail, ensure};
use common::cpuset::CpuSet;
use common::id::{ArrayIndex, AttemptId, Gid, JobId, JobKey, RequestKey, Uid};
use common::job::{Ask, Attribute, JobSize, Owner, Patch};
use common::resource::{Allocation, GpuList, Request, Share};
use common::time::{Span, Time};
use common::unit::{Bytes, Cpus, Nodes, Tasks};
use common::wire::node::{StepPhase, StepStatus};
use lead::Parts;
use lead::bulk_action::TASKS_MAX;
use state::{Actor, Command, Event, RoundStart, Settings, Stamped, State, Target};
use std::time::{Duration, Instant};

const USER: Uid = Uid(1000);
/// CPUs of a node, and number of tasks that run on each pair of nodes.
const CPUS: u32 = 96;

struct TestState {
    state: State,
    now: Time,
    /// Events of the last command.
    events: Vec<Event>,
}

/// Measures each action once, on an array of `tasks` tasks.
pub fn measure(tasks: u32, figures: &mut Figures) -> anyhow::Result<()> {
    let mut test = TestState::new()?;
    let of = |verb: &str| format!("longest entry: {verb} an array of {tasks}");
    let (array, took) = test.submit(tasks, "")?;
    figures.time(&of("submit"), took);
    let (actor, target) = (operator(), Target { key: array });
    let verbs = [
        ("hold", Command::HoldJob { actor: actor.clone(), target }),
        ("release", Command::ReleaseJob { actor: actor.clone(), target }),
        ("update", update(target)),
        ("cancel", Command::CancelJob { actor: actor.clone(), target }),
        ("requeue", Command::RequeueJob { actor: actor.clone(), target }),
    ];
    for (verb, command) in verbs {
        figures.time(&of(verb), test.steer(command)?);
    }
    test.run(array, tasks)?;
    let size = JobSize::Nodes(Nodes(1));
    figures.time(&of("resize"), test.steer(Command::ResizeJob { actor, target, size })?);
    let ended = test.steer(Command::CancelJob { actor: operator(), target })?;
    figures.time(&of("cancel, all running,"), ended);
    drop(test);
    let mut test = TestState::new()?;
    let (first, _) = test.submit(1, "")?;
    test.submit(tasks, &format!("afterok:{}", first.job))?;
    let target = Target { key: first };
    let ended = test.steer(Command::CancelJob { actor: operator(), target })?;
    let mut longest = ended;
    while test.state.has_hopeless() {
        longest = longest.max(test.apply(Command::EndHopeless)?);
    }
    figures.time(&of("kill on invalid dependency:"), longest);
    test.now = test.now + Span::from_minutes(24 * 60 * 400);
    figures.time(&of("forget"), test.apply(Command::ForgetDone)?);
    Ok(())
}

const fn operator() -> Actor {
    Actor::operator(Uid(0))
}

fn update(target: Target) -> Command {
    let patch = Patch::default().with(Attribute::Time, Span::from_minutes(5));
    Command::UpdateJob { actor: operator(), target, patch: Box::new(patch) }
}

impl TestState {
    fn new() -> anyhow::Result<Self> {
        let now = Time(1_800_000_000_000);
        let mut test = Self { state: State::default(), now, events: Vec::new() };
        let kept = Span::from_minutes(24 * 60);
        test.apply(Command::Configure(Settings {
            done_jobs_kept: kept,
            ..Rules::Plain.settings(0)
        }))?;
        Ok(test)
    }

    /// Applies a command, and returns how long it took. A copy of the state exists meanwhile, as in
    /// a controller that writes a snapshot or answers a large read.
    fn apply(&mut self, command: Command) -> anyhow::Result<Duration> {
        let copy = self.state.clone();
        let took = self.prepare(command);
        drop(copy);
        took
    }

    /// The same without a copy, for commands that are not measured.
    fn prepare(&mut self, command: Command) -> anyhow::Result<Duration> {
        let stamped = Stamped { at: self.now, command };
        let began = Instant::now();
        self.events = state::apply(&mut self.state, &stamped);
        let took = began.elapsed();
        let refused = |event: &&Event| {
            matches!(event, Event::CommandRefused(_) | Event::RoundEntryRefused { .. })
        };
        match self.events.iter().find(refused) {
            Some(refused) => bail!("failed to measure arrays: {}", query::event::line(refused)),
            None => Ok(took),
        }
    }

    /// Carries out an action on an array in parts, as a controller does. Returns the time of the
    /// longest part.
    fn steer(&mut self, command: Command) -> anyhow::Result<Duration> {
        let mut parts = Parts::new(&self.state, command, TASKS_MAX);
        let mut longest = Duration::ZERO;
        while let Some(part) = parts.next_part() {
            longest = longest.max(self.apply(part)?);
            parts.note(state::event::changed_jobs(&self.events));
        }
        ensure!(parts.outcome().is_ok(), "failed to measure arrays: nothing was changed");
        Ok(longest)
    }

    fn submit(&mut self, tasks: u32, dependency: &str) -> anyhow::Result<(JobKey, Duration)> {
        let number = self.state.last_job_id().0 + 1;
        let array = (tasks > 1).then(|| format!("0-{}", tasks - 1).parse()).transpose()?;
        let dependency = (!dependency.is_empty()).then(|| dependency.parse()).transpose()?;
        let ask = Ask {
            array,
            dependency,
            kill_on_invalid_dependency: true,
            requeue: true,
            time_limit: Some(Span::from_minutes(60)),
            request: Request {
                nodes: Some(Nodes(2)),
                tasks: Tasks(2),
                cpus_per_task: Cpus(1),
                ..Request::default()
            },
            ..Ask::default()
        };
        let took = self.apply(Command::SubmitJob {
            request_key: RequestKey(format!("job-{number}")),
            owner: Owner { uid: USER, gid: Gid(100), name: "ada".to_owned() },
            groups: Vec::new(),
            operator: false,
            via: None,
            ask: Box::new(ask),
            script: "#!/bin/sh\n".to_owned(),
            environment: String::new(),
        })?;
        Ok((JobKey::single(JobId(number)), took))
    }

    /// Starts all tasks, each on two nodes.
    fn run(&mut self, array: JobKey, tasks: u32) -> anyhow::Result<()> {
        for pair in 0..tasks.div_ceil(CPUS) {
            let names = [pair * 2, pair * 2 + 1].map(machine::name);
            for name in &names {
                self.prepare(Command::RegisterNode {
                    identity: name.to_string(),
                    address: name.to_string(),
                    name: name.clone(),
                    version: "1".to_owned(),
                    inventory: Box::new(machine::inventory()),
                    steps: Vec::new(),
                })?;
            }
            let mut starts = Vec::new();
            for index in pair * CPUS..tasks.min((pair + 1) * CPUS) {
                let key = JobKey { index: Some(ArrayIndex(index)), ..array };
                let (_, element) = self.state.element(key).context("a task is gone")?;
                let share = |node: &common::id::NodeName| Share {
                    node: node.clone(),
                    tasks: Tasks(1),
                    cpus: CpuSet::from_iter([index % CPUS]),
                    memory: Bytes(1 << 20),
                    gpus: GpuList::new(),
                    gpu_milli: None,
                };
                let allocation = Allocation::new(names.iter().map(share).collect())?;
                let id = AttemptId { key, attempt: element.next_attempt() };
                starts.push(RoundStart { id, allocation, group: None });
            }
            let phase = StepPhase::Running { since: self.now, suspended: false };
            let steps =
                starts.iter().map(|start| StepStatus { id: start.id, phase: phase.clone() });
            let steps: Vec<StepStatus> = steps.collect();
            let (preempts, shrinks, grows) = (Vec::new(), Vec::new(), Vec::new());
            self.prepare(Command::EnactRound { preempts, shrinks, starts, grows })?;
            for node in names {
                self.prepare(Command::ReportSteps { node, steps: steps.clone() })?;
            }
        }
        Ok(())
    }
}
