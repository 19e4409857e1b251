//! Options for dependencies on other jobs.

use clap::Args;
use common::job::Dependency;

/// Dependencies of a job, and their failure policy.
#[derive(Args, Debug, Clone, Default, PartialEq)]
#[group(skip)]
pub struct Depends {
    /// Wait for other jobs: afterok:20:21, afterany:22_3, after:23+5 (minutes), afternotok,
    /// aftercorr (task by task), singleton; separated by `,` if all are required, by `?` if one is
    /// enough
    #[arg(short = 'd', long, value_name = "RULE:JOB[:JOB]", help_heading = super::options::WHERE)]
    pub dependency: Option<Dependency>,
    /// Cancel the job when its dependency can no longer be satisfied [default: no, it keeps
    /// waiting]
    #[arg(long, value_name = "yes|no", value_parser = ["yes", "no"],
          help_heading = super::options::WHERE)]
    pub kill_on_invalid_dep: Option<String>,
}

impl Depends {
    /// Whether the job is cancelled when its dependency cannot be satisfied.
    #[must_use]
    pub fn kills(&self) -> bool {
        self.kill_on_invalid_dep.as_deref() == Some("yes")
    }

    /// Overrides the options `below`.
    #[must_use]
    pub fn over(self, below: Self) -> Self {
        Self {
            dependency: self.dependency.or(below.dependency),
            kill_on_invalid_dep: self.kill_on_invalid_dep.or(below.kill_on_invalid_dep),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::options::read_words;

    #[test]
    fn a_dependency_is_read_as_sbatch_reads_it() {
        let read = |words: &[&str]| read_words(words).unwrap().depends;
        let depends = read(&["-d", "afterok:20:21", "--kill-on-invalid-dep=yes"]);
        assert_eq!(depends.dependency.as_ref().unwrap().to_string(), "afterok:20,afterok:21");
        assert!(depends.kills() && !read(&["--dependency=singleton"]).kills());
        assert!(read(&["--kill-on-invalid-dep", "yes"]).kills(), "Slurm also accepts this form");
        assert!(!read(&["--kill-on-invalid-dep", "no"]).kills());
        let error = read_words(&["--dependency=afterok"]).unwrap_err().to_string();
        assert!(error.contains("--dependency") && error.contains("RULE:JOB"), "{error}");
    }
}
