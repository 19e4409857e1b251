//! The OpenAPI document: every reference has a target, and what the routes need is there.

use super::*;

fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::Object(fields) => {
            found.extend(fields.get("$ref").and_then(Value::as_str));
            fields.values().for_each(|field| references(field, found));
        }
        Value::Array(list) => list.iter().for_each(|one| references(one, found)),
        _ => {}
    }
}

#[test]
fn every_reference_has_a_target_and_every_schema_is_referred_to() {
    let document = document().unwrap();
    let mut found = Vec::new();
    references(&document, &mut found);
    for reference in &found {
        let target = document.pointer(reference.trim_start_matches('#'));
        assert!(target.is_some(), "{reference}");
    }
    for name in document["components"]["schemas"].as_object().unwrap().keys() {
        assert!(found.contains(&format!("#{SCHEMAS}/{name}").as_str()), "{name}");
    }
}

#[test]
fn a_path_has_its_variables_and_an_operation_its_query() {
    let document = document().unwrap();
    let operation = &document["paths"]["/v1/jobs/{key}/output"]["get"];
    let names = |operation: &Value| -> Vec<String> {
        let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
        parameters.iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(operation), ["key", "offset", "stream", "wait_seconds"]);
    assert_eq!(operation["operationId"], "get_jobs_key_output");
    assert_eq!(names(&document["paths"]["/v1/reload"]["post"]), [""; 0]);
}

#[test]
fn operation_ids_are_unique() {
    let own = ROUTES.iter().filter(|route| route.is_kant_api());
    let mut ids: Vec<String> = own.map(operation_id).collect();
    ids.sort();
    let count = ids.len();
    ids.dedup();
    assert_eq!(ids.len(), count);
}
