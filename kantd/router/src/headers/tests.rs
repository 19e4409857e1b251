//! Tests of header fields.

use super::*;

fn headers(fields: &[(&str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in fields {
        headers.append(HeaderName::from_bytes(name.as_bytes()).unwrap(), value.parse().unwrap());
    }
    headers
}

fn names(headers: &HeaderMap) -> Vec<&str> {
    let mut names: Vec<&str> = headers.keys().map(HeaderName::as_str).collect();
    names.sort_unstable();
    names
}

fn prepared(fields: &[(&str, &str)], version: Version, has_token: bool) -> HeaderMap {
    let mut headers = headers(fields);
    let client = HeaderValue::from_static("10.0.0.9");
    prepare_request(
        &mut headers,
        &Forwarded { version, client: &client, has_tls: false, has_token },
    );
    headers
}

#[test]
fn fields_of_one_connection_are_removed_also_those_that_connection_names() {
    let mut headers = headers(&[
        ("connection", "close, X-Secret"),
        ("connection", "x-other, host"),
        ("x-secret", "1"),
        ("x-other", "1"),
        ("keep-alive", "timeout=5"),
        ("proxy-connection", "keep-alive"),
        ("proxy-authorization", "Basic x"),
        ("te", "trailers"),
        ("transfer-encoding", "chunked"),
        ("upgrade", "h2c"),
        ("accept", "*/*"),
        ("host", "a"),
    ]);
    remove_hop_by_hop(&mut headers);
    assert_eq!(names(&headers), ["accept", "host"]);
}

#[test]
fn a_request_names_its_client_after_those_it_names_itself() {
    let alone = prepared(&[], Version::HTTP_11, false);
    assert_eq!(alone["x-forwarded-for"], "10.0.0.9");
    assert_eq!(alone["x-forwarded-proto"], "http");
    let fields = [
        ("x-forwarded-for", "1.1.1.1"),
        ("x-forwarded-for", "2.2.2.2"),
        ("x-forwarded-proto", "https"),
        ("forwarded", "for=1.1.1.1"),
    ];
    let behind = prepared(&fields, Version::HTTP_11, false);
    assert_eq!(behind["x-forwarded-for"], "1.1.1.1, 2.2.2.2, 10.0.0.9");
    assert_eq!(behind.get_all("x-forwarded-for").iter().count(), 1);
    assert_eq!(behind["x-forwarded-proto"], "https");
    assert_eq!(behind["forwarded"], "for=1.1.1.1");
}

#[test]
fn a_request_keeps_its_id_or_gets_one() {
    let kept = prepared(&[("x-request-id", "abc")], Version::HTTP_11, false);
    assert_eq!(kept["x-request-id"], "abc");
    let (one, other) =
        (prepared(&[], Version::HTTP_11, false), prepared(&[], Version::HTTP_11, false));
    assert_eq!(one["x-request-id"].len(), 32);
    assert_ne!(one["x-request-id"], other["x-request-id"]);
    let long = "x".repeat(129);
    let replaced = prepared(&[("x-request-id", &long)], Version::HTTP_11, false);
    assert_eq!(replaced["x-request-id"].len(), 32);
}

#[test]
fn the_access_token_goes_no_further_than_the_router_that_checks_it() {
    let fields = [("authorization", "Bearer secret")];
    assert!(!prepared(&fields, Version::HTTP_11, true).contains_key("authorization"));
    assert!(prepared(&fields, Version::HTTP_11, false).contains_key("authorization"));
    assert_eq!(bearer_token(&headers(&fields)), Some(&b"secret"[..]));
    assert_eq!(bearer_token(&headers(&[("authorization", "bearer  s")])), Some(&b"s"[..]));
    for value in ["Basic secret", "Bearer", "Bearersecret", ""] {
        assert_eq!(bearer_token(&headers(&[("authorization", value)])), None, "{value}");
    }
}

#[test]
fn fields_that_only_http_2_has_become_those_of_http_1() {
    let fields = [("te", "trailers"), ("cookie", "a=1"), ("cookie", "b=2")];
    let two = prepared(&fields, Version::HTTP_2, false);
    assert_eq!(two["cookie"], "a=1; b=2");
    assert_eq!(two["te"], "trailers");
    assert!(!prepared(&fields, Version::HTTP_11, false).contains_key("te"));
}

#[test]
fn an_upgrade_needs_both_fields() {
    let both = headers(&[("connection", "keep-alive, Upgrade"), ("upgrade", "websocket")]);
    assert_eq!(upgrade_protocol(&both).unwrap(), "websocket");
    assert_eq!(upgrade_protocol(&headers(&[("upgrade", "websocket")])), None);
    assert_eq!(upgrade_protocol(&headers(&[("connection", "upgrade")])), None);
    for http2 in ["h2c", "H2C", "websocket, h2c"] {
        assert_eq!(
            upgrade_protocol(&headers(&[("connection", "upgrade"), ("upgrade", http2)])),
            None
        );
    }
}

#[test]
fn a_target_in_absolute_form_becomes_a_path_and_a_host() {
    let target = |method: Method, uri: &str, version, fields: &[(&str, &str)]| {
        let (mut uri, mut headers) = (uri.parse().unwrap(), headers(fields));
        set_target(&method, &mut uri, version, &mut headers)
            .map(|()| (uri.to_string(), headers.get(HOST).cloned()))
            .map_err(|(status, _)| status.as_u16())
    };
    let (get, one) = (Method::GET, Version::HTTP_11);
    let host = |text: &'static str| Some(HeaderValue::from_static(text));
    assert_eq!(
        target(get.clone(), "http://a:1/x?y", one, &[("host", "b")]),
        Ok(("/x?y".to_owned(), host("a:1")))
    );
    assert_eq!(
        target(get.clone(), "/x?y", one, &[("host", "b")]),
        Ok(("/x?y".to_owned(), host("b")))
    );
    assert_eq!(target(Method::OPTIONS, "*", one, &[("host", "b")]), Ok(("*".into(), host("b"))));
    assert_eq!(target(get.clone(), "/x", one, &[]), Err(400));
    assert_eq!(target(get.clone(), "/x", Version::HTTP_10, &[]), Ok(("/x".to_owned(), None)));
    assert_eq!(target(get, "/x", one, &[("host", "a"), ("host", "b")]), Err(400));
    assert_eq!(target(Method::CONNECT, "a:1", one, &[("host", "a:1")]), Err(405));
}
