//! One run of a process: feeds stdin, takes stdout and stderr, watches the clock, and sees to the end.
//!
//! One `poll` waits for everything at once, so no order of reading and writing on the plugin's side can block it. The
//! end of the process ends the run, not the end of its pipes: a daemon that the plugin left behind may hold them for ever.

use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ExitStatus};
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{Errno, ioctl_fionbio, ioctl_fionread, read, write};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::ProcessExec;
use super::exit_notice::ExitNotice;
use crate::excerpt::{Printed, Tail, TailBuffer};
use crate::exec::{Exit, Output, RunError};
use crate::until::{Interruption, Until, timespec};

/// How much is read at once: more than most plugins print.
const CHUNK: usize = 16 * 1024;
/// How long a killed process may take to end. One that the kernel does not let die must not hold the caller for ever.
const DEATH_PATIENCE: Duration = Duration::from_secs(5);

/// Runs a process that was just started to its end.
pub(super) fn attend(
    process: Child,
    exec: &ProcessExec,
    stdin: &[u8],
    until: &Until,
) -> Result<Output, RunError> {
    let mut run = Run::new(process, exec, stdin, until);
    match run.until_it_ends() {
        Ok(exit) => Ok(Output::new(exit, std::mem::take(&mut run.stdout.taken)).with_stderr(run.tail())),
        Err(stop) => Err(run.stop(stop)),
    }
}

struct Run<'a> {
    process: Child,
    /// Whether it has ended, or was killed as well as can be: once it is reaped the ID may be another's.
    over: bool,
    own_group: bool,
    until: &'a Until,
    stdin: Stdin<'a>,
    stdout: Stdout,
    stderr: Stderr<'a>,
    buffer: Vec<u8>,
}

struct Stdin<'a> {
    pipe: Option<OwnedFd>,
    left: &'a [u8],
}

struct Stdout {
    pipe: Option<OwnedFd>,
    limit: usize,
    taken: Vec<u8>,
}

struct Stderr<'a> {
    pipe: Option<OwnedFd>,
    sink: &'a dyn Fn(&[u8]),
    tail: TailBuffer,
}

/// Why a run cannot go on.
enum Stop {
    Interrupted(Interruption),
    Io(&'static str, std::io::Error),
    OutputTooLarge,
}

impl<'a> Run<'a> {
    fn new(mut process: Child, exec: &'a ProcessExec, stdin: &'a [u8], until: &'a Until) -> Self {
        Self {
            stdin: Stdin { pipe: process.stdin.take().map(OwnedFd::from), left: stdin },
            stdout: Stdout {
                pipe: process.stdout.take().map(OwnedFd::from),
                limit: exec.stdout_limit,
                taken: Vec::new(),
            },
            stderr: Stderr {
                pipe: process.stderr.take().map(OwnedFd::from),
                sink: &*exec.stderr,
                tail: TailBuffer::default(),
            },
            process,
            over: false,
            own_group: exec.own_group,
            until,
            buffer: Vec::with_capacity(CHUNK),
        }
    }

    fn until_it_ends(&mut self) -> Result<Exit, Stop> {
        let notice = ExitNotice::of(Pid::from_child(&self.process))
            .map_err(|error| Stop::Io("watch the process", error))?;
        for pipe in [&self.stdin.pipe, &self.stdout.pipe, &self.stderr.pipe].into_iter().flatten() {
            ioctl_fionbio(pipe, true).map_err(|error| Stop::Io("prepare a pipe", error.into()))?;
        }
        // Most configurations fit into the pipe at once.
        self.stdin.feed()?;
        loop {
            self.over = self.serve(&notice)?;
            if self.over {
                break;
            }
            if let Some(why) = self.until.interruption() {
                return Err(Stop::Interrupted(why));
            }
        }
        self.stdout.drain(&mut self.buffer)?;
        self.stderr.drain(&mut self.buffer)?;
        let exit = self.process.wait().map_err(|error| Stop::Io("learn how the process ended", error))?;
        Ok(exit_of(exit))
    }

    /// Waits for anything to happen, and does what is to be done; whether the process has ended.
    fn serve(&mut self, notice: &ExitNotice) -> Result<bool, Stop> {
        let until = self.until;
        let timeout = until.remaining().map(timespec);
        let mut fds = vec![PollFd::new(notice, PollFlags::IN)];
        let outputs = [&self.stdout.pipe, &self.stderr.pipe];
        fds.extend(outputs.into_iter().flatten().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
        fds.extend(self.stdin.pipe.iter().map(|pipe| PollFd::new(pipe, PollFlags::OUT)));
        let cancelled = until.cancelled_fd();
        fds.extend(cancelled.iter().map(|fd| PollFd::new(fd, PollFlags::IN)));
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(Stop::Io("wait for the process", error.into())),
        }
        let ended = !fds[0].revents().is_empty();
        // The pipes do not block, so trying is as good as asking `poll` which of them it was.
        self.stdin.feed()?;
        self.stdout.take(&mut self.buffer)?;
        self.stderr.take(&mut self.buffer)?;
        Ok(ended)
    }

    /// Kills, and tells what is to be told.
    fn stop(&mut self, stop: Stop) -> RunError {
        self.kill();
        // What it said last may be what one looks for. Faults here would only hide the first one.
        let _ = self.stdout.drain(&mut self.buffer);
        let _ = self.stderr.drain(&mut self.buffer);
        let stderr = self.tail();
        let printed = Printed::new(&self.stdout.taken, stderr);
        match stop {
            Stop::Interrupted(why) => RunError::Interrupted { why, printed },
            Stop::Io(attempt, source) => RunError::Io { attempt, source },
            Stop::OutputTooLarge => RunError::OutputTooLarge { limit: self.stdout.limit, printed },
        }
    }

    /// Kills the process and its group unless it has ended, and reaps it unless the kernel keeps it alive.
    fn kill(&mut self) {
        if self.over {
            // Without effect if it was reaped already.
            let _ = self.process.try_wait();
            return;
        }
        let pid = Pid::from_child(&self.process);
        // Not reaped yet, so the ID is still its own, and so is the group's; that both are gone is what is wanted.
        if self.own_group {
            let _ = kill_process_group(pid, Signal::KILL);
        }
        let _ = kill_process(pid, Signal::KILL);
        let death = ExitNotice::of(pid).and_then(|notice| {
            Ok(poll(&mut [PollFd::new(&notice, PollFlags::IN)], Some(&timespec(DEATH_PATIENCE)))?)
        });
        // Without a notice there is only the wait without a bound; killed processes do end.
        let _ = match death {
            Ok(0) => self.process.try_wait().map(drop),
            Ok(_) | Err(_) => self.process.wait().map(drop),
        };
        self.over = true;
    }

    fn tail(&mut self) -> Tail {
        std::mem::take(&mut self.stderr.tail).finish()
    }
}

/// Nothing runs on unattended, not even when the sink of stderr panics.
impl Drop for Run<'_> {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Stdin<'_> {
    /// Writes what the pipe takes; closes it after the last byte, or when nobody reads.
    fn feed(&mut self) -> Result<(), Stop> {
        let Some(pipe) = &self.pipe else { return Ok(()) };
        while !self.left.is_empty() {
            match write(pipe, self.left) {
                Ok(count) => self.left = &self.left[count..],
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => {}
                // A plugin need not read its configuration; what it makes of that is seen from its answer.
                Err(Errno::PIPE) => break,
                Err(error) => return Err(Stop::Io("write its stdin", error.into())),
            }
        }
        self.pipe = None;
        Ok(())
    }
}

impl Stdout {
    /// Takes a part; how much it was.
    fn take(&mut self, buffer: &mut Vec<u8>) -> Result<usize, Stop> {
        let count = read_some(&mut self.pipe, buffer).map_err(|error| Stop::Io("read its stdout", error))?;
        self.taken.extend_from_slice(buffer);
        if self.taken.len() > self.limit { Err(Stop::OutputTooLarge) } else { Ok(count) }
    }

    fn drain(&mut self, buffer: &mut Vec<u8>) -> Result<(), Stop> {
        drain(available(&self.pipe), || self.take(buffer))
    }
}

impl Stderr<'_> {
    /// Takes a part and passes it on; how much it was.
    fn take(&mut self, buffer: &mut Vec<u8>) -> Result<usize, Stop> {
        let count = read_some(&mut self.pipe, buffer).map_err(|error| Stop::Io("read its stderr", error))?;
        if count > 0 {
            self.tail.push(buffer);
            (self.sink)(buffer);
        }
        Ok(count)
    }

    fn drain(&mut self, buffer: &mut Vec<u8>) -> Result<(), Stop> {
        drain(available(&self.pipe), || self.take(buffer))
    }
}

/// Takes what there is, and no more.
fn drain(mut left: u64, mut take: impl FnMut() -> Result<usize, Stop>) -> Result<(), Stop> {
    while left > 0 {
        match take()? {
            0 => break,
            count => left = left.saturating_sub(count as u64),
        }
    }
    Ok(())
}

/// How much is in a pipe. After the process has ended that is all of what it wrote, while a process that it left behind
/// may go on writing for ever.
fn available(pipe: &Option<OwnedFd>) -> u64 {
    pipe.as_ref().and_then(|pipe| ioctl_fionread(pipe).ok()).unwrap_or_default()
}

/// Reads what is there, in place of what is in the buffer; 0 means that nothing is, or that the pipe is at its end and was
/// closed.
fn read_some(pipe: &mut Option<OwnedFd>, buffer: &mut Vec<u8>) -> std::io::Result<usize> {
    buffer.clear();
    let Some(open) = pipe else { return Ok(0) };
    loop {
        match read(&*open, spare_capacity(buffer)) {
            Ok(0) => *pipe = None,
            Ok(count) => return Ok(count),
            Err(Errno::INTR) => continue,
            Err(Errno::AGAIN) => {}
            Err(error) => return Err(error.into()),
        }
        return Ok(0);
    }
}

fn exit_of(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, Some(signal)) => Exit::Signal(signal),
        // `wait` reports nothing else.
        (None, None) => Exit::Code(-1),
    }
}
