//! Parses the URL of a database: [`StateUrl`].

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

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
