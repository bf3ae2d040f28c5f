//! Flags and arguments of `report`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::values::{DaemonSetName, patience};

pub(super) const REPORT_HELP: &str = "\
Examples:
  rolldeck report ds/agent                    prints the text, writes the page beside you
  rolldeck report ds/agent --html night.html  writes the page there
  rolldeck report ds/agent --html - > a.html  prints the page
  rolldeck report ds/agent -o json            prints the same for a program, writes no page";

#[derive(Args, Clone, Debug)]
pub(crate) struct ReportArgs {
    /// The DaemonSet: `ds/NAME`, or just NAME
    #[arg(value_name = "ds/NAME")]
    pub(crate) name: DaemonSetName,
    /// Where to write the page; `-` prints it in place of the text [default: rolldeck-NAMESPACE-NAME-TIME.html]
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// How long to wait for the cluster
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = patience)]
    pub(crate) timeout: Duration,
}
