//! Finds the programs in `KUBEBUILDER_ASSETS` (envtest's convention), or else where `tests/control-plane/build` puts them.

use std::path::PathBuf;

use super::Unavailable;

const NAMES: [&str; 5] = ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"];

/// A directory that holds all five programs of one release, so that they fit each other.
#[derive(Clone, Debug)]
pub(super) struct Programs {
    directory: PathBuf,
}

impl Programs {
    pub(super) fn find() -> Result<Self, Unavailable> {
        const BUILD: &str = "build one with `tests/control-plane/build`";
        const UNSET: &str = "unset KUBEBUILDER_ASSETS and build one with `tests/control-plane/build`";
        let (directory, hint) = match std::env::var_os("KUBEBUILDER_ASSETS") {
            Some(assets) if !assets.is_empty() => (PathBuf::from(assets), UNSET),
            // Cargo's target directory is the parent of the one for tests' temporary files.
            _ => (PathBuf::from(env!("CARGO_TARGET_TMPDIR")).with_file_name("control-plane").join("bin"), BUILD),
        };
        let missing: Vec<_> = NAMES.into_iter().filter(|name| !directory.join(name).is_file()).collect();
        match missing.as_slice() {
            [] => Ok(Self { directory }),
            names => Err(Unavailable { missing: format!("no {} in {}", names.join(", "), directory.display()), hint }),
        }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }
}
