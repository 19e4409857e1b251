//! Plays a run: demand comes in, and time passes from one event to the next.

use super::parts::{owner, request, service_name};
use super::record::Record;
use super::{DayNightError, Demand, Figures, LOAD_STEP, Setup, Sizing, Training};
use crate::behaviour::Behaviour;
use crate::cluster::Cluster;
use common::id::{JobId, RequestKey};
use common::job::Ask;
use common::reason::Refusal;
use common::time::{Span, Time};
use state::{Command, event};

/// When a silent node would be given up; none is silent here.
const NODE_LOST_AFTER: Span = Span::from_minutes(5);

/// Ended jobs are removed this often.
const FORGET_EVERY: Span = Span::from_minutes(60);

/// The time limit of training, as a multiple of its run.
const TIME_LIMIT_FACTOR: u64 = 2;

/// Simulates all days.
///
/// # Errors
/// [`DayNightError`]: a judge found a fault, or something was refused.
pub fn play(setup: &Setup, sizing: Sizing, demand: Demand<'_>) -> Result<Figures, DayNightError> {
    let mut cluster = Cluster::new(setup.settings(), NODE_LOST_AFTER)?;
    for machine in setup.machines() {
        cluster.add_machine(machine)?;
    }
    let record = Record::new(setup, sizing, demand.training);
    let mut run = Run { cluster, record };
    run.deploy(setup, sizing)?;
    let end = Time(u64::from(setup.days) * 86_400_000);
    let steps = (0..end.0).step_by(LOAD_STEP.0 as usize).map(Time);
    let mut training = demand.training.iter().enumerate().peekable();
    for (begin, in_flight) in steps.zip(demand.in_flight) {
        while let Some((which, job)) = training.next_if(|(_, job)| job.at < begin) {
            run.advance_to(job.at)?;
            run.submit(setup, which, job)?;
        }
        run.advance_to(begin)?;
        run.record.add_load(*in_flight);
        if sizing == Sizing::Load {
            run.cluster.set_load(service_name(), u64::from(*in_flight));
        }
        if begin.0 % FORGET_EVERY.0 == 0 {
            run.cluster.command(Command::ForgetDone)?;
        }
    }
    run.advance_to(end)?;
    Ok(run.record.finish())
}

struct Run<'a> {
    cluster: Cluster,
    record: Record<'a>,
}

impl Run<'_> {
    fn deploy(&mut self, setup: &Setup, sizing: Sizing) -> Result<(), DayNightError> {
        let ready_after = Some(setup.start_delay);
        let behaviour = Behaviour { run: None, ready_after, ..Behaviour::default() };
        let events = self.cluster.deploy(setup.deployment(sizing), behaviour)?;
        check_accepted("the service", &events)?;
        self.observe(None)
    }

    /// Lets time pass, one instant after the other.
    fn advance_to(&mut self, end: Time) -> Result<(), DayNightError> {
        while let Some(next) = self.cluster.next_at().filter(|next| *next < end) {
            self.cluster.advance_to(next)?;
            self.observe(None)?;
        }
        self.cluster.advance_to(end)?;
        self.observe(None)
    }

    fn submit(&mut self, setup: &Setup, which: usize, job: &Training) -> Result<(), DayNightError> {
        let id = JobId(self.cluster.state().last_job_id().0 + 1);
        self.cluster.set_behaviour(id, training_behaviour(job.run));
        let queue = setup.teams.get(job.team).map(|(name, _)| name.clone());
        let time_limit = Some(Span(job.run.0.saturating_mul(TIME_LIMIT_FACTOR)));
        let ask = Ask { request: request(job.gpus), queue, time_limit, ..Ask::default() };
        let events = self.cluster.command(Command::SubmitJob {
            request_key: RequestKey(format!("training-{which}")),
            owner: owner(),
            groups: Vec::new(),
            operator: false,
            via: None,
            ask: Box::new(ask),
            script: "#!/bin/sh\ntrain\n".to_owned(),
            environment: String::new(),
        })?;
        check_accepted("training", &events)?;
        self.observe(Some(which))
    }

    fn observe(&mut self, training_job: Option<usize>) -> Result<(), DayNightError> {
        let happenings = self.cluster.take_happenings();
        for (job, rest) in self.record.observe(&self.cluster, &happenings, training_job)? {
            self.cluster.set_behaviour(job, training_behaviour(rest));
        }
        Ok(())
    }
}

fn training_behaviour(run: Span) -> Behaviour {
    Behaviour { run: Some(run), ..Behaviour::default() }
}

fn check_accepted(what: &'static str, events: &[state::Event]) -> Result<(), DayNightError> {
    let refused = |why: Refusal| DayNightError::Refused { what, why: why.text_with_hint() };
    event::changed_jobs(events).map(|_| ()).map_err(refused)
}
