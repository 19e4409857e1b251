//! Soft limits of the submitting shell, applied to a job's processes (man 2 getrlimit), and the
//! supervisor's own limit of open files. Hard limits stay the node's.

use common::job::Rlimit;

/// A soft limit, prepared for use between fork and exec.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SoftLimit {
    resource: libc::__rlimit_resource_t,
    soft: libc::rlim_t,
}

/// Names of the limits, without `RLIMIT_`.
const RESOURCES: [(&str, libc::__rlimit_resource_t); 16] = [
    ("as", libc::RLIMIT_AS),
    ("core", libc::RLIMIT_CORE),
    ("cpu", libc::RLIMIT_CPU),
    ("data", libc::RLIMIT_DATA),
    ("fsize", libc::RLIMIT_FSIZE),
    ("locks", libc::RLIMIT_LOCKS),
    ("memlock", libc::RLIMIT_MEMLOCK),
    ("msgqueue", libc::RLIMIT_MSGQUEUE),
    ("nice", libc::RLIMIT_NICE),
    ("nofile", libc::RLIMIT_NOFILE),
    ("nproc", libc::RLIMIT_NPROC),
    ("rss", libc::RLIMIT_RSS),
    ("rtprio", libc::RLIMIT_RTPRIO),
    ("rttime", libc::RLIMIT_RTTIME),
    ("sigpending", libc::RLIMIT_SIGPENDING),
    ("stack", libc::RLIMIT_STACK),
];

/// The limits to apply: the default of open files, then the submitted ones known here.
pub fn soft_limits(asked: &[Rlimit], open_files: SoftLimit) -> Vec<SoftLimit> {
    let known = |limit: &Rlimit| {
        let (_, resource) = RESOURCES.iter().find(|(name, _)| *name == limit.name)?;
        Some(SoftLimit { resource: *resource, soft: limit.soft.unwrap_or(libc::RLIM_INFINITY) })
    };
    std::iter::once(open_files).chain(asked.iter().filter_map(known)).collect()
}

/// A limit of open files for a container runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileLimit {
    pub soft: u64,
    pub hard: u64,
}

/// The effective limit of open files; `None` if the hard limit is infinite.
pub fn open_file_limit(limits: &[SoftLimit]) -> Option<FileLimit> {
    let wanted = limits.iter().rfind(|limit| limit.resource == libc::RLIMIT_NOFILE)?;
    let mut now = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: writes into the live struct that is passed.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut now) };
    let hard = Some(now.rlim_max).filter(|hard| *hard != libc::RLIM_INFINITY)?;
    Some(FileLimit { soft: wanted.soft.min(hard), hard })
}

/// Sets a soft limit, at most to the hard one. A failure does not keep the job from running.
pub fn apply(limit: &SoftLimit) {
    let mut now = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: both calls read or write the live struct that is passed.
    unsafe {
        if libc::getrlimit(limit.resource, &raw mut now) == 0 {
            now.rlim_cur = limit.soft.min(now.rlim_max);
            libc::setrlimit(limit.resource, &raw const now);
        }
    }
}

/// Raises the supervisor's soft limit of open files to the hard one, because many tasks with their
/// own files need more than the usual 1024. Returns the former limit, for the tasks.
pub fn raise_open_files() -> SoftLimit {
    let mut now = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: writes into the live struct that is passed.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut now) };
    apply(&SoftLimit { resource: libc::RLIMIT_NOFILE, soft: libc::RLIM_INFINITY });
    SoftLimit { resource: libc::RLIMIT_NOFILE, soft: now.rlim_cur }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(name: &str, soft: Option<u64>) -> Rlimit {
        Rlimit { name: name.into(), soft }
    }

    #[test]
    fn submitted_limits_come_after_the_default_and_unknown_names_are_ignored() {
        let files = SoftLimit { resource: libc::RLIMIT_NOFILE, soft: 1024 };
        let asked = [limit("nofile", Some(99)), limit("core", None), limit("warp", Some(1))];
        let limits = soft_limits(&asked, files);
        let softs: Vec<_> = limits.iter().map(|l| (l.resource, l.soft)).collect();
        assert_eq!(
            softs,
            [
                (libc::RLIMIT_NOFILE, 1024),
                (libc::RLIMIT_NOFILE, 99),
                (libc::RLIMIT_CORE, libc::RLIM_INFINITY)
            ]
        );
    }
}
