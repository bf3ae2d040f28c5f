//! Scenario files: the reader says where an error is.

use super::*;

const HEAD: &str = r#"
name = "test"
[[sites]]
name = "hall"
link = "20Mbit/s"
nodes = [{ prefix = "ipc-", count = 3 }]
"#;

#[test]
fn every_built_in_scenario_parses() {
    for (name, _) in BUILT_IN {
        let scenario = built_in(name).unwrap();
        assert_eq!(scenario.name, name);
        assert!(!scenario.about.is_empty(), "{name}");
    }
    assert_eq!(built_in("factory").unwrap().nodes.len(), 120);
    assert!(built_in("nope").unwrap_err().to_string().contains("factory, small, cascade, cascade-native"));
}

/// Two files, so that each can be opened by its name, with the same content.
#[test]
fn the_native_cascade_is_the_cascade_and_a_deploy() {
    let (cascade, mut native) = (built_in("cascade").unwrap(), built_in("cascade-native").unwrap());
    let deploys = |fault: &Fault| matches!(fault, Fault::Cluster(ClusterFault::SetImages { .. }));
    assert_eq!(native.faults.iter().filter(|(_, fault)| deploys(fault)).count(), 1);
    native.faults.retain(|(_, fault)| !deploys(fault));
    (native.name, native.about) = (cascade.name.clone(), cascade.about.clone());
    assert_eq!(native, cascade);
}

/// The keys and values of a section that the reader lists as known, when it meets an unknown one.
fn known_to_the_reader(text: &str) -> Vec<String> {
    let refused = Scenario::parse("test", text).unwrap_err().to_string();
    let names = refused.split("expected").nth(1).unwrap_or_else(|| panic!("{refused}"));
    names.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn the_reference_parses_and_has_every_key_and_every_value() {
    let reference = Scenario::parse("reference", REFERENCE).unwrap();
    assert!(reference.rollout.is_some());
    let sites = "[[sites]]\nname = \"a\"\nlink = \"1Mbit/s\"\nnodes = [{ prefix = \"a-\", count = 1, other = 1 }]\n";
    let section = |header: &str| format!("name = \"x\"\n{header}\nother = 1\n");
    let fault = "name = \"x\"\nsites = []\n[[faults]]\nat = \"1s\"\n";
    let image = "name = \"x\"\nsites = []\n[[images]]\nname = \"a\"\nsize = \"1B\"\n";
    let daemonset = "name = \"x\"\nsites = []\n[[daemonsets]]\nnamespace = \"a\"\nname = \"b\"\nimages = {}\n";
    let asked = [
        ("other = 1\n".to_owned(), "="),
        (section("[controllers]"), "="),
        (section("[[sites]]"), "="),
        (format!("name = \"x\"\n{sites}"), "="),
        (section("[[images]]"), "="),
        (section("[[registries]]"), "="),
        (section("[[daemonsets]]"), "="),
        (section("[[faults]]"), "="),
        (section("[rollout]"), "="),
        (format!("{fault}do = \"other\"\n"), ""),
        (format!("{fault}do = \"registry\"\nerror = \"other\"\n"), ""),
        (format!("{image}error = \"other\"\n"), ""),
        (format!("{daemonset}tolerates = \"other\"\n"), ""),
        (format!("{daemonset}strategy = \"other\"\n"), ""),
        ("name = \"x\"\n[controllers]\ndaemonset = \"other\"\n".to_owned(), ""),
    ];
    for (text, sign) in asked {
        let known = known_to_the_reader(&text);
        assert!(known.len() > 1, "{text}: {known:?}");
        for name in known {
            let written = match sign {
                "=" => [format!("{name} = "), format!("[[{name}]]"), format!("[{name}]")],
                _ => ["\"".to_owned() + &name + "\"", format!("`{name}`"), format!("\"{name}\"")],
            };
            assert!(written.iter().any(|form| REFERENCE.contains(form.as_str())), "`{name}` is not in the reference");
        }
    }
}

#[test]
fn a_fault_that_lasts_is_two_turns() {
    let text = format!(
        "{HEAD}[[faults]]\nat = \"90s\"\ndo = \"node-cut\"\nnodes = [\"ipc-0*\"]\nfor = \"60s\"\nevery = \"2m\"\ntimes = 2\n"
    );
    let scenario = Scenario::parse("test", &text).unwrap();
    assert_eq!(scenario.faults.len(), 3 * 2 * 2);
    let secs: Vec<u64> = scenario.faults.iter().map(|(at, _)| at.as_secs()).collect();
    assert_eq!(secs, [90, 90, 90, 150, 150, 150, 210, 210, 210, 270, 270, 270]);
}

#[test]
fn finalizers_are_put_on_pods_and_taken_off() {
    let agent = "[[images]]\nname = \"agent:v1\"\nsize = \"1MB\"\n[[daemonsets]]\nnamespace = \"edge\"\nname = \"agent\"\n\
                 images = { agent = \"agent:v1\" }\n";
    let fault = |at: &str, verb: &str| {
        format!(
            "[[faults]]\nat = \"{at}\"\ndo = \"{verb}\"\ndaemonset = \"edge/agent\"\nnodes = [\"ipc-01\"]\n\
             finalizer = \"example.com/hold\"\n"
        )
    };
    let text = [HEAD, agent, &fault("1s", "add-finalizer"), &fault("9s", "remove-finalizer")].concat();
    let scenario = Scenario::parse("test", &text).unwrap();
    let (daemon_set, node, finalizer) = ("edge/agent".into(), "ipc-01".into(), "example.com/hold".into());
    assert_eq!(scenario.faults[0].1, ClusterFault::AddFinalizer { daemon_set, node, finalizer }.into());
    assert!(matches!(scenario.faults[1].1, Fault::Cluster(ClusterFault::RemoveFinalizer { .. })));
}

#[test]
fn nodes_and_images_are_configured() {
    let text = HEAD.replace("count = 3", "count = 3, parallel-pulls = 4")
        + "[[images]]\nname = \"agent:v1\"\nsize = \"1MB\"\ndistroless = true\n";
    let scenario = Scenario::parse("test", &text).unwrap();
    assert!(scenario.nodes.iter().all(|node| node.parallel_pulls == NonZeroU8::new(4)));
    assert!(scenario.images[0].distroless);
    assert!(Scenario::parse("test", &text.replace("= 4", "= 0")).is_err(), "none at once would be none ever");
}

#[test]
fn a_registry_may_count_pulls() {
    let file = |entries: &str| format!("{HEAD}[[images]]\nname = \"r.example/agent:v1\"\nsize = \"1MB\"\n{entries}");
    let entry = |name: &str, pulls: &str, per: &str| {
        format!("[[registries]]\nname = \"{name}\"\npulls = {pulls}\nper = \"{per}\"\n")
    };
    let scenario = Scenario::parse("test", &file(&entry("r.example", "10", "6h"))).unwrap();
    let quota = Some(PullQuota { pulls: 10, per: Duration::from_secs(6 * 3600) });
    let limited = FleetFault::LimitPulls { registry: "r.example".into(), quota };
    assert_eq!(scenario.faults, [(Duration::ZERO, limited.into())]);
    for (entries, line, hint) in [
        (entry("other.example", "10", "6h"), 10, "no `[[images]]` entry is of the registry `other.example`"),
        (entry("r.example", "10", "6h").repeat(2), 14, "there is already a registry `r.example`"),
        (entry("r.example", "0", "6h"), 10, "`pulls = 0`"),
        (entry("r.example", "-1", "6h"), 12, "-1"),
        (entry("r.example", "10", "0s"), 10, "`per` is no time"),
        (entry("r.example", "10", "soon"), 10, "soon"),
    ] {
        let why = Scenario::parse("test.toml", &file(&entries)).unwrap_err().to_string();
        assert!(why.contains(&format!("line {line}")) && why.contains(hint), "{why}");
    }
}

#[test]
fn a_rollout_is_of_a_daemonset_and_to_images_that_there_are() {
    let image = |version: &str| format!("[[images]]\nname = \"agent:{version}\"\nsize = \"1MB\"\n");
    let set = "[[daemonsets]]\nnamespace = \"edge\"\nname = \"agent\"\nimages = { agent = \"agent:v1\" }\n";
    let rollout = |set: &str, images: &str| format!("[rollout]\ndaemonset = \"{set}\"\nimages = {{ {images} }}\n");
    let file = |rollout: &str| [HEAD, &image("v1"), &image("v2"), set, rollout].concat();
    let scenario = Scenario::parse("test", &file(&rollout("edge/agent", "agent = \"agent:v2\""))).unwrap();
    let images = [("agent".into(), "agent:v2".into())].into();
    assert_eq!(scenario.rollout, Some(RolloutPlan { daemon_set: ("edge".into(), "agent".into()), images }));
    for (rollout, hint) in [
        (rollout("edge/other", "agent = \"agent:v2\""), "daemonset `edge/other`, which is not there"),
        (rollout("edge/agent", "other = \"agent:v2\""), "no container `other`"),
        (rollout("edge/agent", "agent = \"agent:v3\""), "`agent:v3`, of which there is no `[[images]]`"),
    ] {
        let why = Scenario::parse("test.toml", &file(&rollout)).unwrap_err().to_string();
        assert!(why.contains("line 17: ") && why.contains(hint), "{why}");
    }
}

/// A number that is too large is refused before any node is made.
#[test]
fn a_scenario_has_so_many_nodes_and_no_more() {
    let counts = |first: &str, second: &str| {
        let more =
            format!("[[sites]]\nname = \"yard\"\nlink = \"20Mbit/s\"\nnodes = [{{ prefix = \"y-\", {second} }}]\n");
        Scenario::parse("big.toml", &(HEAD.replace("count = 3", first) + &more))
    };
    assert_eq!(counts("count = 99_990", "count = 10").unwrap().nodes.len(), 100_000);
    assert_eq!(counts("first = 999_999_999, count = 2", "count = 1").unwrap().nodes.len(), 3);
    for (first, second, hints) in [
        (
            "count = 100_000_000_000",
            "count = 1",
            vec!["line 3: site `hall`: `count = 100000000000` of `ipc-`", "100000 nodes"],
        ),
        ("count = 9_223_372_036_854_775_807", "count = 1", vec!["line 3: ", "write a smaller `count`"]),
        ("count = 99_991", "count = 10", vec!["line 7: site `yard`: `count = 10` of `y-`", "100000 nodes"]),
        (
            "first = 9_223_372_036_854_775_807, count = 3",
            "count = 1",
            vec!["line 3: site `hall`: `first = 92233", "999999999"],
        ),
    ] {
        let why = counts(first, second).unwrap_err().to_string();
        assert!(why.starts_with("scenario big.toml: "), "{why}");
        for hint in hints {
            assert!(why.contains(hint), "`{hint}` is not in: {why}");
        }
    }
}

#[test]
fn a_node_is_in_one_site_only() {
    let site = |nth: usize| {
        let nodes = format!("nodes = [{{ prefix = \"s{nth}-\", count = 1 }}]");
        format!("[[sites]]\nname = \"s{nth}\"\nlink = \"20Mbit/s\"\n{nodes}\n")
    };
    let twice = |name: &str| format!("{}{}", site(1), site(2).replace("prefix = \"s2-", name));
    let text: String = (0..200).map(site).collect();
    assert_eq!(Scenario::parse("test", &format!("name = \"test\"\n{text}")).unwrap().nodes.len(), 200);
    let why =
        Scenario::parse("test", &format!("name = \"test\"\n{}", twice("prefix = \"s1-"))).unwrap_err().to_string();
    assert!(why.contains("line 6: site `s2`: there is already a node `s1-01`"), "{why}");
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    let fault = |rest: &str| format!("{HEAD}\n[[faults]]\nat = \"90s\"\n{rest}");
    for (text, hints) in [
        (format!("{HEAD}speed = 3\n"), vec!["line 7", "speed"]),
        (HEAD.replace("20Mbit/s", "20Mbit"), vec!["line 3", "20Mbit/s"]),
        (fault("do = \"explode\"\n"), vec!["explode", "node-cut"]),
        (fault("do = \"node-cut\"\nnodes = [\"pc-9\"]\n"), vec!["line 8", "no node is called `pc-9`"]),
        (fault("do = \"set-images\"\ndaemonset = \"edge/agent\"\n"), vec!["line 8", "images = "]),
        (fault("do = \"cordon\"\nnodes = [\"ipc-01\"]\nfor = \"3s\"\n"), vec!["line 8", "`for`"]),
        (
            format!("{HEAD}[[daemonsets]]\nnamespace = \"a\"\nname = \"b\"\nimages = {{ c = \"d:1\" }}\n"),
            vec!["line 7", "d:1", "[[images]]"],
        ),
    ] {
        let why = Scenario::parse("test.toml", &text).unwrap_err().to_string();
        assert!(why.starts_with("scenario test.toml: "), "{why}");
        for hint in hints {
            assert!(why.contains(hint), "`{hint}` is not in: {why}");
        }
    }
}
