//! The table of the fields of a description.

use super::own;
use super::row::Reading::{Gpus, List, Mebibytes, Minutes, Names, Number, Own, Refused, Text};
use super::row::Reading::{Time, Unused};
use super::row::{Row, field};
use crate::version::Version;
use common::job::attributes::Attribute;

const MEASURED: &str = "the resource use of a job is measured at its end";
const ANY_SOCKET: &str = "cores are chosen near the allocated GPUs, on any socket";
const WHOLE_CORES: &str = "all threads of a core always belong to one job";
const SHARED_CPUS: &str = "tasks of a job share its CPUs";
const ONE_CLUSTER: &str = "there is one cluster";
const ONLY_SUBMISSION: &str = "it is not a part of a submission";
const NO_X11: &str = "displays are not forwarded";

/// All fields, by subject.
pub(super) const FIELDS: &[Row] = &[
    // What runs.
    field("name", Text(Attribute::JobName)),
    field("argv", Own(own::argv)),
    field("script", Own(own::script)),
    field("environment", Names(own::environment)),
    field("current_working_directory", Text(Attribute::Chdir)),
    field("standard_error", Text(Attribute::Error)),
    field("standard_input", Text(Attribute::Input)),
    field("standard_output", Text(Attribute::Output)),
    field("open_mode", Own(own::open_mode)),
    field("container", Text(Attribute::Container)),
    field("array", Text(Attribute::Array)),
    field("rlimits", Names(own::rlimits)).since_version(Version::V40),
    // The owner.
    field("account", Text(Attribute::Account)),
    field("qos", Text(Attribute::Qos)),
    field("partition", Text(Attribute::Queue)),
    field("reservation", Text(Attribute::Reservation)),
    field("comment", Text(Attribute::Comment)),
    field("mail_type", Own(own::mail_type)),
    field("mail_user", Text(Attribute::MailUser)),
    field("user_id", Own(own::user)).since_version(Version::V40),
    field("group_id", Own(own::group)).since_version(Version::V40),
    // When.
    field("time_limit", Minutes(Attribute::Time)),
    field("begin_time", Time(Attribute::Begin)),
    field("deadline", Time(Attribute::Deadline)),
    field("dependency", Text(Attribute::Dependency)),
    field("kill_on_invalid_dependency", Own(own::kill_on_invalid_dependency))
        .until_version(Version::V38),
    field("hold", Own(own::hold)),
    field("nice", Number(Attribute::Nice)),
    field("priority", Own(own::priority)),
    field("requeue", Own(own::requeue)),
    field("signal", Text(Attribute::Signal)).until_version(Version::V38),
    field("kill_warning_signal", Own(own::warning_signal)).since_version(Version::V40),
    field("kill_warning_delay", Own(own::warning_delay)).since_version(Version::V40),
    field("kill_warning_flags", Own(own::warning_flags)).since_version(Version::V40),
    field("kill_on_node_fail", Own(own::kill_on_node_fail)).since_version(Version::V40),
    // With what.
    field("nodes", Own(own::nodes)),
    field("minimum_nodes", Own(own::fewest_nodes)).until_version(Version::V38),
    field("minimum_nodes", Own(own::minimum_nodes)).since_version(Version::V40),
    field("maximum_nodes", Own(own::maximum_nodes)).since_version(Version::V40),
    field("tasks", Number(Attribute::Ntasks)),
    field("tasks_per_node", Number(Attribute::NtasksPerNode)),
    field("cpus_per_task", Number(Attribute::CpusPerTask)),
    field("minimum_cpus", Own(own::minimum_cpus)).since_version(Version::V40),
    field("minimum_cpus_per_node", Own(own::minimum_cpus)),
    field("memory_per_cpu", Mebibytes(Attribute::MemPerCpu)),
    field("memory_per_node", Mebibytes(Attribute::Mem)),
    field("memory_per_gpu", Mebibytes(Attribute::MemPerGpu)).until_version(Version::V38),
    field("memory_per_tres", Own(own::memory_per_tres)).since_version(Version::V40),
    field("gres", Text(Attribute::Gres)).until_version(Version::V38),
    field("gpus", Text(Attribute::Gpus)).until_version(Version::V38),
    field("gpus_per_node", Text(Attribute::GpusPerNode)).until_version(Version::V38),
    field("gpus_per_task", Text(Attribute::GpusPerTask)).until_version(Version::V38),
    field("cpus_per_gpu", Number(Attribute::CpusPerGpu)).until_version(Version::V38),
    field("cpus_per_tres", Own(own::cpus_per_tres)).since_version(Version::V40),
    field("tres_per_job", Gpus(Attribute::Gpus)).since_version(Version::V40),
    field("tres_per_node", Gpus(Attribute::GpusPerNode)).since_version(Version::V40),
    field("tres_per_task", Gpus(Attribute::GpusPerTask)).since_version(Version::V40),
    field("ntasks_per_tres", Number(Attribute::NtasksPerGpu)).since_version(Version::V40),
    field("exclusive", Own(own::sharing)).until_version(Version::V41),
    field("oversubscribe", Unused("CPUs and GPUs are never shared between jobs"))
        .until_version(Version::V41),
    field("shared", Own(own::sharing)).since_version(Version::V40),
    // Where.
    field("constraints", Text(Attribute::Constraint)),
    field("required_nodes", List(Attribute::Nodelist)).since_version(Version::V40),
    field("excluded_nodes", List(Attribute::Exclude)).since_version(Version::V40),
    field("required_switches", Number(Attribute::Switches)).since_version(Version::V40),
    field("segment_size", Number(Attribute::Segment)).since_version(Version::V42),
    field("flags", Own(own::flags)).since_version(Version::V40),
    // Other names that slurmrestd 22.05 takes (openapi/v0.0.38/jobs.c, job_params).
    field("job_name", Text(Attribute::JobName)).until_version(Version::V38),
    field("ntasks", Number(Attribute::Ntasks)).until_version(Version::V38),
    field("constraint", Text(Attribute::Constraint)).until_version(Version::V38),
    field("nodelist", List(Attribute::Nodelist)).until_version(Version::V38),
    field("exclude_nodes", List(Attribute::Exclude)).until_version(Version::V38),
    // Without effect.
    field("account_gather_frequency", Unused(MEASURED)),
    field("admin_comment", Unused("use comment")).since_version(Version::V40),
    field("allocation_node_list", Unused(ONLY_SUBMISSION)).since_version(Version::V40),
    field("allocation_node_port", Unused(ONLY_SUBMISSION)).since_version(Version::V40),
    field("clusters", Unused(ONE_CLUSTER)).since_version(Version::V40),
    field("cluster_constraint", Unused(ONE_CLUSTER)),
    field("cores_per_socket", Unused(ANY_SOCKET)).until_version(Version::V41),
    field("cores_per_socket", Unused(ANY_SOCKET)).since_version(Version::V45),
    field("cpu_binding", Unused("a job is bound to its CPUs, near its GPUs")),
    field("cpu_binding_flags", Unused("a job is bound to its CPUs")).since_version(Version::V40),
    field("cpu_binding_hint", Unused(WHOLE_CORES)).until_version(Version::V38),
    field("cpu_frequency", Unused("the machine's governor decides")),
    field("delay_boot", Unused("nodes are not booted for jobs")),
    field("distribution", Unused("tasks are assigned node by node, in order")),
    field("distribution_plane_size", Unused("tasks are assigned node by node, in order"))
        .since_version(Version::V40),
    field("extra", Unused("use comment")).since_version(Version::V40),
    field("get_user_environment", Unused("the environment is that of the submission"))
        .until_version(Version::V38),
    field("gpu_binding", Unused("each task sees all GPUs of its job on the node"))
        .until_version(Version::V38),
    field("gpu_frequency", Unused("GPU clocks are not changed")).until_version(Version::V38),
    field("gres_flags", Unused("cores are chosen near the allocated GPUs"))
        .until_version(Version::V38),
    field("maximum_cpus", Unused("a job gets the CPUs of its tasks")).since_version(Version::V40),
    field("memory_binding", Unused("bind memory in the script with numactl")),
    field("memory_binding_type", Unused("bind memory in the script with numactl"))
        .since_version(Version::V40),
    field("memory_update_delay", Unused("the memory of a running job is not changed"))
        .since_version(Version::V45),
    field("memory_update_margin", Unused("the memory of a running job is not changed"))
        .since_version(Version::V45),
    field("minimum_boards_per_node", Unused(ANY_SOCKET)).since_version(Version::V40),
    field("minimum_sockets_per_board", Unused(ANY_SOCKET)).since_version(Version::V40),
    field("mcs_label", Unused("jobs have no labels")),
    field("network", Unused("there are no switch plug-ins")).since_version(Version::V40),
    field("oom_kill_step", Unused("a job without memory ends as a whole"))
        .since_version(Version::V42),
    field("power_flags", Unused("power is not managed per job")).since_version(Version::V40),
    field("prefer", Unused("use constraints, which are required")),
    field("profile", Unused(MEASURED)).since_version(Version::V40),
    field("site_factor", Unused("the cluster's policy orders the jobs"))
        .since_version(Version::V40),
    field("sockets_per_node", Unused(ANY_SOCKET)),
    field("spank_environment", Unused("there are no SPANK plug-ins")).since_version(Version::V40),
    field("spread_job", Unused("the queue's policy chooses nodes")).until_version(Version::V38),
    field("step_id", Unused(ONLY_SUBMISSION)).since_version(Version::V44),
    field("tasks_per_board", Unused(SHARED_CPUS)).since_version(Version::V40),
    field("tasks_per_core", Unused(SHARED_CPUS)),
    field("tasks_per_socket", Unused(SHARED_CPUS)),
    field("temporary_disk_per_node", Unused("disk space of nodes is not counted"))
        .since_version(Version::V40),
    field("threads_per_core", Unused(WHOLE_CORES)),
    field("time_minimum", Unused("a job gets the whole time_limit")),
    field("tres_bind", Unused("each task sees all GPUs of its job")).since_version(Version::V40),
    field("tres_freq", Unused("GPU clocks are not changed")).since_version(Version::V40),
    field("wait_all_nodes", Unused("a job starts when all its nodes are ready")),
    field("wait_for_switch", Unused("required_switches prefers one switch, and does not wait"))
        .since_version(Version::V40),
    field("wckey", Unused("use account or comment")),
    // With another meaning than kant could give them.
    field("batch_features", Refused("the script runs on the first node of the job")),
    field("burst_buffer", Refused("there are no burst buffers")),
    field("container_id", Refused("give container, a directory on the nodes"))
        .since_version(Version::V40),
    field("container_type", Refused("give container, a directory on the nodes"))
        .since_version(Version::V45),
    field("contiguous", Refused("nodes have no order; use required_switches"))
        .since_version(Version::V40),
    field("core_specification", Refused("cores for the system are set on the node")),
    field("crontab", Refused("jobs do not repeat by themselves")).since_version(Version::V40),
    field("end_time", Refused("give deadline")).since_version(Version::V40),
    field("gpus_per_socket", Refused("give gpus_per_node")).until_version(Version::V38),
    field("hetjob_group", Refused("give the components as `jobs`")).since_version(Version::V40),
    field("immediate", Refused("a job that cannot start at once waits"))
        .since_version(Version::V40),
    field("job_id", Refused("the cluster numbers the jobs")).since_version(Version::V40),
    field("licenses", Refused("licences are not counted")),
    field("no_kill", Refused("a job ends when it loses a node")).until_version(Version::V38),
    field("overcommit", Refused("give fewer tasks or CPUs per task")).since_version(Version::V40),
    field("reboot", Refused("nodes are not rebooted for jobs")).since_version(Version::V40),
    field("reserve_ports", Refused("ports are not reserved")).since_version(Version::V40),
    field("selinux_context", Refused("jobs run in the context of kantd"))
        .since_version(Version::V40),
    field("thread_specification", Refused("threads for the system are set on the node")),
    field("tres_per_socket", Refused("give tres_per_node")).since_version(Version::V40),
    field("x11", Refused(NO_X11)).since_version(Version::V40),
    field("x11_magic_cookie", Refused(NO_X11)).since_version(Version::V40),
    field("x11_target_host", Refused(NO_X11)).since_version(Version::V40),
    field("x11_target_port", Refused(NO_X11)).since_version(Version::V40),
];
