//! Parsers of arguments: names, images, durations, files. An error says what is wrong and how the value is written.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::time::Duration;

use clap::builder::{StringValueParser, TypedValueParser};

use crate::audit::AuditLog;
use crate::config::nearest;
use crate::engine::model::image::ImageRef;
use crate::engine::model::printable::stripped;
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::settings::{Limit, Pace, Setting};

pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    text.parse::<jiff::SignedDuration>()
        .ok()
        .and_then(|span| Duration::try_from(span).ok())
        .ok_or_else(|| format!("`{text}` is not a duration; write `30s`, `5m` or `1h30m`"))
}

/// A time to wait. No time at all would end every command before it has begun.
pub(crate) fn patience(text: &str) -> Result<Duration, String> {
    match duration(text)? {
        Duration::ZERO => {
            Err(format!("`{text}` leaves no time at all: write `30s`, `5m` or `1h30m`, or leave `--timeout` out"))
        }
        time => Ok(time),
    }
}

/// The name of a namespace. Any other text could not be one, and would change the path of requests.
pub(crate) fn namespace(text: &str) -> Result<String, String> {
    let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    match text {
        "" => Err("it names no namespace: leave it out for the context's own one, or name one".to_owned()),
        text if text.len() <= 63 && edge(text.chars().next()) && edge(text.chars().last()) && text.chars().all(inner) => {
            Ok(text.to_owned())
        }
        _ => Err("a namespace's name is lower case letters, digits and `-`, at most 63: `rolldeck status -A` lists what is where".to_owned()),
    }
}

/// The name of a context of the kubeconfig.
pub(crate) fn context(text: &str) -> Result<String, String> {
    match text.is_empty() {
        true => Err("it names no context: leave it out for the current one; `kubectl config get-contexts` lists them"
            .to_owned()),
        false => Ok(text.to_owned()),
    }
}

/// Whom to impersonate: a user, a group or a uid.
pub(crate) fn somebody(text: &str) -> Result<String, String> {
    match text.trim().is_empty() {
        true => Err("it names nobody: leave it out to act as yourself, or name whom to impersonate".to_owned()),
        false => Ok(text.to_owned()),
    }
}

/// Takes a text that others will read: on one line, and without characters that could steer their terminals.
pub(crate) fn words() -> impl TypedValueParser<Value = String> {
    StringValueParser::new().map(|text| stripped(&text))
}

/// How many nodes may pull at once.
pub(crate) fn pull_limit(text: &str) -> Result<Limit, String> {
    match text.parse::<Limit>()? {
        Limit::At(IntOrPercent::Int(0) | IntOrPercent::Percent(0)) => {
            Err("with 0 pulls at a time nothing is pulled: give 1 or more, or use `--pause`".to_owned())
        }
        limit => Ok(limit),
    }
}

/// Whether limits of sites follow what their links bear.
pub(crate) fn pace(text: &str) -> Result<Pace, String> {
    Setting::Pace.read(text).map(|tuning| tuning.pace.unwrap_or_default())
}

pub(crate) fn revision(text: &str) -> Result<i64, String> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| format!("`{text}` is not the number of a revision, from 1, as `history` lists them"))
}

pub(crate) fn speed(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(speed) if (0.01..=10_000.0).contains(&speed) => Ok(speed),
        _ => Err(format!("`{text}` is not a factor between 0.01 and 10000")),
    }
}

/// A DaemonSet as it is typed: `ds/agent`, `daemonset/agent`, `daemonset.apps/agent`, `agent`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct DaemonSetName(pub(crate) String);

/// What stands for the kind, as kubectl has it.
const KINDS: [&str; 5] = ["ds", "daemonset", "daemonsets", "daemonset.apps", "daemonsets.apps"];

impl FromStr for DaemonSetName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let name = match text.split_once('/') {
            None => text,
            Some((kind, name)) if KINDS.contains(&kind) => name,
            Some((kind, name)) => {
                let why = format!("rolldeck rolls out DaemonSets, not `{kind}`");
                return Err(match nearest(&kind.to_lowercase(), KINDS) {
                    Some(meant) => format!("{why}: did you mean `{meant}/{name}`?"),
                    None => format!("{why}; write `ds/NAME` and `-n NAMESPACE`"),
                });
            }
        };
        let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
        let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let part = |part: &str| edge(part.chars().next()) && edge(part.chars().last()) && part.chars().all(inner);
        if name.len() <= 253 && name.split('.').all(part) {
            Ok(Self(name.to_owned()))
        } else if name.contains('/') {
            Err("it has a `/` too many; write `ds/NAME` and `-n NAMESPACE`".to_owned())
        } else {
            Err("a DaemonSet's name is lower case letters, digits, `-` and `.`, and begins and ends with a letter or a digit; write `ds/NAME`".to_owned())
        }
    }
}

/// `CONTAINER=IMAGE` as it is typed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ContainerImage {
    pub(crate) container: String,
    pub(crate) image: ImageRef,
}

impl FromStr for ContainerImage {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (container, image) = text
            .split_once('=')
            .ok_or_else(|| format!("`{text}` names no container; write `CONTAINER={text}`, or `*={text}` for all"))?;
        if container.is_empty() {
            return Err(format!("`{text}` names no container before the `=`"));
        }
        Ok(Self { container: container.to_owned(), image: image.parse()? })
    }
}

/// A log file as it is typed: `none` is no file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct LogTo(pub(crate) AuditLog);

impl FromStr for LogTo {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "" => Err("name a file, or `none`".to_owned()),
            "none" => Ok(Self(AuditLog::Nowhere)),
            path => Ok(Self(AuditLog::File(path.into()))),
        }
    }
}

/// Images by container. That none is named twice was checked with the command line.
pub(crate) fn by_container(images: &[ContainerImage]) -> BTreeMap<String, ImageRef> {
    images.iter().map(|ContainerImage { container, image }| (container.clone(), image.clone())).collect()
}

/// A count of at least 1.
pub(super) fn positive(text: &str) -> Result<u64, String> {
    text.parse().ok().filter(|count| *count > 0).ok_or_else(|| format!("`{text}` is not a count from 1: write `1000`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_daemonset_is_named_as_kubectl_does() {
        for text in ["agent", "ds/agent", "daemonset/agent", "daemonsets/agent", "daemonset.apps/agent"] {
            assert_eq!(text.parse(), Ok(DaemonSetName("agent".to_owned())), "{text}");
        }
        for text in [
            "",
            "ds/",
            "deploy/agent",
            "ds/Agent",
            "ds/-a",
            "edge/agent",
            "ds/a/b",
            "a/b/c",
            "..",
            "ds/..",
            "a..b",
            "a.-b",
        ] {
            assert!(text.parse::<DaemonSetName>().is_err(), "{text}");
        }
        for (text, meant) in
            [("dameonset/x", "daemonset/x"), ("DS/x", "ds/x"), ("daemonSets.app/x", "daemonsets.apps/x")]
        {
            let said = text.parse::<DaemonSetName>().unwrap_err();
            assert!(said.contains(&format!("did you mean `{meant}`?")), "{said}");
        }
    }

    #[test]
    fn an_image_needs_its_container() {
        let parsed: ContainerImage = "agent=registry.example:5000/agent:v2".parse().unwrap();
        assert_eq!((parsed.container.as_str(), parsed.image.as_str()), ("agent", "registry.example:5000/agent:v2"));
        for (text, why) in [
            ("registry.example/agent:v2", "names no container; write `CONTAINER=registry.example/agent:v2`"),
            ("=agent:v2", "before the `=`"),
            ("agent=Not An Image", "is not an image reference"),
        ] {
            let said = text.parse::<ContainerImage>().unwrap_err();
            assert!(said.contains(why), "{text}: {said}");
        }
    }

    #[test]
    fn a_time_to_wait_is_read_as_people_write_it() {
        assert_eq!(duration("1m30s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("2h"), Ok(Duration::from_secs(7_200)));
        assert!(duration("-5s").is_err());
        assert!(duration("soon").unwrap_err().contains("soon"));
        assert_eq!(patience("1ms"), Ok(Duration::from_millis(1)));
        assert!(patience("0s").unwrap_err().contains("leaves no time at all"));
    }
}
