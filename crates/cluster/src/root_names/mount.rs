//! Parses the list of mounts, and finds the servers of network file systems in it: [`Mount`], [`covering`].
//!
//! Reads the list of the mounts that this process sees, as Linux gives it, and the machine's own name.
//!
//! Other modules interpret the list. On a system without such a list, it is empty.

use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use mcp_text_editor_store::backend as os;

use crate::root_names::name::{RootName, SharedPath, joined};

/// A mount, with the fields that determine the names of its files on other machines.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Mount {
    id: u64,
    parent: u64,
    /// The directory in the file system that is mounted.
    root: PathBuf,
    /// The directory where it is mounted.
    pub(super) point: PathBuf,
    pub(super) kind: String,
    source: Vec<u8>,
    /// The options of the file system (not those of this mount alone), separated by commas.
    pub(super) options: String,
}

/// Parses a list of mounts, in the format of `proc_pid_mountinfo(5)`; lines in another format are left out.
pub(super) fn mounts(list: &[u8]) -> Vec<Mount> {
    list.split(|byte| *byte == b'\n').filter_map(mount).collect()
}

fn mount(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|byte| *byte == b' ');
    let mut number = || std::str::from_utf8(fields.next()?).ok()?.parse().ok();
    let (id, parent) = (number()?, number()?);
    let (root, point) = (fields.nth(1)?, fields.next()?);
    fields.find(|field| *field == b"-")?;
    let kind = String::from_utf8(fields.next()?.to_vec()).ok()?;
    let path = |field| os::path_of(unescaped(field));
    Some(Mount {
        id,
        parent,
        root: path(root)?,
        point: path(point)?,
        kind,
        source: unescaped(fields.next()?),
        options: String::from_utf8_lossy(fields.next().unwrap_or_default()).into_owned(),
    })
}

/// Decodes the octal escapes of a field, which stand for spaces, tabs, line ends and backslashes.
fn unescaped(field: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&byte, after)) = rest.split_first() {
        let code = after.get(..3).filter(|_| byte == b'\\');
        let code = code.and_then(|code| u8::from_str_radix(std::str::from_utf8(code).ok()?, 8).ok());
        out.push(code.unwrap_or(byte));
        rest = if code.is_some() { after.get(3..).unwrap_or_default() } else { after };
    }
    out
}

/// Returns the mount that contains a path; `None` if the list has no mount at `/`. On the way down, each
/// mount that lies over another is entered, as in the kernel.
pub(super) fn covering<'m>(mounts: &'m [Mount], path: &Path) -> Option<&'m Mount> {
    let is_listed = |id| mounts.iter().any(|mount| mount.id == id);
    let mut current =
        mounts.iter().find(|mount| mount.point == Path::new("/") && !is_listed(mount.parent))?;
    // Each step goes to a child mount, so there are no more steps than mounts.
    for _ in mounts {
        let children = mounts.iter().filter(|mount| mount.parent == current.id && mount.id != current.id);
        let crossed = children.filter(|mount| path.starts_with(&mount.point));
        match crossed.min_by_key(|mount| mount.point.components().count()) {
            Some(next) => current = next,
            None => break,
        }
    }
    Some(current)
}

impl Mount {
    /// Returns the shared path of the mounted directory, from the server's name and the exported path. `None`
    /// if the file system does not name its server, if the server's name means the local machine on each
    /// machine, or if the exported path is not plain.
    pub(super) fn served(&self) -> Option<SharedPath> {
        let source = std::str::from_utf8(&self.source).ok()?;
        let (server, exported) = match self.kind.as_str() {
            "nfs" | "nfs4" | "fuse.glusterfs" | "glusterfs" | "lustre" => {
                source.split_once(":/").or_else(|| {
                    // A volume may be named without a slash; an address in brackets itself contains colons.
                    source
                        .rsplit_once(':')
                        .filter(|(server, volume)| !server.contains(':') && !volume.is_empty())
                })?
            }
            "cifs" | "smb3" => source.strip_prefix("//")?.split_once('/')?,
            // The source is `user@fsid.name=/path`, where the user is ignored, or `monitor,monitor:/path`.
            "ceph" => match source.split_once("=/") {
                Some((name, path)) => (name.split_once('@').map_or(name, |(_, name)| name), path),
                None => source.split_once(":/")?,
            },
            _ => return None,
        };
        if server.is_empty() || server.split(',').any(is_this_machine) {
            return None;
        }
        let root = self.root.strip_prefix("/").ok()?;
        let relative = joined(Path::new(exported.trim_matches('/')), root);
        let is_plain = relative.components().all(|part| matches!(part, std::path::Component::Normal(_)));
        let protocol = self.kind.strip_prefix("fuse.").unwrap_or(&self.kind);
        let protocol = if protocol == "smb3" { "cifs" } else { protocol };
        let root = RootName::of_server(protocol, &server.to_ascii_lowercase());
        is_plain.then_some(SharedPath { root, relative })
    }
}

/// Tells whether a server's name, such as `localhost`, means a different server on each machine that uses it.
fn is_this_machine(server: &str) -> bool {
    // Lustre appends the network to the name.
    let name = server.split_once('@').map_or(server, |(name, _)| name).to_ascii_lowercase();
    let name = name.trim_start_matches('[').split_once(']').map_or(name.as_str(), |(address, _)| address);
    let address = name.split_once('%').map_or(name, |(address, _)| address);
    let is_own = |address: std::net::IpAddr| {
        let is_mapped = matches!(address, std::net::IpAddr::V6(six) if six.to_ipv4_mapped().is_some_and(|four| four.is_loopback()));
        address.is_loopback() || address.is_unspecified() || is_mapped || is_link_local(address)
    };
    let host = name.trim_end_matches('.');
    let is_name = host == "localhost" || host.starts_with("localhost.") || host.ends_with(".localhost");
    is_name
        || matches!(host, "localhost4" | "localhost6" | "ip6-localhost" | "ip6-loopback")
        || address.parse().is_ok_and(is_own)
}

/// Tells whether an address is valid only on one network link, and so may mean another machine on another
/// link.
fn is_link_local(address: std::net::IpAddr) -> bool {
    match address {
        std::net::IpAddr::V4(four) => four.is_link_local(),
        std::net::IpAddr::V6(six) => six.is_unicast_link_local(),
    }
}

/// The list of mounts, which is read again each time. It is opened only once, since Landlock would deny
/// opening it later.
pub(crate) struct MountList(Option<Mutex<File>>);

impl MountList {
    /// Opens the list. On a system without one, [`MountList::text`] returns `None`.
    #[expect(clippy::disallowed_methods, reason = "the kernel's list of mounts, before any wall is there")]
    pub(crate) fn open() -> Self {
        let list = if cfg!(target_os = "linux") { File::open("/proc/self/mountinfo").ok() } else { None };
        Self(list.map(Mutex::new))
    }

    /// Returns the present list in the form of `proc_pid_mountinfo(5)`; `None` if it cannot be read.
    pub(crate) fn text(&self) -> Option<Vec<u8>> {
        let mut file = self.0.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = Vec::new();
        file.seek(SeekFrom::Start(0)).ok()?;
        file.read_to_end(&mut text).ok()?;
        Some(text)
    }
}

impl fmt::Debug for MountList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("MountList").field(&self.0.is_some()).finish()
    }
}

/// Reads a file that contains one number; `None` if there is no such file.
#[expect(clippy::disallowed_methods, reason = "options of a mount, which need not lie in a root")]
pub(crate) fn read_number(path: &Path) -> io::Result<Option<f64>> {
    match std::fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        text => text?.trim().parse().map(Some).map_err(io::Error::other),
    }
}

/// Returns the names in a directory.
pub(crate) fn read_names(path: &Path) -> io::Result<Vec<OsString>> {
    std::fs::read_dir(path)?.map(|entry| Ok(entry?.file_name())).collect()
}

/// Returns two facts that identify this machine: its name, and the id that systemd gives it, or an empty text
/// if there is none. Returns `None` on systems other than Linux, and if the machine has no name of its own.
#[expect(clippy::disallowed_methods, reason = "what the machine calls itself, before any wall is there")]
pub(crate) fn machine() -> Option<(String, String)> {
    let read = |path: &str| std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
    if !cfg!(target_os = "linux") {
        return None;
    }
    let name = read("/proc/sys/kernel/hostname").filter(|name| is_its_own(name))?;
    Some((name, read("/etc/machine-id").unwrap_or_default()))
}

/// Tells whether a machine's name is its own, and not empty or `localhost`.
fn is_its_own(name: &str) -> bool {
    !["", "localhost"].contains(&name)
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    #[test]
    fn the_list_can_be_read_again_and_has_the_top_directory() {
        let list = MountList::open();
        for _ in 0..2 {
            let text = String::from_utf8_lossy(&list.text().unwrap()).into_owned();
            assert!(text.lines().any(|line| line.split(' ').nth(4) == Some("/")), "{text}");
        }
    }

    #[test]
    fn a_machine_has_the_name_that_the_system_tells() {
        let Ok(named) = std::process::Command::new("uname").arg("-n").output() else {
            return eprintln!("skipped: there is no uname(1)");
        };
        let name = String::from_utf8_lossy(&named.stdout).trim().to_owned();
        let told = machine().map(|(name, _)| name);
        assert_eq!(told, is_its_own(&name).then_some(name));
    }

    #[test]
    fn a_machine_without_a_name_or_with_that_of_every_machine_has_none_of_its_own() {
        assert!(!is_its_own("") && !is_its_own("localhost"));
        assert!(is_its_own("db-1") && is_its_own("localhost2"));
    }
}
