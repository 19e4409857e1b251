//! kant's refusals as entries of `errors`: a number and a text of Slurm for each code of kant.
//! Source: slurm/slurm_errno.h.

use crate::frame::ErrorEntry;

/// Slurm's number and text of a refusal that is none of the others.
const OTHER: (u32, &str) = (9200, "Query empty or not RFC7320 compliant");

/// Numbers and texts by codes of kant.
const CODES: &[(&[&str], u32, &str)] = &[
    (
        &["no-token", "token_invalid", "user-claimed", "user_mismatch"],
        1007,
        "Protocol authentication error",
    ),
    (&["unknown_queue", "unknown_partition"], 2000, "Invalid partition name specified"),
    (
        &[
            "scope_missing",
            "not_for_tokens",
            "not_yours",
            "operators_only",
            "viewers_only",
            "no_right",
            "not_an_operator",
            "queue_closed",
            "account_closed",
            "qos_closed",
        ],
        2002,
        "Access/permission denied",
    ),
    (&["never_fits"], 2014, "Requested node configuration is not available"),
    (&["unknown_job"], 2017, "Invalid job id specified"),
    (&["unknown_node"], 2018, "Invalid node name specified"),
    (&["already_done", "already_ending"], 2021, "Job/step already completing or completed"),
    (&["unknown_account"], 2045, "Invalid account or account/partition combination specified"),
    (&["unknown_qos"], 2066, "Invalid qos specification"),
];

/// The entry of a refusal with this code, sentence and hint.
#[must_use]
pub fn entry(code: &str, message: &str, hint: Option<&str>) -> ErrorEntry {
    let known = CODES.iter().find(|(codes, ..)| codes.contains(&code));
    let (number, error) = known.map_or(OTHER, |(_, number, error)| (*number, *error));
    let description = match hint {
        Some(hint) => format!("{message}; {hint}"),
        None => message.to_owned(),
    };
    ErrorEntry { description, number, error: error.to_owned(), source: format!("kant: {code}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_has_slurms_number_and_kants_sentence() {
        let entry = entry("unknown_job", "there is no job 7", Some("see `kantctl queue --all`"));
        assert_eq!((entry.number, entry.error.as_str()), (2017, "Invalid job id specified"));
        assert_eq!(entry.description, "there is no job 7; see `kantctl queue --all`");
        assert_eq!(entry.source, "kant: unknown_job");
        assert_eq!(super::entry("anything", "x", None).number, 9200);
    }
}
