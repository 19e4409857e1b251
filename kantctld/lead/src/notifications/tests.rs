//! Tests of the messages about events, on a small cluster driven by commands.

use super::*;
use crate::Rounds;
use common::id::ArrayIndex;
use common::job::{Ask, Attribute, EndCause, Mail, MailEvents, Patch, StepEnd};
use common::time::Span;
use common::wire::node::{StepPhase, StepStatus};
use state::{Command, Target};
use testkit::{TestCluster, USER, name, running, step_end};

/// A cluster with one node, and a notifier.
struct MailTest {
    cluster: TestCluster,
    rounds: Rounds,
    notifications: Notifier,
    subjects: Vec<String>,
}

impl MailTest {
    fn new() -> Self {
        let (cluster, rounds) = (TestCluster::of(&["a"]), Rounds::default());
        Self { cluster, rounds, notifications: Notifier::default(), subjects: Vec::new() }
    }

    fn notify(&mut self, events: &[Event]) -> Vec<Notification> {
        let notifications = self.notifications.messages_for_events(&self.cluster.state, events);
        self.subjects.extend(notifications.iter().map(|notification| notification.subject.clone()));
        notifications
    }

    fn apply(&mut self, command: Command) -> Vec<Notification> {
        let events = self.cluster.apply(command);
        self.notify(&events)
    }

    fn submit(&mut self, on: &str, ask: Ask) -> JobKey {
        let mail = Some(Mail { on: on.parse().unwrap(), to: None });
        let name = "train".to_owned();
        let key = self.cluster.job_of(Ask { mail, name, ..ask });
        self.notify(&[Event::JobSubmitted { job: key.job, tasks: 1, repeated: false }]);
        key
    }

    fn round(&mut self) {
        self.rounds.catch_up(&self.cluster.state, None, self.cluster.now);
        if let Some(command) = self.rounds.round(self.cluster.now).command {
            self.apply(command);
        }
    }

    fn report(&mut self, keys: &[JobKey], phase: &StepPhase) -> Vec<Notification> {
        let status =
            |key: &JobKey| StepStatus { id: self.cluster.attempt(*key), phase: phase.clone() };
        let steps = keys.iter().map(status).collect();
        self.apply(Command::ReportSteps { node: name("a"), steps })
    }

    /// Starts the waiting jobs, and lets these run.
    fn run(&mut self, keys: &[JobKey]) {
        self.round();
        self.report(keys, &running());
    }

    fn end(&mut self, keys: &[JobKey], cause: EndCause, code: u8) -> Vec<Notification> {
        let end = StepEnd { ended_at: self.cluster.now, ..step_end(cause, code) };
        self.report(keys, &StepPhase::Ended(Box::new(end)))
    }

    fn subjects(&mut self) -> Vec<String> {
        std::mem::take(&mut self.subjects)
    }
}

fn target(key: JobKey) -> Target {
    Target { key }
}

#[test]
fn each_end_causes_the_message_that_slurm_would_send() {
    let ends = [
        ("NONE", EndCause::Exited, 0, None),
        ("ARRAY_TASKS", EndCause::Exited, 1, None),
        ("BEGIN", EndCause::Exited, 0, Some("Began, Queued time 00:00:00")),
        ("END", EndCause::Exited, 0, Some("Ended, Run time 00:01:30, COMPLETED, ExitCode 0")),
        ("END", EndCause::Exited, 3, Some("Ended, Run time 00:01:30, FAILED, ExitCode 3")),
        ("FAIL", EndCause::Exited, 0, None),
        ("FAIL", EndCause::Exited, 3, Some("Failed, Run time 00:01:30, FAILED, ExitCode 3")),
        (
            "END,FAIL",
            EndCause::OutOfMemory,
            1,
            Some("Failed, Run time 00:01:30, OUT_OF_MEMORY, ExitCode 1"),
        ),
        ("TIME_LIMIT", EndCause::TimedOut, 1, Some("Reached time limit")),
        ("TIME_LIMIT", EndCause::Exited, 1, None),
        ("FAIL", EndCause::TimedOut, 0, Some("Failed, Run time 00:01:30, TIMEOUT, ExitCode 0")),
        ("REQUEUE", EndCause::Exited, 1, None),
    ];
    for (on, cause, code, expected) in ends {
        let mut mail_test = MailTest::new();
        let key = mail_test.submit(on, Ask::default());
        mail_test.run(&[key]);
        mail_test.cluster.wait(90);
        mail_test.end(&[key], cause, code);
        let expected: Vec<String> = expected
            .iter()
            .map(|expected| format!("kant Job_id={key} Name=train {expected}"))
            .collect();
        assert_eq!(mail_test.subjects(), expected, "{on} {cause:?} {code}");
    }
}

#[test]
fn a_cancelled_job_ended_and_a_requeued_one_was_requeued() {
    let mut mail_test = MailTest::new();
    let (waits, runs) = (
        mail_test.submit("ALL", Ask { hold: true, ..Ask::default() }),
        mail_test.submit("ALL", Ask::default()),
    );
    mail_test.apply(Command::CancelJob { actor: USER, target: target(waits) });
    let expected = format!("kant Job_id={waits} Name=train Ended, Run time 00:00:00, CANCELLED");
    assert_eq!(mail_test.subjects(), [expected]);
    mail_test.run(&[runs]);
    let _ = mail_test.subjects();
    mail_test.apply(Command::RequeueJob { actor: USER, target: target(runs) });
    mail_test.end(&[runs], EndCause::Stopped, 0);
    assert_eq!(mail_test.subjects(), [format!("kant Job_id={runs} Name=train Requeued")]);
    mail_test.run(&[runs]);
    let again = format!("kant Job_id={runs} Name=train Began, Queued time 00:00:00");
    assert_eq!(mail_test.subjects(), [again], "each attempt begins");
}

#[test]
fn an_array_is_reported_as_a_whole_and_with_array_tasks_task_by_task() {
    let array = || Ask { array: "1-3".parse().ok(), ..Ask::default() };
    let tasks = |key: JobKey| {
        [1, 2, 3].map(|index| JobKey { job: key.job, index: Some(ArrayIndex(index)) })
    };
    let mut mail_test = MailTest::new();
    let key = mail_test.submit("ALL", array());
    let [one, two, three] = tasks(key);
    // Two of them in one report, as a node sends it.
    mail_test.run(&[one, two]);
    mail_test.report(&[three], &running());
    let whole = format!("kant Array Summary Job_id={0}_* ({0}) Name=train", key.job);
    assert_eq!(mail_test.subjects(), [format!("{whole} Began, Queued time 00:00:00")]);
    mail_test.end(&[one], EndCause::Exited, 0);
    mail_test.end(&[three], EndCause::Exited, 2);
    assert_eq!(mail_test.subjects(), Vec::<String>::new(), "one still runs");
    let [notification] = mail_test.end(&[two], EndCause::Exited, 0).try_into().unwrap();
    assert_eq!(notification.subject, format!("{whole} Failed, Mixed, ExitCode [0-2]"));
    assert!(notification.variables.contains(&("SLURM_ARRAY_TASK_ID", "*".to_owned())));

    let mut mail_test = MailTest::new();
    let key = mail_test.submit("END,ARRAY_TASKS", array());
    let all = tasks(key);
    mail_test.run(&all);
    mail_test.end(&all[1..2], EndCause::Exited, 0);
    let number = key.job.0 + 2;
    let of_task = format!("kant Array Task Job_id={}_2 ({number}) Name=train", key.job);
    let expected = format!("{of_task} Ended, Run time 00:00:00, COMPLETED, ExitCode 0");
    assert_eq!(mail_test.subjects(), [expected]);
}

#[test]
fn an_impossible_dependency_is_reported_once() {
    let waits_for = |key: JobKey, kills: bool| Ask {
        dependency: format!("afterok:{}", key.job).parse().ok(),
        kill_on_invalid_dependency: kills,
        ..Ask::default()
    };
    for kills in [false, true] {
        let mut mail_test = MailTest::new();
        let first = mail_test.submit("NONE", Ask::default());
        let second = mail_test.submit("INVALID_DEPEND", waits_for(first, kills));
        let silent = mail_test.submit("BEGIN", waits_for(first, kills));
        mail_test.run(&[first]);
        mail_test.end(&[first], EndCause::Exited, 1);
        let expected = format!("kant Job_id={second} Name=train Invalid dependency");
        assert_eq!(mail_test.subjects(), [expected], "{kills}, and nothing of {silent}");
        let moved = [Event::DependencyMoved { key: second }];
        assert_eq!(mail_test.notify(&moved), [], "once");
    }
}

#[test]
fn parts_of_the_time_limit_are_reported_as_they_pass_but_not_by_a_new_leader() {
    let mut mail_test = MailTest::new();
    let limit = Some(Span::from_minutes(10));
    let on = "TIME_LIMIT_50,TIME_LIMIT_80,TIME_LIMIT_90";
    let key = mail_test.submit(on, Ask { time_limit: limit, ..Ask::default() });
    let plain = mail_test.submit("END", Ask { time_limit: limit, ..Ask::default() });
    mail_test.run(&[key, plain]);
    let mut marks = TimeLimitMarks::default();
    let mut reports = Vec::new();
    for minute in 0..=10 {
        let notifications = marks.check(&mail_test.cluster.state, mail_test.cluster.now);
        reports
            .extend(notifications.into_iter().map(|notification| (minute, notification.subject)));
        if minute == 5 {
            let late =
                TimeLimitMarks::default().check(&mail_test.cluster.state, mail_test.cluster.now);
            assert_eq!(late, [], "the previous leader's to report");
        }
        mail_test.cluster.wait(60);
    }
    let subject =
        |percent: u8| format!("kant Job_id={key} Name=train Reached {percent}% of time limit");
    assert_eq!(reports, [(5, subject(50)), (8, subject(80)), (9, subject(90))]);
}

#[test]
fn a_message_goes_to_the_owner_with_the_variables_of_slurms_mail_programs() {
    let mut mail_test = MailTest::new();
    let key = mail_test.submit("END", Ask { work_dir: "/home/ada".to_owned(), ..Ask::default() });
    mail_test.run(&[key]);
    mail_test.cluster.wait(61);
    let [notification] = mail_test.end(&[key], EndCause::Exited, 3).try_into().unwrap();
    assert_eq!(notification.to, ["ada"], "its owner");
    let id = key.to_string();
    for variable in [
        ("SLURM_CLUSTER_NAME", "test"),
        ("SLURM_JOB_ID", &id),
        ("SLURM_JOB_MAIL_TYPE", "Ended"),
        ("SLURM_JOB_NAME", "train"),
        ("SLURM_JOB_PARTITION", "main"),
        ("SLURM_JOB_QUEUED_TIME", "00:00:00"),
        ("SLURM_JOB_RUN_TIME", "00:01:01"),
        ("SLURM_JOB_STATE", "FAILED"),
        ("SLURM_JOB_USER", "ada"),
        ("SLURM_JOB_WORK_DIR", "/home/ada"),
    ] {
        let mut given = notification.variables.iter();
        let has = given.any(|(name, value)| (*name, value.as_str()) == variable);
        assert!(has, "{variable:?} in {:?}", notification.variables);
    }
}

#[test]
fn changed_mail_options_take_effect() {
    let mut mail_test = MailTest::new();
    let key = mail_test.submit("END", Ask::default());
    mail_test.run(&[key]);
    let patch = Patch::default()
        .with(Attribute::MailType, "FAIL".parse::<MailEvents>().unwrap())
        .with(Attribute::MailUser, "ops@example.org,ada".to_owned());
    let (actor, target) = (USER, target(key));
    mail_test.apply(Command::UpdateJob { actor, target, patch: Box::new(patch) });
    let [notification] = mail_test.end(&[key], EndCause::Exited, 1).try_into().unwrap();
    assert_eq!(notification.to, ["ops@example.org", "ada"]);
}

#[test]
fn an_array_that_is_cancelled_at_once_is_reported_once() {
    let mut mail_test = MailTest::new();
    let array = || Ask { array: "1-200".parse().ok(), ..Ask::default() };
    let key = mail_test.submit("ALL", array());
    mail_test.subjects();
    let notifications = mail_test.apply(Command::CancelJob { actor: USER, target: target(key) });
    assert_eq!(notifications.len(), 1, "{:?}", mail_test.subjects);
    let key = mail_test.submit("ALL,ARRAY_TASKS", array());
    let notifications = mail_test.apply(Command::CancelJob { actor: USER, target: target(key) });
    assert_eq!(notifications.len(), 200, "one for each task");
}

#[test]
fn the_last_two_tasks_that_end_at_once_cause_one_message() {
    let mut mail_test = MailTest::new();
    let key = mail_test.submit("END", Ask { array: "1-2".parse().ok(), ..Ask::default() });
    let task = |index| JobKey { index: Some(ArrayIndex(index)), ..key };
    mail_test.run(&[task(1), task(2)]);
    assert_eq!(mail_test.end(&[task(1), task(2)], EndCause::Exited, 0).len(), 1);
}

#[test]
fn a_job_that_ended_before_it_was_reported_running_also_began() {
    let mut mail_test = MailTest::new();
    let key = mail_test.submit("ALL", Ask::default());
    mail_test.round();
    mail_test.end(&[key], EndCause::Exited, 0);
    let subjects = mail_test.subjects();
    assert_eq!(subjects.len(), 2, "{subjects:?}");
    assert!(subjects[0].contains("Began") && subjects[1].contains("Ended"), "{subjects:?}");
}
