//! Additions to the completions that clap generates, for bash, zsh and fish: words that only the
//! controller knows.

use clap::{Arg, Command};
use clap_complete::Shell;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Verbs and the kinds of their arguments, derived from the value names.
fn kinds(command: &Command) -> Vec<(String, &'static str)> {
    let mut all = Vec::new();
    collect(command, "", &mut all);
    all
}

fn collect(command: &Command, above: &str, all: &mut Vec<(String, &'static str)>) {
    for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
        let path = format!("{above}{}", verb.get_name());
        let values = verb.get_positionals().filter_map(|arg| arg.get_value_names()?.first());
        let kind = values.filter_map(|name| match name.as_str() {
            "JOB" | "JOB|NODE" | "JOB[.STEP]" => Some("jobs"),
            "NODE" => Some("nodes"),
            "QUEUE" => Some("queues"),
            _ => None,
        });
        all.extend(kind.take(1).map(|kind| (path.clone(), kind)));
        collect(verb, &format!("{path} "), all);
    }
}

/// Options with values that only the controller knows, in the form `--queue` or `-p`.
fn options(command: &Command) -> Vec<(String, &'static str)> {
    let mut longs: Vec<(String, &'static str)> = Vec::new();
    let mut shorts: BTreeMap<char, Vec<Option<&'static str>>> = BTreeMap::new();
    collect_options(command, &mut longs, &mut shorts);
    // A letter may mean something else in another verb.
    let shorts = shorts.into_iter().filter_map(|(short, kinds)| {
        let first = *kinds.first()?;
        let kind = first.filter(|_| kinds.iter().all(|kind| *kind == first))?;
        Some((format!("-{short}"), kind))
    });
    longs.extend(shorts);
    longs.sort();
    longs.dedup();
    longs
}

fn collect_options(
    command: &Command,
    longs: &mut Vec<(String, &'static str)>,
    shorts: &mut BTreeMap<char, Vec<Option<&'static str>>>,
) {
    for arg in command.get_opts() {
        let kind = kind_of(arg);
        arg.get_short().into_iter().for_each(|short| shorts.entry(short).or_default().push(kind));
        let names = arg.get_long_and_visible_aliases().unwrap_or_default();
        longs.extend(names.iter().filter_map(|name| Some((format!("--{name}"), kind?))));
    }
    for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
        collect_options(verb, longs, shorts);
    }
}

fn kind_of(arg: &Arg) -> Option<&'static str> {
    let value = arg.get_value_names().and_then(|names| names.first()).map(|name| name.as_str());
    match (arg.get_long()?, value?) {
        ("queue" | "partition", _) => Some("queues"),
        ("in" | "job", "JOB") => Some("jobs"),
        ("nodelist" | "exclude" | "node", "NODES" | "NODE") => Some("nodes"),
        _ => None,
    }
}

const BASH: &str = r#"
# Completes names of jobs, nodes and queues by asking the controller.
_kantctl_live() {
    local cur="${COMP_WORDS[COMP_CWORD]}" word kind="" words=() kept=()
    _kantctl "$@"
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        [[ $word == -* ]] || words+=("$word")
    done
    [[ $cur == -* || ${#words[@]} -eq 0 ]] && return 0
    local before="${COMP_WORDS[COMP_CWORD-1]}"
    # bash splits --queue=gpu into three words.
    [[ $cur == '=' ]] && cur="" before="= "
    [[ $before == '=' ]] && before="${COMP_WORDS[COMP_CWORD-2]}"
    [[ $before == '= ' ]] && before="${COMP_WORDS[COMP_CWORD-1]}"
    case "$before" in
OPTIONS    esac
    # Replaces the file names that are offered by default.
    [[ -n $kind ]] && COMPREPLY=()
    [[ -n $kind ]] || case "${words[0]} ${words[1]-} " in
CASES    esac
    [[ -n $kind ]] || return 0
    while IFS=$'\t' read -r word _; do
        [[ $word == "$cur"* ]] && kept+=("$word")
    done < <(kantctl completions --live "$kind" 2>/dev/null)
    # Options are offered after a dash only.
    for word in "${COMPREPLY[@]}"; do
        [[ $word == -* ]] || kept+=("$word")
    done
    COMPREPLY=("${kept[@]}")
}
"#;

const ZSH: &str = r#"
# Completes names of jobs, nodes and queues by asking the controller.
_kantctl_live() {
    local -a found
    found=(${(f)"$(_call_program $1 kantctl completions --live $1 2>/dev/null)"})
    found=(${found//$'\t'/:})
    found=(${found%:})
    _describe -t $1 $1 found
}
_kantctl_jobs() { _kantctl_live jobs }
_kantctl_nodes() { _kantctl_live nodes }
_kantctl_queues() { _kantctl_live queues }

"#;

/// The generated completions with these additions.
pub(super) fn with_names_from_controller(shell: Shell, command: &Command, made: &str) -> String {
    match shell {
        Shell::Bash => bash(command, made),
        Shell::Zsh => zsh(command, made),
        Shell::Fish => fish(command, made),
        _ => made.to_owned(),
    }
}

fn bash(command: &Command, made: &str) -> String {
    let mut cases = String::new();
    let mut all = kinds(command);
    // `show node` must come before `show`.
    all.sort_by_key(|(path, _)| std::cmp::Reverse(path.matches(' ').count()));
    for (path, kind) in all {
        // Writing to a String does not fail.
        let _ = writeln!(cases, "        \"{path} \"*) kind={kind} ;;");
    }
    let mut known = String::new();
    for (option, kind) in options(command) {
        let _ = writeln!(known, "        {option}) kind={kind} ;;");
    }
    let made = made.replace("complete -F _kantctl ", "complete -F _kantctl_live ");
    let place = made.rfind("if [[ \"${BASH_VERSINFO[0]}\"").unwrap_or(made.len());
    let (before, after) = made.split_at(place);
    format!(
        "{}{}\n{after}",
        before.trim_end_matches('\n'),
        BASH.replace("CASES", &cases).replace("OPTIONS", &known)
    )
}

/// clap completes arguments it knows nothing about by `_default`; the text before says what they
/// are.
fn zsh(command: &Command, made: &str) -> String {
    let mut script = String::with_capacity(made.len() + ZSH.len());
    let options = options(command);
    for line in made.split_inclusive('\n') {
        let name = line.trim_start_matches(['\'', '*', ':']);
        let kind = match name.split_once(" -- ") {
            Some(("keys" | "key" | "words", _)) => "jobs",
            Some(("names" | "nodes", help)) if help.starts_with("Nodes") => "nodes",
            Some(("names", help)) if help.starts_with("Queues") => "queues",
            _ => "",
        };
        let named = options.iter().find(|(option, _)| {
            let of = |end: &str| {
                let start = format!("{option}{end}");
                line.trim_start_matches('\'').starts_with(&start)
                    || line.contains(&format!("){start}"))
            };
            line.starts_with('\'') && (of("=[") || of("+["))
        });
        match (line.starts_with('\'') && !kind.is_empty(), named) {
            // With `*::` no option would be completed after the first such word.
            (true, _) => {
                let rest = line.strip_prefix("'*::").map(|rest| format!("'*:{rest}"));
                let all = rest.unwrap_or_else(|| line.to_owned());
                script.push_str(&all.replace(":_default'", &format!(":_kantctl_{kind}'")));
            }
            (false, Some((_, kind))) => {
                script.push_str(&line.replace(":_default'", &format!(":_kantctl_{kind}'")));
            }
            (false, None) => script.push_str(line),
        }
    }
    script = with_arguments_and_subcommands(&script);
    let place = script.rfind("if [ \"$funcstack[1]\"").unwrap_or(script.len());
    script.insert_str(place, ZSH.trim_start_matches('\n'));
    script
}

/// Where arguments are possible instead of a subcommand, as after `show`, clap takes the subcommand
/// for the second word, and offers none.
fn with_arguments_and_subcommands(made: &str) -> String {
    let (mut script, mut rest) = (String::with_capacity(made.len()), made);
    let mut added = String::new();
    const VERBS: &str = "' \\\n\":: :_kantctl__subcmd__";
    while let Some(place) = rest.find(VERBS) {
        let begin = rest[..place].rfind('\n').map_or(0, |end| end + 1);
        let is_word = rest[begin..].starts_with("':") || rest[begin..].starts_with("'*:");
        if !is_word {
            script.push_str(&rest[..place + VERBS.len()]);
            rest = &rest[place + VERBS.len()..];
            continue;
        }
        let words = rest[begin..place].rsplit(':').next().unwrap_or_default();
        let name = rest[place + VERBS.len()..].split('"').next().unwrap_or_default();
        let after = place + VERBS.len() + name.len() + 1;
        let until = rest[after..].find("\n        esac\n").map_or(rest.len(), |end| after + end);
        let (verbs, both) =
            (format!("_kantctl__subcmd__{name}"), format!("_kantctl_{name}_or_words"));
        // Writing to a String does not fail.
        let _ = write!(script, "{}\"1: :{both}\"", &rest[..begin]);
        script.push_str(&rest[after..until].replace("$line[2]", "$line[1]"));
        let _ = write!(script, "\n(*)\n{words} && ret=0\n;;");
        let _ = writeln!(added, "{both}() {{ {verbs} \"$@\"; {words} \"$@\" }}");
        rest = &rest[until..];
    }
    script.push_str(rest);
    let place = script.rfind("if [ \"$funcstack[1]\"").unwrap_or(script.len());
    script.insert_str(place, &added);
    script
}

fn fish(command: &Command, made: &str) -> String {
    let options = options(command);
    let mut script = String::with_capacity(made.len());
    for line in made.split_inclusive('\n') {
        let words: Vec<&str> = line.split(' ').collect();
        let known = options.iter().find(|(option, _)| {
            let long = option.strip_prefix("--");
            long.is_some_and(|long| words.windows(2).any(|pair| pair == ["-l", long]))
        });
        match (known, line.strip_suffix(" -r\n")) {
            (Some((_, kind)), Some(line)) => {
                // Writing to a String does not fail.
                let _ = writeln!(
                    script,
                    "{line} -x -a \"(kantctl completions --live {kind} 2>/dev/null)\""
                );
            }
            _ => script.push_str(line),
        }
    }
    for (path, kind) in kinds(command) {
        let mut words = path.split(' ');
        let verb = words.next().unwrap_or_default();
        let under = words.next().map(|word| format!("; and __fish_seen_subcommand_from {word}"));
        let verbs = command.find_subcommand(verb).into_iter().flat_map(Command::get_subcommands);
        let verbs: Vec<&str> = verbs.map(Command::get_name).collect();
        let exclusion = format!("; and not __fish_seen_subcommand_from {}", verbs.join(" "));
        let exclusion = Some(exclusion).filter(|_| !verbs.is_empty());
        let under = under.or(exclusion).unwrap_or_default();
        // Writing to a String does not fail.
        let _ = writeln!(
            script,
            "complete -c kantctl -n \"__fish_kantctl_using_subcommand {verb}{under}\" -f -a \
             \"(kantctl completions --live {kind} 2>/dev/null)\""
        );
    }
    script
}
