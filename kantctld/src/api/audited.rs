//! Audit lines for requests. This middleware precedes all routes, so that a new route is audited by
//! default: every method but GET counts as a change, with the exceptions listed here. Of other
//! requests, those that their caller may not make are audited, and those that read the script or
//! output of another user's job. It neither authorizes nor delays requests.

use super::origin::Origin;
use crate::audit::{Audit, AuditLine, AuditResult};
use crate::clock::SteadyClock;
use axum::extract::{ConnectInfo, MatchedPath, Request, State};
use axum::http::{Method, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::Response;
use common::right::Role;
use common::sync::Mutex;
use common::time::Time;
use common::wire::node::NODE_PATH;
use common::wire::peer::PEER_PATH;
use net::{Caller, RefusalCode};
use std::sync::Arc;

/// Queries with a body; they change nothing.
const QUERIES: &[&str] = &["/v1/jobs/trial", "/v1/jobs/{key}/what-if", "/v1/jobs/{key}/solve"];
/// Repeated requests whose start was audited already; only refusals are written.
const REPEATED: &[&str] = &["/v1/jobs/{key}/attend", "/v1/jobs/{key}/tasks/{task}/input"];
/// GETs that return everything, or open a daemon's channel.
const AUDITED_GETS: &[&str] = &["/v1/backup", NODE_PATH, PEER_PATH];

/// What a handler adds to the audit line of its request.
#[derive(Clone, Default)]
pub(super) struct AuditRemark(Arc<Mutex<RemarkContent>>);

#[derive(Default)]
struct RemarkContent {
    verb: Option<&'static str>,
    target: Option<String>,
    detail: String,
    is_repeated: bool,
    /// By which the request is allowed.
    role: Option<Role>,
}

impl AuditRemark {
    /// Sets the verb where the route does not tell what the request does.
    pub(super) fn set_verb(&self, verb: &'static str) {
        self.with_content(|content| content.verb = Some(verb));
    }

    /// Sets the target where the path does not name it.
    pub(super) fn set_target(&self, target: impl ToString) {
        self.with_content(|content| content.target = Some(target.to_string()));
    }

    /// Adds details.
    pub(super) fn set_detail(&self, detail: impl ToString) {
        self.with_content(|content| content.detail = detail.to_string());
    }

    /// Adds the role by which the request is allowed.
    pub(super) fn set_role(&self, role: Role) {
        self.with_content(|content| content.role = Some(role));
    }

    /// Marks a repeated request, for which only a refusal is written.
    pub(super) fn mark_repeated(&self) {
        self.with_content(|content| content.is_repeated = true);
    }

    /// Marks a repeated request, unless a role allows it.
    pub(super) fn mark_repeated_of_owner(&self) {
        self.with_content(|content| content.is_repeated = content.role.is_none());
    }

    fn with_content<T>(&self, with: impl FnOnce(&mut RemarkContent) -> T) -> T {
        with(&mut self.0.lock())
    }
}

/// A mark on the answer of another controller, which wrote the audit line.
#[derive(Clone, Copy)]
pub(super) struct AuditedElsewhere;

/// A mark on the answer to a request that read what is not the user's own, by this role.
#[derive(Clone, Copy)]
pub(super) struct ReadAs(pub(super) Role);

/// The audit log and the clock for its lines.
#[derive(Clone)]
pub struct Auditor {
    pub audit: Audit,
    pub clock: Arc<SteadyClock>,
}

/// Writes an audit line for a request that changes something.
pub async fn audit_change(
    State(auditor): State<Auditor>,
    mut request: Request,
    next: Next,
) -> Response {
    let Some(path) = audited_path(&request) else {
        return audit_read_if_needed(auditor, request, next).await;
    };
    let remark = AuditRemark::default();
    remark.with_content(|content| content.is_repeated = REPEATED.contains(&path.as_str()));
    request.extensions_mut().insert(remark.clone());
    let line = begin(auditor.clock.now(), &path, &request);
    // Written even if the client disconnects: the request may have been carried out.
    let pending = Pending { audit: auditor.audit, remark, line: Some(line) };
    let response = next.run(request).await;
    pending.end(&response);
    response
}

/// Runs a request that changes nothing, and writes a line if its caller may not make it, or read
/// by a role what is another user's.
async fn audit_read_if_needed(auditor: Auditor, request: Request, next: Next) -> Response {
    let Some(path) = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned())
    else {
        return next.run(request).await;
    };
    let line = begin(auditor.clock.now(), &path, &request);
    let response = next.run(request).await;
    let is_refused = matches!(response.status(), StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
    let role = response.extensions().get::<ReadAs>().map(|ReadAs(role)| *role);
    if is_refused || role.is_some() {
        let (audit, remark) = (auditor.audit, AuditRemark::default());
        remark.with_content(|content| content.role = role);
        Pending { audit, remark, line: Some(line) }.end(&response);
    }
    response
}

fn audited_path(request: &Request) -> Option<String> {
    let path = request.extensions().get::<MatchedPath>()?.as_str();
    let changes = match *request.method() {
        Method::GET | Method::HEAD | Method::OPTIONS => AUDITED_GETS.contains(&path),
        _ => !QUERIES.contains(&path),
    };
    changes.then(|| path.to_owned())
}

fn begin(at: Time, path: &str, request: &Request) -> AuditLine {
    let origin = Origin::of(request.extensions(), request.headers());
    AuditLine {
        at,
        uid: uid_of_caller(request),
        user: None,
        via: origin.to_string(),
        through: origin.through.map(|id| format!("controller {id}")),
        verb: verb_of_route(request.method(), path),
        target: target(path, request.uri()),
        detail: String::new(),
        result: AuditResult::Unknown,
        code: None,
    }
}

/// The caller's user, also if its claim to be another user is refused.
fn uid_of_caller(request: &Request) -> Option<u32> {
    let ConnectInfo(caller) = request.extensions().get::<ConnectInfo<Caller>>()?;
    let user = net::caller_identity(caller, request.headers()).ok().map(|user| user.uid);
    match caller {
        Caller::Local { uid, .. } => Some(*uid),
        Caller::Program(program) => Some(program.uid),
        Caller::Peer(_) | Caller::Stranger(_) | Caller::Anonymous => user,
    }
}

/// The verb of a route; `/v1/jobs/{key}/cancel` becomes `jobs/cancel`. Slurm's routes have the
/// verbs of those that do the same.
fn verb_of_route(method: &Method, path: &str) -> String {
    match (method.as_str(), path) {
        ("POST", "/slurm/{version}/job/submit") => return "jobs/submit".to_owned(),
        ("POST", "/slurm/{version}/job/{job_id}") => return "jobs/update".to_owned(),
        ("DELETE", "/slurm/{version}/job/{job_id}") => return "jobs/cancel".to_owned(),
        _ => {}
    }
    let words = path.split('/').skip(2).filter(|part| !part.starts_with('{'));
    let verb = words.collect::<Vec<_>>().join("/");
    let made = match verb.as_str() {
        "jobs" => "/submit",
        "jobs/tasks" => "/start",
        "reservations" => "/create",
        "services" => "/deploy",
        "controllers" => "/join",
        "tokens" => "/create",
        _ => "",
    };
    verb + made
}

/// The objects named in the path.
fn target(path: &str, uri: &Uri) -> String {
    let parts = path.split('/').zip(uri.path().split('/'));
    let is_named = |part: &str| part.starts_with('{') && part != "{version}";
    let named = parts.filter(|(part, _)| is_named(part)).map(|(_, name)| name);
    named.collect::<Vec<_>>().join("/")
}

struct Pending {
    audit: Audit,
    remark: AuditRemark,
    line: Option<AuditLine>,
}

impl Pending {
    fn end(mut self, response: &Response) {
        let Some(line) = self.line.take() else { return };
        if response.extensions().get::<AuditedElsewhere>().is_some() {
            return;
        }
        let result = audit_result(response.status());
        let is_repeated = self.remark.with_content(|content| content.is_repeated);
        if is_repeated && result == AuditResult::Done {
            return;
        }
        let code = response.extensions().get::<RefusalCode>().map(|RefusalCode(code)| code.clone());
        // A request that the router or an extractor refused has no code of ours.
        let unread = || format!("http_{}", response.status().as_u16());
        let code = (result != AuditResult::Done).then(|| code.unwrap_or_else(unread));
        self.write(AuditLine { result, code, ..line });
    }

    fn write(&self, mut line: AuditLine) {
        self.remark.with_content(|content| {
            if let Some(verb) = content.verb {
                verb.clone_into(&mut line.verb);
            }
            if let Some(target) = content.target.take() {
                line.target = target;
            }
            line.detail = std::mem::take(&mut content.detail);
            if let Some(role) = content.role {
                let comma = if line.detail.is_empty() { "" } else { ", " };
                line.detail = format!("as {}{comma}{}", role.word(), line.detail);
            }
        });
        self.audit.note(line);
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        let is_repeated = self.remark.with_content(|content| content.is_repeated);
        if let Some(line) = self.line.take().filter(|_| !is_repeated) {
            self.write(line);
        }
    }
}

fn audit_result(status: StatusCode) -> AuditResult {
    match status.as_u16() {
        ..400 => AuditResult::Done,
        400..500 => AuditResult::Refused,
        _ => AuditResult::Failed,
    }
}

#[cfg(test)]
mod tests;
