//! What is added to the completions that clap makes: words that only the controller knows. Never
//! another shell than bash, zsh and fish.

use clap_complete::Shell;
use std::fmt::Write as _;

/// Verbs and what their words are, as the command line says it by the names of their values.
fn kinds() -> Vec<(String, &'static str)> {
    let mut all = Vec::new();
    collect(&crate::command(), "", &mut all);
    all
}

fn collect(command: &clap::Command, above: &str, all: &mut Vec<(String, &'static str)>) {
    for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
        let path = format!("{above}{}", verb.get_name());
        let values = verb.get_positionals().filter_map(|arg| arg.get_value_names()?.first());
        let kind = values.filter_map(|name| match name.as_str() {
            "JOB" | "JOB|NODE" => Some("jobs"),
            "NODE" => Some("nodes"),
            "QUEUE" => Some("queues"),
            _ => None,
        });
        all.extend(kind.take(1).map(|kind| (path.clone(), kind)));
        collect(verb, &format!("{path} "), all);
    }
}

const BASH: &str = r#"
# Words that the controller knows: asked of it where a job, a node or a queue is meant.
_kantctl_live() {
    local cur="${COMP_WORDS[COMP_CWORD]}" word kind="" words=() kept=()
    _kantctl "$@"
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        [[ $word == -* ]] || words+=("$word")
    done
    [[ $cur == -* || ${#words[@]} -eq 0 ]] && return 0
    case "${words[0]} ${words[1]-} " in
CASES    esac
    [[ -n $kind ]] || return 0
    while IFS=$'\t' read -r word _; do
        [[ $word == "$cur"* ]] && kept+=("$word")
    done < <(kantctl completions --live "$kind" 2>/dev/null)
    # Options are there for who types a dash.
    for word in "${COMPREPLY[@]}"; do
        [[ $word == -* ]] || kept+=("$word")
    done
    COMPREPLY=("${kept[@]}")
}
"#;

const ZSH: &str = r#"
# Words that the controller knows: asked of it where a job, a node or a queue is meant.
_kantctl_live() {
    local -a found
    found=(${(f)"$(_call_program $1 kantctl completions --live $1 2>/dev/null)"})
    found=(${found//$'\t'/:})
    _describe -t $1 $1 found
}
_kantctl_jobs() { _kantctl_live jobs }
_kantctl_nodes() { _kantctl_live nodes }
_kantctl_queues() { _kantctl_live queues }

"#;

/// These completions with those words.
pub(super) fn with_live_words(shell: Shell, made: &str) -> String {
    match shell {
        Shell::Bash => bash(made),
        Shell::Zsh => zsh(made),
        Shell::Fish => fish(made),
        _ => made.to_owned(),
    }
}

fn bash(made: &str) -> String {
    let mut cases = String::new();
    let mut all = kinds();
    // `show node` before `show`.
    all.sort_by_key(|(path, _)| std::cmp::Reverse(path.matches(' ').count()));
    for (path, kind) in all {
        // Writing to a text does not fail.
        let _ = writeln!(cases, "        \"{path} \"*) kind={kind} ;;");
    }
    let made = made.replace("complete -F _kantctl ", "complete -F _kantctl_live ");
    let place = made.rfind("if [[ \"${BASH_VERSINFO[0]}\"").unwrap_or(made.len());
    let (before, after) = made.split_at(place);
    format!("{}{}\n{after}", before.trim_end_matches('\n'), BASH.replace("CASES", &cases))
}

/// clap leaves words it knows nothing of to `_default`; their first word says what they are.
fn zsh(made: &str) -> String {
    let mut told = String::with_capacity(made.len() + ZSH.len());
    for line in made.split_inclusive('\n') {
        let name = line.trim_start_matches(['\'', '*', ':']);
        let kind = match name.split_once(" -- ") {
            Some(("keys" | "key" | "words", _)) => "jobs",
            Some(("names" | "nodes", help)) if help.starts_with("Nodes") => "nodes",
            Some(("names", help)) if help.starts_with("Queues") => "queues",
            _ => "",
        };
        match line.starts_with('\'') && !kind.is_empty() {
            true => told.push_str(&line.replace(":_default'", &format!(":_kantctl_{kind}'"))),
            false => told.push_str(line),
        }
    }
    let place = told.rfind("if [ \"$funcstack[1]\"").unwrap_or(told.len());
    told.insert_str(place, ZSH.trim_start_matches('\n'));
    told
}

fn fish(made: &str) -> String {
    let mut told = made.to_owned();
    for (path, kind) in kinds() {
        let mut words = path.split(' ');
        let verb = words.next().unwrap_or_default();
        let under = words.next().map(|word| format!("; and __fish_seen_subcommand_from {word}"));
        let under = under.unwrap_or_default();
        // Writing to a text does not fail.
        let _ = writeln!(
            told,
            "complete -c kantctl -n \"__fish_kantctl_using_subcommand {verb}{under}\" -f -a \
             \"(kantctl completions --live {kind} 2>/dev/null)\""
        );
    }
    told
}
