//! Nobody else can read the files that the program writes, and the program follows no link to another place.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use crate::support::practice::Practice;
use crate::support::program::text;

const DS: &str = "ds/agent";

#[test]
fn the_kubeconfig_of_a_practice_cluster_is_for_its_owner_only() {
    let practice = Practice::start();
    assert_eq!(fs::symlink_metadata(practice.kubeconfig()).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn the_audit_log_is_written_to_no_file_of_others_and_that_is_said() {
    let practice = Practice::start();
    let (log, theirs) = (practice.home().join("audit.jsonl"), practice.home().join("theirs"));
    let pause = |log: &str| practice.run(&["pause", DS, "--audit-log", log]);
    fs::write(&theirs, "").unwrap();
    fs::set_permissions(&theirs, fs::Permissions::from_mode(0o666)).unwrap();
    symlink(&theirs, &log).unwrap();
    let path = log.to_str().unwrap();
    for (log, says) in [
        (path, "links are not followed"),
        (theirs.to_str().unwrap(), "others may read or write it (mode 0666): `chmod 600 /"),
        ("/dev/null", "no regular file"),
    ] {
        let output = pause(log);
        assert_eq!(output.status.code(), Some(0), "it delays and stops nothing: {}", text(&output));
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(error.contains("Warning: the audit log") && error.contains(says), "{log}: {error}");
    }
    assert_eq!(fs::metadata(&theirs).unwrap().size(), 0, "nothing was written to it");
    let read = practice.run(&["log", "--audit-log", path]);
    assert_eq!(read.status.code(), Some(1), "{}", text(&read));

    fs::remove_file(&log).unwrap();
    let output = pause(path);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(fs::symlink_metadata(&log).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(practice.ok(&["log", "--audit-log", path]).contains("paused"));
}

#[test]
fn an_audit_log_that_others_may_write_is_read_with_a_warning() {
    let practice = Practice::start();
    let log = practice.home().join("audit.jsonl");
    let path = log.to_str().unwrap();
    practice.ok(&["pause", DS, "--audit-log", path]);
    let read = || practice.run(&["log", "--audit-log", path, "-o", "json"]);
    assert_eq!(String::from_utf8_lossy(&read().stderr), "");
    for (mode, doubt) in [(0o622, "incomplete or made up"), (0o644, "incomplete, as it is not written")] {
        fs::set_permissions(&log, fs::Permissions::from_mode(mode)).unwrap();
        let output = read();
        assert_eq!(output.status.code(), Some(0), "{}", text(&output));
        let warning = format!(
            "Warning: what is in the audit log {path} may be {doubt}: others may read or write it (mode 0{mode:o}): `chmod 600 {path}`\n"
        );
        assert_eq!(String::from_utf8_lossy(&output.stderr), warning);
        assert!(String::from_utf8_lossy(&output.stdout).contains("paused"), "what is in it is printed all the same");
    }
}
