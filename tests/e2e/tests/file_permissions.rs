//! File permissions: daemons refuse configuration files and programs that other users may change,
//! and their own files are private, except the output of jobs.

use common::config::NodeConfig;
use e2e::{Cluster, ClusterOptions, Daemon, Machine, Person, wait_for};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

fn options(nodes: Vec<(&'static str, Machine)>) -> ClusterOptions {
    ClusterOptions { nodes, ..ClusterOptions::default() }
}

fn mode(path: &Path) -> anyhow::Result<u32> {
    Ok(fs::metadata(path)?.permissions().mode() & 0o777)
}

fn set_mode(path: &Path, mode: u32) -> anyhow::Result<()> {
    Ok(fs::set_permissions(path, Permissions::from_mode(mode))?)
}

/// Starts a daemon that must end by itself and returns its log.
fn said_at_start(program: &Path, config: &Path) -> anyhow::Result<String> {
    let mut command = Command::new(program);
    command.arg("--config").arg(config).env_remove("RUST_LOG");
    let mut daemon = Daemon::start(command, &config.with_extension("refused"))?;
    let status = wait_for("a refusal of files that others may change", || daemon.ended())?;
    assert!(!status.success(), "{}", daemon.log());
    let startup_log = daemon.log();
    fs::remove_file(config.with_extension("refused"))?;
    Ok(startup_log)
}

/// Makes a file writable for others, asserts that the daemon does not start, and restores the mode.
fn assert_refused_while_open(
    (program, config): (&Path, &Path),
    file: &Path,
    (open, closed): (u32, u32),
) -> anyhow::Result<()> {
    set_mode(file, open)?;
    let startup_log = said_at_start(program, config)?;
    for words in [format!("{open:04o}"), format!("chmod go-w {}", file.display())] {
        assert!(startup_log.contains(&words), "no `{words}` in: {startup_log}");
    }
    set_mode(file, closed)
}

#[test]
fn a_controller_does_not_start_with_files_that_others_may_change() -> anyhow::Result<()> {
    let mut cluster = Cluster::start(options(Vec::new()))?;
    cluster.kill_controller()?;
    let (dir, program) = (cluster.dir().to_owned(), cluster.binaries().kantctld.clone());
    let config = dir.join("kantctld.toml");
    let daemon = (program.as_path(), config.as_path());
    assert_refused_while_open(daemon, &config, (0o666, 0o644))?;
    assert_refused_while_open(daemon, &dir.join("state"), (0o777, 0o700))?;
    assert_refused_while_open(daemon, &dir, (0o777, 0o755))?;
    cluster.start_controller()
}

#[test]
fn a_node_does_not_start_with_files_or_programs_that_others_may_change() -> anyhow::Result<()> {
    let mut cluster = Cluster::start(options(vec![("n1", Machine::cpu())]))?;
    cluster.kill_node("n1")?;
    let (dir, program) = (cluster.dir().to_owned(), cluster.binaries().kantd.clone());
    let config = dir.join("kantd-n1.toml");
    let daemon = (program.as_path(), config.as_path());
    assert_refused_while_open(daemon, &config, (0o666, 0o644))?;
    assert_refused_while_open(daemon, &dir.join("spool-n1"), (0o777, 0o711))?;
    let tools = dir.join("tools");
    fs::create_dir(&tools)?;
    let script = tools.join("script");
    fs::write(&script, "#!/bin/sh\n")?;
    let text = fs::read_to_string(&config)?;
    for key in ["prolog", "epilog", "task_prolog", "health_script"] {
        let mut table: toml::Table = toml::from_str(&text)?;
        table.insert(key.to_owned(), toml::Value::String(script.display().to_string()));
        fs::write(&config, toml::to_string(&table)?)?;
        set_mode(&script, 0o755)?;
        assert_refused_while_open(daemon, &script, (0o757, 0o755))?;
        assert_refused_while_open(daemon, &tools, (0o777, 0o755))?;
    }
    fs::write(&config, text)?;
    cluster.start_node("n1")?;
    cluster.wait_for_nodes()
}

fn with_prolog(config: &mut NodeConfig) {
    let dir = Path::new(&config.kantctl).parent().unwrap_or(Path::new("/"));
    config.prolog = dir.join("prolog").display().to_string();
}

#[test]
fn a_prolog_that_becomes_writable_for_others_is_not_run() -> anyhow::Result<()> {
    if !e2e::is_root() {
        eprintln!("skipped: prologs need root and cgroups");
        return Ok(());
    }
    let cluster = Cluster::start(ClusterOptions {
        node: Some(with_prolog),
        ..options(vec![("n1", Machine::cpu())])
    })?;
    let (prolog, ran) = (cluster.dir().join("prolog"), cluster.dir().join("ran"));
    fs::write(&prolog, format!("#!/bin/sh\ntouch {}\n", ran.display()))?;
    set_mode(&prolog, 0o777)?;
    let kantctl = cluster.kantctl(Person::plain())?;
    kantctl.submit(&["--no-requeue"], "#!/bin/sh\ntrue\n")?;
    wait_for("the node to be drained with the reason", || {
        Ok(kantctl.ok(&["show", "node", "n1"])?.contains("chmod go-w").then_some(()))
    })?;
    assert!(!ran.exists(), "root ran a program that other users can change");
    Ok(())
}

/// Every file below a directory.
fn files(dir: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => found.extend(files(&entry.path())?),
            false => found.push(entry.path()),
        }
    }
    Ok(found)
}

#[test]
fn files_of_daemons_are_private_and_a_jobs_files_have_its_umask() -> anyhow::Result<()> {
    let cluster = Cluster::start(options(vec![("n1", Machine::cpu())]))?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let id = kantctl.submit(&["--output=said.out"], "#!/bin/sh\ntouch made; umask\n")?;
    kantctl.finished(&id)?;
    for file in ["said.out", "made"] {
        assert_eq!(
            mode(&kantctl.dir().join(file))?,
            0o644,
            "{file}: the mode of the shell's umask"
        );
    }
    let accounting = cluster.dir().join("state/accounting.sqlite");
    wait_for("the accounting file", || Ok(accounting.exists().then_some(())))?;
    let kept = files(&cluster.dir().join("state"))?;
    assert!(kept.contains(&accounting), "{kept:?}");
    for file in kept {
        assert_eq!(mode(&file)? & 0o077, 0, "{}", file.display());
    }
    Ok(())
}
