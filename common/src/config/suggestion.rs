//! The suggestion for an unknown key: the known key that was probably meant, in place of the TOML
//! reader's list of all keys, which is long.

/// The reader's message. If it is about an unknown key with a similar known one, only that one is
/// named.
pub(super) fn with_nearest_key(message: &str) -> String {
    nearest_key(message).unwrap_or_else(|| message.to_owned())
}

/// Reads the wording of `serde::de::Error::unknown_field`.
fn nearest_key(message: &str) -> Option<String> {
    let (unknown, rest) = message.strip_prefix("unknown field `")?.split_once('`')?;
    if unknown == "admins" {
        let successor = "there is no key `admins`: list operators as `operators` in [roles]";
        return Some(successor.to_owned());
    }
    let known = rest.split('`').skip(1).step_by(2);
    // A key with more wrong characters than a third is another word.
    let similar = known
        .map(|key| (strsim::osa_distance(unknown, key), key))
        .filter(|(wrong, key)| 3 * wrong <= key.len());
    let (_, nearest) = similar.min()?;
    Some(format!("there is no key `{unknown}`: did you mean `{nearest}`?"))
}

#[cfg(test)]
mod tests {
    use crate::config::{ClientConfig, ControllerConfig, NodeConfig, read};
    use serde::de::DeserializeOwned;

    fn refusal<T: DeserializeOwned + std::fmt::Debug>(text: &str) -> String {
        read::<T>("kant.toml", text).unwrap_err().to_string()
    }

    #[test]
    fn the_nearest_key_is_suggested_for_an_unknown_one_also_inside_tables() {
        for (message, unknown, nearest) in [
            (refusal::<ClientConfig>("socket = []"), "socket", "sockets"),
            (refusal::<NodeConfig>("spol_dir = \"/x\""), "spol_dir", "spool_dir"),
            (refusal::<ControllerConfig>("socet = \"\""), "socet", "socket"),
            (refusal::<ControllerConfig>("[[queue]]\nnmae = \"q\""), "nmae", "name"),
        ] {
            let end = format!("there is no key `{unknown}`: did you mean `{nearest}`?");
            assert!(message.ends_with(&end), "{message}");
        }
    }

    #[test]
    fn the_key_of_operators_is_named_for_another_word() {
        let message = refusal::<ControllerConfig>("admins = [\"ada\"]");
        assert!(message.ends_with("list operators as `operators` in [roles]"), "{message}");
    }

    #[test]
    fn all_keys_are_named_for_an_unknown_one_that_is_similar_to_none() {
        let message = refusal::<NodeConfig>("frobnicate = 1");
        for named in ["frobnicate", "line 1", "`name`", "`spool_dir`"] {
            assert!(message.contains(named), "{message}");
        }
        assert!(!message.contains("did you mean"), "{message}");
    }
}
