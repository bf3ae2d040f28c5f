//! Validity, headers and legacy providers.

use super::*;

#[test]
fn credentials_are_renewed_a_minute_before_their_end_or_late_in_a_short_life() {
    let at = |secs: i64| Timestamp::from_second(1_800_000_000 + secs).unwrap();
    for (life, renewed) in [(3_600, 3_540), (300, 240), (100, 80), (30, 24), (0, 0), (-10, -10)] {
        assert_eq!(renewal(at(0), at(life)), at(renewed), "{life} s");
    }
}

fn provider(name: &str, token: Option<&str>) -> AuthProviderConfig {
    let mut config: std::collections::HashMap<String, String> =
        [("refresh-token".to_owned(), "r3fr3sh-t0ken".to_owned())].into();
    config.extend(token.map(|token| ("id-token".to_owned(), token.to_owned())));
    AuthProviderConfig { name: name.into(), config, other: Default::default() }
}

/// A token with this expiry.
fn jwt(exp: i64) -> String {
    use base64::Engine as _;
    let encode = |text: String| base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(text);
    format!("{}.{}.c2lnbmF0dXJl", encode(json!({"alg": "RS256"}).to_string()), encode(json!({"exp": exp}).to_string()))
}

#[test]
fn a_legacy_provider_gives_an_id_token_that_is_good_or_says_what_to_do() {
    let hidden = Hidden::default();
    let now = Timestamp::now().as_second();
    let good = jwt(now + 600);
    assert_eq!(legacy(&provider("oidc", Some(&good)), &hidden).unwrap().to_str().unwrap(), format!("Bearer {good}"));
    for (provider, says) in [
        (provider("oidc", Some(&jwt(now - 1))), "has expired"),
        (provider("oidc", None), "has no `id-token`: log in again"),
        (provider("gcp", Some(&good)), "`gcp` was removed from kubectl in 1.26"),
    ] {
        let why = legacy(&provider, &hidden).unwrap_err();
        assert!(why.contains(says) && !why.contains("t0ken"), "{why}");
    }
    assert_eq!(hidden.removed_from(&format!("got {good} and r3fr3sh-t0ken")), "got *** and ***");
}
