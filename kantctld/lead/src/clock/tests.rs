//! Tests of cluster time with wall clocks that leap, drift and stand still.

use super::*;
use proptest::prelude::*;

/// When the hosts booted, by a true clock.
const BEGAN: Time = Time(1_700_000_000_000);
const OTHER: ControllerId = ControllerId(2);
const THIRD: ControllerId = ControllerId(3);
const HOUR_MS: i64 = 3_600_000;

/// One host: its clock, and the true time.
struct Host {
    clock: ClusterClock,
    uptime: Span,
    /// How far its wall clock is off, in milliseconds.
    off: i64,
}

impl Host {
    /// A host whose controller starts while its wall clock is off by this.
    fn starts(off: i64) -> Self {
        let wall = Time(BEGAN.0.saturating_add_signed(off));
        let clock = ClusterClock::new(Reading { wall, uptime: Span(0) });
        Self { clock, uptime: Span(0), off }
    }

    /// A host whose controller has returned a first, correct result.
    fn started() -> Self {
        let mut host = Self::starts(0);
        assert_eq!(host.now(), BEGAN);
        host
    }

    fn truth(&self) -> Time {
        BEGAN + self.uptime
    }

    fn wall(&self) -> Time {
        Time(self.truth().0.saturating_add_signed(self.off))
    }

    fn now(&mut self) -> Time {
        self.clock.now(Reading { wall: self.wall(), uptime: self.uptime })
    }

    /// Lets time pass and returns the cluster time.
    fn after(&mut self, milliseconds: u64) -> Time {
        self.uptime = self.uptime + Span(milliseconds);
        self.now()
    }

    /// Lets seconds pass, with a reading in each.
    fn seconds(&mut self, seconds: u64) -> Time {
        (0..seconds).map(|_| self.after(1000)).last().unwrap()
    }

    fn hear(&mut self, wall: Time) {
        self.clock.note_peer_clock(OTHER, wall, self.uptime);
    }

    /// Receives readings of wall clocks of other controllers that are off by these.
    fn hear_all(&mut self, off: &[i64]) {
        for (from, off) in [OTHER, THIRD, ControllerId(4), ControllerId(5)].into_iter().zip(off) {
            let wall = Time(self.truth().0.saturating_add_signed(*off));
            self.clock.note_peer_clock(from, wall, self.uptime);
        }
    }
}

#[test]
fn a_time_that_is_only_shown_leaves_the_first_result_open() {
    let mut host = Host::starts(30_000);
    let reading = Reading { wall: host.wall(), uptime: host.uptime };
    assert_eq!(host.clock.provisional_time(reading), Some(host.wall()));
    host.uptime = Span(2_000);
    for from in [OTHER, THIRD] {
        host.clock.note_peer_clock(from, host.truth(), host.uptime);
    }
    assert_eq!(host.now(), host.truth(), "as most clocks show");
    let reading = Reading { wall: host.wall(), uptime: host.uptime };
    assert_eq!(host.clock.provisional_time(reading), None);
}

#[test]
fn a_leap_between_the_start_and_the_first_result_is_not_believed() {
    // A follower reads no cluster time before it leads.
    let mut host = Host::starts(0);
    host.uptime = Span::from_seconds(20);
    host.off = HOUR_MS;
    assert_eq!(host.now(), host.truth());
    assert_eq!(host.seconds(59), host.truth(), "not even without contact with others");
    host.off = 0;
    assert_eq!(host.seconds(1), host.truth());
}

#[test]
fn the_first_result_is_what_most_clocks_show_and_not_a_wrong_clock_at_the_start() {
    for off in [HOUR_MS, -HOUR_MS] {
        let mut host = Host::starts(off);
        host.hear_all(&[1000, -1000]);
        let first = host.after(2000);
        assert!(are_near(first, host.truth()), "{first}");
        // Its wall clock was set right meanwhile, and one other controller agrees with it.
        let mut host = Host::starts(off);
        host.off = 0;
        host.hear_all(&[-1000]);
        assert_eq!(host.after(2000), host.truth());
    }
}

#[test]
fn without_a_majority_the_first_result_is_the_clock_at_the_start() {
    let others: [&[i64]; 4] = [&[], &[HOUR_MS], &[HOUR_MS, -HOUR_MS], &[HOUR_MS, HOUR_MS, 0]];
    for off in others {
        let mut host = Host::starts(-10_000);
        host.hear_all(off);
        assert_eq!(host.after(2000), host.wall(), "{off:?}");
    }
    // Readings that are too old do not count.
    let mut host = Host::starts(-10_000);
    host.hear_all(&[0, 0]);
    assert_eq!(host.after(11_000), host.wall());
}

#[test]
fn a_wrong_clock_that_another_one_confirms_is_not_believed_against_a_majority() {
    let mut host = Host::started();
    host.off = HOUR_MS;
    for _ in 0..120 {
        host.hear_all(&[HOUR_MS, 0, 0, 0]);
        host.seconds(1);
    }
    assert_eq!(host.now(), host.truth());
    // Two against two is no majority either.
    host.clock.others.clear();
    host.hear_all(&[HOUR_MS, 0, 0]);
    assert_eq!(host.seconds(5), host.truth());
    host.clock.others.clear();
    host.hear_all(&[HOUR_MS, 0]);
    assert_eq!(host.seconds(1), host.wall(), "two of three are a majority");
}

#[test]
fn a_wall_clock_that_leaps_ahead_for_seconds_leaves_no_trace() {
    let mut host = Host::started();
    host.seconds(10);
    host.off = 3_600_000;
    assert_eq!(host.seconds(30), host.truth(), "it follows the time elapsed");
    assert!(host.clock.is_wall_clock_doubted());
    host.off = 0;
    assert_eq!(host.seconds(1), host.truth());
    assert!(!host.clock.is_wall_clock_doubted());
}

#[test]
fn a_leap_that_another_controllers_clock_confirms_is_believed_at_once() {
    let mut host = Host::started();
    host.hear(host.truth());
    host.off = 3_600_000;
    assert_eq!(host.seconds(5), host.truth(), "the other one does not confirm it");
    host.hear(host.wall() - Span::from_seconds(3));
    assert_eq!(host.seconds(1), host.wall());
    assert!(!host.clock.is_wall_clock_doubted());
}

#[test]
fn a_leap_that_another_controllers_clock_contradicts_is_never_believed() {
    let mut host = Host::started();
    host.off = 600_000;
    for _ in 0..1000 {
        host.hear(host.truth());
        host.seconds(1);
    }
    assert_eq!(host.now(), host.truth());
    // An old reading does not count: then it is alone, but has not been for long.
    assert_eq!(host.seconds(9 + 59), host.truth());
    assert_eq!(host.seconds(2), host.wall());
}

#[test]
fn a_single_controller_believes_a_leap_that_lasts_and_not_one_that_comes_and_goes() {
    let mut host = Host::started();
    for _ in 0..20 {
        host.off = 3_600_000;
        host.seconds(40);
        host.off = 0;
        host.seconds(1);
    }
    assert_eq!(host.now(), host.truth());
    host.off = 3_600_000;
    host.seconds(60);
    assert_eq!(host.now(), host.truth());
    assert_eq!(host.seconds(2), host.wall());
}

#[test]
fn time_ahead_of_the_wall_clock_runs_at_half_speed_until_it_has_caught_up() {
    let mut host = Host::starts(0);
    // As after a leader whose clock was wrong.
    host.clock.note_log_stamp(BEGAN + Span::from_seconds(3600));
    let first = host.now();
    assert_eq!(first, BEGAN + Span::from_seconds(3600));
    // A single controller believes its wall clock after a minute.
    host.seconds(61);
    let (before, begun) = (host.now(), host.truth());
    let later = host.seconds(1000);
    assert_eq!(later.since(before), Span::from_seconds(500));
    assert_eq!(host.truth().since(begun), Span::from_seconds(1000));
    host.seconds(2 * 3600);
    assert_eq!(host.now(), host.truth(), "and is correct from then on");
}

#[test]
fn a_suspended_host_has_not_leapt() {
    let mut host = Host::started();
    // Both clocks go on meanwhile.
    assert_eq!(host.after(8 * 3_600_000), host.truth());
    assert!(!host.clock.is_wall_clock_doubted());
}

#[test]
fn a_new_leader_continues_from_the_old_ones_time_and_not_from_its_own_wall_clock() {
    let mut host = Host::starts(50_000);
    host.now();
    host.clock.follow(host.truth(), host.uptime);
    host.clock.note_log_stamp(host.truth() + Span(40));
    host.hear(host.truth());
    assert_eq!(host.after(2000), host.truth());
}

#[test]
fn small_steps_lose_no_time() {
    let mut host = Host::started();
    host.off = 4000;
    // Read every millisecond: an eighth faster is four seconds in half a minute.
    for _ in 0..33_000 {
        host.after(1);
    }
    assert_eq!(host.now(), host.wall());
    host.off = 0;
    for _ in 0..8_001 {
        host.after(1);
    }
    assert_eq!(host.now(), host.truth(), "half as fast is four seconds in eight");
}

#[derive(Debug, Clone)]
enum Happens {
    Passes(u64),
    Leaps(i64),
    Creeps(i64),
    Heard(i64),
    Stamp(u64),
}

fn happens() -> impl Strategy<Value = Happens> {
    prop_oneof![
        4 => (0u64..20_000).prop_map(Happens::Passes),
        1 => (-4_000_000i64..4_000_000).prop_map(Happens::Leaps),
        2 => (-4_000i64..4_000).prop_map(Happens::Creeps),
        1 => (-4_000_000i64..4_000_000).prop_map(Happens::Heard),
        1 => (0u64..5_000).prop_map(Happens::Stamp),
    ]
}

proptest! {
    #[test]
    fn time_only_rises_is_never_far_ahead_of_the_time_elapsed_and_reaches_the_wall_clock(
        history in proptest::collection::vec(happens(), 1..200)
    ) {
        let mut host = Host::started();
        let (mut last, mut at) = (host.now(), host.uptime);
        let mut heard: Vec<Time> = Vec::new();
        let mut leapt_since = None;
        for event in history {
            let mut stamp = Time(0);
            match event {
                Happens::Passes(milliseconds) => host.uptime = host.uptime + Span(milliseconds),
                Happens::Leaps(off) => host.off = off,
                Happens::Creeps(by) => host.off += by,
                Happens::Heard(off) => {
                    let wall = Time(host.truth().0.saturating_add_signed(off));
                    host.hear(wall);
                    heard.push(wall);
                }
                Happens::Stamp(ahead) => {
                    stamp = last + Span(ahead);
                    host.clock.note_log_stamp(stamp);
                }
            }
            let now = host.now();
            let passed = Span(host.uptime.0 - at.0);
            prop_assert!(now >= last, "{now:?} after {last:?}");
            let was_doubted = *leapt_since.get_or_insert(host.uptime);
            let may_leap = !heard.is_empty() || was_doubted + DOUBT_MAX <= host.uptime;
            if !may_leap {
                let most = (last + passed + Span(passed.0 / 8 + 1)).max(stamp);
                prop_assert!(now <= most, "{now:?} is more than {most:?}");
            }
            if !host.clock.is_wall_clock_doubted() {
                leapt_since = None;
            }
            (last, at) = (now, host.uptime);
        }
        // Undisturbed it reaches the wall clock within a minute and twice what it is ahead.
        let gap = host.now().since(host.wall());
        host.seconds(100 + gap.seconds() * 2);
        prop_assert_eq!(host.now(), host.wall());
    }
}
