//! Containers that are in a pod and not in its template: admission adds them while the pod is created, as meshes and agents of a platform do.
//! They come with every pod that is created from then on, whatever its revision (docs/kubernetes.md, *Why a pod is not healthy*).

use crate::engine::model::Str;
use crate::engine::model::cause::{Cause, CauseKind};
use crate::engine::model::facts::PodFact;
use crate::engine::model::template::Template;

/// The container that `cause` is about, where `template`, that of the pod's revision, does not name it. `None` where the cause is about
/// the pod as a whole.
pub(crate) fn injected_container<'a>(cause: &'a Cause, template: &Template) -> Option<&'a Str> {
    cause.container.as_ref().filter(|name| !is_named(name, template))
}

/// Whether a pod fails of such a container, and of none that its template names. A pod that is not available in time may have a cause
/// without a container: its containers tell which of them is not ready.
pub(crate) fn only_injected_fails(pod: &PodFact, cause: &Cause, template: &Template) -> bool {
    let named_are_ready = || pod.containers.iter().all(|it| it.ready || !is_named(&it.name, template));
    let has_another = || pod.containers.iter().any(|it| !is_named(&it.name, template));
    match &cause.container {
        Some(name) => !is_named(name, template),
        None => cause.kind == CauseKind::Deadline && has_another() && named_are_ready(),
    }
}

fn is_named(name: &Str, template: &Template) -> bool {
    template.containers().iter().any(|container| container.name == *name)
}
