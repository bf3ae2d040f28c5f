//! A file of lines that several processes share: each line is one write, and the file never grows without bound.
//!
//! ```text
//!  audit.jsonl ── full ──▶ audit.jsonl.1     (replaces an earlier one)
//! ```
//!
//! A process that finds the file full locks it, checks that the file still has its name, and renames it. Before its next
//! line, every other process notices that the name belongs to another file, and opens that file.

use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::private;

/// The largest size of a file. The events of a rollout of 15,000 nodes fit in two.
pub(super) const LIMIT: u64 = 16 * 1024 * 1024;

/// The file, opened when the first line is written.
#[derive(Debug)]
pub(super) struct LogFile {
    path: PathBuf,
    limit: u64,
    file: Option<File>,
    /// The last write was incomplete, so the next line begins with a line feed.
    torn: bool,
}

impl LogFile {
    pub(super) fn new(path: PathBuf, limit: u64) -> Self {
        Self { path, limit, file: None, torn: false }
    }

    /// Appends one line, which ends in a line feed.
    pub(super) fn append(&mut self, line: &[u8]) -> io::Result<()> {
        let mut torn;
        let line = if std::mem::take(&mut self.torn) {
            torn = vec![b'\n'];
            torn.extend_from_slice(line);
            &torn
        } else {
            line
        };
        let limit = self.limit;
        let (mut file, meta) = self.opened()?;
        if meta.len() > 0 && meta.len() + line.len() as u64 > limit {
            self.make_room()?;
            file = self.opened()?.0;
        }
        match { file }.write(line) {
            Ok(written) if written == line.len() => Ok(()),
            Ok(_) => {
                self.torn = true;
                Err(io::Error::new(io::ErrorKind::StorageFull, "the line did not fit"))
            }
            Err(error) => {
                self.file = None;
                Err(error)
            }
        }
    }

    /// The open file if it still has its name; otherwise the file that has the name now, if it is [fit](private::to_append).
    fn opened(&mut self) -> io::Result<(&File, Metadata)> {
        let named = fs::symlink_metadata(&self.path).ok();
        let known = self.file.take().and_then(|file| {
            let meta = file.metadata().ok()?;
            named.as_ref().is_some_and(|named| is_same(named, &meta)).then_some((file, meta))
        });
        let (file, meta) = match known {
            Some(known) => known,
            None => {
                let file = private::to_append(&self.path)?;
                let meta = file.metadata()?;
                (file, meta)
            }
        };
        // The rights of the file may have been widened since it was opened.
        private::check_owner(&self.path, &meta)?;
        Ok((self.file.insert(file), meta))
    }

    fn make_room(&mut self) -> io::Result<()> {
        let Some(file) = self.file.take() else { return Ok(()) };
        file.lock()?;
        // Another process may have renamed the file first.
        let named = fs::symlink_metadata(&self.path).ok();
        let ours = file.metadata()?;
        if named.is_some_and(|named| is_same(&named, &ours)) {
            fs::rename(&self.path, before(&self.path))?;
        }
        Ok(())
    }
}

/// The name under which a full file is kept.
pub(super) fn before(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".1");
    name.into()
}

fn is_same(a: &Metadata, b: &Metadata) -> bool {
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn text(path: &Path) -> String {
        fs::read_to_string(path).unwrap_or_default()
    }

    #[test]
    fn only_its_owner_can_read_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state").join("rolldeck").join("audit.jsonl");
        LogFile::new(path.clone(), LIMIT).append(b"a\n").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    }

    #[test]
    fn two_processes_share_it_and_neither_loses_a_line_when_it_is_full() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("audit.jsonl");
        let (mut one, mut other) = (LogFile::new(path.clone(), 30), LogFile::new(path.clone(), 30));
        for nth in 0..5 {
            one.append(format!("one {nth}\n").as_bytes()).unwrap();
            other.append(format!("two {nth}\n").as_bytes()).unwrap();
        }
        // Thirty bytes hold five lines: ten make two files.
        let all = text(&before(&path)) + &text(&path);
        assert_eq!(all, "one 0\ntwo 0\none 1\ntwo 1\none 2\ntwo 2\none 3\ntwo 3\none 4\ntwo 4\n");
        assert!(text(&path).len() <= 30);
    }

    #[test]
    fn many_threads_write_whole_lines_and_no_file_outgrows_its_bound() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("audit.jsonl");
        std::thread::scope(|scope| {
            for writer in 0..8 {
                let path = path.clone();
                scope.spawn(move || {
                    let mut lines = LogFile::new(path, 20_000);
                    for nth in 0..200 {
                        lines.append(format!("{writer} {nth} {}\n", "x".repeat(100)).as_bytes()).unwrap();
                    }
                });
            }
        });
        for file in [path.clone(), before(&path)] {
            let text = text(&file);
            assert!(!text.is_empty() && text.len() <= 20_000 + 8 * 120, "{}", text.len());
            assert!(text.lines().all(|line| line.ends_with(&format!(" {}", "x".repeat(100)))), "{file:?}");
        }
    }

    #[test]
    fn a_link_that_takes_its_place_is_not_followed_and_the_full_file_replaces_a_link() {
        use std::os::unix::fs::symlink;
        let dir = tempfile::tempdir().unwrap();
        let (path, theirs) = (dir.path().join("audit.jsonl"), dir.path().join("theirs"));
        fs::write(&theirs, "").unwrap();
        symlink(&theirs, before(&path)).unwrap();
        let mut lines = LogFile::new(path.clone(), 4);
        lines.append(b"a a\n").unwrap();
        lines.append(b"b b\n").unwrap();
        assert!(fs::symlink_metadata(before(&path)).unwrap().is_file());
        assert_eq!((text(&before(&path)), text(&path)), ("a a\n".to_owned(), "b b\n".to_owned()));

        fs::rename(&path, dir.path().join("kept")).unwrap();
        symlink(&theirs, &path).unwrap();
        assert!(lines.append(b"c\n").unwrap_err().to_string().contains("links are not followed"));
        assert_eq!(text(&theirs), "");
        fs::remove_file(&path).unwrap();
        lines.append(b"d\n").unwrap();
        assert_eq!(text(&path), "d\n", "it is written again once the link is gone");
    }

    #[test]
    fn a_file_that_is_opened_up_to_others_is_not_written_any_more() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("audit.jsonl");
        let mut lines = LogFile::new(path.clone(), LIMIT);
        lines.append(b"a\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(lines.append(b"b\n").unwrap_err().to_string().contains("chmod 600"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        lines.append(b"c\n").unwrap();
        assert_eq!(text(&path), "a\nc\n");
    }

    #[test]
    fn a_file_that_was_taken_away_is_made_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("audit.jsonl");
        let mut lines = LogFile::new(path.clone(), LIMIT);
        lines.append(b"a\n").unwrap();
        fs::rename(&path, dir.path().join("kept")).unwrap();
        lines.append(b"b\n").unwrap();
        assert_eq!((text(&path), text(&dir.path().join("kept"))), ("b\n".to_owned(), "a\n".to_owned()));
    }
}
