//! The system calls and capabilities that sandboxes refuse.

/// Only administrators make these calls. Refused by `default` and `strict`, so that a fault in the
/// kernel's own check or in a setuid program is of no use.
pub const ADMINISTRATION: &[(&str, i64)] = &[
    ("acct", libc::SYS_acct),
    ("bpf", libc::SYS_bpf),
    ("clock_settime", libc::SYS_clock_settime),
    ("delete_module", libc::SYS_delete_module),
    ("finit_module", libc::SYS_finit_module),
    ("init_module", libc::SYS_init_module),
    #[cfg(target_arch = "x86_64")]
    ("ioperm", libc::SYS_ioperm),
    #[cfg(target_arch = "x86_64")]
    ("iopl", libc::SYS_iopl),
    ("kexec_file_load", libc::SYS_kexec_file_load),
    ("kexec_load", libc::SYS_kexec_load),
    ("open_by_handle_at", libc::SYS_open_by_handle_at),
    ("reboot", libc::SYS_reboot),
    ("settimeofday", libc::SYS_settimeofday),
    ("swapoff", libc::SYS_swapoff),
    ("swapon", libc::SYS_swapon),
];

/// Refused by `strict` too: what containers, mounts, profilers and kernel keys need, and what most
/// faults of the kernel were reached by in the last years.
pub const STRICT: &[(&str, i64)] = &[
    ("add_key", libc::SYS_add_key),
    ("chroot", libc::SYS_chroot),
    ("fsconfig", libc::SYS_fsconfig),
    ("fsmount", libc::SYS_fsmount),
    ("fsopen", libc::SYS_fsopen),
    ("fspick", libc::SYS_fspick),
    ("io_uring_enter", libc::SYS_io_uring_enter),
    ("io_uring_register", libc::SYS_io_uring_register),
    ("io_uring_setup", libc::SYS_io_uring_setup),
    ("keyctl", libc::SYS_keyctl),
    ("mount", libc::SYS_mount),
    ("mount_setattr", libc::SYS_mount_setattr),
    ("move_mount", libc::SYS_move_mount),
    ("open_tree", libc::SYS_open_tree),
    ("perf_event_open", libc::SYS_perf_event_open),
    ("pivot_root", libc::SYS_pivot_root),
    ("request_key", libc::SYS_request_key),
    ("setns", libc::SYS_setns),
    ("umount2", libc::SYS_umount2),
    ("unshare", libc::SYS_unshare),
    ("userfaultfd", libc::SYS_userfaultfd),
];

/// A filter cannot read its flags, which are in memory. Without it the C library uses clone(2).
pub const CLONE3: (&str, i64) = ("clone3", libc::SYS_clone3);

/// The flags of clone(2) for a new namespace.
pub const NAMESPACES: &[(&str, u64)] = &[
    ("CLONE_NEWCGROUP", libc::CLONE_NEWCGROUP as u64),
    ("CLONE_NEWIPC", libc::CLONE_NEWIPC as u64),
    ("CLONE_NEWNET", libc::CLONE_NEWNET as u64),
    ("CLONE_NEWNS", libc::CLONE_NEWNS as u64),
    ("CLONE_NEWPID", libc::CLONE_NEWPID as u64),
    ("CLONE_NEWUSER", libc::CLONE_NEWUSER as u64),
    ("CLONE_NEWUTS", libc::CLONE_NEWUTS as u64),
];

/// What a setuid program cannot get under `default` (linux/capability.h). It keeps what `su`, FUSE,
/// `ping`, Apptainer (device files of loops), `nvidia-modprobe` (device files of GPUs) and LIKWID
/// (model-specific registers) need.
pub const ADMINISTRATORS_CAPABILITIES: &[u32] = &[
    9,  // CAP_LINUX_IMMUTABLE
    16, // CAP_SYS_MODULE
    20, // CAP_SYS_PACCT
    22, // CAP_SYS_BOOT
    25, // CAP_SYS_TIME
    26, // CAP_SYS_TTY_CONFIG
    30, // CAP_AUDIT_CONTROL
    32, // CAP_MAC_OVERRIDE
    33, // CAP_MAC_ADMIN
    34, // CAP_SYSLOG
    35, // CAP_WAKE_ALARM
    36, // CAP_BLOCK_SUSPEND
    37, // CAP_AUDIT_READ
    39, // CAP_BPF
];

/// The kernel has room for no more; those that it does not know cannot be had.
pub const CAPABILITY_MAX: u32 = 63;
