//! The cluster key is replaced while the cluster works: nothing restarts, no submission fails, and
//! the old key is of no use afterwards.

use anyhow::Context as _;
use common::id::JobId;
use common::job::Phase;
use common::wire::api::{ClusterKeyView, KeyGeneration, KeyOffer, RotationStep, Secret};
use common::wire::peer::PEER_PATH;
use e2e::{Controllers, Kantctl, LONG, under_load, wait_for};
use net::{
    Channel, Client, ClientError, ClusterKeys, Credentials, Endpoint, Identity, Keepalive,
    connect_channel,
};
use std::path::Path;

const OFFER_PATH: &str = "/v1/cluster-key/offer";
const STATUS: [&str; 3] = ["admin", "key", "status"];

fn keys(controllers: &Controllers, name: &str) -> anyhow::Result<ClusterKeys> {
    Ok(ClusterKeys::load(Path::new(&controllers.config(name)?.cluster_key))?)
}

fn status(kantctl: &Kantctl) -> anyhow::Result<ClusterKeyView> {
    kantctl.json(&STATUS)
}

/// Waits until the last step is followed by all hosts.
fn completed(kantctl: &Kantctl) -> anyhow::Result<ClusterKeyView> {
    wait_for("the replacement to be complete", || {
        let Ok(view) = status(kantctl) else { return Ok(None) };
        let is_over = view.rotation.is_none() && view.nodes_behind.is_empty();
        Ok((is_over && view.controllers_behind.is_empty()).then_some(view))
    })
}

/// Whether a controller speaks with a host of this identity.
fn is_accepted(controllers: &Controllers, name: &str, identity: Identity) -> anyhow::Result<bool> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let client = Client::new(Endpoint::Tls { addr: controllers.address(name), identity });
    Ok(runtime.block_on(client.get::<serde_json::Value>("/v1/controllers?here=true")).is_ok())
}

#[test]
fn a_new_key_under_load_fails_no_submission_and_disturbs_no_job() -> anyhow::Result<()> {
    let mut controllers = Controllers::three()?;
    let nodes = ["n1", "n2"];
    nodes.iter().try_for_each(|node| controllers.start_node(node))?;
    controllers.wait_for_nodes("a")?;
    let old = keys(&controllers, "a")?;
    let old_node = Credentials::load(&controllers.dir().join("spool-n1"))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // A thief opens a channel and a connection before, and keeps them open.
    let thief = Endpoint::Tls {
        addr: controllers.address("a"),
        identity: Identity::controller(&old.issuing)?,
    };
    let mut channel: Channel<(), ()> =
        runtime.block_on(connect_channel(&thief, PEER_PATH, Keepalive::default()))?;
    let client = Client::new(thief);
    let (long, record) = under_load(&mut controllers, &nodes, |controllers, load| {
        let (leader, _) = controllers.leader()?;
        let kantctl = controllers.kantctl(&leader)?;
        let long = kantctl.submit(&["-o", "/dev/null"], LONG)?;
        load.note(JobId(long.parse()?));
        kantctl.until(&long, Phase::Running)?;
        load.wait_for_more(20)?;
        let begun = kantctl.ok(&["admin", "key", "rotate"])?;
        anyhow::ensure!(begun.contains("no replacement is in progress"), "{begun}");
        load.wait_for_more(20)?;
        Ok(long)
    })?;
    assert_eq!(record.failed, Vec::<String>::new());
    let (leader, _) = controllers.leader()?;
    let kantctl = controllers.kantctl(&leader)?;
    let view = completed(&kantctl)?;
    assert_eq!(view.generation, 3);
    let new = keys(&controllers, "a")?;
    assert!(new.issuing != old.issuing && new.other.is_none(), "{new:?}");
    for name in ["b", "c"] {
        assert_eq!(keys(&controllers, name)?, new, "all controllers have the same");
    }
    assert_eq!(kantctl.job(&long)?.attempt, 1);
    std::fs::write(controllers.dir().join("stop"), "")?;
    kantctl.completed(&long)?;
    record.judge(&controllers, &leader)?;

    let ended = async { while channel.recv().await.is_some_and(|message| message.is_ok()) {} };
    runtime.block_on(async { tokio::time::timeout(e2e::DEADLINE, ended).await })?;
    let offer = KeyOffer { key: Secret(old.issuing.secret()) };
    let offered = client.post::<_, KeyGeneration>(OFFER_PATH, &offer);
    assert!(runtime.block_on(offered).is_err_and(|error| error.is_unreachable()));
    // Nor does a controller take a key that the log does not name.
    let identity = Identity::controller(&new.issuing)?;
    let controller = Client::new(Endpoint::Tls { addr: controllers.address("a"), identity });
    match runtime.block_on(controller.post::<_, KeyGeneration>(OFFER_PATH, &offer)) {
        Err(ClientError::Refused { error, .. }) => assert_eq!(error.code, "key_not_expected"),
        other => anyhow::bail!("{other:?}"),
    }
    assert_eq!(keys(&controllers, "a")?, new);

    // A thief of the old key could be a controller, or the node with its old certificate.
    for name in ["a", "b", "c"] {
        assert!(!is_accepted(&controllers, name, Identity::controller(&old.issuing)?)?, "{name}");
        assert!(!is_accepted(&controllers, name, Identity::node(&old_node)?)?, "{name}");
        assert!(is_accepted(&controllers, name, Identity::controller(&new.issuing)?)?, "{name}");
    }
    Ok(())
}

#[test]
fn a_replacement_survives_the_death_of_its_leader() -> anyhow::Result<()> {
    // Frequent snapshots: the dead controller gets the step by one.
    let mut controllers = Controllers::three_with(|config| config.snapshot_every_entries = 20)?;
    controllers.start_node("n1")?;
    controllers.wait_for_nodes("a")?;
    let (leader, _) = controllers.leader()?;
    let follower = ["a", "b", "c"].into_iter().find(|name| *name != leader).context("no other")?;
    controllers.stop(follower)?;
    let kantctl = controllers.kantctl(&leader)?;
    let job = kantctl.submit(&["-o", "/dev/null"], "#!/bin/sh\ntrue\n")?;
    kantctl.completed(&job)?;
    kantctl.refused(&["admin", "key", "rotate"], "could not get a new cluster key")?;
    controllers.start(follower)?;
    controllers.leader()?;
    kantctl.ok(&["admin", "key", "rotate", "--no-wait"])?;
    controllers.kill(&leader)?;
    let (next, _) = controllers.leader()?;
    let kantctl = controllers.kantctl(&next)?;
    wait_for("the dead controller to be waited for", || {
        Ok(status(&kantctl).ok().filter(|view| !view.controllers_behind.is_empty()))
    })?;
    for _ in 0..60 {
        kantctl.ok(&["submit", "--hold", "script.sh"])?;
    }
    controllers.start(&leader)?;
    assert_eq!(completed(&kantctl)?.generation, 3);
    let new = keys(&controllers, &next)?;
    assert_eq!(keys(&controllers, &leader)?, new);
    // Everything starts with the new key.
    for name in ["a", "b", "c"] {
        controllers.stop(name)?;
        controllers.start(name)?;
    }
    controllers.leader()?;
    controllers.wait_for_nodes("a")?;
    let job = controllers.kantctl("a")?.submit(&["-o", "/dev/null"], "#!/bin/sh\ntrue\n")?;
    controllers.kantctl("a")?.completed(&job)?;
    Ok(())
}

#[test]
fn a_node_that_is_off_is_waited_for_and_can_be_left_behind() -> anyhow::Result<()> {
    let mut controllers = Controllers::one()?;
    ["n1", "n2"].iter().try_for_each(|node| controllers.start_node(node))?;
    controllers.wait_for_nodes("a")?;
    let kantctl = controllers.kantctl("a")?;
    kantctl.refused(&["admin", "key", "advance"], "the cluster key is not being replaced")?;
    controllers.stop_node("n2")?;
    kantctl.ok(&["admin", "key", "rotate", "--no-wait"])?;
    let waits = wait_for("n1 to follow", || {
        let view = status(&kantctl)?;
        Ok((view.nodes_behind.len() == 1).then_some(view))
    })?;
    assert_eq!(waits.nodes_behind[0].as_str(), "n2");
    kantctl.refused(&["admin", "key", "rotate"], "is being replaced already")?;
    let text = kantctl.ok(&STATUS)?;
    assert!(text.contains("step 1 of 3") && text.contains("node n2"), "{text}");

    kantctl.ok(&["admin", "key", "cancel"])?;
    let view = status(&kantctl)?;
    assert!(view.rotation.is_none() && view.generation == 2, "{view:?}");
    kantctl.refused(&["admin", "key", "cancel"], "the cluster key is not being replaced")?;

    kantctl.ok(&["admin", "key", "rotate", "--no-wait"])?;
    for step in [Some(RotationStep::Trust), Some(RotationStep::Issue), None] {
        wait_for("n1 to follow", || {
            let view = status(&kantctl)?;
            assert_eq!(view.rotation.as_ref().map(|rotation| rotation.step), step);
            Ok((view.nodes_behind.len() == 1).then_some(()))
        })?;
        if step.is_some() {
            kantctl.ok(&["admin", "key", "advance"])?;
        }
    }
    // The node that was left behind has a certificate of an authority that is gone: it joins again.
    let spool = controllers.dir().join("spool-n2");
    let left = Credentials::load(&spool)?;
    assert!(!is_accepted(&controllers, "a", Identity::node(&left)?)?);
    std::fs::remove_file(Credentials::file_path(&spool))?;
    controllers.start_node("n2")?;
    assert_eq!(completed(&kantctl)?.generation, 5);
    Ok(())
}
