//! Little-endian numbers and length-prefixed blocks, decoded without panics.

/// Reads forward through bytes; each method returns None at the end.
pub(crate) struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Cursor { rest: bytes }
    }

    pub fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    pub fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }

    pub fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|taken| taken[0])
    }

    pub fn u32(&mut self) -> Option<u32> {
        self.take(4)?.try_into().ok().map(u32::from_le_bytes)
    }

    pub fn u64(&mut self) -> Option<u64> {
        self.take(8)?.try_into().ok().map(u64::from_le_bytes)
    }

    /// A length (u32), then that many bytes.
    pub fn block(&mut self) -> Option<&'a [u8]> {
        let count = self.u32()?;
        self.take(count as usize)
    }
}

/// Appends a block; the caller has checked that it is shorter than 4 GiB.
pub(crate) fn put_block(out: &mut Vec<u8>, bytes: &[u8]) {
    let count = u32::try_from(bytes.len()).expect("a block is checked to be below 4 GiB");
    out.extend_from_slice(&count.to_le_bytes());
    out.extend_from_slice(bytes);
}
