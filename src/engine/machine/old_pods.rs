//! Old pods in words.

use super::release::{OldPod, Service, Then};
use crate::engine::assess::rows::LATELY;
use crate::engine::model::time::ShortDuration;

/// The greatest number of nodes that a sentence names.
const NAMED: usize = 5;

/// `1 serving pod`, `5 serving pods`, `2 pods that serve or did within 5m`.
pub(crate) fn counted(pods: &[OldPod]) -> String {
    let serve = pods.iter().all(|pod| pod.service == Service::Serves);
    match (pods.len(), serve) {
        (1, true) => "1 serving pod".to_owned(),
        (count, true) => format!("{count} serving pods"),
        (1, false) => format!("1 pod that served within {}", ShortDuration(LATELY)),
        (count, false) => format!("{count} pods that serve or did within {}", ShortDuration(LATELY)),
    }
}

/// `1 pod is`, `5 pods are`.
pub(crate) fn pods_are(count: usize) -> String {
    if count == 1 { "1 pod is".to_owned() } else { format!("{count} pods are") }
}

/// `n1, n2 and 3 more (taint m=x:NoSchedule not tolerated)`. Of several reasons, only the first is named.
pub(crate) fn where_and_why(pods: &[OldPod]) -> String {
    let named: Vec<&str> = pods.iter().take(NAMED).map(|pod| &*pod.node).collect();
    let mut words = named.join(", ");
    if pods.len() > NAMED {
        words.push_str(&format!(" and {} more", pods.len() - NAMED));
    }
    let mut reasons: Vec<String> = Vec::new();
    for pod in pods {
        if let Then::Removed(Some(why)) = &pod.then {
            let why = why.to_string();
            if !reasons.contains(&why) {
                reasons.push(why);
            }
        }
    }
    match reasons.as_slice() {
        [] => words,
        [why] => format!("{words} ({why})"),
        [why, others @ ..] => format!("{words} ({why}; {} other reasons)", others.len()),
    }
}
