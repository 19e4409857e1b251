//! Precedence of options: command line over environment over script.

use super::depends::Depends;
use super::ignored_options::IgnoredOptions;
use super::options::Options;
use super::value::NodeCount;

/// A setting that can override another.
trait Layer {
    fn over(self, below: Self) -> Self;
}

impl<T> Layer for Option<T> {
    fn over(self, below: Self) -> Self {
        self.or(below)
    }
}

impl Layer for bool {
    fn over(self, below: Self) -> Self {
        self | below
    }
}

impl Layer for Depends {
    fn over(self, below: Self) -> Self {
        Depends::over(self, below)
    }
}

impl Layer for IgnoredOptions {
    fn over(self, below: Self) -> Self {
        IgnoredOptions::over(self, below)
    }
}

macro_rules! lay {
    ($above:ident over $below:ident: $($field:ident)*) => {
        Options { $($field: $above.$field.over($below.$field)),* }
    };
}

impl Options {
    /// In Slurm a job gets all nodes that it names; in kant they are the nodes it may use.
    #[must_use]
    pub fn with_all_named_nodes(mut self) -> Self {
        let named = self.nodelist.as_ref().map_or(0, |named| named.0.len());
        let tasks = self.ntasks.as_ref().map(|tasks| tasks.most.0);
        if self.nodes.is_none() && named > 1 && tasks.is_none_or(|tasks| tasks as usize >= named) {
            let most = u32::try_from(named).ok();
            self.nodes = most.map(|most| NodeCount { most, least: None });
        }
        self
    }

    /// Overrides the options `below`. Options that exclude each other (for memory, GPUs, nearness;
    /// --requeue and --no-requeue, --preemptible and --no-preemptible) are overridden together.
    #[must_use]
    pub fn over(self, mut below: Options) -> Options {
        let above = self;
        if above.mem.or(above.mem_per_cpu).or(above.mem_per_gpu).is_some() {
            (below.mem, below.mem_per_cpu, below.mem_per_gpu) = (None, None, None);
        }
        if above.asks_gpus() {
            (below.gpus, below.gpus_per_node) = (None, None);
            (below.gpus_per_task, below.gres) = (None, None);
        }
        if above.cpus_per_gpu.is_some() || above.cpus_per_task.is_some() {
            (below.cpus_per_gpu, below.cpus_per_task) = (None, None);
        }
        if above.ntasks_per_gpu.is_some() || above.ntasks.is_some() {
            (below.ntasks_per_gpu, below.ntasks) = (None, None);
        }
        if above.near.is_some() || above.switches.is_some() {
            (below.near, below.switches) = (None, None);
        }
        if above.preemptible || above.no_preemptible {
            (below.preemptible, below.no_preemptible) = (false, false);
        }
        if above.requeue || above.no_requeue {
            (below.requeue, below.no_requeue) = (false, false);
        }
        lay!(above over below:
            job_name account qos service comment nodes ntasks ntasks_per_node cpus_per_task mem
            mem_per_cpu mem_per_gpu gpus gpus_per_node gpus_per_task gres exclusive grow queue time
            begin
            deadline reservation near switches segment max_per_node hold nice nodelist
            exclude constraint
            output error input open_mode chdir array launch container signal resize_signal export
            requeue no_requeue preemptible no_preemptible parsable test_only wait quiet
            ntasks_per_gpu cpus_per_gpu mail_type mail_user depends ignored_options)
    }

    fn asks_gpus(&self) -> bool {
        let each = self.gpus_per_node.as_ref().or(self.gpus_per_task.as_ref());
        self.gpus.is_some() || each.is_some() || self.gres.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::super::options::read_words;
    use super::*;

    fn read(words: &str) -> Options {
        read_words(&words.split(' ').collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn the_upper_layer_overrides_the_lower() {
        let merged = read("-n 4 --time 10").over(read("-n 2 --queue gpu --hold"));
        assert_eq!(merged, read("-n 4 --time 10 --queue gpu --hold"));
    }

    #[test]
    fn alternative_options_replace_each_other_across_layers() {
        for (above, below) in [
            ("--mem 1G", "--mem-per-cpu 2G"),
            ("--gpus 4", "--gres gpu:2"),
            ("--gpus-per-task 1", "--gpus-per-node h100:2"),
            ("--no-requeue", "--requeue"),
            ("--preemptible", "--no-preemptible"),
            ("--near spine:required", "--switches 1"),
            ("--switches 1", "--near spine:required"),
        ] {
            assert_eq!(read(above).over(read(below)), read(above), "{above} over {below}");
        }
    }
}
