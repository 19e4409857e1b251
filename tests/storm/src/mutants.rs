//! Bugs injected on purpose, by name. A judge must catch each of them.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutant {
    /// The disk reports syncs that it does not do.
    AckBeforeFsync,
    /// Rounds use an old state, and `apply` lets a start take resources that another job holds.
    SkipLedgerCheck,
    /// A repeated request counts as a new one.
    ForgetKeys,
    /// `apply` uses the replica's own clock instead of the leader's stamp.
    LocalTime,
    /// A node that reconnects does not receive its desired state.
    NoResend,
    /// A controller that lost the lead continues to answer as the leader.
    KeepLeading,
    /// A kantd that starts does not check which steps run.
    NodeForgetsJournal,
    /// A submission is acknowledged when it is proposed.
    AckUnapplied,
    /// Each controller counts the job ids in its answers for itself.
    LocalIds,
    /// Each replica applies the commands of one entry in its own order.
    RandomOrder,
    /// A snapshot lacks the effects of the last entry.
    SnapshotMisses,
    /// A leader sends to nodes before it has applied all entries of earlier terms.
    EarlySession,
    /// A new term continues with silences that were counted in an earlier one.
    StaleWatch,
    /// A controller that lost its disk comes back under its old id with an empty disk.
    ReuseId,
    /// A kantd that reconnects does not report steps that ended.
    HidesEnds,
    /// A read is answered without asking a majority.
    StaleRead,
    /// A change of a job is acknowledged when it is proposed.
    AckChange,
    /// A job does not start when its promised start has come.
    BreakPromises,
    /// Cluster time is the wall clock of the leader.
    BelieveWall,
}

impl Mutant {
    pub const ALL: &[Self] = &[
        Self::AckBeforeFsync,
        Self::SkipLedgerCheck,
        Self::ForgetKeys,
        Self::LocalTime,
        Self::NoResend,
        Self::KeepLeading,
        Self::NodeForgetsJournal,
        Self::AckUnapplied,
        Self::LocalIds,
        Self::RandomOrder,
        Self::SnapshotMisses,
        Self::EarlySession,
        Self::StaleWatch,
        Self::ReuseId,
        Self::HidesEnds,
        Self::StaleRead,
        Self::AckChange,
        Self::BreakPromises,
        Self::BelieveWall,
    ];

    /// Its name on the command line, and what it does.
    pub const fn about(self) -> (&'static str, &'static str) {
        match self {
            Self::AckBeforeFsync => ("ack-before-fsync", "the disk says it synced, and did not"),
            Self::SkipLedgerCheck => {
                ("skip-ledger-check", "starts are decided on an old state and not checked again")
            }
            Self::ForgetKeys => ("forget-keys", "a repeated request counts as a new one"),
            Self::LocalTime => ("local-time", "`apply` reads the replica's own clock"),
            Self::NoResend => ("no-resend", "desired state is not sent again on a reconnect"),
            Self::KeepLeading => {
                ("keep-leading", "a controller that lost the lead goes on with its nodes")
            }
            Self::NodeForgetsJournal => {
                ("node-forgets-journal", "a kantd that starts does not look which steps run")
            }
            Self::AckUnapplied => ("ack-unapplied", "a submit is acknowledged when proposed"),
            Self::LocalIds => ("local-ids", "job ids are counted by each controller for itself"),
            Self::RandomOrder => {
                ("random-order", "commands of one entry are applied in a replica's own order")
            }
            Self::SnapshotMisses => ("snapshot-misses", "a snapshot lacks the last entry"),
            Self::EarlySession => {
                ("early-session", "a leader speaks to nodes before it applied what was decided")
            }
            Self::StaleWatch => {
                ("stale-watch", "a new term goes on with silences counted in an earlier one")
            }
            Self::ReuseId => {
                ("reuse-id", "a controller whose disk was lost comes back under its old id")
            }
            Self::HidesEnds => ("hides-ends", "a kantd that reconnects leaves out ended steps"),
            Self::StaleRead => ("stale-read", "reads are answered without asking a majority"),
            Self::AckChange => ("ack-change", "a change of a job is acknowledged when proposed"),
            Self::BreakPromises => {
                ("break-promises", "a job with a promised start waits on when its time has come")
            }
            Self::BelieveWall => ("believe-wall", "cluster time is what the leader's wall shows"),
        }
    }

    /// Finds a bug by its name.
    ///
    /// # Errors
    /// A message that lists the names.
    pub fn parse(text: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().copied().find(|mutant| mutant.about().0 == text);
        found.ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|mutant| mutant.about().0).collect();
            format!("there is no mutant `{text}`: one of {}", names.join(", "))
        })
    }
}
