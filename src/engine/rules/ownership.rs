//! The other managers of a DaemonSet, recognised by the marks they leave on the object: tools that set back changes of a rollout, or may do so.
//!
//! ```text
//! annotations, labels ──┐
//! managedFields ────────┼──▶ gitops_owners: which tool, for which application, how we know,
//! ownerReferences ──────┘             what it sets back and when, how to hold it meanwhile
//! ```
//!
//! Several may be there at once. Their own objects are not read, so it is unknown whether self-heal (Argo CD) or drift correction (Flux) is switched
//! on; the words name both cases.

use crate::engine::model::Str;
use crate::engine::model::facts::{DaemonSetFact, Fields, WriteOperation};
use crate::engine::model::gitops_owner::{Application, GitOpsOwner, RevertTrigger, StrategyOwnership, Tool};
use crate::engine::model::record::ORIGINAL_STRATEGY;

/// Our own field manager in `metadata.managedFields`.
pub const FIELD_MANAGER: &str = "rolldeck";

/// The managers of this DaemonSet other than rolldeck; those that act by themselves come first.
pub fn find_gitops_owners(daemonset: &DaemonSetFact) -> Vec<GitOpsOwner> {
    let evidence = OwnerEvidence(daemonset);
    let mut gitops_owners: Vec<GitOpsOwner> = [
        evidence.operator(),
        evidence.argo_cd(),
        evidence.flux_kustomization(),
        evidence.flux_helm_release(),
        evidence.rancher(),
        evidence.helm(),
        evidence.of_managers(Tool::Terraform, TERRAFORM),
        evidence.kubectl_apply(),
    ]
    .into_iter()
    .flatten()
    .collect();
    let known: Vec<String> = gitops_owners.iter().flat_map(|gitops_owner| gitops_owner.evidence.clone()).collect();
    gitops_owners.extend(evidence.other_managers(&known));
    gitops_owners.sort_by_key(|gitops_owner| match gitops_owner.reverts {
        RevertTrigger::ByItself => 0,
        RevertTrigger::OnRequest => 1,
        RevertTrigger::Unknown => 2,
        RevertTrigger::Never => 3,
    });
    gitops_owners
}

/// The field managers of tools that go by well-known names.
const ARGO_CD: &[&str] = &["argocd-controller", "argocd-application-controller"];
const FLUX_KUSTOMIZATION: &[&str] = &["kustomize-controller"];
const FLUX_HELM_RELEASE: &[&str] = &["helm-controller"];
const HELM: &[&str] = &["helm"];
const TERRAFORM: &[&str] = &["Terraform", "HashiCorp"];
const KUBECTL_APPLY: &[&str] = &["kubectl-client-side-apply"];
/// The field manager of both `kubectl apply --server-side` and `kubectl rollout undo`; the operation tells them apart: the first applies, the second
/// updates.
const KUBECTL: &str = "kubectl";

/// The writer behind this field manager: one of `gitops_owners`, or the one that the name alone tells, once the object bears no other mark of it.
pub fn gitops_owner_of(manager: &str, gitops_owners: &[GitOpsOwner]) -> Option<GitOpsOwner> {
    if let Some(gitops_owner) =
        gitops_owners.iter().find(|gitops_owner| gitops_owner.evidence.contains(&manager_evidence(manager)))
    {
        return Some(gitops_owner.clone()).filter(|gitops_owner| !matches!(gitops_owner.tool, Tool::Other { .. }));
    }
    let known = [
        (Tool::ArgoCd, ARGO_CD, RevertTrigger::ByItself),
        (Tool::FluxKustomization, FLUX_KUSTOMIZATION, RevertTrigger::ByItself),
        (Tool::FluxHelmRelease, FLUX_HELM_RELEASE, RevertTrigger::ByItself),
        (Tool::Helm, HELM, RevertTrigger::OnRequest),
        (Tool::Terraform, TERRAFORM, RevertTrigger::OnRequest),
        (Tool::KubectlApply, KUBECTL_APPLY, RevertTrigger::OnRequest),
    ];
    let (tool, _, reverts) = known.into_iter().find(|(_, names, _)| names.contains(&manager))?;
    let named = gitops_owners.iter().find(|gitops_owner| gitops_owner.tool == tool).cloned();
    Some(named.unwrap_or_else(|| GitOpsOwner {
        tool,
        application: None,
        evidence: vec![manager_evidence(manager)],
        strategy: StrategyOwnership::Unknown,
        reverts,
    }))
}

/// The writer behind this field manager, for people: `argocd-controller of Argo CD (application payments)`.
pub fn writer_words(manager: &str, gitops_owners: &[GitOpsOwner]) -> String {
    match gitops_owner_of(manager, gitops_owners) {
        Some(gitops_owner) => format!("{manager} of {gitops_owner}"),
        None => manager.to_owned(),
    }
}

fn manager_evidence(manager: &str) -> String {
    format!("field manager {manager}")
}

/// The marks that tools leave on a DaemonSet.
struct OwnerEvidence<'a>(&'a DaemonSetFact);

impl OwnerEvidence<'_> {
    fn label(&self, key: &str) -> Option<&Str> {
        self.0.labels.get(key).filter(|value| !value.is_empty())
    }

    fn annotation(&self, key: &str) -> Option<&Str> {
        self.0.annotations.get(key).filter(|value| !value.is_empty())
    }

    /// The label or the annotation: tools let people choose.
    fn label_or_annotation(&self, key: &str) -> Option<&Str> {
        self.annotation(key).or_else(|| self.label(key))
    }

    /// The field managers that own at least one of the two fields, each once.
    fn managers(&self) -> Vec<&Str> {
        let owners = &self.0.owners;
        let mut names: Vec<&Str> = owners.writers.iter().map(|writer| &writer.manager).collect();
        names.extend([&owners.template, &owners.strategy].into_iter().flatten());
        names.sort_unstable();
        names.dedup();
        names
    }

    fn managers_among(&self, names: &[&str]) -> Vec<String> {
        self.managers()
            .into_iter()
            .filter(|manager| names.contains(&&***manager))
            .map(|name| manager_evidence(name))
            .collect()
    }

    /// Whether the source of the tool that writes under these names contains the update strategy.
    fn strategy_ownership(&self, names: &[&str]) -> StrategyOwnership {
        let owners = &self.0.owners;
        let own = || owners.writers.iter().filter(|writer| names.contains(&&*writer.manager));
        if own().any(|writer| writer.fields.strategy) {
            return StrategyOwnership::Yes;
        }
        let names_it = |fields: &Fields| if fields.strategy { StrategyOwnership::Yes } else { StrategyOwnership::No };
        match own().map(|writer| writer.operation).max_by_key(|operation| *operation == WriteOperation::Apply) {
            // Our adoption becomes the owner of the field, so from then on it no longer shows that the tool does not own it.
            Some(WriteOperation::Apply) if self.0.annotations.get(ORIGINAL_STRATEGY).is_none() => StrategyOwnership::No,
            Some(WriteOperation::Update) => owners.applied.as_ref().map_or(StrategyOwnership::Unknown, names_it),
            _ => StrategyOwnership::Unknown,
        }
    }

    fn of_managers(&self, tool: Tool, names: &[&str]) -> Option<GitOpsOwner> {
        let evidence = self.managers_among(names);
        (!evidence.is_empty()).then(|| GitOpsOwner {
            tool,
            application: None,
            evidence,
            strategy: self.strategy_ownership(names),
            reverts: RevertTrigger::OnRequest,
        })
    }

    fn kubectl_apply(&self) -> Option<GitOpsOwner> {
        let applies =
            self.0.owners.writers.iter().any(|it| *it.manager == *KUBECTL && it.operation == WriteOperation::Apply);
        match applies {
            true => self.of_managers(Tool::KubectlApply, &[KUBECTL_APPLY, &[KUBECTL]].concat()),
            false => self.of_managers(Tool::KubectlApply, KUBECTL_APPLY),
        }
    }

    fn operator(&self) -> Option<GitOpsOwner> {
        let owner = self.0.controller.as_ref()?;
        Some(GitOpsOwner {
            tool: Tool::Operator { kind: owner.kind.clone() },
            application: Some(Application { namespace: None, name: owner.name.clone() }),
            evidence: vec![format!("controlled by {} {}", owner.kind, owner.name)],
            strategy: StrategyOwnership::Unknown,
            reverts: RevertTrigger::ByItself,
        })
    }

    /// `application:group/kind:namespace/name`, where it is about this very object: operators copy annotations to what
    /// they make, and Argo CD passes over such copies as well.
    fn tracking_id(&self) -> Option<Application> {
        let id = self.annotation("argocd.argoproj.io/tracking-id")?;
        let (name, object) = id.split_once(':')?;
        let DaemonSetFact { namespace, name: own, .. } = self.0;
        let named = object.strip_prefix("apps/DaemonSet:")?;
        let (in_namespace, called) = named.split_once('/')?;
        (called == &**own && (in_namespace.is_empty() || in_namespace == &**namespace)).then(|| argo_application(name))
    }

    fn argo_cd(&self) -> Option<GitOpsOwner> {
        let tracked = self.tracking_id();
        let instance = self.label("argocd.argoproj.io/instance");
        let managers = self.managers_among(ARGO_CD);
        let mut evidence = Vec::new();
        evidence.extend(tracked.as_ref().map(|_| "annotation argocd.argoproj.io/tracking-id".to_owned()));
        evidence.extend(instance.map(|_| "label argocd.argoproj.io/instance".to_owned()));
        evidence.extend(managers);
        if evidence.is_empty() {
            return None;
        }
        // Helm charts write this label as well: it names the application only where something else says Argo CD.
        let instance = instance.or_else(|| self.label("app.kubernetes.io/instance"));
        let application = tracked.or_else(|| instance.map(|name| argo_application(name)));
        // Argo CD applies from the client's side as kubectl does, under a name of its own or under kubectl's.
        let strategy = match self.strategy_ownership(ARGO_CD) {
            StrategyOwnership::Unknown => {
                self.0.owners.applied.map_or(StrategyOwnership::Unknown, |fields| match fields.strategy {
                    true => StrategyOwnership::Yes,
                    false => StrategyOwnership::No,
                })
            }
            other => other,
        };
        Some(GitOpsOwner { tool: Tool::ArgoCd, application, evidence, strategy, reverts: RevertTrigger::ByItself })
    }

    /// The application that a pair of Flux's labels names.
    fn flux_labels(&self, prefix: &str, evidence: &mut Vec<String>) -> Option<Application> {
        let key = format!("{prefix}/name");
        let name = self.label(&key)?.clone();
        evidence.push(format!("label {key}"));
        Some(Application { namespace: self.label(&format!("{prefix}/namespace")).cloned(), name })
    }

    fn flux_kustomization(&self) -> Option<GitOpsOwner> {
        let mut evidence = Vec::new();
        let application = self.flux_labels("kustomize.toolkit.fluxcd.io", &mut evidence);
        evidence.extend(self.managers_among(FLUX_KUSTOMIZATION));
        if evidence.is_empty() {
            return None;
        }
        let is = |key: &str, values: &[&str]| {
            self.label_or_annotation(key)
                .is_some_and(|value| values.iter().any(|known| value.eq_ignore_ascii_case(known)))
        };
        let held = is("kustomize.toolkit.fluxcd.io/reconcile", &["disabled"])
            || is("kustomize.toolkit.fluxcd.io/ssa", &["Ignore", "IfNotPresent"]);
        let reverts = if held { RevertTrigger::Never } else { RevertTrigger::ByItself };
        Some(GitOpsOwner {
            tool: Tool::FluxKustomization,
            application,
            evidence,
            strategy: self.strategy_ownership(FLUX_KUSTOMIZATION),
            reverts,
        })
    }

    fn flux_helm_release(&self) -> Option<GitOpsOwner> {
        let mut evidence = Vec::new();
        let application = self.flux_labels("helm.toolkit.fluxcd.io", &mut evidence);
        evidence.extend(self.managers_among(FLUX_HELM_RELEASE));
        (!evidence.is_empty()).then(|| GitOpsOwner {
            tool: Tool::FluxHelmRelease,
            application,
            evidence,
            strategy: self.strategy_ownership(FLUX_HELM_RELEASE),
            reverts: match self.label_or_annotation("helm.toolkit.fluxcd.io/driftDetection") {
                Some(value) if value.eq_ignore_ascii_case("disabled") => RevertTrigger::OnRequest,
                _ => RevertTrigger::ByItself,
            },
        })
    }

    fn rancher(&self) -> Option<GitOpsOwner> {
        // Fleet's agent, and the add-on controller of k3s and RKE2.
        let ours = |name: &&&Str| matches!(&****name, "fleetagent" | "fleet-agent") || name.starts_with("deploy@");
        let mut evidence = Vec::new();
        let owner = self.annotation("objectset.rio.cattle.io/owner-name");
        let id = self.annotation("objectset.rio.cattle.io/id");
        evidence.extend(owner.map(|_| "annotation objectset.rio.cattle.io/owner-name".to_owned()));
        evidence.extend(id.map(|_| "annotation objectset.rio.cattle.io/id".to_owned()));
        evidence.extend(self.managers().iter().filter(ours).map(|name| manager_evidence(name)));
        (!evidence.is_empty()).then(|| GitOpsOwner {
            tool: Tool::Rancher,
            application: owner.or(id).map(|name| Application {
                namespace: self.annotation("objectset.rio.cattle.io/owner-namespace").cloned(),
                name: name.clone(),
            }),
            evidence,
            strategy: StrategyOwnership::Unknown,
            reverts: RevertTrigger::ByItself,
        })
    }

    fn helm(&self) -> Option<GitOpsOwner> {
        // Flux and Fleet install through Helm. The release is theirs then.
        if self.flux_helm_release().is_some() || self.rancher().is_some() {
            return None;
        }
        let mut evidence = Vec::new();
        let release = self.annotation("meta.helm.sh/release-name");
        evidence.extend(release.map(|_| "annotation meta.helm.sh/release-name".to_owned()));
        evidence.extend(self.managers_among(HELM));
        // Charts write the label `managed-by: Helm` whoever renders them, so the label alone proves nothing.
        (!evidence.is_empty()).then(|| GitOpsOwner {
            tool: Tool::Helm,
            application: release.map(|name| Application {
                namespace: self.annotation("meta.helm.sh/release-namespace").cloned(),
                name: name.clone(),
            }),
            evidence,
            strategy: self.strategy_ownership(HELM),
            reverts: RevertTrigger::OnRequest,
        })
    }

    /// Other writers of these fields, except for us, people at kubectl, and the controllers of Kubernetes itself.
    fn other_managers(&self, known: &[String]) -> Vec<GitOpsOwner> {
        let by_hand =
            |name: &str| name.starts_with(KUBECTL) || name == FIELD_MANAGER || name == "kube-controller-manager";
        let other_managers =
            self.managers().into_iter().filter(|name| !by_hand(name) && !known.contains(&manager_evidence(name)));
        other_managers
            .map(|name| GitOpsOwner {
                tool: Tool::Other { manager: name.clone() },
                application: None,
                evidence: vec![manager_evidence(name)],
                strategy: self.strategy_ownership(&[&**name]),
                reverts: RevertTrigger::Unknown,
            })
            .collect()
    }
}

/// An application outside of Argo CD's own namespace is written `namespace_name`.
fn argo_application(name: &str) -> Application {
    match name.split_once('_') {
        Some((namespace, name)) => Application { namespace: Some(namespace.into()), name: name.into() },
        None => Application { namespace: None, name: name.into() },
    }
}

#[cfg(test)]
mod tests;
