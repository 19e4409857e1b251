//! What an attacker can do who is root on one node: use everything in its files and speak to the
//! controllers as that node. Each attack is refused and audited, and revoking the node ends what it
//! has.

use anyhow::{Context as _, ensure};
use axum::http::{Request, StatusCode};
use common::id::{ClusterId, ControllerId, NodeName};
use common::job::Phase;
use common::node::Contact;
use common::time::Time;
use common::wire::api::{IssuedCertificate, RenewRequest};
use common::wire::node::{FromNode, NODE_PATH, ToNode};
use common::wire::peer::PEER_PATH;
use e2e::{Cluster, ClusterOptions, Person, is_root, wait_for};
use net::{
    Authority, Channel, Client, ClientError, ClusterKey, ClusterKeys, Credentials, Endpoint,
    Identity, Invitation, Keepalive, NewKey, connect_channel,
};
use serde_json::{Value, json};
use std::path::Path;

/// The certificate and the key in the spool of a node.
fn stolen(cluster: &Cluster, node: &str) -> anyhow::Result<Identity> {
    let spool = cluster.dir().join(format!("spool-{node}"));
    Ok(Identity::node(&Credentials::load(&spool)?)?)
}

fn endpoint(cluster: &Cluster, identity: Identity) -> anyhow::Result<Endpoint> {
    let config = std::fs::read_to_string(cluster.dir().join("kantctld.toml"))?;
    let config: common::config::ControllerConfig = common::config::read("kantctld.toml", &config)?;
    Ok(Endpoint::Tls { addr: config.listen, identity })
}

fn lines(cluster: &Cluster) -> anyhow::Result<Vec<Value>> {
    let text = std::fs::read_to_string(cluster.dir().join("state/audit.log"))?;
    let whole = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
    whole.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}

/// Makes a request, and returns the status and the code of the refusal.
async fn attack(
    client: &Client,
    (method, path): (&str, &str),
    user: Option<(u32, u32)>,
    body: Value,
) -> anyhow::Result<(StatusCode, String)> {
    let mut request = Request::builder().method(method).uri(path);
    if let Some((uid, gid)) = user {
        request = request.header(net::USER_HEADER, format!("{uid}:{gid}"));
    }
    let request = request.header("content-type", "application/json");
    let answer = client.send(request.body(body.to_string().into())?).await?;
    let status = answer.status();
    let bytes = net::to_bytes(answer.into_body(), 1 << 20).await?;
    let body: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    Ok((status, body["error"]["code"].as_str().unwrap_or_default().to_owned()))
}

fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}

fn options() -> ClusterOptions {
    let controller: fn(&mut common::config::ControllerConfig) = |config| {
        config.nodes_may_vouch_for = common::config::VouchedFor::JobOwners;
    };
    ClusterOptions { controller: Some(controller), ..ClusterOptions::cpu_nodes(&["n1", "n2"]) }
}

#[test]
fn root_of_one_node_is_no_other_node_no_other_user_and_no_controller() -> anyhow::Result<()> {
    if !is_root() {
        eprintln!("skipped: needs root, to have jobs of two users");
        return Ok(());
    }
    let cluster = Cluster::start(options())?;
    let victim = Person::plain();
    let other = Person::other().context("root has two test users")?;
    // The victim has a job on n2 only, the other user on n1 only.
    let kantctl = cluster.kantctl(victim)?;
    let job = kantctl.submit(&["--nodelist=n2"], "#!/bin/sh\n# secret\nsleep 100\n")?;
    let of_other = cluster.kantctl(other)?.submit(&["--nodelist=n1"], "#!/bin/sh\nsleep 100\n")?;
    for (person, job) in [(victim, &job), (other, &of_other)] {
        cluster.kantctl(person)?.until(job, Phase::Running)?;
    }
    let (script, submit) = (format!("/v1/jobs/{job}/script"), "/v1/jobs");
    let cancel = format!("/v1/jobs/{job}/cancel");
    let request = json!({ "request_key": "k", "ask": {}, "script": "#!/bin/sh\n", "env": {} });
    let (root, victim_ids, other_ids) = ((0, 0), (victim.uid, victim.uid), (other.uid, other.uid));
    let attacks = [
        ("a backup as root", ("GET", "/v1/backup"), Some(root), "voucher_refused"),
        ("an invitation as root", ("POST", "/v1/enrolments/invite"), Some(root), "voucher_refused"),
        ("a drain as root", ("POST", "/v1/nodes/n2/drain"), Some(root), "voucher_refused"),
        ("a job as the victim", ("POST", submit), Some(victim_ids), "voucher_refused"),
        ("the victim's script", ("GET", script.as_str()), Some(victim_ids), "voucher_refused"),
        ("the victim's script, as another", ("GET", script.as_str()), Some(other_ids), "not_yours"),
        ("a cancel as another", ("POST", cancel.as_str()), Some(other_ids), "not_yours"),
        ("a job as root", ("POST", submit), Some(root), "voucher_refused"),
        (
            "a token that outlives the job",
            ("POST", "/v1/tokens"),
            Some(other_ids),
            "voucher_refused",
        ),
        ("a join as a controller", ("POST", "/v1/controllers"), None, "not_a_controller"),
    ];
    runtime()?.block_on(async {
        let client = Client::new(endpoint(&cluster, stolen(&cluster, "n1")?)?);
        for (what, on, user, code) in attacks {
            let answer = attack(&client, on, user, request.clone()).await?;
            assert_eq!(answer, (StatusCode::FORBIDDEN, code.to_owned()), "{what}");
        }
        pose_as_others(&cluster).await
    })?;
    assert_eq!(kantctl.job(&job)?.phase, Phase::Running);
    let refused = lines(&cluster)?;
    for (verb, code) in [
        ("backup", "voucher_refused"),
        ("enrolments/invite", "voucher_refused"),
        ("nodes/drain", "voucher_refused"),
        ("jobs/submit", "voucher_refused"),
        ("jobs/cancel", "not_yours"),
        ("jobs/script", "voucher_refused"),
        ("jobs/script", "not_yours"),
        ("tokens/create", "voucher_refused"),
        ("controllers/join", "not_a_controller"),
    ] {
        let is_it = |line: &&Value| {
            line["verb"] == verb && line["code"] == code && line["via"] == "node n1"
        };
        assert!(refused.iter().any(|line| is_it(&line)), "{verb}: {refused:?}");
    }
    Ok(())
}

/// Attacks by the certificate: as another node, as a controller, and from a cluster of one's own.
async fn pose_as_others(cluster: &Cluster) -> anyhow::Result<()> {
    let identity = stolen(cluster, "n1")?;
    // The name of another node in the Hello.
    let endpoint_n1 = endpoint(cluster, identity.clone())?;
    let channel: Channel<FromNode, ToNode> =
        connect_channel(&endpoint_n1, NODE_PATH, Keepalive::default()).await?;
    let hello = testkit::hello("n2", Vec::new());
    channel.send(&FromNode::Hello(Box::new(hello))).await?;
    let (_down, mut up) = channel.split();
    let answer = up.recv().await.context("it hung up")??;
    ensure!(matches!(answer, ToNode::Refused { .. }), "{answer:?}");
    // A controller's messages.
    let hello = common::wire::peer::ToPeer::Hello(Box::new(common::wire::peer::PeerHello {
        protocol: common::wire::peer::PEER_PROTOCOL,
        oldest_protocol: None,
        release: "0".to_owned(),
        cluster: ClusterId(1),
        from: ControllerId(2),
        to: ControllerId(1),
        address: String::new(),
        now: Time(0),
        snapshot: None,
    }));
    let peer = connect_channel::<_, common::wire::peer::FromPeer>(
        &endpoint_n1,
        PEER_PATH,
        Keepalive::default(),
    )
    .await;
    if let Ok(peer) = peer {
        ensure!(peer.send(&hello).await.is_err(), "a node spoke as a controller");
    }
    // A renewed certificate is for the same node.
    let key = NewKey::generate()?;
    let client = Client::new(endpoint_n1);
    let renewed: IssuedCertificate =
        client.post("/v1/enrolments/renew", &RenewRequest { key: key.public_hex() }).await?;
    ensure!(renewed.name == NodeName::new("n1")?, "{renewed:?}");
    // A made-up node of an authority of one's own.
    let own = ClusterKey::generate()?;
    let made_up = endpoint(cluster, Identity::emulated_node(&own, "n9")?)?;
    let answer: Result<Value, ClientError> = Client::new(made_up).get("/v1/status").await;
    ensure!(answer.is_err(), "{answer:?}");
    Ok(())
}

#[test]
fn a_channel_that_was_opened_before_the_revocation_gets_no_session_after_it() -> anyhow::Result<()>
{
    let cluster = Cluster::start(options())?;
    let identity = stolen(&cluster, "n1")?;
    runtime()?.block_on(async {
        let endpoint = endpoint(&cluster, identity)?;
        let channel: Channel<FromNode, ToNode> =
            connect_channel(&endpoint, NODE_PATH, Keepalive::default()).await?;
        cluster.kantctl(Person::me())?.ok(&["admin", "node", "revoke", "n1"])?;
        let hello = testkit::hello("n1", Vec::new());
        // The controller may have closed the connection already.
        let _ = channel.send(&FromNode::Hello(Box::new(hello))).await;
        let (_down, mut up) = channel.split();
        match up.recv().await {
            Some(Ok(ToNode::Refused { .. })) | Some(Err(_)) | None => Ok(()),
            Some(Ok(message)) => anyhow::bail!("a session after the revocation: {message:?}"),
        }
    })
}

/// Attempts of each kind; all together are fewer than the refusals that are audited in a minute.
const ATTEMPTS: u64 = 10;

#[test]
fn a_stranger_without_an_invitation_writes_nothing_to_the_log_and_is_audited() -> anyhow::Result<()>
{
    let cluster = Cluster::start(ClusterOptions::default())?;
    let operator = cluster.kantctl(Person::me())?;
    let index = || -> anyhow::Result<u64> {
        let status: common::wire::api::Status = operator.json(&["status"])?;
        Ok(status.applied)
    };
    let key = ClusterKeys::load(&cluster.dir().join("cluster.key"))?.issuing;
    let invitation = Invitation::new(Authority::new(&key)?.fingerprint())?;
    let before = index()?;
    runtime()?.block_on(async {
        let client = Client::new(endpoint(&cluster, Identity::for_invited_host(&invitation)?)?);
        let enrol = json!({ "secret": invitation.secret, "name": "n7", "key": "07".repeat(32) });
        let join = json!({
            "protocol": common::wire::peer::PEER_PROTOCOL, "release": "0", "name": "x",
            "address": "127.0.0.1:1", "learner": true, "invitation": invitation.secret, "now": 0,
        });
        for (on, body, status) in [
            (("POST", "/v1/enrolments/join"), &enrol, StatusCode::FORBIDDEN),
            (("POST", "/v1/controllers"), &join, StatusCode::FORBIDDEN),
            (("GET", "/v1/status"), &enrol, StatusCode::UNAUTHORIZED),
            (("POST", "/v1/jobs"), &enrol, StatusCode::UNAUTHORIZED),
        ] {
            for _ in 0..ATTEMPTS {
                let (answered, code) = attack(&client, on, None, body.clone()).await?;
                assert_eq!(answered, status, "{on:?}: {code}");
            }
        }
        anyhow::Ok(())
    })?;
    // The controller itself may write an entry meanwhile.
    assert!(index()? < before + ATTEMPTS, "each attempt was an entry of the log");
    let is_it = |line: &&Value| line["via"] == "stranger 127.0.0.1" && line["result"] == "refused";
    wait_for("the lines", || {
        let found = lines(&cluster)?.iter().filter(is_it).count() as u64;
        Ok((found == 4 * ATTEMPTS).then_some(()))
    })
}

#[test]
fn no_file_of_a_node_has_the_cluster_key() -> anyhow::Result<()> {
    let cluster = Cluster::start(options())?;
    let key = ClusterKeys::load(&cluster.dir().join("cluster.key"))?.issuing.secret();
    fn search(dir: &Path, key: &str) -> anyhow::Result<u32> {
        let mut files = 0;
        for entry in std::fs::read_dir(dir)? {
            let path = entry?.path();
            if path.is_dir() {
                files += search(&path, key)?;
            } else if path.is_file() {
                let bytes = std::fs::read(&path)?;
                let text = String::from_utf8_lossy(&bytes);
                ensure!(!text.contains(key), "{} has the key", path.display());
                files += 1;
            }
        }
        Ok(files)
    }
    assert!(search(&cluster.dir().join("spool-n1"), &key)? > 0);
    Ok(())
}

#[test]
fn a_revoked_node_loses_its_sessions_and_the_others_keep_theirs() -> anyhow::Result<()> {
    let mut cluster = Cluster::start(options())?;
    let operator = cluster.kantctl(Person::me())?;
    let contact = |name: &str| -> anyhow::Result<Option<Contact>> {
        let nodes = operator.nodes()?.nodes;
        Ok(nodes.into_iter().find(|node| node.name.as_str() == name).map(|node| node.contact))
    };
    let identity = stolen(&cluster, "n1")?;
    runtime()?.block_on(async {
        let client = Client::new(endpoint(&cluster, identity)?);
        let renew = async |client: &Client| -> Result<IssuedCertificate, ClientError> {
            // Any 32 bytes are a public key.
            let request = RenewRequest { key: "07".repeat(32) };
            client.post("/v1/enrolments/renew", &request).await
        };
        renew(&client).await?;
        operator.ok(&["admin", "node", "revoke", "n1"])?;
        // The open connection ends, and a new one is refused.
        let answer = renew(&client).await;
        ensure!(matches!(answer, Err(ClientError::Interrupted { .. })), "{answer:?}");
        let answer = renew(&client).await;
        let Err(ClientError::Refused { error, .. }) = answer else {
            anyhow::bail!("not refused: {answer:?}");
        };
        assert_eq!(error.code, "certificate_revoked");
        assert!(error.hint.unwrap_or_default().contains("kantctl admin node invite n1"));
        Ok(())
    })?;
    wait_for("n1 to be silent", || Ok((contact("n1")? != Some(Contact::Connected)).then_some(())))?;
    assert_eq!(contact("n2")?, Some(Contact::Connected));
    let log = cluster.controller_log();
    assert!(log.contains("its certificate is no longer valid"), "{log}");

    // The right machine comes back by a new invitation, and the old files stay worthless.
    let old = stolen(&cluster, "n1")?;
    cluster.kill_node("n1")?;
    cluster.enrol("n1")?;
    cluster.start_node("n1")?;
    cluster.wait_for_nodes()?;
    runtime()?.block_on(async {
        let client = Client::new(endpoint(&cluster, old)?);
        let key = NewKey::generate()?;
        let answer: Result<IssuedCertificate, _> =
            client.post("/v1/enrolments/renew", &RenewRequest { key: key.public_hex() }).await;
        assert!(matches!(answer, Err(ClientError::Refused { .. })), "{answer:?}");
        anyhow::Ok(())
    })?;
    let listed = operator.ok(&["admin", "node", "list"])?;
    assert!(listed.contains("n1") && listed.contains("n2"), "{listed}");
    Ok(())
}
