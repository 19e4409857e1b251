//! Compares the outcome of a case with what is expected, and reports the first difference.

use super::expectation::Expectation;
use super::format::{Case, Kind};
use super::rounds::{Became, Did, Playing};
use engine::fair::World;
use engine::fair::world::TaskAt;
use std::collections::{BTreeMap, BTreeSet};

/// The outcome of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Pass,
    /// The first difference.
    Fail(String),
    /// The case asks for something that kant does not have.
    Unsupported(String),
}

/// Runs a case and judges it.
#[must_use]
pub fn judge(case: &Case, world: World) -> Verdict {
    let mut playing = Playing::new(case, world);
    let found = if case.kind == Kind::Decision {
        let (plan, did) = playing.round();
        let became = playing.decided(&plan);
        within(case, did, 1).or_else(|| difference(case, &playing.world, &became, true))
    } else {
        settle(case, &mut playing)
    };
    found.map_or(Verdict::Pass, Verdict::Fail)
}

/// Runs rounds until the state is as expected, then those in which nothing more may happen.
fn settle(case: &Case, playing: &mut Playing<'_>) -> Option<String> {
    for round in 1..=case.rounds_to_settle {
        let (plan, did) = playing.round();
        if let Some(found) = within(case, did, round) {
            return Some(found);
        }
        playing.enact(&plan, round == 1);
    }
    let state = playing.state();
    if let Some(found) = difference(case, &playing.world, &state, false) {
        return Some(format!("after round {}: {found}", case.rounds_to_settle));
    }
    for round in 1..=case.rounds_to_hold {
        let (plan, did) = playing.round();
        if did != Did::default() {
            let acts = plan.acts.iter().next();
            let what =
                acts.map(|(task, act)| format!(": {} {act:?}", playing.world.tasks[task.0].name));
            return Some(format!("no rest: round {round} after it {}", what.unwrap_or_default()));
        }
    }
    None
}

fn within(case: &Case, did: Did, round: u32) -> Option<String> {
    let most = case.expect.at_most_per_round?;
    let over = [
        ("starts", did.starts, most.starts),
        ("evictions", did.evictions, most.evictions),
        ("reservations", did.reservations, most.reservations),
    ];
    let found = over.into_iter().find(|(_, did, most)| did > most);
    found.map(|(what, did, most)| format!("round {round}: {did} {what}, expected at most {most}"))
}

fn difference(case: &Case, world: &World, became: &[Became], outcomes: bool) -> Option<String> {
    let matches = |expectation: &Expectation, became: &Became| {
        expectation.status == became.status
            && expectation.node.as_ref().is_none_or(|node| Some(node) == became.node.as_ref())
            && (!outcomes
                || expectation.outcome.as_ref().is_none_or(|outcome| outcome == became.outcome))
    };
    for (name, expectation) in &case.expect.jobs {
        let Some(job) = world.jobs.iter().find(|job| job.name == *name) else {
            return Some(format!("no job is called {name}"));
        };
        let wrong = job.tasks.iter().find(|task| !matches(expectation, &became[task.0]));
        if let Some(task) = wrong {
            return Some(mismatch(&world.tasks[task.0].name, expectation, &became[task.0]));
        }
    }
    for (equal_tasks, expectations) in classes(case, world) {
        if let Some((task, expectation)) =
            unmatched(&equal_tasks, &expectations, |task, expectation| {
                matches(expectation, &became[task.0])
            })
        {
            return Some(mismatch(task, expectation, &became[equal_tasks[0].0]));
        }
    }
    nodes(case, world, became)
}

fn mismatch(task: &str, expectation: &Expectation, became: &Became) -> String {
    let place =
        |node: &Option<String>| node.as_ref().map_or(String::new(), |on| format!(" on {on}"));
    format!(
        "{task}: expected {}{} {}, is {}{} {}",
        expectation.status,
        place(&expectation.node),
        expectation.outcome.as_deref().unwrap_or_default(),
        became.status,
        place(&became.node),
        became.outcome,
    )
}

/// Tasks of one job that ask for the same, and what is expected of some of them.
type Class<'c> = (Vec<TaskAt>, Vec<(&'c str, &'c Expectation)>);

fn classes<'c>(case: &'c Case, world: &World) -> Vec<Class<'c>> {
    let mut classes: BTreeMap<String, Class<'c>> = BTreeMap::new();
    for (at, task) in world.tasks.iter().enumerate() {
        let key = format!(
            "{:?} {:?} {:?} {} {} {:?} {}",
            world.job_of[at],
            task.group,
            task.gpus,
            task.cpu_milli,
            task.memory_bytes,
            task.only_nodes,
            task.order,
        );
        let class = classes.entry(key).or_default();
        class.0.push(TaskAt(at));
        if let Some((name, expectation)) = case.expect.tasks.get_key_value(&task.name) {
            class.1.push((name, expectation));
        }
    }
    classes.into_values().filter(|(_, expectations)| !expectations.is_empty()).collect()
}

/// The first expectation for which no task is left, under any assignment of tasks to expectations.
fn unmatched<'c>(
    tasks: &[TaskAt],
    expectations: &[(&'c str, &'c Expectation)],
    fits: impl Fn(TaskAt, &Expectation) -> bool,
) -> Option<(&'c str, &'c Expectation)> {
    let mut owner: BTreeMap<TaskAt, usize> = BTreeMap::new();
    for from in 0..expectations.len() {
        // Finds one augmenting path.
        let mut open = vec![(from, Vec::new())];
        let mut seen: Vec<TaskAt> = Vec::new();
        let mut found = None;
        while let Some((expectation, path)) = open.pop() {
            for task in tasks.iter().filter(|task| fits(**task, expectations[expectation].1)) {
                if seen.contains(task) {
                    continue;
                }
                seen.push(*task);
                let mut path: Vec<(usize, TaskAt)> = path.clone();
                path.push((expectation, *task));
                match owner.get(task) {
                    Some(other) => open.push((*other, path)),
                    None => {
                        found = Some(path);
                        break;
                    }
                }
            }
            if found.is_some() {
                break;
            }
        }
        match found {
            Some(path) => {
                path.into_iter().for_each(|(expectation, task)| _ = owner.insert(task, expectation))
            }
            None => return Some(expectations[from]),
        }
    }
    None
}

/// Compares the idle and releasing GPUs of nodes, in whole devices.
fn nodes(case: &Case, world: &World, became: &[Became]) -> Option<String> {
    for (name, expectation) in &case.expect.nodes {
        let on = |at: &usize| {
            world.tasks[*at].node.is_some_and(|node| world.nodes[node.0].name == *name)
        };
        let there: Vec<usize> = (0..world.tasks.len()).filter(on).collect();
        let devices = |status: &[&str]| {
            let mut seen: BTreeSet<String> = BTreeSet::new();
            for at in there.iter().filter(|at| status.contains(&became[**at].status)) {
                let task = &world.tasks[*at];
                match (&task.gpus, task.device_names.is_empty()) {
                    (engine::fair::world::GpuAsk::Whole(gpus), _) => {
                        seen.extend((0..*gpus).map(|which| format!("{at} {which}")));
                    }
                    (engine::fair::world::GpuAsk::None, _) => {}
                    (_, true) => _ = seen.insert(format!("{at}")),
                    (_, false) => seen.extend(task.device_names.iter().cloned()),
                }
            }
            seen
        };
        let gpus = world.nodes.iter().find(|node| node.name == *name);
        let gpus = i64::from(gpus.map_or(0, |node| node.gpus));
        let (leaving, held) = (devices(&["releasing"]), devices(&["running", "binding"]));
        let idle = gpus - leaving.union(&held).count() as i64;
        // A device that a running task shares is not releasing.
        let leaving = leaving.difference(&held).count() as i64;
        for (what, expected, is) in [
            ("idle", expectation.idle_gpus, idle),
            ("releasing", expectation.releasing_gpus, leaving),
        ] {
            if expected.is_some_and(|expected| expected != is) {
                return Some(format!("{name}: expected {expected:?} {what} GPUs, are {is}"));
            }
        }
    }
    None
}
