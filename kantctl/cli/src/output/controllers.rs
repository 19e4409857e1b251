//! Controllers as a table and in sentences.

use super::record::Record;
use super::table::{Cell, Column, Table, Tint};
use common::id::ControllerId;
use common::wire::api::{ControllerList, ControllerRole, ControllerView};

const COLUMNS: [Column; 7] = [
    Column::new("ID").right_aligned(),
    Column::new("NAME").with_min_width(8),
    Column::new("ADDRESS"),
    Column::new("ROLE"),
    Column::new("HOLDS").right_aligned(),
    Column::new("BEHIND").right_aligned(),
    Column::new("HEARD"),
];

/// Controllers, one per row.
#[must_use]
pub fn table(controllers: &[ControllerView]) -> Table {
    let mut table = Table::new(&COLUMNS, &["NAME"]);
    let number = |number: Option<u64>| number.map_or("-".to_owned(), |number| number.to_string());
    for controller in controllers {
        table.add_row(vec![
            Cell::from(controller.id),
            Cell::from(if controller.name.is_empty() { "-" } else { &controller.name }),
            Cell::from(&controller.address),
            Cell::from(role(controller.role)),
            Cell::from(number(controller.holds.map(|holds| holds.0))),
            Cell::from(number(controller.behind)),
            contact_cell(controller),
        ]);
    }
    table
}

fn contact_cell(controller: &ControllerView) -> Cell {
    match controller.heard {
        Some(true) if controller.gets_snapshot => Cell::from("snapshot").with_tint(Tint::Waiting),
        Some(true) => Cell::from("yes").with_tint(Tint::Good),
        Some(false) => Cell::from("no").with_tint(Tint::Bad),
        None => Cell::from("-"),
    }
}

const fn role(role: ControllerRole) -> &'static str {
    match role {
        ControllerRole::Leader => "leader",
        ControllerRole::Voter => "voter",
        ControllerRole::Joining => "joining",
        ControllerRole::Learner => "learner",
    }
}

/// The record above the table.
#[must_use]
pub fn summary(list: &ControllerList) -> String {
    let mut record = Record::default();
    record.fact("cluster", list.cluster);
    let leader = list.leader.map_or("none".to_owned(), |id| format!("controller {id}"));
    record.fact("leader", format!("{leader}, term {}", list.term));
    record.fact("log", format!("entry {} committed", list.committed));
    if list.leader != Some(list.answering) {
        record.fact(
            "seen by",
            format!(
                "controller {}, a follower: only the leader knows the state of the others",
                list.answering
            ),
        );
    }
    record.add_optional_fact("change", list.changing.then_some("of the voters, in progress"));
    record.text()
}

/// Why the next controller must not be restarted yet; `None`: the cluster is settled. Only the
/// leader's view can show that.
#[must_use]
pub fn unsettled_reason(list: &ControllerList) -> Option<String> {
    let named = |id: ControllerId| {
        let name = list.controllers.iter().find(|one| one.id == id).map(|one| one.name.as_str());
        format!("controller {id} ({})", name.unwrap_or("unknown"))
    };
    if let Some(id) = list.moving.first() {
        return Some(format!("{} has not announced its new address yet", named(*id)));
    }
    // A controller that has just started does not know the leader.
    let Some(leader) = list.leader else {
        return Some(format!("{} does not know of a leader yet", named(list.answering)));
    };
    if leader != list.answering {
        return Some(format!("controller {leader}, the leader, does not answer"));
    }
    if list.changing {
        return Some("a change of the voters is in progress".to_owned());
    }
    list.controllers.iter().find_map(|one| {
        let is = |what: &str| Some(format!("{} {what}", named(one.id)));
        match (one.role, one.heard, one.behind) {
            (ControllerRole::Joining, ..) => is("is joining and does not vote yet"),
            (_, Some(true), Some(0)) => None,
            (_, Some(true), Some(1)) => is("is 1 log entry behind"),
            (_, Some(true), behind) => {
                is(&format!("is {} log entries behind", behind.unwrap_or_default()))
            }
            (..) => is("does not respond"),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::id::{ClusterId, LogIndex};

    fn one(id: u64, role: ControllerRole, heard: Option<bool>) -> ControllerView {
        ControllerView {
            id: ControllerId(id),
            name: format!("c{id}"),
            address: format!("10.0.0.{id}:7600"),
            role,
            holds: heard.map(|_| LogIndex(40 + id)),
            behind: heard.map(|_| 3 - id),
            heard,
            gets_snapshot: false,
        }
    }

    fn list(answering: u64) -> ControllerList {
        ControllerList {
            cluster: ClusterId(0xcafe),
            answering: ControllerId(answering),
            leader: Some(ControllerId(1)),
            term: 7,
            committed: LogIndex(43),
            changing: false,
            controllers: vec![
                one(1, ControllerRole::Leader, Some(true)),
                one(2, ControllerRole::Voter, Some(false)),
                one(3, ControllerRole::Joining, None),
            ],
            moving: Vec::new(),
        }
    }

    #[test]
    fn each_controller_is_a_row() {
        let expected = "\
ID  NAME  ADDRESS        ROLE     HOLDS  BEHIND  HEARD
 1  c1    10.0.0.1:7600  leader      41       2  yes
 2  c2    10.0.0.2:7600  voter       42       1  no
 3  c3    10.0.0.3:7600  joining      -       -  -
";
        let text = table(&list(1).controllers).render(None, false);
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        assert_eq!(lines.join("\n") + "\n", expected);
    }

    #[test]
    fn a_cluster_is_settled_once_all_controllers_respond_and_none_is_behind() {
        let text = |list: &ControllerList| unsettled_reason(list).unwrap_or_default();
        let mut seen = list(1);
        seen.controllers.iter_mut().for_each(|one| one.behind = Some(0));
        assert_eq!(text(&seen), "controller 2 (c2) does not respond");
        seen.controllers[1].heard = Some(true);
        assert_eq!(text(&seen), "controller 3 (c3) is joining and does not vote yet");
        seen.controllers[2] = one(3, ControllerRole::Learner, Some(true));
        seen.controllers[2].behind = Some(4);
        assert_eq!(text(&seen), "controller 3 (c3) is 4 log entries behind");
        seen.controllers[2].behind = Some(0);
        assert_eq!(unsettled_reason(&seen), None);
        assert!(text(&ControllerList { changing: true, ..seen.clone() }).contains("in progress"));
        seen.answering = ControllerId(2);
        assert!(text(&seen).contains("controller 1, the leader, does not answer"));
        let lost = ControllerList { leader: None, ..seen };
        assert_eq!(text(&lost), "controller 2 (c2) does not know of a leader yet");
        let moving = ControllerList { moving: vec![ControllerId(3)], ..lost };
        assert!(text(&moving).contains("controller 3 (c3) has not announced its new"));
    }

    #[test]
    fn a_followers_view_says_that_it_is_one() {
        let text = |answering| anstream::adapter::strip_str(&summary(&list(answering))).to_string();
        assert!(!text(1).contains("seen by"));
        assert!(text(2).contains("controller 2, a follower"), "{}", text(2));
    }
}
