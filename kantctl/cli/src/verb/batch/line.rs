//! A line of a batch: the arguments of a submission, as words or as JSON.

use crate::failure::Failure;
use crate::submission::options::Options;
use crate::submission::script::{self, Script};
use crate::submission::shell::Shell;
use crate::submission::shell_words::split;
use crate::submission::{components, environment, parse_error, submit_request};
use crate::verb::submit;
use clap::{CommandFactory, FromArgMatches, Parser};
use common::job::Attribute;
use common::wire::api::SubmitRequest;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Parser)]
#[command(no_binary_name = true, disable_help_flag = true, args_override_self = true)]
struct BatchLine {
    #[command(flatten)]
    one: submit::Args,
}

/// Reads the lines of a batch.
pub struct LineReader {
    command: clap::Command,
    shell: Shell,
    /// Options of the command line, over those of the environment.
    usual: Options,
    /// By path, because many lines of a batch run the same script.
    scripts: BTreeMap<String, (Script, Options)>,
    warnings: BTreeSet<String>,
}

impl LineReader {
    /// A reader that applies these options to lines that do not set them.
    pub fn new(options: &Options) -> Result<Self, Failure> {
        let shell = Shell::current()?;
        let usual = options.clone().merged_over(environment::read_options(&shell.environment)?);
        let mut command = BatchLine::command();
        command.build();
        let (scripts, warnings) = (BTreeMap::new(), BTreeSet::new());
        Ok(Self { command, shell, usual, scripts, warnings })
    }

    /// The request of a line; `None` if it is empty or a comment.
    pub fn request(&mut self, text: &str) -> Result<Option<SubmitRequest>, Failure> {
        let words = match text.trim_start().starts_with('{') {
            true => from_json(text)?,
            false => split(text).map_err(|error| usage(error.to_string()))?,
        };
        if words.is_empty() { Ok(None) } else { self.request_from_words(words).map(Some) }
    }

    /// The request of a line that is split into words.
    pub fn request_from_words(&mut self, words: Vec<String>) -> Result<SubmitRequest, Failure> {
        let parsed = self.command.try_get_matches_from_mut(words);
        let line = parsed.and_then(|matches| BatchLine::from_arg_matches(&matches));
        let submit::Args { options, wrap, script } =
            line.map_err(|error| usage(parse_error::explain(&error)))?.one;
        if options.has(Attribute::Wait) {
            return Err(usage(
                "--wait cannot be used in a batch: run `kantctl wait` afterwards".into(),
            ));
        }
        if script.first().is_some_and(|word| word == components::SEPARATOR) {
            return Err(usage(
                "a line of a batch cannot have components: submit such a job by itself".to_owned(),
            ));
        }
        if wrap.is_some() && !script.is_empty() {
            return Err(usage(
                "--wrap cannot be used with a script: give only one of them".to_owned(),
            ));
        }
        let (script, directives, args) = match (wrap, script.as_slice()) {
            (Some(command), _) => (script::wrap(&command)?, Options::default(), &[][..]),
            (None, []) => return Err(usage("give a script, or a command with --wrap".to_owned())),
            (None, [path, args @ ..]) => {
                let (script, directives) = self.script(path)?;
                (script, directives, args)
            }
        };
        let options = options.merged_over(self.usual.clone()).merged_over(directives);
        if options.has(Attribute::TestOnly) {
            return Err(usage(
                "--test-only cannot be used in a batch: test one job at a time".to_owned(),
            ));
        }
        self.warnings.extend(submit::option_warnings(&options));
        submit_request::build(&options, &script, args, &self.shell)
    }

    /// Warnings about options, without duplicates.
    pub fn warnings(&self) -> &BTreeSet<String> {
        &self.warnings
    }

    /// A script and its directives' options, read only once.
    fn script(&mut self, path: &str) -> Result<(Script, Options), Failure> {
        if path == "-" {
            return Err(usage("a script in a batch cannot be read from standard input".to_owned()));
        }
        if let Some(known) = self.scripts.get(path) {
            return Ok(known.clone());
        }
        let script = script::read(Some(path))?;
        let Ok([directives]) = <[Options; 1]>::try_from(submit::directives(&script)?) else {
            return Err(usage(format!("{path} has components: submit it by itself")));
        };
        let known = self.scripts.entry(path.to_owned()).or_insert((script, directives));
        Ok(known.clone())
    }
}

fn usage(text: String) -> Failure {
    Failure::usage(anyhow::Error::msg(text))
}

/// Converts `{"gpus": 1, "hold": true, "script": "a.sh", "args": ["x"]}` to command line words.
fn from_json(text: &str) -> Result<Vec<String>, Failure> {
    let object: serde_json::Map<String, Value> = serde_json::from_str(text)
        .map_err(|error| usage(format!("invalid JSON object: {error}")))?;
    let (mut words, mut script, mut args) = (Vec::new(), None, Vec::new());
    for (name, value) in object {
        let option = format!("--{}", name.replace('_', "-"));
        match (name.as_str(), value) {
            ("script", Value::String(path)) => script = Some(path),
            ("args", Value::Array(values)) => {
                args = values.iter().map(scalar_text).collect::<Option<_>>().ok_or_else(|| {
                    usage("`args` must be texts or numbers: write [\"--seed\", 7]".to_owned())
                })?;
            }
            (_, Value::Null) => {}
            ("requeue", Value::Bool(false)) => words.push("--no-requeue".to_owned()),
            (_, Value::Bool(false)) => {
                return Err(usage(format!(
                    "`{name}` cannot be false: leave it out here, and on the command line, whose \
                     options apply to all lines"
                )));
            }
            (_, Value::Bool(true)) => words.push(option),
            (_, value) => match scalar_text(&value) {
                Some(value) => words.push(format!("{option}={value}")),
                None => {
                    return Err(usage(format!("`{name}` must be a text, a number or a boolean")));
                }
            },
        }
    }
    if script.is_none() && !args.is_empty() {
        return Err(usage("`args` require a `script`".to_owned()));
    }
    words.extend(script);
    words.extend(args);
    Ok(words)
}

fn scalar_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines() -> LineReader {
        let command = BatchLine::command();
        let shell = Shell { directory: "/home/ada".into(), ..Shell::default() };
        let usual = Options::default();
        LineReader { command, shell, usual, scripts: BTreeMap::new(), warnings: BTreeSet::new() }
    }

    #[test]
    fn words_and_json_make_the_same_request() {
        let mut lines = lines();
        let words =
            lines.request("--gpus=2 --hold --no-requeue -J 'a b' --wrap 'echo $X; true'").unwrap();
        let json = "{\"gpus\": 2, \"hold\": true, \"requeue\": false, \"job_name\": \"a b\", \
                    \"wrap\": \"echo $X; true\"}";
        let (words, json) = (words.unwrap(), lines.request(json).unwrap().unwrap());
        assert_eq!((&words.ask, &words.script), (&json.ask, &json.script));
        assert!(words.ask.hold && !words.ask.requeue && words.ask.name == "a b");
        // False would not undo a --hold of the command line.
        let undone = lines.request("{\"hold\": false, \"wrap\": \"true\"}").unwrap_err();
        assert!(undone.to_string().contains("`hold` cannot be false"), "{undone}");
    }

    #[test]
    fn a_line_does_not_affect_the_next() {
        let mut lines = lines();
        assert!(lines.request("--hold --wrap true").unwrap().unwrap().ask.hold);
        assert!(!lines.request("--wrap true").unwrap().unwrap().ask.hold);
        for nothing in ["", "   ", "# a comment"] {
            assert_eq!(lines.request(nothing).unwrap(), None);
        }
    }

    #[test]
    fn an_invalid_line_is_refused_with_its_reason() {
        for (text, word) in [
            ("--no-such-thing --wrap true", "--no-such-thing"),
            ("--gpus 1", "--wrap"),
            ("-J 'a", "quote"),
            ("{\"gpus\": 1", "JSON"),
            ("{\"gpus\": [1], \"wrap\": \"true\"}", "`gpus`"),
            ("{\"args\": [1], \"wrap\": \"true\"}", "`script`"),
            ("--wait --wrap true", "--wait"),
            ("no-such-script.sh", "no-such-script.sh"),
        ] {
            let failure = lines().request(text).unwrap_err();
            let message = format!("{:#}", failure.error);
            assert!(message.contains(word), "{text}: {message}");
        }
    }
}
