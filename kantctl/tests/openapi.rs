//! The sample answers against docs/openapi.json: each is as the document says, and has no field
//! that the document lacks.

use crate::support::{ReceivedRequest, sample_answers};
use axum::body::to_bytes;
use axum::response::Response;
use futures_util::FutureExt as _;
use serde_json::{Map, Value, json};

const DOCUMENT: &str = include_str!("../../docs/openapi.json");

/// Values of the variables of paths that the sample controller knows. A request for which a job is
/// not in the right state has its own job.
const KEYS: [&str; 2] = ["41", "42"];
const OF_WAITING: [&str; 3] = ["explain", "what-if", "solve"];
const NAMES: [&str; 3] = ["g-001", "chat", "g-017"];
const ID: &str = "3f9a0c51e7d2";

/// Routes with answers in JSON that the sample controller does not answer: controllers and nodes
/// use them, or tests with their own answers.
const WITHOUT_SAMPLE: [&str; 10] = [
    "get /v1/cluster-key/generation",
    "post /v1/cluster-key/offer",
    "post /v1/controllers",
    "post /v1/enrolments/join",
    "post /v1/enrolments/renew",
    "get /v1/history/kept",
    "post /v1/jobs/batch",
    "post /v1/jobs/set",
    "get /v1/map",
    "get /v1/openapi.json",
];

fn body_of(response: Response) -> Vec<u8> {
    let bytes = to_bytes(response.into_body(), usize::MAX).now_or_never();
    bytes.unwrap().unwrap().to_vec()
}

fn sample(method: &str, path: &str) -> Option<Value> {
    let waits = OF_WAITING.iter().any(|word| path.ends_with(word));
    let keys = if waits { &KEYS[1..] } else { &KEYS[..] };
    keys.iter().flat_map(|key| NAMES.map(|name| (key, name))).find_map(|(key, name)| {
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
    let (mut without, mut wrong) = (Vec::new(), Vec::new());
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let schema = answer_schema(operation, "application/json");
            if schema.is_null() {
                continue;
            }
            match sample(method, path) {
                Some(value) => wrong.extend(
                    errors(&document, schema, &value)
                        .into_iter()
                        .map(|error| format!("{method} {path}: {error}")),
                ),
                None => without.push(format!("{method} {path}")),
            }
        }
    }
    assert_eq!(wrong, [""; 0]);
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

/// The documents of a stream, which are its lines or the data of its events.
fn documents(path: &str) -> Vec<Value> {
    let line = format!("GET {path}");
    let response = sample_answers::answer(&ReceivedRequest { line, body: Value::Null });
    let text = String::from_utf8(body_of(response)).unwrap();
    let lines = text.lines().filter(|line| !line.is_empty());
    let document = |line: &str| line.strip_prefix("data: ").unwrap_or(line).parse().unwrap();
    lines.map(document).collect()
}

#[test]
fn streams_are_as_the_document_says() {
    let document: Value = serde_json::from_str(DOCUMENT).unwrap();
    for (path, kind) in [
        ("/v1/watch", "application/x-ndjson"),
        ("/v1/events", "text/event-stream"),
        ("/v1/jobs/{key}/output/events", "text/event-stream"),
    ] {
        let schema = answer_schema(&document["paths"][path]["get"], kind);
        let documents = documents(&path.replace("{key}", "41"));
        assert!(!documents.is_empty(), "{path}");
        for value in documents {
            assert_eq!(errors(&document, schema, &value), [""; 0], "{path}: {value}");
        }
    }
}
