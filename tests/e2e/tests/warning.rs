//! `--signal` on real daemons: a script is warned before its time limit and saves its work.

use e2e::{Cluster, ClusterOptions, Person, wait_for};

#[test]
fn a_script_is_warned_before_its_time_limit_also_after_both_daemons_were_killed()
-> anyhow::Result<()> {
    let mut cluster = Cluster::start(ClusterOptions::cpu_nodes(&["n1"]))?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let script = "#!/bin/sh\n#SBATCH --signal=B:USR1@2\n#SBATCH --time=6s\n\
        trap 'echo saved >saved; exit 0' USR1\ntouch up\nwhile :; do sleep 0.05; done\n";
    let id = kantctl.submit(&[], script)?;
    let shown = kantctl.ok(&["show", &id])?;
    assert!(shown.contains("USR1 2 s before its time limit, to its script"), "{shown}");
    wait_for("the trap", || Ok(kantctl.dir().join("up").exists().then_some(())))?;
    cluster.kill_node("n1")?;
    cluster.kill_controller()?;
    cluster.start_controller()?;
    cluster.start_node("n1")?;
    kantctl.completed(&id)?;
    assert_eq!(kantctl.read("saved")?, "saved\n");
    Ok(())
}
