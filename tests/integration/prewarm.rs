//! Pre-warming by a script: the real program, run against a practice cluster that another process serves.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::support::practice::{Practice, SOON};
use crate::support::program::text;

const DS: &str = "ds/agent";
const V2: &str = "agent=registry.example/agent:v2";
const V3: &str = "agent=registry.example/agent:v3";
const ALL: [&str; 8] = ["prewarm", DS, "--image", V2, "--max-pulling", "4", "--timeout", "120s"];
/// Slow enough to be interrupted.
const SLOWLY: [&str; 8] = ["prewarm", DS, "--image", V2, "--max-pulling", "1", "--timeout", "120s"];

#[test]
fn a_fleet_is_pre_warmed_then_rolled_out_and_nothing_is_left() {
    let practice = Practice::start();
    let output = practice.ok(&ALL);
    assert!(output.contains("pre-warmed: 20 of 20 present\n"), "{output}");
    let status = practice.status(DS).0;
    assert_eq!((&status["prewarm"]["counts"]["present"], &status["adopted"]), (&20.into(), &false.into()), "{status}");
    assert_eq!(status["driver"]["state"], "controller", "the lease is given back");
    assert_eq!(practice.warm_pods().len(), 20, "they keep the images from being collected");

    practice.ok(&["set-image", DS, V2, "--yes"]);
    let missing = practice.status(DS).nodes(|node| node["image"] != "present");
    assert!(missing.is_empty(), "{missing:?}");
    for updated in 1..=3 {
        practice.ok(&["drive", DS, "--to", &updated.to_string(), "--until", "held", "--timeout", "60s"]);
        assert_eq!(
            practice.warm_pods().len(),
            20 - updated,
            "that of the last updated node is gone when the command ends"
        );
    }
    practice.ok(&["drive", DS, "--to", "100%", "--max-unavailable", "5", "--timeout", "120s"]);
    assert_eq!(practice.status(DS).0["counts"]["updated"], 20);
    assert!(practice.warm_pods().is_empty(), "{:?}", practice.warm_pods());
    assert!(!practice.leases().contains("rolldeck.io/prewarm"), "{}", practice.leases());
}

#[test]
fn an_interrupted_one_leaves_what_is_there_and_a_second_carries_on() {
    let practice = Practice::start();
    let mut first = practice.start(&SLOWLY);
    first.until("2 of 20 present");
    first.signal(Signal::INT);
    first.until("its pods stay, and what is being pulled goes on; whoever drives next carries on");
    first.until(
        "`rolldeck prewarm --image agent=registry.example/agent:v2 --max-pulling 1 --context rolldeck-demo -n edge ds/agent` goes on, \
         `rolldeck prewarm --cancel --context rolldeck-demo -n edge ds/agent` gives it up, and whoever drives deletes its pods",
    );
    assert_eq!(first.end().code(), Some(130));
    let left = practice.warm_pods();
    assert!((2..20).contains(&left.len()), "{left:?}");
    let status = practice.run(&["status", DS]);
    let next = "next     rolldeck prewarm --image agent=registry.example/agent:v2 --max-pulling 1 --context";
    assert!(text(&status).contains(next), "{}", text(&status));

    practice.ok(&ALL);
    let all = practice.warm_pods();
    assert_eq!(all.len(), 20);
    assert!(left.iter().all(|pod| all.contains(pod)), "none was made anew");
}

#[test]
fn a_cancellation_leaves_nothing() {
    let practice = Practice::start();
    let refused = practice.run(&["prewarm", DS, "--cancel"]);
    assert_eq!(refused.status.code(), Some(6), "{}", text(&refused));
    let mut first = practice.start(&SLOWLY);
    first.until("2 of 20 present");
    first.signal(Signal::INT);
    first.end();
    let output = practice.ok(&["prewarm", DS, "--cancel", "--timeout", "60s"]);
    assert!(output.contains("nothing is being pre-warmed any more"), "{output}");
    assert!(practice.warm_pods().is_empty(), "{:?}", practice.warm_pods());
    assert!(!practice.leases().contains("rolldeck.io/prewarm"), "{}", practice.leases());
    let status = practice.status(DS).0;
    assert_eq!((&status["driver"]["state"], status.get("prewarm")), (&"controller".into(), None), "{status}");

    // Another process drives pre-warming: that process cleans up after the cancellation, and ends.
    let mut second = practice.start(&SLOWLY);
    second.until("1 of 20 present");
    practice.ok(&["prewarm", DS, "--cancel", "--timeout", "60s"]);
    assert!(practice.warm_pods().is_empty(), "{:?}", practice.warm_pods());
    assert_eq!(second.end().code(), Some(3), "{}", second.seen());
}

#[test]
fn whoever_drives_carries_it_out_and_the_command_follows() {
    let practice = Practice::start();
    let mut drive = practice.drive(DS, &["--image", V2, "--to", "2"]);
    drive.until_updated(2);
    let output = practice.ok(&["prewarm", DS, "--image", V3, "--max-pulling", "4", "--timeout", "120s"]);
    // The command has just begun to look, so it may not know yet whether the driver is alive.
    let told = ["drives and carries it out", "holds the lease: if it is alive it carries this out"];
    assert!(told.iter().any(|told| output.contains(told)) && output.contains("20 of 20 present"), "{output}");
    assert!(!output.contains("you drive"), "{output}");
    drive.until("pre-warmed: 20 of 20 present");
    drive.signal(Signal::TERM);
    assert_eq!(drive.end().code(), Some(143));
}

#[test]
fn a_pause_stops_it_and_a_resume_goes_on() {
    let practice = Practice::start();
    let mut warm = practice.start(&SLOWLY);
    warm.until("1 of 20 present");
    practice.ok(&["prewarm", DS, "--pause"]);
    warm.until("pre-warming paused: ");
    let status = practice.run(&["status", DS]);
    assert!(text(&status).contains("rolldeck prewarm --resume --context"), "{}", text(&status));
    practice.ok(&["prewarm", DS, "--resume"]);
    assert_eq!(warm.end().code(), Some(0), "{}", warm.seen());
}

#[test]
fn an_image_that_is_not_there_has_its_own_exit_code() {
    let practice = Practice::start();
    let missing = "agent=registry.example/agent:missing";
    let output = practice.run(&["prewarm", DS, "--image", missing, "-l", "canary=true", "--timeout", "60s"]);
    assert_eq!(output.status.code(), Some(4), "{}", text(&output));
    assert!(text(&output).contains("failed: image not found"), "{}", text(&output));
    assert!(text(&output).contains("0 of 3 present, 3 failed"), "{}", text(&output));
    let again = "--image agent=registry.example/agent:missing -l canary=true --context rolldeck-demo -n edge ds/agent` tries again";
    assert!(text(&output).contains(again), "{}", text(&output));
}

#[test]
fn statefulsets_pre_warm_a_fleet_and_are_gone_at_the_end() {
    let practice = Practice::start();
    let sets = || practice.stateful_sets();
    let mut command = practice.start(&[
        "prewarm",
        DS,
        "--image",
        V2,
        "--max-pulling",
        "4",
        "--method",
        "statefulset",
        "--timeout",
        "120s",
    ]);
    command.until("8 of 20 present");
    assert_eq!(sets().matches("\"podManagementPolicy\":\"OrderedReady\"").count(), 4);
    assert_eq!(command.end().code(), Some(0), "{}", command.seen());
    assert!(practice.warm_pods().is_empty() && !sets().contains("-prewarm-"), "{}", sets());
    assert!(!practice.leases().contains("rolldeck.io/prewarm"), "{}", practice.leases());
}

#[test]
fn statefulsets_go_on_when_their_maker_is_killed_and_a_cancellation_leaves_nothing() {
    let practice = Practice::start();
    let mut first = practice.start(&["prewarm", DS, "--image", V2, "--method", "statefulset"]);
    first.until("2 of 20 present");
    first.signal(Signal::KILL);
    first.end();
    let (began, there) = (Instant::now(), practice.warm_pods().len());
    while practice.warm_pods().len() < there + 4 {
        assert!(began.elapsed() < SOON, "{:?}", practice.warm_pods());
        std::thread::sleep(Duration::from_millis(50));
    }
    let status = practice.status(DS).0;
    assert_eq!(status["prewarm"]["method"], "statefulSet");
    assert_ne!(status["driver"]["state"], "you", "{status}");
    let paused = practice.run(&["prewarm", DS, "--pause"]);
    assert!(text(&paused).contains("a StatefulSet goes on by itself and cannot be paused"), "{}", text(&paused));
    practice.ok(&["prewarm", DS, "--cancel", "--timeout", "60s"]);
    assert!(practice.warm_pods().is_empty(), "{:?}", practice.warm_pods());
    assert!(!practice.stateful_sets().contains("-prewarm-"), "{}", practice.stateful_sets());
    assert!(!practice.leases().contains("rolldeck.io/prewarm"), "{}", practice.leases());
}

#[test]
fn what_statefulsets_will_do_is_said_before() {
    let practice = Practice::start();
    let said =
        practice.ok(&["prewarm", DS, "--image", V2, "--max-pulling", "3", "--method", "statefulset", "--dry-run"]);
    for words in
        ["3 StatefulSets pull on up to 20 nodes, 3 at a time", "distroless", "POST 3 StatefulSets for 20 nodes"]
    {
        assert!(said.contains(words), "{words}: {said}");
    }
    let by_site =
        practice.run(&["prewarm", DS, "--image", V2, "--max-pulling-per-site", "1", "--method", "statefulset"]);
    assert!(text(&by_site).contains("a StatefulSet knows no sites"), "{}", text(&by_site));
}
