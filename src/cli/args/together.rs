//! Refuses command lines whose parts are each valid but contradict each other.

use clap::error::ErrorKind;

use super::{Cli, CliCommand, DaemonSetName, OnCluster, OneShot, OutputFormat, OutputShape};

impl Cli {
    /// Refuses a command line whose parts contradict each other, or from which one is missing. The usage that the error shows is that of the command that was typed. `-A` before the
    /// command is taken for the command's own.
    ///
    /// # Errors
    /// A usage error that says what to type instead.
    pub(crate) fn check_together(&mut self, command: &mut clap::Command) -> Result<(), clap::Error> {
        let typed = match &self.command {
            Some(CliCommand::OnCluster(OnCluster::OneShot(OneShot::Tune(_)))) => Some("tune"),
            Some(CliCommand::OnCluster(OnCluster::Status(_))) => Some("status"),
            _ => None,
        };
        let Some((kind, why)) = self.contradiction() else { return Ok(()) };
        let typed = typed.filter(|_| kind == ErrorKind::MissingRequiredArgument);
        match typed.and_then(|name| command.find_subcommand_mut(name)) {
            Some(subcommand) => Err(subcommand.error(kind, why)),
            None => Err(command.error(kind, why)),
        }
    }

    fn contradiction(&mut self) -> Option<(ErrorKind, String)> {
        if let (Some(DaemonSetName(name)), Some(_)) = (&self.name, &self.command) {
            let why = format!("the DaemonSet comes after the command, as in `rolldeck status ds/{name}`");
            return Some((ErrorKind::ArgumentConflict, why));
        }
        if self.pass_on_all_namespaces() {
            let why = "`-A` is for lists: `rolldeck -A`, `rolldeck status -A`; a DaemonSet is in one namespace: `-n NAMESPACE`";
            return Some((ErrorKind::ArgumentConflict, why.to_owned()));
        }
        if let Some(why) = self.refused_output() {
            return Some((ErrorKind::ArgumentConflict, why));
        }
        if let Some(why) = self.container_named_twice() {
            return Some((ErrorKind::ArgumentConflict, why));
        }
        if let Some(flag) = self.flag_beside_watch() {
            let why = format!(
                "`--watch` prints changes, and `{flag}` is for what is printed once: `rolldeck status ds/NAME {flag}` lists the nodes, \
                 `--watch` alone tells what changes on each"
            );
            return Some((ErrorKind::ArgumentConflict, why));
        }
        if self.tunes_nothing() {
            let why =
                "name what to change, as in `rolldeck tune ds/agent --max-unavailable 5`; `--help` lists the rest";
            return Some((ErrorKind::MissingRequiredArgument, why.to_owned()));
        }
        let flag = self.flag_of_one_daemonset()?;
        let why = format!(
            "`{flag}` is for one DaemonSet: name it, as in `rolldeck status -n NAMESPACE ds/agent {flag}`; without it, `status` lists them"
        );
        Some((ErrorKind::MissingRequiredArgument, why))
    }

    /// Why the output format that is asked for cannot be had of this command, if it cannot.
    fn refused_output(&self) -> Option<String> {
        let shape = self.global.output.as_ref().map(|output| &output.shape)?;
        let status = match &self.command {
            None => Some(self.name.is_some()),
            Some(CliCommand::OnCluster(OnCluster::Status(args))) => Some(args.watch),
            _ => None,
        };
        let history =
            matches!(&self.command, Some(CliCommand::OnCluster(OnCluster::History(args))) if args.revision.is_none());
        let prints_json = !matches!(
            self.command,
            Some(CliCommand::Completions { .. } | CliCommand::Help { .. } | CliCommand::Man | CliCommand::Demo(_))
        );
        let only = |what: &str| Some(format!("`-o {shape}` is for {what}"));
        let format = match self.global.output.as_ref().map(|output| output.format) {
            Some(OutputFormat::Json) => "json",
            Some(OutputFormat::Yaml) => "yaml",
            Some(OutputFormat::Text) | None => "text",
        };
        match (shape, status) {
            (OutputShape::Whole, _)
                if format != "text"
                    && let Some(prints) = self.prints_no_data() =>
            {
                Some(format!("`{prints}, which is no data: leave `-o {format}` out"))
            }
            (OutputShape::Whole, _) | (OutputShape::Names | OutputShape::Wide, Some(false)) => None,
            (OutputShape::Wide, None) if history => None,
            (OutputShape::Template(_), _) if prints_json => None,
            (OutputShape::Names | OutputShape::Wide, Some(true)) => only("what is printed once, not for changes"),
            (OutputShape::Wide, None) => only("tables: `status` and `history`"),
            (OutputShape::Names, None) => only("`status`"),
            (OutputShape::Template(_), _) => only("commands that print JSON"),
        }
    }

    /// What a command prints that is no data, behind its name; `None` if its answer can be had as JSON.
    fn prints_no_data(&self) -> Option<&'static str> {
        match &self.command {
            Some(CliCommand::Completions { .. }) => Some("completions` prints a script for a shell"),
            Some(CliCommand::Help { .. }) => Some("help` prints text"),
            Some(CliCommand::Man) => Some("man` prints a page for `man`"),
            Some(CliCommand::Demo(args)) if args.print => Some("demo --print` prints a scenario file"),
            Some(CliCommand::Demo(args)) if args.reference => Some("demo --reference` prints a scenario file"),
            Some(CliCommand::Demo(args)) if args.serve => Some("demo --serve` prints a kubeconfig"),
            _ => None,
        }
    }

    /// Takes `-A` before the command for the command's own; whether the command has none.
    fn pass_on_all_namespaces(&mut self) -> bool {
        match &mut self.command {
            None => false,
            Some(CliCommand::OnCluster(OnCluster::Status(args))) if args.name.is_none() => {
                args.all_namespaces |= self.all_namespaces;
                false
            }
            Some(_) => self.all_namespaces,
        }
    }

    /// A container that gets two images: which one is meant nobody can tell.
    fn container_named_twice(&self) -> Option<String> {
        let Some(CliCommand::OnCluster(command)) = &self.command else { return None };
        let images = match command {
            OnCluster::OneShot(OneShot::SetImage(args)) => &args.images,
            OnCluster::Drive(args) => &args.images,
            OnCluster::Prewarm(args) => &args.images,
            _ => return None,
        };
        let earlier = |nth: usize| images[..nth].iter().find(|known| known.container == images[nth].container);
        let (nth, known) = (0..images.len()).find_map(|nth| Some((nth, earlier(nth)?)))?;
        let container = &known.container;
        let (first, second) = (known.image.as_str(), images[nth].image.as_str());
        Some(format!("container `{container}` is named twice: {container}={first} and {container}={second}"))
    }

    /// Whether it is a `tune` that names nothing to change.
    fn tunes_nothing(&self) -> bool {
        let Some(CliCommand::OnCluster(OnCluster::OneShot(OneShot::Tune(args)))) = &self.command else {
            return false;
        };
        args.tuning.tuning().is_empty()
    }

    /// A flag of `status` that `--watch` would not heed.
    fn flag_beside_watch(&self) -> Option<&'static str> {
        let Some(CliCommand::OnCluster(OnCluster::Status(args))) = &self.command else { return None };
        let given = [(args.nodes, "--nodes"), (args.images, "--images")];
        given.into_iter().find(|(given, _)| *given && args.watch && args.name.is_some()).map(|(_, flag)| flag)
    }

    /// A flag of `status` that a list cannot show. The parser asks for a name with it, but not beside `-A`, as that excludes a name.
    fn flag_of_one_daemonset(&self) -> Option<&'static str> {
        let Some(CliCommand::OnCluster(OnCluster::Status(args))) = &self.command else { return None };
        let given = [(args.nodes, "--nodes"), (args.images, "--images"), (args.watch, "--watch")];
        given.into_iter().find(|(given, _)| *given && args.name.is_none()).map(|(_, flag)| flag)
    }
}
