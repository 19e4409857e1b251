//! Answers of the API that programs build on.

use crate::nodes::{allocation, inventory, name, owner};
use crate::{Form, check};
use common::id::{
    Attempt, ClusterId, ControllerId, JobId, JobKey, LogIndex, NodeName, QueueName, RequestKey,
    TaskNumber, Uid,
};
use common::job::{Ask, ExitStatus, Outcome, Phase, Usage};
use common::node::{Contact, NodeStatus};
use common::reason::WaitReason;
use common::rules_level::{RulesLevel, RulesLevels};
use common::time::{Span, Time};
use common::unit::{Bytes, Cpus, Gpus};
use common::wire::api::{
    BatchAnswer, BatchJob, BatchOutcome, BatchRequest, ClusterKeyView, ControllerList,
    ControllerRelease, ControllerRole, ControllerView, EnrolRequest, EnrolmentList, EnrolmentView,
    InvitationList, InvitationView, InviteAnswer, InviteRequest, IssuedCertificate, JobList,
    JobView, JoinAnswer, JoinRequest, KeyGeneration, KeyOffer, LaunchAnswer, LaunchRequest,
    NodeInviteRequest, NodeList, NodeRelease, NodeView, ReasonView, RenewRequest, RotationStep,
    RotationView, Secret, SubmitAnswer, SubmitRequest, TimelineEntry, UpgradeStep, UpgradeView,
};
use common::wire::peer::PEER_PROTOCOL;
use std::collections::BTreeMap;

fn ask() -> Ask {
    Ask {
        queue: QueueName::new("main").ok(),
        work_dir: "/home/ada".to_owned(),
        time_limit: Some(Span::from_minutes(60)),
        ..Ask::default()
    }
}

#[test]
fn a_submission_matches_the_golden_files() {
    let request = SubmitRequest {
        request_key: RequestKey("k1".to_owned()),
        ask: ask(),
        script: "#!/bin/sh\ntrue\n".to_owned(),
        environment: BTreeMap::from([("HOME".to_owned(), "/home/ada".to_owned())]),
    };
    check(&Form::JSON, "submit-request.json", &request);
    check(
        &Form::JSON,
        "submit-answer.json",
        &SubmitAnswer { job: JobId(7), tasks: 1, warning: None },
    );
}

#[test]
fn a_batch_matches_the_golden_files() {
    let job = BatchJob { ask: ask(), script: 0, environment: 0 };
    let request = BatchRequest {
        request_key: RequestKey("k1".to_owned()),
        scripts: vec!["#!/bin/sh\ntrue\n".to_owned()],
        environments: vec![BTreeMap::from([("HOME".to_owned(), "/home/ada".to_owned())])],
        jobs: vec![job.clone(), job],
    };
    check(&Form::JSON, "batch-request.json", &request);
    let refused = BatchOutcome::Refused {
        code: "queue-unknown".to_owned(),
        message: "there is no queue `nowhere`".to_owned(),
        hint: Some("see `kantctl queues`".to_owned()),
    };
    let accepted = BatchOutcome::Accepted(SubmitAnswer { job: JobId(7), tasks: 1, warning: None });
    check(&Form::JSON, "batch-answer.json", &BatchAnswer { jobs: vec![accepted, refused] });
}

#[test]
fn jobs_match_the_golden_files() {
    let waiting = JobView {
        key: JobKey::single(JobId(7)),
        number: None,
        set: None,
        owner: owner(),
        ask: ask(),
        phase: Phase::Pending,
        outcome: None,
        state: "PENDING".to_owned(),
        state_code: "PD".to_owned(),
        held: true,
        reason: Some(ReasonView {
            code: "JobHeldUser".to_owned(),
            sentence: "it is held".to_owned(),
            detail: WaitReason::Held,
        }),
        dependency: None,
        position: Some(1),
        attempt: 0,
        cancelled_by: None,
        array_limit: None,
        submitted_at: Time(1),
        expected_run_time: None,
        started_at: None,
        ended_at: None,
        suspended_at: None,
        suspended: Span(0),
        checkpoint_at: None,
        allocation: None,
        leaving: Vec::new(),
        joining: Vec::new(),
        cpus: Cpus(2),
        memory: Bytes(1 << 30),
        gpus: Gpus(1),
        exit: None,
        usage: None,
        message: None,
        timeline: Vec::new(),
    };
    let over = JobView {
        phase: Phase::Done,
        outcome: Some(Outcome::Failed),
        state: "FAILED".to_owned(),
        state_code: "F".to_owned(),
        held: false,
        reason: None,
        position: None,
        attempt: 1,
        started_at: Some(Time(2)),
        ended_at: Some(Time(3)),
        allocation: Some(allocation()),
        exit: Some(ExitStatus { code: 3, signal: None }),
        usage: Some(Usage { cpu: Span(4), memory_peak: Bytes(5), ..Usage::default() }),
        message: Some("why".to_owned()),
        timeline: vec![TimelineEntry { at: Time(1), text: "submitted".to_owned() }],
        ..waiting.clone()
    };
    let list = JobList { jobs: vec![waiting, over], total: None, as_of: Time(4) };
    check(&Form::JSON, "jobs.json", &list);
}

#[test]
fn nodes_match_the_golden_files() {
    let node = NodeView {
        name: name(),
        status: NodeStatus::Idle,
        contact: Contact::Connected,
        resumed: None,
        drain: None,
        inventory: inventory(),
        cpus_used: Cpus(2),
        memory_used: Bytes(1 << 30),
        gpus_used: Gpus(1),
        jobs: vec![JobKey::single(JobId(7))],
        address: "10.0.0.1".to_owned(),
        version: "0.1.0".to_owned(),
        findings: vec![],
        data: Vec::new(),
        revoked_at: None,
    };
    check(&Form::JSON, "nodes.json", &NodeList { nodes: vec![node], as_of: Time(4) });
}

#[test]
fn controllers_match_the_golden_files() {
    let list = ControllerList {
        cluster: ClusterId(0xcafe),
        answering: ControllerId(1),
        leader: Some(ControllerId(1)),
        term: 3,
        committed: LogIndex(9),
        changing: false,
        controllers: vec![ControllerView {
            id: ControllerId(1),
            name: "ctl1".to_owned(),
            address: "ctl1:7600".to_owned(),
            role: ControllerRole::Leader,
            holds: Some(LogIndex(9)),
            behind: Some(0),
            heard: Some(true),
            gets_snapshot: false,
        }],
        moving: vec![],
    };
    check(&Form::JSON, "controllers.json", &list);
    let join = JoinRequest {
        protocol: PEER_PROTOCOL,
        oldest_protocol: None,
        release: "0.1.0".to_owned(),
        levels: Some(RulesLevels { oldest: RulesLevel(1), newest: RulesLevel(2) }),
        name: "ctl2".to_owned(),
        address: "ctl2:7600".to_owned(),
        learner: false,
        invitation: Secret::default(),
        replaces: Some(ControllerId(2)),
        cluster: Some(ClusterId(0xcafe)),
        now: Time(1_700_000_000_000),
    };
    check(&Form::JSON, "join-request.json", &join);
    let answer = JoinAnswer {
        cluster: ClusterId(0xcafe),
        id: ControllerId(3),
        release: "0.1.0".to_owned(),
        key: Secret("00".to_owned()),
    };
    check(&Form::JSON, "join-answer.json", &answer);
    check(&Form::JSON, "invite-request.json", &InviteRequest { lasts: Span(3_600_000) });
    let answer = InviteAnswer {
        invitation: Secret("kant-invitation-00".to_owned()),
        until: Time(1_700_000_000_000),
        address: "ctl1:7600".to_owned(),
    };
    check(&Form::JSON, "invite-answer.json", &answer);
}

#[test]
fn the_replacement_of_the_cluster_key_matches_the_golden_files() {
    let view = ClusterKeyView {
        generation: 4,
        authority: "ab".to_owned(),
        rotation: Some(RotationView {
            step: RotationStep::Trust,
            new: "cd".to_owned(),
            by: Uid(0),
            begun_at: Time(1_700_000_000_000),
        }),
        controllers_behind: vec![ControllerId(2)],
        nodes_behind: vec![NodeName::new("g001").unwrap()],
    };
    check(&Form::JSON, "cluster-key-view.json", &view);
    check(&Form::JSON, "key-offer.json", &KeyOffer { key: Secret("02".to_owned()) });
    check(&Form::JSON, "key-generation.json", &KeyGeneration { generation: 4 });
}

#[test]
fn an_upgrade_matches_the_golden_file() {
    let levels = RulesLevels { oldest: RulesLevel(1), newest: RulesLevel(2) };
    let release = "0.2.0".to_owned();
    let view = UpgradeView {
        level: RulesLevel(1),
        level_max: Some(RulesLevel(1)),
        controllers: vec![ControllerRelease {
            id: ControllerId(2),
            name: "ctl2".to_owned(),
            leads: true,
            release: Some(release.clone()),
            levels: Some(levels),
            behind: Some(0),
        }],
        nodes: vec![NodeRelease {
            release: "0.1.0".to_owned(),
            nodes: vec![NodeName::new("g001").unwrap()],
        }],
        next: UpgradeStep::InstallController { controller: ControllerId(1), release },
    };
    check(&Form::JSON, "upgrade-view.json", &view);
}

#[test]
fn the_enrolment_of_a_node_matches_the_golden_files() {
    let name = NodeName::new("g001").unwrap();
    let invite = NodeInviteRequest { lasts: Span(3_600_000), names: vec![name.clone()] };
    check(&Form::JSON, "node-invite-request.json", &invite);
    let secret = Secret("00".to_owned());
    let enrol = EnrolRequest { secret, name: name.clone(), key: "ab".to_owned() };
    check(&Form::JSON, "enrol-request.json", &enrol);
    check(&Form::JSON, "renew-request.json", &RenewRequest { key: "ab".to_owned() });
    let issued = IssuedCertificate {
        name: name.clone(),
        enrolment: 2,
        issued: Time(1_700_000_000_000),
        until: Time(1_702_592_000_000),
        certificate: "30".to_owned(),
        authorities: vec!["30".to_owned()],
        generation: 0,
    };
    check(&Form::JSON, "issued-certificate.json", &issued);
    let one = EnrolmentView {
        name,
        number: 2,
        by: Uid(0),
        at: Time(1_700_000_000_000),
        revoked_at: Some(Time(1_700_000_060_000)),
        revoked_by: Some(Uid(0)),
    };
    check(&Form::JSON, "enrolments.json", &EnrolmentList { enrolments: vec![one] });
    let nodes = vec![NodeName::new("g001").unwrap()];
    let one = InvitationView {
        id: "3f9a0c51e7d2".to_owned(),
        by: Uid(0),
        until: Time(1_700_000_000_000),
        controller: false,
        nodes,
    };
    check(&Form::JSON, "invitations.json", &InvitationList { invitations: vec![one] });
}

#[test]
fn a_request_for_a_program_matches_the_golden_file() {
    let request = LaunchRequest {
        task: TaskNumber(77),
        node: "g1".to_owned(),
        attempt: Some(Attempt(1)),
        program: vec!["/bin/true".to_owned()],
        environment: BTreeMap::from([("A".to_owned(), "b".to_owned())]),
        work_dir: "/home/ada".to_owned(),
        manner: common::wire::node::Manner::default(),
    };
    check(&Form::JSON, "launch-request.json", &request);
    let answer = LaunchAnswer { node: request.node.parse().unwrap(), attempt: Attempt(1) };
    check(&Form::JSON, "launch-answer.json", &answer);
}

#[test]
fn what_a_later_release_adds_is_skipped() {
    let text = r#"{"job": 7, "tasks": 1, "of_a_later_release": {"x": [1]}}"#;
    let read: SubmitAnswer = serde_json::from_str(text).unwrap();
    assert_eq!(read, SubmitAnswer { job: JobId(7), tasks: 1, warning: None });
}

#[test]
fn a_reason_that_only_a_newer_release_knows_is_read_with_its_sentence() {
    let newer = r#"{"code":"Cooling","sentence":"the rack is too hot","detail":
        {"kind":"rack_too_hot","rack":{"name":"r1"}}}"#;
    let read: ReasonView = serde_json::from_str(newer).unwrap();
    let expected = ReasonView {
        code: "Cooling".to_owned(),
        sentence: "the rack is too hot".to_owned(),
        detail: WaitReason::Unrecognized,
    };
    assert_eq!(read, expected);
}
