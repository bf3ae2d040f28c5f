//! What rolldeck itself can do of what a remedy says, so that a front end can put its key or command behind these words.

/// Something that a remedy asks for and that rolldeck does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RemedyAct {
    /// Give the DaemonSet another image.
    SetImage,
    /// Go back to an earlier revision.
    RollBack,
    /// Lower how many nodes pull at once.
    LimitPulls,
    /// Raise the progress deadline.
    RaiseDeadline,
    /// Bring an image onto nodes before their update.
    Prewarm,
    /// Drive the rollout.
    Drive,
    /// Let further nodes be updated.
    LetGo,
    /// Go on past failures.
    Resume,
    /// Pre-warm again where it failed.
    RetryPrewarm,
    /// End pre-warming.
    CancelPrewarm,
}

/// The words of remedies that ask for something that rolldeck does.
const WORDS: [(&str, RemedyAct); 14] = [
    ("give the DaemonSet an image that is there", RemedyAct::SetImage),
    ("correct the name of the image in the template", RemedyAct::SetImage),
    ("roll back", RemedyAct::RollBack),
    ("lower how many pull at once", RemedyAct::LimitPulls),
    ("raise the progress deadline", RemedyAct::RaiseDeadline),
    ("pre-warm the image", RemedyAct::Prewarm),
    ("drive it", RemedyAct::Drive),
    ("be updated", RemedyAct::LetGo),
    ("a resume", RemedyAct::Resume),
    ("then retry", RemedyAct::RetryPrewarm),
    ("retry makes it anew", RemedyAct::RetryPrewarm),
    ("or cancel it", RemedyAct::CancelPrewarm),
    ("deleted: cancel it", RemedyAct::CancelPrewarm),
    ("cancel ends it", RemedyAct::CancelPrewarm),
];

/// `remedy`, with what `how` says of an act in parentheses behind the words that ask for it. Where it says nothing the words stay as they are. A
/// remedy that begins with an advice against something (`leave …`) asks for nothing.
pub fn with_acts(remedy: &str, how: impl Fn(RemedyAct) -> Option<String>) -> String {
    let mut said = remedy.to_owned();
    if said.starts_with("leave ") {
        return said;
    }
    for (words, act) in WORDS {
        if let (Some(at), Some(how)) = (said.find(words), how(act)) {
            said.insert_str(at + words.len(), &format!(" ({how})"));
        }
    }
    said
}

#[cfg(test)]
mod tests {
    use super::super::remedies::about;
    use super::*;
    use crate::engine::model::cause::CauseKind;

    #[test]
    fn behind_what_rolldeck_does_stands_how() {
        let how = |act: RemedyAct| Some(format!("{act:?}"));
        for (remedy, said) in [
            (
                "give the DaemonSet an image that is there, or roll back",
                "give the DaemonSet an image that is there (SetImage), or roll back (RollBack)",
            ),
            ("roll back if others follow it", "roll back (RollBack) if others follow it"),
            (
                "raise the progress deadline, or roll back",
                "raise the progress deadline (RaiseDeadline), or roll back (RollBack)",
            ),
            (
                "leave it: neither a roll back nor another image helps",
                "leave it: neither a roll back nor another image helps",
            ),
            ("look at the node: power, link, kubelet", "look at the node: power, link, kubelet"),
        ] {
            assert_eq!(with_acts(remedy, how), said);
            assert_eq!(with_acts(remedy, |_| None), remedy);
        }
    }

    /// A remedy that is worded anew has to be found all the same.
    #[test]
    fn each_remedy_for_a_cause_that_rolldeck_carries_out_is_found() {
        let how = |act: RemedyAct| Some(format!("{act:?}"));
        let all: Vec<String> =
            CauseKind::ALL.into_iter().flat_map(about).map(|remedy| with_acts(remedy, how)).collect();
        for (act, times) in [("(SetImage)", 2), ("(RollBack)", 7), ("(LimitPulls)", 1), ("(RaiseDeadline)", 1)] {
            assert_eq!(all.iter().filter(|remedy| remedy.contains(act)).count(), times, "{act}: {all:#?}");
        }
    }
}
