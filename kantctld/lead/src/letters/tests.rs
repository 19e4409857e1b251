//! Which event means which letter, as a table, on a small cluster that is spoken to by commands.
//! Never sends one.

use super::*;
use crate::Rounds;
use crate::tests::{House, name, status};
use common::id::{ArrayIndex, Uid};
use common::job::{Ask, EndCause, ExitStatus, Mail, StepEnd, Usage};
use common::time::{Span, Time};
use common::wire::node::StepPhase;
use state::{Actor, Command, Target};

const ADA: Actor = Actor { uid: Uid(1000), operator: false };

/// A house with one node, and who writes letters about it.
struct Office {
    house: House,
    rounds: Rounds,
    letters: Letters,
    subjects: Vec<String>,
}

impl Office {
    fn new() -> Self {
        let (house, rounds) = (House::of(&["a"]), Rounds::default());
        Self { house, rounds, letters: Letters::default(), subjects: Vec::new() }
    }

    fn tell(&mut self, events: &[Event]) -> Vec<Letter> {
        let letters = self.letters.after(&self.house.state, events);
        self.subjects.extend(letters.iter().map(|letter| letter.subject.clone()));
        letters
    }

    fn apply(&mut self, command: Command) -> Vec<Letter> {
        let events = self.house.apply(command);
        self.tell(&events)
    }

    fn submit(&mut self, on: &str, ask: Ask) -> JobKey {
        let mail = Some(Mail { on: on.parse().unwrap(), to: None });
        let name = "train".to_owned();
        let key = self.house.submit(Ask { mail, name, ..ask }, "#!/bin/sh\n".to_owned());
        self.tell(&[Event::JobSubmitted { job: key.job, tasks: 1, repeated: false }]);
        key
    }

    fn round(&mut self) {
        self.rounds.catch_up(&self.house.state, None, self.house.now);
        if let Some(command) = self.rounds.round(self.house.now).command {
            self.apply(command);
        }
    }

    fn report(&mut self, keys: &[JobKey], phase: &StepPhase) -> Vec<Letter> {
        let steps = keys.iter().map(|key| status(self.house.attempt(*key), phase.clone()));
        let steps = steps.collect();
        self.apply(Command::ReportSteps { node: name("a"), steps })
    }

    /// Starts what waits, and lets these run.
    fn run(&mut self, keys: &[JobKey]) {
        self.round();
        self.report(keys, &StepPhase::Running { since: Time(1), suspended: false });
    }

    fn end(&mut self, keys: &[JobKey], cause: EndCause, code: u8) -> Vec<Letter> {
        let end = StepEnd {
            cause,
            exit: ExitStatus { code, signal: None },
            started_at: Some(Time(1)),
            ended_at: self.house.now,
            usage: Usage::default(),
            message: None,
            steps: Vec::new(),
        };
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
fn each_end_means_the_letter_that_slurm_writes_about_it() {
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
    for (on, cause, code, told) in ends {
        let mut office = Office::new();
        let key = office.submit(on, Ask::default());
        office.run(&[key]);
        office.house.wait(90);
        office.end(&[key], cause, code);
        let told: Vec<String> =
            told.iter().map(|told| format!("kant Job_id={key} Name=train {told}")).collect();
        assert_eq!(office.subjects(), told, "{on} {cause:?} {code}");
    }
}

#[test]
fn a_job_that_is_cancelled_ended_and_one_that_goes_back_was_requeued() {
    let mut office = Office::new();
    let (waits, runs) = (
        office.submit("ALL", Ask { hold: true, ..Ask::default() }),
        office.submit("ALL", Ask::default()),
    );
    office.apply(Command::CancelJob { actor: ADA, target: target(waits) });
    let told = format!("kant Job_id={waits} Name=train Ended, Run time 00:00:00, CANCELLED");
    assert_eq!(office.subjects(), [told]);
    office.run(&[runs]);
    let _ = office.subjects();
    office.apply(Command::RequeueJob { actor: ADA, target: target(runs) });
    office.end(&[runs], EndCause::Stopped, 0);
    assert_eq!(office.subjects(), [format!("kant Job_id={runs} Name=train Requeued")]);
    office.run(&[runs]);
    let again = format!("kant Job_id={runs} Name=train Began, Queued time 00:00:00");
    assert_eq!(office.subjects(), [again], "each attempt begins");
}

#[test]
fn an_array_is_told_of_as_one_and_with_array_tasks_task_by_task() {
    let array = || Ask { array: "1-3".parse().ok(), ..Ask::default() };
    let tasks = |key: JobKey| {
        [1, 2, 3].map(|index| JobKey { job: key.job, index: Some(ArrayIndex(index)) })
    };
    let mut office = Office::new();
    let key = office.submit("ALL", array());
    let [one, two, three] = tasks(key);
    // Two of them in one report, as a node sends it.
    office.run(&[one, two]);
    office.report(&[three], &StepPhase::Running { since: Time(1), suspended: false });
    let whole = format!("kant Array Summary Job_id={0}_* ({0}) Name=train", key.job);
    assert_eq!(office.subjects(), [format!("{whole} Began, Queued time 00:00:00")]);
    office.end(&[one], EndCause::Exited, 0);
    office.end(&[three], EndCause::Exited, 2);
    assert_eq!(office.subjects(), Vec::<String>::new(), "one still runs");
    let [letter] = office.end(&[two], EndCause::Exited, 0).try_into().unwrap();
    assert_eq!(letter.subject, format!("{whole} Failed, Mixed, ExitCode [0-2]"));
    assert!(letter.body.contains("Tasks:      2 COMPLETED, 1 FAILED\n"), "{}", letter.body);
    assert!(letter.variables.contains(&("SLURM_ARRAY_TASK_ID", "*".to_owned())));

    let mut office = Office::new();
    let key = office.submit("END,ARRAY_TASKS", array());
    let all = tasks(key);
    office.run(&all);
    office.end(&all[1..2], EndCause::Exited, 0);
    let number = key.job.0 + 2;
    let of_task = format!("kant Array Task Job_id={}_2 ({number}) Name=train", key.job);
    let told = format!("{of_task} Ended, Run time 00:00:00, COMPLETED, ExitCode 0");
    assert_eq!(office.subjects(), [told]);
}

#[test]
fn a_dependency_that_cannot_come_is_told_once() {
    let waits_for = |key: JobKey, kills: bool| Ask {
        dependency: format!("afterok:{}", key.job).parse().ok(),
        kill_on_invalid_dependency: kills,
        ..Ask::default()
    };
    for kills in [false, true] {
        let mut office = Office::new();
        let first = office.submit("NONE", Ask::default());
        let second = office.submit("INVALID_DEPEND", waits_for(first, kills));
        let silent = office.submit("BEGIN", waits_for(first, kills));
        office.run(&[first]);
        let letters = office.end(&[first], EndCause::Exited, 1);
        let told = format!("kant Job_id={second} Name=train Invalid dependency");
        assert_eq!(office.subjects(), [told], "{kills}, and nothing of {silent}");
        assert!(letters[0].body.contains("Submitted:"), "{}", letters[0].body);
        let moved = [Event::DependencyMoved { key: second }];
        assert_eq!(office.tell(&moved), [], "once");
    }
}

#[test]
fn parts_of_the_time_limit_are_told_as_they_pass_and_by_no_leader_that_just_began() {
    let mut office = Office::new();
    let limit = Some(Span::from_minutes(10));
    let on = "TIME_LIMIT_50,TIME_LIMIT_80,TIME_LIMIT_90";
    let key = office.submit(on, Ask { time_limit: limit, ..Ask::default() });
    let plain = office.submit("END", Ask { time_limit: limit, ..Ask::default() });
    office.run(&[key, plain]);
    let mut marks = Marks::default();
    let mut told = Vec::new();
    for minute in 0..=10 {
        let letters = marks.look(&office.house.state, office.house.now);
        told.extend(letters.into_iter().map(|letter| (minute, letter.subject)));
        if minute == 5 {
            let late = Marks::default().look(&office.house.state, office.house.now);
            assert_eq!(late, [], "the last leader's to tell");
        }
        office.house.wait(60);
    }
    let subject =
        |percent: u8| format!("kant Job_id={key} Name=train Reached {percent}% of time limit");
    assert_eq!(told, [(5, subject(50)), (8, subject(80)), (9, subject(90))]);
}

#[test]
fn a_letter_says_what_became_of_it_in_lines_that_no_mail_program_obeys() {
    let mut office = Office::new();
    let ask = Ask {
        work_dir: "/home/ada".to_owned(),
        stdout: Some("~!touch %j.out".to_owned()),
        ..Ask::default()
    };
    let key = office.submit("END", ask);
    office.run(&[key]);
    office.house.wait(61);
    let [letter] = office.end(&[key], EndCause::Exited, 3).try_into().unwrap();
    assert_eq!(letter.to, ["ada"], "its owner");
    for line in [
        &format!("Job:        {key} (train)\n"),
        "State:      FAILED\n",
        "Exit:       code 3\n",
        "Queue:      main\n",
        "Nodes:      a\n",
        "Run time:   00:01:01\n",
        &format!("Output:     /home/ada/~!touch {key}.out\n"),
        "Cluster:    test\n",
    ] {
        assert!(letter.body.contains(line), "{line:?} in {}", letter.body);
    }
    assert!(letter.body.lines().all(|line| !line.starts_with(['~', '.', '-'])));
    assert!(letter.variables.contains(&("SLURM_JOB_STATE", "FAILED".to_owned())));
}

#[test]
fn a_changed_mind_is_heeded() {
    let mut office = Office::new();
    let key = office.submit("END", Ask::default());
    office.run(&[key]);
    let patch = common::job::Patch {
        mail_on: "FAIL".parse().ok(),
        mail_to: Some(common::job::Replaced::With("ops@example.org,ada".to_owned())),
        ..common::job::Patch::default()
    };
    let (actor, target) = (ADA, target(key));
    office.apply(Command::UpdateJob { actor, target, patch: Box::new(patch), living: true });
    let [letter] = office.end(&[key], EndCause::Exited, 1).try_into().unwrap();
    assert_eq!(letter.to, ["ops@example.org", "ada"]);
}

#[test]
fn an_array_that_is_cancelled_at_once_is_told_of_once() {
    let mut office = Office::new();
    let array = || Ask { array: "1-200".parse().ok(), ..Ask::default() };
    let key = office.submit("ALL", array());
    office.subjects();
    let letters = office.apply(Command::CancelJob { actor: ADA, target: target(key) });
    assert_eq!(letters.len(), 1, "{:?}", office.subjects);
    let key = office.submit("ALL,ARRAY_TASKS", array());
    let letters = office.apply(Command::CancelJob { actor: ADA, target: target(key) });
    assert_eq!(letters.len(), 200, "each by itself");
}

#[test]
fn the_last_two_tasks_that_end_at_once_are_one_letter() {
    let mut office = Office::new();
    let key = office.submit("END", Ask { array: "1-2".parse().ok(), ..Ask::default() });
    let task = |index| JobKey { index: Some(ArrayIndex(index)), ..key };
    office.run(&[task(1), task(2)]);
    assert_eq!(office.end(&[task(1), task(2)], EndCause::Exited, 0).len(), 1);
}

#[test]
fn one_that_ended_before_anybody_heard_that_it_ran_began_as_well() {
    let mut office = Office::new();
    let key = office.submit("ALL", Ask::default());
    office.round();
    office.end(&[key], EndCause::Exited, 0);
    let subjects = office.subjects();
    assert_eq!(subjects.len(), 2, "{subjects:?}");
    assert!(subjects[0].contains("Began") && subjects[1].contains("Ended"), "{subjects:?}");
}
