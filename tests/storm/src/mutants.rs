//! Bugs injected on purpose, by name. A judge must catch each of them.

use clap::ValueEnum;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
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
    /// Silences of a node are added up, also those of earlier terms.
    StaleWatch,
    /// A node whose certificate is revoked keeps its session.
    KeepRevoked,
    /// The next step of a new cluster key begins before all nodes have followed.
    HastyKey,
    /// The leader raises the rules level without asking the other controllers.
    HastyRules,
    /// A new release applies its newest rules level before it is in force.
    EarlyRules,
    /// A node without a leader goes on with its jobs.
    NoFence,
    /// A controller does not record its votes.
    ForgetVote,
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
    /// A node ends a replica that is stopped without waiting for its drain delay.
    SkipDrain,
    /// A probe result of an earlier attempt counts for the current one.
    CountOldProbe,
    /// When replicas are removed, one below the minimum is removed too.
    ScaleBelowMin,
    /// An update starts the whole new revision at once.
    StartAllAtOnce,
    /// An update stops the old revision before the new one is healthy.
    ReplaceEarly,
    /// A replica that is being stopped is still listed as ready.
    ListDraining,
    /// A new leader takes a replica of which it has no report yet for one that is not ready.
    ForgetReports,
}

impl Mutant {
    /// Its name on the command line, and what it does.
    pub fn about(self) -> (String, String) {
        let value = self.to_possible_value().unwrap_or_default();
        let help = value.get_help().map(ToString::to_string);
        (value.get_name().to_owned(), help.unwrap_or_default())
    }
}
