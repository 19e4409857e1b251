//! Reading the text of an attribute's value as users write it: times that are local and relative to
//! the present, variables for the job's environment, and addresses with variables.

use super::begin::{read_begin, read_deadline};
use super::export::Export;
use super::mail::is_variable;
use common::job::attributes::{self, Kind, Value};

/// Reads a value of this kind.
///
/// # Errors
/// The forms that can be written.
pub fn read_value(kind: Kind, text: &str) -> Result<Value, String> {
    match kind {
        Kind::Begin => read_begin(text).map(Value::Time).map_err(|error| error.to_string()),
        Kind::Deadline => read_deadline(text).map(Value::Time).map_err(|error| error.to_string()),
        Kind::Export => match text.parse::<Export>() {
            Ok(_) => Ok(Value::Text(text.to_owned())),
            Err(error) => Err(error.to_string()),
        },
        // Users write `$USER` in directives, where no shell expands it: it is kept for a warning.
        Kind::MailAddress if is_variable(text) => Ok(Value::Text(text.to_owned())),
        _ => attributes::read_value(kind, text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_only_users_write_are_read_here() {
        assert!(read_value(Kind::MailAddress, "$USER").is_ok());
        assert!(read_value(Kind::MailAddress, "-x").is_err());
        assert!(matches!(read_value(Kind::Begin, "now"), Ok(Value::Time(_))));
        assert!(read_value(Kind::Export, "A B=1").is_err());
        assert_eq!(read_value(Kind::YesNo, "no"), Ok(Value::Flag(false)));
    }
}
