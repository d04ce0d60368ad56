//! Reads `.pgpass`, the file of passwords of `PostgreSQL`'s own programs: [`password_for`].

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use crate::postgres::url::{Host, StateUrl};

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
