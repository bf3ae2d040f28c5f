//! The target of kubectl commands that are offered for pasting: the same cluster as ours, with the same credentials.

use std::path::{Path, PathBuf};

use crate::engine::model::shell::shell_flag;

/// The kubeconfig that was given, if one was, and the context in use.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KubectlPlace {
    /// The path as it was given; `None`: kubectl's usual places.
    pub kubeconfig: Option<PathBuf>,
    /// The context's name.
    pub context: String,
}

impl KubectlPlace {
    /// `kubectl --kubeconfig /etc/edge --context prod version`, quoted for a shell. `None` if a name cannot be quoted safely.
    pub(super) fn command(&self, words: &str) -> Option<String> {
        let mut command = vec!["kubectl".to_owned()];
        if let Some(path) = &self.kubeconfig {
            command.push(kubeconfig_flag(path)?);
        }
        command.push(shell_flag("--context", &self.context)?);
        command.push(words.to_owned());
        Some(command.join(" "))
    }
}

/// `--kubeconfig /etc/edge`, with the absolute path, so that the command works in another directory. `None` if the path is
/// not UTF-8 or cannot be quoted safely.
pub(super) fn kubeconfig_flag(path: &Path) -> Option<String> {
    shell_flag("--kubeconfig", std::path::absolute(path).ok()?.to_str()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_names_the_kubeconfig_that_was_given() {
        let mut place = KubectlPlace { kubeconfig: None, context: "prod".into() };
        assert_eq!(place.command("version").unwrap(), "kubectl --context prod version");
        place.kubeconfig = Some("/etc/my edge".into());
        assert_eq!(place.command("version").unwrap(), "kubectl --kubeconfig '/etc/my edge' --context prod version");
        place.kubeconfig = Some("edge".into());
        assert!(
            place.command("version").unwrap().contains(" --kubeconfig /"),
            "it means the same in another directory"
        );
        place.context = "a\u{1b}[31m".into();
        assert_eq!(place.command("version"), None);
    }
}
