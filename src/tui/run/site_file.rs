//! The file that remembers the choices of `:site`: for each DaemonSet the label by which its map tells nodes apart.
//!
//! ```json
//! {"prod-eu": {"edge/ipc-agent": "factory.example/hall"}}
//! ```
//!
//! The file is a convenience: an error in it is reported, and the console goes on without it. A file that cannot be read is
//! not overwritten.

use std::collections::{BTreeMap, HashMap};
use std::fs::DirBuilder;
use std::io::{self, Read};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use crate::audit::{AuditLog, private};
use crate::driver::private_file;
use crate::engine::model::printable::json;
use crate::engine::model::site::SiteLabel;
use crate::tui::daemonset_ref::DaemonSetRef;

/// Labels by context, then by `NAMESPACE/NAME`.
type SavedSites = BTreeMap<String, BTreeMap<String, String>>;

/// A longer file was not written by rolldeck: this many bytes hold thousands of DaemonSets.
const MOST_BYTES: u64 = 1 << 20;

/// The usual place of the file, beside the audit log; `None` without a home directory.
pub fn usual_site_file() -> Option<PathBuf> {
    Some(AuditLog::usual().path()?.with_file_name("sites.json"))
}

/// The labels that are remembered for DaemonSets of this context. A missing file remembers none.
///
/// # Errors
/// The file cannot be read, or has not the form that [`remember`] writes.
pub(super) fn load(file: &Path, context: &str) -> Result<HashMap<DaemonSetRef, String>, String> {
    let sites = read(file).map_err(|error| complaint(file, &error))?;
    let of_context = sites.get(context).into_iter().flatten();
    let labels = of_context.filter_map(|(name, label)| {
        let (namespace, name) = name.split_once('/')?;
        label.parse::<SiteLabel>().ok()?;
        Some((DaemonSetRef { namespace: namespace.into(), name: name.into() }, label.clone()))
    });
    Ok(labels.collect())
}

/// Remembers the label of a DaemonSet, or forgets it.
///
/// # Errors
/// The file cannot be read or written.
pub(super) fn remember(file: &Path, context: &str, target: &DaemonSetRef, label: Option<&str>) -> Result<(), String> {
    write(file, context, target, label).map_err(|error| complaint(file, &error))
}

fn write(file: &Path, context: &str, target: &DaemonSetRef, label: Option<&str>) -> io::Result<()> {
    if let Some(directory) = file.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    }
    // Another console may have written the file in the meantime.
    let mut sites = read(file)?;
    let of_context = sites.entry(context.to_owned()).or_default();
    let name = format!("{}/{}", target.namespace, target.name);
    match label {
        Some(label) => of_context.insert(name, label.to_owned()),
        None => of_context.remove(&name),
    };
    sites.retain(|_, of_context| !of_context.is_empty());
    private_file::replace(file, &json(&sites)?)
}

fn read(file: &Path) -> io::Result<SavedSites> {
    let Some(opened) = private::to_read(file)? else { return Ok(SavedSites::new()) };
    let mut text = String::new();
    opened.take(MOST_BYTES).read_to_string(&mut text)?;
    serde_json::from_str(&text).map_err(io::Error::from)
}

fn complaint(file: &Path, error: &io::Error) -> String {
    format!("`:site` is not remembered: {}: {error}", file.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn daemonset(name: &str) -> DaemonSetRef {
        DaemonSetRef { namespace: "edge".into(), name: name.into() }
    }

    #[test]
    fn what_is_remembered_is_found_again_for_its_daemonset_and_context() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("state").join("sites.json");
        assert_eq!(load(&file, "prod"), Ok(HashMap::new()));
        remember(&file, "prod", &daemonset("agent"), Some("example.com/hall")).unwrap();
        remember(&file, "prod", &daemonset("proxy"), Some("rack")).unwrap();
        remember(&file, "test", &daemonset("agent"), Some("rack")).unwrap();
        let of = |context: &str, name: &str| load(&file, context).unwrap().remove(&daemonset(name));
        assert_eq!(of("prod", "agent").as_deref(), Some("example.com/hall"));
        assert_eq!((of("prod", "proxy").as_deref(), of("test", "agent").as_deref()), (Some("rack"), Some("rack")));
        assert_eq!(of("test", "proxy"), None);
        remember(&file, "prod", &daemonset("agent"), None).unwrap();
        assert_eq!((of("prod", "agent"), of("prod", "proxy").as_deref()), (None, Some("rack")));
        remember(&file, "prod", &daemonset("proxy"), None).unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap().matches("prod").count(), 0, "nothing is left of it");
    }

    #[test]
    fn a_file_that_is_something_else_is_named_and_kept() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("sites.json");
        for text in ["", "[]", r#"{"prod": "rack"}"#, "no json"] {
            std::fs::write(&file, text).unwrap();
            let why = load(&file, "prod").unwrap_err();
            assert!(why.contains("sites.json") && why.contains("not remembered"), "{why}");
            assert!(remember(&file, "prod", &daemonset("agent"), Some("rack")).is_err());
            assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
        }
        // Entries with an invalid label or DaemonSet are left out.
        std::fs::write(&file, r#"{"prod": {"edge/agent": "no label!", "agent": "rack", "edge/proxy": "rack"}}"#)
            .unwrap();
        assert_eq!(load(&file, "prod"), Ok(HashMap::from([(daemonset("proxy"), "rack".to_owned())])));
    }
}
