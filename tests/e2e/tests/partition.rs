//! Hosts are cut off from each other, in network namespaces, under a steady load: what is cut off
//! acknowledges nothing, and the rest goes on. Never judges a time. Needs root.

use common::node::Contact;
use e2e::{Controllers, Load, Network, probe, under_load, wait_for};
use std::io::Write as _;

/// Past the capture of tests' output, for who reads what CI printed.
fn say(text: &str) {
    // Whoever closed it does not want to know.
    let _ = writeln!(std::io::stderr(), "{text}");
}

#[test]
fn a_leader_that_is_cut_off_acknowledges_nothing_and_the_others_go_on() -> anyhow::Result<()> {
    let Some(network) = Network::new(&["a", "b", "c", "n1", "n2"])? else {
        say("skipped: only root can make network namespaces, with `ip` of iproute2");
        return Ok(());
    };
    let mut house = Controllers::three_on(network)?;
    let nodes = ["n1", "n2"];
    nodes.iter().try_for_each(|node| house.start_node(node))?;
    house.wait_for_nodes("a")?;
    let ((), record) = under_load(&mut house, &nodes, |house, load| {
        (0..3).try_for_each(|round| {
            let name = format!("cut-{round}");
            leader_falls_away(house, load, &name, Network::cut_off, Network::heal)
        })
    })?;
    let jobs = record.judge(&house, "a")?;
    say(&format!("3 leaders cut off: {jobs} jobs, 0 lost, 0 doubled"));
    node_that_is_cut_off(&mut house)
}

/// Does something to the leader's host, sees another lead and the old one acknowledge nothing, and
/// undoes it: then the old one follows and knows what was acknowledged without it.
fn leader_falls_away(
    house: &mut Controllers,
    load: &Load,
    name: &str,
    befall: fn(&Network, &str) -> anyhow::Result<()>,
    mend: fn(&Network, &str) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let (old, id) = house.leader()?;
    load.wait_for_more(3)?;
    let asked = if old == "a" { "b" } else { "a" };
    befall(house.network()?, &old)?;
    house.wait_for_another_leader(asked, &old)?;
    // Who sits at that one is told so, and nothing is promised.
    let by_old = house.kantctl(&old)?;
    let answer = by_old.run(&["--retry", "0s", "submit", "--hold", "--wrap", "true"])?;
    assert_ne!(answer.code, 0, "acknowledged without a majority: {}", answer.stdout);
    let told = probe(house, name)?.submit()?;
    load.note(told);
    load.wait_for_more(3)?;
    mend(house.network()?, &old)?;
    wait_for("the old leader to follow", || {
        Ok(house.list(&old)?.leader.filter(|leader| *leader != id))
    })?;
    assert_eq!(by_old.job(&told.to_string())?.key.job, told);
    Ok(())
}

/// Its job ends meanwhile, and is reported when it is back.
fn node_that_is_cut_off(house: &mut Controllers) -> anyhow::Result<()> {
    let kantctl = house.kantctl("a")?;
    let script = "#!/bin/sh\nwhile [ ! -e stop ]; do sleep 0.1; done\necho ended > ended\n";
    let id = kantctl.submit(&["-w", "n2", "-o", "/dev/null"], script)?;
    wait_for("the job to run", || Ok(kantctl.job(&id)?.started_at.map(|_| ())))?;
    house.network()?.cut_off("n2")?;
    wait_for("silence of the node", || {
        let list = kantctl.nodes()?;
        let silent = |contact| matches!(contact, Contact::Silent { .. });
        Ok(list.nodes.iter().any(|node| silent(node.contact)).then_some(()))
    })?;
    std::fs::write(house.dir().join("stop"), "")?;
    wait_for("the job's end", || Ok(house.dir().join("ended").exists().then_some(())))?;
    house.network()?.heal("n2")?;
    let job = kantctl.finished(&id)?;
    assert_eq!((job.outcome, job.attempt), (Some(common::job::Outcome::Completed), 1));
    Ok(())
}

#[test]
fn a_leader_that_hears_and_is_not_heard_gives_way_and_acknowledges_nothing() -> anyhow::Result<()> {
    let Some(network) = Network::new(&["a", "b", "c", "n1"])? else {
        say("skipped: only root can make network namespaces, with `ip` of iproute2");
        return Ok(());
    };
    let mut house = Controllers::three_on(network)?;
    house.start_node("n1")?;
    house.wait_for_nodes("a")?;
    let ((), record) = under_load(&mut house, &["n1"], |house, load| {
        (0..2).try_for_each(|round| {
            let name = format!("one-way-{round}");
            leader_falls_away(house, load, &name, Network::silence, Network::unsilence)
        })
    })?;
    let jobs = record.judge(&house, "a")?;
    say(&format!("2 leaders not heard: {jobs} jobs, 0 lost, 0 doubled"));
    Ok(())
}
