//! Percent-encoding of text in a path or a query.

/// A text as part of a path or a query (RFC 3986: all but letters, digits and `-._~` as `%XX`).
#[must_use]
pub fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes().fold(String::new(), |mut done, byte| {
        if plain(byte) {
            done.push(char::from(byte));
        } else {
            done.push_str(&format!("%{byte:02X}"));
        }
        done
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_escape_its_part_of_a_path() {
        assert_eq!(encoded("ada-1._~"), "ada-1._~");
        assert_eq!(encoded("a b/../c?d&e=ü"), "a%20b%2F..%2Fc%3Fd%26e%3D%C3%BC");
    }
}
