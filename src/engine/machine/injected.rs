//! Nodes that fail because of a container that no revision names.

use super::Engine;
use crate::engine::assess::rows::Row;
use crate::engine::model::Str;
use crate::engine::rules::injected::{injected_container, only_injected_fails};

impl Engine {
    /// The container that is the cause of this node's failure, if the template of the pod's revision does not name it.
    pub(crate) fn injected<'a>(&self, row: &'a Row) -> Option<&'a Str> {
        let pod = row.pod.and_then(|pod| self.view.pod(pod))?;
        let revision = self.view.revision(pod.fact.revision.as_ref()?)?;
        injected_container(row.cause.as_ref()?, &revision.template)
    }

    /// Whether only containers that the template of the pod's revision does not name make a node fail. Pods of every revision get such containers.
    pub(crate) fn fails_only_by_injected_containers(&self, row: &Row) -> bool {
        let Some(cause) = &row.cause else { return false };
        let Some(pod) = row.pod.and_then(|pod| self.view.pod(pod)) else { return false };
        let revision = pod.fact.revision.as_ref().and_then(|hash| self.view.revision(hash));
        revision.is_some_and(|revision| only_injected_fails(&pod.fact, cause, &revision.template))
    }
}
