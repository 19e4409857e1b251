//! Tests of the routing table.

use super::*;

fn json(text: &str) -> Result<Table, String> {
    let table: Table = serde_json::from_str(text).map_err(|error| error.to_string())?;
    table.check().map_err(|error| error.to_string())?;
    Ok(table)
}

const FULL: &str = r#"{
    "version": 7,
    "services": [{
        "service": "llama",
        "listen": "127.0.0.1:8000",
        "endpoints": [
            {"id": "decode/0.1", "addr": "10.0.0.1:9000", "state": "ready"},
            {"id": "decode/1.2", "addr": "[::1]:9000", "state": "draining"},
            {"id": "decode/2.0", "addr": "10.0.0.1:9001", "state": "not_ready"}
        ],
        "affinity": "X-Session-Id",
        "hold": {"requests_max": 100, "seconds_max": 300},
        "drain_seconds": 60,
        "token": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "protocol": "h2c"
    }]
}"#;

#[test]
fn a_full_table_is_read_and_written_without_loss() {
    let table = json(FULL).unwrap();
    let route = &table.services[0];
    assert_eq!(route.affinity.as_ref().map(FieldName::as_str), Some("x-session-id"));
    assert_eq!(route.endpoints[1].state, EndpointState::Draining);
    assert_eq!(route.endpoints[1].id_without_attempt(), "decode/1");
    assert_eq!(route.protocol, Protocol::H2c);
    assert!(route.token.is_some_and(|token| token.matches(b"test")));
    assert!(route.token.is_some_and(|token| !token.matches(b"tesT")));
    assert_eq!(json(&serde_json::to_string(&table).unwrap()), Ok(table));
}

#[test]
fn a_short_table_gets_defaults() {
    let table = json(r#"{"version":1,"services":[{"service":"a","listen":"0.0.0.0:80"}]}"#);
    let route = table.unwrap().services.remove(0);
    assert_eq!(route.hold, Hold { requests_max: 0, seconds_max: 0 });
    assert_eq!((route.drain_seconds, route.protocol), (30, Protocol::Http1));
    assert_eq!(route.endpoints, []);
}

#[test]
fn unknown_fields_and_bad_values_are_refused() {
    for (from, to, text) in [
        ("\"version\": 7", "\"version\": 7, \"more\": 1", "unknown field `more`"),
        ("\"affinity\"", "\"stickiness\"", "unknown field `stickiness`"),
        ("X-Session-Id", "X Session", "`X Session` is not a header name"),
        ("9f86d0", "9f86", "not a SHA-256 hash"),
        ("not_ready", "warm", "unknown variant `warm`"),
        ("10.0.0.1:9001", "10.0.0.1", "invalid socket address"),
    ] {
        let error = json(&FULL.replace(from, to)).unwrap_err();
        assert!(error.contains(text), "{error}");
    }
}

#[test]
fn a_table_that_no_router_can_serve_is_refused() {
    let route = |service: &str, listen: &str, ids: &[(&str, &str)]| {
        let endpoints = ids
            .iter()
            .map(|(id, addr)| format!(r#"{{"id":"{id}","addr":"{addr}","state":"ready"}}"#));
        let endpoints = endpoints.collect::<Vec<_>>().join(",");
        format!(r#"{{"service":"{service}","listen":"{listen}","endpoints":[{endpoints}]}}"#)
    };
    let error = |routes: &[String]| {
        json(&format!(r#"{{"version":1,"services":[{}]}}"#, routes.join(","))).unwrap_err()
    };
    let one = route("a", "0.0.0.0:80", &[]);
    assert!(error(&[route("", "0.0.0.0:80", &[])]).contains("is not the name of a service"));
    assert!(error(&[one.clone(), route("a", "0.0.0.0:81", &[])]).contains("`a` occurs twice"));
    assert!(error(&[one, route("b", "0.0.0.0:80", &[])]).contains("same address 0.0.0.0:80"));
    for id in ["decode", "decode/0", "/0.1", "decode/x.1", "decode/0.", "decode/.1"] {
        assert!(error(&[route("a", "0.0.0.0:80", &[(id, "1.1.1.1:1")])]).contains("role/ordinal"));
    }
    let twice = [("a/0.1", "1.1.1.1:1"), ("a/0.1", "1.1.1.1:2")];
    assert!(error(&[route("a", "0.0.0.0:80", &twice)]).contains("`a/0.1` of `a` occurs twice"));
    for addr in ["0.0.0.0:1", "1.1.1.1:0"] {
        let found = error(&[route("a", "0.0.0.0:80", &[("a/0.1", addr)])]);
        assert!(found.contains("no connection is possible"), "{found}");
    }
}

#[test]
fn services_may_share_the_port_that_stands_for_any() {
    let route = |name: &str| format!(r#"{{"service":"{name}","listen":"127.0.0.1:0"}}"#);
    let text = format!(r#"{{"version":1,"services":[{},{}]}}"#, route("a"), route("b"));
    assert_eq!(json(&text).unwrap().services.len(), 2);
}
