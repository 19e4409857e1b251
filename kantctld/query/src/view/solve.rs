//! `kantctl explain --solve`: the moves of running jobs that would make room for a waiting one, in
//! sentences. It moves nothing, and claims no more than the search proved.

use common::hostlist;
use common::id::JobKey;
use common::time::Time;
use common::unit::Bytes;
use common::wire::api::{MoveView, SolveAnswer, SolveView};
use engine::Snapshot;
use engine::solve::{
    Count, Counted, Effort, GaveUp, Impossible, Move, Solution, Verdict, over_quota_solution,
    solve as search, without_move_limits,
};
use state::State;
use state::snapshot::as_waiting_again;

/// Searches for moves that make room for a waiting job. `snapshot` is the cluster as the engine
/// sees it at `now`. The search takes as long as `effort` allows. `None` if no such job waits.
#[must_use]
pub fn solve(
    state: &State,
    snapshot: &Snapshot,
    key: JobKey,
    now: Time,
    effort: &Effort<'_>,
) -> Option<SolveView> {
    let Solution { verdict, trials, movable } = match over_quota_solution(snapshot, now, key) {
        Some(refused) => refused,
        None => {
            let movers = as_waiting_again(state, snapshot);
            search(&without_move_limits(snapshot, now, movers, key), now, key, effort)?
        }
    };
    let describer = Describer { state, snapshot, key, trials, movable };
    let (answer, by, lines, advice) = describer.describe(&verdict);
    let (moves, room) = match verdict {
        Verdict::Moves { moves, room, .. } => (moves, room),
        Verdict::Impossible(_) | Verdict::GaveUp(_) => Default::default(),
    };
    let moves = moves.into_iter().map(|one| {
        let Move { key, from, to, lost_gpu_minutes } = one;
        MoveView { key, name: describer.name(key), from, to, lost_gpu_minutes }
    });
    Some(SolveView {
        key,
        answer,
        by: by.to_owned(),
        moves: moves.collect(),
        room,
        trials,
        movable: movable as u64,
        lines,
        advice: Some(advice),
        as_of: now,
    })
}

/// Turns a verdict into sentences.
struct Describer<'a> {
    state: &'a State,
    snapshot: &'a Snapshot,
    key: JobKey,
    trials: u64,
    movable: usize,
}

/// The end of the answer when the search was given up.
const OPEN: &str = "there may be moves that make room, or none";

/// The answer, a keyword for its proof, sentences, and advice.
type AnswerText = (SolveAnswer, &'static str, Vec<String>, String);

impl Describer<'_> {
    fn name(&self, key: JobKey) -> String {
        let record = self.state.job(key.job);
        record.map(|record| record.spec.ask.name.clone()).unwrap_or_default()
    }

    fn describe(&self, verdict: &Verdict) -> AnswerText {
        match verdict {
            Verdict::Moves { moves, room, .. } if moves.is_empty() => {
                let room = hostlist::compress(room);
                let line = format!(
                    "it needs no moves: there is room for it on {room}, or will be when the jobs \
                     that are ending are gone"
                );
                let advice = format!("`kantctl explain {}` says what else it waits for", self.key);
                (SolveAnswer::Moves, "fewest", vec![line], advice)
            }
            Verdict::Moves { moves, room, fewest } => {
                let by = if *fewest { "fewest" } else { "not_fewest" };
                let room = hostlist::compress(room);
                let (lines, advice) = (self.moves(moves, &room, *fewest), self.how_to_move(moves));
                (SolveAnswer::Moves, by, lines, advice)
            }
            Verdict::Impossible(why) => self.impossible(why),
            Verdict::GaveUp(why) => self.gave_up(*why),
        }
    }

    fn moves(&self, moves: &[Move], room: &str, fewest: bool) -> Vec<String> {
        let proof = match fewest {
            true => "it is proved that fewer moves are not enough",
            false => "whether fewer are enough is unknown",
        };
        let first = format!("it has room on {room} if {} moved; {proof}", jobs_text(moves.len()));
        let each = moves.iter().map(|one| {
            let Move { key, from, to, lost_gpu_minutes: lost } = one;
            let (from, to) = (hostlist::compress(from), hostlist::compress(to));
            let since = match self.snapshot.running_job(*key).and_then(|job| job.saved_at) {
                None => "since it started, which are lost unless it saved its work",
                Some(_) => "since its last checkpoint, which are lost",
            };
            format!(
                "job {key} ({}) would go from {from} to {to}; it has used {lost} GPU-minutes \
                 {since}",
                self.name(*key)
            )
        });
        let last = "all of them then have a place: this was tried with cores, links, reservations \
                    and limits, and verified by separate counts";
        std::iter::once(first).chain(each).chain([last.to_owned()]).collect()
    }

    /// How the moves can be made: by rounds if the policy allows them, or by hand.
    fn how_to_move(&self, moves: &[Move]) -> String {
        let keys: Vec<String> = moves.iter().map(|one| one.key.to_string()).collect();
        let by_hand = format!(
            "an operator may `kantctl requeue {}`: those jobs start again from the beginning \
             wherever there is room then, since no place is kept for them",
            keys.join(" ")
        );
        let policy = self.snapshot.policy();
        if !policy.fair_sharing {
            return format!("this command moves no job; {by_hand}");
        }
        let budget = policy.moves;
        if budget.is_off() {
            return format!(
                "this command moves no job; `per_hour` of [moves] in kantctld.toml lets rounds \
                 move jobs, and keep their places; or {by_hand}"
            );
        }
        let most = budget.lost_gpu_minutes_max;
        let waiting = self.snapshot.waiting_job(self.key);
        let queue =
            waiting.and_then(|job| policy.queues.iter().find(|queue| queue.name == job.queue));
        let says = waiting.and_then(|job| {
            let qos = policy.qos.iter().find(|qos| Some(&qos.name) == job.qos.as_ref());
            job.preemptible.or_else(|| qos.and_then(|qos| qos.preemptible))
        });
        let yields = says.or_else(|| queue.map(|queue| queue.preemption.preemptible));
        let why = if yields == Some(false) {
            "rounds move no job for one that cannot be preempted".to_owned()
        } else if moves.iter().any(|one| one.lost_gpu_minutes > most) {
            format!("rounds move no job that would lose more than {most} GPU-minutes")
        } else {
            let an_hour = budget.per_hour;
            format!("rounds move at most {an_hour} jobs an hour, and search less than this command")
        };
        format!("{why}; {by_hand}")
    }

    fn impossible(&self, why: &Impossible) -> AnswerText {
        let key = self.key;
        let less = format!(
            "wait for jobs to end, or ask for less: `kantctl explain {key}` says what it waits for"
        );
        let (by, line, advice) = match why {
            Impossible::MayNotStart(reason) => {
                let because = reason.as_ref().map(|reason| format!(": {reason}"));
                let because = because.unwrap_or_else(|| ": it is not in the queue yet".to_owned());
                let line = format!("no moves help it, since it does not wait for room{because}");
                ("may_not_start", line, format!("`kantctl explain {key}` says what it waits for"))
            }
            Impossible::NeverFits(reason) => {
                let line = format!("no moves make room for it, whatever runs: {reason}");
                ("never_fits", line, format!("`kantctl explain {key}` says what would fit"))
            }
            Impossible::Counts(count) => ("counts", self.describe_count(count), less),
            Impossible::Exhausted => {
                let line = format!(
                    "no moves make room for it, which is proved: all ways to move the {} that may \
                     be moved were tried ({} places)",
                    jobs_or_job(self.movable),
                    self.trials
                );
                ("exhausted", line, less)
            }
        };
        (SolveAnswer::Impossible, by, vec![line], advice)
    }

    fn describe_count(&self, count: &Count) -> String {
        let Count { of, size, room, needed, suiting } = *count;
        let nodes = if suiting { "the nodes that suit it" } else { "all nodes" };
        let (lifted, would_have, who) = match self.movable {
            0 => ("no running job may be moved, and ".to_owned(), "have", "it needs"),
            movable => {
                let lifted =
                    format!("if the {} that may be moved held nothing, ", jobs_or_job(movable));
                (lifted, "would have", "it and they need")
            }
        };
        let is_whole = match of {
            Counted::WholeGpus => size == 1000,
            _ => size == 1,
        };
        let counted = match is_whole {
            true => format!(
                "{would_have} {}, of which {who} {}",
                amount(of, size.saturating_mul(room)),
                number(of, size.saturating_mul(needed)),
            ),
            false => format!(
                "{would_have} room for {room} pieces of {}, of which {who} {needed}",
                amount(of, size)
            ),
        };
        format!("no moves make room for it, which is proved by counting: {lifted}{nodes} {counted}")
    }

    fn gave_up(&self, why: GaveUp) -> AnswerText {
        let trials = self.trials;
        let (by, line, advice) = match why {
            GaveUp::Effort => (
                "trials",
                format!("the search was given up after {trials} places: {OPEN}"),
                format!(
                    "ask for a longer search: `kantctl explain {} --solve --trials {}`",
                    self.key,
                    trials.saturating_mul(10)
                ),
            ),
            GaveUp::Stopped => (
                "stopped",
                format!(
                    "the search was given up after {trials} places, when its time was up: {OPEN}"
                ),
                "wait for jobs to end: a controller searches no longer than this".to_owned(),
            ),
            GaveUp::InDetail { arrangements } => (
                "in_detail",
                format!(
                    "the search was given up after {trials} places: by counts of GPUs, CPUs and \
                     memory {} would work, but none with cores, links, reservations and limits",
                    ways(arrangements)
                ),
                format!("`kantctl explain {}` says what it waits for", self.key),
            ),
            GaveUp::Parts { parts } => (
                "parts",
                format!("the search was given up: it does not search places for {parts} parts"),
                "wait for jobs to end, or ask for fewer and larger parts (--nodes)".to_owned(),
            ),
            GaveUp::Component => (
                "component",
                "the search was given up: components of one job start together, which it does not \
                 support"
                    .to_owned(),
                format!("`kantctl explain {}` says what it waits for", self.key),
            ),
        };
        (SolveAnswer::GaveUp, by, vec![line], advice)
    }
}

fn jobs_text(count: usize) -> String {
    if count == 1 { "1 job".to_owned() } else { format!("{count} jobs") }
}

fn jobs_or_job(count: usize) -> String {
    if count == 1 { "job".to_owned() } else { format!("{count} jobs") }
}

fn ways(count: u64) -> String {
    if count == 1 { "1 way".to_owned() } else { format!("{count} ways") }
}

/// For example `8 GPUs`, `1.5 GPUs`, `16 CPUs`, `64 GiB`.
fn amount(of: Counted, count: u64) -> String {
    let plural = |one: u64| if count == one { "" } else { "s" };
    match of {
        Counted::WholeGpus => format!("{} whole GPU{}", number(of, count), plural(1000)),
        Counted::GpuMilli => format!("{} GPU{}", number(of, count), plural(1000)),
        Counted::Cpus => format!("{count} CPU{}", plural(1)),
        Counted::Memory => format!("{} of memory", Bytes(count)),
    }
}

fn number(of: Counted, count: u64) -> String {
    match of {
        Counted::WholeGpus | Counted::GpuMilli => match count % 1000 {
            0 => (count / 1000).to_string(),
            milli => format!("{}.{milli:03}", count / 1000).trim_end_matches('0').to_owned(),
        },
        Counted::Cpus => count.to_string(),
        Counted::Memory => Bytes(count).to_string(),
    }
}
