//! One attempt to get an answer from a replica, and what a failed one means for the next.

use crate::answer::Refusal;
use crate::config::UpstreamLimits;
use crate::endpoint::{Lease, Reuse};
use crate::prepare::clone_without_body;
use crate::stats::ErrorKind;
use crate::upload::{Progress, TooSlow, Upload};
use crate::upstream::SendError;
use hyper::body::Incoming;
use hyper::header::{HOST, HeaderValue};
use hyper::{Request, Response, StatusCode};
use std::error::Error as StdError;
use std::pin::pin;
use std::time::Instant;

/// How a request is sent.
#[derive(Debug, Clone, Copy)]
pub struct Manner<'a> {
    pub reuse: Reuse,
    /// It may be sent again after a replica has got it.
    pub is_repeatable: bool,
    /// Of the request's body, if it has one.
    pub progress: Option<&'a Progress>,
    pub limits: &'a UpstreamLimits,
}

/// An attempt that failed.
#[derive(Debug)]
pub struct Failure {
    /// The request, if it may be sent again.
    pub request: Option<Request<Upload>>,
    /// The replica is at fault, or its host.
    pub is_fault: bool,
    /// The connection was used before: the replica may have closed it at the same time.
    pub was_reused: bool,
    /// The answer to the client if this was the last attempt.
    pub refusal: Refusal,
}

/// Sends the request, and waits for the begin of the answer.
///
/// # Errors
/// If there is none.
pub async fn attempt(
    lease: &mut Lease,
    mut request: Request<Upload>,
    manner: Manner<'_>,
) -> Result<Response<Incoming>, Failure> {
    if !request.headers().contains_key(HOST) {
        set_host(&mut request, lease);
    }
    let endpoint = lease.endpoint().clone();
    let (upstream, was_reused) = match lease.connect(manner.reuse, manner.limits).await {
        Ok(connected) => connected,
        Err(error) => {
            let message = format!("failed to connect to the replica {}: {error}", endpoint.id);
            let refusal = Refusal::new(ErrorKind::Connect, StatusCode::BAD_GATEWAY, message);
            let request = Some(request);
            return Err(Failure { request, is_fault: true, was_reused: false, refusal });
        }
    };
    let again = manner.is_repeatable.then(|| clone_without_body(&request));
    match await_within_limits(upstream.send(request), manner.progress, manner.limits).await {
        Some(Ok(response)) => Ok(response),
        Some(Err(error)) => {
            let failure = failure_of(&endpoint.id, error, again);
            Err(Failure { was_reused, ..failure })
        }
        None => {
            let (id, seconds) = (&endpoint.id, manner.limits.answer.as_secs());
            let message = format!("the replica {id} did not begin its answer within {seconds} s");
            let status = StatusCode::GATEWAY_TIMEOUT;
            let refusal = Refusal::new(ErrorKind::AnswerTimeout, status, message);
            Err(Failure { request: None, is_fault: false, was_reused, refusal })
        }
    }
}

/// A request with HTTP/1.0 may have no host.
fn set_host(request: &mut Request<Upload>, lease: &Lease) {
    if let Ok(host) = HeaderValue::from_str(&lease.endpoint().addr.to_string()) {
        request.headers_mut().insert(HOST, host);
    }
}

/// Waits as long as the replica may take. The time in which the client sends its body does not
/// count.
async fn await_within_limits<T>(
    answer: impl Future<Output = T>,
    progress: Option<&Progress>,
    limits: &UpstreamLimits,
) -> Option<T> {
    let mut answer = pin!(answer);
    let begun = Instant::now();
    let end = |from: Instant| tokio::time::Instant::from_std(from + limits.answer);
    let mut until = end(begun);
    loop {
        if let Ok(answered) = tokio::time::timeout_at(until, answer.as_mut()).await {
            return Some(answered);
        }
        let awaited = progress.map_or(Some(begun), Progress::awaits_replica_since);
        let next = end(awaited.unwrap_or_else(Instant::now));
        if next <= until {
            return None;
        }
        until = next;
    }
}

fn failure_of(id: &str, error: SendError, again: Option<Request<Upload>>) -> Failure {
    let SendError { error, unsent, has_read } = error;
    let failure =
        |request, is_fault, refusal| Failure { request, is_fault, was_reused: false, refusal };
    if let Some(slow) = source_of::<TooSlow>(&error) {
        let (kind, status) = (ErrorKind::SlowBody, StatusCode::REQUEST_TIMEOUT);
        return failure(None, false, Refusal::new(kind, status, slow.to_string()));
    }
    // The body is the only part of the request that can fail by itself.
    if error.is_user() {
        let message = "the body of the request is malformed or incomplete";
        let refusal = Refusal::new(ErrorKind::BadRequest, StatusCode::BAD_REQUEST, message);
        return failure(None, false, refusal);
    }
    let again = if has_read { None } else { unsent.or(again) };
    let cause = error.source().map_or_else(String::new, |cause| format!(": {cause}"));
    let message = format!("failed to get an answer from the replica {id}: {error}{cause}");
    failure(again, true, Refusal::new(ErrorKind::Reset, StatusCode::BAD_GATEWAY, message))
}

fn source_of<E: StdError + Copy + 'static>(error: &hyper::Error) -> Option<E> {
    let mut next: Option<&(dyn StdError + 'static)> = error.source();
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<E>() {
            return Some(*found);
        }
        next = error.source();
    }
    None
}
