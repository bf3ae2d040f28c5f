//! The origin of an action: the host, the login, and the identity on the cluster.

use std::net::IpAddr;

use serde::Serialize;

use crate::engine::model::Str;

/// The origin of an action, with names and addresses only. It contains no credential.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Origin {
    /// The place.
    pub(crate) from: Place,
    /// The cluster, and who we are there.
    pub(crate) cluster: AuditedCluster,
}

/// The place where this process runs.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Place {
    /// The host.
    pub(crate) host: Str,
    /// The address from which the host was reached by SSH.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ssh: Option<Str>,
    /// The terminal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tty: Option<Str>,
    /// The user who became this user by `sudo`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sudo_user: Option<Str>,
}

/// The cluster, and who we are there.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AuditedCluster {
    /// The kubeconfig's context.
    pub(crate) context: Str,
    /// The API server's host and port.
    pub(crate) server: Str,
    /// The kubeconfig's name for our credentials.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) user: Option<Str>,
    /// Whom we impersonate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) impersonates: Option<Str>,
    /// Whether the cluster is a practice cluster inside this process. If so, nothing of it is real.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) practice: bool,
}

impl Place {
    /// Where this process runs.
    pub(crate) fn here() -> Self {
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let tty = rustix::termios::ttyname(std::io::stdin(), Vec::new()).ok();
        let tty = tty.and_then(|tty| tty.into_string().ok());
        Self::of(&host, tty.as_deref(), |name| std::env::var(name).ok())
    }

    fn of(host: &str, tty: Option<&str>, var: impl Fn(&str) -> Option<String>) -> Self {
        // `client-ip client-port server-ip server-port`. The user can set it to anything, so only a valid address is kept.
        let ssh = var("SSH_CONNECTION").or_else(|| var("SSH_CLIENT"));
        let ssh = ssh.and_then(|ssh| ssh.split_whitespace().next()?.parse::<IpAddr>().ok());
        Self {
            host: name(host).unwrap_or_default(),
            ssh: ssh.map(|address| address.to_string().into()),
            tty: tty.and_then(name),
            sudo_user: var("SUDO_USER").and_then(|user| name(&user)),
        }
    }
}

impl Origin {
    /// The origin in words, for an Event: `from 10.1.2.3, as kubernetes-admin`. Empty if there is nothing to say.
    pub(crate) fn words(&self) -> String {
        let Self { from, cluster } = self;
        let mut words = Vec::new();
        if let Some(ssh) = &from.ssh {
            words.push(format!("from {ssh}"));
        }
        if let Some(user) = &from.sudo_user {
            words.push(format!("by sudo of {user}"));
        }
        match (&cluster.impersonates, &cluster.user) {
            (Some(user), _) | (None, Some(user)) => words.push(format!("as {user}")),
            (None, None) => {}
        }
        words.join(", ")
    }
}

/// The printable ASCII characters of a name, without spaces, at most 128; `None` if there are none.
fn name(text: &str) -> Option<Str> {
    let kept: String = text.chars().filter(char::is_ascii_graphic).take(128).collect();
    (!kept.is_empty()).then(|| kept.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_address_is_taken_from_what_ssh_says() {
        let place = |ssh: &str| {
            let ssh = ssh.to_owned();
            Place::of("bastion-3", Some("/dev/pts/7"), move |name| (name == "SSH_CONNECTION").then(|| ssh.clone())).ssh
        };
        assert_eq!(place("10.1.2.3 50022 10.0.0.1 22").as_deref(), Some("10.1.2.3"));
        assert_eq!(place("fe80::1 50022 fe80::2 22").as_deref(), Some("fe80::1"));
        assert_eq!(place("$(reboot) 1 2 3"), None);
        assert_eq!(place(""), None);
    }

    #[test]
    fn an_event_says_from_where_and_as_whom() {
        let mut origin = Origin::default();
        assert_eq!(origin.words(), "");
        origin.from.ssh = Some("10.1.2.3".into());
        origin.cluster.user = Some("joe".into());
        assert_eq!(origin.words(), "from 10.1.2.3, as joe");
        origin.cluster.impersonates = Some("sre".into());
        assert_eq!(origin.words(), "from 10.1.2.3, as sre");
    }
}
