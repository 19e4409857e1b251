//! Judge of the answers to users. Job ids are unique and rise in real time, a repeated request
//! gives the same job, reads of the last id see what was acknowledged before and never go back, and
//! a cancelled job does not start again. The judge does not look at the log.

use super::Complaint;
use common::id::{Attempt, AttemptId, JobId, JobKey};
use std::collections::{BTreeMap, BTreeSet};

/// A user's submission, and the job id and time of its answer.
#[derive(Debug, Clone, Default)]
struct Asked {
    at_ms: u64,
    answer: Option<(JobId, u64)>,
}

/// An answered read of the last job id.
#[derive(Debug, Clone, Copy)]
struct Look {
    answered_ms: u64,
    last: JobId,
}

#[derive(Debug, Default)]
pub struct UserJudge {
    pub complaints: Vec<Complaint>,
    submits: BTreeMap<usize, Asked>,
    looks: Vec<Look>,
    /// The last attempt of each cancelled job when the cancellation was acknowledged.
    cancelled: BTreeMap<JobKey, Attempt>,
    /// Submissions whose jobs a user requeues at some time.
    requeued: BTreeSet<usize>,
}

impl UserJudge {
    /// Records a submission, at its first request.
    pub fn submit_asked(&mut self, work: usize, now_ms: u64) {
        self.submits.entry(work).or_insert(Asked { at_ms: now_ms, answer: None });
    }

    /// Records that a user will requeue, or has requeued, a job.
    pub fn requeue_asked(&mut self, work: usize) {
        self.requeued.insert(work);
    }

    /// Checks the acknowledgement of a submission, which may be repeated.
    pub fn submit_answered(&mut self, work: usize, job: JobId, now_ms: u64) {
        let Some(asked) = self.submits.get(&work).cloned() else { return };
        match asked.answer {
            Some((before, _)) if before != job => {
                let text = format!("w{work} was acknowledged as job {before}, then as job {job}");
                self.complaints.push(Complaint::new("same-key", text));
            }
            Some(_) => {}
            None => self.judge_new(work, asked.at_ms, job, now_ms),
        }
    }

    fn judge_new(&mut self, work: usize, asked_ms: u64, job: JobId, now_ms: u64) {
        for (other, before) in &self.submits {
            let Some((id, answered_ms)) = before.answer else { continue };
            if id == job {
                let text = format!("w{work} and w{other} were both acknowledged as job {job}");
                self.complaints.push(Complaint::new("history", text));
            } else if answered_ms < asked_ms && id > job {
                let text = format!(
                    "w{work} became job {job}, though w{other} was acknowledged as job {id} before"
                );
                self.complaints.push(Complaint::new("history", text));
            }
        }
        let earlier = self.looks.iter().filter(|look| look.answered_ms < asked_ms);
        if let Some(last) = earlier.map(|look| look.last).max().filter(|last| *last >= job) {
            let text = format!("w{work} became job {job}, though a look saw job {last} before");
            self.complaints.push(Complaint::new("history", text));
        }
        if let Some(asked) = self.submits.get_mut(&work) {
            asked.answer = Some((job, now_ms));
        }
    }

    /// Checks the answer to a read of the last job id.
    pub fn looked(&mut self, asked_ms: u64, answered_ms: u64, last: JobId) {
        let answered = self.submits.values().filter_map(|asked| asked.answer);
        let before = answered.filter(|(_, at)| *at < asked_ms).map(|(id, _)| id).max();
        if let Some(before) = before.filter(|before| *before > last) {
            let text = format!("a look saw job {last} last, though job {before} was acknowledged");
            self.complaints.push(Complaint::new("history", text));
        }
        let earlier = self.looks.iter().filter(|look| look.answered_ms < asked_ms);
        if let Some(most) = earlier.map(|look| look.last).max().filter(|most| *most > last) {
            let text = format!("a look saw job {last} last, though one before saw job {most}");
            self.complaints.push(Complaint::new("history", text));
        }
        self.looks.push(Look { answered_ms, last });
    }

    /// Records an acknowledged cancellation: no later attempt may start.
    pub fn cancel_answered(&mut self, work: usize, key: JobKey, attempt: Attempt) {
        if !self.requeued.contains(&work) {
            self.cancelled.insert(key, attempt);
        }
    }

    /// Checks an attempt that a node launches.
    pub fn launched(&mut self, id: AttemptId) {
        if let Some(last) = self.cancelled.get(&id.key)
            && id.attempt > *last
        {
            let text = format!("{id} was launched after its job was cancelled");
            self.complaints.push(Complaint::new("cancelled", text));
        }
    }

    /// The job id that acknowledged this submission.
    pub fn job_of(&self, work: usize) -> Option<JobId> {
        self.submits.get(&work)?.answer.map(|(job, _)| job)
    }

    pub fn acknowledged(&self) -> impl Iterator<Item = (usize, JobId)> + '_ {
        self.submits.iter().filter_map(|(work, asked)| Some((*work, asked.answer?.0)))
    }
}
