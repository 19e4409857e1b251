//! The resource usage in a job's record, including its GPUs, also after a restart of kantd during
//! the job; and the list of jobs that do not use their GPUs.

use common::config::{ControllerConfig, QueueTable};
use common::id::{GpuIndex, QueueName};
use common::job::{Outcome, Phase};
use common::unit::{Bytes, Gpus};
use common::wire::api::IdleGpuList;
use e2e::{Cluster, ClusterOptions, Machine, Person, wait_for};

/// Changes the readings of every simulated GPU.
fn show(cluster: &Cluster, percent: i64, mib: i64, joules: i64) -> anyhow::Result<()> {
    show_of(cluster, 1, percent, mib, joules)
}

/// Changes the readings of every simulated GPU, whose memory this process uses.
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
fn a_jobs_record_has_the_usage_of_its_gpus_also_after_a_crash_of_kantd() -> anyhow::Result<()> {
    let mut cluster = Cluster::start(ClusterOptions::gpu_nodes(&["g1"], "pcie-2"))?;
    let kantctl = cluster.kantctl(Person::plain())?;
    show(&cluster, 80, 1000, 2_000_000)?;
    let script = "#!/bin/sh\nuntil [ -e over ]; do sleep 0.05; done\n";
    let id = kantctl.submit(&["--gpus=1", "--mem=16M"], script)?;
    kantctl.until(&id, Phase::Running)?;
    let tally = cluster.dir().join(format!("spool-g1/steps/{id}.1/gpus"));
    let kept = |what: &str| std::fs::read_to_string(&tally).is_ok_and(|text| text.contains(what));
    wait_for("a first look", || Ok(kept("\"samples\"").then_some(())))?;
    cluster.kill_node("g1")?;
    show(&cluster, 80, 3000, 2_000_500)?;
    cluster.start_node("g1")?;
    wait_for("a sample by the restarted kantd", || Ok(kept("2000500000").then_some(())))?;
    kantctl.touch("over")?;
    let job = kantctl.finished(&id)?;
    let gpus = job.usage.and_then(|usage| usage.gpu).expect("its GPUs were sampled");
    assert!(gpus.samples >= 2, "{gpus:?}");
    assert_eq!((gpus.busy_percent(), gpus.energy_joules), (Some(80), 500));
    // Memory of the driver counts, as in nvidia-smi.
    assert!(gpus.memory_peak >= Bytes::from_mib(3000), "{gpus:?}");
    let shown = kantctl.ok(&["show", &id])?;
    assert!(shown.contains("80 % busy on average") && shown.contains(", 500 J"), "{shown}");
    Ok(())
}

#[test]
fn a_job_that_does_not_use_its_gpus_is_listed_until_it_does() -> anyhow::Result<()> {
    let mut cluster = Cluster::start(ClusterOptions::gpu_nodes(&["g1"], "pcie-2"))?;
    let kantctl = cluster.kantctl(Person::plain())?;
    show(&cluster, 4, 1000, 0)?;
    let script = "#!/bin/sh\nuntil [ -e over ]; do sleep 0.05; done\n";
    let id = kantctl.submit(&["--gpus=2", "--mem=16M"], script)?;
    let listed = |arguments: &[&str]| -> anyhow::Result<IdleGpuList> {
        let command = [&["--json", "queue", "--idle=1s"], arguments].concat();
        Ok(serde_json::from_str(&kantctl.ok(&command)?)?)
    };
    let wait_until_listed = || wait_for("a job with idle GPUs", || Ok(listed(&[])?.jobs.pop()));
    let one = wait_until_listed()?;
    assert_eq!((one.job.key.to_string(), one.idle_gpus), (id.clone(), Gpus(2)));
    assert_eq!(listed(&["--me"])?.jobs.len(), 1);
    assert_eq!(listed(&["--user=root"])?.jobs.len(), 0);
    assert!(!kantctl.ok(&["queue", "--idle=1h"])?.contains(&id), "not for an hour");
    cluster.kill_controller()?;
    cluster.start_controller()?;
    wait_until_listed()?;
    cluster.kill_node("g1")?;
    show(&cluster, 5, 1000, 0)?;
    cluster.start_node("g1")?;
    wait_for("it to work", || Ok(listed(&[])?.jobs.is_empty().then_some(())))?;
    show(&cluster, 0, 1000, 0)?;
    wait_until_listed()?;
    kantctl.touch("over")?;
    kantctl.completed(&id)?;
    assert_eq!(listed(&[])?.jobs.len(), 0, "it has ended");
    Ok(())
}

#[test]
fn a_job_that_exceeds_its_share_of_a_gpus_memory_is_ended_with_the_reason() -> anyhow::Result<()> {
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
    assert_eq!(gpu_of(&greedy)?, gpu_of(&modest)?, "both jobs share one GPU");
    // Half of this machine's GPUs: 23034 MiB.
    show_of(&cluster, pid, 10, 23_034, 0)?;
    let tally = cluster.dir().join(format!("spool-g1/steps/{greedy}.1/gpus"));
    let peak = Bytes::from_mib(23_034).0.to_string();
    let seen = || std::fs::read_to_string(&tally).is_ok_and(|text| text.contains(&peak));
    wait_for("a sample of the GPU", || Ok(seen().then_some(())))?;
    assert_eq!(job(&greedy)?.phase, Phase::Running, "a job may use its own share");
    show_of(&cluster, pid, 10, 23_035, 0)?;
    let ended = kantctl.finished(&greedy)?;
    assert_eq!(ended.outcome, Some(Outcome::OutOfMemory), "{ended:?}");
    let shown = kantctl.ok(&["explain", &greedy])?;
    assert!(shown.contains("ask for a larger share with --gpus"), "{shown}");
    assert!(!shown.contains("--mem"), "{shown}");
    // Now that a CPU is free: 2048 of 46068 MiB twice, and 20480 in addition.
    let wide = submit("wide", "--gpus=2x2G")?;
    wait_for("parts of both GPUs", || Ok((job(&wide)?.phase == Phase::Running).then_some(())))?;
    assert_eq!(*gpu_of(&wide)?, [GpuIndex(0), GpuIndex(1)]);
    for (id, said) in [
        (&modest, ["20G of the memory of one GPU", "0.445 of GPU 0"]),
        (&wide, ["2G of the memory of each of 2 GPUs", "0.045 of each of GPUs 0,1"]),
    ] {
        let shown = kantctl.ok(&["show", id])?;
        assert!(said.iter().all(|said| shown.contains(said)), "{shown}");
    }
    kantctl.touch("over")?;
    kantctl.completed(&modest)?;
    kantctl.completed(&wide)?;
    Ok(())
}
