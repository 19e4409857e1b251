//! Finished runs from accounting, page by page. A long list of jobs is split into several queries,
//! because the size of a query is limited.

use crate::failure::Failure;
use crate::fetch::Answer;
use crate::keys::JobKeySet;
use crate::server::{Server, encoded};
use common::id::JobKey;
use common::time::Time;
use common::wire::api::{HistoryList, HistoryRun};
use serde_json::Value;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Runs per page.
const PAGE: usize = 5000;
/// Jobs per query.
const KEYS: usize = 1000;
/// If this many tasks of one job are listed, the query asks for the whole job, and the rest is
/// filtered out here.
const TASKS: usize = 50;

/// Runs, as received and as this version understands them.
pub struct Runs {
    pub raw: Vec<Value>,
    pub runs: Vec<HistoryRun>,
    /// The controller's time of the answer.
    pub as_of: Time,
    /// Whether there are more runs than requested.
    pub more: bool,
}

/// All pages of a query (`&users=ada&...`) about these jobs (all jobs if empty), up to `limit`
/// runs.
///
/// # Errors
/// [`Failure`] when the controller does not answer.
pub async fn fetch_all(
    server: &Server,
    keys: &[JobKey],
    query: &str,
    limit: usize,
) -> Result<Runs, Failure> {
    let (named, pieces) = (JobKeySet::new(keys), key_groups(keys));
    let (mut found, mut as_of, mut more) = (Vec::new(), Time::default(), false);
    for piece in &pieces {
        let selects = |run: &HistoryRun| keys.is_empty() || named.contains_job(&run.job);
        let add = |page: &mut Vec<_>, _| {
            found.append(page);
            Ok(())
        };
        let ended =
            for_each_query_page(server, &query_for(piece, query), limit, selects, add).await?;
        as_of = ended.as_of;
        more |= ended.more;
    }
    if pieces.len() > 1 {
        // A task that is listed both by its own number and by its array is in two queries.
        let mut seen = BTreeSet::new();
        found.retain(|(_, run)| seen.insert((run.job.key, run.run)));
        let order = |run: &HistoryRun| Reverse((run.job.ended_at, run.job.key, run.run));
        found.sort_by_key(|(_, run)| order(run));
        more |= found.len() > limit;
        found.truncate(limit);
    }
    let (raw, runs) = found.into_iter().unzip();
    Ok(Runs { raw, runs, as_of, more })
}

/// Passes on one page after the other, the latest end first, and keeps none. Returns false, without
/// a request, for more jobs than one query takes, because their runs would not be in order.
///
/// # Errors
/// As [`fetch_all`], and the errors of `take`.
pub async fn for_each_page(
    server: &Server,
    keys: &[JobKey],
    query: &str,
    limit: usize,
    mut take: impl FnMut(Vec<HistoryRun>, Time) -> Result<(), Failure>,
) -> Result<bool, Failure> {
    let (named, pieces) = (JobKeySet::new(keys), key_groups(keys));
    let [piece] = &pieces[..] else { return Ok(false) };
    let selects = |run: &HistoryRun| keys.is_empty() || named.contains_job(&run.job);
    let hand = |page: &mut Vec<(Value, HistoryRun)>, as_of| {
        take(page.drain(..).map(|(_, run)| run).collect(), as_of)
    };
    for_each_query_page(server, &query_for(piece, query), limit, selects, hand).await?;
    Ok(true)
}

/// The query about these jobs.
fn query_for(piece: &[JobKey], query: &str) -> String {
    let words: Vec<String> = piece.iter().map(ToString::to_string).collect();
    let jobs = encoded(&words.join(","));
    let jobs = if jobs.is_empty() { jobs } else { format!("&jobs={jobs}") };
    format!("{jobs}{query}")
}

/// State after the last page.
struct Ended {
    /// The controller's time of the answer.
    as_of: Time,
    /// Whether there are more runs than requested.
    more: bool,
}

/// Passes on up to `limit` runs that `takes` accepts, one page at a time.
async fn for_each_query_page(
    server: &Server,
    query: &str,
    limit: usize,
    selects: impl Fn(&HistoryRun) -> bool,
    mut hand: impl FnMut(&mut Vec<(Value, HistoryRun)>, Time) -> Result<(), Failure>,
) -> Result<Ended, Failure> {
    let (mut after, mut left) = (String::new(), limit);
    loop {
        let path = format!("/v1/history?limit={}{query}{after}", PAGE.min(left.max(1)));
        let answer: Value = server.get(&path).await?;
        let Answer { mut raw, typed }: Answer<HistoryList> = answer.try_into()?;
        let came = raw.get_mut("runs").and_then(Value::as_array_mut).map(std::mem::take);
        let came = came.unwrap_or_default().into_iter().zip(typed.runs);
        let mut page: Vec<_> = came.filter(|(_, run)| selects(run)).collect();
        let more = page.len() > left || typed.next.is_some();
        page.truncate(left);
        left -= page.len();
        hand(&mut page, typed.as_of)?;
        match typed.next {
            Some(next) if left > 0 => after = format!("&after={}", encoded(&next)),
            _ => return Ok(Ended { as_of: typed.as_of, more }),
        }
    }
}

/// The jobs of each query; a single empty query stands for all jobs.
fn key_groups(keys: &[JobKey]) -> Vec<Vec<JobKey>> {
    if keys.len() <= KEYS {
        return vec![keys.to_vec()];
    }
    let mut tasks: BTreeMap<_, usize> = BTreeMap::new();
    for key in keys.iter().filter(|key| key.index.is_some()) {
        *tasks.entry(key.job).or_default() += 1;
    }
    let mut seen = BTreeSet::new();
    let asked = keys.iter().map(|key| match tasks.get(&key.job) {
        Some(count) if *count >= TASKS => JobKey::single(key.job),
        _ => *key,
    });
    let asked: Vec<JobKey> = asked.filter(|key| seen.insert(*key)).collect();
    asked.chunks(KEYS).map(<[JobKey]>::to_vec).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::id::{ArrayIndex, JobId};

    fn task(job: u32, index: u32) -> JobKey {
        JobKey { job: JobId(job), index: Some(ArrayIndex(index)) }
    }

    #[test]
    fn many_jobs_take_several_queries_and_a_large_array_is_queried_as_a_whole() {
        assert_eq!(key_groups(&[]), [Vec::new()]);
        let few: Vec<JobKey> = (0..1000).map(|index| task(42, index)).collect();
        assert_eq!(key_groups(&few), [few]);
        let large = (0..100_000).map(|index| task(42, index));
        let small = [task(43, 7), JobKey::single(JobId(44))];
        let keys: Vec<JobKey> = large.chain(small).collect();
        assert_eq!(key_groups(&keys), [[&[JobKey::single(JobId(42))], &small[..]].concat()]);
        let plain: Vec<JobKey> = (1..=2500).map(|job| JobKey::single(JobId(job))).collect();
        let pieces: Vec<usize> = key_groups(&plain).iter().map(Vec::len).collect();
        assert_eq!(pieces, [1000, 1000, 500]);
    }
}
