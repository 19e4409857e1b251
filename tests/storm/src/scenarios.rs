//! Histories written by hand, by name: situations that every operator meets one day.

use crate::faults::{Fault, Kind};
use crate::plan::{self, Plan};
use crate::rng::Rng;
use crate::services;
use crate::work;

pub type Scenario = (&'static str, Plan);

pub fn all() -> Vec<Scenario> {
    vec![
        ("the leader is killed every two seconds under load", killed_again_and_again()),
        ("all controllers lose power at once", dark()),
        ("a cluster grows from one to five under load and shrinks again", grows_and_shrinks()),
        ("a node comes back after it was given up", comes_back()),
        ("the lead goes round while kantd of every node restarts", goes_round()),
        ("a damaged controller is replaced while another stands still", replaced()),
        ("a controller starts while its clock is ahead, which is set right then", set_right()),
    ]
}

fn plan_of_faults(controllers: usize, nodes: usize, seconds: u64, faults: Vec<Fault>) -> Plan {
    let trouble_ms = seconds * 1_000;
    let [on_services, last] = services::draw(trouble_ms, nodes, &mut Rng::new(7, 8));
    let mut works = work::draw(60, trouble_ms, nodes, on_services, &mut Rng::new(7, 2));
    works.extend(plan::after(trouble_ms, last));
    Plan {
        seed: 7,
        controllers,
        nodes,
        works,
        faults,
        trouble_ms,
        snapshot_every: 40,
        snapshot_bytes_min: 32 << 10,
        node_lost_after_ms: 12_000,
        mutant: None,
    }
}

fn timed_fault(at_ms: u64, kind: Kind, lasts_ms: u64) -> Fault {
    Fault { at_ms, kind, lasts_ms, salt: at_ms.wrapping_mul(0x9e37_79b9) }
}

fn killed_again_and_again() -> Plan {
    let kills = (1..15).map(|n| timed_fault(n * 2_000, Kind::Kill, 700)).collect();
    plan_of_faults(3, 4, 32, kills)
}

fn dark() -> Plan {
    // The salts differ, so that every controller is hit sooner or later.
    let cuts = (0..12).map(|n| timed_fault(6_000 + n, Kind::Power, 100)).collect();
    plan_of_faults(3, 3, 20, cuts)
}

fn grows_and_shrinks() -> Plan {
    let changes = (0..14).map(|n| timed_fault(500 + n * 3_000, Kind::Members, 100)).collect();
    plan_of_faults(1, 4, 50, changes)
}

fn comes_back() -> Plan {
    plan_of_faults(3, 3, 50, vec![timed_fault(4_000, Kind::LongCut, 30_000)])
}

fn goes_round() -> Plan {
    let moves = (0..10).map(|n| timed_fault(1_000 + n * 1_500, Kind::Transfer, 100));
    let restarts = (0..12).map(|n| timed_fault(1_300 + n * 1_300, Kind::Kantd, 400));
    plan_of_faults(3, 6, 22, moves.chain(restarts).collect())
}

fn replaced() -> Plan {
    plan_of_faults(
        3,
        4,
        30,
        vec![timed_fault(6_000, Kind::Rot, 100), timed_fault(9_000, Kind::Pause, 3_000)],
    )
}

fn set_right() -> Plan {
    // A lone controller believes the clock after a minute, and its time stays ahead for longer than
    // that.
    plan_of_faults(
        1,
        3,
        200,
        vec![timed_fault(4_000, Kind::Clock, 12_000), timed_fault(8_000, Kind::Kill, 700)],
    )
}
