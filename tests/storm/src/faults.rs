//! Faults of one history: their kinds, and when each happens. The world carries them out.

use crate::rng::Rng;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
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
}

impl Kind {
    pub const ALL: &[Self] = &[
        Self::Kill,
        Self::Power,
        Self::Tear,
        Self::Pause,
        Self::Storm,
        Self::Split,
        Self::OneWay,
        Self::Flaky,
        Self::Clock,
        Self::SlowDisk,
        Self::FullDisk,
        Self::BadSync,
        Self::Rot,
        Self::Members,
        Self::Transfer,
        Self::Kantd,
        Self::NodeCut,
        Self::Reboot,
        Self::LongCut,
        Self::Sick,
    ];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kill => "kill",
            Self::Power => "power",
            Self::Tear => "tear",
            Self::Pause => "pause",
            Self::Storm => "storm",
            Self::Split => "split",
            Self::OneWay => "one-way",
            Self::Flaky => "flaky",
            Self::Clock => "clock",
            Self::SlowDisk => "slow-disk",
            Self::FullDisk => "full-disk",
            Self::BadSync => "bad-sync",
            Self::Rot => "rot",
            Self::Members => "members",
            Self::Transfer => "transfer",
            Self::Kantd => "kantd",
            Self::NodeCut => "node-cut",
            Self::Reboot => "reboot",
            Self::LongCut => "long-cut",
            Self::Sick => "sick",
        }
    }

    /// Parses a value from the command line: `all`, `none`, or a comma-separated list of names.
    ///
    /// # Errors
    /// A message that lists the names.
    pub fn parse_list(text: &str) -> Result<Vec<Self>, String> {
        match text {
            "all" => return Ok(Self::ALL.to_vec()),
            "none" => return Ok(Vec::new()),
            _ => {}
        }
        let find = |name: &str| Self::ALL.iter().copied().find(|kind| kind.name() == name);
        let one = |name: &str| {
            find(name).ok_or_else(|| {
                let names: Vec<&str> = Self::ALL.iter().map(|kind| kind.name()).collect();
                format!("there is no fault `{name}`: all, none, or of {}", names.join(","))
            })
        };
        text.split(',').map(one).collect()
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
            Kind::Storm | Kind::Split | Kind::Flaky => rng.between(1_000, 9_000),
            Kind::OneWay | Kind::SlowDisk | Kind::FullDisk => rng.between(1_000, 8_000),
            Kind::NodeCut => rng.between(500, 8_000),
            Kind::LongCut => rng.between(24_000, 45_000),
            Kind::Sick => rng.between(500, 8_000),
            Kind::Clock => rng.between(500, 20_000),
            _ => rng.between(100, 3_000),
        };
        let at_ms = rng.below(within_ms);
        Some(Self { at_ms, kind, lasts_ms, salt: rng.below(u64::MAX) })
    }
}
