//! Bytes as lower-case hexadecimal digits.

#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes of hexadecimal digits; `None` for any other text.
#[must_use]
pub fn unhex(digits: &str) -> Option<Vec<u8>> {
    let pair = |pair: &[u8]| match pair {
        [high, low] => {
            let digit = |byte: &u8| char::from(*byte).to_digit(16);
            u8::try_from(digit(high)? << 4 | digit(low)?).ok()
        }
        _ => None,
    };
    digits.as_bytes().chunks(2).map(pair).collect()
}

/// Does the text consist of such digits?
#[must_use]
pub fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_become_the_bytes_again_and_other_text_is_refused() {
        assert_eq!(unhex(&hex(&[0, 15, 255])).unwrap(), [0, 15, 255]);
        assert_eq!(unhex("AB").unwrap(), [0xab]);
        for text in ["a", "abc", "zz", "\u{e4}"] {
            assert_eq!(unhex(text), None, "{text}");
        }
    }
}
