//! Pods for pre-warming.

use super::*;

impl FakeCluster {
    pub(super) fn make_warm_pod(&mut self, name: Str, node: Option<Str>, pod: &Value) -> WarmPodFact {
        (self.version, self.serial) = (self.version + 1, self.serial + 1);
        self.warm_made += 1;
        let labels = &pod["metadata"]["labels"];
        let label = |key: &str| Str::from(labels[key].as_str().unwrap());
        let uid: Str = format!("warm{}", self.serial).into();
        let waiting = ContainerState::Waiting { reason: "ContainerCreating".into(), message: None };
        let containers = pod["spec"]["containers"].as_array().unwrap().iter().map(|container| ContainerFact {
            name: container["name"].as_str().unwrap().into(),
            ..ContainerFact::in_state(waiting.clone())
        });
        let pod = PodFact {
            uid: uid.clone(),
            name,
            resource_version: self.version.to_string().into(),
            bound: node.is_some(),
            node,
            created_at: self.now,
            containers: containers.collect(),
            ..PodFact::default()
        };
        let set = labels[PREWARM_SET].as_str().map(Str::from);
        let attempt = labels[PREWARM_ATTEMPT].as_str().map(Str::from);
        let fact = WarmPodFact { pod, daemonset: label(PREWARM), images: label(PREWARM_IMAGES), attempt, set };
        self.warm.insert(uid, fact.clone());
        self.log.push(Event::WarmPod(Box::new(fact.clone())));
        fact
    }

    /// On which nodes pods for pre-warming are, in natural order.
    pub(crate) fn warm_nodes(&self) -> Vec<String> {
        let mut nodes: Vec<String> =
            self.warm.values().map(|warm| warm.pod.node.as_ref().unwrap().to_string()).collect();
        nodes.sort_by(|a, b| natord::compare(a, b));
        nodes
    }

    /// The uid of a node's pod for pre-warming.
    pub(crate) fn warm_on(&self, node: &str) -> Str {
        self.warm.values().find(|warm| warm.pod.node.as_deref() == Some(node)).unwrap().pod.uid.clone()
    }

    /// Changes what the kubelet says of a node's pod for pre-warming.
    pub(crate) fn change_warm_pod(&mut self, node: &str, change: impl FnOnce(&mut PodFact)) {
        self.version += 1;
        let version = self.version.to_string().into();
        let warm = self.warm.values_mut().find(|warm| warm.pod.node.as_deref() == Some(node)).unwrap();
        change(&mut warm.pod);
        warm.pod.resource_version = version;
        let fact = warm.clone();
        self.log.push(Event::WarmPod(Box::new(fact)));
    }

    /// A pod for pre-warming is evicted.
    pub(crate) fn take_warm_pod(&mut self, uid: &Str) {
        self.warm.remove(uid);
        self.log.push(Event::WarmPodGone(uid.clone(), None));
    }

    /// The images have arrived, and cannot sleep: the container ended at once.
    pub(crate) fn warm_arrives(&mut self, node: &str) {
        self.change_warm_pod(node, |pod| {
            for container in &mut pod.containers {
                container.image_present = true;
                container.state =
                    ContainerState::Terminated { reason: "StartError".into(), exit_code: 128, message: None };
            }
            pod.phase = PodPhase::Failed;
        });
    }

    /// The kubelet tells this of a node's pod for pre-warming in an Event.
    pub(crate) fn tell_of_warm_pod(&mut self, node: &str, reason: &str, message: &str) {
        self.version += 1;
        let pod = &self.warm.values().find(|warm| warm.pod.node.as_deref() == Some(node)).unwrap().pod;
        let event = ClusterEvent {
            version: Some(self.version),
            object: pod.uid.clone(),
            node: Some(node.into()),
            container: (reason == "Pulling").then(|| pod.containers[0].name.clone()),
            reason: reason.into(),
            message: message.into(),
            at: self.now,
            count: 1,
            ..ClusterEvent::default()
        };
        self.events.push(event.clone());
        self.log.push(Event::Cluster(Box::new(event)));
    }

    /// The kubelet begins to pull, and tells so.
    pub(crate) fn warm_pulls(&mut self, node: &str) {
        self.tell_of_warm_pod(node, "Pulling", "Pulling image \"agent:v2\"");
    }

    /// The pull failed, in these words.
    pub(crate) fn warm_fails(&mut self, node: &str, said: &str) {
        self.change_warm_pod(node, |pod| {
            pod.containers[0].state =
                ContainerState::Waiting { reason: "ErrImagePull".into(), message: Some(said.into()) };
        });
    }
}
