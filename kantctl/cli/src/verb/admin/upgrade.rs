//! `kantctl admin upgrade`: what runs where, and the next step of an upgrade.

use crate::failure::{Failure, OK};
use crate::fetch::Answer;
use crate::output::Screen;
use crate::output::table::{Cell, Column, Table, Tint};
use crate::server::Server;
use clap::Subcommand;
use common::hostlist;
use common::wire::api::{ControllerRelease, UpgradeStep, UpgradeView};
use serde_json::Value;

pub const EXAMPLES: &str = "\
Examples:
  kantctl admin upgrade status
  kantctl admin upgrade check                    # may the next controller be stopped?

An upgrade stops nothing: install the new release on one controller after the other, the leader
last, then on the nodes. What the new release adds is available once all controllers run it.";

const STATUS_EXAMPLES: &str = "\
Examples:
  kantctl admin upgrade status
  kantctl --json admin upgrade status";

const CHECK_EXAMPLES: &str = "\
Examples:
  kantctl admin upgrade check
  kantctl --json admin upgrade check

Exit status 1: the next step is to wait, for example because a controller is down, so that no other
may be stopped.";

const UPGRADE: &str = "/v1/upgrade";
/// The exit status of a check that says to wait.
const WAIT: u8 = 1;

const COLUMNS: [Column; 6] = [
    Column::new("ID").right_aligned(),
    Column::new("NAME").with_min_width(8),
    Column::new("ROLE"),
    Column::new("RELEASE"),
    Column::new("LEVELS"),
    Column::new("STATE"),
];

#[derive(Subcommand, Debug)]
pub enum Upgrade {
    /// Show the releases of all controllers and nodes, and the next step
    #[command(after_help = STATUS_EXAMPLES)]
    Status,
    /// Print the next step, and fail if it is to wait
    #[command(after_help = CHECK_EXAMPLES)]
    Check,
}

/// # Errors
/// [`Failure`] when the controller refuses or does not answer.
pub async fn run(asked: &Upgrade, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let answer: Answer<UpgradeView> = server.get::<Value>(UPGRADE).await?.try_into()?;
    let view = &answer.typed;
    let next = format!("Next: {}", next_step_text(view));
    match (screen.json, asked) {
        (true, _) => screen.print_answer_json(&answer.raw)?,
        (false, Upgrade::Status) => {
            screen.print_line(&format!("Rules level {} is in force.\n", view.level))?;
            screen.print_table(&table(view))?;
            screen.print_line("")?;
            for line in nodes(view) {
                screen.print_line(&line)?;
            }
            screen.print_line(&next)?;
        }
        (false, Upgrade::Check) => screen.print_line(&next)?,
    }
    let waits = matches!(asked, Upgrade::Check) && view.next.is_wait();
    Ok(if waits { WAIT } else { OK })
}

fn table(view: &UpgradeView) -> Table {
    let mut table = Table::new(&COLUMNS, &["NAME"]);
    for one in &view.controllers {
        let levels = one.levels.map_or("-".to_owned(), |levels| match levels.oldest {
            oldest if oldest == levels.newest => oldest.to_string(),
            oldest => format!("{oldest}-{}", levels.newest),
        });
        table.add_row(vec![
            Cell::from(one.id),
            Cell::from(if one.name.is_empty() { "-" } else { &one.name }),
            Cell::from(if one.leads { "leader" } else { "follower" }),
            Cell::from(one.release.as_deref().unwrap_or("-")),
            Cell::from(levels),
            state(one),
        ]);
    }
    table
}

fn state(one: &ControllerRelease) -> Cell {
    match (one.levels, one.behind) {
        (None, _) => Cell::from("no contact").with_tint(Tint::Bad),
        (Some(_), Some(0)) => Cell::from("up").with_tint(Tint::Good),
        (Some(_), Some(behind)) => {
            Cell::from(format!("{behind} entries behind")).with_tint(Tint::Waiting)
        }
        (Some(_), None) => Cell::from("unknown").with_tint(Tint::Waiting),
    }
}

/// A line for each release on the nodes.
fn nodes(view: &UpgradeView) -> Vec<String> {
    let line = |release: &str, count: usize, names: String| match count {
        1 => format!("Node {names} runs kantd {release}."),
        count => format!("{count} nodes run kantd {release}: {names}"),
    };
    let releases = view.nodes.iter();
    releases
        .map(|one| line(&one.release, one.nodes.len(), hostlist::compress(&one.nodes)))
        .collect()
}

fn next_step_text(view: &UpgradeView) -> String {
    let named = |id| {
        let found = view.controllers.iter().find(|one| one.id == id);
        found.map_or(format!("controller {id}"), |one| format!("controller {id} ({})", one.name))
    };
    match &view.next {
        UpgradeStep::WaitForController { controller } => format!(
            "wait for {}, which is out of contact or lacks entries of the log; stop no other \
             controller",
            named(*controller)
        ),
        UpgradeStep::WaitForMembers => {
            "wait until the change of controllers is complete; stop none of them".to_owned()
        }
        UpgradeStep::InstallController { controller, release } => {
            format!("install kantctld {release} on {} and restart it", named(*controller))
        }
        UpgradeStep::AllowLevel { level } => format!(
            "when the old release is no longer needed, set `rules_level_max` to {level} or 0 on \
             the leader, then `kantctl reload`; from then on the old release cannot be started again"
        ),
        UpgradeStep::WaitForLevel { level } => {
            format!("wait a moment: the leader raises the rules level to {level}")
        }
        UpgradeStep::InstallNodes { release, nodes } => {
            format!("install kantd {release} on {} and restart it", hostlist::compress(nodes))
        }
        UpgradeStep::Complete => "nothing; all controllers and nodes run one release".to_owned(),
    }
}
