//! Flags and arguments of `history` and `diff`.

use std::time::Duration;

use clap::Args;

use super::values::{DaemonSetName, patience};

pub(super) const DIFF_HELP: &str = "\
Examples:
  rolldeck diff ds/agent               what the nodes still get
  rolldeck diff ds/agent 12            what changed since revision 12
  rolldeck diff ds/agent 12 14         what changed between these two
  rolldeck diff ds/agent -o yaml       the changed fields, for a program

Exit codes: 0 the same, or only one revision, 1 different, 2 it went wrong, 3 out of time, 5 no such DaemonSet or revision, 6 the view is too old";

#[derive(Args, Clone, Debug)]
pub(crate) struct HistoryArgs {
    /// The DaemonSet: `ds/NAME`, or just NAME
    #[arg(value_name = "ds/NAME")]
    pub(crate) name: DaemonSetName,
    /// Print the whole template of this revision, as YAML
    #[arg(long, value_name = "NUMBER|HASH")]
    pub(crate) revision: Option<String>,
    /// How long to wait for the cluster
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = patience)]
    pub(crate) timeout: Duration,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct DiffArgs {
    /// The DaemonSet: `ds/NAME`, or just NAME
    #[arg(value_name = "ds/NAME")]
    pub(crate) name: DaemonSetName,
    /// The revision to compare from, by number or hash [default: the one that most nodes not at the target run, or the
    /// one before the target]
    #[arg(value_name = "FROM")]
    pub(crate) from: Option<String>,
    /// The revision to compare with [default: the target]
    #[arg(value_name = "TO")]
    pub(crate) to: Option<String>,
    /// How long to wait for the cluster
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = patience)]
    pub(crate) timeout: Duration,
}
