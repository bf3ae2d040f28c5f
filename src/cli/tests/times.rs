//! The times of printed lines.

use super::script;
use super::script::{Script, at};

/// The last snapshot was made when something changed, which may be long ago.
#[tokio::test(start_paused = true)]
async fn what_a_process_says_after_a_quiet_time_has_the_time_of_the_clock() {
    let script = Script::of(script::held_by_nobody()).then(script::driving());
    let line = "drive ds/agent --timeout 5s";
    let settled = |text: String| text.lines().find(|line| line.contains("settled: Drive")).map(str::to_owned).unwrap();
    let quiet = script.clone().reads_the_clock_at(at(700));
    assert_eq!(settled(quiet.run(line).await.text), "2026-11-18T11:18:20Z settled: Drive");
    assert_eq!(settled(script.run(line).await.text), "2026-11-18T11:16:40Z settled: Drive");
}
