//! The sandboxes of jobs: what the kernel refuses under each, and what it does not.

use crate::harness::{StepHarness, assert_exited};
use crate::step_container::{in_container, node, runtimes};
use common::policy::Sandbox;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

/// A line of Perl that makes a system call and prints its error number.
fn call(number: i64, argument: u64) -> String {
    format!("perl -e 'syscall({number}, {argument}, 0); print $! + 0, qq(\\n)'")
}

/// Clocks other than the real one cannot be set: without a filter it is EINVAL for everyone.
fn set_clock() -> String {
    call(libc::SYS_clock_settime, libc::CLOCK_MONOTONIC.unsigned_abs().into())
}

/// A new user namespace, which any user may have.
fn unshare() -> String {
    call(libc::SYS_unshare, libc::CLONE_NEWUSER.unsigned_abs().into())
}

/// Without a size of its arguments it is EINVAL.
fn clone3() -> String {
    call(libc::SYS_clone3, 0)
}

/// What a job of this sandbox prints.
async fn printed(harness: &mut StepHarness, sandbox: Sandbox, script: &str) -> Vec<String> {
    let mut order = harness.order(&format!("({script}) > {sandbox:?} 2>&1\ntrue"));
    order.sandbox = sandbox;
    let end = harness.run(order).await;
    assert_exited(&end, 0);
    harness.written(&format!("{sandbox:?}")).lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn default_refuses_what_administrators_do_and_strict_also_namespaces() {
    let Some(mut harness) = StepHarness::new().await else { return };
    let script = format!("{}; {}; {}; echo one | cat", set_clock(), unshare(), clone3());
    let mut errors = Vec::new();
    for sandbox in [Sandbox::Off, Sandbox::Default, Sandbox::Strict] {
        errors.push(printed(&mut harness, sandbox, &script).await);
    }
    // 1 is EPERM, 22 EINVAL. A host may forbid namespaces by itself: then it does so for all.
    let namespaces = errors[0][1].clone();
    assert_eq!(errors[0], ["22", &namespaces, "22", "one"]);
    assert_eq!(errors[1], ["1", &namespaces, "22", "one"]);
    // 38 is ENOSYS.
    assert_eq!(errors[2], ["1", "1", "38", "one"]);
}

#[tokio::test]
async fn strict_refuses_to_clone_into_namespaces_also_by_the_numbers_of_x32() {
    let Some(mut harness) = StepHarness::new().await else { return };
    let flags = libc::CLONE_NEWUSER.unsigned_abs().into();
    let mut calls = vec![call(libc::SYS_clone, flags)];
    if cfg!(target_arch = "x86_64") {
        calls.push(call(libc::SYS_clone | 0x4000_0000, flags));
    }
    let errors = printed(&mut harness, Sandbox::Strict, &calls.join("; ")).await;
    assert_eq!(errors, vec!["1"; calls.len()]);
}

#[tokio::test]
async fn setuid_programs_keep_working_by_default_and_gain_nothing_under_strict() {
    let Some(mut harness) = StepHarness::new().await else { return };
    let (program, secret) = (harness.work_dir().join("reader"), harness.work_dir().join("secret"));
    fs::copy("/bin/cat", &program).unwrap();
    std::os::unix::fs::chown(&program, Some(0), Some(0)).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o4755)).unwrap();
    fs::write(&secret, "of root\n").unwrap();
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
    let script = "./reader secret; ./reader /proc/self/status | grep CapEff | cut -f 2";
    let off = printed(&mut harness, Sandbox::Off, script).await;
    let default = printed(&mut harness, Sandbox::Default, script).await;
    let strict = printed(&mut harness, Sandbox::Strict, script).await;
    assert_eq!((off[0].as_str(), default[0].as_str()), ("of root", "of root"));
    assert!(strict[0].ends_with("Permission denied"), "{strict:?}");
    let bits = |lines: &[String]| u64::from_str_radix(&lines[1], 16).unwrap();
    let (module, admin) = (1 << 16, 1 << 21);
    assert_eq!(bits(&off) & (module | admin), module | admin);
    assert_eq!(bits(&default) & (module | admin), admin);
    assert_eq!(bits(&strict), 0);
}

#[tokio::test]
async fn processes_in_containers_have_the_sandbox_and_their_runtime_works() {
    for runtime in runtimes() {
        let Some((mut harness, image)) = node(&runtime).await else { return };
        for (sandbox, expected) in [(Sandbox::Default, ["1", "0"]), (Sandbox::Strict, ["1", "1"])] {
            let script = format!("({}; {}) > {sandbox:?}", set_clock(), unshare());
            let mut order = in_container(harness.order(&script), &image);
            order.sandbox = sandbox;
            let end = harness.run(order).await;
            assert_exited(&end, 0);
            let printed = harness.written(&format!("{sandbox:?}"));
            assert_eq!(printed.lines().collect::<Vec<_>>(), expected, "{runtime:?} {sandbox:?}");
        }
    }
}
