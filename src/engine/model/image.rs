//! Image references: enough of their grammar to refuse what cannot be pulled, and to say what changed.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::Str;

/// A reference that a container runtime would accept: `[registry/]repository[:tag][@digest]`.
///
/// The rule is that of the distribution project's `reference` package; the text is kept as it was written.
#[derive(Clone, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub struct ImageRef(Str);

impl ImageRef {
    /// The reference as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The part of the reference that tells versions apart: the tag, else the digest, else `latest`.
    pub fn version(&self) -> &str {
        version_of(&self.0)
    }
}

/// `image` without a name and password before its registry. No runtime takes such a reference, but a template may hold one, and the
/// password must not be shown.
pub fn without_user(image: &str) -> &str {
    let is_digest = |rest: &str| rest.split_once(':').is_some_and(|(_, sum)| sum.len() >= 32 && !sum.contains('/'));
    match image.rsplit_once('@') {
        Some((_, rest)) if !is_digest(rest) => rest,
        Some((named, _)) => {
            named.rsplit_once('@').map_or(image, |(user, _)| image.get(user.len() + 1..).unwrap_or(image))
        }
        None => image,
    }
}

/// The tag of `image`, else its digest, else `latest` (what a runtime would pull).
pub fn version_of(image: &str) -> &str {
    let image = without_user(image);
    let (named, digest) = image.split_once('@').map_or((image, None), |(named, digest)| (named, Some(digest)));
    let last = named.rsplit('/').next().unwrap_or(named);
    match (last.split_once(':'), digest) {
        (Some((_, tag)), _) => tag,
        (None, Some(digest)) => digest,
        (None, None) => "latest",
    }
}

/// Whether the versions alone would hide the change between two images: `v1 → v1`, or `v1 → latest` of another repository.
pub fn hidden_by_versions(from: &str, to: &str) -> bool {
    repository_of(from) != repository_of(to) || version_of(from) == version_of(to)
}

/// Whether `image` is named by its digest, so that its content never changes.
pub fn is_by_digest(image: &str) -> bool {
    without_user(image).contains('@')
}

/// `image` without tag and digest.
pub fn repository_of(image: &str) -> &str {
    let named = image.split('@').next().unwrap_or(image);
    let last = named.rfind('/').map_or(0, |slash| slash + 1);
    named[last..].find(':').map_or(named, |colon| &named[..last + colon])
}

/// `image` in the long form that runtimes report: `docker.io/library/nginx:latest` for `nginx`, and without its tag where a digest follows: of
/// `agent:v2@sha256:…` they list `agent@sha256:…` alone.
pub fn normalized(image: &str) -> String {
    let first = image.split('/').next().unwrap_or_default();
    let has_registry = image.contains('/') && (first.contains(['.', ':']) || first == "localhost");
    let long = match (has_registry, image.contains('/')) {
        (true, _) => image.to_owned(),
        (false, true) => format!("docker.io/{image}"),
        (false, false) => format!("docker.io/library/{image}"),
    };
    if let Some((_, digest)) = long.split_once('@') {
        return format!("{}@{digest}", repository_of(&long));
    }
    let tagged = long.rsplit('/').next().is_some_and(|last| last.contains(':'));
    if tagged { long } else { format!("{long}:latest") }
}

/// The registry that `image` is pulled from: `docker.io` for `nginx`.
pub fn registry_of(image: &str) -> String {
    normalized(image).split('/').next().unwrap_or_default().to_owned()
}

/// Whether two image references name the same repository.
pub fn is_same_repository(was: &str, new: &str) -> bool {
    repository_of(&normalized(was)) == repository_of(&normalized(new))
}

/// Warnings about changes between two image references that may be mistakes: another repository, or a digest that is no longer named.
pub fn change_warnings(was: &str, new: &str, arrow: &str) -> Vec<String> {
    let mut warnings = Vec::new();
    if !is_same_repository(was, new) {
        let (from, to) = (registry_of(was), registry_of(new));
        // Another registry implies another repository.
        warnings.push(match from == to {
            true => "repository changes!".to_owned(),
            false => format!("registry changes! {from} {arrow} {to}"),
        });
    }
    if is_by_digest(was) && !is_by_digest(new) {
        warnings.push("no longer by digest: what the tag names can change".to_owned());
    }
    warnings
}

impl FromStr for ImageRef {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let refuse = |why: &str| Err(format!("`{text}` is not an image reference: {why}"));
        if text.trim().is_empty() {
            return Err("no image is given: write for example `registry.example/agent:v2`".to_owned());
        }
        let (named, digest) = text.split_once('@').map_or((text, None), |(named, digest)| (named, Some(digest)));
        if let Some(digest) = digest {
            let hex = |text: &str| text.len() >= 32 && text.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f'));
            if !digest.split_once(':').is_some_and(|(algorithm, sum)| !algorithm.is_empty() && hex(sum)) {
                return refuse("after `@` comes a digest like `sha256:` and 64 hexadecimal digits");
            }
        }
        let repository = repository_of(named);
        if let Some(tag) = named[repository.len()..].strip_prefix(':') {
            let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
            let first = tag.chars().next().is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
            if !first || tag.len() > 128 || !tag.chars().all(inner) {
                return refuse("a tag is 1 to 128 letters, digits, `_`, `.`, `-`, and starts with none of `.` and `-`");
            }
        }
        let mut parts = repository.split('/').peekable();
        if repository.is_empty() {
            return refuse("the repository is missing");
        }
        if repository.len() > 255 {
            return refuse("the repository is longer than 255 characters");
        }
        let first = parts.peek().copied().unwrap_or_default();
        if repository.contains('/') && (first.contains(['.', ':']) || first == "localhost") {
            let host = first.split(':').next().unwrap_or_default();
            let host_fits = host.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-'));
            let port_fits = first.split_once(':').is_none_or(|(_, port)| port.parse::<u16>().is_ok());
            if host.is_empty() || !host_fits || !port_fits {
                return refuse("the registry is not `host` or `host:port`");
            }
            parts.next();
        }
        for part in parts {
            let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
            let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '_' | '-');
            if !edge(part.chars().next()) || !edge(part.chars().last()) || !part.chars().all(inner) {
                return refuse("a repository is lower case letters, digits, `.`, `_`, `-`, in parts split by `/`");
            }
        }
        Ok(Self(text.into()))
    }
}

impl fmt::Display for ImageRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for ImageRef {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for ImageRef {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_versions_alone_would_hide_is_told_whole() {
        assert!(hidden_by_versions("r.example/agent:v1", "r.example/agent-ng"));
        assert!(hidden_by_versions("r.example/agent:v1", "mirror.example/agent:v1"));
        assert!(!hidden_by_versions("r.example/agent:v1", "r.example/agent:v2"));
    }

    #[test]
    fn a_tag_beside_a_digest_is_not_listed() {
        for image in ["agent@sha256:0f", "agent:v2@sha256:0f", "docker.io/library/agent:v3@sha256:0f"] {
            assert_eq!(normalized(image), "docker.io/library/agent@sha256:0f");
        }
        assert_eq!(normalized("localhost:5000/agent:v2@sha256:0f"), "localhost:5000/agent@sha256:0f");
        assert_eq!(normalized("localhost:5000/agent"), "localhost:5000/agent:latest");
    }

    #[test]
    fn accepts_what_runtimes_accept() {
        let digest = format!("registry.example:5000/team/agent@sha256:{}", "0f".repeat(32));
        for text in ["nginx", "nginx:1.27", "team/agent:v1_2.3-rc", "localhost/agent", "r.example/a/b-c:1", &digest] {
            assert_eq!(text.parse::<ImageRef>().map(|image| image.to_string()), Ok(text.to_owned()));
        }
    }

    #[test]
    fn refuses_what_can_never_be_pulled() {
        for text in
            ["", ":v1", "Nginx", "nginx:", "nginx:-x", "a//b", "nginx@sha256:12", "a b", "r.example:port/x", "x:y:z"]
        {
            assert!(text.parse::<ImageRef>().is_err(), "{text}");
        }
    }

    #[test]
    fn tells_repository_and_version() {
        for (image, repository, version) in [
            ("nginx", "nginx", "latest"),
            ("r.example:5000/agent:v2", "r.example:5000/agent", "v2"),
            ("r.example:5000/agent", "r.example:5000/agent", "latest"),
        ] {
            assert_eq!((repository_of(image), version_of(image)), (repository, version));
        }
        let digest = format!("r.example/agent:v1@sha256:{}", "0f".repeat(32));
        assert_eq!(version_of(&digest), "v1");
        for (image, plain) in [
            ("joe:pw@r.example/agent:v1", "r.example/agent:v1"),
            ("joe:p@w@r.example:5000/agent:v1", "r.example:5000/agent:v1"),
            (&format!("joe:pw@{digest}"), &digest),
            (&digest, &digest),
        ] {
            assert_eq!(without_user(image), plain);
            assert_eq!(version_of(image), "v1");
        }
        assert_eq!(normalized("nginx"), "docker.io/library/nginx:latest");
        assert_eq!(normalized("team/agent:v1"), "docker.io/team/agent:v1");
        assert_eq!(normalized("r.example/agent"), "r.example/agent:latest");
    }
}
