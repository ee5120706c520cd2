//! Extended attributes and access lists: what an edit keeps of them, and what it drops.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use rustix::fs::XattrFlags;
use rustix::io::Errno;

use crate::support::*;

const ACCESS_LIST: &str = "system.posix_acl_access";

/// An access list that lets user 12345 read and write beside the owner: version 2, then tag, rights and id of each.
fn access_list() -> Vec<u8> {
    let nobody = u32::MAX;
    let entries = [
        (0x01, 6, nobody),
        (0x02, 6, 12345),
        (0x04, 4, nobody),
        (0x10, 6, nobody),
        (0x20, 0, nobody),
    ];
    let entry = |(tag, rights, id): (u16, u16, u32)| {
        [tag.to_le_bytes().as_slice(), &rights.to_le_bytes(), &id.to_le_bytes()].concat()
    };
    [2_u32.to_le_bytes().to_vec(), entries.map(entry).concat()].concat()
}

/// Sets an attribute on an original; `false`, said aloud, where this file system or user cannot.
fn set(path: &Path, name: &str, value: &[u8]) -> bool {
    match rustix::fs::setxattr(path, name, value, XattrFlags::empty()) {
        Ok(()) => true,
        Err(errno) => {
            eprintln!("skipped: `{name}` cannot be set on the original here: {errno}");
            false
        }
    }
}

fn get(path: &Path, name: &str) -> Result<Vec<u8>, Errno> {
    let mut value = vec![0; 64 << 10];
    let length = rustix::fs::getxattr(path, name, value.as_mut_slice())?;
    value.truncate(length);
    Ok(value)
}

#[test]
fn p7_user_attributes_survive_an_edit_and_a_rename_with_an_edit() {
    let scratch = Scratch::with(&[("a", b"one\n")]);
    if !set(&scratch.at("a"), "user.origin", b"\0any bytes\xFF")
        || !set(&scratch.at("a"), "user.empty", b"")
    {
        return;
    }
    scratch.patch(vec![replace("a", "one", "two")]).unwrap();
    assert_eq!(get(&scratch.at("a"), "user.origin").unwrap(), b"\0any bytes\xFF");
    assert_eq!(get(&scratch.at("a"), "user.empty").unwrap(), b"");
    scratch.patch(vec![replace("a", "two", "three"), rename("a", "deep/b")]).unwrap();
    assert_eq!(scratch.text("deep/b"), "three\n");
    assert_eq!(get(&scratch.at("deep/b"), "user.origin").unwrap(), b"\0any bytes\xFF");
}

#[test]
fn p7_an_access_list_survives_an_edit_with_its_mode() {
    let scratch = Scratch::with(&[("a", b"one\n")]);
    if !set(&scratch.at("a"), ACCESS_LIST, &access_list()) {
        return;
    }
    let before = scratch.tree();
    scratch.patch(vec![replace("a", "one", "two")]).unwrap();
    assert_eq!(get(&scratch.at("a"), ACCESS_LIST).unwrap(), access_list());
    assert_eq!(scratch.tree()[0].1, before[0].1);
    assert_eq!(scratch.tree()[0].1 & 0o777, 0o660);
}

#[test]
fn p7_a_file_without_an_access_list_gets_none_from_its_folder() {
    let scratch = Scratch::with(&[("sub/a", b"one\n")]);
    if !set(&scratch.at("sub"), "system.posix_acl_default", &access_list()) {
        return;
    }
    let before = scratch.tree();
    scratch.patch(vec![replace("sub/a", "one", "two")]).unwrap();
    assert_eq!(get(&scratch.at("sub/a"), ACCESS_LIST), Err(Errno::NODATA));
    let modes = |tree: Vec<(String, u32, Vec<u8>)>| -> Vec<u32> {
        tree.iter().map(|file| file.1).collect()
    };
    assert_eq!(modes(scratch.tree()), modes(before));
}

#[test]
fn p7_p026_a_capability_is_dropped_as_the_set_id_bits_are() {
    let scratch = Scratch::with(&[("a", b"one\n")]);
    // Version 2, the right to bind low ports.
    let capability = [[0x01, 0, 0, 2], [0, 4, 0, 0], [0; 4], [0; 4], [0; 4]].concat();
    if !set(&scratch.at("a"), "security.capability", &capability) {
        return;
    }
    scratch.patch(vec![replace("a", "one", "two")]).unwrap();
    assert_eq!(get(&scratch.at("a"), "security.capability"), Err(Errno::NODATA));
}

#[test]
fn p7_another_owners_file_is_not_taken_over() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root can give the file an owner and then be somebody else");
        return;
    }
    let scratch = Scratch::with(&[("a", b"one\n"), ("mine", b"one\n")]);
    let user = 65534;
    for name in ["..", "../journals", "", "mine"] {
        std::os::unix::fs::chown(scratch.at(name), Some(user), Some(user)).unwrap();
    }
    std::fs::set_permissions(scratch.at("a"), std::fs::Permissions::from_mode(0o666)).unwrap();
    let (theirs, mine) = std::thread::scope(|scope| {
        let as_user = scope.spawn(|| {
            // Of this thread alone.
            rustix::thread::set_thread_res_gid(gid(user), gid(user), gid(user)).unwrap();
            rustix::thread::set_thread_res_uid(uid(user), uid(user), uid(user)).unwrap();
            let patch = |name| scratch.patch(vec![replace(name, "one", "two")]);
            (patch("a").map(|_| ()), patch("mine").map(|_| ()))
        });
        as_user.join().unwrap()
    });
    let theirs = format!("{:?}", theirs.unwrap_err());
    assert!(theirs.contains("owner 0:0"), "{theirs}");
    assert_eq!(scratch.text("a"), "one\n");
    mine.unwrap();
    assert_eq!(scratch.text("mine"), "two\n");
    assert_eq!(std::fs::read_dir(scratch.at("")).unwrap().count(), 2, "nothing is left behind");
}

fn uid(raw: u32) -> rustix::process::Uid {
    rustix::process::Uid::from_raw(raw)
}

fn gid(raw: u32) -> rustix::process::Gid {
    rustix::process::Gid::from_raw(raw)
}
