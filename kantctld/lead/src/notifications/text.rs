//! The subject of a message in Slurm's format, for which users have filters, and the job's
//! variables, from which the site's program can write a text.

use super::Notification;
use super::occasion::Occasion;
use common::job::mail::addresses;
use common::job::state::slurm_state;
use common::job::{ExitStatus, Phase};
use common::text::escape_hidden;
use common::time::Span;
use common::wire::api::JobView;
use state::State;
use state::job::Record;
use std::collections::BTreeSet;

/// The message about this job, or about the array that it is a task of.
pub(super) fn compose(
    state: &State,
    record: &Record,
    job: &JobView,
    is_whole: bool,
    occasion: &Occasion,
) -> Notification {
    let owner = &job.owner.name;
    let asked = record.spec.ask.mail.as_ref().and_then(|mail| mail.to.as_deref());
    // A user name that is no valid address gets no mail.
    let to = addresses(asked.unwrap_or(owner)).unwrap_or_default();
    let cluster = state.settings().map(|settings| settings.cluster.clone()).unwrap_or_default();
    let facts = Facts { state, record, job, is_whole, occasion };
    Notification {
        to: to.into_iter().map(str::to_owned).collect(),
        subject: escape_hidden(&facts.subject()).into_owned(),
        variables: facts.variables(cluster),
    }
}

struct Facts<'a> {
    state: &'a State,
    record: &'a Record,
    job: &'a JobView,
    /// The message is about the whole array.
    is_whole: bool,
    occasion: &'a Occasion,
}

impl Facts<'_> {
    /// `kant Job_id=42 Name=train Ended, Run time 00:10:00, COMPLETED, ExitCode 0`.
    fn subject(&self) -> String {
        let (key, name) = (self.job.key, &self.job.ask.name);
        let number = self.job.number.map(|number| format!(" ({number})")).unwrap_or_default();
        let job = match (key.index, self.is_whole) {
            (None, _) => format!("Job_id={}", key.job),
            (Some(_), true) => format!("Array Summary Job_id={}_* ({})", key.job, key.job),
            (Some(_), false) => format!("Array Task Job_id={key}{number}"),
        };
        let details = self.details().map(|details| format!(", {details}")).unwrap_or_default();
        format!("kant {job} Name={name} {}{details}", self.occasion)
    }

    /// The details after the occasion.
    fn details(&self) -> Option<String> {
        match self.occasion {
            Occasion::Began => Some(format!("Queued time {}", format_clock(self.queue_time()?))),
            Occasion::Ended | Occasion::Failed if self.is_whole => {
                let (least, most) = self.exits();
                Some(format!("{}, ExitCode [{least}-{most}]", self.outcome()))
            }
            Occasion::Ended | Occasion::Failed => {
                let ran = format_clock(self.run_time());
                Some(format!("Run time {ran}, {}{}", self.outcome(), exit_text(self.job.exit)))
            }
            _ => None,
        }
    }

    /// Slurm's state name; `Mixed` for an array whose tasks ended differently.
    fn outcome(&self) -> String {
        if !self.is_whole {
            return self.job.state.clone();
        }
        let outcomes = self.record.elements.values().filter_map(|element| element.outcome);
        let words = outcomes.map(|outcome| slurm_state(Phase::Done, Some(outcome)).0);
        let words: BTreeSet<&str> = words.collect();
        match (words.first(), words.len()) {
            (Some(one), 1) => (*one).to_owned(),
            _ => "Mixed".to_owned(),
        }
    }

    /// The smallest and largest exit code of the array's tasks, as in a shell.
    fn exits(&self) -> (u8, u8) {
        let ends = self.record.elements.values().filter_map(|element| {
            let end = element.run.as_ref()?.end.as_ref()?;
            end.exit.map(ExitStatus::shell_code)
        });
        ends.fold(None, |range: Option<(u8, u8)>, code| match range {
            None => Some((code, code)),
            Some((least, most)) => Some((least.min(code), most.max(code))),
        })
        .unwrap_or_default()
    }

    /// The waiting time since the job could start.
    fn queue_time(&self) -> Option<Span> {
        let begin = self.job.ask.begin_at.unwrap_or_default().max(self.job.submitted_at);
        Some(self.job.started_at?.since(begin))
    }

    /// The run time without suspension.
    fn run_time(&self) -> Span {
        let Some(begun) = self.job.started_at else { return Span(0) };
        let until = self.job.ended_at.unwrap_or_else(|| self.state.now());
        Span(until.since(begun).0.saturating_sub(self.job.suspended.0))
    }

    fn variables(&self, cluster: String) -> Vec<(&'static str, String)> {
        let (job, ask) = (self.job, &self.job.ask);
        let number = if self.is_whole { Some(job.key.job) } else { job.number };
        let mut variables = vec![
            ("SLURM_CLUSTER_NAME", cluster),
            ("SLURM_JOB_ID", number.unwrap_or(job.key.job).to_string()),
            ("SLURM_JOB_MAIL_TYPE", self.occasion.to_string()),
            ("SLURM_JOB_NAME", ask.name.clone()),
            ("SLURM_JOB_STATE", self.outcome()),
            ("SLURM_JOB_USER", job.owner.name.clone()),
            ("SLURM_JOB_WORK_DIR", ask.work_dir.clone()),
            ("SLURM_JOB_RUN_TIME", format_clock(self.run_time())),
        ];
        variables
            .extend(ask.queue.as_ref().map(|queue| ("SLURM_JOB_PARTITION", queue.to_string())));
        let queued =
            self.queue_time().map(|queued| ("SLURM_JOB_QUEUED_TIME", format_clock(queued)));
        variables.extend(queued);
        if let Some(index) = job.key.index {
            variables.push(("SLURM_ARRAY_JOB_ID", job.key.job.to_string()));
            let task = if self.is_whole { "*".to_owned() } else { index.to_string() };
            variables.push(("SLURM_ARRAY_TASK_ID", task));
        }
        variables
    }
}

/// `00:10:00`, as in Slurm's mail.
fn format_clock(span: Span) -> String {
    let s = span.seconds();
    let (days, hours, minutes, seconds) = (s / 86_400, s / 3600 % 24, s / 60 % 60, s % 60);
    let days = if days > 0 { format!("{days}-") } else { String::new() };
    format!("{days}{hours:02}:{minutes:02}:{seconds:02}")
}

fn exit_text(exit: Option<ExitStatus>) -> String {
    match exit {
        None => String::new(),
        Some(ExitStatus { signal: Some(signal), .. }) => format!(", Signal {signal}"),
        Some(ExitStatus { code, .. }) => format!(", ExitCode {code}"),
    }
}
