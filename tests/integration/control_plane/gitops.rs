//! The tools that manage a DaemonSet, as a real API server records them. One GitOps tool sets the strategy back: a client simulates it, which applies
//! its manifest server-side as Argo CD's field manager.
//!
//! ```text
//! reverter ──PATCH apply, force──▶ API server ──watch──▶ rolldeck ──PATCH OnDelete──▶ API server
//!          └───────────── how long until it is seen, and until it is OnDelete again ─────────────┘
//! ```

use std::sync::Arc;
use std::time::{Duration, Instant};

use reqwest::Method;
use rolldeck::driver::{ClusterSession, Rollout, Session};
use rolldeck::engine::model::command::{Command, Early};
use rolldeck::engine::model::config::Role;
use rolldeck::engine::model::event::{Permission, WatchHealth};
use rolldeck::engine::model::presence::Presence;
use rolldeck::engine::model::settings::{OnDrift, Tuning};
use rolldeck::engine::report::snapshot::Alarm;
use rolldeck::engine::report::snapshot::Phase;
use rolldeck::engine::report::snapshot::Snapshot;
use serde_json::{Value, json};

use crate::support::control_plane::{Sandbox, daemon_set, sandbox};
use crate::support::program::access;

const SOON: Duration = Duration::from_secs(60);
/// The watch reports a changed strategy within this time; the next list would be made after more than a minute. The test prints how long it took:
/// less than a second on an idle machine.
const NOTICED: Duration = Duration::from_secs(10);
const APPLY: &str = "application/apply-patch+yaml";
const MERGE: &str = "application/merge-patch+json";
const V1: &str = "registry.test/agent:v1";

/// A DaemonSet `agent` in a sandbox, written by simulated field managers.
struct GitOpsFixture {
    sandbox: Arc<Sandbox>,
}

impl GitOpsFixture {
    async fn new(name: &str) -> Option<Self> {
        let name = name.to_owned();
        let sandbox = tokio::task::spawn_blocking(move || {
            let sandbox = sandbox(&name)?;
            sandbox.nodes(3);
            Some(Arc::new(sandbox))
        });
        Some(Self { sandbox: sandbox.await.unwrap()? })
    }

    /// The manifest as it is in Git.
    fn manifest(&self) -> Value {
        let mut manifest = daemon_set("agent", V1);
        manifest["metadata"]["namespace"] = self.sandbox.namespace().into();
        manifest["spec"]["template"]["spec"]["nodeSelector"] = self.sandbox.node_selector();
        manifest
    }

    fn tracked_by_argo_cd(&self) -> Value {
        let mut manifest = self.manifest();
        let id = format!("edge-agents:apps/DaemonSet:{}/agent", self.sandbox.namespace());
        manifest["metadata"]["annotations"] = json!({"argocd.argoproj.io/tracking-id": id});
        manifest
    }

    fn path(&self) -> String {
        self.sandbox.path("daemonsets.apps", "agent")
    }

    /// Writes as `manager`; returns when the server had answered.
    fn write(&self, manager: &str, content: &str, body: &Value) -> Instant {
        let force = if content == APPLY { "&force=true" } else { "" };
        let path = format!("{}?fieldManager={manager}{force}", self.path());
        tokio::task::block_in_place(|| self.sandbox.admin().request_as(content, Method::PATCH, &path, body).ok());
        Instant::now()
    }

    fn live(&self) -> Value {
        tokio::task::block_in_place(|| self.sandbox.admin().get(&self.path()).ok())
    }

    async fn open(&self) -> Rollout {
        let session = ClusterSession::open(&access(self.sandbox.admin().kubeconfig())).await.unwrap();
        let rollout = session.open(self.sandbox.namespace(), "agent", Role::Driver);
        until(&rollout, "everything is loaded", |is| {
            is.daemonset == Presence::Present
                && is.counts.nodes == 3
                && is.watches.iter().all(|watch| watch.health == WatchHealth::Live)
                && !is.rights.is_empty()
                && is.rights.iter().all(|(_, permission)| *permission == Permission::Allowed)
        })
        .await;
        rollout
    }
}

async fn until(rollout: &Rollout, what: &str, is: impl FnMut(&Arc<Snapshot>) -> bool) -> Arc<Snapshot> {
    let mut snapshots = rollout.snapshots.clone();
    let Ok(found) = tokio::time::timeout(SOON, snapshots.wait_for(is)).await else {
        let last = rollout.snapshot();
        panic!(
            "not within {SOON:?}: {what}; {:?}, {:?}, {:?}, {:?}",
            last.phase, last.driver, last.watches, last.alarms
        );
    };
    found.expect("the driver runs").clone()
}

/// Waits until the snapshot has these owners, one a line; owners that act by themselves come first.
async fn managed(rollout: &Rollout, what: &str, want: &[&str]) {
    let said = |is: &Snapshot| {
        let lines = is.gitops_owners.iter().map(|gitops_owner| format!("{gitops_owner} {}", gitops_owner.expects()));
        lines.collect::<Vec<_>>()
    };
    let mut last = Vec::new();
    let found = tokio::time::timeout(Duration::from_secs(10), async {
        let mut snapshots = rollout.snapshots.clone();
        loop {
            last = said(&snapshots.borrow_and_update().clone());
            if last == want {
                return;
            }
            snapshots.changed().await.expect("the driver runs");
        }
    });
    assert!(found.await.is_ok(), "{what}: {last:#?}");
}

fn enforce() -> Tuning {
    Tuning { on_drift: Some(OnDrift::EnforceOnDelete), ..Tuning::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn gitops_owners_are_recognised_by_managed_fields_and_labels() {
    let Some(fixture) = GitOpsFixture::new("gitops-owners").await else { return };
    // A person applies the manifest: no tool sets anything back by itself.
    let manifest = fixture.manifest().to_string();
    tokio::task::block_in_place(|| fixture.sandbox.admin().apply(&manifest));
    let rollout = fixture.open().await;
    managed(
        &rollout,
        "kubectl apply",
        &["kubectl apply sets template and update strategy back when somebody applies its manifest again"],
    )
    .await;

    // Helm takes the DaemonSet over, then Flux, whose manifest in Git does not name the update strategy.
    let release = json!({"metadata": {
        "labels": {"app.kubernetes.io/managed-by": "Helm"},
        "annotations": {"meta.helm.sh/release-name": "agent", "meta.helm.sh/release-namespace": "edge"},
    }, "spec": {"template": {"metadata": {"annotations": {"checksum/config": "1"}}}}});
    fixture.write("helm", MERGE, &release);
    let mut in_git = fixture.manifest();
    in_git["spec"].as_object_mut().unwrap().remove("updateStrategy");
    in_git["metadata"]["labels"] = json!({
        "app": "agent",
        "kustomize.toolkit.fluxcd.io/name": "apps",
        "kustomize.toolkit.fluxcd.io/namespace": "flux-system",
    });
    fixture.write("kustomize-controller", APPLY, &in_git);
    managed(
        &rollout,
        "Flux, Helm and kubectl apply",
        &[
            "Flux (Kustomization flux-system/apps) sets the template, not the update strategy, back at its next \
             reconciliation",
            "Helm (release edge/agent) sets template and update strategy back at the next helm upgrade or rollback",
            "kubectl apply sets template and update strategy back when somebody applies its manifest again",
        ],
    )
    .await;

    // An annotation suspends Flux, so Flux sets nothing back.
    fixture.write(
        "ops",
        MERGE,
        &json!({"metadata": {"annotations": {"kustomize.toolkit.fluxcd.io/reconcile": "disabled"}}}),
    );
    until(&rollout, "Flux is held", |is| {
        is.gitops_owners.iter().any(|gitops_owner| gitops_owner.expects() == "is told to leave this DaemonSet alone")
    })
    .await;
    rollout.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_strategy_set_back_by_server_side_apply_is_enforced_five_times() {
    let Some(fixture) = GitOpsFixture::new("gitops-drift").await else { return };
    let in_git = fixture.tracked_by_argo_cd();
    fixture.write("argocd-controller", APPLY, &in_git);
    let rollout = fixture.open().await;
    managed(
        &rollout,
        "Argo CD",
        &["Argo CD (application edge-agents) sets template and update strategy back at its next sync, within seconds \
           where it heals itself"],
    )
    .await;
    let preview = rollout.preview(Command::Adopt).await.unwrap();
    assert!(preview.warnings[0].contains("argocd app set edge-agents --sync-policy none"), "{:?}", preview.warnings);

    rollout.command(Command::Adopt.under(enforce())).await.unwrap();
    let (mut seen_after, mut set_after) = (Vec::new(), Vec::new());
    for round in 1..=5 {
        let drifted_at = fixture.write("argocd-controller", APPLY, &in_git);
        let times = round;
        let seen = until(&rollout, "the drift is said", |is| {
            is.alarms.iter().any(|alarm| matches!(alarm, Alarm::OnDeleteEnforced { times: said, .. } if *said == times))
                || is
                    .alarms
                    .iter()
                    .any(|alarm| matches!(alarm, Alarm::StrategyDrifted { enforced, .. } if *enforced + 1 == times))
        })
        .await;
        seen_after.push(drifted_at.elapsed());
        until(&rollout, "it is adopted again", |is| is.adopted).await;
        set_after.push(drifted_at.elapsed());
        assert_eq!(fixture.live()["spec"]["updateStrategy"]["type"], "OnDelete");
        let said = seen.alarms[0].to_string();
        assert!(said.contains("by argocd-controller of Argo CD (application edge-agents)"), "round {round}: {said}");
    }
    println!("drift by server-side apply: said after {seen_after:.0?}, OnDelete again after {set_after:.0?}");
    assert!(seen_after.iter().chain(&set_after).all(|took| *took < NOTICED), "{seen_after:?}, {set_after:?}");

    // After the sixth drift rolldeck no longer enforces OnDelete: the alarm names the field manager and how to suspend it.
    let drifted_at = fixture.write("argocd-controller", APPLY, &in_git);
    let given_up = until(&rollout, "it gives up", |is| matches!(is.phase, Phase::Paused(_))).await;
    println!("given up after {:.0?}: {}", drifted_at.elapsed(), given_up.alarms[0]);
    let Alarm::StrategyDrifted { by, enforced: 5, suspend_hint: Some(suspend_hint), .. } = &given_up.alarms[0] else {
        panic!("{:?}", given_up.alarms)
    };
    assert_eq!(by.as_deref(), Some("argocd-controller of Argo CD (application edge-agents)"));
    assert!(suspend_hint.starts_with("argocd app set edge-agents"), "{suspend_hint}");
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(fixture.live()["spec"]["updateStrategy"]["type"], "RollingUpdate", "nobody fights on");
    rollout.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_drift_pauses_the_rollout_until_it_is_adopted_again() {
    let Some(fixture) = GitOpsFixture::new("gitops-report").await else { return };
    let in_git = fixture.tracked_by_argo_cd();
    fixture.write("argocd-controller", APPLY, &in_git);
    let rollout = fixture.open().await;
    rollout.command(Command::Adopt).await.unwrap();

    let drifted_at = fixture.write("argocd-controller", APPLY, &in_git);
    let paused = until(&rollout, "it pauses", |is| matches!(is.phase, Phase::Paused(_))).await;
    let took = drifted_at.elapsed();
    println!("drift by server-side apply: paused and said after {took:.0?}: {}", paused.alarms[0]);
    assert!(took < NOTICED, "{took:?}");
    assert!(
        matches!(&paused.alarms[0], Alarm::StrategyDrifted { enforced: 0, by: Some(by), .. }
        if &**by == "argocd-controller of Argo CD (application edge-agents)"),
        "{:?}",
        paused.alarms
    );
    assert_eq!(fixture.live()["spec"]["updateStrategy"]["type"], "RollingUpdate", "nobody asked to fight");

    rollout.command(Command::Adopt).await.unwrap();
    let live = fixture.live();
    assert_eq!(live["spec"]["updateStrategy"]["type"], "OnDelete");
    let saved = live["metadata"]["annotations"]["rolldeck.io/original-update-strategy"].as_str().unwrap();
    assert!(saved.contains("RollingUpdate"), "what was saved first is kept: {saved}");
    until(&rollout, "the alarm is over", |is| is.alarms.is_empty() && is.adopted).await;
    rollout.close().await;
}

/// The GitOps tool applies the old image in the middle of a rollout.
#[tokio::test(flavor = "multi_thread")]
async fn a_template_set_back_pauses_the_rollout_and_names_the_field_manager() {
    let Some(fixture) = GitOpsFixture::new("gitops-template").await else { return };
    let mut in_git = fixture.tracked_by_argo_cd();
    in_git["spec"].as_object_mut().unwrap().remove("updateStrategy");
    fixture.write("argocd-controller", APPLY, &in_git);
    let rollout = fixture.open().await;
    let image = Command::SetImage([("agent".to_owned(), "registry.test/agent:v2".parse().unwrap())].into());
    let preview = rollout.preview(image.clone()).await.unwrap();
    assert!(preview.warnings[0].contains("sets the template, not the update strategy,"), "{:?}", preview.warnings);
    rollout.command(image).await.unwrap();
    until(&rollout, "v2 is the target", |is| {
        is.to.as_ref().is_some_and(|to| to.images.iter().any(|(_, image)| image.ends_with(":v2"))) && is.adopted
    })
    .await;

    let set_back_at = fixture.write("argocd-controller", APPLY, &in_git);
    let paused = until(&rollout, "it pauses", |is| matches!(is.phase, Phase::Paused(_))).await;
    let took = set_back_at.elapsed();
    println!("template set back by server-side apply: paused and said after {took:.0?}: {}", paused.alarms[0]);
    assert!(took < NOTICED, "{took:?}");
    assert!(
        matches!(&paused.alarms[0], Alarm::TemplateChanged { by: Some(by), suspend_hint: Some(_), .. }
        if &**by == "argocd-controller of Argo CD (application edge-agents)"),
        "{:?}",
        paused.alarms
    );
    assert!(paused.adopted, "the update strategy was not named, and stays");
    rollout.close().await;
}

/// `kubectl replace`, and Argo CD with `Replace=true`, put the manifest in place of the whole object: `OnDelete` goes, and so does the annotation with the original
/// strategy. The record has it: the limit of the rollout stays, and the release restores it.
#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_set_that_is_replaced_keeps_its_limit_and_its_original_strategy() {
    let Some(fixture) = GitOpsFixture::new("gitops-replace").await else { return };
    let rolling =
        |most: u32| json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": most}});
    let mut manifest = fixture.manifest();
    manifest["spec"]["updateStrategy"] = rolling(1);
    tokio::task::block_in_place(|| fixture.sandbox.admin().apply(&manifest.to_string()));
    let rollout = fixture.open().await;
    rollout.command(Command::Adopt.under(enforce())).await.unwrap();
    until(&rollout, "the record is written", |is| is.adopted && is.driver.is_you()).await;

    manifest["spec"]["updateStrategy"] = rolling(3);
    let replaced = tokio::task::block_in_place(|| {
        fixture.sandbox.admin().request_as("application/json", Method::PUT, &fixture.path(), &manifest).ok()
    });
    let annotations = &replaced["metadata"]["annotations"];
    assert!(annotations["rolldeck.io/original-update-strategy"].is_null(), "{annotations}");
    let limit_of_others = |alarm: &Alarm| matches!(alarm, Alarm::OwnLimitChanged { max_unavailable: 1, .. });
    let enforced =
        until(&rollout, "OnDelete is set again", |is| is.adopted && is.alarms.iter().any(limit_of_others)).await;
    assert_eq!(enforced.budget.max_unavailable, 1, "{:?}", enforced.alarms);
    let live = fixture.live();
    assert_eq!(live["spec"]["updateStrategy"]["type"], "OnDelete");
    let saved = live["metadata"]["annotations"]["rolldeck.io/original-update-strategy"].as_str().unwrap().to_owned();
    assert_eq!(serde_json::from_str::<Value>(&saved).unwrap(), rolling(1));

    rollout.command(Command::Release(Early::Accept)).await.unwrap();
    until(&rollout, "it is handed back", |is| !is.adopted).await;
    assert_eq!(fixture.live()["spec"]["updateStrategy"], rolling(1));
    rollout.close().await;
}
