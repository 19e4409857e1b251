//! Catching up of the accounting: a controller that was away for longer than the state keeps
//! finished jobs asks another one for the runs it lacks. Meanwhile it shows what it has.

use crate::history::History;
use crate::peers::Peers;
use crate::state_machine::StateMachine;
use common::id::ControllerId;
use common::time::{Span, Time};
use common::wire::api::HistoryList;
use net::{Client, Endpoint};
use query::history::NodeChange;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// Where a controller serves its own runs to another.
pub const KEPT_PATH: &str = "/v1/history/kept";
const PAUSE: Duration = Duration::from_secs(30);
/// How much earlier than the gap to ask, because the last runs may not have been written.
const MARGIN: Span = Span::from_minutes(60);
/// The number of runs on a page.
const PAGE: u32 = 2000;

/// A page of a controller's records, for another one.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct HistoryPage {
    /// The runs, and the cursor for the next page.
    #[serde(flatten)]
    pub list: HistoryList,
    /// Changes of nodes in that time; on the first page.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodeChange>,
    /// Since when that controller itself lacks runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap: Option<Time>,
}

/// Fills gaps as they appear; runs until dropped.
pub async fn fill_gaps(history: History, peers: Arc<Peers<StateMachine>>) {
    let mut gap = history.watch_gap();
    let mut asked = BTreeSet::new();
    loop {
        let Ok(since) = gap.wait_for(Option::is_some).await.map(|since| *since) else { return };
        match fill_gap(&history, &peers, since.unwrap_or_default() - MARGIN, &mut asked).await {
            Ok(runs) => {
                tracing::info!("accounting took in {runs} runs that another controller kept");
                history.close_gap();
                asked.clear();
                let closed = gap.wait_for(Option::is_none).await.is_ok();
                if !closed {
                    return;
                }
            }
            Err(why) => {
                tracing::debug!("accounting still lacks what others may have: {why}");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

/// Returns the number of runs received; 0 for a single controller. One controller without a gap is
/// enough; without such a controller all voters are asked once (`asked` has those that answered).
async fn fill_gap(
    history: &History,
    peers: &Peers<StateMachine>,
    since: Time,
    asked: &mut BTreeSet<ControllerId>,
) -> Result<usize, String> {
    let status = peers.log.status().borrow().clone();
    if status.members.known.keys().all(|id| *id == peers.local.id) {
        return Ok(0);
    }
    let (mut taken, mut why) = (0, None);
    let voters = status.members.voters.iter().map(|id| ControllerId(*id));
    let mut others: Vec<ControllerId> = status.leader.into_iter().chain(voters).collect();
    let mut seen = BTreeSet::from([peers.local.id]);
    others.retain(|id| seen.insert(*id));
    for lacks in [false, true] {
        for id in &others {
            let Some(member) = status.members.known.get(id) else { continue };
            if lacks && asked.contains(id) {
                continue;
            }
            let (addr, identity) = (member.address.clone(), peers.identity.clone());
            let other = Client::new(Endpoint::Tls { addr, identity });
            match fetch_pages(history, &other, since, lacks).await {
                Ok(Some(runs)) if !lacks => return Ok(runs),
                Ok(Some(runs)) => {
                    taken += runs;
                    asked.insert(*id);
                }
                Ok(None) => {}
                Err(error) => why = Some(error),
            }
        }
    }
    match why {
        None if !others.is_empty() => Ok(taken),
        None => Err("no other controller is known".to_owned()),
        Some(why) => Err(why),
    }
}

/// Returns the number of runs received; `None` if the other has a gap itself and `lacking` is
/// false.
async fn fetch_pages(
    history: &History,
    other: &Client,
    since: Time,
    lacking: bool,
) -> Result<Option<usize>, String> {
    let (mut after, mut taken) = (String::new(), 0);
    loop {
        let path =
            format!("{KEPT_PATH}?every_run=true&steps=true&since={}&limit={PAGE}{after}", since.0);
        let kept: HistoryPage = other.get(&path).await.map_err(|error| error.to_string())?;
        if kept.gap.is_some() && !lacking {
            return Ok(None);
        }
        taken += kept.list.runs.len();
        history.add_received(kept.list.runs, kept.nodes);
        // No faster than they are written; unwritten ones are asked for again.
        if !history.flush().await {
            return Err("failed to write this controller's file".to_owned());
        }
        match kept.list.next {
            Some(next) => after = format!("&after={next}"),
            None => return Ok(Some(taken)),
        }
    }
}
