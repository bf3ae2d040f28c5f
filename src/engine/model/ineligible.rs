//! Why a node should not run the pod of a DaemonSet.

use std::fmt;

use super::Str;
use super::facts::Taint;

/// Why a node should not run the pod.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ineligible {
    /// The template names another node.
    OtherNode {
        /// Which.
        name: Str,
    },
    /// The node selector asks for a label that the node does not have.
    NodeSelector {
        /// The label's key.
        key: Str,
        /// The value that the selector asks for.
        value: Str,
    },
    /// No term of the required node affinity matches.
    Affinity,
    /// A taint is not tolerated. With `NoSchedule` a pod that runs there may stay, with `NoExecute` it has to go.
    Taint(Taint),
}

/// `taint m=x:NoSchedule not tolerated`, `node selector zone=a does not match`.
impl fmt::Display for Ineligible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherNode { name } => write!(f, "the template names node {name}"),
            Self::NodeSelector { key, value } => write!(f, "node selector {key}={value} does not match"),
            Self::Affinity => f.write_str("required node affinity does not match"),
            Self::Taint(Taint { key, value, effect }) => {
                let equals = if value.is_empty() { "" } else { "=" };
                write!(f, "taint {key}{equals}{value}:{effect:?} not tolerated")
            }
        }
    }
}
