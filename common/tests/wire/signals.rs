//! Signals for jobs, between controllers and nodes. Never of programs in them: nodes.rs has those.

use crate::{Form, check};
use common::id::{Attempt, AttemptId, JobId, JobKey};
use common::job::SignalNumber;
use common::wire::api::JobSignalRequest;
use common::wire::node::{FromNode, JobSignal, Reached, SignalJob, SignalNews, ToNode};

#[test]
fn jobs_are_signalled_as_in_the_kept_files() {
    let id = AttemptId { key: JobKey::single(JobId(7)), attempt: Attempt(2) };
    let signal = SignalNumber(10);
    let whom = [Reached::Steps, Reached::Work, Reached::Script, Reached::All];
    let asked = |(question, whom)| ToNode::SignalJob(SignalJob { question, id, signal, whom });
    let told: Vec<ToNode> = (1..).zip(whom).map(asked).collect();
    check(&Form::PACKED, "signals-to-node.msgpack", &told);
    let signals = [JobSignal::Sent, JobSignal::Nobody, JobSignal::Failed("why".to_owned())];
    let said = |(question, signal)| FromNode::Signalled(SignalNews { question, signal });
    let said: Vec<FromNode> = (1..).zip(signals).map(said).collect();
    check(&Form::PACKED, "signals-from-node.msgpack", &said);
    let requests = whom.map(|whom| JobSignalRequest { signal, whom }).to_vec();
    check(&Form::JSON, "signal-requests.json", &requests);
    let plain = serde_json::from_str::<JobSignalRequest>(r#"{"signal":10}"#).unwrap();
    assert_eq!(plain, JobSignalRequest { signal, whom: Reached::Steps });
}
