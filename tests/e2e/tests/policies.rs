//! Scheduling policies on real daemons: preemption, reservations, deadlines, accounts, and how the
//! cluster reports them.

use anyhow::{Context as _, ensure};
use common::config::{AccountTable, ControllerConfig, QosTable, QueueTable};
use common::id::{AccountName, NodeName, QosName, QueueName};
use common::job::{Outcome, Phase};
use common::policy::Order;
use common::reason::WaitReason;
use common::unit::{GpuMilli, Gpus};
use common::wire::api::{
    Explanation, JobList, MetricsView, PriorityList, QueueList, ReservationList, SolveAnswer,
    SolveView, TrialView, WhatIfView,
};
use e2e::{Cluster, ClusterOptions, Kantctl, Person, UNTIL_ENOUGH};

fn runs_on(kantctl: &Kantctl, id: &str) -> anyhow::Result<Vec<String>> {
    let allocation = kantctl.until(id, Phase::Running)?.allocation;
    let nodes = allocation.context("it runs somewhere")?;
    Ok(nodes.shares().iter().map(|share| share.node.to_string()).collect())
}

/// Waits until a round has set a wait reason of the expected kind.
fn reason(
    kantctl: &Kantctl,
    id: &str,
    kind: fn(&WaitReason) -> bool,
) -> anyhow::Result<(WaitReason, String)> {
    let what = format!("job {id} to be told that it waits for that");
    let last = e2e::wait_for(&what, || {
        let reason = kantctl.job(id)?.reason.filter(|reason| kind(&reason.detail));
        Ok(reason.map(|reason| (reason.detail, reason.sentence)))
    });
    last.with_context(|| format!("{:?}", kantctl.job(id).map(|job| job.reason)))
}

fn timeline(kantctl: &Kantctl, id: &str) -> anyhow::Result<String> {
    let lines: Vec<String> = kantctl.job(id)?.timeline.into_iter().map(|line| line.text).collect();
    Ok(lines.join("\n"))
}

/// Whether a file that the job's script makes exists in the owner's home.
fn is_there(kantctl: &Kantctl, file: &str) -> bool {
    kantctl.dir().join(file).exists()
}

/// A script whose second attempt ends at once.
const TELLS_OF_ITS_END: &str = "#!/bin/sh\n\
    [ -e first ] && exec touch second\n\
    trap 'touch got-sigterm; exit 1' TERM\n\
    touch first\n\
    while :; do sleep 0.1; done\n";

/// One node with two GPUs, a queue with preemption, and a QoS for urgent jobs.
fn urgent_jobs_and_others() -> anyhow::Result<Cluster> {
    let policy = |config: &mut ControllerConfig| {
        let name = QueueName::new("main").ok();
        let preempt_by_priority = true;
        config.queue = vec![QueueTable { name, preempt_by_priority, ..QueueTable::default() }];
        let name = QosName::new("high").ok();
        config.qos = vec![QosTable { name, priority: 10, ..QosTable::default() }];
        // Long enough for a trap on a busy machine; no test waits for its end.
        config.kill_grace_seconds = 60;
    };
    Cluster::start(ClusterOptions {
        controller: Some(policy as fn(&mut ControllerConfig)),
        ..ClusterOptions::gpu_nodes(&["g1"], "pcie-2")
    })
}

#[test]
fn a_preemptible_job_is_preempted_by_an_urgent_one_and_runs_again_later() -> anyhow::Result<()> {
    let cluster = urgent_jobs_and_others()?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let both = ["--gpus=2", "--mem=16M", "--time=10"];
    let spot = kantctl.submit(&[&both[..], &["--preemptible"]].concat(), TELLS_OF_ITS_END)?;
    e2e::wait_for("its processes", || Ok(is_there(&kantctl, "first").then_some(())))?;
    let calm = kantctl.submit(&both, "#!/bin/sh\ntrue\n")?;
    reason(&kantctl, &calm, |reason| matches!(reason, WaitReason::Resources { .. }))?;
    assert!(!is_there(&kantctl, "got-sigterm"), "a job does not preempt one of equal priority");

    let urgent = kantctl.submit(&[&both[..], &["--qos=high"]].concat(), UNTIL_ENOUGH)?;
    kantctl.until(&urgent, Phase::Running)?;
    assert!(is_there(&kantctl, "got-sigterm"), "{}", timeline(&kantctl, &spot)?);
    let waits = kantctl.until(&spot, Phase::Pending)?;
    assert_eq!((waits.attempt, waits.outcome), (1, None));
    assert!(!is_there(&kantctl, "second"));
    let explanation: Explanation = kantctl.json(&["explain", &spot])?;
    let lines = explanation.lines.join("\n");
    assert!(lines.contains(&format!("job {urgent}")), "{lines}");

    kantctl.touch("enough")?;
    for job in [&urgent, &calm, &spot] {
        kantctl.completed(job)?;
    }
    assert!(is_there(&kantctl, "second"));
    assert_eq!(kantctl.job(&spot)?.attempt, 2);
    let (victims, preemptors) = (timeline(&kantctl, &spot)?, timeline(&kantctl, &urgent)?);
    let yielded = format!("preempted by job {urgent} (higher priority), to be requeued");
    assert!(victims.contains(&yielded), "{victims}");
    let back = format!("requeued after preemption of attempt 1 by job {urgent}");
    assert!(victims.contains(&back) && victims.contains("attempt 2 started"), "{victims}");
    let makes = format!("preempts job {spot} (higher priority)");
    assert!(preemptors.contains(&makes), "{preemptors}");
    let shown = kantctl.ok(&["show", "job", &spot])?;
    assert!(shown.contains(&yielded) && shown.contains(&back), "{shown}");
    Ok(())
}

fn two_nodes() -> anyhow::Result<Cluster> {
    Cluster::start(ClusterOptions::cpu_nodes(&["n1", "n2"]))
}

#[test]
fn a_maintenance_window_keeps_long_jobs_off_its_node_until_it_is_deleted() -> anyhow::Result<()> {
    let cluster = two_nodes()?;
    let (kantctl, operator) = (cluster.kantctl(Person::plain())?, cluster.kantctl(Person::me())?);
    let window = ["--nodes=n1", "--from=now+1hour", "--for=1h", "--maintenance"];
    let create = [&["reservations", "create", "fans"][..], &window].concat();
    let made: ReservationList = operator.json(&create)?;
    assert_eq!((made.reservations.len(), made.reservations[0].maintenance), (1, true));
    operator.refused(&create, "fans")?;

    let short = kantctl.submit(&["-wn1", "--mem=16M", "--time=10"], UNTIL_ENOUGH)?;
    assert_eq!(runs_on(&kantctl, &short)?, ["n1"], "it ends before the window begins");
    let long = kantctl.submit(&["-wn1", "--mem=16M", "--time=2:00:00"], UNTIL_ENOUGH)?;
    let is_kept = |reason: &WaitReason| matches!(reason, WaitReason::NodesReserved { .. });
    let (_, sentence) = reason(&kantctl, &long, is_kept)?;
    assert!(sentence.contains("reservation fans"), "{sentence}");
    let explanation: Explanation = kantctl.json(&["explain", &long])?;
    assert!(explanation.advice.is_some_and(|advice| !advice.is_empty()));
    let elsewhere = kantctl.submit(&["--mem=16M", "--time=2:00:00"], UNTIL_ENOUGH)?;
    assert_eq!(runs_on(&kantctl, &elsewhere)?, ["n2"]);
    assert_eq!(kantctl.job(&long)?.phase, Phase::Pending);
    let shown = kantctl.ok(&["reservations"])?;
    assert!(shown.contains("fans") && shown.contains("n1"), "{shown}");

    operator.ok(&["reservations", "delete", "fans"])?;
    assert_eq!(runs_on(&kantctl, &long)?, ["n1"]);
    let left: ReservationList = kantctl.json(&["reservations"])?;
    assert!(left.reservations.is_empty(), "{left:?}");
    kantctl.touch("enough")?;
    for job in [short, long, elsewhere] {
        kantctl.completed(&job)?;
    }
    Ok(())
}

#[test]
fn only_operators_reserve_and_a_reservation_of_unknown_nodes_is_refused() -> anyhow::Result<()> {
    let cluster = two_nodes()?;
    let operator = cluster.kantctl(Person::me())?;
    let on = |nodes| ["reservations", "create", "fans", nodes, "--for=1h", "--maintenance"];
    let answer = operator.run(&on("--nodes=n9"))?;
    assert!(answer.code == 1 && answer.stderr.contains("n9"), "{answer:?}");
    let Some(other) = Person::other() else { return Ok(()) };
    let answer = cluster.kantctl(other)?.run(&on("--nodes=n1"))?;
    assert!(answer.code == 1 && answer.stderr.contains("operator"), "{answer:?}");
    let none: ReservationList = operator.json(&["reservations"])?;
    assert!(none.reservations.is_empty(), "{none:?}");
    Ok(())
}

#[test]
fn a_job_that_cannot_start_before_its_deadline_ends_as_deadline_missed() -> anyhow::Result<()> {
    let cluster = two_nodes()?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let all = ["-N2", "--exclusive", "--mem=16M", "--time=1:00:00"];
    let first = kantctl.submit(&all, UNTIL_ENOUGH)?;
    kantctl.until(&first, Phase::Running)?;
    let due = ["--deadline=now+5seconds", "--time=0:01", "--mem=16M"];
    let late = kantctl.submit(&due, "#!/bin/sh\ntouch ran\n")?;
    let job = kantctl.finished(&late)?;
    assert_eq!((job.outcome, job.attempt), (Some(Outcome::DeadlineMissed), 0), "{job:?}");
    assert_eq!((job.state.as_str(), job.allocation), ("DEADLINE", None));
    let deadline = job.ask.deadline.context("it has one")?;
    assert!(job.ended_at.is_some_and(|at| at >= deadline), "{:?} {deadline}", job.ended_at);
    assert!(!is_there(&kantctl, "ran"));
    assert!(timeline(&kantctl, &late)?.contains("DEADLINE"), "{}", timeline(&kantctl, &late)?);
    let code = kantctl.run(&["wait", &late])?.code;
    assert_ne!(code, 0, "wait reports that the job did not run");
    Ok(())
}

/// Two GPU nodes, multifactor order.
fn two_gpu_nodes() -> anyhow::Result<Cluster> {
    let multifactor = |config: &mut ControllerConfig| {
        let name = QueueName::new("main").ok();
        let order = Order::Multifactor;
        config.queue = vec![QueueTable { name, order, ..QueueTable::default() }];
    };
    Cluster::start(ClusterOptions {
        controller: Some(multifactor as fn(&mut ControllerConfig)),
        ..ClusterOptions::gpu_nodes(&["g1", "g2"], "pcie-2")
    })
}

#[test]
fn metrics_priority_queues_and_what_if_agree_about_the_cluster() -> anyhow::Result<()> {
    let cluster = two_gpu_nodes()?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let small = kantctl.submit(&["--gpus=1", "--mem=16M", "--time=1:00:00"], UNTIL_ENOUGH)?;
    let home = runs_on(&kantctl, &small)?;
    let both = ["-N2", "--gpus-per-node=2", "--mem=16M", "--time=2:00:00"];
    let head = kantctl.submit(&both, UNTIL_ENOUGH)?;
    let is_room = |reason: &WaitReason| matches!(reason, WaitReason::Resources { .. });
    reason(&kantctl, &head, is_room)?;

    let used: MetricsView = kantctl.json(&["metrics"])?;
    assert_eq!((used.gpus, used.gpus_used_milli), (Gpus(4), GpuMilli(1000)), "{used:?}");
    assert!((used.gar - 0.25).abs() < 1e-9 && (used.gfr - 0.5).abs() < 1e-9, "{used:?}");
    assert_eq!((used.nodes.0, used.nodes_free.0), (2, 1), "{used:?}");
    let waiting: u32 = used.waits.iter().map(|bucket| bucket.waiting).sum();
    let started: u32 = used.waits.iter().map(|bucket| bucket.started).sum();
    assert_eq!((waiting, started), (1, 1), "{:?}", used.waits);
    let text = kantctl.ok(&["metrics"])?;
    assert!(text.contains("GAR") && text.contains("25"), "{text}");

    let list: QueueList = kantctl.json(&["queues"])?;
    let main = QueueName::new("main")?;
    let held = list.held.get(&main).context("main is held")?;
    assert_eq!((held.running, held.waiting, held.gpus_milli.len()), (1, 1, 1), "{held:?}");

    let line: PriorityList = kantctl.json(&["priority"])?;
    assert_eq!(line.jobs.len(), 1, "{line:?}");
    let (only, sum) = (&line.jobs[0], line.jobs[0].factors.iter().map(|f| f.points).sum::<i64>());
    assert_eq!((only.key.to_string(), only.position, only.total), (head.clone(), Some(1), sum));
    let names: Vec<&str> = only.factors.iter().map(|factor| factor.name.as_str()).collect();
    assert_eq!(names, ["age", "size", "queue", "qos", "fair-share", "nice"]);

    let changed = |change: &str| -> anyhow::Result<WhatIfView> {
        let view: WhatIfView = kantctl.json(&["explain", &head, "--what-if", change])?;
        ensure!(view.compared_with.starts_now.is_none(), "as it is it waits: {view:?}");
        Ok(view)
    };
    let shorter = changed("time=1")?;
    assert_eq!(shorter.changed.starts_now, None, "no time makes room: {shorter:?}");
    assert_eq!(shorter.changed.expected_at, shorter.compared_with.expected_at, "{shorter:?}");
    let freed = kantctl.job(&small)?.started_at.context("it runs")?.0 + 3_600_000;
    let expected = shorter.changed.expected_at.context("when the other one must be over")?;
    assert!(expected.0.abs_diff(freed) < 120_000, "{expected} {freed}");
    let smaller = changed("nodes=1 gpus-per-node=2 time=1")?;
    let other = if home == ["g1"] { "g2" } else { "g1" };
    assert_eq!(smaller.changed.starts_now, Some(vec![NodeName::new(other)?]), "{smaller:?}");
    assert_eq!(
        kantctl.job(&head)?.ask.request.nodes.map(|nodes| nodes.0),
        Some(2),
        "the job is unchanged"
    );
    let solved: SolveView = kantctl.json(&["explain", &head, "--solve"])?;
    let in_short = (solved.answer, solved.by.as_str(), solved.movable);
    assert_eq!(in_short, (SolveAnswer::Impossible, "counts", 0), "{solved:?}");
    let text = kantctl.ok(&["explain", &head, "--solve"])?;
    assert!(text.contains("have 3 whole GPUs, of which it needs 4"), "{text}");
    let text = kantctl.ok(&["explain", &head, "--what-if", "gpus-per-node=64"])?;
    assert!(text.contains("could never start"), "{text}");
    kantctl.ok(&["hold", &head])?;
    let held = kantctl.ok(&["explain", &head, "--what-if", "gpus-per-node=64"])?;
    assert!(held.contains("could never start"), "{held}");
    let next = kantctl.submit(&both, UNTIL_ENOUGH)?;
    reason(&kantctl, &next, is_room)?;
    kantctl.ok(&["release", &head])?;
    reason(&kantctl, &head, |reason| !matches!(reason, WaitReason::Held))?;
    let same = kantctl.ok(&["explain", &head, "--what-if", "time=2:00:00"])?;
    assert!(same.contains("makes no difference"), "{same}");
    kantctl.refused(&["explain", &small, "--what-if", "time=1"], "it is RUNNING")?;
    Ok(())
}

#[test]
fn test_only_reports_when_and_where_a_job_would_start_and_submits_nothing() -> anyhow::Result<()> {
    let cluster = two_gpu_nodes()?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let trial = |words: &[&str]| -> anyhow::Result<TrialView> {
        kantctl.json(&[&["submit", "--test-only", "--mem=16M", "--wrap=true"], words].concat())
    };
    let now = trial(&["-N2", "--gpus-per-node=2", "--cpus-per-task=1"])?;
    let both = [NodeName::new("g1")?, NodeName::new("g2")?];
    assert_eq!(now.outlook.starts_now.as_deref(), Some(&both[..]), "{now:?}");
    assert_eq!((now.job.0, now.cpus.0, now.queue.as_str()), (1, 2, "main"), "{now:?}");

    let running = kantctl.submit(&["--gpus=1", "--mem=16M", "--time=1:00:00"], UNTIL_ENOUGH)?;
    runs_on(&kantctl, &running)?;
    assert_eq!(running, "1", "the trial used no job id");
    let later = trial(&["-N2", "--gpus-per-node=2"])?;
    assert!(later.outlook.starts_now.is_none() && later.job.0 == 2, "{later:?}");
    let freed = kantctl.job(&running)?.started_at.context("it runs")?.0 + 3_600_000;
    let expected = later.outlook.expected_at.context("when the other one must be over")?;
    assert!(expected.0.abs_diff(freed) < 120_000, "{expected} {freed}");
    let first = trial(&["--gpus=1", "--array=0-9", "--time=1"])?;
    assert!(first.outlook.starts_now.is_some() && first.tasks == 10, "{first:?}");

    for words in [&["--gpus-per-node=64"][..], &["--queue=nowhere"], &["--nice=-5"]] {
        let words = [&["submit", "--mem=16M", "--wrap=true"], words].concat();
        let refused = kantctl.run(&[&words[..], &["--test-only"]].concat())?;
        assert_eq!(
            refused.stderr,
            kantctl.run(&words)?.stderr,
            "the same error as for a submission"
        );
        assert_eq!(refused.code, 1, "{refused:?}");
    }
    let jobs = kantctl.json::<JobList>(&["queue", "--all"])?.jobs;
    assert_eq!(jobs.len(), 1, "nothing else was submitted: {jobs:?}");
    Ok(())
}

#[test]
fn a_queue_of_an_account_accepts_only_jobs_of_its_members() -> anyhow::Result<()> {
    let of_visions_members = |config: &mut ControllerConfig| {
        let account = AccountName::new("vision").ok();
        let (name, accounts) = (QueueName::new("main").ok(), account.iter().cloned().collect());
        config.queue = vec![QueueTable { name, accounts, ..QueueTable::default() }];
        let users = vec![Person::plain().uid.to_string()];
        config.account = vec![AccountTable { name: account, users, ..AccountTable::default() }];
    };
    let controller = Some(of_visions_members as fn(&mut ControllerConfig));
    let cluster =
        Cluster::start(ClusterOptions { controller, ..ClusterOptions::cpu_nodes(&["n1"]) })?;
    let member = cluster.kantctl(Person::plain())?;
    let job = member.submit(&["--mem=16M"], "#!/bin/sh\ntrue\n")?;
    let view = member.finished(&job)?;
    assert_eq!(view.ask.account, AccountName::new("vision").ok(), "the member's default");
    assert!(!cluster.controller_log().contains("is open to ALL users"));
    // Only root can act as two users.
    let Some(other) = Person::other() else { return Ok(()) };
    let stranger = cluster.kantctl(other)?;
    let refused = stranger.run(&["submit", "--account=vision", "--wrap=true"])?;
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("account vision is not open to you"), "{refused:?}");
    Ok(())
}
