//! A replay through the state: what is charged, refused and preempted there. Where both stages must
//! agree, every start is compared.
#![allow(clippy::unwrap_used)]

use common::id::{AccountName, Gid, QosName, QueueName, Uid};
use common::policy::account::Account;
use common::policy::qos::Qos;
use common::policy::queue::Queue;
use common::policy::{Access, Factors, Limits, Order, Policy, VictimMode};
use common::time::Span;
use common::unit::Gpus;
use sim::replay::{Named, Plan, ReplayError, Unwatched, Watcher, replay, replay_engine_alone};
use sim::report::{Outcome, jobs_csv};
use trace::{Estimates, Job, Node, read_jobs, read_nodes};

const BATSIM_JOBS: &[u8] = include_bytes!("../../../tests/traces/batsim-medium.jobs.csv.gz");
const BATSIM_NODES: &[u8] = include_bytes!("../../../tests/traces/batsim-medium.nodes.csv");
const ITP_JOBS: &[u8] = include_bytes!("../../../tests/traces/itp-04-window.jobs.csv");
const ITP_NODES: &[u8] = include_bytes!("../../../tests/traces/itp-04-window.nodes.csv");

type Replay = fn(&Plan<'_>, &mut dyn Watcher) -> Result<Outcome, ReplayError>;

fn played(by: Replay, policy: &Policy, jobs: &[Job], nodes: &[Node]) -> Outcome {
    let estimates = Estimates::Request;
    let plan = Plan { trace: "test", jobs, nodes, name: "test", policy, estimates, seed: 0 };
    by(&plan, &mut Unwatched).unwrap()
}

fn assert_same_starts(what: &str, policy: &Policy, jobs: &[Job], nodes: &[Node]) -> Outcome {
    let through = played(replay, policy, jobs, nodes);
    let alone = played(replay_engine_alone, policy, jobs, nodes);
    assert!(jobs_csv(&through) == jobs_csv(&alone), "{what}: starts, ends or nodes differ");
    assert_eq!(through.preemptions, alone.preemptions, "{what}");
    assert_eq!((&through.never_fit, through.starts), (&alone.never_fit, alone.starts), "{what}");
    through
}

#[test]
fn both_stages_start_the_jobs_of_the_small_traces_equally_under_every_policy() {
    for (trace, jobs, nodes) in
        [("batsim", BATSIM_JOBS, BATSIM_NODES), ("itp", ITP_JOBS, ITP_NODES)]
    {
        let jobs = read_jobs(trace, jobs).unwrap();
        let nodes = read_nodes(trace, nodes).unwrap();
        for named in Named::ALL {
            assert_same_starts(named.name(), &named.policy(), &jobs, &nodes);
        }
        assert_same_starts(trace, &Named::Kant.policy(), &jobs, &nodes[..2]);
    }
}

#[test]
fn both_stages_make_the_same_jobs_yield_and_requeue_or_cancel_them() {
    let jobs = read_jobs("itp", ITP_JOBS).unwrap();
    let nodes = read_nodes("itp", ITP_NODES).unwrap();
    for victims in [VictimMode::Requeue, VictimMode::Cancel] {
        let mut policy = Named::Kant.policy();
        let queue = &mut policy.queues[0];
        queue.preemption.preemptible = true;
        queue.preemption.victims = victims;
        queue.backfill.head_timeout = Some(Span::from_minutes(5));
        let outcome = assert_same_starts("head timeout", &policy, &jobs, &nodes);
        assert!(outcome.preemptions.total() > 0, "nobody yields: nothing is compared");
    }
}

fn name(text: &str) -> AccountName {
    AccountName::new(text).unwrap()
}

fn account(text: &str, members: Access) -> Account {
    let limits = Limits::default();
    Account { name: name(text), shares: 1, access: members, limits, limits_per_user: limits }
}

/// One queue ordered by fair share only, for two accounts with one share each.
fn by_fair_share() -> Policy {
    let queue = QueueName::new("main").unwrap();
    let order = Order::Multifactor;
    let weights =
        Factors { age: 0, size: 0, queue: 0, qos: 0, fair_share: 1000, ..Factors::default() };
    Policy {
        queues: vec![Queue { default: true, order, ..Queue::with_defaults(queue) }],
        accounts: vec![account("red", Access::default()), account("blue", Access::default())],
        fair_sharing: false,
        factors: weights,
        ..Policy::default()
    }
}

const HEAD: &str = "job_id,submit_s,runtime_s,walltime_request_s,nodes,gpus_per_node,user,group";

fn jobs(rows: &str) -> Vec<Job> {
    read_jobs("jobs", format!("{HEAD}\n{rows}").as_bytes()).unwrap()
}

fn one_node() -> Vec<Node> {
    read_nodes("nodes", b"name,gpus\na,1\n").unwrap()
}

fn starts(outcome: &Outcome) -> Vec<(u64, Option<u64>)> {
    outcome.jobs.iter().map(|job| (job.id, job.start.map(|at| at.0 / 1000))).collect()
}

#[test]
fn who_used_less_goes_first_where_the_order_is_by_fair_share() {
    // Red has the only GPU for two hours; then three of its jobs and, last, one of blue's wait.
    let jobs = jobs(
        "1,0,7200,7200,1,1,ann,red\n2,10,600,600,1,1,ann,red\n3,20,600,600,1,1,ann,red\n\
         4,30,600,600,1,1,bob,blue\n",
    );
    let through = played(replay, &by_fair_share(), &jobs, &one_node());
    assert_eq!(starts(&through), [(1, Some(0)), (2, Some(7800)), (3, Some(8400)), (4, Some(7200))]);
    let alone = played(replay_engine_alone, &by_fair_share(), &jobs, &one_node());
    assert_eq!(starts(&alone)[3], (4, Some(8400)), "the engine alone receives no use");
}

#[test]
fn what_the_policy_refuses_is_refused_with_its_reason_and_access_plays_no_part() {
    let mut policy = by_fair_share();
    policy.queues[0].time_limit_max = Some(Span::from_minutes(20));
    policy.queues[0].access = Access { groups: [Gid(7)].into(), ..Access::default() };
    policy.accounts[0].access = Access { users: [Uid(7)].into(), ..Access::default() };
    policy.qos.push(Qos {
        name: QosName::new("red").unwrap(),
        priority: 0,
        access: Access { users: [Uid(7)].into(), ..Access::default() },
        preemptible: None,
        time_limit_max: None,
        limits: Limits::default(),
        limits_per_user: Limits::default(),
    });
    let jobs = jobs("1,0,7200,7200,1,1,ann,red\n2,10,600,600,1,1,ann,red\n3,10,9,9,2,1,bob,blue\n");
    let outcome = played(replay, &policy, &jobs, &one_node());
    assert_eq!(starts(&outcome), [(2, Some(10))]);
    assert_eq!(outcome.never_fit, [3]);
    let [refused] = outcome.refused.as_slice() else { panic!("{:?}", outcome.refused) };
    let why = "queue main allows at most 20:00 (requested: 02:00:00); lower --time";
    assert_eq!((refused.id, refused.why.as_str()), (1, why));
}

#[test]
fn jobs_of_a_queue_that_may_hold_nothing_fit_the_nodes_and_are_refused_by_its_quota() {
    for fair_sharing in [false, true] {
        let mut policy = by_fair_share();
        policy.fair_sharing = fair_sharing;
        let quota = &mut policy.queues[0].quota;
        quota.amounts.gpus_any = Some(Gpus(0));
        quota.at_most.gpus_any = Some(Gpus(0));
        let jobs = jobs("1,0,9,9,1,1,ann,red\n2,10,9,9,2,1,bob,blue\n");
        let outcome = played(replay, &policy, &jobs, &one_node());
        assert_eq!(outcome.never_fit, [2], "it alone asks for more than the nodes have");
        let [refused] = outcome.refused.as_slice() else { panic!("{:?}", outcome.refused) };
        let why = "queue main may hold 0 GPUs: it has no quota and may borrow nothing, and this \
                   job alone asks for 1 GPU: it never starts; ask for less, name another queue \
                   (`kantctl queues`), or submit with --hold to keep it until the limit is raised";
        assert_eq!((refused.id, refused.why.as_str()), (1, why));
    }
}
