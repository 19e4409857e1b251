//! The default rendezvous port of a job's processes, the same on all its nodes.

use crate::id::JobKey;

/// Rendezvous ports are 20000 to 29999, below the ephemeral ports of Linux.
const PORT_MIN: u16 = 20_000;
const PORTS: u64 = 10_000;

/// The port: 20000 + (101 * job + array index) mod 10000, so that consecutive jobs differ.
#[must_use]
pub fn port(key: JobKey) -> u16 {
    let index = key.index.map_or(0, |index| u64::from(index.0));
    let place = (101 * u64::from(key.job.0) + index) % PORTS;
    PORT_MIN + u16::try_from(place).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_meet_at_different_ports() {
        let port = |key: &str| port(key.parse().unwrap());
        assert_eq!((port("42"), port("43"), port("42_7")), (24_242, 24_343, 24_249));
        assert!((20_000..30_000).contains(&port("4294967295_4294967167")));
    }
}
