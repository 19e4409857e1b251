//! Submissions: what is accepted, filled in, repeated, refused and forgotten.

use crate::house::{House, OPERATOR, USER, queue, settings};
use common::id::{JobId, JobKey, QueueName, RequestKey, Uid};
use common::job::Ask;
use common::reason::Refusal;
use common::resource::Apart;
use common::time::Span;
use state::{Command, Event, ManyJobs, OneOfMany, Settings, Target};

#[test]
fn a_submission_gets_the_next_id_the_default_queue_and_no_limit() {
    let mut house = House::new();
    assert_eq!(house.submit(Ask::default()), JobId(1));
    assert_eq!(house.submit(Ask::default()), JobId(2));
    let ask = &house.state.job(JobId(2)).unwrap().spec.ask;
    assert_eq!(ask.queue, Some(QueueName::new("main").unwrap()));
    assert_eq!(ask.time_limit, None);
}

#[test]
fn a_queue_gives_its_time_limit_and_refuses_a_longer_one() {
    let mut house = House::new();
    let queue = Some(QueueName::new("short").unwrap());
    let job = house.submit(Ask { queue: queue.clone(), ..Ask::default() });
    let limit = house.state.job(job).unwrap().spec.ask.time_limit;
    assert_eq!(limit, Some(Span::from_minutes(10)));
    let long = Some(Span::from_minutes(61));
    let command = house.submission(Ask { queue, time_limit: long, ..Ask::default() });
    let refusal = house.refused(command).to_string();
    assert!(refusal.contains("at most 01:00:00 (requested: 01:01:00)"), "{refusal}");
}

#[test]
fn a_repeated_request_gives_the_same_job_but_only_to_the_same_user() {
    let mut house = House::new();
    let command = house.submission(Ask { name: "first".to_owned(), ..Ask::default() });
    house.apply(command.clone());
    assert_eq!(
        house.apply(command.clone()),
        [Event::JobSubmitted { job: JobId(1), tasks: 1, repeated: true }]
    );
    let mut stranger = command;
    let Command::SubmitJob { owner, .. } = &mut stranger else { unreachable!() };
    owner.uid = Uid(2000);
    assert_eq!(
        house.apply(stranger),
        [Event::JobSubmitted { job: JobId(2), tasks: 1, repeated: false }]
    );
}

#[test]
fn a_group_is_its_owners_own_whatever_they_call_it() {
    let mut house = House::new();
    for (said, kept) in [
        ("chat", "1000/chat"),
        ("1000/chat", "1000/chat"),
        ("0/chat", "1000/0/chat"),
        ("10001/chat", "1000/10001/chat"),
    ] {
        let mut ask = Ask::default();
        let apart =
            |group: &str| Apart { group: group.to_owned(), per_node_max: Some(2), spread: None };
        ask.request.apart = Some(apart(said));
        let job = house.submit(ask);
        let found = house.state.job(job).unwrap().spec.ask.request.apart.clone();
        assert_eq!(found, Some(apart(kept)));
    }
    let mut ask = Ask::default();
    ask.request.apart = Some(Apart { group: "g".repeat(320), per_node_max: Some(2), spread: None });
    let command = house.submission(ask);
    let refusal = house.refused(command).to_string();
    assert!(refusal.contains("--max-per-node"), "{refusal}");
}

#[test]
fn an_array_is_one_record_with_an_element_for_each_index() {
    let mut house = House::new();
    let array = Some("0-9:3,20".parse().unwrap());
    let job = house.submit(Ask { array, ..Ask::default() });
    let record = house.state.job(job).unwrap();
    let indices: Vec<u32> = record.elements.keys().map(|i| i.unwrap().0).collect();
    assert_eq!(indices, [0, 3, 6, 9, 20]);
    assert_eq!(house.state.jobs().count(), 1);
}

type Change = fn(&mut Command);

/// Refused submissions, each with a part of the message.
const REFUSED: [(&str, Change); 8] = [
    ("root may not submit jobs", |c| on(c, |s| s.0.uid = Uid(0))),
    ("negative --nice", |c| on(c, |s| s.1.nice = -1)),
    ("--ntasks is 0", |c| on(c, |s| s.1.request.tasks.0 = 0)),
    ("there is no queue `nope`; there are main, short", |c| {
        on(c, |s| s.1.queue = QueueName::new("nope").ok());
    }),
    ("does not begin with #!", |c| on(c, |s| *s.2 = "true".to_owned())),
    ("the environment has", |c| on(c, |s| *s.3 = "x".repeat(2 << 20))),
    ("the request key must be", |c| on(c, |s| s.4.0.clear())),
    ("the request key must be", |c| on(c, |s| s.4.0 = "x".repeat(65))),
];

type Parts<'a> =
    (&'a mut common::job::Owner, &'a mut Ask, &'a mut String, &'a mut String, &'a mut RequestKey);

fn on(command: &mut Command, change: fn(&mut Parts<'_>)) {
    let Command::SubmitJob { request_key, owner, ask, script, environment, .. } = command else {
        unreachable!()
    };
    change(&mut (owner, ask, script, environment, request_key));
}

#[test]
fn what_is_wrong_is_refused_with_what_to_do_and_leaves_no_trace() {
    let mut house = House::new();
    for (word, change) in REFUSED {
        let mut command = house.submission(Ask::default());
        change(&mut command);
        let refusal = house.refused(command).text_with_hint();
        assert!(refusal.contains(word), "{word}: {refusal}");
    }
    assert_eq!(house.submit(Ask::default()), JobId(1), "a refused job used up an id");
}

#[test]
fn a_submission_before_the_first_configuration_is_refused() {
    let mut house = House::new();
    let command = house.submission(Ask::default());
    house.state = state::State::default();
    let events = state::apply(&mut house.state, &state::Stamped { at: house.now, command });
    let refusal = state::event::changed_jobs(&events).unwrap_err().to_string();
    assert!(refusal.contains("no queues yet"), "{refusal}");
}

#[test]
fn root_may_submit_where_the_operator_allows_it() {
    let mut house = House::new();
    house.apply(Command::Configure(Settings { allow_root_jobs: true, ..settings() }));
    let mut command = house.submission(Ask::default());
    on(&mut command, |s| s.0.uid = Uid(0));
    assert!(matches!(house.apply(command).as_slice(), [Event::JobSubmitted { .. }]));
}

#[test]
fn a_queue_that_is_left_out_stays_for_its_jobs_alone_and_all_else_holds_at_once() {
    let mut house = House::new();
    house.apply(Command::Configure(Settings { allow_root_jobs: true, ..settings() }));
    let short = Ask { queue: QueueName::new("short").ok(), ..Ask::default() };
    let key = JobKey::single(house.submit(short.clone()));
    let without = Settings { queues: vec![queue("main", true)], ..settings() };
    assert_eq!(house.apply(Command::Configure(without.clone())), [Event::Configured]);
    assert!(!house.state.settings().unwrap().allow_root_jobs, "what is stricter holds");
    assert_eq!(house.apply(Command::Configure(without)), [], "nothing changed");
    let seen = state::snapshot::snapshot(&house.state);
    assert_eq!(
        (seen.policy().queues.len(), seen.waiting_count()),
        (2, 1),
        "a round can still start it"
    );
    let command = house.submission(short.clone());
    let refusal = house.refused(command).text_with_hint();
    assert!(refusal.contains("there is no queue `short`; there are main"), "{refusal}");

    assert_eq!(house.apply(Command::ForgetDone), [], "a job lives in it");
    let cancel = house.cancel(key);
    house.apply(cancel);
    let requeue = house.requeue(key);
    assert_eq!(house.refused(requeue.clone()).code(), "unknown_queue");
    assert_eq!(house.apply(Command::ForgetDone), [Event::Configured]);
    assert_eq!(house.state.queues().len(), 1);
    assert_eq!(house.refused(requeue).code(), "unknown_queue");
}

#[test]
fn a_queue_that_is_configured_again_takes_jobs_again() {
    let mut house = House::new();
    let short = Ask { queue: QueueName::new("short").ok(), ..Ask::default() };
    house.submit(short.clone());
    let without = Settings { queues: vec![queue("main", true)], ..settings() };
    house.apply(Command::Configure(without));
    house.apply(Command::Configure(settings()));
    house.submit(short);
    assert_eq!(house.state.settings(), Some(&settings()));
}

#[test]
fn settings_need_exactly_one_default_queue_and_names_of_their_own() {
    let mut house = House::new();
    for queues in [
        vec![],
        vec![queue("a", false)],
        vec![queue("a", true), queue("b", true)],
        vec![queue("a", true), queue("a", false)],
    ] {
        house.refused(Command::Configure(Settings { queues, ..settings() }));
    }
    assert_eq!(house.apply(Command::Configure(settings())), [], "nothing changed");
}

#[test]
fn what_is_over_is_forgotten_after_a_while_with_its_texts_and_its_request() {
    let mut house = House::new();
    let array = Some("0-1".parse().unwrap());
    let job = house.submit(Ask { array, ..Ask::default() });
    let waiting = house.job();
    let cancel = house.cancel(JobKey::single(job));
    house.apply(cancel);
    house.wait(3599);
    assert_eq!(house.apply(Command::ForgetDone), []);
    house.wait(1);
    assert_eq!(house.apply(Command::ForgetDone), [Event::JobForgotten { job }]);
    assert_eq!(house.state.requests().count(), 0);
    assert_eq!(house.state.blobs().uses().count(), 2, "the waiting job's texts stay");

    let cancel = house.cancel(waiting);
    house.apply(cancel);
    house.wait(3600);
    house.apply(Command::ForgetDone);
    assert_eq!(house.state.blobs().uses().count(), 0);
    assert_eq!(house.submit(Ask::default()), JobId(5), "ids are not given twice");
}

#[test]
fn an_array_is_not_forgotten_while_one_task_lives() {
    let mut house = House::new();
    let array = Some("0-1".parse().unwrap());
    let job = house.submit(Ask { array, ..Ask::default() });
    let first = JobKey { job, index: Some(common::id::ArrayIndex(0)) };
    let cancel = house.cancel(first);
    house.apply(cancel);
    house.wait(100_000);
    assert_eq!(house.apply(Command::ForgetDone), []);
}

#[test]
fn hold_and_release_are_the_owners_and_operators() {
    let mut house = House::new();
    let key = house.job();
    let target = Target { key };
    let stranger = crate::house::OTHER;
    let refusal = house.refused(Command::HoldJob { actor: stranger, target }).to_string();
    assert!(refusal.contains("belongs to user ada"), "{refusal}");
    assert_eq!(
        house.apply(Command::HoldJob { actor: USER, target }),
        [Event::JobHeld { key, by: USER.uid }]
    );
    assert_eq!(house.apply(Command::HoldJob { actor: USER, target }), [], "held already");
    assert_eq!(
        house.apply(Command::ReleaseJob { actor: OPERATOR, target }),
        [Event::JobReleased { key, by: OPERATOR.uid }]
    );
    let gone = JobKey::single(JobId(99));
    let target = Target { key: gone };
    let refusal = house.refused(Command::HoldJob { actor: USER, target }).to_string();
    assert!(refusal.contains("there is no job 99"), "{refusal}");
}

#[test]
fn an_operators_hold_is_an_operators_to_end() {
    let mut house = House::new();
    let key = house.job();
    let target = Target { key };
    let refusal = house.refused(Command::ReleaseJob { actor: USER, target });
    assert_eq!(refusal, Refusal::NotHeld { key });
    house.apply(Command::HoldJob { actor: USER, target });
    let by_operator = house.apply(Command::HoldJob { actor: OPERATOR, target });
    assert_eq!(by_operator, [Event::JobHeld { key, by: OPERATOR.uid }], "over the user's own");
    house.apply(Command::HoldJob { actor: USER, target });
    let refusal = house.refused(Command::ReleaseJob { actor: USER, target });
    assert_eq!(refusal, Refusal::HeldByOperator { key });
    let view = query::view::job_view(
        &house.state,
        &query::viewer::Viewer::ALL,
        key,
        &query::view::Waits::new(),
    )
    .unwrap();
    assert_eq!(view.reason.unwrap().code, "JobHeldAdmin");
    house.apply(Command::ReleaseJob { actor: OPERATOR, target });
    house.apply(Command::HoldJob { actor: USER, target });
    house.apply(Command::ReleaseJob { actor: USER, target });
    assert!(!house.element(key).held);
}

#[test]
fn one_user_cannot_fill_the_cluster() {
    let mut house = House::new();
    let all = Ask { array: "0-99999".parse().ok(), ..Ask::default() };
    // Judged once at the end, since judging each job would take long.
    let command = house.submission(all);
    let at = house.now;
    state::apply(&mut house.state, &state::Stamped { at, command });
    let before = house.state.clone();
    let command = house.submission(Ask::default());
    let events = state::apply(&mut house.state, &state::Stamped { at, command });
    let refusal = state::event::changed_jobs(&events).unwrap_err();
    assert_eq!(refusal.code(), "too_many_jobs");
    assert!(refusal.to_string().contains("1 more would exceed the limit of 100000"), "{refusal}");
    assert_eq!(before, house.state);

    let mut command = house.submission(Ask::default());
    on(&mut command, |s| s.0.uid = Uid(2000));
    let events = state::apply(&mut house.state, &state::Stamped { at, command });
    assert!(matches!(events.as_slice(), [Event::JobSubmitted { .. }]), "{events:?}");
    let cancel = house.cancel(JobKey::single(JobId(1)));
    state::apply(&mut house.state, &state::Stamped { at, command: cancel });
    let command = house.submission(Ask::default());
    let events = state::apply(&mut house.state, &state::Stamped { at, command });
    assert!(matches!(events.as_slice(), [Event::JobSubmitted { .. }]), "{events:?}");
    assert_eq!(state::invariant::check(&house.state), Vec::<String>::new());
}

/// Many submissions as one command. They must be of one user, as all of [`House::submission`] are.
fn together(commands: &[Command]) -> Command {
    let mut all = (Vec::new(), Vec::new(), Vec::new());
    let mut whose = None;
    for (place, command) in (0..).zip(commands) {
        let Command::SubmitJob { request_key, owner, ask, script, environment, .. } = command
        else {
            unreachable!()
        };
        whose = Some(owner.clone());
        all.0.push(script.clone());
        all.1.push(environment.clone());
        let (request_key, ask) = (request_key.clone(), ask.as_ref().clone());
        all.2.push(OneOfMany { request_key, ask, script: place, environment: place });
    }
    let ((scripts, environments, jobs), owner) = (all, whose.unwrap());
    let groups = vec![];
    Command::SubmitJobs(ManyJobs {
        owner,
        groups,
        operator: false,
        via: None,
        scripts,
        environments,
        jobs,
    })
}

#[test]
fn many_submissions_in_one_command_come_to_what_they_would_one_by_one() {
    let mut house = House::new();
    let named = |name: &str| Ask { name: name.to_owned(), ..Ask::default() };
    let first = house.submission(named("first"));
    let mut alone = house.submission(named("a script of its own"));
    on(&mut alone, |s| *s.2 = "#!/bin/bash\nexit 3\n".to_owned());
    let mut impossible = house.submission(named("impossible"));
    on(&mut impossible, |s| *s.2 = "true".to_owned());
    let nowhere = Some(QueueName::new("nowhere").unwrap());
    let refused = house.submission(Ask { queue: nowhere, ..Ask::default() });
    let commands = [first.clone(), impossible, alone, first, refused];

    let mut one_by_one = house.state.clone();
    for command in &commands {
        let stamped = state::Stamped { at: house.now, command: command.clone() };
        state::apply(&mut one_by_one, &stamped);
    }
    let events = house.apply(together(&commands));
    let submitted = |job, repeated| Event::JobSubmitted { job: JobId(job), tasks: 1, repeated };
    let [a, Event::SubmitRefused { place: 1, .. }, b, c, Event::SubmitRefused { place: 4, .. }] =
        events.as_slice()
    else {
        panic!("{events:?}")
    };
    assert_eq!([a, b, c], [&submitted(1, false), &submitted(2, false), &submitted(1, true)]);
    assert_eq!(house.state, one_by_one);
}

#[test]
fn a_job_that_names_a_text_which_no_request_brought_is_refused() {
    let mut house = House::new();
    let mut command = together(&[house.submission(Ask::default())]);
    let Command::SubmitJobs(many) = &mut command else { unreachable!() };
    many.jobs[0].environment = 1;
    let events = house.apply(command);
    let [Event::SubmitRefused { place: 0, refusal }] = events.as_slice() else {
        panic!("{events:?}")
    };
    assert!(refusal.to_string().contains("does not contain"), "{refusal}");
}
