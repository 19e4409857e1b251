//! Fields whose values have a form of their own.

use super::{Description, Purpose, gpus};
use crate::input;
use common::job::Rlimit;
use common::job::attributes::Attribute;
use serde_json::Value;

/// The first is the script's name in Slurm, which puts the script's path in its place.
/// Source: slurmstepd, mgr.c, `mgr_launch_batch_job_setup`.
pub(super) fn argv(description: &mut Description, value: &Value) -> Result<(), String> {
    if description.purpose == Purpose::Change {
        return Err("it cannot be changed: cancel the job, and submit another".to_owned());
    }
    let Value::Array(args) = value else { return Err("write a list of texts".to_owned()) };
    description.args = args.iter().skip(1).map(input::text).collect::<Result<_, _>>()?;
    Ok(())
}

/// `["NAME=value"]`, or `{"NAME": "value"}` as in 0.0.38.
pub(super) fn environment(description: &mut Description, value: &Value) -> Result<(), String> {
    match value {
        Value::Array(list) => {
            for entry in list {
                let entry = input::text(entry)?;
                let (name, value) =
                    entry.split_once('=').ok_or_else(|| format!("`{entry}`: write NAME=value"))?;
                description.environment.insert(name.to_owned(), value.to_owned());
            }
            Ok(())
        }
        Value::Object(variables) => {
            for (name, value) in variables {
                description.environment.insert(name.clone(), input::text(value)?);
            }
            Ok(())
        }
        _ => Err("write a list of NAME=value".to_owned()),
    }
}

/// The names of Slurm's document, all of which nodes know.
const RLIMITS: [&str; 10] =
    ["as", "core", "cpu", "data", "fsize", "memlock", "nofile", "nproc", "rss", "stack"];

/// `{"nofile": {"set": true, "number": 1024}}`.
pub(super) fn rlimits(description: &mut Description, value: &Value) -> Result<(), String> {
    let Value::Object(limits) = value else { return Err("write an object".to_owned()) };
    for (name, value) in limits {
        if !RLIMITS.contains(&name.as_str()) {
            return Err(format!("there is no limit `{name}`: use {}", RLIMITS.join(", ")));
        }
        let is_unset = input::is_unset(value).map_err(|why| format!("{name}: {why}"))?;
        if is_unset {
            continue;
        }
        let soft = match input::amount(value).map_err(|why| format!("{name}: {why}"))? {
            input::Amount::Infinite => None,
            input::Amount::Of(number) => {
                Some(u64::try_from(number).map_err(|_| format!("{name}: it is negative"))?)
            }
        };
        description.rlimits.push(Rlimit { name: name.clone(), soft });
    }
    Ok(())
}

pub(super) fn script(description: &mut Description, value: &Value) -> Result<(), String> {
    description.script = Some(input::text(value)?);
    Ok(())
}

pub(super) fn user(description: &mut Description, value: &Value) -> Result<(), String> {
    description.user = Some(input::text(value)?);
    Ok(())
}

pub(super) fn group(description: &mut Description, value: &Value) -> Result<(), String> {
    description.group = Some(input::text(value)?);
    Ok(())
}

pub(super) fn hold(description: &mut Description, value: &Value) -> Result<(), String> {
    description.hold = Some(input::flag(value)?);
    Ok(())
}

/// Priority 0 holds a job, and in a change another one releases it; kant computes all others.
pub(super) fn priority(description: &mut Description, value: &Value) -> Result<(), String> {
    match input::amount(value)? {
        input::Amount::Of(0) => description.hold = Some(true),
        _ => {
            let effect = match description.purpose {
                Purpose::Submission => "has no effect",
                Purpose::Change => "releases a held job, and has no other effect",
            };
            let why = "the cluster's policy orders the jobs; nice lowers it";
            description.warnings.push(format!("priority {effect}: {why}"));
            description.has_priority = true;
        }
    }
    Ok(())
}

/// True requests it, false refuses it, and without it the policy decides.
pub(super) fn requeue(description: &mut Description, value: &Value) -> Result<(), String> {
    let attribute = if input::flag(value)? { Attribute::Requeue } else { Attribute::NoRequeue };
    description.given.set(attribute, true);
    Ok(())
}

pub(super) fn kill_on_invalid_dependency(
    description: &mut Description,
    value: &Value,
) -> Result<(), String> {
    description.given.set(Attribute::KillOnInvalidDep, input::flag(value)?);
    Ok(())
}

/// Flags of the job; only those about dependencies have an equal.
pub(super) fn flags(description: &mut Description, value: &Value) -> Result<(), String> {
    for flag in input::list(value)? {
        match flag.as_str() {
            "KILL_INVALID_DEPENDENCY" => {
                description.given.set(Attribute::KillOnInvalidDep, true);
            }
            "NO_KILL_INVALID_DEPENDENCY" => {
                description.given.set(Attribute::KillOnInvalidDep, false);
            }
            _ => description.warnings.push(format!("flags: {flag} has no effect")),
        }
    }
    Ok(())
}

/// Whether the job shares its nodes: a flag, a word, or a list of words.
pub(super) fn sharing(description: &mut Description, value: &Value) -> Result<(), String> {
    let words = match value {
        Value::Bool(flag) => vec![flag.to_string()],
        _ => input::list(value)?,
    };
    for word in words {
        match word.to_ascii_lowercase().as_str() {
            "true" | "none" | "exclusive" => description.given.set(Attribute::Exclusive, true),
            "false" | "oversubscribe" => {}
            _ => return Err(format!("`{word}`: whole nodes can be requested, by \"none\"")),
        }
    }
    Ok(())
}

/// `append`, `["TRUNCATE"]`.
pub(super) fn open_mode(description: &mut Description, value: &Value) -> Result<(), String> {
    let words = input::list(value)?;
    let word = words.first().map(|word| word.to_ascii_lowercase()).unwrap_or_default();
    let word = match word.as_str() {
        "a" => "append",
        "t" => "truncate",
        word => word,
    };
    description.set_text(Attribute::OpenMode, word)
}

/// Slurm's JSON has other words than `--mail-type` for some events.
pub(super) fn mail_type(description: &mut Description, value: &Value) -> Result<(), String> {
    let word = |word: &String| match word.as_str() {
        "TIME=100%" => "TIME_LIMIT".to_owned(),
        "TIME=90%" => "TIME_LIMIT_90".to_owned(),
        "TIME=80%" => "TIME_LIMIT_80".to_owned(),
        "TIME=50%" => "TIME_LIMIT_50".to_owned(),
        "INVALID_DEPENDENCY" => "INVALID_DEPEND".to_owned(),
        word => word.to_owned(),
    };
    let words: Vec<String> = input::list(value)?.iter().map(word).collect();
    description.set_text(Attribute::MailType, &words.join(","))
}

/// `2`, `"2-4"`, `[2, 4]`.
pub(super) fn nodes(description: &mut Description, value: &Value) -> Result<(), String> {
    let text = match value {
        Value::Array(ends) => {
            let ends = ends.iter().map(input::text).collect::<Result<Vec<_>, _>>()?;
            ends.join("-")
        }
        _ => input::text(value)?,
    };
    description.nodes.text = Some(text);
    Ok(())
}

pub(super) fn minimum_nodes(description: &mut Description, value: &Value) -> Result<(), String> {
    description.nodes.least = Some(input::number(value)?).filter(|nodes| *nodes != 0);
    Ok(())
}

pub(super) fn maximum_nodes(description: &mut Description, value: &Value) -> Result<(), String> {
    description.nodes.most = Some(input::number(value)?).filter(|nodes| *nodes != 0);
    Ok(())
}

/// In 0.0.38 a wish for as few nodes as possible.
pub(super) fn fewest_nodes(description: &mut Description, value: &Value) -> Result<(), String> {
    if input::flag(value)? {
        let text = "minimum_nodes has no effect: a job with a range of nodes starts on as many as \
                    are free";
        description.warnings.push(text.to_owned());
    }
    Ok(())
}

/// False asks that the job lives on without a node that fails.
pub(super) fn kill_on_node_fail(_: &mut Description, value: &Value) -> Result<(), String> {
    match input::flag(value)? {
        true => Ok(()),
        false => Err("a job ends when it loses a node: write true, or leave it out".to_owned()),
    }
}

/// Only the default can be met: CPUs are given per task.
pub(super) fn minimum_cpus(_: &mut Description, value: &Value) -> Result<(), String> {
    match input::number(value)? {
        0 | 1 => Ok(()),
        _ => Err("give tasks and cpus_per_task instead".to_owned()),
    }
}

pub(super) fn cpus_per_tres(description: &mut Description, value: &Value) -> Result<(), String> {
    gpus::set_per_gpu(description, Attribute::CpusPerGpu, &input::text(value)?)
}

pub(super) fn memory_per_tres(description: &mut Description, value: &Value) -> Result<(), String> {
    gpus::set_per_gpu(description, Attribute::MemPerGpu, &input::text(value)?)
}

pub(super) fn warning_signal(description: &mut Description, value: &Value) -> Result<(), String> {
    description.warning_signal.signal = Some(input::text(value)?);
    Ok(())
}

pub(super) fn warning_delay(description: &mut Description, value: &Value) -> Result<(), String> {
    description.warning_signal.delay_seconds = Some(input::number(value)?);
    Ok(())
}

pub(super) fn warning_flags(description: &mut Description, value: &Value) -> Result<(), String> {
    for flag in input::list(value)? {
        match flag.as_str() {
            "BATCH_JOB" => description.warning_signal.only_script = true,
            _ => description.warnings.push(format!("kill_warning_flags: {flag} has no effect")),
        }
    }
    Ok(())
}
