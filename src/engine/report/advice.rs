//! What an operator can do about a finding: [`Advice`], in parts. A part that asks for something that rolldeck does has its [`RemedyAct`], so that a
//! front end puts its key or its command beside these words and never has to look for them.

use std::borrow::Cow;
use std::fmt;

/// Something that an advice asks for and that rolldeck does.
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
    /// Let pre-warming go on that is paused.
    ResumePrewarm,
    /// End pre-warming.
    CancelPrewarm,
}

/// An advice, in words of its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Advice {
    parts: Vec<AdvicePart>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum AdvicePart {
    /// Words that ask for nothing that rolldeck does.
    Says(Cow<'static, str>),
    /// Words that ask for an act.
    Asks(&'static str, RemedyAct),
    /// What stands behind it is another way.
    Or,
}

impl AdvicePart {
    fn words(&self) -> &str {
        match self {
            Self::Says(words) => words,
            Self::Asks(words, _) => words,
            Self::Or => ", or ",
        }
    }
}

impl Advice {
    /// An advice that asks for something outside of rolldeck.
    pub fn says(words: impl Into<Cow<'static, str>>) -> Self {
        Self { parts: vec![AdvicePart::Says(words.into())] }
    }

    /// An advice that asks for `act` with these words.
    pub fn asks(words: &'static str, act: RemedyAct) -> Self {
        Self { parts: vec![AdvicePart::Asks(words, act)] }
    }

    /// The roll back.
    pub fn roll_back() -> Self {
        Self::asks("roll back", RemedyAct::RollBack)
    }

    /// This advice, and another way behind it.
    pub fn or(mut self, other: Self) -> Self {
        self.parts.push(AdvicePart::Or);
        self.then(other)
    }

    /// This advice, and `next` right behind it.
    pub fn then(mut self, next: Self) -> Self {
        self.parts.extend(next.parts);
        self
    }

    /// What it asks for that rolldeck does.
    pub fn acts(&self) -> impl Iterator<Item = RemedyAct> + '_ {
        self.parts.iter().filter_map(|part| match part {
            AdvicePart::Asks(_, act) => Some(*act),
            AdvicePart::Says(_) | AdvicePart::Or => None,
        })
    }

    /// The advice as text. After each part that asks for an act, `how(act)` follows in parentheses, if it returns something.
    pub fn with_acts(&self, how: impl Fn(RemedyAct) -> Option<String>) -> String {
        let part = |part: &AdvicePart| match part {
            AdvicePart::Asks(words, act) => match how(*act) {
                Some(how) => format!("{words} ({how})"),
                None => (*words).to_owned(),
            },
            AdvicePart::Says(_) | AdvicePart::Or => part.words().to_owned(),
        };
        self.parts.iter().map(part).collect()
    }

    /// The advice without the way that rolls back, where that is offered beside it already; `None` if it is nothing else.
    pub fn beside_a_roll_back(&self) -> Option<Self> {
        match self.parts.as_slice() {
            [AdvicePart::Asks(_, RemedyAct::RollBack)] => None,
            [before @ .., AdvicePart::Or, AdvicePart::Asks(_, RemedyAct::RollBack)] => {
                Some(Self { parts: before.to_vec() })
            }
            _ => Some(self.clone()),
        }
    }
}

impl From<&'static str> for Advice {
    fn from(words: &'static str) -> Self {
        Self::says(words)
    }
}

impl From<String> for Advice {
    fn from(words: String) -> Self {
        Self::says(words)
    }
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.parts.iter().try_for_each(|part| f.write_str(part.words()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A front end names an act behind the words that ask for it, and only there.
    #[test]
    fn behind_what_rolldeck_does_stands_how() {
        let how = |act: RemedyAct| Some(format!("{act:?}"));
        let image = Advice::asks("give it another image", RemedyAct::SetImage);
        for (advice, said, plain) in [
            (
                image.or(Advice::roll_back()),
                "give it another image (SetImage), or roll back (RollBack)",
                "give it another image, or roll back",
            ),
            (
                Advice::roll_back().then(" if others follow it".into()),
                "roll back (RollBack) if others follow it",
                "roll back if others follow it",
            ),
            (
                "leave it: neither a roll back nor another image helps".into(),
                "leave it: neither a roll back nor another image helps",
                "leave it: neither a roll back nor another image helps",
            ),
        ] {
            assert_eq!(advice.with_acts(how), said);
            assert_eq!(advice.with_acts(|_| None), plain);
            assert_eq!(advice.to_string(), plain);
        }
    }

    /// Where the roll back is offered already, an advice is what else it says.
    #[test]
    fn an_advice_beside_a_roll_back_is_what_else_it_says() {
        let beside = |advice: Advice| advice.beside_a_roll_back().map(|advice| advice.to_string());
        assert_eq!(beside(Advice::roll_back()), None);
        assert_eq!(beside(Advice::says("correct it").or(Advice::roll_back())).as_deref(), Some("correct it"));
        let follows = Advice::roll_back().then(" if others follow it".into());
        assert_eq!(beside(follows).as_deref(), Some("roll back if others follow it"));
        assert_eq!(beside("wait".into()).as_deref(), Some("wait"));
    }
}
