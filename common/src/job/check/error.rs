//! Errors in a submission, with sentences that say what to do.

use super::{ARGS_BYTES_MAX, COUNT_MAX, ENVIRONMENT_BYTES_MAX, SCRIPT_BYTES_MAX};
use crate::job::mail::MailError;
use crate::time::Time;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    #[error("the script is empty: give a file, --wrap \"command\", or a script on standard input")]
    ScriptEmpty,
    #[error(
        "the script does not begin with #! and an interpreter: add a first line like #!/bin/sh"
    )]
    ScriptNoInterpreter,
    /// It has NUL bytes or is not UTF-8.
    #[error("the script is not a text file: submit a script that starts the program instead")]
    ScriptBinary,
    /// With Windows line ends the kernel looks for an interpreter that does not exist.
    #[error("the script has DOS line ends (\\r\\n): convert it with `sed -i 's/\\r$//' FILE`")]
    ScriptDosLines,
    #[error("a het job has 2 to {most} components, with `:` between them, got {count}")]
    SetSize { count: u32, most: u32 },
    #[error("the script has {0} bytes, more than {SCRIPT_BYTES_MAX}: keep data in separate files")]
    ScriptTooLarge(usize),
    #[error(
        "the environment has {0} bytes, more than {ENVIRONMENT_BYTES_MAX}: \
         pass less with --export=NAME,... or --export=NONE"
    )]
    EnvironmentTooLarge(usize),
    #[error("{what} is {count}: it must be between {min} and {COUNT_MAX}")]
    Count { what: &'static str, count: u32, min: u32 },
    #[error(
        "{tasks} tasks do not fit on {nodes} nodes with at most {each} per node: \
         raise --nodes or --ntasks-per-node"
    )]
    Layout { tasks: u32, nodes: u32, each: u32 },
    #[error("{nodes} nodes for {tasks} tasks: ask for at least as many tasks as nodes (--ntasks)")]
    NodesWithoutTasks { nodes: u32, tasks: u32 },
    /// `--gpus` is not a multiple of the number of nodes.
    #[error("{gpus} GPUs cannot be divided evenly among {nodes} nodes: use --gpus-per-node")]
    GpusUneven { gpus: u32, nodes: u32 },
    #[error("--mem-per-gpu requires GPUs: ask for GPUs, or use --mem or --mem-per-cpu")]
    MemoryPerGpuWithoutGpus,
    #[error("the GPU kind has no count: write --gpus=KIND:COUNT")]
    GpuKindWithoutGpus,
    #[error("the time limit is zero: give minutes (--time=30) or leave it out")]
    TimeLimitZero,
    #[error("a lease must be between 5 seconds and 7 days")]
    Lease,
    #[error("an array cannot hold its nodes for interactive programs: leave out --array")]
    HeldArray,
    /// The request has no upper size.
    #[error(
        "--grow requires a range: give the smallest and the largest size, as in --nodes=1-4 or \
         --ntasks=2-8 --ntasks-per-node=2"
    )]
    GrowWithoutRange,
    /// Jobs grow by nodes.
    #[error(
        "--grow with a fixed number of {nodes} nodes: give a range of nodes or leave out --nodes"
    )]
    GrowOnNodes { nodes: u32 },
    /// Blocks are laid out when the job starts.
    #[error("--grow with --segment: blocks of nodes are laid out when a job starts: leave one out")]
    GrowInSegments,
    /// The user chose the nodes of the programs that run in such a job.
    #[error(
        "--grow requires a job with a script: the nodes of an interactive job's programs are fixed \
         when they start: use kantctl submit"
    )]
    GrowHeld,
    #[error("--signal must be a signal from 1 to 31, at most 65535 seconds before the time limit")]
    Warning,
    #[error("the working directory `{0}` is not an absolute path: begin it with /")]
    WorkDirRelative(String),
    #[error("the container `{0}` is not an absolute path: begin it with /")]
    ContainerRelative(String),
    #[error("{what} has a line break or other control character, or is longer than {max} bytes")]
    Text {
        what: &'static str,
        /// In bytes.
        max: usize,
    },
    /// The name has a character that is invisible or changes the direction of text.
    #[error(
        "{what} has the character U+{character:04X}, which is invisible or changes the direction \
         of text: leave it out"
    )]
    Unseen { what: &'static str, character: u32 },
    /// Each argument counts with its terminating NUL.
    #[error(
        "the script's arguments have {0} bytes, more than {ARGS_BYTES_MAX}: \
         put them in a file and give its name"
    )]
    ArgsTooLarge(usize),
    /// No program can receive a NUL byte.
    #[error("an argument of the script has a NUL byte: put such data in a file")]
    ArgNul,
    /// The highest values encode components.
    #[error("--array has an index of {index}: the highest is {max}")]
    IndexTooHigh { index: u32, max: u32 },
    #[error("{what}: {count} is too many, give at most {max}")]
    TooMany { what: &'static str, count: usize, max: usize },
    /// A file name pattern with an unknown letter.
    #[error("`{pattern}`: unknown pattern %{letter}; known are %j %J %A %a %x %u %N %n %t and %%")]
    Pattern {
        pattern: String,
        /// The letter after `%`.
        letter: String,
    },
    /// A GPU kind named twice or out of order, or alternatives without a first kind.
    #[error("alternative GPU kinds: name each once, in order, as in --gpus='a100|h100:4'")]
    GpuKinds,
    /// The share is zero or a whole GPU.
    #[error(
        "{0}/1000 of a GPU: a share must be between 0.001 and 0.999 (--gpus=0.5); for whole GPUs \
         write a whole number"
    )]
    GpuShare(u32),
    #[error("--gpus: a memory share must be greater than zero, as in --gpus=20G")]
    GpuShareMemory,
    /// A share of a GPU combined with options for whole GPUs.
    #[error(
        "a share of a GPU (--gpus=0.5) requires one task on one node and cannot be used with {0}"
    )]
    GpuShareWith(&'static str),
    #[error("--resize-signal: write a signal by its name (USR1) or its number, from 1 to 31")]
    ResizeSignal,
    /// The range's lower end is not below its upper end.
    #[error("{least} to {most} tasks: write the smaller number, at least 1, first (--ntasks=2-8)")]
    TasksRange { least: u32, most: u32 },
    /// At its smallest the job would have fewer tasks than nodes.
    #[error(
        "{nodes} nodes for as few as {least} tasks: give --nodes or a range of tasks, not both"
    )]
    TasksRangeOnNodes { nodes: u32, least: u32 },
    /// A range of tasks with a fixed total of GPUs.
    #[error(
        "--gpus with a range of tasks or nodes: give the number per task (--gpus-per-task) or per \
         node (--gpus-per-node)"
    )]
    TasksRangeWithGpus,
    /// The count in the constraint differs from the job's number of nodes.
    #[error(
        "--constraint: features for only some of a job's nodes are not supported: with `*{count}`, \
         give --nodes={count}, or leave the number out"
    )]
    ConstraintCount { count: u32 },
    /// Nodes with one common feature out of several: the choice is not known when nodes are chosen.
    #[error(
        "--constraint=[..|..] on several nodes is not supported: name one of the features, or ask \
         for nodes near each other with --near=leaf"
    )]
    ConstraintSame,
    #[error("--segment requires --near: give the distance within each block, as in --near=leaf")]
    SegmentWithoutNear,
    /// The number of nodes is not a multiple of the block size.
    #[error("--segment={segment}: the number of nodes (--nodes) must be a multiple of {segment}")]
    SegmentUneven { segment: u32 },
    /// An invalid mail address.
    #[error("--mail-user: {0}")]
    MailUser(#[from] MailError),
    /// The job would end after its deadline even if it started at its begin time.
    #[error(
        "a job that starts at {begin_at} (--begin) would end after {deadline} (--deadline): give a \
         later deadline or a shorter --time"
    )]
    Deadline { begin_at: Time, deadline: Time },
}
