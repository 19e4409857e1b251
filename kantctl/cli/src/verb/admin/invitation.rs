//! `kantctl admin invitation`: the open invitations of nodes and controllers.

use crate::failure::{Failure, OK};
use crate::fetch::Answer;
use crate::output::Screen;
use crate::output::screen::note;
use crate::output::table::{Cell, Column, Table};
use crate::output::time::local;
use crate::output::zone::Zone;
use crate::server::{Retry, Server, encoded};
use clap::Subcommand;
use common::hostlist;
use common::wire::api::{InvitationList, InvitationView};
use serde_json::Value;

pub const EXAMPLES: &str = "\
Examples:
  kantctl admin invitation list
  kantctl admin invitation withdraw 3f9a0c51e7d2";

const LIST_EXAMPLES: &str = "\
Examples:
  kantctl admin invitation list
  kantctl --json admin invitation list";

const WITHDRAW_EXAMPLES: &str = "\
Examples:
  kantctl admin invitation withdraw 3f9a0c51e7d2
  kantctl --json admin invitation withdraw 3f9a0c51e7d2

Hosts that have joined by it stay. To shut one out, revoke it: `kantctl admin node revoke`.";

const INVITATIONS: &str = "/v1/invitations";

#[derive(Subcommand, Debug)]
pub enum Invitation {
    /// List the invitations by which hosts may still join
    #[command(after_help = LIST_EXAMPLES)]
    List,
    /// End an invitation before its time
    #[command(after_help = WITHDRAW_EXAMPLES)]
    Withdraw(One),
}

#[derive(clap::Args, Debug)]
pub struct One {
    /// Id of the invitation, as shown by `kantctl admin invitation list`
    #[arg(value_name = "ID")]
    pub id: String,
}

/// # Errors
/// [`Failure`] when the controller refuses or does not answer.
pub async fn run(asked: &Invitation, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let raw: Value = match asked {
        Invitation::List => server.get(INVITATIONS).await?,
        Invitation::Withdraw(One { id }) => {
            let path = format!("{INVITATIONS}/{}/withdraw", encoded(id));
            server.post(&path, &Value::Null, Retry::IfUnsent).await?
        }
    };
    let answer: Answer<InvitationList> = raw.try_into()?;
    if screen.json {
        screen.print_answer_json(&answer.raw)?;
        return Ok(OK);
    }
    if answer.typed.invitations.is_empty() {
        note("no invitation is open");
        return Ok(OK);
    }
    screen.print_table(&table(&answer.typed.invitations, &screen.zone))?;
    Ok(OK)
}

const COLUMNS: [Column; 4] = [
    Column::new("ID"),
    Column::new("UNTIL"),
    Column::new("BY").right_aligned(),
    Column::new("ADMITS").with_min_width(8),
];

fn table(invitations: &[InvitationView], zone: &Zone) -> Table {
    let mut table = Table::new(&COLUMNS, &["ADMITS"]);
    for one in invitations {
        let admits = match (one.controller, one.nodes.is_empty()) {
            (true, _) => "a controller".to_owned(),
            (false, true) => "a node of a new name".to_owned(),
            (false, false) => hostlist::compress(&one.nodes),
        };
        table.add_row(vec![
            Cell::from(&one.id),
            Cell::from(local(one.until, zone)),
            Cell::from(one.by),
            Cell::from(admits),
        ]);
    }
    table
}
