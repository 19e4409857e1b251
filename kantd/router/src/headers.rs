//! The header fields that a router removes, adds or changes.
//! Source: RFC 9110, section 7.6 (message forwarding).

use hyper::header::{
    AUTHORIZATION, CONNECTION, COOKIE, EXPECT, HOST, HeaderMap, HeaderName, HeaderValue,
    PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRANSFER_ENCODING, UPGRADE, VIA,
};
use hyper::{Method, StatusCode, Uri, Version};

const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
const PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");
const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
/// Follows a request through logs.
pub const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// The longest request id of a client that is kept.
const REQUEST_ID_BYTES_MAX: usize = 128;

/// Fields of one connection, beside those that `Connection` names.
const HOP_BY_HOP: [HeaderName; 7] = [
    KEEP_ALIVE,
    PROXY_CONNECTION,
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TE,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// Removes the fields that are for this connection only.
pub fn remove_hop_by_hop(headers: &mut HeaderMap) {
    if headers.contains_key(CONNECTION) {
        let named: Vec<HeaderName> = headers
            .get_all(CONNECTION)
            .iter()
            .flat_map(|value| value.as_bytes().split(|byte| *byte == b','))
            .filter_map(|name| HeaderName::from_bytes(name.trim_ascii()).ok())
            .collect();
        // Each request needs its host, whatever the client says.
        for name in named.iter().filter(|name| **name != HOST) {
            headers.remove(name);
        }
        headers.remove(CONNECTION);
    }
    for name in &HOP_BY_HOP {
        headers.remove(name);
    }
}

/// The protocol that a request or an answer 101 switches to. HTTP/2 does not count: it is spoken
/// without an upgrade, and requests in a tunnel would not be seen as such.
pub fn upgrade_protocol(headers: &HeaderMap) -> Option<HeaderValue> {
    let has_token = headers.get_all(CONNECTION).iter().any(|value| {
        let mut tokens = value.as_bytes().split(|byte| *byte == b',');
        tokens.any(|token| token.trim_ascii().eq_ignore_ascii_case(b"upgrade"))
    });
    let is_http2 = |value: &&HeaderValue| {
        let mut names = value.as_bytes().split(|byte| *byte == b',');
        names.any(|name| name.trim_ascii().to_ascii_lowercase().starts_with(b"h2"))
    };
    headers.get(UPGRADE).filter(|_| has_token).filter(|value| !is_http2(value)).cloned()
}

/// Names the protocol to switch to, after the fields of the other connection were removed.
pub fn set_upgrade(headers: &mut HeaderMap, protocol: HeaderValue) {
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(UPGRADE, protocol);
}

/// What a request that is passed on says about its way.
pub struct Forwarded<'a> {
    pub version: Version,
    /// The client's IP address.
    pub client: &'a HeaderValue,
    /// Did the request come with TLS?
    pub has_tls: bool,
    /// Does the router check access itself?
    pub has_token: bool,
}

/// Changes the header of a request into that for a replica, and returns the request's id.
pub fn prepare_request(headers: &mut HeaderMap, way: &Forwarded<'_>) -> HeaderValue {
    let accepts_trailers = way.version == Version::HTTP_2 && headers.contains_key(TE);
    remove_hop_by_hop(headers);
    if accepts_trailers {
        // The only value that HTTP/2 allows.
        headers.insert(TE, HeaderValue::from_static("trailers"));
    }
    // The router sends the body without waiting, and has asked the client for it.
    headers.remove(EXPECT);
    if way.has_token {
        headers.remove(AUTHORIZATION);
    }
    join_cookies(headers, way.version);
    append_client(headers, way.client);
    if way.has_tls {
        headers.insert(X_FORWARDED_PROTO, HeaderValue::from_static("https"));
    } else if !headers.contains_key(X_FORWARDED_PROTO) {
        headers.insert(X_FORWARDED_PROTO, HeaderValue::from_static("http"));
    }
    headers.append(VIA, HeaderValue::from_static("1.1 kant"));
    let id = match headers.get(X_REQUEST_ID) {
        Some(id) if (1..=REQUEST_ID_BYTES_MAX).contains(&id.len()) => return id.clone(),
        _ => new_request_id(),
    };
    headers.insert(X_REQUEST_ID, id.clone());
    id
}

/// HTTP/2 may split cookies over fields, which HTTP/1.1 joins.
/// Source: RFC 9113, section 8.2.3.
fn join_cookies(headers: &mut HeaderMap, version: Version) {
    if version != Version::HTTP_2 || headers.get_all(COOKIE).iter().nth(1).is_none() {
        return;
    }
    if let Some(joined) = join(headers, &COOKIE, b"; ", None) {
        headers.insert(COOKIE, joined);
    }
}

fn append_client(headers: &mut HeaderMap, client: &HeaderValue) {
    let value = match headers.contains_key(X_FORWARDED_FOR) {
        true => join(headers, &X_FORWARDED_FOR, b", ", Some(client)),
        false => Some(client.clone()),
    };
    if let Some(value) = value {
        headers.insert(X_FORWARDED_FOR, value);
    }
}

fn join(
    headers: &HeaderMap,
    name: &HeaderName,
    separator: &[u8],
    last: Option<&HeaderValue>,
) -> Option<HeaderValue> {
    let values: Vec<&[u8]> =
        headers.get_all(name).iter().chain(last).map(HeaderValue::as_bytes).collect();
    // Valid values joined by visible characters are valid.
    HeaderValue::from_bytes(&values.join(separator)).ok()
}

/// 128 random bits. They need not be secret, only different.
fn new_request_id() -> HeaderValue {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut bits = fastrand::u128(..);
    let mut text = [0; 32];
    for digit in &mut text {
        *digit = DIGITS[(bits & 15) as usize];
        bits >>= 4;
    }
    HeaderValue::from_bytes(&text).unwrap_or(HeaderValue::from_static("0"))
}

/// The request's target as a replica gets it: path and query, with the authority as `Host`.
///
/// # Errors
/// The status with which the router answers, and why.
pub fn set_target(
    method: &Method,
    uri: &mut Uri,
    version: Version,
    headers: &mut HeaderMap,
) -> Result<(), (StatusCode, &'static str)> {
    if *method == Method::CONNECT {
        let why = "this is not a proxy to other hosts: CONNECT is not allowed";
        return Err((StatusCode::METHOD_NOT_ALLOWED, why));
    }
    let mut hosts = headers.get_all(HOST).iter();
    let (host, second) = (hosts.next(), hosts.next());
    if second.is_some() {
        return Err((StatusCode::BAD_REQUEST, "the request has more than one Host"));
    }
    if let Some(authority) = uri.authority() {
        // RFC 9112, section 3.2.2: a target in absolute form takes precedence.
        let host = HeaderValue::from_str(authority.as_str())
            .map_err(|_| (StatusCode::BAD_REQUEST, "the request has an invalid authority"))?;
        headers.insert(HOST, host);
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        *uri = Uri::try_from(path)
            .map_err(|_| (StatusCode::BAD_REQUEST, "the request has an invalid target"))?;
    } else if host.is_none() && version == Version::HTTP_11 {
        return Err((StatusCode::BAD_REQUEST, "the request has no Host"));
    }
    Ok(())
}

/// May the request be sent again, although a replica may have begun to carry it out?
/// Source: RFC 9110, section 9.2.2.
pub fn is_idempotent(method: &Method) -> bool {
    let idempotent =
        [Method::GET, Method::HEAD, Method::PUT, Method::DELETE, Method::OPTIONS, Method::TRACE];
    idempotent.contains(method)
}

/// The access token of a request.
pub fn bearer_token(headers: &HeaderMap) -> Option<&[u8]> {
    let value = headers.get(AUTHORIZATION)?.as_bytes();
    let (scheme, token) = value.split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then(|| token.trim_ascii())
}

#[cfg(test)]
mod tests;
