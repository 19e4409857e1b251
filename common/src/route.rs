//! The routes of the API: the scope that a token needs, and the right that the user needs. The API
//! checks requests by this table, and reference pages are generated from it. A route that is
//! missing here is closed to all; one without a scope is closed to tokens.

use crate::right::{JobAction, Right};
use crate::token::Scope;

/// The methods of the API.
pub const METHODS: [&str; 3] = ["GET", "POST", "DELETE"];

/// A route of the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    pub method: &'static str,
    /// The path, with the names of its variables in braces.
    pub path: &'static str,
    /// `None`: closed to tokens.
    pub scope: Option<Scope>,
    pub right: Right,
}

impl Route {
    /// Whether its path names a job, whose owner and queue count for the right.
    #[must_use]
    pub fn names_job(&self) -> bool {
        JOB_PATHS.iter().any(|beginning| self.path.starts_with(beginning))
    }

    /// Whether it is a route of kant's own API, which `openapi.json` describes; the others are
    /// Slurm's.
    #[must_use]
    pub fn is_kant_api(&self) -> bool {
        self.path.starts_with("/v1/")
    }
}

/// The beginning of the paths that name a job.
const JOB_PATHS: [&str; 2] = ["/v1/jobs/{key}", "/slurm/{version}/job/{job_id}"];

const fn get(path: &'static str, scope: Scope, right: Right) -> Route {
    Route { method: "GET", path, scope: Some(scope), right }
}

const fn post(path: &'static str, scope: Scope, right: Right) -> Route {
    Route { method: "POST", path, scope: Some(scope), right }
}

const fn delete(path: &'static str, scope: Scope, right: Right) -> Route {
    Route { method: "DELETE", path, scope: Some(scope), right }
}

const fn get_job(path: &'static str, action: JobAction) -> Route {
    get(path, JobsRead, action.right())
}

const fn post_job(path: &'static str, action: JobAction) -> Route {
    post(path, JobsManage, action.right())
}

const fn route_without_scope(method: &'static str, path: &'static str, right: Right) -> Route {
    Route { method, path, scope: None, right }
}

use JobAction::{Read, RunPrograms, See};
use Right::{Everyone, Host, Operate, Oversee, Own};
use Scope::{Admin, ClusterRead, JobsManage, JobsRead, JobsSubmit, ServicesManage, ServicesRead};

/// Every route, by its subject.
pub const ROUTES: &[Route] = &[
    get("/v1/jobs", JobsRead, Everyone),
    get_job("/v1/jobs/{key}", See),
    get_job("/v1/jobs/{key}/explain", See),
    get_job("/v1/jobs/{key}/output", Read),
    get_job("/v1/jobs/{key}/output/events", Read),
    get_job("/v1/jobs/{key}/script", Read),
    get_job("/v1/jobs/{key}/steps", See),
    get_job("/v1/jobs/{key}/tasks/{task}", RunPrograms),
    get_job("/v1/jobs/{key}/wait", See),
    post("/v1/jobs/{key}/what-if", JobsRead, See.right()),
    post("/v1/jobs/{key}/solve", JobsRead, See.right()),
    get("/v1/history", JobsRead, Everyone),
    get("/v1/watch", JobsRead, Everyone),
    get("/v1/events", JobsRead, Everyone),
    post("/v1/jobs", JobsSubmit, Everyone),
    post("/v1/jobs/batch", JobsSubmit, Everyone),
    post("/v1/jobs/set", JobsSubmit, Everyone),
    post("/v1/jobs/trial", JobsSubmit, Everyone),
    post_job("/v1/jobs/{key}/attend", RunPrograms),
    post_job("/v1/jobs/{key}/cancel", JobAction::Cancel),
    post_job("/v1/jobs/{key}/checkpoint", JobAction::Checkpoint),
    post_job("/v1/jobs/{key}/finish", JobAction::Finish),
    post_job("/v1/jobs/{key}/hold", JobAction::Hold),
    post_job("/v1/jobs/{key}/release", JobAction::Release),
    post_job("/v1/jobs/{key}/requeue", JobAction::Requeue),
    post_job("/v1/jobs/{key}/resize", JobAction::Resize),
    post_job("/v1/jobs/{key}/resume", JobAction::Resume),
    post_job("/v1/jobs/{key}/signal", JobAction::Signal),
    post_job("/v1/jobs/{key}/steps", Read),
    post_job("/v1/jobs/{key}/suspend", JobAction::Suspend),
    post_job("/v1/jobs/{key}/tasks", RunPrograms),
    post_job("/v1/jobs/{key}/tasks/{task}/input", RunPrograms),
    post_job("/v1/jobs/{key}/tasks/{task}/signal", RunPrograms),
    post_job("/v1/jobs/{key}/update", JobAction::Update),
    get("/v1/accounting/jobs", JobsRead, Everyone),
    get("/v1/accounting/nodes", ClusterRead, Everyone),
    get("/v1/accounts", ClusterRead, Everyone),
    get("/v1/controllers", ClusterRead, Oversee),
    get("/v1/idle-gpus", JobsRead, Everyone),
    get("/v1/map", ClusterRead, Everyone),
    get("/v1/metrics", ClusterRead, Everyone),
    get("/v1/nodes", ClusterRead, Everyone),
    get("/v1/openapi.json", ClusterRead, Everyone),
    get("/v1/nodes/{name}", ClusterRead, Everyone),
    get("/v1/priority", ClusterRead, Everyone),
    get("/v1/queues", ClusterRead, Everyone),
    get("/v1/report", ClusterRead, Everyone),
    get("/v1/report/estimates", ClusterRead, Everyone),
    get("/v1/reservations", ClusterRead, Everyone),
    get("/v1/share", ClusterRead, Everyone),
    get("/v1/status", ClusterRead, Everyone),
    get("/v1/services", ServicesRead, Everyone),
    get("/v1/services/{name}", ServicesRead, Everyone),
    get("/v1/services/{name}/endpoints", ServicesRead, Everyone),
    get("/v1/services/{name}/explain", ServicesRead, Everyone),
    post("/v1/services", ServicesManage, Everyone),
    post("/v1/services/{name}/pause", ServicesManage, Own),
    post("/v1/services/{name}/promote", ServicesManage, Own),
    post("/v1/services/{name}/resume", ServicesManage, Own),
    post("/v1/services/{name}/rollback", ServicesManage, Own),
    post("/v1/services/{name}/scale", ServicesManage, Own),
    post("/v1/services/{name}/stop", ServicesManage, Own),
    post("/v1/nodes/{name}/drain", Admin, Operate),
    post("/v1/nodes/{name}/resume", Admin, Operate),
    post("/v1/reservations", Admin, Operate),
    post("/v1/reservations/{name}/delete", Admin, Operate),
    post("/v1/reservations/{name}/update", Admin, Operate),
    get("/slurm/{version}/ping", ClusterRead, Everyone),
    get("/slurm/{version}/diag", ClusterRead, Everyone),
    get("/slurm/{version}/jobs", JobsRead, Everyone),
    get("/slurm/{version}/job/{job_id}", JobsRead, See.right()),
    get("/slurm/{version}/nodes", ClusterRead, Everyone),
    get("/slurm/{version}/node/{name}", ClusterRead, Everyone),
    get("/slurm/{version}/partitions", ClusterRead, Everyone),
    get("/slurm/{version}/partition/{name}", ClusterRead, Everyone),
    get("/slurm/{version}/reservations", ClusterRead, Everyone),
    get("/slurm/{version}/reservation/{name}", ClusterRead, Everyone),
    get("/slurm/{version}/licenses", ClusterRead, Everyone),
    post("/slurm/{version}/job/submit", JobsSubmit, Everyone),
    post("/slurm/{version}/job/{job_id}", JobsManage, JobAction::Update.right()),
    delete("/slurm/{version}/job/{job_id}", JobsManage, JobAction::Cancel.right()),
    get("/slurmdb/{version}/jobs", JobsRead, Everyone),
    get("/slurmdb/{version}/job/{job_id}", JobsRead, Everyone),
    get("/slurmdb/{version}/accounts", ClusterRead, Everyone),
    get("/slurmdb/{version}/account/{name}", ClusterRead, Everyone),
    get("/slurmdb/{version}/qos", ClusterRead, Everyone),
    get("/slurmdb/{version}/qos/{name}", ClusterRead, Everyone),
    get("/slurmdb/{version}/users", ClusterRead, Everyone),
    get("/slurmdb/{version}/user/{name}", ClusterRead, Everyone),
    get("/slurmdb/{version}/associations", ClusterRead, Everyone),
    get("/slurmdb/{version}/clusters", ClusterRead, Everyone),
    get("/slurmdb/{version}/ping", ClusterRead, Everyone),
    route_without_scope("GET", "/v1/tokens", Everyone),
    route_without_scope("POST", "/v1/tokens", Everyone),
    route_without_scope("POST", "/v1/tokens/{id}/revoke", Own),
    route_without_scope("GET", "/v1/history/kept", Host),
    route_without_scope("GET", "/v1/backup", Operate),
    route_without_scope("POST", "/v1/reload", Operate),
    route_without_scope("POST", "/v1/controllers", Host),
    route_without_scope("POST", "/v1/controllers/invite", Operate),
    route_without_scope("POST", "/v1/controllers/{id}/promote", Operate),
    route_without_scope("POST", "/v1/controllers/{id}/remove", Operate),
    route_without_scope("POST", "/v1/controllers/{id}/transfer", Operate),
    route_without_scope("GET", "/v1/audit", Oversee),
    route_without_scope("GET", "/v1/enrolments", Oversee),
    route_without_scope("GET", "/v1/invitations", Oversee),
    route_without_scope("POST", "/v1/invitations/{id}/withdraw", Operate),
    route_without_scope("POST", "/v1/enrolments/invite", Operate),
    route_without_scope("POST", "/v1/enrolments/join", Host),
    route_without_scope("POST", "/v1/enrolments/renew", Host),
    route_without_scope("POST", "/v1/enrolments/{name}/revoke", Operate),
    route_without_scope("GET", "/v1/upgrade", Oversee),
    route_without_scope("GET", "/v1/cluster-key", Oversee),
    route_without_scope("POST", "/v1/cluster-key/rotate", Operate),
    route_without_scope("POST", "/v1/cluster-key/advance", Operate),
    route_without_scope("POST", "/v1/cluster-key/cancel", Operate),
    route_without_scope("GET", "/v1/cluster-key/generation", Host),
    route_without_scope("POST", "/v1/cluster-key/adopt", Operate),
    route_without_scope("POST", "/v1/cluster-key/offer", Host),
];

/// The row of a route.
#[must_use]
pub fn find_route(method: &str, path: &str) -> Option<&'static Route> {
    ROUTES.iter().find(|route| route.method == method && route.path == path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_route_has_one_row() {
        for row in ROUTES {
            assert!(METHODS.contains(&row.method));
            assert_eq!(find_route(row.method, row.path), Some(row), "a second row of {}", row.path);
        }
    }

    #[test]
    fn a_token_makes_no_tokens_and_admits_no_hosts() {
        for row in ROUTES {
            let is_closed =
                ["/v1/tokens", "/v1/backup", "/v1/reload", "/v1/controllers/", "/v1/enrolments"];
            if is_closed.iter().any(|path| row.path.starts_with(path)) {
                assert_eq!(row.scope, None, "{}", row.path);
            }
        }
    }

    #[test]
    fn a_route_that_changes_the_cluster_is_for_operators() {
        for row in ROUTES.iter().filter(|row| row.method == "POST") {
            let is_theirs = ["/v1/nodes/", "/v1/reservations", "/v1/reload", "/v1/invitations"];
            if is_theirs.iter().any(|path| row.path.starts_with(path)) {
                assert_eq!(row.right, Right::Operate, "{}", row.path);
            }
        }
    }
}
