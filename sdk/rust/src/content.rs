//! Contents of files of any size, in and out, as they are read and written.

use std::future::IntoFuture;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::{Stream, TryStreamExt};
use reqwest::header::{CONTENT_LENGTH, ETAG, IF_MATCH, IF_NONE_MATCH, RANGE};
use reqwest::{Method, Response};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, ReadBuf};
use tokio_util::io::{ReaderStream, StreamReader};

use crate::error::{Result, SandboxError};
use crate::exec::Pending;
use crate::files::FileSystem;
use crate::generated::FileContent;
use crate::http::{segment, Call};

/// Bytes that are read from a file at once.
const STEP: usize = 256 << 10;

type Pieces = Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send>>;
type Progress = Box<dyn FnMut(u64, Option<u64>) + Send>;

impl FileSystem {
    /// A file to be read; awaiting it opens it. The [`FileReader`] is an `AsyncRead`.
    pub fn open(&self, path: impl Into<String>) -> Download<'_> {
        Download { files: self, path: path.into(), range: None, if_match: None, format: None, progress: None }
    }

    /// A file to be written; awaiting it sends all that the reader has. It is in place, with the folders above it, when
    /// all bytes have arrived.
    pub fn write_from(&self, path: impl Into<String>, reader: impl AsyncRead + Send + 'static) -> Upload<'_> {
        self.write_stream(path, ReaderStream::with_capacity(reader, STEP))
    }

    /// [`FileSystem::write_from`] of pieces as they come.
    pub fn write_stream<B: Into<Bytes> + 'static>(
        &self,
        path: impl Into<String>,
        pieces: impl Stream<Item = io::Result<B>> + Send + 'static,
    ) -> Upload<'_> {
        let pieces: Pieces = Box::pin(pieces.map_ok(Into::into));
        let (path, headers) = (path.into(), Vec::new());
        Upload { files: self, path, pieces, size: None, mode: None, format: None, headers, progress: None }
    }

    /// Copies a file of this host into the sandbox, with its mode.
    pub async fn upload_file(&self, local: impl AsRef<Path>, path: impl Into<String>) -> Result<FileContent> {
        let file = tokio::fs::File::open(&local).await.map_err(|e| local_error(local.as_ref(), e))?;
        let known = file.metadata().await.map_err(|e| local_error(local.as_ref(), e))?;
        let mut upload = self.write_from(path, file);
        if known.is_file() {
            upload = upload.size(known.len());
        }
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            upload = upload.mode(format!("{:04o}", known.permissions().mode() & 0o777));
        }
        upload.await
    }

    /// Copies a file of the sandbox to this host, with its mode. One that breaks off leaves what was there before.
    pub async fn download_file(&self, path: impl Into<String>, local: impl AsRef<Path>) -> Result<u64> {
        let local = local.as_ref();
        let mut from = self.open(path).await?;
        let mut name = local.file_name().unwrap_or_default().to_os_string();
        name.push(format!(".{:016x}.part", unique()));
        let part = local.with_file_name(name);
        let copied = match copy_to(&mut from, &part).await {
            Ok(size) => tokio::fs::rename(&part, local).await.map(|()| size),
            Err(e) => Err(e),
        };
        if copied.is_err() {
            let _ = tokio::fs::remove_file(&part).await;
        }
        copied.map_err(|e| local_error(local, e))
    }

    pub async fn upload_bytes(&self, path: &str, bytes: impl AsRef<[u8]>) -> Result<FileContent> {
        let bytes = Bytes::copy_from_slice(bytes.as_ref());
        let size = bytes.len() as u64;
        self.write_stream(path, futures_util::stream::iter([Ok(bytes)])).size(size).await
    }

    pub async fn download_bytes(&self, path: &str) -> Result<Vec<u8>> {
        let mut all = Vec::new();
        self.open(path).await?.read_to_end(&mut all).await.map_err(SandboxError::Io)?;
        Ok(all)
    }

    fn content(&self, method: Method, path: String, format: Option<String>) -> Result<Call> {
        let mut call = Call::new(method, format!("/sandbox/sandboxes/{}/files/content", segment("id", &self.id)?));
        call.query.push(("path", path));
        call.query.extend(format.map(|format| ("format", format)));
        Ok(call)
    }
}

/// Another name for each call, in this process and in others.
fn unique() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::collections::hash_map::RandomState::new().build_hasher().finish()
}

async fn copy_to(from: &mut FileReader, part: &Path) -> io::Result<u64> {
    let mut to = tokio::fs::OpenOptions::new().write(true).create_new(true).open(part).await?;
    let size = tokio::io::copy(from, &mut to).await?;
    to.flush().await?;
    #[cfg(unix)]
    if let Some(mode) = from.mode.as_ref().and_then(|mode| u32::from_str_radix(mode, 8).ok()) {
        use std::os::unix::fs::PermissionsExt;
        to.set_permissions(std::fs::Permissions::from_mode(mode & 0o777)).await?; // without the bits that give rights
    }
    Ok(size)
}

fn local_error(path: &Path, e: io::Error) -> SandboxError {
    SandboxError::Io(io::Error::new(e.kind(), format!("{}: {e}", path.display())))
}

/// A file before it is read: `files.open("big").range(1000, Some(500)).await?`.
#[must_use = "a file is opened when this is awaited"]
pub struct Download<'a> {
    files: &'a FileSystem,
    path: String,
    range: Option<(u64, Option<u64>)>,
    if_match: Option<String>,
    format: Option<String>,
    progress: Option<Progress>,
}

impl<'a> Download<'a> {
    /// The first byte, and how many; None: up to the end.
    pub fn range(mut self, offset: u64, length: Option<u64>) -> Self {
        self.range = Some((offset, length));
        self
    }

    /// Only this version, an [`FileReader::etag`] of before; another one is an error.
    pub fn if_match(mut self, etag: impl Into<String>) -> Self {
        self.if_match = Some(etag.into());
        self
    }

    /// `tar`: a folder as an archive.
    pub fn format(mut self, format: impl Into<String>) -> Self {
        self.format = Some(format.into());
        self
    }

    /// Gets how many bytes have come, and of how many, when that is known.
    pub fn on_progress(mut self, tell: impl FnMut(u64, Option<u64>) + Send + 'static) -> Self {
        self.progress = Some(Box::new(tell));
        self
    }

    async fn run(self) -> Result<FileReader> {
        let mut call = self.files.content(Method::GET, self.path, self.format)?;
        if let Some((offset, length)) = self.range {
            let last = match length {
                Some(0) => return Err(SandboxError::InvalidArgument("a range of no bytes".into())),
                Some(length) => offset.saturating_add(length - 1).to_string(),
                None => String::new(),
            };
            call.headers.push((RANGE.as_str(), format!("bytes={offset}-{last}")));
        }
        call.headers.extend(self.if_match.map(|etag| (IF_MATCH.as_str(), etag)));
        let response = self.files.api.http().download(call).await?;
        Ok(FileReader::new(response, self.progress))
    }
}

impl<'a> IntoFuture for Download<'a> {
    type Output = Result<FileReader>;
    type IntoFuture = Pending<'a, FileReader>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

/// The bytes of a file as they come: an `AsyncRead`, or with [`FileReader::into_stream`] a `Stream`.
pub struct FileReader {
    /// Of what is read, a range or all; None when the server does not know.
    pub size: Option<u64>,
    /// Version of the file.
    pub etag: Option<String>,
    /// Octal digits.
    pub mode: Option<String>,
    bytes: StreamReader<Pieces, Bytes>,
}

impl std::fmt::Debug for FileReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "FileReader({:?} bytes, version {:?})", self.size, self.etag)
    }
}

impl FileReader {
    fn new(response: Response, progress: Option<Progress>) -> Self {
        let header = |name: &str| Some(response.headers().get(name)?.to_str().ok()?.to_string());
        let (etag, mode, size) = (header(ETAG.as_str()), header("x-file-mode"), response.content_length());
        let pieces: Pieces = Box::pin(response.bytes_stream().map_err(|e| io::Error::other(SandboxError::Request(e))));
        FileReader { size, etag, mode, bytes: StreamReader::new(counted(pieces, size, progress)) }
    }

    /// The pieces as they come.
    pub fn into_stream(self) -> impl Stream<Item = io::Result<Bytes>> + Send {
        ReaderStream::with_capacity(self, STEP)
    }
}

impl AsyncRead for FileReader {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.bytes).poll_read(cx, buf)
    }
}

fn counted(pieces: Pieces, total: Option<u64>, progress: Option<Progress>) -> Pieces {
    let Some(mut tell) = progress else { return pieces };
    let mut done = 0;
    Box::pin(pieces.inspect_ok(move |piece| {
        done += piece.len() as u64;
        tell(done, total);
    }))
}

/// A file before it is written: `files.write_from("big", reader).mode("0600").await?`.
#[must_use = "a file is written when this is awaited"]
pub struct Upload<'a> {
    files: &'a FileSystem,
    path: String,
    pieces: Pieces,
    size: Option<u64>,
    mode: Option<String>,
    format: Option<String>,
    headers: Vec<(&'static str, String)>,
    progress: Option<Progress>,
}

impl<'a> Upload<'a> {
    /// Of all that will be sent, for the progress; the reader must give exactly as much.
    pub fn size(mut self, size: u64) -> Self {
        self.size = Some(size);
        self
    }

    /// Octal digits; otherwise the mode of the old file, or 0644.
    pub fn mode(mut self, mode: impl Into<String>) -> Self {
        self.mode = Some(mode.into());
        self
    }

    /// `tar`: unpacks an archive into the folder at the path.
    pub fn format(mut self, format: impl Into<String>) -> Self {
        self.format = Some(format.into());
        self
    }

    /// Writes only over this version, the ETag of an earlier answer; another one is an error.
    pub fn if_match(mut self, etag: impl Into<String>) -> Self {
        self.headers.push((IF_MATCH.as_str(), etag.into()));
        self
    }

    /// Writes only a new file; one that is there is an error.
    pub fn create_new(mut self) -> Self {
        self.headers.push((IF_NONE_MATCH.as_str(), "*".into()));
        self
    }

    /// Gets how many bytes have gone, and of how many, when that is known.
    pub fn on_progress(mut self, tell: impl FnMut(u64, Option<u64>) + Send + 'static) -> Self {
        self.progress = Some(Box::new(tell));
        self
    }

    async fn run(self) -> Result<FileContent> {
        let mut call = self.files.content(Method::PUT, self.path, self.format)?;
        call.query.extend(self.mode.map(|mode| ("mode", mode)));
        call.headers = self.headers;
        call.headers.extend(self.size.map(|size| (CONTENT_LENGTH.as_str(), size.to_string())));
        let body = reqwest::Body::wrap_stream(counted(self.pieces, self.size, self.progress));
        self.files.api.http().upload(call, body).await
    }
}

impl<'a> IntoFuture for Upload<'a> {
    type Output = Result<FileContent>;
    type IntoFuture = Pending<'a, FileContent>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}
