//! Configuration of the OCI runtime for one process (OCI runtime specification, config.md and
//! config-linux.md). Of the user's input it has only variables, arguments and mounts.

use super::{Bind, Container};
use crate::container_support::Dialect;
use crate::step::sandbox;
use crate::step::task::FileLimit;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A process to run in the container.
pub struct Process<'a> {
    pub program: &'a [&'a [u8]],
    /// Its environment, without the image's variables.
    pub variables: &'a BTreeMap<String, String>,
    /// The submitted part of `variables`, which the image's variables override.
    pub submitted: &'a BTreeMap<String, String>,
    /// Its working directory, if the container has it; else the job's is used.
    pub work_dir: &'a str,
    /// Limit of open files, which runtimes change on their own.
    pub open_files: Option<FileLimit>,
}

/// The content of `config.json`.
pub fn build(container: &Container, process: &Process<'_>) -> Value {
    let account = &container.account;
    // runc first becomes root of its namespace, where only mapped ids exist.
    let (uid, gid) = match container.offer.dialect {
        Dialect::Crun => (account.uid.0, account.gid.0),
        Dialect::Runc => (0, 0),
    };
    let map = |inside: u32, outside: u32| {
        let pair = json!({ "containerID": inside, "hostID": outside, "size": 1 });
        json!([pair])
    };
    let args: Vec<String> =
        process.program.iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect();
    let limits: Vec<Value> = process
        .open_files
        .iter()
        .map(|limit| json!({ "type": "RLIMIT_NOFILE", "soft": limit.soft, "hard": limit.hard }))
        .collect();
    let mut config = json!({
        "ociVersion": "1.0.2",
        "root": { "path": container.root, "readonly": container.image.read_only },
        "process": {
            "terminal": false,
            "user": { "uid": uid, "gid": gid, "umask": container.umask & 0o777 },
            "args": args,
            "env": environment(container, process),
            "cwd": work_dir(container, process),
            "capabilities": { "bounding": [], "effective": [], "permitted": [], "inheritable": [],
                              "ambient": [] },
            "rlimits": limits,
            "noNewPrivileges": true,
        },
        "mounts": container.binds.iter().map(mount).collect::<Vec<_>>(),
        "annotations": { "run.oci.keep_original_groups": "1" },
        "linux": {
            "uidMappings": map(uid, account.uid.0),
            "gidMappings": map(gid, account.gid.0),
            "namespaces": [{ "type": "user" }, { "type": "mount" }],
        },
    });
    if let Some(filter) = sandbox::oci_filter(container.sandbox) {
        config["linux"]["seccomp"] = filter;
    }
    config
}

fn mount(bind: &Bind) -> Value {
    let writing = if bind.read_only { "ro" } else { "rw" };
    json!({
        "destination": bind.target,
        "type": "bind",
        "source": bind.source,
        "options": ["rbind", writing],
    })
}

/// The image's variables override submitted ones (paths of its programs and libraries), but not
/// those that the node sets for the job.
fn environment(container: &Container, process: &Process<'_>) -> Vec<String> {
    let mut all = process.variables.clone();
    for (name, value) in container.image.environment.iter().filter_map(|v| v.split_once('=')) {
        if process.variables.get(name) == process.submitted.get(name) {
            all.insert(name.to_owned(), value.to_owned());
        }
    }
    all.into_iter().map(|(name, value)| format!("{name}={value}")).collect()
}

fn work_dir<'a>(container: &'a Container, process: &Process<'a>) -> &'a str {
    let is_seen = |bind: &Bind| std::path::Path::new(process.work_dir).starts_with(&bind.target);
    match container.binds.iter().any(is_seen) {
        true => process.work_dir,
        false => &container.work_dir,
    }
}
