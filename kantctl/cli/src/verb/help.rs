//! `kantctl help`: a short page on a topic, or a verb's help.

use crate::failure::{Failure, OK};
use crate::output::Screen;
use anyhow::Context;
use std::io::{IsTerminal, Write};
use std::process::{Command, Stdio};

/// The pages: topic, summary, text.
const TOPICS: &[(&str, &str, &str)] = &[
    ("jobs", "from submission to the end", include_str!("help/jobs.txt")),
    ("gpus", "how to request them", include_str!("help/gpus.txt")),
    ("arrays", "one script, many tasks", include_str!("help/arrays.txt")),
    ("queues", "choosing a queue, and waiting times", include_str!("help/queues.txt")),
    ("services", "programs that answer requests, in replicas", include_str!("help/services.txt")),
    (
        "environment",
        "environment variables of jobs and of kantctl",
        include_str!("help/environment.txt"),
    ),
    ("slurm", "for users of Slurm", include_str!("help/slurm.txt")),
];

/// The default pager, which leaves a short page on the screen.
const PAGER: &str = "less -FRX";

const EXAMPLES: &str = "\
Examples:
  kantctl help
  kantctl help gpus
  kantctl help submit";

#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// jobs, gpus, arrays, queues, services, environment, slurm; or a verb, e.g. submit
    #[arg(value_name = "TOPIC")]
    pub words: Vec<String>,
}

/// Shows a page about a topic or a verb of this command line, with the user's pager on a
/// terminal.
///
/// # Errors
/// [`Failure`] when there is no such topic, or stdout cannot be written.
pub fn run(args: &Args, command: clap::Command, screen: &Screen) -> Result<u8, Failure> {
    let page = page(&args.words, command)?;
    if std::io::stdout().is_terminal() && !screen.json && show_in_pager(&page) {
        return Ok(OK);
    }
    screen.print(&page)?;
    Ok(OK)
}

fn page(words: &[String], command: clap::Command) -> Result<String, Failure> {
    let Some((first, rest)) = words.split_first() else { return Ok(overview()) };
    if rest.is_empty()
        && let Some((.., text)) = TOPICS.iter().find(|(topic, ..)| topic == first)
    {
        return Ok((*text).to_owned());
    }
    let mut command = command.bin_name("kantctl");
    command.build();
    let verb = words.iter().try_fold(&mut command, |command, word| {
        command.find_subcommand_mut(word).filter(|verb| !verb.is_hide_set())
    });
    let verb = verb.with_context(|| {
        let topics: Vec<&str> = TOPICS.iter().map(|(topic, ..)| *topic).collect();
        format!(
            "there is no help on `{}`: topics are {}; every verb has its own help",
            words.join(" "),
            topics.join(", ")
        )
    });
    Ok(verb.map_err(Failure::usage)?.render_long_help().to_string())
}

fn overview() -> String {
    let topics = TOPICS.iter().map(|(topic, what, _)| format!("  {topic:<12} {what}\n"));
    let topics: String = topics.collect();
    format!(
        "kantctl help TOPIC\n{topics}\n`kantctl help VERB` and `kantctl VERB --help` describe a \
         verb;\n`kantctl --help` lists all verbs, `kantctl man` prints the manual page.\n"
    )
}

/// Shows the page in a pager; false if that did not work.
fn show_in_pager(page: &str) -> bool {
    let chosen = std::env::var("PAGER").ok().filter(|pager| !pager.trim().is_empty());
    let pager = chosen.unwrap_or_else(|| PAGER.to_owned());
    // The user's command may have arguments, as in man's PAGER.
    let shown = Command::new("sh").args(["-c", &pager]).stdin(Stdio::piped()).spawn();
    let Ok(mut shown) = shown else { return false };
    if let Some(mut stdin) = shown.stdin.take() {
        // The user may quit before the end.
        let _ = stdin.write_all(page.as_bytes());
    }
    shown.wait().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about(words: &str) -> Result<String, String> {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        page(&words, crate::command()).map_err(|failure| failure.to_string())
    }

    #[test]
    fn only_topics_and_verbs_have_pages() {
        assert!(about("").unwrap().contains("  arrays "));
        for (topic, _, text) in TOPICS {
            assert_eq!(about(topic).as_deref(), Ok(*text));
            assert!(text.starts_with(&format!("{}: ", topic.to_uppercase())), "{topic}");
        }
        assert!(about("submit").unwrap().contains("--gpus-per-node"));
        assert!(about("show node").unwrap().contains("kantctl show node"));
        for words in ["nonsense", "jobs gpus", "step-tasks", "show nonsense"] {
            let message = about(words).unwrap_err();
            assert!(message.contains(words) && message.contains("environment, slurm"), "{message}");
        }
    }

    #[test]
    fn pages_fit_a_small_terminal_and_mention_only_existing_verbs_and_options() {
        let command = crate::command();
        for (topic, _, text) in TOPICS {
            assert!(text.lines().count() <= 40, "{topic}");
            for line in text.lines() {
                assert!(line.chars().count() <= 82, "{topic}: {line}");
            }
            for part in text.split("kantctl ").skip(1) {
                let verb = part.split(|c: char| !(c.is_ascii_lowercase() || c == '-')).next();
                let verb =
                    verb.filter(|verb| !verb.is_empty() && *verb != "reads" && *verb != "has");
                if let Some(verb) = verb {
                    assert!(command.find_subcommand(verb).is_some(), "{topic}: {verb}");
                }
            }
            let known = |name: &str| {
                let verbs = command.get_subcommands();
                let verbs = verbs.flat_map(|verb| [verb].into_iter().chain(verb.get_subcommands()));
                let mut args = verbs.chain([&command]).flat_map(|verb| verb.get_arguments());
                args.any(|arg| arg.get_long() == Some(name)) || name == "gpu-bind"
            };
            for option in text.split("--").skip(1) {
                let name = option.split(|c: char| !(c.is_ascii_lowercase() || c == '-')).next();
                let name = name.unwrap_or_default();
                assert!(known(name), "{topic}: --{name}");
            }
        }
    }
}
