//! The processes of the benchmark: replicas, and the router.

use anyhow::Context as _;
use clap::Subcommand;
use common::service::table::Table;
use router::{ClientLimits, Config, Router};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::io::{Read as _, Write as _};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// The size of a replica's answer.
const ANSWER_BYTES: usize = 1 << 10;

/// A process of the benchmark of services
#[derive(clap::Args)]
pub struct PartArgs {
    #[command(subcommand)]
    part: Part,
}

#[derive(Subcommand)]
enum Part {
    /// Two replicas on one thread
    Replicas,
    /// The router with a table that has one service
    Router { table: PathBuf, workers: usize },
}

/// Prints addresses, one a line, and runs until the standard input ends.
pub fn run_part(args: &PartArgs) -> anyhow::Result<()> {
    match &args.part {
        Part::Replicas => run_replicas(),
        Part::Router { table, workers } => run_router(table, *workers),
    }
}

fn run_router(path: &std::path::Path, workers: usize) -> anyhow::Result<()> {
    let client = ClientLimits {
        // All clients have one address.
        connections_each_max: usize::MAX,
        ..ClientLimits::default()
    };
    let config = Config { client, workers, ..Config::default() };
    let table: Table = router::read_table(path)?;
    let (_tables, receiver) = tokio::sync::watch::channel(Arc::new(table));
    let router = Router::start(config, receiver)?;
    let addr = loop {
        if let Some(addr) = router.service_address("bench") {
            break addr;
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    println!("{addr}");
    wait_for_end();
    Ok(())
}

fn run_replicas() -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    std::thread::spawn(|| {
        wait_for_end();
        std::process::exit(0);
    });
    runtime.block_on(async {
        let mut listeners = Vec::new();
        for _ in 0..2 {
            listeners.push(tokio::net::TcpListener::bind("127.0.0.1:0").await?);
        }
        for listener in &listeners {
            println!("{}", listener.local_addr()?);
        }
        std::io::stdout().flush()?;
        let second = listeners.pop().context("there are two")?;
        let first = listeners.pop().context("there are two")?;
        tokio::join!(serve(first), serve(second));
        Ok(())
    })
}

async fn serve(listener: tokio::net::TcpListener) {
    let body = hyper::body::Bytes::from("x".repeat(ANSWER_BYTES));
    while let Ok((stream, _)) = listener.accept().await {
        let body = body.clone();
        let answer = hyper::service::service_fn(move |_| {
            let body = http_body_util::Full::new(body.clone());
            async { Ok::<_, Infallible>(hyper::Response::new(body)) }
        });
        tokio::spawn(async move {
            let _ = stream.set_nodelay(true);
            let io = hyper_util::rt::TokioIo::new(stream);
            // A client that leaves is not an error.
            let _ = hyper::server::conn::http1::Builder::new().serve_connection(io, answer).await;
        });
    }
}

fn wait_for_end() {
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
}

/// The table of the router.
pub fn table(listen: SocketAddr, replicas: &[SocketAddr]) -> Value {
    let endpoint = |(index, addr): (usize, &SocketAddr)| {
        let id = format!("r/{index}.0");
        json!({ "id": id, "addr": addr, "state": "ready" })
    };
    let endpoints: Vec<_> = replicas.iter().enumerate().map(endpoint).collect();
    let route = json!({ "service": "bench", "listen": listen, "endpoints": endpoints });
    json!({ "version": 1, "services": [route] })
}
