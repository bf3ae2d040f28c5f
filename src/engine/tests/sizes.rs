//! What is kept of each node, of which there are thousands.

#[cfg(target_pointer_width = "64")]
#[test]
fn what_is_kept_of_each_node_stays_small() {
    use crate::engine::assess::rows::Row;
    use crate::engine::report::snapshot::NodeView;
    use crate::engine::view::{NodeEntry, PodEntry};

    // 15,000 nodes make 15 kB more of each byte. A value that few nodes have is boxed.
    let sizes = [size_of::<PodEntry>(), size_of::<NodeEntry>(), size_of::<Row>(), size_of::<NodeView>()];
    let at_most = [352, 304, 184, 368];
    assert!(sizes.iter().zip(at_most).all(|(size, most)| *size <= most), "{sizes:?} of {at_most:?}");
}
