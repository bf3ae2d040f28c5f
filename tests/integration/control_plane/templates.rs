//! A real cluster refuses a template, rewrites it, or does not show its revision: twenty nodes, a budget of two.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use rolldeck::engine::model::facts::StrategyKind;

use super::fixture::{DS, GOOD, NODES, RolloutFixture, SOON, assert_within_budget, grants, quick, replaced, scenario};
use crate::support::control_plane::{Answer, WatchFilter, eventually};
use crate::support::program::{Operator, text};

const POLICIES: &str = "/apis/admissionregistration.k8s.io";
const NEW: usize = 4;
const V1: &str = GOOD[0];
const V2: &str = GOOD[1];
const V3: &str = GOOD[2];
const IMAGE: &str = "agent=registry.test/agent:v2";

/// Twenty nodes whose registry serves v1 and v2 also by their digests, and an operator.
fn fixture(name: &str) -> Option<(RolloutFixture, Operator)> {
    let scenario = scenario(StrategyKind::RollingUpdate).with_image(quick(&pinned(V1))).with_image(quick(&pinned(V2)));
    let fixture = RolloutFixture::with(name, scenario)?;
    let operator = fixture.operator();
    Some((fixture, operator))
}

/// Waits until `count` nodes serve with an image that begins with `image`.
#[track_caller]
fn until_serving(fixture: &RolloutFixture, count: usize, image: &str) {
    fixture.until(&format!("{count} nodes serve {image}"), |witness| {
        witness.pods().values().filter(|pod| pod.ready && pod.image.starts_with(image)).count() == count
    });
}

/// Four nodes have the new image, and the partition keeps 16. A policy refuses the old template.
#[test]
fn a_refused_undo_changes_nothing_and_says_so() {
    let Some((fixture, operator)) = fixture("refused-undo") else { return };
    let began = Instant::now();
    operator.ok(&["set-image", DS, IMAGE, "--yes"]);
    operator.ok(&["drive", DS, "--partition", "16", "--until", "held", "--timeout", "120s"]);
    until_serving(&fixture, NEW, V2);
    let policy = Policy::refusing(&fixture, V1);

    // Nobody drives, so the command writes the template itself.
    let undo = operator.run(&["undo", DS, "--yes", "--timeout", "60s"]);
    refused(&undo);
    let status = operator.json(&["status", DS, "-o", "json"]);
    assert_eq!(status["phase"], "paused", "{status}");

    // Another process drives, so that process writes the template.
    operator.ok(&["resume", DS]);
    let mut drive = operator.drive(DS, &[]);
    drive.until("you drive it now");
    let undo = operator.run(&["undo", DS, "--yes", "--timeout", "60s"]);
    refused(&undo);
    drive.until("was refused");
    assert_eq!(drive.end().code(), Some(4), "an operator has to decide; {}", drive.seen());
    assert_eq!(fixture.witness.deletes_since(began).len(), NEW, "the new image went no further");
    let daemon_set = fixture.daemon_set();
    assert_eq!(daemon_set["spec"]["updateStrategy"]["type"], "OnDelete", "it is not released");
    assert_eq!(daemon_set["spec"]["template"]["spec"]["containers"][0]["image"], V2);

    // After `resume` the partition still holds.
    operator.ok(&["resume", DS]);
    let mut drive = operator.drive(DS, &[]);
    drive.until("you drive it now");
    std::thread::sleep(Duration::from_secs(10));
    assert_eq!(fixture.witness.deletes_since(began).len(), NEW, "the partition stays on");

    policy.lift();
    eventually("the old template is admitted", SOON, || admits(&fixture, V1).then_some(()));
    operator.ok(&["undo", DS, "--yes", "--timeout", "60s"]);
    assert_eq!(drive.end().code(), Some(4), "it was rolled back while it drove: {}", drive.seen());
    until_serving(&fixture, NODES, V1);
    nothing_is_left(&fixture);
}

fn refused(undo: &std::process::Output) {
    let said = text(undo);
    assert_eq!(undo.status.code(), Some(6), "{said}");
    assert!(said.contains("denied request: revision 1 is withdrawn"), "{said}");
    assert!(said.contains("nothing was changed") && said.contains("change the policy"), "{said}");
}

/// Admission writes a digest for every tag, whoever writes the DaemonSet.
#[test]
fn an_image_that_admission_rewrites_is_rolled_out_and_back() {
    let Some((fixture, operator)) = fixture("digests") else { return };
    let _policy = Policy::pinning(&fixture);
    operator.ok(&["set-image", DS, IMAGE, "--yes", "--timeout", "60s"]);
    operator.ok(&["drive", DS, "--to", "25%", "--until", "held", "--timeout", "120s"]);
    until_serving(&fixture, 5, &pinned(V2));
    assert!(fixture.daemon_set()["metadata"]["annotations"]["rolldeck.io/change"].is_null());
    operator.ok(&["undo", DS, "--to-revision", "1", "--yes", "--timeout", "60s"]);
    operator.ok(&["drive", DS, "--timeout", "180s"]);
    until_serving(&fixture, NODES, V1);
    nothing_is_left(&fixture);

    // The same rollout as one command, as a script has it.
    let flags = ["--image", IMAGE, "--to", "100%", "--yes", "--timeout", "180s"];
    operator.ok(&[&["drive", DS], &flags[..]].concat());
    until_serving(&fixture, NODES, &pinned(V2));
    nothing_is_left(&fixture);
}

/// Admission begins to rewrite templates in the middle of a rollout: it rewrites the template of the next write, whatever the write changes. If that
/// write were the release, the controller would get a template that no pod has, together with `RollingUpdate`.
#[test]
fn a_release_is_refused_where_admission_would_change_the_template() {
    let Some((fixture, operator)) = fixture("rewritten-release") else { return };
    operator.ok(&["drive", DS, "--image", IMAGE, "--to", "100%", "--keep", "--yes", "--timeout", "120s"]);
    until_serving(&fixture, NODES, V2);
    let (began, before) = (Instant::now(), fixture.witness.pods());
    let policy = Policy::pinning(&fixture);
    let released = operator.run(&["release", DS, "--yes", "--timeout", "30s"]);
    let said = text(&released);
    assert!(!released.status.success(), "{said}");
    assert!(said.contains(&format!("admission would change its template with it (agent: {V2} → {})", pinned(V2))));
    std::thread::sleep(Duration::from_secs(5));
    assert_eq!(replaced(&before, &fixture.witness.pods()), BTreeSet::new(), "no pod is replaced");
    assert_eq!(fixture.daemon_set()["spec"]["updateStrategy"]["type"], "OnDelete");

    // The policy's template is rolled out like any other, and released then.
    let image = format!("agent={}", pinned(V2));
    let flags = ["--image", &image, "--to", "100%", "--finish", "release", "--yes", "--timeout", "180s"];
    operator.ok(&[&["drive", DS], &flags[..]].concat());
    until_serving(&fixture, NODES, &pinned(V2));
    assert_within_budget(&fixture, began);
    nothing_is_left(&fixture);
    policy.lift();
}

/// The release above stays recorded. Before the policy is lifted somebody else sets another image: handed over now, the controller would roll it out on all nodes
/// at once. The next driver calls the release off, and pauses.
#[test]
fn a_release_that_waits_does_not_hand_over_what_somebody_else_has_set_since() {
    let Some((fixture, operator)) = fixture("released-late") else { return };
    let original = fixture.daemon_set()["spec"]["updateStrategy"]["type"].clone();
    operator.ok(&["drive", DS, "--image", IMAGE, "--to", "100%", "--keep", "--yes", "--timeout", "120s"]);
    until_serving(&fixture, NODES, V2);
    let policy = Policy::pinning(&fixture);
    assert!(!operator.run(&["release", DS, "--yes", "--timeout", "10s"]).status.success());
    policy.lift();
    let (began, before) = (Instant::now(), fixture.witness.pods());
    fixture.deploy(V3);
    let drive = operator.run(&["drive", DS, "--timeout", "60s"]);
    let said = text(&drive);
    println!("{said}");
    assert_eq!(drive.status.code(), Some(4), "{said}");
    assert!(said.contains("the template was changed"), "{said}");
    std::thread::sleep(Duration::from_secs(5));
    assert_eq!(replaced(&before, &fixture.witness.pods()), BTreeSet::new(), "no pod is replaced");
    assert_eq!(fixture.daemon_set()["spec"]["updateStrategy"]["type"], "OnDelete");
    // Accepted, it is rolled out within the budget, and handed back then.
    operator.ok(&["resume", DS, "--yes"]);
    operator.ok(&["drive", DS, "--to", "100%", "--finish", "release", "--yes", "--timeout", "180s"]);
    until_serving(&fixture, NODES, V3);
    assert_within_budget(&fixture, began);
    assert_eq!(fixture.daemon_set()["spec"]["updateStrategy"]["type"], original);
}

/// A rollout to v2 is held when somebody asks for another image instead. Before that request, the test stops all but bookmarks on the driver's watch
/// of revisions.
#[test]
fn nothing_is_replaced_while_the_new_revision_is_not_seen() {
    let Some((fixture, _)) = fixture("bookmarks") else { return };
    let (began, namespace) = (Instant::now(), fixture.sandbox.namespace());
    let user = fixture.sandbox.user("bob", &grants(namespace));
    let filter = WatchFilter::start(&fixture.sandbox, "/controllerrevisions");
    let operator = Operator::new(filter.kubeconfig(&user), namespace);
    // With every node at the target there is nothing to drive.
    operator.ok(&["adopt", DS]);
    let ended = operator.ok(&["drive", DS, "--timeout", "60s"]);
    assert!(ended.contains("idle, 20 of 20 updated"), "{ended}");
    assert_eq!(fixture.daemon_set()["spec"]["updateStrategy"]["type"], "OnDelete", "it stays adopted");

    operator.ok(&["set-image", DS, IMAGE, "--yes", "--timeout", "60s"]);
    let mut drive = operator.drive(DS, &[]);
    drive.until("you drive it now");
    filter.hold();
    // Another process, whose watches are complete, asks for a new image; the driver does not see the revision.
    let others = Operator::new(user.kubeconfig(), namespace);
    let asked = others.run(&["set-image", DS, "agent=registry.test/agent:v3", "--yes", "--timeout", "8s"]);
    assert_eq!(asked.status.code(), Some(3), "{}", text(&asked));
    assert!(text(&asked).contains("is written to the template"), "{}", text(&asked));
    others.ok(&["step", DS, "--to", "100%"]);
    drive.until("does not come");
    std::thread::sleep(Duration::from_secs(15));
    assert!(fixture.witness.deletes_since(began).is_empty(), "nothing is replaced on a guess");
    let seen = drive.seen();
    assert!(!seen.contains("20 of 20 updated") && !seen.contains("complete") && !seen.contains("changed by"), "{seen}");
    assert_eq!(fixture.daemon_set()["spec"]["updateStrategy"]["type"], "OnDelete", "it is not released");
    drop(drive);
    // A driver that sees the revision carries on.
    others.ok(&["drive", DS, "--take-over", "--timeout", "180s"]);
    until_serving(&fixture, NODES, V3);
    nothing_is_left(&fixture);
}

/// Admission sets `RollingUpdate` in the write that sets `OnDelete`: the API server answers with success, and the DaemonSet controller goes on
/// rolling. Every command that needs `OnDelete` fails and names admission, rolldeck does not report the DaemonSet as adopted, and no template is
/// written that the controller would roll.
#[test]
fn an_adoption_that_admission_undoes_is_told_and_changes_nothing() {
    let Some((fixture, operator)) = fixture("rolling-only") else { return };
    let (began, before) = (Instant::now(), fixture.witness.pods());
    let policy = Policy::rolling_only(&fixture);
    for (line, code) in [
        (&["adopt", DS, "--yes", "--timeout", "30s"][..], 6),
        (&["set-image", DS, IMAGE, "--yes", "--timeout", "30s"], 6),
        (&["pause", DS, "--timeout", "30s"], 6),
    ] {
        let said = operator.run(line);
        assert_eq!(said.status.code(), Some(code), "{}", text(&said));
        assert!(text(&said).contains("a mutating webhook or policy sets another update strategy"), "{}", text(&said));
    }
    let status = operator.ok_or_not(&["status", DS]);
    assert!(!status.contains("OnDelete (ours)") && !status.contains("replaces no pod any more"), "{status}");
    assert_eq!(fixture.daemon_set()["spec"]["template"]["spec"]["containers"][0]["image"], V1, "nothing is rolled out");
    assert!(replaced(&before, &fixture.witness.pods()).is_empty());
    operator.ok(&["release", DS, "--yes", "--timeout", "30s"]);
    nothing_is_left(&fixture);

    policy.lift();
    operator.ok(&["drive", DS, "--image", IMAGE, "--to", "100%", "--yes", "--timeout", "180s"]);
    until_serving(&fixture, NODES, V2);
    assert_within_budget(&fixture, began);
    nothing_is_left(&fixture);
}

/// The same policy comes into force in the middle of a rollout. Any write of the DaemonSet would hand it back to its controller together with the
/// written change. So a new template is refused, and the DaemonSet stays on `OnDelete`.
#[test]
fn no_write_hands_the_daemonset_back_where_admission_would() {
    let Some((fixture, operator)) = fixture("rolling-later") else { return };
    let began = Instant::now();
    operator.ok(&["set-image", DS, IMAGE, "--yes"]);
    operator.ok(&["drive", DS, "--to", "4", "--until", "held", "--timeout", "120s"]);
    until_serving(&fixture, NEW, V2);
    let policy = Policy::rolling_only(&fixture);
    let said = operator.run(&["set-image", DS, "agent=registry.test/agent:v3", "--yes", "--timeout", "60s"]);
    println!("{}", text(&said));
    std::thread::sleep(Duration::from_secs(5));
    assert_eq!(fixture.daemon_set()["spec"]["updateStrategy"]["type"], "OnDelete", "{}", text(&said));
    assert_eq!(said.status.code(), Some(6), "{}", text(&said));
    assert_eq!(fixture.witness.deletes_since(began).len(), NEW, "no other pod is replaced");

    policy.lift();
    operator.ok(&["resume", DS, "--yes"]);
    operator.ok(&["drive", DS, "--to", "100%", "--timeout", "180s"]);
    until_serving(&fixture, NODES, V2);
    assert_within_budget(&fixture, began);
    nothing_is_left(&fixture);
}

/// P9: the DaemonSet is released as it was found.
fn nothing_is_left(fixture: &RolloutFixture) {
    let daemon_set = fixture.daemon_set();
    assert_eq!(daemon_set["spec"]["updateStrategy"]["type"], "RollingUpdate");
    for name in ["rolldeck.io/change", "rolldeck.io/original-update-strategy"] {
        assert!(daemon_set["metadata"]["annotations"][name].is_null(), "{name} is left behind");
    }
}

/// A cluster-wide admission policy, bound to one namespace; deleted when dropped.
struct Policy<'a> {
    fixture: &'a RolloutFixture,
    paths: Vec<String>,
    in_force: Box<dyn Fn() -> bool + 'a>,
}

impl Policy<'_> {
    /// Deletes the policy, and waits until it is no longer in force: the API server applies a deleted policy for about a second.
    fn lift(&self) {
        for path in &self.paths {
            self.fixture.sandbox.admin().request(reqwest::Method::DELETE, path, None).ok();
        }
        eventually("the policy is no longer in force", SOON, || (!(self.in_force)()).then_some(()));
    }
}

impl Drop for Policy<'_> {
    fn drop(&mut self) {
        for path in &self.paths {
            let _ = self.fixture.sandbox.admin().request(reqwest::Method::DELETE, path, None);
        }
    }
}

impl<'a> Policy<'a> {
    /// A policy that refuses DaemonSets with this image.
    fn refusing(fixture: &'a RolloutFixture, image: &str) -> Self {
        let validations = json!([{
            "expression": format!("!object.spec.template.spec.containers.exists(it, it.image == '{image}')"),
            "message": "revision 1 is withdrawn",
        }]);
        let image = image.to_owned();
        let in_force = move || !admits(fixture, &image);
        Self::install(fixture, "validating", json!({"validations": validations}), in_force)
    }

    /// A policy that sets `RollingUpdate` instead of any other update strategy, in the same write.
    fn rolling_only(fixture: &'a RolloutFixture) -> Self {
        let expression = "[JSONPatch{op: 'replace', path: '/spec/updateStrategy/type', value: 'RollingUpdate'}]";
        let spec = json!({
            "matchConditions": [{"name": "other", "expression": "object.spec.updateStrategy.type != 'RollingUpdate'"}],
            "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}],
            "reinvocationPolicy": "Never",
        });
        let path = format!("{}?dryRun=All", fixture.sandbox.path("daemonsets.apps", "agent"));
        Self::install(fixture, "mutating", spec, move || {
            let patch = json!({"spec": {"updateStrategy": {"type": "OnDelete", "rollingUpdate": null}}});
            let answer = fixture.sandbox.admin().patch(&path, &patch);
            answer.body["spec"]["updateStrategy"]["type"] == "RollingUpdate"
        })
    }

    /// A policy that replaces tags by digests.
    fn pinning(fixture: &'a RolloutFixture) -> Self {
        let image = "object.spec.template.spec.containers[0].image";
        let expression = format!(
            "[JSONPatch{{op: 'replace', path: '/spec/template/spec/containers/0/image', value: {image} + '{DIGEST}'}}]"
        );
        let spec = json!({
            "matchConditions": [{"name": "tagged", "expression": format!("!{image}.contains('@')")}],
            "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}],
            "reinvocationPolicy": "Never",
        });
        Self::install(fixture, "mutating", spec, move || {
            let answer = dry_run(fixture, "registry.test/agent:probe");
            answer.body["spec"]["template"]["spec"]["containers"][0]["image"] == pinned("registry.test/agent:probe")
        })
    }

    /// Creates the policy, and waits until it is `in_force`.
    fn install(fixture: &'a RolloutFixture, kind: &str, mut spec: Value, in_force: impl Fn() -> bool + 'a) -> Self {
        let name = fixture.sandbox.namespace();
        spec["failurePolicy"] = json!("Fail");
        spec["matchConstraints"] = json!({"resourceRules": [{
            "apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["daemonsets"],
        }]});
        let mut binding = json!({
            "policyName": name,
            "matchResources": {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}}},
        });
        if kind == "validating" {
            binding["validationActions"] = json!(["Deny"]);
        }
        let admin = fixture.sandbox.admin();
        let policies = format!("{POLICIES}/v1/{kind}admissionpolicies");
        let bindings = format!("{POLICIES}/v1/{kind}admissionpolicybindings");
        admin.post(&policies, &json!({"metadata": {"name": name}, "spec": spec})).ok();
        admin.post(&bindings, &json!({"metadata": {"name": name}, "spec": binding})).ok();
        let paths = vec![format!("{bindings}/{name}"), format!("{policies}/{name}")];
        let policy = Self { fixture, paths, in_force: Box::new(in_force) };
        eventually("the policy is in force", SOON, || (policy.in_force)().then_some(()));
        policy
    }
}

const DIGEST: &str = "@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

fn pinned(image: &str) -> String {
    format!("{image}{DIGEST}")
}

fn dry_run(fixture: &RolloutFixture, image: &str) -> Answer {
    let mut template = fixture.daemon_set()["spec"]["template"].clone();
    template["spec"]["containers"][0]["image"] = json!(image);
    let path = format!("{}?dryRun=All", fixture.sandbox.path("daemonsets.apps", "agent"));
    fixture.sandbox.admin().patch(&path, &json!({"spec": {"template": template}}))
}

/// Whether the API server would accept a template with this image.
fn admits(fixture: &RolloutFixture, image: &str) -> bool {
    dry_run(fixture, image).status == 200
}

/// A release that a policy refuses is told to who asked for it, although another process drives; and who goes back instead does not wait until the release
/// would be tried again.
#[test]
fn a_release_that_is_refused_to_the_driver_is_told_and_a_roll_back_is_made_at_once() {
    let Some(fixture) = RolloutFixture::new("release-refused") else { return };
    let operator = fixture.operator();
    operator.ok(&["set-image", DS, IMAGE, "--yes"]);
    let mut drive = operator.drive(DS, &["--partition", "18"]);
    drive.until_updated(2);
    let policy = Policy::refusing(&fixture, V2);
    let release = operator.run(&["release", DS, "--early", "--yes", "--timeout", "60s"]);
    println!("{}", text(&release));
    assert_eq!(release.status.code(), Some(6), "{}", text(&release));
    let said = ["the release is recorded, and refused when ", "revision 1 is withdrawn"];
    assert!(said.iter().all(|words| text(&release).contains(words)), "{}", text(&release));
    let status = text(&operator.run(&["status", DS]));
    assert!(status.contains("the driver's write was refused") && status.contains("releasing"), "{status}");

    let asked = Instant::now();
    operator.ok(&["undo", DS, "--yes", "--timeout", "60s"]);
    println!("the roll back took {:?}", asked.elapsed());
    assert!(asked.elapsed() < Duration::from_secs(15), "{:?}", asked.elapsed());
    drop(policy);
    assert_eq!(drive.end().code(), Some(4), "{}", drive.seen());
    assert_eq!(fixture.witness.serving(V1).len(), NODES);
}

/// While somebody else drives, a release is reported once it is done.
#[test]
fn a_release_is_waited_for_where_another_process_drives() {
    let Some(fixture) = RolloutFixture::new("release-waits") else { return };
    let operator = fixture.operator();
    operator.ok(&["set-image", DS, IMAGE, "--yes"]);
    let mut drive = operator.drive(DS, &["--partition", "18"]);
    drive.until_updated(2);
    let release = operator.ok(&["release", DS, "--early", "--yes", "--timeout", "60s"]);
    println!("{release}");
    assert!(release.contains("\nreleased: the original update strategy is restored"), "{release}");
    assert_eq!(fixture.daemon_set()["spec"]["updateStrategy"]["type"], "RollingUpdate");
    drive.end();
}
