//! Tests of configuration files.

use super::*;
use common::causes::with_causes;
use common::id::Uid;
use std::collections::BTreeSet;
use std::path::Path;

fn read(dir: &Path, text: &str) -> Result<Settings, String> {
    let path = dir.join("kantctld.toml");
    std::fs::write(&path, text).unwrap();
    let file = ConfigFile::read(Some(&path)).map_err(|e| with_causes(&e))?;
    check(&file.config).and_then(|()| settings(&file)).map_err(|e| with_causes(&e))
}

fn error_of(text: &str) -> Option<String> {
    read(tempfile::tempdir().unwrap().path(), text).err()
}

#[test]
fn a_valid_configuration_is_accepted() {
    for listen in ["", "127.0.0.1:7600", "[::]:7600", "head.example:7600"] {
        assert_eq!(error_of(&format!("listen = {listen:?}")), None);
    }
    assert_eq!(error_of("log = \"info,kantctld::raft=debug\""), None);
}

#[test]
fn an_address_without_host_or_port_is_refused() {
    for listen in ["head", ":7600", "head:", "head:70000", "::1:7600", "tcp://head:7600"] {
        let message = error_of(&format!("listen = {listen:?}")).unwrap();
        assert!(message.contains("`listen`") && message.contains(listen), "{message}");
    }
}

#[test]
fn mail_settings_are_checked() {
    assert_eq!(error_of("mailer = \"/usr/bin/mail\"\nmail_domain = \"x.example.org\""), None);
    for (text, word) in [
        ("mailer = \"mail -v\"", "not an absolute path"),
        ("mail_domain = \"@x\"", "not a domain"),
        ("mail_domain = \"a b\"", "not a domain"),
        ("mail_domain = \"a,b@c\"", "not a domain"),
    ] {
        let message = error_of(text).unwrap();
        assert!(message.contains(word), "{text}: {message}");
    }
    if nix::unistd::geteuid().is_root() {
        for user in ["root", "nobody-of-that-name"] {
            let message = error_of(&format!("mailer = \"/m\"\nmailer_user = \"{user}\"")).unwrap();
            assert!(message.contains(user) && message.contains("mailer_user"), "{message}");
        }
    }
}

#[test]
fn the_audit_log_is_a_file_of_the_state_directory_or_an_absolute_path() {
    for name in ["", "audit.log", "/var/log/kant/audit.log"] {
        assert_eq!(error_of(&format!("audit_log = {name:?}")), None, "{name}");
    }
    for name in [".", "..", "/", "logs/audit.log", "../audit.log", "/var/log/"] {
        let message = error_of(&format!("audit_log = {name:?}")).unwrap();
        assert!(message.contains("`audit_log`") && message.contains(name), "{message}");
    }
}

#[test]
fn values_that_cannot_work_are_refused() {
    let keys = [
        "node_lost_after_seconds",
        "round_period_seconds",
        "snapshot_every_entries",
        "user_text_mib",
    ];
    for key in keys {
        let message = error_of(&format!("{key} = 0")).unwrap();
        assert!(message.contains(key) && message.contains("set 1 or more"), "{message}");
    }
    for log in ["shouty", "info,shouty"] {
        let message = error_of(&format!("log = {log:?}")).unwrap();
        assert!(message.contains("`shouty` is neither a level"), "{message}");
    }
    assert_eq!(error_of("log = \"warn,kantctld\""), None);
}

#[test]
fn a_fence_that_leaves_no_time_before_the_node_is_lost_is_refused_with_the_way_out() {
    for text in ["", "fence_after_seconds = 0", "fence_after_seconds = 260"] {
        assert_eq!(error_of(text), None, "{text}");
    }
    assert_eq!(error_of("node_lost_after_seconds = 20"), None, "no fence is left by default");
    for text in ["fence_after_seconds = 261", "fence_after_seconds = 400"] {
        let message = error_of(text).unwrap();
        assert!(message.contains("set it to 260 or less (0: nodes never"), "{message}");
        assert!(message.contains("`node_lost_after_seconds` to"), "{message}");
    }
    let message = error_of(
        "fence_after_seconds = 20\nkill_grace_seconds = 5\n\
                            node_lost_after_seconds = 30",
    )
    .unwrap();
    assert!(message.contains("to 15 or less") && message.contains("to 35 or more"), "{message}");
}

#[test]
fn likely_mistakes_in_the_file_are_warned_of() {
    let dir = tempfile::tempdir().unwrap();
    let text = "[[queue]]\nname = \"top\"\nquota = { gpus = 3 }\n[[queue]]\nname = \"a\"\n\
                parent = \"top\"\nquota = { gpus = 9 }\n";
    let message = warnings(&read(dir.path(), text).unwrap());
    assert!(message.iter().any(|line| line.contains("top")), "{message:?}");
    assert_eq!(warnings(&read(dir.path(), "").unwrap()), Vec::<String>::new());
}

#[test]
fn an_invalid_log_filter_is_refused() {
    let message = error_of("log = \"kantctld=loudly\"").unwrap();
    assert!(message.contains("log filter `kantctld=loudly`: "), "{message}");
}

#[test]
fn users_and_groups_of_this_host_may_open_a_queue_and_others_are_refused_with_the_line() {
    let dir = tempfile::tempdir().unwrap();
    let text = "[[queue]]\nname = \"a\"\nusers = [\"root\", \"77\"]\ngroups = [\"root\"]\n";
    let access = read(dir.path(), text).unwrap().queues[0].access.clone();
    assert_eq!(access.users, BTreeSet::from([Uid(0), Uid(77)]));
    assert_eq!(access.groups.len(), 1);
    let message = error_of("[[queue]]\nname = \"a\"\nusers = [\"no-such-user\"]\n").unwrap();
    assert!(message.contains("line 3") && message.contains("no user `no-such-user`"), "{message}");
}

#[test]
fn a_topology_file_is_relative_to_the_configuration_and_named_if_missing() {
    let dir = tempfile::tempdir().unwrap();
    let text = "topology_file = \"racks.csv\"\n";
    let message = read(dir.path(), text).unwrap_err();
    assert!(message.contains("racks.csv") && message.contains("kantctld.toml"), "{message}");
    std::fs::write(dir.path().join("racks.csv"), "name,leaf\ng1,l1\n").unwrap();
    assert_eq!(read(dir.path(), text).unwrap().topology.0.len(), 1);
    std::fs::write(dir.path().join("racks.csv"), "name,leaf\ng1,l1\ng1,l2\n").unwrap();
    let message = read(dir.path(), text).unwrap_err();
    assert!(message.contains("racks.csv: line 3: node g1"), "{message}");
}

#[test]
fn the_examples_in_etc_are_valid() {
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
    assert!(seen >= 2, "kantctld.toml and the example with several teams");
}
