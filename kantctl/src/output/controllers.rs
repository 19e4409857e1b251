//! Controllers as a table. Never asks for them.

use super::record::Record;
use super::table::{Cell, Column, Table, Tint};
use common::id::ControllerId;
use common::wire::api::{ControllerList, ControllerRole, ControllerView};

const COLUMNS: [Column; 7] = [
    Column::new("ID").right(),
    Column::new("NAME").least(8),
    Column::new("ADDRESS"),
    Column::new("ROLE"),
    Column::new("HOLDS").right(),
    Column::new("BEHIND").right(),
    Column::new("HEARD"),
];

/// Controllers, one a row.
#[must_use]
pub fn table(controllers: &[ControllerView]) -> Table {
    let mut table = Table::new(&COLUMNS, &["NAME"]);
    let number = |number: Option<u64>| number.map_or("-".to_owned(), |number| number.to_string());
    for controller in controllers {
        table.row(vec![
            Cell::from(controller.id),
            Cell::from(if controller.name.is_empty() { "-" } else { &controller.name }),
            Cell::from(&controller.address),
            Cell::from(role(controller.role)),
            Cell::from(number(controller.holds.map(|holds| holds.0))),
            Cell::from(number(controller.behind)),
            heard(controller),
        ]);
    }
    table
}

fn heard(controller: &ControllerView) -> Cell {
    match controller.heard {
        Some(true) if controller.gets_snapshot => Cell::from("snapshot").tint(Tint::Waiting),
        Some(true) => Cell::from("yes").tint(Tint::Good),
        Some(false) => Cell::from("no").tint(Tint::Bad),
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

/// What stands above the table.
#[must_use]
pub fn summary(list: &ControllerList) -> String {
    let mut record = Record::default();
    record.fact("cluster", list.cluster);
    let leader = list.leader.map_or("nobody leads".to_owned(), |id| format!("controller {id}"));
    record.fact("leader", format!("{leader}, term {}", list.term));
    record.fact("log", format!("entry {} decided", list.committed));
    if list.leader != Some(list.answering) {
        record.fact(
            "seen by",
            format!(
                "controller {}, which does not lead: only a leader knows of others",
                list.answering
            ),
        );
    }
    record.maybe("change", list.changing.then_some("of voters, under way"));
    record.text()
}

/// What an operator waits for before the next controller is restarted; `None`: nothing, all are
/// there. Only the leader's view tells.
#[must_use]
pub fn unsettled(list: &ControllerList) -> Option<String> {
    let named = |id: ControllerId| {
        let name = list.controllers.iter().find(|one| one.id == id).map(|one| one.name.as_str());
        format!("controller {id} ({})", name.unwrap_or("unknown"))
    };
    if let Some(id) = list.moving.first() {
        return Some(format!("{} has not told the others its new address yet", named(*id)));
    }
    // Who has just started does not know who leads.
    let Some(leader) = list.leader else {
        return Some(format!("{} does not know of a leader yet", named(list.answering)));
    };
    if leader != list.answering {
        return Some(format!("controller {leader}, which leads, does not answer"));
    }
    if list.changing {
        return Some("a change of voters is under way".to_owned());
    }
    list.controllers.iter().find_map(|one| {
        let said = |what: &str| Some(format!("{} {what}", named(one.id)));
        match (one.role, one.heard, one.behind) {
            (ControllerRole::Joining, ..) => said("joins, and does not vote yet"),
            (_, Some(true), Some(0)) => None,
            (_, Some(true), behind) => said(&format!("is {} behind", behind.unwrap_or_default())),
            (..) => said("is not heard"),
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
    fn a_cluster_is_settled_once_the_leader_hears_all_and_none_is_behind() {
        let told = |list: &ControllerList| unsettled(list).unwrap_or_default();
        let mut seen = list(1);
        seen.controllers.iter_mut().for_each(|one| one.behind = Some(0));
        assert_eq!(told(&seen), "controller 2 (c2) is not heard");
        seen.controllers[1].heard = Some(true);
        assert_eq!(told(&seen), "controller 3 (c3) joins, and does not vote yet");
        seen.controllers[2] = one(3, ControllerRole::Learner, Some(true));
        seen.controllers[2].behind = Some(4);
        assert_eq!(told(&seen), "controller 3 (c3) is 4 behind");
        seen.controllers[2].behind = Some(0);
        assert_eq!(unsettled(&seen), None);
        assert!(told(&ControllerList { changing: true, ..seen.clone() }).contains("under way"));
        seen.answering = ControllerId(2);
        assert!(told(&seen).contains("controller 1, which leads, does not answer"));
        let lost = ControllerList { leader: None, ..seen };
        assert_eq!(told(&lost), "controller 2 (c2) does not know of a leader yet");
        let moving = ControllerList { moving: vec![ControllerId(3)], ..lost };
        assert!(told(&moving).contains("controller 3 (c3) has not told the others its new"));
    }

    #[test]
    fn a_view_that_is_not_the_leaders_says_so() {
        let told = |answering| anstream::adapter::strip_str(&summary(&list(answering))).to_string();
        assert!(!told(1).contains("seen by"));
        assert!(told(2).contains("controller 2, which does not lead"), "{}", told(2));
    }
}
