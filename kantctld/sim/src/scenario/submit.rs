//! `submit`: a job or, with `:` between what each component asks for, a set.

use super::words::Words;
use super::{Failed, Stage, ask, config};
use common::id::{JobId, RequestKey};
use common::job::Ask;
use state::{Command, Event, snapshot};

impl Stage {
    pub(super) fn submit(&mut self, words: &mut Words) -> Result<Option<String>, Failed> {
        let label: String = words.take_plain("a label")?;
        let user = words.value::<String>("user")?.unwrap_or_else(|| "ada".to_owned());
        let (mut asks, mut behaviours) = (Vec::new(), Vec::new());
        for mut words in std::mem::take(words).split() {
            behaviours.push(ask::behaviour(&mut words)?);
            let ask = ask::ask(&mut words)?;
            words.check_empty()?;
            asks.push(Ask { name: label.clone(), ..ask });
        }
        let owner = config::owner(&user);
        let number = self.labels.len();
        let cluster = self.cluster()?;
        // The leader does this before it proposes a job.
        let seen = cluster.snapshot().clone();
        let mut never = asks.iter().map(|ask| snapshot::never_fits(cluster.state(), &seen, ask));
        if let Some(refusal) = never.find_map(|refusal| refusal) {
            return Ok(Some(format!("refused: {}", refusal.text_with_hint())));
        }
        // Before the command, since the job may start at once.
        for (number, behaviour) in (cluster.state().last_job_id().0 + 1..).zip(behaviours) {
            cluster.set_behaviour(JobId(number), behaviour);
        }
        let request_key = RequestKey(format!("{label}-{number}"));
        let (script, environment) = ("#!/bin/sh\n".to_owned(), String::new());
        let (groups, operator, via) = (Vec::new(), false, None);
        let events = cluster.command(match <[Ask; 1]>::try_from(asks) {
            Ok([ask]) => {
                let ask = Box::new(ask);
                Command::SubmitJob {
                    request_key,
                    owner,
                    groups,
                    operator,
                    via,
                    ask,
                    script,
                    environment,
                }
            }
            Err(asks) => Command::SubmitSet {
                request_key,
                owner,
                groups,
                operator,
                via,
                asks,
                script,
                environment,
            },
        })?;
        if let Some(Event::JobSubmitted { job, .. }) = events.first() {
            self.labels.insert(label, *job);
        }
        Ok(None)
    }
}
