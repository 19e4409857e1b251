//! `--signal` on real daemons: a script that asked for it saves its work before its time is up.
//! Never who is warned in all its forms: kantd/tests/step_warning.rs has that.

use common::job::Outcome;
use e2e::{Cluster, ClusterOptions, Machine, Person, wait_for};

#[test]
fn a_script_is_warned_in_time_to_save_its_work_also_after_both_daemons_were_killed()
-> anyhow::Result<()> {
    let nodes = vec![("n1", Machine::cpu())];
    let mut cluster = Cluster::start(ClusterOptions { nodes, ..ClusterOptions::default() })?;
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
    let job = kantctl.finished(&id)?;
    assert_eq!(job.outcome, Some(Outcome::Completed), "{job:?}");
    assert_eq!(std::fs::read_to_string(kantctl.dir().join("saved"))?, "saved\n");
    Ok(())
}
