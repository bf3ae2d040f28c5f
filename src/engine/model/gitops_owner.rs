//! Other managers of a DaemonSet, when they set back the changes of a rollout, and how to hold them.

use std::fmt;

use serde::Serialize;

use super::Str;

/// Another manager of the DaemonSet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GitOpsOwner {
    /// The tool that manages the DaemonSet.
    pub tool: Tool,
    /// The tool's name for the thing that the DaemonSet is part of, if it is known.
    pub application: Option<Application>,
    /// How we know: `annotation argocd.argoproj.io/tracking-id`, `field manager helm`, …
    pub evidence: Vec<String>,
    /// Whether it sets back the update strategy too, or the template only.
    pub strategy: StrategyOwnership,
    /// When it sets back differences.
    pub reverts: RevertTrigger,
}

/// A tool that manages DaemonSets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Tool {
    /// An operator whose own object, of this kind, controls the DaemonSet.
    Operator {
        /// The owner's kind.
        kind: Str,
    },
    /// Argo CD.
    ArgoCd,
    /// Flux: a Kustomization.
    FluxKustomization,
    /// Flux: a HelmRelease.
    FluxHelmRelease,
    /// Rancher Fleet, or a server of the k3s family with its add-ons.
    Rancher,
    /// Helm, by hand or from a pipeline.
    Helm,
    /// Terraform or OpenTofu.
    Terraform,
    /// `kubectl apply`.
    KubectlApply,
    /// Another program that wrote these fields under this name.
    Other {
        /// The field manager.
        manager: Str,
    },
}

/// A tool's name for the thing that a DaemonSet is part of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Application {
    /// Its namespace, where that is told.
    pub namespace: Option<Str>,
    /// Its name.
    pub name: Str,
}

/// Whether a tool's own source names a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StrategyOwnership {
    /// The source names it, so that the field will be set back.
    Yes,
    /// The source does not name it, so that the field stays as it is.
    No,
    /// It is not known.
    Unknown,
}

/// When a tool sets back differences from its source.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum RevertTrigger {
    /// By itself, sooner or later.
    ByItself,
    /// When somebody tells it to.
    OnRequest,
    /// It has been told to leave the DaemonSet alone.
    Never,
    /// It is not known.
    Unknown,
}

impl GitOpsOwner {
    /// Whether an operator should hear of this manager before changing anything, because it sets back the changes of a rollout, or may
    /// do so.
    pub fn interferes(&self) -> bool {
        match self.reverts {
            RevertTrigger::ByItself | RevertTrigger::Unknown => true,
            RevertTrigger::OnRequest => self.tool != Tool::KubectlApply,
            RevertTrigger::Never => false,
        }
    }

    /// The manager's reaction in words: `sets template and update strategy back at its next sync, …`.
    pub fn expects(&self) -> String {
        let what = match self.strategy {
            StrategyOwnership::Yes => "template and update strategy",
            StrategyOwnership::No => "the template, not the update strategy,",
            StrategyOwnership::Unknown => "the template, and the update strategy if it names one,",
        };
        match (&self.tool, self.reverts) {
            (_, RevertTrigger::Never) => "is told to leave this DaemonSet alone".to_owned(),
            (Tool::Other { .. }, _) => format!("may set {} back", what.trim_end_matches(',')),
            _ => format!("sets {what} back {}", self.when()),
        }
    }

    /// When it sets back differences: `at its next sync, within seconds where it heals itself`.
    pub fn when(&self) -> &'static str {
        match (&self.tool, self.reverts) {
            (_, RevertTrigger::Never) => "never",
            (Tool::Operator { .. }, _) => "as soon as it looks",
            (Tool::ArgoCd, _) => "at its next sync, within seconds where it heals itself",
            (Tool::FluxKustomization, _) => "at its next reconciliation",
            (Tool::FluxHelmRelease, RevertTrigger::OnRequest) => "at its next upgrade",
            (Tool::FluxHelmRelease, _) => "at its next upgrade, or reconciliation where it detects drift",
            (Tool::Rancher, _) => "at its next deployment, or at once where it corrects drift",
            (Tool::Helm, _) => "at the next helm upgrade or rollback",
            (Tool::Terraform, _) => "at the next terraform apply",
            (Tool::KubectlApply, _) => "when somebody applies its manifest again",
            (Tool::Other { .. }, _) => "at a time of its own",
        }
    }

    /// How to hold it during a rollout, if that is known.
    pub fn suspend_hint(&self) -> Option<String> {
        if self.reverts == RevertTrigger::Never {
            return None;
        }
        let named = self.application.as_ref();
        let in_namespace = |application: &Application| match &application.namespace {
            Some(namespace) => format!("{} -n {namespace}", application.name),
            None => application.name.to_string(),
        };
        let or = |fallback: &str, words: &dyn Fn(&Application) -> String| named.map_or(fallback.to_owned(), words);
        Some(match &self.tool {
            Tool::Operator { kind } => or("make the change in the object that owns it", &|owner| {
                format!("make the change in {kind} {}, or stop its operator meanwhile", owner.name)
            }),
            Tool::ArgoCd => {
                let fields =
                    "ignoreDifferences on /spec/template and /spec/updateStrategy with RespectIgnoreDifferences=true";
                let command =
                    or("turn off its automated sync", &|app| format!("argocd app set {app} --sync-policy none"));
                format!("{command} (or {fields})")
            }
            Tool::FluxKustomization => {
                let command =
                    or("suspend its Kustomization", &|app| format!("flux suspend kustomization {}", in_namespace(app)));
                format!("{command} (or annotate it kustomize.toolkit.fluxcd.io/reconcile=disabled)")
            }
            Tool::FluxHelmRelease => {
                or("suspend its HelmRelease", &|app| format!("flux suspend helmrelease {}", in_namespace(app)))
            }
            Tool::Rancher => "set paused: true on its GitRepo or Bundle".to_owned(),
            Tool::Helm => {
                or("do not upgrade its release meanwhile", &|app| format!("do not upgrade release {app} meanwhile"))
            }
            Tool::Terraform => "do not apply its configuration meanwhile".to_owned(),
            Tool::KubectlApply => "do not apply its manifest meanwhile".to_owned(),
            Tool::Other { .. } => return None,
        })
    }

    /// The manager, its reaction and how to hold it, as a warning before the DaemonSet is changed.
    pub fn warning(&self) -> String {
        match self.suspend_hint() {
            Some(suspend_hint) => format!("{self} {}. To suspend it: {suspend_hint}.", self.expects()),
            None => format!("{self} {}.", self.expects()),
        }
    }
}

/// The tool and its application: `Argo CD (application payments)`.
impl fmt::Display for GitOpsOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(application) = &self.application else { return write!(f, "{}", self.tool) };
        match &self.tool {
            Tool::Operator { kind } => write!(f, "the operator of {kind} {application}"),
            Tool::ArgoCd => write!(f, "{} (application {application})", self.tool),
            Tool::FluxKustomization => write!(f, "{} (Kustomization {application})", self.tool),
            Tool::FluxHelmRelease => write!(f, "{} (HelmRelease {application})", self.tool),
            Tool::Helm => write!(f, "{} (release {application})", self.tool),
            _ => write!(f, "{} ({application})", self.tool),
        }
    }
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Operator { kind } => return write!(f, "the operator of {kind}"),
            Self::ArgoCd => "Argo CD",
            Self::FluxKustomization | Self::FluxHelmRelease => "Flux",
            Self::Rancher => "Rancher",
            Self::Helm => "Helm",
            Self::Terraform => "Terraform",
            Self::KubectlApply => "kubectl apply",
            Self::Other { manager } => manager,
        })
    }
}

impl fmt::Display for Application {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{namespace}/{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}
