//! Groups of runs: what a report can group by, in the file and among the runs that go on.

use super::schema::HistoryError;
use common::id::Uid;
use common::wire::api::{HistoryRun, RunGroup};
use rusqlite::Row;

/// The names of the groupings, each with its columns.
const GROUPINGS: &[(&str, &[&str])] = &[
    ("user", &["r.user", "r.uid"]),
    ("account", &["r.account"]),
    ("queue", &["r.queue"]),
    ("qos", &["r.qos"]),
    ("state", &["r.state"]),
    ("gpus", &["r.gpus"]),
    ("cpus", &["r.cpus"]),
    ("nodes", &["r.nodes"]),
];

/// What runs are grouped by.
pub(super) struct Grouping(Vec<&'static str>);

impl Grouping {
    /// Reads names separated by commas.
    ///
    /// # Errors
    /// [`HistoryError::Question`] for an unknown name.
    pub(super) fn parse(words: &str) -> Result<Self, HistoryError> {
        let words = words.split(',').map(str::trim).filter(|word| !word.is_empty());
        let known = |word: &str| {
            let found = GROUPINGS.iter().find(|(name, _)| *name == word).map(|(name, _)| *name);
            let names: Vec<&str> = GROUPINGS.iter().map(|(name, _)| *name).collect();
            found.ok_or_else(|| {
                let names = names.join(", ");
                HistoryError::Question(format!("cannot group by `{word}`: use one of {names}"))
            })
        };
        words.map(known).collect::<Result<_, _>>().map(Self)
    }

    /// The columns, for a list of columns and for `GROUP BY`.
    pub(super) fn columns(&self) -> String {
        let columns = self.column_names();
        if columns.is_empty() { "NULL".to_owned() } else { columns.join(", ") }
    }

    fn column_names(&self) -> Vec<&'static str> {
        let columns = GROUPINGS.iter().filter(|(name, _)| self.0.contains(name));
        columns.flat_map(|(_, columns)| columns.iter().copied()).collect()
    }

    /// The group of a row whose columns from `first` on are [`Self::columns`].
    pub(super) fn read(&self, row: &Row<'_>, first: usize) -> rusqlite::Result<RunGroup> {
        let mut group = RunGroup::default();
        for (place, column) in (first..).zip(self.column_names()) {
            match column {
                "r.user" => group.user = row.get(place)?,
                "r.uid" => group.uid = row.get::<_, Option<u32>>(place)?.map(Uid),
                "r.account" => group.account = row.get(place)?,
                "r.queue" => group.queue = row.get(place)?,
                "r.qos" => group.qos = row.get(place)?,
                "r.state" => group.state = row.get(place)?,
                "r.gpus" => group.gpus = row.get(place)?,
                "r.cpus" => group.cpus = row.get(place)?,
                _ => group.nodes = row.get(place)?,
            }
        }
        Ok(group)
    }

    /// The group of a run that goes on.
    pub(super) fn of_run(&self, run: &HistoryRun) -> RunGroup {
        let job = &run.job;
        let has = |name: &str| self.0.contains(&name);
        let text = |name: Option<&str>| Some(name.unwrap_or_default().to_owned());
        let count = || job.allocation.as_ref().map_or(0, |given| given.shares().len());
        let mut group = RunGroup::default();
        if has("user") {
            (group.user, group.uid) = (Some(job.owner.name.clone()), Some(job.owner.uid));
        }
        if has("account") {
            group.account = text(job.ask.account.as_ref().map(|account| account.as_str()));
        }
        if has("queue") {
            group.queue = text(job.ask.queue.as_ref().map(|queue| queue.as_str()));
        }
        if has("qos") {
            group.qos = text(job.ask.qos.as_ref().map(|qos| qos.as_str()));
        }
        if has("state") {
            group.state = Some(job.state.clone());
        }
        if has("gpus") {
            group.gpus = Some(job.gpus.0);
        }
        if has("cpus") {
            group.cpus = Some(job.cpus.0);
        }
        if has("nodes") {
            group.nodes = Some(u32::try_from(count()).unwrap_or(u32::MAX));
        }
        group
    }
}
