//! What can happen in a history, and how often. Never knows a state: the numbers choose among what
//! there is when a move is played.

use proptest::collection::vec;
use proptest::prelude::*;

const MOVES_MAX: usize = 80;

/// One move. The numbers choose among what there is.
#[derive(Debug, Clone)]
pub enum Move {
    Submit(u8, u8),
    /// A set of two or three components.
    SubmitSet(u8, u8, u8),
    SubmitAgain(u8),
    Cancel(u8, u8),
    Hold(u8, u8),
    Release(u8, u8),
    Requeue(u8, u8),
    /// Some tasks of an array are steered at once.
    SteerTasks(u8, u8, u8),
    Suspend(u8, u8),
    ResumeJob(u8, u8),
    /// A job that runs says that its work is saved; now and then one that does not.
    Checkpoint(u8, u8),
    /// A job that runs is to be smaller, or for once larger.
    Resize(u8, u8, u8),
    /// The engine decides, and it is enacted at once.
    Round,
    /// The engine decides; something may come between.
    Decide,
    EnactDecided,
    /// A start nobody in their right mind would decide.
    Nonsense(u8, u8, u8, u8),
    /// A start that looks right, placed without the engine: with others or alone.
    Place(u8, u8, u8),
    /// A set that waits gets going on the first nodes that have room, now and then not all of it.
    PlaceSet(u8, u8),
    /// Somebody is to yield to somebody.
    Preempt(u8, u8, u8),
    /// A gang that is content with less gets going, and is to give nodes up.
    Press(u8, u8, u8),
    /// One that takes more gets going, and is given nodes.
    Swell(u8, u8, u8),
    /// An operator books nodes, or somebody else tries.
    Book(u8, u8, u8),
    Unbook(u8),
    /// The leader looks for deadlines that are over; now and then it is wrong.
    Deadlines(u8),
    /// A share that lives goes on as it should.
    Progress(u8, u8),
    /// Any report at all.
    Report(u8, u8, u8),
    Register(u8, u8),
    Silent(u8),
    Lost(u8),
    /// The leader looks for attempts that never got off the ground.
    Overdue,
    Drain(u8),
    Resume(u8),
    Forget,
    Configure(u8),
    /// An operator invites a controller, or another user tries.
    Invite(u8),
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
        3 => (some(), some(), some()).prop_map(|(a, user, b)| Move::SteerTasks(a, user, b)),
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
