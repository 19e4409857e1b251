//! Converts bytes to text: unpacks gzip, detected by its first two bytes, and checks UTF-8. The
//! unpacked size is bounded.

use super::TraceError;
use flate2::read::MultiGzDecoder;
use std::io::Read;

/// The first two bytes of every gzip member (RFC 1952, section 2.3.1).
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// The most that is unpacked: a gigabyte holds some ten million jobs.
const UNPACKED_BYTES_MAX: u64 = 1 << 30;

/// The text of a file, without a byte order mark.
///
/// # Errors
/// [`TraceError::Gzip`] for damaged or unbounded data, [`TraceError::NotText`] for other bytes.
pub fn text_of(file: &str, bytes: &[u8]) -> Result<String, TraceError> {
    let unpacked =
        if bytes.starts_with(&GZIP_MAGIC) { unpack(file, bytes)? } else { bytes.to_vec() };
    let text = String::from_utf8(unpacked).map_err(|error| {
        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + good.iter().filter(|byte| **byte == b'\n').count() as u64;
        TraceError::NotText { file: file.to_owned(), line }
    })?;
    Ok(match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    })
}

fn unpack(file: &str, bytes: &[u8]) -> Result<Vec<u8>, TraceError> {
    let bad = |cause: String| TraceError::Gzip { file: file.to_owned(), cause };
    let mut unpacked = Vec::new();
    let mut decoder = MultiGzDecoder::new(bytes).take(UNPACKED_BYTES_MAX + 1);
    decoder.read_to_end(&mut unpacked).map_err(|error| bad(error.to_string()))?;
    if unpacked.len() as u64 > UNPACKED_BYTES_MAX {
        return Err(bad(format!("it holds more than {UNPACKED_BYTES_MAX} bytes")));
    }
    Ok(unpacked)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;

    fn packed(text: &str) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn packed_and_plain_text_read_the_same_whatever_the_name() {
        assert_eq!(text_of("a.csv", &packed("hello\n")).unwrap(), "hello\n");
        assert_eq!(text_of("a.csv.gz", b"hello\n").unwrap(), "hello\n");
        let two = [packed("one "), packed("two")].concat();
        assert_eq!(text_of("joined.gz", &two).unwrap(), "one two", "members may be joined");
        assert_eq!(text_of("bom.csv", "\u{feff}x".as_bytes()).unwrap(), "x");
    }

    #[test]
    fn a_truncated_gzip_says_how_to_check_it() {
        let whole = packed(&"a long enough text ".repeat(50));
        for cut in [3, whole.len() / 2, whole.len() - 1] {
            let error = text_of("jobs.csv.gz", &whole[..cut]).unwrap_err().to_string();
            assert!(error.starts_with("failed to unpack jobs.csv.gz: "), "{error}");
            assert!(error.contains("gzip -t"), "{error}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_refused_with_their_line() {
        let error = text_of("jobs.csv", b"ok\nok\nb\xffd\n").unwrap_err();
        assert_eq!(error, TraceError::NotText { file: "jobs.csv".into(), line: 3 });
    }
}
