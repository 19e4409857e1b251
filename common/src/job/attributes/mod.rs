//! The table of job attributes: everything that a user can ask of a job, one row each, as plain
//! data. The options of `kantctl submit`, script directives, environment variables, `kantctl
//! update`, `--what-if`, the records of jobs, the field lists of Slurm's commands and the reference
//! page are made from it.
//!
//! To add an attribute: a variant of [`Attribute`], a row in `table`, a field of
//! [`Ask`](super::Ask), and its arms in `request`.

mod counts;
mod gpus;
mod near;
mod request;
mod table;
mod value;

pub use counts::{Hosts, NodeCount, TaskCount, TimeLimit, ValueError, read_count};
pub use counts::{read_launch, read_queue};
pub use gpus::{GpuAmount, GpuCount, GpusValue, Gres, read_kinds, to_request};
pub use near::{Switches, read_near};
pub use table::ROWS;
pub use value::{FromValue, Kind, Value};

use serde::{Deserialize, Serialize};
use std::fmt;

/// A job attribute, named like its option. The order is that in which changes are applied: a number
/// of nodes before the number of tasks that goes with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Attribute {
    JobName,
    Account,
    Qos,
    Service,
    Comment,
    Nodes,
    Ntasks,
    NtasksPerNode,
    CpusPerTask,
    NtasksPerGpu,
    CpusPerGpu,
    Mem,
    MemPerCpu,
    MemPerGpu,
    Gpus,
    GpusPerNode,
    GpusPerTask,
    Gres,
    GpuKind,
    Exclusive,
    Grow,
    Queue,
    Time,
    Begin,
    Deadline,
    Reservation,
    Near,
    Switches,
    Segment,
    MaxPerNode,
    Hold,
    Nice,
    Constraint,
    Nodelist,
    Exclude,
    Dependency,
    KillOnInvalidDep,
    Output,
    Error,
    Input,
    OpenMode,
    Chdir,
    Array,
    ArrayLimit,
    Launch,
    Container,
    Signal,
    MailType,
    MailUser,
    ResizeSignal,
    Export,
    Requeue,
    NoRequeue,
    Preemptible,
    NoPreemptible,
    Parsable,
    TestOnly,
    Wait,
    Quiet,
}

/// The group of options under which help lists an attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heading {
    Identity,
    Resources,
    PlacementAndTime,
    Files,
    Execution,
}

impl Heading {
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Identity => "Identity",
            Self::Resources => "Resources",
            Self::PlacementAndTime => "Placement and time",
            Self::Files => "Files",
            Self::Execution => "Execution",
        }
    }
}

/// Attributes of which a request has at most one. One of a higher layer (command line, environment,
/// script) replaces all of the lower layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    Cpus,
    Gpus,
    Memory,
    Nearness,
    Preemptible,
    Requeue,
    Tasks,
    Waiting,
}

impl Choice {
    /// Whether the last one given wins within a layer; otherwise two of them are refused.
    #[must_use]
    pub const fn last_wins(self) -> bool {
        matches!(self, Self::Preemptible | Self::Requeue)
    }
}

/// Until when an attribute of a submitted job can be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Changeable {
    Never,
    /// Until the job starts.
    Waiting,
    /// Until the job ends.
    Started,
}

/// How a change removes an attribute from a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removed {
    Never,
    /// By `none`, `0` or an empty value.
    ByNone,
    /// By an empty value.
    ByEmpty,
    /// By `any`.
    ByAny,
}

/// Slurm's names of an attribute; empty where Slurm has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlurmNames {
    /// The letter of `squeue -o`, or a blank.
    pub letter: char,
    /// The name of `squeue -O`, in lower case.
    pub squeue: &'static str,
    /// The name of `sacct -o`.
    pub sacct: &'static str,
    /// The title of the column of squeue.
    pub title: &'static str,
    /// The fields of `scontrol update`, the usual one first.
    pub scontrol: &'static [&'static str],
    /// The field of `--json`.
    pub json: &'static str,
    /// The variable that sets the option, without the prefix of the command (`TIMELIMIT` of
    /// `SBATCH_TIMELIMIT`).
    pub variable: &'static str,
    /// The commands that read the variable.
    pub read_by: &'static [SlurmReader],
}

/// A Slurm command that reads options from the environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlurmReader {
    Sbatch,
    Salloc,
    Srun,
}

/// A row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    pub attribute: Attribute,
    /// The long option, without dashes; also the name in directives and changes.
    pub option: &'static str,
    pub short: Option<char>,
    /// Another spelling of the option.
    pub alias: Option<Alias>,
    /// Another name in changes (`cpus=4`); empty for none.
    pub change_alias: &'static str,
    pub kind: Kind,
    pub value_name: &'static str,
    pub heading: Heading,
    pub help: &'static str,
    /// The help of `kantctl update`, where it differs.
    pub change_help: &'static str,
    /// Whether `kantctl submit` has it. The others can only be changed.
    pub is_submitted: bool,
    /// Whether it concerns only the client, and is no part of the request.
    pub is_client: bool,
    pub choice: Option<Choice>,
    pub changeable: Changeable,
    pub removed: Removed,
    /// Whether all components of a het job share it: it is changed for the first one.
    pub is_of_set: bool,
    /// Whether each component of a het job asks for its own; the others pass on to the next.
    pub is_of_component: bool,
    /// The name in records of jobs.
    pub label: &'static str,
    /// Whether lists of jobs have a column for it, named like its option.
    pub is_column: bool,
    pub slurm: SlurmNames,
}

/// Another spelling of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Alias {
    pub name: &'static str,
    pub is_shown: bool,
}

impl Row {
    /// The help of `kantctl update`: that of a submission without its defaults, unless it has its
    /// own.
    #[must_use]
    pub fn change_help(&self) -> &'static str {
        match self.change_help {
            "" => self.help.split(" [").next().unwrap_or_default(),
            own => own,
        }
    }
}

impl Attribute {
    /// Its row. [`ROWS`] has one for each attribute, in their order.
    #[must_use]
    pub fn row(self) -> &'static Row {
        // A test shows that the table is complete and in this order.
        &ROWS[self as usize]
    }

    /// The attribute with this option, or this name in changes.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        let is_named = |row: &&Row| {
            let alias = row.alias.map(|alias| alias.name);
            row.option == name || alias == Some(name) || row.change_alias == name
        };
        ROWS.iter().find(is_named).filter(|_| !name.is_empty()).map(|row| row.attribute)
    }

    /// The attributes of which a request has at most one, with this one.
    pub fn alternatives(self) -> impl Iterator<Item = Self> {
        let choice = self.row().choice;
        let same = move |row: &&Row| choice.is_some() && row.choice == choice;
        ROWS.iter().filter(same).map(|row| row.attribute)
    }
}

/// The option: `--time`.
impl fmt::Display for Attribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("--{}", self.row().option))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_table_has_one_row_for_each_attribute_in_their_order() {
        for (place, row) in ROWS.iter().enumerate() {
            assert_eq!(row.attribute as usize, place, "{}", row.option);
            let name = serde_json::to_value(row.attribute).unwrap();
            assert_eq!(name, row.option, "the variant is named like its option");
        }
        assert_eq!(ROWS.len(), Attribute::Quiet as usize + 1);
    }

    #[test]
    fn no_name_means_two_attributes() {
        let all = |row: &Row| {
            let alias = row.alias.map(|alias| alias.name);
            let names = [Some(row.option), alias, Some(row.change_alias)];
            names.into_iter().flatten().filter(|name| !name.is_empty()).collect::<Vec<_>>()
        };
        let names: Vec<&str> = ROWS.iter().flat_map(all).collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
        let shorts: Vec<char> = ROWS.iter().filter_map(|row| row.short).collect();
        assert_eq!(shorts.iter().collect::<BTreeSet<_>>().len(), shorts.len());
        assert_eq!(Attribute::by_name("partition"), Some(Attribute::Queue));
        assert_eq!(Attribute::by_name(""), None);
    }
}
