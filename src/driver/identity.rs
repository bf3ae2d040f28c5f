//! The identity of this process, as Leases name their holder.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::engine::model::Str;

/// The identity of this process, as Leases name their holder: `ada@console-3/pts-4-pid4711-1f00c3a9`. If several people share an account,
/// the person precedes it: in `ada(ops)@console-3/pid4711-1f00c3a9` the account is `ops`, and `ada` is the impersonated user
/// (`--as`) or the user who ran `sudo`.
///
/// The part behind the slash distinguishes processes, and the rollouts that one process has open: no engine may take the Lease of
/// another engine for its own. It names the terminal, if the process has one, and the process id, so that a person finds the process among several of
/// one account; the digits at its end make it unique, also where process ids repeat (in containers, after a reboot). Versions before this one wrote
/// only those digits.
#[derive(Clone, Debug)]
pub(super) struct Identity {
    process: Str,
    opened: Arc<AtomicU32>,
}

impl Identity {
    /// The identity of this process, which impersonates `impersonates` on the cluster, if anybody.
    pub(super) fn new(impersonates: Option<&str>) -> Self {
        use std::hash::{BuildHasher, RandomState};
        let named = |names: &[&str]| {
            let values = names.iter().filter_map(|name| std::env::var(name).ok());
            values.map(|user| printable(&user)).find(|user| !user.is_empty())
        };
        let user = named(&["USER", "LOGNAME"]);
        // Only the name of `ada@example.org` is kept: the text after `@` would be read as a host.
        let impersonates = impersonates.and_then(|user| user.split('@').next()).map(printable);
        let person = impersonates.filter(|user| !user.is_empty()).or_else(|| named(&["SUDO_USER"]));
        let host = printable(&rustix::system::uname().nodename().to_string_lossy());
        // The hasher has random keys in every process; the identity only has to be unique.
        let process = RandomState::new().hash_one(std::process::id()) & 0xffff_ffff;
        // Jobs and containers may have no user name; then the uid replaces it.
        let user = user.unwrap_or_else(|| format!("uid{}", rustix::process::getuid().as_raw()));
        let who = match person {
            Some(person) if person != user => format!("{person}({user})"),
            _ => user,
        };
        let terminal = terminal().map(|terminal| format!("{terminal}-")).unwrap_or_default();
        let pid = std::process::id();
        let process = format!("{who}@{host}/{terminal}pid{pid}-{process:08x}");
        Self { process: process.into(), opened: Arc::default() }
    }

    #[cfg(test)]
    pub(super) fn for_tests(process: &str) -> Self {
        Self { process: process.into(), opened: Arc::default() }
    }

    /// The identity of the next rollout that is opened.
    pub(super) fn next(&self) -> Str {
        match self.opened.fetch_add(1, Ordering::Relaxed) {
            0 => self.process.clone(),
            nth => format!("{}.{nth}", self.process).into(),
        }
    }

    /// Whether `holder` is a rollout of this process.
    pub(super) fn is_us(&self, holder: &str) -> bool {
        holder.strip_prefix(&*self.process).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }
}

/// The terminal that this process reads from, as `ps` and `who` name it, with a dash for the slash: `pts-4` of `/dev/pts/4`. A dot would be taken for
/// the number of a rollout.
fn terminal() -> Option<String> {
    let name = rustix::termios::ttyname(std::io::stdin(), Vec::new()).ok()?;
    terminal_of(&name.to_string_lossy())
}

fn terminal_of(device: &str) -> Option<String> {
    let name = printable(&device.trim_start_matches("/dev/").replace(['/', '.'], "-"));
    (!name.is_empty()).then_some(name)
}

/// A name without characters that do not belong in a Lease or on a screen.
fn printable(name: &str) -> String {
    name.chars().filter(|c| c.is_ascii_graphic() && !matches!(c, '/' | '@')).take(63).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::model::person_of;

    #[test]
    fn every_rollout_has_an_identity_of_its_own_and_all_are_us() {
        let identity = Identity::new(None);
        let (first, second) = (identity.next(), identity.next());
        assert_ne!(first, second);
        assert!(identity.is_us(&first) && identity.is_us(&second));
        assert!(!identity.is_us(&Identity::new(None).next()));
        assert!(!identity.is_us(&format!("{first}0")));
        let (person, process) = first.rsplit_once('/').unwrap();
        let unique = process.rsplit_once(&format!("pid{}-", std::process::id())).map(|(_, unique)| unique.len());
        assert!(person.contains('@') && unique == Some(8) && !process.contains('.'), "{first}");
        assert_eq!(second, format!("{first}.1").into());
    }

    #[test]
    fn a_terminal_is_named_without_what_separates_the_parts_of_an_identity() {
        let named = ["/dev/pts/4", "/dev/console", "/dev/term.a/b", "/dev/"].map(terminal_of);
        assert_eq!(named, [Some("pts-4".to_owned()), Some("console".to_owned()), Some("term-a-b".to_owned()), None]);
    }

    #[test]
    fn who_is_impersonated_is_the_person() {
        let person = |impersonates: &str| person_of(&Identity::new(Some(impersonates)).next()).to_owned();
        assert!(person("jane@example.org").starts_with("jane("), "{}", person("jane@example.org"));
        assert_eq!(person("jane").matches('@').count(), 1, "{}", person("jane"));
        assert!(person("system:serviceaccount:edge:deployer").starts_with("system:serviceaccount:edge:deployer("));
        for nobody in ["", "@", "/"] {
            assert!(!person(nobody).starts_with('('), "{}", person(nobody));
        }
    }
}
