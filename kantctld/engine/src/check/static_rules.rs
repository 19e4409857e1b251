//! Checks whether a job may start at all now: hold, begin time, back-off, array, deadline, and
//! operators' bookings.

use super::Judge;
use crate::model::job::WaitingJob;
use common::reservation::Reservation;
use common::time::Time;

impl Judge<'_> {
    /// The rules that depend on the job alone.
    pub(super) fn check_may_start(&mut self, job: &WaitingJob) {
        let now = self.now;
        self.require(!job.held, "starts though held");
        self.require(!job.awaits, "starts before other jobs that it waits for");
        self.require(job.begin_at.is_none_or(|at| at <= now), "starts before its begin time");
        self.require(job.not_before.is_none_or(|at| at <= now), "starts during its back-off");
        let over_at = job.time_limit.map_or(now, |limit| now + limit);
        let in_time = job.deadline.is_none_or(|deadline| over_at <= deadline);
        self.require(in_time, "starts though it would not be over by its deadline");
        if let Some(limit) = job.array_limit {
            let running = self.arrays.entry(job.key.job).or_default();
            *running += 1;
            let running = *running;
            self.require(running <= limit, "starts beyond the limit of its array");
        }
        self.check_reservation_time(job);
    }

    /// A job in a booking keeps to its time.
    fn check_reservation_time(&mut self, job: &WaitingJob) {
        let ends = job.time_limit.map_or(Time(u64::MAX), |limit| self.now + limit);
        let Some(name) = &job.reservation else { return };
        let booked = self.snapshot.reservations().find(|booked| booked.name == *name);
        let in_time = |booked: &Reservation| booked.from <= self.now && ends <= booked.to;
        let holds = booked.is_some_and(in_time);
        self.require(holds, "starts outside of the time of its reservation");
    }

    /// A job in a booking keeps to its nodes; other jobs stay off booked nodes.
    pub(super) fn check_reserved_nodes(&mut self, job: &WaitingJob, node: &common::id::NodeName) {
        let ends = job.time_limit.map_or(Time(u64::MAX), |limit| self.now + limit);
        let mut faults = Vec::new();
        for booked in self.snapshot.reservations() {
            let is_own = job.reservation.as_ref() == Some(&booked.name);
            let has_it = booked.nodes.contains(node);
            if is_own && !has_it {
                faults.push(format!("on {node}: not a node of its reservation"));
            }
            if !is_own && has_it && booked.from < ends && self.now < booked.to {
                faults.push(format!("on {node}: kept for reservation {}", booked.name));
            }
        }
        faults.into_iter().for_each(|fault| self.fault(fault));
    }
}
