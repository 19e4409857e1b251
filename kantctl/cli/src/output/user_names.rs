//! The names of users and groups, from this host's user database.

use nix::unistd::{Gid, Group, Uid, User};

/// The user's name, or the number if this host does not know it.
#[must_use]
pub fn user(uid: u32) -> String {
    let known = User::from_uid(Uid::from_raw(uid)).ok().flatten();
    known.map_or_else(|| uid.to_string(), |user| user.name)
}

/// The group's name, or the number if this host does not know it.
#[must_use]
pub fn group(gid: u32) -> String {
    let known = Group::from_gid(Gid::from_raw(gid)).ok().flatten();
    known.map_or_else(|| gid.to_string(), |group| group.name)
}

/// The name of a job's owner: the controller's, or if that is a number, this host's.
#[must_use]
pub fn owner(owner: &common::job::Owner) -> String {
    if owner.name == owner.uid.to_string() { user(owner.uid.0) } else { owner.name.clone() }
}

/// The text before a user's number in the controller's sentences.
const BEFORE: &str = "user ";

/// A sentence of the controller, with users' numbers replaced by names.
#[must_use]
pub fn replace_user_numbers(sentence: &str) -> String {
    let mut text = String::with_capacity(sentence.len());
    let mut rest = sentence;
    while let Some(start) = rest.find(BEFORE) {
        let (before, after) = rest.split_at(start + BEFORE.len());
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        let is_word = !before[..start].ends_with(char::is_alphanumeric)
            && !after[digits..].starts_with(|c: char| c.is_alphanumeric() || c == '_');
        text.push_str(before);
        match after[..digits].parse() {
            Ok(uid) if is_word => text.push_str(&user(uid)),
            _ => text.push_str(&after[..digits]),
        }
        rest = &after[digits..];
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbers_of_users_in_sentences_are_replaced_by_names() {
        let text = "cancelled by user 0, not user 4000000000";
        assert_eq!(replace_user_numbers(text), "cancelled by user root, not user 4000000000");
        for same in ["", "user ", "user 0x10", "superuser 0", "user 99999999999", "of users 0"] {
            assert_eq!(replace_user_numbers(same), same);
        }
        assert_eq!((user(0), user(4_000_000_000)), ("root".to_owned(), "4000000000".to_owned()));
    }
}
