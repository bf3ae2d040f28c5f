//! How the program itself reaches a cluster: through the proxies that its environment names, with the credentials of a plugin.

use std::path::PathBuf;
use std::process::Output;
use std::time::Duration;

use crate::support::line::server_of;
use crate::support::practice::Practice;
use crate::support::program::text;
use crate::support::tls::{https_proxy, tls_before};

/// The server's name, which no resolver knows: only a proxy leads there.
const SERVER: &str = "api.rolldeck.invalid";

#[tokio::test(flavor = "multi_thread")]
async fn the_environment_names_an_https_proxy_whose_certificate_this_machine_knows() {
    let practice = Practice::start();
    let server = tls_before(server_of(practice.kubeconfig()).parse().unwrap(), SERVER).await;
    let (proxy, asked) = https_proxy(server.address, "joe:hunter 2").await;
    let kubeconfig = practice.home().join("behind-a-proxy");
    let text_of = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: far\n\
         clusters: [{{name: c, cluster: {{server: 'https://{SERVER}:6443', certificate-authority-data: {}}}}}]\n\
         users: [{{name: u, user: {{token: t0}}}}]\n\
         contexts: [{{name: far, context: {{cluster: c, user: u}}}}]\n",
        server.authority()
    );
    std::fs::write(&kubeconfig, text_of).unwrap();
    let roots = proxy.file(practice.home());
    let run = |line: &[&str], login: &str, roots: Option<&std::path::Path>| -> Output {
        let mut command = practice.command(line);
        command.env("KUBECONFIG", &kubeconfig).env("HTTPS_PROXY", format!("https://{login}@{}", proxy.address));
        command.envs(roots.map(|roots| ("SSL_CERT_FILE", roots)));
        command.output().unwrap()
    };
    let output = run(&["status", "ds/agent"], "joe:hunter%202", Some(&roots));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let output = run(&["pause", "ds/agent"], "joe:hunter%202", Some(&roots));
    assert_eq!(output.status.code(), Some(0), "a write: {}", text(&output));
    let connections = asked.lock().unwrap().clone();
    assert!(connections.iter().all(|line| line == &format!("CONNECT {SERVER}:6443 HTTP/1.1")), "{connections:?}");

    let other_roots = server.file(practice.home());
    for (login, roots, says, hint) in [
        // The machine's roots have to sign the proxy's certificate; here the machine has other roots.
        ("joe:hunter%202", &other_roots, "fails at TLS: invalid peer certificate", "signed by a root of this machine"),
        ("joe:hunter%203", &roots, "does not accept the user and password", "HTTPS_PROXY takes them as"),
    ] {
        let output = run(&["status", "ds/agent"], login, Some(roots));
        let said = text(&output);
        assert!(!output.status.success() && output.stdout.is_empty(), "{said}");
        assert!(said.contains(&format!("the proxy https://{} (HTTPS_PROXY) {says}", proxy.address)), "{said}");
        assert!(said.contains(hint) && !said.contains("hunter") && !said.contains("joe"), "{said}");
    }
}

/// A credential plugin: a script, and the kubeconfig that names it.
struct PluginSetup {
    directory: PathBuf,
    kubeconfig: PathBuf,
}

/// Secrets of which no output may hold a trace.
const SECRETS: [&str; 5] = [
    "t0ken-of-stdout",
    "t0ken-of-stderr",
    "correct-horse-battery",
    "eyJhbGciOiJSUzI1NiJ9",
    "passphrase-of-an-argument",
];

impl PluginSetup {
    /// The practice cluster, with credentials of a plugin that runs `script`; the script finds its own directory in `$here`.
    fn new(practice: &Practice, script: &str) -> Self {
        let directory = practice.home().join("plugin");
        std::fs::create_dir(&directory).unwrap();
        let (written, plugin) = (directory.join("get-token.sh"), directory.join("get-token"));
        let script = format!("#!/bin/sh\nhere=$(dirname \"$0\")\necho run >> \"$here/runs\"\n{script}\n");
        std::fs::write(&written, script).unwrap();
        // `install` writes the plugin, not this process: a child that another test starts meanwhile would keep the file open for writing until its
        // own exec, and Linux refuses to run such a file (ETXTBSY).
        let installed = std::process::Command::new("install").args(["-m", "755"]).args([&written, &plugin]).status();
        assert!(installed.unwrap().success());
        let kubeconfig = directory.join("kubeconfig");
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: far\n\
             clusters: [{{name: c, cluster: {{server: 'http://{}'}}}}]\n\
             users:\n- name: u\n  user:\n    exec:\n      apiVersion: client.authentication.k8s.io/v1\n      command: '{}'\n\
             \x20     args: [--passphrase, passphrase-of-an-argument]\n      env: [{{name: PASSWORD, value: correct-horse-battery}}]\n\
             \x20     interactiveMode: IfAvailable\n\
             contexts: [{{name: far, context: {{cluster: c, user: u}}}}]\n",
            server_of(practice.kubeconfig()),
            plugin.display()
        );
        std::fs::write(&kubeconfig, text).unwrap();
        Self { directory, kubeconfig }
    }

    fn runs(&self) -> usize {
        std::fs::read_to_string(self.directory.join("runs")).map_or(0, |text| text.lines().count())
    }

    /// Makes the plugin fail from now on, or work again.
    fn fail(&self, fails: bool) {
        let mark = self.directory.join("fails");
        if fails { std::fs::write(&mark, "").unwrap() } else { std::fs::remove_file(&mark).unwrap() }
    }
}

/// A plugin that prints tokens and its environment wherever it can, and fails.
const FAILS: &str = r#"echo '{"kind":"ExecCredential","status":{"token":"t0ken-of-stdout"}}'
env >&2; echo "token: t0ken-of-stderr, $*" >&2
echo "login of $PASSWORD with eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJqb2UifQ.c2lnbmF0dXJl is over" >&2; exit 3"#;

fn no_secret_in(what: &str, said: &str) {
    for secret in SECRETS {
        assert!(!said.contains(secret), "{secret} in {what}: {said}");
    }
}

fn audit_of(practice: &Practice) -> String {
    std::fs::read_to_string(practice.home().join(".local/state/rolldeck/audit.jsonl")).unwrap_or_default()
}

#[test]
fn a_failing_credential_plugin_is_named_and_none_of_its_secrets_gets_out() {
    let practice = Practice::start();
    let plugin = PluginSetup::new(&practice, FAILS);
    let kubeconfig = plugin.kubeconfig.to_str().unwrap();
    for line in [&["status", "ds/agent"][..], &["status"], &["drive", "ds/agent", "--yes"], &["pause", "ds/agent"]] {
        let line = [line, &["--kubeconfig", kubeconfig]].concat();
        let output = practice.run(&line);
        let said = text(&output);
        assert_eq!(output.status.code(), Some(1), "{line:?}: {said}");
        assert!(output.stdout.is_empty(), "{said}");
        let says = "no credentials for context `far`: credential plugin `get-token` failed (exit status: 3): login of *** with *** is over";
        assert!(said.contains(says), "{said}");
        // The error names a command to try on the same cluster.
        let login = format!("`kubectl --kubeconfig {kubeconfig} --context far version`");
        assert!(said.contains(&format!("log in again outside of rolldeck: {login}")), "{said}");
        no_secret_in("its output", &said);
    }
    no_secret_in("the audit log", &audit_of(&practice));
    let as_json = practice.run(&["status", "ds/agent", "-o", "json", "--kubeconfig", kubeconfig]);
    no_secret_in("its JSON", &text(&as_json));
}

#[test]
fn a_plugin_that_fails_in_the_middle_of_a_rollout_holds_it_up_until_it_works_again() {
    let practice = Practice::start();
    // Each token is good for two seconds, so that the plugin runs again and again.
    let issues = r#"expires=$(date -u -d '+2 seconds' +%Y-%m-%dT%H:%M:%SZ)
printf '{"kind":"ExecCredential","status":{"token":"t0ken-of-stdout","expirationTimestamp":"%s"}}' "$expires""#;
    let plugin = PluginSetup::new(&practice, &format!("if [ -e \"$here/fails\" ]; then {FAILS}; fi\n{issues}"));
    let kubeconfig = plugin.kubeconfig.to_str().unwrap();
    let line = [
        "drive",
        "ds/agent",
        "--yes",
        "--timeout",
        "300s",
        "--image",
        "agent=registry.example/agent:v2",
        "--to",
        "100%",
    ];
    let mut drive = practice.start(&[&line[..], &["--max-unavailable", "4", "--kubeconfig", kubeconfig]].concat());
    drive.until_updated(2);
    plugin.fail(true);
    drive.until("credential plugin `get-token` failed (exit status: 3): login of *** with *** is over");
    let stopped_at = practice.status("ds/agent").at_target().len();
    let runs = plugin.runs();
    std::thread::sleep(Duration::from_secs(6));
    assert!(practice.status("ds/agent").at_target().len() <= stopped_at + 4, "only what was under way may end");
    assert!(plugin.runs() - runs <= 3, "it is not run for each request: {} runs in 6 s", plugin.runs() - runs);

    plugin.fail(false);
    assert_eq!(drive.end().code(), Some(0), "{}", drive.seen());
    assert_eq!(practice.status("ds/agent").0["counts"]["updated"], 20);
    no_secret_in("its output", drive.seen());
    let audit = audit_of(&practice);
    assert!(audit.contains("\"event\""), "{audit}");
    no_secret_in("the audit log", &audit);
}
