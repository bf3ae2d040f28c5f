//! Words that users know from k9s and kubectl, with their equivalents in this console.

/// The equivalent of a word that is no command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Elsewhere {
    /// A command that has another name here.
    Command(&'static str),
    /// A sentence that describes the replacement.
    Instead(&'static str),
}

/// The equivalent of `word`, if the word is known from elsewhere.
pub(crate) fn elsewhere(word: &str) -> Option<Elsewhere> {
    let word = word.to_ascii_lowercase();
    let only_daemonsets = "rolldeck shows DaemonSets, their nodes and pods; kubectl or k9s show the rest";
    Some(match &*word {
        "dss" => Elsewhere::Command("fleet"),
        "ev" | "event" => Elsewhere::Command("timeline"),
        "rev" | "revs" | "controllerrevisions" | "rollouts" => Elsewhere::Command("history"),
        "desc" => Elsewhere::Command("describe"),
        "sd" | "screendump" | "screendumps" => Elsewhere::Command("save"),
        "skin" | "skins" => Elsewhere::Command("theme"),
        "brb" => Elsewhere::Command("suspend"),
        "delete" | "del" | "kill" | "rm" | "drain" | "evict" => {
            Elsewhere::Instead("no pod is deleted by hand here: S lets the rollout replace more of them, U rolls back")
        }
        "restart" | "rollout" => {
            Elsewhere::Instead("there is no restart: I sets an image, and S replaces pods step by step")
        }
        "edit" | "apply" | "patch" | "scale" => Elsewhere::Instead(
            "objects are not edited here: I sets an image, L changes limits; kubectl edit does the rest",
        ),
        "shell" | "sh" | "exec" | "attach" | "cp" => Elsewhere::Instead(
            "nothing here opens a shell in a container: ctrl-y copies a kubectl command for the selected node",
        ),
        "pf" | "portforward" | "port-forward" => {
            Elsewhere::Instead("there are no port-forwards here: kubectl has them")
        }
        "cordon" | "uncordon" | "taint" => {
            Elsewhere::Instead("nodes are not changed here: kubectl cordon does; the rollout leaves cordoned nodes out")
        }
        "top" | "metrics" => {
            Elsewhere::Instead("there are no metrics here: m shows the map, i what is wrong, T what happened")
        }
        "pulses" | "pulse" => Elsewhere::Instead(
            "there is no dashboard of the cluster here: its DaemonSets are in the list, and m shows a map of the nodes of one",
        ),
        "xray" => Elsewhere::Instead(
            "there is no tree of objects here: enter on a node shows its pod and the containers, v the revisions",
        ),
        "popeye" => Elsewhere::Instead("nothing here checks the whole cluster: i says what is wrong with a rollout"),
        "deploy" | "deployment" | "deployments" | "dp" | "sts" | "statefulsets" | "rs" | "replicasets" | "job"
        | "jobs" | "cj" | "cronjobs" | "svc" | "services" | "ing" | "cm" | "configmaps" | "sec" | "secrets" | "pv"
        | "pvc" | "sa" | "crd" | "crds" | "hpa" | "pdb" | "sc" | "ep" | "np" | "roles" | "rb" | "all" => {
            Elsewhere::Instead(only_daemonsets)
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::action::named;

    #[test]
    fn what_they_lead_to_is_there() {
        for word in ["dss", "ev", "event", "revs", "desc", "sd", "skin", "brb"] {
            let Some(Elsewhere::Command(name)) = elsewhere(word) else { panic!("{word}") };
            assert!(named(name).is_some(), "{word} leads to {name}");
            assert!(named(word).is_none(), "{word} is a command");
        }
        // Each is told of what it is in k9s.
        let told = |word: &str| match elsewhere(word) {
            Some(Elsewhere::Instead(told)) => told,
            other => panic!("{word}: {other:?}"),
        };
        for (word, what) in
            [("top", "metrics"), ("pulse", "dashboard"), ("xray", "tree of objects"), ("popeye", "checks")]
        {
            assert!(told(word).contains(what), "{word}: {}", told(word));
        }
        for word in ["deploy", "SVC", "delete", "shell", "edit", "pf", "xray"] {
            let lower = word.to_lowercase();
            assert!(matches!(elsewhere(word), Some(Elsewhere::Instead(_))) && named(&lower).is_none(), "{word}");
        }
        assert_eq!(elsewhere("frobnicate"), None);
    }
}
