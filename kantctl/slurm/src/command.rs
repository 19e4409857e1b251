//! The Slurm commands that this program runs as, selected by the program's name.

use std::ffi::OsString;
use std::path::Path;

/// A Slurm command that this program can run as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlurmCommand {
    Sacct,
    Salloc,
    Sacctmgr,
    Sattach,
    Sbatch,
    Scancel,
    Scontrol,
    Sdiag,
    Sinfo,
    Sprio,
    Squeue,
    Sreport,
    Srun,
    Sshare,
}

impl SlurmCommand {
    pub const ALL: [SlurmCommand; 14] = [
        SlurmCommand::Sacct,
        SlurmCommand::Sacctmgr,
        SlurmCommand::Salloc,
        SlurmCommand::Sattach,
        SlurmCommand::Sbatch,
        SlurmCommand::Scancel,
        SlurmCommand::Scontrol,
        SlurmCommand::Sdiag,
        SlurmCommand::Sinfo,
        SlurmCommand::Sprio,
        SlurmCommand::Squeue,
        SlurmCommand::Sreport,
        SlurmCommand::Srun,
        SlurmCommand::Sshare,
    ];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sacct => "sacct",
            Self::Salloc => "salloc",
            Self::Sattach => "sattach",
            Self::Sacctmgr => "sacctmgr",
            Self::Sbatch => "sbatch",
            Self::Scancel => "scancel",
            Self::Scontrol => "scontrol",
            Self::Sdiag => "sdiag",
            Self::Sinfo => "sinfo",
            Self::Sprio => "sprio",
            Self::Squeue => "squeue",
            Self::Sreport => "sreport",
            Self::Srun => "srun",
            Self::Sshare => "sshare",
        }
    }

    /// The command that the program was called as; `None`: as kantctl.
    #[must_use]
    pub fn from_program(program: Option<&OsString>) -> Option<Self> {
        let name = Path::new(program?).file_name()?.to_str()?;
        Self::ALL.into_iter().find(|known| known.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_name_selects_a_slurm_command_only_if_it_matches_exactly() {
        let named = |text: &str| SlurmCommand::from_program(Some(&OsString::from(text)));
        assert_eq!(named("/opt/slurm/bin/squeue"), Some(SlurmCommand::Squeue));
        assert_eq!(named("sbatch"), Some(SlurmCommand::Sbatch));
        assert_eq!((named("kantctl"), named("squeues")), (None, None));
    }
}
