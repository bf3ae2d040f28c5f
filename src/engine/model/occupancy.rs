//! The pods that hold resources which a pod lacks on its node, read when somebody asks for them.

use super::Str;
use super::amount::Amount;

/// The most pods that are named.
const NAMED: usize = 5;

/// The resources that a pod lacks on a node, and what the pods there hold of them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NodeOccupancy {
    /// The resources that the pod lacks.
    pub resources: Vec<HeldResource>,
    /// How many pods the node has that have not ended.
    pub pods: u32,
    /// Whether the node has more pods than were read.
    pub is_cut: bool,
}

/// A resource that a pod lacks.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HeldResource {
    /// Its name.
    pub name: Str,
    /// The amount that the pod asks for.
    pub request: Amount,
    /// The amount that pods may have on the node; `None`: the node could not be read.
    pub allocatable: Option<Amount>,
    /// The amount that the pods on the node have asked for.
    pub requested: Amount,
    /// The pods that asked for it, the largest request first.
    pub holders: Vec<ResourceHolder>,
}

/// A pod that holds some of a resource.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ResourceHolder {
    /// Its namespace.
    pub namespace: Str,
    /// Its name.
    pub name: Str,
    /// The amount that it asked for.
    pub request: Amount,
    /// Its priority if that is higher than the lacking pod's, so that the lacking pod never takes its place.
    pub higher_priority: Option<i64>,
}

impl NodeOccupancy {
    /// The lines about it: two for each resource.
    pub fn lines(&self, node: &str) -> Vec<String> {
        self.resources.iter().flat_map(|resource| resource.lines(node, self)).collect()
    }
}

impl HeldResource {
    fn lines(&self, node: &str, occupancy: &NodeOccupancy) -> [String; 2] {
        let Self { name, request, allocatable, requested, holders } = self;
        let of = |amount: &Amount| amount.of(name).to_string();
        let allocatable = allocatable.as_ref().map_or_else(|| "?".to_owned(), of);
        let count = occupancy.pods;
        let more = if occupancy.is_cut { " or more" } else { "" };
        let plural = if count == 1 { "" } else { "s" };
        let head = format!(
            "{name} of {node}: {allocatable} allocatable, {}{more} requested by {count}{more} pod{plural}, this pod asks for {}",
            of(requested),
            of(request)
        );
        if holders.is_empty() {
            return [head, format!("no pod there asks for {name}: the node has less than this pod asks for")];
        }
        let mut held: Vec<String> = holders.iter().take(NAMED).map(|holder| holder.words(name)).collect();
        if holders.len() > NAMED {
            held.push(format!("… ({} more)", holders.len() - NAMED));
        }
        [head, format!("held by {}", held.join(", "))]
    }
}

impl ResourceHolder {
    fn words(&self, resource: &str) -> String {
        let Self { namespace, name, request, higher_priority } = self;
        let priority = higher_priority.map(|priority| format!(" (higher priority: {priority})")).unwrap_or_default();
        format!("{namespace}/{name} {}{priority}", request.of(resource))
    }
}

/// The resources that the scheduler's message names as too scarce, as in `1 Insufficient cpu, 1 Too many pods`.
pub fn lacking_resources(message: &str) -> Vec<Str> {
    // The rest of the message is about preemption, and names the resources again.
    let message = message.split(" preemption: ").next().unwrap_or_default();
    let mut names: Vec<Str> = Vec::new();
    for clause in message.split([',', ':']) {
        let clause = clause.trim().trim_end_matches('.');
        let name = match clause.split_once("Insufficient ") {
            Some((_, name)) => name.split_whitespace().next(),
            None => clause.ends_with("Too many pods").then_some("pods"),
        };
        if let Some(name) = name.map(Str::from).filter(|name| !names.contains(name)) {
            names.push(name);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scheduler_names_what_is_scarce() {
        let names = |message: &str| lacking_resources(message).iter().map(ToString::to_string).collect::<Vec<_>>();
        let message = "0/14 nodes are available: 1 Insufficient cpu, 1 Insufficient example.com/gpu, 1 Too many pods, 13 \
                       node(s) didn't match Pod's node affinity/selector. preemption: 0/14 nodes are available: 1 \
                       Insufficient memory.";
        assert_eq!(names(message), ["cpu", "example.com/gpu", "pods"]);
        assert_eq!(names("0/3 nodes are available: 1 Insufficient memory."), ["memory"]);
        assert_eq!(names("0/3 nodes are available: 1 Too many pods"), ["pods"]);
        assert!(
            names("0/3 nodes are available: 1 node(s) didn't have free ports for the requested pod ports.").is_empty()
        );
    }

    #[test]
    fn the_largest_are_named_with_a_priority_that_is_higher() {
        let holder = |nth: u32| ResourceHolder {
            namespace: "edge".into(),
            name: format!("p{nth}").into(),
            request: Amount::whole(9 - nth),
            higher_priority: (nth == 0).then_some(2_000_001_000),
        };
        let resource = HeldResource {
            name: "cpu".into(),
            request: Amount::parse("200m").unwrap(),
            allocatable: Some(Amount::whole(40)),
            requested: Amount::parse("39900m").unwrap(),
            holders: (0..7).map(holder).collect(),
        };
        let occupancy = NodeOccupancy { resources: vec![resource.clone()], pods: 9, is_cut: false };
        assert_eq!(
            occupancy.lines("ipc-1"),
            [
                "cpu of ipc-1: 40 allocatable, 39900m requested by 9 pods, this pod asks for 200m",
                "held by edge/p0 9 (higher priority: 2000001000), edge/p1 8, edge/p2 7, edge/p3 6, edge/p4 5, … (2 more)",
            ]
        );
        let none = HeldResource { holders: Vec::new(), allocatable: None, ..resource };
        let occupancy = NodeOccupancy { resources: vec![none], pods: 1, is_cut: true };
        assert_eq!(
            occupancy.lines("ipc-1"),
            [
                "cpu of ipc-1: ? allocatable, 39900m or more requested by 1 or more pod, this pod asks for 200m",
                "no pod there asks for cpu: the node has less than this pod asks for",
            ]
        );
    }
}
