//! Removes secrets from a text before it is kept: a server's message may echo what was sent to it, or to a proxy before it.
//!
//! ```text
//!  Authorization: Bearer eyJhbGciOi…        Authorization: ***
//!  https://joe:pw@proxy.example/            https://***@proxy.example/
//!  joe:pw@registry.example/agent:v2         ***@registry.example/agent:v2
//!  DB_PASSWORD=hunter2                      DB_PASSWORD=***
//!  …value: Invalid value: "hunter2": must   …value: Invalid value: ***: must
//! ```
//!
//! Secrets whose values are known are removed first ([`Secrets`]). Others are recognised by the text around them. In doubt more
//! is removed than necessary.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// The replacement for a secret.
pub(crate) const GONE: &str = "***";
/// A known value shorter than this is not removed: it would also match parts of ordinary words.
const SHORTEST: usize = 5;
/// A run of letters and digits of at least this length is a token, not a word.
const TOKEN: usize = 40;
/// If a name before `:` or `=` contains one of these, the value after it is a secret.
const TELLING: [&str; 10] =
    ["token", "secret", "passw", "pwd", "credential", "authorization", "apikey", "accesskey", "privatekey", "bearer"];
/// What the API server writes before it quotes a value of the request.
const QUOTED: [&str; 4] = ["invalid value", "unsupported value", "duplicate value", "too long"];

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
        let mut known = self.0();
        known.retain(|secret| secret.trim().len() >= SHORTEST && text.contains(secret.trim()));
        if known.is_empty() {
            return scrub(text);
        }
        // One may be part of another, so the longest goes first.
        known.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        let without = known.iter().fold(text.to_owned(), |text, secret| text.replace(secret.trim(), GONE));
        Cow::Owned(scrub(&without).into_owned())
    }
}

/// `text` without what looks like a secret.
pub(crate) fn scrub(text: &str) -> Cow<'_, str> {
    let named = without_named(text);
    let kept = without_recognised(&named);
    if kept == text { Cow::Borrowed(text) } else { Cow::Owned(kept) }
}

/// Removes values after names such as `password=`, values that the API server quotes, and private keys.
fn without_named(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = 0;
    let mut at = 0;
    while let Some(next) = text.get(at..).and_then(|ahead| ahead.find([':', '=', ' ', '-'])) {
        at += next;
        let secret = secret_at(text, at);
        at += 1;
        if let Some((from, to)) = secret {
            kept.push_str(text.get(rest..from).unwrap_or_default());
            kept.push_str(GONE);
            (rest, at) = (to, to);
        }
    }
    kept.push_str(text.get(rest..).unwrap_or_default());
    kept
}

/// The start and end of the secret that follows the separator at `at`, if one does.
fn secret_at(text: &str, at: usize) -> Option<(usize, usize)> {
    let (before, after) = (text.get(..at)?, text.get(at..)?);
    if after.starts_with('-') {
        return private_block(after).map(|len| (at, at + len));
    }
    let value = after.get(1..)?;
    let from = at + 1 + value.find(|c: char| !c.is_whitespace())?;
    if after.starts_with(':') && QUOTED.iter().any(|quoted| ends_with(before, quoted)) {
        return Some((from, from + quoted_len(text.get(from..)?)));
    }
    let name = before.trim_end_matches(['"', '\'', '`', '\\']);
    let name = name.rsplit(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))).next()?;
    let announced = match after.chars().next()? {
        ' ' => name.eq_ignore_ascii_case("bearer") && !text.get(from..)?.starts_with("token"),
        _ => is_telling(name) && !value.starts_with("//"),
    };
    announced.then(|| value_span(text, from))
}

/// The start and end of the value at `from`, without its quotes and without `Bearer` or `Basic`.
fn value_span(text: &str, mut from: usize) -> (usize, usize) {
    let ahead = |from: usize| text.get(from..).unwrap_or_default();
    let quote = ahead(from).trim_start_matches('\\').chars().next().filter(|c| matches!(c, '"' | '\'' | '`'));
    if quote.is_some() {
        from += ahead(from).len() - ahead(from).trim_start_matches('\\').len() + 1;
    }
    for scheme in ["bearer ", "basic "] {
        if ahead(from).get(..scheme.len()).is_some_and(|word| word.eq_ignore_ascii_case(scheme)) {
            from += scheme.len();
        }
    }
    let value = ahead(from);
    let len = match quote {
        Some(quote) => closing(value, quote).unwrap_or(value.len()),
        None => {
            let ends = |c: char| c.is_whitespace() || matches!(c, ',' | ';' | '&' | '"' | '\'' | '`' | ')' | '}' | ']');
            value.find(ends).unwrap_or(value.len())
        }
    };
    (from, from + len)
}

fn is_telling(name: &str) -> bool {
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    TELLING.iter().any(|telling| plain.contains(telling))
}

fn ends_with(text: &str, end: &str) -> bool {
    text.len()
        .checked_sub(end.len())
        .and_then(|from| text.get(from..))
        .is_some_and(|tail| tail.eq_ignore_ascii_case(end))
}

/// The length of a value that the API server quotes: a string ends at its closing quote, anything else at the end of the line.
fn quoted_len(text: &str) -> usize {
    match text.strip_prefix('"') {
        Some(inside) => closing(inside, '"').map_or(text.len(), |end| end + 2),
        None => text.find('\n').unwrap_or(text.len()),
    }
}

/// The position of the closing quote in `inside`; escaped quotes are skipped.
fn closing(inside: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in inside.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return Some(at),
            _ => {}
        }
    }
    None
}

/// The length of a PEM block with a private key, or of what there is of it.
fn private_block(text: &str) -> Option<usize> {
    let inside = text.strip_prefix("-----BEGIN ")?;
    let head = inside.get(..inside.find("-----")?)?;
    if !head.contains("KEY") {
        return None;
    }
    let end = text.find("-----END ").and_then(|end| Some(end + 9 + text.get(end + 9..)?.find("-----")? + 5));
    Some(end.unwrap_or(text.len()))
}

/// Removes words that look like secrets: tokens, and names with passwords before a host.
fn without_recognised(text: &str) -> String {
    let parts =
        |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | ',' | ';' | '(' | ')' | '{' | '}' | '<' | '>');
    text.split_inclusive(parts)
        .map(|piece| {
            let word = piece.trim_end_matches(parts);
            format!("{}{}", scrubbed_word(word), piece.get(word.len()..).unwrap_or_default())
        })
        .collect()
}

fn scrubbed_word(word: &str) -> Cow<'_, str> {
    if let Some(kept) = without_user_info(word) {
        return Cow::Owned(kept);
    }
    match word.find("eyJ") {
        Some(at) if word.len() - at >= 20 => Cow::Owned(format!("{}{GONE}", word.get(..at).unwrap_or_default())),
        _ => without_tokens(word),
    }
}

/// A URL or an image without the name and password before its host.
fn without_user_info(word: &str) -> Option<String> {
    let (before, host) = word.rsplit_once('@')?;
    let (scheme, user) = before.split_once("://").map_or(("", before), |(scheme, user)| (scheme, user));
    if !scheme.is_empty() && !user.contains('/') {
        return Some(format!("{scheme}://{GONE}@{host}"));
    }
    // `container=joe:pw@registry/…` has a host after the `@`; a digest (`agent:v1@sha256:…`) has none.
    let (name, user) = before.split_once('=').map_or(("", before), |(name, user)| (name, user));
    let digest =
        host.split_once(':').is_some_and(|(_, sum)| sum.len() >= 32 && sum.bytes().all(|b| b.is_ascii_hexdigit()));
    let equals = if name.is_empty() { "" } else { "=" };
    (scheme.is_empty() && user.contains(':') && !digest).then(|| format!("{name}{equals}{GONE}@{host}"))
}

/// A word without runs that are too long and too mixed to be a name. Digests are hexadecimal and are kept.
fn without_tokens(word: &str) -> Cow<'_, str> {
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '_' | '-' | '=');
    let is_token = |run: &str| {
        let has = |test: fn(&u8) -> bool| run.as_bytes().iter().any(test);
        run.len() >= TOKEN && has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase) && has(u8::is_ascii_digit)
    };
    let runs = || word.split(|c: char| !inner(c));
    if !runs().any(is_token) {
        return Cow::Borrowed(word);
    }
    let without = runs().filter(|run| is_token(run)).fold(word.to_owned(), |word, run| word.replace(run, GONE));
    Cow::Owned(without)
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
