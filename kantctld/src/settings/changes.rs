//! The differences between two configurations, key by key.

use common::config::ControllerConfig;
use std::collections::BTreeSet;
use toml::{Table, Value};

/// Keys that are read only at startup.
const AT_START_ONLY: &[&str] = &[
    "state_dir",
    "socket",
    "listen",
    "advertise",
    "http_listen",
    "http_certificate",
    "http_key",
    "peers",
    "name",
    "cluster_key",
    "node_lost_after_seconds",
    "fence_after_seconds",
    "round_period_seconds",
    "accounting_kept_days",
    "audit_log",
    "audit_log_mib",
    "backup_every_hours",
    "backup_dir",
    "backups_kept",
    "snapshot_every_entries",
    "disk_reserve_mib",
    "mailer",
    "mailer_user",
    "mail_domain",
    "emulated",
    "log",
];

/// The differences, each like `queue.train.placement: "ebinpack" -> "spread"`, without the keys
/// that are read only at startup.
#[must_use]
pub fn changes(old: &ControllerConfig, new: &ControllerConfig) -> Vec<String> {
    let (mut old, mut new) = (config_as_table(old), config_as_table(new));
    for key in AT_START_ONLY {
        old.remove(*key);
        new.remove(*key);
    }
    let mut sentences = Vec::new();
    compare_tables("", &old, &new, &mut sentences);
    sentences
}

/// The changed keys that need a restart.
#[must_use]
pub fn needing_restart(running: &ControllerConfig, new: &ControllerConfig) -> Vec<String> {
    let (running, new) = (config_as_table(running), config_as_table(new));
    let differs = |key: &&&str| running.get(**key) != new.get(**key);
    AT_START_ONLY.iter().filter(differs).map(|key| (*key).to_owned()).collect()
}

fn config_as_table(config: &ControllerConfig) -> Table {
    // A configuration that was read from a table converts back.
    Table::try_from(config).unwrap_or_default()
}

fn compare_tables(path: &str, old: &Table, new: &Table, sentences: &mut Vec<String>) {
    let keys: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    for key in keys {
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        match (old.get(key), new.get(key)) {
            (old, new) if old == new => {}
            (Some(Value::Table(old)), Some(Value::Table(new))) => {
                compare_tables(&path, old, new, sentences);
            }
            (Some(Value::Array(old)), Some(Value::Array(new)))
                if old.iter().chain(new).all(Value::is_table) =>
            {
                compare_named(&path, old, new, sentences);
            }
            (old, new) => {
                sentences.push(format!("{path}: {} -> {}", format_value(old), format_value(new)))
            }
        }
    }
}

/// Compares arrays of tables that have a `name`.
fn compare_named(path: &str, old: &[Value], new: &[Value], sentences: &mut Vec<String>) {
    let name = |value: &Value| {
        value.get("name").and_then(Value::as_str).map(ToOwned::to_owned).unwrap_or_default()
    };
    let named = |tables: &[Value], wanted: &str| {
        tables.iter().find(|value| name(value) == wanted).and_then(Value::as_table).cloned()
    };
    let names: BTreeSet<String> = old.iter().chain(new).map(name).collect();
    for name in names {
        let path = format!("{path}.{name}");
        match (named(old, &name), named(new, &name)) {
            (Some(old), Some(new)) => compare_tables(&path, &old, &new, sentences),
            (Some(_), None) => sentences.push(format!("{path}: removed")),
            (None, _) => sentences.push(format!("{path}: added")),
        }
    }
}

fn format_value(value: Option<&Value>) -> String {
    value.map_or_else(|| "none".to_owned(), ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> ControllerConfig {
        common::config::read("kantctld.toml", text).unwrap()
    }

    #[test]
    fn each_changed_key_is_listed_with_its_path_and_both_values() {
        let old = read(
            "listen = \"a:1\"\n[[queue]]\nname = \"b\"\n[[queue]]\nname = \"a\"\n\
             quota = { h100 = 4 }\n",
        );
        let new = read(
            "listen = \"a:2\"\n[[queue]]\nname = \"a\"\n\
             placement = \"spread\"\nparent = \"c\"\nquota = { h100 = 8, cpus = 2 }\n\
             [[queue]]\nname = \"c\"\n[priority]\nsize = 7\n[roles]\noperators = [\"ada\"]\n",
        );
        assert_eq!(
            changes(&old, &new),
            [
                "priority.size: 0 -> 7",
                "queue.a.parent: none -> \"c\"",
                "queue.a.placement: \"ebinpack\" -> \"spread\"",
                "queue.a.quota.cpus: none -> 2",
                "queue.a.quota.h100: 4 -> 8",
                "queue.b: removed",
                "queue.c: added",
                "roles.operators: [] -> [\"ada\"]",
            ]
        );
        assert_eq!(needing_restart(&old, &new), ["listen"]);
    }

    #[test]
    fn a_file_written_in_another_order_is_the_same() {
        let one = read("[[queue]]\nname = \"a\"\n[[queue]]\nname = \"b\"\ndefault = true\n");
        let other = read("[[queue]]\ndefault = true\nname = \"b\"\n[[queue]]\nname = \"a\"\n");
        assert_eq!(changes(&one, &other), Vec::<String>::new());
    }

    #[test]
    fn the_keys_read_at_startup_exist() {
        let table = config_as_table(&ControllerConfig::default());
        assert!(AT_START_ONLY.iter().all(|key| table.contains_key(*key)));
    }
}
