//! Tests of controllers on real sockets: one that joins is caught up by a snapshot and votes;
//! foreign controllers and invalid messages are refused without harm.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod words;

use axum::extract::ws::WebSocketUpgrade;
use axum::routing::get;
use common::id::{ClusterId, ControllerId};
use common::sync::Mutex;
use common::time::{Span, Time};
use common::wire::peer::{FromPeer, LetterHead, PEER_PATH, PeerHello, ToPeer};
use kantctld::clock::{SteadyClock, wall_clock};
use kantctld::peers::{self, AddressBook, Links, LocalController, Peers};
use kantctld::raft::{Bootstrap, Change, Hooks, LogThread, Member, ReplicaConfig, Status, start};
use net::{Channel, ClusterKey, Endpoint, Identity, Keepalive, TlsListener, connect_channel};
use serde_bytes::ByteBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use wal::{Options, RealDisk};
use words::Words;

const CLUSTER: ClusterId = ClusterId(0xcafe);
const LIMIT: Duration = Duration::from_secs(30);

struct Running {
    peers: Arc<Peers<Words>>,
    words: Words,
    thread: LogThread,
    _dir: tempfile::TempDir,
}

/// A controller on its own port.
async fn run(key: &ClusterKey, id: u64, bootstrap: impl FnOnce(String) -> Bootstrap) -> Running {
    run_by(wall_clock, key, id, bootstrap).await
}

/// The same, on a host with this wall clock.
async fn run_by(
    wall: fn() -> Time,
    key: &ClusterKey,
    id: u64,
    bootstrap: impl FnOnce(String) -> Bootstrap,
) -> Running {
    let dir = tempfile::tempdir().unwrap();
    let identity = Identity::controller(key).unwrap();
    let listener = TlsListener::bind("127.0.0.1:0", &identity).await.unwrap();
    let address = listener.local_addr().to_string();
    let replica_config = ReplicaConfig {
        id: ControllerId(id),
        cluster: CLUSTER,
        bootstrap: bootstrap(address.clone()),
        snapshot_every: 1_000_000,
        snapshot_bytes_min: replica::SNAPSHOT_BYTES_MIN,
        compare_every: replica::COMPARE_EVERY,
        seed: id,
        options: Options { segment_bytes: 1 << 16, salt: 7, memory_bytes: 200 },
    };
    let (words, links) = (Words::default(), Arc::new(Links::default()));
    let hooks = Hooks { transport: links.transport(), ..Hooks::for_single_controller() };
    let disk = RealDisk::open(dir.path()).unwrap();
    let (log, thread) = start(disk, &replica_config, words.clone(), hooks).unwrap();
    let local = LocalController { cluster: CLUSTER, id: ControllerId(id), address };
    let (addresses, clock) = (AddressBook::default(), Arc::new(SteadyClock::new(wall)));
    let (unfinished_join, levels) = (Mutex::default(), Mutex::default());
    let peers = Peers { local, log, links, addresses, identity, clock, unfinished_join, levels };
    let peers = Arc::new(peers);
    let server = peers.clone();
    let serve = move |upgrade: WebSocketUpgrade| async move { peers::serve(server, upgrade) };
    let router = axum::Router::new().route(PEER_PATH, get(serve));
    tokio::spawn(net::serve(listener, router, std::future::pending()));
    tokio::spawn(peers::maintain_connections(peers.clone()));
    Running { peers, words, thread, _dir: dir }
}

async fn founder(key: &ClusterKey) -> Running {
    founder_by(wall_clock, key).await
}

async fn founder_by(wall: fn() -> Time, key: &ClusterKey) -> Running {
    let member = |address| Member { name: "a".to_owned(), address, becomes_voter: false };
    let founder = run_by(wall, key, 1, |address| Bootstrap::Found(member(address))).await;
    until(&founder, |status| status.leads).await;
    founder
}

async fn until(controller: &Running, is_so: impl FnMut(&Status) -> bool) {
    let mut status = controller.peers.log.status();
    let waited = tokio::time::timeout(LIMIT, status.wait_for(is_so)).await;
    assert!(waited.is_ok(), "{:?}", controller.peers.log.status().borrow());
}

impl Running {
    fn stop(self) {
        self.peers.log.stop();
        self.thread.join().unwrap().unwrap();
    }

    /// Connects with a controller's certificate and a chosen message type.
    async fn dial<Out>(&self) -> Channel<Out, FromPeer> {
        let identity = self.peers.identity.clone();
        let endpoint = Endpoint::Tls { addr: self.peers.local.address.clone(), identity };
        connect_channel(&endpoint, PEER_PATH, Keepalive::default()).await.unwrap()
    }

    async fn answer(&self, hello: PeerHello) -> (Channel<ToPeer, FromPeer>, Option<FromPeer>) {
        let mut channel = self.dial().await;
        channel.send(&ToPeer::Hello(Box::new(hello))).await.unwrap();
        let answer = tokio::time::timeout(LIMIT, channel.recv()).await.unwrap();
        (channel, answer.map(Result::unwrap))
    }
}

/// The hello of controller 2 to controller 1.
fn hello(now: Time, snapshot: Option<LetterHead>) -> PeerHello {
    let me = LocalController { cluster: CLUSTER, id: ControllerId(2), address: String::new() };
    me.hello(ControllerId(1), now, snapshot)
}

#[tokio::test]
async fn a_new_controller_is_caught_up_by_a_snapshot_and_votes() {
    let key = ClusterKey::generate().unwrap();
    let first = founder(&key).await;
    // More than one chunk.
    let large = "x".repeat(3 << 20);
    first.peers.log.propose(large.clone()).await.unwrap();
    let second = run(&key, 2, |_| Bootstrap::Join).await;
    let address = second.peers.local.address.clone();
    let member = Member { name: "b".to_owned(), address, becomes_voter: true };
    let given = first.peers.log.change_members(vec![Change::Add(member)]).await.unwrap();
    assert_eq!(given, Some(ControllerId(2)));
    until(&first, |status| status.members.votes(ControllerId(2))).await;
    assert!(second.words.restored_at.lock().unwrap().is_some(), "not from a snapshot");

    first.peers.log.propose("next".to_owned()).await.unwrap();
    first.peers.log.wait_for_read().await.unwrap();
    until(&second, |status| status.applied == status.committed && status.leader.is_some()).await;
    let applied = first.peers.log.status().borrow().committed;
    until(&second, |status| status.applied >= applied).await;
    assert_eq!(*second.words.words.lock().unwrap(), [large, "next".to_owned()]);

    assert!(first.peers.log.transfer_leadership(Some(ControllerId(2))).await);
    until(&second, |status| status.leads).await;
    assert_eq!(second.peers.log.propose("last".to_owned()).await, Ok(3));
    second.stop();
    first.stop();
}

/// How far the walls of the first and the second of three controllers are ahead.
static AHEAD: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];
const HOUR: Span = Span::from_minutes(60);

fn wall_of(place: usize) -> Time {
    wall_clock() + Span(AHEAD[place].load(Ordering::SeqCst))
}

/// Waits until a controller's cluster time is about an hour ahead.
async fn until_an_hour_ahead(controller: &Running) {
    let deadline = Instant::now() + LIMIT;
    while controller.peers.clock.now() < wall_clock() + Span(HOUR.0 / 2) {
        assert!(Instant::now() < deadline, "{}", controller.peers.clock.now());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_leap_is_believed_once_another_controller_shows_it_and_the_rest_follow() {
    let key = ClusterKey::generate().unwrap();
    let first = founder_by(|| wall_of(0), &key).await;
    let second = run_by(|| wall_of(1), &key, 2, |_| Bootstrap::Join).await;
    let third = run(&key, 3, |_| Bootstrap::Join).await;
    for (name, joins) in [("b", &second), ("c", &third)] {
        let address = joins.peers.local.address.clone();
        let member = Member { name: name.to_owned(), address, becomes_voter: true };
        let id = first.peers.log.change_members(vec![Change::Add(member)]).await.unwrap().unwrap();
        until(&first, |status| status.members.votes(id)).await;
    }
    let is_near = |time: Time| time < wall_clock() + Span(HOUR.0 / 2);
    assert!([&first, &second, &third].iter().all(|one| is_near(one.peers.clock.now())));

    AHEAD[0].store(HOUR.0, Ordering::SeqCst);
    assert!(is_near(first.peers.clock.now()), "no other clock shows it");
    AHEAD[1].store(HOUR.0, Ordering::SeqCst);
    until_an_hour_ahead(&first).await;
    until_an_hour_ahead(&third).await;
    [third, second, first].into_iter().for_each(Running::stop);
}

#[tokio::test]
async fn a_controller_that_announces_another_address_is_moved_there() {
    let key = ClusterKey::generate().unwrap();
    let first = founder(&key).await;
    let member = |address: &str| Member {
        name: "b".to_owned(),
        address: address.to_owned(),
        becomes_voter: false,
    };
    let before = "127.0.0.1:1";
    first.peers.log.change_members(vec![Change::Add(member(before))]).await.unwrap();
    let known = |status: &Status| {
        status.members.known.get(&ControllerId(2)).map(|member| member.address.clone())
    };
    until(&first, |status| known(status).as_deref() == Some(before)).await;
    let now = first.peers.clock.wall();
    let moved = PeerHello { address: "127.0.0.1:2".to_owned(), ..hello(now, None) };
    let (_channel, answer) = first.answer(moved).await;
    assert!(matches!(answer, Some(FromPeer::Welcome { .. })), "{answer:?}");
    until(&first, |status| known(status).as_deref() == Some("127.0.0.1:2")).await;
    first.stop();
}

#[tokio::test]
async fn a_hello_that_does_not_belong_here_is_refused_with_the_reason() {
    let key = ClusterKey::generate().unwrap();
    let first = founder(&key).await;
    let now = wall_clock();
    for (hello, word) in [
        (PeerHello { cluster: ClusterId(0xbeef), ..hello(now, None) }, "other_cluster"),
        (PeerHello { to: ControllerId(9), ..hello(now, None) }, "other_receiver"),
        (PeerHello { protocol: 9, ..hello(now, None) }, "other_protocol"),
        (hello(now + Span::from_seconds(3600), None), "clock"),
    ] {
        let (_, answer) = first.answer(hello).await;
        match answer {
            Some(FromPeer::Refused { code, .. }) => assert_eq!(code, word),
            other => panic!("{word}: {other:?}"),
        }
    }
    let (_, answer) = first.answer(hello(now, None)).await;
    assert!(matches!(answer, Some(FromPeer::Welcome { .. })));
    first.stop();
}

#[tokio::test]
async fn an_invalid_message_ends_its_connection_and_nothing_else() {
    let key = ClusterKey::generate().unwrap();
    let first = founder(&key).await;
    let mut garbage = first.dial::<Vec<u8>>().await;
    garbage.send(&vec![0x5a; 4096]).await.unwrap();
    assert!(!matches!(garbage.recv().await, Some(Ok(_))), "it was answered");

    // An invalid raft message is dropped.
    let (channel, _) = first.answer(hello(wall_clock(), None)).await;
    channel.send(&ToPeer::Letters(vec![ByteBuf::from(vec![0xff; 100])])).await.unwrap();

    // A damaged snapshot, and one that is too long.
    for chunk in [&b"abd"[..], b"abcabc"] {
        let head = LetterHead { bytes: 3, checksum: 0x3524_41c2 };
        let (mut channel, answer) = first.answer(hello(wall_clock(), Some(head))).await;
        assert!(matches!(answer, Some(FromPeer::Welcome { .. })));
        channel.send(&ToPeer::Chunk(ByteBuf::from(chunk))).await.unwrap();
        let end = tokio::time::timeout(LIMIT, channel.recv()).await.unwrap();
        assert!(!matches!(end, Some(Ok(FromPeer::Arrived))), "{end:?}");
    }
    assert_eq!(first.peers.log.propose("on".to_owned()).await, Ok(1));
    first.stop();
}
