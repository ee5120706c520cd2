//! The `chancery` command. Everything it does is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    chancery::cli::run()
}
