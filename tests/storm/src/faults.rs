//! What may go wrong, by name, and when it does in one history. Never does any of it; the world
//! does.

use crate::dice::Dice;

/// A kind of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A controller's process is killed; its machine runs on.
    Kill,
    /// A controller's machine loses power.
    Power,
    /// The power goes in the middle of a write.
    Tear,
    /// A controller's process stands still.
    Pause,
    /// A controller is killed again and again.
    Storm,
    /// Controllers, nodes and clients fall into two groups that do not reach each other.
    Split,
    /// Messages in one direction between two hosts are lost.
    OneWay,
    /// Messages are lost, doubled, late and out of order.
    Flaky,
    /// A controller's clock jumps.
    Clock,
    /// A controller's disk takes long.
    SlowDisk,
    /// A controller's disk is full.
    FullDisk,
    BadSync,
    /// A byte on a controller's disk turns; the controller is replaced.
    Rot,
    /// A controller joins, or one leaves.
    Members,
    /// The lead is handed on.
    Transfer,
    /// kantd of a node is killed, not its steps.
    Kantd,
    /// A node is cut off, for less than makes it lost.
    NodeCut,
    /// A node boots anew: its steps are gone.
    Reboot,
    /// A node is cut off until it is given up.
    LongCut,
    /// A node finds something wrong with itself, for a while.
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

    /// Its name on the command line.
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

    /// What is named on the command line: `all`, `none`, or names with commas between.
    ///
    /// # Errors
    /// A sentence that lists the names.
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

/// One fault of a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// When it begins, in milliseconds after the cluster stands.
    pub at_ms: u64,
    pub kind: Kind,
    /// For how long, in milliseconds, where that makes sense.
    pub lasts_ms: u64,
    /// Decides whom it hits.
    pub salt: u64,
}

impl Fault {
    /// A fault of one of these kinds within so many milliseconds.
    pub fn draw(kinds: &[Kind], within_ms: u64, dice: &mut Dice) -> Option<Self> {
        let kind = *dice.one(kinds)?;
        let lasts_ms = match kind {
            Kind::Pause => dice.between(200, 6_000),
            Kind::Storm | Kind::Split | Kind::Flaky => dice.between(1_000, 9_000),
            Kind::OneWay | Kind::SlowDisk | Kind::FullDisk => dice.between(1_000, 8_000),
            Kind::NodeCut => dice.between(500, 8_000),
            Kind::LongCut => dice.between(24_000, 45_000),
            Kind::Sick => dice.between(500, 8_000),
            Kind::Clock => dice.between(500, 20_000),
            _ => dice.between(100, 3_000),
        };
        let at_ms = dice.below(within_ms);
        Some(Self { at_ms, kind, lasts_ms, salt: dice.below(u64::MAX) })
    }
}
