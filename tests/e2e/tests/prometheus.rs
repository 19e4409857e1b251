//! Debian's Prometheus scrapes a real cluster: each query of the dashboards in etc/grafana has
//! data, and the alert rules in etc/prometheus are accepted. Without Prometheus, the tests are
//! skipped.

use anyhow::{Context as _, ensure};
use common::config::{AmountsTable, ControllerConfig, LeafTable, QueueTable};
use common::id::{QueueName, SwitchName};
use common::policy::Amounts;
use common::unit::Gpus;
use e2e::{Cluster, ClusterOptions, Daemon, Person, free_port, wait_for};
use serde_json::Value;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;

fn has(program: &str) -> bool {
    let found = Path::new("/usr/bin").join(program).exists();
    if !found {
        eprintln!("skipped: no {program} (`apt-get install --no-install-recommends prometheus`)");
    }
    found
}

fn sources() -> PathBuf {
    e2e::workspace().join("tests/e2e/prometheus")
}

/// Runs a program that must succeed.
fn must(command: &mut Command) -> anyhow::Result<()> {
    let output = command.output()?;
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?}: {text}");
    Ok(())
}

#[test]
fn each_alert_fires_when_it_should_and_none_on_a_healthy_cluster() -> anyhow::Result<()> {
    if !has("promtool") {
        return Ok(());
    }
    must(Command::new("promtool").args(["test", "rules"]).arg(sources().join("rules-test.yml")))
}

/// The body of an answer.
fn get(port: u16, path: &str) -> anyhow::Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: x\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (_, body) = answer.split_once("\r\n\r\n").context("an answer has a body")?;
    Ok(body.to_owned())
}

/// Answers each request with a recorded text, until the test ends.
fn serve(text: String) -> anyhow::Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut asked = [0; 4096];
            let head = "HTTP/1.0 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\n\r\n";
            // A client that has left needs no answer.
            let _ = stream.read(&mut asked);
            let _ = write!(stream, "{head}{text}");
        }
    });
    Ok(port)
}

fn configure(config: &mut ControllerConfig) {
    config.http_listen =
        free_port().map_or_else(|_| String::new(), |port| format!("127.0.0.1:{port}"));
    config.backup_every_hours = 24;
    let name = QueueName::new("lab").ok();
    let amounts = Amounts { gpus_any: Some(Gpus(3)), ..Amounts::default() };
    let quota = AmountsTable(amounts);
    let queue = QueueTable { name, default: true, quota, ..QueueTable::default() };
    config.queue = vec![queue];
    let name = SwitchName::new("leaf1").ok();
    config.leaf = vec![LeafTable { name, nodes: "g[1-2]".to_owned(), ..LeafTable::default() }];
}

/// The port of the controller's HTTP address.
fn port_of(cluster: &Cluster) -> anyhow::Result<u16> {
    let text = std::fs::read_to_string(cluster.dir().join("kantctld.toml"))?;
    let config: toml::Table = toml::from_str(&text)?;
    let address = config.get("http_listen").and_then(toml::Value::as_str);
    let (_, port) = address.and_then(|one| one.rsplit_once(':')).context("it listens")?;
    Ok(port.parse()?)
}

/// All queries of a dashboard, each for all values of its variables.
fn queries(dashboard: &Path) -> anyhow::Result<Vec<String>> {
    let board: Value = serde_json::from_str(&std::fs::read_to_string(dashboard)?)?;
    let panels = board["panels"].as_array().context("a dashboard has panels")?;
    let targets = panels.iter().filter_map(|panel| panel["targets"].as_array()).flatten();
    let filled = |query: &str| {
        query.replace("$queue", ".*").replace("$job", ".*").replace("$__rate_interval", "1m")
    };
    Ok(targets.filter_map(|target| target["expr"].as_str()).map(filled).collect())
}

fn has_data(port: u16, query: &str) -> anyhow::Result<bool> {
    let escaped: String = query.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let answer: Value =
        serde_json::from_str(&get(port, &format!("/api/v1/query?query={escaped}"))?)?;
    ensure!(answer["status"] == "success", "{query}: {answer}");
    Ok(answer["data"]["result"].as_array().is_some_and(|result| !result.is_empty()))
}

#[test]
fn each_query_of_the_dashboards_has_data_of_a_real_cluster() -> anyhow::Result<()> {
    if !has("prometheus") {
        return Ok(());
    }
    let options = ClusterOptions::gpu_nodes(&["g1", "g2"], "pcie-2");
    let cluster = Cluster::start(ClusterOptions { controller: Some(configure), ..options })?;
    let kantctl = cluster.kantctl(Person::plain())?;
    // Two jobs of several GPUs run, and a third waits.
    for _ in 0..3 {
        kantctl.ok(&["submit", "--gpus-per-node=2", "--wrap", "exec sleep 600"])?;
    }
    let dcgm = serve(std::fs::read_to_string(sources().join("dcgm.txt"))?)?;
    let home = cluster.dir().join("prometheus");
    std::fs::create_dir(&home)?;
    let rules = e2e::workspace().join("etc/prometheus/kant-rules.yml");
    let config = format!(
        "global: {{ scrape_interval: 1s, evaluation_interval: 1s }}\n\
         rule_files: [{}]\n\
         scrape_configs:\n\
         - {{ job_name: kant, static_configs: [{{ targets: [\"127.0.0.1:{}\"] }}] }}\n\
         - {{ job_name: dcgm, static_configs: [{{ targets: [\"127.0.0.1:{dcgm}\"] }}] }}\n",
        rules.display(),
        port_of(&cluster)?,
    );
    let file = home.join("prometheus.yml");
    std::fs::write(&file, config)?;
    let port = free_port()?;
    let mut command = Command::new("/usr/bin/prometheus");
    command.arg("--config.file").arg(&file).arg("--storage.tsdb.path").arg(home.join("data"));
    command.arg(format!("--web.listen-address=127.0.0.1:{port}"));
    let prometheus = Daemon::start(command, &home.join("log"))?;

    let folder = e2e::workspace().join("etc/grafana");
    let files = std::fs::read_dir(&folder)?.map(|entry| Ok(entry?.path()));
    let files: Vec<PathBuf> = files.collect::<anyhow::Result<_>>()?;
    ensure!(files.len() == 3, "there are three dashboards: {files:?}");
    for dashboard in files {
        let queries = queries(&dashboard)?;
        ensure!(queries.len() > 5, "{} has queries", dashboard.display());
        for query in queries {
            let what = format!("data of {query}");
            let found = || has_data(port, &query).unwrap_or(false).then_some(());
            wait_for(&what, || Ok(found()))?;
        }
    }
    let rules: Value = serde_json::from_str(&get(port, "/api/v1/rules")?)?;
    let rules = rules["data"]["groups"][0]["rules"].as_array().cloned().unwrap_or_default();
    ensure!(rules.len() == 7 && rules.iter().all(|rule| rule["health"] == "ok"), "{rules:?}");
    prometheus.stop()?;
    Ok(())
}
