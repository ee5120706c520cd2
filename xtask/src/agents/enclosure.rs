//! Where everything that this command starts runs: user, process and mount namespaces of its own, mostly without a
//! network.
//!
//! Ending the one process that was started ends all that came of it, since the kernel ends a process namespace with
//! its first process. Must never wait without a bound, nor end anything that was not started here.

use std::ffi::OsStr;
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use super::Fault;

/// How long to wait before looking again.
const PAUSE: Duration = Duration::from_millis(20);

/// What a program may reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Network {
    /// The machine's, for installing.
    Shared,
    /// A loopback interface of its own, not yet up.
    None,
}

/// A program in namespaces of its own (`man 1 unshare`), where an ordinary user is as good as root.
pub(super) fn enclosed(network: Network, program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--pid", "--fork", "--mount-proc"]);
    command.arg("--kill-child=KILL");
    if network == Network::None {
        command.arg("--net");
    }
    command.arg("--").arg(program);
    command
}

/// Runs it to its end; its exit code, or none when it was ended by a signal or for taking too long.
///
/// # Errors
/// When it cannot be started or waited for.
pub(super) fn finish(command: &mut Command, seconds: u64) -> Result<Option<i32>, Fault> {
    let deadline = Instant::now() + Duration::from_secs(seconds);
    let mut child = command.spawn().map_err(Fault::at("unshare"))?;
    loop {
        if let Some(status) = child.try_wait().map_err(Fault::at("unshare"))? {
            return Ok(status.code());
        }
        if Instant::now() >= deadline {
            end(&mut child)?;
            return Ok(None);
        }
        thread::sleep(PAUSE);
    }
}

/// Ends it and all that came of it.
fn end(child: &mut Child) -> Result<(), Fault> {
    child.kill().map_err(Fault::at("unshare"))?;
    child.wait().map_err(Fault::at("unshare"))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::{self, BufRead as _, BufReader, Read as _};

    use super::*;

    /// A shell whose output can be read until nobody holds it any more.
    fn shell(script: &str) -> (Command, BufReader<io::PipeReader>) {
        let (reader, writer) = io::pipe().unwrap();
        let mut command = enclosed(Network::None, "sh");
        command.args(["-c", script]).stdout(writer);
        (command, BufReader::new(reader))
    }

    fn printed(script: &str) -> (String, Option<i32>) {
        let (mut command, mut output) = shell(script);
        let code = finish(&mut command, 60).unwrap();
        drop(command);
        let mut text = String::new();
        output.read_to_string(&mut text).unwrap();
        (text, code)
    }

    #[test]
    fn an_exit_code_is_passed_on() {
        assert_eq!(printed("echo here; exit 3"), ("here\n".to_owned(), Some(3)));
    }

    #[test]
    fn what_is_ended_is_ended_with_all_that_it_started() {
        // A session of its own that ignores what can be ignored.
        let stubborn = "setsid sh -c 'trap \"\" TERM HUP; echo up; sleep 600' & sleep 600";
        let (mut command, mut output) = shell(stubborn);
        let mut child = command.spawn().unwrap();
        drop(command);
        let mut text = String::new();
        output.read_line(&mut text).unwrap();
        end(&mut child).unwrap();
        // Comes back only when the last holder is gone.
        output.read_to_string(&mut text).unwrap();
        assert_eq!(text, "up\n");
    }

    #[test]
    fn nothing_is_waited_for_without_a_bound() {
        let (mut command, _) = shell("sleep 600");
        assert_eq!(finish(&mut command, 0).unwrap(), None);
    }

    #[test]
    fn there_is_only_loopback() {
        let (text, code) = printed("sed -n '3,$s/:.*//p' /proc/net/dev");
        assert_eq!((text.trim(), code), ("lo", Some(0)));
    }
}
