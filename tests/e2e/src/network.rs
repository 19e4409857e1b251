//! Hosts on a private network: network namespaces on one bridge, which can be cut off. The network
//! of the real host is not changed. Only root can make such a network.

use crate::person::is_root;
use anyhow::{Context as _, ensure};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// Hosts by name. The network is removed when the value is dropped.
#[derive(Debug)]
pub struct Network {
    /// The prefix of namespace names, which a dash and the host follow.
    tag: String,
    hosts: Vec<String>,
}

const SWITCH: &str = "switch";

impl Network {
    /// Makes these hosts; `None`, with a message, if this system or user cannot make network
    /// namespaces.
    ///
    /// # Errors
    /// When a later step fails.
    pub fn new(hosts: &[&str]) -> anyhow::Result<Option<Self>> {
        let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
        // Tests of one process run in parallel.
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let network = Self { tag: format!("kant-test-{}-{count}", std::process::id()), hosts };
        if !is_root() || network.ip(&["netns", "add", &network.namespace(SWITCH)]).is_err() {
            eprintln!("skipped: only root can make network namespaces, with `ip` of iproute2");
            return Ok(None);
        }
        network.at(SWITCH, &["link", "add", "br0", "type", "bridge", "forward_delay", "0"])?;
        network.at(SWITCH, &["link", "set", "br0", "up"])?;
        for host in &network.hosts {
            let (space, port) = (network.namespace(host), format!("to-{host}"));
            let address = format!("{}/24", network.address(host)?);
            network.ip(&["netns", "add", &space])?;
            let pair = ["link", "add", &port, "type", "veth", "peer", "name", "eth0"];
            network.at(SWITCH, &[&pair[..], &["netns", &space]].concat())?;
            network.at(SWITCH, &["link", "set", &port, "master", "br0", "up"])?;
            network.at(host, &["addr", "add", &address, "dev", "eth0"])?;
            network.at(host, &["link", "set", "eth0", "up"])?;
            network.at(host, &["link", "set", "lo", "up"])?;
        }
        Ok(Some(network))
    }

    fn namespace(&self, host: &str) -> String {
        format!("{}-{host}", self.tag)
    }

    /// The address of a host.
    ///
    /// # Errors
    /// When there is no host of that name.
    pub fn address(&self, host: &str) -> anyhow::Result<String> {
        let place = self.hosts.iter().position(|one| one == host);
        Ok(format!("10.79.0.{}", place.with_context(|| format!("no host {host}"))? + 1))
    }

    /// A command on a host; the process becomes the program itself.
    #[must_use]
    pub fn command(&self, host: &str, program: &Path) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/run/netns/{}", self.namespace(host))).arg(program);
        command
    }

    /// A command on a host, with the host's name as its hostname.
    #[must_use]
    pub fn command_by_name(&self, host: &str, program: &Path) -> Command {
        let named = r#"hostname "$0" && exec "$@""#;
        let mut command = self.command(host, Path::new("unshare"));
        command.args(["--uts", "sh", "-c", named, host]).arg(program);
        command
    }

    /// Drops all packets to and from a host, without errors.
    ///
    /// # Errors
    /// When a command fails.
    pub fn cut_off(&self, host: &str) -> anyhow::Result<()> {
        self.at(SWITCH, &["link", "set", &format!("to-{host}"), "nomaster"])
    }

    /// Undoes [`Self::cut_off`].
    ///
    /// # Errors
    /// When a command fails.
    pub fn heal(&self, host: &str) -> anyhow::Result<()> {
        self.at(SWITCH, &["link", "set", &format!("to-{host}"), "master", "br0"])
    }

    /// Drops all packets from a host, which still receives packets: its neighbour entries point to
    /// a MAC address that no host has.
    ///
    /// # Errors
    /// When a command fails.
    pub fn silence(&self, host: &str) -> anyhow::Result<()> {
        self.neighbours(host, &["replace"], &["lladdr", "02:00:00:00:00:01", "nud", "permanent"])
    }

    /// Undoes [`Self::silence`].
    ///
    /// # Errors
    /// When a command fails.
    pub fn unsilence(&self, host: &str) -> anyhow::Result<()> {
        self.neighbours(host, &["del"], &[])
    }

    fn neighbours(&self, host: &str, verb: &[&str], what: &[&str]) -> anyhow::Result<()> {
        self.hosts.iter().filter(|other| *other != host).try_for_each(|other| {
            let address = self.address(other)?;
            let which = [address.as_str(), "dev", "eth0"];
            self.at(host, &[&["neigh"], verb, &which, what].concat())
        })
    }

    fn at(&self, host: &str, words: &[&str]) -> anyhow::Result<()> {
        self.ip(&[&["-n", &self.namespace(host)], words].concat())
    }

    fn ip(&self, words: &[&str]) -> anyhow::Result<()> {
        let mut command = Command::new("ip");
        let output = command.args(words).stdin(Stdio::null()).output();
        let output = output.context("failed to run ip")?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "ip {words:?} ended with {}: {stderr}", output.status);
        Ok(())
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for host in self.hosts.iter().map(String::as_str).chain([SWITCH]) {
            // Most likely it could not be made.
            let _ = self.ip(&["netns", "del", &self.namespace(host)]);
        }
    }
}
