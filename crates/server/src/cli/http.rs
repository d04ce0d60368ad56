//! Resolves the options of HTTP: the address and the token. Reads the token's file, once, before the process
//! is confined (restricted by the kernel).

use std::fs::File;
use std::io::Read as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use crate::transport::http::{HttpSettings, Token};

/// The maximum size of a token's file, in bytes.
const MAX_TOKEN: u64 = 4_096;

/// The mode bits for everybody except the owner.
#[cfg(unix)]
const OTHERS: u32 = 0o077;

/// The user id of root, who can read every file in any case.
#[cfg(unix)]
const ROOT: u32 = 0;

/// The options of HTTP as they were typed.
#[derive(Debug)]
pub(super) struct Typed<'a> {
    pub(super) address: Option<&'a str>,
    pub(super) token_file: Option<&'a Path>,
    pub(super) hosts: Vec<String>,
    pub(super) origins: Vec<String>,
}

/// Resolves the options. Returns `None` if there is no address: without an address, the other options have no
/// meaning.
pub(super) fn resolve(typed: Typed<'_>) -> Result<Option<HttpSettings>, String> {
    let Some(text) = typed.address else {
        return if typed.token_file.is_some() {
            Err("--token-file is for --http: without it nothing asks for a token".to_owned())
        } else {
            Ok(None)
        };
    };
    let address = address(text)?;
    let token = typed.token_file.map(token).transpose()?;
    if token.is_none() && !address.ip().to_canonical().is_loopback() {
        return Err(format!(
            "--http {text} can be reached from other machines, so it needs --token-file FILE; without a token only \
             loopback is served, such as 127.0.0.1:{}",
            address.port()
        ));
    }
    Ok(Some(HttpSettings { address, token, hosts: typed.hosts, origins: typed.origins }))
}

/// Parses an address with a port. `localhost` means 127.0.0.1; all other host names are refused.
fn address(text: &str) -> Result<SocketAddr, String> {
    let of_localhost =
        || Some(SocketAddr::from((Ipv4Addr::LOCALHOST, text.strip_prefix("localhost:")?.parse().ok()?)));
    text.parse().ok().or_else(of_localhost).ok_or_else(|| {
        format!("--http {text}: it takes an address and a port, such as 127.0.0.1:8000 or [::1]:8000")
    })
}

fn token(path: &Path) -> Result<Token, String> {
    let fail = |why: &str| format!("--token-file {}: {why}", path.display());
    let file = open(path).map_err(|error| fail(&error.to_string()))?;
    check_private(&file).map_err(|why| fail(&why))?;
    let mut text = Vec::new();
    file.take(MAX_TOKEN + 1).read_to_end(&mut text).map_err(|error| fail(&error.to_string()))?;
    if text.len() as u64 > MAX_TOKEN {
        return Err(fail("it is too long for a token"));
    }
    Token::new(&text).map_err(|error| fail(&error.to_string()))
}

/// Opens the file. If it is a FIFO without a writer, does not wait.
#[cfg(unix)]
fn open(path: &Path) -> std::io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::open(path, flags, Mode::empty())?))
}

#[cfg(not(unix))]
#[expect(clippy::disallowed_methods, reason = "the token is a person's, and lies in no root")]
fn open(path: &Path) -> std::io::Result<File> {
    File::open(path)
}

/// Refuses a file that others can read, or that belongs to another user: the token gives access to all served
/// files.
#[cfg(unix)]
fn check_private(file: &File) -> Result<(), String> {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    let metadata = file.metadata().map_err(|error| error.to_string())?;
    if !metadata.is_file() {
        return Err("it is no regular file".to_owned());
    }
    let (own, owner) = (rustix::process::geteuid().as_raw(), metadata.uid());
    if owner != own && owner != ROOT {
        return Err(format!(
            "it belongs to another user ({owner}), who knows and can change it; chown makes it yours"
        ));
    }
    let mode = metadata.permissions().mode() & 0o777;
    let is_private = mode & OTHERS == 0;
    if is_private {
        Ok(())
    } else {
        Err(format!(
            "its mode is {mode:04o}, so others can read or change it; chmod 600 makes it yours alone"
        ))
    }
}

/// Refuses anything that is not a regular file. Only Unix has modes to check.
#[cfg(not(unix))]
fn check_private(file: &File) -> Result<(), String> {
    let metadata = file.metadata().map_err(|error| error.to_string())?;
    if metadata.is_file() { Ok(()) } else { Err("it is no regular file".to_owned()) }
}
