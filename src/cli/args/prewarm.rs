//! Flags of `prewarm`, and what they ask of the engine.

use std::time::Duration;

use clap::{Args, ValueEnum};

use super::values::{ContainerImage, DaemonSetName, pace, patience, pull_limit, revision};
use crate::engine::model::command::PrewarmCommand;
use crate::engine::model::labels::Selector;
use crate::engine::model::prewarm::{PrewarmLimits, PrewarmMethod, PrewarmNodes};
use crate::engine::model::settings::{Limit, Pace};
use crate::engine::model::site::SiteLabel;

#[derive(Args, Clone, Debug)]
#[command(group = clap::ArgGroup::new("which").multiple(true).conflicts_with("control"))]
#[command(group = clap::ArgGroup::new("where").multiple(false).conflicts_with("control"))]
#[command(group = clap::ArgGroup::new("limits").multiple(true).conflicts_with("control"))]
#[command(group = clap::ArgGroup::new("control").multiple(false))]
pub(crate) struct PrewarmArgs {
    /// The DaemonSet: `ds/NAME`, or just NAME
    #[arg(value_name = "ds/NAME")]
    pub(crate) name: DaemonSetName,
    /// This image instead of the template's, which stays as it is; may be repeated; `*=IMAGE` means all main containers
    #[arg(long = "image", value_name = "CONTAINER=IMAGE", group = "which", conflicts_with = "revision")]
    pub(crate) images: Vec<ContainerImage>,
    /// The images of a revision, by its number in `history`, or one that it had before: those that `undo --to-revision N` would need
    #[arg(long, value_name = "N", value_parser = revision, group = "which")]
    pub(crate) revision: Option<i64>,
    /// Only on nodes with these labels, as `kubectl get nodes -l` has it
    #[arg(short = 'l', long, group = "where")]
    pub(crate) selector: Option<Selector>,
    /// Only on this node
    #[arg(long, value_name = "NAME", group = "where")]
    pub(crate) node: Option<String>,
    /// Only on the nodes that partition and selector let be updated: those of the step that is reached. A later step adds its nodes
    #[arg(long, group = "where")]
    pub(crate) this_step: bool,
    /// Only on these and on the nodes that the next step of the plan lets be updated besides. Each step adds the nodes of the one after it
    #[arg(long, group = "where")]
    pub(crate) next_step: bool,
    /// So many nodes pull at once, updates included [default: the rollout's own limit]
    #[arg(long, value_name = "N|N%", value_parser = pull_limit, group = "limits")]
    pub(crate) max_pulling: Option<Limit>,
    /// So many nodes of a site pull at once [default: the rollout's own limit]
    #[arg(long, value_name = "N|N%", value_parser = pull_limit, group = "limits")]
    pub(crate) max_pulling_per_site: Option<Limit>,
    /// The node label whose value is a node's site, where no rollout is recorded [default: topology.kubernetes.io/zone]
    #[arg(long, value_name = "KEY", group = "limits")]
    pub(crate) site_label: Option<SiteLabel>,
    /// `auto`: each site begins with one pull, and has more, up to the limits, as long as its link bears them
    #[arg(long, value_name = "auto|fixed", value_parser = pace, group = "limits")]
    pub(crate) pace: Option<Pace>,
    /// Who makes the pods. `pods`: whoever drives, in the rollout's order, under its limits, and only while somebody drives.
    /// `statefulset`: one StatefulSet for each of `--max-pulling` nodes (1 unless given), which goes on with every console
    /// closed; it keeps no order, knows nothing of updates that pull, of nodes that flap nor of nodes that join, waits for ever
    /// where a node cannot pull, and does not work for images without `sleep` (distroless)
    #[arg(
        long,
        value_name = "METHOD",
        value_enum,
        default_value = "pods",
        hide_possible_values = true,
        group = "which"
    )]
    pub(crate) method: MethodFlag,
    /// Make no more pods; what is being pulled goes on
    #[arg(long, group = "control")]
    pub(crate) pause: bool,
    /// Go on after a pause
    #[arg(long, group = "control")]
    pub(crate) resume: bool,
    /// Pull again what failed
    #[arg(long, group = "control")]
    pub(crate) retry: bool,
    /// Delete its pods and forget it; images that were pulled stay until their kubelet collects them
    #[arg(long, group = "control")]
    pub(crate) cancel: bool,
    /// Say what it would do, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask for confirmation
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Stop after this long; what is there stays [default: none; 30s for --pause, --resume and --retry]
    #[arg(long, value_name = "DURATION", value_parser = patience)]
    pub(crate) timeout: Option<Duration>,
}

/// `--method`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum MethodFlag {
    Pods,
    #[value(name = "statefulset")]
    StatefulSet,
}

impl PrewarmArgs {
    /// Who makes the pods.
    pub(crate) fn method(&self) -> PrewarmMethod {
        match self.method {
            MethodFlag::Pods => PrewarmMethod::Pods,
            MethodFlag::StatefulSet => PrewarmMethod::StatefulSet,
        }
    }

    /// What is to be done about what is being pre-warmed; `None`: begin.
    pub(crate) fn control(&self) -> Option<PrewarmCommand> {
        [
            (self.pause, PrewarmCommand::Pause),
            (self.resume, PrewarmCommand::Resume),
            (self.retry, PrewarmCommand::Retry),
            (self.cancel, PrewarmCommand::Cancel),
        ]
        .into_iter()
        .find_map(|(given, command)| given.then_some(command))
    }

    /// Whether it has one answer, and then ends: it only records what others carry out, or shows what it would do.
    pub(crate) fn has_one_answer(&self) -> bool {
        self.pause || self.resume || self.retry || self.dry_run
    }

    /// On which nodes.
    pub(crate) fn nodes(&self) -> PrewarmNodes {
        match (&self.selector, &self.node) {
            (Some(selector), _) if !selector.is_empty() => PrewarmNodes::Selector(selector.clone()),
            (_, Some(node)) => PrewarmNodes::Node(node.as_str().into()),
            _ if self.this_step => PrewarmNodes::LetGo,
            _ if self.next_step => PrewarmNodes::StepAhead,
            _ => PrewarmNodes::All,
        }
    }

    /// How many nodes may pull at once.
    pub(crate) fn limits(&self) -> PrewarmLimits {
        PrewarmLimits {
            max_pulling: self.max_pulling.unwrap_or_default(),
            max_pulling_per_site: self.max_pulling_per_site.unwrap_or_default(),
            site_label: self.site_label.clone(),
            pace: self.pace.unwrap_or_default(),
        }
    }
}
