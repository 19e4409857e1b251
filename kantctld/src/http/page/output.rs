//! The end of a job's output.

use super::Site;
use super::api_client::bytes;
use super::session::Session;
use axum::http::Method;
use common::id::JobKey;
use page::Output;

/// As much as one answer of the API holds.
const CHUNK_BYTES: usize = 1 << 20;
/// Longer outputs are for `kantctl logs`.
const CHUNKS_MAX: usize = 4;
/// What a page shows.
const TAIL_BYTES: usize = 16 << 10;

pub async fn tail(site: &Site, session: &Session, key: JobKey) -> Output {
    let (mut offset, mut last) = (0, Vec::new());
    for _ in 0..CHUNKS_MAX {
        let path =
            format!("/v1/jobs/{}/output?offset={offset}", page::percent_encode(&key.to_string()));
        let chunk = match bytes(site, session, Method::GET, &path).await {
            Ok(chunk) => chunk,
            Err(refusal) => return Output::NotShown(refusal.error.message),
        };
        offset += chunk.len();
        last.extend_from_slice(&chunk);
        last.drain(..last.len().saturating_sub(TAIL_BYTES));
        if chunk.len() < CHUNK_BYTES {
            return Output::Text(whole_lines(&last, offset > TAIL_BYTES), offset > TAIL_BYTES);
        }
    }
    Output::NotShown(format!("It is long: read it with `kantctl logs {key}`."))
}

/// The text, without the line at whose middle it may begin.
fn whole_lines(bytes: &[u8], is_part: bool) -> String {
    let first = bytes.iter().position(|byte| *byte == b'\n').filter(|_| is_part);
    let from = first.map_or(0, |at| at + 1);
    String::from_utf8_lossy(&bytes[from..]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_an_output_begins_with_a_whole_line() {
        assert_eq!(whole_lines(b"ab\ncd\n", false), "ab\ncd\n");
        assert_eq!(whole_lines(b"ab\ncd\n", true), "cd\n");
        assert_eq!(whole_lines(b"no end", true), "no end");
        assert_eq!(whole_lines(b"\xff", false), "\u{fffd}");
    }
}
