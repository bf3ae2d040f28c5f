//! Texts from elsewhere carry escape sequences, writing directions and invisible characters: the program removes them before a text reaches a
//! terminal, a pipe or the audit log.

use crate::support::practice::Practice;
use crate::support::program::text;
use crate::support::pty::PtyTerminal;
use crate::support::refusing::RefusingServer;

const DS: &str = "ds/agent";
/// Sets the title, clears the screen (by two bytes, and by one of C1), turns the line around, hides a character.
const HOSTILE: &str = "link\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}2J\u{202e}nwod\u{2066}\u{200b}\u{feff}\u{e0041}end";

/// Panics where `bytes` hold a character that a terminal obeys or hides. The forbidden characters are listed here independently of the program, on
/// purpose.
#[track_caller]
fn assert_harmless(what: &str, bytes: &[u8]) {
    let text = std::str::from_utf8(bytes).unwrap_or_else(|error| panic!("{what}: {error}"));
    let obeyed = |c: char| match c {
        '\n' => false,
        '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{61c}' | '\u{feff}' => true,
        '\u{e0000}'..='\u{e007f}' => true,
        c => c.is_control(),
    };
    let found: Vec<char> = text.chars().filter(|c| obeyed(*c)).collect();
    assert!(found.is_empty(), "{what} holds {found:?}: {text:?}");
}

#[test]
fn a_reason_is_stripped_when_it_is_given() {
    let practice = Practice::start();
    let output = practice.run(&["pause", DS, "--reason", HOSTILE]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let leases = practice.leases();
    assert!(leases.contains("link]0;owned[2J2Jnwodend"), "{leases}");
    assert!(!leases.contains("\\u001b") && !leases.contains("\u{202e}"), "{leases}");
}

#[test]
fn a_colleagues_reason_does_not_steer_the_terminal() {
    let practice = Practice::start();
    practice.ok(&["pause", DS, "--reason", "a plain reason"]);
    practice.rewrite_record("a plain reason", HOSTILE);
    for line in [
        &["status", DS][..],
        &["status", DS, "--nodes", "-o", "json"],
        &["status"],
        &["status", "-o", "json"],
        &["resume", DS, "--dry-run"],
        &["resume", DS, "-o", "json"],
    ] {
        let output = practice.run(line);
        assert_harmless(&format!("the answer of {line:?}"), &output.stdout);
        assert_harmless(&format!("the errors of {line:?}"), &output.stderr);
    }
    practice.ok(&["pause", DS, "--reason", "a plain reason"]);
    practice.rewrite_record("a plain reason", HOSTILE);
    let status = practice.json(&["status", DS, "-o", "json"]).to_string();
    assert!(status.contains("owned"), "it is told all the same: {status}");
    assert!(practice.ok_or_not(&["status", DS]).contains("link?]0;owned??[2J?2J?nwod????end"));

    let mut console = PtyTerminal::open(&practice, &[DS], (120, 40));
    console.until("owned");
    let bytes = console.bytes();
    let shown = String::from_utf8_lossy(&bytes);
    for obeyed in ["\u{1b}]0;", "\u{7}", "\u{9b}", "\u{202e}", "\u{2066}", "\u{200b}", "\u{feff}", "\u{e0041}"] {
        assert!(!shown.contains(obeyed), "{obeyed:?} in a frame: {shown:?}");
    }
    console.write("q");
    console.gone();
}

#[test]
fn what_the_api_server_says_and_what_a_context_is_called_do_not_either() {
    let practice = Practice::start();
    let server = RefusingServer::before(practice.kubeconfig(), &format!("denied: {HOSTILE}"));
    let kubeconfig = server.kubeconfig(practice.kubeconfig(), HOSTILE);
    let kubeconfig = kubeconfig.to_str().unwrap();
    let mut said = String::new();
    for line in [
        &["status", DS, "--kubeconfig", kubeconfig][..],
        &["status", DS, "-o", "json", "--kubeconfig", kubeconfig],
        &["pause", DS, "--timeout", "10s", "--kubeconfig", kubeconfig],
        &["adopt", DS, "-o", "json", "--timeout", "10s", "--kubeconfig", kubeconfig],
        &["status", DS, "--context", HOSTILE],
        &["status", DS, "--kubeconfig", HOSTILE],
        &["status", HOSTILE],
        &["--no-such-flag", HOSTILE],
        &["demo", HOSTILE],
    ] {
        let output = practice.run(line);
        assert_harmless(&format!("the answer of {line:?}"), &output.stdout);
        assert_harmless(&format!("the errors of {line:?}"), &output.stderr);
        said.push_str(&text(&output));
    }
    // The rest of an API server's text is shown.
    assert!(said.contains("denied: link]0;owned"), "{said}");
    assert!(said.contains("no context `link?]0;owned"), "{said}");

    let audit = std::fs::read(practice.home().join(".local/state/rolldeck/audit.jsonl")).unwrap();
    assert_harmless("the audit log", &audit);
    let refused =
        practice.audit().into_iter().find(|line| line["error"].as_str().is_some_and(|why| why.contains("denied")));
    assert!(
        refused.is_some_and(|line| line["error"].as_str().unwrap().contains("link]0;owned")),
        "{:?}",
        practice.audit()
    );
    for line in [&["log", "--all"][..], &["log", "--all", "-o", "json"]] {
        let output = practice.run(line);
        assert_harmless(&format!("the answer of {line:?}"), &output.stdout);
        assert!(text(&output).contains("owned"), "{}", text(&output));
    }
    // The audit log has a line that an older version or another program wrote.
    let older =
        serde_json::json!({"time": "2026-01-01T00:00:00Z", "name": "agent", "namespace": "edge", "message": HOSTILE});
    std::fs::write(practice.home().join(".local/state/rolldeck/audit.jsonl"), format!("{older}\n")).unwrap();
    let output = practice.run(&["log", "-o", "json"]);
    assert_harmless("the answer of `log -o json`", &output.stdout);
    let line: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(line, older);
}

#[test]
fn the_name_of_a_theme_does_not_either() {
    let practice = Practice::start();
    let mut console = PtyTerminal::open(&practice, &[DS, "--theme", HOSTILE], (100, 30));
    console.until("--theme");
    assert_eq!(console.gone().code(), Some(2));
    let said = String::from_utf8(console.bytes()).unwrap();
    assert!(said.contains("link?]0;owned"), "{said:?}");
    assert_harmless("the error", said.replace('\r', "").as_bytes());
}
