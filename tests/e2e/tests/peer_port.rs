//! What comes to the port of controllers with the cluster's own key, and is no controller of this
//! cluster all the same, or one that must not be let in. Never harms the one that is asked.

use anyhow::Context as _;
use common::id::{ClusterId, ControllerId};
use common::time::{Span, Time};
use common::wire::api::{ControllerList, ControllerRole, JoinAnswer, JoinRequest};
use common::wire::peer::{FromPeer, PEER_PATH, PEER_PROTOCOL, PeerHello, ToPeer};
use e2e::{Controllers, wait_for};
use net::{Channel, Client, ClientError, ClusterKey, Endpoint, Identity, Keepalive, Role};
use serde_bytes::ByteBuf;
use std::path::Path;
use std::time::SystemTime;

fn now() -> anyhow::Result<Time> {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
    Ok(Time(u64::try_from(since.as_millis())?))
}

/// The port of `a`, for one with the cluster's key.
fn endpoint(house: &Controllers) -> anyhow::Result<Endpoint> {
    let key = ClusterKey::load(Path::new(&house.config("a")?.cluster_key))?;
    let identity = Identity::new(&key, Role::Controller)?;
    Ok(Endpoint::Tls { addr: house.address("a"), identity })
}

async fn greet(
    endpoint: &Endpoint,
    hello: PeerHello,
) -> anyhow::Result<(Channel<ToPeer, FromPeer>, FromPeer)> {
    let mut channel: Channel<ToPeer, FromPeer> =
        net::connect_channel(endpoint, PEER_PATH, Keepalive::default()).await?;
    channel.send(&ToPeer::Hello(Box::new(hello))).await?;
    let answer = tokio::time::timeout(e2e::DEADLINE, channel.recv()).await?;
    let answer = answer.context("it hung up")??;
    Ok((channel, answer))
}

#[test]
fn who_must_not_be_let_in_is_told_why_and_what_to_do() -> anyhow::Result<()> {
    let mut house = Controllers::new()?;
    house.add("a")?;
    house.start("a")?;
    let (endpoint, before) = (endpoint(&house)?, house.list("a")?);
    let cluster = before.cluster;
    let other = ClusterId(cluster.0 ^ 1);
    let hour = Span::from_seconds(3600);
    let join = JoinRequest {
        protocol: PEER_PROTOCOL,
        release: "0.0.1".to_owned(),
        name: "x".to_owned(),
        address: "127.0.0.1:1".to_owned(),
        learner: true,
        invitation: house.invite("a")?,
        replaces: None,
        cluster: None,
        now: now()?,
    };
    let joins = [
        (
            JoinRequest { protocol: PEER_PROTOCOL + 1, ..join.clone() },
            "install one release on both",
        ),
        (JoinRequest { cluster: Some(other), ..join.clone() }, "ask one of its own"),
        (JoinRequest { now: now()? + hour, ..join.clone() }, "mend NTP"),
        (JoinRequest { now: now()? - hour, ..join.clone() }, "mend NTP"),
        (JoinRequest { address: "0.0.0.0:7600".to_owned(), ..join }, "`advertise`"),
    ];
    let hello = PeerHello {
        protocol: PEER_PROTOCOL,
        release: "0.0.1".to_owned(),
        cluster,
        from: ControllerId(2),
        to: ControllerId(1),
        address: String::new(),
        now: now()?,
        snapshot: None,
    };
    let hellos = [
        (PeerHello { protocol: PEER_PROTOCOL + 1, ..hello.clone() }, "install one release on both"),
        (PeerHello { cluster: other, ..hello.clone() }, "a key of its own"),
        (PeerHello { to: ControllerId(9), ..hello.clone() }, "reached controller 1"),
        (PeerHello { now: now()? + hour, ..hello.clone() }, "mend NTP"),
        (PeerHello { now: now()? - hour, ..hello }, "mend NTP"),
    ];
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let client = Client::new(endpoint.clone()).with_answer_limit(Some(e2e::DEADLINE));
        for (request, words) in &joins {
            let answer: Result<JoinAnswer, _> = client.post("/v1/controllers", request).await;
            let Err(ClientError::Refused { error, .. }) = answer else {
                anyhow::bail!("let in: {answer:?}, {request:?}");
            };
            assert!(error.message.contains(words), "{error:?}");
        }
        for (hello, words) in &hellos {
            match greet(&endpoint, hello.clone()).await?.1 {
                FromPeer::Refused { reason, .. } => assert!(reason.contains(words), "{reason}"),
                answer => anyhow::bail!("let in: {answer:?}, {hello:?}"),
            }
            // The one that refuses has it in its log too, for who looks there.
            let log = house.log("a");
            assert!(log.contains(words), "{words}: {log}");
        }
        Ok(())
    })?;
    // How far its log is goes on meanwhile.
    let members = |list: ControllerList| list.controllers.into_iter().map(|c| (c.id, c.name));
    let (now, then) = (members(house.list("a")?), members(before));
    assert_eq!(now.collect::<Vec<_>>(), then.collect::<Vec<_>>(), "nobody came in");
    Ok(())
}

#[test]
fn who_has_only_the_clusters_key_joins_once_by_an_operators_invitation() -> anyhow::Result<()> {
    let mut house = Controllers::new()?;
    house.add("a")?;
    house.start("a")?;
    let endpoint = endpoint(&house)?;
    let join = |number: u16, invitation: &str| -> anyhow::Result<JoinRequest> {
        Ok(JoinRequest {
            protocol: PEER_PROTOCOL,
            release: "0.0.1".to_owned(),
            name: "x".to_owned(),
            address: format!("127.0.0.1:{number}"),
            learner: true,
            invitation: invitation.to_owned(),
            replaces: None,
            cluster: None,
            now: now()?,
        })
    };
    let secret = house.invite("a")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let client = Client::new(endpoint).with_answer_limit(Some(e2e::DEADLINE));
        let ask = async |request: JoinRequest| -> Result<JoinAnswer, ClientError> {
            client.post("/v1/controllers", &request).await
        };
        let assert_refused = |answer: Result<JoinAnswer, ClientError>, code: &str| {
            let Err(ClientError::Refused { status, error }) = answer else {
                panic!("let in: {answer:?}");
            };
            assert_eq!((status, error.code.as_str()), (403, code), "{error:?}");
            assert!(error.message.contains("kantctl admin controller invite"), "{error:?}");
        };
        for guessed in ["", "kant-invitation-00"] {
            assert_refused(ask(join(1, guessed)?).await, "no_invitation");
        }
        // Who speaks as a controller may say that an operator asks. That is not believed here.
        for (method, path) in [
            ("POST", "/v1/controllers/invite"),
            ("POST", "/v1/controllers/1/promote"),
            ("POST", "/v1/controllers/1/remove"),
            ("POST", "/v1/controllers/1/transfer"),
            ("POST", "/v1/reload"),
            ("GET", "/v1/backup"),
        ] {
            for passed_on in ["", "2 socket"] {
                let asked = axum::http::Request::builder().method(method).uri(path);
                let asked =
                    asked.header(net::USER_HEADER, "0:0").header("x-kant-passed-on", passed_on);
                let asked = asked.header("content-type", "application/json");
                let answer = client.send(asked.body("{\"lasts\":60000}".into())?).await?;
                assert_eq!(answer.status(), 409, "{path}: {answer:?}");
            }
        }
        let given = ask(join(1, &secret)?).await?;
        // An answer that was lost.
        assert_eq!(ask(join(1, &secret)?).await?.id, given.id);
        assert_refused(ask(join(2, &secret)?).await, "invitation_used");
        anyhow::Ok(())
    })?;
    // Of one that is to vote, too, and without asking a cluster at all.
    house.add("b")?;
    let answer = house.try_verb("b", &["join"])?;
    assert!(answer.code != 0 && answer.stderr.contains("controller invite"), "{answer:?}");
    let to = house.address("a");
    let used = house.try_verb("b", &["join", "--to", &to, "--invitation", &secret])?;
    assert!(used.code != 0 && used.stderr.contains("was already used"), "{used:?}");
    assert_eq!(house.list("a")?.controllers.len(), 2, "a, and the one that was invited");
    Ok(())
}

#[test]
fn an_invitation_outlives_the_leader_that_made_it_and_those_who_are_in_need_none()
-> anyhow::Result<()> {
    let mut house = Controllers::three()?;
    let (leader, id) = house.leader()?;
    let invitation = house.invite(&leader)?;
    let follower = ["a", "b", "c"].into_iter().find(|name| *name != leader).context("none")?;
    let told = house.kantctl(follower)?.run(&["admin", "controller", "invite"])?;
    assert!(told.code == 1 && told.stderr.contains(&format!("controller {id} ")), "{told:?}");
    house.kill(&leader)?;
    let next = house.wait_for_another_leader(follower, &leader)?;
    house.add("d")?;
    house.verb("d", &["join", "--to", &house.address(&next), "--invitation", &invitation])?;
    house.start("d")?;
    house.start(&leader)?;
    house.wait_for_voters(&next, 4)?;
    Ok(())
}

#[test]
fn letters_that_no_controller_would_write_are_dropped_and_the_one_asked_goes_on()
-> anyhow::Result<()> {
    let mut house = Controllers::new()?;
    house.add("a")?;
    house.start("a")?;
    let endpoint = endpoint(&house)?;
    let hello = PeerHello {
        protocol: PEER_PROTOCOL,
        release: "0.0.1".to_owned(),
        cluster: house.list("a")?.cluster,
        from: ControllerId(2),
        to: ControllerId(1),
        address: String::new(),
        now: now()?,
        snapshot: None,
    };
    // An empty proposal, and an endless one: the consensus library would panic at the first.
    let proposal = vec![0x08, 0x02, 0x10, 0x01, 0x18, 0x02];
    let letters = [Vec::new(), vec![0xff; 4096], b"GET / HTTP/1.1".to_vec(), proposal];
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    runtime.block_on(async {
        let (channel, answer) = greet(&endpoint, hello.clone()).await?;
        assert!(matches!(answer, FromPeer::Welcome { .. }), "{answer:?}");
        let letters = letters.into_iter().map(ByteBuf::from).collect();
        channel.send(&ToPeer::Letters(letters)).await?;
        wait_for("the letters to be dropped", || {
            let log = house.log("a");
            Ok((log.matches("dropped a letter").count() >= 4).then_some(()))
        })?;
        // A frame that is no message at all ends the connection, in words.
        let (channel, _) = greet(&endpoint, hello.clone()).await?;
        channel.send(&ToPeer::Chunk(ByteBuf::from(vec![0; 10]))).await?;
        wait_for("the connection to be closed", || {
            Ok(house.log("a").contains("sent no letters").then_some(()))
        })?;
        anyhow::Ok(())
    })?;
    let list = house.list("a")?;
    assert_eq!((list.controllers.len(), list.controllers[0].role), (1, ControllerRole::Leader));
    house.kantctl("a")?.ok(&["submit", "--hold", "--wrap", "true"])?;
    Ok(())
}
