//! Options of sbatch that are accepted with a warning and have no effect. They concern performance
//! or accounting only, never what runs, where, or with which resources.
//! Source: man sbatch.

/// An option's name, and why it has no effect.
pub type Why = (&'static str, &'static str);

macro_rules! ignored_options {
    ($($(#[$meta:meta])* $field:ident: $why:literal,)*) => {
        /// The ignored options that were given, with their values.
        #[derive(clap::Args, Debug, Clone, Default, PartialEq)]
        #[group(skip)]
        pub struct IgnoredOptions {
            $(
                #[doc = $why]
                #[arg(long, hide = true, value_name = "VALUE", allow_hyphen_values = true)]
                $(#[$meta])*
                pub $field: Option<String>,
            )*
        }

        /// All ignored options.
        pub const IGNORED_OPTIONS: &[Why] = &[$((stringify!($field), $why),)*];

        impl IgnoredOptions {
            /// The options that were given, with the reason why each has no effect.
            #[must_use]
            pub fn given(&self) -> Vec<Why> {
                let all = [$((stringify!($field), $why, self.$field.is_some()),)*];
                all.into_iter().filter(|(.., given)| *given).map(|(n, why, _)| (n, why)).collect()
            }

            /// Overrides the options `below`.
            #[must_use]
            pub fn over(self, below: Self) -> Self {
                Self { $($field: self.$field.or(below.$field),)* }
            }
        }
    };
}

ignored_options! {
    acctg_freq: "the resource use of a job is measured at its end",
    #[arg(short = 'M')]
    clusters: "there is one cluster",
    cores_per_socket: "cores are chosen near the allocated GPUs, on any socket",
    cpu_bind: "a job is bound to its CPUs, near its GPUs; bind single tasks with taskset",
    cpu_freq: "the machine's governor decides",
    delay_boot: "nodes are not booted for jobs",
    #[arg(short = 'm')]
    distribution: "tasks are assigned node by node, in order",
    #[arg(short = 'B')]
    extra_node_info: "cores are chosen near the allocated GPUs, on any socket",
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "")]
    get_user_env: "the environment is that of the submission; `#!/bin/bash -l` starts a login \
                   shell",
    gpu_bind: "each task sees all GPUs of its job on the node: choose by SLURM_LOCALID",
    gpu_freq: "GPU clocks are not changed",
    hint: "all threads of a core always belong to one job",
    mem_bind: "bind memory in the script with numactl",
    network: "there are no switch plug-ins",
    ntasks_per_core: "tasks of a job share its CPUs",
    ntasks_per_socket: "tasks of a job share its CPUs",
    #[arg(short = 's', num_args = 0..=1, require_equals = true, default_missing_value = "")]
    oversubscribe: "CPUs and GPUs are never shared between jobs",
    power: "power is not managed per job",
    profile: "the resource use of a job is measured at its end",
    propagate: "the shell's soft limits are always passed on",
    sockets_per_node: "cores are chosen near the allocated GPUs, on any socket",
    threads_per_core: "all threads of a core always belong to one job",
    time_min: "a job gets the whole --time",
    tmp: "disk space of nodes is not counted; /tmp is private to the job",
    wckey: "use --account or --comment",
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        passed: IgnoredOptions,
    }

    #[test]
    fn given_options_are_listed_with_their_reasons() {
        let read = |words: &str| Line::parse_from(words.split(' ')).passed;
        let given = read("x --hint=nomultithread -m block:block --tmp 1G");
        let names: Vec<&str> = given.given().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["distribution", "hint", "tmp"]);
        let both = read("x --hint=a").over(read("x --hint=b --tmp=1"));
        assert_eq!((both.hint.as_deref(), both.tmp.as_deref()), (Some("a"), Some("1")));
    }
}
