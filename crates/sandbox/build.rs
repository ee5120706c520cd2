//! Compiles the static helper (`helper/`) with the same compiler, for the same target, into `OUT_DIR/helper`, from
//! where the library embeds it. It must never reach for anything but that compiler and the linker that comes with it.

#![expect(
    clippy::disallowed_methods,
    reason = "a build script reads the variables of cargo and runs the compiler"
)]

use std::env;
use std::error::Error;
use std::path::PathBuf;
use std::process::Command;

/// Small, no unwinding, one piece.
const CODE: [&str; 8] = [
    "panic=abort",
    "opt-level=s",
    "lto=fat",
    "codegen-units=1",
    "strip=symbols",
    "debug-assertions=off",
    "overflow-checks=off",
    "force-unwind-tables=no",
];
/// The compiler's own linker, no library, fixed addresses, segments packed: every page counts at exec and at exit.
const LINKING: [&str; 8] = [
    "linker=rust-lld",
    "linker-flavor=ld.lld",
    "relocation-model=static",
    "link-arg=--static",
    "link-arg=--nostdlib",
    "link-arg=-znoseparate-code",
    "link-arg=-znorelro",
    "link-arg=--build-id=none",
];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=helper");
    println!("cargo::rerun-if-changed=src/protocol.rs");
    let read = |name: &str| env::var_os(name).ok_or(format!("cargo did not set `{name}`"));
    let mut compiler = Command::new(read("RUSTC")?);
    compiler
        .args(["helper/main.rs", "--crate-name", "helper", "--crate-type", "bin"])
        .args(["--edition", "2024", "--target"])
        .arg(read("TARGET")?)
        .arg("-o")
        .arg(PathBuf::from(read("OUT_DIR")?).join("helper"));
    for option in CODE.iter().chain(&LINKING) {
        compiler.args(["-C", option]);
    }
    if compiler.status()?.success() {
        return Ok(());
    }
    Err("the sandbox helper does not compile for this target: see above".into())
}
