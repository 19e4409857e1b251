//! A warning about jobs that still run on the nodes of a reservation that has begun, which matters
//! for maintenance.

use crate::fetch;
use crate::output::screen::warn;
use crate::server::Server;
use common::hostlist::compress;
use common::id::NodeName;
use common::wire::api::NodeList;
use std::collections::BTreeSet;

/// Warns about running jobs. The reservation exists already, so a failure to list them is ignored.
pub(super) async fn warn_of_jobs(server: &Server, booked: &BTreeSet<&NodeName>) {
    if booked.is_empty() {
        return;
    }
    let Ok(answer) = fetch::get::<NodeList>(server, "/v1/nodes").await else { return };
    let nodes = answer.typed.nodes.iter();
    let busy = nodes.filter(|node| booked.contains(&node.name) && !node.jobs.is_empty());
    let names: Vec<&NodeName> = busy.map(|node| &node.name).collect();
    if !names.is_empty() {
        let names = compress(names);
        warn(&format!(
            "jobs still run on {names}, and continue there until they end: `kantctl queue \
             --node={names}` lists them"
        ));
    }
}
