//! What a job used is in its record, with what its GPUs did, also where kantd was started again in
//! the middle of it. Never how it is added up: the unit tests of kantd have that.

use common::config::{ControllerConfig, QueueTable};
use common::id::{GpuIndex, QueueName};
use common::job::{Outcome, Phase};
use common::unit::Bytes;
use e2e::{Cluster, ClusterOptions, Machine, Person, wait_for};

/// Changes what every GPU of the stand-in shows.
fn show(cluster: &Cluster, percent: i64, mib: i64, joules: i64) -> anyhow::Result<()> {
    show_of(cluster, 1, percent, mib, joules)
}

/// The same, with its memory in the hands of this process.
fn show_of(cluster: &Cluster, pid: u32, percent: i64, mib: i64, joules: i64) -> anyhow::Result<()> {
    let file = cluster.dir().join("machine-g1.toml");
    let mut machine: toml::Table = toml::from_str(&std::fs::read_to_string(&file)?)?;
    let every = machine["every_gpu"].as_table_mut().expect("a table");
    let busy = format!("utilization_percent = {{ gpu = {percent}, memory = 1 }}").parse()?;
    every.extend::<toml::Table>(busy);
    every.insert("energy_joules".into(), joules.into());
    let process = format!("processes = [{{ pid = {pid}, memory_mib = {mib}, name = \"train\" }}]");
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

#[test]
fn who_has_more_of_a_shared_gpus_memory_than_its_share_is_ended_and_told() -> anyhow::Result<()> {
    let nodes = vec![("g1", Machine::with_gpus("pcie-2"))];
    let sharing = |config: &mut ControllerConfig| {
        let name = QueueName::new("shared").ok();
        let share_gpus = true;
        config.queue = vec![QueueTable { name, share_gpus, ..QueueTable::default() }];
    };
    let controller = Some(sharing as fn(&mut ControllerConfig));
    let cluster =
        Cluster::start(ClusterOptions { nodes, controller, ..ClusterOptions::default() })?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let submit = |name: &str, gpus: &str| {
        let loops = "until [ -e over ]; do sleep 0.05; done";
        let script = format!("#!/bin/sh\necho $$ >{name}.new\nmv {name}.new {name}\n{loops}\n");
        kantctl.submit(&[gpus, "--mem=16M"], &script)
    };
    let greedy = submit("greedy", "--gpus=0.5")?;
    let modest = submit("modest", "--gpus=20G")?;
    let file = kantctl.dir().join("greedy");
    let pid: u32 =
        wait_for("its pid", || Ok(std::fs::read_to_string(&file).ok()))?.trim().parse()?;
    let job = |id: &str| kantctl.job(id);
    let gpu_of = |id: &str| -> anyhow::Result<_> {
        Ok(job(id)?.allocation.expect("it runs").shares()[0].gpus.clone())
    };
    wait_for("both to run", || Ok((job(&modest)?.phase == Phase::Running).then_some(())))?;
    assert_eq!(gpu_of(&greedy)?, gpu_of(&modest)?, "they share one");
    // Half of this machine's GPUs: 23034 MiB.
    show_of(&cluster, pid, 10, 23_034, 0)?;
    let tally = cluster.dir().join(format!("spool-g1/steps/{greedy}.1/gpus"));
    let peak = Bytes::from_mib(23_034).0.to_string();
    let seen = || std::fs::read_to_string(&tally).is_ok_and(|text| text.contains(&peak));
    wait_for("a look at it", || Ok(seen().then_some(())))?;
    assert_eq!(job(&greedy)?.phase, Phase::Running, "its share is its own");
    show_of(&cluster, pid, 10, 23_035, 0)?;
    let ended = kantctl.finished(&greedy)?;
    assert_eq!(ended.outcome, Some(Outcome::OutOfMemory), "{ended:?}");
    let shown = kantctl.ok(&["explain", &greedy])?;
    assert!(shown.contains("ask for a larger share with --gpus"), "{shown}");
    assert!(!shown.contains("--mem"), "{shown}");
    // Now that there is a CPU for it: twice 2048 of 46068 MiB, and beside it 20480.
    let wide = submit("wide", "--gpus=2x2G")?;
    wait_for("parts of both GPUs", || Ok((job(&wide)?.phase == Phase::Running).then_some(())))?;
    assert_eq!(gpu_of(&wide)?, [GpuIndex(0), GpuIndex(1)]);
    for (id, said) in [
        (&modest, ["20G of the memory of one GPU", "0.445 of GPU 0"]),
        (&wide, ["2G of the memory of each of 2 GPUs", "0.045 of each of GPUs 0,1"]),
    ] {
        let shown = kantctl.ok(&["show", id])?;
        assert!(said.iter().all(|said| shown.contains(said)), "{shown}");
    }
    std::fs::write(kantctl.dir().join("over"), "")?;
    assert_eq!(kantctl.finished(&modest)?.outcome, Some(Outcome::Completed));
    assert_eq!(kantctl.finished(&wide)?.outcome, Some(Outcome::Completed));
    Ok(())
}
