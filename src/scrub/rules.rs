//! How secrets are recognised: by the shape that an issuer gives its tokens, or by what stands before them.
//!
//! A rule is a regular expression whose groups are the secrets: exactly one of them takes part in a match, and only that is removed.
//! The crate `regex` needs time in proportion to the text, whatever the text.

use std::sync::LazyLock;

use regex::Regex;

/// A rule: what it recognises, for tests and readers, and how.
pub(super) struct SecretRule {
    #[cfg_attr(not(test), expect(dead_code, reason = "for readers and tests"))]
    pub(super) name: &'static str,
    pattern: &'static str,
    /// Whether a match is a secret after all, by the whole match and by the secret in it.
    is_secret: fn(whole: &str, secret: &str) -> bool,
}

/// A rule that is ready for use.
#[derive(Debug)]
pub(super) struct Recogniser {
    pub(super) regex: Regex,
    pub(super) is_secret: fn(whole: &str, secret: &str) -> bool,
}

/// What may follow a name and a separator: a quoted value (in JSON within JSON, in JSON, in shells), or a word. `Bearer` and the
/// like before it stay.
macro_rules! value {
    () => {
        concat!(
            r#"(?:\\+"(?:(?:bearer|basic|token)\s+)?([^"\\]+)"#,
            r#"|"(?:(?:bearer|basic|token)\s+)?((?:\\.|[^"\\])+)"#,
            r"|'(?:(?:bearer|basic|token)\s+)?((?:\\.|[^'\\])+)",
            r"|`(?:(?:bearer|basic|token)\s+)?((?:\\.|[^`\\])+)",
            r#"|(?:(?:bearer|basic|token)\s+)?([^\s,;&"'`)}\]\\]+))"#,
        )
    };
}

const fn rule(name: &'static str, pattern: &'static str) -> SecretRule {
    SecretRule { name, pattern, is_secret: |_, _| true }
}

/// All rules, in the order in which they are applied.
pub(super) const RULES: &[SecretRule] = &[
    // By what stands before.
    rule("private key", r"(?s)(-----BEGIN [^\n-]*KEY[^\n-]*-----.*?(?:-----END [^\n-]*-----|\z))"),
    rule(
        "value that the API server quotes",
        r#"(?i)(?:invalid value|unsupported value|duplicate value|too long):\s*("(?:\\(?s:.)|[^"\\])*(?:"|\\?\z)|[^\n]+)"#,
    ),
    rule("user and password in a URL", r"[A-Za-z][A-Za-z0-9+.-]*://([^\s/]+)@"),
    rule(
        "user and password before a host",
        r#"(?:^|[\s"'`=,(<\[{])([^\s"'`=,(<\[{:/@]+:[^\s"'`/][^\s"'`]*?)@(?:[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)+|[A-Za-z0-9_-]+:\d{1,5}\b|[A-Za-z0-9_.-]+(?::\d+)?/)"#,
    ),
    SecretRule {
        name: "bearer token",
        pattern: r#"(?i)\bbearer\s+["'`\\]*([^\s,;&"'`)}\]\\]+)"#,
        is_secret: |_, secret| !secret.to_ascii_lowercase().starts_with("token"),
    },
    SecretRule {
        name: "basic credentials",
        pattern: r"\b[Bb]asic\s+([A-Za-z0-9+/]{4,}={0,2})",
        is_secret: |_, secret| secret.ends_with('=') || has_inner_capital(secret),
    },
    rule(
        "parameter of a query",
        r#"(?i)(?:[?&;]|\\u0026|&amp;)(?:key|sig|signature|code|auth|sas|session|pass|pwd|password|secret|token|[a-z0-9_.-]*(?:token|secret|passw|api[_-]?key|signature|credential))=([^&\s"'`<>)\\]+)"#,
    ),
    rule("signature of shared access", r"(?i)\bsig=([A-Za-z0-9%+/=_-]{16,})"),
    SecretRule {
        name: "flag of a command line",
        pattern: concat!(
            r"(?i)--[a-z0-9-]*(?:password|passwd|passphrase|pass|token|secret|api-?key|access-?key|private-?key|credentials?|auth)(?:-[a-z0-9]+)*",
            r#"(?:=|\\u003d|\s+|["'],\s*)"#,
            value!()
        ),
        is_secret: |whole, secret| !names_a_file(whole) && !secret.starts_with("--"),
    },
    SecretRule {
        name: "value after a telling name",
        pattern: concat!(
            r"(?i)(?:token|secret|passw|passphrase|pwd|credential|authorization|api[_.-]?key|access[_.-]?key|private[_.-]?key|account[_.-]?key|bearer)[a-z0-9_.-]*",
            r#"["'`\\]*\s?[:=]\s*"#,
            value!()
        ),
        is_secret: |_, secret| !secret.starts_with("//"),
    },
    // By their own shape.
    rule("JSON Web Token", r"(eyJ[A-Za-z0-9_.=+/-]{17,})"),
    rule("AWS access key", r"\b((?:AKIA|ASIA|ABIA|ACCA|AROA|AIDA)[A-Z0-9]{16})\b"),
    rule("EKS token", r"\b(k8s-aws-v1\.[A-Za-z0-9_-]{16,})"),
    rule("GitHub token", r"\b(gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,})"),
    rule("GitLab token", r"\b(gl(?:pat|dt|rt|cbt|ptt|ft|oas|imt|agent|soat|ffct)-[A-Za-z0-9_.-]{12,})"),
    rule(
        "key of OpenAI, Anthropic or Stripe",
        r"\b(sk-(?:ant|proj|svcacct|admin|or)-[A-Za-z0-9_-]{8,}|sk-[A-Za-z0-9]{20,}|[sr]k_(?:live|test)_[A-Za-z0-9]{10,})",
    ),
    rule("Slack token", r"\b(xox[abeoprs]-[A-Za-z0-9-]{8,}|xapp-[A-Za-z0-9-]{8,})"),
    rule("Google key", r"\b(AIza[A-Za-z0-9_-]{30,}|ya29\.[A-Za-z0-9_-]{10,}|GOCSPX-[A-Za-z0-9_-]{10,})"),
    rule("npm or PyPI token", r"\b(npm_[A-Za-z0-9]{20,}|pypi-[A-Za-z0-9_-]{16,})"),
    rule("DigitalOcean token", r"\b(do[por]_v1_[a-f0-9]{32,})"),
    rule("Docker or Hugging Face token", r"\b(dckr_pat_[A-Za-z0-9_-]{16,}|hf_[A-Za-z0-9]{20,})"),
    rule("Vault token", r"\b(hv[sbr]\.[A-Za-z0-9_-]{16,})"),
    // Digests, uids and names are longer, but have no capitals.
    SecretRule {
        name: "long run of mixed letters and digits",
        pattern: r"([A-Za-z0-9+_-]{40,}={0,2})",
        is_secret: |_, secret| is_mixed(secret),
    },
];

/// The rules, compiled once. A test sees to it that none is left out because it is not valid.
pub(super) fn all() -> &'static [Recogniser] {
    static ALL: LazyLock<Vec<Recogniser>> = LazyLock::new(|| {
        let compiled = RULES.iter().map(|rule| Some((Regex::new(rule.pattern).ok()?, rule.is_secret)));
        compiled.flatten().map(|(regex, is_secret)| Recogniser { regex, is_secret }).collect()
    });
    &ALL
}

/// Base64 has capitals anywhere, a word at its beginning only.
fn has_inner_capital(word: &str) -> bool {
    word.chars().skip(1).any(|c| c.is_ascii_uppercase()) && word.chars().any(|c| c.is_ascii_lowercase())
}

/// Whether a flag takes a file or a name, which is no secret.
fn names_a_file(flag: &str) -> bool {
    let flag = flag.split(['=', ' ', '"', '\'', '\\']).next().unwrap_or_default().to_ascii_lowercase();
    ["-file", "-path", "-dir", "-name", "-url", "-ttl", "-id", "-type", "-mode"].iter().any(|end| flag.ends_with(end))
}

fn is_mixed(run: &str) -> bool {
    let has = |test: fn(&u8) -> bool| run.as_bytes().iter().any(test);
    has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase) && has(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::{GONE, scrub};
    use super::*;

    /// One of each shape, with the rule that is to recognise it. They are put together here so that no scanner takes them for real.
    fn samples() -> Vec<(&'static str, String)> {
        let letters = "Q7rT2mVx9LkB4nWc8ZpD3sFh6JgY1aEu5oRi";
        let hex = "0123456789abcdef0123456789abcdef0123456789abcdef";
        vec![
            ("AWS access key", concat!("AKIA", "IOSFODNN7EXAMPLE").to_owned()),
            ("AWS access key", concat!("ASIA", "Y34FZKBOKMUTVV7A").to_owned()),
            ("EKS token", format!("k8s-aws-v1.{}", "aHR0cHM6Ly9zdHMuYW1hem9uYXdz")),
            ("GitHub token", format!("ghp_{letters}")),
            ("GitHub token", format!("gho_{letters}")),
            ("GitHub token", format!("ghs_{letters}")),
            ("GitHub token", format!("github_pat_11ABCDEFG0{letters}_x")),
            ("GitLab token", format!("glpat-{}", &letters[..20])),
            ("GitLab token", "glrt-t1_Zx8yQw3vUs7tRq".to_owned()),
            ("key of OpenAI, Anthropic or Stripe", format!("sk-{}", &letters[..32])),
            ("key of OpenAI, Anthropic or Stripe", format!("sk-ant-api03-{}-AA", &letters[..20])),
            ("key of OpenAI, Anthropic or Stripe", format!("sk-proj-{}", &letters[..24])),
            ("key of OpenAI, Anthropic or Stripe", format!("sk{}{}", "_live_", &letters[..24])),
            ("Slack token", format!("xoxb-{}-{}", "123456789012", &letters[..24])),
            ("Slack token", format!("xoxp-{}", "123456789012-abcdefABCDEF")),
            ("Slack token", format!("xoxa-2-{}", &letters[..12])),
            ("Slack token", format!("xoxr-{}", &letters[..12])),
            ("Google key", format!("AIza{}", &letters[..35])),
            ("Google key", format!("ya29.{letters}")),
            ("npm or PyPI token", format!("npm_{letters}")),
            ("npm or PyPI token", format!("pypi-AgEIcHlwaS5vcmc{}", &letters[..10])),
            ("DigitalOcean token", format!("dop_v1_{hex}")),
            ("Docker or Hugging Face token", format!("dckr_pat_{}", &letters[..27])),
            ("Docker or Hugging Face token", format!("hf_{letters}")),
            ("Vault token", format!("hvs.CAESI{}", &letters[..24])),
            ("JSON Web Token", "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJqb2UifQ.c2lnbmF0dXJl_-x".to_owned()),
            ("long run of mixed letters and digits", format!("{letters}{}", &letters[..8])),
        ]
    }

    #[test]
    fn tokens_of_every_shape_go_wherever_they_stand() {
        for (_, token) in samples() {
            for (before, after) in [
                ("", ""),
                ("the server said ", " is wrong"),
                ("the server said \"", "\", and closed"),
                ("(", ")"),
                ("https://api.example/v1/", "/pods"),
                ("https://api.example/v1?x=", "&y=1"),
                ("https://api.example/v1#", ""),
                (r#"{"message":""#, r#"","code":403}"#),
                (r#"{"args":["-v",""#, r#""]}"#),
                (r#"{"body":"{\"message\":\""#, r#"\"}"}"#),
                ("env X=", " Y=1"),
                ("'", "'"),
                ("line one\n", "\nline two"),
            ] {
                let text = format!("{before}{token}{after}");
                let kept = scrub(&text);
                assert!(!kept.contains(&token) && kept.contains(GONE), "{text:?} was kept as {kept:?}");
                let rest = &token[token.len() / 2..];
                assert!(!kept.contains(rest), "half of {text:?} was kept: {kept:?}");
                // What stands around it stays, except where more is taken in doubt.
                assert!(kept.starts_with(before.split('=').next().unwrap()), "{text:?} was kept as {kept:?}");
            }
        }
    }

    #[test]
    fn secrets_go_by_what_stands_before_them() {
        for (rule, text, kept) in [
            ("flag of a command line", "agent --password hunter2 --verbose", "agent --password *** --verbose"),
            ("flag of a command line", "agent --passwd=hunter2", "agent --passwd=***"),
            ("flag of a command line", "agent --token hunter2", "agent --token ***"),
            ("flag of a command line", "agent --registry-token 'hunter2 x'", "agent --registry-token '***'"),
            ("flag of a command line", "agent --api-key hunter2", "agent --api-key ***"),
            ("flag of a command line", "agent --client-secret=hunter2", "agent --client-secret=***"),
            (
                "flag of a command line",
                r#"{"args":["--client-secret","hunter2","-v"]}"#,
                r#"{"args":["--client-secret","***","-v"]}"#,
            ),
            ("parameter of a query", "GET https://x.example/y?key=hunter2&z=1", "GET https://x.example/y?key=***&z=1"),
            ("parameter of a query", "GET /y?z=1&sig=hunter2", "GET /y?z=1&sig=***"),
            ("parameter of a query", "GET /y?access_token=hunter2", "GET /y?access_token=***"),
            (
                "parameter of a query",
                r#"{"url":"https://x.example/y?a=1\u0026X-Amz-Signature=hunter2\u0026b=2"}"#,
                r#"{"url":"https://x.example/y?a=1\u0026X-Amz-Signature=***\u0026b=2"}"#,
            ),
            ("signature of shared access", "sv=2024-11-04 sig=hQ3x%2BZk9v8LmN0pQrS%3D", "sv=2024-11-04 sig=***"),
            ("user and password in a URL", "https://joe:hun@ter2@proxy.example/", "https://***@proxy.example/"),
            ("user and password before a host", "redis joe:hunter2@cache:6379", "redis ***@cache:6379"),
            ("user and password before a host", "joe:hunt@er2@registry.example/a:v1", "***@registry.example/a:v1"),
            ("bearer token", "got Bearer hunter2 back", "got Bearer *** back"),
            ("basic credentials", "got Basic am9lOmh1bnRlcjI= back", "got Basic *** back"),
            ("basic credentials", "got Basic dXNlcjpwYXNz back", "got Basic *** back"),
            ("value after a telling name", "Authorization: Basic hunter2", "Authorization: Basic ***"),
            ("value after a telling name", "authorization: token hunter2", "authorization: token ***"),
            ("value after a telling name", "aws_secret_access_key = hun/ter2", "aws_secret_access_key = ***"),
            ("value after a telling name", "AccountKey=hunter2==;x", "AccountKey=***;x"),
            ("value after a telling name", r#"{\"token\":\"hunter2\",\"a\":1}"#, r#"{\"token\":\"***\",\"a\":1}"#),
            ("private key", "x -----BEGIN EC PRIVATE KEY-----\nMHc\n-----END EC PRIVATE KEY----- y", "x *** y"),
            ("private key", r"-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl", "***"),
            ("value that the API server quotes", r#"Invalid value: "hunter2": no"#, "Invalid value: ***: no"),
        ] {
            assert!(RULES.iter().any(|known| known.name == rule), "{rule}");
            assert_eq!(scrub(text), kept, "{rule}: {text}");
        }
    }

    #[test]
    fn what_a_cluster_calls_its_things_is_left_alone() {
        let digest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
        for text in [
            format!("registry.example:5000/edge/agent:v1.9.0@sha256:{digest}"),
            format!("agent=registry.example/edge/agent@sha256:{digest}"),
            format!("pulled agent:v1@sha256:{digest} in 58s"),
            format!("sha256:{digest}"),
            digest.to_owned(),
            "uid 5f0b2c1e-0c3e-4b43-9f7e-3d3bb6f3a111".to_owned(),
            "ipc-agent-5d4f8c7b9d-x7k2p on ip-10-0-12-34.eu-central-1.compute.internal".to_owned(),
            "gke-prod-eu-default-pool-1a2b3c4d-xk2p and aks-nodepool1-12345678-vmss000001".to_owned(),
            "controller-revision-hash=7c9d8f6b5d pod-template-generation=15".to_owned(),
            "/var/lib/kubelet/pods/5f0b2c1e-0c3e-4b43-9f7e-3d3bb6f3a111/volumes/kubernetes.io~projected/kube-api-access-x2x9k"
                .to_owned(),
            "/etc/ssl/certs/MyCompanyRootCA2024.pem and C:/Program Files/Agent2/Bin".to_owned(),
            "--token-file /var/run/secrets/kubernetes.io/serviceaccount/token".to_owned(),
            "https://api.example:6443/apis/apps/v1/namespaces/edge/daemonsets/agent?fieldManager=rolldeck&dryRun=All"
                .to_owned(),
            "taken over from ada@bastion-3.example/1f00c3a9 at 2026-11-21T14:30:05.123Z".to_owned(),
            "Unauthorized: the bearer token has expired: log in again".to_owned(),
            "Basic authentication is not offered by task-sk-runner or disk-encryption".to_owned(),
            "secrets \"registry\" is forbidden: User \"joe\" cannot get resource".to_owned(),
            "arn:aws:eks:eu-central-1:123456789012:cluster/prod, zone eu-central-1a, npm_config_x".to_owned(),
            "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----".to_owned(),
            "agent-9f86d081884c7d659a2feaa0c55ad015a3bf4f1b, sk-learn-model-server-v1, xoxo".to_owned(),
        ] {
            assert_eq!(scrub(&text), text);
        }
    }

    #[test]
    fn every_rule_is_valid_and_has_a_sample() {
        assert_eq!(all().len(), RULES.len(), "a rule that is not valid recognises nothing");
        let samples = samples();
        for (rule, recogniser) in RULES.iter().zip(all()).filter(|(rule, _)| rule.pattern.starts_with(r"\b(")) {
            let its = samples.iter().filter(|(name, _)| *name == rule.name).collect::<Vec<_>>();
            assert!(!its.is_empty(), "no sample of {}", rule.name);
            for (_, sample) in its {
                assert!(recogniser.regex.is_match(sample), "{} does not recognise {sample}", rule.name);
            }
        }
    }

    /// The processor time of this thread: what other tests do at the same time does not count.
    fn thread_time() -> std::time::Duration {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        let part = |count: i64| u64::try_from(count).unwrap_or_default();
        std::time::Duration::from_secs(part(now.tv_sec)) + std::time::Duration::from_nanos(part(now.tv_nsec))
    }

    /// A message of the size at which texts from a cluster are cut, made of what each rule begins with, again and again.
    #[test]
    fn the_time_it_takes_grows_with_the_text_and_no_faster() {
        let pieces = [
            "-----BEGIN PRIVATE KEY-----".to_owned(),
            "-----BEGIN ".to_owned(),
            "Invalid value: \"\\".to_owned(),
            "a:b".to_owned(),
            "joe:x@".to_owned(),
            "://x".to_owned(),
            "--password ".to_owned(),
            "token=\"".to_owned(),
            "\\\"".to_owned(),
            "eyJ".to_owned(),
            format!("{} ", "aB3".repeat(14)),
            "aB3x".to_owned(),
        ];
        for piece in &pieces {
            let took = |length: usize| {
                let text = piece.repeat(length / piece.len());
                let best = (0..3).map(|_| {
                    let began = thread_time();
                    std::hint::black_box(scrub(&text));
                    thread_time() - began
                });
                best.min().unwrap_or_default()
            };
            // Eight times the text; sixty-four times the time if it were quadratic. A machine that is busy measures too much, and never too
            // little: what it measures once within the bound holds.
            let within = |(short, long): &(Duration, Duration)| *long < (*short).max(Duration::from_millis(2)) * 30;
            let measured: Vec<_> = (0..8).map(|_| (took(16_384), took(131_072))).take_while(|it| !within(it)).collect();
            assert!(measured.len() < 8, "{piece:?}: for 16 KiB and for 128 KiB {measured:?}");
        }
    }
}
