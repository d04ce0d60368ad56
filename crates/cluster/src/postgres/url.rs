//! Parses the URL of a database ([`StateUrl`]), looks up the addresses of its hosts ([`Addresses`]), and
//! reads `.pgpass`, the file of passwords of `PostgreSQL`'s own programs ([`password_for`]).

use std::fs::File;
use std::io::{self, Read as _};
use std::net::{IpAddr, ToSocketAddrs as _};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::Duration;
use std::{fmt, thread};

/// The default port.
const PORT: u16 = 5432;
/// The default schema.
const SCHEMA: &str = "mcp_text_editor";
/// The maximum length in bytes of a name in `PostgreSQL`, which cuts longer names off.
const LONGEST_NAME: usize = 63;

/// The URL of a database: `postgres://user@host:5432/database`.
///
/// Several hosts, separated by commas, are tried in turn until one accepts writes. A host that begins with
/// `%2F` is the directory of a Unix socket. Parameters can follow after a `?`, separated by `&`: `sslmode`
/// (`verify-full`, the default, or `disable`; a Unix socket has no TLS), `sslrootcert` (a file of
/// certificates in PEM; by default those that the system trusts), `passfile`, `schema`, `password`,
/// `target_session_attrs` (`read-write`, `primary` or `any`, which all mean `read-write`), and
/// `connect_timeout` and `application_name`, which are ignored.
///
/// `Debug` and `Display` leave the password out.
#[derive(Clone, PartialEq, Eq)]
pub struct StateUrl {
    pub(super) hosts: Vec<(Host, u16)>,
    pub(super) user: String,
    pub(super) database: String,
    pub(super) schema: String,
    pub(super) has_tls: bool,
    pub(super) root_certificates: Option<PathBuf>,
    pub(super) password_file: Option<PathBuf>,
    password: Option<String>,
}

/// The place where a server listens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Host {
    /// A host name or an IP address.
    Tcp(String),
    /// The directory of a Unix socket.
    Unix(PathBuf),
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(name) => f.write_str(name),
            Self::Unix(directory) => write!(f, "{}", directory.display()),
        }
    }
}

/// The reason why a text is not a [`StateUrl`]. It says which part of the text is wrong, but quotes nothing
/// of it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct BadStateUrl(String);

fn bad<T>(why: impl Into<String>) -> Result<T, BadStateUrl> {
    Err(BadStateUrl(why.into()))
}

impl StateUrl {
    /// Tells whether the URL has a password.
    #[must_use]
    pub fn has_password(&self) -> bool {
        self.password.is_some()
    }

    /// Returns the URL with its own password or, if it has none, with this one. An empty password counts as
    /// none.
    #[must_use]
    pub fn or_password(self, password: Option<String>) -> Self {
        let password = self.password.or(password.filter(|password| !password.is_empty()));
        Self { password, ..self }
    }

    /// Returns the URL with its own file of passwords (`.pgpass`) or, if it names none, with this one. The
    /// file need not exist.
    #[must_use]
    pub fn or_password_file(self, file: Option<PathBuf>) -> Self {
        let password_file = self.password_file.or(file);
        Self { password_file, ..self }
    }

    pub(super) fn password(&self) -> Option<&str> {
        self.password.as_deref()
    }
}

impl fmt::Display for StateUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "postgres://{}@", self.user)?;
        for (at, (host, port)) in self.hosts.iter().enumerate() {
            write!(f, "{}{host}:{port}", if at > 0 { "," } else { "" })?;
        }
        write!(f, "/{}?schema={}", self.database, self.schema)
    }
}

impl fmt::Debug for StateUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StateUrl({self})")
    }
}

impl FromStr for StateUrl {
    type Err = BadStateUrl;

    fn from_str(text: &str) -> Result<Self, BadStateUrl> {
        let rest = text.strip_prefix("postgres://").or_else(|| text.strip_prefix("postgresql://"));
        let Some(rest) = rest else { return bad("it must begin with postgres://") };
        if rest.contains('#') {
            return bad("a # in it is written %23");
        }
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        // A password may contain an unescaped @ by mistake. So the host begins after the last @, and no error
        // quotes the text.
        let (login, hosts) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (user, password) = match login.split_once(':') {
            Some((user, password)) => (user, Some(decoded(password, "the password")?)),
            None => (login, None),
        };
        let user = decoded(user, "the user")?;
        if user.is_empty() {
            return bad("it names no user: postgres://USER@HOST/DATABASE");
        }
        let hosts = hosts.split(',').map(host).collect::<Result<Vec<_>, _>>()?;
        let database = decoded(database, "the database")?;
        let database = if database.is_empty() { user.clone() } else { database };
        let password = password.filter(|password| !password.is_empty());
        let mut url = Self {
            hosts,
            user,
            database,
            schema: SCHEMA.to_owned(),
            has_tls: true,
            root_certificates: None,
            password_file: None,
            password,
        };
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            url.set(parameter)?;
        }
        if url.schema.is_empty() || url.schema.len() > LONGEST_NAME || url.schema.contains('\0') {
            return bad(format!("schema= has 1 to {LONGEST_NAME} bytes"));
        }
        Ok(url)
    }
}

impl StateUrl {
    fn set(&mut self, parameter: &str) -> Result<(), BadStateUrl> {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        let value = decoded(value, "what stands after the ?")?;
        match (name, value.as_str()) {
            ("sslmode", "verify-full") => self.has_tls = true,
            ("sslmode", "disable") => self.has_tls = false,
            ("sslmode", _) => {
                return bad(
                    "sslmode= is verify-full or disable: what lies between encrypts for whoever answers",
                );
            }
            ("sslrootcert", "system" | "") => self.root_certificates = None,
            ("sslrootcert", file) => self.root_certificates = Some(file.into()),
            ("passfile", file) => self.password_file = Some(file.into()),
            ("schema", schema) => schema.clone_into(&mut self.schema),
            ("password", password) => {
                self.password = self.password.take().or_else(|| Some(password.to_owned()));
            }
            ("target_session_attrs", "read-write" | "primary" | "any")
            | ("connect_timeout" | "application_name", _) => {}
            ("target_session_attrs", _) => {
                return bad("target_session_attrs= can only be read-write: edits are written down");
            }
            _ => {
                return bad(
                    "after the ? it takes sslmode, sslrootcert, passfile, schema and target_session_attrs",
                );
            }
        }
        Ok(())
    }
}

/// Returns a host, and its port.
fn host(text: &str) -> Result<(Host, u16), BadStateUrl> {
    let (name, port) = match text.strip_prefix('[') {
        Some(address) => match address.split_once(']') {
            Some((address, rest)) => (address, rest.strip_prefix(':')),
            None => return bad("an address in [ has no ]"),
        },
        None => text.split_once(':').map_or((text, None), |(name, port)| (name, Some(port))),
    };
    let port = match port {
        None | Some("") => PORT,
        Some(port) => match port.parse() {
            Ok(port) if port > 0 => port,
            _ => {
                return bad(
                    "a port is a number from 1 to 65535; an @ or : in a password is written %40 or %3A",
                );
            }
        },
    };
    let name = decoded(name, "the host")?;
    if name.is_empty() {
        return bad("it names no host: postgres://USER@HOST/DATABASE");
    }
    let host = if name.starts_with('/') { Host::Unix(name.into()) } else { Host::Tcp(name) };
    Ok((host, port))
}

/// Decodes the percent escapes of a part of a URL (RFC 3986, section 2.1).
fn decoded(text: &str, what: &str) -> Result<String, BadStateUrl> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = [rest.next().unwrap_or(b' '), rest.next().unwrap_or(b' ')];
        let byte = std::str::from_utf8(&digits).ok().and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match byte {
            Some(byte) if byte != 0 => bytes.push(byte),
            _ => return bad(format!("{what} has a % without two digits after it; % itself is written %25")),
        }
    }
    String::from_utf8(bytes).or_else(|_| bad(format!("{what} is no UTF-8")))
}

/// The timeout of the lookup of a name.
const BOUND: Duration = Duration::from_secs(3);

/// The last known addresses of names. A name is looked up again for each connection, since a database can
/// have another address after a failover. If the lookup fails, the last known addresses are used: under
/// Landlock, the system's resolver may be denied a file.
#[derive(Default, Debug)]
pub(super) struct Addresses(Mutex<Vec<(String, Vec<IpAddr>)>>);

impl Addresses {
    /// Returns the addresses of a host, within [`BOUND`]; empty if none is known.
    pub(super) fn of(&self, name: &str) -> Vec<IpAddr> {
        if let Ok(address) = name.parse() {
            return vec![address];
        }
        let found = looked_up(name);
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = known.iter().position(|(of, _)| of == name);
        if found.is_empty() {
            return at
                .and_then(|at| known.get(at))
                .map(|(_, addresses)| addresses.clone())
                .unwrap_or_default();
        }
        if let Some(at) = at {
            known.swap_remove(at);
        }
        known.push((name.to_owned(), found.clone()));
        found
    }
}

/// Looks a name up on a separate thread, and abandons the thread if it takes too long: getaddrinfo(3) has no
/// timeout.
fn looked_up(name: &str) -> Vec<IpAddr> {
    let (send, receive) = mpsc::channel();
    let wanted = name.to_owned();
    let look_up = move || {
        let found = (wanted.as_str(), 0).to_socket_addrs();
        let _ = send.send(found.map(|found| found.map(|found| found.ip()).collect()).unwrap_or_default());
    };
    // If the thread does not start, its sender is dropped, and the receiver returns at once.
    let _ = thread::Builder::new().name("names".to_owned()).spawn(look_up);
    receive.recv_timeout(BOUND).unwrap_or_default()
}

/// The maximum number of bytes that are read of a file of passwords.
const LONGEST: u64 = 1 << 20;
/// The directories in which packaged servers create their socket by default. The default of servers that are
/// built from source, `/tmp`, is not included: anyone can listen there.
const DEFAULT_SOCKET_DIRECTORIES: [&str; 2] = ["/var/run/postgresql", "/run/postgresql"];

/// Returns the password that the file has for this host; `None` if there is no file, or if no line matches.
///
/// Fails if other users may read the file; libpq ignores such a file.
#[expect(clippy::disallowed_methods, reason = "the file is a person's, and read once, at the start")]
pub(super) fn password_for(
    url: &StateUrl,
    host: &Host,
    port: u16,
    file: &Path,
) -> io::Result<Option<String>> {
    let file = match File::open(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    #[cfg(unix)]
    if std::os::unix::fs::PermissionsExt::mode(&file.metadata()?.permissions()) & 0o077 != 0 {
        return Err(io::Error::other("others may read it; chmod 600 makes it private"));
    }
    let mut text = Vec::new();
    file.take(LONGEST).read_to_end(&mut text)?;
    let text = String::from_utf8_lossy(&text);
    // A socket is looked up by its directory and, if that is a default directory, also by `localhost`, as
    // libpq does.
    let mut hosts = vec![host.to_string()];
    if let Host::Unix(directory) = host
        && DEFAULT_SOCKET_DIRECTORIES.iter().any(|default| directory == Path::new(default))
    {
        hosts.push("localhost".to_owned());
    }
    let others = [port.to_string(), url.database.clone(), url.user.clone()];
    Ok(text.lines().find_map(|line| of_line(line, &hosts, &others)))
}

/// Returns the password of a line, if its first field is one of `hosts`, and the next three fields equal
/// `others`. A line is `host:port:database:user:password`. Each of the first four can be `*`, and a backslash
/// escapes a colon or a backslash.
fn of_line(line: &str, hosts: &[String], others: &[String; 3]) -> Option<String> {
    if line.starts_with('#') {
        return None;
    }
    let mut fields = vec![String::new()];
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => fields.last_mut()?.extend(characters.next()),
            // The password is the rest of the line, including any colons.
            ':' if fields.len() < 5 => fields.push(String::new()),
            character => fields.last_mut()?.push(character),
        }
    }
    let password = (fields.len() == 5).then(|| fields.pop()).flatten()?;
    let matches = |(field, wanted): (&String, &String)| field == "*" || field == wanted;
    let (host, rest) = fields.split_first()?;
    let is_its = hosts.iter().any(|wanted| matches((host, wanted))) && rest.iter().zip(others).all(matches);
    is_its.then_some(password).filter(|password| !password.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_not_found_any_more_has_the_addresses_that_it_had() {
        let [one, other] = ["192.0.2.1", "192.0.2.2"].map(|address| vec![address.parse::<IpAddr>().unwrap()]);
        let known = [("one.invalid", &one), ("other.invalid", &other)];
        let addresses =
            Addresses(known.map(|(name, addresses)| (name.to_owned(), addresses.clone())).to_vec().into());
        assert_eq!(addresses.of("other.invalid"), other);
        assert_eq!(addresses.of("one.invalid"), one);
        assert_eq!(addresses.of("third.invalid"), Vec::<IpAddr>::new());
        assert_eq!(addresses.of("192.0.2.7"), ["192.0.2.7".parse::<IpAddr>().unwrap()]);
    }
}
