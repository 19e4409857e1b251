//! The operations of the API, one for each own row of `common::route::ROUTES`.

use super::operation::{BYTES, CSV, EVENTS, LINES, Operation, Rows, Schemas, TEXT};
use common::wire::api::*;
use common::wire::node::{StepAnswer, StepWish};
use serde_json::Value;

type Event = Happened<Value>;

const LAST_EVENT: &str = "The id of the last event that the client has";

pub fn all(schemas: &mut Schemas) -> Vec<Operation> {
    let mut rows = Rows { schemas, rows: Vec::new() };
    jobs(&mut rows);
    changes_of_jobs(&mut rows);
    programs(&mut rows);
    events(&mut rows);
    cluster(&mut rows);
    services(&mut rows);
    reservations_and_nodes(&mut rows);
    tokens(&mut rows);
    controllers(&mut rows);
    enrolments(&mut rows);
    rows.rows
}

fn jobs(rows: &mut Rows<'_>) {
    rows.query::<JobQuery, JobList>("/v1/jobs", "List jobs").also::<JobView>(LINES);
    rows.get::<JobList>("/v1/jobs/{key}", "Show a job, or the tasks of an array");
    rows.query::<WaitQuery, JobList>("/v1/jobs/{key}/wait", "Wait until a job started or ended");
    rows.get::<Explanation>("/v1/jobs/{key}/explain", "Explain why a job is in its state");
    rows.other("/v1/jobs/{key}/script", TEXT, "Show the script of a job");
    rows.other("/v1/jobs/{key}/output", BYTES, "Read the output of a job")
        .with_query::<OutputQuery>();
    rows.other("/v1/jobs/{key}/output/events", EVENTS, "Follow the output of a job")
        .answered::<OutputEvent>(EVENTS)
        .with_query::<OutputQuery>()
        .with_header("Last-Event-ID", LAST_EVENT);
    rows.post::<SubmitRequest, SubmitAnswer>("/v1/jobs", "Submit a job");
    rows.post::<BatchRequest, BatchAnswer>("/v1/jobs/batch", "Submit many jobs");
    rows.post::<SetRequest, SubmitAnswer>("/v1/jobs/set", "Submit a heterogeneous job");
    rows.post::<SubmitRequest, TrialView>("/v1/jobs/trial", "Forecast a submission");
    rows.post::<WhatIfRequest, WhatIfView>(
        "/v1/jobs/{key}/what-if",
        "Forecast a job with another request",
    );
    rows.post::<SolveRequest, SolveView>(
        "/v1/jobs/{key}/solve",
        "Search for moves of running jobs that make room for a job",
    );
}

fn changes_of_jobs(rows: &mut Rows<'_>) {
    rows.post::<(), Changed>("/v1/jobs/{key}/cancel", "Cancel a job");
    rows.post::<(), Changed>("/v1/jobs/{key}/hold", "Hold a waiting job");
    rows.post::<(), Changed>("/v1/jobs/{key}/release", "Release a held job");
    rows.post::<(), Changed>("/v1/jobs/{key}/requeue", "Return a job to its queue");
    rows.post::<(), Changed>("/v1/jobs/{key}/suspend", "Suspend a running job");
    rows.post::<(), Changed>("/v1/jobs/{key}/resume", "Resume a suspended job");
    rows.post::<(), CheckpointAnswer>(
        "/v1/jobs/{key}/checkpoint",
        "Note that a running job has saved its work",
    );
    rows.post::<UpdateRequest, Changed>("/v1/jobs/{key}/update", "Change the request of a job");
    rows.post::<ResizeRequest, Changed>("/v1/jobs/{key}/resize", "Resize a running job");
    rows.post::<JobSignalRequest, Changed>("/v1/jobs/{key}/signal", "Signal a running job");
}

fn programs(rows: &mut Rows<'_>) {
    rows.post::<LaunchRequest, LaunchAnswer>(
        "/v1/jobs/{key}/tasks",
        "Start a program in a running job; only its owner",
    );
    rows.other("/v1/jobs/{key}/tasks/{task}", BYTES, "Read the output and the state of a program")
        .with_query::<TaskQuery>();
    rows.post::<SignalRequest, LaunchAnswer>(
        "/v1/jobs/{key}/tasks/{task}/signal",
        "Signal a program",
    );
    rows.post::<(), LaunchAnswer>("/v1/jobs/{key}/tasks/{task}/input", "Write to a program")
        .with_bytes_body()
        .with_query::<FeedQuery>();
    rows.get::<StepList>("/v1/jobs/{key}/steps", "List the steps of a running job");
    rows.post::<StepWish, StepAnswer>("/v1/jobs/{key}/steps", "Change the steps of a running job");
    rows.post::<(), AttendAnswer>("/v1/jobs/{key}/attend", "Renew the lease of a job");
    rows.post::<FinishRequest, Changed>("/v1/jobs/{key}/finish", "End an interactive job");
}

fn events(rows: &mut Rows<'_>) {
    rows.other("/v1/watch", LINES, "Watch events, one JSON document a line")
        .answered::<Event>(LINES)
        .with_query::<WatchQuery>();
    rows.other("/v1/events", EVENTS, "Watch events as server-sent events")
        .answered::<Event>(EVENTS)
        .with_query::<WatchQuery>()
        .with_header("Last-Event-ID", LAST_EVENT);
}

fn cluster(rows: &mut Rows<'_>) {
    rows.get::<Value>("/v1/openapi.json", "This document; needs no token over HTTP");
    rows.get::<Status>("/v1/status", "Show the state of this controller");
    rows.get::<NodeList>("/v1/nodes", "List nodes");
    rows.get::<NodeList>("/v1/nodes/{name}", "Show a node");
    rows.get::<ClusterMap>("/v1/map", "Show all nodes by leaf group, and the jobs of each GPU");
    rows.get::<QueueList>("/v1/queues", "List queues");
    rows.get::<AccountList>("/v1/accounts", "List accounts and QoS");
    rows.get::<ShareList>("/v1/share", "Show the fair shares of queues");
    rows.query::<PriorityQuery, PriorityList>("/v1/priority", "Show the priorities of jobs");
    rows.query::<IdleGpuQuery, IdleGpuList>("/v1/idle-gpus", "List running jobs with idle GPUs");
    rows.get::<MetricsView>("/v1/metrics", "Show Kant's metrics");
    rows.query::<HistoryQuery, HistoryList>("/v1/history", "List finished jobs");
    rows.query::<ReportQuery, ReportView>("/v1/report", "Report the use of the cluster");
    let estimates = "Compare time limits with run times";
    rows.query::<ReportQuery, EstimatesView>("/v1/report/estimates", estimates);
    rows.query::<HistoryQuery, Value>("/v1/history/kept", "Copy history; for controllers");
    rows.other("/v1/accounting/jobs", CSV, "Export jobs for simulations")
        .with_query::<ExportQuery>();
    rows.other("/v1/accounting/nodes", CSV, "Export nodes for simulations");
    rows.get::<ReservationList>("/v1/reservations", "List reservations");
}

fn services(rows: &mut Rows<'_>) {
    rows.get::<ServiceList>("/v1/services", "List services");
    rows.get::<ServiceList>("/v1/services/{name}", "Show a service with its events");
    rows.get::<Vec<TargetGroup>>(
        "/v1/services/{name}/endpoints",
        "List ready replicas as Prometheus' http_sd reads them",
    );
    rows.get::<ServiceExplanation>("/v1/services/{name}/explain", "Explain a service's replicas");
    rows.post::<DeployRequest, DeployAnswer>("/v1/services", "Deploy a service");
    rows.post::<(), ServiceList>("/v1/services/{name}/pause", "Pause a rollout");
    rows.post::<(), ServiceList>("/v1/services/{name}/resume", "Resume a rollout");
    rows.post::<(), ServiceList>("/v1/services/{name}/promote", "Promote a canary");
    rows.post::<(), ServiceList>("/v1/services/{name}/stop", "Stop a service");
    rows.post::<ScaleRequest, ServiceList>("/v1/services/{name}/scale", "Scale a role");
    rows.post::<RollbackRequest, ServiceList>("/v1/services/{name}/rollback", "Roll back");
}

fn reservations_and_nodes(rows: &mut Rows<'_>) {
    rows.post::<ReservationRequest, ReservationList>("/v1/reservations", "Create a reservation");
    rows.post::<ReservationPatch, ReservationList>(
        "/v1/reservations/{name}/update",
        "Change a reservation",
    );
    rows.post::<(), Changed>("/v1/reservations/{name}/delete", "Delete a reservation");
    rows.post::<DrainRequest, ChangedNodes>("/v1/nodes/{name}/drain", "Drain a node");
    rows.post::<(), ChangedNodes>("/v1/nodes/{name}/resume", "Resume a node");
}

fn tokens(rows: &mut Rows<'_>) {
    rows.query::<TokenQuery, TokenList>("/v1/tokens", "List tokens");
    rows.post::<TokenRequest, TokenAnswer>("/v1/tokens", "Create a token");
    rows.post::<(), TokenList>("/v1/tokens/{id}/revoke", "Revoke a token");
    rows.query::<AuditQuery, AuditList>("/v1/audit", "Read the audit log");
}

fn controllers(rows: &mut Rows<'_>) {
    rows.get::<ControllerList>("/v1/controllers", "List controllers");
    rows.post::<JoinRequest, JoinAnswer>("/v1/controllers", "Join as a controller");
    rows.post::<InviteRequest, InviteAnswer>("/v1/controllers/invite", "Invite a controller");
    rows.post::<(), ControllerList>("/v1/controllers/{id}/promote", "Let a controller vote");
    rows.post::<(), ControllerList>("/v1/controllers/{id}/remove", "Remove a controller");
    rows.post::<(), ControllerList>("/v1/controllers/{id}/transfer", "Transfer the lead");
    rows.other("/v1/backup", BYTES, "Copy the state for a backup");
    rows.post::<(), ReloadAnswer>("/v1/reload", "Read the configuration again");
    rows.get::<UpgradeView>("/v1/upgrade", "Show the releases in use, and the next step");
}

fn enrolments(rows: &mut Rows<'_>) {
    rows.get::<EnrolmentList>("/v1/enrolments", "List enrolled nodes");
    rows.post::<NodeInviteRequest, InviteAnswer>("/v1/enrolments/invite", "Invite nodes");
    rows.post::<EnrolRequest, IssuedCertificate>("/v1/enrolments/join", "Enrol a node");
    rows.post::<RenewRequest, IssuedCertificate>("/v1/enrolments/renew", "Renew a certificate");
    rows.post::<(), EnrolmentList>("/v1/enrolments/{name}/revoke", "Revoke a node's certificates");
    rows.get::<InvitationList>("/v1/invitations", "List invitations");
    rows.post::<(), InvitationList>("/v1/invitations/{id}/withdraw", "Withdraw an invitation");
    rows.get::<ClusterKeyView>("/v1/cluster-key", "Show the replacement of the cluster key");
    rows.post::<(), ClusterKeyView>("/v1/cluster-key/rotate", "Begin to replace the cluster key");
    rows.post::<KeyGeneration, ClusterKeyView>("/v1/cluster-key/advance", "Go on to the next step");
    rows.post::<(), ClusterKeyView>("/v1/cluster-key/cancel", "Cancel the replacement");
    rows.post::<(), ClusterKeyView>("/v1/cluster-key/adopt", "Adopt the cluster key");
    rows.get::<KeyGeneration>("/v1/cluster-key/generation", "Show the key's generation");
    rows.post::<KeyOffer, KeyGeneration>("/v1/cluster-key/offer", "Offer a cluster key");
}
