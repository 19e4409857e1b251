//! The audit log's lines of requests. Stands before all routes, so that a new verb has its line
//! without a word: whatever is no GET changes something, but for what is named here. Never decides
//! what is allowed, and never keeps a request waiting.

use super::origin::Origin;
use crate::audit::{Audit, AuditLine, AuditResult};
use crate::clock::SteadyClock;
use axum::extract::{ConnectInfo, MatchedPath, Request, State};
use axum::http::{Method, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::Response;
use common::time::Time;
use common::wire::node::NODE_PATH;
use common::wire::peer::PEER_PATH;
use net::{Caller, RefusalCode};
use std::sync::{Arc, Mutex, PoisonError};

/// Questions with a body: nothing changes by them.
const QUESTIONS: &[&str] = &["/v1/jobs/trial", "/v1/jobs/{key}/what-if", "/v1/jobs/{key}/solve"];
/// What goes on again and again once a line stands for its beginning: only a refusal has one.
const CONTINUED: &[&str] = &["/v1/jobs/{key}/attend", "/v1/jobs/{key}/tasks/{task}/input"];
/// GETs that hand out everything, or let a daemon in.
const WEIGHTY: &[&str] = &["/v1/backup", NODE_PATH, PEER_PATH];

/// What a handler adds to its request's line.
#[derive(Clone, Default)]
pub(super) struct Remark(Arc<Mutex<Said>>);

#[derive(Default)]
struct Said {
    target: Option<String>,
    detail: String,
    is_continued: bool,
}

impl Remark {
    /// What was made, or is meant, where the path does not say.
    pub(super) fn target(&self, target: impl ToString) {
        self.said(|said| said.target = Some(target.to_string()));
    }

    /// What else is known.
    pub(super) fn detail(&self, detail: impl ToString) {
        self.said(|said| said.detail = detail.to_string());
    }

    /// Nothing begins or ends by it: only a refusal is worth a line.
    pub(super) fn continues(&self) {
        self.said(|said| said.is_continued = true);
    }

    fn said<T>(&self, with: impl FnOnce(&mut Said) -> T) -> T {
        with(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A mark on the answer of another controller, which has written the line.
#[derive(Clone, Copy)]
pub(super) struct WrittenElsewhere;

/// Where the lines go, and their time.
#[derive(Clone)]
pub struct Auditor {
    pub audit: Audit,
    pub clock: Arc<SteadyClock>,
}

/// Has a line written for a request that changes something.
pub async fn audited(State(auditor): State<Auditor>, mut request: Request, next: Next) -> Response {
    let Some(path) = audited_path(&request) else { return next.run(request).await };
    let remark = Remark::default();
    remark.said(|said| said.is_continued = CONTINUED.contains(&path.as_str()));
    request.extensions_mut().insert(remark.clone());
    let line = begin(auditor.clock.now(), &path, &request);
    // Written also where the client leaves: what it asked for may have been done.
    let pending = Pending { audit: auditor.audit, remark, line: Some(line) };
    let response = next.run(request).await;
    pending.end(&response);
    response
}

fn audited_path(request: &Request) -> Option<String> {
    let path = request.extensions().get::<MatchedPath>()?.as_str();
    let changes = match *request.method() {
        Method::GET | Method::HEAD | Method::OPTIONS => WEIGHTY.contains(&path),
        _ => !QUESTIONS.contains(&path),
    };
    changes.then(|| path.to_owned())
}

fn begin(at: Time, path: &str, request: &Request) -> AuditLine {
    let origin = Origin::of(request.extensions(), request.headers());
    AuditLine {
        at,
        uid: uid(request),
        user: None,
        via: origin.to_string(),
        through: origin.through.map(|id| format!("controller {id}")),
        verb: verb(path),
        target: target(path, request.uri()),
        detail: String::new(),
        result: AuditResult::Unknown,
        code: None,
    }
}

/// The user, also one whose claim to be another is refused.
fn uid(request: &Request) -> Option<u32> {
    let ConnectInfo(caller) = request.extensions().get::<ConnectInfo<Caller>>()?;
    let user = net::caller_identity(caller, request.headers()).ok().map(|user| user.uid);
    match caller {
        Caller::Local { uid, .. } => Some(*uid),
        Caller::Peer(_) => user,
    }
}

/// `/v1/jobs/{key}/cancel`: `jobs/cancel`.
fn verb(path: &str) -> String {
    let words = path.split('/').skip(2).filter(|part| !part.starts_with('{'));
    let verb = words.collect::<Vec<_>>().join("/");
    let made = match verb.as_str() {
        "jobs" => "/submit",
        "jobs/tasks" => "/start",
        "reservations" => "/create",
        "controllers" => "/join",
        _ => "",
    };
    verb + made
}

/// What the path names.
fn target(path: &str, uri: &Uri) -> String {
    let parts = path.split('/').zip(uri.path().split('/'));
    let named = parts.filter(|(part, _)| part.starts_with('{')).map(|(_, name)| name);
    named.collect::<Vec<_>>().join("/")
}

struct Pending {
    audit: Audit,
    remark: Remark,
    line: Option<AuditLine>,
}

impl Pending {
    fn end(mut self, response: &Response) {
        let Some(line) = self.line.take() else { return };
        if response.extensions().get::<WrittenElsewhere>().is_some() {
            return;
        }
        let result = result(response.status());
        let is_continued = self.remark.said(|said| said.is_continued);
        if is_continued && result == AuditResult::Done {
            return;
        }
        let code = response.extensions().get::<RefusalCode>().map(|RefusalCode(code)| code.clone());
        // A request that does not even read as one of its route has no word of ours.
        let unread = || format!("http_{}", response.status().as_u16());
        let code = (result != AuditResult::Done).then(|| code.unwrap_or_else(unread));
        self.write(AuditLine { result, code, ..line });
    }

    fn write(&self, mut line: AuditLine) {
        self.remark.said(|said| {
            if let Some(target) = said.target.take() {
                line.target = target;
            }
            line.detail = std::mem::take(&mut said.detail);
        });
        self.audit.note(line);
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        let is_continued = self.remark.said(|said| said.is_continued);
        if let Some(line) = self.line.take().filter(|_| !is_continued) {
            self.write(line);
        }
    }
}

fn result(status: StatusCode) -> AuditResult {
    match status.as_u16() {
        ..400 => AuditResult::Done,
        400..500 => AuditResult::Refused,
        _ => AuditResult::Failed,
    }
}

#[cfg(test)]
mod tests;
