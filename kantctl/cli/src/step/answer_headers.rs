//! The headers of an answer about a task: its state, and how its output is divided.

use crate::failure::Failure;
use common::wire::api::TASK_STATE;
use common::wire::node::TaskState;
use net::http::HeaderMap;

/// The text of a header of an answer.
pub fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// The state of a task, which an answer has in a header.
///
/// # Errors
/// The answer has none, or one that this kantctl does not know.
pub fn task_state(headers: &HeaderMap) -> Result<TaskState, Failure> {
    let state = header(headers, TASK_STATE).and_then(|text| serde_json::from_str(text).ok());
    state.ok_or_else(|| {
        let text = "failed to understand the controller's answer: does it have the same version \
                    as kantctl?";
        Failure::from_message(text.to_owned())
    })
}
