//! Faults of one history: their kinds, and when each happens. The world carries them out.

use crate::rng::Rng;
use clap::ValueEnum;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Kind {
    /// A controller's process is killed; its machine keeps running.
    Kill,
    /// A controller's machine loses power.
    Power,
    /// A controller's machine loses power in the middle of a write or sync.
    Tear,
    /// A controller's process is paused.
    Pause,
    /// Controllers are killed again and again.
    Storm,
    /// Controllers, nodes and users' hosts split into two groups that cannot reach each other.
    Split,
    /// Messages between one controller and some other hosts are lost in one direction.
    OneWay,
    /// Messages are lost, duplicated, delayed and reordered.
    Flaky,
    /// A controller's clock jumps.
    Clock,
    /// A controller's disk is slow.
    SlowDisk,
    /// A controller's disk is full.
    FullDisk,
    BadSync,
    /// A bit on a controller's disk flips, or the end of its log is lost; the controller is
    /// replaced.
    Rot,
    /// A controller joins or leaves.
    Members,
    /// The leadership is transferred.
    Transfer,
    /// kantd of a node is killed; its steps keep running.
    Kantd,
    /// A node is cut off, but too briefly to be lost.
    NodeCut,
    /// A node reboots, which ends its steps.
    Reboot,
    /// A node is cut off until it is lost.
    LongCut,
    /// A node has a health finding for a while.
    Sick,
    /// A node's certificate is revoked; later the node joins again.
    Revoke,
    /// The cluster key is replaced.
    RotateKey,
    /// A controller is stopped and started with the other one of two releases.
    Install,
    /// The leader is killed, messages arrive late and twice, and controllers that have just granted
    /// a vote are killed.
    Voters,
}

impl Kind {
    /// Whether it concerns certificates.
    pub const fn is_of_trust(self) -> bool {
        matches!(self, Self::Revoke | Self::RotateKey)
    }

    /// The name on the command line.
    pub fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// Parses a value from the command line: `all`, `none`, or a comma-separated list of names.
    ///
    /// # Errors
    /// A message that lists the names.
    pub fn parse_list(text: &str) -> Result<Vec<Self>, String> {
        let all = Self::value_variants();
        let one = |name: &str| {
            Self::from_str(name, false).map_err(|_| {
                let names: Vec<String> = all.iter().map(|kind| kind.name()).collect();
                format!("there is no fault `{name}`: all, none, or of {}", names.join(","))
            })
        };
        match text {
            "all" => Ok(all.to_vec()),
            "none" => Ok(Vec::new()),
            _ => text.split(',').map(one).collect(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// When it begins, in milliseconds after the cluster is up.
    pub at_ms: u64,
    pub kind: Kind,
    /// How long it lasts, in milliseconds, where that applies.
    pub lasts_ms: u64,
    /// Decides what it hits.
    pub salt: u64,
}

impl Fault {
    /// Draws a fault of one of these kinds that begins within `within_ms` milliseconds.
    pub fn draw(kinds: &[Kind], within_ms: u64, rng: &mut Rng) -> Option<Self> {
        let kind = *rng.one(kinds)?;
        let lasts_ms = match kind {
            Kind::Pause => rng.between(200, 6_000),
            Kind::Storm | Kind::Split | Kind::Flaky | Kind::Voters => rng.between(1_000, 9_000),
            Kind::OneWay | Kind::SlowDisk | Kind::FullDisk => rng.between(1_000, 8_000),
            Kind::NodeCut => rng.between(500, 8_000),
            Kind::LongCut => rng.between(24_000, 45_000),
            Kind::Sick => rng.between(500, 8_000),
            Kind::Revoke => rng.between(1_000, 30_000),
            Kind::Clock => rng.between(500, 20_000),
            _ => rng.between(100, 3_000),
        };
        let at_ms = rng.below(within_ms);
        Some(Self { at_ms, kind, lasts_ms, salt: rng.below(u64::MAX) })
    }
}
