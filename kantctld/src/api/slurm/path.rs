//! Paths of Slurm's REST API.

use axum::extract::Request;
use axum::http::uri::PathAndQuery;
use axum::http::{StatusCode, Uri};
use axum::middleware::Next;
use axum::response::Response;
use net::Refusal;
use slurm_json::Version;

/// Whether it is a path of Slurm's REST API.
pub fn is_slurms(path: &str) -> bool {
    path.starts_with("/slurm/") || path.starts_with("/slurmdb/")
}

/// The version in a path: `/slurm/v0.0.40/jobs`.
///
/// # Errors
/// A refusal that lists the versions.
pub fn version(path: &str) -> Result<Version, Refusal> {
    let named = path.split('/').nth(2).unwrap_or_default();
    named.parse().map_err(|error: slurm_json::version::UnknownVersion| {
        Refusal::new(StatusCode::NOT_FOUND, "unknown_version", error.to_string())
    })
}

/// Removes the slash at the end of a path: Slurm's documents have it for some paths, and its
/// clients follow them.
pub async fn remove_trailing_slash(mut request: Request, next: Next) -> Response {
    if let Some(uri) = strip_trailing_slash(request.uri()) {
        *request.uri_mut() = uri;
    }
    next.run(request).await
}

/// The same address without the slash, if it has one.
fn strip_trailing_slash(uri: &Uri) -> Option<Uri> {
    let path = uri.path();
    if !is_slurms(path) || !path.ends_with('/') {
        return None;
    }
    let path = path.trim_end_matches('/');
    let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(PathAndQuery::try_from(format!("{path}{query}")).ok()?);
    Uri::from_parts(parts).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_slurms_paths_lose_their_slash() {
        let shown =
            |text: &str| strip_trailing_slash(&text.parse().unwrap()).map(|uri| uri.to_string());
        assert_eq!(shown("/slurm/v0.0.40/jobs/?x=1").as_deref(), Some("/slurm/v0.0.40/jobs?x=1"));
        assert_eq!(shown("/slurmdb/v0.0.40/qos/").as_deref(), Some("/slurmdb/v0.0.40/qos"));
        assert_eq!(shown("/slurm/v0.0.40/jobs"), None);
        assert_eq!(shown("/v1/jobs/"), None);
    }

    #[test]
    fn an_unknown_version_is_refused_with_those_there_are() {
        assert_eq!(version("/slurm/v0.0.40/jobs"), Ok(Version::V40));
        let refusal = version("/slurm/v0.0.39/jobs").unwrap_err();
        assert_eq!(refusal.status, StatusCode::NOT_FOUND);
        assert!(refusal.error.message.contains("v0.0.38, v0.0.40"), "{refusal:?}");
    }
}
