//! The benchmark of the router of services, beside nginx and haproxy with the same two replicas:
//! requests for each CPU second, latency at a fixed rate, memory of idle clients. Clients, router
//! and replicas share the machine. It prints samples and sets no limits.

mod client;
mod part;
mod proxy;

use crate::figures::Figures;
use crate::node::{cpu_time, rss_mib};
use anyhow::Context as _;
use proxy::{Kind, Proxy};
use std::net::SocketAddr;
use std::time::Duration;

pub use part::{PartArgs, run_part};

/// Connections that send requests as fast as they are answered.
const CONNECTIONS: usize = 64;
/// Requests per second where latency is measured.
const RATE: u32 = 2_000;
/// The time after which an idle connection costs least.
const SETTLE: Duration = Duration::from_secs(4);

/// Options of the benchmark of services
#[derive(clap::Args)]
pub struct Args {
    /// Number of times that each figure is measured
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Seconds of each measurement
    #[arg(long, default_value_t = 8)]
    seconds: u64,
    /// Idle clients whose memory is measured
    #[arg(long, default_value_t = 9_800)]
    clients: usize,
    /// Only these: router, nginx, haproxy
    #[arg(long, value_delimiter = ',')]
    only: Vec<Kind>,
}

/// The latencies of one target at the fixed rate.
#[derive(Clone, Copy)]
struct Latency {
    p50_us: f64,
    p99_us: f64,
}

/// Measures everything. The router is built in the same way as this program.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let mut figures = Figures::default();
    let dir = tempfile::tempdir()?;
    let replicas = proxy::start_replicas()?;
    let span = Duration::from_secs(args.seconds);
    let is_chosen = |kind: &Kind| args.only.is_empty() || args.only.contains(kind);
    for _ in 0..args.rounds {
        let direct = latency(replicas.addrs[0], span)?;
        add_latency(&mut figures, "direct", direct, None);
        let mut costs = Vec::new();
        for kind in Kind::ALL.into_iter().filter(is_chosen) {
            let Some(proxy) = Proxy::start(kind, dir.path(), &replicas.addrs)? else {
                for (what, unit) in names_of(kind) {
                    figures.not_installed(&what, unit);
                }
                continue;
            };
            let rate = requests_per_cpu_second(&proxy, span)?;
            figures.add(&format!("requests/s of one core, {kind}"), "1/s", rate);
            costs.push((kind, 1.0 / rate));
            let through = latency(proxy.addr, span)?;
            add_latency(&mut figures, &kind.to_string(), through, Some(direct));
            for (state, has_asked) in [("silent", false), ("idle", true)] {
                let kib = memory_each_kib(&proxy, args.clients, has_asked)?;
                figures.add(&format!("memory for each {state} client, {kind}"), "KiB", kib);
            }
        }
        add_ratios(&mut figures, &costs);
    }
    println!("{:#}", figures.to_json());
    Ok(())
}

fn names_of(kind: Kind) -> [(String, &'static str); 5] {
    [
        (format!("requests/s of one core, {kind}"), "1/s"),
        (format!("p50 added at {RATE}/s, {kind}"), "µs"),
        (format!("p99 added at {RATE}/s, {kind}"), "µs"),
        (format!("memory for each silent client, {kind}"), "KiB"),
        (format!("memory for each idle client, {kind}"), "KiB"),
    ]
}

fn add_latency(figures: &mut Figures, who: &str, latency: Latency, direct: Option<Latency>) {
    figures.add(&format!("p50 at {RATE}/s, {who}"), "µs", latency.p50_us);
    figures.add(&format!("p99 at {RATE}/s, {who}"), "µs", latency.p99_us);
    if let Some(direct) = direct {
        let added = latency.p50_us - direct.p50_us;
        figures.add(&format!("p50 added at {RATE}/s, {who}"), "µs", added);
        let added = latency.p99_us - direct.p99_us;
        figures.add(&format!("p99 added at {RATE}/s, {who}"), "µs", added);
    }
}

/// How many times more CPU time the router needs for a request than others.
fn add_ratios(figures: &mut Figures, costs: &[(Kind, f64)]) {
    let Some((_, router)) = costs.iter().find(|(kind, _)| *kind == Kind::Router) else { return };
    for (kind, cost) in costs.iter().filter(|(kind, _)| *kind != Kind::Router) {
        figures.add(&format!("CPU time for a request, router / {kind}"), "times", router / cost);
    }
}

fn requests_per_cpu_second(proxy: &Proxy, span: Duration) -> anyhow::Result<f64> {
    // Connections to replicas are open by then.
    client::saturate(proxy.addr, CONNECTIONS, Duration::from_secs(1))?;
    let before = total_cpu(proxy)?;
    let requests = client::saturate(proxy.addr, CONNECTIONS, span)?;
    let used = total_cpu(proxy)?.saturating_sub(before);
    #[allow(clippy::cast_precision_loss)]
    Ok(requests as f64 / used.as_secs_f64())
}

fn total_cpu(proxy: &Proxy) -> anyhow::Result<Duration> {
    proxy.pids()?.into_iter().map(cpu_time).sum()
}

fn latency(addr: SocketAddr, span: Duration) -> anyhow::Result<Latency> {
    client::paced(addr, RATE, CONNECTIONS, Duration::from_secs(1))?;
    let mut spans = client::paced(addr, RATE, CONNECTIONS, span)?;
    spans.sort_unstable();
    let at = |percent: usize| -> anyhow::Result<f64> {
        let span = spans.get(spans.len() * percent / 100).context("no request was answered")?;
        Ok(span.as_secs_f64() * 1e6)
    };
    Ok(Latency { p50_us: at(50)?, p99_us: at(99)? })
}

/// The growth of the proxy by clients that connect and then wait, after one request each if they
/// have asked.
fn memory_each_kib(proxy: &Proxy, clients: usize, has_asked: bool) -> anyhow::Result<f64> {
    let memory = || proxy.pids()?.into_iter().map(rss_mib).sum::<anyhow::Result<f64>>();
    std::thread::sleep(SETTLE);
    let before = memory()?;
    let idle = client::open_idle(proxy.addr, clients, has_asked)?;
    std::thread::sleep(SETTLE);
    let grown = memory()? - before;
    #[allow(clippy::cast_precision_loss)]
    let kib = grown * 1024.0 / idle.len() as f64;
    Ok(kib)
}
