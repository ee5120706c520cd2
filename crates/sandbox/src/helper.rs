//! The helper's files once more, as a part of this library: only for clippy, which otherwise would never see them. `main.rs`
//! and `memory.rs` stay out, because a library has neither an entry nor memory functions of its own.

#![allow(dead_code, reason = "nothing in the library calls the helper; it is another program")]
#![expect(unsafe_code, reason = "system calls; every block carries its proof")]

use crate::protocol;

#[path = "../helper/call.rs"]
mod call;
#[path = "../helper/init.rs"]
mod init;
#[path = "../helper/launch.rs"]
mod launch;
#[path = "../helper/process.rs"]
mod process;
#[path = "../helper/socket.rs"]
mod socket;
#[path = "../helper/sys.rs"]
mod sys;
#[path = "../helper/view.rs"]
mod view;
