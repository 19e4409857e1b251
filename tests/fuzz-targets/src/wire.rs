//! Messages: of clients, of nodes, and between controllers. A message that is read must be read as
//! the same again after it was written.

use common::job::check::{check_ask, check_script};
use common::service::check_spec;
use common::wire::api::{
    AuditQuery, BatchRequest, DeployRequest, EnrolRequest, HistoryQuery, InviteRequest,
    JoinRequest, LaunchRequest, NodeInviteRequest, RenewRequest, ReportQuery, ReservationPatch,
    ReservationRequest, ResizeRequest, ScaleRequest, SetRequest, SignalRequest, SolveRequest,
    SubmitRequest, TokenRequest, UpdateRequest, WatchQuery, WhatIfRequest,
};
use common::wire::node::{FromNode, ToNode};
use common::wire::peer::{FromPeer, ToPeer};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Reads the body of each kind of request.
pub fn api_body(bytes: &[u8]) {
    if let Some(request) = json::<SubmitRequest>(bytes) {
        let _ = check_ask(&request.ask);
        let _ = check_script(request.script.as_bytes());
    }
    if let Some(request) = json::<DeployRequest>(bytes) {
        let _ = check_spec(&request.spec);
    }
    json::<BatchRequest>(bytes);
    json::<SetRequest>(bytes);
    json::<UpdateRequest>(bytes);
    json::<WhatIfRequest>(bytes);
    json::<SolveRequest>(bytes);
    json::<LaunchRequest>(bytes);
    json::<SignalRequest>(bytes);
    json::<ResizeRequest>(bytes);
    json::<ScaleRequest>(bytes);
    json::<ReservationRequest>(bytes);
    json::<ReservationPatch>(bytes);
    json::<TokenRequest>(bytes);
    json::<EnrolRequest>(bytes);
    json::<RenewRequest>(bytes);
    json::<NodeInviteRequest>(bytes);
    json::<InviteRequest>(bytes);
    json::<JoinRequest>(bytes);
    json::<AuditQuery>(bytes);
    json::<HistoryQuery>(bytes);
    json::<ReportQuery>(bytes);
    json::<WatchQuery>(bytes);
}

/// Reads a message between a controller and a node.
pub fn node_message(bytes: &[u8]) {
    message_pack::<FromNode>(bytes);
    message_pack::<ToNode>(bytes);
}

/// Reads a message between controllers, without the consensus library's part.
pub fn peer_message(bytes: &[u8]) {
    message_pack::<FromPeer>(bytes);
    message_pack::<ToPeer>(bytes);
}

fn json<T: DeserializeOwned + Serialize>(bytes: &[u8]) -> Option<T> {
    let message: T = serde_json::from_slice(bytes).ok()?;
    let written = serde_json::to_vec(&message).unwrap();
    let again: T = serde_json::from_slice(&written).unwrap();
    assert_eq!(serde_json::to_vec(&again).unwrap(), written);
    Some(message)
}

fn message_pack<T: DeserializeOwned + Serialize>(bytes: &[u8]) {
    let Ok(message) = rmp_serde::from_slice::<T>(bytes) else { return };
    let written = rmp_serde::to_vec_named(&message).unwrap();
    let again: T = rmp_serde::from_slice(&written).unwrap();
    assert_eq!(rmp_serde::to_vec_named(&again).unwrap(), written);
}
