//! A look at the bytes of a request's header, for what the HTTP library removes before we see it:
//! a `Content-Length` beside a `Transfer-Encoding`, by which a request is smuggled past a proxy
//! that reads the one to a server that reads the other.
//! The router is safe without it, as it frames each request again and the library ends such a
//! connection; but a client that sends both has no good reason. Of several requests that arrive in
//! one piece, only the first is looked at.
//! Source: RFC 9112, sections 6.1 and 11.2.

/// The longer of the two names, with the colon.
const NAME_BYTES_MAX: usize = 18;
const LENGTH: &[u8] = b"content-length:";
const ENCODING: &[u8] = b"transfer-encoding:";

/// The framing fields of one header so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Framing {
    pub has_length: bool,
    pub has_encoding: bool,
}

/// The scan of one header, which may arrive in any pieces.
#[derive(Debug, Default)]
pub struct HeadScan {
    framing: Framing,
    is_over: bool,
    /// The begin of the current line, as far as it may be a name.
    line: [u8; NAME_BYTES_MAX],
    line_bytes: usize,
    lines: usize,
}

impl HeadScan {
    pub const fn framing(&self) -> Framing {
        self.framing
    }

    /// The next bytes of the header. Those after its end are ignored.
    pub fn scan(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !self.is_over && !rest.is_empty() {
            let end = rest.iter().position(|byte| *byte == b'\n');
            let (part, after) = rest.split_at(end.map_or(rest.len(), |at| at + 1));
            self.buffer_line_part(part);
            if end.is_some() {
                self.end_line();
            }
            rest = after;
        }
    }

    fn buffer_line_part(&mut self, part: &[u8]) {
        let free = NAME_BYTES_MAX - self.line_bytes.min(NAME_BYTES_MAX);
        let kept = free.min(part.len());
        let from = NAME_BYTES_MAX - free;
        self.line[from..from + kept].copy_from_slice(&part[..kept]);
        self.line_bytes += part.len();
    }

    fn end_line(&mut self) {
        let line = &self.line[..self.line_bytes.min(NAME_BYTES_MAX)];
        let is_empty = matches!(line, b"\n" | b"\r\n");
        // Empty lines before the request line are allowed.
        self.is_over = is_empty && self.lines > 0;
        if !is_empty {
            self.lines += 1;
            self.framing.has_length |= begins_with(line, LENGTH);
            self.framing.has_encoding |= begins_with(line, ENCODING);
        }
        self.line_bytes = 0;
    }
}

/// `name` is in lower case.
fn begins_with(line: &[u8], name: &[u8]) -> bool {
    line.len() >= name.len() && line[..name.len()].eq_ignore_ascii_case(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scanned(pieces: &[&[u8]]) -> Framing {
        let mut scan = HeadScan::default();
        pieces.iter().for_each(|piece| scan.scan(piece));
        scan.framing()
    }

    const BOTH: &[u8] = b"\r\nPOST / HTTP/1.1\r\nHost: a\r\ncontent-LENGTH: 3\r\n\
        Transfer-Encoding: chunked\r\n\r\n";

    #[test]
    fn both_fields_are_found_in_any_pieces() {
        let both = Framing { has_length: true, has_encoding: true };
        assert_eq!(scanned(&[BOTH]), both);
        for at in 0..BOTH.len() {
            let (one, other) = BOTH.split_at(at);
            assert_eq!(scanned(&[one, other]), both, "split at {at}");
        }
        let bytes: Vec<&[u8]> = BOTH.chunks(1).collect();
        assert_eq!(scanned(&bytes), both);
    }

    #[test]
    fn only_names_of_the_header_count() {
        let none = Framing::default();
        let head =
            b"GET /content-length: HTTP/1.1\r\nx-content-length: 1\r\nA: content-length: 1\r\n";
        assert_eq!(scanned(&[head]), none);
        assert_eq!(scanned(&[b"GET / HTTP/1.1\n\ncontent-length: 1\n"]), none, "a body");
        let length = Framing { has_length: true, has_encoding: false };
        assert_eq!(scanned(&[b"GET / HTTP/1.1\r\nContent-Length:1\r\n\r\n"]), length);
    }
}
