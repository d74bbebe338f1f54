//! Server-sent events: every `data:` line is one JSON value.

use std::pin::Pin;

use futures_util::{stream, Stream, StreamExt};
use serde::de::DeserializeOwned;

use crate::error::{Result, SandboxError};

/// What streaming calls give. Dropping it closes the connection, which ends what the server does for it.
pub type EventStream<T> = Pin<Box<dyn Stream<Item = Result<T>> + Send>>;

/// Longest line that is kept: a server that never ends a line must not fill the memory.
const LINE_MAX: usize = 64 << 20;

/// Cuts bytes into lines and hands out what stands behind `data:`.
#[derive(Default)]
pub(crate) struct Lines {
    pending: Vec<u8>,
    seen: usize,
}

impl Lines {
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Result<()> {
        if self.pending.len() + bytes.len() > LINE_MAX {
            return Err(SandboxError::Stream(format!("a line is longer than {LINE_MAX} bytes")));
        }
        self.pending.extend_from_slice(bytes);
        Ok(())
    }

    /// The next complete `data:` line; the rest of the protocol (comments, event names) is skipped.
    pub(crate) fn next(&mut self) -> Option<Vec<u8>> {
        while let Some(at) = self.pending[self.seen..].iter().position(|b| *b == b'\n') {
            let rest = self.pending.split_off(self.seen + at + 1);
            let line = std::mem::replace(&mut self.pending, rest);
            self.seen = 0;
            if let Some(data) = data_of(&line) {
                return Some(data.to_vec());
            }
        }
        self.seen = self.pending.len();
        None
    }

    /// What is left when the connection ends without a last newline.
    pub(crate) fn rest(&mut self) -> Option<Vec<u8>> {
        let line = std::mem::take(&mut self.pending);
        self.seen = 0;
        data_of(&line).map(<[u8]>::to_vec)
    }
}

fn data_of(line: &[u8]) -> Option<&[u8]> {
    let data = line.strip_prefix(b"data:")?.trim_ascii();
    (!data.is_empty()).then_some(data)
}

pub(crate) fn events<T: DeserializeOwned + Send + 'static>(response: reqwest::Response) -> EventStream<T> {
    let state = (response.bytes_stream(), Lines::default(), false);
    Box::pin(stream::unfold(state, |(mut body, mut lines, mut ended)| async move {
        loop {
            let line = if ended { lines.rest() } else { lines.next() };
            if let Some(data) = line {
                return Some((parse(&data), (body, lines, ended)));
            }
            if ended {
                return None;
            }
            match body.next().await {
                Some(Ok(bytes)) => {
                    if let Err(e) = lines.feed(&bytes) {
                        return Some((Err(e), (body, Lines::default(), true)));
                    }
                }
                Some(Err(e)) => {
                    let broken = SandboxError::Stream(e.to_string());
                    return Some((Err(broken), (body, Lines::default(), true)));
                }
                None => ended = true,
            }
        }
    }))
}

fn parse<T: DeserializeOwned>(data: &[u8]) -> Result<T> {
    serde_json::from_slice(data).map_err(SandboxError::Json)
}

#[cfg(test)]
mod tests {
    use super::Lines;

    fn all(pieces: &[&str]) -> Vec<String> {
        let mut lines = Lines::default();
        let mut got = Vec::new();
        for piece in pieces {
            lines.feed(piece.as_bytes()).unwrap();
            while let Some(data) = lines.next() {
                got.push(String::from_utf8(data).unwrap());
            }
        }
        got.extend(lines.rest().map(|data| String::from_utf8(data).unwrap()));
        got
    }

    #[test]
    fn events_are_found_however_they_are_cut() {
        assert_eq!(all(&["data: 1\n\nda", "ta: 2\r\n", "\n: ping\n\ndata:3\n\n"]), ["1", "2", "3"]);
        assert_eq!(all(&["data: \"\u{e9}\"\n\nid: 4\nevent: x\n\n"]), ["\"\u{e9}\""]);
    }

    #[test]
    fn a_last_line_without_its_newline_counts() {
        assert_eq!(all(&["data: 1\n\ndata: 2"]), ["1", "2"]);
        assert_eq!(all(&["data: 1\n\n: pi"]), ["1"]);
    }

    #[test]
    fn a_line_without_end_is_refused() {
        let mut lines = Lines::default();
        lines.feed(&vec![b'x'; super::LINE_MAX]).unwrap();
        assert!(lines.next().is_none());
        assert!(lines.feed(b"x").is_err());
    }
}
