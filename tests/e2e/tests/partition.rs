//! Network partitions under a steady load, in network namespaces: an isolated controller
//! acknowledges nothing, and the others continue. Times are not checked. Needs root.

use common::job::Phase;
use common::node::Contact;
use e2e::{Controllers, Load, Network, probe, say, under_load, wait_for};
use std::time::Instant;

#[test]
fn an_isolated_leader_acknowledges_nothing_and_the_others_continue() -> anyhow::Result<()> {
    let Some(network) = Network::new(&["a", "b", "c", "n1", "n2"])? else { return Ok(()) };
    let mut controllers = Controllers::three_on(network)?;
    let nodes = ["n1", "n2"];
    nodes.iter().try_for_each(|node| controllers.start_node(node))?;
    controllers.wait_for_nodes("a")?;
    let ((), record) = under_load(&mut controllers, &nodes, |controllers, load| {
        (0..3).try_for_each(|round| {
            let name = format!("cut-{round}");
            leader_falls_away(controllers, load, &name, Network::cut_off, Network::heal)
        })
    })?;
    let jobs = record.judge(&controllers, "a")?;
    say(&format!("3 leaders cut off: {jobs} jobs, 0 lost, 0 doubled"));
    node_that_is_cut_off(&mut controllers)
}

/// Injects a fault on the leader's host and checks that another controller leads and the old leader
/// acknowledges nothing; after the repair the old leader follows and has the new entries.
fn leader_falls_away(
    controllers: &mut Controllers,
    load: &Load,
    name: &str,
    befall: fn(&Network, &str) -> anyhow::Result<()>,
    mend: fn(&Network, &str) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let (old, id) = controllers.leader()?;
    load.wait_for_more(3)?;
    let asked = if old == "a" { "b" } else { "a" };
    befall(controllers.network()?, &old)?;
    controllers.wait_for_another_leader(asked, &old)?;
    // A client of the isolated leader gets an error.
    let by_old = controllers.kantctl(&old)?;
    let answer = by_old.run(&["--retry", "0s", "submit", "--hold", "--wrap", "true"])?;
    assert_ne!(answer.code, 0, "acknowledged without a majority: {}", answer.stdout);
    let elected = Instant::now();
    let submitted = probe(controllers, name)?.submit()?;
    load.note(submitted);
    // The nodes' connections to the old leader are still open.
    controllers.kantctl(asked)?.finished(&submitted.to_string())?;
    let ran_ms = elected.elapsed().as_millis();
    say(&format!("a job has run {ran_ms} ms after the election"));
    // The connection to a host that is cut off ends after 20 s.
    assert!(ran_ms < 15_000, "the nodes did not look for the new leader: {ran_ms} ms");
    load.wait_for_more(3)?;
    mend(controllers.network()?, &old)?;
    wait_for("the old leader to follow", || {
        Ok(controllers.list(&old)?.leader.filter(|leader| *leader != id))
    })?;
    assert_eq!(by_old.job(&submitted.to_string())?.key.job, submitted);
    Ok(())
}

/// The job on an isolated node ends, and its end is reported when the node is back.
fn node_that_is_cut_off(controllers: &mut Controllers) -> anyhow::Result<()> {
    let kantctl = controllers.kantctl("a")?;
    let script = "#!/bin/sh\nwhile [ ! -e stop ]; do sleep 0.1; done\necho ended > ended\n";
    let id = kantctl.submit(&["-w", "n2", "-o", "/dev/null"], script)?;
    kantctl.until(&id, Phase::Running)?;
    controllers.network()?.cut_off("n2")?;
    wait_for("the node to be silent", || {
        let list = kantctl.nodes()?;
        let silent = |contact| matches!(contact, Contact::Silent { .. });
        Ok(list.nodes.iter().any(|node| silent(node.contact)).then_some(()))
    })?;
    std::fs::write(controllers.dir().join("stop"), "")?;
    wait_for("the job's end", || Ok(controllers.dir().join("ended").exists().then_some(())))?;
    controllers.network()?.heal("n2")?;
    let job = kantctl.finished(&id)?;
    assert_eq!((job.outcome, job.attempt), (Some(common::job::Outcome::Completed), 1));
    Ok(())
}

#[test]
fn a_leader_that_can_only_receive_steps_down_and_acknowledges_nothing() -> anyhow::Result<()> {
    let Some(network) = Network::new(&["a", "b", "c", "n1"])? else { return Ok(()) };
    let mut controllers = Controllers::three_on(network)?;
    controllers.start_node("n1")?;
    controllers.wait_for_nodes("a")?;
    let ((), record) = under_load(&mut controllers, &["n1"], |controllers, load| {
        (0..2).try_for_each(|round| {
            let name = format!("one-way-{round}");
            leader_falls_away(controllers, load, &name, Network::silence, Network::unsilence)
        })
    })?;
    let jobs = record.judge(&controllers, "a")?;
    say(&format!("2 leaders not heard: {jobs} jobs, 0 lost, 0 doubled"));
    Ok(())
}
