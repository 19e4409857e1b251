//! The fields of sacct: those that kant has, and those that are always empty. `job_fields` computes
//! the values.

use super::job_fields::{JobField, by_sacct_name, fields};
use jiff::tz::TimeZone;
use slurm_json::job_line::Line;

/// Fields of sacct that kant does not record and shows empty, as sacct does for missing values.
pub const ACCOUNT_EMPTY: &[&str] = &[
    "AdminComment",
    "AllocGRES",
    "AssocID",
    "AveCPU",
    "AveCPUFreq",
    "AveDiskRead",
    "AveDiskWrite",
    "AvePages",
    "AveRSS",
    "AveVMSize",
    "BlockID",
    "ConsumedEnergy",
    "ConsumedEnergyRaw",
    "Container",
    "DBIndex",
    "Flags",
    "Layout",
    "MaxDiskRead",
    "MaxDiskWrite",
    "MaxPages",
    "MaxRSSNode",
    "MaxRSSTask",
    "MaxVMSize",
    "McsLabel",
    "MinCPU",
    "Planned",
    "PlannedCPU",
    "QOSRAW",
    "ReqGRES",
    "ReservationId",
    "SubmitLine",
    "Suspended",
    "SystemComment",
    "SystemCPU",
    "TRESUsageInAve",
    "TRESUsageInMax",
    "TRESUsageInTot",
    "TRESUsageOutTot",
    "UserCPU",
    "WCKey",
    "WCKeyID",
];

/// A field of sacct.
#[derive(Debug, Clone, Copy)]
pub enum SacctField {
    Known(&'static JobField),
    Empty(&'static str),
}

impl SacctField {
    /// Its name in sacct's spelling.
    #[must_use]
    pub const fn title(&self) -> &'static str {
        match self {
            Self::Known(field) => field.account,
            Self::Empty(name) => name,
        }
    }

    /// Its value for a line.
    #[must_use]
    pub fn show(&self, line: &Line<'_>, zone: &TimeZone) -> String {
        match self {
            Self::Empty(_) => String::new(),
            Self::Known(field) => {
                let shown = field.value(line).sacct_text(is_time(field.account), zone);
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

/// The default width in characters (ten for most fields, man sacct).
fn default_width(name: &str) -> usize {
    match name {
        "JobID" | "JobIDRaw" => 12,
        "ExitCode" | "DerivedExitCode" | "NNodes" | "NTasks" | "NCPUS" => 8,
        "NodeList" => 15,
        "Start" | "End" | "Submit" | "Eligible" => 19,
        "WorkDir" | "Comment" | "Reason" | "Reservation" => 20,
        _ => 10,
    }
}

/// The field of a name, its default width, and whether it is left-aligned, as job ids are.
#[must_use]
pub fn field(name: &str) -> Option<(SacctField, usize, bool)> {
    let empty = || ACCOUNT_EMPTY.iter().find(|known| known.eq_ignore_ascii_case(name));
    let found =
        by_sacct_name(name).map(SacctField::Known).or_else(|| Some(SacctField::Empty(empty()?)))?;
    Some((found, default_width(found.title()), found.title().starts_with("JobID")))
}

/// All names, four per line.
#[must_use]
pub fn list() -> String {
    let known = fields().iter().map(|field| field.account).filter(|name| !name.is_empty());
    let mut names: Vec<&str> = known.chain(ACCOUNT_EMPTY.iter().copied()).collect();
    names.sort_unstable_by_key(|name| name.to_ascii_lowercase());
    let line = |four: &[&str]| {
        let cells = four.iter().map(|name| format!("{name:<19}")).collect::<String>();
        format!("{}\n", cells.trim_end())
    };
    names.chunks(4).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_field_is_both_known_and_always_empty() {
        assert!(ACCOUNT_EMPTY.iter().all(|name| by_sacct_name(name).is_none()));
    }
}
