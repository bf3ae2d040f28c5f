//! What each tool leaves on a DaemonSet, and what is made of it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::*;
use crate::engine::model::facts::{ControllerRef, FieldOwners, FieldWriter};

const TEMPLATE: Fields = Fields { template: true, strategy: false };
const BOTH: Fields = Fields { template: true, strategy: true };

/// `edge/agent`, as nobody manages it.
#[derive(Default)]
struct FakeOwned {
    labels: BTreeMap<&'static str, &'static str>,
    annotations: BTreeMap<&'static str, &'static str>,
    writers: Vec<FieldWriter>,
    applied: Option<Fields>,
    controller: Option<ControllerRef>,
}

impl FakeOwned {
    fn label(mut self, key: &'static str, value: &'static str) -> Self {
        self.labels.insert(key, value);
        self
    }

    fn annotation(mut self, key: &'static str, value: &'static str) -> Self {
        self.annotations.insert(key, value);
        self
    }

    fn applies(self, manager: &str, fields: Fields) -> Self {
        self.writes(manager, WriteOperation::Apply, fields)
    }

    fn updates(self, manager: &str, fields: Fields) -> Self {
        self.writes(manager, WriteOperation::Update, fields)
    }

    fn writes(mut self, manager: &str, operation: WriteOperation, fields: Fields) -> Self {
        self.writers.push(FieldWriter { manager: manager.into(), operation, fields });
        self
    }

    fn manifest(mut self, fields: Fields) -> Self {
        self.applied = Some(fields);
        self
    }

    fn controlled_by(mut self, kind: &str, name: &str) -> Self {
        self.controller =
            Some(ControllerRef { api_version: "x.example/v1".into(), kind: kind.into(), name: name.into() });
        self
    }

    fn daemonset(self) -> DaemonSetFact {
        DaemonSetFact {
            namespace: "edge".into(),
            name: "agent".into(),
            labels: self.labels.into_iter().collect(),
            annotations: self.annotations.into_iter().collect(),
            owners: FieldOwners {
                template_at: None,
                template: self.writers.last().map(|writer| writer.manager.clone()),
                strategy: None,
                limit: None,
                writers: self.writers.into(),
                applied: self.applied,
            },
            controller: self.controller,
            ..DaemonSetFact::default()
        }
    }
}

/// Every tool that is found, with how and what is said of it.
fn said(owned: FakeOwned) -> String {
    let mut said = String::new();
    for gitops_owner in find_gitops_owners(&owned.daemonset()) {
        let loud = if gitops_owner.interferes() { "!" } else { " " };
        writeln!(said, "{loud} {}", gitops_owner.warning()).unwrap();
        writeln!(said, "    {}", gitops_owner.evidence.join("; ")).unwrap();
    }
    said.trim_end().to_owned()
}

const TRACKING: &str = "argocd.argoproj.io/tracking-id";

#[test]
fn argo_cd_is_known_by_its_tracking_id_its_label_or_its_field_manager() {
    let cases = [
        (
            FakeOwned::default()
                .annotation(TRACKING, "payments:apps/DaemonSet:edge/agent")
                .applies("argocd-controller", BOTH),
            "! Argo CD (application payments) sets template and update strategy back at its next sync, within seconds \
             where it heals itself. To suspend it: argocd app set payments --sync-policy none (or ignoreDifferences on \
             /spec/template and /spec/updateStrategy with RespectIgnoreDifferences=true).\n    \
             annotation argocd.argoproj.io/tracking-id; field manager argocd-controller",
        ),
        (
            FakeOwned::default().annotation(TRACKING, "team-a_payments:apps/DaemonSet:edge/agent").manifest(TEMPLATE),
            "! Argo CD (application team-a/payments) sets the template, not the update strategy, back at its next sync, \
             within seconds where it heals itself. To suspend it: argocd app set team-a/payments --sync-policy none (or \
             ignoreDifferences on /spec/template and /spec/updateStrategy with RespectIgnoreDifferences=true).\n    \
             annotation argocd.argoproj.io/tracking-id",
        ),
        (
            FakeOwned::default()
                .label("app.kubernetes.io/instance", "edge-agent")
                .updates("argocd-application-controller", TEMPLATE),
            "! Argo CD (application edge-agent) sets the template, and the update strategy if it names one, back at its \
             next sync, within seconds where it heals itself. To suspend it: argocd app set edge-agent --sync-policy none \
             (or ignoreDifferences on /spec/template and /spec/updateStrategy with RespectIgnoreDifferences=true).\n    \
             field manager argocd-application-controller",
        ),
        (
            FakeOwned::default().label("argocd.argoproj.io/instance", "edge-agent"),
            "! Argo CD (application edge-agent) sets the template, and the update strategy if it names one, back at its \
             next sync, within seconds where it heals itself. To suspend it: argocd app set edge-agent --sync-policy none \
             (or ignoreDifferences on /spec/template and /spec/updateStrategy with RespectIgnoreDifferences=true).\n    \
             label argocd.argoproj.io/instance",
        ),
    ];
    for (owned, want) in cases {
        assert_eq!(said(owned), want);
    }
}

#[test]
fn what_only_looks_like_argo_cd_is_not_taken_for_it() {
    for (name, owned) in [
        (
            "a copy of its parent's annotation",
            FakeOwned::default().annotation(TRACKING, "payments:x.example/Agent:edge/agent"),
        ),
        ("another DaemonSet's", FakeOwned::default().annotation(TRACKING, "payments:apps/DaemonSet:edge/other")),
        ("another namespace's", FakeOwned::default().annotation(TRACKING, "payments:apps/DaemonSet:core/agent")),
        ("no tracking id at all", FakeOwned::default().annotation(TRACKING, "payments")),
        ("a chart's own label", FakeOwned::default().label("app.kubernetes.io/instance", "edge-agent")),
        (
            "the label that charts write whoever renders them",
            FakeOwned::default().label("app.kubernetes.io/managed-by", "Helm"),
        ),
        (
            "people and ourselves",
            FakeOwned::default()
                .updates("kubectl-edit", BOTH)
                .updates("kubectl-rollout", TEMPLATE)
                .updates(FIELD_MANAGER, BOTH),
        ),
    ] {
        assert_eq!(said(owned), "", "{name}");
    }
}

#[test]
fn flux_is_known_by_its_labels_or_its_field_managers() {
    let kustomization = || {
        FakeOwned::default()
            .label("kustomize.toolkit.fluxcd.io/name", "apps")
            .label("kustomize.toolkit.fluxcd.io/namespace", "flux-system")
    };
    let release = || {
        FakeOwned::default()
            .label("helm.toolkit.fluxcd.io/name", "agent")
            .label("helm.toolkit.fluxcd.io/namespace", "edge")
            .label("app.kubernetes.io/managed-by", "Helm")
            .annotation("meta.helm.sh/release-name", "agent")
            .annotation("meta.helm.sh/release-namespace", "edge")
    };
    let cases = [
        (
            kustomization().applies("kustomize-controller", BOTH),
            "! Flux (Kustomization flux-system/apps) sets template and update strategy back at its next reconciliation. \
             To suspend it: flux suspend kustomization apps -n flux-system (or annotate it \
             kustomize.toolkit.fluxcd.io/reconcile=disabled).\n    \
             label kustomize.toolkit.fluxcd.io/name; field manager kustomize-controller",
        ),
        (
            kustomization().applies("kustomize-controller", TEMPLATE),
            "! Flux (Kustomization flux-system/apps) sets the template, not the update strategy, back at its next \
             reconciliation. To suspend it: flux suspend kustomization apps -n flux-system (or annotate it \
             kustomize.toolkit.fluxcd.io/reconcile=disabled).\n    \
             label kustomize.toolkit.fluxcd.io/name; field manager kustomize-controller",
        ),
        // Adopting took the field over: whether Git names it is not to be seen any more.
        (
            kustomization().applies("kustomize-controller", TEMPLATE).annotation(ORIGINAL_STRATEGY, "{}"),
            "! Flux (Kustomization flux-system/apps) sets the template, and the update strategy if it names one, back at \
             its next reconciliation. To suspend it: flux suspend kustomization apps -n flux-system (or annotate it \
             kustomize.toolkit.fluxcd.io/reconcile=disabled).\n    \
             label kustomize.toolkit.fluxcd.io/name; field manager kustomize-controller",
        ),
        (
            kustomization().annotation("kustomize.toolkit.fluxcd.io/reconcile", "Disabled"),
            "  Flux (Kustomization flux-system/apps) is told to leave this DaemonSet alone.\n    \
             label kustomize.toolkit.fluxcd.io/name",
        ),
        (
            kustomization().annotation("kustomize.toolkit.fluxcd.io/ssa", "Ignore"),
            "  Flux (Kustomization flux-system/apps) is told to leave this DaemonSet alone.\n    \
             label kustomize.toolkit.fluxcd.io/name",
        ),
        (
            release().applies("helm-controller", BOTH),
            "! Flux (HelmRelease edge/agent) sets template and update strategy back at its next upgrade, or \
             reconciliation where it detects drift. To suspend it: flux suspend helmrelease agent -n edge.\n    \
             label helm.toolkit.fluxcd.io/name; field manager helm-controller",
        ),
        (
            release().annotation("helm.toolkit.fluxcd.io/driftDetection", "disabled"),
            "! Flux (HelmRelease edge/agent) sets the template, and the update strategy if it names one, back at its \
             next upgrade. To suspend it: flux suspend helmrelease agent -n edge.\n    \
             label helm.toolkit.fluxcd.io/name",
        ),
    ];
    for (owned, want) in cases {
        assert_eq!(said(owned), want);
    }
}

#[test]
fn the_others_are_known_too() {
    let cases = [
        (
            FakeOwned::default()
                .label("app.kubernetes.io/managed-by", "Helm")
                .annotation("meta.helm.sh/release-name", "agent")
                .annotation("meta.helm.sh/release-namespace", "edge")
                .updates("helm", BOTH),
            "! Helm (release edge/agent) sets template and update strategy back at the next helm upgrade or rollback. To \
             suspend it: do not upgrade release edge/agent meanwhile.\n    \
             annotation meta.helm.sh/release-name; field manager helm",
        ),
        (
            FakeOwned::default()
                .annotation("objectset.rio.cattle.io/id", "default-edge-agents")
                .annotation("meta.helm.sh/release-name", "edge-agents")
                .updates("fleetagent", TEMPLATE),
            "! Rancher (default-edge-agents) sets the template, and the update strategy if it names one, back at its \
             next deployment, or at once where it corrects drift. To suspend it: set paused: true on its GitRepo or \
             Bundle.\n    annotation objectset.rio.cattle.io/id; field manager fleetagent",
        ),
        (
            FakeOwned::default().controlled_by("NodeAgent", "agent").updates("agent-operator", BOTH),
            "! the operator of NodeAgent agent sets the template, and the update strategy if it names one, back as soon \
             as it looks. To suspend it: make the change in NodeAgent agent, or stop its operator meanwhile.\n    \
             controlled by NodeAgent agent\n\
             ! agent-operator may set template and update strategy back.\n    field manager agent-operator",
        ),
        (
            FakeOwned::default().updates("Terraform", BOTH),
            "! Terraform sets template and update strategy back at the next terraform apply. To suspend it: do not apply \
             its configuration meanwhile.\n    field manager Terraform",
        ),
        (
            FakeOwned::default().updates("kubectl-client-side-apply", TEMPLATE).manifest(TEMPLATE),
            "  kubectl apply sets the template, not the update strategy, back when somebody applies its manifest again. \
             To suspend it: do not apply its manifest meanwhile.\n    field manager kubectl-client-side-apply",
        ),
        (
            FakeOwned::default().applies("kubectl", BOTH),
            "  kubectl apply sets template and update strategy back when somebody applies its manifest again. To suspend it: \
             do not apply its manifest meanwhile.\n    field manager kubectl",
        ),
        // `kubectl rollout undo` and `kubectl set image` are a person's, and set nothing back.
        (FakeOwned::default().updates("kubectl", TEMPLATE).updates("kubectl-set", TEMPLATE), ""),
        (
            FakeOwned::default().applies("deployer", TEMPLATE),
            "! deployer may set the template, not the update strategy back.\n    field manager deployer",
        ),
    ];
    for (owned, want) in cases {
        assert_eq!(said(owned), want);
    }
}

/// A DaemonSet that went from hand to hand, with an operator's copy of a tracking id on it, for good measure.
#[test]
fn several_may_be_there_at_once_and_those_that_act_by_themselves_come_first() {
    let owned = FakeOwned::default()
        .annotation("meta.helm.sh/release-name", "agent")
        .annotation(TRACKING, "payments:apps/DaemonSet:edge/agent")
        .label("kustomize.toolkit.fluxcd.io/name", "apps")
        .updates("kubectl-client-side-apply", BOTH)
        .updates("kubectl-set", TEMPLATE);
    let found: Vec<String> = find_gitops_owners(&owned.daemonset()).iter().map(ToString::to_string).collect();
    assert_eq!(
        found,
        ["Argo CD (application payments)", "Flux (Kustomization apps)", "Helm (release agent)", "kubectl apply"]
    );
}

#[test]
fn who_wrote_is_said_with_the_tool_behind_the_name() {
    let daemonset = FakeOwned::default()
        .annotation(TRACKING, "payments:apps/DaemonSet:edge/agent")
        .applies("argocd-controller", BOTH)
        .updates("deployer", TEMPLATE)
        .daemonset();
    let gitops_owners = find_gitops_owners(&daemonset);
    for (manager, want) in [
        ("argocd-controller", "argocd-controller of Argo CD (application payments)"),
        ("deployer", "deployer"),
        ("kubectl-edit", "kubectl-edit"),
        // Nothing of theirs is left on the object, or something else of theirs is: the name tells.
        ("kustomize-controller", "kustomize-controller of Flux"),
        ("argocd-application-controller", "argocd-application-controller of Argo CD (application payments)"),
    ] {
        assert_eq!(writer_words(manager, &gitops_owners), want);
    }
}
