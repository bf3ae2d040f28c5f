//! Opens private files, the audit log and kubeconfigs. Only regular files are opened, never through a link; files to write
//! must belong to this account alone.
//!
//! In a directory that others may write to, a link could redirect the output, and a file of another account would disclose it.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

use crate::engine::model::shell::shell_word;

/// The permission bits of everybody but the owner.
const OTHERS: u32 = 0o077;
/// The write bits among these.
const WRITING_OTHERS: u32 = 0o022;

/// Why a file is not used, and what to do about it.
#[derive(Debug, thiserror::Error)]
pub(super) enum UnfitFile {
    #[error("it is a link, and links are not followed")]
    Link,
    #[error("it is no regular file")]
    NoFile,
    #[error("it belongs to another user (uid {0})")]
    OfAnother(u32),
    #[error("others may read or write it (mode {mode:04o}){remedy}")]
    Shared { mode: u32, remedy: String },
}

impl UnfitFile {
    /// Whether somebody else may have written to the file.
    pub(super) fn is_writable(&self) -> bool {
        !matches!(self, Self::Shared { mode, .. } if mode & WRITING_OTHERS == 0)
    }
}

impl From<UnfitFile> for io::Error {
    fn from(unfit: UnfitFile) -> Self {
        Self::new(io::ErrorKind::PermissionDenied, unfit)
    }
}

/// Opens a file to append to. Missing directories and the file are created for this account alone.
///
/// # Errors
/// When it is [unfit](UnfitFile), or the system refuses.
pub(super) fn to_append(path: &Path) -> io::Result<File> {
    if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    }
    let file = open(OpenOptions::new().append(true).create(true).mode(0o600), path)?;
    check_owner(path, &file.metadata()?)?;
    Ok(file)
}

/// Makes a new file.
///
/// # Errors
/// When a file or link with that name exists already, or the system refuses.
pub(crate) fn to_create(path: &Path) -> io::Result<File> {
    open(OpenOptions::new().write(true).create_new(true).mode(0o600), path)
}

/// Opens a file to read; `None` where there is none.
///
/// # Errors
/// When it is a link or no regular file, or the system refuses.
pub(crate) fn to_read(path: &Path) -> io::Result<Option<File>> {
    match open(OpenOptions::new().read(true), path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Opens a regular file. A pipe without another end does not block the call.
fn open(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC).bits();
    let opened = options.custom_flags(i32::try_from(flags).unwrap_or_default()).open(path);
    let file = opened.map_err(|error| {
        let kind = fs::symlink_metadata(path).map(|meta| meta.file_type());
        match kind {
            Ok(kind) if kind.is_symlink() => UnfitFile::Link.into(),
            Ok(kind) if !kind.is_file() => UnfitFile::NoFile.into(),
            _ => error,
        }
    })?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(UnfitFile::NoFile.into()) }
}

/// Whether the file belongs to this account alone.
///
/// # Errors
/// When it does not.
pub(super) fn check_owner(path: &Path, meta: &fs::Metadata) -> Result<(), UnfitFile> {
    if meta.uid() != rustix::process::geteuid().as_raw() {
        return Err(UnfitFile::OfAnother(meta.uid()));
    }
    if meta.mode() & OTHERS != 0 {
        let command = path.to_str().and_then(shell_word).map(|path| format!(": `chmod 600 {path}`"));
        return Err(UnfitFile::Shared { mode: meta.mode() & 0o7777, remedy: command.unwrap_or_default() });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_link_is_followed_by_nobody() {
        let dir = tempfile::tempdir().unwrap();
        let (theirs, link) = (dir.path().join("theirs"), dir.path().join("audit.jsonl"));
        fs::write(&theirs, "theirs\n").unwrap();
        symlink(&theirs, &link).unwrap();
        for error in [to_append(&link).unwrap_err(), to_read(&link).unwrap_err()] {
            assert!(error.to_string().contains("links are not followed"), "{error}");
        }
        let nowhere = dir.path().join("nowhere");
        symlink(dir.path().join("new"), &nowhere).unwrap();
        assert!(to_append(&nowhere).is_err() && !dir.path().join("new").exists(), "nothing is made through a link");
        assert_eq!(fs::read_to_string(&theirs).unwrap(), "theirs\n");
    }

    #[test]
    fn a_file_that_others_may_read_or_write_is_not_written_and_the_remedy_is_said() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a b.jsonl");
        fs::write(&path, "").unwrap();
        for mode in [0o666, 0o640, 0o604, 0o601] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let error = to_append(&path).unwrap_err().to_string();
            assert!(error.contains(&format!("mode 0{mode:o}")) && error.contains("`chmod 600 '/"), "{error}");
            assert!(to_read(&path).unwrap().is_some());
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        to_append(&path).unwrap().write_all(b"ours\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "ours\n");
        assert!(to_read(&dir.path().join("none")).unwrap().is_none());
    }

    #[test]
    fn devices_pipes_and_directories_are_no_audit_log() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).unwrap();
        for path in [Path::new("/dev/null"), &pipe, dir.path()] {
            let error = to_append(path).unwrap_err().to_string();
            assert!(error.contains("no regular file"), "{}: {error}", path.display());
        }
        assert!(to_read(&pipe).is_err(), "it does not wait for somebody to write to it");
    }
}
