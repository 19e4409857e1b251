//! How the starters of MPI programs find a job's nodes, and how they get there: `mpirun` of Open
//! MPI (man mpirun; its MCA parameters plm, plm_rsh_agent, ras, orte_default_hostfile) and Hydra,
//! the `mpiexec` of MPICH and MVAPICH (its manual, "Environment variables"). Both would reach other
//! nodes with ssh, and both take another program for it: `kantctl launch`.
//! Never what a program of MPI itself reads, and never more slots on a node than it has tasks.
//!
//! Without these both take the job for one of Slurm's, by its variables, and look for `srun`.

use crate::step::order::StepOrder;
use std::path::{Path, PathBuf};

/// Asked for by name where kantd knows no path: the job's PATH finds it.
const KANTCTL: &str = "kantctl";

/// The variables; `hosts` are the files that hold what [`hosts`] says.
#[must_use]
pub fn variables(order: &StepOrder, hosts: &[PathBuf; 2]) -> Vec<(&'static str, String)> {
    let kantctl = order.rules.kantctl.as_deref().unwrap_or(Path::new(KANTCTL)).display();
    let [openmpi, hydra] = hosts.each_ref().map(|path| path.display().to_string());
    let mut variables = vec![
        ("OMPI_MCA_plm", "rsh".to_owned()),
        ("OMPI_MCA_plm_rsh_agent", format!("{kantctl} launch")),
        ("OMPI_MCA_ras", "^slurm".to_owned()),
        ("OMPI_MCA_orte_default_hostfile", openmpi),
        ("HYDRA_RMK", "user".to_owned()),
        ("HYDRA_LAUNCHER", "rsh".to_owned()),
        ("HYDRA_LAUNCHER_EXEC", kantctl.to_string()),
        ("HYDRA_LAUNCHER_EXTRA_ARGS", "launch".to_owned()),
        ("HYDRA_HOST_FILE", hydra),
    ];
    if let Some(socket) = &order.rules.socket {
        variables.push(("KANT_SOCKET", socket.display().to_string()));
    }
    variables
}

/// The job's nodes and the tasks each has, as Open MPI and as Hydra read them. A job's only node is
/// itself, whatever its name leads to.
#[must_use]
pub fn hosts(order: &StepOrder) -> [String; 2] {
    let tasks = order.tasks_per_node();
    let addresses = match tasks.len() {
        1 => vec!["localhost"],
        _ => order.launch.addresses.iter().map(String::as_str).collect(),
    };
    let line = |form: fn(&str, u32) -> String| {
        addresses.iter().zip(&tasks).map(|(address, tasks)| form(address, *tasks)).collect()
    };
    [
        line(|address, tasks| format!("{address} slots={tasks}\n")),
        line(|address, tasks| format!("{address}:{tasks}\n")),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::order::StepRules;
    use crate::step::order::tests::{example, example_launch};

    #[test]
    fn each_node_has_as_many_slots_as_tasks() {
        let order = example(example_launch(), "g1").unwrap();
        let [first, second] = [0, 1].map(|at: usize| order.launch.addresses[at].clone());
        assert_eq!(
            hosts(&order),
            [format!("{first} slots=2\n{second} slots=1\n"), format!("{first}:2\n{second}:1\n")]
        );
    }

    #[test]
    fn both_are_sent_through_the_nodes_own_kantctl_and_socket() {
        let mut order = example(example_launch(), "g1").unwrap();
        let files = ["/s/hosts".into(), "/s/hosts.hydra".into()];
        let value = |order: &StepOrder, name: &str| {
            variables(order, &files).into_iter().find(|(known, _)| *known == name).map(|v| v.1)
        };
        assert_eq!(value(&order, "OMPI_MCA_plm_rsh_agent").unwrap(), "kantctl launch");
        assert_eq!(value(&order, "KANT_SOCKET"), None);
        order.rules = StepRules {
            kantctl: Some("/opt/kantctl".into()),
            socket: Some("/run/k.sock".into()),
            ..StepRules::default()
        };
        assert_eq!(value(&order, "OMPI_MCA_plm_rsh_agent").unwrap(), "/opt/kantctl launch");
        assert_eq!(value(&order, "HYDRA_LAUNCHER_EXEC").unwrap(), "/opt/kantctl");
        assert_eq!(value(&order, "KANT_SOCKET").unwrap(), "/run/k.sock");
    }
}
