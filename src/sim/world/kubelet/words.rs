//! The messages of kubelets and runtimes, as of Kubernetes 1.36 and containerd 2.

use std::time::Duration;

use super::super::scenario::PullError;

/// The runtime's message for a failed pull.
pub(super) fn pull_error(image: &str, error: PullError) -> String {
    let (code, why) = match error {
        PullError::NotFound => ("NotFound", format!("{image}: not found")),
        PullError::Denied => (
            "Unknown",
            "pull access denied, repository does not exist or may require authorization: authorization failed: no \
             basic auth credentials"
                .to_owned(),
        ),
        PullError::Network => {
            ("Unknown", format!("failed to do request: Head \"{}\": dial tcp: i/o timeout", url(image)))
        }
        PullError::RateLimit => {
            ("Unknown", format!("unexpected status from HEAD request to {}: 429 Too Many Requests", url(image)))
        }
        // Docker Hub lets a name be looked up, and counts what is read of it.
        PullError::PullQuota => {
            return format!(
                "rpc error: code = Unknown desc = failed to pull and unpack image \"{image}\": failed to copy: \
                 httpReadSeeker: failed open: unexpected status code {}: 429 Too Many Requests - Server message: \
                 toomanyrequests: You have reached your pull rate limit. You may increase the limit by authenticating and \
                 upgrading: https://www.docker.com/increase-rate-limit",
                url(image)
            );
        }
    };
    format!(
        "rpc error: code = {code} desc = failed to pull and unpack image \"{image}\": failed to resolve reference \
         \"{image}\": {why}"
    )
}

fn url(image: &str) -> String {
    let (registry, path) = image.split_once('/').unwrap_or(("registry-1.docker.io", image));
    let (repository, tag) = path.rsplit_once(':').unwrap_or((path, "latest"));
    format!("https://{registry}/v2/{repository}/manifests/{tag}")
}

pub(super) fn pulling(image: &str) -> String {
    format!("Pulling image \"{image}\"")
}

pub(crate) fn pulled(image: &str, pull: Duration, with_waiting: Duration, bytes: u64) -> String {
    format!(
        "Successfully pulled image \"{image}\" in {} ({} including waiting). Image size: {bytes} bytes.",
        go(pull),
        go(with_waiting)
    )
}

pub(super) fn present(image: &str) -> String {
    format!("Container image \"{image}\" already present on machine and can be accessed by the pod")
}

pub(super) fn failed(image: &str, error: &str) -> String {
    format!("Failed to pull image \"{image}\": {error}")
}

pub(super) fn back_off_pulling(image: &str) -> String {
    format!("Back-off pulling image \"{image}\"")
}

/// Since 1.32 the waiting message carries the last error.
pub(super) fn back_off_message(image: &str, error: &str) -> String {
    format!("Back-off pulling image \"{image}\": ErrImagePull: {error}")
}

/// containerd's message for an image without this program, such as one without a shell.
pub(super) fn not_started(container: &str, program: &str) -> String {
    format!(
        "Error: failed to create containerd task: failed to start containerd task \"{container}\": runc create failed: \
         unable to start container process: error during container init: exec: \"{program}\": executable file not \
         found in $PATH: unknown"
    )
}

pub(super) fn invalid_name(image: &str) -> String {
    format!(
        "Failed to apply default image tag \"{image}\": couldn't parse image name \"{image}\": invalid reference format"
    )
}

/// As Go prints a `time.Duration` cut to milliseconds: `350ms`, `1.25s`, `1m3s`.
pub(crate) fn go(span: Duration) -> String {
    let millis = span.as_millis();
    if millis < 1000 {
        return format!("{millis}ms");
    }
    let (hours, minutes) = (millis / 3_600_000, millis / 60_000 % 60);
    let mut seconds = format!("{}.{:03}", millis / 1000 % 60, millis % 1000);
    seconds.truncate(seconds.trim_end_matches('0').trim_end_matches('.').len());
    match (hours, minutes) {
        (0, 0) => format!("{seconds}s"),
        (0, _) => format!("{minutes}m{seconds}s"),
        _ => format!("{hours}h{minutes}m{seconds}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_as_go_writes_them() {
        for (millis, want) in [
            (0, "0ms"),
            (350, "350ms"),
            (1_250, "1.25s"),
            (63_000, "1m3s"),
            (60_000, "1m0s"),
            (3_723_004, "1h2m3.004s"),
        ] {
            assert_eq!(go(Duration::from_millis(millis)), want);
        }
    }
}
