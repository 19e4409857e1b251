//! The fields of sacct as one kind of thing: those that kant knows, and those that it shows empty.
//! Never computes one; `job_fields` does.

use super::job_field::Line;
use super::job_fields::{ACCOUNT_EMPTY, FIELDS, JobField, in_account};
use jiff::tz::TimeZone;

/// A field of sacct.
#[derive(Debug, Clone, Copy)]
pub enum Account {
    /// One that is known.
    Known(&'static JobField),
    /// One that is always empty.
    Empty(&'static str),
}

impl Account {
    /// Its title: its name in sacct's own spelling.
    #[must_use]
    pub const fn title(&self) -> &'static str {
        match self {
            Self::Known(field) => field.account,
            Self::Empty(name) => name,
        }
    }

    /// What it shows of a job.
    #[must_use]
    pub fn show(&self, line: &Line<'_>, zone: &TimeZone) -> String {
        match self {
            Self::Empty(_) => String::new(),
            Self::Known(field) => {
                let shown = (field.value)(line).in_account(is_time(field.account), zone);
                match field.account {
                    "NodeList" if shown.is_empty() => "None assigned".to_owned(),
                    _ => shown,
                }
            }
        }
    }
}

fn is_time(name: &str) -> bool {
    matches!(name, "Start" | "End" | "Submit" | "Eligible")
}

/// Letters that a field takes where none are given (man sacct shows most in ten).
fn letters(name: &str) -> usize {
    match name {
        "JobID" | "JobIDRaw" => 12,
        "ExitCode" | "DerivedExitCode" | "NNodes" | "NTasks" | "NCPUS" => 8,
        "NodeList" => 15,
        "Start" | "End" | "Submit" | "Eligible" => 19,
        "WorkDir" | "Comment" | "Reason" | "Reservation" => 20,
        _ => 10,
    }
}

/// The field of a name, the letters it takes, and whether it stands left as ids do.
#[must_use]
pub fn field(name: &str) -> Option<(Account, usize, bool)> {
    let empty = || ACCOUNT_EMPTY.iter().find(|known| known.eq_ignore_ascii_case(name));
    let found = in_account(name).map(Account::Known).or_else(|| Some(Account::Empty(empty()?)))?;
    Some((found, letters(found.title()), found.title().starts_with("JobID")))
}

/// All names, four a line.
#[must_use]
pub fn list() -> String {
    let known = FIELDS.iter().map(|field| field.account).filter(|name| !name.is_empty());
    let mut names: Vec<&str> = known.chain(ACCOUNT_EMPTY.iter().copied()).collect();
    names.sort_unstable_by_key(|name| name.to_ascii_lowercase());
    let line = |four: &[&str]| {
        let cells = four.iter().map(|name| format!("{name:<19}")).collect::<String>();
        format!("{}\n", cells.trim_end())
    };
    names.chunks(4).map(line).collect()
}
