//! Connections to the controllers' port that do not come from a controller of the cluster, or from
//! one that must be refused. Some have the cluster key all the same.

use anyhow::Context as _;
use common::id::{ClusterId, ControllerId};
use common::rules_level::{RulesLevel, RulesLevels};
use common::time::{Span, Time};
use common::wire::api::{ControllerList, ControllerRole, JoinAnswer, JoinRequest, Secret};
use common::wire::peer::{FromPeer, PEER_PATH, PEER_PROTOCOL, PeerHello, ToPeer};
use e2e::{Controllers, wait_for};
use net::{Channel, Client, ClientError, ClusterKeys, Endpoint, Identity, Invitation, Keepalive};
use nix::sys::signal::Signal;
use serde_bytes::ByteBuf;
use std::path::Path;
use std::time::SystemTime;

fn now() -> anyhow::Result<Time> {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
    Ok(Time(u64::try_from(since.as_millis())?))
}

fn secret(invitation: &str) -> anyhow::Result<Secret> {
    Ok(Secret(invitation.parse::<Invitation>()?.secret))
}

/// The port of `a`, with the cluster key.
fn endpoint(controllers: &Controllers) -> anyhow::Result<Endpoint> {
    let key = ClusterKeys::load(Path::new(&controllers.config("a")?.cluster_key))?.issuing;
    let identity = Identity::controller(&key)?;
    Ok(Endpoint::Tls { addr: controllers.address("a"), identity })
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
fn a_refused_peer_gets_the_reason_and_advice() -> anyhow::Result<()> {
    let controllers = Controllers::one()?;
    let (endpoint, before) = (endpoint(&controllers)?, controllers.list("a")?);
    let cluster = before.cluster;
    let other = ClusterId(cluster.0 ^ 1);
    let hour = Span::from_seconds(3600);
    let newer = RulesLevels { oldest: RulesLevel(200), newest: RulesLevel(201) };
    let join = JoinRequest {
        protocol: PEER_PROTOCOL,
        oldest_protocol: None,
        release: "0.0.1".to_owned(),
        levels: None,
        name: "x".to_owned(),
        address: "127.0.0.1:1".to_owned(),
        learner: true,
        invitation: secret(&controllers.invite("a")?)?,
        replaces: None,
        cluster: None,
        now: now()?,
    };
    let joins = [
        (
            JoinRequest { protocol: PEER_PROTOCOL + 1, ..join.clone() },
            "install the same release on both",
        ),
        (JoinRequest { cluster: Some(other), ..join.clone() }, "ask a controller of its own"),
        (JoinRequest { levels: Some(newer), ..join.clone() }, "applies rules level 1"),
        (JoinRequest { now: now()? + hour, ..join.clone() }, "correct NTP"),
        (JoinRequest { now: now()? - hour, ..join.clone() }, "correct NTP"),
        (JoinRequest { address: "0.0.0.0:7600".to_owned(), ..join }, "`advertise`"),
    ];
    let hello = PeerHello {
        protocol: PEER_PROTOCOL,
        oldest_protocol: None,
        release: "0.0.1".to_owned(),
        cluster,
        from: ControllerId(2),
        to: ControllerId(1),
        address: String::new(),
        now: now()?,
        snapshot: None,
    };
    let hellos = [
        (
            PeerHello { protocol: PEER_PROTOCOL + 1, ..hello.clone() },
            "install the same release on both",
        ),
        (PeerHello { cluster: other, ..hello.clone() }, "its own key"),
        (PeerHello { to: ControllerId(9), ..hello.clone() }, "reached controller 1"),
        (PeerHello { now: now()? + hour, ..hello.clone() }, "correct NTP"),
        (PeerHello { now: now()? - hour, ..hello }, "correct NTP"),
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
            // The refusal is also logged by the refusing controller.
            let log = controllers.log("a");
            assert!(log.contains(words), "{words}: {log}");
        }
        Ok(())
    })?;
    // The length of its log changes meanwhile.
    let members = |list: ControllerList| list.controllers.into_iter().map(|c| (c.id, c.name));
    let (now, then) = (members(controllers.list("a")?), members(before));
    assert_eq!(now.collect::<Vec<_>>(), then.collect::<Vec<_>>(), "no controller was added");
    Ok(())
}

#[test]
fn a_controller_with_only_the_cluster_key_joins_once_with_an_invitation() -> anyhow::Result<()> {
    let mut controllers = Controllers::one()?;
    let endpoint = endpoint(&controllers)?;
    let join = |number: u16, invitation: &str| -> anyhow::Result<JoinRequest> {
        Ok(JoinRequest {
            protocol: PEER_PROTOCOL,
            oldest_protocol: None,
            release: "0.0.1".to_owned(),
            levels: None,
            name: "x".to_owned(),
            address: format!("127.0.0.1:{number}"),
            learner: true,
            invitation: Secret(invitation.to_owned()),
            replaces: None,
            cluster: None,
            now: now()?,
        })
    };
    let invitation = controllers.invite("a")?;
    let secret = secret(&invitation)?.0;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let client = Client::new(endpoint).with_answer_limit(Some(e2e::DEADLINE));
        let ask = async |request: JoinRequest| -> Result<JoinAnswer, ClientError> {
            client.post("/v1/controllers", &request).await
        };
        let assert_refused = |answer: Result<JoinAnswer, ClientError>, code: &str| {
            let Err(ClientError::Refused { status, error }) = answer else {
                panic!("not refused: {answer:?}");
            };
            assert_eq!((status, error.code.as_str()), (403, code), "{error:?}");
            let hint = error.hint.as_deref().unwrap_or_default();
            assert!(hint.contains("kantctl admin controller invite"), "{error:?}");
        };
        for guessed in ["", "kant-invitation-00"] {
            assert_refused(ask(join(1, guessed)?).await, "no_invitation");
        }
        // A peer may claim to forward an operator's request. The claim is not accepted here.
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
        // A repeated request after a lost answer.
        assert_eq!(ask(join(1, &secret)?).await?.id, given.id);
        assert_refused(ask(join(2, &secret)?).await, "invitation_used");
        anyhow::Ok(())
    })?;
    // Also for a voter, and without a request to the cluster.
    controllers.add("b")?;
    controllers.verb_refused("b", &["join"], "controller invite")?;
    let to = controllers.address("a");
    controllers.verb_refused(
        "b",
        &["join", "--to", &to, "--invitation", &invitation],
        "was already used",
    )?;
    assert_eq!(controllers.list("a")?.controllers.len(), 2, "a, and the invited controller");
    Ok(())
}

#[test]
fn an_invitation_survives_its_leader_and_members_need_none() -> anyhow::Result<()> {
    let mut controllers = Controllers::three()?;
    let (leader, id) = controllers.leader()?;
    let invitation = controllers.invite(&leader)?;
    let follower = ["a", "b", "c"].into_iter().find(|name| *name != leader).context("none")?;
    controllers
        .kantctl(follower)?
        .refused(&["admin", "controller", "invite"], &format!("controller {id} "))?;
    controllers.kill(&leader)?;
    let next = controllers.wait_for_another_leader(follower, &leader)?;
    controllers.add("d")?;
    controllers
        .verb("d", &["join", "--to", &controllers.address(&next), "--invitation", &invitation])?;
    controllers.start("d")?;
    controllers.start(&leader)?;
    controllers.wait_for_voters(&next, 4)?;
    Ok(())
}

/// The follower still forwards to the leader that has just been killed, and then there is none
/// until the other follower runs again.
#[test]
fn a_join_waits_for_the_next_leader_and_uses_its_invitation_once() -> anyhow::Result<()> {
    let mut controllers = Controllers::three()?;
    let (leader, _) = controllers.leader()?;
    let mut followers = ["a", "b", "c"].into_iter().filter(|name| *name != leader);
    let (asked, paused) = followers.next().zip(followers.next()).context("no two followers")?;
    let (to, invitation) = (controllers.address(asked), controllers.invite(&leader)?);
    controllers.add("d")?;
    controllers.signal(paused, Signal::SIGSTOP)?;
    controllers.kill(&leader)?;
    let words = ["join", "--to", &to, "--invitation", &invitation];
    let mut join = controllers.launch_verb("d", &words)?;
    wait_for("a failed attempt", || Ok(join.log().contains("trying again").then_some(())))?;
    assert_eq!(join.ended()?, None, "{}", join.log());
    controllers.signal(paused, Signal::SIGCONT)?;
    let status = wait_for("the join to end", || join.ended())?;
    assert!(status.success(), "{}", join.log());

    controllers.start("d")?;
    controllers.start(&leader)?;
    let list = controllers.wait_for_voters(asked, 4)?;
    assert_eq!(list.controllers.iter().filter(|one| one.name == "d").count(), 1, "{list:?}");
    controllers.add("e")?;
    controllers.verb_refused("e", &words, "was already used")?;
    Ok(())
}

#[test]
fn invalid_raft_messages_are_dropped_without_harm_to_the_receiver() -> anyhow::Result<()> {
    let controllers = Controllers::one()?;
    let endpoint = endpoint(&controllers)?;
    let hello = PeerHello {
        protocol: PEER_PROTOCOL,
        oldest_protocol: None,
        release: "0.0.1".to_owned(),
        cluster: controllers.list("a")?.cluster,
        from: ControllerId(2),
        to: ControllerId(1),
        address: String::new(),
        now: now()?,
        snapshot: None,
    };
    // An empty and an oversized proposal: the consensus library would panic on the first.
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
            let log = controllers.log("a");
            Ok((log.matches("dropped a message").count() >= 4).then_some(()))
        })?;
        // A frame that is not a message closes the connection and is logged.
        let (channel, _) = greet(&endpoint, hello.clone()).await?;
        channel.send(&ToPeer::Chunk(ByteBuf::from(vec![0; 10]))).await?;
        wait_for("the connection to be closed", || {
            Ok(controllers.log("a").contains("sent an unexpected message").then_some(()))
        })?;
        anyhow::Ok(())
    })?;
    let list = controllers.list("a")?;
    assert_eq!((list.controllers.len(), list.controllers[0].role), (1, ControllerRole::Leader));
    controllers.kantctl("a")?.ok(&["submit", "--hold", "--wrap", "true"])?;
    Ok(())
}
