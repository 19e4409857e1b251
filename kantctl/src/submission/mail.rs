//! To whom letters about a job go: `--mail-user`. Never sends one; the controller does.

use common::job::mail::{MailError, addresses};

/// Reads addresses.
///
/// # Errors
/// [`MailError`] of a text that is none.
pub fn read_address(text: &str) -> Result<String, MailError> {
    addresses(text).map(|_| text.to_owned())
}

/// The same in a script's directives, too, where people write `$USER`: no shell reads that, and
/// Slurm takes it and writes to nobody. It is kept here, for a warning.
///
/// # Errors
/// As of [`read_address`].
pub fn read_address_or_variable(text: &str) -> Result<String, MailError> {
    if is_variable(text) { Ok(text.to_owned()) } else { read_address(text) }
}

/// Is it what a shell would have made an address of?
#[must_use]
pub fn is_variable(text: &str) -> bool {
    text.contains('$')
}

/// What is said of such a one.
#[must_use]
pub fn told_of_variable(text: &str) -> String {
    format!("--mail-user={text} is left out, and letters go to you: no shell reads directives")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_shell_read_is_told_and_what_is_no_address_refused() {
        for text in ["$USER", "${USER}@example.org"] {
            assert!(read_address_or_variable(text).is_ok_and(|kept| is_variable(&kept)));
            assert!(read_address(text).is_err());
        }
        assert!(read_address_or_variable("-x").is_err());
        assert_eq!(read_address_or_variable("ada@x").as_deref(), Ok("ada@x"));
    }
}
