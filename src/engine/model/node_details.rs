//! What is shown of a node as the cluster tells it, without a rule in between, each declared once, in the table below.
//!
//! An entry of the table is a field of [`NodeDetails`], which front ends get as
//! [`NodeView::details`](crate::engine::report::snapshot::NodeView::details). What the adapter and the simulated world read, the JSON of a node,
//! the columns of `status -o wide` and the line *Machine* on the node's page follow from it:
//!
//! ```text
//!     /// what it is
//!     Detail => field = "name in status.nodeInfo, and in the JSON", AboutDetail { wide, page };
//! ```

use serde::Serialize;

use super::Str;

/// The texts that belong to a detail.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AboutDetail {
    /// The head of its column in `status -o wide`.
    pub wide: &'static str,
    /// The word before it on the page of its node; empty if the value explains itself.
    pub page: &'static str,
}

macro_rules! node_details {
    ($($(#[$documentation:meta])* $Detail:ident => $field:ident = $reported:literal, $about:expr;)+) => {
        /// What is shown of a node as the cluster tells it, without a rule in between.
        #[derive(Clone, PartialEq, Eq, Debug, Default, Hash, Serialize)]
        pub struct NodeDetails {$(
            $(#[$documentation])*
            #[serde(rename = $reported, skip_serializing_if = "Option::is_none")]
            pub $field: Option<Str>,
        )+}

        /// One of them.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum NodeDetail {$(
            $(#[$documentation])*
            $Detail,
        )+}

        impl NodeDetail {
            /// All of them, in the order of the table.
            pub const ALL: [Self; [$($reported),+].len()] = [$(Self::$Detail),+];

            /// What it is called in `status.nodeInfo`, and in the JSON.
            pub fn reported(self) -> &'static str {
                match self {$(Self::$Detail => $reported,)+}
            }

            /// What the table says of it.
            pub fn about(self) -> AboutDetail {
                match self {$(Self::$Detail => $about,)+}
            }
        }

        impl NodeDetails {
            /// The details of a node, each with the value that `value` gives for it.
            pub fn of(mut value: impl FnMut(NodeDetail) -> Option<Str>) -> Self {
                Self {$($field: value(NodeDetail::$Detail),)+}
            }

            /// One of the values, where it is known.
            pub fn get(&self, detail: NodeDetail) -> Option<&Str> {
                match detail {$(NodeDetail::$Detail => self.$field.as_ref(),)+}
            }
        }
    };
}

node_details! {
    /// `status.nodeInfo.architecture`, such as `arm64`: which of an image's platforms its kubelet pulls.
    Architecture => architecture = "architecture", AboutDetail { wide: "ARCH", page: "" };
    /// `status.nodeInfo.kubeletVersion`, such as `v1.36.1`.
    KubeletVersion => kubelet_version = "kubeletVersion", AboutDetail { wide: "KUBELET", page: "kubelet" };
}

#[cfg(test)]
impl NodeDetails {
    /// With another value in each, and for each number: the beginning of its name, which is no wider than what clusters report, so that a
    /// column of the usual width cuts none.
    pub(crate) fn known(number: u32) -> Self {
        Self::of(|detail| Some(format!("{:.2}{number}", detail.reported()).into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_detail_keeps_its_place() {
        let details = NodeDetails::known(1);
        for detail in NodeDetail::ALL {
            assert_eq!(details.get(detail).map(|text| &**text), Some(&*format!("{:.2}1", detail.reported())));
        }
        let told = serde_json::to_value(&details).unwrap();
        let told =
            told.as_object().unwrap().iter().map(|(name, text)| (name.clone(), text.as_str().unwrap().to_owned()));
        let mut told: Vec<_> = told.collect();
        let mut all: Vec<_> =
            NodeDetail::ALL.map(|detail| (detail.reported().to_owned(), format!("{:.2}1", detail.reported()))).into();
        told.sort();
        all.sort();
        assert_eq!(told, all);
    }

    #[test]
    fn what_is_called_the_same_is_the_same() {
        let known = NodeDetails::known(1);
        for (nth, detail) in NodeDetail::ALL.into_iter().enumerate() {
            for other in &NodeDetail::ALL[..nth] {
                assert_ne!(detail.reported(), other.reported());
                assert_ne!(detail.about().wide, other.about().wide);
                assert_ne!(known.get(detail), known.get(*other), "a longer beginning tells them apart in `known`");
            }
        }
    }
}
