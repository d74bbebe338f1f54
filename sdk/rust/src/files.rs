//! Files of a sandbox.

use crate::error::{Result, SandboxError};
use crate::generated::*;
use crate::http::Api;
use crate::managers::{manager, strings};

manager! {
    /// Files of a sandbox. Paths are absolute, or relative to the workspace.
    FileSystem
}

impl FileSystem {
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
}
