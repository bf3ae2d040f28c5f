//! Everybody who may write an Event decides how long it is. The program goes on, shows the Event's beginning, and answers keys.

use crate::support::practice::Practice;
use crate::support::pty::PtyTerminal;

const DS: &str = "ds/agent";

/// Events far longer than a kubelet or a rolldeck writes: 100 kB of identity, 1 MB of message.
fn flood(practice: &Practice) {
    let floods =
        [("x", "word "), ("e\u{301}", "e\u{301}"), ("👩\u{200d}", "\u{200b}"), ("eve\u{1b}[2J", "\u{1b}]0;x\u{7}")];
    for (nth, (who, what)) in (1..).zip(floods) {
        let who = who.repeat(100_000 / who.len());
        practice.write_event(nth, &format!("{who}@host/1"), &format!("halt {}", what.repeat(1_000_000 / what.len())));
    }
}

#[test]
fn a_flood_of_words_leaves_the_console_answering() {
    let practice = Practice::start();
    flood(&practice);
    let mut console = PtyTerminal::open(&practice, &[DS], (120, 30));
    console.until("its controller drives");
    console.write("T");
    console.until("timeline 1-4 of 4");
    console.write("\r");
    console.until("What happened");
    console.write("\u{1b}");
    // One more Event comes while the timeline is shown.
    practice.write_event(9, &"y".repeat(100_000), &"late ".repeat(200_000));
    console.until("timeline 1-5 of 5");
    console.write("T?");
    console.until("/ finds, esc closes");
    console.write("x");
    console.until("20 of 20 available");
    console.write("q");
    assert!(console.gone().success());
}
