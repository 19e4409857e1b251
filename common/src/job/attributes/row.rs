//! A row of the table of job attributes, and how one is written.

use super::{Attribute, Kind};

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

/// A row with an attribute's own name and kind, and nothing else.
pub(super) const fn row(attribute: Attribute, option: &'static str, kind: Kind) -> Row {
    Row {
        attribute,
        option,
        short: None,
        alias: None,
        change_alias: "",
        kind,
        value_name: "",
        heading: Heading::Execution,
        help: "",
        change_help: "",
        is_submitted: true,
        is_client: false,
        choice: None,
        changeable: Changeable::Never,
        removed: Removed::Never,
        is_of_set: false,
        is_of_component: false,
        label: "",
        is_column: false,
        slurm: SlurmNames {
            letter: ' ',
            squeue: "",
            sacct: "",
            title: "",
            scontrol: &[],
            json: "",
            variable: "",
            read_by: &[],
        },
    }
}

impl Row {
    pub(super) const fn help(
        self,
        heading: Heading,
        value_name: &'static str,
        help: &'static str,
    ) -> Self {
        Self { heading, value_name, help, ..self }
    }

    pub(super) const fn short(self, letter: char) -> Self {
        Self { short: Some(letter), ..self }
    }

    pub(super) const fn with_alias(self, name: &'static str, is_shown: bool) -> Self {
        Self { alias: Some(Alias { name, is_shown }), ..self }
    }

    pub(super) const fn choice(self, choice: Choice) -> Self {
        Self { choice: Some(choice), ..self }
    }

    pub(super) const fn changeable(self, changeable: Changeable, removed: Removed) -> Self {
        Self { changeable, removed, ..self }
    }

    pub(super) const fn change_alias(self, change_alias: &'static str) -> Self {
        Self { change_alias, ..self }
    }

    pub(super) const fn with_change_help(self, change_help: &'static str) -> Self {
        Self { change_help, ..self }
    }

    /// Not an option of a submission.
    pub(super) const fn change_only(self) -> Self {
        Self { is_submitted: false, ..self }
    }

    pub(super) const fn for_client(self) -> Self {
        Self { is_client: true, ..self }
    }

    pub(super) const fn for_set(self) -> Self {
        Self { is_of_set: true, ..self }
    }

    pub(super) const fn for_component(self) -> Self {
        Self { is_of_component: true, ..self }
    }

    pub(super) const fn label(self, label: &'static str) -> Self {
        Self { label, ..self }
    }

    pub(super) const fn column(self) -> Self {
        Self { is_column: true, ..self }
    }

    /// The field of squeue and sacct.
    pub(super) const fn slurm_field(
        self,
        letter: char,
        squeue: &'static str,
        sacct: &'static str,
        title: &'static str,
    ) -> Self {
        Self { slurm: SlurmNames { letter, squeue, sacct, title, ..self.slurm }, ..self }
    }

    pub(super) const fn json(self, json: &'static str) -> Self {
        Self { slurm: SlurmNames { json, ..self.slurm }, ..self }
    }

    pub(super) const fn scontrol(self, scontrol: &'static [&'static str]) -> Self {
        Self { slurm: SlurmNames { scontrol, ..self.slurm }, ..self }
    }

    pub(super) const fn variable(
        self,
        variable: &'static str,
        read_by: &'static [SlurmReader],
    ) -> Self {
        Self { slurm: SlurmNames { variable, read_by, ..self.slurm }, ..self }
    }
}
