//! Steps of a job: their numbers, their resources, ending them from outside, and their tasks on
//! other nodes.

use common::job::Outcome;
use e2e::{Cluster, ClusterOptions, Kantctl, Machine, Person, gone, wait_for};
use std::process::Command;

fn cluster(nodes: Vec<(&'static str, Machine)>) -> anyhow::Result<Cluster> {
    Cluster::start(ClusterOptions { nodes, ..ClusterOptions::default() })
}

fn two_nodes() -> anyhow::Result<Cluster> {
    cluster(vec![("n1", Machine::cpu()), ("n2", Machine::cpu())])
}

/// Submits a script that may call Slurm's commands.
fn with_names(kantctl: &Kantctl, script: &str) -> anyhow::Result<String> {
    let shown = kantctl.slurm_names()?;
    Ok(format!("#!/bin/sh\nPATH={shown}:$PATH\nexport KANT_LEASE_SECONDS=5\n{script}"))
}

#[test]
fn steps_are_numbered_and_parallel_exclusive_steps_have_separate_resources() -> anyhow::Result<()> {
    let cluster = cluster(vec![("n1", Machine::with_gpus("pcie-2"))])?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let script = with_names(
        &kantctl,
        "srun -n1 sh -c 'echo $SLURM_STEP_ID' >first\n\
         one() { srun -n1 --gpus=1 --exclusive sh -c \"\n\
           echo \\$CUDA_VISIBLE_DEVICES \\$SLURM_STEP_ID \\$(grep Cpus_allowed_list /proc/self/status) >part-$1\n\
           while [ ! -e go-$1 ]; do sleep 0.05; done\"; }\n\
         one a & one b & one c & wait\n\
         srun -n2 --gpus=2 --gpu-bind=single:1 sh -c 'echo $CUDA_VISIBLE_DEVICES' | sort -u | wc -l >seen\n",
    )?;
    let id = kantctl.submit(&["-n2", "--gpus=2"], &script)?;
    assert_eq!(kantctl.line("first")?, "0");
    let both = wait_for("two of the three", || {
        let found = ["a", "b", "c"].into_iter().filter(|name| {
            let text = kantctl.read(&format!("part-{name}"));
            text.is_ok_and(|text| text.ends_with('\n'))
        });
        let found: Vec<&str> = found.collect();
        Ok((found.len() == 2).then_some(found))
    })?;
    let words = |name: &str| -> anyhow::Result<Vec<String>> {
        let line = kantctl.line(&format!("part-{name}"))?;
        Ok(line.split_whitespace().map(str::to_owned).collect())
    };
    let (one, other) = (words(both[0])?, words(both[1])?);
    assert!(one[0].starts_with("GPU-") && !one[0].contains(','), "{one:?}");
    assert!(one.iter().zip(&other).all(|(a, b)| a != b || a.contains("list")), "{one:?} {other:?}");
    std::fs::write(kantctl.dir().join(format!("go-{}", both[0])), "")?;
    let last = ["a", "b", "c"].into_iter().find(|name| !both.contains(name)).unwrap_or("c");
    let third = words(last)?;
    assert_eq!((&third[0], third.last()), (&one[0], one.last()), "the resources of the first");
    for name in ["a", "b", "c"] {
        std::fs::write(kantctl.dir().join(format!("go-{name}")), "")?;
    }
    kantctl.completed(&id)?;
    assert_eq!(kantctl.line("seen")?, "2", "each task sees one of the two");
    Ok(())
}

#[test]
fn a_step_can_be_ended_by_its_number_and_the_job_continues() -> anyhow::Result<()> {
    let cluster = two_nodes()?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let script = with_names(
        &kantctl,
        "srun -N2 --ntasks-per-node=1 sh -c 'echo $$ >pid-$SLURM_PROCID; exec sleep 600'\n\
         echo $? >code\n",
    )?;
    let id = kantctl.submit(&["-N2", "--ntasks-per-node=1"], &script)?;
    let pids = [kantctl.line("pid-0")?, kantctl.line("pid-1")?];
    let mut command = Command::new(kantctl.dir().join("names/scancel"));
    command.env_clear().env("KANT_SOCKET", cluster.dir().join("kantctld.sock"));
    Person::plain().dress(&mut command);
    let output = command.arg(format!("{id}.0")).output()?;
    assert!(output.status.success(), "{output:?}");
    assert_eq!(kantctl.line("code")?, "143");
    kantctl.completed(&id)?;
    pids.iter().try_for_each(|pid| gone(pid))
}

#[test]
fn tasks_on_other_nodes_end_with_a_failed_step_and_with_a_killed_srun() -> anyhow::Result<()> {
    let cluster = two_nodes()?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let stubborn = "trap \"\" TERM HUP INT; echo $$ >PID; while :; do sleep 1; done";
    let script = with_names(
        &kantctl,
        &format!(
            "srun -K -N2 --ntasks-per-node=1 sh -c '\n\
               [ $SLURM_PROCID = 1 ] && {{ {}; }}\n\
               while [ ! -s first ]; do sleep 0.05; done; exit 3'\n\
             echo $? >code\n\
             srun -w n2 -n1 sh -c '{}' &\n\
             while [ ! -s second ]; do sleep 0.05; done\n\
             kill -9 $!\n\
             while [ ! -e go ]; do sleep 0.05; done\n",
            stubborn.replace("PID", "first"),
            stubborn.replace("PID", "second"),
        ),
    )?;
    let id = kantctl.submit(&["-N2", "--ntasks-per-node=1"], &script)?;
    let first = kantctl.line("first")?;
    assert_eq!(kantctl.line("code")?, "137");
    gone(&first)?;
    gone(&kantctl.line("second")?)?;
    kantctl.touch("go")?;
    kantctl.completed(&id)?;
    Ok(())
}

#[test]
fn single_node_steps_spread_over_the_jobs_nodes_and_get_ctrl_c_in_the_background()
-> anyhow::Result<()> {
    let cluster = two_nodes()?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let script = with_names(
        &kantctl,
        "for i in 1 2 3 4 5; do\n\
           srun -N1 -n1 -c1 --exact sh -c \"\n\
             echo \\$SLURMD_NODENAME \\$(grep Cpus_allowed_list /proc/self/status) >at-$i\n\
             while [ ! -e go ]; do sleep 0.05; done\" &\n\
         done\n\
         while [ $(cat at-* | wc -l) -lt 4 ]; do sleep 0.05; done\n\
         cat at-* >four; >go; wait\n\
         srun -n1 -w n1 sh -c 'trap \"echo heard >heard; exit 0\" INT\n\
           echo up >up; while :; do sleep 0.05; done' &\n\
         while [ ! -s up ]; do sleep 0.05; done; kill -INT $!; wait $!\n\
         srun -n1 --gpus=1 true 2>gpus\n\
         srun -n1 -t 1s sleep 600 2>limit; echo $? >code\n",
    )?;
    let id = kantctl.submit(&["-N2", "-n4", "--ntasks-per-node=2"], &script)?;
    assert_eq!(kantctl.line("code")?, "143");
    kantctl.completed(&id)?;
    let four = kantctl.read("four")?;
    let on = |node: &str| four.lines().filter(|line| line.starts_with(node)).count();
    assert_eq!((on("n1"), on("n2")), (2, 2), "{four}");
    let parts: std::collections::BTreeSet<&str> = four.lines().collect();
    assert_eq!(parts.len(), 4, "each has a CPU of its own: {four}");
    assert!(kantctl.line("at-5").is_ok(), "the fifth waited for one");
    assert_eq!(kantctl.line("heard")?, "heard");
    assert!(kantctl.line("gpus")?.contains("where the job has 0"));
    let text = kantctl.read("limit")?;
    assert!(text.contains("DUE TO TIME LIMIT ***"), "{text}");
    Ok(())
}

#[test]
fn a_job_at_its_time_limit_has_a_note_in_its_output_and_all_named_nodes_are_used()
-> anyhow::Result<()> {
    let cluster = two_nodes()?;
    let kantctl = cluster.kantctl(Person::plain())?;
    with_names(&kantctl, "")?;
    let srun = |words: &[&str]| -> anyhow::Result<String> {
        let mut command = Command::new(kantctl.dir().join("names").join(words[0]));
        command.env_clear().env("KANT_SOCKET", cluster.dir().join("kantctld.sock"));
        command.env("PATH", "/usr/bin:/bin");
        Person::plain().dress(&mut command);
        let output = command.args(&words[1..]).output()?;
        assert!(output.status.success(), "{words:?}: {output:?}");
        Ok(String::from_utf8(output.stdout)?)
    };
    let both = srun(&["srun", "-I60", "-w", "n[1-2]", "sh", "-c", "echo $SLURMD_NODENAME"])?;
    let both: std::collections::BTreeSet<&str> = both.lines().collect();
    assert_eq!(both.into_iter().collect::<Vec<_>>(), ["n1", "n2"]);
    let held = srun(&["salloc", "-w", "n[1-2]", "sh", "-c", "echo $SLURM_JOB_NUM_NODES"])?;
    assert_eq!(held.trim(), "2");
    assert_eq!(srun(&["scontrol", "ping"])?.trim(), "Slurmctld(primary) is UP");
    let id = kantctl.submit(&["-t", "1s", "-o", "out"], "#!/bin/sh\nsleep 600\n")?;
    assert_eq!(kantctl.finished(&id)?.outcome, Some(Outcome::TimedOut));
    let text = kantctl.read("out")?;
    let start = format!("kantd: error: *** JOB {id} ON n1 CANCELLED AT ");
    assert!(
        text.lines().any(|l| l.starts_with(&start) && l.contains("DUE TO TIME LIMIT")),
        "{text}"
    );
    Ok(())
}
