//! `cargo xtask demo`: a demonstration cluster of one controller (with `--service`, three) and two
//! node daemons on this machine. The demo submits a real training script, follows its output,
//! prints the job's record and leaves the cluster running. If Python is missing and the user is
//! root, it installs python3-minimal; otherwise it changes nothing in /etc, /run or /var, and ends
//! only processes that it started.

mod record;
mod service;

use anyhow::{Context as _, bail};
use e2e::{Answer, Build, Cluster, ClusterOptions, Kantctl, Machine, Person, free_port};
use record::Record;
use std::path::Path;
use std::process::Command;

/// Run kant on this machine: start a cluster, submit a training job, show it run
#[derive(clap::Args)]
pub struct Args {
    /// End the cluster when the job has ended, and exit with the job's exit code
    #[arg(long)]
    once: bool,
    /// End the cluster of an earlier demo
    #[arg(long, conflicts_with = "once")]
    stop: bool,
    /// Show a service instead of a job: replicas, a router, an update, failures, scaling
    #[arg(long, conflicts_with = "stop")]
    service: bool,
}

/// The submitted script.
const EXAMPLE: &str = "train.sh";

/// What the web page shows and does.
const PAGE_SCOPES: &str = "cluster:read,jobs:read,jobs:manage,services:read";

/// Runs the demo.
///
/// # Errors
/// When something cannot be built or started.
pub fn run(args: Args) -> anyhow::Result<()> {
    if args.stop {
        return stop();
    }
    if let Some(record) = Record::load()? {
        bail!("a demo cluster is running in {}: end it with `cargo xtask demo --stop`", record.dir);
    }
    require_python()?;
    print_step("building (several minutes the first time)");
    let dir = tempfile::Builder::new().prefix("kant-demo-").tempdir()?;
    let controllers = if args.service { 3 } else { 1 };
    let options = ClusterOptions { controllers, ..demo_cluster_options()? };
    let mut cluster = Cluster::start_in(dir.path(), options)?;
    let person = submitting_user();
    let kantctl = cluster.kantctl(person)?;
    print_step(&format!("controllers ({controllers}) and two nodes are running"));
    print!("{}", kantctl.ok(&["nodes"])?);
    let shown = match args.service {
        true => service::show(&mut cluster, &kantctl).map(|router| (0, Some(router))),
        false => run_training_script(&kantctl).map(|code| (code, None)),
    };
    let (code, router) = match shown {
        Ok(shown) => shown,
        Err(error) => {
            // Jobs would outlive the daemons.
            if let Err(also) = cluster.wind_down() {
                eprintln!("failed to end the demo's cluster: {also:#}");
            }
            return Err(error);
        }
    };
    if args.once {
        drop(router);
        cluster.wind_down()?;
        drop(cluster);
        drop(dir);
        std::process::exit(code);
    }
    router.into_iter().for_each(|mut router| router.keep());
    keep_running(&mut cluster, dir, person)
}

fn print_step(text: &str) {
    eprintln!("\n=== {text}");
}

/// Submits the training script, follows its output, prints its record and returns its exit code.
fn run_training_script(kantctl: &Kantctl) -> anyhow::Result<i32> {
    let example = e2e::workspace().join("etc/examples").join(EXAMPLE);
    let script = kantctl.dir().join(EXAMPLE);
    std::fs::copy(&example, &script)
        .with_context(|| format!("failed to copy {}", example.display()))?;
    print_step(&format!("kantctl submit {EXAMPLE}"));
    let id = kantctl.ok(&["submit", "--parsable", EXAMPLE])?.trim().to_owned();
    println!("Submitted job {id}");
    print_step(&format!("kantctl logs -f {id}"));
    let followed = kantctl.command().args(["logs", "-f", &id]).status()?;
    if !followed.success() {
        eprintln!("(the output could not be followed to the end)");
    }
    let Answer { code, .. } = kantctl.run(&["wait", &id])?;
    print_step(&format!("kantctl show job {id}"));
    print!("{}", kantctl.ok(&["show", "job", &id])?);
    Ok(code)
}

/// Two nodes: with this host's GPUs if NVML finds any, otherwise with two simulated GPUs each.
fn demo_cluster_options() -> anyhow::Result<ClusterOptions> {
    let binaries = e2e::Binaries::build(Build::Loud)?;
    let output = Command::new(&binaries.kantd).args(["inventory", "--json"]).output()?;
    let inventory: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let real = inventory["gpus"].as_array().is_some_and(|gpus| !gpus.is_empty());
    let nodes = match real {
        // A GPU must not belong to two nodes: the second node is a CPU node.
        true => vec![("node-1", Machine::real()), ("node-2", Machine::cpu())],
        false => {
            vec![("node-1", Machine::with_gpus("pcie-2")), ("node-2", Machine::with_gpus("pcie-2"))]
        }
    };
    if !real {
        print_step(
            "no GPUs found: the nodes get simulated ones; everything except GPU computing is real",
        );
    }
    // The user of the demo may be `NOBODY`, which is below the usual bound.
    Ok(ClusterOptions {
        nodes,
        controller: Some(|config| {
            config.uid_min = 0;
            "kantctld-1".clone_into(&mut config.name);
            config.http_listen = page_listen();
        }),
        node: Some(|config| {
            config.uid_min = 0;
            if config.name == "node-1" {
                "127.0.0.1".clone_into(&mut config.router);
            }
        }),
        ..ClusterOptions::default()
    })
}

/// An address for the web page.
fn page_listen() -> String {
    free_port().map(|port| format!("127.0.0.1:{port}")).unwrap_or_default()
}

/// The address of the web page in the configuration of the demo's controller.
fn page_address(dir: &Path) -> anyhow::Result<String> {
    let file = dir.join("kantctld.toml");
    let table: toml::Table = toml::from_str(&std::fs::read_to_string(file)?)?;
    let address = table.get("http_listen").and_then(toml::Value::as_str);
    Ok(address.context("the controller has no web page")?.to_owned())
}

/// The user `nobody`, which exists on every machine.
const NOBODY: u32 = 65_534;

/// The submitting user: not root, since root's jobs are refused by default.
fn submitting_user() -> Person {
    if !e2e::is_root() {
        return Person::me();
    }
    let behind_sudo = std::env::var("SUDO_UID").ok().and_then(|uid| uid.parse().ok());
    Person { uid: behind_sudo.filter(|uid| *uid != 0).unwrap_or(NOBODY) }
}

/// Checks for Python, which the training script is written in.
fn require_python() -> anyhow::Result<()> {
    let found = |dir: &&str| Path::new(dir).join("python3").exists();
    if ["/usr/local/bin", "/usr/bin", "/bin"].iter().any(found) {
        return Ok(());
    }
    if e2e::is_root() && Path::new("/usr/bin/apt-get").exists() {
        print_step("installing python3 for the training script");
        let apt = |arguments: &[&str]| Command::new("apt-get").args(arguments).status();
        apt(&["update", "-q"])?;
        if apt(&["install", "-q", "-y", "python3-minimal"])?.success() {
            return Ok(());
        }
    }
    bail!("the training script needs Python: install the package python3 and run this again")
}

fn keep_running(
    cluster: &mut Cluster,
    dir: tempfile::TempDir,
    person: Person,
) -> anyhow::Result<()> {
    let dir = dir.keep();
    Record { dir: dir.display().to_string(), groups: cluster.groups() }.save()?;
    cluster.keep();
    print_step("the cluster is running; commands to try:");
    let as_user = match person == Person::me() {
        true => String::new(),
        false => format!("setpriv --reuid={0} --regid={0} --clear-groups ", person.uid),
    };
    println!("  export KANT_SOCKET={}/kantctld.sock PATH={}:$PATH", dir.display(), dir.display());
    println!("  cd {}/home-{}", dir.display(), person.uid);
    println!("  kantctl nodes");
    println!("  {as_user}kantctl submit --gpus=1 --wrap 'env | grep CUDA'");
    println!("  kantctl queue --all");
    println!("  kantctl token create --scope {PAGE_SCOPES}");
    println!("  (with that token, sign in on the web page: http://{}/)", page_address(&dir)?);
    println!(
        "  (to restart a node's daemon: KANT_NVML_STANDIN={}/machine-NAME.toml",
        dir.display()
    );
    println!(
        "   {} --config {}/kantd-NAME.toml)",
        cluster.binaries().kantd.display(),
        dir.display()
    );
    println!("To end the cluster: cargo xtask demo --stop");
    Ok(())
}

fn stop() -> anyhow::Result<()> {
    let Some(record) = Record::load()? else {
        println!("no demo cluster is running");
        return Ok(());
    };
    record.end()?;
    println!("the demo cluster has ended");
    Ok(())
}
