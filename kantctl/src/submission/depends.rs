//! The options that tie a job to others: what it waits for of them, and what if that cannot come.
//! Never looks whether there are such jobs; the controller does.

use clap::Args;
use common::job::Dependency;

/// What a job waits for of other jobs.
#[derive(Args, Debug, Clone, Default, PartialEq)]
#[group(skip)]
pub struct Depends {
    /// Wait for other jobs: afterok:20:21, afterany:22_3, after:23+5 (minutes), afternotok,
    /// aftercorr (task for task), singleton; `,` between where all count, `?` where one is enough
    #[arg(short = 'd', long, value_name = "RULE:JOB[:JOB]", help_heading = super::options::WHERE)]
    pub dependency: Option<Dependency>,
    /// Cancel it once what it waits for cannot come any more [default: no, it goes on waiting]
    #[arg(long, value_name = "yes|no", value_parser = ["yes", "no"],
          help_heading = super::options::WHERE)]
    pub kill_on_invalid_dep: Option<String>,
}

impl Depends {
    /// Is it to be cancelled then?
    #[must_use]
    pub fn kills(&self) -> bool {
        self.kill_on_invalid_dep.as_deref() == Some("yes")
    }

    /// These, and those of `below` where nothing is said here.
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
        assert!(read(&["--kill-on-invalid-dep", "yes"]).kills(), "as Slurm takes it too");
        assert!(!read(&["--kill-on-invalid-dep", "no"]).kills());
        let error = read_words(&["--dependency=afterok"]).unwrap_err().to_string();
        assert!(error.contains("--dependency") && error.contains("RULE:JOB"), "{error}");
    }
}
