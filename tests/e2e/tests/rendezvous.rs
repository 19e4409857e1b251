//! The rendezvous of distributed programs, as in PyTorch, on two hosts: each task finds its rank
//! and the rendezvous address in the environment, and all tasks connect. Needs root, for two
//! network hosts, and python3. The script reads the variables of `env://` itself, without PyTorch.

use e2e::{Cluster, ClusterOptions, Machine, Network, Person};
use std::process::Command;

/// Rank 0 listens at the rendezvous address until all other ranks have sent their rank and host,
/// and then writes them to a file.
const SCRIPT: &str = r#"#!/usr/bin/env python3
import os, socket, time
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
place = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
me = "%d.%d of %s on %s" % (
    rank, int(os.environ["LOCAL_RANK"]), os.environ["LOCAL_WORLD_SIZE"], socket.gethostname())
if rank == 0:
    door = socket.create_server(place)
    met = [me] + [door.accept()[0].makefile().read() for _ in range(size - 1)]
    open("met", "w").write("\n".join(sorted(met)) + "\n")
else:
    for _ in range(600):
        try:
            door = socket.create_connection(place)
            break
        except ConnectionRefusedError:
            time.sleep(0.05)
    door.sendall(me.encode())
"#;

#[test]
fn tasks_on_two_hosts_connect_at_the_address_in_their_environment() -> anyhow::Result<()> {
    if Command::new("python3").arg("--version").output().is_err() {
        eprintln!("skipped: python3 is missing: apt-get install python3");
        return Ok(());
    }
    let Some(network) = Network::new(&[Cluster::CONTROLLER_HOST, "g1", "g2"])? else {
        return Ok(());
    };
    let nodes = vec![("g1", Machine::cpu()), ("g2", Machine::cpu())];
    let options = ClusterOptions { nodes, ..ClusterOptions::default() };
    let cluster = Cluster::start_on(network, options)?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let flags = ["-N", "2", "--ntasks-per-node=2", "--launch", "per-task", "--mem=128M"];
    let id = kantctl.submit(&flags, SCRIPT)?;
    kantctl.completed(&id)?;
    let met = kantctl.read("met")?;
    assert_eq!(met, "0.0 of 2 on g1\n1.1 of 2 on g1\n2.0 of 2 on g2\n3.1 of 2 on g2\n");
    Ok(())
}
