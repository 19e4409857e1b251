//! Options of sbatch that kant takes, says a word about, and goes without: wishes about how fast
//! something runs or how it is counted, never about what runs, where, or with how much.
//! Source: man sbatch.

/// An option's name, and why a job runs as well without it.
pub type Why = (&'static str, &'static str);

macro_rules! passed_over {
    ($($(#[$meta:meta])* $field:ident: $why:literal,)*) => {
        /// The options that were given, each with its value.
        #[derive(clap::Args, Debug, Clone, Default, PartialEq)]
        #[group(skip)]
        pub struct PassedOver {
            $(
                #[doc = $why]
                #[arg(long, hide = true, value_name = "VALUE", allow_hyphen_values = true)]
                $(#[$meta])*
                pub $field: Option<String>,
            )*
        }

        /// All of them.
        pub const PASSED_OVER: &[Why] = &[$((stringify!($field), $why),)*];

        impl PassedOver {
            /// Which were given, and why each changes nothing.
            #[must_use]
            pub fn given(&self) -> Vec<Why> {
                let all = [$((stringify!($field), $why, self.$field.is_some()),)*];
                all.into_iter().filter(|(.., given)| *given).map(|(n, why, _)| (n, why)).collect()
            }

            /// These, and those of `below` where nothing is said here.
            #[must_use]
            pub fn over(self, below: Self) -> Self {
                Self { $($field: self.$field.or(below.$field),)* }
            }
        }
    };
}

passed_over! {
    acctg_freq: "what a job uses is measured at its end",
    #[arg(short = 'M')]
    clusters: "there is one cluster",
    cores_per_socket: "cores are chosen near the GPUs given, whatever the socket",
    cpu_bind: "a job is held to its CPUs, near its GPUs; bind single tasks with taskset",
    cpu_freq: "the machine's governor decides",
    delay_boot: "nodes are not booted for jobs",
    #[arg(short = 'm')]
    distribution: "tasks stand node by node, in order",
    #[arg(short = 'B')]
    extra_node_info: "cores are chosen near the GPUs given, whatever the socket",
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "")]
    get_user_env: "the environment is that of the submission; `#!/bin/bash -l` makes a login shell",
    gpu_bind: "each task sees all GPUs of its job on the node: choose by SLURM_LOCALID",
    gpu_freq: "GPUs keep the clocks they have",
    hint: "threads of a core go to one job in any case",
    mem_bind: "bind memory in the script with numactl",
    network: "there are no switch plug-ins",
    ntasks_per_core: "tasks of a job share its CPUs",
    ntasks_per_socket: "tasks of a job share its CPUs",
    #[arg(short = 's', num_args = 0..=1, require_equals = true, default_missing_value = "")]
    oversubscribe: "CPUs and GPUs are never given twice",
    power: "power is the machine's",
    profile: "what a job uses is measured at its end",
    propagate: "the shell's soft limits are always passed on",
    sockets_per_node: "cores are chosen near the GPUs given, whatever the socket",
    threads_per_core: "threads of a core go to one job in any case",
    time_min: "a job gets the whole --time",
    tmp: "disks of nodes are not counted; /tmp is the job's own",
    wckey: "use --account or --comment",
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        passed: PassedOver,
    }

    #[test]
    fn what_was_given_is_named_with_its_reason() {
        let read = |words: &str| Line::parse_from(words.split(' ')).passed;
        let given = read("x --hint=nomultithread -m block:block --tmp 1G");
        let names: Vec<&str> = given.given().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["distribution", "hint", "tmp"]);
        let both = read("x --hint=a").over(read("x --hint=b --tmp=1"));
        assert_eq!((both.hint.as_deref(), both.tmp.as_deref()), (Some("a"), Some("1")));
    }
}
