//! Selection of jobs by user, queue, node, state or name. A single user, queue or node is left to
//! the controller; the rest is filtered here.

use super::raw_jobs::RawJobs;
use crate::failure::Failure;
use crate::server::{Server, encoded};
use clap::builder::{PossibleValue, PossibleValuesParser};
use common::id::QueueName;
use common::job::attributes::Hosts;
use common::job::state::slurm_state;
use common::job::{Outcome, Phase};
use common::wire::api::{JobList, JobView, Looked};
use std::collections::BTreeSet;

/// The jobs to select.
#[derive(clap::Args, Debug, Clone, Default)]
#[command(next_help_heading = "Filters")]
pub struct Filter {
    /// Only your own jobs
    #[arg(long)]
    pub me: bool,
    /// Only jobs of these users (names or numbers)
    #[arg(short, long, value_name = "USER", value_delimiter = ',', conflicts_with = "me")]
    pub user: Vec<String>,
    /// Only jobs in these queues
    #[arg(
        short = 'p',
        short_alias = 'q',
        long,
        visible_alias = "partition",
        value_name = "QUEUE",
        value_delimiter = ','
    )]
    pub queue: Vec<QueueName>,
    /// Only jobs on these nodes, e.g. g[001-004]
    #[arg(short = 'w', long = "node", visible_alias = "nodelist", value_name = "NODES")]
    pub nodes: Option<Hosts>,
    /// Only jobs in these states, as words or codes (PENDING, R)
    #[arg(
        short = 't',
        long = "state",
        visible_alias = "states",
        value_name = "STATE",
        value_delimiter = ',',
        value_parser = PossibleValuesParser::new(states()),
        ignore_case = true
    )]
    pub states: Vec<String>,
    /// Only jobs with these names
    #[arg(short, long = "name", value_name = "NAME", value_delimiter = ',')]
    pub names: Vec<String>,
}

impl Filter {
    /// Whether all jobs are selected.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.me
            && self.user.is_empty()
            && self.queue.is_empty()
            && self.nodes.is_none()
            && self.states.is_empty()
            && self.names.is_empty()
    }

    /// The selected jobs, as the controller sent them; with `all` finished ones, too.
    ///
    /// # Errors
    /// [`Failure`] when the controller does not answer, or refuses.
    pub async fn fetch_raw(&self, server: &Server, all: bool) -> Result<RawJobs, Failure> {
        let mut raw: RawJobs = server.get(&self.path(all, "")).await?;
        if !self.is_empty() {
            let typed = raw.typed()?;
            raw.retain(typed.iter().map(|job| self.selects(job)));
            self.check_owners(|user| {
                typed.iter().any(|job| job.owner.name == user && self.selects(job))
            })?;
        }
        Ok(raw)
    }

    /// The same, as types.
    ///
    /// # Errors
    /// As [`Filter::fetch_raw`].
    pub async fn fetch_typed(&self, server: &Server, all: bool) -> Result<JobList, Failure> {
        let list = self.fetch_unchecked(server, all).await?;
        self.check_users(&list.jobs)?;
        Ok(list)
    }

    /// The same with the fields of a job table only, which takes a third of the time.
    ///
    /// # Errors
    /// As [`Filter::fetch_raw`].
    pub async fn fetch_brief(&self, server: &Server, all: bool) -> Result<JobList, Failure> {
        let start = |Looked { as_of }| JobList { jobs: Vec::new(), total: None, as_of };
        self.fetch_each(server, all, start, |list, job| list.jobs.push(job)).await
    }

    /// The same without keeping all in memory: each job is added to what `start` returns.
    ///
    /// # Errors
    /// As [`Filter::fetch_raw`].
    pub async fn fetch_each<S>(
        &self,
        server: &Server,
        all: bool,
        start: impl Fn(Looked) -> S,
        add: impl Fn(&mut S, JobView),
    ) -> Result<S, Failure> {
        let start = |head| (start(head), BTreeSet::new());
        let add = |(sum, owners): &mut (S, BTreeSet<String>), job: JobView| {
            if self.selects(&job) {
                if !self.user.is_empty() && !owners.contains(&job.owner.name) {
                    owners.insert(job.owner.name.clone());
                }
                add(sum, job);
            }
        };
        let (sum, owners) = server.get_lines(&self.path(all, "lines=true"), start, add).await?;
        self.check_owners(|user| owners.contains(user))?;
        Ok(sum)
    }

    /// The same for callers that find jobs of these users elsewhere, too, and therefore call
    /// [`Filter::check_users`] themselves.
    ///
    /// # Errors
    /// [`Failure`] when the controller does not answer, or refuses.
    pub async fn fetch_unchecked(&self, server: &Server, all: bool) -> Result<JobList, Failure> {
        let mut list: JobList = server.get(&self.path(all, "")).await?;
        list.jobs.retain(|job| self.selects(job));
        Ok(list)
    }

    /// Refuses a user that this host does not know and that owns none of these jobs.
    ///
    /// # Errors
    /// [`Failure`] naming the user.
    pub fn check_users(&self, jobs: &[JobView]) -> Result<(), Failure> {
        self.check_owners(|user| jobs.iter().any(|job| job.owner.name == user))
    }

    pub(super) fn check_owners(&self, owns: impl Fn(&str) -> bool) -> Result<(), Failure> {
        match self.user.iter().find(|user| !owns(user) && is_unknown(user)) {
            Some(user) => {
                let refused = Failure::from_message(format!("there is no user {user}"));
                Err(refused
                    .with_hint("this host does not know the user, and no job of theirs is kept"))
            }
            None => Ok(()),
        }
    }

    fn path(&self, all: bool, form: &str) -> String {
        let me = self.me.then(|| nix::unistd::getuid().to_string());
        let only = |list: Vec<String>| if list.len() == 1 { list.into_iter().next() } else { None };
        let nodes = self.nodes.iter().flat_map(|hosts| &hosts.0).map(ToString::to_string);
        let parts = [
            all.then(|| "all=true".to_owned()),
            me.or_else(|| only(self.user.clone())).map(|u| format!("user={}", encoded(&u))),
            only(self.queue.iter().map(ToString::to_string).collect())
                .map(|queue| format!("queue={}", encoded(&queue))),
            only(nodes.collect()).map(|node| format!("node={}", encoded(&node))),
            (!form.is_empty()).then(|| form.to_owned()),
        ];
        let query: Vec<String> = parts.into_iter().flatten().collect();
        let mark = if query.is_empty() { "" } else { "?" };
        format!("/v1/jobs{mark}{}", query.join("&"))
    }

    /// Whether a job is selected.
    #[must_use]
    pub fn selects(&self, job: &JobView) -> bool {
        let one_of = |list: &[String], tests: &dyn Fn(&String) -> bool| {
            list.is_empty() || list.iter().any(tests)
        };
        let uid = job.owner.uid.to_string();
        let states = [&job.state, &job.state_code];
        (!self.me || job.owner.uid.0 == nix::unistd::getuid().as_raw())
            && one_of(&self.user, &|user| *user == job.owner.name || *user == uid)
            && one_of(&self.names, &|name| *name == job.ask.name)
            && one_of(&self.states, &|state| states.iter().any(|s| s.eq_ignore_ascii_case(state)))
            && (self.queue.is_empty()
                || job.ask.queue.as_ref().is_some_and(|queue| self.queue.contains(queue)))
            && self.nodes.as_ref().is_none_or(|hosts| runs_on(job, hosts))
    }
}

/// Whether no user of this host has this name. Users of other hosts are known by their jobs.
fn is_unknown(user: &str) -> bool {
    user.parse::<u32>().is_err() && matches!(nix::unistd::User::from_name(user), Ok(None))
}

/// The ways in which jobs end. A finished job without an outcome shows as completed.
const OUTCOMES: [Outcome; 9] = [
    Outcome::Completed,
    Outcome::Failed,
    Outcome::Cancelled,
    Outcome::TimedOut,
    Outcome::OutOfMemory,
    Outcome::NodeLost,
    Outcome::Preempted,
    Outcome::DeadlineMissed,
    Outcome::LaunchFailed,
];

/// Slurm's word for an outcome, given the word or its code; `None` for other states.
#[must_use]
pub fn outcome_word(state: &str) -> Option<&'static str> {
    let ends = OUTCOMES.into_iter().map(|outcome| slurm_state(Phase::Done, Some(outcome)));
    let mut all = ends.chain([REQUEUED]);
    let is_it = |(word, code): &(&str, &str)| {
        word.eq_ignore_ascii_case(state) || code.eq_ignore_ascii_case(state)
    };
    all.find(is_it).map(|(word, _)| word)
}

/// Accounting's state of a run that was followed by another one.
const REQUEUED: (&str, &str) = ("REQUEUED", "RQ");

/// The states that a job can be shown in: Slurm's words, with their codes as aliases.
fn states() -> impl Iterator<Item = PossibleValue> {
    let on_the_way = Phase::ALL.into_iter().filter(|phase| *phase != Phase::Done);
    let ends = OUTCOMES.into_iter().map(|outcome| (Phase::Done, Some(outcome)));
    on_the_way.map(|phase| (phase, None)).chain(ends).map(|(phase, outcome)| {
        let (word, code) = slurm_state(phase, outcome);
        PossibleValue::new(word).alias(code)
    })
}

/// Refuses a word that is neither a state of a job nor its code.
///
/// # Errors
/// [`Failure`] naming the word and the possible states.
pub fn check_states(words: &[String]) -> Result<(), Failure> {
    let known: Vec<PossibleValue> = states().collect();
    let Some(wrong) = words.iter().find(|w| !known.iter().any(|known| known.matches(w, true)))
    else {
        return Ok(());
    };
    let names: Vec<&str> = known.iter().map(PossibleValue::get_name).collect();
    let message = format!("Invalid job state specified: {wrong}");
    let refused = Failure::usage(anyhow::Error::msg(message));
    Err(refused.with_hint(format!("possible states are {}, or their codes", names.join(", "))))
}

/// Whether a job runs on one of these nodes, or ran there if it has ended.
fn runs_on(job: &JobView, hosts: &Hosts) -> bool {
    let shares = job.allocation.iter().flat_map(|allocation| allocation.shares());
    job.phase != Phase::Pending && shares.into_iter().any(|share| hosts.0.contains(&share.node))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_user_queue_or_node_is_left_to_the_controller() {
        let filter = Filter {
            user: vec!["a&b".to_owned()],
            queue: vec![QueueName::new("gpu").unwrap()],
            nodes: Some("g1".parse().unwrap()),
            ..Filter::default()
        };
        assert_eq!(filter.path(true, ""), "/v1/jobs?all=true&user=a%26b&queue=gpu&node=g1");
        let several = Filter { user: vec!["a".into(), "b".into()], ..Filter::default() };
        assert_eq!(several.path(false, "lines=true"), "/v1/jobs?lines=true");
        assert!(Filter::default().is_empty() && !several.is_empty());
    }
}
