//! Requests to a service: `arrival_s,service_s[,tokens_in,tokens_out]`. An empty field means
//! unknown.

use super::TraceError;
use super::columns::{Column, Row, Table, header_of, optional_column, push_row, required_column};
use super::field::{self, show_thousandths};
use common::time::Span;

const COLUMNS: &[Column] = &[
    required_column("arrival_s"),
    required_column("service_s"),
    optional_column("tokens_in"),
    optional_column("tokens_out"),
];

/// One request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Since the start of the trace.
    pub arrival: Span,
    /// From its start on a replica to its end.
    pub service: Span,
    /// Tokens of the request.
    pub tokens_in: Option<u32>,
    /// Tokens of the answer.
    pub tokens_out: Option<u32>,
}

/// Reads requests, plain or gzip, and returns them by arrival. `file` is its name in errors.
///
/// # Errors
/// The first invalid line, or a file without requests.
pub fn read_requests(file: &str, bytes: &[u8]) -> Result<Vec<Request>, TraceError> {
    let table = Table::read(file, bytes, COLUMNS)?;
    let mut requests =
        table.rows().map(|row| read_request(&row)).collect::<Result<Vec<_>, TraceError>>()?;
    if requests.is_empty() {
        return Err(TraceError::Empty { file: file.to_owned(), header: header_of(COLUMNS) });
    }
    requests.sort_by_key(|request| request.arrival);
    Ok(requests)
}

fn read_request(row: &Row<'_>) -> Result<Request, TraceError> {
    let seconds = |column| row.read(column, |text| field::seconds(text).map(|read| read.rounded));
    let tokens = |column| {
        row.read(column, |text| field::optional(text, |text| field::count(text, "tokens")))
    };
    Ok(Request {
        arrival: seconds("arrival_s")?,
        service: seconds("service_s")?,
        tokens_in: tokens("tokens_in")?,
        tokens_out: tokens("tokens_out")?,
    })
}

/// The requests as a file.
#[must_use]
pub fn write_requests(requests: &[Request]) -> String {
    let mut text = header_of(COLUMNS);
    text.push('\n');
    for request in requests {
        let tokens = |tokens: Option<u32>| tokens.map_or_else(String::new, |n| n.to_string());
        let fields = [
            show_thousandths(request.arrival.0),
            show_thousandths(request.service.0),
            tokens(request.tokens_in),
            tokens(request.tokens_out),
        ];
        push_row(&mut text, fields.iter().map(String::as_str));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_by_arrival_and_written_back() {
        let text = "arrival_s,service_s,tokens_in,tokens_out\n0.25,3,,\n1.5,2.125,1000,80\n";
        let reversed =
            "service_s,arrival_s,tokens_in,tokens_out\n2.125,1.5,1000,80\n3,0.25,,\n".as_bytes();
        let requests = read_requests("r.csv", reversed).unwrap();
        assert_eq!(requests.len(), 2);
        assert_eq!(requests[0].arrival, Span(250));
        assert_eq!(requests[1].tokens_out, Some(80));
        assert_eq!(write_requests(&requests), text);
    }

    #[test]
    fn lines_that_are_wrong_are_named() {
        let error = |text: &str| read_requests("r.csv", text.as_bytes()).unwrap_err().to_string();
        assert!(error("arrival_s,service_s\n1,-2\n").contains("line 2, column service_s"));
        assert!(error("arrival_s\n1\n").contains("the column `service_s` is missing"));
        assert!(error("arrival_s,service_s\n").contains("it is empty"));
        let tokens = error("arrival_s,service_s,tokens_in\n1,2,3.5\n");
        assert!(tokens.contains("is not a whole number: write tokens"), "{tokens}");
    }
}
