//! The checks every submission passes, in kantctl for a quick answer and again in the controller.
//! Never looks at the cluster: what fits where is the engine's.

mod bounds;

use super::spec::Ask;
use crate::resource::{GpuRequest, MemoryRequest};
use crate::unit::{Gpus, Tasks};

pub use bounds::{
    ARGS_BYTES_MAX, ARGS_MAX, ARRAY_PARTS_MAX, NODE_NAMES_MAX, RLIMIT_NAME_BYTES_MAX, RLIMITS_MAX,
};

/// The largest script accepted, in bytes.
pub const SCRIPT_BYTES_MAX: usize = 4 << 20;

/// The largest environment accepted, in bytes.
pub const ENVIRONMENT_BYTES_MAX: usize = 1 << 20;

/// The largest count accepted anywhere in a request: far above any cluster.
pub const COUNT_MAX: u32 = 1_000_000;

/// What is wrong with a submission. Each sentence says what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    /// Nothing to run.
    #[error("the script is empty: give a file, --wrap \"command\", or a script on standard input")]
    ScriptEmpty,
    /// No interpreter line.
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
    Count {
        /// The option.
        what: &'static str,
        /// What was asked.
        count: u32,
        /// The smallest allowed.
        min: u32,
    },
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
    /// A relative working directory.
    #[error("the working directory `{0}` is not absolute: begin it with /")]
    WorkDirRelative(String),
    /// A text field too long or with control characters.
    #[error("{what} holds a line break or other control character, or is over {max} bytes long")]
    Text {
        /// The option.
        what: &'static str,
        /// The longest allowed, in bytes.
        max: usize,
    },
    /// Arguments larger than [`ARGS_BYTES_MAX`] in all, each with the NUL that ends it.
    #[error(
        "the script's arguments have {0} bytes, more than {ARGS_BYTES_MAX}: \
         put them in a file and give its name"
    )]
    ArgsTooLarge(usize),
    /// No program can be given a NUL byte.
    #[error("an argument of the script holds a NUL byte: put such data in a file")]
    ArgNul,
    /// A list longer than anything sensible.
    #[error("{what}: {count} of them, more than {max}: give fewer")]
    TooMany {
        /// What the list is of.
        what: &'static str,
        /// Its length.
        count: usize,
        /// The longest allowed.
        max: usize,
    },
    /// A file pattern with an unknown letter.
    #[error("`{pattern}`: unknown pattern %{letter}; known are %j %A %a %x %u %N %n %t and %%")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// The letter after `%`.
        letter: String,
    },
}

/// Checks a script's text.
///
/// # Errors
/// The first thing that is wrong with it.
pub fn check_script(script: &[u8]) -> Result<(), AskError> {
    if script.len() > SCRIPT_BYTES_MAX {
        return Err(AskError::ScriptTooLarge(script.len()));
    }
    if script.iter().all(u8::is_ascii_whitespace) {
        return Err(AskError::ScriptEmpty);
    }
    if script.contains(&0) || std::str::from_utf8(script).is_err() {
        return Err(AskError::ScriptBinary);
    }
    if !script.starts_with(b"#!") {
        return Err(AskError::ScriptNoInterpreter);
    }
    if script.split(|b| *b == b'\n').next().is_some_and(|line| line.ends_with(b"\r")) {
        return Err(AskError::ScriptDosLines);
    }
    Ok(())
}

/// Checks everything about an ask that needs no knowledge of the cluster.
///
/// # Errors
/// The first thing that is wrong with it.
pub fn check_ask(ask: &Ask) -> Result<(), AskError> {
    check_counts(ask)?;
    check_layout(ask)?;
    bounds::check(ask)?;
    if ask.time_limit.is_some_and(|limit| limit.0 == 0) {
        return Err(AskError::TimeLimitZero);
    }
    if !ask.work_dir.starts_with('/') {
        return Err(AskError::WorkDirRelative(ask.work_dir.clone()));
    }
    [&ask.stdin, &ask.stdout, &ask.stderr].into_iter().flatten().try_for_each(|p| check_pattern(p))
}

fn check_counts(ask: &Ask) -> Result<(), AskError> {
    let request = &ask.request;
    let gpus = match request.gpus {
        None => None,
        Some(GpuRequest::PerNode(n)) => Some(("--gpus-per-node", n.0)),
        Some(GpuRequest::PerTask(n)) => Some(("--gpus-per-task", n.0)),
        Some(GpuRequest::Total(n)) => Some(("--gpus", n.0)),
        Some(GpuRequest::Fraction(share)) => Some(("thousandths of a GPU in --gpus", share.0)),
    };
    let counts = [
        Some(("--ntasks", request.tasks.0)),
        Some(("--cpus-per-task", request.cpus_per_task.0)),
        request.nodes.map(|n| ("--nodes", n.0)),
        request.tasks_per_node.map(|n| ("--ntasks-per-node", n.0)),
        gpus,
    ];
    for (what, count) in counts.into_iter().flatten() {
        if !(1..=COUNT_MAX).contains(&count) {
            return Err(AskError::Count { what, count, min: 1 });
        }
    }
    Ok(())
}

fn check_layout(ask: &Ask) -> Result<(), AskError> {
    let request = &ask.request;
    if let Some(nodes) = request.nodes {
        if request.tasks.0 < nodes.0 {
            return Err(AskError::NodesWithoutTasks { nodes: nodes.0, tasks: request.tasks.0 });
        }
        if let Some(Tasks(each)) = request.tasks_per_node
            && u64::from(each) * u64::from(nodes.0) < u64::from(request.tasks.0)
        {
            return Err(AskError::Layout { tasks: request.tasks.0, nodes: nodes.0, each });
        }
        if let Some(GpuRequest::Total(Gpus(gpus))) = request.gpus
            && gpus % nodes.0 != 0
        {
            return Err(AskError::GpusUneven { gpus, nodes: nodes.0 });
        }
    }
    match (request.memory, request.gpus, &request.gpu_kind) {
        (Some(MemoryRequest::PerGpu(_)), None, _) => Err(AskError::MemoryPerGpuWithoutGpus),
        (_, None, Some(_)) => Err(AskError::GpuKindWithoutGpus),
        _ => Ok(()),
    }
}

fn check_pattern(pattern: &str) -> Result<(), AskError> {
    let mut letters = pattern.chars();
    while let Some(c) = letters.next() {
        if c != '%' {
            continue;
        }
        let letter = letters.find(|c| !c.is_ascii_digit());
        if !letter.is_some_and(|l| "jAaxuNnts%".contains(l)) {
            let letter = letter.map(String::from).unwrap_or_default();
            return Err(AskError::Pattern { pattern: pattern.to_owned(), letter });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Span;
    use crate::unit::{Cpus, Nodes};

    #[test]
    fn the_plainest_job_passes() {
        assert_eq!(check_ask(&Ask::default()), Ok(()));
        assert_eq!(check_script(b"#!/bin/sh\ntrue\n"), Ok(()));
    }

    #[test]
    fn a_script_that_cannot_run_is_refused_with_the_mend() {
        for (script, word) in [
            (&b""[..], "empty"),
            (b" \n", "empty"),
            (b"echo hi\n", "#!"),
            (b"\x7fELF\0\0", "not a text file"),
            (b"#!/bin/sh\r\ntrue\r\n", "DOS"),
        ] {
            let error = check_script(script).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
        let large = vec![b' '; SCRIPT_BYTES_MAX + 1];
        assert_eq!(check_script(&large), Err(AskError::ScriptTooLarge(SCRIPT_BYTES_MAX + 1)));
    }

    #[test]
    fn absurd_counts_and_layouts_are_refused() {
        let refused = |change: &dyn Fn(&mut Ask)| {
            let mut ask = Ask::default();
            change(&mut ask);
            check_ask(&ask).unwrap_err().to_string()
        };
        assert!(refused(&|a| a.request.tasks = Tasks(0)).contains("--ntasks is 0"));
        assert!(refused(&|a| a.request.cpus_per_task = Cpus(u32::MAX)).contains("--cpus-per-task"));
        assert!(refused(&|a| a.request.nodes = Some(Nodes(2))).contains("2 nodes for 1 tasks"));
        assert!(refused(&|a| a.time_limit = Some(Span(0))).contains("zero"));
        assert!(refused(&|a| a.work_dir = "x".into()).contains("absolute"));
        assert!(refused(&|a| a.stdout = Some("a%q".into())).contains("%q"));
        assert!(refused(&|a| a.name = "a\nb".into()).contains("--job-name"));
        assert!(
            refused(&|a| a.request.memory = Some(MemoryRequest::PerGpu(Default::default())))
                .contains("--mem-per-gpu")
        );
    }
}
