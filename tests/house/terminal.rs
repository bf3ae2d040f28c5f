//! Only one way leads to a terminal: `Printable`, through `src/process/output.rs`.
//!
//! Text that is written any other way could carry escape sequences of a colleague, of the API server or of a file.

use super::House;
use super::source::File;

/// The ways to the terminal, as words and marks of the source, with the files that may use each.
const WAYS: &[(&[&str], &[&str])] = &[
    (&["stdout", "(", ")"], &["src/process/output.rs"]),
    (&["stderr", "(", ")"], &["src/process/output.rs"]),
    (&["print", "!"], &[]),
    (&["println", "!"], &[]),
    (&["eprint", "!"], &[]),
    (&["eprintln", "!"], &[]),
    (&["dbg", "!"], &[]),
    (&["execute", "!"], &[]),
    // clap's error prints itself. `explain` uses it only for help, whose text is rolldeck's own.
    (&[".", "print", "(", ")"], &["src/cli.rs"]),
    (&[".", "print_help", "("], &[]),
    (&[".", "print_long_help", "("], &[]),
    (&["rustix", "::", "io", "::", "write"], &["src/process/output.rs"]),
    (&["rustix", "::", "stdio"], &[]),
    // A credential plugin may let its operator log in, before there is a console.
    (&["Stdio", "::", "inherit"], &["src/cluster/transport/credentials.rs"]),
    (&["set_hook", "("], &["src/process/output.rs", "src/tui/run/signals.rs"]),
    // These texts are printable without a check.
    (&["control_sequences", "("], &["src/process/printable.rs", "src/tui/terminal.rs"]),
];

/// Uses of a stream that write nothing themselves, as the words before the stream and after it: questions, and the writer of `Printable`.
const HARMLESS: &[(&[&str], &[&str])] = &[
    (&[], &[".", "is_terminal"]),
    // The call only replaces the input.
    (&[], &["::", "dup2_stdin"]),
    (&["StreamWriter", "::"], &[]),
    (&["isatty", "(", "io", "::"], &[]),
    (&["tcgetwinsize", "(", "io", "::"], &[]),
];

/// The names under which the system offers the streams as files. Only the console reads keys from one of them.
const FILES: &[(&str, &[&str])] = &[
    ("/dev/tty", &["src/tui/terminal.rs"]),
    ("/dev/stdout", &[]),
    ("/dev/stderr", &[]),
    ("/dev/fd", &[]),
    ("/proc/self/fd", &[]),
];

#[test]
fn there_is_no_other_way_to_the_terminal() {
    let files = House::of_this_crate().files();
    let files: Vec<&File> = files.iter().filter(|file| !is_test(file)).collect();
    let found: Vec<String> = files.iter().flat_map(|file| other_ways(file)).collect();
    assert!(found.is_empty(), "ways to the terminal past `Printable`:\n  {}", found.join("\n  "));
    for (way, allowed) in WAYS {
        for name in *allowed {
            let file = files.iter().find(|file| file.path.to_string_lossy() == **name);
            let used = file.is_some_and(|file| !places(&file.code(), way).is_empty());
            assert!(used, "{name} does not use `{}` any more: remove it from the table", way.concat());
        }
    }
    for (name, allowed) in FILES {
        let quoted = format!("\"{name}");
        let naming = files.iter().filter(|file| source(file).contains(&quoted)).map(|file| file.path.to_string_lossy());
        let naming: Vec<_> = naming.filter(|path| !allowed.contains(&&**path)).collect();
        assert!(naming.is_empty(), "{name} is named in {naming:?}");
    }
}

#[test]
fn another_way_is_found_however_it_is_written() {
    for (source, way) in [
        ("fn f() { writeln!(io::stdout(), \"x\"); }", "stdout()"),
        ("fn f() { std::io::stderr().lock().write_all(b\"x\"); }", "stderr()"),
        ("fn f() { println!(\"x\"); }", "println!"),
        ("fn f(e: clap::Error) { e.print(); }", ".print()"),
        ("fn f() { execute!(x, Hide); }", "execute!"),
        ("fn f() { let fd = rustix::stdio::stdout(); }", "rustix::stdio"),
        ("fn f() { Printable::control_sequences(v) }", "control_sequences("),
        ("fn f() { Command::new(x).stderr(Stdio::inherit()); }", "Stdio::inherit"),
    ] {
        let found = other_ways(&File::new("src/cli/drive.rs", source)).join(" ");
        assert!(found.contains(way), "`{source}`: {found:?}");
    }
    for source in [
        "fn f() { io::stdout().is_terminal() && rustix::termios::isatty(io::stdout()); }",
        "fn f() { Command::new(x).stdout(Stdio::piped()); }",
        "fn f() { rustix::stdio::dup2_stdin(null); }",
        "// println!(x)\nfn f() { output.line(x); } mod tests { fn g() { println!(x); } }",
    ] {
        assert_eq!(other_ways(&File::new("src/cli/drive.rs", source)), Vec::<String>::new(), "`{source}`");
    }
}

fn is_test(file: &File) -> bool {
    file.path.iter().any(|part| part == "tests" || part == "tests.rs")
}

fn source(file: &File) -> String {
    std::fs::read_to_string(super::root().join(&file.path)).unwrap()
}

fn other_ways(file: &File) -> Vec<String> {
    let code = file.code();
    let forbidden = |(_, allowed): &&(&[&str], &[&str])| !allowed.contains(&&*file.path.to_string_lossy());
    let ways = WAYS.iter().filter(forbidden);
    ways.flat_map(|(way, _)| {
        let harmless_at = |at: &usize| HARMLESS.iter().any(|harmless| is_harmless(&code, *at, way.len(), harmless));
        let written: Vec<usize> = places(&code, way).into_iter().filter(|at| !harmless_at(at)).collect();
        written.into_iter().map(|at| format!("{}:{}: {}", file.path.display(), code[at].1, way.concat()))
    })
    .collect()
}

/// The places in `code` at which `way` begins.
fn places(code: &[(String, usize)], way: &[&str]) -> Vec<usize> {
    (0..code.len()).filter(|at| stands_at(code, *at, way)).collect()
}

fn stands_at(code: &[(String, usize)], at: usize, words: &[&str]) -> bool {
    code.get(at..at + words.len()).is_some_and(|there| there.iter().map(|(word, _)| word).eq(words))
}

fn is_harmless(code: &[(String, usize)], at: usize, len: usize, (before, after): &(&[&str], &[&str])) -> bool {
    at.checked_sub(before.len()).is_some_and(|from| stands_at(code, from, before)) && stands_at(code, at + len, after)
}
