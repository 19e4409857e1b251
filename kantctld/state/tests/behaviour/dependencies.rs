//! Jobs that wait for other jobs: each rule of `--dependency`, requeues, forgotten jobs, and
//! chains.

use crate::house::{House, OPERATOR, OTHER, USER, exited, running, share};
use common::id::{ArrayIndex, JobId, JobKey};
use common::job::{Ask, Attribute, Dependency, Outcome, Patch, Phase};
use common::reason::{Refusal, WaitReason};
use state::snapshot::SnapshotKeeper;
use state::{Command, Event, Target, Verdict, verdict};

fn waits_for(text: &str) -> Ask {
    Ask { dependency: Some(text.parse().unwrap()), ..Ask::default() }
}

fn killed_without(text: &str) -> Ask {
    Ask { kill_on_invalid_dependency: true, ..waits_for(text) }
}

fn task(job: JobId, index: u32) -> JobKey {
    JobKey { job, index: Some(ArrayIndex(index)) }
}

fn of(house: &House, key: JobKey) -> Verdict {
    let (record, _) = house.state.element(key).unwrap();
    verdict(&house.state, record, key.index)
}

fn is_free(house: &House, key: JobKey) -> bool {
    matches!(of(house, key), Verdict::Free(at) if at.is_none_or(|at| at <= house.now))
}

/// Runs a job or task on g1 until it exits with this code.
fn run(house: &mut House, key: JobKey, code: u8) {
    let id = house.attempt_of(key);
    let events = house.enact(id, vec![share("g1", 0, 2, &[])]);
    assert!(matches!(events.first(), Some(Event::JobStarted { .. })), "{events:?}");
    house.report("g1", id, running());
    house.report("g1", id, exited(code));
    assert_eq!(house.phase(key), Phase::Done);
}

#[test]
fn each_rule_frees_a_job_when_what_it_names_has_come() {
    for (rule, code, after_start, after_end) in [
        ("after", 0, Some(true), Some(true)),
        ("afterany", 1, Some(false), Some(true)),
        ("afterok", 0, Some(false), Some(true)),
        ("afterok", 1, Some(false), None),
        ("afternotok", 1, Some(false), Some(true)),
        ("afternotok", 0, Some(false), None),
        ("aftercorr", 0, Some(false), Some(true)),
    ] {
        let mut house = House::new();
        let first = house.job();
        let second = JobKey::single(house.submit(waits_for(&format!("{rule}:{first}"))));
        assert_eq!(of(&house, second), Verdict::Waits, "{rule}");
        let id = house.attempt_of(first);
        house.enact(id, vec![share("g1", 0, 2, &[])]);
        assert_eq!(Some(is_free(&house, second)), after_start, "{rule} once it has started");
        house.report("g1", id, running());
        house.report("g1", id, exited(code));
        let free = match of(&house, second) {
            Verdict::Never => None,
            _ => Some(is_free(&house, second)),
        };
        assert_eq!(free, after_end, "{rule} after exit {code}");
    }
}

#[test]
fn a_start_before_its_time_is_refused_and_the_engine_is_notified_of_the_wait() {
    let mut house = House::new();
    let first = house.job();
    let second = JobKey::single(house.submit(waits_for(&format!("afterany:{first}"))));
    let id = house.attempt_of(second);
    let events = house.enact(id, vec![share("g1", 0, 2, &[])]);
    assert!(matches!(events.as_slice(), [Event::RoundEntryRefused { .. }]), "{events:?}");
    let keeper = SnapshotKeeper::new(&house.state);
    let waiting = |keeper: &SnapshotKeeper, key| keeper.snapshot().waiting_job(key).unwrap().awaits;
    assert!(waiting(&keeper, second) && !waiting(&keeper, first));
    run(&mut house, first, 0);
    assert!(!waiting(&SnapshotKeeper::new(&house.state), second));
    run(&mut house, second, 0);
}

#[test]
fn a_delay_counts_from_the_start() {
    let mut house = House::new();
    let first = house.job();
    let second = JobKey::single(house.submit(waits_for(&format!("after:{first}+5"))));
    let id = house.attempt_of(first);
    house.enact(id, vec![share("g1", 0, 2, &[])]);
    let at = house.now + common::time::Span::from_minutes(5);
    assert_eq!(of(&house, second), Verdict::Free(Some(at)));
    let start = house.attempt_of(second);
    let events = house.enact(start, vec![share("g2", 0, 2, &[])]);
    assert!(matches!(events.as_slice(), [Event::RoundEntryRefused { .. }]), "{events:?}");
    assert_eq!(
        SnapshotKeeper::new(&house.state).snapshot().waiting_job(second).unwrap().begin_at,
        Some(at)
    );
    house.wait(300);
    run_on_g2(&mut house, second);
}

fn run_on_g2(house: &mut House, key: JobKey) {
    let id = house.attempt_of(key);
    let events = house.enact(id, vec![share("g2", 0, 2, &[])]);
    assert!(matches!(events.first(), Some(Event::JobStarted { .. })), "{events:?}");
}

#[test]
fn all_count_or_one_is_enough() {
    let mut house = House::new();
    let (a, b) = (house.job(), house.job());
    let all = JobKey::single(house.submit(waits_for(&format!("afterok:{a}:{b}"))));
    let any = JobKey::single(house.submit(waits_for(&format!("afterok:{a}?afterok:{b}"))));
    run(&mut house, a, 1);
    assert_eq!((of(&house, all), of(&house, any)), (Verdict::Never, Verdict::Waits));
    run(&mut house, b, 0);
    assert_eq!(of(&house, all), Verdict::Never);
    assert!(is_free(&house, any));
}

#[test]
fn what_has_come_stays_and_what_failed_opens_again_with_a_requeue() {
    let mut house = House::new();
    let first = house.job();
    let ok = JobKey::single(house.submit(waits_for(&format!("afterok:{first}"))));
    let not = JobKey::single(house.submit(waits_for(&format!("afternotok:{first}"))));
    run(&mut house, first, 1);
    assert_eq!(of(&house, ok), Verdict::Never);
    assert!(is_free(&house, not));
    let again = house.requeue(first);
    house.apply(again);
    assert_eq!(of(&house, ok), Verdict::Waits);
    assert!(is_free(&house, not), "it has failed once");
    run(&mut house, first, 0);
    assert!(is_free(&house, ok) && is_free(&house, not));
}

#[test]
fn an_array_counts_as_a_whole_or_task_by_task() {
    let mut house = House::new();
    let array = house.submit(Ask { array: "0-2".parse().ok(), ..Ask::default() });
    let whole = JobKey::single(house.submit(waits_for(&format!("afterok:{array}"))));
    let one = JobKey::single(house.submit(waits_for(&format!("afterok:{array}_1"))));
    let pairs =
        house.submit(Ask { array: "1-3".parse().ok(), ..waits_for(&format!("aftercorr:{array}")) });
    run(&mut house, task(array, 1), 0);
    assert!(is_free(&house, one) && is_free(&house, task(pairs, 1)));
    assert_eq!(of(&house, task(pairs, 2)), Verdict::Waits);
    run(&mut house, task(array, 2), 1);
    assert_eq!(of(&house, task(pairs, 2)), Verdict::Never);
    assert_eq!((of(&house, whole), of(&house, task(pairs, 3))), (Verdict::Waits, Verdict::Waits));
    run(&mut house, task(array, 0), 0);
    assert_eq!(of(&house, whole), Verdict::Never);
    assert_eq!(of(&house, task(pairs, 3)), Verdict::Never, "without its pair all count");
    let again = house.requeue(task(array, 2));
    house.apply(again);
    assert_eq!((of(&house, whole), of(&house, task(pairs, 3))), (Verdict::Waits, Verdict::Waits));
    run(&mut house, task(array, 2), 0);
    assert!(is_free(&house, whole));
    assert!((1..=3).all(|index| is_free(&house, task(pairs, index))));
}

#[test]
fn jobs_of_one_name_run_one_after_the_other() {
    let mut house = House::new();
    let alone = || Ask { name: "nightly".to_owned(), ..waits_for("singleton") };
    let first = JobKey::single(house.submit(alone()));
    let second = JobKey::single(house.submit(alone()));
    let third = JobKey::single(house.submit(alone()));
    let other = JobKey::single(house.submit(waits_for("singleton")));
    assert!(is_free(&house, first) && is_free(&house, other));
    assert_eq!((of(&house, second), of(&house, third)), (Verdict::Waits, Verdict::Waits));
    let mut keeper = SnapshotKeeper::new(&house.state);
    let id = house.attempt_of(first);
    let mut events = house.enact(id, vec![share("g1", 0, 2, &[])]);
    events.extend(house.report("g1", id, running()));
    events.extend(house.report("g1", id, exited(0)));
    keeper.update(&house.state, &events);
    assert!(!keeper.snapshot().waiting_job(second).unwrap().awaits, "it is woken");
    assert!(keeper.snapshot().waiting_job(third).unwrap().awaits);
    let cancel = house.cancel(second);
    house.apply(cancel);
    assert!(is_free(&house, third));
}

#[test]
fn what_cannot_come_waits_for_ever_or_is_cancelled_down_the_chain() {
    let mut house = House::new();
    let first = house.job();
    let stays = JobKey::single(house.submit(waits_for(&format!("afterok:{first}"))));
    let mut last = first;
    let chain: Vec<JobKey> = (0..2_000)
        .map(|_| {
            last = JobKey::single(house.quietly_submit(killed_without(&format!("afterok:{last}"))));
            last
        })
        .collect();
    run(&mut house, first, 7);
    assert!(house.state.has_hopeless(), "one command ends some of them");
    house.apply(Command::EndHopeless);
    assert!(!house.state.has_hopeless());
    assert_eq!(house.phase(stays), Phase::Pending);
    let all_cancelled = chain.iter().all(|key| house.outcome(*key) == Some(Outcome::Cancelled));
    assert!(all_cancelled);
    let view = query::view::job_view(
        &house.state,
        &query::viewer::Viewer::ALL,
        chain[0],
        &Default::default(),
    )
    .unwrap();
    let why = view.message.unwrap();
    assert!(why.contains("--kill-on-invalid-dep") && why.contains("ended as FAILED"), "{why}");
    let view = query::view::job_view(
        &house.state,
        &query::viewer::Viewer::ALL,
        stays,
        &Default::default(),
    )
    .unwrap();
    assert_eq!(view.reason.unwrap().code, "DependencyNeverSatisfied");
    assert_eq!(view.dependency.as_deref(), Some("afterok:1(failed)"));
    let late = house.submission(killed_without(&format!("afterok:{first}")));
    let events = house.apply(late);
    assert!(matches!(events.as_slice(), [_, Event::JobDone { .. }]), "{events:?}");
}

#[test]
fn only_jobs_that_were_submitted_can_be_waited_for() {
    let mut house = House::new();
    let first = house.job();
    for (text, word) in
        [("afterok:7", "no job 7"), ("after:0", "no job 0"), ("afterany:1_3", "no job 1_3")]
    {
        let command = house.submission(waits_for(text));
        let refusal = house.refused(command).to_string();
        assert!(refusal.contains(word), "{text}: {refusal}");
    }
    run(&mut house, first, 0);
    let over = JobKey::single(house.submit(waits_for("afterok:1")));
    assert!(is_free(&house, over), "it is over and well");
    house.wait(2 * 3600);
    house.apply(Command::ForgetDone);
    assert!(house.state.job(JobId(1)).is_none());
    assert!(is_free(&house, over), "what has come stays");
    let late = house.submission(waits_for("afterok:1"));
    let refusal = house.refused(late).to_string();
    assert!(refusal.contains("is no longer stored"), "{refusal}");
    let any = JobKey::single(house.submit(waits_for("afterany:1")));
    assert!(is_free(&house, any));
}

#[test]
fn what_a_job_waits_for_is_changed_but_never_to_itself() {
    let mut house = House::new();
    let (a, b) = (house.job(), house.job());
    let update = |actor, key, to: Option<String>| Command::UpdateJob {
        actor,
        target: Target { key },
        patch: Box::new(match to {
            Some(text) => {
                let dependency: Dependency = text.parse().unwrap();
                Patch::default().with(Attribute::Dependency, dependency)
            }
            None => Patch::default().with_removed(Attribute::Dependency),
        }),
    };
    house.apply(update(USER, b, Some(format!("afterok:{a}"))));
    assert_eq!(of(&house, b), Verdict::Waits);
    for (key, on) in [(a, b), (a, a)] {
        let refusal = house.refused(update(USER, key, Some(format!("after:{on}")))).to_string();
        assert!(refusal.contains("would wait for itself"), "{refusal}");
    }
    let refusal = house.refused(update(OTHER, b, None));
    assert!(matches!(refusal, Refusal::NotYours { .. }), "{refusal:?}");
    house.apply(update(OPERATOR, b, None));
    assert!(is_free(&house, b));
    house.apply(update(USER, a, Some(format!("afterany:{b}"))));
    run(&mut house, b, 1);
    assert!(is_free(&house, a));
}

#[test]
fn the_explanation_names_which_jobs_it_waits_for_and_how_far_they_are() {
    let mut house = House::new();
    let array = house.submit(Ask { array: "0-1".parse().ok(), ..Ask::default() });
    let job = house.job();
    let text = format!("afterok:{array},afterany:{job}");
    let key = JobKey::single(house.submit(waits_for(&text)));
    run(&mut house, task(array, 0), 0);
    let view =
        query::view::job_view(&house.state, &query::viewer::Viewer::ALL, key, &Default::default())
            .unwrap();
    assert_eq!(view.dependency.as_deref(), Some("afterok:1(unfulfilled),afterany:4(unfulfilled)"));
    let reason = view.reason.unwrap();
    assert_eq!(reason.code, "Dependency");
    assert_eq!(
        reason.sentence,
        "job 1 must succeed (1 of its 2 tasks remaining); job 4 must finish (PENDING)"
    );
    assert!(matches!(reason.detail, WaitReason::Dependency { more: 0, any: false, .. }));
    let snapshot = state::snapshot::snapshot(&house.state);
    let explanation = query::view::explain(
        &house.state,
        &query::viewer::Viewer::ALL,
        key,
        &Default::default(),
        &snapshot,
        house.now,
    );
    let explanation = explanation.unwrap();
    assert!(explanation.advice.as_ref().unwrap().contains("--dependency=none"), "{explanation:?}");
    assert!(
        explanation.lines.iter().any(|line| line.contains("job 4 must finish")),
        "{explanation:?}"
    );
}
