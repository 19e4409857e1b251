//! What a configuration file says of itself before anything is started. Never opens a socket.

use super::*;
use common::id::Uid;
use std::collections::BTreeSet;
use std::path::Path;

fn read(dir: &Path, text: &str) -> Result<Settings, String> {
    let path = dir.join("kantctld.toml");
    std::fs::write(&path, text).unwrap();
    let file = ConfigFile::read(Some(&path)).map_err(|e| with_causes(&e))?;
    check(&file.config).and_then(|()| settings(&file)).map_err(|e| with_causes(&e))
}

fn complaint(text: &str) -> Option<String> {
    read(tempfile::tempdir().unwrap().path(), text).err()
}

#[test]
fn a_good_configuration_is_not_complained_of() {
    for listen in ["", "127.0.0.1:7600", "[::]:7600", "head.example:7600"] {
        assert_eq!(complaint(&format!("listen = {listen:?}")), None);
    }
    assert_eq!(complaint("log = \"info,kantctld::raft=debug\""), None);
}

#[test]
fn an_address_without_a_host_or_a_port_is_found_before_the_start() {
    for listen in ["head", ":7600", "head:", "head:70000", "::1:7600", "tcp://head:7600"] {
        let told = complaint(&format!("listen = {listen:?}")).unwrap();
        assert!(told.contains("`listen`") && told.contains(listen), "{told}");
    }
}

#[test]
fn a_mailer_is_a_path_and_its_domain_and_user_make_sense() {
    assert_eq!(complaint("mailer = \"/usr/bin/mail\"\nmail_domain = \"x.example.org\""), None);
    for (text, word) in [
        ("mailer = \"mail -v\"", "no absolute path"),
        ("mail_domain = \"@x\"", "no domain"),
        ("mail_domain = \"a b\"", "no domain"),
        ("mail_domain = \"a,b@c\"", "no domain"),
    ] {
        let told = complaint(text).unwrap();
        assert!(told.contains(word), "{text}: {told}");
    }
    if nix::unistd::geteuid().is_root() {
        for user in ["root", "nobody-of-that-name"] {
            let told = complaint(&format!("mailer = \"/m\"\nmailer_user = \"{user}\"")).unwrap();
            assert!(told.contains(user) && told.contains("mailer_user"), "{told}");
        }
    }
}

#[test]
fn the_audit_log_is_a_file_of_the_state_directory_or_a_full_path() {
    for name in ["", "audit.log", "/var/log/kant/audit.log"] {
        assert_eq!(complaint(&format!("audit_log = {name:?}")), None, "{name}");
    }
    for name in [".", "..", "/", "logs/audit.log", "../audit.log", "/var/log/"] {
        let told = complaint(&format!("audit_log = {name:?}")).unwrap();
        assert!(told.contains("`audit_log`") && told.contains(name), "{told}");
    }
}

#[test]
fn what_can_only_go_wrong_is_found_before_the_start() {
    let keys = [
        "node_lost_after_seconds",
        "round_period_seconds",
        "snapshot_every_entries",
        "user_text_mib",
    ];
    for key in keys {
        let told = complaint(&format!("{key} = 0")).unwrap();
        assert!(told.contains(key) && told.contains("write 1 or more"), "{told}");
    }
    for log in ["shouty", "info,shouty"] {
        let told = complaint(&format!("log = {log:?}")).unwrap();
        assert!(told.contains("`shouty` is no level"), "{told}");
    }
    assert_eq!(complaint("log = \"warn,kantctld\""), None);
}

#[test]
fn what_the_file_alone_shows_to_be_unmeant_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let text = "[[queue]]\nname = \"top\"\nquota = { gpus = 3 }\n[[queue]]\nname = \"a\"\n\
                parent = \"top\"\nquota = { gpus = 9 }\n";
    let told = warnings(&read(dir.path(), text).unwrap());
    assert!(told.iter().any(|line| line.contains("top")), "{told:?}");
    assert_eq!(warnings(&read(dir.path(), "").unwrap()), Vec::<String>::new());
}

#[test]
fn a_log_filter_that_is_none_is_found_before_the_start() {
    let told = complaint("log = \"kantctld=loudly\"").unwrap();
    assert!(told.contains("log filter `kantctld=loudly`: "), "{told}");
}

#[test]
fn users_and_groups_of_this_host_may_open_a_queue_and_others_are_refused_with_the_line() {
    let dir = tempfile::tempdir().unwrap();
    let text = "[[queue]]\nname = \"a\"\nusers = [\"root\", \"77\"]\ngroups = [\"root\"]\n";
    let access = read(dir.path(), text).unwrap().queues[0].access.clone();
    assert_eq!(access.users, BTreeSet::from([Uid(0), Uid(77)]));
    assert_eq!(access.groups.len(), 1);
    let told = complaint("[[queue]]\nname = \"a\"\nusers = [\"no-such-user\"]\n").unwrap();
    assert!(told.contains("line 3") && told.contains("no user `no-such-user`"), "{told}");
}

#[test]
fn a_topology_file_is_found_beside_the_configuration_or_named_as_missing() {
    let dir = tempfile::tempdir().unwrap();
    let text = "topology_file = \"racks.csv\"\n";
    let told = read(dir.path(), text).unwrap_err();
    assert!(told.contains("racks.csv") && told.contains("kantctld.toml"), "{told}");
    std::fs::write(dir.path().join("racks.csv"), "name,leaf\ng1,l1\n").unwrap();
    assert_eq!(read(dir.path(), text).unwrap().topology.0.len(), 1);
    std::fs::write(dir.path().join("racks.csv"), "name,leaf\ng1,l1\ng1,l2\n").unwrap();
    let told = read(dir.path(), text).unwrap_err();
    assert!(told.contains("racks.csv: line 3: node g1"), "{told}");
}

#[test]
fn the_examples_of_etc_are_good_as_they_are() {
    let etc = Path::new(env!("CARGO_MANIFEST_DIR")).join("../etc");
    let mut seen = 0;
    for dir in [etc.clone(), etc.join("examples")] {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if name.starts_with("kantctld") && name.ends_with(".toml") {
                seen += 1;
                let file = ConfigFile::read(Some(&path)).unwrap();
                assert_eq!(settings(&file).map(drop).map_err(|e| e.to_string()), Ok(()), "{name}");
            }
        }
    }
    assert!(seen >= 2, "kantctld.toml and the example of several teams");
}
