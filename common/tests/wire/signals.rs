//! Signals for jobs, between controllers and nodes.

use crate::{Form, check};
use common::id::{Attempt, AttemptId, JobId, JobKey};
use common::job::SignalNumber;
use common::wire::api::JobSignalRequest;
use common::wire::node::{FromNode, JobSignal, Reached, SignalJob, SignalNews, ToNode};

#[test]
fn signals_for_jobs_match_the_golden_files() {
    let id = AttemptId { key: JobKey::single(JobId(7)), attempt: Attempt(2) };
    let signal = SignalNumber(10);
    let to = [Reached::Steps, Reached::Work, Reached::Script, Reached::All];
    let asked = |(question, to)| ToNode::SignalJob(SignalJob { question, id, signal, to });
    let messages: Vec<ToNode> = (1..).zip(to).map(asked).collect();
    check(&Form::PACKED, "signals-to-node.msgpack", &messages);
    let signals = [JobSignal::Sent, JobSignal::NoProcess, JobSignal::Failed("why".to_owned())];
    let said = |(question, signal)| FromNode::Signalled(SignalNews { question, signal });
    let said: Vec<FromNode> = (1..).zip(signals).map(said).collect();
    check(&Form::PACKED, "signals-from-node.msgpack", &said);
    let requests = to.map(|to| JobSignalRequest { signal, to }).to_vec();
    check(&Form::JSON, "signal-requests.json", &requests);
    let plain = serde_json::from_str::<JobSignalRequest>(r#"{"signal":10}"#).unwrap();
    assert_eq!(plain, JobSignalRequest { signal, to: Reached::Steps });
}
