//! The user of the program that listens on a port. Between the choice of a replica's port and the
//! start of its program, a program of another user can bind that port; it must get no requests.

use super::attempt::ProbeFailure;
use common::id::Uid;
use std::ops::Range;

/// ::1, which neither probes nor routers connect to.
const LOOPBACK_V6: &str = "00000000000000000000000001000000";

/// Refuses a port on which a program of another user listens. Programs of root are accepted, and
/// those of the owner's subordinate users, which containers have (subuid(5)).
///
/// # Errors
/// [`ProbeFailure::Stranger`], or [`ProbeFailure::Sockets`] if the kernel's table cannot be read.
pub(super) async fn check(port: u16, owner: Uid, name: &str) -> Result<(), ProbeFailure> {
    // A host without IPv6 has no second table, and few hosts have subordinate users.
    let read = async |path| tokio::fs::read_to_string(path).await;
    let or_none = async |path| read(path).await.unwrap_or_default();
    let sockets = read("/proc/net/tcp").await.map_err(ProbeFailure::Sockets)?;
    let sockets = sockets + &or_none("/proc/net/tcp6").await;
    if stranger(&sockets, port, owner, &[]).is_none() {
        return Ok(());
    }
    let subordinate = subordinates(&or_none("/etc/subuid").await, owner, name);
    let found = stranger(&sockets, port, owner, &subordinate);
    found.map_or(Ok(()), |uid| Err(ProbeFailure::Stranger { port, uid }))
}

/// Another user who listens on a port.
fn stranger(sockets: &str, port: u16, owner: Uid, subordinate: &[Range<u32>]) -> Option<Uid> {
    let is_own = |uid: Uid| {
        uid == owner || uid.0 == 0 || subordinate.iter().any(|range| range.contains(&uid.0))
    };
    listeners(sockets, port).find(|uid| !is_own(*uid))
}

/// The users who listen on a port. Source: proc_pid_net(5): `local_address` with the port in
/// hexadecimal, then `rem_address`, `st` (0A: listening), three columns, and `uid`.
fn listeners(sockets: &str, port: u16) -> impl Iterator<Item = Uid> {
    sockets.lines().filter_map(move |line| {
        let mut words = line.split_whitespace().skip(1);
        let (address, number) = words.next()?.rsplit_once(':')?;
        let is_port = u16::from_str_radix(number, 16) == Ok(port) && address != LOOPBACK_V6;
        let is_ours = is_port && words.nth(1)? == "0A";
        is_ours.then(|| words.nth(3)?.parse().ok().map(Uid)).flatten()
    })
}

/// The subordinate users of a user, by name or number. Source: subuid(5).
fn subordinates(text: &str, owner: Uid, name: &str) -> Vec<Range<u32>> {
    let range = |line: &str| {
        let mut fields = line.split(':');
        let user = fields.next()?;
        let is_owner = user == name || user.parse() == Ok(owner.0);
        let (first, count): (u32, u32) =
            (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
        is_owner.then(|| first..first.saturating_add(count))
    };
    text.lines().filter_map(range).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOCKETS: &str = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 7 1 0
   1: 0100007F:1F90 0100007F:A1B2 01 00000000:00000000 00:00000000 00000000  1001        0 8 1 0
   2: 00000000000000000000000000000000:1F90 00000000000000000000000000000000:0000 0A \
00000000:00000000 00:00000000 00000000  1002        0 9 1 0
   3: 00000000:1F92 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1003        0 7 1 0
   4: 00000000:1F91 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 7 1 0
   5: 00000000000000000000000001000000:1F91 00000000000000000000000000000000:0000 0A \
00000000:00000000 00:00000000 00000000  1003        0 9 1 0
";

    #[test]
    fn only_those_who_listen_on_the_port_are_found_in_both_tables() {
        let found: Vec<Uid> = listeners(SOCKETS, 8080).collect();
        assert_eq!(found, [Uid(1000), Uid(1002)]);
        assert_eq!(listeners(SOCKETS, 8083).count(), 0);
    }

    #[test]
    fn subordinate_users_are_found_by_name_and_by_number() {
        let text = "ada:100000:65536\n1000:300000:10\nbob:200000:65536\nbroken\n";
        assert_eq!(subordinates(text, Uid(1000), "ada"), [100_000..165_536, 300_000..300_010]);
    }

    #[test]
    fn users_other_than_the_owner_root_and_subordinates_are_strangers() {
        assert_eq!(stranger(SOCKETS, 8080, Uid(1000), &[]), Some(Uid(1002)));
        assert_eq!(stranger(SOCKETS, 8080, Uid(1002), &[]), Some(Uid(1000)));
        let subordinate = subordinates("ada:1002:1\n", Uid(1000), "ada");
        assert_eq!(stranger(SOCKETS, 8080, Uid(1000), &subordinate), None);
        assert_eq!(stranger(SOCKETS, 8081, Uid(1000), &[]), None, "root, and another user on ::1");
    }

    #[tokio::test]
    async fn the_tables_of_this_host_are_read() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let me = Uid(nix::unistd::geteuid().as_raw());
        let tables = std::fs::read_to_string("/proc/net/tcp").unwrap();
        assert_eq!(listeners(&tables, port).collect::<Vec<_>>(), [me]);
        assert!(check(port, me, "").await.is_ok());
    }
}
