//! Containers that are in a pod and not in its template. Admission adds them while the pod is created, as meshes and platform agents do. From then on
//! every new pod has them, whatever its revision (docs/kubernetes.md, *Why a pod is not healthy*).

use crate::engine::model::Str;
use crate::engine::model::cause::{Cause, CauseKind};
use crate::engine::model::facts::PodFact;
use crate::engine::model::template::Template;

/// The container that `cause` concerns, if `template`, that of the pod's revision, does not name it. `None` also where the cause concerns the pod as
/// a whole.
pub(crate) fn injected_container<'a>(cause: &'a Cause, template: &Template) -> Option<&'a Str> {
    cause.container.as_ref().filter(|name| !is_named(name, template))
}

/// Whether a pod fails because of such a container only. The cause of a pod that is not available in time may name no container: its containers tell
/// then which of them is not ready.
pub(crate) fn only_injected_fails(pod: &PodFact, cause: &Cause, template: &Template) -> bool {
    let named_are_ready = || pod.containers.iter().all(|it| it.ready || !is_named(&it.name, template));
    let has_another = || pod.containers.iter().any(|it| !is_named(&it.name, template));
    match &cause.container {
        Some(name) => !is_named(name, template),
        None => cause.kind == CauseKind::Deadline && has_another() && named_are_ready(),
    }
}

/// A cause in words, with the container that [`injected_container`] found.
pub(crate) fn cause_in_words(cause: &Cause, injected: Option<&Str>) -> String {
    match injected {
        Some(container) => format!("{cause} ({container}, not in the template)"),
        None => cause.to_string(),
    }
}

fn is_named(name: &Str, template: &Template) -> bool {
    template.containers().iter().any(|container| container.name == *name)
}
