//! What the kernel refuses the processes of a job: a seccomp filter, fewer capabilities that a
//! setuid program can get (the bounding set), and with `strict` no new rights by any program. They
//! are set between fork and exec, and all that the job starts inherits them.
//!
//! Sources: seccomp(2), capabilities(7), prctl(2).

mod lists;

use common::policy::Sandbox;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch, sock_filter,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The sandbox of one process, ready to be applied.
pub struct Prepared {
    filters: Vec<BpfProgram>,
    /// The capabilities that programs cannot get.
    dropped: Vec<u32>,
    no_new_privileges: bool,
    /// A process that cannot have it does not start. Where `default` cannot be applied, kantd says
    /// so at its start ([`check_support`]).
    is_required: bool,
}

impl Prepared {
    /// The sandbox of a process. Without root, which alone may set a filter for programs that gain
    /// rights, only `strict` has one. The runtime of a container needs what `strict` refuses:
    /// there [`oci_filter`] has the rest.
    ///
    /// # Errors
    /// [`BackendError`] for a list that the compiler of filters refuses.
    pub fn new(sandbox: Sandbox, is_root: bool, in_container: bool) -> Result<Self, BackendError> {
        let is_strict = sandbox == Sandbox::Strict;
        let mut filters = Vec::new();
        if is_strict || (sandbox == Sandbox::Default && is_root) {
            let mut first = filter(refuse_all(lists::ADMINISTRATION), libc::EPERM)?;
            if !is_strict {
                allow_other_architectures(&mut first);
            }
            filters.push(first);
        }
        if is_strict && !in_container {
            let mut rules = refuse_all(lists::STRICT);
            for number in with_x32(libc::SYS_clone) {
                rules.insert(number, namespace_rules()?);
            }
            filters.push(filter(rules, libc::EPERM)?);
            filters.push(filter(refuse_all(&[lists::CLONE3]), libc::ENOSYS)?);
        }
        let dropped = match sandbox {
            _ if !is_root => Vec::new(),
            Sandbox::Off => Vec::new(),
            Sandbox::Default => lists::ADMINISTRATORS_CAPABILITIES.to_vec(),
            Sandbox::Strict => (0..=lists::CAPABILITY_MAX).collect(),
        };
        Ok(Self { filters, dropped, no_new_privileges: is_strict, is_required: is_strict })
    }

    /// Applies it to the calling process, before it becomes the job's user. Safe between fork and
    /// exec. On failure errno is that of the failed call.
    pub fn apply(&self) -> bool {
        self.apply_all() || !self.is_required
    }

    fn apply_all(&self) -> bool {
        self.set_no_new_privileges()
            && self.dropped.iter().all(|capability| drop_capability(*capability))
            && self.filters.iter().all(install)
    }

    fn set_no_new_privileges(&self) -> bool {
        // SAFETY: passes numbers.
        !self.no_new_privileges
            || unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } == 0
    }
}

/// Removes a capability from the bounding set. An older kernel does not know the last ones.
fn drop_capability(capability: u32) -> bool {
    // SAFETY: passes numbers.
    let done = unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) } == 0;
    done || nix::Error::last_raw() == libc::EINVAL
}

/// The kernel's `struct sock_fprog` (linux/filter.h).
#[repr(C)]
struct FilterProgram {
    length: libc::c_ushort,
    filter: *const sock_filter,
}

fn install(filter: &BpfProgram) -> bool {
    // The kernel accepts at most 4,096 instructions.
    let program = FilterProgram { length: filter.len() as u16, filter: filter.as_ptr() };
    // Otherwise kernels before 5.16 make all filtered processes slower, against attacks on
    // speculative execution that a filter of a whole job does not need.
    let flags = libc::SECCOMP_FILTER_FLAG_SPEC_ALLOW;
    let operation = libc::SECCOMP_SET_MODE_FILTER;
    // SAFETY: the program points to live instructions of the length passed.
    unsafe { libc::syscall(libc::SYS_seccomp, operation, flags, &raw const program) == 0 }
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Refuses these calls whatever their arguments.
fn refuse_all(calls: &[(&str, i64)]) -> Rules {
    calls.iter().flat_map(|(_, number)| with_x32(*number)).map(|number| (number, vec![])).collect()
}

/// The number of a call, and that of the same call of the x32 interface, where a kernel has it
/// (syscall(2); arch/x86/entry/syscalls/syscall_64.tbl).
fn with_x32(number: i64) -> Vec<i64> {
    const X32: i64 = 0x4000_0000;
    const KEXEC_LOAD_X32: i64 = 528;
    match (cfg!(target_arch = "x86_64"), number) {
        (false, _) => vec![number],
        (true, libc::SYS_kexec_load) => vec![number, KEXEC_LOAD_X32 | X32],
        (true, _) => vec![number, number | X32],
    }
}

/// Lets calls of other architectures pass, such as those of 32-bit programs, which the compiler of
/// filters would end: the third instruction is where it decides.
fn allow_other_architectures(filter: &mut BpfProgram) {
    if let Some(decision) = filter.get_mut(2).filter(|one| one.k == libc::SECCOMP_RET_KILL_PROCESS)
    {
        decision.k = libc::SECCOMP_RET_ALLOW;
    }
}

/// Matches a clone(2) with any flag for a namespace, which is in its first argument.
fn namespace_rules() -> Result<Vec<SeccompRule>, BackendError> {
    let rule = |(_, flag): &(&str, u64)| {
        let masked = SeccompCmpOp::MaskedEq(*flag);
        let condition = SeccompCondition::new(0, SeccompCmpArgLen::Qword, masked, *flag)?;
        SeccompRule::new(vec![condition])
    };
    lists::NAMESPACES.iter().map(rule).collect()
}

fn filter(rules: Rules, error: i32) -> Result<BpfProgram, BackendError> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let refused = SeccompAction::Errno(error.unsigned_abs());
    SeccompFilter::new(rules, SeccompAction::Allow, refused, arch)?.try_into()
}

/// What `strict` refuses in a container, for the configuration of its runtime (OCI runtime
/// specification, config-linux.md).
pub fn oci_filter(sandbox: Sandbox) -> Option<Value> {
    if sandbox != Sandbox::Strict {
        return None;
    }
    let names: Vec<&str> = lists::STRICT.iter().map(|(name, _)| *name).collect();
    let refuse = |names: &[&str], error: i32, args: Value| {
        let action = "SCMP_ACT_ERRNO";
        json!({ "names": names, "action": action, "errnoRet": error, "args": args })
    };
    let mut refused = vec![
        refuse(&names, libc::EPERM, json!([])),
        refuse(&[lists::CLONE3.0], libc::ENOSYS, json!([])),
    ];
    refused.extend(lists::NAMESPACES.iter().map(|(_, flag)| {
        let masked =
            json!([{ "index": 0, "value": flag, "valueTwo": flag, "op": "SCMP_CMP_MASKED_EQ" }]);
        refuse(&["clone"], libc::EPERM, masked)
    }));
    Some(json!({ "defaultAction": "SCMP_ACT_ALLOW", "syscalls": refused }))
}

/// Tries the default sandbox on a thread that ends afterwards; adds a sentence if jobs have none.
pub fn check_support(missing: &mut Vec<String>) {
    let without = "jobs have no sandbox, and none start with `sandbox = \"strict\"`";
    let tried = std::thread::spawn(|| match Prepared::new(Sandbox::Default, true, false) {
        Ok(prepared) if prepared.apply_all() => None,
        Ok(_) => Some(nix::Error::last().to_string()),
        Err(error) => Some(error.to_string()),
    });
    if !nix::unistd::geteuid().is_root() {
        missing.push("`sandbox = \"default\"` of queues: kantd does not run as root".to_owned());
    } else if let Ok(Some(why)) = tried.join() {
        missing.push(format!("{without}: {why}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sandbox_compiles_and_off_and_an_unprivileged_default_refuse_nothing() {
        let sizes = |sandbox, is_root| {
            let prepared = Prepared::new(sandbox, is_root, false).unwrap();
            (prepared.filters.len(), prepared.dropped.len(), prepared.no_new_privileges)
        };
        assert_eq!(sizes(Sandbox::Off, true), (0, 0, false));
        assert_eq!(sizes(Sandbox::Default, false), (0, 0, false));
        assert_eq!(sizes(Sandbox::Default, true).0, 1);
        assert_eq!(sizes(Sandbox::Strict, false), (3, 0, true));
        assert_eq!(sizes(Sandbox::Strict, true), (3, 64, true));
    }

    #[test]
    fn only_the_default_lets_programs_of_other_architectures_pass() {
        let foreign = |sandbox| Prepared::new(sandbox, true, false).unwrap().filters[0][2].k;
        assert_eq!(foreign(Sandbox::Default), libc::SECCOMP_RET_ALLOW);
        assert_eq!(foreign(Sandbox::Strict), libc::SECCOMP_RET_KILL_PROCESS);
    }

    #[test]
    fn the_runtime_of_a_container_keeps_what_it_needs_and_its_processes_lose_it() {
        let prepared = Prepared::new(Sandbox::Strict, true, true).unwrap();
        assert_eq!(prepared.filters.len(), 1);
        let filter = oci_filter(Sandbox::Strict).unwrap().to_string();
        assert!(filter.contains("\"unshare\"") && filter.contains("MASKED_EQ"), "{filter}");
        assert_eq!(oci_filter(Sandbox::Default), None);
    }
}
