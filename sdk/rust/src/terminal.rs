//! Terminals with live input and output, over one WebSocket.

use base64::engine::general_purpose::STANDARD;
use base64::Engine;
use futures_util::{SinkExt, StreamExt};
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::WebSocketStream;

use crate::error::{Result, SandboxError};
use crate::generated::*;
use crate::http::{segment, Api};
use crate::managers::manager;

/// Most keys that the server takes in one frame.
const FRAME_MAX: usize = 64 << 10;

manager! {
    /// Shells on a pseudo terminal.
    TerminalManager
}

impl TerminalManager {
    /// A new session, and a connection to it.
    pub async fn open(&self, options: TerminalCreateOptions) -> Result<Terminal> {
        let session = self.create(options).await?;
        self.attach(&session.session_id).await
    }

    /// A connection to a session; the first output is what the last viewers saw.
    pub async fn attach(&self, session_id: &str) -> Result<Terminal> {
        let path = format!(
            "/sandbox/sandboxes/{}/terminal/{}/ws",
            segment("id", &self.id)?,
            segment("sessionId", session_id)?
        );
        let key = STANDARD.encode(rand_key());
        let headers = [
            ("Connection", "Upgrade"),
            ("Upgrade", "websocket"),
            ("Sec-WebSocket-Version", "13"),
            ("Sec-WebSocket-Key", key.as_str()),
        ];
        let io = self.api.http().upgrade(&path, &headers).await?;
        Ok(Terminal {
            socket: WebSocketStream::from_raw_socket(io, Role::Client, None).await,
            manager: self.clone(),
            session_id: session_id.to_string(),
            end: None,
        })
    }
}

/// Sixteen bytes that a cache in between does not know; nothing secret hangs on them.
fn rand_key() -> [u8; 16] {
    use std::hash::{BuildHasher, RandomState};
    let mut key = [0; 16];
    for half in key.chunks_mut(8) {
        half.copy_from_slice(&RandomState::new().hash_one(0).to_ne_bytes());
    }
    key
}

/// How a terminal ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TerminalEnd {
    /// The shell ended with this code.
    Exited(i32),
    /// Somebody closed the session.
    Closed,
    /// The sandbox is gone, or the server stops.
    Gone(String),
}

/// A connection to a terminal. Dropping it leaves the session alive; [`Terminal::close`] ends it.
pub struct Terminal {
    socket: WebSocketStream<reqwest::Upgraded>,
    manager: TerminalManager,
    session_id: String,
    end: Option<TerminalEnd>,
}

impl Terminal {
    pub fn session_id(&self) -> &str {
        &self.session_id
    }

    /// Types.
    pub async fn send(&mut self, keys: impl AsRef<[u8]>) -> Result<()> {
        for piece in keys.as_ref().chunks(FRAME_MAX) {
            let frame = Message::Binary(piece.to_vec().into());
            self.socket.send(frame).await.map_err(broken)?;
        }
        Ok(())
    }

    pub async fn resize(&mut self, cols: u16, rows: u16) -> Result<()> {
        let text = format!(r#"{{"type":"resize","cols":{cols},"rows":{rows}}}"#);
        self.socket.send(Message::Text(text.into())).await.map_err(broken)
    }

    /// The next piece of output; None at the end, which [`Terminal::end`] then explains.
    pub async fn read(&mut self) -> Result<Option<Vec<u8>>> {
        while let Some(message) = self.socket.next().await {
            match message.map_err(broken)? {
                Message::Binary(bytes) => return Ok(Some(bytes.to_vec())),
                Message::Text(text) => return Ok(Some(text.as_bytes().to_vec())),
                Message::Close(frame) => self.end = Some(end_of(frame)),
                _ => {}
            }
        }
        if self.end.is_none() {
            return Err(SandboxError::Stream("the connection of the terminal broke off".into()));
        }
        Ok(None)
    }

    /// Reads until the output holds a text; gives all that was read. An error when the terminal ends first.
    pub async fn read_until(&mut self, text: &str) -> Result<Vec<u8>> {
        let wanted = text.as_bytes();
        let mut seen = Vec::new();
        while let Some(piece) = self.read().await? {
            let from = seen.len().saturating_sub(wanted.len());
            seen.extend_from_slice(&piece);
            if wanted.is_empty() || seen[from..].windows(wanted.len()).any(|w| w == wanted) {
                return Ok(seen);
            }
        }
        let why = format!("the terminal ended before it showed \"{text}\"");
        Err(SandboxError::Stream(why))
    }

    /// How it ended, when it has.
    pub fn end(&self) -> Option<&TerminalEnd> {
        self.end.as_ref()
    }

    /// Ends the shell and all that it started.
    pub async fn close(mut self) -> Result<()> {
        self.manager.close(&self.session_id).await?;
        while self.read().await?.is_some() {}
        Ok(())
    }
}

fn broken(e: tokio_tungstenite::tungstenite::Error) -> SandboxError {
    SandboxError::Stream(e.to_string())
}

fn end_of(frame: Option<CloseFrame>) -> TerminalEnd {
    let reason = frame.map(|f| f.reason.to_string()).unwrap_or_default();
    if let Some(code) = reason.strip_prefix("exit ").and_then(|code| code.parse().ok()) {
        return TerminalEnd::Exited(code);
    }
    if reason == "closed" {
        return TerminalEnd::Closed;
    }
    TerminalEnd::Gone(reason)
}
