//! Files of a sandbox.

use base64::engine::general_purpose::STANDARD;
use base64::Engine;

use crate::error::{Result, SandboxError};
use crate::generated::*;
use crate::http::Api;
use crate::managers::{manager, strings};

manager! {
    /// Files of a sandbox. Paths are absolute, or relative to the workspace.
    FileSystem
}

impl FileSystem {
    /// A text; bytes that are not UTF-8 are replaced. See [`FileSystem::download_bytes`] for the others.
    pub async fn read(&self, path: &str) -> Result<String> {
        self.api.fs_read(&self.id, path).await
    }

    pub async fn write(&self, path: &str, content: &str) -> Result<Success> {
        self.api.fs_write(&self.id, path, content).await
    }

    pub async fn delete(&self, path: &str) -> Result<Success> {
        self.api.fs_delete(&self.id, path).await
    }

    /// Default: the workspace.
    pub async fn list(&self, path: Option<&str>) -> Result<Vec<FileInfo>> {
        let options = FsListOptions { path: path.map(Into::into) };
        self.api.fs_list(&self.id, options).await
    }

    /// Files whose name matches the pattern, below `dir` (default: the workspace).
    pub async fn search(&self, pattern: &str, dir: Option<&str>) -> Result<Vec<String>> {
        let options = FsSearchOptions { dir: dir.map(Into::into) };
        self.api.fs_search(&self.id, pattern, options).await
    }

    /// Any bytes, as base64.
    pub async fn upload(&self, path: &str, base64: &str) -> Result<Success> {
        self.api.fs_upload(&self.id, path, base64).await
    }

    /// Any bytes, as base64.
    pub async fn download(&self, path: &str) -> Result<String> {
        self.api.fs_download(&self.id, path).await
    }

    pub async fn upload_bytes(&self, path: &str, bytes: impl AsRef<[u8]>) -> Result<Success> {
        self.upload(path, &STANDARD.encode(bytes)).await
    }

    pub async fn download_bytes(&self, path: &str) -> Result<Vec<u8>> {
        let text = self.download(path).await?;
        STANDARD.decode(text).map_err(|e| SandboxError::Stream(format!("the server sent no base64: {e}")))
    }

    pub async fn info(&self, path: &str) -> Result<FileMetadata> {
        let options = FsInfoOptions { path: Some(path.into()), ..Default::default() };
        let found = self.api.fs_info(&self.id, options).await?.into_vec();
        let missing = || SandboxError::Stream("the server sent no file".into());
        found.into_iter().next().ok_or_else(missing)
    }

    pub async fn info_all<I: IntoIterator>(&self, paths: I) -> Result<Vec<FileMetadata>>
    where
        I::Item: Into<String>,
    {
        let options = FsInfoOptions { paths: Some(strings(paths)), ..Default::default() };
        Ok(self.api.fs_info(&self.id, options).await?.into_vec())
    }

    pub async fn rename(&self, from: &str, to: &str) -> Result<Success> {
        self.move_all(&[FsMoveMove { from: from.into(), to: to.into() }]).await
    }

    pub async fn move_all(&self, moves: &[FsMoveMove]) -> Result<Success> {
        self.api.fs_move(&self.id, moves).await
    }

    /// With the folders above it.
    pub async fn mkdir(&self, path: &str) -> Result<Success> {
        let options = FsMkdirOptions { path: Some(path.into()), ..Default::default() };
        self.api.fs_mkdir(&self.id, options).await
    }

    /// With everything in it.
    pub async fn rmdir(&self, path: &str) -> Result<Success> {
        let options = FsRmdirOptions { path: Some(path.into()), ..Default::default() };
        self.api.fs_rmdir(&self.id, options).await
    }

    /// Mode as octal text, for example `755`.
    pub async fn chmod(&self, path: &str, mode: &str) -> Result<Success> {
        self.api.fs_chmod(&self.id, path, mode).await
    }
}
