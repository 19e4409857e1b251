//! `kantctl admin node`: invitations of nodes, and their certificates.

use crate::failure::{Failure, OK};
use crate::fetch::Answer;
use crate::output::Screen;
use crate::output::screen::note;
use crate::output::table::{Cell, Column, Table};
use crate::output::time::local;
use crate::output::user_names::user;
use crate::output::zone::Zone;
use crate::server::{Retry, Server};
use anyhow::Context as _;
use clap::Subcommand;
use common::hostlist;
use common::id::NodeName;
use common::time::Span;
use common::wire::api::{EnrolmentList, EnrolmentView, NodeInviteRequest};
use serde_json::Value;

pub const EXAMPLES: &str = "\
Examples:
  kantctl admin node invite g017
  kantctl admin node invite 'g[001-064]' --expires 1d
  kantctl admin node list
  kantctl admin node revoke g017";

const INVITE_EXAMPLES: &str = "\
Examples:
  kantctl admin node invite g017
  kantctl admin node invite 'g[001-064]' --expires 1d
  kantctl --json admin node invite

Run it on the host of the leader, over the leader's own socket. The invitation admits each of the
named nodes once; without names, one node whose name is new. Treat it like a password. Pass it to
`kantd setup` or `kantd join` on the node. A node that is invited by name and joins again gets a new
certificate, and its earlier ones are no longer valid.";

const LIST_EXAMPLES: &str = "\
Examples:
  kantctl admin node list
  kantctl --json admin node list";

const REVOKE_EXAMPLES: &str = "\
Examples:
  kantctl admin node revoke g017
  kantctl --json admin node revoke g017

For a machine that is lost or compromised. Its connections end, on all controllers, and it cannot
connect again. Its jobs are treated like those of a silent node: they are requeued after
`node_lost_after_seconds`.";

const ENROLMENTS: &str = "/v1/enrolments";
const INVITE: &str = "/v1/enrolments/invite";

#[derive(Subcommand, Debug)]
pub enum Node {
    /// Invite one node, or several by name
    #[command(after_help = INVITE_EXAMPLES)]
    Invite(Invite),
    /// List the nodes that have joined, and those whose certificates are revoked
    #[command(after_help = LIST_EXAMPLES)]
    List,
    /// Make the certificates of a node invalid, at once
    #[command(after_help = REVOKE_EXAMPLES)]
    Revoke(One),
}

#[derive(clap::Args, Debug)]
pub struct Invite {
    /// The nodes that may join, like g017 or g[001-064]; none: one node whose name is new
    #[arg(value_name = "NODES")]
    pub nodes: Option<String>,
    /// How long the invitation is valid, at most a week: minutes, h:m:s, 90m, 2h, 1d
    #[arg(long, value_name = "TIME", default_value = "1h")]
    pub expires: Span,
}

#[derive(clap::Args, Debug)]
pub struct One {
    /// The node
    #[arg(value_name = "NODE")]
    pub name: NodeName,
}

/// # Errors
/// [`Failure`] when the controller refuses or does not answer.
pub async fn run(node: &Node, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let raw: Value = match node {
        Node::Invite(asked) => return invite(asked, server, screen).await,
        Node::List => server.get(ENROLMENTS).await?,
        Node::Revoke(One { name }) => {
            let path = format!("{ENROLMENTS}/{name}/revoke");
            server.post(&path, &Value::Null, Retry::IfUnsent).await?
        }
    };
    let answer: Answer<EnrolmentList> = raw.try_into()?;
    if screen.json {
        screen.print_answer_json(&answer.raw)?;
        return Ok(OK);
    }
    if answer.typed.enrolments.is_empty() {
        note("no node has joined yet: `kantctl admin node invite` admits one");
        return Ok(OK);
    }
    screen.print_table(&table(&answer.typed.enrolments, &screen.zone))?;
    Ok(OK)
}

async fn invite(asked: &Invite, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let Invite { nodes, expires: lasts } = asked;
    let names = match nodes {
        Some(nodes) => hostlist::expand(nodes).context("failed to read the nodes to invite")?,
        None => Vec::new(),
    };
    let count = names.len();
    let request = NodeInviteRequest { lasts: *lasts, names };
    let raw: Value = server.post(INVITE, &request, Retry::IfUnsent).await?;
    let place = match (nodes, count) {
        (Some(nodes), 1) => format!("as root on {nodes}; it admits that node once"),
        (Some(nodes), _) => format!("as root on each of {nodes}; it admits each of them once"),
        (None, _) => "as root on the new node; it admits one node".to_owned(),
    };
    super::show_invitation(raw, "kantd", &place, screen)
}

const COLUMNS: [Column; 5] = [
    Column::new("NODE").with_min_width(8),
    Column::new("ENROLMENT").right_aligned(),
    Column::new("SINCE"),
    Column::new("BY").right_aligned(),
    Column::new("STATE"),
];

fn table(enrolments: &[EnrolmentView], zone: &Zone) -> Table {
    let mut table = Table::new(&COLUMNS, &["NODE"]);
    for one in enrolments {
        let state = match (one.revoked_at, one.revoked_by) {
            (Some(at), Some(by)) => format!("revoked {} by {}", local(at, zone), user(by.0)),
            _ => "valid".to_owned(),
        };
        table.add_row(vec![
            Cell::from(&one.name),
            Cell::from(one.number),
            Cell::from(local(one.at, zone)),
            Cell::from(user(one.by.0)),
            Cell::from(state),
        ]);
    }
    table
}
