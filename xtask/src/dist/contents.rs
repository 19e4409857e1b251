//! What is in each package. Its control file and its scripts are in packaging/.

pub struct Package {
    pub name: &'static str,
    /// Programs for /usr/bin.
    pub programs: &'static [&'static str],
    /// Files of this repository, with their paths in the package.
    pub files: &'static [(&'static str, &'static str)],
    /// Whether it has the manual and the completions of kantctl.
    pub has_manual: bool,
}

/// The order is that of their dependencies.
pub const PACKAGES: [Package; 3] = [
    Package {
        name: "kant-client",
        programs: &["kantctl"],
        files: &[
            ("etc/kantctl.toml", "etc/kant/kantctl.toml"),
            ("etc/examples", "usr/share/doc/kant-client/examples"),
            ("LICENSE", "usr/share/doc/kant-client/copyright"),
        ],
        has_manual: true,
    },
    Package {
        name: "kant-controller",
        programs: &["kantctld", "kant-sim"],
        files: &[
            ("etc/kantctld.toml", "usr/share/doc/kant-controller/examples/kantctld.toml"),
            ("etc/grafana", "usr/share/doc/kant-controller/examples/grafana"),
            ("etc/prometheus", "usr/share/doc/kant-controller/examples/prometheus"),
            ("systemd/kantctld.service", "usr/lib/systemd/system/kantctld.service"),
            ("systemd/sysusers.d/kant.conf", "usr/lib/sysusers.d/kant-controller.conf"),
            ("systemd/tmpfiles.d/kant.conf", "usr/lib/tmpfiles.d/kant-controller.conf"),
            ("LICENSE", "usr/share/doc/kant-controller/copyright"),
        ],
        has_manual: false,
    },
    Package {
        name: "kant-node",
        programs: &["kantd"],
        files: &[
            ("etc/kantd.toml", "usr/share/doc/kant-node/examples/kantd.toml"),
            ("systemd/kantd.service", "usr/lib/systemd/system/kantd.service"),
            ("systemd/kant-router.service", "usr/lib/systemd/system/kant-router.service"),
            ("LICENSE", "usr/share/doc/kant-node/copyright"),
        ],
        has_manual: false,
    },
];

/// The shells, with the paths of their completions.
pub const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "usr/share/bash-completion/completions/kantctl"),
    ("zsh", "usr/share/zsh/vendor-completions/_kantctl"),
    ("fish", "usr/share/fish/vendor_completions.d/kantctl.fish"),
];

/// The directory of the manual.
pub const MANUAL: &str = "usr/share/man/man1";
