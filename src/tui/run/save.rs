//! `ctrl-s`: saves the screen, and the rollout on it, as files that only this account can read.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use crate::audit::AuditLog;
use crate::driver::private_file;
use crate::engine::model::printable::json;
use crate::engine::report::snapshot::Snapshot;
use crate::engine::report::story::Story;
use crate::handover::{Handover, file_stem};
use crate::tui::status::StatusSeverity;

/// Writes the files beside the audit log, in `saved`, and reports where they are, or why they could not be written.
pub(super) async fn save(
    context: String,
    screen: String,
    rollout: Option<Box<(Arc<Snapshot>, Story)>>,
) -> (StatusSeverity, String) {
    // A report of thousands of nodes takes a while, and the disk may be slow.
    let written = tokio::task::spawn_blocking(move || {
        let directory = directory().ok_or("neither XDG_STATE_HOME nor HOME says where to")?;
        write(&directory, &context, &screen, rollout.as_deref())
            .map_err(|error| format!("{}: {error}", directory.display()))
    });
    match written.await {
        Ok(Ok(what)) => (StatusSeverity::Plain, format!("saved {what}")),
        Ok(Err(why)) => (StatusSeverity::Refused, format!("not saved: {why}")),
        Err(_crashed) => (StatusSeverity::Refused, "not saved: internal error".to_owned()),
    }
}

fn directory() -> Option<PathBuf> {
    Some(AuditLog::usual().path()?.with_file_name("saved"))
}

/// Returns a text that names the written files.
fn write(
    directory: &Path,
    context: &str,
    screen: &str,
    rollout: Option<&(Arc<Snapshot>, Story)>,
) -> io::Result<String> {
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    let Some((snapshot, story)) = rollout else {
        let secs = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let file = directory.join(format!("rolldeck-screen-{secs}.txt"));
        private_file::replace(&file, &format!("{screen}\n"))?;
        return Ok(shown(&file));
    };
    let handover = Handover::new(context, snapshot.clone(), story, None).with_screen(screen);
    let stem = directory.join(file_stem(snapshot));
    let value = json(&handover.json())?;
    for (extension, text) in [("txt", handover.text()), ("json", value), ("html", handover.html())] {
        private_file::replace(&stem.with_added_extension(extension), &text)?;
    }
    Ok(format!("{}.txt, .json, .html", shown(&stem)))
}

/// A path with `~` for the home directory.
fn shown(path: &Path) -> String {
    let below_home = std::env::home_dir().and_then(|home| Some(path.strip_prefix(home).ok()?.to_owned()));
    below_home.map_or_else(|| path.display().to_string(), |path| format!("~/{}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::engine::fake_cluster::{FakeCluster, FakeConsole};

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn the_screen_and_the_story_are_files_for_this_account_only() {
        let directory = tempfile::tempdir().unwrap();
        let saved = directory.path().join("state").join("saved");
        let mut fake = FakeCluster::rolling(3, 1);
        let mut console = FakeConsole::open(&fake, "ops");
        console.run_for(&mut fake, 2);
        let snapshot = Arc::new(console.snapshot(&fake));
        let rollout = (snapshot.clone(), Story::reconstructed(&snapshot, |_| None));
        let said = write(&saved, "prod", "what is on screen", Some(&rollout)).unwrap();
        let stem = saved.join(file_stem(&snapshot));
        assert_eq!(said, format!("{}.txt, .json, .html", shown(&stem)));
        assert_eq!(mode(&saved), 0o700);
        for extension in ["txt", "json", "html"] {
            let file = stem.with_added_extension(extension);
            assert_eq!(mode(&file), 0o600, "{extension}");
            assert!(std::fs::read_to_string(&file).unwrap().contains("what is on screen"), "{extension}");
        }
        // The list of all DaemonSets has no story.
        write(&saved, "prod", "the list", None).unwrap();
        let screens = std::fs::read_dir(&saved).unwrap().filter_map(Result::ok);
        let screens = screens.filter(|file| file.file_name().to_string_lossy().starts_with("rolldeck-screen-"));
        assert_eq!(
            screens.map(|file| std::fs::read_to_string(file.path()).unwrap()).collect::<Vec<_>>(),
            ["the list\n"]
        );
    }

    #[tokio::test]
    async fn what_cannot_be_saved_is_said() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert!(write(&file.join("saved"), "prod", "", None).is_err());
        // Nothing panics without a rollout.
        assert_eq!(shown(Path::new("/elsewhere/x")), "/elsewhere/x");
    }
}
