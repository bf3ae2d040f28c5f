//! `ctrl-s`: the screen, and the rollout on it, as files that only this account can read.

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

/// Writes the files beside the audit log, in `saved`, and says where they are, or why they are not there.
pub(super) async fn save(
    context: String,
    screen: String,
    rollout: Option<Box<(Arc<Snapshot>, Story)>>,
) -> (StatusSeverity, String) {
    // A report of thousands of nodes takes a while, and so may the disk.
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

/// Returns what was written, in words.
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
        return Ok(file.display().to_string());
    };
    let handover = Handover::new(context, snapshot.clone(), story, Vec::new()).with_screen(screen);
    let stem = directory.join(file_stem(snapshot));
    let value = json(&handover.json())?;
    for (extension, text) in [("txt", handover.text()), ("json", value), ("html", handover.html())] {
        private_file::replace(&stem.with_added_extension(extension), &text)?;
    }
    Ok(format!("{}.txt, .json and .html", stem.display()))
}
