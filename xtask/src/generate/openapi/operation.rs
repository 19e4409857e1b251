//! An operation of the API: a route with its types, as a row of a table.

use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Value, json};

pub type Schemas = SchemaGenerator;

/// The schema of each media type.
pub type Content = Vec<(&'static str, Value)>;

pub const JSON: &str = "application/json";
pub const LINES: &str = "application/x-ndjson";
pub const EVENTS: &str = "text/event-stream";
pub const CSV: &str = "text/csv";
pub const TEXT: &str = "text/plain";
pub const BYTES: &str = "application/octet-stream";

pub struct Operation {
    pub route: (&'static str, &'static str),
    pub summary: &'static str,
    /// Those of the query and of headers.
    pub parameters: Vec<Value>,
    pub body: Option<Content>,
    pub answer: Content,
}

/// The rows of the table, while they are written.
pub struct Rows<'a> {
    pub schemas: &'a mut Schemas,
    pub rows: Vec<Operation>,
}

impl Rows<'_> {
    /// A route that is read, with its answer.
    pub fn get<A: JsonSchema>(&mut self, path: &'static str, summary: &'static str) -> &mut Self {
        let answer = vec![(JSON, self.schema::<A>())];
        self.row(("GET", path), summary, None, answer)
    }

    /// A route that is read, with a query.
    pub fn query<Q: JsonSchema, A: JsonSchema>(
        &mut self,
        path: &'static str,
        summary: &'static str,
    ) -> &mut Self {
        self.get::<A>(path, summary).with_query::<Q>()
    }

    /// A route that is written to, with its body and answer; `()` for no body.
    pub fn post<B: JsonSchema, A: JsonSchema>(
        &mut self,
        path: &'static str,
        summary: &'static str,
    ) -> &mut Self {
        let body =
            (B::schema_name() != <()>::schema_name()).then(|| vec![(JSON, self.schema::<B>())]);
        let answer = vec![(JSON, self.schema::<A>())];
        self.row(("POST", path), summary, body, answer)
    }

    /// A route whose answer is not JSON.
    pub fn other(
        &mut self,
        path: &'static str,
        kind: &'static str,
        summary: &'static str,
    ) -> &mut Self {
        self.row(("GET", path), summary, None, vec![(kind, json!({ "type": "string" }))])
    }

    /// Adds another media type to the last row's answer; the schema is that of a line or event.
    pub fn also<A: JsonSchema>(&mut self, kind: &'static str) -> &mut Self {
        let schema = self.schema::<A>();
        self.last().answer.push((kind, schema));
        self
    }

    /// Replaces the last row's answer.
    pub fn answered<A: JsonSchema>(&mut self, kind: &'static str) -> &mut Self {
        self.last().answer.clear();
        self.also::<A>(kind)
    }

    /// Makes the last row's body one of bytes.
    pub fn with_bytes_body(&mut self) -> &mut Self {
        self.last().body = Some(vec![(BYTES, json!({ "type": "string" }))]);
        self
    }

    /// Adds the fields of a type to the last row as parameters.
    pub fn with_query<Q: JsonSchema>(&mut self) -> &mut Self {
        let schema = Q::json_schema(self.schemas);
        let fields = schema.get("properties").and_then(Value::as_object).cloned();
        let required = schema.get("required").and_then(Value::as_array).cloned();
        for (name, mut schema) in fields.unwrap_or_default() {
            let about = schema.as_object_mut().and_then(|schema| schema.remove("description"));
            let is_required = required.as_ref().is_some_and(|all| all.contains(&json!(name)));
            let mut parameter =
                json!({ "name": name, "in": "query", "required": is_required, "schema": schema });
            if let Some(about) = about {
                parameter["description"] = about;
            }
            self.last().parameters.push(parameter);
        }
        self
    }

    /// Adds a header to the last row.
    pub fn with_header(&mut self, name: &'static str, about: &'static str) -> &mut Self {
        let schema = json!({ "type": "string" });
        self.last().parameters.push(json!({
            "name": name, "in": "header", "required": false, "schema": schema, "description": about
        }));
        self
    }

    fn schema<T: JsonSchema>(&mut self) -> Value {
        self.schemas.subschema_for::<T>().to_value()
    }

    fn row(
        &mut self,
        route: (&'static str, &'static str),
        summary: &'static str,
        body: Option<Content>,
        answer: Content,
    ) -> &mut Self {
        self.rows.push(Operation { route, summary, parameters: Vec::new(), body, answer });
        self
    }

    fn last(&mut self) -> &mut Operation {
        self.rows.last_mut().expect("a row was added before")
    }
}
