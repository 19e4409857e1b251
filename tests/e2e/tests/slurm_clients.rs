//! Unmodified third-party Slurm clients on real daemons: submitit, dask-jobqueue, simple-slurm and
//! parsl, installed from the package index into a virtual environment. If they cannot be installed,
//! the test is skipped.

use anyhow::{Context as _, ensure};
use e2e::{Cluster, ClusterOptions, Kantctl, Machine, Person};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Debian's Python: one under a home directory cannot be run by other users.
const PYTHON: &str = "/usr/bin/python3";

/// The time limit of one flow: dask and parsl poll every few seconds.
const PATIENCE_SECONDS: &str = "240";

fn sources() -> PathBuf {
    e2e::workspace().join("tests/slurm-clients")
}

/// A virtual environment with the clients, or why it cannot be made. It is made once for a set of
/// versions and kept in the target folder, or in `fresh` if other users cannot access that.
fn environment(fresh: &Path) -> anyhow::Result<Result<PathBuf, String>> {
    let wanted = std::fs::read_to_string(sources().join("requirements.txt"))?;
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let mut look = Command::new("/usr/bin/test");
    look.arg("-x").arg(kept);
    Person::plain().dress(&mut look);
    let is_open = look.status().is_ok_and(|status| status.success());
    let home = if is_open { kept } else { fresh }.join("slurm-clients");
    let mark = home.join("made-for.txt");
    if std::fs::read_to_string(&mark).is_ok_and(|made| made == wanted) {
        return Ok(Ok(home));
    }
    let run = |command: &mut Command| -> anyhow::Result<Result<(), String>> {
        let shown = format!("{command:?}");
        let Ok(output) = command.output() else { return Ok(Err(format!("no {shown}"))) };
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        Ok(if output.status.success() { Ok(()) } else { Err(format!("{shown}: {stderr}")) })
    };
    let venv = run(Command::new(PYTHON).args(["-m", "venv", "--clear"]).arg(&home))?;
    if let Err(why) = venv {
        return Ok(Err(format!("{why}; `apt-get install python3-venv` helps on Debian")));
    }
    let mut pip = Command::new(home.join("bin/python"));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"]);
    if let Err(why) = run(pip.arg(sources().join("requirements.txt")))? {
        return Ok(Err(format!("the clients cannot be installed: {why}")));
    }
    std::fs::write(mark, wanted)?;
    Ok(Ok(home))
}

/// Runs a client's flow as a user of the cluster, with kant's Slurm commands.
fn flow(cluster: &Cluster, kantctl: &Kantctl, home: &Path, script: &str) -> anyhow::Result<()> {
    let folder = kantctl.dir().join(script.trim_end_matches(".py"));
    std::fs::create_dir(&folder)?;
    Person::plain().own(&folder)?;
    let file = cluster.dir().join(script);
    std::fs::copy(sources().join(script), &file)?;
    let names = cluster.dir().join("slurm-names");
    let path = format!("{}:{}/bin:/usr/local/bin:/usr/bin:/bin", names.display(), home.display());
    // kantctl's environment and user, for another program.
    let given = kantctl.command();
    let mut command = Command::new("/usr/bin/timeout");
    command.arg(PATIENCE_SECONDS).arg(home.join("bin/python")).arg(&file).arg(&folder);
    command.env_clear().current_dir(&folder);
    for (name, value) in given.get_envs() {
        command.env(name, value.context("it has a value")?);
    }
    command.env("PATH", path).env("HOME", kantctl.dir()).env("USER", "somebody");
    Person::plain().dress(&mut command);
    let output = command.output()?;
    let outcome = format!(
        "{}\n{}\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
        kantctl.ok(&["queue", "--all"])?
    );
    ensure!(output.status.success(), "{script}: {}\n{outcome}", output.status);
    Ok(())
}

#[test]
fn clients_of_slurm_run_unchanged() -> anyhow::Result<()> {
    let cluster = Cluster::start(ClusterOptions {
        nodes: vec![("n1", Machine::cpu()), ("n2", Machine::cpu())],
        ..ClusterOptions::default()
    })?;
    let home = match environment(cluster.dir())? {
        Ok(home) => home,
        Err(why) => {
            eprintln!("skipped: {why}");
            return Ok(());
        }
    };
    let kantctl = cluster.kantctl(Person::plain())?;
    let names = cluster.dir().join("slurm-names");
    std::fs::create_dir(&names)?;
    std::fs::set_permissions(&names, std::fs::Permissions::from_mode(0o755))?;
    Person::plain().own(&names)?;
    let shown = names.to_str().context("the path is text")?;
    kantctl.ok(&["install-slurm-names", shown])?;
    for script in ["simple_slurm_flow.py", "submitit_flow.py", "dask_flow.py", "parsl_flow.py"] {
        flow(&cluster, &kantctl, &home, script)?;
        eprintln!("{script}: passed");
    }
    Ok(())
}
