//! Jobs of a reservation start only while it lasts. `node_search::bookings` keeps them to its
//! nodes.
//!
//! Source: man sbatch, `--reservation`; man scontrol, RESERVATIONS.
//! Reads: the reservation that the job names, and who may use it. The reservation may have been
//! replaced since by another of that name, or by one for maintenance. Groups of users are checked
//! at submission only.
//! Knobs: `--reservation` of a job.
//!
//! Example. Nodes a and b; a is reserved as r from 12:00 to 14:00. At 11:00 job 1 of r waits for
//! noon. Job 2 (two hours) starts on b, since on a it would run into r. Job 3 (half an hour) starts
//! on b, too.

use crate::model::job::WaitingJob;
use crate::model::snapshot::Snapshot;
use common::reason::WaitReason;
use common::reservation::Reservation;
use common::time::Time;

pub(crate) fn check(job: &WaitingJob, snapshot: &Snapshot, now: Time) -> Result<(), WaitReason> {
    let Some(name) = &job.reservation else { return Ok(()) };
    let closed = |from| Err(WaitReason::ReservationClosed { name: name.clone(), from });
    match snapshot.reservations.get(name) {
        None => closed(None),
        Some(booked) if now >= booked.to || !may_use(job, booked) => closed(None),
        Some(booked) if now < booked.from => closed(Some(booked.from)),
        Some(_) => Ok(()),
    }
}

/// Whether the job's user or account may use the reservation.
fn may_use(job: &WaitingJob, booked: &Reservation) -> bool {
    let by_group = !booked.access.groups.is_empty();
    !booked.maintenance && (by_group || booked.access.allows(job.owner, &[], job.account.as_ref()))
}

#[cfg(test)]
mod tests {
    use crate::testing::{booking, cpu_node, key, placed_at, request, snapshot, waiting};
    use common::reason::WaitReason;
    use common::time::{Span, Time};

    #[test]
    fn the_example() {
        let noon = Time(1_700_000_000_000);
        let hour = Span::from_minutes(60);
        let mut snapshot = snapshot(vec![cpu_node("a", 4), cpu_node("b", 4)]);
        let r = booking("r", &["a"], noon, noon + hour + hour);
        snapshot.set_reservations([r.clone()]);
        for (job, minutes) in [(1, 60), (2, 120), (3, 30)] {
            let mut one = waiting(job, request(1, 1), minutes);
            one.reservation = (job == 1).then(|| r.name.clone());
            snapshot.set_waiting(one);
        }
        assert_eq!(placed_at(&snapshot, noon - hour), ["2 b", "3 b"]);
        let round = crate::schedule(&snapshot, noon - hour);
        let reason = WaitReason::ReservationClosed { name: r.name, from: Some(noon) };
        assert_eq!(round.waits.reason_of(&snapshot, key(1)), Some(reason));
        assert_eq!(round.next_look, Some(noon));
        assert_eq!(placed_at(&snapshot, noon), ["1 a", "2 b", "3 b"]);
    }

    #[test]
    fn another_reservation_of_the_same_name_is_for_others() {
        let noon = Time(1_700_000_000_000);
        let mut snapshot = snapshot(vec![cpu_node("a", 4)]);
        let r = booking("r", &["a"], noon, noon + Span::from_minutes(120));
        let mut one = waiting(1, request(1, 1), 60);
        one.reservation = Some(r.name.clone());
        let owner = one.owner;
        snapshot.set_waiting(one);
        let mut with = |change: &dyn Fn(&mut common::reservation::Reservation)| {
            let mut other = r.clone();
            change(&mut other);
            snapshot.set_reservations([other]);
            placed_at(&snapshot, noon)
        };
        assert_eq!(with(&|_| ()), ["1 a"]);
        assert_eq!(with(&|r| r.maintenance = true), [""; 0]);
        let stranger = common::id::Uid(owner.0 + 1);
        assert_eq!(with(&|r| r.access.users = [stranger].into()), [""; 0]);
        assert_eq!(with(&|r| r.access.users = [owner].into()), ["1 a"]);
    }
}
