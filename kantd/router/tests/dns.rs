//! Queries for the names of services, by UDP and by TCP.

use crate::support::{DEADLINE, Replica, Site, config, endpoint, eventually, route, soon};
use common::service::table::{EndpointState, Route};
use domain::base::iana::{OptRcode, Rcode, Rtype};
use domain::base::{Message, MessageBuilder, Name};
use domain::rdata::AllRecordData;
use router::{Config, DnsConfig, Domain};
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpStream, UdpSocket};

fn dns_config() -> Config {
    let (addr, domain) = (SocketAddr::from(([127, 0, 0, 1], 0)), Domain::new("kant.internal"));
    Config { dns: Some(DnsConfig { addr, domain: domain.unwrap() }), ..config() }
}

/// The route to `a` with this number of ready replicas, and one that drains.
fn many(replica: &Replica, ready: u16) -> Route {
    let mut route = route(&[replica]);
    let one = |place: u16, state| {
        let [high, low] = place.to_be_bytes();
        endpoint(&format!("r/{place}.1"), SocketAddr::from(([10, 0, high, low], 9000)), state)
    };
    route.endpoints = (0..ready).map(|place| one(place, EndpointState::Ready)).collect();
    route.endpoints.push(one(ready, EndpointState::Draining));
    route
}

/// A site with this route, once its server answers from it.
async fn start(route: Route) -> Site {
    let site = Site::start(dns_config(), route).await;
    follows(&site).await;
    site
}

/// Waits until the server answers from the newest table, whose version is its serial number.
async fn follows(site: &Site) {
    let version = format!(". {} ", site.tables.borrow().version);
    let end = std::time::Instant::now() + DEADLINE;
    loop {
        let answer = by_udp(site, &query("kant.internal", Rtype::SOA, None)).await;
        if answers(&answer).iter().any(|soa| soa.contains(&version)) {
            return;
        }
        assert!(std::time::Instant::now() < end, "the old table is still used: {answer:?}");
    }
}

fn query(name: &str, kind: Rtype, udp_bytes: Option<u16>) -> Vec<u8> {
    let mut builder = MessageBuilder::new_vec();
    builder.header_mut().set_id(7);
    let mut builder = builder.question();
    builder.push((name.parse::<Name<Vec<u8>>>().unwrap(), kind)).unwrap();
    let mut builder = builder.additional();
    if let Some(bytes) = udp_bytes {
        builder
            .opt(|opt| {
                opt.set_udp_payload_size(bytes);
                Ok(())
            })
            .unwrap();
    }
    builder.finish()
}

async fn by_udp(site: &Site, query: &[u8]) -> Message<Vec<u8>> {
    eventually("the server listens", || site.router.dns_address().is_some()).await;
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    socket.send_to(query, site.router.dns_address().unwrap()).await.unwrap();
    let mut answer = vec![0; 65_536];
    let length = soon(socket.recv(&mut answer)).await.unwrap();
    answer.truncate(length);
    Message::from_octets(answer).unwrap()
}

async fn by_tcp(stream: &mut TcpStream, query: &[u8]) -> Message<Vec<u8>> {
    let length = u16::try_from(query.len()).unwrap().to_be_bytes();
    stream.write_all(&[&length, query].concat()).await.unwrap();
    let length = soon(stream.read_u16()).await.unwrap();
    let mut answer = vec![0; length.into()];
    soon(stream.read_exact(&mut answer)).await.unwrap();
    Message::from_octets(answer).unwrap()
}

/// The records of the answer as in a zone file, without their names.
fn answers(message: &Message<Vec<u8>>) -> Vec<String> {
    let records = message.answer().unwrap().limit_to::<AllRecordData<_, _>>();
    records.map(|record| record.unwrap().data().to_string()).collect()
}

#[tokio::test]
async fn the_addresses_of_a_service_are_those_of_its_ready_replicas() {
    let replica = Replica::echo("one").await;
    let site = start(many(&replica, 2)).await;
    let asked = query("a.kant.internal", Rtype::A, None);
    let answer = by_udp(&site, &asked).await;
    assert_eq!((answer.header().id(), answer.header().aa()), (7, true));
    let mut found = answers(&answer);
    found.sort();
    assert_eq!(found, ["10.0.0.0", "10.0.0.1"]);

    // The next version of the table counts as soon as the router has it.
    site.apply(many(&replica, 1)).await;
    follows(&site).await;
    assert_eq!(answers(&by_udp(&site, &asked).await), ["10.0.0.0"]);
    let one = query("r-0.a.kant.internal", Rtype::A, None);
    assert_eq!(answers(&by_udp(&site, &one).await), ["10.0.0.0"]);
}

#[tokio::test]
async fn ports_come_with_the_addresses_of_their_replicas() {
    let replica = Replica::echo("one").await;
    let site = start(many(&replica, 2)).await;
    let answer = by_udp(&site, &query("_a._tcp.kant.internal", Rtype::SRV, Some(4096))).await;
    let mut found = answers(&answer);
    found.sort();
    assert_eq!(found, ["0 1 9000 r-0-1.a.kant.internal", "0 1 9000 r-1-1.a.kant.internal"]);
    // Two addresses, and what this side accepts.
    assert_eq!(answer.header_counts().arcount(), 3);
    assert_eq!(answer.opt().unwrap().udp_payload_size(), 1232);
}

#[tokio::test]
async fn an_answer_too_large_for_udp_is_truncated_and_whole_by_tcp() {
    let replica = Replica::echo("one").await;
    let site = start(many(&replica, 500)).await;
    for (name, kind) in [("a", Rtype::A), ("_a._tcp", Rtype::SRV)] {
        let name = format!("{name}.kant.internal");
        for (bytes, most) in [(None, 512), (Some(100), 512), (Some(65_000), 1232)] {
            let answer = by_udp(&site, &query(&name, kind, bytes)).await;
            assert!(answer.header().tc() && answer.as_slice().len() <= most, "{name} {bytes:?}");
            assert!(answers(&answer).len() > 8, "what there is room for: {name} {bytes:?}");
        }
        let mut stream = TcpStream::connect(site.router.dns_address().unwrap()).await.unwrap();
        for _ in 0..2 {
            let answer = by_tcp(&mut stream, &query(&name, kind, None)).await;
            assert_eq!((answers(&answer).len(), answer.header().tc()), (500, false), "{name}");
        }
    }
}

#[tokio::test]
async fn a_name_that_is_not_there_differs_from_one_outside_the_domain() {
    let replica = Replica::echo("one").await;
    let site = start(many(&replica, 0)).await;
    for (name, kind, rcode) in [
        ("a.kant.internal", Rtype::A, Rcode::NOERROR),
        ("a.kant.internal", Rtype::MX, Rcode::NOERROR),
        ("_tcp.kant.internal", Rtype::SRV, Rcode::NOERROR),
        ("b.kant.internal", Rtype::A, Rcode::NXDOMAIN),
        ("example.org", Rtype::A, Rcode::REFUSED),
        ("kant.internal", Rtype::AXFR, Rcode::REFUSED),
    ] {
        let answer = by_udp(&site, &query(name, kind, Some(1232))).await;
        let found = (answer.header().rcode(), answers(&answer).len());
        assert_eq!(found, (rcode, 0), "{name} {kind}");
        // How long "nothing" may be kept is in the record of the domain.
        let of_domain = answer.header_counts().nscount();
        assert_eq!(of_domain, u16::from(rcode != Rcode::REFUSED), "{name} {kind}");
    }
    let domain = by_udp(&site, &query("kant.internal", Rtype::SOA, None)).await;
    let version = site.tables.borrow().version;
    assert!(answers(&domain)[0].contains(&format!(". {version} 86400 2 604800 2")), "{domain:?}");
}

#[tokio::test]
async fn bad_queries_get_an_error_or_nothing_and_the_server_goes_on() {
    let replica = Replica::echo("one").await;
    let site = start(many(&replica, 1)).await;
    let good = query("a.kant.internal", Rtype::A, None);
    let changed = |at: usize, byte: u8| {
        let mut query = good.clone();
        query[at] = byte;
        query
    };
    let rcode = async |query: &[u8]| by_udp(&site, query).await.header().rcode();
    // An update of the zone, no question, two questions, a name that points at itself.
    assert_eq!(rcode(&changed(2, 5 << 3)).await, Rcode::NOTIMP);
    assert_eq!(rcode(&changed(5, 0)).await, Rcode::FORMERR);
    assert_eq!(rcode(&changed(5, 2)).await, Rcode::FORMERR);
    assert_eq!(rcode(&[&good[..12], &[0xc0, 12, 0, 1, 0, 1]].concat()).await, Rcode::FORMERR);
    let mut newer = query("a.kant.internal", Rtype::A, Some(1232));
    let version_at = newer.len() - 5;
    newer[version_at] = 1;
    assert_eq!(by_udp(&site, &newer).await.opt_rcode(), OptRcode::BADVERS);

    // Neither an answer nor noise is answered, so the next answer is that of the next query.
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let server = site.router.dns_address().unwrap();
    for nothing in [&changed(2, 0x80), &b"noise"[..], &[]] {
        socket.send_to(nothing, server).await.unwrap();
    }
    let mut last = good.clone();
    last[1] = 9;
    socket.send_to(&last, server).await.unwrap();
    let mut answer = [0; 512];
    soon(socket.recv(&mut answer)).await.unwrap();
    assert_eq!(answer[1], 9);

    // By TCP, such a client loses its connection: also one that announces more than any query has.
    for bad in [[0, 5, b'n', b'o', b'i', b's', b'e'], [0xff, 0xff, 0, 0, 0, 0, 0]] {
        let mut stream = TcpStream::connect(server).await.unwrap();
        stream.write_all(&bad).await.unwrap();
        assert!(!matches!(soon(stream.read(&mut answer)).await, Ok(1..)));
    }
    assert_eq!(rcode(&good).await, Rcode::NOERROR);
}

#[tokio::test]
async fn an_address_that_is_taken_is_used_as_soon_as_it_is_free() {
    let taken = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut config = dns_config();
    let dns = config.dns.as_mut().unwrap();
    dns.addr = taken.local_addr().unwrap();
    let addr = dns.addr;
    let replica = Replica::echo("one").await;
    // The service is routed meanwhile.
    let site = Site::start(config, many(&replica, 1)).await;
    assert_eq!(site.router.dns_address(), None);
    drop(taken);
    eventually("the server listens", || site.router.dns_address() == Some(addr)).await;
    follows(&site).await;
    let answer = by_udp(&site, &query("a.kant.internal", Rtype::A, None)).await;
    assert_eq!(answers(&answer), ["10.0.0.0"]);
}
