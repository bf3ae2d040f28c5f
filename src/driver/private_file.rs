//! Files that contain credentials: only their owner can read them, and links are never followed.

use std::ffi::OsString;
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::audit::private::to_create;

/// Writes `text` to a new file in the directory for temporary files. Its name cannot be guessed.
///
/// # Errors
/// When it cannot be created.
pub(crate) fn temporary(text: &str) -> io::Result<PathBuf> {
    let path = std::env::temp_dir().join(format!("rolldeck-demo-{:016x}", nonce()));
    create(&path, text)?;
    Ok(path)
}

/// Makes `text` the content of `file`, whole or not at all, so that a process that waits for the file never reads half of
/// it. A file or link that had this name before is replaced and not written to.
///
/// # Errors
/// When it cannot be written beside `file`, or cannot be given its name.
pub(crate) fn replace(file: &Path, text: &str) -> io::Result<()> {
    let mut beside = OsString::from(file);
    beside.push(format!(".{:016x}", nonce()));
    let beside = PathBuf::from(beside);
    create(&beside, text)?;
    fs::rename(&beside, file).inspect_err(|_| {
        // The incomplete file has no other name.
        let _ = fs::remove_file(&beside);
    })
}

/// Fails if a file or link with that name exists already.
fn create(path: &Path, text: &str) -> io::Result<()> {
    to_create(path)?.write_all(text.as_bytes())
}

fn nonce() -> u64 {
    RandomState::new().hash_one(std::process::id())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn only_its_owner_can_read_it_and_a_link_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let (file, elsewhere) = (dir.path().join("kubeconfig"), dir.path().join("elsewhere"));
        fs::write(&elsewhere, "theirs").unwrap();
        fs::set_permissions(&elsewhere, fs::Permissions::from_mode(0o666)).unwrap();
        symlink(&elsewhere, &file).unwrap();
        replace(&file, "ours").unwrap();
        assert_eq!(
            (fs::read_to_string(&file).unwrap().as_str(), fs::read_to_string(&elsewhere).unwrap().as_str()),
            ("ours", "theirs")
        );
        let meta = fs::symlink_metadata(&file).unwrap();
        assert!(meta.is_file());
        assert_eq!(meta.permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2, "nothing is left beside it");

        assert!(replace(&dir.path().join("none").join("kubeconfig"), "ours").is_err());
        fs::create_dir(dir.path().join("folder")).unwrap();
        assert!(replace(&dir.path().join("folder"), "ours").is_err());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 3, "nothing is left beside it");
    }
}
