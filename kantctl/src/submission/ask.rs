//! Merged options to what the controller is asked, with the defaults that Slurm's users expect.
//! Never checks a request as a whole; `common::job::check` does.

use super::options::Options;
use super::script::Script;
use super::shell::Shell;
use crate::failure::Failure;
use common::gpu::GpuKind;
use common::job::Ask;
use common::resource::{GpuRequest, MemoryRequest, Request};
use common::unit::{Cpus, Nodes, Tasks};
use std::path::Path;

/// What the controller is asked.
///
/// # Errors
/// [`Failure`] when the working directory is no text.
pub fn ask(
    options: &Options,
    script: &Script,
    args: &[String],
    shell: &Shell,
) -> Result<Ask, Failure> {
    let directory = match &options.chdir {
        None => shell.directory.clone(),
        Some(directory) => shell.directory.join(directory),
    };
    Ok(Ask {
        name: options.job_name.clone().unwrap_or_else(|| script.job_name.clone()),
        queue: options.queue.clone(),
        account: options.account.clone(),
        args: args.to_vec(),
        work_dir: text(&directory)?,
        stdin: options.input.clone(),
        stdout: options.output.clone(),
        stderr: options.error.clone(),
        open_mode: options.open_mode.unwrap_or_default(),
        request: request(options),
        launch: options.launch.unwrap_or_default(),
        time_limit: options.time,
        begin_at: options.begin,
        nice: options.nice.unwrap_or(0),
        hold: options.hold,
        requeue: !options.no_requeue,
        array: options.array.clone(),
        umask: shell.umask,
        rlimits: shell.rlimits.clone(),
        comment: options.comment.clone(),
        submit_host: shell.host.clone(),
        ..Ask::default()
    })
}

/// A path as text.
///
/// # Errors
/// [`Failure`] when it is no UTF-8.
pub fn text(path: &Path) -> Result<String, Failure> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| Failure::message(format!("the directory {} is not UTF-8", path.display())))
}

fn request(options: &Options) -> Request {
    let (gpus, gpu_kind) = gpus(options);
    Request {
        nodes: options.nodes.map(Nodes),
        tasks: Tasks(tasks(options)),
        tasks_per_node: options.ntasks_per_node.map(Tasks),
        cpus_per_task: Cpus(options.cpus_per_task.unwrap_or(1)),
        memory: memory(options),
        gpus,
        gpu_kind,
        exclusive: options.exclusive,
        only_nodes: options.nodelist.clone().map(|hosts| hosts.0).unwrap_or_default(),
        not_nodes: options.exclude.clone().map(|hosts| hosts.0).unwrap_or_default(),
        ..Request::default()
    }
}

/// Without `--ntasks`: one on each node, or as many as fill every node.
fn tasks(options: &Options) -> u32 {
    let nodes = options.nodes.unwrap_or(1);
    let each = options.ntasks_per_node.unwrap_or(1);
    options.ntasks.unwrap_or_else(|| nodes.saturating_mul(each))
}

fn memory(options: &Options) -> Option<MemoryRequest> {
    let per_node = options.mem.map(MemoryRequest::PerNode);
    let per_cpu = options.mem_per_cpu.map(MemoryRequest::PerCpu);
    per_node.or(per_cpu).or(options.mem_per_gpu.map(MemoryRequest::PerGpu))
}

fn gpus(options: &Options) -> (Option<GpuRequest>, Option<GpuKind>) {
    let gres = options.gres.as_ref().and_then(|gres| gres.0.as_ref());
    let per_node = options.gpus_per_node.as_ref().or(gres);
    let asked = if let Some(gpus) = per_node {
        (GpuRequest::PerNode(gpus.count), gpus)
    } else if let Some(gpus) = &options.gpus_per_task {
        (GpuRequest::PerTask(gpus.count), gpus)
    } else if let Some(gpus) = &options.gpus {
        (GpuRequest::Total(gpus.count), gpus)
    } else {
        return (None, None);
    };
    (Some(asked.0), asked.1.kind.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::submission::options::read_words;
    use crate::submission::script::wrap;
    use common::job::check::check_ask;
    use common::unit::{Bytes, Gpus};

    fn asked(words: &str) -> Ask {
        let options = read_words(&words.split_whitespace().collect::<Vec<_>>()).unwrap();
        let shell = Shell { directory: "/home/ada".into(), umask: 0o027, ..Shell::default() };
        ask(&options, &wrap("true").unwrap(), &["a b".to_owned()], &shell).unwrap()
    }

    #[test]
    fn nothing_asked_is_one_task_here() {
        let ask = asked("");
        assert_eq!(check_ask(&ask), Ok(()));
        assert_eq!(ask.request, Request::default());
        assert_eq!((ask.name.as_str(), ask.work_dir.as_str()), ("wrap", "/home/ada"));
        assert_eq!((ask.umask, ask.args.as_slice()), (0o027, &["a b".to_owned()][..]));
        assert!(ask.requeue && !ask.hold);
    }

    #[test]
    fn tasks_follow_from_nodes() {
        for (words, tasks) in [
            ("-N 2", 2),
            ("-N 2 --ntasks-per-node=4", 8),
            ("--ntasks-per-node=4", 4),
            ("-N 2 -n 6", 6),
            ("-n 3", 3),
        ] {
            assert_eq!(asked(words).request.tasks, Tasks(tasks), "{words}");
        }
    }

    #[test]
    fn gpus_and_memory_become_one_request() {
        for (words, gpus) in [
            ("--gpus=h100:4", GpuRequest::Total(Gpus(4))),
            ("--gpus-per-task h100:4", GpuRequest::PerTask(Gpus(4))),
            ("--gres=gpu:h100:4", GpuRequest::PerNode(Gpus(4))),
            ("--gpus-per-node=h100:4", GpuRequest::PerNode(Gpus(4))),
        ] {
            let request = asked(words).request;
            assert_eq!(request.gpus, Some(gpus), "{words}");
            assert_eq!(request.gpu_kind, Some(GpuKind("h100".to_owned())), "{words}");
        }
        let memory = asked("--mem-per-gpu=2G --gpus=1").request.memory;
        assert_eq!(memory, Some(MemoryRequest::PerGpu(Bytes::from_mib(2048))));
        assert_eq!(asked("--gres=none").request.gpus, None);
    }

    #[test]
    fn directories_are_taken_from_here() {
        assert_eq!(asked("-D run/1").work_dir, "/home/ada/run/1");
        assert_eq!(asked("--chdir=/scratch").work_dir, "/scratch");
    }
}
