//! A case in progress, whatever decides its rounds: what became of each task. [`super::compare`]
//! judges it.

/// The state of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Became {
    /// In the terms of the format.
    pub status: &'static str,
    /// Where it is or will be.
    pub node: Option<String>,
    /// What was decided; empty between rounds.
    pub outcome: &'static str,
}

/// What one round did, in tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Did {
    pub starts: usize,
    pub evictions: usize,
    /// Tasks that were promised a place, or moved.
    pub reservations: usize,
}

/// The result of one round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// What the round decided for each task, job by job.
    pub became: Vec<Became>,
    pub did: Did,
    /// One of the decisions, for messages.
    pub example: String,
    /// What the judge of rounds finds wrong with the decisions.
    pub fault: Option<String>,
}

/// Runs the rounds of a case.
pub trait Player {
    /// Decides a round, without carrying it out.
    fn round(&mut self) -> Outcome;

    /// Carries out the last round, and completes all that it starts.
    fn enact(&mut self, is_first: bool);

    /// The state of each task between rounds, job by job.
    fn state(&self) -> Vec<Became>;
}
