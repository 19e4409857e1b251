//! docs/openapi.json: the description of the HTTP API in OpenAPI 3.1. Its parameters, bodies and
//! answers come from the wire types, its scopes from the table of routes. kantctld serves the file
//! as it is.
//!
//! Source: OpenAPI Specification 3.1.1, whose schemas are JSON Schema 2020-12.

mod operation;
pub mod operations;

use super::Page;
use anyhow::{Context, Result, ensure};
use common::route::{ROUTES, Route};
use common::token::Scope;
use common::wire::api::Problem;
use operation::{Content, Operation, Schemas};
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

pub const PATH: &str = "docs/openapi.json";
const SCHEMAS: &str = "/components/schemas";
const ABOUT: &str = "Fields and routes may be added to /v1; existing ones keep their meaning, and \
                     a reader ignores fields that it does not know. A field that is not required \
                     may be absent in answers of earlier releases.";

/// The file.
///
/// # Errors
/// A route has no operation, or an operation has no route.
pub fn page() -> Result<Page> {
    let text = serde_json::to_string_pretty(&document()?)? + "\n";
    Ok(Page { path: PATH.to_owned(), text })
}

fn document() -> Result<Value> {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.definitions_path = SCHEMAS.into();
    });
    let mut schemas: Schemas = settings.into_generator();
    let problem = schemas.subschema_for::<Problem>();
    let operations = operations::all(&mut schemas);
    for operation in &operations {
        let is_it = |route: &&Route| (route.method, route.path) == operation.route;
        ensure!(ROUTES.iter().any(|route| is_it(&route)), "no route {:?}", operation.route);
    }
    let mut paths = Map::new();
    for route in ROUTES.iter().filter(|route| route.is_kant_api()) {
        let operation = operations.iter().find(|one| one.route == (route.method, route.path));
        let operation = operation.with_context(|| {
            format!("{} {} has no row in generate/openapi/operations.rs", route.method, route.path)
        })?;
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method.to_lowercase()] = description(route, operation);
    }
    let scopes: Map<String, Value> =
        Scope::ALL.iter().map(|scope| (scope.to_string(), scope.purpose().into())).collect();
    Ok(json!({
        "openapi": "3.1.1",
        "info": {
            "title": "kant",
            "summary": "The API of a kant controller",
            "description": ABOUT,
            "version": "1",
            "license": { "name": "Apache License 2.0", "identifier": "Apache-2.0" }
        },
        "paths": paths,
        "components": {
            "schemas": schemas.take_definitions(true),
            "responses": { "Problem": {
                "description": "The request was refused, or failed",
                "content": { "application/problem+json": { "schema": problem } }
            } },
            "securitySchemes": { "token": {
                "type": "http", "scheme": "bearer",
                "description": "A token of `kantctl token create`; each operation names its scope",
                "x-kant-scopes": scopes
            } }
        }
    }))
}

/// The description of an operation.
fn description(route: &Route, operation: &Operation) -> Value {
    let mut parameters: Vec<Value> = path_names(route.path).map(path_parameter).collect();
    parameters.extend(operation.parameters.iter().cloned());
    let mut described = json!({
        "operationId": operation_id(route),
        "summary": operation.summary,
        "tags": [route.path.split('/').nth(2).unwrap_or_default()],
        "responses": {
            "200": {
                "description": "The answer",
                "content": content(&operation.answer)
            },
            "4XX": { "$ref": "#/components/responses/Problem" },
            "5XX": { "$ref": "#/components/responses/Problem" }
        }
    });
    if !parameters.is_empty() {
        described["parameters"] = parameters.into();
    }
    if let Some(body) = &operation.body {
        described["requestBody"] = json!({ "required": true, "content": content(body) });
    }
    match route.scope {
        Some(scope) => described["security"] = json!([{ "token": [scope.to_string()] }]),
        None => described["x-kant-closed-to-tokens"] = true.into(),
    }
    described
}

fn content(content: &Content) -> Value {
    let mut media = Map::new();
    for (kind, schema) in content {
        media.insert((*kind).to_owned(), json!({ "schema": schema }));
    }
    media.into()
}

/// `get_jobs_key_explain`.
fn operation_id(route: &Route) -> String {
    let words = route.path.split(['/', '-']).skip(2).map(|word| word.trim_matches(['{', '}']));
    let words: Vec<String> = words.map(|word| word.replace('.', "_")).collect();
    format!("{}_{}", route.method.to_lowercase(), words.join("_"))
}

/// The names of a path's variables.
fn path_names(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
}

fn path_parameter(name: &str) -> Value {
    let (schema, about) = match name {
        "key" => (json!({ "type": "string" }), "A job or an array task: `42`, `42_7`"),
        "task" => (json!({ "type": "integer", "minimum": 0 }), "The number of a program"),
        "id" => (json!({ "type": "string" }), "The id of the controller, invitation or token"),
        _ => (json!({ "type": "string" }), "The name of the node, reservation or service"),
    };
    json!({ "name": name, "in": "path", "required": true, "schema": schema, "description": about })
}

#[cfg(test)]
mod tests;
