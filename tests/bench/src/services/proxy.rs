//! What stands between clients and replicas: kant's router, nginx or haproxy, each with two workers
//! and the same features: two random choices, kept connections to replicas, the client's address
//! and a request id.

use super::part;
use anyhow::{Context as _, ensure};
use std::fmt;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const WORKERS: usize = 2;
const START_LIMIT: Duration = Duration::from_secs(10);
/// Places for connections. haproxy reserves two files for each, and the usual hard limit is 20,000.
pub const CONNECTIONS_MAX: usize = 9_900;

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Kind {
    Router,
    Nginx,
    Haproxy,
}

impl Kind {
    pub const ALL: [Self; 3] = [Self::Router, Self::Nginx, Self::Haproxy];
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Router => "router",
            Self::Nginx => "nginx",
            Self::Haproxy => "haproxy",
        })
    }
}

/// A process with its children, which end when this is dropped.
pub struct Proxy {
    child: Child,
    pub addr: SocketAddr,
}

/// The process of the replicas.
pub struct Replicas {
    _child: Reaped,
    pub addrs: Vec<SocketAddr>,
}

/// A process that is ended and waited for.
struct Reaped(Child);

impl Drop for Reaped {
    fn drop(&mut self) {
        end(&mut self.0);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

/// Asks a process to end with its children, as all of them do on SIGTERM.
fn end(child: &mut Child) {
    if let Ok(pid) = i32::try_from(child.id()) {
        let pid = nix::unistd::Pid::from_raw(pid);
        let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM);
    }
    let _ = child.wait();
}

pub fn start_replicas() -> anyhow::Result<Replicas> {
    let (child, addrs) = start_part(&["replicas"], 2)?;
    Ok(Replicas { _child: Reaped(child), addrs })
}

/// Starts this program as a process of the benchmark, and reads the addresses that it prints.
fn start_part(words: &[&str], count: usize) -> anyhow::Result<(Child, Vec<SocketAddr>)> {
    let mut child = Command::new(std::env::current_exe()?)
        .arg("services-part")
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("failed to start a part of the benchmark")?;
    let lines = BufReader::new(child.stdout.take().context("no output")?).lines();
    let addrs =
        lines.take(count).map(|line| Ok(line?.parse()?)).collect::<anyhow::Result<Vec<_>>>();
    match addrs {
        Ok(addrs) if addrs.len() == count => Ok((child, addrs)),
        _ => {
            end(&mut child);
            anyhow::bail!("a part of the benchmark did not start")
        }
    }
}

impl Proxy {
    /// Starts it; `None` if the program is not installed.
    pub fn start(kind: Kind, dir: &Path, replicas: &[SocketAddr]) -> anyhow::Result<Option<Self>> {
        if kind == Kind::Router {
            let path = dir.join("table.json");
            let any = SocketAddr::from(([127, 0, 0, 1], 0));
            fs::write(&path, part::table(any, replicas).to_string())?;
            let path = path.to_str().context("a path that is not text")?;
            let (child, addrs) = start_part(&["router", path, &WORKERS.to_string()], 1)?;
            return Ok(Some(Self { child, addr: addrs[0] }));
        }
        let Some(program) = find(&kind.to_string()) else { return Ok(None) };
        // Another program could take the port until then; the start fails in that case.
        let addr = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let config = dir.join(format!("{kind}.conf"));
        let text = match kind {
            Kind::Nginx => nginx_config(dir, addr, replicas),
            _ => haproxy_config(addr, replicas),
        };
        fs::write(&config, text)?;
        let mut command = Command::new(program);
        match kind {
            Kind::Nginx => command.arg("-p").arg(dir).arg("-e").arg("stderr").arg("-c").arg(config),
            _ => command.arg("-db").arg("-f").arg(config),
        };
        let child = command.stdin(Stdio::null()).spawn()?;
        let proxy = Self { child, addr };
        proxy.wait_until_it_listens()?;
        Ok(Some(proxy))
    }

    fn wait_until_it_listens(&self) -> anyhow::Result<()> {
        let end = Instant::now() + START_LIMIT;
        while TcpStream::connect(self.addr).is_err() {
            ensure!(Instant::now() < end, "a proxy does not listen on {}", self.addr);
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    /// Its processes.
    pub fn pids(&self) -> anyhow::Result<Vec<u32>> {
        let pid = self.child.id();
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"))?;
        let children = children.split_whitespace().map(|pid| Ok(pid.parse()?));
        std::iter::once(Ok(pid)).chain(children).collect()
    }
}

/// Daemons are not on every user's path.
fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let dirs = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/usr/local/sbin".into()]);
    dirs.map(|dir| dir.join(name)).find(|path| path.is_file())
}

fn nginx_config(dir: &Path, addr: SocketAddr, replicas: &[SocketAddr]) -> String {
    let servers: String = replicas.iter().map(|addr| format!("server {addr};")).collect();
    let dir = dir.display();
    format!(
        "daemon off; worker_processes {WORKERS}; pid {dir}/nginx.pid; error_log stderr;\n\
         events {{ worker_connections {CONNECTIONS_MAX}; }}\n\
         http {{\n\
         access_log off; keepalive_requests 1000000000; keepalive_timeout 75s;\n\
         client_body_temp_path {dir}/body; proxy_temp_path {dir}/proxy;\n\
         fastcgi_temp_path {dir}/fastcgi; scgi_temp_path {dir}/scgi; uwsgi_temp_path {dir}/uwsgi;\n\
         upstream replicas {{ zone replicas 64k; random two least_conn; {servers}\n\
         keepalive 64; keepalive_requests 1000000000; }}\n\
         server {{ listen {addr};\n\
         location / {{ proxy_pass http://replicas; proxy_http_version 1.1;\n\
         proxy_set_header Connection \"\"; proxy_set_header Host $host;\n\
         proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;\n\
         proxy_set_header X-Forwarded-Proto $scheme; proxy_set_header X-Request-Id $request_id;\n\
         add_header X-Request-Id $request_id; }} }} }}\n"
    )
}

fn haproxy_config(addr: SocketAddr, replicas: &[SocketAddr]) -> String {
    let servers: String = replicas
        .iter()
        .enumerate()
        .map(|(index, addr)| format!(" server r{index} {addr}\n"))
        .collect();
    format!(
        "global\n nbthread {WORKERS}\n maxconn {CONNECTIONS_MAX}\n\
         defaults\n mode http\n timeout client 75s\n timeout server 600s\n timeout connect 2s\n \
         timeout http-keep-alive 75s\n timeout http-request 10s\n option http-keep-alive\n \
         option forwardfor\n http-reuse always\n\
         frontend clients\n bind {addr}\n unique-id-format %{{+X}}o%ci%cp%Ts%rt%pid\n \
         unique-id-header X-Request-ID\n http-request set-header X-Forwarded-Proto http\n \
         default_backend replicas\n\
         backend replicas\n balance random(2)\n{servers}"
    )
}
