//! The moves of a random history, and their frequencies. A move knows no state: its numbers select
//! among what exists when it is played.

use proptest::collection::vec;
use proptest::prelude::*;

const MOVES_MAX: usize = 80;

/// One move. Its numbers select among what exists.
#[derive(Debug, Clone)]
pub enum Move {
    Submit(u8, u8),
    /// Submits a set of two or three components.
    SubmitSet(u8, u8, u8),
    SubmitAgain(u8),
    Cancel(u8, u8),
    Hold(u8, u8),
    Release(u8, u8),
    Requeue(u8, u8),
    /// One command to some tasks of an array.
    ActOnTasks(u8, u8, u8),
    Suspend(u8, u8),
    ResumeJob(u8, u8),
    /// A checkpoint of a running job; sometimes of another one.
    Checkpoint(u8, u8),
    /// Shrinks a running job; sometimes asks for a larger size.
    Resize(u8, u8, u8),
    /// The engine decides, and the decisions are applied at once.
    Round,
    /// The engine decides; other moves may come before the decisions are applied.
    Decide,
    EnactDecided,
    /// A start that no engine would decide.
    Nonsense(u8, u8, u8, u8),
    /// A plausible start that the engine did not place, in a group or alone.
    Place(u8, u8, u8),
    /// Starts a waiting set on the first nodes with room; sometimes only a part of it.
    PlaceSet(u8, u8),
    /// Preempts one job for another.
    Preempt(u8, u8, u8),
    /// Starts an elastic gang, and shrinks it by a round.
    Press(u8, u8, u8),
    /// Starts a growing job, and gives it more nodes.
    Swell(u8, u8, u8),
    /// An operator creates a reservation, or another user tries.
    Book(u8, u8, u8),
    Unbook(u8),
    /// The leader ends jobs past their deadline; sometimes it is wrong.
    Deadlines(u8),
    /// A share makes its next step.
    Progress(u8, u8),
    /// Any report at all.
    Report(u8, u8, u8),
    Register(u8, u8),
    Silent(u8),
    Lost(u8),
    /// The leader looks for overdue attempts.
    Overdue,
    Drain(u8),
    Resume(u8),
    Forget,
    Configure(u8),
    /// An operator invites a controller, or another user tries.
    Invite(u8),
    /// A controller or a node joins, or an operator revokes a node.
    Join(u8),
    Wait(u32),
    /// The controller crashes, and reads its snapshot.
    Crash,
}

pub fn moves() -> impl Strategy<Value = Vec<Move>> {
    let some = any::<u8>;
    let one = prop_oneof![
        6 => (some(), some()).prop_map(|(shape, user)| Move::Submit(shape, user)),
        2 => (some(), some(), some()).prop_map(|(a, b, user)| Move::SubmitSet(a, b, user)),
        1 => some().prop_map(Move::SubmitAgain),
        2 => (some(), some()).prop_map(|(job, user)| Move::Cancel(job, user)),
        1 => (some(), some()).prop_map(|(job, user)| Move::Hold(job, user)),
        1 => (some(), some()).prop_map(|(job, user)| Move::Release(job, user)),
        2 => (some(), some()).prop_map(|(job, user)| Move::Requeue(job, user)),
        3 => (some(), some(), some()).prop_map(|(a, user, b)| Move::ActOnTasks(a, user, b)),
        2 => (some(), some()).prop_map(|(job, user)| Move::Suspend(job, user)),
        2 => (some(), some()).prop_map(|(job, user)| Move::ResumeJob(job, user)),
        1 => (some(), some()).prop_map(|(job, user)| Move::Checkpoint(job, user)),
        2 => (some(), some(), some()).prop_map(|(job, user, size)| Move::Resize(job, user, size)),
        6 => Just(Move::Round),
        2 => Just(Move::Decide),
        2 => Just(Move::EnactDecided),
        4 => (some(), some(), some(), some()).prop_map(|(a, b, c, d)| Move::Nonsense(a, b, c, d)),
        6 => (some(), some(), some()).prop_map(|(a, b, c)| Move::Place(a, b, c)),
        3 => (some(), some()).prop_map(|(at, how)| Move::PlaceSet(at, how)),
        3 => (some(), some(), some()).prop_map(|(a, b, c)| Move::Preempt(a, b, c)),
        2 => (some(), some(), some()).prop_map(|(a, b, c)| Move::Press(a, b, c)),
        3 => (some(), some(), some()).prop_map(|(a, b, c)| Move::Swell(a, b, c)),
        2 => (some(), some(), some()).prop_map(|(a, b, c)| Move::Book(a, b, c)),
        1 => some().prop_map(Move::Unbook),
        2 => some().prop_map(Move::Deadlines),
        14 => (some(), some()).prop_map(|(share, end)| Move::Progress(share, end)),
        4 => (some(), some(), some()).prop_map(|(n, id, phase)| Move::Report(n, id, phase)),
        3 => (some(), some()).prop_map(|(node, how)| Move::Register(node, how)),
        2 => some().prop_map(Move::Silent),
        1 => some().prop_map(Move::Lost),
        1 => Just(Move::Overdue),
        2 => some().prop_map(Move::Drain),
        2 => some().prop_map(Move::Resume),
        2 => Just(Move::Forget),
        2 => some().prop_map(Move::Configure),
        1 => some().prop_map(Move::Invite),
        1 => some().prop_map(Move::Join),
        2 => (0..4000_u32).prop_map(Move::Wait),
        2 => Just(Move::Crash),
    ];
    vec(one, 1..MOVES_MAX)
}
