//! Answers of the API for the tests of pages.

use crate::frame::{Frame, Rights};
use common::id::Uid;
use common::right::Roles;
use common::wire::api::JobView;
use serde_json::json;

pub const RIGHTS: Rights = Rights { uid: Uid(1000), manages_jobs: true, operates: false };
pub const FRAME: Frame<'_> =
    Frame { cluster: "demo", user: "ada", rights: RIGHTS, roles: &Roles::NONE, csrf: "c5r7" };

/// A job of the user of [`FRAME`] in this phase.
pub fn job(id: u32, phase: &str) -> JobView {
    let reason = (phase == "pending")
        .then(|| json!({ "code": "Resources", "sentence": "not enough GPUs are free" }));
    let view = json!({
        "key": id.to_string(), "owner": { "uid": 1000, "gid": 1000, "name": "ada" },
        "ask": { "name": "train", "request": { "tasks": 1, "cpus_per_task": 1 } },
        "phase": phase, "outcome": null, "state": phase.to_uppercase(), "state_code": "X",
        "reason": reason, "position": null, "submitted_at": 0, "started_at": null,
        "ended_at": null, "allocation": null, "cpus": 1, "memory": 1, "gpus": 0, "exit": null,
        "usage": null, "message": null
    });
    serde_json::from_value(view).unwrap()
}
