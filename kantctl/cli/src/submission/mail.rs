//! `--mail-user`: the recipients of e-mails about a job.

use common::job::mail::{MailError, addresses};

///
/// # Errors
/// [`MailError`] if the text is not an address.
pub fn read_address(text: &str) -> Result<String, MailError> {
    addresses(text).map(|_| text.to_owned())
}

/// The same, but also accepts variables, as users write `$USER` in directives: no shell expands it,
/// and Slurm accepts it but sends nothing. It is kept here for a warning.
///
/// # Errors
/// As [`read_address`].
pub fn read_address_or_variable(text: &str) -> Result<String, MailError> {
    if is_variable(text) { Ok(text.to_owned()) } else { read_address(text) }
}

/// Whether the text contains a shell variable.
#[must_use]
pub fn is_variable(text: &str) -> bool {
    text.contains('$')
}

/// The warning about a variable.
#[must_use]
pub fn variable_warning(text: &str) -> String {
    format!(
        "--mail-user={text} is ignored, and e-mails go to you: variables in directives are not \
         expanded"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_kept_for_a_warning_and_invalid_addresses_refused() {
        for text in ["$USER", "${USER}@example.org"] {
            assert!(read_address_or_variable(text).is_ok_and(|kept| is_variable(&kept)));
            assert!(read_address(text).is_err());
        }
        assert!(read_address_or_variable("-x").is_err());
        assert_eq!(read_address_or_variable("ada@x").as_deref(), Ok("ada@x"));
    }
}
