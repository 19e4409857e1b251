//! The scope of each route of the API. A route that is missing here, or has no scope, is closed to
//! tokens.

use super::Scope;

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
}

const fn get(path: &'static str, scope: Scope) -> Route {
    Route { method: "GET", path, scope: Some(scope) }
}

const fn post(path: &'static str, scope: Scope) -> Route {
    Route { method: "POST", path, scope: Some(scope) }
}

const fn delete(path: &'static str, scope: Scope) -> Route {
    Route { method: "DELETE", path, scope: Some(scope) }
}

const fn closed(method: &'static str, path: &'static str) -> Route {
    Route { method, path, scope: None }
}

use Scope::{Admin, ClusterRead, JobsManage, JobsRead, JobsSubmit, ServicesManage, ServicesRead};

/// Every route, by its subject.
pub const ROUTES: &[Route] = &[
    get("/v1/jobs", JobsRead),
    get("/v1/jobs/{key}", JobsRead),
    get("/v1/jobs/{key}/explain", JobsRead),
    get("/v1/jobs/{key}/output", JobsRead),
    get("/v1/jobs/{key}/output/events", JobsRead),
    get("/v1/jobs/{key}/script", JobsRead),
    get("/v1/jobs/{key}/steps", JobsRead),
    get("/v1/jobs/{key}/tasks/{task}", JobsRead),
    get("/v1/jobs/{key}/wait", JobsRead),
    post("/v1/jobs/{key}/what-if", JobsRead),
    post("/v1/jobs/{key}/solve", JobsRead),
    get("/v1/history", JobsRead),
    get("/v1/watch", JobsRead),
    get("/v1/events", JobsRead),
    post("/v1/jobs", JobsSubmit),
    post("/v1/jobs/batch", JobsSubmit),
    post("/v1/jobs/set", JobsSubmit),
    post("/v1/jobs/trial", JobsSubmit),
    post("/v1/jobs/{key}/attend", JobsManage),
    post("/v1/jobs/{key}/cancel", JobsManage),
    post("/v1/jobs/{key}/checkpoint", JobsManage),
    post("/v1/jobs/{key}/finish", JobsManage),
    post("/v1/jobs/{key}/hold", JobsManage),
    post("/v1/jobs/{key}/release", JobsManage),
    post("/v1/jobs/{key}/requeue", JobsManage),
    post("/v1/jobs/{key}/resize", JobsManage),
    post("/v1/jobs/{key}/resume", JobsManage),
    post("/v1/jobs/{key}/signal", JobsManage),
    post("/v1/jobs/{key}/steps", JobsManage),
    post("/v1/jobs/{key}/suspend", JobsManage),
    post("/v1/jobs/{key}/tasks", JobsManage),
    post("/v1/jobs/{key}/tasks/{task}/input", JobsManage),
    post("/v1/jobs/{key}/tasks/{task}/signal", JobsManage),
    post("/v1/jobs/{key}/update", JobsManage),
    get("/v1/accounting/jobs", JobsRead),
    get("/v1/accounting/nodes", ClusterRead),
    get("/v1/accounts", ClusterRead),
    get("/v1/controllers", ClusterRead),
    get("/v1/map", ClusterRead),
    get("/v1/metrics", ClusterRead),
    get("/v1/nodes", ClusterRead),
    get("/v1/openapi.json", ClusterRead),
    get("/v1/nodes/{name}", ClusterRead),
    get("/v1/priority", ClusterRead),
    get("/v1/queues", ClusterRead),
    get("/v1/report", ClusterRead),
    get("/v1/reservations", ClusterRead),
    get("/v1/share", ClusterRead),
    get("/v1/status", ClusterRead),
    get("/v1/services", ServicesRead),
    get("/v1/services/{name}", ServicesRead),
    get("/v1/services/{name}/endpoints", ServicesRead),
    get("/v1/services/{name}/explain", ServicesRead),
    post("/v1/services", ServicesManage),
    post("/v1/services/{name}/pause", ServicesManage),
    post("/v1/services/{name}/promote", ServicesManage),
    post("/v1/services/{name}/resume", ServicesManage),
    post("/v1/services/{name}/rollback", ServicesManage),
    post("/v1/services/{name}/scale", ServicesManage),
    post("/v1/services/{name}/stop", ServicesManage),
    post("/v1/nodes/{name}/drain", Admin),
    post("/v1/nodes/{name}/resume", Admin),
    post("/v1/reservations", Admin),
    post("/v1/reservations/{name}/delete", Admin),
    post("/v1/reservations/{name}/update", Admin),
    get("/slurm/{version}/ping", ClusterRead),
    get("/slurm/{version}/diag", ClusterRead),
    get("/slurm/{version}/jobs", JobsRead),
    get("/slurm/{version}/job/{job_id}", JobsRead),
    get("/slurm/{version}/nodes", ClusterRead),
    get("/slurm/{version}/node/{name}", ClusterRead),
    get("/slurm/{version}/partitions", ClusterRead),
    get("/slurm/{version}/partition/{name}", ClusterRead),
    get("/slurm/{version}/reservations", ClusterRead),
    get("/slurm/{version}/reservation/{name}", ClusterRead),
    get("/slurm/{version}/licenses", ClusterRead),
    post("/slurm/{version}/job/submit", JobsSubmit),
    post("/slurm/{version}/job/{job_id}", JobsManage),
    delete("/slurm/{version}/job/{job_id}", JobsManage),
    get("/slurmdb/{version}/jobs", JobsRead),
    get("/slurmdb/{version}/job/{job_id}", JobsRead),
    get("/slurmdb/{version}/accounts", ClusterRead),
    get("/slurmdb/{version}/account/{name}", ClusterRead),
    get("/slurmdb/{version}/qos", ClusterRead),
    get("/slurmdb/{version}/qos/{name}", ClusterRead),
    get("/slurmdb/{version}/users", ClusterRead),
    get("/slurmdb/{version}/user/{name}", ClusterRead),
    get("/slurmdb/{version}/associations", ClusterRead),
    get("/slurmdb/{version}/clusters", ClusterRead),
    get("/slurmdb/{version}/ping", ClusterRead),
    closed("GET", "/v1/tokens"),
    closed("POST", "/v1/tokens"),
    closed("POST", "/v1/tokens/{id}/revoke"),
    closed("GET", "/v1/history/kept"),
    closed("GET", "/v1/backup"),
    closed("POST", "/v1/reload"),
    closed("POST", "/v1/controllers"),
    closed("POST", "/v1/controllers/invite"),
    closed("POST", "/v1/controllers/{id}/promote"),
    closed("POST", "/v1/controllers/{id}/remove"),
    closed("POST", "/v1/controllers/{id}/transfer"),
    closed("GET", "/v1/audit"),
    closed("GET", "/v1/enrolments"),
    closed("GET", "/v1/invitations"),
    closed("POST", "/v1/invitations/{id}/withdraw"),
    closed("POST", "/v1/enrolments/invite"),
    closed("POST", "/v1/enrolments/join"),
    closed("POST", "/v1/enrolments/renew"),
    closed("POST", "/v1/enrolments/{name}/revoke"),
    closed("GET", "/v1/upgrade"),
    closed("GET", "/v1/cluster-key"),
    closed("POST", "/v1/cluster-key/rotate"),
    closed("POST", "/v1/cluster-key/advance"),
    closed("POST", "/v1/cluster-key/cancel"),
    closed("GET", "/v1/cluster-key/generation"),
    closed("POST", "/v1/cluster-key/adopt"),
    closed("POST", "/v1/cluster-key/offer"),
];

impl Route {
    /// Whether it is a route of kant's own API, which `openapi.json` describes; the others are
    /// Slurm's.
    #[must_use]
    pub fn is_own(&self) -> bool {
        self.path.starts_with("/v1/")
    }
}

/// The row of a route.
#[must_use]
pub fn route(method: &str, path: &str) -> Option<&'static Route> {
    ROUTES.iter().find(|route| route.method == method && route.path == path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_route_has_one_row() {
        for row in ROUTES {
            assert!(METHODS.contains(&row.method));
            assert_eq!(route(row.method, row.path), Some(row), "a second row of {}", row.path);
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
}
