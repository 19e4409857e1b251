//! The files that pages refer to.

use axum::extract::Path;
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use page::assets::ASSETS;

/// GET /assets/{name}
pub async fn show(Path(name): Path<String>) -> Response {
    let found = ASSETS.iter().find(|asset| asset.path.strip_prefix("/assets/") == Some(&*name));
    match found {
        // Short, so that an upgrade is seen.
        Some(asset) => {
            let headers = [(CONTENT_TYPE, asset.media_type), (CACHE_CONTROL, "max-age=300")];
            (headers, asset.text).into_response()
        }
        None => StatusCode::NOT_FOUND.into_response(),
    }
}
