//! Whether admission gives pods another pull policy than their template has, as the admission plugin `AlwaysPullImages` does: then their
//! kubelets ask the registry for images that are on the node already (docs/kubernetes.md, *Image pulls*).
//!
//! The pod that was made last tells what admission does now.

use super::View;
use crate::engine::model::facts::PodFact;
use crate::engine::model::image::is_by_digest;
use crate::engine::model::template::{NeededImage, Template};
use crate::engine::model::time::Timestamp;

/// The verdict of the pod that was made last.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AdmittedPolicy {
    /// When it was made; `None`: no pod tells anything yet.
    told_at: Option<Timestamp>,
    /// It has policy `Always` where its template has another one.
    always: bool,
}

impl View {
    /// Whether a kubelet asks the registry for this image even if it is present, so that its presence proves nothing.
    pub(crate) fn pulls_again(&self, needed: &NeededImage) -> bool {
        needed.pulls_again || (self.admitted_policy.always && !is_by_digest(&needed.image))
    }

    /// Whether this holds for any of the template's images.
    pub(crate) fn pulls_any_again(&self, template: &Template) -> bool {
        template.needed_images().iter().any(|needed| self.pulls_again(needed))
    }

    /// Takes in what a pod tells of admission.
    pub(super) fn note_pull_policy(&mut self, pod: &PodFact) {
        let before = self.admitted_policy;
        let is_ours = pod.owner.is_some() && pod.owner.as_ref() == self.daemonset.as_ref().map(|it| &it.uid);
        if !is_ours || before.told_at.is_some_and(|told_at| pod.created_at < told_at) {
            return;
        }
        let Some(always) = self.policy_of(pod) else { return };
        // Pods are dated in whole seconds: of two pods of the same second, one with `Always` decides.
        let always = always || (before.told_at == Some(pod.created_at) && before.always);
        self.admitted_policy = AdmittedPolicy { told_at: Some(pod.created_at), always };
        self.touched.all |= before.always != always;
    }

    /// Takes in what all pods tell, once it is known whose they are, or of which template.
    pub(super) fn note_pull_policies(&mut self) {
        if self.admitted_policy.told_at.is_some() {
            return;
        }
        let told = self.own_pods().filter_map(|pod| Some((pod.created_at, self.policy_of(pod)?)));
        if let Some((told_at, always)) = told.max() {
            self.admitted_policy = AdmittedPolicy { told_at: Some(told_at), always };
            self.touched.all = true;
        }
    }

    /// Whether the pod has policy `Always` where its template has another one; `None` where the template leaves no choice, or is not known.
    fn policy_of(&self, pod: &PodFact) -> Option<bool> {
        let template = &self.revision(pod.revision.as_ref()?)?.template;
        let mut others = template.containers().iter().filter(|container| !container.pulls_again).peekable();
        others.peek()?;
        Some(others.any(|container| pod.always_pulled.contains(&container.name)))
    }
}
