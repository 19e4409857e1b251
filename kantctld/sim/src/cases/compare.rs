//! Compares the outcome of a case with what is expected, and reports the first difference.

use super::expectation::Expectation;
use super::format::{Case, Kind, TaskText};
use super::player::{Became, Did, Outcome, Player};
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
pub fn judge(case: &Case, player: &mut dyn Player) -> Verdict {
    let found = if case.kind == Kind::Decision {
        let outcome = player.round();
        let wrong = fault_text(&outcome, 1).or_else(|| excess_per_round(case, outcome.did, 1));
        wrong.or_else(|| difference(case, &outcome.became, true))
    } else {
        run_until_expected(case, player)
    };
    found.map_or(Verdict::Pass, Verdict::Fail)
}

/// All tasks of a case, job by job, with the index of each one's job.
pub fn tasks(case: &Case) -> impl Iterator<Item = (usize, &TaskText)> {
    let jobs = case.jobs.iter().enumerate();
    jobs.flat_map(|(at, job)| job.tasks.iter().map(move |task| (at, task)))
}

/// Runs rounds until the state is as expected, then those in which nothing more may happen.
fn run_until_expected(case: &Case, player: &mut dyn Player) -> Option<String> {
    for round in 1..=case.rounds_to_settle {
        let outcome = player.round();
        if let Some(found) =
            fault_text(&outcome, round).or_else(|| excess_per_round(case, outcome.did, round))
        {
            return Some(found);
        }
        player.enact(round == 1);
    }
    if let Some(found) = difference(case, &player.state(), false) {
        return Some(format!("after round {}: {found}", case.rounds_to_settle));
    }
    for round in 1..=case.rounds_to_hold {
        let outcome = player.round();
        if outcome.did != Did::default() {
            return Some(format!("no rest: round {round} after it: {}", outcome.example));
        }
    }
    None
}

fn fault_text(outcome: &Outcome, round: u32) -> Option<String> {
    outcome.fault.as_ref().map(|fault| format!("round {round}: the judge refuses: {fault}"))
}

fn excess_per_round(case: &Case, did: Did, round: u32) -> Option<String> {
    let most = case.expect.at_most_per_round?;
    let over = [
        ("starts", did.starts, most.starts),
        ("evictions", did.evictions, most.evictions),
        ("reservations", did.reservations, most.reservations),
    ];
    let found = over.into_iter().find(|(_, did, most)| did > most);
    found.map(|(what, did, most)| format!("round {round}: {did} {what}, expected at most {most}"))
}

fn difference(case: &Case, became: &[Became], outcomes: bool) -> Option<String> {
    let matches = |expectation: &Expectation, became: &Became| {
        expectation.status == became.status
            && expectation.node.as_ref().is_none_or(|node| Some(node) == became.node.as_ref())
            && (!outcomes
                || expectation.outcome.as_ref().is_none_or(|outcome| outcome == became.outcome))
    };
    for (name, expectation) in &case.expect.jobs {
        let Some(job) = case.jobs.iter().position(|job| job.name == *name) else {
            return Some(format!("no job is called {name}"));
        };
        let mut each = tasks(case).zip(became).filter(|((of, _), _)| *of == job);
        if let Some(((_, task), became)) = each.find(|(_, became)| !matches(expectation, became)) {
            return Some(mismatch(&task.id, expectation, became));
        }
    }
    for (equal_tasks, expectations) in task_classes(case) {
        if let Some((task, expectation)) =
            unmatched(&equal_tasks, &expectations, |task, expectation| {
                matches(expectation, &became[task])
            })
        {
            return Some(mismatch(task, expectation, &became[equal_tasks[0]]));
        }
    }
    first_node_difference(case, became)
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

/// Tasks of one job that ask for the same, by index, and what is expected of some of them.
type Class<'c> = (Vec<usize>, Vec<(&'c str, &'c Expectation)>);

fn task_classes(case: &Case) -> Vec<Class<'_>> {
    let mut classes: BTreeMap<String, Class<'_>> = BTreeMap::new();
    for (at, (job, task)) in tasks(case).enumerate() {
        let gpus = (task.gpus, task.gpu_fraction, task.gpu_memory_mib, task.gpu_devices);
        let key = format!(
            "{job} {:?} {gpus:?} {:?} {} {} {:?} {}",
            task.subgroup,
            task.mig,
            task.cpu_milli,
            task.memory_bytes,
            task.allowed_nodes,
            task.order,
        );
        let class = classes.entry(key).or_default();
        class.0.push(at);
        if let Some((name, expectation)) = case.expect.tasks.get_key_value(&task.id) {
            class.1.push((name, expectation));
        }
    }
    classes.into_values().filter(|(_, expectations)| !expectations.is_empty()).collect()
}

/// The first expectation for which no task is left, under any assignment of tasks to expectations.
fn unmatched<'c>(
    tasks: &[usize],
    expectations: &[(&'c str, &'c Expectation)],
    fits: impl Fn(usize, &Expectation) -> bool,
) -> Option<(&'c str, &'c Expectation)> {
    let mut owner: BTreeMap<usize, usize> = BTreeMap::new();
    for from in 0..expectations.len() {
        // Finds one augmenting path.
        let mut open = vec![(from, Vec::new())];
        let mut seen: Vec<usize> = Vec::new();
        let mut found = None;
        while let Some((expectation, path)) = open.pop() {
            for task in tasks.iter().filter(|task| fits(**task, expectations[expectation].1)) {
                if seen.contains(task) {
                    continue;
                }
                seen.push(*task);
                let mut path: Vec<(usize, usize)> = path.clone();
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
fn first_node_difference(case: &Case, became: &[Became]) -> Option<String> {
    for (name, expectation) in &case.expect.nodes {
        let devices = |status: &[&str]| {
            let mut seen: BTreeSet<String> = BTreeSet::new();
            for (at, (_, task)) in tasks(case).enumerate() {
                let is_there = task.node.as_ref() == Some(name);
                if !is_there || !status.contains(&became[at].status) {
                    continue;
                }
                let shares = task.gpu_fraction.is_some() || task.gpu_memory_mib.is_some();
                match (shares || !task.mig.is_empty(), task.gpu_groups.is_empty()) {
                    (false, _) => {
                        let gpus = task.gpus.unwrap_or(0);
                        seen.extend((0..gpus).map(|which| format!("{at} {which}")));
                    }
                    (true, true) => _ = seen.insert(format!("{at}")),
                    (true, false) => seen.extend(task.gpu_groups.iter().cloned()),
                }
            }
            seen
        };
        let gpus = case.nodes.iter().find(|node| node.name == *name);
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
