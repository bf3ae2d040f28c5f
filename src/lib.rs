//! rolldeck rolls out Kubernetes DaemonSets node by node, safely.
