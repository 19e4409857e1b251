//! A controller that was away for longer than the state remembers asks another one for the runs it
//! lacks. Never in the way of anything: until it has them, it shows what it has.

use super::History;
use crate::machine::StateMachine;
use crate::peers::Peers;
use common::id::ControllerId;
use common::time::{Span, Time};
use common::wire::api::HistoryList;
use net::{Client, Endpoint};
use serde::{Deserialize, Serialize};
use state::history::NodeChange;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// Where a controller hands its own runs to another.
pub const KEPT_PATH: &str = "/v1/history/kept";
const PAUSE: Duration = Duration::from_secs(30);
/// So much earlier than it knows of it asks: what was over just then may not have been written.
const MARGIN: Span = Span::from_minutes(60);
/// Runs on a page.
const PAGE: u32 = 2000;

/// A page of what a controller kept, for another one.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Kept {
    /// The runs, and where to go on.
    #[serde(flatten)]
    pub list: HistoryList,
    /// How nodes were since then. On the first page.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodeChange>,
    /// Since when that controller lacks something itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap: Option<Time>,
}

/// Fills every gap there is; runs until it is dropped.
pub async fn keep_up(history: History, peers: Arc<Peers<StateMachine>>) {
    let mut gap = history.gap();
    let mut asked = BTreeSet::new();
    loop {
        let Ok(since) = gap.wait_for(Option::is_some).await.map(|since| *since) else { return };
        match fill(&history, &peers, since.unwrap_or_default() - MARGIN, &mut asked).await {
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

/// How many runs others had. A lone controller has all there is. One that lacks nothing is enough;
/// where there is none such, all that vote are asked, each once: those in `asked` gave theirs.
async fn fill(
    history: &History,
    peers: &Peers<StateMachine>,
    since: Time,
    asked: &mut BTreeSet<ControllerId>,
) -> Result<usize, String> {
    let status = peers.log.status().borrow().clone();
    if status.members.known.keys().all(|id| *id == peers.me.id) {
        return Ok(0);
    }
    let (mut taken, mut why) = (0, None);
    let voters = status.members.voters.iter().map(|id| ControllerId(*id));
    let mut others: Vec<ControllerId> = status.leader.into_iter().chain(voters).collect();
    let mut seen = BTreeSet::from([peers.me.id]);
    others.retain(|id| seen.insert(*id));
    for lacks in [false, true] {
        for id in &others {
            let Some(member) = status.members.known.get(id) else { continue };
            if lacks && asked.contains(id) {
                continue;
            }
            let (addr, identity) = (member.address.clone(), peers.identity.clone());
            let other = Client::new(Endpoint::Tls { addr, identity });
            match pages(history, &other, since, lacks).await {
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
        None => Err("nobody else is known".to_owned()),
        Some(why) => Err(why),
    }
}

/// How many runs this one gave; `None`: it lacks something itself, and such was not wanted.
async fn pages(
    history: &History,
    other: &Client,
    since: Time,
    lacking: bool,
) -> Result<Option<usize>, String> {
    let (mut after, mut taken) = (String::new(), 0);
    loop {
        let path =
            format!("{KEPT_PATH}?every_run=true&steps=true&since={}&limit={PAGE}{after}", since.0);
        let kept: Kept = other.get(&path).await.map_err(|error| error.to_string())?;
        if kept.gap.is_some() && !lacking {
            return Ok(None);
        }
        taken += kept.list.runs.len();
        history.give(kept.list.runs, kept.nodes);
        // Not faster than they are written; what is not is asked for again.
        if !history.flush().await {
            return Err("the file of this controller cannot be written".to_owned());
        }
        match kept.list.next {
            Some(next) => after = format!("&after={next}"),
            None => return Ok(Some(taken)),
        }
    }
}
