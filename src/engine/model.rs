//! Values, and nothing else: what the cluster shows, what is recorded, what operators ask, what is sent, what happened.
//!
//! All other parts of the engine may use these values. The values use no other part, and no two of these files import each other in a
//! circle.
//!
//! ```text
//! facts      objects of the cluster, as far as anybody here reads them      template, labels, image, quantity, time: their parts
//! event      what watches tell                                              effect: what is to be written, and what came of it
//! record     what is kept in the Lease                                      settings: budgets, gates and policies, one by one
//! command    what operators ask                                             rollout_event: what happened; notice: what is said once
//! ```

pub mod amount;
pub mod budget;
pub mod cause;
pub(crate) mod change_request;
pub mod clocks;
pub mod command;
pub mod comparison;
pub mod config;
pub mod container_log;
pub mod danger;
pub mod disruption;
pub mod driver;
pub mod effect;
pub mod estimate;
pub mod event;
pub mod facts;
pub mod failing_nodes;
pub(crate) mod first_names;
pub mod fleet_state;
pub mod gitops_owner;
pub mod halting_gate;
pub mod hold;
pub mod image;
pub mod images_on_nodes;
pub mod ineligible;
pub mod inspection;
pub mod kubectl_command;
pub mod labels;
pub(crate) mod name_index;
pub mod node;
pub mod node_details;
pub mod notice;
pub mod occupancy;
pub mod pace;
pub mod pod_wait;
pub mod presence;
pub mod prewarm;
pub mod printable;
pub mod pull;
pub mod quantity;
pub mod record;
pub mod released_strategy;
pub mod roll_back;
pub mod rollout_event;
pub mod settings;
pub mod shell;
pub mod site;
pub mod starting_pod;
pub mod step_ahead;
pub mod suspect;
pub mod template;
pub mod time;
pub mod unsent;
pub(crate) mod version;
pub mod wait;
pub(crate) mod with_all;

/// A string that is shared rather than copied.
pub type Str = std::sync::Arc<str>;

/// The person of an identity, without the part that only tells processes apart: `ops@bastion` of `ops@bastion/3f9a1c`.
pub fn person_of(identity: &str) -> &str {
    identity.rsplit_once('/').map_or(identity, |(person, _)| person)
}

/// Whether two identities are of one process, which numbers the rollouts that it opens: `ops@bastion/3f9a1c` and `ops@bastion/3f9a1c.1`.
pub(crate) fn is_same_process(one: &str, other: &str) -> bool {
    let process = |identity: &str| {
        let (person, process) = identity.rsplit_once('/')?;
        Some((person.to_owned(), process.split('.').next()?.to_owned()))
    };
    one == other || process(one).is_some_and(|one| process(other) == Some(one))
}

/// The terminal and the process id that an identity names: `pts/4` and `4711` of `ops@bastion/pts-4-pid4711-3f9a1c77`. `None` for an identity that
/// does not name them, as earlier versions wrote them.
pub fn process_of(identity: &str) -> Option<(Option<String>, u32)> {
    let (_, process) = identity.rsplit_once('/')?;
    let (named, _unique) = process.rsplit_once('-')?;
    let (terminal, pid) = match named.rsplit_once('-') {
        Some((terminal, pid)) => (Some(terminal.replacen('-', "/", 1)), pid),
        None => (None, named),
    };
    Some((terminal, pid.strip_prefix("pid")?.parse().ok()?))
}

/// The identity without the digits that only make it unique: `ops@bastion/pid4711` of `ops@bastion/pid4711-3f9a1c77.1`; the person, where nothing
/// else stands behind the slash.
pub fn process_in_brief(identity: &str) -> &str {
    match process_of(identity).and_then(|_| identity.rsplit_once('-')) {
        Some((brief, _)) => brief,
        None => person_of(identity),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_name_their_process_and_those_of_earlier_versions_stay_readable() {
        for (identity, person, brief, process) in [
            (
                "ada@b-3/pts-4-pid4711-3f9a1c77",
                "ada@b-3",
                "ada@b-3/pts-4-pid4711",
                Some((Some("pts/4".to_owned()), 4711)),
            ),
            ("ada@b-3/pid4711-3f9a1c77.12", "ada@b-3", "ada@b-3/pid4711", Some((None, 4711))),
            ("ada@b-3/3f9a1c77.1", "ada@b-3", "ada@b-3", None),
            ("uid0@host/073baad4-5d1f", "uid0@host", "uid0@host", None),
            (
                "system:serviceaccount:edge:a-b",
                "system:serviceaccount:edge:a-b",
                "system:serviceaccount:edge:a-b",
                None,
            ),
        ] {
            assert_eq!(
                (person_of(identity), process_in_brief(identity), process_of(identity)),
                (person, brief, process)
            );
        }
    }
}
