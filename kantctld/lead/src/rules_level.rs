//! When the rules level may rise: once all members of the cluster, voters and learners, have
//! recently reported that they know a higher one. A member that is down or cut off may come back
//! with an older release, so without its report the level stays.

use common::id::ControllerId;
use common::rules_level::{RulesLevel, RulesLevels};
use common::time::Span;
use std::collections::BTreeMap;

/// How long a report counts. Controllers report about once a second.
pub const REPORTED_FOR: Span = Span::from_seconds(5);

/// The levels that the other controllers reported, with this host's uptime.
#[derive(Debug, Clone, Default)]
pub struct ReportedLevels(BTreeMap<ControllerId, (RulesLevels, Span)>);

impl ReportedLevels {
    pub fn note(&mut self, from: ControllerId, levels: RulesLevels, uptime: Span) {
        self.0.retain(|_, (_, at)| is_recent(*at, uptime));
        self.0.insert(from, (levels, uptime));
    }

    /// The levels of another controller, if it reported recently.
    #[must_use]
    pub fn of(&self, id: ControllerId, uptime: Span) -> Option<RulesLevels> {
        self.0.get(&id).filter(|(_, at)| is_recent(*at, uptime)).map(|(levels, _)| *levels)
    }

    /// The level to raise the cluster to, if it is higher than the one in force: the highest that
    /// this controller and all `others` know, and at most `limit`.
    #[must_use]
    pub fn next(
        &self,
        in_force: RulesLevel,
        own: RulesLevels,
        others: impl IntoIterator<Item = ControllerId>,
        limit: Option<RulesLevel>,
        uptime: Span,
    ) -> Option<RulesLevel> {
        let mut level = limit.map_or(own.newest, |limit| limit.min(own.newest));
        for other in others {
            level = level.min(self.of(other, uptime)?.newest);
        }
        (level > in_force).then_some(level)
    }
}

fn is_recent(at: Span, uptime: Span) -> bool {
    uptime.0.saturating_sub(at.0) <= REPORTED_FOR.0
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Span = Span::from_seconds(100);

    const fn up_to(newest: u8) -> RulesLevels {
        RulesLevels { oldest: RulesLevel(1), newest: RulesLevel(newest) }
    }

    /// Of controllers 2 and 3, which know levels up to these.
    fn reported(second: u8, third: u8) -> ReportedLevels {
        let mut reported = ReportedLevels::default();
        reported.note(ControllerId(2), up_to(second), NOW);
        reported.note(ControllerId(3), up_to(third), NOW);
        reported
    }

    fn next(reported: &ReportedLevels, limit: Option<u8>, uptime: Span) -> Option<u8> {
        let others = [ControllerId(2), ControllerId(3)];
        let next = reported.next(RulesLevel(1), up_to(3), others, limit.map(RulesLevel), uptime);
        next.map(|level| level.0)
    }

    #[test]
    fn the_level_rises_to_what_all_controllers_know() {
        assert_eq!(next(&reported(3, 2), None, NOW), Some(2));
        assert_eq!(next(&reported(4, 4), None, NOW), Some(3), "this controller knows 3");
        assert_eq!(next(&reported(3, 1), None, NOW), None);
    }

    #[test]
    fn it_stays_without_a_recent_report_of_each_controller() {
        assert_eq!(next(&reported(3, 3), None, NOW + Span::from_seconds(6)), None);
        let mut reported = ReportedLevels::default();
        reported.note(ControllerId(2), up_to(3), NOW);
        assert_eq!(next(&reported, None, NOW), None, "3 has not reported");
    }

    #[test]
    fn it_rises_no_higher_than_the_limit() {
        assert_eq!(next(&reported(3, 3), Some(2), NOW), Some(2));
        assert_eq!(next(&reported(3, 3), Some(1), NOW), None);
    }

    #[test]
    fn a_controller_alone_raises_it_at_once() {
        let alone = ReportedLevels::default().next(RulesLevel(1), up_to(3), [], None, NOW);
        assert_eq!(alone, Some(RulesLevel(3)));
    }
}
