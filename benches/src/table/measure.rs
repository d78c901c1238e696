//! Starting a program once, and what it took.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use wait4::Wait4 as _;

/// What a pipe takes without anyone at its other end.
const PIPE: usize = 60_000;

/// A program with everything that it is started with.
#[derive(Clone, Debug)]
pub(super) struct Program {
    path: PathBuf,
    args: Vec<String>,
    env: Vec<(String, String)>,
    stdin: Vec<u8>,
}

/// What one run took, in microseconds. CPU time is that of the program and of all it started.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub(super) wall: f64,
    pub(super) cpu: f64,
    pub(super) system: f64,
}

impl Program {
    pub(super) fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), args: Vec::new(), env: Vec::new(), stdin: Vec::new() }
    }

    pub(super) fn args<S: ToString>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.args.extend(args.into_iter().map(|arg| arg.to_string()));
        self
    }

    pub(super) fn env<K: ToString, V: ToString>(mut self, pairs: impl IntoIterator<Item = (K, V)>) -> Self {
        self.env.extend(pairs.into_iter().map(|(key, value)| (key.to_string(), value.to_string())));
        self
    }

    pub(super) fn stdin(mut self, stdin: impl Into<Vec<u8>>) -> Self {
        self.stdin = stdin.into();
        self
    }

    /// Runs it to its end; it must succeed. Gives what it printed on stdout, which must fit into a pipe.
    pub(super) fn run(&self) -> (Sample, String) {
        let (mut stdout, writer) = io::pipe().unwrap();
        let sample = self.run_printing_to(writer.into());
        let mut printed = String::new();
        stdout.read_to_string(&mut printed).unwrap();
        (sample, printed)
    }

    /// As [`Program::run`], whatever it prints, which is lost.
    pub(super) fn run_unheard(&self) -> Sample {
        self.run_printing_to(Stdio::null())
    }

    fn run_printing_to(&self, stdout: Stdio) -> Sample {
        let mut command = Command::new(&self.path);
        command.args(&self.args).env_clear().envs(self.env.iter().cloned());
        command.stdin(self.input()).stdout(stdout).stderr(Stdio::null());
        let start = Instant::now();
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{}: {error}", self.path.display()));
        let ended = child.wait4().unwrap();
        let wall = start.elapsed();
        assert!(ended.status.success(), "{} {:?} {:?}", self.path.display(), self.args, self.env);
        let micros = |time: std::time::Duration| time.as_secs_f64() * 1e6;
        let usage = ended.rusage;
        Sample { wall: micros(wall), cpu: micros(usage.utime + usage.stime), system: micros(usage.stime) }
    }

    /// As a runtime gives it where it fits.
    fn input(&self) -> Stdio {
        if self.stdin.len() <= PIPE {
            let (reader, mut writer) = io::pipe().unwrap();
            writer.write_all(&self.stdin).unwrap();
            return reader.into();
        }
        let mut file: File = tempfile::tempfile().unwrap();
        file.write_all(&self.stdin).unwrap();
        file.rewind().unwrap();
        file.into()
    }

    /// The most memory that it had, in KiB.
    pub(super) fn peak(&self, launcher: &Path) -> f64 {
        let output = Command::new(launcher)
            .arg(&self.path)
            .args(&self.args)
            .env_clear()
            .envs(self.env.iter().cloned())
            .stdin(self.input())
            .stdout(Stdio::null())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", self.path.display());
        let told = String::from_utf8(output.stderr).unwrap();
        let peak = told.lines().find_map(|line| line.strip_prefix("peak ")).unwrap();
        peak.parse().unwrap()
    }
}

/// Runs programs in turn, this many rounds after one that does not count. Gives each one's samples.
pub(super) fn in_turn(programs: &[&Program], rounds: usize) -> Vec<Vec<Sample>> {
    let mut samples = vec![Vec::with_capacity(rounds); programs.len()];
    for round in 0..=rounds {
        for (program, samples) in programs.iter().zip(&mut samples) {
            let (sample, _) = program.run();
            if round > 0 {
                samples.push(sample);
            }
        }
    }
    samples
}

/// One figure of each sample.
pub(super) fn each(samples: &[Sample], figure: fn(&Sample) -> f64) -> Vec<f64> {
    samples.iter().map(figure).collect()
}
