//! When nodes without a leader end their jobs: the value of the configuration, and its bound.

use common::config::ControllerConfig;
use common::time::Span;

/// The time that a node has, after the last SIGKILL, until its processes are gone. It also covers
/// what clocks differ in a few minutes.
const CLEANUP_SECONDS: u64 = 10;

/// The shortest fence that is set without being configured: below it, a short fault of the network
/// would end jobs.
const AFTER_SECONDS_MIN: u64 = 10;

/// How long a node goes on without a leader; zero means for ever.
#[must_use]
pub fn fence_after(config: &ControllerConfig) -> Span {
    let most = fence_max_seconds(config);
    // While the only controller is down, nothing starts a job a second time: its outage must not
    // end jobs.
    let is_lone = config.peers.len() <= 1;
    let derived = if is_lone || most < AFTER_SECONDS_MIN { 0 } else { most };
    Span::from_seconds(config.fence_after_seconds.0.unwrap_or(derived))
}

/// The longest fence with which the jobs of a node have ended when it is lost.
#[must_use]
pub const fn fence_max_seconds(config: &ControllerConfig) -> u64 {
    let ends = config.kill_grace_seconds.saturating_add(CLEANUP_SECONDS);
    config.node_lost_after_seconds.saturating_sub(ends)
}

/// The shortest `node_lost_after_seconds` with which this fence is safe.
#[must_use]
pub const fn lost_after_min_seconds(fence_seconds: u64, config: &ControllerConfig) -> u64 {
    fence_seconds.saturating_add(config.kill_grace_seconds).saturating_add(CLEANUP_SECONDS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::config::AutoSeconds;

    fn with(lost: u64, fence: Option<u64>) -> ControllerConfig {
        ControllerConfig {
            node_lost_after_seconds: lost,
            fence_after_seconds: AutoSeconds(fence),
            kill_grace_seconds: 30,
            peers: ["a:7600", "b:7600", "c:7600"].map(str::to_owned).to_vec(),
            ..ControllerConfig::default()
        }
    }

    #[test]
    fn a_single_controller_sets_no_fence_unless_it_is_configured() {
        let lone = |fence| ControllerConfig { peers: Vec::new(), ..with(300, fence) };
        assert_eq!(fence_after(&lone(None)), Span(0));
        assert_eq!(fence_after(&lone(Some(100))), Span::from_seconds(100));
    }

    #[test]
    fn the_fence_leaves_time_to_end_jobs_before_the_node_is_lost() {
        assert_eq!(fence_after(&with(300, None)), Span::from_seconds(260));
        assert_eq!(fence_after(&with(300, Some(100))), Span::from_seconds(100));
        assert_eq!(fence_after(&with(300, Some(0))), Span(0));
        assert_eq!(lost_after_min_seconds(260, &with(300, None)), 300);
    }

    #[test]
    fn too_short_a_time_until_a_node_is_lost_leaves_no_fence() {
        assert_eq!(fence_after(&with(50, None)), Span::from_seconds(10));
        assert_eq!(fence_after(&with(49, None)), Span(0));
        assert_eq!(fence_after(&with(1, None)), Span(0));
    }
}
