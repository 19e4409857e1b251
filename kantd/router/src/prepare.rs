//! A client's request as a replica gets it: admitted, with the header fields of its next
//! connection.

use crate::answer::Refusal;
use crate::exchange::Site;
use crate::headers::{self, Forwarded};
use crate::service::Plan;
use crate::stats::ErrorKind;
use crate::upload::{Progress, Rate, Upload};
use common::service::table::Protocol;
use hyper::body::Incoming;
use hyper::header::{CONTENT_LENGTH, HeaderValue, TRANSFER_ENCODING};
use hyper::http::request::Parts;
use hyper::upgrade::OnUpgrade;
use hyper::{Request, StatusCode, Version};
use std::sync::Arc;

/// A request that can be sent to a replica.
pub struct Prepared {
    pub request: Request<Upload>,
    /// Of its body, if it has one.
    pub progress: Option<Arc<Progress>>,
    pub id: HeaderValue,
    /// The client's side of a connection that may switch to another protocol.
    pub upgrade: Option<OnUpgrade>,
    /// It may be sent again after a replica has got it.
    pub is_repeatable: bool,
}

/// Admits and changes a request.
///
/// # Errors
/// The answer to a request that no replica may get.
pub fn prepare(
    site: &Site,
    plan: &Plan,
    mut request: Request<Incoming>,
) -> Result<Prepared, Refusal> {
    check_token(plan, &request)?;
    let may_switch = request.version() == Version::HTTP_11 && plan.protocol == Protocol::Http1;
    let protocol = headers::upgrade_protocol(request.headers()).filter(|_| may_switch);
    let upgrade = protocol.as_ref().map(|_| hyper::upgrade::on(&mut request));
    let (parts, body) = request.into_parts();
    let Parts { method, mut uri, version, mut headers, .. } = parts;
    headers::set_target(&method, &mut uri, version, &mut headers)
        .map_err(|(status, why)| Refusal::new(ErrorKind::BadRequest, status, why))?;
    let has_token = plan.token.is_some();
    let forwarded = Forwarded { version, client: &site.client, has_tls: site.has_tls, has_token };
    let id = headers::prepare_request(&mut headers, &forwarded);
    if let Some(protocol) = protocol {
        headers::set_upgrade(&mut headers, protocol);
    }
    let limits = &site.service.config.client;
    let rate = Rate { bytes_per_second: limits.body_rate_min, window: limits.body_window };
    let (upload, progress) = Upload::new(body, rate);
    let has_unknown_length = progress.is_some() && !headers.contains_key(CONTENT_LENGTH);
    if has_unknown_length && plan.protocol == Protocol::Http1 {
        // Without it, hyper leaves out the body of a GET.
        headers.insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
    }
    let is_repeatable = headers::is_idempotent(&method) && progress.is_none() && upgrade.is_none();
    let mut request = Request::new(upload);
    *request.method_mut() = method;
    *request.uri_mut() = uri;
    *request.headers_mut() = headers;
    Ok(Prepared { request, progress, id, upgrade, is_repeatable })
}

fn check_token(plan: &Plan, request: &Request<Incoming>) -> Result<(), Refusal> {
    let Some(hash) = plan.token else { return Ok(()) };
    if headers::bearer_token(request.headers()).is_some_and(|token| hash.matches(token)) {
        return Ok(());
    }
    let why = "the request needs the access token of the service: Authorization: Bearer TOKEN";
    Err(Refusal::new(ErrorKind::Unauthorized, StatusCode::UNAUTHORIZED, why))
}

/// The same request once more. It has no body.
pub fn clone_without_body(request: &Request<Upload>) -> Request<Upload> {
    let mut copy = Request::new(Upload::Empty);
    *copy.method_mut() = request.method().clone();
    *copy.uri_mut() = request.uri().clone();
    *copy.headers_mut() = request.headers().clone();
    copy
}
