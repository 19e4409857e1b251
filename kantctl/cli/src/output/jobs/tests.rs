//! Tests of the table of jobs and of a job's record.

use super::*;
use common::cpuset::CpuSet;
use common::gpu_parts::GpuParts;
use common::id::{GpuIndex, JobKey, NodeName, QosName, QueueName, ReservationName};
use common::job::{Ask, ExitStatus, Usage};
use common::reason::WaitReason;
use common::resource::{Allocation, Apart, GpuRequest, Share, Spread};
use common::time::Span;
use common::topology::{Level, Nearness};
use common::unit::{Bytes, GpuMilli, Gpus, Nodes, Tasks};
use common::wire::api::{ReasonView, TimelineEntry};

/// The current time of all samples: 2023-11-14 22:13:20 UTC.
const NOW: Time = Time(1_700_000_000_000);

fn ago(seconds: u64) -> Time {
    NOW - Span::from_seconds(seconds)
}

fn sample(key: &str, name: &str) -> JobView {
    let ask = Ask {
        name: name.to_owned(),
        queue: Some(QueueName::new("gpu").unwrap()),
        time_limit: Some(Span::from_minutes(120)),
        work_dir: "/home/ada".to_owned(),
        submit_host: "login1".to_owned(),
        ..Ask::default()
    };
    JobView { ask, submitted_at: ago(4000), ..testkit::job_view(key) }
}

fn running() -> JobView {
    let share = |node: &str| Share {
        tasks: Tasks(2),
        memory: Bytes::from_mib(8192),
        ..testkit::share(node, 0, 4, &[0, 1])
    };
    let mut job = sample("41", "llama-pretrain-large");
    job.phase = Phase::Running;
    (job.state, job.state_code) = ("RUNNING".to_owned(), "R".to_owned());
    job.attempt = 2;
    job.started_at = Some(ago(3661));
    job.allocation = Some(Allocation::new(vec![share("g-001"), share("g-002")]).unwrap());
    job.gpus = Gpus(4);
    job.ask.request.nodes = Some(Nodes(2));
    job.ask.request.tasks = Tasks(4);
    job.ask.request.gpus = Some(GpuRequest::PerNode(Gpus(2)));
    job.timeline = vec![TimelineEntry { at: ago(3661), text: "started on g-[001-002]".to_owned() }];
    job
}

fn waiting(key: &str) -> JobView {
    let mut job = sample(key, "sweep");
    let detail = WaitReason::Priority { ahead: 3, next: "41".parse::<JobKey>().unwrap() };
    job.reason =
        Some(ReasonView { code: detail.code().to_owned(), sentence: detail.to_string(), detail });
    job
}

fn failed() -> JobView {
    let mut job = sample("40", "test");
    job.phase = Phase::Done;
    job.outcome = Some(Outcome::Failed);
    (job.state, job.state_code) = ("FAILED".to_owned(), "F".to_owned());
    (job.attempt, job.started_at, job.ended_at) = (1, Some(ago(100)), Some(ago(95)));
    job.exit = Some(ExitStatus { code: 3, signal: None });
    job.usage = Some(Usage {
        cpu: Span::from_seconds(4),
        memory_peak: Bytes::from_mib(300),
        ..Usage::default()
    });
    job
}

fn samples() -> Vec<JobView> {
    let tasks = ["42_0", "42_1", "42_2", "42_7"].map(waiting);
    [vec![running()], tasks.to_vec(), vec![waiting("43"), failed()]].concat()
}

#[test]
fn jobs_added_one_by_one_make_the_same_table() {
    let jobs = ["7_1", "7_2", "8", "9_1", "9_3", "10_1"].map(waiting);
    let jobs = [&[running()], &jobs[..], &[failed()]].concat();
    let utc = &TimeZone::UTC;
    let whole = table(&jobs, NOW, utc).render(None, false);
    let mut rows = Rows::new(NOW, utc);
    jobs.into_iter().for_each(|job| rows.add(job));
    assert_eq!(rows.table().render(None, false), whole);
    let ids: Vec<&str> = whole.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(ids.contains(&"7_[1-2]") && ids.contains(&"9_[1,3]"), "{whole}");
    let none = Rows::new(NOW, utc).table().render(None, false);
    assert_eq!(none, table(&[], NOW, utc).render(None, false));
}

#[test]
fn the_table_is_not_shortened_without_a_terminal() {
    let expected = "\
ID          NAME                  USER  QUEUE  STATE        TIME     LIMIT  NODES  GPUS  WHERE/WHY
41          llama-pretrain-large  ada   gpu    RUNNING  01:01:01  02:00:00      2     4  g-[001-002]
42_[0-2,7]  sweep                 ada   gpu    PENDING         -  02:00:00      1     0  free resources are kept for job 41 and 2 more, which come before it
43          sweep                 ada   gpu    PENDING         -  02:00:00      1     0  free resources are kept for job 41 and 2 more, which come before it
40          test                  ada   gpu    FAILED      00:05  02:00:00      1     0  exit code 3
";
    assert_eq!(table(&samples(), NOW, &TimeZone::UTC).render(None, false), expected);
}

#[test]
fn the_table_fits_120_columns() {
    let expected = "\
ID          NAME                  USER  QUEUE  STATE        TIME     LIMIT  NODES  GPUS  WHERE/WHY
41          llama-pretrain-large  ada   gpu    RUNNING  01:01:01  02:00:00      2     4  g-[001-002]
42_[0-2,7]  sweep                 ada   gpu    PENDING         -  02:00:00      1     0  free resources are kept for jo…
43          sweep                 ada   gpu    PENDING         -  02:00:00      1     0  free resources are kept for jo…
40          test                  ada   gpu    FAILED      00:05  02:00:00      1     0  exit code 3
";
    assert_eq!(table(&samples(), NOW, &TimeZone::UTC).render(Some(120), false), expected);
}

#[test]
fn the_table_fits_80_columns() {
    let expected = "\
ID          NAME           USER  ST      TIME  NODES  GPUS  WHERE/WHY
41          llama-pretra…  ada   R   01:01:01      2     4  g-[001-002]
42_[0-2,7]  sweep          ada   PD         -      1     0  free resources are…
43          sweep          ada   PD         -      1     0  free resources are…
40          test           ada   F      00:05      1     0  exit code 3
";
    assert_eq!(table(&samples(), NOW, &TimeZone::UTC).render(Some(80), false), expected);
}

#[test]
fn no_width_breaks_the_table() {
    for width in 0..140 {
        let text = table(&samples(), NOW, &TimeZone::UTC).render(Some(width), false);
        assert_eq!(text.lines().count(), 5, "{width}");
        let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= width.max(77), "{width}: {widest}\n{text}");
    }
}

#[test]
fn an_empty_table_is_a_header() {
    let text = table(&[], NOW, &TimeZone::UTC).render(Some(80), false);
    assert_eq!(text.lines().count(), 1);
    assert!(text.starts_with("ID"), "{text}");
}

fn shown(job: &JobView) -> String {
    anstream::adapter::strip_str(&record(job, NOW, &TimeZone::UTC)).to_string()
}

#[test]
fn a_running_jobs_record_is_complete() {
    let expected = "\
job         41
name        llama-pretrain-large
state       RUNNING, attempt 2
owner       ada (uid 1000, gid 1000)
queue       gpu
submitted   2023-11-14 21:06:40 on login1
started     2023-11-14 21:12:19
time        01:01:01 of 02:00:00
request     2 nodes, 4 tasks, 1 CPU per task, 2 GPUs per node
runs        once, on the first node
directory   /home/ada
output      /home/ada/kant-41.out
allocation
  g-001: 2 tasks, CPUs 0-3, 8G memory, GPUs 0,1
  g-002: 2 tasks, CPUs 0-3, 8G memory, GPUs 0,1
timeline
  2023-11-14 21:12:19  started on g-[001-002]
";
    assert_eq!(shown(&running()), expected);
}

#[test]
fn a_record_shows_why_a_job_waits_and_how_it_ended() {
    let text = shown(&waiting("43"));
    assert!(
        text.contains(
            "\nreason      free resources are kept for job 41 and 2 more, which come before it\n"
        ),
        "{text}"
    );
    let text = shown(&failed());
    assert!(text.contains("\nexit        3:0 (code:signal)\n"), "{text}");
    assert!(text.contains("\nused        00:04 CPU time, at most 300M memory at once\n"), "{text}");
}

#[test]
fn an_ending_shows_the_most_specific_cause() {
    let mut job = failed();
    assert_eq!(ending(&job), "exit code 3");
    job.exit = Some(ExitStatus { code: 0, signal: Some(9) });
    assert_eq!(ending(&job), "signal 9");
    job.outcome = Some(Outcome::OutOfMemory);
    assert_eq!(ending(&job), "exceeded its memory");
    job.message = Some("used 2G of 1G".to_owned());
    assert_eq!(ending(&job), "used 2G of 1G");
}

#[test]
fn a_cancelled_job_that_ran_shows_its_nodes() {
    let mut job = running();
    (job.phase, job.outcome) = (Phase::Done, Some(Outcome::Cancelled));
    assert_eq!(where_or_why(&job), "g-[001-002]");
    assert_eq!(ending(&job), "", "that is no cause");
    job.allocation = None;
    assert_eq!(where_or_why(&job), "", "cancelled before it started");
}

#[test]
fn file_names_are_filled_in_as_far_as_they_are_known() {
    let mut job = running();
    for (asked, shown) in [
        ("logs/%x-%j.out", "/home/ada/logs/llama-pretrain-large-41.out"),
        ("/scratch/%u.out", "/scratch/ada.out"),
        ("%j-%N.out", "/home/ada/%j-%N.out"),
        ("%j-%t.out", "/home/ada/%j-%t.out"),
    ] {
        job.ask.stdout = Some(asked.to_owned());
        assert_eq!(job_record::output_path_text(&job, asked), shown);
    }
    let text = record(&job, NOW, &TimeZone::UTC);
    assert!(text.contains("/home/ada/%j-%t.out\n"), "{text}");
}

#[test]
fn a_share_of_a_gpu_is_shown_as_a_fraction() {
    let mut job = waiting("44");
    job.gpus = Gpus(1);
    job.ask.request.gpus = Some(GpuRequest::Parts(GpuParts::of_one(GpuMilli(500))));
    let shown =
        |job: &JobView| table(std::slice::from_ref(job), NOW, &TimeZone::UTC).render(None, false);
    assert!(shown(&job).contains("  0.5  "), "{}", shown(&job));
    let mut running = running();
    running.allocation = Some(
        Allocation::new(vec![Share {
            gpu_milli: Some(GpuMilli(250)),
            node: NodeName::new("g-001").unwrap(),
            tasks: Tasks(1),
            cpus: CpuSet::first_n(1),
            memory: Bytes::from_mib(1024),
            gpus: [GpuIndex(3)].into(),
        }])
        .unwrap(),
    );
    assert!(shown(&running).contains("  0.25  "), "{}", shown(&running));
    let text = record(&running, NOW, &TimeZone::UTC);
    assert!(text.contains("0.25 of GPU 3"), "{text}");
}

#[test]
fn a_record_shows_the_scheduling_options_of_a_job() {
    let mut job = waiting("44");
    let ask = &mut job.ask;
    ask.qos = QosName::new("high").ok();
    ask.reservation = ReservationName::new("exam").ok();
    ask.deadline = Some(NOW);
    (ask.preemptible, ask.service) = (Some(false), true);
    ask.request.near = Some(Nearness { level: Level::Leaf, required: true });
    let spread = Some(Spread::Leaf);
    ask.request.apart = Some(Apart { group: "7/chat".to_owned(), per_node_max: Some(2), spread });
    let text = record(&job, NOW, &TimeZone::UTC);
    let text = anstream::adapter::strip_str(&text).to_string();
    for line in [
        "qos         high\n",
        "reservation exam\n",
        "near        leaf:required\n",
        "spread      at most 2 jobs of group 7/chat per node, on different leaf groups if \
         possible\n",
        "as a service\n",
        "preemptible no\n",
        "deadline    ",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
}

#[test]
fn suspended_time_does_not_count_as_run_time() {
    let mut job = running();
    assert!(table(&[job.clone()], NOW, &TimeZone::UTC).render(None, false).contains(" 01:01:01 "));
    job.suspended = Span::from_minutes(1);
    assert!(table(&[job.clone()], NOW, &TimeZone::UTC).render(None, false).contains(" 01:00:01 "));
    (job.phase, job.suspended_at) = (Phase::Suspended, Some(ago(60)));
    let row = table(&[job.clone()], NOW, &TimeZone::UTC).render(None, false);
    assert!(row.contains(" 59:01 "), "{row}");
    let text = shown(&job);
    assert!(text.contains("\nsuspended   since ") && text.contains(", 01:00 before\n"), "{text}");
}
