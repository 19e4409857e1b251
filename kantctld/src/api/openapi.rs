//! GET /v1/openapi.json: the description of this API, which `cargo xtask gen` makes from the code.

use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};

const DOCUMENT: &str = include_str!("../../../docs/openapi.json");

/// GET /v1/openapi.json
pub async fn show() -> Response {
    ([(CONTENT_TYPE, "application/json")], DOCUMENT).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::route::ROUTES;
    use serde_json::{Value, json};

    #[test]
    fn the_document_has_every_route_with_its_scope_and_no_other() {
        let document: Value = serde_json::from_str(DOCUMENT).unwrap();
        assert_eq!(document["openapi"], "3.1.1");
        for route in ROUTES.iter().filter(|route| route.is_kant_api()) {
            let operation = &document["paths"][route.path][route.method.to_lowercase()];
            let expected = match route.scope {
                Some(scope) => json!([{ "token": [scope.to_string()] }]),
                None => Value::Null,
            };
            assert_eq!(operation["security"], expected, "{} {}", route.method, route.path);
            assert!(operation["responses"]["200"]["content"].is_object(), "{}", route.path);
        }
        let paths = document["paths"].as_object().unwrap().values();
        let operations: usize = paths.map(|path| path.as_object().unwrap().len()).sum();
        assert_eq!(operations, ROUTES.iter().filter(|route| route.is_kant_api()).count());
    }
}
