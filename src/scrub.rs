//! Removes secrets from a text before it is stored: a server's message may repeat what was sent to the server or to a proxy before it.
//!
//! ```text
//!  Authorization: Bearer eyJhbGciOi…        Authorization: ***
//!  https://joe:pw@proxy.example/            https://***@proxy.example/
//!  joe:pw@registry.example/agent:v2         ***@registry.example/agent:v2
//!  DB_PASSWORD=hunter2                      DB_PASSWORD=***
//!  …value: Invalid value: "hunter2": must   …value: Invalid value: ***: must
//! ```
//!
//! Secrets whose values are known are removed first ([`Secrets`]). Other secrets are recognised by their shape or by the
//! text around them (`rules.rs`). In doubt more is removed than necessary. The time is proportional to the length of the
//! text.

mod rules;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use regex::{Captures, Regex};

use self::rules::Recogniser;

/// The replacement for a secret.
pub(crate) const GONE: &str = "***";
/// A known value shorter than this is not removed: it would also match parts of ordinary words.
const SHORTEST: usize = 5;

/// Secrets whose values are known. The source is asked for each text, because credentials are renewed during a session.
#[derive(Clone)]
pub(crate) struct Secrets(Arc<dyn Fn() -> Vec<String> + Send + Sync>);

impl Default for Secrets {
    fn default() -> Self {
        Self::new(Vec::new)
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({})", self.0().len())
    }
}

impl Secrets {
    /// The secrets that `source` knows at the moment at which a text is scrubbed.
    pub(crate) fn new(source: impl Fn() -> Vec<String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(source))
    }

    /// `text` without secrets.
    pub(crate) fn scrub<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match without_known(text, self.0()) {
            Cow::Borrowed(text) => scrub(text),
            Cow::Owned(text) => Cow::Owned(scrub(&text).into_owned()),
        }
    }
}

/// `text` without these values. Values of less than five bytes stay: they would also match parts of ordinary words.
pub(crate) fn without_known(text: &str, mut known: Vec<String>) -> Cow<'_, str> {
    known.retain(|secret| secret.trim().len() >= SHORTEST && text.contains(secret.trim()));
    if known.is_empty() {
        return Cow::Borrowed(text);
    }
    // One secret may be part of another, so the longest is removed first.
    known.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    Cow::Owned(known.iter().fold(text.to_owned(), |text, secret| text.replace(secret.trim(), GONE)))
}

/// `text` without everything that looks like a secret.
pub(crate) fn scrub(text: &str) -> Cow<'_, str> {
    rules::all().iter().fold(Cow::Borrowed(text), |text, recogniser| match without(recogniser, &text) {
        Some(kept) => Cow::Owned(kept),
        None => text,
    })
}

/// `text` without the secrets that one rule recognises; `None` where it recognises none.
fn without(Recogniser { regex, is_secret }: &Recogniser, text: &str) -> Option<String> {
    let mut kept = String::new();
    let mut from = 0;
    for found in regex.captures_iter(text) {
        let Some((begin, end)) = secret_in(regex, &found) else { continue };
        let (Some(whole), Some(secret)) = (found.get(0), text.get(begin..end)) else { continue };
        if is_secret(whole.as_str(), secret) {
            kept.push_str(text.get(from..begin).unwrap_or_default());
            kept.push_str(GONE);
            from = end;
        }
    }
    (from > 0).then(|| kept + text.get(from..).unwrap_or_default())
}

/// The position of the secret: the only group of the rule that took part in the match.
fn secret_in(regex: &Regex, found: &Captures<'_>) -> Option<(usize, usize)> {
    (1..regex.captures_len()).find_map(|group| found.get(group)).map(|secret| (secret.start(), secret.end()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn secrets_go_and_the_sentence_stays() {
        let key = "-----BEGIN RSA PRIVATE KEY-----\nMIIabc\n-----END RSA PRIVATE KEY-----";
        for (text, kept) in [
            ("Authorization: Bearer abc.def", "Authorization: Bearer ***"),
            ("sent `bearer s3cr3t` twice", "sent `bearer ***` twice"),
            ("GET /x?access_token=s3cr3t&y=1", "GET /x?access_token=***&y=1"),
            ("GET https://joe:pw@proxy.example:3128/x failed", "GET https://***@proxy.example:3128/x failed"),
            ("https://tok@proxy.example/", "https://***@proxy.example/"),
            ("agent=joe:pw@registry.example/agent:v2", "agent=***@registry.example/agent:v2"),
            ("DB_PASSWORD=hunter2 DB_HOST=db", "DB_PASSWORD=*** DB_HOST=db"),
            ("password: hunter2, user: joe", "password: ***, user: joe"),
            (r#"{"token":"abc","user":"joe"}"#, r#"{"token":"***","user":"joe"}"#),
            (r#"{"clientSecret": "a b\"c", "x": 1}"#, r#"{"clientSecret": "***", "x": 1}"#),
            (
                r#"spec.env[0].value: Invalid value: "hunter2 x": must be short"#,
                r#"spec.env[0].value: Invalid value: ***: must be short"#,
            ),
            (r#"Unsupported value: {"a":"hunter2"}: no"#, "Unsupported value: ***"),
            ("got eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2ln back", "got *** back"),
            ("key dGhpcyBpcyBhIHZlcnkgbG9uZyBzZWNyZXQgdmFsdWUgMTIz.", "key ***."),
            (key, "***"),
        ] {
            assert_eq!(scrub(text), kept, "{text}");
        }
    }

    #[test]
    fn what_is_no_secret_is_left_alone() {
        let digest = "0123456789abcdef".repeat(4);
        for text in [
            r#"daemonsets.apps "agent" is forbidden: User "joe" cannot patch resource "daemonsets" in API group "apps""#,
            "update lease rolldeck-agent: Operation cannot be fulfilled: the object has been modified",
            "delete pod agent-7x2kq on ipc-017: no answer within 4 s",
            "template has agent=registry.example:5000/agent:v2; no pod is replaced before the first step",
            &format!("agent=registry.example/agent:v1@sha256:{digest}"),
            "taken over from ada@bastion/1f00c3a9",
            "the token is kept by https://issuer.example/x: no answer",
            "cannot connect: https://127.0.0.1:6443: connection refused",
            "Unauthorized: the bearer token has expired: log in again",
            "update lease rolldeck-agent: 401 Unauthorized: the API server does not accept the credentials; nothing is recorded",
            "secrets \"registry\" is forbidden: it does not exist",
            "uid 5f0b2c1e-0c3e-4b43-9f7e-3d3bb6f3a111 of agent-5d4f8c7b9d-x7k2p",
        ] {
            assert_eq!(scrub(text), text);
        }
    }

    #[test]
    fn a_known_secret_goes_wherever_it_stands() {
        let secrets = Secrets::new(|| vec!["opaque-token-1".to_owned(), "opaque".to_owned(), "abc".to_owned()]);
        assert_eq!(secrets.scrub("x opaque-token-1y abc opaque"), "x ***y abc ***");
        assert_eq!(format!("{secrets:?}"), "Secrets(3)");
    }

    proptest! {
        #[test]
        fn no_text_breaks_it_and_nothing_is_taken_twice(text in "(?s).{0,200}") {
            let once = scrub(&text).into_owned();
            prop_assert!(once.len() <= text.len() * 3 + 3);
        }

        #[test]
        fn a_secret_never_comes_through(
            secret in "[A-Za-z0-9]{8,30}",
            before in "[a-z ]{0,20}",
            after in "[a-z ]{0,20}",
            shape in 0..12_usize,
        ) {
            let text = [
                format!("{before} Authorization: Bearer {secret} {after}"),
                format!("{before} authorization=Basic {secret}, {after}"),
                format!("{before} https://joe:{secret}@host/{after}"),
                format!("{before} joe:{secret}@registry.example/agent:v1 {after}"),
                format!("{before} API_TOKEN={secret} {after}"),
                format!("{before} \"password\": \"{secret}\" {after}"),
                format!("{before} 'client_secret':'{secret}' {after}"),
                format!("spec.value: Invalid value: \"{before}{secret}\": {after}"),
                format!("spec.value: Invalid value: {before}{secret} {after}"),
                format!("{before} eyJ{secret}.{secret}.{secret} {after}"),
                format!("-----BEGIN PRIVATE KEY-----\n{secret}\n-----END PRIVATE KEY-----{after}"),
                format!("{before}\\\"token\\\":\\\"{secret}\\\" {after}"),
            ][shape].clone();
            let kept = scrub(&text);
            prop_assert!(!kept.contains(&secret), "{text:?} was kept as {kept:?}");
        }
    }
}
