//! What a job used is in its record, with what its GPUs did, also where kantd was started again in
//! the middle of it. Never how it is added up: the unit tests of kantd have that.

use common::job::Phase;
use common::unit::Bytes;
use e2e::{Cluster, ClusterOptions, Machine, Person, wait_for};

/// Changes what every GPU of the stand-in shows.
fn show(cluster: &Cluster, percent: i64, mib: i64, joules: i64) -> anyhow::Result<()> {
    let file = cluster.dir().join("machine-g1.toml");
    let mut machine: toml::Table = toml::from_str(&std::fs::read_to_string(&file)?)?;
    let every = machine["every_gpu"].as_table_mut().expect("a table");
    let busy = format!("utilization_percent = {{ gpu = {percent}, memory = 1 }}").parse()?;
    every.extend::<toml::Table>(busy);
    every.insert("energy_joules".into(), joules.into());
    let process = format!("processes = [{{ pid = 1, memory_mib = {mib}, name = \"train\" }}]");
    for gpu in machine["gpu"].as_array_mut().expect("a list") {
        gpu.as_table_mut().expect("a table").extend::<toml::Table>(process.parse()?);
    }
    let new = file.with_extension("new");
    std::fs::write(&new, machine.to_string())?;
    std::fs::rename(&new, &file)?;
    Ok(())
}

#[test]
fn a_job_record_tells_what_its_gpus_did_also_over_a_crash_of_kantd() -> anyhow::Result<()> {
    let nodes = vec![("g1", Machine::with_gpus("pcie-2"))];
    let mut cluster = Cluster::start(ClusterOptions { nodes, ..ClusterOptions::default() })?;
    let kantctl = cluster.kantctl(Person::plain())?;
    show(&cluster, 80, 1000, 2_000_000)?;
    let script = "#!/bin/sh\nuntil [ -e over ]; do sleep 0.05; done\n";
    let id = kantctl.submit(&["--gpus=1", "--mem=16M"], script)?;
    wait_for("it to run", || Ok((kantctl.job(&id)?.phase == Phase::Running).then_some(())))?;
    let tally = cluster.dir().join(format!("spool-g1/steps/{id}.1/gpus"));
    let kept = |what: &str| std::fs::read_to_string(&tally).is_ok_and(|text| text.contains(what));
    wait_for("a first look", || Ok(kept("\"samples\"").then_some(())))?;
    cluster.kill_node("g1")?;
    show(&cluster, 80, 3000, 2_000_500)?;
    cluster.start_node("g1")?;
    wait_for("a look by the next", || Ok(kept("2000500000").then_some(())))?;
    std::fs::write(kantctl.dir().join("over"), "")?;
    let job = kantctl.finished(&id)?;
    let gpus = job.usage.and_then(|usage| usage.gpu).expect("its GPUs were looked at");
    assert!(gpus.samples >= 2, "{gpus:?}");
    assert_eq!((gpus.busy_percent(), gpus.energy_joules), (Some(80), 500));
    // What the driver keeps for itself counts, as nvidia-smi counts it.
    assert!(gpus.memory_peak >= Bytes::from_mib(3000), "{gpus:?}");
    let shown = kantctl.ok(&["show", &id])?;
    assert!(shown.contains("80 % busy on average") && shown.contains(", 500 J"), "{shown}");
    Ok(())
}
