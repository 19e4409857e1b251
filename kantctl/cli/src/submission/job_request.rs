//! Conversion of merged options to a job request, with the defaults that users of Slurm expect.
//! `common::job::check` validates the request as a whole.

use super::mail::is_variable;
use super::options::Options;
use super::script::Script;
use super::shell::Shell;
use crate::failure::Failure;
use common::job::asked::request;
use common::job::check::COMMAND_BYTES_MAX;
use common::job::{Ask, Attribute, Mail};
use common::resource::{Apart, Request};
use common::text::escape_hidden;
use std::path::Path;

/// The job request for these options.
///
/// # Errors
/// [`Failure`] when the working directory is not UTF-8, or counts per GPU have no GPUs.
pub fn build(
    options: &Options,
    script: &Script,
    args: &[String],
    shell: &Shell,
) -> Result<Ask, Failure> {
    let directory = match options.get::<String>(Attribute::Chdir) {
        None => shell.directory.clone(),
        Some(directory) => shell.directory.join(directory),
    };
    let mut ask = Ask {
        name: script.job_name.clone(),
        command: script.command.as_ref().map(|command| line(command, args)),
        args: args.to_vec(),
        umask: shell.umask,
        rlimits: shell.rlimits.clone().into(),
        submit_host: shell.host.clone(),
        ..Ask::default()
    };
    for (attribute, value) in options.values() {
        ask.set(attribute, Some(value));
    }
    // What depends on the shell, or on several options.
    let group = format!("{}/{}", shell.user, ask.name);
    let most = options.get(Attribute::MaxPerNode);
    ask.request = Request {
        apart: most.map(|jobs| Apart { group, per_node_max: Some(jobs), spread: None }),
        ..request(options, &ask.request).map_err(Failure::usage)?
    };
    ask.work_dir = path_text(&directory)?;
    ask.container = match ask.container {
        Some(container) => Some(path_text(&shell.directory.join(container))?),
        None => None,
    };
    if let Some(mail) = &mut ask.mail {
        mail.to = mail.to.take().filter(|to| !is_variable(to));
    }
    ask.mail = ask.mail.and_then(Mail::none_if_default);
    Ok(ask)
}

/// The command and its arguments in one line, truncated to the length that is kept.
fn line(command: &str, args: &[String]) -> String {
    let words = std::iter::once(command).chain(args.iter().map(String::as_str));
    let line = words.collect::<Vec<_>>().join(" ");
    let line = escape_hidden(&line).into_owned();
    if line.len() <= COMMAND_BYTES_MAX {
        return line;
    }
    const MORE: &str = "...";
    let end = line.floor_char_boundary(COMMAND_BYTES_MAX - MORE.len());
    format!("{}{MORE}", &line[..end])
}

/// A path as text.
///
/// # Errors
/// [`Failure`] when it is not UTF-8.
pub fn path_text(path: &Path) -> Result<String, Failure> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| {
        Failure::from_message(format!("the directory {} is not UTF-8", path.display()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::submission::options::read_words;
    use crate::submission::script::wrap;
    use common::gpu::GpuKind;
    use common::gpu_parts::GpuParts;
    use common::job::check::check_ask;
    use common::resource::{GpuRequest, MemoryRequest};
    use common::topology::Level;
    use common::unit::{Bytes, GpuMilli, Gpus, Tasks};
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn asked(words: &str) -> Ask {
        let options = read_words(&words.split_whitespace().collect::<Vec<_>>()).unwrap();
        let shell = Shell { directory: "/home/ada".into(), umask: 0o027, ..Shell::default() };
        build(&options, &wrap("true").unwrap(), &["a b".to_owned()], &shell).unwrap()
    }

    #[test]
    fn the_default_is_one_task_in_the_current_directory() {
        let ask = asked("");
        assert_eq!(check_ask(&ask), Ok(()));
        assert_eq!(ask.request, Request::default());
        assert_eq!((ask.name.as_str(), ask.work_dir.as_str()), ("wrap", "/home/ada"));
        assert_eq!((ask.umask, ask.args.as_slice()), (0o027, &["a b".to_owned()][..]));
        assert!(ask.requeue && !ask.hold);
    }

    #[test]
    fn the_command_line_is_kept_in_one_line_of_bounded_length() {
        let args = |args: &[&str]| args.iter().map(|&arg| arg.to_owned()).collect::<Vec<_>>();
        assert_eq!(line("/a/train.sh", &[]), "/a/train.sh");
        assert_eq!(line("/a/train.sh", &args(&["--lr", "1\n2"])), "/a/train.sh --lr 1\\n2");
        let long = line("/a/train.sh", &args(&[&"ü".repeat(9999)]));
        assert!(long.ends_with("ü...") && long.len() > COMMAND_BYTES_MAX - 4, "{long}");
        let ask = Ask { command: Some(long), ..Ask::default() };
        assert_eq!(check_ask(&ask), Ok(()));
    }

    #[test]
    fn the_number_of_tasks_is_derived_from_nodes() {
        for (words, tasks) in [
            ("-N 2", 2),
            ("-N 2 --ntasks-per-node=4", 8),
            ("--ntasks-per-node=4", 4),
            ("-N 2 -n 6", 6),
            ("-n 3", 3),
            ("-N 1-4", 4),
            ("-N 1-4 -n 3", 3),
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
    fn relative_directories_are_resolved_here() {
        assert_eq!(asked("-D run/1").work_dir, "/home/ada/run/1");
        assert_eq!(asked("--chdir=/scratch").work_dir, "/scratch");
        assert_eq!(asked("--container image").container.as_deref(), Some("/home/ada/image"));
    }

    #[test]
    fn alternative_kinds_and_gpu_shares_are_requested() {
        let kind = |kind: &str| GpuKind(kind.to_owned());
        let request = asked("--gpus=v100|h100|a100:4").request;
        assert_eq!(request.gpu_kind, Some(kind("a100")));
        assert_eq!(request.gpu_kinds_or, [kind("h100"), kind("v100")]);
        let half = asked("--gpus=a100:0.5");
        assert_eq!(half.request.gpus, Some(GpuRequest::Parts(GpuParts::of_one(GpuMilli(500)))));
        assert_eq!((check_ask(&half), half.request.gpu_kind), (Ok(()), Some(kind("a100"))));
    }

    #[test]
    fn nearness_has_a_level_and_blocks_are_nvlink_domains() {
        let near = |words: &str| {
            let near = asked(words).request.near;
            near.map(|near| (near.level, near.required))
        };
        assert_eq!(near("-N 2 --near=spine:required"), Some((Level::Spine, true)));
        assert_eq!(near("-N 2 --switches=1"), Some((Level::Leaf, false)));
        assert_eq!(near("-N 4 --segment=2"), Some((Level::NvlinkDomain, true)));
        assert_eq!(near("-N 4 --segment=2 --near=leaf"), Some((Level::Leaf, false)));
        assert_eq!(near("-N 4"), None);
        assert_eq!(check_ask(&asked("-N 4 --segment=2")), Ok(()));
    }

    #[test]
    fn a_range_of_tasks_keeps_both_ends() {
        let request = asked("-n 2-8").request;
        assert_eq!((request.tasks, request.tasks_min), (Tasks(8), Some(Tasks(2))));
        assert_eq!(asked("-n 8").request.tasks_min, None);
    }

    #[test]
    fn a_growing_job_needs_a_range() {
        for words in ["-N 1-4 --grow", "-n 2-8 --ntasks-per-node=2 --grow"] {
            let ask = asked(words);
            assert_eq!((ask.request.grow, check_ask(&ask)), (true, Ok(())), "{words}");
        }
        for words in ["--grow", "-N 4 --grow", "-n 8 --grow", "-N 1-4 -n 3 --grow"] {
            let refused = check_ask(&asked(words)).unwrap_err().to_string();
            assert!(refused.contains("--nodes=1-4"), "{words}: {refused}");
        }
    }

    #[test]
    fn jobs_with_the_same_name_and_user_form_a_group() {
        let apart = asked("-J serve --max-per-node=2").request.apart;
        let group = "0/serve".to_owned();
        assert_eq!(apart, Some(Apart { group, per_node_max: Some(2), spread: None }));
    }

    #[test]
    fn preemptible_is_given_or_left_to_the_queue() {
        for (words, expected) in
            [("", None), ("--preemptible", Some(true)), ("--no-preemptible", Some(false))]
        {
            assert_eq!(asked(words).preemptible, expected, "{words}");
        }
        let ask = asked("--qos high --reservation exam --service");
        assert_eq!(ask.qos.unwrap().as_str(), "high");
        assert_eq!((ask.reservation.unwrap().as_str(), ask.service), ("exam", true));
    }

    /// Options of a request, with values that are valid, invalid, or invalid in combination.
    fn option() -> impl Strategy<Value = String> {
        prop_oneof![
            "--(nodes|ntasks|segment|max-per-node|gpus-per-task|ntasks-per-node)=[0-9]{1,2}",
            "--ntasks=[0-9]-[0-9]",
            "--gpus=((a100|h100)[|]){0,2}(a100:|h100:)?([0-9]|0[.][0-9]{1,3})",
            "--near=(leaf|spine|nvlink-domain)(:required)?",
            "--(exclusive|grow|service|preemptible|no-preemptible)",
            "--(mem|mem-per-gpu)=[0-9]G",
            "--deadline=now[+][0-9]{1,3}",
            "--(begin)=now[+][0-9]{1,3}",
        ]
    }

    proptest! {
        #[test]
        fn a_parsed_request_is_valid_or_the_refusal_names_an_option(
            words in vec(option(), 0..6)
        ) {
            let shell = Shell { directory: "/home".into(), ..Shell::default() };
            let Ok(options) = read_words(&words) else { return Ok(()) };
            let ask = build(&options, &wrap("true").unwrap(), &[], &shell).unwrap();
            if let Err(error) = check_ask(&ask) {
                prop_assert!(error.to_string().contains("--"), "{words:?}: {error}");
            }
        }
    }
}
