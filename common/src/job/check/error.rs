//! What can be wrong with a submission, in sentences that say what to do. Never finds it; the
//! checks beside it do.

use super::{ARGS_BYTES_MAX, COUNT_MAX, ENVIRONMENT_BYTES_MAX, SCRIPT_BYTES_MAX};
use crate::job::mail::MailError;
use crate::time::Time;

/// What is wrong with a submission. Each sentence says what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    #[error("the script is empty: give a file, --wrap \"command\", or a script on standard input")]
    ScriptEmpty,
    #[error(
        "the script does not begin with #! and an interpreter: add a first line like #!/bin/sh"
    )]
    ScriptNoInterpreter,
    /// Holds NUL bytes or is not UTF-8.
    #[error("the script is not a text file: submit a script that starts the program instead")]
    ScriptBinary,
    /// Windows line ends make the kernel look for an interpreter that does not exist.
    #[error("the script has DOS line ends (\\r\\n): convert it with `sed -i 's/\\r$//' FILE`")]
    ScriptDosLines,
    #[error("a set of {count} components: it has 2 to {most}, with `:` between them")]
    SetSize { count: u32, most: u32 },
    /// Larger than [`SCRIPT_BYTES_MAX`].
    #[error("the script has {0} bytes, more than {SCRIPT_BYTES_MAX}: keep data in files beside it")]
    ScriptTooLarge(usize),
    /// Larger than [`ENVIRONMENT_BYTES_MAX`].
    #[error(
        "the environment has {0} bytes, more than {ENVIRONMENT_BYTES_MAX}: \
         pass less with --export=NAME,... or --export=NONE"
    )]
    EnvironmentTooLarge(usize),
    /// A count out of range.
    #[error("{what} is {count}: it must be between {min} and {COUNT_MAX}")]
    Count { what: &'static str, count: u32, min: u32 },
    /// Tasks cannot be laid out on the nodes asked for.
    #[error(
        "{tasks} tasks do not fit on {nodes} nodes with at most {each} a node: \
         raise --nodes or --ntasks-per-node"
    )]
    Layout {
        /// `--ntasks`.
        tasks: u32,
        /// `--nodes`.
        nodes: u32,
        /// `--ntasks-per-node`.
        each: u32,
    },
    /// More nodes than tasks.
    #[error("{nodes} nodes for {tasks} tasks: ask for at least as many tasks as nodes (--ntasks)")]
    NodesWithoutTasks {
        /// `--nodes`.
        nodes: u32,
        /// `--ntasks`.
        tasks: u32,
    },
    /// `--gpus` does not divide over the nodes asked for.
    #[error("{gpus} GPUs do not divide over {nodes} nodes: use --gpus-per-node")]
    GpusUneven {
        /// `--gpus`.
        gpus: u32,
        /// `--nodes`.
        nodes: u32,
    },
    /// Memory per GPU without GPUs.
    #[error("--mem-per-gpu without GPUs: ask for GPUs, or use --mem or --mem-per-cpu")]
    MemoryPerGpuWithoutGpus,
    /// A GPU kind without a count.
    #[error("a kind of GPU without a number: write --gpus=KIND:COUNT")]
    GpuKindWithoutGpus,
    /// A zero time limit.
    #[error("the time limit is zero: give minutes (--time=30) or leave it out")]
    TimeLimitZero,
    /// A lease that is none.
    #[error("a lease is 5 seconds to 7 days long")]
    Lease,
    /// Nodes held for programs are those of one job.
    #[error("the nodes of an array's tasks cannot be held for programs: leave out --array")]
    HeldArray,
    /// Nothing to grow to.
    #[error(
        "--grow without a range: say how small and how large the job may be, as in --nodes=1-4 or \
         --ntasks=2-8 --ntasks-per-node=2"
    )]
    GrowWithoutRange,
    /// Nodes are what joins.
    #[error(
        "--grow on {nodes} nodes: say a range of nodes or leave --nodes out, so that some can join"
    )]
    GrowOnNodes {
        /// `--nodes`.
        nodes: u32,
    },
    /// Blocks are laid out when a job starts.
    #[error("--grow with --segment: blocks of nodes are laid out when a job starts: leave one out")]
    GrowInSegments,
    /// Whoever started its programs chose their nodes.
    #[error(
        "--grow is for jobs with a script: the programs of one whose nodes are held have theirs \
         when they are started: use kantctl submit"
    )]
    GrowHeld,
    /// No signal, or too long before the end.
    #[error("--signal: a signal from 1 to 31, at most 65535 seconds before the time limit")]
    Warning,
    /// A relative working directory.
    #[error("the working directory `{0}` is not absolute: begin it with /")]
    WorkDirRelative(String),
    /// A container that every node would look for elsewhere.
    #[error("the container `{0}` is not absolute: begin it with /")]
    ContainerRelative(String),
    /// A text field too long or with control characters.
    #[error("{what} holds a line break or other control character, or is over {max} bytes long")]
    Text {
        what: &'static str,
        /// The longest allowed, in bytes.
        max: usize,
    },
    /// A name with a character that is not seen, or turns others around.
    #[error(
        "{what} holds the character U+{character:04X}, which is not seen or turns others around: \
         leave it out"
    )]
    Unseen { what: &'static str, character: u32 },
    /// Arguments larger than [`ARGS_BYTES_MAX`] in all, each with the NUL that ends it.
    #[error(
        "the script's arguments have {0} bytes, more than {ARGS_BYTES_MAX}: \
         put them in a file and give its name"
    )]
    ArgsTooLarge(usize),
    /// No program can be given a NUL byte.
    #[error("an argument of the script holds a NUL byte: put such data in a file")]
    ArgNul,
    /// The highest numbers are names of components.
    #[error("--array has an index of {index}: the highest is {max}")]
    IndexTooHigh { index: u32, max: u32 },
    /// A list longer than anything sensible.
    #[error("{what}: {count} of them, more than {max}: give fewer")]
    TooMany {
        /// What the list is of.
        what: &'static str,
        count: usize,
        max: usize,
    },
    /// A file pattern with an unknown letter.
    #[error("`{pattern}`: unknown pattern %{letter}; known are %j %J %A %a %x %u %N %n %t and %%")]
    Pattern {
        pattern: String,
        /// The letter after `%`.
        letter: String,
    },
    /// A kind of GPU twice, out of order, or alternatives to nothing.
    #[error("kinds of GPU to choose from: name each once, in order, as in --gpus='a100|h100:4'")]
    GpuKinds,
    /// A share that is none, or all of a GPU.
    #[error(
        "{0}/1000 of a GPU: a share lies between 0.001 and 0.999 (--gpus=0.5); for whole GPUs \
         write a whole number"
    )]
    GpuShare(u32),
    /// A share of no memory.
    #[error("--gpus: a share by memory is of some (--gpus=20G)")]
    GpuShareMemory,
    /// A share of a GPU with what only whole GPUs can have.
    #[error("a share of a GPU (--gpus=0.5) goes with one task on one node, not with {0}")]
    GpuShareWith(&'static str),
    /// No signal of that number.
    #[error("--resize-signal: write a signal by its name (USR1) or number, from 1 to 31")]
    ResizeSignal,
    /// The smaller number of tasks is no smaller number.
    #[error("{least} to {most} tasks: write the smaller number, at least 1, first (--ntasks=2-8)")]
    TasksRange {
        /// With so many it is content.
        least: u32,
        /// So many it takes at most.
        most: u32,
    },
    /// Fewer tasks than nodes, should it get no more.
    #[error(
        "{nodes} nodes for as few as {least} tasks: give --nodes or a range of tasks, not both"
    )]
    TasksRangeOnNodes {
        /// `--nodes`.
        nodes: u32,
        least: u32,
    },
    /// A range of tasks with a fixed number of GPUs.
    #[error(
        "--gpus with a range of tasks or nodes: say how many for each task (--gpus-per-task) or \
         node (--gpus-per-node)"
    )]
    TasksRangeWithGpus,
    /// A number of nodes that is not the job's.
    #[error(
        "--constraint: features of some of a job's nodes are not supported: with `*{count}`, give \
         --nodes={count}, or leave the number out"
    )]
    ConstraintCount { count: u32 },
    /// Nodes that are alike, where nobody can tell beforehand in what.
    #[error(
        "--constraint=[..|..] on several nodes is not supported: name one of the features, or ask \
         for nodes near each other with --near=leaf"
    )]
    ConstraintSame,
    /// `--segment` alone.
    #[error("--segment without --near: say how near each block's nodes must be (--near=leaf)")]
    SegmentWithoutNear,
    /// Nodes do not divide into blocks.
    #[error("blocks of {segment} nodes (--segment): make --nodes a multiple of {segment}")]
    SegmentUneven {
        /// `--segment`.
        segment: u32,
    },
    /// Nobody that letters could be written to.
    #[error("--mail-user: {0}")]
    MailUser(#[from] MailError),
    /// Before it may begin, or before it could be over.
    #[error(
        "begun at {begin_at} (--begin), it would not be over by {deadline} (--deadline): give a \
         later deadline or a shorter --time"
    )]
    Deadline {
        /// `--begin`.
        begin_at: Time,
        /// `--deadline`.
        deadline: Time,
    },
}
