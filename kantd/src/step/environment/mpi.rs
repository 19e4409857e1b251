//! The variables and host files by which MPI launchers find a job's nodes and start programs there:
//! `mpirun` of Open MPI (man mpirun; its MCA parameters plm, plm_rsh_agent, ras,
//! orte_default_hostfile) and Hydra, the `mpiexec` of MPICH and MVAPICH (its manual, "Environment
//! variables"). Both use ssh by default and accept another program instead: `kantctl launch`. A
//! node has as many slots as tasks.
//!
//! Without these variables both take the job for Slurm's, because of its variables, and run `srun`.

use crate::step::spec::StepSpec;
use std::path::{Path, PathBuf};

/// Used if kantd knows no path: the job's PATH finds it.
const KANTCTL: &str = "kantctl";

/// The variables; `hosts` are the paths of the files with the content of [`host_files`].
#[must_use]
pub fn variables(spec: &StepSpec, hosts: &[PathBuf; 2]) -> Vec<(&'static str, String)> {
    let kantctl = spec.rules.kantctl.as_deref().unwrap_or(Path::new(KANTCTL)).display();
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
    if let Some(socket) = &spec.rules.socket {
        variables.push(("KANT_SOCKET", socket.display().to_string()));
    }
    variables
}

/// The job's nodes and their tasks, for Open MPI and for Hydra. The only node of a job is
/// `localhost`, so that its name need not resolve.
#[must_use]
pub fn host_files(spec: &StepSpec) -> [String; 2] {
    let tasks = spec.tasks_per_node();
    let addresses = match tasks.len() {
        1 => vec!["localhost"],
        _ => spec.launch.addresses.iter().map(String::as_str).collect(),
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
    use crate::step::spec::StepRules;
    use crate::step::spec::tests::{example, example_launch};

    #[test]
    fn each_node_has_as_many_slots_as_tasks() {
        let spec = example(example_launch(), "g1").unwrap();
        let [first, second] = [0, 1].map(|at: usize| spec.launch.addresses[at].clone());
        assert_eq!(
            host_files(&spec),
            [format!("{first} slots=2\n{second} slots=1\n"), format!("{first}:2\n{second}:1\n")]
        );
    }

    #[test]
    fn both_launchers_use_the_nodes_own_kantctl_and_socket() {
        let mut spec = example(example_launch(), "g1").unwrap();
        let files = ["/s/hosts".into(), "/s/hosts.hydra".into()];
        let value = |spec: &StepSpec, name: &str| {
            variables(spec, &files).into_iter().find(|(known, _)| *known == name).map(|v| v.1)
        };
        assert_eq!(value(&spec, "OMPI_MCA_plm_rsh_agent").unwrap(), "kantctl launch");
        assert_eq!(value(&spec, "KANT_SOCKET"), None);
        spec.rules = StepRules {
            kantctl: Some("/opt/kantctl".into()),
            socket: Some("/run/k.sock".into()),
            ..StepRules::default()
        };
        assert_eq!(value(&spec, "OMPI_MCA_plm_rsh_agent").unwrap(), "/opt/kantctl launch");
        assert_eq!(value(&spec, "HYDRA_LAUNCHER_EXEC").unwrap(), "/opt/kantctl");
        assert_eq!(value(&spec, "KANT_SOCKET").unwrap(), "/run/k.sock");
    }
}
