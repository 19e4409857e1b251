//! The sample answers against docs/openapi.json: each is as the document says, and has no field
//! that the document lacks.

use crate::support::{ReceivedRequest, sample_answers};
use axum::body::to_bytes;
use axum::response::Response;
use futures_util::FutureExt as _;
use serde_json::{Map, Value, json};

const DOCUMENT: &str = include_str!("../../docs/openapi.json");

/// Values of the variables of paths that the sample controller knows.
const KEYS: [&str; 4] = ["42", "41", "40", "43"];
const NAMES: [&str; 3] = ["g-001", "chat", "g-017"];
const ID: &str = "3f9a0c51e7d2";

/// Routes with answers in JSON that the sample controller does not answer: kantctl does not use
/// them, or another test has their answers.
const WITHOUT_SAMPLE: &[&str] = &[];

fn body_of(response: Response) -> Vec<u8> {
    let bytes = to_bytes(response.into_body(), usize::MAX).now_or_never();
    bytes.unwrap().unwrap().to_vec()
}

fn sample(method: &str, path: &str) -> Option<Value> {
    KEYS.iter().flat_map(|key| NAMES.map(|name| (key, name))).find_map(|(key, name)| {
        let path = path.replace("{key}", key).replace("{name}", name).replace("{id}", ID);
        let line = format!("{} {path}", method.to_uppercase());
        let response = sample_answers::answer(&ReceivedRequest { line, body: Value::Null });
        let is_good = response.status().is_success();
        let bytes = body_of(response);
        is_good.then(|| serde_json::from_slice(&bytes).ok()).flatten()
    })
}

/// Makes unknown fields errors, in every object whose fields are all in one place.
fn forbid_unknown_fields(schema: &mut Value) {
    let is_open = |fields: &Map<String, Value>| {
        ["oneOf", "anyOf", "allOf", "$ref", "additionalProperties"]
            .iter()
            .any(|word| fields.contains_key(*word))
    };
    match schema {
        Value::Object(fields) => {
            if fields.get("properties").is_some_and(Value::is_object) && !is_open(fields) {
                fields.insert("additionalProperties".to_owned(), false.into());
            }
            fields.values_mut().for_each(forbid_unknown_fields);
        }
        Value::Array(list) => list.iter_mut().for_each(forbid_unknown_fields),
        _ => {}
    }
}

fn answer_schema<'a>(operation: &'a Value, kind: &str) -> &'a Value {
    &operation["responses"]["200"]["content"][kind]["schema"]
}

/// What is wrong with a value by a schema of the document.
fn errors(document: &Value, schema: &Value, value: &Value) -> Vec<String> {
    let mut whole = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "allOf": [schema],
        "components": { "schemas": document["components"]["schemas"] }
    });
    forbid_unknown_fields(&mut whole["components"]["schemas"]);
    let validator = jsonschema::validator_for(&whole).unwrap();
    validator.iter_errors(value).map(|error| error.to_string()).collect()
}

#[test]
fn every_sample_answer_is_as_the_document_says() {
    let document: Value = serde_json::from_str(DOCUMENT).unwrap();
    let mut without = Vec::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let schema = answer_schema(operation, "application/json");
            if schema.is_null() {
                continue;
            }
            match sample(method, path) {
                Some(value) => {
                    let errors = errors(&document, schema, &value);
                    assert_eq!(errors, [""; 0], "{method} {path}: {value}");
                }
                None => without.push(format!("{method} {path}")),
            }
        }
    }
    assert_eq!(without, WITHOUT_SAMPLE);
}

#[test]
fn a_wrong_answer_is_found() {
    let document: Value = serde_json::from_str(DOCUMENT).unwrap();
    let schema = answer_schema(&document["paths"]["/v1/jobs"]["post"], "application/json");
    for (value, is_good) in [
        (json!({ "job": 45, "tasks": 3 }), true),
        (json!({ "job": "45", "tasks": 3 }), false),
        (json!({ "tasks": 3 }), false),
        (json!({ "job": 45, "tasks": 3, "unknown": 1 }), false),
    ] {
        assert_eq!(errors(&document, schema, &value).is_empty(), is_good, "{value}");
    }
}

#[test]
fn events_are_as_the_document_says() {
    let document: Value = serde_json::from_str(DOCUMENT).unwrap();
    let line = "GET /v1/watch".to_owned();
    let response = sample_answers::answer(&ReceivedRequest { line, body: Value::Null });
    let bytes = body_of(response);
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    for (path, kind) in [("/v1/watch", "application/x-ndjson"), ("/v1/events", "text/event-stream")]
    {
        let schema = answer_schema(&document["paths"][path]["get"], kind);
        for line in lines.clone() {
            let value = serde_json::from_slice(line).unwrap();
            assert_eq!(errors(&document, schema, &value), [""; 0], "{value}");
        }
    }
}
