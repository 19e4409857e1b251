//! A controller that was away for longer than the state remembers asks another one for the runs it
//! lacks. Never in the way of anything: until it has them, it shows what it has.

use super::History;
use crate::machine::StateMachine;
use crate::peers::Peers;
use common::time::{Span, Time};
use common::wire::api::HistoryList;
use net::{Client, ClientError, Endpoint};
use std::sync::Arc;
use std::time::Duration;

/// Where a controller hands its own runs to another.
pub const KEPT_PATH: &str = "/v1/history/kept";
/// Between two tries.
const PAUSE: Duration = Duration::from_secs(30);
/// So much earlier than it knows of it asks: what was over just then may not have been written.
const MARGIN: Span = Span::from_minutes(60);
/// Runs on a page.
const PAGE: u32 = 2000;

/// Fills every gap there is; runs until it is dropped.
pub async fn keep_up(history: History, peers: Arc<Peers<StateMachine>>) {
    let mut gap = history.gap();
    loop {
        let Ok(since) = gap.wait_for(Option::is_some).await.map(|since| *since) else { return };
        match fill(&history, &peers, since.unwrap_or_default() - MARGIN).await {
            Ok(runs) => {
                tracing::info!("accounting took in {runs} runs that another controller kept");
                history.close_gap();
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

/// How many runs another had. A lone controller has all there is.
async fn fill(
    history: &History,
    peers: &Peers<StateMachine>,
    since: Time,
) -> Result<usize, String> {
    let status = peers.log.status().borrow().clone();
    if status.members.known.keys().all(|id| *id == peers.me.id) {
        return Ok(0);
    }
    let leader = status.leader.into_iter();
    let others = leader.chain(status.members.voters.iter().map(|id| common::id::ControllerId(*id)));
    let mut why = "nobody else is known".to_owned();
    for id in others.filter(|id| *id != peers.me.id) {
        let Some(member) = status.members.known.get(&id) else { continue };
        let (addr, identity) = (member.address.clone(), peers.identity.clone());
        match pages(history, &Client::new(Endpoint::Tls { addr, identity }), since).await {
            Ok(runs) => return Ok(runs),
            Err(error) => why = error.to_string(),
        }
    }
    Err(why)
}

async fn pages(history: &History, other: &Client, since: Time) -> Result<usize, ClientError> {
    let (mut after, mut taken) = (String::new(), 0);
    loop {
        let path = format!("{KEPT_PATH}?every_run=true&since={}&limit={PAGE}{after}", since.0);
        let list: HistoryList = other.get(&path).await?;
        taken += list.runs.len();
        history.give(list.runs);
        // Not faster than they are written.
        history.flush().await;
        match list.next {
            Some(next) => after = format!("&after={next}"),
            None => return Ok(taken),
        }
    }
}
