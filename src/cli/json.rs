//! The answers of `-o json` and `-o yaml`. Field names and meanings are stable: fields may be added, none is renamed or removed.
//!
//! Words (`state`, `phase`, `hold`, `cause`, `text`) are those of the console. Instants are RFC 3339 in UTC.
//!
//! ```text
//! status ds/x    RolloutStatus         drive, prewarm, status --watch    one Change a line
//! status         Fleet                 how `drive` and `prewarm` ended   TaskResult, the last line
//!                                      history                           RevisionHistory
//! set-image …    CommandResult         history --revision                Revision
//!                                      diff                              RevisionDiff
//! diagnose       Diagnosis             report                            RolloutReport (`handover`)
//!                                      what failed                       Error, after what was printed before
//! ```

mod alarm;
mod command;
mod diagnosis;
mod driver;
mod fleet;
mod kinds;
mod node;
mod prewarm;
mod pulls;
mod revision;
mod status;
mod task_result;
mod watch;

use serde::Serialize;

pub(crate) use self::command::{CommandResultJson, ErrorJson, PreviewJson, image_warnings};
pub(crate) use self::diagnosis::DiagnosisJson;
pub(crate) use self::fleet::FleetJson;
pub(crate) use self::node::NodeJson;
pub(crate) use self::prewarm::PrewarmJson;
pub(crate) use self::revision::{RevisionDiffJson, RevisionHistoryJson, WholeRevisionJson};
pub(crate) use self::status::{NodeListing, StatusJson};
pub(crate) use self::task_result::{TaskEnding, TaskResultJson};
use crate::handover::API_VERSION;

/// Names the shape, as Kubernetes objects do.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TypeMetaJson {
    api_version: &'static str,
    kind: &'static str,
}

impl TypeMetaJson {
    pub(crate) fn new(kind: &'static str) -> Self {
        Self { api_version: API_VERSION, kind }
    }
}
