//! The frame of every answer: what answers it, errors and warnings.

use crate::version::Version;
use serde_json::{Map, Value, json};

/// Who asked, and which cluster answers.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// The address or socket of the client.
    pub source: String,
    pub user: String,
    pub group: String,
    pub cluster: String,
}

/// One error of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorEntry {
    /// A sentence that says what failed and what to do.
    pub description: String,
    /// Slurm's number of the error (slurm/slurm_errno.h).
    pub number: u32,
    /// Slurm's text of that number.
    pub error: String,
    /// The part of kant that found it.
    pub source: String,
}

/// `meta`, as kant fills it in.
#[must_use]
pub fn meta(version: Version, asked: &Asked) -> Value {
    let [major, minor, micro] = version.release();
    let release = format!("{major}.{minor:02}.{micro}");
    if version.is_plain() {
        return json!({
            "plugin": { "type": "openapi/v0.0.38", "name": "kant, in the words of Slurm v0.0.38" },
            "Slurm": {
                "version": { "major": major, "micro": micro, "minor": minor }, "release": release,
            }
        });
    }
    let word = |number: u32| number.to_string();
    json!({
        "plugin": {
            "type": "openapi/slurmctld",
            "name": format!("kant, in the words of Slurm {version}"),
            "data_parser": format!("data_parser/{version}"),
            "accounting_storage": "",
        },
        "client": { "source": asked.source, "user": asked.user, "group": asked.group },
        "command": [],
        "slurm": {
            "version": {
                "major": word(major), "micro": word(micro), "minor": format!("{minor:02}"),
            },
            "release": release,
            "cluster": asked.cluster,
        }
    })
}

/// An answer with these fields.
#[must_use]
pub fn answer(version: Version, asked: &Asked, fields: Map<String, Value>) -> Value {
    answer_with_errors(version, asked, fields, &[], &[])
}

/// An answer with these fields, errors and warnings.
#[must_use]
pub fn answer_with_errors(
    version: Version,
    asked: &Asked,
    fields: Map<String, Value>,
    errors: &[ErrorEntry],
    warnings: &[String],
) -> Value {
    let error = |entry: &ErrorEntry| match version.is_plain() {
        true => json!({
            "description": entry.description, "error_number": entry.number, "error": entry.error,
        }),
        false => json!({
            "description": entry.description,
            "error_number": entry.number,
            "error": entry.error,
            "source": entry.source,
        }),
    };
    let mut whole = Map::new();
    whole.insert("meta".to_owned(), meta(version, asked));
    whole.insert("errors".to_owned(), errors.iter().map(error).collect());
    if !version.is_plain() || !warnings.is_empty() {
        let warning = |text: &String| json!({ "description": text, "source": "kant" });
        whole.insert("warnings".to_owned(), warnings.iter().map(warning).collect());
    }
    whole.extend(fields);
    Value::Object(whole)
}

/// The fields `{name: what}`.
#[must_use]
pub fn list(name: &str, what: Vec<Value>) -> Map<String, Value> {
    Map::from_iter([(name.to_owned(), Value::Array(what))])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_says_what_answers_and_what_is_wrong() {
        let asked = Asked { user: "ada".to_owned(), cluster: "c".to_owned(), ..Asked::default() };
        let entry = ErrorEntry {
            description: "there is no job 7".to_owned(),
            number: 2017,
            error: "Invalid job id specified".to_owned(),
            source: "kant".to_owned(),
        };
        let fields = list("jobs", Vec::new());
        let old = answer_with_errors(
            Version::V38,
            &asked,
            fields.clone(),
            std::slice::from_ref(&entry),
            &[],
        );
        assert_eq!(old["meta"]["Slurm"]["release"], "22.05.8");
        assert_eq!(old["meta"]["Slurm"]["version"], json!({ "major": 22, "micro": 8, "minor": 5 }));
        assert_eq!(old["errors"][0]["error_number"], 2017);
        assert_eq!(old.get("warnings"), None);
        let new = answer_with_errors(Version::V44, &asked, fields, &[entry], &["w".to_owned()]);
        assert_eq!(new["meta"]["plugin"]["data_parser"], "data_parser/v0.0.44");
        assert_eq!(new["meta"]["slurm"]["release"], "25.11.0");
        assert_eq!(new["meta"]["slurm"]["version"]["minor"], "11");
        assert_eq!(new["meta"]["client"]["user"], "ada");
        assert_eq!(new["warnings"], json!([{ "description": "w", "source": "kant" }]));
        assert_eq!(new["errors"][0]["source"], "kant");
        assert_eq!(new["jobs"], json!([]));
    }
}
