//! Random histories of a small cluster: jobs of all kinds, machines that are disconnected, come
//! back and lose power, users who cancel and requeue. The judges check every step. In the end, once
//! every machine is back, every job has ended: none is forgotten, none hangs.
#![allow(clippy::unwrap_used)] // a test fails by panicking

use proptest::prelude::*;
use sim::play;

/// One line of a scenario, as numbers.
type Line = (u8, u8, u8);

const STAGE: &str = "cluster lost-after=60s
node g[1-2] cpus=8 gpus=4
node g3 cpus=4 threads=2
";

/// The line that these numbers stand for. `jobs` counts the jobs so far.
fn line((what, a, b): Line, jobs: &mut usize) -> Option<String> {
    let node = 1 + a % 3;
    let job = (*jobs > 0).then(|| usize::from(b) % *jobs);
    Some(match what % 16 {
        0..=5 => {
            *jobs += 1;
            let shape = [
                "cpus=2",
                "nodes=2 launch=per-node",
                "gpus=3",
                "nodes=2 gpus-per-node=1",
                "array=0-3%2",
                "exclusive",
                "no-requeue cpus=4",
                "begin=5m",
            ];
            let end = ["", "exit=2", "oom", "fails-on=g1", ""][usize::from(b) % 5];
            let run = 10 + u32::from(b) * 3;
            let shape = shape[usize::from(a) % shape.len()];
            format!("submit j{} {shape} run={run}s time=10m {end}", *jobs - 1)
        }
        6 => format!("cancel j{}", job?),
        7 => format!("requeue j{}", job?),
        8 => format!("hold j{}\nrelease j{}", job?, job?),
        9 => format!("cut g{node}"),
        10 => format!("return g{node}"),
        11 => format!("reboot g{node}"),
        12 => format!("drain g{node} dust"),
        13 => format!("resume g{node}"),
        _ => format!("wait {b}s"),
    })
}

fn scenario(lines: &[Line]) -> String {
    let mut jobs = 0;
    let mut text = STAGE.to_owned();
    for numbers in lines {
        if let Some(line) = line(*numbers, &mut jobs) {
            text.push_str(&line);
            text.push('\n');
        }
    }
    // In the end all machines are back, and waiting jobs get their turn.
    text.push_str("return g1\nreturn g2\nreturn g3\nresume g1\nresume g2\nresume g3\n");
    // Some jobs may be held because they lost several nodes in a row.
    (0..jobs).for_each(|job| text.push_str(&format!("release j{job}\n")));
    text.push_str("finish\nqueue\n");
    text
}

/// The jobs of the last `queue` of a played scenario that have not ended.
fn not_over(played: &str) -> Vec<&str> {
    let queue = played.rsplit("queue\n").next().unwrap_or_default();
    let code = |line: &str| line.split_whitespace().nth(3).unwrap_or_default().to_owned();
    let over = ["CD", "F", "CA", "TO", "OOM", "NF", "LF"];
    queue.lines().filter(|line| !over.contains(&code(line).as_str())).collect()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 120,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_job_is_over_in_the_end(
        lines in prop::collection::vec(any::<Line>(), 1..60),
    ) {
        let text = scenario(&lines);
        let played = play(&text).map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))?;
        prop_assert!(not_over(&played).is_empty(), "{:?}\n{played}", not_over(&played));
    }
}
