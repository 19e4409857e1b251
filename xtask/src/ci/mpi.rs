//! Whether programs of MPI can be tried here: the step `mpi` says in the gate's last lines what
//! kept it, where the tests themselves only say so among their output. Never installs anything.

use super::preflight;

/// What compiles them, and the packages of Debian and Ubuntu it comes from.
const COMPILERS: [(&str, &str); 2] =
    [("mpicc.openmpi", "openmpi-bin libopenmpi-dev"), ("mpicc.mpich", "mpich libmpich-dev")];

/// What hinders it.
pub fn missing() -> Option<String> {
    if !e2e::is_root() {
        return Some("only root can give two nodes a host each".to_owned());
    }
    lacking(preflight::has_program)
}

fn lacking(has: impl Fn(&str) -> bool) -> Option<String> {
    let lacking = COMPILERS.iter().filter(|(compiler, _)| !has(compiler));
    let packages: Vec<&str> = lacking.map(|(_, packages)| *packages).collect();
    let packages = packages.join(" ");
    (!packages.is_empty()).then(|| format!("no {packages} (`apt-get install {packages}`)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_by_its_packages() {
        assert_eq!(lacking(|_| true), None);
        let said = lacking(|name| name != "mpicc.mpich").unwrap();
        assert!(said.contains("`apt-get install mpich libmpich-dev`"), "{said}");
    }
}
