//! Jobs as `squeue --json`, `scontrol show job --json` and GET /slurm/{version}/jobs show them. A
//! field that kant does not have is empty, zero or not set.
//! Source: Slurm's OpenAPI documents, `job_info` (0.0.38: `job_response_properties`).

mod files;
mod identity;
mod request;
mod resources;
mod state;

use crate::field::{Field, Place, object};
use crate::job_line::{Line, LinePart, Page};
use crate::version::Version;
use common::job::Ask;
use common::job::attributes::{self, Kind, ROWS as ATTRIBUTES, Row as Attribute};
use common::wire::api::JobView;
use serde_json::{Map, Value, json};

/// A field, and how it is computed from a job.
type Row = (Place, fn(&Line<'_>) -> Field);

/// All tables, by subject.
const TABLES: [&[Row]; 5] =
    [identity::ROWS, state::ROWS, request::ROWS, resources::ROWS, files::ROWS];

/// A job or array task.
#[must_use]
pub fn job(job: &JobView, page: &Page, version: Version) -> Value {
    let line = Line { jobs: std::slice::from_ref(job), job, part: LinePart::Whole, page };
    let mut fields = attribute_fields(&job.ask, version);
    for table in TABLES {
        fields.extend(object(version, table, |value| value(&line)));
    }
    Value::Object(fields)
}

/// The attributes that the table of attributes gives a field.
fn attribute_fields(ask: &Ask, version: Version) -> Map<String, Value> {
    let rows = ATTRIBUTES.iter().filter(|row| !row.slurm.json.is_empty());
    let field = |row: &Attribute| {
        let value = match (row.kind, ask.value(row.attribute)) {
            (Kind::Begin | Kind::Deadline, at) => {
                let at = match at {
                    Some(attributes::Value::Time(at)) => Some(at),
                    _ => None,
                };
                Field::Time(at).to_json(version)
            }
            (_, Some(attributes::Value::Integer(number))) => json!(number),
            (Kind::Nice, None) => json!(0),
            (_, Some(value)) => json!(value.to_string()),
            (_, None) => json!(""),
        };
        (row.slurm.json.to_owned(), value)
    };
    rows.map(field).collect()
}

/// Of a list of jobs: when it was made, and when the scheduler last looked.
#[must_use]
pub fn list_times(page: &Page, version: Version) -> Map<String, Value> {
    if version.is_plain() {
        return Map::new();
    }
    let at = Field::Time(Some(page.as_of)).to_json(version);
    Map::from_iter([("last_backfill".to_owned(), at.clone()), ("last_update".to_owned(), at)])
}

/// The workload key, which jobs of kant do not have.
pub(crate) fn wckey(_: &Line<'_>) -> Field {
    Field::text("")
}

/// The priority, where the listing asked for it.
#[must_use]
pub(crate) fn priority(line: &Line<'_>) -> u64 {
    line.page.priorities.get(&line.job.key).map_or(0, |points| u64::try_from(*points).unwrap_or(0))
}

#[cfg(test)]
mod tests;
