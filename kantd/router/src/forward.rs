//! The way of one request through the router.

use crate::answer::{AnswerBody, Refusal};
use crate::attempt::{Manner, attempt};
use crate::endpoint::{Endpoint, Lease, Reuse};
use crate::exchange::{Exchange, Site};
use crate::headers;
use crate::prepare::{Prepared, prepare};
use crate::service::Plan;
use crate::stats::ErrorKind;
use crate::tunnel;
use crate::upload::{Progress, Upload};
use hyper::body::Incoming;
use hyper::header::{CONTENT_LENGTH, HeaderValue, TRANSFER_ENCODING};
use hyper::upgrade::OnUpgrade;
use hyper::{Request, Response, StatusCode};
use std::convert::Infallible;
use std::sync::Arc;

/// Answers a request. There is always an answer.
pub async fn answer(
    site: Arc<Site>,
    request: Request<Incoming>,
) -> Result<Response<AnswerBody>, Infallible> {
    let framing = site.watch.begin_request();
    let exchange = Exchange::begin(site.clone());
    if framing.has_length && framing.has_encoding {
        let why = "the request has both Content-Length and Transfer-Encoding";
        let refusal = Refusal::new(ErrorKind::BadRequest, StatusCode::BAD_REQUEST, why);
        return Ok(refusal.into_response(exchange));
    }
    let plan = site.service.plan();
    let Prepared { request, progress, id, upgrade, is_repeatable } =
        match prepare(&site, &plan, request) {
            Ok(prepared) => prepared,
            Err(refusal) => return Ok(refusal.into_response(exchange)),
        };
    let progress = progress.as_deref();
    match send(&site, plan, request, progress, is_repeatable).await {
        Ok((response, lease)) => {
            if let Some(progress) = progress {
                progress.set_answered();
            }
            Ok(client_response(response, lease, exchange, id, upgrade))
        }
        Err(refusal) => Ok(refusal.into_response(exchange)),
    }
}

/// Sends a request until a replica answers it or it must not be sent again.
async fn send(
    site: &Site,
    mut plan: Arc<Plan>,
    mut request: Request<Upload>,
    progress: Option<&Progress>,
    is_repeatable: bool,
) -> Result<(Response<Incoming>, Lease), Refusal> {
    let service = &site.service;
    let limits = &service.config.upstream;
    let key = plan.affinity_key(request.headers());
    let mut tried: Vec<Arc<Endpoint>> = Vec::new();
    let mut retries_left = limits.retries_max;
    let mut reuse = if is_repeatable { Reuse::Any } else { Reuse::Checked };
    let mut endpoint = loop {
        match service.choose(&plan, key, &tried) {
            Some(endpoint) => break endpoint,
            None => plan = service.wait_for_ready().await.map_err(no_replica_refusal)?,
        }
    };
    loop {
        let mut lease = Lease::new(endpoint.clone(), site.worker);
        let manner = Manner { reuse, is_repeatable, progress, limits };
        let failure = match attempt(&mut lease, request, manner).await {
            Ok(response) => {
                endpoint.health.succeed();
                return Ok((response, lease));
            }
            Err(failure) => failure,
        };
        let may_retry = failure.was_reused || retries_left > 0;
        let Some(same) = failure.request.filter(|_| may_retry) else {
            if failure.is_fault {
                service.note_failure(&endpoint);
            }
            return Err(failure.refusal);
        };
        if failure.was_reused {
            // A new connection shows whether the replica is there. From now on, all are new.
            reuse = Reuse::Never;
        } else {
            service.note_failure(&endpoint);
            tried.push(endpoint);
            plan = service.plan();
            endpoint = service.choose(&plan, key, &tried).ok_or(failure.refusal)?;
            retries_left -= 1;
        }
        request = same;
        service.stats.retries.add_one();
    }
}

fn no_replica_refusal(kind: ErrorKind) -> Refusal {
    let message = match kind {
        ErrorKind::HoldTimeout => "no replica of the service became ready in time: try again later",
        _ => "no replica of the service is ready: try again later",
    };
    Refusal::new(kind, StatusCode::SERVICE_UNAVAILABLE, message)
}

/// The replica's answer as the client gets it.
fn client_response(
    mut response: Response<Incoming>,
    lease: Lease,
    mut exchange: Exchange,
    id: HeaderValue,
    upgrade: Option<OnUpgrade>,
) -> Response<AnswerBody> {
    let status = response.status();
    let protocol = match status {
        StatusCode::SWITCHING_PROTOCOLS => headers::upgrade_protocol(response.headers()),
        _ => None,
    };
    if status == StatusCode::SWITCHING_PROTOCOLS && (upgrade.is_none() || protocol.is_none()) {
        let why = "the replica switched to another protocol, for which the client had not asked";
        let refusal = Refusal::new(ErrorKind::Reset, StatusCode::BAD_GATEWAY, why);
        return refusal.into_response(exchange);
    }
    exchange.set_status(status);
    let replica = protocol.as_ref().map(|_| hyper::upgrade::on(&mut response));
    let (mut parts, body) = response.into_parts();
    if parts.headers.contains_key(TRANSFER_ENCODING) {
        // It takes precedence (RFC 9112, section 6.3), and is not passed on.
        parts.headers.remove(CONTENT_LENGTH);
    }
    headers::remove_hop_by_hop(&mut parts.headers);
    parts.headers.insert(headers::X_REQUEST_ID, id);
    let body = match (upgrade, replica) {
        (Some(client), Some(replica)) => {
            tokio::spawn(tunnel::run(client, replica, lease, exchange));
            AnswerBody::EMPTY
        }
        _ => AnswerBody::streamed(body, lease, exchange),
    };
    if let Some(protocol) = protocol {
        headers::set_upgrade(&mut parts.headers, protocol);
    }
    let mut answer = Response::new(body);
    *answer.status_mut() = parts.status;
    *answer.headers_mut() = parts.headers;
    answer
}
