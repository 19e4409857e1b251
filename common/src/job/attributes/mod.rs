//! The table of job attributes: everything that a user can ask of a job, one row each, as plain
//! data. The options of `kantctl submit`, script directives, environment variables, `kantctl
//! update`, `--what-if`, the records of jobs, the field lists of Slurm's commands and the reference
//! page are made from it.
//!
//! To add an attribute: a variant of [`Attribute`], a row in `table`, a field of
//! [`Ask`](super::Ask), and its arms in `request`.

mod counts;
mod given;
mod gpus;
mod near;
mod read;
mod request;
mod row;
mod table;
mod value;

pub use counts::{Hosts, NodeCount, TaskCount, TimeLimit, ValueError, read_count};
pub use counts::{read_launch, read_queue};
pub use given::Given;
pub use gpus::{GpuAmount, GpuCount, GpusValue, Gres, read_kinds, to_request};
pub use near::{Switches, read_near};
pub use read::read_value;
pub use row::{Alias, Changeable, Choice, Heading, Removed, Row, SlurmNames, SlurmReader};
pub use table::ROWS;
pub use value::{FromValue, Kind, Value};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A job attribute, named like its option. The order is that in which changes are applied: a number
/// of nodes before the number of tasks that goes with it.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
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
    Data,
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
