//! What the OCI runtime is told of one process (OCI runtime specification, config.md and
//! config-linux.md). Never anything that the user wrote but variables, words and mounts.

use super::{Bind, Container};
use crate::container::Dialect;
use crate::step::task::FileLimit;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A process that is to run in the container.
pub struct Process<'a> {
    /// The program and its arguments.
    pub program: &'a [&'a [u8]],
    /// Its environment, but for what the image adds.
    pub variables: &'a BTreeMap<String, String>,
    /// What of that was submitted: there the image has the better word.
    pub submitted: &'a BTreeMap<String, String>,
    /// Where it wants to start; else where the job does.
    pub work_dir: &'a str,
    /// Its limit of open files, which runtimes change for themselves.
    pub open_files: Option<FileLimit>,
}

/// The whole configuration.
pub fn of(container: &Container, process: &Process<'_>) -> Value {
    let account = &container.account;
    // runc becomes root of its namespace first, and has only what is mapped.
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
    json!({
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
    })
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

/// The image says where its programs and libraries are; whom the job runs for, and what it was
/// given, the node says.
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
