//! If nobody reads the output, signals still take effect at once, and other drivers wait only a short time. One-shot commands that wait heed signals, too.

use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::support::practice::{Practice, SOON};
use crate::support::pty::PtyTerminal;
use crate::support::unread::{GONE_WITHIN, Unread};
use rustix::process::Signal;

const DS: &str = "ds/agent";
const ROLLOUT: [&str; 6] = ["--image", "agent=registry.example/agent:v2", "--to", "100%", "--max-unavailable", "1"];

#[test]
fn sigterm_ends_a_drive_whose_output_is_stuck() {
    a_signal_ends_a_drive(Signal::TERM, 143);
}

#[test]
fn sigint_ends_a_drive_whose_output_is_stuck() {
    a_signal_ends_a_drive(Signal::INT, 130);
}

#[test]
fn sighup_ends_a_drive_whose_output_is_stuck() {
    a_signal_ends_a_drive(Signal::HUP, 130);
}

/// `timeout` sends SIGTERM twice: to its child and to the process group. A closed terminal sends SIGHUP twice.
#[test]
fn signals_that_come_together_let_a_drive_give_its_lease_back() {
    let practice = Practice::start();
    let mut drive = Unread::drive(&practice, DS, &ROLLOUT);
    drive.until_stuck();
    drive.signal(Signal::HUP);
    std::thread::sleep(Duration::from_millis(5));
    drive.signal(Signal::TERM);
    assert_eq!(drive.gone().code(), Some(130), "the first one counts");
    let status = practice.status(DS).0;
    assert_eq!(status["driver"]["state"], "nobody", "{status}");
}

/// The driver stands still, so that the command waits for it until its lease has run out.
#[test]
fn a_signal_ends_a_command_that_waits_for_a_driver() {
    let practice = Practice::start();
    for (signal, code, says) in [(Signal::INT, 130, "Interrupted: "), (Signal::TERM, 143, "Terminated: ")] {
        let mut drive = practice.drive(DS, &["--image", "agent=registry.example/agent:v2", "--to", "1"]);
        drive.until("you drive");
        drive.signal(Signal::STOP);
        let mut waits = practice.start(&["set-image", DS, "agent=registry.example/agent:v3", "--yes"]);
        waits.until("API: ");
        std::thread::sleep(Duration::from_secs(2));
        waits.signal(signal);
        let end = waits.end();
        let said = waits.errors();
        assert_eq!(end.code(), Some(code), "{end:?}: {said}");
        assert!(said.contains(says) && said.contains("is recorded, and not carried out yet"), "{said}");
        drop(drive);
        practice.ok(&["undo", DS, "--yes", "--timeout", "60s"]);
    }
}

/// A credential plugin that does not end keeps the command from connecting.
#[test]
fn a_signal_ends_a_command_that_still_connects() {
    let practice = Practice::start();
    let file = practice.kubeconfig().with_file_name("with-plugin");
    let text = std::fs::read_to_string(practice.kubeconfig()).unwrap();
    let exec =
        "exec: {apiVersion: client.authentication.k8s.io/v1, command: sleep, args: ['60'], interactiveMode: Never}";
    std::fs::write(&file, text.replace("user: {}", &format!("user: {{{exec}}}"))).unwrap();
    for (signal, code, says) in [(Signal::INT, 130, "Interrupted"), (Signal::TERM, 143, "Terminated")] {
        for line in [&["pause", DS][..], &["drive", DS], &["prewarm", DS, "--cancel"]] {
            let line: Vec<&str> = line.iter().copied().chain(["--kubeconfig", file.to_str().unwrap()]).collect();
            let mut connects = practice.start(&line);
            std::thread::sleep(Duration::from_secs(1));
            connects.signal(signal);
            let end = connects.end();
            let said = connects.errors();
            assert_eq!(end.code(), Some(code), "{line:?}: {end:?}: {said}");
            assert_eq!(said.trim_end(), format!("{says}: while connecting; nothing was changed"), "{line:?}");
        }
    }
}

#[track_caller]
/// As in `rolldeck set-image … --yes | true`: what was agreed to beforehand is carried out, and so is a pause. What was not is not.
#[test]
fn a_command_is_carried_out_although_nobody_reads_its_output() {
    let practice = Practice::start();
    let image = |tag: &str| format!("agent=registry.example/agent:{tag}");
    let (wanted, other) = (image("v2"), image("v3"));
    for (line, done) in [
        (&["set-image", DS, &wanted, "--yes"][..], "registry.example/agent:v2"),
        (&["pause", DS, "--reason", "line 4"][..], "line 4"),
        (&["set-image", DS, &other][..], "registry.example/agent:v2"),
    ] {
        let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
        drop(reader);
        let end = practice.command(line).stdout(Stdio::from(writer)).stderr(Stdio::null()).status().unwrap();
        // The pause makes the last one a question, which may come before it is noticed that nobody reads.
        assert!(matches!(end.code(), Some(141 | 6)), "{line:?}: {end:?}");
        let status = practice.status(DS).0.to_string();
        assert!(status.contains(done) && !status.contains("agent:v3"), "{line:?}: {status}");
    }
}

fn a_signal_ends_a_drive(signal: Signal, code: i32) {
    let practice = Practice::start();
    let mut drive = Unread::drive(&practice, DS, &ROLLOUT);
    drive.until_stuck();
    drive.signal(signal);
    let signalled = Instant::now();
    assert_eq!(drive.gone().code(), Some(code));
    assert!(signalled.elapsed() < GONE_WITHIN, "it took {:?}", signalled.elapsed());
    let (before, after) = drive.until_given_back();
    assert!((1..19).contains(&before), "it came too late to prove anything: {before}");
    assert_eq!(after, 0, "deleted after the lease was given back");
    let status = practice.status(DS).0;
    assert_eq!(status["driver"]["state"], "nobody", "{status}");
}

#[test]
fn a_drive_whose_output_is_stuck_stops_driving_and_says_why() {
    let practice = Practice::start();
    let mut drive = Unread::drive(&practice, DS, &ROLLOUT);
    drive.until_stuck();
    drive.until_told("giveUpDriving");
    let (before, after) = drive.until_given_back();
    assert!((1..19).contains(&before), "it came too late to prove anything: {before}");
    assert_eq!(after, 0, "deleted after it stopped driving");
    let status = practice.status(DS).0;
    assert_eq!(status["driverStopped"]["why"], "nobody took its output", "the record says so: {status}");
    assert!(practice.ok_or_not(&["status", DS]).contains("nobody took its output"));
    std::thread::sleep(Duration::from_secs(5));
    assert!(drive.is_there(), "it waits for somebody who reads");
    assert_eq!(drive.deletions(), before, "nothing is started meanwhile");
    let (said, status) = drive.read();
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(said.contains("driving was stopped, and nothing was started since"), "{said}");
    assert!(said.contains("Error: nobody took the output for "), "{said}");
    let lines = said.lines().filter(|line| line.starts_with('{'));
    assert!(lines.into_iter().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()), "{said}");
    // The next driver removes the reason from the record.
    practice.ok(&["drive", DS, "--max-unavailable", "5", "--timeout", "120s"]);
    assert!(practice.status(DS).0.get("driverStopped").is_none());
}

/// A console that drives a rollout on a terminal that has stopped taking output.
fn hung_console(practice: &Practice, paints: u32) -> PtyTerminal {
    practice.ok(&["set-image", DS, "agent=registry.example/agent:v2", "--yes"]);
    practice.ok(&["tune", DS, "--max-unavailable", "1"]);
    practice.ok(&["step", DS, "--to", "100%"]);
    let mut console = PtyTerminal::open(practice, &[DS], (100, 40));
    // Before everything is listed the keys that write open no dialog.
    console.until("nobody drives · live");
    console.write("A");
    console.until("ARMED");
    console.write("D");
    console.until("the rollout moves while it runs");
    // The focus moves from the button that changes nothing to the other one.
    console.write("\t\r");
    console.until("you drive");
    console.until("1 of 20 updated");
    console.hang(paints);
    console
}

fn audit_index(practice: &Practice, what: &str) -> Option<usize> {
    practice.audit().iter().position(|line| line["event"] == what)
}

#[track_caller]
fn assert_nothing_deleted_after_the_lease_was_given_back(practice: &Practice) {
    let given_back = practice.audit().iter().rposition(|line| line["event"] == "leaseGivenBack").unwrap();
    let deleted = practice.audit().iter().rposition(|line| line["event"] == "deletePod" && line["outcome"] == "sent");
    assert!(deleted.unwrap() < given_back, "{:#?}", practice.audit());
}

#[test]
fn sigterm_ends_a_console_whose_terminal_hangs() {
    a_signal_ends_a_console(Signal::TERM, 143);
}

#[test]
fn sigint_ends_a_console_whose_terminal_hangs() {
    a_signal_ends_a_console(Signal::INT, 130);
}

#[test]
fn sighup_ends_a_console_whose_terminal_hangs() {
    a_signal_ends_a_console(Signal::HUP, 130);
}

/// The signal arrives while the console still drives.
#[track_caller]
fn a_signal_ends_a_console(signal: Signal, code: i32) {
    ends(30, code, |console| console.signal(signal));
}

/// The key is pressed after so much output that the console knows that nobody can see a question.
#[test]
fn ctrl_c_ends_a_console_whose_terminal_hangs() {
    ends(100, 0, |console| console.write("\u{3}"));
}

#[track_caller]
fn ends(paints: u32, code: i32, ask: impl FnOnce(&mut PtyTerminal)) {
    let practice = Practice::start();
    let mut console = hung_console(&practice, paints);
    std::thread::sleep(Duration::from_secs(3));
    ask(&mut console);
    let asked = Instant::now();
    let status = console.gone();
    assert!(asked.elapsed() < GONE_WITHIN, "it took {:?}", asked.elapsed());
    assert_eq!(status.code(), Some(code));
    assert_nothing_deleted_after_the_lease_was_given_back(&practice);
}

#[test]
fn a_console_whose_terminal_hangs_stops_driving_and_offers_to_drive_again() {
    let practice = Practice::start();
    let mut console = hung_console(&practice, 30);
    let patience = Instant::now() + SOON;
    // The one-shot commands before also gave the Lease back, so only later entries count.
    let given_back_since =
        |asked: usize| practice.audit().iter().skip(asked).any(|line| line["event"] == "leaseGivenBack");
    while !audit_index(&practice, "giveUpDriving").is_some_and(given_back_since) {
        assert!(Instant::now() < patience, "{:#?}", practice.audit().last());
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_nothing_deleted_after_the_lease_was_given_back(&practice);
    // What came of the last writes may be recorded a moment later.
    std::thread::sleep(Duration::from_secs(2));
    let known = practice.audit().len();
    std::thread::sleep(Duration::from_secs(5));
    let later = practice.audit().split_off(known);
    assert!(later.is_empty(), "it only looks on: {later:#?}");
    assert!(console.is_there());
    console.go_on();
    console.until("stopped driving agent; D drives again");
    console.until("stopped driving");
    assert!(console.screen().contains("its terminal took no output"), "{}", console.screen());
    console.write("D");
    console.until("the rollout moves while it runs");
    // The focus moves from the button that changes nothing to the other one.
    console.write("\t\r");
    console.until("you drive");
    // The DaemonSet is released as soon as all nodes are updated, so the test does not wait for a screen between.
    console.until("its controller drives");
    assert_eq!(practice.status(DS).0["counts"]["updated"], 20);
    console.write("q");
    assert_eq!(console.gone().code(), Some(0));
}
