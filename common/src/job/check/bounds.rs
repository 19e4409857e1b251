//! Size limits on every part of a request. The controller keeps each request in memory, in its log
//! and in its snapshots for as long as it keeps the job.

use super::{Ask, AskError};
use crate::id::{ArrayIndex, SET_SIZE_MAX};
use crate::job::array::ArraySpec;
use crate::job::mail;
use crate::text::is_shown;

/// In bytes, each argument with its terminating NUL.
pub const ARGS_BYTES_MAX: usize = 128 << 10;

pub const ARGS_MAX: usize = 10_000;

/// The maximum length of the displayed command line, in bytes.
pub const COMMAND_BYTES_MAX: usize = 1024;

/// The maximum number of limits inherited from a shell; Linux has 16 (man 2 getrlimit).
pub const RLIMITS_MAX: usize = 32;

/// In bytes.
pub const RLIMIT_NAME_BYTES_MAX: usize = 32;

/// In bytes.
pub const STEP_NAME_BYTES_MAX: usize = 4096;

/// The maximum number of node names in `--nodelist` or `--exclude`.
pub const NODE_NAMES_MAX: usize = 10_000;

/// The maximum number of names in `--data`.
pub const DATA_NAMES_MAX: usize = 16;

/// The maximum number of comma-separated ranges of an array.
pub const ARRAY_PARTS_MAX: usize = 10_000;

/// The maximum number of alternative GPU kinds, not counting the first.
pub const GPU_KINDS_MAX: usize = 15;

/// The highest index of an array; higher values encode components (`42+1`).
const INDEX_MAX: u32 = u32::MAX - SET_SIZE_MAX;

fn check_indices(ask: &Ask) -> Result<(), AskError> {
    let highest = ask.array.as_ref().and_then(ArraySpec::highest);
    match highest.filter(|ArrayIndex(index)| *index > INDEX_MAX) {
        Some(ArrayIndex(index)) => Err(AskError::IndexTooHigh { index, max: INDEX_MAX }),
        None => Ok(()),
    }
}

/// Checks the sizes. Names of queues, accounts and nodes are bounded by their types, and the number
/// of tasks of an array is bounded where it is parsed.
pub(super) fn check(ask: &Ask) -> Result<(), AskError> {
    check_texts(ask)?;
    check_args(&ask.args)?;
    let request = &ask.request;
    let array_parts = ask.array.as_ref().map_or(0, |array| array.range_count());
    check_count("--nodelist", request.only_nodes.len(), NODE_NAMES_MAX)?;
    check_count("--exclude", request.not_nodes.len(), NODE_NAMES_MAX)?;
    check_count("--data", request.data.len(), DATA_NAMES_MAX)?;
    check_count("kinds of GPU in --gpus", request.gpu_kinds_or.len(), GPU_KINDS_MAX)?;
    check_count("ranges in --array", array_parts, ARRAY_PARTS_MAX)?;
    check_indices(ask)?;
    check_count("limits of the shell", ask.rlimits.len(), RLIMITS_MAX)?;
    let to = ask.mail.as_ref().and_then(|mail| mail.to.as_deref());
    to.map(mail::addresses).transpose()?;
    ask.rlimits
        .iter()
        .try_for_each(|limit| check_name("a limit's name", &limit.name, RLIMIT_NAME_BYTES_MAX))
}

fn check_texts(ask: &Ask) -> Result<(), AskError> {
    let request = &ask.request;
    for kind in request.gpu_kind.iter().chain(&request.gpu_kinds_or) {
        check_name("the kind of GPU in --gpus", &kind.0, 64)?;
    }
    let group = request.apart.as_ref().map(|apart| &apart.group);
    let texts = [
        ("--chdir", Some(&ask.work_dir), 4096),
        ("--container", ask.container.as_ref(), 4096),
        ("--input", ask.stdin.as_ref(), 4096),
        ("--output", ask.stdout.as_ref(), 4096),
        ("--error", ask.stderr.as_ref(), 4096),
        ("the command line", ask.command.as_ref(), COMMAND_BYTES_MAX),
        ("--comment", ask.comment.as_ref(), 1024),
    ];
    let names = [
        ("--job-name", Some(&ask.name), 255),
        ("the group of --max-per-node", group, 320),
        ("the name of the submitting host", Some(&ask.submit_host), 255),
    ];
    let mut texts = texts.into_iter().filter_map(|(what, text, max)| Some((what, text?, max)));
    texts.try_for_each(|(what, found, max)| check_text(what, found, max))?;
    let mut names = names.into_iter().filter_map(|(what, name, max)| Some((what, name?, max)));
    names.try_for_each(|(what, found, max)| check_name(what, found, max))
}

/// Checks the name of a step.
///
/// # Errors
/// [`AskError`] if it is too long or has an invisible character.
pub fn check_step_name(step: &str) -> Result<(), AskError> {
    check_name("the step's name", step, STEP_NAME_BYTES_MAX)
}

/// Arguments may hold anything that a program can receive, line breaks included.
fn check_args(args: &[String]) -> Result<(), AskError> {
    check_count("arguments of the script", args.len(), ARGS_MAX)?;
    let bytes = args.iter().map(|arg| arg.len() + 1).sum();
    if bytes > ARGS_BYTES_MAX {
        return Err(AskError::ArgsTooLarge(bytes));
    }
    if args.iter().any(|arg| arg.contains('\0')) { Err(AskError::ArgNul) } else { Ok(()) }
}

fn check_text(what: &'static str, text: &str, max: usize) -> Result<(), AskError> {
    let fits = text.len() <= max && !text.chars().any(char::is_control);
    if fits { Ok(()) } else { Err(AskError::Text { what, max }) }
}

/// Names that identify something must not have invisible characters, which make two names look the
/// same. Paths and comments may have them, and are shown with such characters escaped.
fn check_name(what: &'static str, name: &str, max: usize) -> Result<(), AskError> {
    check_text(what, name, max)?;
    match name.chars().find(|c| !is_shown(*c)) {
        Some(character) => Err(AskError::Unseen { what, character: u32::from(character) }),
        None => Ok(()),
    }
}

const fn check_count(what: &'static str, count: usize, max: usize) -> Result<(), AskError> {
    if count > max { Err(AskError::TooMany { what, count, max }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::super::check_ask;
    use super::*;
    use crate::gpu::GpuKind;
    use crate::id::NodeName;
    use crate::job::mail::Mail;
    use crate::job::spec::Rlimit;
    use crate::resource::{Apart, GpuRequest};
    use crate::unit::Gpus;

    fn checked(change: impl FnOnce(&mut Ask)) -> Result<(), AskError> {
        let mut ask = Ask::default();
        change(&mut ask);
        check_ask(&ask)
    }

    #[test]
    fn arguments_are_bounded_in_bytes_and_number_and_hold_no_nul() {
        let args = |bytes: usize| checked(|a| a.args = vec!["x".repeat(bytes)]);
        assert_eq!(args(ARGS_BYTES_MAX - 1), Ok(()));
        assert_eq!(args(ARGS_BYTES_MAX), Err(AskError::ArgsTooLarge(ARGS_BYTES_MAX + 1)));
        assert!(args(ARGS_BYTES_MAX).unwrap_err().to_string().contains("put them in a file"));
        let many = checked(|a| a.args = vec![String::new(); ARGS_MAX + 1]);
        assert!(many.unwrap_err().to_string().contains("10001 is too many, give at most 10000"));
        assert_eq!(checked(|a| a.args = vec!["a\0b".into()]), Err(AskError::ArgNul));
        assert_eq!(checked(|a| a.args = vec!["two\nlines".into()]), Ok(()));
    }

    #[test]
    fn no_name_holds_a_character_that_is_not_seen() {
        for bad in ["\u{202e}", "\u{2066}", "\u{200b}", "\u{feff}", "\u{2028}", "\u{e0041}"] {
            let named = format!("a{bad}b");
            let group = Some(Apart { group: named.clone(), ..Apart::default() });
            let limit = Rlimit { name: named.clone(), soft: None };
            for (what, result) in [
                ("--job-name", checked(|a| a.name = named.clone())),
                ("--max-per-node", checked(|a| a.request.apart = group)),
                ("submitting host", checked(|a| a.submit_host = named.clone())),
                ("a limit's name", checked(|a| a.rlimits = [limit].into())),
                ("the step's name", check_step_name(&named)),
            ] {
                let error = result.unwrap_err().to_string();
                let number = format!("U+{:04X}", u32::from(bad.chars().next().unwrap()));
                assert!(error.contains(what) && error.contains(&number), "{error}");
                assert!(!error.contains(bad), "the message holds it itself: {error:?}");
            }
        }
        assert_eq!(checked(|a| a.name = "Größe-日本-🦘".to_owned()), Ok(()));
        assert_eq!(checked(|a| a.comment = Some("shown escaped \u{202e}".to_owned())), Ok(()));
        assert!(check_step_name("two\nlines").is_err() && check_step_name("train").is_ok());
    }

    #[test]
    fn limits_hosts_nodes_kinds_and_arrays_are_bounded() {
        let limit = |name: &str| Rlimit { name: name.to_owned(), soft: None };
        let nodes = || vec![NodeName::new("n").unwrap(); NODE_NAMES_MAX + 1];
        let group = |group: String| Some(Apart { group, ..Apart::default() });
        let kinds = || (0..=GPU_KINDS_MAX).map(|n| GpuKind(format!("a{n:03}"))).collect();
        let ones = vec!["1"; ARRAY_PARTS_MAX + 1].join(",");
        for (word, result) in [
            ("limits of", checked(|a| a.rlimits = vec![limit("core"); RLIMITS_MAX + 1].into())),
            ("a limit's name", checked(|a| a.rlimits = [limit(&"x".repeat(33))].into())),
            ("the command line", checked(|a| a.command = Some("c".repeat(1025)))),
            ("the command line", checked(|a| a.command = Some("a\nb".to_owned()))),
            ("submitting host", checked(|a| a.submit_host = "h".repeat(256))),
            (
                "--mail-user: `-x` is not a mail address",
                checked(|a| a.mail = Some(Mail { to: Some("-x".into()), ..Mail::default() })),
            ),
            ("--nodelist", checked(|a| a.request.only_nodes = nodes())),
            ("--exclude", checked(|a| a.request.not_nodes = nodes())),
            ("--data", checked(|a| a.request.data = vec!["d".parse().unwrap(); 17])),
            ("group of", checked(|a| a.request.apart = group("g".repeat(321)))),
            (
                "kinds of GPU in --gpus: 16 is too many",
                checked(|a| {
                    a.request.gpus = Some(GpuRequest::PerNode(Gpus(1)));
                    a.request.gpu_kind = Some(GpuKind("a".to_owned()));
                    a.request.gpu_kinds_or = kinds();
                }),
            ),
            ("ranges in --array", checked(|a| a.array = ones.parse().ok())),
            ("an index of", checked(|a| a.array = "4294967168,1".parse().ok())),
            (
                "kind of GPU",
                checked(|a| {
                    a.request.gpus = Some(GpuRequest::PerNode(Gpus(1)));
                    a.request.gpu_kind = Some(GpuKind("k".repeat(65)));
                }),
            ),
        ] {
            let error = result.unwrap_err().to_string();
            assert!(error.contains(word), "{word}: {error}");
        }
        assert_eq!(checked(|a| a.rlimits = vec![limit("nofile"); RLIMITS_MAX].into()), Ok(()));
    }
}
