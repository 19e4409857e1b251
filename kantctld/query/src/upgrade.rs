//! The next step of an upgrade.

use common::rules_level::RulesLevel;
use common::wire::api::{ControllerRelease, NodeRelease, UpgradeStep, UpgradeView};
use state::State;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A follower this many entries behind the leader is not away: under load some are on their way.
const BEHIND_MAX: u64 = 64;

/// The releases of the nodes, by release.
#[must_use]
pub fn node_releases(state: &State) -> Vec<NodeRelease> {
    let mut releases: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    for (name, node) in state.nodes() {
        releases.entry(&node.version).or_default().push(name.clone());
    }
    let release = |(release, nodes): (&str, _)| NodeRelease { release: release.to_owned(), nodes };
    releases.into_iter().map(release).collect()
}

/// The releases and the next step. `is_changing`: a controller is being added or removed.
#[must_use]
pub fn upgrade(
    level: RulesLevel,
    level_max: Option<RulesLevel>,
    controllers: Vec<ControllerRelease>,
    nodes: Vec<NodeRelease>,
    is_changing: bool,
) -> UpgradeView {
    let next = next_step(level, level_max, &controllers, &nodes, is_changing);
    UpgradeView { level, level_max, controllers, nodes, next }
}

fn next_step(
    level: RulesLevel,
    level_max: Option<RulesLevel>,
    controllers: &[ControllerRelease],
    nodes: &[NodeRelease],
    is_changing: bool,
) -> UpgradeStep {
    if is_changing {
        return UpgradeStep::WaitForMembers;
    }
    let is_away = |one: &&ControllerRelease| {
        one.levels.is_none() || one.behind.is_none_or(|behind| behind > BEHIND_MAX)
    };
    if let Some(away) = controllers.iter().find(is_away) {
        return UpgradeStep::WaitForController { controller: away.id };
    }
    let newest =
        controllers.iter().filter_map(|one| one.release.as_deref()).max_by_key(release_sort_key);
    let Some(release) = newest.map(str::to_owned) else { return UpgradeStep::Complete };
    let is_old = |one: &&ControllerRelease| one.release.as_ref() != Some(&release);
    // The leader last: each transfer of the lead is a short pause for all clients.
    if let Some(old) = controllers.iter().filter(is_old).min_by_key(|one| (one.leads, one.id)) {
        return UpgradeStep::InstallController { controller: old.id, release };
    }
    let known = controllers.iter().filter_map(|one| Some(one.levels?.newest)).min();
    let higher = known.filter(|known| *known > level);
    let is_kept = |known: &RulesLevel| level_max.is_some_and(|max| max < *known);
    if let Some(level) = higher.filter(|known| !is_kept(known)) {
        return UpgradeStep::WaitForLevel { level };
    }
    let old = nodes.iter().filter(|one| one.release != release);
    let nodes: Vec<_> = old.flat_map(|one| one.nodes.iter().cloned()).collect();
    if !nodes.is_empty() {
        return UpgradeStep::InstallNodes { release, nodes };
    }
    // A level that is kept back comes last: raising it ends the way back.
    higher.map_or(UpgradeStep::Complete, |level| UpgradeStep::AllowLevel { level })
}

/// The order of releases: by numbers, and a release after those that lead to it (`1.2.0-rc1`).
fn release_sort_key(release: &&str) -> (Vec<u64>, Reverse<bool>, String) {
    let (numbers, rest) = release.split_once('-').unwrap_or((release, ""));
    let numbers = numbers.split('.').map(|number| number.parse().unwrap_or(0)).collect();
    (numbers, Reverse(!rest.is_empty()), rest.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::id::{ControllerId, NodeName};
    use common::rules_level::RulesLevels;

    fn controller(id: u64, release: &str, newest: u8) -> ControllerRelease {
        let levels = RulesLevels { oldest: RulesLevel(1), newest: RulesLevel(newest) };
        ControllerRelease {
            id: ControllerId(id),
            name: format!("c{id}"),
            leads: id == 1,
            release: Some(release.to_owned()),
            levels: Some(levels),
            behind: Some(0),
        }
    }

    /// Three controllers, of which the first leads.
    fn controllers(releases: [(&str, u8); 3]) -> Vec<ControllerRelease> {
        let one = |(id, (release, newest))| controller(id, release, newest);
        (1..).zip(releases).map(one).collect()
    }

    fn step(level: u8, max: Option<u8>, controllers: &[ControllerRelease]) -> UpgradeStep {
        let name = NodeName::new("g1").unwrap();
        let nodes = [NodeRelease { release: "0.9.0".to_owned(), nodes: vec![name] }];
        next_step(RulesLevel(level), max.map(RulesLevel), controllers, &nodes, false)
    }

    const OLD: (&str, u8) = ("0.9.0", 1);
    const NEW: (&str, u8) = ("0.10.0", 2);

    fn install(id: u64) -> UpgradeStep {
        let (controller, release) = (ControllerId(id), "0.10.0".to_owned());
        UpgradeStep::InstallController { controller, release }
    }

    #[test]
    fn the_followers_come_first_then_the_leader_then_the_level_then_the_nodes() {
        assert_eq!(step(1, None, &controllers([OLD, OLD, NEW])), install(2));
        assert_eq!(step(1, None, &controllers([OLD, NEW, NEW])), install(1));
        let all = controllers([NEW, NEW, NEW]);
        let level = RulesLevel(2);
        assert_eq!(step(1, None, &all), UpgradeStep::WaitForLevel { level });
        for step in [step(2, None, &all), step(1, Some(1), &all)] {
            let UpgradeStep::InstallNodes { release, nodes } = step else { panic!() };
            assert_eq!((release.as_str(), nodes.len()), ("0.10.0", 1));
        }
        let last = next_step(RulesLevel(1), Some(RulesLevel(1)), &all, &[], false);
        assert_eq!(last, UpgradeStep::AllowLevel { level });
        assert_eq!(step(1, None, &controllers([OLD, OLD, OLD])), UpgradeStep::Complete);
    }

    #[test]
    fn nothing_is_stopped_while_a_controller_is_away() {
        for away in [
            ControllerRelease { levels: None, ..controller(3, "0.10.0", 2) },
            ControllerRelease { behind: Some(65), ..controller(3, "0.10.0", 2) },
        ] {
            let mut all = controllers([OLD, OLD, NEW]);
            all[2] = away;
            let wait = UpgradeStep::WaitForController { controller: ControllerId(3) };
            assert_eq!(step(1, None, &all), wait);
        }
        let changing = next_step(RulesLevel(1), None, &controllers([OLD, OLD, NEW]), &[], true);
        assert_eq!(changing, UpgradeStep::WaitForMembers);
    }

    #[test]
    fn releases_are_ordered_by_their_numbers() {
        let releases = ["0.9.10", "0.10.0-rc1", "0.10.0", "1.0.0"];
        assert!(
            releases.windows(2).all(|pair| release_sort_key(&pair[0]) < release_sort_key(&pair[1]))
        );
    }
}
