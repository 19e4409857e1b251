//! The rows of the table of job attributes.
//! Source of Slurm's names: man sbatch, squeue (--format), sacct (--format), scontrol (update).

use super::row::row;
use super::{Attribute, Changeable, Choice, Heading, Kind, Removed, Row, SlurmReader};

const ALL: &[SlurmReader] = &[SlurmReader::Sbatch, SlurmReader::Salloc, SlurmReader::Srun];
const SBATCH: &[SlurmReader] = &[SlurmReader::Sbatch];
const SRUN: &[SlurmReader] = &[SlurmReader::Srun];

/// All attributes, in the order of [`Attribute`].
pub const ROWS: &[Row] = &[
    row(Attribute::JobName, "job-name", Kind::Text)
        .help(Heading::Identity, "NAME", "Job name [default: the script's file name]")
        .short('J')
        .changeable(Changeable::Started, Removed::Never)
        .change_alias("name")
        .scontrol(&["JobName", "Name"])
        .variable("JOB_NAME", &[SlurmReader::Sbatch, SlurmReader::Srun]),
    row(Attribute::Account, "account", Kind::Account)
        .help(
            Heading::Identity,
            "NAME",
            "Account to charge, of which you must be a member [default: your first account]",
        )
        .short('A')
        .changeable(Changeable::Waiting, Removed::Never)
        .label("account")
        .column()
        .slurm_field('a', "account", "Account", "ACCOUNT")
        .json("account")
        .scontrol(&["Account"])
        .variable("ACCOUNT", ALL),
    row(Attribute::Qos, "qos", Kind::Qos)
        .help(
            Heading::Identity,
            "NAME",
            "Quality of service, which sets a priority and limits; configured by the operators",
        )
        .short('q')
        .changeable(Changeable::Waiting, Removed::ByNone)
        .label("qos")
        .column()
        .slurm_field('q', "qos", "QOS", "QOS")
        .json("qos")
        .scontrol(&["QOS"])
        .variable("QOS", ALL),
    row(Attribute::Service, "service", Kind::Flag).help(
        Heading::Identity,
        "",
        "The job is a service: a queue with a zone for services spreads its jobs there",
    ),
    row(Attribute::Comment, "comment", Kind::Text)
        .help(Heading::Identity, "TEXT", "Comment, shown by `kantctl show job`")
        .changeable(Changeable::Started, Removed::ByEmpty)
        .label("comment")
        .column()
        .slurm_field('k', "comment", "Comment", "COMMENT")
        .json("comment")
        .scontrol(&["Comment"]),
    row(Attribute::Nodes, "nodes", Kind::NodeCount)
        .help(
            Heading::Resources,
            "COUNT[-COUNT]",
            "Number of nodes, or a range that the job accepts (1-4), with one task per node \
             [default: the fewest nodes on which the tasks fit]",
        )
        .short('N')
        .changeable(Changeable::Waiting, Removed::Never)
        .with_change_help("Number of nodes; without --ntasks the tasks per node stay the same")
        .for_component()
        .scontrol(&["NumNodes", "ReqNodes"]),
    row(Attribute::Ntasks, "ntasks", Kind::TaskCount)
        .help(
            Heading::Resources,
            "COUNT[-COUNT]",
            "Number of tasks, or a range that the job accepts (2-8) [default: --nodes times \
             --ntasks-per-node, or 1]",
        )
        .short('n')
        .choice(Choice::Tasks)
        .changeable(Changeable::Waiting, Removed::Never)
        .for_component()
        .scontrol(&["NumTasks"])
        .variable("NTASKS", SRUN),
    row(Attribute::NtasksPerNode, "ntasks-per-node", Kind::Count)
        .help(Heading::Resources, "COUNT", "Maximum number of tasks per node")
        .with_alias("tasks-per-node", false)
        .for_component(),
    row(Attribute::CpusPerTask, "cpus-per-task", Kind::Count)
        .help(Heading::Resources, "COUNT", "CPUs per task [default: 1]")
        .short('c')
        .choice(Choice::Cpus)
        .changeable(Changeable::Waiting, Removed::Never)
        .change_alias("cpus")
        .for_component()
        .scontrol(&["CPUs/Task", "CPUsPerTask"]),
    row(Attribute::NtasksPerGpu, "ntasks-per-gpu", Kind::Count)
        .help(Heading::Resources, "COUNT", "Tasks per requested GPU")
        .choice(Choice::Tasks)
        .for_component(),
    row(Attribute::CpusPerGpu, "cpus-per-gpu", Kind::Count)
        .help(Heading::Resources, "COUNT", "CPUs per requested GPU")
        .choice(Choice::Cpus)
        .for_component(),
    row(Attribute::Mem, "mem", Kind::Bytes)
        .help(
            Heading::Resources,
            "SIZE",
            "Memory per node, in MiB or with K, M, G, T; 0 for all of it",
        )
        .choice(Choice::Memory)
        .changeable(Changeable::Waiting, Removed::Never)
        .with_change_help("Memory per node, in MiB or with K, M, G, T")
        .for_component()
        .scontrol(&["MinMemoryNode"])
        .variable("MEM_PER_NODE", ALL),
    row(Attribute::MemPerCpu, "mem-per-cpu", Kind::Bytes)
        .help(Heading::Resources, "SIZE", "Memory per CPU")
        .choice(Choice::Memory)
        .for_component()
        .variable("MEM_PER_CPU", ALL),
    row(Attribute::MemPerGpu, "mem-per-gpu", Kind::Bytes)
        .help(Heading::Resources, "SIZE", "Memory per GPU")
        .choice(Choice::Memory)
        .for_component()
        .variable("MEM_PER_GPU", ALL),
    row(Attribute::Gpus, "gpus", Kind::Gpus)
        .help(
            Heading::Resources,
            "[KIND:]COUNT",
            "GPUs in the whole job: of any kind (8), of one kind (h100:8), of one of several \
             kinds ('h100|a100:8'); or a share of a GPU (0.5), of its memory (20G), or of several \
             GPUs (2x0.5)",
        )
        .short('G')
        .choice(Choice::Gpus)
        .changeable(Changeable::Waiting, Removed::ByNone)
        .with_change_help("GPUs in the whole job: 8, h100:8, 0.5")
        .for_component()
        .variable("GPUS", ALL),
    row(Attribute::GpusPerNode, "gpus-per-node", Kind::GpuCount)
        .help(Heading::Resources, "[KIND:]COUNT", "GPUs per node")
        .choice(Choice::Gpus)
        .changeable(Changeable::Waiting, Removed::Never)
        .for_component()
        .variable("GPUS_PER_NODE", ALL),
    row(Attribute::GpusPerTask, "gpus-per-task", Kind::GpuCount)
        .help(Heading::Resources, "[KIND:]COUNT", "GPUs per task")
        .choice(Choice::Gpus)
        .for_component()
        .variable("GPUS_PER_TASK", ALL),
    row(Attribute::Gres, "gres", Kind::Gres)
        .help(
            Heading::Resources,
            "gpu[:KIND]:COUNT",
            "GPUs per node, in Slurm's syntax (gpu:2, gpu:h100:2)",
        )
        .choice(Choice::Gpus)
        .for_component()
        .variable("GRES", ALL),
    row(Attribute::GpuKind, "gpu-kind", Kind::GpuKinds)
        .help(Heading::Resources, "KIND", "Kind of GPU, alternatives (h100|a100), or any")
        .change_only()
        .changeable(Changeable::Waiting, Removed::ByAny)
        .for_component(),
    row(Attribute::Exclusive, "exclusive", Kind::Flag)
        .help(Heading::Resources, "", "Use whole nodes, which no other job shares")
        .for_component()
        .variable("EXCLUSIVE", ALL),
    row(Attribute::Grow, "grow", Kind::Flag).help(
        Heading::Resources,
        "",
        "Let a running job with a range of nodes or tasks grow onto idle nodes, up to the \
             upper bound",
    ),
    row(Attribute::Queue, "queue", Kind::Queue)
        .help(Heading::PlacementAndTime, "NAME", "Queue [default: the cluster's default queue]")
        .short('p')
        .with_alias("partition", true)
        .changeable(Changeable::Waiting, Removed::Never)
        .for_component()
        .label("queue")
        .column()
        .json("partition")
        .scontrol(&["Partition"])
        .variable("PARTITION", ALL),
    row(Attribute::Time, "time", Kind::TimeLimit)
        .help(
            Heading::PlacementAndTime,
            "TIME",
            "Run time limit: minutes, h:m:s, d-h, 90m, 2h, UNLIMITED [default: the queue's]",
        )
        .short('t')
        .changeable(Changeable::Started, Removed::Never)
        .with_change_help(
            "Time limit: minutes, h:m:s, d-h, 90m, 2h; +30 or -30 change the current limit",
        )
        .scontrol(&["TimeLimit"])
        .variable("TIMELIMIT", ALL),
    row(Attribute::Begin, "begin", Kind::Begin)
        .help(
            Heading::PlacementAndTime,
            "WHEN",
            "Earliest start: now+1hour, 16:30, tomorrow, 2030-01-31T08:00",
        )
        .changeable(Changeable::Waiting, Removed::ByNone)
        .for_set()
        .scontrol(&["StartTime", "EligibleTime"]),
    row(Attribute::Deadline, "deadline", Kind::Deadline)
        .help(
            Heading::PlacementAndTime,
            "WHEN",
            "Deadline: the job must end by then according to its time limit, or never starts",
        )
        .changeable(Changeable::Waiting, Removed::ByNone)
        .for_set()
        .slurm_field(' ', "deadline", "", "DEADLINE")
        .json("deadline")
        .scontrol(&["Deadline"]),
    row(Attribute::Reservation, "reservation", Kind::Reservation)
        .help(
            Heading::PlacementAndTime,
            "NAME",
            "Run in this reservation, see `kantctl reservations`",
        )
        .changeable(Changeable::Waiting, Removed::ByNone)
        .label("reservation")
        .column()
        .slurm_field('v', "reservation", "Reservation", "RESERVATION")
        .json("resv_name")
        .scontrol(&["Reservation", "ReservationName"])
        .variable("RESERVATION", ALL),
    row(Attribute::Near, "near", Kind::Near)
        .help(
            Heading::PlacementAndTime,
            "LEVEL[:required]",
            "Topology group for all nodes: nvlink-domain, leaf, spine or superspine. A group with \
             enough free nodes is preferred, or required (leaf:required)",
        )
        .choice(Choice::Nearness)
        .changeable(Changeable::Waiting, Removed::ByNone)
        .with_change_help("Prefer or require nodes in one topology group: leaf, leaf:required")
        .for_component(),
    row(Attribute::Switches, "switches", Kind::Switches)
        .help(Heading::PlacementAndTime, "1", "Slurm's option for --near=leaf: --switches=1")
        .choice(Choice::Nearness)
        .for_component()
        .variable("REQ_SWITCH", ALL),
    row(Attribute::Segment, "segment", Kind::Count)
        .help(
            Heading::PlacementAndTime,
            "NODES",
            "Split the nodes into blocks of this size, each within one group [without --near: \
             nvlink-domain:required]",
        )
        .for_component(),
    row(Attribute::MaxPerNode, "max-per-node", Kind::Count)
        .help(
            Heading::PlacementAndTime,
            "COUNT",
            "Run at most COUNT of your jobs with this name per node",
        )
        .for_component(),
    row(Attribute::Hold, "hold", Kind::Flag)
        .help(Heading::PlacementAndTime, "", "Hold the job until `kantctl release`")
        .short('H'),
    row(Attribute::Nice, "nice", Kind::Nice)
        .help(Heading::PlacementAndTime, "N", "Lower the priority by N [without a number: 100]")
        .changeable(Changeable::Waiting, Removed::Never)
        .with_change_help("Lower the priority by N; operators can use negative values")
        .label("nice")
        .slurm_field('y', "nice", "", "NICE")
        .json("nice")
        .scontrol(&["Nice"]),
    row(Attribute::Constraint, "constraint", Kind::Constraint)
        .help(
            Heading::PlacementAndTime,
            "FEATURES",
            "Required features of nodes, see `kantctl show node`: 'ib', 'a100&(ib|roce)'",
        )
        .short('C')
        .changeable(Changeable::Waiting, Removed::ByNone)
        .for_component()
        .label("features")
        .slurm_field('f', "feature", "Constraints", "FEATURES")
        .json("features")
        .scontrol(&["Features"]),
    row(Attribute::Nodelist, "nodelist", Kind::Hosts)
        .help(Heading::PlacementAndTime, "NODES", "Use only these nodes, e.g. g[001-004],login")
        .short('w')
        .changeable(Changeable::Waiting, Removed::ByNone)
        .for_component()
        .label("only on")
        .json("required_nodes")
        .scontrol(&["ReqNodeList", "NodeList"]),
    row(Attribute::Exclude, "exclude", Kind::Hosts)
        .help(Heading::PlacementAndTime, "NODES", "Do not use these nodes")
        .short('x')
        .changeable(Changeable::Waiting, Removed::ByNone)
        .for_component()
        .label("not on")
        .json("excluded_nodes")
        .scontrol(&["ExcNodeList"]),
    row(Attribute::Data, "data", Kind::Data)
        .help(
            Heading::PlacementAndTime,
            "NAMES",
            "Prefer nodes that have these data sets or models, see `kantctl show node`: \
             imagenet,llama3",
        )
        .changeable(Changeable::Waiting, Removed::ByNone)
        .for_component()
        .label("data"),
    row(Attribute::Dependency, "dependency", Kind::Dependency)
        .help(
            Heading::PlacementAndTime,
            "RULE:JOB[:JOB]",
            "Wait for other jobs: afterok:20:21, afterany:22_3, after:23+5 (minutes), afternotok, \
             aftercorr (task by task), singleton; separated by `,` if all are required, by `?` if \
             one is enough",
        )
        .short('d')
        .changeable(Changeable::Waiting, Removed::ByNone)
        .with_change_help("Jobs to wait for: afterok:20, or none")
        .for_set()
        .scontrol(&["Dependency"]),
    row(Attribute::KillOnInvalidDep, "kill-on-invalid-dep", Kind::YesNo).help(
        Heading::PlacementAndTime,
        "yes|no",
        "Cancel the job when its dependency can no longer be satisfied [default: no, it keeps \
             waiting]",
    ),
    row(Attribute::Output, "output", Kind::Text)
        .help(
            Heading::Files,
            "FILE",
            "Output file, with %j %A %a %x %u %N %n %t [default: kant-%j.out, arrays \
             kant-%A_%a.out]",
        )
        .short('o')
        .variable("OUTPUT", SBATCH),
    row(Attribute::Error, "error", Kind::Text)
        .help(Heading::Files, "FILE", "Error file [default: the output file]")
        .short('e')
        .variable("ERROR", SBATCH),
    row(Attribute::Input, "input", Kind::Text)
        .help(Heading::Files, "FILE", "Input file [default: /dev/null]")
        .short('i')
        .variable("INPUT", SBATCH),
    row(Attribute::OpenMode, "open-mode", Kind::OpenMode)
        .help(Heading::Files, "MODE", "What to do with existing output files [default: truncate]")
        .variable("OPEN_MODE", SBATCH),
    row(Attribute::Chdir, "chdir", Kind::Text)
        .help(Heading::Files, "DIRECTORY", "Working directory [default: the current directory]")
        .short('D'),
    row(Attribute::Array, "array", Kind::Array)
        .help(
            Heading::Execution,
            "INDICES",
            "Submit an array of tasks: 0-99; 1,3,5-9:2; 0-999%50 for at most 50 at once",
        )
        .short('a')
        .label("array")
        .variable("ARRAY_INX", SBATCH),
    row(Attribute::ArrayLimit, "array-limit", Kind::Count)
        .help(Heading::Execution, "COUNT", "Run at most COUNT tasks of the array at once")
        .change_only()
        .changeable(Changeable::Started, Removed::ByNone)
        .scontrol(&["ArrayTaskThrottle"]),
    row(Attribute::Launch, "launch", Kind::Launch)
        .help(
            Heading::Execution,
            "once|per-node|per-task",
            "Run the script once, once on every node, or once for every task [default: once]",
        )
        .for_component(),
    row(Attribute::Container, "container", Kind::Text)
        .help(
            Heading::Execution,
            "DIRECTORY",
            "Run in a container: a directory on the nodes with an OCI bundle or a root file \
             system",
        )
        .label("container")
        .variable("CONTAINER", SBATCH),
    row(Attribute::Signal, "signal", Kind::Signal)
        .help(
            Heading::Execution,
            "[B:]SIGNAL[@SECONDS]",
            "Send a signal before the time limit to all processes, or (B:) only to the script \
             [without @SECONDS: 60 before]",
        )
        .variable("SIGNAL", SBATCH),
    row(Attribute::MailType, "mail-type", Kind::MailEvents)
        .help(
            Heading::Execution,
            "EVENTS",
            "Events that send an e-mail: NONE, BEGIN, END, FAIL, REQUEUE, ALL, INVALID_DEPEND, \
             TIME_LIMIT, TIME_LIMIT_90 (80, 50), ARRAY_TASKS",
        )
        .changeable(Changeable::Started, Removed::Never)
        .for_set()
        .scontrol(&["MailType"]),
    row(Attribute::MailUser, "mail-user", Kind::MailAddress)
        .help(Heading::Execution, "ADDRESS", "Recipient of e-mails [default: you]")
        .changeable(Changeable::Started, Removed::ByEmpty)
        .with_change_help("Recipient of e-mails [default: the job's owner]")
        .for_set()
        .scontrol(&["MailUser"]),
    row(Attribute::ResizeSignal, "resize-signal", Kind::ResizeSignal).help(
        Heading::Execution,
        "[B:]SIGNAL",
        "Send a signal when the running job is resized (`kantctl resize`) to all processes, \
             or (B:) only to the script",
    ),
    row(Attribute::Export, "export", Kind::Export)
        .help(
            Heading::Execution,
            "NAMES",
            "Environment variables to pass to the job: ALL, NONE, or NAME,NAME=VALUE [default: \
             ALL]",
        )
        .for_client()
        .variable("EXPORT", SBATCH),
    row(Attribute::Requeue, "requeue", Kind::Flag)
        .help(Heading::Execution, "", "Start the job again when a node is lost (the default)")
        .choice(Choice::Requeue)
        .variable("REQUEUE", SBATCH),
    row(Attribute::NoRequeue, "no-requeue", Kind::Flag)
        .help(Heading::Execution, "", "Never start the job again")
        .choice(Choice::Requeue)
        .variable("NO_REQUEUE", SBATCH),
    row(Attribute::Preemptible, "preemptible", Kind::Flag)
        .help(
            Heading::Execution,
            "",
            "Allow preemption of the job [default: as configured for its QoS or queue]",
        )
        .choice(Choice::Preemptible),
    row(Attribute::NoPreemptible, "no-preemptible", Kind::Flag)
        .help(Heading::Execution, "", "Do not allow preemption of the job")
        .choice(Choice::Preemptible),
    row(Attribute::Parsable, "parsable", Kind::Flag)
        .help(Heading::Execution, "", "Print only the job's id")
        .for_client(),
    row(Attribute::TestOnly, "test-only", Kind::Flag)
        .help(Heading::Execution, "", "Do not submit: show when and where the job would start")
        .choice(Choice::Waiting)
        .for_client(),
    row(Attribute::Wait, "wait", Kind::Flag)
        .help(Heading::Execution, "", "Wait until the job ends, and exit with its exit code")
        .short('W')
        .choice(Choice::Waiting)
        .for_client()
        .variable("WAIT", SBATCH),
    row(Attribute::Quiet, "quiet", Kind::Flag)
        .help(Heading::Execution, "", "Print only errors")
        .short('Q')
        .for_client(),
];
