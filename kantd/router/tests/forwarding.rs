//! What a replica gets of a request, and a client of an answer.

use crate::support::{Client, Replica, Site, config, raw, reply, request, route, soon};
use common::service::table::TokenHash;
use http_body_util::BodyExt as _;
use hyper::StatusCode;

#[tokio::test]
async fn a_request_gets_to_a_replica_and_its_answer_back() {
    let replica = Replica::echo("one").await;
    let site = Site::start(config(), route(&[&replica])).await;
    let mut client = Client::connect(site.addr()).await;
    for _ in 0..3 {
        let answer = soon(client.get("/v1/models?x=1")).await;
        assert_eq!(answer.status(), 200);
        assert!(answer.body().starts_with("one\nGET /v1/models?x=1 HTTP/1.1\n"), "{answer:?}");
        let answer = soon(client.post("/v1/completions", "hello")).await;
        assert!(answer.body().ends_with("\n\nhello"), "{answer:?}");
    }
}

#[tokio::test]
async fn a_replica_gets_the_fields_of_the_request_and_of_its_way() {
    let replica = Replica::echo("one").await;
    let site = Site::start(config(), route(&[&replica])).await;
    let mut client = Client::connect(site.addr()).await;
    let fields = [
        ("connection", "x-secret"),
        ("x-secret", "1"),
        ("keep-alive", "timeout=5"),
        ("te", "gzip"),
        ("proxy-authorization", "Basic x"),
        ("x-forwarded-for", "10.1.1.1"),
        ("x-request-id", "mine"),
        ("authorization", "Bearer of-the-replica"),
        ("x-other", "2"),
    ];
    let answer = soon(client.send(request("GET", "/", &fields, ""))).await;
    let got = answer.body();
    for gone in ["x-secret", "keep-alive", "\nte:", "proxy-authorization", "\nconnection:"] {
        assert!(!got.contains(gone), "{gone} in {got}");
    }
    for there in [
        "x-forwarded-for: 10.1.1.1, 127.0.0.1\n",
        "x-forwarded-proto: http\n",
        "x-request-id: mine\n",
        "x-other: 2\n",
        "host: test\n",
        "via: 1.1 kant\n",
        "authorization: Bearer of-the-replica\n",
    ] {
        assert!(got.contains(there), "{there} in {got}");
    }
    assert_eq!(answer.headers()["x-request-id"], "mine");
}

#[tokio::test]
async fn a_client_gets_the_fields_of_the_answer_without_those_of_the_replicas_connection() {
    let replica = Replica::start(|_| async {
        let mut reply = reply("text");
        *reply.status_mut() = StatusCode::IM_A_TEAPOT;
        let headers = reply.headers_mut();
        headers.insert("connection", "x-hop".parse().unwrap());
        headers.insert("x-hop", "1".parse().unwrap());
        headers.insert("keep-alive", "timeout=1".parse().unwrap());
        headers.insert("server", "replica".parse().unwrap());
        reply
    });
    let replica = replica.await;
    let site = Site::start(config(), route(&[&replica])).await;
    let answer = soon(Client::connect(site.addr()).await.get("/")).await;
    assert_eq!((answer.status(), answer.body().as_str()), (StatusCode::IM_A_TEAPOT, "text"));
    let headers = answer.headers();
    assert!(!headers.contains_key("x-hop") && !headers.contains_key("keep-alive"), "{headers:?}");
    assert_eq!(headers["server"], "replica");
    assert_eq!(headers["x-request-id"].len(), 32);
}

#[tokio::test]
async fn large_bodies_pass_both_ways() {
    let replica = Replica::start(|request| async {
        let body = request.into_body().collect().await.unwrap().to_bytes();
        reply(body)
    });
    let replica = replica.await;
    let site = Site::start(config(), route(&[&replica])).await;
    let body: String = (0..3 << 20).map(|i| char::from(b'a' + (i % 23) as u8)).collect();
    let mut one = Client::connect(site.addr()).await;
    let mut two = Client::connect_h2c(site.addr()).await;
    for client in [&mut one, &mut two] {
        let answer = soon(client.post("/", &body)).await;
        assert_eq!(answer.status(), 200);
        assert!(*answer.body() == body, "{} bytes", answer.body().len());
    }
}

#[tokio::test]
async fn a_service_with_a_token_admits_those_who_have_it() {
    let replica = Replica::echo("one").await;
    let mut route = route(&[&replica]);
    route.token = Some(TokenHash::of(b"secret"));
    let site = Site::start(config(), route).await;
    let mut client = Client::connect(site.addr()).await;
    for fields in [&[][..], &[("authorization", "Bearer wrong")], &[("authorization", "secret")]] {
        let answer = soon(client.send(request("GET", "/", fields, ""))).await;
        assert_eq!(answer.status(), StatusCode::UNAUTHORIZED);
        assert_eq!(answer.headers()["www-authenticate"], "Bearer");
        assert!(answer.body().contains("\"code\":\"unauthorized\""), "{answer:?}");
    }
    assert_eq!(replica.requests(), 0);
    let right = [("authorization", "bearer secret")];
    let answer = soon(client.send(request("GET", "/", &right, ""))).await;
    assert_eq!(answer.status(), 200);
    assert!(!answer.body().contains("secret"), "the replica does not get the token");
    assert_eq!(site.metric("errors_total", ",kind=\"unauthorized\""), 3);
}

#[tokio::test]
async fn old_and_unusual_requests_are_understood() {
    let replica = Replica::echo("one").await;
    let site = Site::start(config(), route(&[&replica])).await;
    let addr = site.addr();
    let old = soon(raw(addr, b"GET /old HTTP/1.0\r\n\r\n")).await;
    assert!(old.starts_with("HTTP/1.0 200 OK\r\n"), "{old}");
    assert!(old.contains("GET /old HTTP/1.1\n"), "{old}");
    let absolute = b"GET http://other:1/a?b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    let absolute = soon(raw(addr, absolute)).await;
    assert!(absolute.contains("GET /a?b HTTP/1.1\n"), "{absolute}");
    assert!(absolute.contains("host: other:1\n"), "{absolute}");
    let chunked = b"GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\
        Connection: close\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    let chunked = soon(raw(addr, chunked)).await;
    assert!(chunked.contains("\n\nabc"), "a GET keeps its body: {chunked}");
    let head = b"HEAD / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    let head = soon(raw(addr, head)).await;
    assert!(head.ends_with("\r\n\r\n") && head.contains("content-length: "), "{head}");
    let pipelined = b"GET /1 HTTP/1.1\r\nHost: x\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\n\
        Connection: close\r\n\r\n";
    let pipelined = soon(raw(addr, pipelined)).await;
    assert!(pipelined.contains("GET /1 ") && pipelined.contains("GET /2 "), "{pipelined}");
}

#[tokio::test]
async fn a_client_that_waits_for_leave_to_send_its_body_gets_it() {
    use crate::support::read_until;
    use tokio::io::AsyncWriteExt as _;
    let replica = Replica::echo("one").await;
    let site = Site::start(config(), route(&[&replica])).await;
    let mut stream = tokio::net::TcpStream::connect(site.addr()).await.unwrap();
    let head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n";
    stream.write_all(head).await.unwrap();
    soon(read_until(&mut stream, "HTTP/1.1 100 Continue\r\n\r\n")).await;
    stream.write_all(b"abc").await.unwrap();
    let answer = soon(read_until(&mut stream, "\n\nabc")).await;
    assert!(!answer.contains("expect"), "{answer}");
}
