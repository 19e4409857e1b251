//! Limits on what the controller keeps for one user: the bytes of texts, and the number of finished
//! tasks.

use crate::house::{House, settings};
use common::id::{ArrayIndex, JobId, JobKey};
use common::job::Ask;
use common::reason::{NoRoom, Refusal};
use common::time::Time;
use common::unit::Bytes;
use state::{Command, Event, UserBounds};

/// Room for ten texts of a thousand bytes, of unfinished jobs.
const ROOM: u64 = 10_500;

/// A house with these limits.
fn house(bounds: UserBounds) -> House {
    let mut house = House::new();
    let mut settings = settings();
    settings.user_bounds = bounds;
    house.apply(Command::Configure(settings));
    house
}

fn bounded() -> House {
    house(UserBounds { text: Bytes(ROOM), done_tasks: 100 })
}

/// A submission with a script of a thousand bytes that begins with this text, and no environment.
fn with_script(house: &mut House, ask: Ask, text: &str) -> Command {
    match house.submission(ask) {
        Command::SubmitJob { request_key, owner, groups, operator, ask, .. } => {
            let (script, environment) = (format!("#!/bin/sh\n# {text:<987}\n"), String::new());
            Command::SubmitJob {
                request_key,
                owner,
                groups,
                operator,
                via: None,
                ask,
                script,
                environment,
            }
        }
        other => panic!("{other:?}"),
    }
}

/// Submits a job with this script.
fn accept(house: &mut House, text: &str) -> JobId {
    let command = with_script(house, Ask::default(), text);
    match house.apply(command).as_slice() {
        [Event::JobSubmitted { job, .. }] => *job,
        other => panic!("{other:?}"),
    }
}

fn cancel(house: &mut House, job: JobId) {
    let cancel = house.cancel(JobKey::single(job));
    house.apply(cancel);
}

fn text_bytes(house: &House) -> usize {
    let blobs = house.state.blobs();
    blobs.uses().map(|(hash, _)| blobs.get(hash).unwrap().len()).sum()
}

#[test]
fn a_user_whose_texts_take_too_much_is_refused_until_some_are_done_and_others_are_not() {
    let mut house = bounded();
    let jobs: Vec<JobId> = (0..10).map(|job| accept(&mut house, &job.to_string())).collect();
    let more = with_script(&mut house, Ask::default(), "one more");
    let refusal = house.refused(more.clone());
    let (held, limit) = (Bytes(10_000), Bytes(ROOM));
    let room = NoRoom::TooMuchText { held, more: Bytes(1000), limit };
    assert_eq!(refusal, Refusal::NoRoom(room));
    assert!(refusal.text_with_hint().contains("cancel some"), "{refusal}");
    // The same text takes no more room, but arguments count for each job.
    accept(&mut house, "3");
    let args = vec!["x".repeat(300), "y".repeat(300)];
    let with_args = with_script(&mut house, Ask { args, ..Ask::default() }, "3");
    assert!(matches!(house.refused(with_args), Refusal::NoRoom(NoRoom::TooMuchText { .. })));
    let mut of_other = more.clone();
    if let Command::SubmitJob { owner, .. } = &mut of_other {
        (owner.uid.0, owner.name) = (owner.uid.0 + 1, "bob".to_owned());
    }
    assert!(matches!(house.apply(of_other).as_slice(), [Event::JobSubmitted { .. }]));
    cancel(&mut house, jobs[0]);
    assert!(matches!(house.apply(more).as_slice(), [Event::JobSubmitted { .. }]));
}

#[test]
fn texts_go_with_the_last_living_job_but_for_the_latest() {
    // Finished jobs may use a sixteenth, which is two scripts.
    let mut house = house(UserBounds { text: Bytes(32_000), done_tasks: 100 });
    let jobs: Vec<JobId> = (0..30).map(|job| accept(&mut house, &job.to_string())).collect();
    let shares = accept(&mut house, "0");
    assert_eq!(text_bytes(&house), 30_000);
    for job in &jobs {
        house.wait(1);
        cancel(&mut house, *job);
    }
    house.apply(Command::ForgetDone);
    assert_eq!(text_bytes(&house), 3000, "two, and the one that another job has");
    let script = |house: &House, job| query::view::script(&house.state, job).map(str::len);
    assert_eq!(script(&house, shares), Some(1000));
    assert_eq!(script(&house, jobs[29]), Some(1000));

    let requeue = house.requeue(JobKey::single(jobs[29]));
    house.apply(requeue);
    let requeue = house.requeue(JobKey::single(jobs[1]));
    assert_eq!(house.refused(requeue), Refusal::TextsGone { job: jobs[1] });
    for job in [jobs[29], shares] {
        cancel(&mut house, job);
    }
    house.apply(Command::ForgetDone);
    assert_eq!(text_bytes(&house), 2000);
    house.wait(3600);
    house.apply(Command::ForgetDone);
    assert_eq!(text_bytes(&house), 0);
}

#[test]
fn a_job_that_is_over_lives_again_only_where_its_texts_have_room() {
    let mut house = house(UserBounds { text: Bytes(16_500), done_tasks: 100 });
    let over = accept(&mut house, "over");
    cancel(&mut house, over);
    for job in 0..16 {
        accept(&mut house, &job.to_string());
    }
    let requeue = house.requeue(JobKey::single(over));
    assert!(matches!(house.refused(requeue), Refusal::NoRoom(NoRoom::TooMuchText { .. })));
}

#[test]
fn finished_tasks_of_a_user_are_kept_up_to_their_number_the_latest_and_requests_stay_known() {
    let mut house = bounded();
    let mut done = Vec::new();
    for _ in 0..10 {
        let ask = Ask { array: "0-29".parse().ok(), ..Ask::default() };
        let submission = house.submission(ask);
        let submitted = house.apply(submission.clone());
        let job = submitted.iter().find_map(|event| match event {
            Event::JobSubmitted { job, repeated: false, .. } => Some(*job),
            _ => None,
        });
        house.wait(1);
        cancel(&mut house, job.unwrap());
        done.push((job.unwrap(), submission));
        let kept: usize = house.state.jobs().map(|record| record.elements.len()).sum();
        assert!(kept <= 100 + 30, "{kept} tasks are kept");
    }
    let kept = |house: &House| house.state.jobs().map(|record| record.id).collect::<Vec<_>>();
    house.apply(Command::ForgetDone);
    let latest: Vec<JobId> = done[7..].iter().map(|(job, _)| *job).collect();
    assert_eq!(kept(&house), latest);
    // Accounting that misses an earlier end must ask another controller.
    let ended = |job| house.element(JobKey { job, index: Some(ArrayIndex(0)) }).done_at.unwrap();
    assert_eq!(house.state.remembered_since(), Time(ended(latest[0]).0 - 1000 + 1));

    // A repeated submission creates no second job, even if the first one is forgotten.
    let (first, again) = done[0].clone();
    let [Event::JobSubmitted { job, repeated: true, .. }] = house.apply(again)[..] else {
        panic!("a second job")
    };
    assert_eq!(job, first);
    house.wait(600);
    house.apply(Command::ForgetDone);
    assert_eq!((kept(&house), house.state.requests().count()), (latest, 3));
}

#[test]
fn the_last_array_that_ended_is_kept_however_large() {
    let mut house = bounded();
    let job = house.submit(Ask { array: "0-199".parse().ok(), ..Ask::default() });
    cancel(&mut house, job);
    house.apply(Command::ForgetDone);
    assert!(house.state.job(job).is_some());
    let next = house.job();
    house.wait(1);
    cancel(&mut house, next.job);
    assert_eq!(house.apply(Command::ForgetDone), [Event::JobForgotten { job }]);
}
